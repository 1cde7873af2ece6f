//! A drive, driven by its caller's clock: submit a request, get the time of the next event, advance to a time, take
//! completions.
//!
//! Path of a request: [`Drive::submit`] takes a queue slot and transfers the command over the host interface; `arrive`
//! transfers a write's data and queues the request in the drive; `dispatch` starts queued requests; `serve` splits them
//! into mapping units for the firmware; `settle` collects completed work of the firmware and transfers a read's data to
//! the host; `finish` completes the request.

mod alarms;
mod carrying;
mod completing;
mod keeping;
mod measuring;
mod passing;
mod queueing;
mod reading;
mod saved;
mod serving;
mod stepping;

pub use queueing::Queueing;
pub use reading::Reading;

pub(crate) use passing::Coming;
pub(crate) use saved::Unusable;

use crate::activity::Activity;
use crate::block_map::BlockMap;
use crate::config::{DriveConfig, Parts};
use crate::late::Late;
use crate::metrics::Metrics;
use crate::policy::link::{LastTimes, LinkCosts};
use crate::rounds::Rounds;
use crate::split::Split;
use crate::wire::Wire;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Op, Request, Time};
use wordline_firmware::{ConfigError, Fault, Kernel, Plan, FACTORY_BAD};
use wordline_flash::{Energy, EnergyConfig, Flash, WearCounts};

const DIE: u8 = 0;
const ARRIVE: u8 = 1;
const DATA: u8 = 2;
const FINISH: u8 = 3;

const NO_REQUEST: u32 = u32::MAX;

/// The smallest piece of the drive that a request can name, in bytes.
pub const SECTOR: u64 = 512;

/// A request that the drive does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// All slots of the queue are taken; submit again after a completion.
    #[error("the queue is full")]
    QueueFull,
    /// It exceeds the end of the drive.
    #[error("a request of {bytes} bytes at offset {offset} reaches past the end of the drive at {end}")]
    PastEnd {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u32,
        /// Capacity in bytes.
        end: u64,
    },
    /// It has no length, or is not made of whole sectors.
    #[error("a request of {bytes} bytes at offset {offset} is not made of whole sectors of 512 bytes")]
    Unaligned {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u32,
    },
    /// Its time is in the drive's past, or it arrives after it is submitted.
    #[error("a request that arrived at {arrival} ps is submitted at {at} ps, when the drive is at {now} ps")]
    OutOfTime {
        /// Arrival at the host queue.
        arrival: Time,
        /// When it is submitted.
        at: Time,
        /// The drive's time.
        now: Time,
    },
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub request: Request,
    /// When it was done, in picoseconds.
    pub time: Time,
    /// When it got its queue slot.
    pub submitted: Time,
    /// The slot.
    pub slot: u32,
    /// True if one of its operations waited for a die held by GC.
    pub gc_affected: bool,
}

/// A queue slot with the request in it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    request: Request,
    submitted: Time,
    /// Units that are not done.
    units: u32,
    /// When its data are at the host.
    data_end: Time,
    /// Flush: all buffered writes up to this ordinal.
    ordinal: u64,
    /// Write: next unit to hand to the firmware.
    next_unit: u32,
    gc_affected: bool,
    /// Start of its wait for the write buffer.
    #[serde(skip)]
    blocked: Time,
}

/// A drive from a snapshot measures nothing until measuring is started.
fn never() -> Time {
    END_OF_TIME
}

fn nothing() -> Metrics {
    Metrics::new(0)
}

