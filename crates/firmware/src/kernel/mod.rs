//! The kernel: the path of a request through the firmware, as named steps in order.
//!
//! [`Kernel::read`], [`Kernel::write`] and [`Kernel::trim`] (`serve`) take requests split into units, and look their
//! entries of the mapping table up if these may lie in flash (`table`); `enqueue` puts operations
//! into the queues of their task; `dispatch` fills an idle die: it surveys the waiting operations, lets the arbiter
//! choose, binds pages (`bind`) and starts the command; `complete` handles the end of the command. Garbage collection
//! uses the same queues as a separate task (`collect`), with copyback where allowed (`copy`). Each step is a file of
//! that name. Dies in cache mode (`sequence`) or with suspension (`interrupt`) need attention between start and end of
//! a command (`attend`). `account` keeps the time of operations, and `drain` the causes of waits for the write buffer.
//!
//! The state of host and GC changes when an operation is *issued*. A die executes its commands in order, so data looked
//! up later are in place by the time the die serves the read.

mod account;
mod around;
mod attend;
mod audit;
mod bind;
mod collect;
mod complete;
mod copy;
mod counters;
mod dispatch;
mod drain;
mod enqueue;
mod fault;
mod history;
mod hold;
mod hold_jobs;
mod interrupt;
mod merge;
mod mix;
mod parity;
mod processor;
mod raid;
mod ready;
mod rests;
mod retire;
mod ring;
mod saved;
mod send;
mod sequence;
mod serve;
mod slc;
mod stage;
mod standing;
mod steer;
mod table;
mod together;
mod turns;
mod upkeep;
mod wishes;
mod witness;

use crate::blocks::{Blocks, Sizes};
use crate::buffer::Buffer;
use crate::lots::Lots;
use crate::map::Map;
use crate::mover::Jobs;
use crate::ops::{Fifo, Slab, NONE};
use crate::policy::arbiter::ArbiterPolicy;
use crate::policy::collect::{CollectPolicy, Destination};
use crate::policy::dispatch::DispatchPolicy;
use crate::policy::free_block::FreeBlockPolicy;
use crate::policy::guest::failed;
use crate::policy::mapping::MappingPolicy;
use crate::policy::pack::PackPolicy;
use crate::policy::placement::{PlacementConfig, PlacementPolicy};
use crate::policy::processor::ProcessorPolicy;
use crate::policy::redundancy::RedundancyPolicy;
use crate::policy::shares::SharesPolicy;
use crate::policy::suspend::SuspendPolicy;
use crate::policy::trim::TrimPolicy;
use crate::policy::upkeep::UpkeepPolicies;
use crate::policy::victim::VictimPolicy;
use crate::raid::{groups, Parity};
use crate::shadow::Shadow;
use crate::space::{Space, Stream};
use crate::task::{Class, Tasks, CLASSES, ROWS};
use crate::{ConfigError, FirmwareConfig, Plan};
use around::Arounds;
use dispatch::Candidates;
use hold_jobs::Holding;
use interrupt::Interruption;
use processor::Cores;
use ready::Ready;
use rests::Rests;
use ring::Ring;
use send::Listed;
use sequence::Sequence;
use serde::{Deserialize, Serialize};
use stage::Stage;
use std::collections::VecDeque;
use table::Table;
use turns::Turns;
use wishes::Wishes;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Divisor, EventQueue, Time};
use wordline_flash::{Command, Flash, Kind, Progress, MAX_PLANES};

pub use account::{Account, Way};
pub use counters::{Counters, PlaneUse};
pub use drain::{divide, DRAINS};
pub use fault::{Fault, Reason};
pub use history::HOLDERS;
pub use processor::PROCESSOR_EVENT;
pub use retire::FACTORY_BAD;
pub use standing::Standing;
pub use wishes::Wished;
use witness::Notes;
pub use witness::{Noted, Noting, Passage, Service};

/// Units of a host request that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDone {
    /// The request, as the drive numbered it.
    pub request: u32,
    /// How many units.
    pub units: u32,
    /// Bytes that the flash delivered for it.
    pub bytes: u32,
    /// True if the operation waited for a die held by GC.
    pub gc_affected: bool,
}

/// Current work of a die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Die {
    busy: bool,
    queued: bool,
    class: Class,
    count: u8,
    pages: [u32; MAX_PLANES],
    /// When GC last let go of it.
    collector_end: Time,
    /// When its command began.
    since: Time,
    /// Victim blocks of GC in its planes.
    collections: u32,
    /// Until when the use of its planes by collections is counted; the end of time if none is under way.
    counted: Time,
    /// True if its command has operations of several tasks.
    mixed: bool,
}

