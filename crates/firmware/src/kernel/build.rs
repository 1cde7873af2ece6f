//! Building the firmware of a drive from its configuration.

use super::banks::Banks;
use super::deadlines::Deadlines;
use super::die::Die;
use super::direct_merges::Lone;
use super::dispatch::Candidates;
use super::hold_jobs::Holding;
use super::interrupt::Interruption;
use super::ready::NEXT_QUEUES;
use super::rests::Rests;
use super::ring::Ring;
use super::schedule::Schedule;
use super::sequence::Sequence;
use super::stage::Stage;
use super::table::Table;
use super::transactions::Transactions;
use super::turns::Turns;
use super::{Counters, Kernel, PlaneUse};
use crate::blocks::{Blocks, Sizes};
use crate::buffer::Buffer;
use crate::logs::{Logs, LotSeat, Zone};
use crate::lots::Lots;
use crate::map::Map;
use crate::mover::Jobs;
use crate::ops::{Fifo, Slab};
use crate::policy::collect::Destination;
use crate::policy::guest::failed;
use crate::policy::mapping::LogRule;
use crate::policy::placement::{Constraint, PlacementConfig};
use crate::raid::{groups, Parity};
use crate::shadow::Shadow;
use crate::space::Space;
use crate::task::{Tasks, CLASSES, ROWS};
use crate::{ConfigError, FirmwareConfig};
use std::collections::VecDeque;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Divisor, Time};
use wordline_flash::{Command, Flash, Kind};

