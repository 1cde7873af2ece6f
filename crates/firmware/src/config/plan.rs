//! The figures that a checked configuration comes to.

use crate::policy::collect::Destination;
use crate::policy::mapping::LogRule;
use crate::policy::redundancy::{Raid, Stripe};
use crate::task::Tasks;
use serde::{Deserialize, Serialize};

/// The figures derived from a checked configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Bytes in a mapping unit.
    pub unit_bytes: u32,
    /// Units in a page.
    pub units_per_page: u32,
    /// Units that a program writes in a plane: those of a page, or of all pages of a word line.
    pub units_per_program: u32,
    /// Units in a block.
    pub units_per_block: u32,
    /// Units that the host sees.
    pub logical_units: u32,
    /// Units of the mapping table in flash, behind those of the host; 0 if the table is in memory.
    pub map_units: u32,
    /// Map zones, if the drive is cut into some.
    pub zones: Option<ZonePlan>,
    /// Units of parity of logical pages, behind those; 0 if there is none.
    pub parity_units: u32,
    /// Units that all pages hold.
    pub raw_units: u32,
    /// GC domains: 1, or one per plane.
    pub domains: u32,
    /// Blocks in a domain.
    pub blocks_per_domain: u32,
    /// Spare blocks of a domain: blocks beyond its logical capacity.
    pub spare_blocks: u32,
    /// Free blocks of a domain reserved for GC.
    pub reserve_blocks: u32,
    /// Free blocks of a domain below which GC starts.
    pub start_blocks: u32,
    /// Free blocks of a domain at which GC stops.
    pub stop_blocks: u32,
    /// Spare blocks of a domain that may go bad before the firmware lacks blocks.
    pub expendable_blocks: u32,
    /// Bytes of the mapping table that the drive keeps in memory, with entries of four bytes.
    pub table_bytes: u64,
    /// True if host writes are paced by what GC gains.
    pub paced: bool,
    /// Programs that a paced host may write at a time: one, or those of all planes of a die.
    pub paced_programs: u32,
    /// Blocks that moved data are written to.
    pub destination: Destination,
    /// True if the mapping fixes the page of each unit in the block of its logical block.
    pub fixes_pages: bool,
    /// Log blocks beside the blocks of logical blocks, if the mapping has any.
    pub logs: Option<LogRule>,
    /// True if merges of log blocks are scheduled over idle periods.
    pub schedules_merges: bool,
    /// Superblocks, if blocks form any.
    pub stripe: Option<Stripe>,
    /// Parity of logical pages, if there is any.
    pub raid: Option<Raid>,
    /// Tasks of the drive.
    pub tasks: Tasks,
    /// Tasks whose moved data open the most worn free block of a plane.
    pub open_worn: Tasks,
    /// The SLC cache, if the drive has one.
    pub slc: Option<SlcPlan>,
    /// True if the firmware takes computing time.
    pub has_processor: bool,
    /// True if operations wait in a commit stage until the dispatch policy sends them to their dies.
    pub has_stage: bool,
    /// True if operations of the host are committed together as transactions.
    pub has_transactions: bool,
    /// True if dies serve a request of the host at a time.
    pub has_banks: bool,
    /// True if the placement needs the request of each write.
    pub places_requests: bool,
}

/// The figures of map zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonePlan {
    /// How many zones there are.
    pub count: u32,
    /// Tables of zones that memory holds at most.
    pub tables: u32,
    /// Bytes of the table of a zone.
    pub table_bytes: u64,
    /// Units of flash that the table of a zone takes.
    pub table_units: u32,
}

/// The figures of an SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcPlan {
    /// Programs that fill a block in SLC mode, each of a page.
    pub programs: u32,
    /// Blocks of a domain in SLC mode, at most.
    pub most: u32,
    /// Free blocks of a domain that the cache leaves for other uses.
    pub spare: u32,
    /// True if the blocks are set aside for it.
    pub fixed: bool,
}

impl Plan {
    /// True if the mapping table lies in flash.
    #[must_use]
    pub fn has_map(&self) -> bool {
        self.map_units > 0
    }

    /// The unit that the first one of the mapping table is. A logical block has none of both.
    #[must_use]
    pub fn first_map_unit(&self) -> u32 {
        if self.has_map() && self.fixes_pages {
            self.logical_units.next_multiple_of(self.units_per_block)
        } else {
            self.logical_units
        }
    }

    /// Units that may have a place: those of the host, of the mapping table and of parity.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.first_map_unit() + self.map_units + self.parity_units
    }

    /// Parts of the mapping table in flash that memory holds or lacks as a whole: map units, or the tables of zones.
    pub(crate) fn map_parts(&self) -> u32 {
        self.zones.map_or(self.map_units, |zones| zones.count)
    }

    /// Programs that fill a block.
    #[must_use]
    pub fn programs_per_block(&self) -> u32 {
        self.units_per_block / self.units_per_program
    }

    /// Pages that a program writes in a plane.
    #[must_use]
    pub fn pages_per_program(&self) -> u32 {
        self.units_per_program / self.units_per_page
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_units) * u64::from(self.unit_bytes)
    }

    /// Log blocks of a domain at most; 0 if the mapping has none. Bad blocks make them fewer.
    #[must_use]
    pub fn log_blocks(&self) -> u32 {
        let most = self.logs.and_then(|rule| rule.most).unwrap_or(u32::MAX);
        most.min(self.log_blocks_to_spare())
    }

    /// Log blocks that a domain without bad blocks can have.
    pub(crate) fn log_blocks_to_spare(&self) -> u32 {
        self.logs.map_or(0, |rule| rule.least() + self.expendable_blocks)
    }

    /// Valid units that a plane may come to hold where planes take turns: all but what GC needs, and a block for writes under way.
    pub(crate) fn most_in_plane(&self) -> u32 {
        let filled = self.blocks_per_domain - self.spare_blocks;
        (filled + self.expendable_blocks.saturating_sub(1)) * self.units_per_block
    }
}
