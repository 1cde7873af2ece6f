//! The bus between controller and dies, and its arbitration.
//!
//! A bus is first-come, first-served (FCFS), but commands and addresses pass data that have not started. If they queued
//! behind the data of all other dies, the dies would all start reading together and the bus would idle for tR in every
//! round. [`Turns::FirstCome`] is that plain bus. A transfer is scheduled the moment it is ready, so waiting costs no
//! event. Data that a command passes learn their later end when their event comes.
//!
//! The data of all planes of a read go out one behind the other: they are scheduled together when the first is ready.
//! If each plane queued anew behind the other dies, the planes of all dies would alternate, all dies would start their
//! next read at once, and the bus would idle for tR in every round. For the same reason a die holds the bus while it
//! takes the addresses of several planes (but not their data), also during the tDBSY between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Time;

/// A bus; requests must come in order of time.
pub trait Bus {
    /// Reserves the bus for `duration` from the first free moment at or after `ready`, and returns the start. `short`
    /// is true for commands and addresses only: a bus may let them pass waiting data.
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time;

    /// Reserves the bus for commands and addresses: `count` times `duration`, each followed by a pause, then `last`.
    /// The bus stays reserved during the pauses. Returns the start of the first.
    fn reserve_kept(&mut self, ready: Time, count: Time, duration: Time, pause: Time, last: Time) -> Time;

    /// Reserves the bus for data of `duration` as [`Bus::reserve`] does, and directly behind it for the other data of
    /// the same command; returns the start of the first.
    fn reserve_row(&mut self, ready: Time, duration: Time, follow: impl Iterator<Item = Time>) -> Time;

    /// Start of the next data of a row whose previous data end `now`; commands may have passed them.
    fn next_of_row(&mut self, now: Time) -> Time;

    /// Start of a command that is ready now, without reserving anything.
    fn opening(&self, ready: Time) -> Time;
}

/// The I/O bus of a package that is alone on its channel and executes one command at a time: FCFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBus {
    /// End of the last reservation.
    pub free_at: Time,
    /// Total time in use.
    pub busy: Time,
}

impl Bus for OwnBus {
    #[inline]
    fn reserve(&mut self, ready: Time, duration: Time, _: bool) -> Time {
        let start = self.free_at.max(ready);
        self.free_at = start + duration;
        self.busy += duration;
        start
    }

    #[inline]
    fn reserve_kept(&mut self, ready: Time, count: Time, duration: Time, pause: Time, last: Time) -> Time {
        let start = self.reserve(ready, count * (duration + pause) + last, true);
        self.busy -= count * pause;
        start
    }

    #[inline]
    fn reserve_row(&mut self, ready: Time, duration: Time, follow: impl Iterator<Item = Time>) -> Time {
        let start = self.reserve(ready, duration, false);
        let rest: Time = follow.sum();
        self.free_at += rest;
        self.busy += rest;
        start
    }

    #[inline]
    fn next_of_row(&mut self, now: Time) -> Time {
        now
    }

    #[inline]
    fn opening(&self, ready: Time) -> Time {
        self.free_at.max(ready)
    }
}

/// Arbitration of a shared bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// Commands and addresses before data, each FCFS.
    #[default]
    CommandsFirst,
    /// FCFS for everything.
    FirstCome,
}

/// A bus shared by several dies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedBus {
    /// End of the last reservation.
    pub free_at: Time,
    /// Total time in use.
    pub busy: Time,
    /// Arbitration.
    pub turns: Turns,
    /// Waiting data, in order. Empty at rest.
    #[serde(skip)]
    waiting: VecDeque<Place>,
    /// The last data that did not wait: a command of the same instant still passes them.
    #[serde(skip)]
    latest: Option<Place>,
    /// Start and end of the pauses in which a die holds the bus, in order; past ones are dropped.
    #[serde(skip)]
    pauses: VecDeque<(Time, Time)>,
}

impl SharedBus {
    /// Time in use up to `at`, which lies between its last and its next event. Waiting transfers follow without gaps,
    /// except for pauses in which a die holds the bus.
    #[must_use]
    pub fn used(&self, at: Time) -> Time {
        let to_come = self.free_at.saturating_sub(at);
        let kept: Time = self.pauses.iter().map(|&(start, end)| end.saturating_sub(start.max(at))).sum();
        self.busy - (to_come - kept)
    }
}

/// A scheduled data transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: Time,
    lane: u32,
    /// True if other data of the same command go first: the lane waits for those and then asks for the start.
    follows: bool,
}

/// A lane whose data may wait for a shared bus.
pub trait Waits {
    /// A command has passed its data: it needs attention so much later.
    fn put_off(&mut self, by: Time);
}

