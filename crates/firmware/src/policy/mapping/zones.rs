//! Map zones: the drive is cut into parts, each with a mapping table of its own, and memory holds the tables of a few.
//!
//! Source: chang11 (CPSNA 2011, 3.3 and figure 3).
//! Faithful: a zone is an instance of the translation layer over a part of the logical blocks, so log blocks of one zone serve no
//! other. Its whole table is read from flash when a request, or a merge, needs it and memory lacks it, and written as a whole when
//! it leaves memory.
//! Assumed: the table used the longest ago leaves; it is written only if an entry has changed. A table has entries of four bytes
//! for the logical blocks of its zone, and for the pages of as many log blocks as the zone can have. Tables lie in logical blocks
//! behind those of the host, which are updated by the same scheme; where they lie is always known in memory. Simplified: zones share
//! the limits of a GC domain (`log_blocks`, one sequential log block, one merge at a time). A changed entry waits beside the
//! tables until its table has been read.

use super::cached::Cached;
use super::{Evicted, LogRule, Mapping as _};
use crate::policy::Build;
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The tables of map zones that memory holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Zones {
    tables: Cached,
    blocks: u32,
    pages_per_block: u32,
}

impl Zones {
    /// Zones of so many logical blocks, and as many of their tables in memory as given; none if neither is given.
    pub(super) fn new(
        blocks: Option<u32>,
        tables: Option<u32>,
        build: &Build<'_>,
    ) -> Result<Option<Self>, ConfigError> {
        let wrong =
            |key: &str, value: u32, problem: &str| Err(ConfigError::new(format!("mapping.{key}"), value, problem));
        let (blocks, tables) = match (blocks, tables) {
            (None, None) => return Ok(None),
            (Some(0), _) => return wrong("zone_blocks", 0, "must be at least 1"),
            (_, Some(0)) => return wrong("zone_tables", 0, "must be at least 1: what is looked up must be in memory"),
            (Some(blocks), None) => {
                return wrong("zone_blocks", blocks, "needs mapping.zone_tables, the tables that memory holds")
            }
            (None, Some(tables)) => {
                return wrong("zone_tables", tables, "has no effect without mapping.zone_blocks, the size of a zone")
            }
            (Some(blocks), Some(tables)) => (blocks, tables),
        };
        let pages_per_block = build.geometry.pages_per_block;
        // As many as there can be, until the size of the drive is known.
        let most = build.geometry.blocks().div_ceil(blocks);
        Ok(Some(Self { tables: Cached::of_units(build.geometry.page_bytes, tables, most), blocks, pages_per_block }))
    }

    /// Logical blocks of a zone.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Tables that memory holds at most.
    pub(crate) fn tables(&self) -> u32 {
        self.tables.capacity()
    }

    /// Logical pages of a zone.
    pub(super) fn entries(&self) -> u32 {
        self.blocks.saturating_mul(self.pages_per_block)
    }

    /// What memory holds.
    pub(super) fn cache(&self) -> &Cached {
        &self.tables
    }

    /// What memory holds.
    pub(super) fn cache_mut(&mut self) -> &mut Cached {
        &mut self.tables
    }

    /// A table is used; true if memory has it.
    pub(super) fn used(&mut self, zone: u32) -> bool {
        self.tables.use_entry(zone)
    }

    /// A table changes; true if memory has it.
    pub(super) fn changed(&mut self, zone: u32) -> bool {
        self.tables.change_entry(zone)
    }

    /// Memory gets a table, and another may leave.
    pub(super) fn admit(&mut self, zone: u32, changed: bool) -> Option<Evicted> {
        self.tables.admit(zone, changed)
    }

    /// A table goes to flash as it is now.
    pub(super) fn written(&mut self, zone: u32) {
        self.tables.written(zone);
    }
}

/// The log blocks that a zone can have at most, where a domain has `most` of them: those of its groups, and of the drive.
pub(crate) fn log_blocks_of_zone(rule: &LogRule, blocks: u32, domains: u32, most: u64) -> u64 {
    let all = most * u64::from(domains);
    let (Some(size), Some(of_group)) = (rule.logical_blocks, rule.log_blocks) else { return all };
    // Groups have neighbours of one domain: some of a zone may be incomplete in each.
    let groups = blocks.div_ceil(domains).div_ceil(size).saturating_mul(domains).min(blocks);
    all.min(u64::from(groups) * u64::from(of_group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::mapping::Priority;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn zones(blocks: Option<u32>, tables: Option<u32>) -> Result<Option<Zones>, String> {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: false,
            domains: 1,
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        Zones::new(blocks, tables, &build).map_err(|error| error.to_string())
    }

    #[test]
    fn a_zone_has_the_pages_of_its_blocks() {
        assert!(zones(None, None).unwrap().is_none());
        let zones = zones(Some(3), Some(2)).unwrap().unwrap();
        assert_eq!((zones.blocks(), zones.tables(), zones.entries()), (3, 2, 3 * 256));
    }

    #[test]
    fn half_of_the_keys_and_none_of_either_are_refused() {
        let refused = |blocks, tables| zones(blocks, tables).unwrap_err();
        assert_eq!(refused(Some(0), Some(1)), "mapping.zone_blocks = 0: must be at least 1");
        assert_eq!(
            refused(Some(1), Some(0)),
            "mapping.zone_tables = 0: must be at least 1: what is looked up must be in memory"
        );
        assert!(refused(Some(4), None).starts_with("mapping.zone_blocks = 4: needs mapping.zone_tables"));
        assert!(
            refused(None, Some(4)).starts_with("mapping.zone_tables = 4: has no effect without mapping.zone_blocks")
        );
    }

    #[test]
    fn a_zone_has_room_for_the_log_blocks_of_its_groups() {
        let rule = |logical_blocks, log_blocks| LogRule {
            logical_blocks,
            log_blocks,
            most: None,
            zone_blocks: None,
            sequential: false,
            one_by_one: false,
            priority: Priority::Oldest,
        };
        let (bast, nk, fast) = (rule(Some(1), Some(1)), rule(Some(16), Some(32)), rule(None, None));
        // One for each of ten logical blocks, but no more than the drive has.
        assert_eq!(log_blocks_of_zone(&bast, 10, 1, 100), 10);
        assert_eq!(log_blocks_of_zone(&bast, 10, 2, 4), 8);
        // Twenty logical blocks are two groups of 32 log blocks, or in four domains a group in each.
        assert_eq!(log_blocks_of_zone(&nk, 20, 1, 100), 64);
        assert_eq!(log_blocks_of_zone(&nk, 20, 4, 100), 128);
        assert_eq!(log_blocks_of_zone(&fast, 10, 2, 4), 8);
    }
}
