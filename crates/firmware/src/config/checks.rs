//! Policies that do not go with each other, or have no effect together.

use super::{ConfigError, FirmwareConfig};
use crate::policy::arbiter::ArbiterPolicy;
use crate::policy::collect::{CollectPolicy, Destination, Scope};
use crate::policy::pack::{PackConfig, PackPolicy};
use crate::policy::upkeep::{Occasion, UpkeepPolicies};
use crate::policy::victim::VictimPolicy;
use crate::policy::Build;
use crate::task::{Action, Class, Task, Tasks};
use wordline_flash::Geometry;

impl FirmwareConfig {
    /// Tasks whose moved data open the most worn free blocks. They need open blocks for moved data alone.
    pub(super) fn open_worn(upkeep: &UpkeepPolicies, destination: Destination) -> Result<Tasks, ConfigError> {
        let tasks = upkeep.tasks();
        let all = tasks.background().filter(|&task| upkeep.opens_worn(task)).fold(Tasks::default(), Tasks::with);
        if destination == Destination::OwnBlock {
            return Ok(all);
        }
        let shared = destination.name();
        let Some(task) = all.iter().next() else { return Ok(all) };
        let problem = format!(
            "does not go with {}, which opens worn blocks for the data that it moves, and not for those of the host; use \
             \"own-block\"",
            task.about().title
        );
        Err(ConfigError::new("collect.into", shared, problem))
    }

    /// Checks that no background task that reads start starts itself by what it reads of the mapping table.
    pub(super) fn check_lookups(&self, upkeep: &UpkeepPolicies, units_per_block: u32) -> Result<(), ConfigError> {
        for task in upkeep.tasks().background() {
            let Occasion::Reads(reads) = upkeep.occasion(task) else { continue };
            if reads <= units_per_block {
                let problem = format!(
                    "moving a block may read {units_per_block} units of the mapping table from flash, and {} starts at {reads} \
                     reads of a block: it could go on for ever; let it start above {units_per_block} reads",
                    task.about().title
                );
                return Err(ConfigError::new("mapping.policy", self.mapping.name(), problem));
            }
        }
        Ok(())
    }

    /// Checks that the host could write without pacing while GC runs, where operations go to their dies at once.
    pub(super) fn check_pacing(&self, arbiter: &ArbiterPolicy) -> Result<(), ConfigError> {
        // All operations of GC in a plane wait at the die of the plane, and one always does.
        let mut collecting = Action::ALL.into_iter().map(|action| Class::new(Task::GC, action));
        let gc_first = collecting.all(|class| arbiter.prefers(class, Class::HOST_WRITE));
        if gc_first && self.collect.scope() == Scope::Plane {
            let problem =
                "has no effect: moved pages stay in their plane, and arbiter.order keeps host writes from a die \
                until GC has nothing to do there; use collect.scope = \"drive\", or put host-write before gc-read";
            return Err(ConfigError::new("collect.pacing", true, problem));
        }
        Ok(())
    }

    /// Checks that planes which take turns can hold more than an even share: overwrites leave them uneven.
    pub(super) fn check_turns(&self, geometry: &Geometry, expendable: u32) -> Result<(), ConfigError> {
        let build = self.build(geometry, 1, 0);
        if expendable >= 2 || !self.placement.build(&build)?.takes_turns() {
            return Ok(());
        }
        let problem = format!(
            "needs two spare blocks in each plane beyond those of the other policies, and there are {expendable}: use a larger \
             capacity.raw_over_logical, lower thresholds in [collect], or placement.policy = \"static\""
        );
        Err(ConfigError::new("placement.policy", self.placement.name(), problem))
    }

    /// Checks that the plane of each operation is known when it comes, so that transactions and requests can wait for it.
    pub(super) fn check_transactions(&self, knows_plane: bool, build: &Build<'_>) -> Result<(), ConfigError> {
        let wrong =
            |problem: &str| Err(ConfigError::new("dispatch.policy", self.dispatch.name(), problem.replace("  ", " ")));
        if !knows_plane {
            return wrong(
                "needs the plane of each write when it comes: use placement.policy = \"static\", \"in-turn\" or \"by-request\"",
            );
        }
        if self.mapping.build(build)?.fixes_pages() {
            return wrong(
                "does not go with mapping.policy = \"block\", whose writes wait for their turn in their block",
            );
        }
        if self.redundancy.name() != "none" {
            return wrong(
                "does not go with redundancy.policy, whose parity and rebuilt reads belong to no request; use \"none\"",
            );
        }
        Ok(())
    }

