//! A transaction: an operation of a die on one page (or block) in each of one or several planes.

use crate::cells::Violation;
use crate::geometry::{PageAddress, MAX_PLANES};
use serde::{Deserialize, Serialize};

/// What a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// READ PAGE.
    #[default]
    Read,
    /// PROGRAM PAGE.
    Program,
    /// BLOCK ERASE.
    Erase,
    /// COPYBACK: an internal data move.
    Copyback,
}

/// One command: one page or block in each of one or several planes of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What to do.
    pub kind: Kind,
    /// Reads and programs: in cache mode. When the register is free for it, the die asks for a follower of the same kind, and its
    /// caller answers with [`crate::Package::follow`] or [`crate::Package::finish`].
    pub cache: bool,
    /// Reads and programs: the blocks are in SLC mode, with one bit a cell.
    pub slc: bool,
    count: u8,
    pages: [PageAddress; MAX_PLANES],
    bytes: [u32; MAX_PLANES],
    targets: [PageAddress; MAX_PLANES],
}

impl Command {
    /// A command without pages yet.
    #[inline]
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Starts anew: a command of `kind` without pages.
    #[inline]
    pub fn clear(&mut self, kind: Kind) {
        self.kind = kind;
        self.cache = false;
        self.slc = false;
        self.count = 0;
    }

    /// Becomes a copy of another command. Arrays of fixed size move in a few wide instructions, parts of them would be calls; mostly there is
    /// one page.
    #[inline]
    pub(crate) fn assign(&mut self, other: &Self) {
        self.kind = other.kind;
        self.cache = other.cache;
        self.slc = other.slc;
        self.count = other.count;
        if other.count == 1 {
            (self.pages[0], self.bytes[0]) = (other.pages[0], other.bytes[0]);
        } else {
            (self.pages, self.bytes) = (other.pages, other.bytes);
        }
        if other.kind == Kind::Copyback {
            self.targets = other.targets;
        }
    }

    /// True of a read or program of one page outside of cache and SLC mode.
    #[inline]
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.count == 1 && matches!(self.kind, Kind::Read | Kind::Program) && !(self.cache | self.slc)
    }

    /// True of a program outside of cache and SLC mode.
    #[inline]
    #[must_use]
    pub fn is_plain_program(&self) -> bool {
        self.kind == Kind::Program && !(self.cache | self.slc)
    }

    /// The first page, and its bytes.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (PageAddress, u32) {
        (self.pages[0], self.bytes[0])
    }

    /// Becomes a command of one page outside of cache and SLC mode.
    #[inline]
    pub(crate) fn assign_single(&mut self, kind: Kind, page: PageAddress, bytes: u32) {
        self.clear(kind);
        self.count = 1;
        (self.pages[0], self.bytes[0]) = (page, bytes);
    }

    /// Becomes a copy of a program outside of cache and SLC mode.
    #[inline(always)]
    pub(crate) fn assign_program(&mut self, other: &Self) {
        self.clear(Kind::Program);
        (self.count, self.pages, self.bytes) = (other.count, other.pages, other.bytes);
    }

    /// Adds a page (for erase: a block) with `bytes` to move over the bus.
    ///
    /// # Panics
    /// With more than [`MAX_PLANES`] pages.
    #[inline]
    pub fn add(&mut self, page: PageAddress, bytes: u32) {
        let at = usize::from(self.count);
        self.pages[at] = page;
        self.bytes[at] = bytes;
        self.count += 1;
    }

    /// Adds an internal move from a page to another of the same plane; `bytes` of it come out on the way, to be checked (0 for none).
    ///
    /// # Panics
    /// With more than [`MAX_PLANES`] moves.
    #[inline]
    pub fn add_move(&mut self, from: PageAddress, to: PageAddress, bytes: u32) {
        self.targets[usize::from(self.count)] = to;
        self.add(from, bytes);
    }

    /// The pages in the order in which they were added; of a copyback, the sources.
    #[inline]
    #[must_use]
    pub fn pages(&self) -> &[PageAddress] {
        &self.pages[..usize::from(self.count)]
    }

    /// The destinations of a copyback.
    #[inline]
    #[must_use]
    pub fn targets(&self) -> &[PageAddress] {
        &self.targets[..usize::from(self.count)]
    }

    /// The bytes of each page on the bus.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u32] {
        &self.bytes[..usize::from(self.count)]
    }

    /// How many planes take part.
    #[inline]
    #[must_use]
    pub fn planes(&self) -> usize {
        usize::from(self.count)
    }

    /// True if each page is the one after that of `before` in the same block: then READ PAGE CACHE SEQUENTIAL reads it.
    #[inline]
    #[must_use]
    pub fn continues(&self, before: &Self) -> bool {
        self.count == before.count
            && self
                .pages()
                .iter()
                .zip(before.pages())
                .all(|(new, old)| new.plane == old.plane && new.block == old.block && new.page == old.page + 1)
    }

    /// True if both use the same planes in the same order.
    #[inline]
    #[must_use]
    pub fn same_planes(&self, other: &Self) -> bool {
        self.count == other.count && self.pages().iter().zip(other.pages()).all(|(a, b)| a.plane == b.plane)
    }

    /// The plane addressing rule: same page offset, different planes; block numbers are free.
    pub(crate) fn check_planes(&self, die: u32) -> Result<(), Violation> {
        let same_offset = self.kind != Kind::Erase;
        distinct(die, self.pages(), same_offset)?;
        if self.kind == Kind::Copyback {
            distinct(die, self.targets(), same_offset)?;
        }
        Ok(())
    }

    /// The same of a program.
    #[inline(always)]
    pub(crate) fn check_planes_of_program(&self, die: u32) -> Result<(), Violation> {
        distinct(die, self.pages(), true)
    }
}

#[inline(always)]
fn distinct(die: u32, pages: &[PageAddress], same_offset: bool) -> Result<(), Violation> {
    let (mut seen, mut clash) = (0_u32, false);
    for page in pages {
        let plane = 1 << (page.plane % 32);
        clash |= seen & plane != 0 || (same_offset && page.page != pages[0].page);
        seen |= plane;
    }
    if clash {
        return clashing(die, pages, same_offset);
    }
    Ok(())
}

/// Names the two that clash; none do where a plane is beyond any die's, which the cells refuse.
#[cold]
fn clashing(die: u32, pages: &[PageAddress], same_offset: bool) -> Result<(), Violation> {
    for (at, page) in pages.iter().enumerate() {
        let clash =
            pages[..at].iter().find(|other| other.plane == page.plane || (same_offset && other.page != page.page));
        if let Some(other) = clash {
            return Err(Violation::PlaneAddressing {
                die,
                plane: page.plane,
                page: page.page,
                other_plane: other.plane,
                other_page: other.page,
            });
        }
    }
    Ok(())
}