/// A drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drive {
    plan: Plan,
    link: LinkCosts,
    /// Times of the data of requests, mostly of one size.
    #[serde(skip)]
    data_in: LastTimes,
    #[serde(skip)]
    data_out: LastTimes,
    wires: [Wire; 2],
    kernel: Kernel,
    #[serde(skip)]
    queue: EventQueue,
    /// Where the drive ends: its capacity in bytes.
    #[serde(skip)]
    end: u64,
    /// True if some background task waits for the host to rest.
    #[serde(skip)]
    waits_for_rest: bool,
    /// True if some background task waits for the host to rest, or requests have deadlines: the coming and leaving of requests counts.
    #[serde(skip)]
    minds_requests: bool,
    /// The same, or it is asked where their time goes: more is to be done when a request ends.
    #[serde(skip)]
    minds_ends: bool,
    /// True if the firmware may ask to be woken, and for other reasons than to control shares.
    #[serde(skip)]
    has_alarms: bool,
    /// True if it does so for nothing but to control shares.
    #[serde(skip)]
    minds_shares_alone: bool,
    /// True if there is a write buffer.
    #[serde(skip)]
    buffers: bool,
    /// True if an external policy says what it keeps.
    #[serde(skip)]
    keeps: bool,
    /// True if an external policy says how long each transfer of the host interface takes.
    #[serde(skip)]
    asks_carrier: bool,
    /// Bits of an offset within a unit, if the bytes of a unit are a power of two.
    #[serde(skip)]
    unit_shift: Option<u32>,
    /// True if more requests are to come, and some task waits for the host to rest.
    #[serde(skip)]
    expects_more: bool,
    now: Time,
    // Skipped fields here and below belong to requests or measurements; an idle drive has none.
    #[serde(skip)]
    slots: Vec<Slot>,
    free_slots: Vec<Vec<u32>>,
    /// In the drive, not yet taken up.
    #[serde(skip)]
    queued: VecDeque<u32>,
    #[serde(skip)]
    in_service: u32,
    /// Writes that wait for room in the write buffer.
    #[serde(skip)]
    blocked: VecDeque<u32>,
    /// Flushes that wait for the write buffer.
    #[serde(skip)]
    flushing: VecDeque<u32>,
    #[serde(skip)]
    completions: Vec<Completion>,
    /// True while nobody looks at them: then they are not kept.
    #[serde(skip)]
    untold: bool,
    /// Measurements since the last [`Drive::start_measuring`].
    #[serde(skip, default = "nothing")]
    pub metrics: Metrics,
    /// State at that time, and the rounds of writes since.
    #[serde(skip)]
    rounds: Rounds,
    /// Not measured before that: then none.
    #[serde(skip)]
    activity: Option<Box<Activity>>,
    /// Measured with it, where there are not too many planes.
    #[serde(skip)]
    block_map: Option<Box<BlockMap>>,
    /// End of the next interval of either.
    #[serde(skip, default = "never")]
    look_due: Time,
    #[serde(skip)]
    split: Option<Box<Split>>,
    /// Requests that missed their deadlines, if they have any.
    #[serde(skip)]
    late: Option<Box<Late>>,
    /// State of the flash when measuring ended, if it has.
    #[serde(skip)]
    ended: Option<Box<Reading>>,
    /// Figures of external policies, by family, as last asked for.
    #[serde(skip)]
    of_guests: Map<String, Value>,
    verify: bool,
    /// Busy times of channels and dies when measuring began.
    #[serde(skip)]
    busy_before: (Vec<Time>, Vec<Time>),
    /// How long commands had held dies and waited for the bus, summed over dies, when measuring began.
    #[serde(skip)]
    held_before: (Time, Time),
    currents: EnergyConfig,
    /// Energy, and what wore, when measuring began.
    #[serde(skip)]
    energy_before: Energy,
    #[serde(skip)]
    wear_before: WearCounts,
}

