//! Packages on channels, and the time that commands take there.
//!
//! A channel's bus serves data in the order in which it is asked (first come, first served; at one instant in the order of the
//! events), and lets commands and addresses pass before data that wait: were they to queue behind the data of all other dies,
//! the dies would all start reading together and the bus would idle for tR in every round. A transfer gets its place the moment
//! it is ready, and no event is spent on waiting; data that a command passes are only told later that they end later.

use crate::geometry::Geometry;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::{Divisor, EventQueue, Time};
use wordline_nand::package::DieTimes;
use wordline_nand::{Bus, Command, Package, Step, Timing, Violation};

/// An illegal use of the flash, with where and when.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal flash command at {time} ps on channel {channel}, package {package}: {violation}")]
pub struct FlashError {
    /// When, in picoseconds.
    pub time: Time,
    /// Channel of the package.
    pub channel: u32,
    /// Package on the channel.
    pub package: u32,
    /// What rule it breaks.
    pub violation: Violation,
}

/// How a channel's bus was used, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelTimes {
    /// Time in which something was transferred.
    pub busy: Time,
}

/// The bus of a channel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Channel {
    free_at: Time,
    busy: Time,
    /// Data that wait, in their order: start and die.
    waiting: VecDeque<(Time, u32)>,
}

/// A die's end of its channel.
struct Port<'a> {
    channel: &'a mut Channel,
    due: &'a mut [Time],
    passed: &'a mut [Time],
    die: u32,
}

impl Bus for Port<'_> {
    #[inline]
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time {
        let Channel { free_at, busy, waiting } = &mut *self.channel;
        *busy += duration;
        while waiting.front().is_some_and(|&(start, _)| start <= ready) {
            waiting.pop_front();
        }
        let start = match waiting.front() {
            Some(&(first, _)) if short => {
                for (start, die) in waiting.iter_mut() {
                    *start += duration;
                    self.due[*die as usize] += duration;
                    self.passed[*die as usize] += duration;
                }
                *free_at += duration;
                return first;
            }
            _ => (*free_at).max(ready),
        };
        *free_at = start + duration;
        if start > ready && !short {
            waiting.push_back((start, self.die));
        }
        start
    }
}

/// All packages and channels of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flash {
    geometry: Geometry,
    timing: Timing,
    packages: Vec<Package>,
    channels: Vec<Channel>,
    /// When each die needs attention; its event may come earlier, if a command has passed its data since.
    due: Vec<Time>,
    /// How long commands have held up the data of each die.
    passed: Vec<Time>,
    event_kind: u8,
    dies_per_package: Divisor,
    packages_per_channel: Divisor,
    dies_per_channel: Divisor,
}

impl Flash {
    /// Erased flash. Its events in the drive's queue are of `event_kind`, with the number of the die as index.
    #[must_use]
    pub fn new(geometry: Geometry, timing: Timing, event_kind: u8) -> Self {
        let packages = (geometry.channels * geometry.packages) as usize;
        Self {
            geometry,
            timing,
            packages: vec![Package::new(geometry.package()); packages],
            channels: vec![Channel::default(); geometry.channels as usize],
            due: vec![0; geometry.dies() as usize],
            passed: vec![0; geometry.dies() as usize],
            event_kind,
            dies_per_package: Divisor::new(geometry.dies_per_package),
            packages_per_channel: Divisor::new(geometry.packages),
            dies_per_channel: Divisor::new(geometry.dies_per_channel()),
        }
    }

    /// The shape of the flash.
    #[inline]
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The times of its packages.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    #[inline]
    fn locate(&self, die: u32) -> (usize, u32) {
        (self.dies_per_package.quotient(die) as usize, self.dies_per_package.remainder(die))
    }

    /// The channel of a die.
    #[inline]
    #[must_use]
    pub fn channel_of(&self, die: u32) -> u32 {
        self.dies_per_channel.quotient(die)
    }

    /// When the bus of a channel is free.
    #[inline]
    #[must_use]
    pub fn bus_free_at(&self, channel: u32) -> Time {
        self.channels[channel as usize].free_at
    }

    fn story(&self, time: Time, package: usize, violation: Violation) -> FlashError {
        let package = package as u32;
        FlashError {
            time,
            channel: package / self.geometry.packages,
            package: package % self.geometry.packages,
            violation,
        }
    }

    /// The package of a die, the die in it, and its end of the channel.
    #[inline]
    fn parts(&mut self, die: u32) -> (usize, &mut Package, u32, Port<'_>, &Timing) {
        let (at, die_in_package) = self.locate(die);
        let channel = &mut self.channels[self.packages_per_channel.quotient(at as u32) as usize];
        let port = Port { channel, due: &mut self.due, passed: &mut self.passed, die };
        (at, &mut self.packages[at], die_in_package, port, &self.timing)
    }

    /// Starts a command on an idle die.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline]
    pub fn begin(&mut self, now: Time, die: u32, command: &Command, queue: &mut EventQueue) -> Result<(), FlashError> {
        let (at, package, die_in_package, mut port, timing) = self.parts(die);
        match package.begin(now, die_in_package, command, timing, &mut port) {
            Ok(time) => {
                self.due[die as usize] = time;
                queue.push(time, self.event_kind, die);
                Ok(())
            }
            Err(violation) => Err(self.story(now, at, violation)),
        }
    }

    /// Applies a command at once, without time.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline]
    pub fn commit(&mut self, now: Time, die: u32, command: &Command) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        self.packages[at].commit(die_in_package, command).map_err(|violation| self.story(now, at, violation))
    }

    /// Handles an event of a die; true when its command has ended.
    #[inline]
    pub fn step(&mut self, now: Time, die: u32, queue: &mut EventQueue) -> bool {
        let due = self.due[die as usize];
        if due > now {
            queue.push(due, self.event_kind, die);
            return false;
        }
        let (_, package, die_in_package, mut port, timing) = self.parts(die);
        match package.step(now, die_in_package, timing, &mut port) {
            Step::At(time) => {
                self.due[die as usize] = time;
                queue.push(time, self.event_kind, die);
                false
            }
            Step::Done => true,
        }
    }

    /// Takes over what the cells of another drive of the same geometry hold.
    pub fn adopt_cells(&mut self, other: &Flash) {
        for (mine, theirs) in self.packages.iter_mut().zip(&other.packages) {
            mine.adopt_cells(theirs);
        }
    }

    /// Where the time of a die went.
    #[must_use]
    pub fn die_times(&self, die: u32) -> DieTimes {
        let (at, die_in_package) = self.locate(die);
        let times = self.packages[at].times(die_in_package);
        DieTimes { contention: times.contention + self.passed[die as usize], ..times }
    }

    /// How a channel was used.
    #[must_use]
    pub fn channel_times(&self, channel: u32) -> ChannelTimes {
        ChannelTimes { busy: self.channels[channel as usize].busy }
    }

    /// The NAND's own record of a block, by its number in the drive.
    #[must_use]
    pub fn block_record(&self, block: u32) -> wordline_nand::cells::BlockRecord {
        let (plane, block) = (block / self.geometry.blocks_per_plane, block % self.geometry.blocks_per_plane);
        let (die, plane) = (plane / self.geometry.planes_per_die, plane % self.geometry.planes_per_die);
        let (at, die_in_package) = self.locate(die);
        self.packages[at].cells().record(die_in_package, plane, block)
    }
}
