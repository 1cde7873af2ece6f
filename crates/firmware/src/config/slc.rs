//! The figures of an SLC cache, and what does not go together with one.

use super::{ConfigError, FirmwareConfig, Plan, SlcPlan};
use crate::policy::collect::{CollectPolicy, Copyback, Destination};
use crate::policy::pack::PackPolicy;
use crate::policy::upkeep::{Occasion, UpkeepPolicies};
use crate::policy::Build;
use crate::task::Task;
use wordline_flash::Geometry;

impl Plan {
    /// Spare blocks of a domain that an SLC cache of fixed size takes: what its blocks lack when they are full of valid data.
    #[must_use]
    pub fn slc_set_aside(&self) -> u32 {
        let Some(slc) = self.slc.filter(|slc| slc.fixed) else { return 0 };
        let units = u64::from(slc.most) * u64::from(self.slc_units_lacking());
        units.div_ceil(u64::from(self.units_per_block)) as u32
    }

    /// Units that a block has less in SLC mode.
    pub(crate) fn slc_units_lacking(&self) -> u32 {
        self.slc.map_or(0, |slc| self.units_per_block - slc.programs * self.units_per_page)
    }
}

impl FirmwareConfig {
    /// The figures of the SLC cache, if there is one.
    pub(super) fn slc_plan(
        &self,
        geometry: &Geometry,
        collect: &CollectPolicy,
        build: &Build<'_>,
    ) -> Result<Option<SlcPlan>, ConfigError> {
        let Some(size) = self.slc.build(build)?.size() else { return Ok(None) };
        let all = geometry.blocks() / build.domains;
        let spare = size.spare.unwrap_or(collect.stop() + build.blocks_together);
        if spare.saturating_add(build.blocks_together) > all {
            let problem =
                format!("leaves no block for the cache: must be at most {}", all - build.blocks_together.min(all));
            return Err(ConfigError::new("slc.free_blocks", spare, problem)
                .derived(size.spare.is_some(), "what GC stops at, and the blocks that are opened together"));
        }
        Ok(Some(SlcPlan {
            programs: geometry.slc_pages_per_block,
            most: size.most.map_or(all, |most| most / build.domains),
            spare,
            fixed: size.fixed,
        }))
    }

    /// Checks that folding has a cache to fold.
    pub(super) fn check_folding(&self, upkeep: &UpkeepPolicies, has_cache: bool) -> Result<(), ConfigError> {
        if upkeep.occasion(Task::FOLD) == Occasion::Never || has_cache {
            return Ok(());
        }
        let problem = "has no effect without an SLC cache; use slc.policy = \"dynamic\" or \"static\", or leave it out";
        Err(ConfigError::new("fold.policy", self.upkeep.fold.name(), problem))
    }

    /// Checks that blocks can be in SLC mode.
    pub(super) fn check_slc(
        &self,
        geometry: &Geometry,
        (fixes_pages, parity): (bool, bool),
        collect: &CollectPolicy,
        pack: &PackPolicy,
        has_stage: bool,
    ) -> Result<(), ConfigError> {
        let name = self.slc.name();
        let with = |key: &str, value: &dyn ToString, problem: &str| {
            let problem = format!("does not go with slc.policy = \"{name}\": {problem}");
            Err(ConfigError::new(key, value.to_string(), problem))
        };
        if fixes_pages {
            let problem = "blocks of this mapping have all their pages; use \"page\" or \"cached\"";
            return with("mapping.policy", &self.mapping.name(), problem);
        }
        if collect.destination() != Destination::OwnBlock {
            let problem = "GC would write to the host's blocks in SLC mode; use \"own-block\"";
            return with("collect.into", &collect.destination().name(), problem);
        }
        let copyback = collect.copyback();
        if copyback != Copyback::Off {
            let problem = "data change their mode when they move, which a copyback cannot do; use \"off\"";
            return with("collect.copyback", &copyback.name(), problem);
        }
        if pack.cache().is_some() {
            let problem = "a sequence of cache mode cannot change the mode of its blocks";
            return if self.pack.name() == "cache" {
                with("pack.policy", &"cache", &format!("{problem}; use \"planes\" or \"none\""))
            } else {
                with("pack.cache", &"true", &format!("{problem}; leave it out"))
            };
        }
        if parity {
            let problem = "rows of parity would need pages of one mode; use \"superblock\" or \"none\"";
            return with("redundancy.policy", &self.redundancy.name(), problem);
        }
        if has_stage && geometry.pages_per_program > 1 {
            let pages = geometry.pages_per_program;
            let problem = format!(
                "with geometry.pages_per_program = {pages} a commit stage cannot know how much a program writes; use \"fifo\""
            );
            return with("dispatch.policy", &self.dispatch.name(), &problem);
        }
        Ok(())
    }
}
