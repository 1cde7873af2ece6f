//! The kernel: the path of a request through the firmware, as named steps in order.
//!
//! [`Kernel::read`], [`Kernel::write`] and [`Kernel::trim`] (`serve`) take requests split into units, and look their
//! entries of the mapping table up if these may lie in flash (`table`); `enqueue` puts operations
//! into the queues of their task; `dispatch` fills an idle die: it surveys the waiting operations, lets the arbiter
//! choose, binds pages (`bind`) and starts the command; `complete` handles the end of the command. Garbage collection
//! uses the same queues as a separate task (`collect`), with copyback where allowed (`copy`). Each step is a file of
//! that name, and `looping` has the loop of them. Dies in cache mode (`sequence`) or with suspension (`interrupt`) need
//! attention between start and end of a command (`attend`). `account` keeps the time of operations, and `drain` the causes of waits for the write buffer.
//! `direct` does the usual cases of untimed writes at less cost, with the same state (beside log blocks `direct_merges` and
//! `direct_runs`); `straight` those of plain reads, `straight_moves` those of programs and GC (`straight_pages` where a page has one
//! unit), and `staged` and `staged_moves` those of both that pass a commit stage (`staged_pages` and `staged_units` where each plane collects); `stretches` makes consecutive units of a write one
//! operation.
//!
//! The state of host and GC changes when an operation is *issued*. A die executes its commands in order, so data looked
//! up later are in place by the time the die serves the read.

mod account;
mod after;
mod agree;
mod ahead;
mod around;
mod attend;
mod audit;
mod banks;
mod bind;
mod build;
mod collect;
mod commit;
mod complete;
mod copy;
mod counters;
mod deadlines;
mod die;
mod direct;
mod direct_merges;
mod direct_runs;
mod dispatch;
mod drain;
mod enqueue;
mod fault;
mod follow;
mod guests;
mod history;
mod hold;
mod hold_jobs;
mod interrupt;
mod joining;
mod keep;
mod log_merges;
mod log_writes;
mod look;
mod looping;
mod merge;
mod mix;
mod named;
mod parity;
mod processor;
mod raid;
mod ready;
mod rests;
mod retire;
mod retire_lots;
mod ring;
mod saved;
mod schedule;
mod send;
mod sequence;
mod serve;
mod slc;
mod stage;
mod staged;
mod staged_moves;
mod staged_pages;
mod staged_units;
mod standing;
mod steer;
mod straight;
mod straight_moves;
mod straight_moves_noted;
mod straight_noted;
mod straight_pages;
mod straight_rows;
mod stretches;
mod table;
mod tags;
mod together;
mod transactions;
mod turns;
mod upkeep;
mod waits;
mod wishes;
mod witness;

use crate::blocks::Blocks;
use crate::buffer::Buffer;
use crate::logs::Logs;
use crate::lots::Lots;
use crate::map::Map;
use crate::mover::Jobs;
use crate::ops::{Fifo, Slab};
use crate::policy::arbiter::ArbiterPolicy;
use crate::policy::collect::CollectPolicy;
use crate::policy::dispatch::DispatchPolicy;
use crate::policy::free_block::FreeBlockPolicy;
use crate::policy::mapping::MappingPolicy;
use crate::policy::pack::PackPolicy;
use crate::policy::placement::PlacementPolicy;
use crate::policy::processor::ProcessorPolicy;
use crate::policy::redundancy::RedundancyPolicy;
use crate::policy::shares::SharesPolicy;
use crate::policy::slc::SlcPolicy;
use crate::policy::suspend::SuspendPolicy;
use crate::policy::trim::TrimPolicy;
use crate::policy::upkeep::UpkeepPolicies;
use crate::policy::victim::VictimPolicy;
use crate::policy::Carrier;
use crate::raid::Parity;
use crate::shadow::Shadow;
use crate::space::{Space, Stream};
use crate::task::{Class, Tasks, ROWS};
use crate::Plan;
use after::After;
use around::Arounds;
use banks::Banks;
use deadlines::Deadlines;
use die::Die;
use direct_merges::Lone;
use dispatch::Candidates;
use hold_jobs::Holding;
use interrupt::Interruption;
use keep::Shelf;
use named::Named;
use processor::Cores;
use rests::Rests;
use ring::Ring;
use schedule::Schedule;
use send::Listed;
use sequence::Sequence;
use serde::{Deserialize, Serialize};
use stage::Stage;
use std::collections::VecDeque;
use straight::Ended;
use table::Table;
use transactions::Transactions;
use turns::Turns;
use wishes::Wishes;
use wordline_base::{Divisor, Time};
use wordline_flash::{Command, Flash};