/// Access of one lane (a die, or its reads beside a suspended command) to a shared bus.
pub struct Port<'a, L> {
    /// The bus.
    pub bus: &'a mut SharedBus,
    /// All lanes of the drive.
    pub lanes: &'a mut [L],
    /// Total delay of each lane's data by commands that passed them.
    pub passed: &'a mut Vec<Time>,
    /// The lane.
    pub lane: u32,
}

impl<L: Waits> Bus for Port<'_, L> {
    #[inline(always)]
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time {
        self.bus.busy += duration;
        if self.bus.free_at > ready {
            if short {
                return pass_data(self.bus, (self.lanes, self.passed), ready, duration);
            }
            return queue_up(self.bus, self.lane, ready, duration);
        }
        // All earlier data have started and ended.
        self.bus.waiting.clear();
        self.bus.free_at = ready + duration;
        if !short {
            self.bus.latest = Some(Place { start: ready, lane: self.lane, follows: false });
        }
        ready
    }

    #[inline(never)]
    fn reserve_kept(&mut self, ready: Time, count: Time, duration: Time, pause: Time, last: Time) -> Time {
        let start = self.reserve(ready, count * (duration + pause) + last, true);
        let SharedBus { busy, pauses, .. } = &mut *self.bus;
        *busy -= count * pause;
        while pauses.front().is_some_and(|&(_, end)| end <= ready) {
            pauses.pop_front();
        }
        pauses.extend((1..=count).map(|nth| start + nth * (duration + pause)).map(|end| (end - pause, end)));
        start
    }

    #[inline(never)]
    fn reserve_row(&mut self, ready: Time, duration: Time, follow: impl Iterator<Item = Time>) -> Time {
        let first = self.reserve(ready, duration, false);
        let SharedBus { free_at, busy, turns, waiting, .. } = &mut *self.bus;
        for duration in follow {
            if *turns == Turns::CommandsFirst {
                waiting.push_back(Place { start: *free_at, lane: self.lane, follows: true });
            }
            *free_at += duration;
            *busy += duration;
        }
        first
    }

    #[inline(never)]
    fn next_of_row(&mut self, now: Time) -> Time {
        if self.bus.turns == Turns::FirstCome {
            return now;
        }
        let waiting = &mut self.bus.waiting;
        while waiting.front().is_some_and(|place| place.start < now) {
            waiting.pop_front();
        }
        // Only commands come between the data of a row, and a command delays all waiting data.
        let place = waiting.front_mut().filter(|place| place.lane == self.lane && place.follows);
        let place = place.expect("the row has its place on the bus");
        place.follows = false;
        place.start
    }

    fn opening(&self, ready: Time) -> Time {
        let SharedBus { free_at, turns, waiting, latest, .. } = &*self.bus;
        if *free_at <= ready || latest.is_some_and(|place| place.start == ready && *turns == Turns::CommandsFirst) {
            return ready;
        }
        waiting.iter().map(|place| place.start).find(|&start| start >= ready).unwrap_or(*free_at)
    }
}

/// Drops data that have started from those that wait.
#[inline(always)]
fn drop_started(waiting: &mut VecDeque<Place>, now: Time) {
    while waiting.front().is_some_and(|place| place.start < now) {
        waiting.pop_front();
    }
}

/// Reserves a bus that is in use or already reserved for data.
#[inline(never)]
fn queue_up(bus: &mut SharedBus, lane: u32, ready: Time, duration: Time) -> Time {
    let SharedBus { free_at, turns, waiting, .. } = bus;
    let start = *free_at;
    *free_at += duration;
    if *turns == Turns::CommandsFirst {
        drop_started(waiting, ready);
        waiting.push_back(Place { start, lane, follows: false });
    }
    start
}

/// The same for commands and addresses, which pass data that wait. It gets what a [`Port`] has one by one, so that a port needs no place in
/// memory.
#[inline(never)]
fn pass_data<L: Waits>(
    bus: &mut SharedBus,
    (lanes, passed): (&mut [L], &mut [Time]),
    ready: Time,
    duration: Time,
) -> Time {
    let SharedBus { free_at, turns, waiting, latest, .. } = bus;
    let start = *free_at;
    *free_at += duration;
    if *turns == Turns::FirstCome {
        return start;
    }
    drop_started(waiting, ready);
    if let Some(started) = latest.take_if(|place| place.start == ready) {
        waiting.push_front(started);
    }
    if let Some(&Place { start: first, .. }) = waiting.front() {
        for Place { start, lane, follows } in waiting.iter_mut() {
            *start += duration;
            if !*follows {
                lanes[*lane as usize].put_off(duration);
                passed[*lane as usize] += duration;
            }
        }
        return first;
    }
    start
}
