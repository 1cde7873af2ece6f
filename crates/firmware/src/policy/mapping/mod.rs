//! Family `mapping`: translation of logical pages to flash pages, and its cost.
//!
//! Where data lie is kept by the kernel's map. A mapping scheme says what finding and changing an entry costs: parts of
//! the mapping table (*map units*) may lie in flash, and have to be read there and written back. It also says whether
//! a unit may have any page, or its own one in the block of its logical block, and whether log blocks stand beside those.

pub mod zones;

use crate::policies;
use crate::policy::Trouble;
use cached::Cached;
use serde::{Deserialize, Serialize};
use zones::Zones;

/// Which log blocks are merged when they run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    /// Those of the group that got its first log block before the others.
    Oldest,
    /// Those of the group that was not written for the longest time.
    LeastRecentlyWritten,
}

/// How log blocks serve logical blocks (association and prioritisation of chang11, II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRule {
    /// Logical blocks of a GC domain that form a group and share log blocks, neighbours in the domain; none if all do.
    pub logical_blocks: Option<u32>,
    /// Log blocks of a group at most; none if only their number in the domain is limited.
    pub log_blocks: Option<u32>,
    /// Log blocks of a domain at most; none if all spare blocks may be log blocks.
    pub most: Option<u32>,
    /// Logical blocks of a map zone, whose log blocks serve no other; none if the drive is not cut into zones.
    pub zone_blocks: Option<u32>,
    /// True if one more log block of each domain takes a logical block's pages from the first on, as long as they come in order.
    pub sequential: bool,
    /// True if a merge empties the oldest log block of a group, and not all of them.
    pub one_by_one: bool,
    /// Which log blocks are merged when they run out.
    pub priority: Priority,
}

impl LogRule {
    /// Log blocks without which a domain cannot work.
    #[must_use]
    pub fn least(&self) -> u32 {
        1 + u32::from(self.sequential)
    }
}

/// A write of the first page of a logical block, which the sequential log block of its domain may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceView {
    /// The logical block.
    pub lot: u32,
    /// Its domain.
    pub domain: u32,
    /// Pages of the logical block in order that wait, from this one on.
    pub pages: u32,
    /// The logical block that has the sequential log block, and how many of its pages went there, if one has it.
    pub holder: Option<(u32, u32)>,
}

/// A map unit that leaves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which one.
    pub map_unit: u32,
    /// True if flash does not have its newest entries.
    pub changed: bool,
}

/// Log blocks that can be merged now: those of a group, or one where they are merged one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeEntry {
    /// The oldest of them.
    pub block: u32,
    /// How many there are.
    pub blocks: u32,
    /// Their valid pages.
    pub valid: u32,
    /// Logical blocks that have these pages, each of which is brought together.
    pub lots: u32,
}

/// A domain that lacks log blocks.
#[derive(Clone, Copy, Debug)]
pub struct MergeView<'a> {
    /// The domain.
    pub domain: u32,
    /// What can be merged, at least one, the first by priority first.
    pub merges: &'a [MergeEntry],
}

