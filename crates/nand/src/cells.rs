//! Rules of the NAND array: pages of a block in order, each once, reads only of written pages.
//!
//! The array has its own block records, apart from those of the firmware, so that errors in the firmware's accounting
//! are detected. The checks stay on in release builds.

use crate::geometry::{PackageGeometry, PageAddress};
use serde::{Deserialize, Serialize};
use wordline_base::prefetch;

/// A violation of a rule of the array.
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
    /// A page is programmed again (NOP limit of one).
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
        /// The next page in order.
        next: u32,
    },
    /// A page is skipped.
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
        /// The next page in order.
        next: u32,
    },
    /// An unwritten page is read.
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
    /// In cache mode, a follower of another kind or for other planes.
    #[error("die {die} is in cache mode and takes only a command of the same kind for the same planes")]
    Follower {
        /// Die within the package.
        die: u32,
    },
    /// A copyback to another plane.
    #[error("internal data move on die {die} from plane {plane} to plane {other_plane}; both must be one plane")]
    MoveAcrossPlanes {
        /// Die within the package.
        die: u32,
        /// Plane of the source.
        plane: u32,
        /// Plane of the destination.
        other_plane: u32,
    },
    /// A suspension while the array executes no single program or erase.
    #[error("die {die} runs no program or erase that could be suspended")]
    NotSuspendable {
        /// Die within the package.
        die: u32,
    },
    /// A resumption while nothing is suspended, or while a read beside it runs.
    #[error("die {die} has no suspended command to resume")]
    NotSuspended {
        /// Die within the package.
        die: u32,
    },
    /// An erase beyond the endurance.
    #[error("block {block}, plane {plane}, die {die} is worn out: {erases} erases are its endurance")]
    WornOut {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Erases so far.
        erases: u32,
    },
    /// A bad block is used.
    #[error("block {block}, plane {plane}, die {die} is bad")]
    BadBlock {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
    },
    /// A block is read or programmed in another mode than the one that its first program gave it, or beyond the pages that it has in
    /// SLC mode.
    #[error("page {page} of block {block}, plane {plane}, die {die} is used in the wrong mode: the block is {}in SLC mode", if *slc { "" } else { "not " })]
    WrongMode {
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Page within the block.
        page: u32,
        /// True if the block is in SLC mode.
        slc: bool,
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

/// State of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// The next page that may be programmed.
    pub next_page: u32,
    /// Erases so far.
    pub erases: u32,
    /// Page reads since the last erase.
    pub reads: u32,
    /// Programs of the page before the next one (NOP).
    pub programs: u8,
    /// Marked bad, in the factory or since.
    pub bad: bool,
    /// In SLC mode since its first program.
    pub slc: bool,
}

impl BlockRecord {
    /// A program of a page other than the next one: of the last one, if NOP allows it, else a violation.
    #[cold]
    fn program_again(&mut self, die: u32, at: PageAddress, most: u8) -> Result<(), Violation> {
        let (PageAddress { plane, block, page }, next) = (at, self.next_page);
        if self.bad {
            return Err(Violation::BadBlock { die, plane, block });
        }
        if page == next {
            return Err(Violation::WrongMode { die, plane, block, page, slc: self.slc });
        }
        if page > next {
            return Err(Violation::OutOfOrder { die, plane, block, page, next });
        }
        if page + 1 < next || self.programs >= most {
            return Err(Violation::ProgrammedTwice { die, plane, block, page, next });
        }
        self.programs += 1;
        Ok(())
    }
}

/// The array of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    geometry: PackageGeometry,
    rules: Rules,
    /// Pages of a block that one program writes.
    pages_per_program: u32,
    /// Pages of a block in SLC mode.
    slc_pages: u32,
    blocks: Vec<BlockRecord>,
}

/// Limits of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Programs of a page between two erases (NOP).
    pub partial_programs: u8,
    /// Endurance in erases; 0 for no limit.
    pub endurance: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { partial_programs: 1, endurance: 0 }
    }
}

impl Cells {
    /// Creates an erased array.
    #[must_use]
    pub fn new(geometry: PackageGeometry) -> Self {
        let blocks = vec![BlockRecord::default(); geometry.total_blocks() as usize];
        Self { geometry, rules: Rules::default(), pages_per_program: 1, slc_pages: geometry.pages, blocks }
    }