/// Where the chosen operation waits.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Plane(u32),
    /// In a shared queue, to be bound in the plane given.
    Shared(usize, u32),
}

/// The firmware of one drive with its flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    plan: Plan,
    units_per_block: Divisor,
    units_per_page: Divisor,
    units_per_program: Divisor,
    /// Pages and bytes that a program writes in a plane.
    pages_per_program: u32,
    program_bytes: u32,
    /// Units for which the placement is asked together: those of a page, or of a logical block.
    units_together: Divisor,
    planes_per_die: Divisor,
    blocks_per_plane: Divisor,
    flash: Flash,
    timed: bool,
    now: Time,
    map: Map,
    blocks: Blocks,
    space: Space,
    /// Logical blocks, if the mapping fixes the page of each unit.
    lots: Option<Box<Lots>>,
    // Skipped fields here and below belong to operations; an idle drive has none.
    #[serde(skip)]
    jobs: Jobs,
    /// Jobs of GC that are on hold.
    #[serde(skip)]
    holding: Holding,
    shadow: Option<Shadow>,

    mapping: MappingPolicy,
    /// The mapping table in flash; none if all of it is in memory.
    #[serde(skip)]
    table: Option<Box<Table>>,
    /// Parity of logical pages, if there is any.
    parity: Option<Box<Parity>>,
    /// True if there are units behind those of the host.
    extra_units: bool,
    /// Units that the parity of a stripe needs.
    #[serde(skip)]
    needed: Vec<u32>,
    /// The dies that are collected in turn; none if all may be at once.
    #[serde(skip)]
    turns: Option<Box<Turns>>,
    placement: PlacementPolicy,
    victim: VictimPolicy,
    collect: CollectPolicy,
    free_block: FreeBlockPolicy,
    pack: PackPolicy,
    dispatch: DispatchPolicy,
    shares: SharesPolicy,
    /// None if operations go to their dies at once.
    #[serde(skip)]
    stage: Option<Box<Stage>>,
    /// The commit stage, while commands take no time.
    #[serde(skip)]
    stage_aside: Option<Box<Stage>>,
    /// When shares are controlled next; the end of time if they are not.
    control_due: Time,
    /// What the dispatch policy is shown.
    #[serde(skip)]
    listed: Listed,
    /// Nominal times of a page read, a page program and an erase in the array.
    #[serde(skip)]
    nominal: [Time; 3],
    arbiter: ArbiterPolicy,
    /// True if it always chooses the oldest operation.
    #[serde(skip)]
    takes_oldest: bool,
    suspend: SuspendPolicy,
    trim: TrimPolicy,
    upkeep: UpkeepPolicies,
    redundancy: RedundancyPolicy,
    /// Reads that are rebuilt around busy dies; none if none ever is.
    #[serde(skip)]
    arounds: Option<Box<Arounds>>,
    processor: ProcessorPolicy,
    /// Operations that wait for it; none if it takes no time.
    #[serde(skip)]
    cores: Option<Box<Cores>>,
    /// Moved units that wait with a wish of the collect policy; none if it has none.
    #[serde(skip)]
    wishes: Option<Box<Wishes>>,
    /// True if some operations take another way than to the queue of their die.
    #[serde(skip)]
    detours: bool,
    /// Page reads of a block at which some background task is asked.
    #[serde(skip)]
    read_limit: u32,
    /// True if a block may have as many.
    #[serde(skip)]
    reads_reached: bool,
    /// True if some blocks may be in SLC mode.
    has_slc: bool,
    /// True if pages are bound in another way than the next of the plane's open block.
    binds_apart: bool,
    /// How the host rests, for tasks that wait for it.
    #[serde(skip)]
    rests: Rests,
    /// Background tasks that found no room for a job.
    #[serde(skip)]
    refused: Tasks,

    #[serde(skip)]
    slab: Slab,
    #[serde(skip)]
    sequence: u64,
    /// By plane, then class.
    #[serde(skip)]
    queues: Vec<Fifo>,
    /// By die.
    #[serde(skip)]
    waiting: Vec<Ready>,
    /// Writes without a plane yet: by row of writes, then any, each channel, each die.
    #[serde(skip)]
    shared: Vec<Fifo>,
    /// Of these, by row of writes.
    #[serde(skip)]
    shared_waiting: [u32; ROWS],
    /// Of all tasks.
    #[serde(skip)]
    shared_count: u32,
    #[serde(skip)]
    shared_dirty: bool,
    #[serde(skip)]
    dies: Vec<Die>,
    /// By die: how long it was busy, by class.
    #[serde(skip)]
    occupied: Vec<[Time; CLASSES]>,
    /// Of the last survey.
    #[serde(skip)]
    candidates: Candidates,
    /// Dies that run a command.
    #[serde(skip)]
    busy: u32,
    /// The command being put together.
    #[serde(skip)]
    command: Command,
    #[serde(skip)]
    idle_in_channel: Vec<u32>,
    channel_turn: u32,
    die_turn: Vec<u32>,
    /// The die after the one that took the last write of the commit stage that could go to several.
    stage_turn: u32,
    /// Idle dies that may find work.
    #[serde(skip)]
    dirty: Ring,
    /// True if dies need attention between start and end of a command; otherwise the next three are empty.
    attentive: bool,
    /// By die: the command that it took last.
    #[serde(skip)]
    running: Vec<Command>,
    /// By die, in cache mode.
    #[serde(skip)]
    sequences: Vec<Sequence>,
    /// By die, where reads interrupt.
    #[serde(skip)]
    interruptions: Vec<Interruption>,
    /// Busy dies for which a read has started to wait.
    #[serde(skip)]
    pressed: VecDeque<u32>,
    /// Untimed commands that have ended.
    #[serde(skip)]
    ended: Ring,
    /// True if programs and erases may fail.
    fails: bool,
    /// Blocks that each plane holds back at first to replace bad ones.
    replacements: u32,
    /// Blocks with a failed program that are to be emptied.
    condemned: Vec<u32>,
    /// Some write found no room.
    stalled: bool,
    /// The drive is becoming idle: moved units are written without filling pages.
    #[serde(skip)]
    closing: bool,
    /// Jobs that are being counted.
    #[serde(skip)]
    owners: Vec<u32>,
    /// Domains that need GC but found no block that gains a page: the next invalidation there lets them try again.
    starved: Vec<bool>,

    #[serde(skip)]
    buffer: Buffer,
    /// Moved units that wait for each other to fill a program of all planes of a die; 0 if they do not.
    #[serde(skip)]
    row_units: u32,
    /// Free blocks of a domain below which its victims hold their dies; 0 if they never do.
    #[serde(skip)]
    hold_below: u32,
    /// True if the operations of GC take no time.
    #[serde(skip)]
    instant: bool,
    /// True if commands may take operations of other tasks along.
    #[serde(skip)]
    mixes: bool,
    /// True while a page is bound in a drive whose planes are paired during collections.
    #[serde(skip)]
    binding: bool,
    /// Planes whose collection started meanwhile.
    #[serde(skip)]
    unpaired: Vec<u32>,
    /// Page offsets of reads that wait in the other planes of a die, each once, while a victim is chosen by them.
    #[serde(skip)]
    reads_beside: Vec<u32>,
    /// By die, victims of GC in progress, and whether it may have no other: empty if their number is not limited.
    #[serde(skip)]
    victims: Vec<u32>,
    #[serde(skip)]
    busy_dies: Vec<bool>,
    /// Requests that wait for the buffer.
    #[serde(skip)]
    awaiting: u32,
    /// Until when GC last held a die that a buffered unit waited for, while requests waited for the buffer.
    #[serde(skip)]
    held_up: Time,
    #[serde(skip)]
    done: Vec<HostDone>,
    counters: Counters,
    #[serde(skip)]
    plane_use: PlaneUse,
    /// Records of commands, while there are observers.
    #[serde(skip)]
    notes: Option<Box<Notes>>,
    /// True if external policies are asked about operations.
    #[serde(skip)]
    outside: bool,
    /// Reason to end the run, if the step that found it could not return it.
    #[serde(skip)]
    fault: Option<Fault>,
}

