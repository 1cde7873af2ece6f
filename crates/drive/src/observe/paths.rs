//! The way of each request, and what its time was spent for.
//!
//! A request's latency is cut into the parts of [`Part`] along one path: slot, link, dispatch, and then the operation of it that ended
//! last, from its being ready through its command to its end, and back over the link. Everything that is added up is cut to the
//! request's own times, one after the other, so that the parts add up to the latency; what cannot be told is [`Part::Other`].

use super::commands::{Commands, Spent};
use super::history::{History, HOLDERS};
use super::rows::{Part, RequestRow, PARTS};
use crate::drive::{Completion, Stage, Stop};
use crate::policy::link::LinkCosts;
use wordline_base::{Op, Request, Time};
use wordline_firmware::Passage;

/// The parts within the flash.
const FLASH: usize = Part::DieOther as usize - Part::WaitDieRead as usize + 1;

fn in_flash(part: Part) -> usize {
    part as usize - Part::WaitDieRead as usize
}

/// An operation of the host on its way through the flash.
#[derive(Clone, Copy, Debug, Default)]
struct Trail {
    /// Whether it has read old data and goes on.
    goes_on: bool,
    /// When it became ready first, or the request was taken up if that was later.
    start: Time,
    lane: u32,
    command: u64,
    parts: [Time; FLASH],
}

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Trip {
    /// Its number; none if it is not in the sample.
    number: Option<u64>,
    request: Request,
    submitted: Time,
    queued: Time,
    served: Time,
    done: Time,
    flash_start: Option<Time>,
    gc_affected: bool,
    /// The operation that ended last: start, end, bytes read.
    last: Option<(Time, Time, u32)>,
    parts: [Time; FLASH],
}

/// The ways of all requests that are under way.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    link: LinkCosts,
    /// One request in so many is looked at.
    sample: u64,
    next: u64,
    trips: Vec<Trip>,
    trails: Vec<Trail>,
    histories: Vec<History>,
    lane: u32,
    command: u64,
}

impl Paths {
    pub fn new(link: LinkCosts, slots: u32, dies: u32, sample: u64) -> Self {
        Self {
            link,
            sample,
            next: 0,
            trips: vec![Trip::default(); slots as usize],
            trails: Vec::new(),
            histories: vec![History::default(); dies as usize],
            lane: 0,
            command: 0,
        }
    }

    /// A request got a slot.
    pub fn submitted(&mut self, slot: u32, now: Time, request: &Request) {
        let number = self.next;
        self.next += 1;
        let taken = mixed(number).is_multiple_of(self.sample);
        let trip = &mut self.trips[slot as usize];
        *trip = Trip { number: taken.then_some(number), request: *request, submitted: now, ..Trip::default() };
    }

    fn trip(&mut self, slot: Option<u32>) -> Option<&mut Trip> {
        self.trips.get_mut(slot? as usize).filter(|trip| trip.number.is_some())
    }

    /// A step of a command or an operation; entries of the log that were made before it are in `commands`.
    pub fn pass(&mut self, passage: &Passage, now: Time, commands: &mut Commands) {
        match *passage {
            Passage::Begun { lane, command, class, .. } => {
                (self.lane, self.command) = (lane, command);
                if let Some(history) = self.histories.get_mut(lane as usize) {
                    history.take(now, class);
                }
            }
            Passage::Idle { die } => self.histories[die as usize].leave(now),
            Passage::Bound { operation, request, ready } => self.bound(operation, request, ready, now),
            Passage::Ended { operation, request, goes_on, bytes, gc_affected } => {
                let Some(trail) = self.trails.get_mut(operation as usize) else { return };
                let spent = commands.of_lane(trail.lane as usize, trail.command).copied();
                // Without a command of its own it left before it was bound.
                let ran = trail.command != 0;
                trail.serve(spent.filter(|_| ran), now);
                trail.goes_on = goes_on && ran;
                let (start, parts) = (trail.start, trail.parts);
                trail.command = 0;
                let Some(trip) = self.trip(request) else { return };
                trip.gc_affected |= gc_affected;
                if ran && !goes_on {
                    trip.last = Some((start, now, bytes));
                    trip.parts = parts;
                }
            }
        }
    }

