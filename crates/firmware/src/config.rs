//! The firmware's sections of a drive file, their checks, and the plan derived from them.

mod checks;
mod fixed_pages;
mod guests;
mod logs;
mod moves;
mod need;
mod plan;
mod programs;
mod raid;
mod slc;
mod steps;
mod superblocks;

use crate::policy::arbiter::ArbiterConfig;
use crate::policy::collect::{CollectConfig, Scope};
use crate::policy::dispatch::DispatchConfig;
use crate::policy::free_block::FreeBlockConfig;
use crate::policy::mapping::MappingConfig;
use crate::policy::pack::PackConfig;
use crate::policy::placement::PlacementConfig;
use crate::policy::processor::ProcessorConfig;
use crate::policy::redundancy::RedundancyConfig;
use crate::policy::shares::SharesConfig;
use crate::policy::slc::SlcConfig;
use crate::policy::suspend::SuspendConfig;
use crate::policy::trim::TrimConfig;
use crate::policy::upkeep::UpkeepConfig;
use crate::policy::victim::VictimConfig;
use crate::policy::Build;
use crate::raid::Parity;
use crate::task::Tasks;
use need::{least, Need};
pub use plan::{Plan, SlcPlan, ZonePlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_flash::Geometry;

/// A key whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}{}: {problem}", derived.as_ref().map_or(String::new(), |from| format!(" (derived: {from})")))]
pub struct ConfigError {
    /// Dotted key in the drive file.
    pub key: String,
    /// The value found (or derived).
    pub value: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
    /// Source of a derived value.
    pub derived: Option<String>,
}

impl ConfigError {
    /// An error about `key`.
    pub fn new(key: impl Into<String>, value: impl ToString, problem: impl Into<String>) -> Self {
        Self { key: key.into(), value: legible(value.to_string()), problem: problem.into(), derived: None }
    }

    /// The same about a derived value; `from` is dropped if the value was written.
    #[must_use]
    pub fn derived(mut self, written: bool, from: impl Into<String>) -> Self {
        self.derived = (!written).then(|| from.into());
        self
    }
}

/// A value as a message shows it: a number of hundreds of digits by its exponent.
fn legible(value: String) -> String {
    match value.parse::<f64>() {
        Ok(number) if value.len() > MOST_DIGITS => format!("{number:e}"),
        _ => value,
    }
}

/// More digits than a value of any key needs.
const MOST_DIGITS: usize = 24;

/// Share of the flash that the host sees. The only place that sets over-provisioning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CapacityConfig {
    /// Raw capacity (all pages of the geometry) divided by the capacity that the host sees; above 1, at most 100.
    pub raw_over_logical: f64,
    /// Blocks of each plane reserved to replace bad blocks; part of the over-provisioning. Absent: half of the blocks
    /// that the firmware can spare if `nand.reliability` lets programs or erases fail, else none.
    pub replacement_blocks: Option<u32>,
}

impl Default for CapacityConfig {
    fn default() -> Self {
        Self { raw_over_logical: 1.28, replacement_blocks: None }
    }
}

/// All sections of the firmware (FTL).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FirmwareConfig {
    /// Over-provisioning.
    pub capacity: CapacityConfig,
    /// Address translation (FTL mapping).
    pub mapping: MappingConfig,
    /// Page allocation for writes.
    pub placement: PlacementConfig,
    /// Choice of the victim block for garbage collection (GC).
    pub victim: VictimConfig,
    /// Start and steps of garbage collection (GC).
    pub collect: CollectConfig,
    /// Choice of the next free block (wear leveling).
    pub free_block: FreeBlockConfig,
    /// Multi-plane commands and cache mode.
    pub pack: PackConfig,
    /// Order and number of requests in service, and of operations sent to the dies.
    pub dispatch: DispatchConfig,
    /// Shares of tasks in the time of the dies, for the dispatch policies that take shares.
    pub shares: SharesConfig,
    /// Scheduling of operations at each die.
    pub arbiter: ArbiterConfig,
    /// Read suspension of programs and erases.
    pub suspend: SuspendConfig,
    /// Handling of TRIM.
    pub trim: TrimConfig,
    /// Superblocks, parity across dies (RAIN), and reads that are rebuilt from it.
    pub redundancy: RedundancyConfig,
    /// SLC cache.
    pub slc: SlcConfig,
    /// Computing time of the firmware.
    pub processor: ProcessorConfig,
    /// Background tasks.
    #[serde(flatten)]
    pub upkeep: UpkeepConfig,
}

