//! Data in memory: pages of 4 KiB, of which those that hold one byte over and over take no memory.
//!
//! A directory has a table for each 2 MiB of the disk that were ever written; a table has a word for each page: zero, uniform with its
//! byte, or the place of its data. So an empty disk of 64 GiB takes 256 KiB.

use super::{Store, Syncer, PAGE};
use crate::protocol::Extent;
use std::io;

/// Pages of a table.
const TABLE: usize = 512;
const ZERO: u32 = 0;
/// Words from here on are uniform pages; the last eight bits are their byte.
const UNIFORM: u32 = u32::MAX - 0xFF;

type Page = [u8; PAGE];

/// A disk in memory.
pub struct MemoryStore {
    tables: Vec<Option<Box<[u32; TABLE]>>>,
    /// Data of pages. Word `n` of a table is place `n - 1` here.
    pages: Vec<Option<Box<Page>>>,
    free: Vec<u32>,
}

impl MemoryStore {
    /// An empty disk.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let tables = bytes.div_ceil((TABLE * PAGE) as u64) as usize;
        Self { tables: (0..tables).map(|_| None).collect(), pages: Vec::new(), free: Vec::new() }
    }

    fn word(&self, page: u64) -> u32 {
        self.tables[page as usize / TABLE].as_ref().map_or(ZERO, |table| table[page as usize % TABLE])
    }

    /// Gives a page another word, and frees its data if it had any.
    fn set(&mut self, page: u64, word: u32) {
        let old = self.word(page);
        if old == word {
            return;
        }
        if old != ZERO && old < UNIFORM {
            self.pages[old as usize - 1] = None;
            self.free.push(old - 1);
        }
        let table = self.tables[page as usize / TABLE].get_or_insert_with(|| Box::new([ZERO; TABLE]));
        table[page as usize % TABLE] = word;
    }

    /// Stores data of a page; not more pages than words can name.
    fn put(&mut self, page: u64, data: &Page) -> io::Result<()> {
        if let Some(byte) = uniform(data) {
            self.set(page, if byte == 0 { ZERO } else { UNIFORM + u32::from(byte) });
            return Ok(());
        }
        let old = self.word(page);
        if old != ZERO && old < UNIFORM {
            if let Some(place) = &mut self.pages[old as usize - 1] {
                place.copy_from_slice(data);
                return Ok(());
            }
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.pages.len() as u32 >= UNIFORM - 1 => return Err(io::ErrorKind::StorageFull.into()),
            None => {
                self.pages.push(None);
                self.pages.len() as u32 - 1
            }
        };
        self.pages[place as usize] = Some(Box::new(*data));
        self.set(page, place + 1);
        Ok(())
    }

    /// Bytes that the data of a page take: none for a page of zeros, 0 if all its bytes are one.
    pub(super) fn data_of(&self, page: u64) -> Option<u64> {
        match self.word(page) {
            ZERO => None,
            word if word >= UNIFORM => Some(0),
            _ => Some(PAGE as u64),
        }
    }

    /// The first page from `page` on, and before `end`, that is not all zeros; `end` if there is none.
    pub(super) fn next_held(&self, mut page: u64, end: u64) -> u64 {
        while page < end {
            match &self.tables[page as usize / TABLE] {
                None => page = (page / TABLE as u64 + 1) * TABLE as u64,
                Some(table) if table[page as usize % TABLE] == ZERO => page += 1,
                Some(_) => return page,
            }
        }
        end
    }

    /// Bytes that the data of all pages take, without the tables.
    pub(super) fn data_bytes(&self) -> u64 {
        ((self.pages.len() - self.free.len()) * PAGE) as u64
    }

    fn get(&self, page: u64, from: usize, into: &mut [u8]) {
        match self.word(page) {
            ZERO => into.fill(0),
            word if word >= UNIFORM => into.fill((word - UNIFORM) as u8),
            word => {
                let data = self.pages[word as usize - 1].as_ref();
                into.copy_from_slice(&data.expect("a word names data")[from..from + into.len()]);
            }
        }
    }
}

/// The byte of which all of a page is made.
fn uniform(data: &Page) -> Option<u8> {
    let byte = data[0];
    // In blocks, which the compiler compares many bytes at a time; most pages differ in the first.
    data.chunks_exact(64).all(|block| block.iter().fold(true, |same, other| same & (*other == byte))).then_some(byte)
}

/// The pieces of a range by page: number, first byte in it, length.
fn pieces(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let (mut at, end) = (offset, offset + bytes);
    std::iter::from_fn(move || {
        let from = (at % PAGE as u64) as usize;
        let length = (end - at).min((PAGE - from) as u64) as usize;
        let page = at / PAGE as u64;
        at += length as u64;
        (length > 0).then_some((page, from, length))
    })
}

impl Store for MemoryStore {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut rest = into;
        for (page, from, length) in pieces(offset, rest.len() as u64) {
            let (piece, more) = rest.split_at_mut(length);
            self.get(page, from, piece);
            rest = more;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut rest = data;
        for (page, from, length) in pieces(offset, data.len() as u64) {
            let (piece, more) = rest.split_at(length);
            match piece.try_into() {
                Ok(whole) => self.put(page, whole)?,
                Err(_) => {
                    let mut whole = [0; PAGE];
                    self.get(page, 0, &mut whole);
                    whole[from..from + length].copy_from_slice(piece);
                    self.put(page, &whole)?;
                }
            }
            rest = more;
        }
        Ok(())
    }

    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let (page, from) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            // A table that was never written has nothing to free.
            if self.tables[page as usize / TABLE].is_none() {
                at = (page / TABLE as u64 + 1) * (TABLE * PAGE) as u64;
                continue;
            }
            let length = (end - at).min((PAGE - from) as u64) as usize;
            if length == PAGE {
                self.set(page, ZERO);
            } else if self.word(page) != ZERO {
                self.write(at, &[0; PAGE][..length])?;
            }
            at += length as u64;
        }
        Ok(())
    }

    fn extent(&mut self, offset: u64, end: u64) -> io::Result<Extent> {
        let hole = self.word(offset / PAGE as u64) == ZERO;
        let mut at = (offset / PAGE as u64 + 1) * PAGE as u64;
        while at < end {
            let page = at / PAGE as u64;
            if hole && self.tables[page as usize / TABLE].is_none() {
                at = (page / TABLE as u64 + 1) * (TABLE * PAGE) as u64;
                continue;
            }
            if (self.word(page) == ZERO) != hole {
                break;
            }
            at += PAGE as u64;
        }
        Ok(Extent { bytes: at.min(end) - offset, hole })
    }

    fn syncer(&self) -> io::Result<Option<Syncer>> {
        Ok(None)
    }

    fn held_bytes(&self) -> u64 {
        let tables = self.tables.iter().flatten().count() * TABLE * size_of::<u32>();
        self.data_bytes() + (tables + self.tables.len() * size_of::<usize>()) as u64
    }
}