impl Drive {
    /// A new, empty drive.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn new(config: &DriveConfig, seed: u64) -> Result<Self, ConfigError> {
        let Parts { geometry, timing, reliability, energy, plan, link, queues, depth, buffer_units } =
            config.parts()?;
        let mut flash = Flash::new(geometry, timing, DIE);
        flash
            .set_reliability(&reliability, seed)
            .map_err(|e| ConfigError::new(format!("nand.reliability.{}", e.key), e.value, e.problem))?;
        let slots = queues * depth;
        let mut kernel =
            Kernel::new(&config.firmware, flash, seed, buffer_units, config.verify.shadow).map_err(|error| {
                // The firmware checks factory bad blocks; it does not know the keys of the flash.
                match error.key.as_str() {
                    FACTORY_BAD => {
                        ConfigError { value: config.nand.reliability.factory_bad_percent.to_string(), ..error }
                    }
                    _ => error,
                }
            })?;
        let keeper = config.keeper(&geometry, &plan, seed)?;
        let keeps = keeper.is_some();
        keeper.into_iter().for_each(|keeper| kernel.keep_with(keeper));
        let carrier = config.carrier(&geometry, &plan, seed)?;
        let asks_carrier = carrier.is_some();
        carrier.into_iter().for_each(|carrier| kernel.carry_with(carrier));
        let rounds = Rounds::new(&plan, kernel.blocks());
        let late = kernel.deadlines().map(Late::new).map(Box::new);
        let minds_shares_alone = kernel.controls_shares_alone() && !kernel.waits_for_rest();
        let minds_requests = kernel.waits_for_rest() || kernel.deadlines().is_some();
        Ok(Self {
            plan,
            link,
            data_in: LastTimes::default(),
            data_out: LastTimes::default(),
            wires: [Wire::default(); 2],
            waits_for_rest: kernel.waits_for_rest(),
            end: plan.logical_bytes(),
            minds_requests,
            minds_ends: minds_requests,
            has_alarms: (kernel.controls() || kernel.waits_for_rest()) && !minds_shares_alone,
            minds_shares_alone,
            buffers: kernel.buffer().is_used(),
            keeps,
            asks_carrier,
            unit_shift: plan.unit_bytes.is_power_of_two().then(|| plan.unit_bytes.trailing_zeros()),
            expects_more: false,
            kernel,
            queue: EventQueue::with_capacity((geometry.dies() + slots.min(1 << 16)) as usize),
            now: 0,
            slots: vec![Slot::default(); slots as usize],
            free_slots: (0..queues).map(|queue| (queue * depth..(queue + 1) * depth).rev().collect()).collect(),
            queued: VecDeque::new(),
            in_service: 0,
            blocked: VecDeque::new(),
            flushing: VecDeque::new(),
            completions: Vec::new(),
            untold: false,
            metrics: Metrics::new(0),
            late,
            rounds,
            activity: None,
            block_map: None,
            look_due: END_OF_TIME,
            split: None,
            ended: None,
            of_guests: Map::new(),
            verify: config.verify.shadow,
            busy_before: (vec![0; geometry.channels as usize], vec![0; geometry.dies() as usize]),
            held_before: (0, 0),
            currents: energy,
            energy_before: Energy::default(),
            wear_before: WearCounts::default(),
        })
    }

    /// Lets all reads take the general path, to compare both.
    #[doc(hidden)]
    pub fn avoid_straight(&mut self) {
        self.kernel.avoid_straight();
    }

    /// Lets all buffered units be written one by one, to compare both.
    #[doc(hidden)]
    pub fn avoid_stretches(&mut self) {
        self.kernel.avoid_stretches();
    }

    /// Lets all untimed writes and merges take the general path from the next untimed work on, to compare both.
    #[doc(hidden)]
    pub fn avoid_direct(&mut self) {
        self.kernel.avoid_direct();
    }

    /// True if untimed writes beside log blocks go the direct way. The drive is at rest.
    #[doc(hidden)]
    pub fn takes_runs(&mut self) -> bool {
        self.kernel.set_timed(false);
        let takes_runs = self.kernel.takes_runs();
        self.kernel.set_timed(true);
        takes_runs
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.plan.logical_bytes()
    }

    /// The firmware, to look at.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The firmware, for preconditioning and state; nothing may be in flight.
    pub(crate) fn kernel_mut(&mut self) -> (&mut Kernel, &mut EventQueue, Time) {
        (&mut self.kernel, &mut self.queue, self.now)
    }

    /// The two directions of the link: to the drive, to the host. A half-duplex link has only the first.
    #[must_use]
    pub fn wires(&self) -> [Wire; 2] {
        self.wires
    }

    /// The drive's time, in picoseconds.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Time of the next event, if anything is in flight.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let event = self.event_or_alarm();
        if self.expects_more {
            return self.event_or_rest(event);
        }
        event
    }

    /// Events of the drive so far: what its queue of events got since it was made or loaded. Alarms of the firmware and rests of the host
    /// go past the queue and are not among them.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.queue.events()
    }

    /// The host's queues and the slots of each. Slot `s` is of queue `s / depth`.
    #[must_use]
    pub fn queues(&self) -> (u32, u32) {
        let queues = self.free_slots.len() as u32;
        (queues, self.slots.len() as u32 / queues)
    }

    /// Requests in the drive.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.slots.len() as u32 - self.free_slots.iter().map(Vec::len).sum::<usize>() as u32
    }

    /// True if the queue of a stream has a free slot.
    #[inline]
    #[must_use]
    pub fn has_slot(&self, stream: u16) -> bool {
        !self.free_slots[self.queue_of(stream)].is_empty()
    }

    /// The host's queue of a stream.
    #[inline(always)]
    fn queue_of(&self, stream: u16) -> usize {
        let (stream, queues) = (usize::from(stream), self.free_slots.len());
        // Mostly it has a queue of its own, and a division takes long.
        if stream < queues {
            stream
        } else {
            stream % queues
        }
    }

    /// Prepares for forks: copies, and drives that [adopt](Drive::adopt) its state, then share its maps, and keep only the parts of
    /// them that they change. The first call takes no time in the drive's size.
    pub fn share(&mut self) {
        self.kernel.share();
    }

    /// Takes the maps for itself again, if no fork shares them any more.
    pub fn unshare(&mut self) {
        self.kernel.unshare();
    }

    /// Takes over data, maps and wear of another idle drive, of the same geometry and unit size, keeping its own
    /// policies: a fork of one aged drive under other policies.
    ///
    /// # Errors
    /// Names the first figure in which the drives differ.
    pub fn adopt(&mut self, other: &Drive) -> Result<(), ConfigError> {
        self.kernel.adopt(&other.kernel)
    }

    /// True if the host interface is half duplex.
    #[must_use]
    pub fn is_half_duplex(&self) -> bool {
        self.link.half_duplex
    }

    /// Whether the drive has the bytes that a request names, and they are whole sectors.
    ///
    /// # Errors
    /// Says what does not fit.
    #[inline]
    pub(crate) fn fits(&self, request: &Request) -> Result<(), SubmitError> {
        let Request { offset, bytes, op, .. } = *request;
        let length = u64::from(bytes);
        if op != Op::Flush {
            if bytes == 0 || (offset | length) % SECTOR != 0 {
                return Err(SubmitError::Unaligned { offset, bytes });
            }
            let end = self.end;
            if offset.checked_add(length).is_none_or(|last| last > end) {
                return Err(SubmitError::PastEnd { offset, bytes, end });
            }
        }
        Ok(())
    }

    /// From now on completions are told one by one, or not.
    pub(crate) fn tell_completions(&mut self, tells: bool) {
        self.untold = !tells;
    }

    /// Free slots of the host's first queue.
    #[inline(always)]
    pub(crate) fn free_slots(&self) -> i64 {
        self.free_slots[0].len() as i64
    }

    /// Submits a request at time `at`, not before the drive's time; gives its slot.
    ///
    /// # Errors
    /// When the queue is full or the request does not fit the drive; the drive is then as it was.
    #[inline(always)]
    pub fn submit(&mut self, at: Time, request: Request) -> Result<u32, SubmitError> {
        self.fits(&request)?;
        let arrival = request.arrival;
        if at < self.now || arrival > at {
            return Err(SubmitError::OutOfTime { arrival, at, now: self.now });
        }
        let coming = self.admit(at, request)?;
        self.queue.push_in_row(coming.time, ARRIVE, coming.slot);
        Ok(coming.slot)
    }

    /// Gives a request that fits, and comes in time, a slot, and tells when its command will be in the drive.
    #[inline(always)]
    pub(crate) fn admit(&mut self, at: Time, request: Request) -> Result<Coming, SubmitError> {
        assert!(request.arrival <= at && self.now <= at, "a request comes in time");
        let queue = self.queue_of(request.stream);
        let slot = self.free_slots[queue].pop().ok_or(SubmitError::QueueFull)?;
        self.now = at;
        // The rest of it means nothing before it is set.
        let state = &mut self.slots[slot as usize];
        (state.request, state.submitted) = (request, at);
        (state.units, state.data_end, state.gc_affected) = (0, 0, false);
        if self.minds_requests {
            self.note_coming(slot);
        }
        // Its map entries have been asked for before, mostly. A write that goes to a buffer replaces what is there much later, and one unit
        // that is read needs little behind its entry.
        let overwrites = request.op == Op::Write;
        let asks =
            if overwrites { !self.buffers } else { request.bytes > self.plan.unit_bytes || self.kernel.has_table() };
        if asks {
            let (first, last) = self.ends_of(&request);
            self.kernel.expect_access(first, last, overwrites);
        }
        let time = self.time_of_command(at);
        let time = self.wires[0].carry(at, time) + self.link.latency;
        Ok(Coming { slot, time })
    }

    /// Tells that a request will be submitted, so that its map entries are at hand then.
    #[inline(always)]
    pub(crate) fn expect(&self, request: &Request) {
        let (first, last) = self.ends_of(request);
        self.kernel.expect_all(first, last);
    }

    /// The first and the last unit of a request's bytes.
    #[inline(always)]
    fn ends_of(&self, request: &Request) -> (u32, u32) {
        let Request { offset, bytes, .. } = *request;
        let (first, skip) = self.unit_at(offset);
        if skip + u64::from(bytes) <= u64::from(self.plan.unit_bytes) {
            return (first, first);
        }
        (first, self.unit_at(offset.saturating_add(u64::from(bytes) - 1)).0)
    }

    /// The unit of a byte, and the bytes before it there.
    #[inline(always)]
    fn unit_at(&self, offset: u64) -> (u32, u64) {
        let bytes = u64::from(self.plan.unit_bytes);
        if let Some(shift) = self.unit_shift {
            return ((offset >> shift) as u32, offset & (bytes - 1));
        }
        ((offset / bytes) as u32, offset % bytes)
    }

    /// True if an event is due at this very time.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.queue.next_time().is_some_and(|next| next <= self.now)
    }

    /// The requests that are done since the last call; the caller drains them.
    #[inline]
    pub fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }

    /// Ends everything in flight, buffered writes included.
    ///
    /// # Errors
    /// When the firmware broke a rule, or requests are in flight but nothing will ever happen (a stall).
    pub fn drain(&mut self) -> Result<(), Fault> {
        while self.step()? {}
        self.push_out()?;
        while self.step()? {}
        self.reopen()
    }

    /// After the last step: the firmware may begin new work, and nothing may be left of the old.
    ///
    /// # Errors
    /// As [`Drive::check_idle`].
    pub fn reopen(&mut self) -> Result<(), Fault> {
        self.kernel.reopen();
        self.check_idle()
    }

    /// Flushes all buffered writes to flash, and finishes all victim blocks in progress, by the steps that follow. It is how
    /// [`Drive::drain`] begins, for a caller that lets it take its time.
    ///
    /// # Errors
    /// When the firmware broke a rule.
    pub fn push_out(&mut self) -> Result<(), Fault> {
        if self.now >= self.look_due {
            // Its time may have passed without events.
            self.look(self.now);
        }
        self.kernel.flush(self.now);
        self.kernel.close();
        self.kernel.pump(&mut self.queue)
    }

    /// Confirms that nothing is left when no event is pending.
    ///
    /// # Errors
    /// With the story of what hangs.
    pub fn check_idle(&self) -> Result<(), Fault> {
        if self.in_flight() == 0 && self.kernel.operations() == 0 {
            return if self.verify { self.kernel.audit() } else { Ok(()) };
        }
        if let Some(fault) = self.kernel.complaint() {
            return Err(fault);
        }
        Err(Fault::books(format!(
            "the drive is deadlocked at {} ps with {} requests in flight, {} flash operations waiting, {} free blocks",
            self.now,
            self.in_flight(),
            self.kernel.operations(),
            self.kernel.blocks().free_blocks(),
        )))
    }
}