impl FirmwareConfig {
    /// Data that policies get when they are built, with so many units in a program.
    pub(crate) fn build<'a>(&self, geometry: &'a Geometry, units_per_program: u32, seed: u64) -> Build<'a> {
        let plane_local = self.collect.scope() == Scope::Plane;
        let domains = if plane_local { geometry.planes() } else { 1 };
        let basic =
            Build { geometry, units_per_program, plane_local, domains, blocks_together: 1, tasks: Tasks::BASIC, seed };
        let tasks = self.upkeep.build(&basic).map_or(Tasks::BASIC, |policies| policies.tasks());
        let stripe = self.redundancy.build(&basic).ok().and_then(|policy| policy.stripe());
        Build { tasks, blocks_together: stripe.map_or(1, |stripe| stripe.blocks()), ..basic }
    }

    /// Checks the sections against a geometry and derives the plan.
    ///
    /// # Errors
    /// Names the first key that cannot be used, its value, and what to write instead.
    pub fn plan(&self, geometry: &Geometry) -> Result<Plan, ConfigError> {
        self.checked(geometry).map_err(|error| self.of_scheme(error))
    }

    fn checked(&self, geometry: &Geometry) -> Result<Plan, ConfigError> {
        let (mut plan, need) = self.draft(geometry)?;
        match plan.spare_blocks.checked_sub(need.blocks()) {
            Some(expendable) => {
                plan.expendable_blocks = expendable;
                self.check_turns(geometry, expendable)?;
                self.check_log_blocks(&plan)?;
                plan.table_bytes = self.table_bytes(&plan);
            }
            None => return Err(self.too_little_spare(geometry, &plan, &need)),
        }
        Ok(plan)
    }

    /// The plan, before its spare space is checked, and the spare space that it needs.
    fn draft(&self, geometry: &Geometry) -> Result<(Plan, Need), ConfigError> {
        let build = self.build(geometry, 1, 0);
        let mapping = self.mapping.build(&build)?;
        let unit_bytes = mapping.unit_bytes();
        let units_per_page = geometry.page_bytes / unit_bytes;
        let units_per_program = units_per_page * geometry.pages_per_program;
        let build = self.build(geometry, units_per_program, 0);
        let placement = self.placement.build(&build)?;
        let (fixed, takes_turns) = (placement.fixed(), placement.takes_turns());
        let redundancy = self.redundancy.build(&build)?;
        let (stripe, raid) = (redundancy.stripe(), redundancy.raid());
        let collect = self.collect.build(&build)?;
        let victim = self.victim.build(&build)?;
        self.free_block.build(&build)?;
        let (pack, dispatch) = (self.pack.build(&build)?, self.dispatch.build(&build)?);
        let upkeep = self.upkeep.build(&build)?;
        if pack.gathers() {
            self.check_gathering(geometry, fixed, &collect, dispatch.depth().is_some())?;
            Self::check_gathering_tasks(geometry, &upkeep)?;
        }
        if self.shares.build(&build)?.is_given() && !dispatch.takes_shares() {
            let problem = format!(
                "has no effect: dispatch.policy = \"{}\" takes no shares; use \"debit\" or \"weighted-fair\"",
                self.dispatch.name()
            );
            return Err(ConfigError::new("shares.policy", self.shares.name(), problem));
        }
        let composes = matches!(&self.dispatch, DispatchConfig::Paq(options) if options.clumps);
        if dispatch.tags().is_some_and(|rules| rules.packs_across) && pack.window() == 0 && !composes {
            let problem = "has no effect: pack.policy has no multi-plane commands; use pack.policy = \"planes\"";
            return Err(match &self.dispatch {
                DispatchConfig::Guest(guest) => guest.error("dispatch", format!("its packs_across {problem}")),
                _ => ConfigError::new("dispatch.packing", true, problem),
            });
        }
        if dispatch.commits().is_some() || dispatch.banks().is_some() {
            self.check_transactions(fixed || takes_turns, &build)?;
        }
        let arbiter = self.arbiter.build(&build)?;
        if collect.paces() && pack.cache().is_none() && dispatch.depth().is_none() {
            self.check_pacing(&arbiter)?;
        }
        self.suspend.build(&build)?;
        self.check_holding(geometry, &collect, (&pack, &victim), dispatch.depth().is_some())?;
        self.check_steps(mapping.fixes_pages(), &collect)?;
        self.check_places(mapping.fixes_pages(), stripe.is_some(), &collect)?;
        self.check_programs(geometry, mapping.fixes_pages(), &collect, &upkeep)?;
        if mapping.fixes_pages() {
            self.check_fixed_pages(fixed, stripe.is_some(), &collect, &pack)?;
        }
        if let Some(rule) = mapping.logs() {
            self.check_logs(&rule, &upkeep)?;
        } else if collect.schedule().is_some() {
            let problem = format!(
                "schedules merges of log blocks, which mapping.policy = \"{}\" does not have: use \"bast\", \"sast\", \"fast\" or \"pftl\" there, or \
                 collect.policy = \"background\"",
                self.mapping.name()
            );
            return Err(ConfigError::new("collect.policy", self.collect.name(), problem));
        }
        self.check_whole_blocks(mapping.fixes_pages(), &upkeep)?;
        if let Some(stripe) = stripe {
            self.check_superblocks(geometry, stripe, (&collect, &pack), dispatch.tags().is_some())?;
        }
        if let Some(raid) = raid {
            self.check_raid(geometry, raid, &build)?;
        }
        let has_cache = self.slc.build(&build)?.size().is_some();
        if has_cache {
            let parity = raid.is_some() || stripe.is_some_and(|stripe| stripe.parity);
            self.check_slc(geometry, (mapping.fixes_pages(), parity), &collect, &pack, dispatch.depth().is_some())?;
        }
        self.check_folding(&upkeep, has_cache)?;
        self.trim.build(&build)?;
        let tasks = upkeep.tasks();

        let raw_units = geometry.pages() * u64::from(units_per_page);
        if raw_units >= u64::from(u32::MAX) {
            let problem = format!(
                "the drive would have {raw_units} mapping units; at most {} are possible (use larger units)",
                u32::MAX - 1
            );
            return Err(ConfigError::new("mapping.unit_kib", unit_bytes / 1024, problem));
        }
        let logical_units = self.logical_units(raw_units as u32, unit_bytes)?;
        let units_per_block = geometry.pages_per_block * units_per_page;
        if mapping.entries().is_some() {
            self.check_lookups(&upkeep, units_per_block)?;
        }
        let blocks_per_domain = geometry.blocks() / build.domains;
        // The most valid units that a domain can come to hold: its share where a page has its plane, an even share elsewhere. An
        // external placement may give each page its plane.
        let zones = match mapping.zones() {
            Some(zones) => Some(self.zone_plan(zones, &mapping, (logical_units, units_per_block), &build)?),
            None => None,
        };
        let map_units = match (zones, mapping.entries()) {
            (Some(zones), _) => zones.count * zones.table_units,
            (None, Some(entries)) => logical_units.div_ceil(entries),
            (None, None) => 0,
        };
        let parity_units = raid.map_or(0, |raid| Parity::units_for(raid, logical_units, units_per_page));
        // The pages of stripes are spread evenly.
        let units = match raid {
            Some(raid) => parity_units.saturating_mul(raid.dies),
            // The tables of many small zones can take more than any drive has: that is refused below.
            None => logical_units.saturating_add(map_units),
        };
        let outside = matches!(self.placement, PlacementConfig::Guest(_));
        let share = if fixed {
            placement.most_in_a_plane(units.div_ceil(units_per_page), geometry.planes()) * units_per_page
        } else if takes_turns || outside {
            (units.div_ceil(units_per_page)).div_ceil(build.domains) * units_per_page
        } else {
            units.div_ceil(build.domains)
        };
        let filled = match stripe {
            Some(stripe) => {
                let programs = stripe.data_pages(geometry.programs_per_block());
                let units = u64::from(programs) * u64::from(units_per_program);
                (u64::from(share).div_ceil(units) * u64::from(stripe.blocks())).try_into().unwrap_or(u32::MAX)
            }
            // Each logical block has a block, however little of it is written.
            None if mapping.fixes_pages() => {
                let blocks = |units: u32| units.div_ceil(units_per_block);
                let all = blocks(logical_units) + blocks(map_units);
                if fixed {
                    placement.most_in_a_plane(all, geometry.planes())
                } else {
                    all.div_ceil(build.domains)
                }
            }
            None => share.div_ceil(units_per_block),
        };
        let spare_blocks = blocks_per_domain.saturating_sub(filled);
        let plan = Plan {
            unit_bytes,
            units_per_page,
            units_per_program,
            units_per_block,
            logical_units,
            map_units,
            zones,
            parity_units,
            raw_units: raw_units as u32,
            domains: build.domains,
            blocks_per_domain,
            spare_blocks,
            reserve_blocks: collect.reserve(),
            start_blocks: collect.start(),
            stop_blocks: collect.stop(),
            expendable_blocks: 0,
            table_bytes: 0,
            paced: collect.paces(),
            // Where planes are domains, each has an allowance of its own.
            paced_programs: if pack.gathers() && build.domains == 1 { geometry.planes_per_die } else { 1 },
            destination: collect.destination(),
            fixes_pages: mapping.fixes_pages(),
            logs: mapping.logs(),
            schedules_merges: collect.schedule().is_some(),
            stripe,
            raid,
            slc: self.slc_plan(geometry, &collect, &build)?,
            tasks,
            open_worn: Self::open_worn(&upkeep, collect.destination())?,
            has_processor: self.processor.build(&build)?.takes_time(),
            has_stage: dispatch.depth().is_some(),
            has_transactions: dispatch.commits().is_some(),
            has_banks: dispatch.banks().is_some(),
            places_requests: placement.needs_requests(),
        };
        let spare_blocks = plan.spare_blocks.saturating_sub(plan.slc_set_aside());
        let plan = Plan { spare_blocks, ..plan };
        let need = Need::of(geometry, &plan, &collect);
        Ok((plan, need))
    }

    fn logical_units(&self, raw_units: u32, unit_bytes: u32) -> Result<u32, ConfigError> {
        let ratio = self.capacity.raw_over_logical;
        let key = "capacity.raw_over_logical";
        if !ratio.is_finite() || ratio <= 1.0 {
            let problem = "must be above 1: garbage collection needs raw capacity beyond the logical capacity";
            return Err(ConfigError::new(key, ratio, problem));
        }
        if ratio > 100.0 {
            return Err(ConfigError::new(key, ratio, "must be at most 100"));
        }
        let units = (f64::from(raw_units) / ratio).floor() as u32;
        if units == 0 {
            let problem = format!("leaves the host less than one mapping unit of {unit_bytes} bytes");
            return Err(ConfigError::new(key, ratio, problem));
        }
        Ok(units)
    }

    /// Spare blocks of a domain beyond what the drive needs; none if there are too few.
    fn beyond(&self, geometry: &Geometry) -> Option<u32> {
        let (plan, need) = self.draft(geometry).ok()?;
        plan.spare_blocks.checked_sub(need.blocks())
    }

    /// The smallest ratio with four decimals whose spare blocks beyond the drive's need satisfy `fits`, if there is
    /// one.
    pub(crate) fn enough_ratio(&self, geometry: &Geometry, fits: impl Fn(u32) -> bool) -> Option<f64> {
        let ratio = |steps: u64| steps as f64 / 1e4;
        let with = |steps: u64| {
            let mut config = self.clone();
            config.capacity.raw_over_logical = ratio(steps);
            config.beyond(geometry).is_some_and(&fits)
        };
        let from = (self.capacity.raw_over_logical * 1e4) as u64;
        least(from, 100 * 10_000, with).map(ratio)
    }

    /// The fewest blocks per plane that give enough spare space, if possible.
    fn enough_blocks(&self, geometry: &Geometry) -> Option<u64> {
        let with = |blocks: u64| {
            // Numbers of pages have 32 bits.
            let pages = u64::from(geometry.planes()) * blocks * u64::from(geometry.pages_per_block);
            let larger = Geometry { blocks_per_plane: blocks as u32, ..*geometry };
            pages < u64::from(u32::MAX) && self.beyond(&larger).is_some()
        };
        least(geometry.blocks_per_plane.into(), 1 << 24, with)
    }

    #[cold]
    fn too_little_spare(&self, geometry: &Geometry, plan: &Plan, need: &Need) -> ConfigError {
        let where_ = if plan.domains == 1 { "the drive" } else { "a plane" };
        let ratio = self.enough_ratio(geometry, |_| true).map(|ratio| format!("capacity.raw_over_logical = {ratio}"));
        let blocks = self.enough_blocks(geometry).map(|blocks| format!("geometry.blocks_per_plane = {blocks}"));
        let ways: Vec<String> = [ratio, blocks].into_iter().flatten().collect();
        let enough = match &ways[..] {
            [] => "use fewer planes or dies".to_owned(),
            ways => format!("use at least {}", ways.join(", or ")),
        };
        let stop = match plan.stripe {
            _ if self.collect.says_stop() => "",
            Some(_) => " (derived from the size of a superblock)",
            None => " (derived from the number of planes)",
        };
        let cache = match plan.slc_set_aside() {
            0 if plan.zones.is_some() => {
                format!(" beside {} for the tables of map zones", plan.map_units.div_ceil(plan.units_per_block))
            }
            0 => String::new(),
            blocks => format!(" beside {blocks} for the SLC cache"),
        };
        let cache = match plan.raid {
            Some(raid) => format!("{cache} beside data and their parity, a page of {}", raid.dies),
            None => cache,
        };
        let Need { open, free, scattered, in_use } = need;
        let problem = format!(
            "too little spare: {where_} has {} blocks and {} spare{cache}, but {} are needed ({open} open, {free} free when \
             garbage collection stops{stop}, {scattered} for invalid pages too scattered to collect, {in_use} in use); \
             {enough}, or lower thresholds in [collect]",
            plan.blocks_per_domain,
            plan.spare_blocks,
            need.blocks(),
        );
        ConfigError::new("capacity.raw_over_logical", self.capacity.raw_over_logical, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_flash::GeometryConfig;

    fn geometry() -> Geometry {
        Geometry::new(&GeometryConfig::default()).unwrap()
    }

    #[test]
    fn messages_show_values_in_few_digits() {
        assert_eq!(ConfigError::new("key", 1e308, "").value, "1e308");
        assert_eq!(ConfigError::new("key", u64::MAX, "").value, "18446744073709551615");
        assert_eq!(ConfigError::new("key", 1.25, "").value, "1.25");
    }

    #[test]
    fn the_plan_counts_in_units() {
        let plan = FirmwareConfig::default().plan(&geometry()).unwrap();
        assert_eq!((plan.unit_bytes, plan.units_per_page, plan.units_per_block), (16_384, 1, 256));
        assert_eq!(plan.raw_units, 16 * 128 * 256);
        assert_eq!(plan.logical_units, (f64::from(16 * 128 * 256) / 1.28) as u32);
        assert_eq!(plan.spare_blocks, 128 - 100);
    }

    #[test]
    fn logical_above_raw_and_too_little_spare_are_refused() {
        let mut config = FirmwareConfig::default();
        config.capacity.raw_over_logical = 0.9;
        assert!(config
            .plan(&geometry())
            .unwrap_err()
            .to_string()
            .starts_with("capacity.raw_over_logical = 0.9: must be"));
        config.capacity.raw_over_logical = 1.01;
        let error = config.plan(&geometry()).unwrap_err().to_string();
        assert!(error.contains("128 blocks and 1 spare, but 5 are needed"), "{error}");
    }

    #[test]
    fn crossed_thresholds_are_refused() {
        let mut config = FirmwareConfig::default();
        let CollectConfig::OnDemand(options) = &mut config.collect else { unreachable!("it is the default") };
        options.start_blocks = Some(5);
        options.stop_blocks = Some(4);
        let error = config.plan(&geometry()).unwrap_err().to_string();
        assert_eq!(error, "collect.stop_blocks = 4: must not be below start_blocks = 5: the thresholds are crossed");
    }

    #[test]
    fn background_tasks_move_enough_pages_to_gather() {
        let plan = |window: u32, gather: bool| {
            let refresh = format!(r#"{{ "refresh": {{ "policy": "scrub", "window_pages": {window} }} }}"#);
            let config = FirmwareConfig {
                collect: serde_json::from_str(r#"{ "policy": "on-demand", "scope": "drive" }"#).unwrap(),
                pack: serde_json::from_str(&format!(r#"{{ "policy": "planes", "gather": {gather} }}"#)).unwrap(),
                placement: serde_json::from_str(r#"{ "policy": "least-busy" }"#).unwrap(),
                ..serde_json::from_str(&refresh).unwrap()
            };
            config.plan(&geometry()).map_err(|error| error.to_string())
        };
        let planes = geometry().planes_per_die;
        let error = plan(planes - 1, true).unwrap_err();
        let few = format!("refresh.window_pages = {}: must be at least {planes}, the planes of a die", planes - 1);
        assert!(planes > 1 && error.starts_with(&few), "{error}");
        assert!(plan(planes, true).is_ok() && plan(planes - 1, false).is_ok());
    }

    #[test]
    fn pacing_without_an_effect_is_refused() {
        let plan = |arbiter: &str, collect: &str, dispatch: &str, pack: &str| {
            let config = FirmwareConfig {
                arbiter: serde_json::from_str(arbiter).unwrap(),
                collect: serde_json::from_str(collect).unwrap(),
                dispatch: serde_json::from_str(dispatch).unwrap(),
                pack: serde_json::from_str(pack).unwrap(),
                placement: serde_json::from_str(r#"{ "policy": "least-busy" }"#).unwrap(),
                ..FirmwareConfig::default()
            };
            config.plan(&geometry()).map_err(|error| error.to_string())
        };
        let gc_first =
            r#"{ "policy": "priority", "order": ["gc-erase", "gc-write", "gc-read", "host-read", "host-write"] }"#;
        let host_between =
            r#"{ "policy": "priority", "order": ["gc-erase", "gc-write", "host-write", "gc-read", "host-read"] }"#;
        let (in_turn, at_once) = (r#"{ "policy": "first-come" }"#, r#"{ "policy": "fifo" }"#);
        let staged = r#"{ "policy": "one-queue" }"#;
        let of_plane = r#"{ "policy": "on-demand", "scope": "plane", "pacing": true }"#;
        let of_drive = r#"{ "policy": "on-demand", "scope": "drive", "pacing": true }"#;
        let unpaced = r#"{ "policy": "on-demand", "scope": "plane" }"#;
        let (single, cached) = (r#"{ "policy": "none" }"#, r#"{ "policy": "cache" }"#);

        let error = plan(gc_first, of_plane, at_once, single).unwrap_err();
        assert!(error.starts_with("collect.pacing = true: has no effect: moved pages stay in their plane"), "{error}");
        assert!(plan(host_between, of_plane, at_once, single).is_ok_and(|plan| plan.paced));
        assert!(plan(in_turn, of_plane, at_once, single).is_ok_and(|plan| plan.paced));
        assert!(plan(gc_first, of_drive, at_once, single).is_ok_and(|plan| plan.paced));
        assert!(plan(gc_first, of_plane, staged, single).is_ok_and(|plan| plan.paced));
        assert!(plan(gc_first, of_plane, at_once, cached).is_ok_and(|plan| plan.paced));
        assert!(plan(gc_first, unpaced, at_once, single).is_ok_and(|plan| !plan.paced));
    }
}