    /// Sets the limits.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Lets a program write so many pages, from the one that it names on.
    ///
    /// # Panics
    /// If a block has no whole number of programs.
    pub fn set_pages_per_program(&mut self, pages: u32) {
        assert!(pages > 0 && self.geometry.pages.is_multiple_of(pages), "{pages} pages of a program fill no block");
        self.pages_per_program = pages;
    }

    /// Gives a block so many pages in SLC mode. A program writes one of them.
    ///
    /// # Panics
    /// If a block has fewer pages at all.
    pub fn set_slc_pages(&mut self, pages: u32) {
        assert!(pages <= self.geometry.pages, "{pages} pages in SLC mode are more than a block has");
        self.slc_pages = pages;
    }

    /// Copies the state of another array of the same geometry; the limits stay.
    pub fn adopt(&mut self, other: &Self) {
        self.blocks.clone_from(&other.blocks);
    }

    /// Checks that a saved array fits: `like` has the expected geometry.
    ///
    /// # Errors
    /// Describes the mismatch.
    pub fn check_saved(&self, like: &Self) -> Result<(), String> {
        let shape = |cells: &Self| (cells.geometry, cells.pages_per_program, cells.slc_pages, cells.blocks.len());
        if shape(self) != shape(like) {
            return Err("the cells have another geometry".into());
        }
        let sound = |block: &BlockRecord| {
            let (most, step) =
                if block.slc { (self.slc_pages, 1) } else { (self.geometry.pages, self.pages_per_program) };
            block.next_page <= most
                && block.next_page.is_multiple_of(step)
                && (block.programs == 0) == (block.next_page == 0)
        };
        match self.blocks.iter().position(|block| !sound(block)) {
            Some(at) => Err(format!("the cells of block {at} of a package are {:?}", self.blocks[at])),
            None => Ok(()),
        }
    }

    /// Marks a block bad: every later use is rejected.
    ///
    /// # Panics
    /// If the address does not exist.
    pub fn mark_bad(&mut self, die: u32, plane: u32, block: u32) {
        let index = self.index(die, plane, block);
        self.blocks[index].bad = true;
    }

    /// The record of a block.
    ///
    /// # Panics
    /// If the address does not exist.
    #[must_use]
    pub fn record(&self, die: u32, plane: u32, block: u32) -> BlockRecord {
        assert!(die < self.geometry.dies && plane < self.geometry.planes && block < self.geometry.blocks);
        self.blocks[self.index(die, plane, block)]
    }

    /// The records of all blocks: die by die, plane by plane, block by block.
    #[inline]
    #[must_use]
    pub fn records(&self) -> &[BlockRecord] {
        &self.blocks
    }

    /// Gives a block a number of page reads since its last erase: a past that was not simulated.
    ///
    /// # Panics
    /// If the block does not exist.
    pub fn set_reads(&mut self, die: u32, plane: u32, block: u32, reads: u32) {
        assert!(die < self.geometry.dies && plane < self.geometry.planes && block < self.geometry.blocks);
        let index = self.index(die, plane, block);
        self.blocks[index].reads = reads;
    }

    /// Asks for the record of a block before it is needed.
    #[inline]
    pub fn expect(&self, die: u32, plane: u32, block: u32) {
        prefetch(&self.blocks, self.index(die, plane, block));
    }

    fn index(&self, die: u32, plane: u32, block: u32) -> usize {
        ((die * self.geometry.planes + plane) * self.geometry.blocks + block) as usize
    }

    #[inline(always)]
    fn block(&mut self, die: u32, at: PageAddress) -> Result<&mut BlockRecord, Violation> {
        let PageAddress { plane, block, page } = at;
        if page >= self.geometry.pages {
            return Err(Violation::UnknownAddress { die, plane, block, page });
        }
        self.block_of_any(die, at)
    }

    /// The same whether or not the block has the page.
    #[inline(always)]
    fn block_of_any(&mut self, die: u32, at: PageAddress) -> Result<&mut BlockRecord, Violation> {
        let geometry = &self.geometry;
        let PageAddress { plane, block, page } = at;
        if die >= geometry.dies || plane >= geometry.planes || block >= geometry.blocks {
            return Err(Violation::UnknownAddress { die, plane, block, page });
        }
        let index = self.index(die, plane, block);
        Ok(&mut self.blocks[index])
    }