impl Kernel {
    /// An empty drive's firmware. `buffer_units` writes are acknowledged before they are in flash; `verify` keeps a shadow disk.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn new(
        config: &FirmwareConfig,
        flash: Flash,
        seed: u64,
        buffer_units: u32,
        verify: bool,
    ) -> Result<Self, ConfigError> {
        let geometry = *flash.geometry();
        let plan = config.plan(&geometry)?;
        let build = config.build(&geometry, plan.units_per_program, seed);
        let mapping = config.mapping.build(&build)?;
        config.check_scheme(&plan, &mapping)?;
        let victim = config.victim.build(&build)?;
        let mut free_block = config.free_block.build(&build)?;
        let collect = config.collect.build(&build)?;
        let sizes = Sizes {
            planes: geometry.planes(),
            planes_per_domain: geometry.planes() / build.domains,
            blocks_per_plane: geometry.blocks_per_plane,
            programs_per_block: geometry.programs_per_block(),
            slc_programs: geometry.slc_pages_per_block,
            units_per_program: plan.units_per_program,
            units_per_page: plan.units_per_page,
        };
        let upkeep = config.upkeep.build(&build)?;
        let rests = Rests::new(&upkeep, collect.rest(), collect.schedule().is_some_and(|rule| rule.uses_rests()));
        let redundancy = config.redundancy.build(&build)?;
        let placement = config.placement.build(&build)?;
        let parity = plan.raid.map(|raid| {
            let shape = (plan.units_per_page, geometry.planes());
            Box::new(Parity::new(raid, plan.logical_units, plan.parity_units, shape))
        });
        let in_turn = plan.raid.filter(|_| redundancy.collects_in_turn());
        let turns = in_turn.and_then(|raid| groups(raid, &placement, &geometry));
        let processor = config.processor.build(&build)?;
        let cores = processor.takes_time().then(Box::default);
        let arounds = redundancy.has_ways_around().then(Box::default);
        let (mut dispatch, shares) = (config.dispatch.build(&build)?, config.shares.build(&build)?);
        dispatch.share(&shares.shares());
        let tags = dispatch.tags();
        let deadlines = dispatch.deadlines().map(|limits| Box::new(Deadlines::new(limits)));
        let mut stage =
            dispatch.depth().map(|depth| Box::new(Stage::new(depth, tags, plan.units_per_program, &geometry)));
        if let Some(stage) = &mut stage {
            stage.limit(dispatch.limits());
        }
        let choices = dispatch.choices();
        let transactions = dispatch.commits().map(|commits| Box::new(Transactions::new(commits, choices, &geometry)));
        let banks = dispatch.banks().map(|order| Box::new(Banks::new(order, choices.requests, &geometry)));
        let overtakes =
            tags.is_some() || deadlines.is_some() || banks.is_some() || (transactions.is_some() && choices.any());
        let follows_ends = transactions.is_some() || banks.is_some();
        let timing = flash.timing();
        let lots =
            plan.fixes_pages.then(|| Lots::new(plan.units(), plan.units_per_block, (geometry.blocks(), plan.domains)));
        let takes_turns = placement.takes_turns();
        let slc = config.slc.build(&build)?;
        let outside = config.asks_guests(placement.fixed(), !slc.limits());
        let decides = matches!(config.placement, PlacementConfig::Guest(_)) && !placement.fixed();
        let places_each = takes_turns || decides;
        let wishes = collect.places().then(Box::default);
        let named = (decides && plan.stripe.is_some()).then(Box::default);
        let has_wishes = wishes.is_some() || named.is_some();
        let aside = arounds.is_some() || stage.is_some() || follows_ends || cores.is_some();
        let detours = aside || lots.is_some() || wishes.is_some() || places_each;
        let (pack, suspend) = (config.pack.build(&build)?, config.suspend.build(&build)?);
        let dies_if = |wanted: bool| if wanted { geometry.dies() as usize } else { 0 };
        let row_units = if pack.gathers() { geometry.planes_per_die * plan.units_per_program } else { 0 };
        let limited = collect.most_of_die().is_some();
        let (hold_below, instant) = (collect.hold_below(), collect.is_instant());
        let (mixes, refuses) = (pack.mixes(), pack.refuses());
        let (asks_of_followers, crosses) = (refuses || pack.chooses_followers(), pack.has_crossings());
        let (caches, interrupts) = (pack.cache().is_some(), suspend.interrupts());
        let places = 1 + geometry.channels as usize + geometry.dies() as usize;
        let mut kernel = Self {
            plan,
            units_per_block: Divisor::new(plan.units_per_block),
            units_per_plane: Divisor::new(plan.units_per_block * geometry.blocks_per_plane),
            units_per_page: Divisor::new(plan.units_per_page),
            units_per_program: Divisor::new(plan.units_per_program),
            pages_per_program: geometry.pages_per_program,
            program_bytes: geometry.program_bytes(),
            units_together: Divisor::new(if plan.fixes_pages { plan.units_per_block } else { plan.units_per_page }),
            planes_per_die: Divisor::new(geometry.planes_per_die),
            blocks_per_plane: Divisor::new(geometry.blocks_per_plane),
            timed: true,
            now: 0,
            map: Map::new(plan.units(), plan.raw_units),
            blocks: Blocks::new(sizes, victim.ranked(), &mut free_block),
            space: Space::new((geometry.planes(), geometry.planes_per_die), &plan),
            lots: lots.map(Box::new),
            logs: None,
            jobs: Jobs::new(build.domains),
            schedule: collect.schedule().map(|rule| Box::new(Schedule::new(rule, build.domains))),
            holding: Holding::new(collect.steps(), geometry.dies()),
            shadow: verify.then(|| Shadow::new(plan.units(), plan.raw_units)),
            mapping,
            table: None,
            parity,
            follows_units: plan.units() > plan.logical_units || overtakes,
            needed: Vec::new(),
            turns: turns.map(|groups| Box::new(Turns::new(groups, geometry.dies()))),
            placement,
            victim,
            free_block,
            slc: slc.limits().then(|| Box::new(slc)),
            window: pack.window(),
            within_request: pack.within_request(),
            pack,
            dispatch,
            control_due: shares.interval().unwrap_or(END_OF_TIME),
            shares,
            stage,
            stage_aside: None,
            transactions,
            banks,
            follows_ends,
            listed: None,
            nominal: [timing.mean_t_r() as Time, timing.mean_t_prog() as Time, timing.t_bers],
            arbiter: config.arbiter.build(&build)?,
            takes_oldest: false,
            admits_below: 0,
            suspend,
            trim: config.trim.build(&build)?,
            follow_erases: upkeep.follow_erases(),
            upkeep,
            wishes,
            named,
            has_wishes,
            after: overtakes.then(Box::default),
            comes_alone: false,
            deadlines,
            places_each,
            most_in_plane: if takes_turns { plan.most_in_plane() } else { u32::MAX },
            detours,
            redundancy,
            arounds,
            processor,
            cores,
            read_limit: u32::MAX,
            reads_reached: false,
            direct: false,
            avoids_direct: false,
            direct_logs: false,
            lone: Lone::default(),
            straight: false,
            straight_noted: false,
            straight_moves_noted: false,
            straight_pages_noted: false,
            straight_moves: false,
            straight_pages: false,
            straight_rows: false,
            avoids_straight: false,
            avoids_short: false,
            straight_by_stage: false,
            by_stage_in_planes: false,
            by_stage_in_pages: false,
            by_stage_of_oldest: false,
            stretches: false,
            avoids_stretches: false,
            more_units: 0,
            has_slc: plan.slc.is_some(),
            pages_fill: false,
            binds_apart: plan.slc.is_some() || plan.destination == Destination::PairedBlocks,
            rests,
            refused: Tasks::default(),
            collect,
            slab: Slab::new(),
            sequence: 0,
            // Those of each die are looked at as so many.
            queues: vec![Fifo::default(); geometry.planes() as usize * CLASSES + NEXT_QUEUES],
            shared: vec![Fifo::default(); ROWS * places],
            shared_places: vec![0; ROWS * places.div_ceil(64)],
            shared_waiting: [0; ROWS],
            shared_count: 0,
            shared_dirty: false,
            dies: vec![Die::default(); geometry.dies() as usize],
            candidates: Candidates::default(),
            busy: 0,
            command: Command::new(Kind::Read),
            channel_turn: 0,
            die_turn: vec![0; geometry.channels as usize],
            stage_turn: 0,
            dirty: Ring::new(geometry.dies()),
            attentive: caches || interrupts,
            running: vec![Command::new(Kind::Read); dies_if(caches || interrupts)],
            sequences: vec![Sequence::default(); dies_if(caches)],
            interruptions: vec![Interruption::default(); dies_if(interrupts)],
            pressed: VecDeque::new(),
            ended: Ring::new(geometry.dies()),
            fails: flash.fails(),
            replacements: 0,
            condemned: Vec::new(),
            stalled: false,
            closing: false,
            owners: Vec::new(),
            starved: vec![false; build.domains as usize],
            buffer: Buffer::new(buffer_units, 1),
            shelf: None,
            carrier: None,
            row_units,
            hold_below,
            instant,
            mixes,
            refuses,
            asks_of_followers,
            crosses,
            binding: false,
            unpaired: Vec::new(),
            reads_beside: Vec::new(),
            victims: vec![0; dies_if(limited)],
            busy_dies: vec![false; dies_if(limited)],
            awaiting: 0,
            held_up: 0,
            done: Vec::new(),
            ended_as: super::Ended::Not,
            only: super::HostDone::default(),
            counters: Counters::default(),
            plane_use: PlaneUse::default(),
            notes: None,
            outside,
            fault: None,
            flash,
        };
        if let Some(stripe) = plan.stripe {
            kernel.blocks.form_superblocks(stripe, kernel.redundancy.groups(), &geometry);
        }
        if plan.slc.is_some_and(|slc| slc.fixed) {
            kernel.blocks.weigh_slc(plan.slc_units_lacking());
        }
        kernel.mapping.has_map_units(plan.map_parts());
        kernel.table = Table::of(&plan, &kernel.mapping);
        kernel.arbiter.learn(kernel.nominal);
        kernel.takes_oldest = kernel.arbiter.takes_oldest();
        kernel.admits_below = kernel.dispatch.admits_below();
        kernel.pages_fill = kernel.fills_pages();
        kernel.read_limit = kernel.fewest_reads();
        kernel.reads_reached = kernel.read_limit < u32::MAX;
        kernel.set_blocks_aside(config)?;
        if let Some(rule) = plan.logs {
            kernel.logs = Some(Box::new(kernel.no_logs(rule, config)?));
        }
        if plan.slc.is_some() {
            kernel.check_slc(config)?;
        }
        if plan.fixes_pages && plan.logs.is_none() && kernel.flash.fails_programs() {
            let problem =
                "does not go with nand.reliability that lets programs fail, since a page of a block has no substitute: set \
                program_fail to 0 (erases may fail), or use log blocks: bast, sast, fast or pftl";
            return Err(ConfigError::new("mapping.policy", config.mapping.name(), problem));
        }
        if plan.raid.is_some() && kernel.fails {
            let problem =
                "does not go with nand.reliability that lets programs or erases fail, since what a failed block holds would \
                have to wait for the turn of its die: set program_fail and erase_fail to 0";
            return Err(ConfigError::new("redundancy.policy", config.redundancy.name(), problem));
        }
        if plan.stripe.is_some() && (kernel.fails || (0..plan.domains).any(|domain| kernel.blocks.bad(domain) > 0)) {
            let problem =
                "does not go with nand.reliability that has bad blocks, or programs or erases that fail: a block of a \
                superblock has no substitute";
            return Err(ConfigError::new("redundancy.policy", config.redundancy.name(), problem));
        }
        kernel.ask_about_sizes();
        kernel.heed(failed(kernel.free_block.trouble()) || failed(kernel.arbiter.trouble()));
        kernel.find_ways();
        if kernel.may_have_stretches() {
            kernel.buffer = Buffer::new(buffer_units, kernel.plan.units_per_page);
        }
        kernel.stretches = kernel.goes_in_stretches();
        Ok(kernel)
    }

    /// No log blocks yet, as many in each domain as its blocks allow.
    fn no_logs(&self, rule: LogRule, config: &FirmwareConfig) -> Result<Logs, ConfigError> {
        let (plan, blocks) = (&self.plan, &self.blocks);
        let mut most = Vec::with_capacity(plan.domains as usize);
        for domain in 0..plan.domains {
            let kept = blocks.planes_of_domain(domain).map(|plane| blocks.spare(plane)).sum::<u32>();
            let lacking = blocks.bad(domain) + kept;
            let possible = plan.log_blocks_to_spare().saturating_sub(lacking);
            if possible < rule.least() {
                let problem = format!(
                    "leaves {possible} log blocks where {lacking} blocks are bad or held back, and mapping.policy = \"{}\" needs \
                     {}: use a larger capacity.raw_over_logical",
                    config.mapping.name(),
                    rule.least()
                );
                return Err(ConfigError::new("capacity.raw_over_logical", config.capacity.raw_over_logical, problem));
            }
            most.push((rule.most.map_or(possible, |wanted| wanted.min(possible)), possible));
        }
        let lots = plan.units().div_ceil(plan.units_per_block);
        let of_tables = if plan.has_map() { plan.first_map_unit() / plan.units_per_block } else { lots };
        let seat = |lot| {
            let domain = match self.placement.at(lot) {
                Constraint::Plane(plane) => blocks.domain_of_plane(plane),
                _ => 0,
            };
            let zone = match rule.zone_blocks {
                _ if lot >= of_tables => Zone::OfTables,
                Some(size) => Zone::Numbered(lot / size),
                None => Zone::Numbered(0),
            };
            LotSeat { domain, zone }
        };
        Ok(Logs::new(rule, (0..lots).map(seat), self.flash.geometry().blocks(), &most))
    }
}
