//! The bus between controller and dies: whose turn it is.
//!
//! A bus serves data in the order in which it is asked, and lets commands and addresses pass before data that have not started:
//! were they to queue behind the data of all other dies, the dies would all start reading together and the bus would idle for tR
//! in every round. [`Turns::FirstCome`] is the bus that does just that. A transfer gets its place the moment it is ready, and no
//! event is spent on waiting; data that a command passes are only told later that they end later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Time;

/// A bus, asked in the order of time.
pub trait Bus {
    /// Takes the bus for `duration` as soon after `ready` as it is free, and says when that is. `short` tells that only commands
    /// and addresses are carried, which a bus may let pass before data that wait.
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time;
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
    /// Data that wait, in their order: start and lane. None at rest.
    #[serde(skip)]
    waiting: VecDeque<(Time, u32)>,
    /// The last data that did not wait: a command of the same instant still passes them.
    #[serde(skip)]
    latest: Option<(Time, u32)>,
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
            self.bus.latest = Some((ready, self.lane));
        }
        ready
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
        while waiting.front().is_some_and(|&(start, _)| start < ready) {
            waiting.pop_front();
        }
        if let Some(started) = latest.take_if(|(start, _)| short && *start == ready) {
            waiting.push_front(started);
        }
        if let (Some(&(first, _)), true) = (waiting.front(), short) {
            for (start, lane) in waiting.iter_mut() {
                *start += duration;
                self.due[*lane as usize] += duration;
                self.passed[*lane as usize] += duration;
            }
            *free_at += duration;
            return first;
        }
        let start = *free_at;
        *free_at += duration;
        if !short {
            waiting.push_back((start, self.lane));
        }
        start
    }
}