    /// Checks that GC can have a die for itself, share open blocks with the host, and take its operations along.
    pub(super) fn check_holding(
        &self,
        geometry: &Geometry,
        collect: &CollectPolicy,
        (pack, victim): (&PackPolicy, &VictimPolicy),
        has_stage: bool,
    ) -> Result<(), ConfigError> {
        let suspends = self.suspend.name() != "none";
        let wrong =
            |key: &str, value: &dyn ToString, problem: String| Err(ConfigError::new(key, value.to_string(), problem));
        // An external packer mixes by a method of its own.
        let (mixing, mixer): (&str, &dyn ToString) = match &self.pack {
            PackConfig::Guest(guest) => ("pack.policy", &guest.policy),
            _ => ("pack.join_gc", &true),
        };
        if collect.destination() != Destination::OwnBlock && self.collect.scope() == Scope::Drive {
            let value = collect.destination().name();
            let problem = "needs collect.scope = \"plane\": moved data must stay in their plane";
            return wrong("collect.into", &value, problem.into());
        }
        if victim.wants_reads() && self.collect.scope() == Scope::Drive {
            let problem = "needs collect.scope = \"plane\": the reads it looks at wait for the other planes of one die";
            return wrong("victim.policy", &self.victim.name(), problem.into());
        }
        if self.victim.name() == "read-aligned" && !pack.mixes() {
            let problem =
                "has no effect: commands of GC take no reads of the host along; use pack.policy = \"planes\" with \
                pack.join_gc = true, or victim.policy = \"greedy\"";
            return wrong("victim.policy", &self.victim.name(), problem.into());
        }
        if pack.mixes() && geometry.planes_per_die == 1 && !matches!(self.pack, PackConfig::Guest(_)) {
            let problem = "has no effect: dies of one plane have no multi-plane commands; leave it out";
            return wrong(mixing, mixer, problem.into());
        }
        if collect.destination() == Destination::PairedBlocks && pack.cache().is_some() {
            let problem =
                "does not go with pack.cache: followers are chosen by the next page of a plane, which the start of a \
                collection changes";
            return wrong("collect.into", &"paired-blocks", problem.into());
        }
        let below = collect.hold_below();
        if below > 0 {
            let key = "collect.hold_below_blocks";
            let blocks = match self.collect.scope() {
                Scope::Plane => geometry.blocks_per_plane,
                Scope::Drive => geometry.blocks(),
            };
            if below > blocks {
                let problem = format!(
                    "must be at most {blocks}, the blocks of a domain (collect.scope = \"{}\"); a die with a victim serves GC alone always with \
                     stop_blocks = {} or more",
                    if self.collect.scope() == Scope::Plane { "plane" } else { "drive" },
                    collect.stop()
                );
                return wrong(key, &below, problem);
            }
            if has_stage {
                let problem = format!(
                    "does not go with dispatch.policy = \"{}\": operations of the host that it sends to a held die would \
                     take the places of those of GC; use \"fifo\"",
                    self.dispatch.name()
                );
                return wrong(key, &below, problem);
            }
            if pack.cache().is_some() {
                let problem = "does not go with pack.cache: a die in cache mode goes on with followers";
                return wrong(key, &below, problem.into());
            }
            if suspends {
                let problem =
                    "does not go with suspend.policy = \"reads\": reads would interrupt GC in a die that it holds";
                return wrong(key, &below, problem.into());
            }
        }
        if pack.mixes() && suspends {
            let problem = "does not go with suspend.policy = \"reads\": a command of two tasks is not interrupted";
            return wrong(mixing, mixer, problem.into());
        }
        if collect.is_instant() && suspends {
            let problem = "does not go with suspend.policy = \"reads\": there is nothing to interrupt";
            return wrong("collect.instant", &true, problem.into());
        }
        if collect.is_instant() && pack.mixes() {
            let problem = format!("does not go with {mixing}: host operations that join GC would take no time either");
            return wrong("collect.instant", &true, problem);
        }
        if collect.is_instant() && pack.cache().is_some() {
            let problem = "does not go with pack.cache: operations without time follow none";
            return wrong("collect.instant", &true, problem.into());
        }
        Ok(())
    }
}
