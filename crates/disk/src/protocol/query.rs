//! What the data of an option hold: names and queries, each with its length before it.

use super::wire::{u16_at, u32_at};

/// Reads the data of an option piece by piece; every method gives `None` if they end too soon.
#[derive(Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// All of an option's data.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(piece)
    }

    /// A 16-bit number.
    pub fn short(&mut self) -> Option<u16> {
        self.take(2).map(|piece| u16_at(piece, 0))
    }

    /// A 32-bit number.
    pub fn long(&mut self) -> Option<u32> {
        self.take(4).map(|piece| u32_at(piece, 0))
    }

    /// A text with its length before it.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.long()?;
        self.take(bytes as usize)
    }

    /// True if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// The data of INFO and GO: a name, and the kinds of information asked for.
pub fn info(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut pieces = Pieces::new(data);
    let name = pieces.text()?;
    let count = pieces.short()?;
    let kinds = (0..count).map(|_| pieces.short()).collect::<Option<Vec<u16>>>()?;
    pieces.is_empty().then_some((name, kinds))
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT: a name, and queries.
pub fn contexts(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut pieces = Pieces::new(data);
    let name = pieces.text()?;
    let count = pieces.long()?;
    // A query has four bytes at least, so a count that lies ends this soon.
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(pieces.text()?);
    }
    pieces.is_empty().then_some((name, queries))
}
