//! The kernel: a request's way through the firmware, as named steps in their order.
//!
//! [`Kernel::read`], [`Kernel::write`] and [`Kernel::trim`] take what the drive has split into units (mapping, placement);
//! `enqueue` puts operations into the queues of their task; `dispatch` fills an idle die: `survey` what waits, let the arbiter
//! choose, bind pages (`issue_read`, `issue_write`, `issue_erase`), and start the command; `complete` takes the command's end
//! back up. Collection runs through the same queues as a task of its own: see `collect` and `advance`.
//!
//! The host's and the collector's state changes when an operation is *issued*; a die works on its commands one after the
//! other, so whoever looks a place up later finds its data there by the time the die serves it.

use crate::blocks::{Blocks, Sizes, Status};
use crate::buffer::Buffer;
use crate::map::{Map, Place};
use crate::mover::Jobs;
use crate::ops::{Fifo, FlashOp, Slab, NONE};
use crate::policy::arbiter::{ArbiterPolicy, Class, Waiting, CLASSES};
use crate::policy::collect::{CollectPolicy, SpaceView};
use crate::policy::free_block::FreeBlockPolicy;
use crate::policy::pack::PackPolicy;
use crate::policy::placement::{Constraint, PlacementPolicy};
use crate::policy::trim::TrimPolicy;
use crate::policy::victim::VictimPolicy;
use crate::shadow::{Misplaced, Shadow};
use crate::space::{Space, Stream};
use crate::{ConfigError, FirmwareConfig, Plan};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::{Divisor, EventQueue, Time};
use wordline_flash::{Command, Flash, FlashError, Kind, PageAddress, MAX_PLANES};

/// The run cannot go on: the firmware broke a rule. Always a defect of the model, never a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The flash refused a command.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// Data were lost or misplaced.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// The books do not balance.
    #[error("block accounting: {0}")]
    Books(String),
}

/// Units of a host request that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDone {
    /// The request, as the drive numbered it.
    pub request: u32,
    /// How many units.
    pub units: u32,
    /// Bytes that the flash delivered for it.
    pub bytes: u32,
    /// Whether the operation waited for a die that the collector held.
    pub gc_affected: bool,
}

/// What the flash did for whom. Units and pages, not bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Pages read, programmed or blocks erased, by class of operation.
    pub ops: [u64; CLASSES],
    /// Of these, the ones in a command for several planes.
    pub multi_plane: [u64; CLASSES],
    /// Page reads for writes of less than a unit.
    pub merge_reads: u64,
    /// Units written by the host.
    pub host_units: u64,
    /// Units moved by the collector.
    pub moved_units: u64,
    /// Units of programmed pages that stayed empty.
    pub padded_units: u64,
    /// Units written by the host that never reached flash: replaced or given back while they waited in the write buffer.
    pub absorbed_units: u64,
    /// Blocks collected.
    pub collections: u64,
    /// Flash commands.
    pub commands: u64,
}

impl Counters {
    /// Pages read for any reason.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.ops[Class::HostRead as usize] + self.ops[Class::GcRead as usize]
    }

    /// Pages programmed for any reason.
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.ops[Class::HostWrite as usize] + self.ops[Class::GcWrite as usize]
    }

    /// Blocks erased.
    #[must_use]
    pub fn erases(&self) -> u64 {
        self.ops[Class::GcErase as usize]
    }
}

/// What a die does now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Die {
    busy: bool,
    queued: bool,
    class: Class,
    count: u8,
    pages: [u32; MAX_PLANES],
    /// When the collector last let go of it.
    collector_end: Time,
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
    planes_per_die: Divisor,
    blocks_per_plane: Divisor,
    flash: Flash,
    timed: bool,
    now: Time,
    map: Map,
    blocks: Blocks,
    space: Space,
    jobs: Jobs,
    shadow: Option<Shadow>,

    placement: PlacementPolicy,
    victim: VictimPolicy,
    collect: CollectPolicy,
    free_block: FreeBlockPolicy,
    pack: PackPolicy,
    arbiter: ArbiterPolicy,
    trim: TrimPolicy,

    slab: Slab,
    sequence: u64,
    /// By plane, then class.
    queues: Vec<Fifo>,
    /// By die: bit `class * MAX_PLANES + plane` tells that a queue is not empty.
    waiting: Vec<u64>,
    /// Writes without a plane yet: by write class, then any, each channel, each die.
    shared: Vec<Fifo>,
    shared_waiting: [u32; 2],
    shared_dirty: bool,
    dies: Vec<Die>,
    /// The command being put together.
    command: Command,
    idle_in_channel: Vec<u32>,
    channel_turn: u32,
    die_turn: Vec<u32>,
    /// Idle dies that may find work.
    dirty: VecDeque<u32>,
    /// Untimed commands that have ended.
    ended: VecDeque<u32>,
    /// Some write found no room.
    stalled: bool,
    /// Domains that want to collect but found no block that gains a page: the next invalidation there lets them look again.
    starved: Vec<bool>,

    buffer: Buffer,
    done: Vec<HostDone>,
    counters: Counters,
}

