//! The bus between controller and dies: whose turn it is.
//!
//! A bus serves data in the order in which it is asked, and lets commands and addresses pass before data that have not started:
//! were they to queue behind the data of all other dies, the dies would all start reading together and the bus would idle for tR
//! in every round. [`Turns::FirstCome`] is the bus that does just that. A transfer gets its place the moment it is ready, and no
//! event is spent on waiting; data that a command passes are only told later that they end later.
//!
//! The data of all planes of a read go out one behind the other: their places are taken together, when the first is ready. Were
//! each plane to queue up anew behind the other dies, the planes of all dies would alternate, all dies would start their next read at
//! once, and the bus would idle for tR in every round. For the same reason the bus is kept for a die while it takes the addresses of several
//! planes (but not their data), also in the tDBSY between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Time;

/// A bus, asked in the order of time.
pub trait Bus {
    /// Takes the bus for `duration` as soon after `ready` as it is free, and says when that is. `short` tells that only commands
    /// and addresses are carried, which a bus may let pass before data that wait.
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time;

    /// Takes the bus for commands and addresses only, `count` times for `duration` with a pause after each of them, and at last for `last`;
    /// nobody else gets it in the pauses. Says when the first begin.
    fn reserve_kept(&mut self, ready: Time, count: Time, duration: Time, pause: Time, last: Time) -> Time;

    /// Takes the bus for data of `duration` as [`Bus::reserve`] does, and for what follows of the same command directly behind them;
    /// says when the first begin.
    fn reserve_row(&mut self, ready: Time, duration: Time, follow: impl Iterator<Item = Time>) -> Time;

    /// When the next data of a row begin, whose data before end `now`: commands may have passed them.
    fn next_of_row(&mut self, now: Time) -> Time;

    /// When a command that is ready now would begin, were it to ask.
    fn opening(&self, ready: Time) -> Time;
}

/// The I/O bus of a package that is alone on its channel and works on one command at a time: first come, first served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBus {
    /// When it is free again.
    pub free_at: Time,
    /// How long it was in use.
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

/// In which order a shared bus serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// Commands and addresses before data, each in the order of asking.
    #[default]
    CommandsFirst,
    /// Everything in the order of asking.
    FirstCome,
}

/// A bus that several dies share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedBus {
    /// When it is free again.
    pub free_at: Time,
    /// How long it was in use.
    pub busy: Time,
    /// In which order it serves.
    pub turns: Turns,
    /// Data that wait, in their order. None at rest.
    #[serde(skip)]
    waiting: VecDeque<Place>,
    /// The last data that did not wait: a command of the same instant still passes them.
    #[serde(skip)]
    latest: Option<Place>,
    /// Start and end of the pauses in which it is kept for a die, in their order, but for those that are over.
    #[serde(skip)]
    pauses: VecDeque<(Time, Time)>,
}

impl SharedBus {
    /// How long it was used up to `at`, which is neither before its last event nor after its next: what waits for it follows without a
    /// gap, but for the pauses in which it is kept for a die.
    #[must_use]
    pub fn used(&self, at: Time) -> Time {
        let to_come = self.free_at.saturating_sub(at);
        let kept: Time = self.pauses.iter().map(|&(start, end)| end.saturating_sub(start.max(at))).sum();
        self.busy - (to_come - kept)
    }
}

/// The place of data on a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: Time,
    lane: u32,
    /// True if they follow other data of their command: their lane waits for those, and asks for the start afterwards.
    follows: bool,
}

/// The end of a shared bus at one lane (a die, or what a die does beside a suspended command).
pub struct Port<'a> {
    /// The bus.
    pub bus: &'a mut SharedBus,
    /// When each lane needs attention; moves when a command passes its data.
    pub due: &'a mut [Time],
    /// How long commands have held up the data of each lane.
    pub passed: &'a mut [Time],
    /// Whose end it is.
    pub lane: u32,
}

impl Bus for Port<'_> {
    #[inline]
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time {
        self.bus.busy += duration;
        if self.bus.free_at > ready {
            return self.queue_up(ready, duration, short);
        }
        // All data have started, and ended.
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
        // Nothing but commands comes between the data of a row, and commands push all that waits.
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

impl Port<'_> {
    /// Takes a bus that is in use, or promised to data.
    #[inline(never)]
    fn queue_up(&mut self, ready: Time, duration: Time, short: bool) -> Time {
        let SharedBus { free_at, turns, waiting, latest, .. } = &mut *self.bus;
        if *turns == Turns::FirstCome {
            let start = *free_at;
            *free_at += duration;
            return start;
        }
        while waiting.front().is_some_and(|place| place.start < ready) {
            waiting.pop_front();
        }
        if let Some(started) = latest.take_if(|place| short && place.start == ready) {
            waiting.push_front(started);
        }
        if let (Some(&Place { start: first, .. }), true) = (waiting.front(), short) {
            for Place { start, lane, follows } in waiting.iter_mut() {
                *start += duration;
                if !*follows {
                    self.due[*lane as usize] += duration;
                    self.passed[*lane as usize] += duration;
                }
            }
            *free_at += duration;
            return first;
        }
        let start = *free_at;
        *free_at += duration;
        if !short {
            waiting.push_back(Place { start, lane: self.lane, follows: false });
        }
        start
    }
}
