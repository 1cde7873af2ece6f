//! What does not go together with a mapping that has log blocks, how many of these there may be, and the memory that a mapping
//! table takes.

use super::{ConfigError, FirmwareConfig, Plan, ZonePlan};
use crate::policy::collect::CollectConfig;
use crate::policy::mapping::zones::{log_blocks_of_zone, Zones};
use crate::policy::mapping::{LogRule, MappingConfig, MappingPolicy};
use crate::policy::upkeep::UpkeepPolicies;
use crate::policy::victim::VictimConfig;
use crate::policy::Build;
use serde_json::Value;

/// Bytes of an entry of a mapping table.
const ENTRY: u64 = 4;

impl FirmwareConfig {
    /// Checks that the mapping alone says which blocks are emptied.
    pub(super) fn check_logs(&self, rule: &LogRule, upkeep: &UpkeepPolicies) -> Result<(), ConfigError> {
        let name = self.mapping.name();
        if self.victim != VictimConfig::default() {
            let problem = format!(
                "has no effect: mapping.policy = \"{name}\" says which log blocks are merged; leave victim.policy out"
            );
            return Err(ConfigError::new("victim.policy", self.victim.name(), problem));
        }
        if let Some(task) = upkeep.tasks().background().find(|&task| !upkeep.goes_with_logs(task)) {
            let about = task.about();
            let problem = format!(
                "does not go with this policy of {}, which empties single blocks: leave {}.policy out, or use mapping.policy = \"block\"",
                about.title, about.name
            );
            return Err(ConfigError::new("mapping.policy", name, problem));
        }
        let on_demand = match &self.collect {
            CollectConfig::OnDemand(options) => Some(options),
            CollectConfig::Agc(options) | CollectConfig::AgcDgc(options) => Some(&options.on_demand),
            CollectConfig::Dgc(options) => Some(&options.on_demand),
            CollectConfig::Partial(options) => Some(&options.on_demand),
            _ => None,
        };
        let of_guest = |key: &str| match &self.collect {
            CollectConfig::Guest(guest) => guest.options.get(key).and_then(Value::as_u64).map(|given| given as u32),
            _ => None,
        };
        let limits = match on_demand {
            Some(options) => [options.blocks_at_a_time, options.blocks_per_die],
            None => ["blocks_at_a_time", "blocks_per_die"].map(of_guest),
        };
        let limits = [("blocks_at_a_time", limits[0]), ("blocks_per_die", limits[1])];
        if let Some((key, Some(value))) = limits.into_iter().find(|(_, value)| value.is_some()) {
            let problem = format!(
                "has no effect: with mapping.policy = \"{name}\" each GC domain merges one group of log blocks at a time; leave it out"
            );
            return Err(ConfigError::new(format!("collect.{key}"), value, problem));
        }
        match rule.most.filter(|&most| most < rule.least()) {
            Some(most) => {
                let problem = format!("must be at least {} for mapping.policy = \"{name}\"", rule.least());
                Err(ConfigError::new("mapping.log_blocks", most, problem))
            }
            None => Ok(()),
        }
    }

    /// Checks that a policy whose data must fill a block alone has a mapping that moves them so. Elsewhere they would share open blocks
    /// with what GC moves; the worn block would soon be erased again, and the moves wear more than they level.
    pub(super) fn check_whole_blocks(&self, fixes_pages: bool, upkeep: &UpkeepPolicies) -> Result<(), ConfigError> {
        if fixes_pages {
            return Ok(());
        }
        let Some(task) = upkeep.tasks().background().find(|&task| upkeep.needs_whole_blocks(task)) else {
            return Ok(());
        };
        let about = task.about();
        let problem = format!(
            "does not go with this policy of {}, since its blocks take data of several others: use another {}.policy, or a mapping of \
             whole blocks (block, bast, sast, fast, pftl)",
            about.title, about.name
        );
        Err(ConfigError::new("mapping.policy", self.mapping.name(), problem))
    }

    /// Checks that the spare blocks of a domain are enough for its log blocks.
    pub(super) fn check_log_blocks(&self, plan: &Plan) -> Result<(), ConfigError> {
        let (Some(rule), most) = (plan.logs, plan.log_blocks_to_spare()) else { return Ok(()) };
        match rule.most.filter(|&wanted| wanted > most) {
            Some(wanted) => {
                let problem = format!(
                    "{} spare blocks leave room for {most} log blocks: use at most {most}, or a larger \
                     capacity.raw_over_logical",
                    plan.spare_blocks
                );
                Err(ConfigError::new("mapping.log_blocks", wanted, problem))
            }
            None => Ok(()),
        }
    }