pub use account::{Account, Way};
pub use banks::{BankCounts, BankUse};
pub use counters::{Counters, PlaneUse};
pub use drain::{divide, DRAINS};
pub use fault::{Fault, Reason};
pub use history::HOLDERS;
pub use keep::FromFlash;
pub use processor::PROCESSOR_EVENT;
pub use retire::FACTORY_BAD;
pub use schedule::Preview;
pub use standing::Standing;
pub use transactions::{Kinds, TransactionCounts};
pub use waits::Waited;
pub use wishes::Wished;
use witness::Notes;
pub use witness::{Noted, Noting, Passage, Service};

/// Units of a host request that are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    units_per_plane: Divisor,
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
    /// Saved apart.
    #[serde(skip)]
    map: Map,
    blocks: Blocks,
    space: Space,
    /// Logical blocks, if the mapping fixes the page of each unit.
    lots: Option<Box<Lots>>,
    logs: Option<Box<Logs>>,
    // Skipped fields here and below belong to operations; an idle drive has none.
    #[serde(skip)]
    jobs: Jobs,
    /// Merges that are scheduled over idle periods; none if the collect policy does not.
    #[serde(skip)]
    schedule: Option<Box<Schedule>>,
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
    /// True if something follows from the new place of a unit: for units behind those of the host, or for operations that
    /// wait for it.
    #[serde(rename = "extra_units")]
    follows_units: bool,
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
    /// The size of the SLC cache, if a policy is asked about it during a run.
    #[serde(skip)]
    slc: Option<Box<SlcPolicy>>,
    pack: PackPolicy,
    /// Its window, and whether commands keep to a request: what is asked for with each command.
    #[serde(skip)]
    window: u32,
    #[serde(skip)]
    within_request: bool,
    dispatch: DispatchPolicy,
    /// With fewer requests in service it need not be asked whether one more may be.
    #[serde(skip)]
    admits_below: u32,
    shares: SharesPolicy,
    /// None if operations go to their dies at once.
    #[serde(skip)]
    stage: Option<Box<Stage>>,
    /// The commit stage, while commands take no time.
    #[serde(skip)]
    stage_aside: Option<Box<Stage>>,
    /// Operations of the host that wait to be committed together; none if they go to their dies one by one.
    #[serde(skip)]
    transactions: Option<Box<Transactions>>,
    /// Banks that serve a request of the host at a time, if they do.
    #[serde(skip)]
    banks: Option<Box<Banks>>,
    /// True if transactions or banks have to know of the end of each command.
    #[serde(skip)]
    follows_ends: bool,
    /// When shares are controlled next; the end of time if they are not.
    control_due: Time,
    /// What the dispatch policy is shown.
    #[serde(skip)]
    listed: Option<Box<Listed>>,
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
    /// Background tasks that are told of each block that is erased.
    #[serde(skip)]
    follow_erases: Tasks,
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
    /// Places in superblocks that writes of the host may wait for; none if the placement names none.
    #[serde(skip)]
    named: Option<Box<Named>>,
    /// True if it has either.
    #[serde(skip)]
    has_wishes: bool,
    /// Operations that wait for older writes of their units; none if operations do not overtake each other.
    #[serde(skip)]
    after: Option<Box<After>>,
    /// The read that comes next is all that its request reads.
    #[serde(skip)]
    comes_alone: bool,
    /// Deadlines of requests, if the dispatch policy has any.
    #[serde(skip)]
    deadlines: Option<Box<Deadlines>>,
    /// True if the placement is asked for each write of the host when it comes.
    #[serde(skip)]
    places_each: bool,
    /// Valid units of a plane from which on it is passed over, where planes take turns; the highest number elsewhere.
    #[serde(skip)]
    most_in_plane: u32,
    /// True if some operations take another way than to the queue of their die.
    #[serde(skip)]
    detours: bool,
    /// Page reads of a block at which some background task is asked.
    #[serde(skip)]
    read_limit: u32,
    /// True if a block may have as many.
    #[serde(skip)]
    reads_reached: bool,
    /// True if untimed writes go the direct way, and if they never do.
    #[serde(skip)]
    direct: bool,
    #[serde(skip)]
    avoids_direct: bool,
    /// True if untimed merges of log blocks go the direct way.
    #[serde(skip)]
    direct_logs: bool,
    #[serde(skip)]
    lone: Lone,
    /// True if plain reads may go straight, and if they never do.
    #[serde(skip)]
    straight: bool,
    /// The same, where accounts of requests are kept.
    #[serde(skip)]
    straight_noted: bool,
    /// The same of programs and moves of GC.
    #[serde(skip)]
    straight_moves_noted: bool,
    /// The same page by page.
    #[serde(skip)]
    straight_pages_noted: bool,
    #[serde(skip)]
    avoids_straight: bool,
    /// True if nothing is done in a shorter way, to compare both.
    #[serde(skip)]
    avoids_short: bool,
    /// True if programs and moves of GC may go straight.
    #[serde(skip)]
    straight_moves: bool,
    /// True if they may go straight page by page.
    #[serde(skip)]
    straight_pages: bool,
    /// True if programs of the host in several planes go straight beside them.
    #[serde(skip)]
    straight_rows: bool,
    /// True if plain reads may go straight through processors and the commit stage.
    #[serde(skip)]
    straight_by_stage: bool,
    /// True if all commands may go straight through the commit stage plane by plane.
    #[serde(skip)]
    by_stage_in_planes: bool,
    /// True if they may go straight through the commit stage page by page.
    #[serde(skip)]
    by_stage_in_pages: bool,
    /// True if reads go straight through the commit stage, and the dispatch policy sees the oldest operations of tasks alone.
    #[serde(skip)]
    by_stage_of_oldest: bool,
    /// True if units of the host may form stretches, and if they never do.
    #[serde(skip)]
    stretches: bool,
    #[serde(skip)]
    avoids_stretches: bool,
    /// Units of stretches beyond the first of each.
    #[serde(skip)]
    more_units: u32,
    /// True if some blocks may be in SLC mode.
    has_slc: bool,
    /// True if programs take several units, of which a queue knows how many fill one.
    #[serde(skip)]
    pages_fill: bool,
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
    /// Writes without a plane yet: by row of writes, then any, each channel, each die.
    #[serde(skip)]
    shared: Vec<Fifo>,
    /// By row of writes, a bit for each of these but the first in which some may wait.
    #[serde(skip)]
    shared_places: Vec<u64>,
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
    /// Of the last survey.
    #[serde(skip)]
    candidates: Candidates,
    /// Dies that run a command.
    #[serde(skip)]
    busy: u32,
    /// The command being put together.
    #[serde(skip)]
    command: Command,
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
    /// What an external policy keeps in the buffer, if one does.
    #[serde(skip)]
    shelf: Option<Box<Shelf>>,
    /// Who says how long transfers of the host interface take, if an external policy does.
    #[serde(skip)]
    carrier: Option<Box<Carrier>>,
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
    /// True if the packer may refuse operations that fit.
    refuses: bool,
    /// True if the packer has a say in what follows a command in cache mode.
    #[serde(skip)]
    asks_of_followers: bool,
    /// True if the packer may let reads of another task follow.
    #[serde(skip)]
    crosses: bool,
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
    /// How the last end of a command was handled, and what it ended, if that is told alone.
    #[serde(skip)]
    ended_as: Ended,
    #[serde(skip)]
    only: HostDone,
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
    #[inline(always)]
    #[must_use]
    pub fn admits(&mut self, in_service: u32) -> bool {
        in_service < self.admits_below || self.admits_more(in_service)
    }

    #[inline(never)]
    fn admits_more(&mut self, in_service: u32) -> bool {
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

    /// Starts the counters anew, and tells external policies.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.plane_use = PlaneUse::default();
        self.reset_waited();
        if let Some(transactions) = &mut self.transactions {
            transactions.reset(self.now);
        }
        if let Some(banks) = &mut self.banks {
            banks.counts = BankCounts::default();
        }
        self.tell_of_measuring();
    }

    /// Operations that are queued or run, and jobs on hold. A stretch counts as its units.
    #[must_use]
    pub fn operations(&self) -> u32 {
        self.slab.live() + self.more_units + self.holding.count() + u32::from(self.has_merges_left())
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
}