#[inline]
fn stream_of(class: Class) -> Stream {
    // The mapping table is written where the host writes: nothing was promised for it.
    if class.is_host() || class.is_map_write() {
        Stream::Host
    } else {
        Stream::Collector
    }
}

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
        let idle = Die {
            busy: false,
            queued: false,
            class: Class::HOST_READ,
            count: 0,
            pages: [NONE; MAX_PLANES],
            collector_end: 0,
            since: 0,
            collections: 0,
            counted: END_OF_TIME,
            mixed: false,
        };
        let upkeep = config.upkeep.build(&build)?;
        let rests = Rests::new(&upkeep);
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
        let stage = dispatch.depth().map(|depth| Box::new(Stage::new(depth, plan.units_per_program, &geometry)));
        let timing = flash.timing();
        let lots =
            plan.fixes_pages.then(|| Lots::new(plan.units(), plan.units_per_block, (geometry.blocks(), plan.domains)));
        let places_outside = matches!(config.placement, PlacementConfig::Guest(_));
        let wishes = collect.places().then(Box::default);
        let aside = arounds.is_some() || stage.is_some() || cores.is_some();
        let detours = aside || lots.is_some() || wishes.is_some() || places_outside;
        let (pack, suspend) = (config.pack.build(&build)?, config.suspend.build(&build)?);
        let dies_if = |wanted: bool| if wanted { geometry.dies() as usize } else { 0 };
        let row_units = if pack.gathers() { geometry.planes_per_die * plan.units_per_program } else { 0 };
        let limited = collect.most_of_die().is_some();
        let (hold_below, instant, mixes) = (collect.hold_below(), collect.is_instant(), pack.mixes());
        let (caches, interrupts) = (pack.cache().is_some(), suspend.interrupts());
        let places = 1 + geometry.channels as usize + geometry.dies() as usize;
        let mut kernel = Self {
            plan,
            units_per_block: Divisor::new(plan.units_per_block),
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
            space: Space::new(geometry.planes(), &plan),
            lots: lots.map(Box::new),
            jobs: Jobs::new(build.domains),
            holding: Holding::new(collect.steps(), geometry.dies()),
            shadow: verify.then(|| Shadow::new(plan.units(), plan.raw_units)),
            mapping: config.mapping.build(&build)?,
            table: None,
            parity,
            extra_units: plan.units() > plan.logical_units,
            needed: Vec::new(),
            turns: turns.map(|groups| Box::new(Turns::new(groups, geometry.dies()))),
            placement,
            victim,
            free_block,
            pack,
            dispatch,
            control_due: shares.interval().unwrap_or(END_OF_TIME),
            shares,
            stage,
            stage_aside: None,
            listed: Listed::default(),
            nominal: [timing.mean_t_r() as Time, timing.mean_t_prog() as Time, timing.t_bers],
            arbiter: config.arbiter.build(&build)?,
            takes_oldest: false,
            suspend,
            trim: config.trim.build(&build)?,
            upkeep,
            wishes,
            detours,
            redundancy,
            arounds,
            processor,
            cores,
            read_limit: u32::MAX,
            reads_reached: false,
            has_slc: plan.slc.is_some(),
            binds_apart: plan.slc.is_some() || plan.destination == Destination::PairedBlocks,
            rests,
            refused: Tasks::default(),
            collect,
            slab: Slab::new(),
            sequence: 0,
            queues: vec![Fifo::default(); geometry.planes() as usize * CLASSES],
            waiting: vec![Ready::default(); geometry.dies() as usize],
            shared: vec![Fifo::default(); ROWS * places],
            shared_waiting: [0; ROWS],
            shared_count: 0,
            shared_dirty: false,
            dies: vec![idle; geometry.dies() as usize],
            occupied: vec![[0; CLASSES]; geometry.dies() as usize],
            candidates: Candidates::default(),
            busy: 0,
            command: Command::new(Kind::Read),
            idle_in_channel: vec![geometry.dies_per_channel(); geometry.channels as usize],
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
            buffer: Buffer::new(buffer_units),
            row_units,
            hold_below,
            instant,
            mixes,
            binding: false,
            unpaired: Vec::new(),
            reads_beside: Vec::new(),
            victims: vec![0; dies_if(limited)],
            busy_dies: vec![false; dies_if(limited)],
            awaiting: 0,
            held_up: 0,
            done: Vec::new(),
            counters: Counters::default(),
            plane_use: PlaneUse::default(),
            notes: None,
            outside: config.has_guests(),
            fault: None,
            flash,
        };
        if let Some(stripe) = plan.stripe {
            kernel.blocks.form_superblocks(stripe, &geometry);
        }
        if plan.slc.is_some_and(|slc| slc.fixed) {
            kernel.blocks.weigh_slc(plan.slc_units_lacking());
        }
        kernel.mapping.has_map_units(plan.map_units);
        kernel.table = Table::of(&plan, &kernel.mapping);
        kernel.arbiter.learn(kernel.nominal);
        kernel.takes_oldest = kernel.arbiter.takes_oldest();
        kernel.read_limit = kernel.fewest_reads();
        kernel.reads_reached = kernel.read_limit < u32::MAX;
        kernel.set_blocks_aside(config)?;
        if plan.slc.is_some() {
            kernel.check_slc(config)?;
        }
        if plan.fixes_pages && kernel.fails {
            let problem =
                "does not go with nand.reliability that lets programs or erases fail, since a page of a block has no \
                substitute: set program_fail and erase_fail to 0";
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
        kernel.heed(failed(kernel.free_block.trouble()));
        Ok(kernel)
    }

    /// The figures of the drive.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The flash, to look at.
    #[must_use]
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Block accounting, to look at.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// True if the oldest queued request may be served while `in_service` others are in service.
    #[inline]
    #[must_use]
    pub fn admits(&self, in_service: u32) -> bool {
        self.dispatch.admits(in_service)
    }

    /// Its tasks.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.plan.tasks
    }

    /// Flash operations by task.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How the planes of dies were used while GC was under way there, up to the last command that ended.
    #[must_use]
    pub fn plane_use(&self) -> PlaneUse {
        self.plane_use
    }

    /// Starts the counters anew.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.plane_use = PlaneUse::default();
    }

    /// Operations that are queued or run, and jobs on hold.
    #[must_use]
    pub fn operations(&self) -> u32 {
        self.slab.live() + self.holding.count()
    }

    /// Planes that a program command of a die may cover.
    #[must_use]
    pub fn planes_per_command(&self) -> u32 {
        if self.pack.window() > 0 {
            self.flash.geometry().planes_per_die
        } else {
            1
        }
    }

    /// Host units done since the last call; the caller drains them.
    #[inline]
    pub fn done(&mut self) -> &mut Vec<HostDone> {
        &mut self.done
    }

    /// Tells that a unit will soon be read or written, so that its map entry is at hand then.
    #[inline]
    pub fn expect(&self, unit: u32) {
        self.map.expect(unit);
    }

    /// Tells that a unit will soon be overwritten, when its map entry is at hand.
    #[inline]
    pub fn expect_overwrite(&self, unit: u32) {
        if let Some(place) = self.map.place(unit) {
            self.map.expect_overwrite(place);
            self.blocks.expect(self.units_per_block.quotient(place));
        }
    }

    /// Tells that all units will be written.
    pub fn expect_filling(&mut self) {
        self.map.expect_filling();
    }

    /// Starts commands on idle dies and ends untimed commands, until nothing changes.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn pump(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.is_quiet() {
            return Ok(());
        }
        self.run(queue)
    }

    /// True if there is nothing to start or to end: mostly so when an operation has come for a busy die.
    #[inline]
    fn is_quiet(&self) -> bool {
        let special = self.detours | self.outside | self.stalled | self.shared_dirty | self.holding.due;
        let waits = !self.dirty.is_empty() || !self.ended.is_empty() || !self.pressed.is_empty();
        !waits && !special && self.fault.is_none()
    }

    /// Runs it until there is not.
    #[inline]
    fn run(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        loop {
            while let Some(die) = self.dirty.pop_front() {
                self.dies[die as usize].queued = false;
                self.dispatch(die, queue)?;
            }
            if self.shared_dirty {
                self.shared_dirty = false;
                self.serve_shared(queue)?;
            }
            if self.detours && self.send_on() {
                continue;
            }
            if let Some(die) = self.ended.pop_front() {
                self.complete(die)?;
            } else if let Some(die) = self.pressed.pop_front() {
                self.look(die, queue)?;
            } else if self.dirty.is_empty() && !self.shared_dirty {
                if self.holding.due {
                    self.ask_held();
                    continue;
                }
                if self.detours && self.settle_wishes() {
                    continue;
                }
                if self.stalled && self.busy == 0 && !self.is_computing() && self.unstick() {
                    continue;
                }
                if self.detours {
                    self.schedule_processors(queue);
                }
                if self.outside {
                    self.heed_all();
                }
                return self.fault.as_ref().map_or(Ok(()), |fault| Err(Fault::clone(fault)));
            }
        }
    }

    /// Lets operations go on that wait beside the queues of their dies; false if there are none to look at.
    #[inline(never)]
    fn send_on(&mut self) -> bool {
        if self.lots.as_ref().is_some_and(|lots| lots.is_due()) {
            self.run_lots();
            return true;
        }
        let due = self.stage.as_ref().is_some_and(|stage| stage.is_due());
        if due {
            self.run_stage();
        }
        due
    }

    /// Handles an event of a lane of the flash: a die, or what it does beside a suspended command.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn on_die(&mut self, now: Time, lane: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        let progress = self.flash.step(now, lane, queue);
        if self.attentive {
            return self.attend(lane, progress, queue);
        }
        if progress == Progress::Done {
            // Without suspension there is no lane but the dies'.
            self.complete(lane)?;
            self.pump(queue)?;
        }
        Ok(())
    }
}