    /// The map zones of a drive with so many units of the host, and so many of them in a block. The table of a zone has room for all
    /// log blocks that it can come to have, and its size does not depend on how many blocks all tables take.
    pub(super) fn zone_plan(
        &self,
        zones: &Zones,
        mapping: &MappingPolicy,
        (logical_units, units_per_block): (u32, u32),
        build: &Build<'_>,
    ) -> Result<ZonePlan, ConfigError> {
        let lots = logical_units.div_ceil(units_per_block);
        let blocks = zones.blocks().min(lots);
        let spare = build.geometry.blocks().saturating_sub(lots);
        let log_blocks = mapping.logs().map_or(0, |rule| {
            let most = rule.most.map_or(u64::MAX, u64::from).min(u64::from(spare.div_ceil(build.domains)));
            log_blocks_of_zone(&rule, blocks, build.domains, most)
        });
        let table_bytes = ENTRY * (u64::from(blocks) + log_blocks * u64::from(units_per_block));
        let count = lots.div_ceil(blocks);
        let table_units = table_bytes.div_ceil(u64::from(mapping.unit_bytes()));
        // More than all blocks cannot be accepted; the tables of such a drive would not even have numbers.
        if table_units * u64::from(count) > u64::from(build.geometry.blocks()) * u64::from(units_per_block) {
            let problem = format!(
                "makes {count} zones whose tables take {table_units} pages each, more than the drive has: use larger zones, or a lower \
                 mapping.log_blocks"
            );
            return Err(ConfigError::new("mapping.zone_blocks", zones.blocks(), problem));
        }
        Ok(ZonePlan { count, tables: zones.tables(), table_bytes, table_units: table_units as u32 })
    }

    /// Checks that a mapping is the one that was planned with: an external one may answer otherwise when it is made again.
    pub(crate) fn check_scheme(&self, plan: &Plan, mapping: &MappingPolicy) -> Result<(), ConfigError> {
        let MappingConfig::Guest(guest) = &self.mapping else { return Ok(()) };
        let lots = plan.logical_units.div_ceil(plan.units_per_block);
        let of_zones = |zones: &Zones| (lots.div_ceil(zones.blocks().min(lots)), zones.tables());
        let planned = plan.zones.map(|ZonePlan { count, tables, .. }| (count, tables));
        let is_same = mapping.fixes_pages() == plan.fixes_pages
            && mapping.logs() == plan.logs
            && mapping.zones().map(of_zones) == planned;
        if is_same {
            return Ok(());
        }
        let problem =
            "its method 'scheme' gave other figures when the policy was made again: let them follow from its options";
        Err(guest.error("mapping", problem))
    }

    /// An error about a figure that an external policy gave in place of a key.
    pub(super) fn of_scheme(&self, error: ConfigError) -> ConfigError {
        const FIGURES: [&str; 3] = ["log_blocks", "zone_blocks", "zone_tables"];
        let figure = FIGURES.into_iter().find(|figure| error.key.strip_prefix("mapping.") == Some(figure));
        let (MappingConfig::Guest(guest), Some(figure)) = (&self.mapping, figure) else { return error };
        let named = |problem: String, figure: &str| problem.replace(&format!("mapping.{figure}"), figure);
        let problem = FIGURES.into_iter().fold(error.problem, named);
        guest.error("mapping", format!("its {figure} is {}: {problem}", error.value))
    }

    /// Bytes of the mapping table that the drive keeps in memory: entries of four bytes for each logical page, or for each logical
    /// block and each page of a log block; of a table in flash what memory holds of it, and where the rest lies.
    pub(super) fn table_bytes(&self, plan: &Plan) -> u64 {
        let cache_kib = match &self.mapping {
            MappingConfig::Cached(options) => Some(u64::from(options.cache_kib)),
            MappingConfig::Guest(guest) if !plan.fixes_pages => guest.options.get("cache_kib").and_then(Value::as_u64),
            _ => None,
        };
        if let Some(cache_kib) = cache_kib {
            return cache_kib * 1024 + ENTRY * u64::from(plan.map_units);
        }
        if let Some(ZonePlan { count, tables, table_bytes, .. }) = plan.zones {
            return table_bytes * u64::from(tables.min(count)) + ENTRY * u64::from(plan.map_units);
        }
        if !plan.fixes_pages {
            return ENTRY * u64::from(plan.logical_units);
        }
        let log_pages = u64::from(plan.log_blocks() * plan.domains) * u64::from(plan.units_per_block);
        ENTRY * (u64::from(plan.logical_units.div_ceil(plan.units_per_block)) + log_pages)
    }
}
