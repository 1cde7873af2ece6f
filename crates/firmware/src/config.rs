//! The firmware's sections of a drive file, their checks, and the plan derived from them.

mod fixed_pages;
mod guests;
mod logs;
mod moves;
mod need;
mod programs;
mod raid;
mod slc;
mod steps;
mod superblocks;

use crate::policy::arbiter::{ArbiterConfig, ArbiterPolicy};
use crate::policy::collect::{CollectConfig, CollectPolicy, Destination, Scope};
use crate::policy::dispatch::DispatchConfig;
use crate::policy::free_block::FreeBlockConfig;
use crate::policy::mapping::{LogRule, MappingConfig};
use crate::policy::pack::{PackConfig, PackPolicy};
use crate::policy::placement::PlacementConfig;
use crate::policy::processor::ProcessorConfig;
use crate::policy::redundancy::{Raid, RedundancyConfig, Stripe};
use crate::policy::shares::SharesConfig;
use crate::policy::slc::SlcConfig;
use crate::policy::suspend::SuspendConfig;
use crate::policy::trim::TrimConfig;
use crate::policy::upkeep::{Occasion, UpkeepConfig, UpkeepPolicies};
use crate::policy::victim::VictimConfig;
use crate::policy::Build;
use crate::raid::Parity;
use crate::task::{Action, Class, Task, Tasks};
use need::{least, Need};
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
        self.victim.build(&build)?;
        if let (Some(most), VictimConfig::Guest(_)) = (collect.most_of_die(), &self.victim) {
            let problem =
                "has no effect on an external victim policy, which sees all closed blocks; remove one of them";
            return Err(ConfigError::new("collect.blocks_per_die", most, problem));
        }
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
            return Err(ConfigError::new("dispatch.packing", true, problem));
        }
        if dispatch.commits().is_some() || dispatch.banks().is_some() {
            self.check_transactions(fixed || takes_turns, &build)?;
        }
        let arbiter = self.arbiter.build(&build)?;
        if collect.paces() && pack.cache().is_none() && dispatch.depth().is_none() {
            self.check_pacing(&arbiter)?;
        }
        self.suspend.build(&build)?;
        self.check_holding(&collect, &pack, dispatch.depth().is_some())?;
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
            self.check_superblocks(geometry, stripe, &collect, &pack)?;
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
        let share = if fixed || takes_turns || outside {
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
                (blocks(logical_units) + blocks(map_units)).div_ceil(build.domains)
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

    /// Tasks whose moved data open the most worn free blocks. They need open blocks for moved data alone.
    fn open_worn(upkeep: &UpkeepPolicies, destination: Destination) -> Result<Tasks, ConfigError> {
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
    fn check_lookups(&self, upkeep: &UpkeepPolicies, units_per_block: u32) -> Result<(), ConfigError> {
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
    fn check_pacing(&self, arbiter: &ArbiterPolicy) -> Result<(), ConfigError> {
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
    fn check_turns(&self, geometry: &Geometry, expendable: u32) -> Result<(), ConfigError> {
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
    fn check_transactions(&self, knows_plane: bool, build: &Build<'_>) -> Result<(), ConfigError> {
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
    fn check_holding(&self, collect: &CollectPolicy, pack: &PackPolicy, has_stage: bool) -> Result<(), ConfigError> {
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
        if self.victim.name() == "read-aligned" && self.collect.scope() == Scope::Drive {
            let problem = "needs collect.scope = \"plane\": the reads it looks at wait for the other planes of one die";
            return wrong("victim.policy", &self.victim.name(), problem.into());
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
