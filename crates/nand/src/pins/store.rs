//! Contents of pages: bytes of written pages, and pages and blocks made unusable by a RESET.

use crate::geometry::{PackageGeometry, PageAddress};
use std::collections::{BTreeMap, BTreeSet};

/// An erased byte.
pub(crate) const ERASED: u8 = 0xff;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Page {
    Whole(Box<[u8]>),
    /// Its program was aborted.
    Torn,
}

/// The contents of a package; only written pages take memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    geometry: PackageGeometry,
    pages: BTreeMap<u64, Page>,
    /// Blocks whose erase was aborted.
    torn: BTreeSet<u64>,
}

impl Store {
    pub(crate) fn new(geometry: PackageGeometry) -> Self {
        Self { geometry, pages: BTreeMap::new(), torn: BTreeSet::new() }
    }

    fn block(&self, die: u32, at: PageAddress) -> u64 {
        let plane = u64::from(die) * u64::from(self.geometry.planes) + u64::from(at.plane);
        plane * u64::from(self.geometry.blocks) + u64::from(at.block)
    }

    fn key(&self, die: u32, at: PageAddress) -> u64 {
        self.block(die, at) * u64::from(self.geometry.pages) + u64::from(at.page)
    }

    /// The bytes of a page that was programmed completely.
    pub(crate) fn get(&self, die: u32, at: PageAddress) -> Option<&[u8]> {
        match self.pages.get(&self.key(die, at)) {
            Some(Page::Whole(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// True if an aborted program or erase made the page unusable.
    pub(crate) fn is_torn(&self, die: u32, at: PageAddress) -> bool {
        self.pages.get(&self.key(die, at)) == Some(&Page::Torn) || self.torn.contains(&self.block(die, at))
    }

    /// Programs a page: bits change only from one to zero, so a partial program adds to the contents.
    pub(crate) fn program(&mut self, die: u32, at: PageAddress, bytes: &[u8]) {
        let key = self.key(die, at);
        match self.pages.get_mut(&key) {
            Some(Page::Whole(old)) => old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new),
            Some(Page::Torn) => {}
            None => {
                self.pages.insert(key, Page::Whole(bytes.into()));
            }
        }
    }

    /// Erases a block, which makes it usable again.
    pub(crate) fn erase(&mut self, die: u32, at: PageAddress) {
        let first = self.key(die, PageAddress { page: 0, ..at });
        let held: Vec<u64> =
            self.pages.range(first..first + u64::from(self.geometry.pages)).map(|(&key, _)| key).collect();
        for key in held {
            self.pages.remove(&key);
        }
        let block = self.block(die, at);
        self.torn.remove(&block);
    }

    /// Records an aborted program of the page.
    pub(crate) fn tear_page(&mut self, die: u32, at: PageAddress) {
        let key = self.key(die, at);
        self.pages.insert(key, Page::Torn);
    }

    /// Records an aborted erase of the block.
    pub(crate) fn tear_block(&mut self, die: u32, at: PageAddress) {
        let block = self.block(die, at);
        self.torn.insert(block);
    }
}
