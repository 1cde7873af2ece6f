//! The two registers of a plane: the data register exchanges pages with the array, the cache register with the bus.

use super::store::ERASED;

/// The registers of a plane, a page each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) cache: Box<[u8]>,
    pub(crate) data: Box<[u8]>,
}

impl Registers {
    pub(crate) fn new(page_bytes: u32) -> Self {
        let empty = || vec![ERASED; page_bytes as usize].into_boxed_slice();
        Self { cache: empty(), data: empty() }
    }

    /// Reads a page from the array; `None` for one that reads as erased.
    pub(crate) fn sense(&mut self, page: Option<&[u8]>) {
        match page {
            Some(bytes) => self.data.copy_from_slice(bytes),
            None => self.data.fill(ERASED),
        }
    }

    /// Data register to cache register.
    pub(crate) fn show(&mut self) {
        self.cache.copy_from_slice(&self.data);
    }

    /// Cache register to data register.
    pub(crate) fn stage(&mut self) {
        self.data.copy_from_slice(&self.cache);
    }

    /// PROGRAM PAGE clears the register before data in.
    pub(crate) fn clear(&mut self) {
        self.cache.fill(ERASED);
    }
}