    /// Records a read, in SLC mode or not.
    ///
    /// # Errors
    /// The page does not exist or is not written, or its block is in another mode.
    #[inline(always)]
    pub fn read(&mut self, die: u32, at: PageAddress, slc: bool) -> Result<(), Violation> {
        // A page that was written exists.
        let (pages, record) = (self.geometry.pages, self.block_of_any(die, at)?);
        if at.page >= record.next_page || record.slc != slc {
            let PageAddress { plane, block, page } = at;
            return Err(if page >= pages {
                Violation::UnknownAddress { die, plane, block, page }
            } else if page >= record.next_page {
                Violation::ReadUnwritten { die, plane, block, page, written: record.next_page }
            } else {
                Violation::WrongMode { die, plane, block, page, slc: record.slc }
            });
        }
        record.reads = record.reads.saturating_add(1);
        Ok(())
    }

    /// Records reads of so many pages of a block outside of SLC mode, the last of which is given.
    ///
    /// # Errors
    /// As [`Cells::read`].
    pub fn read_several(&mut self, die: u32, last: PageAddress, count: u32) -> Result<(), Violation> {
        if count == 0 {
            return Ok(());
        }
        self.read(die, last, false)?;
        let record = self.block(die, last)?;
        record.reads = record.reads.saturating_add(count - 1);
        Ok(())
    }

    /// Records so many programs of a block outside of SLC mode, one after the other from the page given on.
    ///
    /// # Errors
    /// As [`Cells::program`].
    pub fn program_several(&mut self, die: u32, first: PageAddress, count: u32) -> Result<(), Violation> {
        let pages = self.pages_per_program;
        let end = first.page.saturating_add(count.saturating_mul(pages));
        let fits = end <= self.geometry.pages;
        let record = self.block(die, first)?;
        if count > 0 && fits && first.page == record.next_page && !record.bad && !record.slc {
            record.next_page = end;
            record.programs = 1;
            return Ok(());
        }
        (0..count).try_for_each(|nth| {
            let page = first.page.saturating_add(nth.saturating_mul(pages));
            self.program(die, PageAddress { page, ..first }, false)
        })
    }

    /// Records a program, in SLC mode or not.
    ///
    /// # Errors
    /// The page does not exist (in this mode), is already programmed, or is not the next one of its block, or the block is in another
    /// mode.
    #[inline(always)]
    pub fn program(&mut self, die: u32, at: PageAddress, slc: bool) -> Result<(), Violation> {
        if slc {
            return self.program_slc(die, at);
        }
        let (most, pages) = (self.rules.partial_programs, self.pages_per_program);
        let record = self.block(die, at)?;
        if at.page == record.next_page && !record.bad && !record.slc {
            record.next_page += pages;
            record.programs = 1;
            return Ok(());
        }
        record.program_again(die, at, most)
    }

    /// Records a program of a page in SLC mode.
    #[cold]
    fn program_slc(&mut self, die: u32, at: PageAddress) -> Result<(), Violation> {
        let (most, pages) = (self.rules.partial_programs, self.slc_pages);
        let record = self.block(die, at)?;
        let PageAddress { plane, block, page } = at;
        if (record.next_page > 0 && !record.slc) || page >= pages {
            return Err(Violation::WrongMode { die, plane, block, page, slc: record.slc });
        }
        if page != record.next_page || record.bad {
            return record.program_again(die, at, most);
        }
        *record = BlockRecord { next_page: page + 1, programs: 1, slc: true, ..*record };
        Ok(())
    }

