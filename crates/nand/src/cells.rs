//! What the cells of a package permit: pages of a block in order, each once, reads only of written pages.
//!
//! The record of a block is kept here, apart from the firmware's own books, so that a firmware that loses count is
//! caught. The checks stay on in release builds.

use crate::geometry::{PackageGeometry, PageAddress};
use serde::{Deserialize, Serialize};

/// A rule of the cells that a command would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The address does not exist.
    #[error("no such address: die {die}, plane {plane}, block {block}, page {page}")]
    UnknownAddress {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Page within the block.
        page: u32,
    },
    /// A page was programmed before (NOP limit of one).
    #[error(
        "page {page} of block {block}, plane {plane}, die {die} is programmed twice; the next free page is {next}"
    )]
    ProgrammedTwice {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Page within the block.
        page: u32,
        /// The page that would be in order.
        next: u32,
    },
    /// A page was left out.
    #[error("page {page} of block {block}, plane {plane}, die {die} is programmed out of order; the next free page is {next}")]
    OutOfOrder {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Page within the block.
        page: u32,
        /// The page that would be in order.
        next: u32,
    },
    /// A page was read that holds nothing.
    #[error(
        "page {page} of block {block}, plane {plane}, die {die} is read but not written; the block has {written} pages"
    )]
    ReadUnwritten {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Page within the block.
        page: u32,
        /// Pages written so far.
        written: u32,
    },
    /// A multi-plane command broke the plane addressing rule (same die, same page offset, different planes).
    #[error(
        "multi-plane command on die {die} joins plane {plane}, page {page} with plane {other_plane}, page {other_page}"
    )]
    PlaneAddressing {
        /// Die within the package.
        die: u32,
        /// Plane of the offending page.
        plane: u32,
        /// Its page offset.
        page: u32,
        /// Plane of the first page.
        other_plane: u32,
        /// Page offset of the first page.
        other_page: u32,
    },
    /// The die is still busy with another command.
    #[error("die {die} takes a command while busy")]
    Busy {
        /// Die within the package.
        die: u32,
    },
    /// A command without a page, or with more than the die has planes.
    #[error("a command for {pages} planes on die {die}, which has {planes}")]
    PlaneCount {
        /// Die within the package.
        die: u32,
        /// Pages in the command.
        pages: u32,
        /// Planes of the die.
        planes: u32,
    },
}

/// What a block remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// The next page that may be programmed.
    pub next_page: u32,
    /// Erases so far.
    pub erases: u32,
    /// Page reads since the last erase.
    pub reads: u32,
}

/// The cells of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    geometry: PackageGeometry,
    blocks: Vec<BlockRecord>,
}

impl Cells {
    /// Erased cells of a package.
    #[must_use]
    pub fn new(geometry: PackageGeometry) -> Self {
        Self { geometry, blocks: vec![BlockRecord::default(); geometry.total_blocks() as usize] }
    }

    /// The record of a block.
    ///
    /// # Panics
    /// When the address does not exist.
    #[must_use]
    pub fn record(&self, die: u32, plane: u32, block: u32) -> BlockRecord {
        assert!(die < self.geometry.dies && plane < self.geometry.planes && block < self.geometry.blocks);
        self.blocks[self.index(die, plane, block)]
    }

    fn index(&self, die: u32, plane: u32, block: u32) -> usize {
        ((die * self.geometry.planes + plane) * self.geometry.blocks + block) as usize
    }

    #[inline]
    fn block(&mut self, die: u32, at: PageAddress) -> Result<&mut BlockRecord, Violation> {
        let geometry = &self.geometry;
        let PageAddress { plane, block, page } = at;
        if die >= geometry.dies || plane >= geometry.planes || block >= geometry.blocks || page >= geometry.pages {
            return Err(Violation::UnknownAddress { die, plane, block, page });
        }
        let index = self.index(die, plane, block);
        Ok(&mut self.blocks[index])
    }

    /// Takes note of a read.
    ///
    /// # Errors
    /// When the page does not exist or holds nothing.
    #[inline]
    pub fn read(&mut self, die: u32, at: PageAddress) -> Result<(), Violation> {
        let record = self.block(die, at)?;
        if at.page >= record.next_page {
            let PageAddress { plane, block, page } = at;
            return Err(Violation::ReadUnwritten { die, plane, block, page, written: record.next_page });
        }
        record.reads = record.reads.saturating_add(1);
        Ok(())
    }

    /// Takes note of a program.
    ///
    /// # Errors
    /// When the page does not exist, is programmed already, or is not the next one of its block.
    #[inline]
    pub fn program(&mut self, die: u32, at: PageAddress) -> Result<(), Violation> {
        let record = self.block(die, at)?;
        let (PageAddress { plane, block, page }, next) = (at, record.next_page);
        if page < next {
            return Err(Violation::ProgrammedTwice { die, plane, block, page, next });
        }
        if page > next {
            return Err(Violation::OutOfOrder { die, plane, block, page, next });
        }
        record.next_page += 1;
        Ok(())
    }

    /// Takes note of an erase.
    ///
    /// # Errors
    /// When the block does not exist.
    #[inline]
    pub fn erase(&mut self, die: u32, at: PageAddress) -> Result<(), Violation> {
        let record = self.block(die, PageAddress { page: 0, ..at })?;
        *record = BlockRecord { next_page: 0, erases: record.erases.saturating_add(1), reads: 0 };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Cells {
        Cells::new(PackageGeometry { dies: 1, planes: 2, blocks: 4, pages: 8, page_bytes: 4096 })
    }

    #[test]
    fn every_misuse_is_refused() {
        let mut cells = cells();
        let at = |plane, block, page| PageAddress { plane, block, page };
        assert_eq!(cells.program(0, at(0, 1, 0)), Ok(()));
        assert!(matches!(cells.program(0, at(0, 1, 0)), Err(Violation::ProgrammedTwice { next: 1, .. })));
        assert!(matches!(cells.program(0, at(0, 1, 2)), Err(Violation::OutOfOrder { next: 1, .. })));
        assert!(matches!(cells.read(0, at(0, 1, 1)), Err(Violation::ReadUnwritten { written: 1, .. })));
        for wrong in [at(2, 0, 0), at(0, 4, 0), at(0, 0, 8)] {
            assert!(matches!(cells.read(0, wrong), Err(Violation::UnknownAddress { .. })));
            assert!(matches!(cells.program(0, wrong), Err(Violation::UnknownAddress { .. })));
        }
        assert!(matches!(cells.erase(1, at(0, 0, 0)), Err(Violation::UnknownAddress { die: 1, .. })));
    }

    #[test]
    fn an_erase_opens_the_block_again() {
        let mut cells = cells();
        let at = PageAddress { plane: 1, block: 3, page: 0 };
        cells.program(0, at).unwrap();
        cells.read(0, at).unwrap();
        assert_eq!(cells.record(0, 1, 3), BlockRecord { next_page: 1, erases: 0, reads: 1 });
        cells.erase(0, at).unwrap();
        assert_eq!(cells.record(0, 1, 3), BlockRecord { next_page: 0, erases: 1, reads: 0 });
        cells.program(0, at).unwrap();
    }
}