/// Properties of the drive that a mapping scheme fixes, and the cost of its lookups.
pub trait Mapping {
    /// Bytes in a mapping unit, the smallest unit of state.
    fn unit_bytes(&self) -> u32;
    /// Entries of a map unit, of which each belongs to a mapping unit; none if the whole table is in memory: the rest is not asked
    /// then. A map unit has the size of a mapping unit; with map zones it is the table of a zone.
    fn entries(&self) -> Option<u32> {
        self.zones().map(Zones::entries)
    }
    /// An entry of a map unit will be used soon: asks the processor for what is kept about it.
    #[inline]
    fn expect_entry(&self, _map_unit: u32) {}
    /// The same a little later, when what was asked for then is at hand.
    #[inline]
    fn expect_entry_soon(&self, _map_unit: u32) {}
    /// The same once more, when that is at hand, too.
    #[inline]
    fn expect_neighbours(&self, _map_unit: u32) {}
    /// The map unit that will probably leave memory next, to ask for what will be needed then: what the member keeps about the one after it, it
    /// asks for itself.
    #[inline]
    fn leaves_next(&self) -> Option<u32> {
        None
    }
    /// An entry of a map unit is used; true if memory has it.
    fn use_entry(&mut self, map_unit: u32) -> bool {
        self.zones_mut().is_none_or(|zones| zones.used(map_unit))
    }
    /// An entry of a map unit changes; true if memory has it.
    fn change_entry(&mut self, map_unit: u32) -> bool {
        self.zones_mut().is_none_or(|zones| zones.changed(map_unit))
    }
    /// Memory gets a map unit, with entries that flash does not have if `changed`; tells which one leaves for it.
    fn admit(&mut self, map_unit: u32, changed: bool) -> Option<Evicted> {
        self.zones_mut()?.admit(map_unit, changed)
    }
    /// The newest entries of a map unit go to flash.
    fn written(&mut self, map_unit: u32) {
        if let Some(zones) = self.zones_mut() {
            zones.written(map_unit);
        }
    }
    /// True if each unit has its own page in the block of its logical block, which holds as many consecutive units as a block.
    fn fixes_pages(&self) -> bool {
        false
    }
    /// The log blocks beside the blocks of logical blocks, if pages are fixed there and others take what is written again.
    fn logs(&self) -> Option<LogRule> {
        None
    }
    /// True if it chooses what is merged where a domain lacks log blocks.
    #[inline]
    fn chooses_merges(&self) -> bool {
        false
    }
    /// What is merged then, by its oldest log block; none for the first by priority.
    fn merge(&mut self, _: &MergeView<'_>) -> Option<u32> {
        None
    }
    /// True if a write of the first page of a logical block takes the sequential log block of its domain, from the logical block that has it;
    /// false if it goes to a log block like others.
    #[inline]
    fn starts_sequence(&mut self, _: &SequenceView) -> bool {
        true
    }
    /// The map zones of a mapping that has any, and which of their tables memory holds.
    fn zones(&self) -> Option<&Zones> {
        None
    }
    /// The same, to change.
    fn zones_mut(&mut self) -> Option<&mut Zones> {
        None
    }
    /// The last problem with an external policy, if any.
    #[inline]
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "mapping" decides "how logical pages (mapping units) map to flash pages";
    trait Mapping, config MappingConfig, policy MappingPolicy;
    members {
        /// Every mapping unit has its own entry, all in memory.
        "page" => page::Page,
        /// Every mapping unit has its own entry; the table lies in flash, and memory holds a part of it.
        "cached" => cached::Cached,
        /// Every logical block of consecutive units has one entry, and its units have their own pages.
        "block" => block::Block,
        /// Block mapping, with a log block for each logical block that is updated.
        "bast" => bast::Bast,
        /// Block mapping, with log blocks for groups of logical blocks.
        "sast" => sast::Sast,
        /// Block mapping, with log blocks for all logical blocks together.
        "fast" => fast::Fast,
        /// Block mapping, with a buffer under page mapping.
        "pftl" => pftl::Pftl,
    }
    guest guest::Guest;
    methods {
        fn unit_bytes(self: &Self) -> u32;
        fn entries(self: &Self) -> Option<u32>;
        fn expect_entry(self: &Self, map_unit: u32) -> ();
        fn expect_entry_soon(self: &Self, map_unit: u32) -> ();
        fn expect_neighbours(self: &Self, map_unit: u32) -> ();
        fn leaves_next(self: &Self) -> Option<u32>;
        fn use_entry(self: &mut Self, map_unit: u32) -> bool;
        fn change_entry(self: &mut Self, map_unit: u32) -> bool;
        fn admit(self: &mut Self, map_unit: u32, changed: bool) -> Option<Evicted>;
        fn written(self: &mut Self, map_unit: u32) -> ();
        fn fixes_pages(self: &Self) -> bool;
        fn logs(self: &Self) -> Option<LogRule>;
        fn chooses_merges(self: &Self) -> bool;
        fn merge(self: &mut Self, view: &MergeView<'_>) -> Option<u32>;
        fn starts_sequence(self: &mut Self, view: &SequenceView) -> bool;
        fn zones(self: &Self) -> Option<&Zones>;
        fn zones_mut(self: &mut Self) -> Option<&mut Zones>;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl MappingPolicy {
    /// What memory holds of a table that lies in flash.
    fn cache(&self) -> Option<&Cached> {
        match self {
            Self::Cached(cache) => Some(cache),
            Self::Guest(guest) => guest.cache(),
            _ => self.zones().map(Zones::cache),
        }
    }

    /// The drive has so many map units: no other can be in memory.
    pub(crate) fn has_map_units(&mut self, count: u32) {
        match self {
            Self::Cached(cache) => cache.has_map_units(count),
            Self::Guest(guest) => guest.has_map_units(count),
            _ => {
                if let Some(zones) = self.zones_mut() {
                    zones.cache_mut().has_map_units(count);
                }
            }
        }
    }

    /// Takes over what memory holds of the table of another drive, if both keep it in flash.
    pub(crate) fn adopt(&mut self, other: &Self) {
        let Some(other) = other.cache() else { return };
        match self {
            Self::Cached(mine) => mine.adopt(other),
            Self::Guest(mine) => mine.adopt(other),
            _ => {
                if let Some(zones) = self.zones_mut() {
                    zones.cache_mut().adopt(other);
                }
            }
        }
    }

    /// Goes on with the memory of a saved drive of the same configuration.
    ///
    /// # Errors
    /// Says what cannot have been.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), String> {
        if let (Self::Cached(mine), Self::Cached(saved)) = (&mut *self, &saved) {
            return mine.restore(saved);
        }
        let is_guest = matches!(self, Self::Guest(_));
        if is_guest || std::mem::discriminant(self) != std::mem::discriminant(&saved) {
            return Err("the mapping is another one".into());
        }
        match (self.zones_mut(), saved.zones()) {
            (Some(mine), Some(saved)) => mine.cache_mut().restore(saved.cache()),
            (None, None) => Ok(()),
            _ => Err("its map zones are those of another drive".into()),
        }
    }
}