    /// The command begun last carries an operation.
    fn bound(&mut self, operation: u32, request: Option<u32>, ready: Time, now: Time) {
        let (at, lane, command) = (operation as usize, self.lane, self.command);
        if at >= self.trails.len() {
            self.trails.resize(at + 1, Trail::default());
        }
        let Some(trip) = self.trip(request) else {
            self.trails[at] = Trail::default();
            return;
        };
        trip.flash_start.get_or_insert(now);
        let served = trip.served;
        let dies = self.histories.len();
        let history = &self.histories[lane as usize % dies];
        let trail = &mut self.trails[at];
        // A write that another was put into was there before this request: what it had done is not of this way.
        if !trail.goes_on || trail.start < served {
            *trail = Trail { start: ready.max(served), ..Trail::default() };
        }
        (trail.lane, trail.command) = (lane, command);
        let from = ready.max(served);
        let held: [Time; HOLDERS] = history.between(from, now);
        for (part, time) in [Part::WaitDieRead, Part::WaitDieWrite, Part::WaitDieGc].into_iter().zip(held) {
            trail.parts[in_flash(part)] += time;
        }
        trail.parts[in_flash(Part::WaitSpace)] += now - from - held.iter().sum::<Time>();
    }

    /// A request has come to a stage.
    pub fn stop(&mut self, stop: Stop, now: Time) {
        let Some(trip) = self.trip(Some(stop.slot)) else { return };
        match stop.stage {
            Stage::Queued => trip.queued = now,
            Stage::Served => trip.served = now,
            Stage::Done => trip.done = now,
        }
    }

    /// The row of a request that is done, if it is in the sample. Times are told from `origin` on.
    pub fn completed(&mut self, completion: &Completion, origin: Time) -> Option<RequestRow> {
        let link = self.link;
        let trip = self.trip(Some(completion.slot))?;
        let number = trip.number.take()?;
        let Request { arrival, offset, bytes, op, stream, .. } = trip.request;
        Some(RequestRow {
            number,
            stream,
            op,
            offset,
            bytes,
            arrival: arrival - origin,
            submitted: trip.submitted - origin,
            flash_start: trip.flash_start.map(|time| time - origin),
            completion: completion.time - origin,
            gc_affected: trip.gc_affected,
            parts: trip.cut(&link, completion.time),
        })
    }
}

impl Trail {
    /// Adds what its command did.
    fn serve(&mut self, spent: Option<Spent>, now: Time) {
        let Some(Spent { begun, wait_bus, bus, read, program, .. }) = spent else { return };
        let mut left = now - begun;
        let told =
            [(Part::Bus, bus), (Part::ArrayRead, read), (Part::ArrayProgram, program), (Part::WaitBus, wait_bus)];
        for (part, time) in told {
            // In cache mode bus and cells may work for one command at the same time.
            let time = time.min(left);
            self.parts[in_flash(part)] += time;
            left -= time;
        }
        self.parts[in_flash(Part::DieOther)] += left;
    }
}

impl Trip {
    /// Cuts the latency into its parts.
    fn cut(&self, link: &LinkCosts, completion: Time) -> [Time; PARTS] {
        let Self { request, submitted, queued, served, done, .. } = *self;
        let mut parts = [0; PARTS];
        parts[Part::Waiting as usize] = submitted - request.arrival;
        let data_in = if request.op == Op::Write { link.data_in.time(request.bytes) } else { 0 };
        let inward = (link.command + link.latency + data_in).min(queued - submitted);
        parts[Part::Link as usize] = inward;
        parts[Part::WaitLink as usize] = queued - submitted - inward;
        parts[Part::WaitDispatch as usize] = served - queued;
        let patient = matches!(request.op, Op::Write | Op::Flush);
        let gap = if patient { Part::WaitBuffer } else { Part::Other } as usize;
        let bytes = match self.last {
            Some((start, end, bytes)) => {
                parts[Part::WaitDieRead as usize..][..FLASH].copy_from_slice(&self.parts);
                parts[gap] += start - served + (done - end);
                // A read that was overtaken by its data left its parts behind.
                let within = end - start;
                parts[Part::Other as usize] += within - self.parts.iter().sum::<Time>();
                bytes
            }
            None => {
                parts[gap] += done - served;
                if request.op == Op::Read {
                    request.bytes
                } else {
                    0
                }
            }
        };
        let data_out = if bytes > 0 { link.data_out.time(bytes) } else { 0 };
        let outward = (data_out + link.completion).min(completion - done);
        parts[Part::Link as usize] += outward;
        parts[Part::WaitLink as usize] += completion - done - outward;
        parts
    }
}

/// A number with its bits stirred (SplitMix64 by Steele, Lea and Flood), so that a sample does not beat with a load's rhythm.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