fn stream_of(class: Class) -> Stream {
    if class == Class::HostWrite {
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
        let build = config.build(&geometry, plan.units_per_page, seed);
        let victim = config.victim.build(&build)?;
        let free_block = config.free_block.build(&build)?;
        let collect = config.collect.build(&build)?;
        let sizes = Sizes {
            planes: geometry.planes(),
            planes_per_domain: geometry.planes() / build.domains,
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            units_per_page: plan.units_per_page,
        };
        let idle = Die {
            busy: false,
            queued: false,
            class: Class::HostRead,
            count: 0,
            pages: [NONE; MAX_PLANES],
            collector_end: 0,
        };
        let places = 1 + geometry.channels as usize + geometry.dies() as usize;
        Ok(Self {
            plan,
            units_per_block: Divisor::new(plan.units_per_block),
            units_per_page: Divisor::new(plan.units_per_page),
            planes_per_die: Divisor::new(geometry.planes_per_die),
            blocks_per_plane: Divisor::new(geometry.blocks_per_plane),
            timed: true,
            now: 0,
            map: Map::new(plan.logical_units, plan.raw_units),
            blocks: Blocks::new(sizes, victim.ranked(), &free_block),
            space: Space::new(geometry.planes(), build.domains, collect.reserve(), geometry.pages_per_block),
            jobs: Jobs::new(build.domains, collect.window()),
            shadow: verify.then(|| Shadow::new(plan.logical_units, plan.raw_units)),
            placement: config.placement.build(&build)?,
            victim,
            free_block,
            pack: config.pack.build(&build)?,
            arbiter: config.arbiter.build(&build)?,
            trim: config.trim.build(&build)?,
            collect,
            slab: Slab::new(),
            sequence: 0,
            queues: vec![Fifo::default(); geometry.planes() as usize * CLASSES],
            waiting: vec![0; geometry.dies() as usize],
            shared: vec![Fifo::default(); 2 * places],
            shared_waiting: [0; 2],
            shared_dirty: false,
            dies: vec![idle; geometry.dies() as usize],
            command: Command::new(Kind::Read),
            idle_in_channel: vec![geometry.dies_per_channel(); geometry.channels as usize],
            channel_turn: 0,
            die_turn: vec![0; geometry.channels as usize],
            dirty: VecDeque::with_capacity(geometry.dies() as usize),
            ended: VecDeque::with_capacity(geometry.dies() as usize),
            stalled: false,
            starved: vec![false; build.domains as usize],
            buffer: Buffer::new(buffer_units),
            done: Vec::new(),
            counters: Counters::default(),
            flash,
        })
    }

    // ------------------------------------------------------------------------------------------ what the drive asks

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

    /// What the flash did for whom.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Starts the counters anew.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// Operations that are queued or run.
    #[must_use]
    pub fn operations(&self) -> u32 {
        self.slab.live()
    }

    /// Whether commands take time. Switching is allowed only while nothing runs.
    ///
    /// # Panics
    /// While operations are queued or run.
    pub fn set_timed(&mut self, timed: bool) {
        assert_eq!(self.slab.live(), 0, "timing is switched while operations run");
        self.timed = timed;
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

    /// Reads `bytes` from byte `skip` of unit `first` on, for a request; gives the units and bytes that wait for flash. The others
    /// are unwritten or still in the write buffer.
    #[inline]
    pub fn read(&mut self, now: Time, request: u32, first: u32, skip: u32, bytes: u32) -> (u32, u32) {
        self.now = now;
        let unit_bytes = self.plan.unit_bytes;
        let end = first + (skip + bytes).div_ceil(unit_bytes);
        let (mut units_waiting, mut bytes_waiting) = (0, 0);
        let (mut at, mut skip, mut left) = (first, skip, bytes);
        while at < end {
            let place = if self.buffer.holds(at) { None } else { self.map.place(at) };
            let units = place.map_or(1, |place| self.run_in_page(at, end, place));
            let share = (units * unit_bytes - skip).min(left);
            if let Some(place) = place {
                let op = FlashOp {
                    class: Class::HostRead,
                    unit: at,
                    units: units as u16,
                    source: place,
                    owner: request,
                    bytes: share,
                    ..FlashOp::default()
                };
                let op = self.slab.insert(op);
                self.enqueue(op);
                units_waiting += units;
                bytes_waiting += share;
            }
            left -= share;
            skip = 0;
            at += units;
        }
        (units_waiting, bytes_waiting)
    }

    /// How many units from `first` on lie in the page of `place`.
    #[inline]
    fn run_in_page(&self, first: u32, end: u32, place: Place) -> u32 {
        let page = place / self.plan.units_per_page;
        let mut units = 1;
        if self.plan.units_per_page > 1 {
            while first + units < end
                && self.map.place(first + units).is_some_and(|other| other / self.plan.units_per_page == page)
                && !self.buffer.holds(first + units)
            {
                units += 1;
            }
        }
        units
    }

    /// The write buffer, to look at.
    #[inline]
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Writes a unit for a request; `whole` tells whether all its bytes are given. True if the host need not wait for it, because
    /// it stays in the write buffer; `through` forbids that (FUA).
    #[inline]
    pub fn write(&mut self, now: Time, request: u32, unit: u32, whole: bool, through: bool) -> bool {
        self.now = now;
        self.counters.host_units += 1;
        let mut op = FlashOp { class: Class::HostWrite, unit, owner: request, ..FlashOp::default() };
        if let Some(shadow) = &mut self.shadow {
            op.stamp = shadow.version();
        }
        let buffered = self.buffer.is_used();
        if buffered && self.absorb(unit, request, op.stamp, through) {
            return !through;
        }
        if buffered {
            op.ordinal = self.buffer.take(unit);
            op.buffered = true;
            if through {
                self.buffer.hurry(op.ordinal);
            } else {
                op.owner = NONE;
            }
        }
        let old = if whole { None } else { self.map.place(unit) };
        if let Some(place) = old {
            op.class = Class::HostRead;
            op.merge = true;
            op.source = place;
            op.bytes = self.plan.unit_bytes;
        }
        let slot = self.slab.insert(op);
        if buffered {
            self.buffer.pend(unit, slot);
        }
        self.enqueue(slot);
        buffered && !through
    }

    /// A write of a unit that still waits in the buffer replaces what waits there; false if nothing does.
    fn absorb(&mut self, unit: u32, request: u32, stamp: u32, through: bool) -> bool {
        let Some(slot) = self.buffer.pending(unit) else { return false };
        let op = self.slab.get_mut(slot);
        if through && op.owner != NONE {
            // Two FUA writes of one unit at a time: each answers for itself.
            return false;
        }
        op.stamp = stamp;
        // What was given back is wanted again, and its leaving was counted already.
        if op.units == 1 {
            self.counters.absorbed_units += 1;
        }
        op.units = 1;
        if through {
            op.owner = request;
            let ordinal = op.ordinal;
            self.buffer.hurry(ordinal);
            self.push_out();
        }
        true
    }

    /// Takes the units `first..first + count` from the host.
    pub fn trim(&mut self, now: Time, first: u32, count: u32) {
        self.now = now;
        if !self.trim.invalidates() {
            return;
        }
        for unit in first..first + count {
            if let Some(slot) = self.buffer.pending(unit) {
                // It still waits in the buffer: it leaves without being written.
                let op = self.slab.get_mut(slot);
                self.counters.absorbed_units += u64::from(op.units);
                op.units = 0;
            }
            if let Some(place) = self.map.unbind(unit) {
                self.invalidate(place);
            }
            if let Some(shadow) = &mut self.shadow {
                shadow.forget(unit);
            }
        }
    }

    /// All units that are buffered now have to go to flash whatever company they have; gives the ordinal of the newest.
    pub fn flush(&mut self, now: Time) -> u64 {
        self.now = now;
        let newest = self.buffer.newest();
        self.buffer.hurry(newest);
        self.push_out();
        newest
    }

    /// Lets idle dies take work, and untimed commands end, until nothing changes.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn pump(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        loop {
            while let Some(die) = self.dirty.pop_front() {
                self.dies[die as usize].queued = false;
                self.dispatch(die, queue)?;
            }
            if self.shared_dirty {
                self.shared_dirty = false;
                self.serve_shared(queue)?;
            }
            if let Some(die) = self.ended.pop_front() {
                self.complete(die)?;
            } else if self.dirty.is_empty() && !self.shared_dirty {
                return Ok(());
            }
        }
    }

    /// Handles an event of a die.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn on_die(&mut self, now: Time, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        if self.flash.step(now, die, queue) {
            self.complete(die)?;
            self.pump(queue)?;
        }
        Ok(())
    }

    /// Takes over the data, maps and wear of another drive of the same geometry and unit size, keeping its own policies.
    ///
    /// # Errors
    /// Names the first figure in which the drives differ.
    ///
    /// # Panics
    /// While operations of either are queued or run.
    pub fn adopt(&mut self, other: &Kernel) -> Result<(), ConfigError> {
        assert!(self.slab.live() == 0 && other.slab.live() == 0, "state is taken over while operations run");
        if self.flash.geometry() != other.flash.geometry() {
            let shape = |kernel: &Self| {
                let g = kernel.flash.geometry();
                format!(
                    "{} x {} x {} x {} planes of {} blocks of {} pages of {} KiB",
                    g.channels,
                    g.packages,
                    g.dies_per_package,
                    g.planes_per_die,
                    g.blocks_per_plane,
                    g.pages_per_block,
                    g.page_bytes / 1024
                )
            };
            let problem = format!("the saved state has {}; give the drive the same", shape(other));
            return Err(ConfigError::new("geometry", shape(self), problem));
        }
        let unit_kib = |kernel: &Self| kernel.plan.unit_bytes / 1024;
        if unit_kib(self) != unit_kib(other) {
            let problem = format!("the saved state was made with {}; give the drive the same", unit_kib(other));
            return Err(ConfigError::new("mapping.unit_kib", unit_kib(self), problem));
        }
        if self.plan.logical_units != other.plan.logical_units {
            let ratio = |plan: &Plan| format!("{:.6}", f64::from(plan.raw_units) / f64::from(plan.logical_units));
            let problem = format!("the saved state was made with {}; give the drive the same", ratio(&other.plan));
            return Err(ConfigError::new("capacity.raw_over_logical", ratio(&self.plan), problem));
        }
        if self.plan.domains != other.plan.domains {
            let scope = |domains: u32| if domains == 1 { "drive" } else { "plane" };
            let problem = format!("the saved state was made with \"{}\"; give it the same", scope(other.plan.domains));
            return Err(ConfigError::new("collect.scope", scope(self.plan.domains), problem));
        }
        let planes = self.flash.geometry().planes();
        let same_planes = |page| self.placement.place(page) == other.placement.place(page);
        if self.placement.fixed() && !(0..planes).all(same_planes) {
            // Pages that lie elsewhere than they are written could fill a plane beyond its share.
            let problem = "a fixed plane for every page needs a saved state that was made with the same order";
            return Err(ConfigError::new("placement.policy", "static", problem));
        }
        self.flash.adopt_cells(&other.flash);
        self.map = other.map.clone();
        self.space = self.space.with_open_blocks_of(&other.space);
        self.blocks = self.blocks.with_records_of(&other.blocks, &self.free_block);
        for domain in 0..self.blocks.domains() {
            let view = self.blocks.view(domain);
            (0..view.closed_count()).for_each(|at| self.victim.closed(&view, view.closed_at(at)));
        }
        if self.shadow.is_some() {
            self.shadow = other.shadow.clone();
        }
        Ok(())
    }

    /// Collects what the thresholds ask for, as after taking over another drive's state.
    pub fn collect_all(&mut self, now: Time) {
        self.now = now;
        (0..self.blocks.domains()).for_each(|domain| self.collect(domain));
    }

    // ------------------------------------------------------------------------------------------------------ queueing

    /// Puts an operation into the queue of its class, where its constraint says.
    #[inline]
    fn enqueue(&mut self, slot: u32) {
        self.sequence += 1;
        let op = self.slab.get_mut(slot);
        op.sequence = self.sequence;
        op.ready = self.now;
        let op = *op;
        let constraint = match op.class {
            Class::HostRead | Class::GcRead => Constraint::Plane(self.plane_of(op.source)),
            Class::GcErase => Constraint::Plane(self.blocks.plane_of(op.source)),
            Class::HostWrite => self.placement.place(self.units_per_page.quotient(op.unit)),
            Class::GcWrite if self.plan.domains > 1 => Constraint::Plane(self.plane_of(op.source)),
            Class::GcWrite => self.placement.place(self.units_per_page.quotient(op.unit)),
        };
        let geometry = self.flash.geometry();
        let channels = geometry.channels as usize;
        match constraint {
            Constraint::Plane(plane) => {
                let die = self.planes_per_die.quotient(plane);
                let bit = op.class as u32 * MAX_PLANES as u32 + self.planes_per_die.remainder(plane);
                self.queues[plane as usize * CLASSES + op.class as usize].push(&mut self.slab, slot);
                self.waiting[die as usize] |= 1 << bit;
                self.mark(die);
            }
            Constraint::Any => self.enqueue_shared(op.class, 0, slot),
            Constraint::Channel(channel) => self.enqueue_shared(op.class, 1 + channel as usize, slot),
            Constraint::Die(die) => self.enqueue_shared(op.class, 1 + channels + die as usize, slot),
        }
        if op.buffered && op.class == Class::HostWrite {
            self.buffer.wait(slot, op.ordinal);
            self.push_out();
        }
    }

    #[inline]
    fn enqueue_shared(&mut self, class: Class, at: usize, slot: u32) {
        let row = usize::from(class == Class::GcWrite);
        let index = row * (self.shared.len() / 2) + at;
        self.shared[index].push(&mut self.slab, slot);
        self.shared_waiting[row] += 1;
        self.shared_dirty = true;
    }

    /// Wakes the die of the oldest buffered unit if it has waited long enough.
    fn push_out(&mut self) {
        while let Some((slot, ordinal)) = self.buffer.oldest_waiting() {
            let op = self.slab.get(slot);
            // The slot may have been used again since its write left the buffer.
            let waits = op.ordinal == ordinal && op.class == Class::HostWrite && op.buffered;
            if waits && !self.buffer.must_go(ordinal) {
                return;
            }
            self.buffer.stop_waiting();
            if waits {
                match self.placement.place(self.units_per_page.quotient(op.unit)) {
                    Constraint::Plane(plane) => self.mark(plane / self.flash.geometry().planes_per_die),
                    _ => self.shared_dirty = true,
                }
            }
        }
    }

    #[inline]
    fn plane_of(&self, place: Place) -> u32 {
        self.blocks.plane_of(self.units_per_block.quotient(place))
    }

    /// Notes that a die may find work.
    #[inline]
    fn mark(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.busy && !state.queued {
            state.queued = true;
            self.dirty.push_back(die);
        }
    }

    // ------------------------------------------------------------------------------------------------------- dispatch

    /// Gives shared writes to idle dies while any takes one.
    fn serve_shared(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        let row_length = self.shared.len() / 2;
        for (row, class) in [(0, Class::HostWrite), (1, Class::GcWrite)] {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            for at in 0..row_length {
                let index = row * row_length + at;
                while self.shared[index].head != NONE && self.may_go(&self.shared[index], class, 0) {
                    let Some(die) = self.idle_die(at, stream_of(class)) else {
                        self.stalled = true;
                        break;
                    };
                    if !self.dispatch(die, queue)? {
                        break;
                    }
                }
                if self.shared_waiting[row] == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The idle die, among those that a shared queue serves, that can start a write first: the one whose bus is free first; of
    /// equals the next in turn.
    fn idle_die(&mut self, at: usize, stream: Stream) -> Option<u32> {
        let geometry = *self.flash.geometry();
        let (channels, dies) = (geometry.channels, geometry.dies_per_channel());
        let only_channel = (at > 0 && at <= channels as usize).then(|| at as u32 - 1);
        if at > channels as usize {
            let die = (at - 1) as u32 - channels;
            return (!self.dies[die as usize].busy && self.best_plane(die, stream).is_some()).then_some(die);
        }
        let mut best: Option<(Time, u32, u32)> = None;
        for step in 0..channels {
            let channel = (self.channel_turn + step) % channels;
            if self.idle_in_channel[channel as usize] == 0 || only_channel.is_some_and(|only| only != channel) {
                continue;
            }
            let free_at = self.flash.bus_free_at(channel).max(self.now);
            if best.is_some_and(|(time, ..)| time <= free_at) {
                continue;
            }
            let turn = self.die_turn[channel as usize];
            let found = (0..dies)
                .map(|step| channel * dies + (turn + step) % dies)
                .find(|&die| !self.dies[die as usize].busy && self.best_plane(die, stream).is_some());
            if let Some(die) = found {
                best = Some((free_at, channel, die));
                if free_at == self.now {
                    break;
                }
            }
        }
        let (_, channel, die) = best?;
        self.channel_turn = (channel + 1) % channels;
        self.die_turn[channel as usize] = (die % dies + 1) % dies;
        Some(die)
    }

    /// The plane of a die that a write without a plane should take: the one with the lowest write point, so that planes stay
    /// side by side; of equals the one with the fewest valid units, then the first. Where each plane collects for itself, a plane
    /// that holds a block's worth more than another comes after it, or its garbage would not suffice.
    #[inline]
    fn best_plane(&self, die: u32, stream: Stream) -> Option<u32> {
        let planes = self.flash.geometry().planes_per_die;
        (die * planes..(die + 1) * planes).filter(|&plane| self.space.has_room(&self.blocks, plane, stream)).min_by_key(
            |&plane| {
                let valid = self.blocks.valid_in_plane(plane);
                let ahead = if self.plan.domains > 1 { valid / self.plan.units_per_block } else { 0 };
                (ahead, self.space.next_page(&self.blocks, plane, stream), valid)
            },
        )
    }

    /// Whether the oldest write of a queue may go now, or waits for company to fill its page.
    #[inline]
    fn may_go(&self, fifo: &Fifo, class: Class, domain: u32) -> bool {
        if fifo.len >= self.plan.units_per_page {
            return true;
        }
        if class == Class::GcWrite {
            return self.jobs.reading(domain) == 0;
        }
        // A partial write whose old data had to be read stands behind newer ones, so the head alone does not tell.
        let mut slot = fifo.head;
        while slot != NONE {
            let op = self.slab.get(slot);
            if !op.buffered || self.buffer.must_go(op.ordinal) {
                return true;
            }
            slot = op.next;
        }
        false
    }

    /// Gives an idle die a command, if something waits for it that can go.
    #[inline]
    fn dispatch(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        if self.dies[die as usize].busy {
            return Ok(false);
        }
        loop {
            let (waiting, places) = self.survey(die);
            if waiting.0.iter().all(|&sequence| sequence == Waiting::NONE) {
                return Ok(false);
            }
            let class = self.arbiter.choose(&waiting);
            let place = places[class as usize];
            match class {
                Class::HostRead | Class::GcRead => self.issue_read(die, class, place)?,
                Class::HostWrite | Class::GcWrite => self.issue_write(die, class, place)?,
                Class::GcErase => self.issue_erase(die, place),
            }
            // Without pages the operations had become void; another look finds what is left.
            if !self.command.pages().is_empty() {
                self.start(die, class, queue)?;
                return Ok(true);
            }
        }
    }

    /// What waits for a die and can go: for each class the oldest operation and where it waits.
    #[inline]
    fn survey(&mut self, die: u32) -> (Waiting, [Waits; CLASSES]) {
        let mut waiting = Waiting([Waiting::NONE; CLASSES]);
        let mut places = [Waits::Plane(0); CLASSES];
        let planes = self.flash.geometry().planes_per_die;
        let mut mask = self.waiting[die as usize];
        while mask != 0 {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            let class = Class::ALL[(bit / MAX_PLANES as u32) as usize];
            let plane = die * planes + bit % MAX_PLANES as u32;
            let fifo = self.queues[plane as usize * CLASSES + class as usize];
            let sequence = self.slab.get(fifo.head).sequence;
            if sequence >= waiting.0[class as usize] {
                continue;
            }
            if class.is_write() {
                let domain = self.blocks.domain_of_plane(plane);
                if !self.may_go(&fifo, class, domain) {
                    continue;
                }
                if !self.space.has_room(&self.blocks, plane, stream_of(class)) {
                    self.stalled = true;
                    continue;
                }
            }
            waiting.0[class as usize] = sequence;
            places[class as usize] = Waits::Plane(plane);
        }
        if self.shared_waiting != [0; 2] {
            self.survey_shared(die, &mut waiting, &mut places);
        }
        (waiting, places)
    }

    fn survey_shared(&mut self, die: u32, waiting: &mut Waiting, places: &mut [Waits; CLASSES]) {
        let geometry = self.flash.geometry();
        let row_length = self.shared.len() / 2;
        let channels = geometry.channels as usize;
        let at = [0, 1 + self.flash.channel_of(die) as usize, 1 + channels + die as usize];
        for (row, class) in [(0, Class::HostWrite), (1, Class::GcWrite)] {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            for index in at.map(|at| row * row_length + at) {
                let fifo = self.shared[index];
                if fifo.head == NONE || !self.may_go(&fifo, class, 0) {
                    continue;
                }
                let sequence = self.slab.get(fifo.head).sequence;
                if sequence >= waiting.0[class as usize] {
                    continue;
                }
                match self.best_plane(die, stream_of(class)) {
                    Some(plane) => {
                        waiting.0[class as usize] = sequence;
                        places[class as usize] = Waits::Shared(index, plane);
                    }
                    None => self.stalled = true,
                }
            }
        }
    }

    /// Takes the oldest operation of a plane's queue.
    #[inline]
    fn pop(&mut self, plane: u32, class: Class) -> Option<u32> {
        let fifo = &mut self.queues[plane as usize * CLASSES + class as usize];
        let slot = fifo.pop(&self.slab)?;
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
        Some(slot)
    }

    #[inline]
    fn clear_waiting(&mut self, plane: u32, class: Class) {
        let bit = class as u32 * MAX_PLANES as u32 + self.planes_per_die.remainder(plane);
        self.waiting[self.planes_per_die.quotient(plane) as usize] &= !(1 << bit);
    }

    /// Page of a place within its block.
    #[inline]
    fn page_of(&self, place: Place) -> u32 {
        self.units_per_page.quotient(self.units_per_block.remainder(place))
    }

    #[inline]
    fn address(&self, place: Place) -> PageAddress {
        let block = self.units_per_block.quotient(place);
        let plane = self.blocks_per_plane.quotient(block);
        PageAddress {
            plane: self.planes_per_die.remainder(plane),
            block: block - plane * self.blocks_per_plane.get(),
            page: self.page_of(place),
        }
    }

    /// Whether the units of a read still lie where it expects them.
    #[inline]
    fn is_current(&self, op: &FlashOp) -> bool {
        if op.class == Class::GcRead {
            return true;
        }
        if op.units <= 1 {
            return self.map.lies_at(op.unit, op.source);
        }
        let page = op.source / self.plan.units_per_page;
        (op.unit..op.unit + u32::from(op.units))
            .all(|unit| self.map.place(unit).is_some_and(|place| place / self.plan.units_per_page == page))
    }

    /// Binds a read, with partners of other planes, unless its data have moved.
    #[inline]
    fn issue_read(&mut self, die: u32, class: Class, place: Waits) -> Result<(), Fault> {
        self.command.clear(Kind::Read);
        let Waits::Plane(plane) = place else { unreachable!("reads have a plane") };
        let slot = self.pop(plane, class).expect("the survey saw it");
        let op = *self.slab.get(slot);
        if !self.is_current(&op) {
            self.reroute(slot);
            return Ok(());
        }
        self.add_read(die, slot)?;
        let window = self.pack.window();
        let planes = self.flash.geometry().planes_per_die;
        if window > 0 && planes > 1 {
            let page = self.page_of(op.source);
            for partner in die * planes..(die + 1) * planes {
                let index = partner as usize * CLASSES + class as usize;
                if partner == plane || self.queues[index].head == NONE {
                    continue;
                }
                let mut fifo = self.queues[index];
                let mut slab = std::mem::take(&mut self.slab);
                let joined =
                    fifo.take_if(&mut slab, window, |op| self.page_of(op.source) == page && self.is_current(op));
                self.slab = slab;
                self.queues[index] = fifo;
                if fifo.head == NONE {
                    self.clear_waiting(partner, class);
                }
                if let Some(slot) = joined {
                    self.add_read(die, slot)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn add_read(&mut self, die: u32, slot: u32) -> Result<(), Fault> {
        let op = *self.slab.get(slot);
        if let (Some(shadow), Class::HostRead) = (&self.shadow, op.class) {
            for unit in op.unit..op.unit + u32::from(op.units) {
                let place = self.map.place(unit).ok_or_else(|| Fault::Books(format!("unit {unit} has no place")))?;
                shadow.check(unit, place)?;
            }
        }
        self.slab.get_mut(slot).next = NONE;
        let address = self.address(op.source);
        self.command.add(address, op.bytes);
        self.attach(die, slot);
        Ok(())
    }

    /// Notes that an operation (or a chain of them) is the next page of a die's command.
    #[inline]
    fn attach(&mut self, die: u32, slot: u32) {
        let state = &mut self.dies[die as usize];
        state.pages[usize::from(state.count)] = slot;
        state.count += 1;
    }

    /// Sends a read whose data have moved after them.
    #[cold]
    fn reroute(&mut self, slot: u32) {
        let op = *self.slab.get(slot);
        if op.merge {
            // The slot stays the same: the write buffer knows the write by it.
            let moved = self.slab.get_mut(slot);
            match self.map.place(op.unit) {
                Some(place) => moved.source = place,
                // Given back meanwhile: the write goes on without old data.
                None => {
                    moved.class = Class::HostWrite;
                    moved.merge = false;
                }
            }
            self.enqueue(slot);
            return;
        }
        let share = op.bytes / u32::from(op.units);
        self.slab.remove(slot);
        for unit in op.unit..op.unit + u32::from(op.units) {
            match self.map.place(unit) {
                Some(place) => {
                    let slot = self.slab.insert(FlashOp { unit, units: 1, source: place, bytes: share.max(1), ..op });
                    self.enqueue(slot);
                }
                // Given back meanwhile: the read finds nothing.
                None => self.done.push(HostDone { request: op.owner, units: 1, bytes: 0, gc_affected: false }),
            }
        }
    }

    /// Binds a page for writes that wait, with partners of other planes.
    #[inline]
    fn issue_write(&mut self, die: u32, class: Class, place: Waits) -> Result<(), Fault> {
        self.command.clear(Kind::Program);
        let stream = stream_of(class);
        let (Waits::Plane(plane) | Waits::Shared(_, plane)) = place;
        let page = self.space.next_page(&self.blocks, plane, stream);
        self.bind_page(die, plane, class, place)?;
        let planes = self.flash.geometry().planes_per_die;
        if self.pack.window() > 0 && planes > 1 && !self.command.pages().is_empty() {
            for partner in (die * planes..(die + 1) * planes).filter(|&partner| partner != plane) {
                if self.space.next_page(&self.blocks, partner, stream) != page
                    || !self.space.has_room(&self.blocks, partner, stream)
                {
                    continue;
                }
                let own = self.queues[partner as usize * CLASSES + class as usize];
                let domain = self.blocks.domain_of_plane(partner);
                if own.head != NONE && self.may_go(&own, class, domain) {
                    self.bind_page(die, partner, class, Waits::Plane(partner))?;
                } else if let Waits::Shared(index, _) = place {
                    let fifo = self.shared[index];
                    if fifo.head != NONE && self.may_go(&fifo, class, domain) {
                        self.bind_page(die, partner, class, Waits::Shared(index, partner))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the oldest write from where it waits.
    #[inline]
    fn pop_write(&mut self, plane: u32, class: Class, place: Waits) -> Option<u32> {
        let Waits::Shared(index, _) = place else { return self.pop(plane, class) };
        let slot = self.shared[index].pop(&self.slab)?;
        self.shared_waiting[usize::from(class == Class::GcWrite)] -= 1;
        Some(slot)
    }

    /// Fills the next page of a plane with writes that wait, and gives their units their new places.
    #[inline]
    fn bind_page(&mut self, die: u32, plane: u32, class: Class, place: Waits) -> Result<(), Fault> {
        let (mut first, mut last, mut filled) = (NONE, NONE, 0);
        let mut page = None;
        while filled < self.plan.units_per_page {
            let Some(slot) = self.pop_write(plane, class, place) else { break };
            if !self.still_wanted(slot) {
                continue;
            }
            let bound = *page.get_or_insert_with(|| self.space.bind(&mut self.blocks, plane, stream_of(class)));
            let at = bound.block * self.plan.units_per_block + bound.page * self.plan.units_per_page + filled;
            self.place_unit(slot, at, bound.block, plane)?;
            if first == NONE {
                first = slot;
            } else {
                self.slab.get_mut(last).next = slot;
            }
            self.slab.get_mut(slot).next = NONE;
            last = slot;
            filled += 1;
        }
        let Some(bound) = page else { return Ok(()) };
        self.counters.padded_units += u64::from(self.plan.units_per_page - filled);
        let address = PageAddress {
            plane: self.planes_per_die.remainder(plane),
            block: bound.block - plane * self.blocks_per_plane.get(),
            page: bound.page,
        };
        self.command.add(address, self.flash.geometry().page_bytes);
        self.attach(die, first);
        let domain = self.blocks.domain_of_plane(plane);
        if bound.closed {
            self.blocks.close(bound.block);
            self.victim.closed(&self.blocks.view(domain), bound.block);
        }
        if bound.opened || (bound.closed && self.starved[domain as usize]) {
            self.collect(domain);
        }
        Ok(())
    }

    /// Whether a write still has to be done. A moved unit that was overwritten is dropped; a merge whose old data have moved
    /// or changed reads them again.
    #[inline]
    fn still_wanted(&mut self, slot: u32) -> bool {
        let op = *self.slab.get(slot);
        if op.class == Class::GcWrite {
            let wanted = self.map.is_valid(op.source);
            if !wanted {
                self.slab.remove(slot);
                self.arrived(op.owner, 1);
            }
            return wanted;
        }
        if op.units == 0 {
            // Given back while it waited in the buffer.
            self.buffer.bound(op.unit, slot);
            self.host_done(slot, &FlashOp { units: 1, ..op }, false);
            return false;
        }
        if op.merge && !self.map.lies_at(op.unit, op.source) {
            match self.map.place(op.unit) {
                Some(place) => {
                    let read = self.slab.get_mut(slot);
                    read.class = Class::HostRead;
                    read.source = place;
                    self.enqueue(slot);
                    return false;
                }
                None => self.slab.get_mut(slot).merge = false,
            }
        }
        true
    }

    /// Gives a unit its new place.
    #[inline]
    fn place_unit(&mut self, slot: u32, place: Place, block: u32, plane: u32) -> Result<(), Fault> {
        let op = *self.slab.get(slot);
        if let Some(old) = self.map.bind(op.unit, place) {
            self.invalidate(old);
        }
        self.blocks.gain(block, plane);
        if op.buffered {
            self.buffer.bound(op.unit, slot);
        }
        if let Some(shadow) = &mut self.shadow {
            if op.class == Class::GcWrite {
                shadow.moved(op.unit, place, op.stamp)?;
            } else {
                shadow.write(op.unit, place, op.stamp);
            }
        }
        Ok(())
    }

    /// The data at a place are no longer wanted.
    #[inline]
    fn invalidate(&mut self, place: Place) {
        let block = self.units_per_block.quotient(place);
        self.map.invalidate(place);
        let domain = self.blocks.lose(block);
        if self.starved[domain as usize] {
            self.feed(domain);
        }
    }

    /// There may be something to gain in a domain that found nothing before.
    #[cold]
    fn feed(&mut self, domain: u32) {
        self.starved[domain as usize] = false;
        self.collect(domain);
    }

    /// Binds an erase, with partners of other planes.
    fn issue_erase(&mut self, die: u32, place: Waits) {
        let Waits::Plane(plane) = place else { unreachable!("erases have a plane") };
        self.command.clear(Kind::Erase);
        let planes = self.flash.geometry().planes_per_die;
        let partners = if self.pack.window() > 0 { planes } else { 0 };
        let others = (die * planes..die * planes + partners).filter(|&other| other != plane);
        for plane in std::iter::once(plane).chain(others) {
            let Some(slot) = self.pop(plane, Class::GcErase) else { continue };
            let block = self.slab.get(slot).source;
            self.slab.get_mut(slot).next = NONE;
            let address = self.address(block * self.plan.units_per_block);
            self.command.add(address, 0);
            self.attach(die, slot);
        }
    }

    /// Sends a bound command to its die.
    #[inline]
    fn start(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        let pages = self.command.pages().len() as u64;
        self.counters.commands += 1;
        self.counters.ops[class as usize] += pages;
        if pages > 1 {
            self.counters.multi_plane[class as usize] += pages;
        }
        let channel = self.flash.channel_of(die);
        self.idle_in_channel[channel as usize] -= 1;
        let state = &mut self.dies[die as usize];
        state.busy = true;
        state.class = class;
        if self.timed {
            self.flash.begin(self.now, die, &self.command, queue)?;
        } else {
            self.flash.commit(self.now, die, &self.command)?;
            self.ended.push_back(die);
        }
        Ok(())
    }

    // ----------------------------------------------------------------------------------------------------- completion

    /// The command of a die has ended: its operations go back to their tasks.
    #[inline]
    fn complete(&mut self, die: u32) -> Result<(), Fault> {
        let channel = self.flash.channel_of(die);
        self.idle_in_channel[channel as usize] += 1;
        let state = &mut self.dies[die as usize];
        let (class, count, pages) = (state.class, usize::from(state.count), state.pages);
        let collector_end = state.collector_end;
        state.busy = false;
        state.count = 0;
        if !class.is_host() {
            state.collector_end = self.now;
        }
        for &page in &pages[..count] {
            let mut slot = page;
            while slot != NONE {
                let op = *self.slab.get(slot);
                // Freed slots are linked by the same field: what follows must be known before.
                match class {
                    Class::HostRead if op.merge => self.merged(slot),
                    Class::HostRead | Class::HostWrite => self.host_done(slot, &op, op.ready < collector_end),
                    Class::GcRead => self.moved_out(slot, &op),
                    Class::GcWrite => {
                        self.slab.remove(slot);
                        self.counters.moved_units += 1;
                        self.arrived(op.owner, 1);
                    }
                    Class::GcErase => self.emptied(slot, &op)?,
                }
                slot = op.next;
            }
        }
        self.mark(die);
        // A shared write may have waited for any die.
        self.shared_dirty |= self.shared_waiting != [0; 2] && !self.dies[die as usize].queued;
        Ok(())
    }

    /// Old data of a partial write are there: the whole unit can be written.
    fn merged(&mut self, slot: u32) {
        self.counters.merge_reads += 1;
        self.slab.get_mut(slot).class = Class::HostWrite;
        self.enqueue(slot);
    }

    #[inline]
    fn host_done(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        self.slab.remove(slot);
        if op.buffered {
            self.buffer.leave(op.unit, op.ordinal);
        }
        let bytes = if op.class == Class::HostRead { op.bytes } else { 0 };
        self.done.push(HostDone { request: op.owner, units: u32::from(op.units), bytes, gc_affected });
    }

    // ----------------------------------------------------------------------------------------------------- collection

    /// Starts collections while the policy wants them.
    fn collect(&mut self, domain: u32) {
        loop {
            let (free, running) = (self.blocks.free_in_domain(domain), self.jobs.running(domain));
            if running >= self.collect.most() || !self.collect.wants(&SpaceView { domain, free, running }) {
                return;
            }
            self.blocks.settle(domain);
            let view = self.blocks.view(domain);
            let Some(block) = self.victim.choose(&view).filter(|&block| view.gains(block)) else {
                self.starved[domain as usize] = true;
                return;
            };
            assert_eq!(self.blocks.get(block).status, Status::Closed, "only closed blocks are collected");
            let pages = self.blocks.get(block).valid.div_ceil(self.plan.units_per_page) + 1;
            if !self.space.can_promise(&self.blocks, domain, pages) {
                return;
            }
            self.space.promise(domain, pages);
            self.blocks.take(block);
            self.counters.collections += 1;
            let start = block * self.plan.units_per_block;
            let job = self.jobs.start(block, domain, start, start + self.plan.units_per_block);
            self.advance(job);
        }
    }

    /// Queues the next page reads of a job, up to its window; erases its block when nothing is left.
    #[inline]
    fn advance(&mut self, slot: u32) {
        let units_per_page = self.plan.units_per_page;
        let window = self.jobs.window * units_per_page;
        loop {
            let job = *self.jobs.get(slot);
            if job.cursor >= job.end || job.on_the_way >= window {
                break;
            }
            let Some(place) = self.map.next_valid(job.cursor, job.end) else {
                self.jobs.get_mut(slot).cursor = job.end;
                break;
            };
            let page = place - self.units_per_page.remainder(place);
            let units = if units_per_page == 1 { 1 } else { self.map.count_valid(page, page + units_per_page) };
            let state = self.jobs.get_mut(slot);
            state.cursor = page + units_per_page;
            state.on_the_way += units;
            self.jobs.read_queued(job.domain);
            // The units move in a moment.
            (page..page + units_per_page).for_each(|place| self.map.expect(self.map.unit_at(place)));
            let op = FlashOp {
                class: Class::GcRead,
                source: place,
                units: units as u16,
                owner: slot,
                bytes: units * self.plan.unit_bytes,
                ..FlashOp::default()
            };
            let op = self.slab.insert(op);
            self.enqueue(op);
        }
        let job = self.jobs.get(slot);
        if job.cursor >= job.end && job.on_the_way == 0 && !job.erasing {
            let (block, op) = (job.block, FlashOp { class: Class::GcErase, owner: slot, ..FlashOp::default() });
            self.jobs.get_mut(slot).erasing = true;
            let op = self.slab.insert(FlashOp { source: block, ..op });
            self.enqueue(op);
        }
    }

    /// A page of a job was read: each unit that is still valid waits to be written.
    #[inline]
    fn moved_out(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        let units_per_page = self.plan.units_per_page;
        let page = op.source - self.units_per_page.remainder(op.source);
        let mut found = 0;
        let mut at = page;
        while let Some(place) = self.map.next_valid(at, page + units_per_page) {
            let stamp = self.shadow.as_ref().map_or(0, |shadow| shadow.at(place));
            let write = FlashOp {
                class: Class::GcWrite,
                unit: self.map.unit_at(place),
                source: place,
                owner: op.owner,
                stamp,
                ..FlashOp::default()
            };
            let write = self.slab.insert(write);
            self.enqueue(write);
            found += 1;
            at = place + 1;
        }
        let domain = self.jobs.get(op.owner).domain;
        self.jobs.read_ended(domain);
        self.arrived(op.owner, u32::from(op.units) - found);
        if self.jobs.reading(domain) == 0 {
            // Writes that waited for company get none: the dies that hold them look again.
            let die = self.planes_per_die.quotient(self.plane_of(op.source));
            self.mark(die);
            self.shared_dirty |= self.shared_waiting[1] > 0;
        }
    }

    /// Units of a job have reached their new places, or need none any more.
    #[inline]
    fn arrived(&mut self, job: u32, units: u32) {
        self.jobs.get_mut(job).on_the_way -= units;
        self.advance(job);
    }

    /// The block of a job is erased.
    fn emptied(&mut self, slot: u32, op: &FlashOp) -> Result<(), Fault> {
        self.slab.remove(slot);
        let domain = self.jobs.get(op.owner).domain;
        self.jobs.end(op.owner);
        if self.blocks.get(op.source).valid != 0 {
            return Err(Fault::Books(format!("block {} is erased with valid units", op.source)));
        }
        self.blocks.erased(op.source, &self.free_block);
        if self.jobs.running(domain) == 0 {
            self.space.settle(domain);
        }
        self.collect(domain);
        if self.stalled {
            self.stalled = false;
            self.shared_dirty = true;
            for die in 0..self.dies.len() as u32 {
                if self.waiting[die as usize] != 0 {
                    self.mark(die);
                }
            }
        }
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------------------- audit

    /// Counts everything again and compares: blocks, pages, valid units, and the NAND's own books.
    ///
    /// # Errors
    /// Says what does not balance.
    pub fn audit(&self) -> Result<(), Fault> {
        let wrong = |what: String| Err(Fault::Books(what));
        let units = self.plan.units_per_block;
        let mut valid_in_all = 0_u64;
        for (block, record) in self.blocks.records().iter().enumerate() {
            let start = block as u32 * units;
            let valid = self.map.count_valid(start, start + units);
            valid_in_all += u64::from(valid);
            if valid != record.valid {
                return wrong(format!("block {block} counts {} valid units but holds {valid}", record.valid));
            }
            let nand = self.flash.block_record(block as u32);
            if (nand.next_page, nand.erases) != (record.write_point, record.erases) {
                return wrong(format!("block {block} is {record:?} here and {nand:?} in the NAND"));
            }
            for place in start..start + units {
                if self.map.is_valid(place) && !self.map.lies_at(self.map.unit_at(place), place) {
                    return wrong(format!(
                        "place {place} is valid but unit {} lies elsewhere",
                        self.map.unit_at(place)
                    ));
                }
            }
        }
        let mapped = (0..self.map.logical_units()).filter(|&unit| self.map.place(unit).is_some()).count() as u64;
        if mapped != valid_in_all {
            return wrong(format!("{mapped} units have a place but {valid_in_all} places are valid"));
        }
        let count = |status| self.blocks.records().iter().filter(|block| block.status == status).count();
        let (free, open) = (count(Status::Free), count(Status::Open));
        if free as u32 != self.blocks.free_blocks() || open != self.space.open_blocks().count() {
            return wrong(format!("{free} blocks are free and {open} open, which the lists deny"));
        }
        if let Some(shadow) = &self.shadow {
            for unit in 0..self.map.logical_units() {
                match self.map.place(unit) {
                    Some(place) => drop(shadow.check(unit, place)?),
                    None if shadow.expected(unit) != 0 => return wrong(format!("unit {unit} is lost")),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A hash of all state that outlives a request: map, blocks, wear.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |value: u32| hash = (hash.rotate_left(23) ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..self.map.logical_units()).for_each(|unit| mix(self.map.place(unit).map_or(0, |place| place + 1)));
        for block in self.blocks.records() {
            [block.valid, block.write_point, block.erases, block.status as u32].into_iter().for_each(&mut mix);
        }
        hash
    }
}