    /// Records an erase.
    ///
    /// # Errors
    /// The block does not exist, is bad, or is worn out.
    #[inline]
    pub fn erase(&mut self, die: u32, at: PageAddress) -> Result<(), Violation> {
        let endurance = self.rules.endurance;
        let record = self.block(die, PageAddress { page: 0, ..at })?;
        let PageAddress { plane, block, .. } = at;
        if record.bad {
            return Err(Violation::BadBlock { die, plane, block });
        }
        if endurance > 0 && record.erases >= endurance {
            return Err(Violation::WornOut { die, plane, block, erases: record.erases });
        }
        *record = BlockRecord { erases: record.erases.saturating_add(1), ..BlockRecord::default() };
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
        assert_eq!(cells.program(0, at(0, 1, 0), false), Ok(()));
        assert!(matches!(cells.program(0, at(0, 1, 0), false), Err(Violation::ProgrammedTwice { next: 1, .. })));
        assert!(matches!(cells.program(0, at(0, 1, 2), false), Err(Violation::OutOfOrder { next: 1, .. })));
        assert!(matches!(cells.read(0, at(0, 1, 1), false), Err(Violation::ReadUnwritten { written: 1, .. })));
        for wrong in [at(2, 0, 0), at(0, 4, 0), at(0, 0, 8)] {
            assert!(matches!(cells.read(0, wrong, false), Err(Violation::UnknownAddress { .. })));
            assert!(matches!(cells.program(0, wrong, false), Err(Violation::UnknownAddress { .. })));
        }
        assert!(matches!(cells.erase(1, at(0, 0, 0)), Err(Violation::UnknownAddress { die: 1, .. })));
    }

    #[test]
    fn several_pages_at_a_time_are_as_many_one_by_one() {
        let (mut several, mut single) = (cells(), cells());
        let at = |page| PageAddress { plane: 1, block: 2, page };
        for (first, count) in [(0, 3), (3, 1), (4, 0), (4, 4)] {
            assert_eq!(several.program_several(0, at(first), count), Ok(()));
            (first..first + count).for_each(|page| single.program(0, at(page), false).unwrap());
        }
        assert_eq!(several.read_several(0, at(6), 4), Ok(()));
        [1, 2, 5, 6].into_iter().for_each(|page| single.read(0, at(page), false).unwrap());
        assert_eq!(several.read_several(0, at(6), 0), Ok(()));
        assert_eq!(several, single);
        assert_eq!(
            several.record(0, 1, 2),
            BlockRecord { next_page: 8, reads: 4, programs: 1, ..BlockRecord::default() }
        );
        let mut cells = cells();
        assert!(matches!(cells.program_several(0, at(6), 3), Err(Violation::OutOfOrder { next: 0, page: 6, .. })));
        cells.program_several(0, at(0), 6).unwrap();
        assert!(matches!(cells.program_several(0, at(6), 3), Err(Violation::UnknownAddress { page: 8, .. })));
        assert!(matches!(cells.program_several(0, at(2), 1), Err(Violation::ProgrammedTwice { next: 8, .. })));
        cells.erase(0, at(0)).unwrap();
        assert!(matches!(cells.read_several(0, at(0), 2), Err(Violation::ReadUnwritten { written: 0, .. })));
    }

    #[test]
    fn a_block_keeps_its_mode_until_its_erase() {
        let mut cells = cells();
        cells.set_pages_per_program(2);
        cells.set_slc_pages(4);
        let at = |page| PageAddress { plane: 0, block: 2, page };
        for page in 0..4 {
            assert_eq!(cells.program(0, at(page), true), Ok(()), "a program in SLC mode writes one page");
        }
        assert!(matches!(cells.program(0, at(4), true), Err(Violation::WrongMode { slc: true, .. })), "it has four");
        assert!(matches!(cells.program(0, at(4), false), Err(Violation::WrongMode { slc: true, .. })));
        assert_eq!(cells.read(0, at(3), true), Ok(()));
        assert!(matches!(cells.read(0, at(3), false), Err(Violation::WrongMode { slc: true, .. })));
        cells.erase(0, at(0)).unwrap();
        assert_eq!(cells.program(0, at(0), false), Ok(()));
        assert_eq!(cells.record(0, 0, 2).next_page, 2);
        assert!(matches!(cells.program(0, at(2), true), Err(Violation::WrongMode { slc: false, .. })));
        assert!(matches!(cells.read(0, at(1), true), Err(Violation::WrongMode { slc: false, .. })));
    }

    #[test]
    fn an_erase_opens_the_block_again() {
        let mut cells = cells();
        let at = PageAddress { plane: 1, block: 3, page: 0 };
        cells.program(0, at, false).unwrap();
        cells.read(0, at, false).unwrap();
        assert_eq!(
            cells.record(0, 1, 3),
            BlockRecord { next_page: 1, reads: 1, programs: 1, ..BlockRecord::default() }
        );
        cells.erase(0, at).unwrap();
        assert_eq!(cells.record(0, 1, 3), BlockRecord { erases: 1, ..BlockRecord::default() });
        cells.program(0, at, false).unwrap();
    }
}
