//! Packages on channels, and the time that commands take there.
//!
//! A channel's bus serves in the order in which it is asked (first come, first served; at one instant in the order of the
//! events). A transfer therefore gets its place the moment it is ready, and no event is spent on waiting.

use crate::geometry::Geometry;
use serde::{Deserialize, Serialize};
use wordline_base::{Divisor, EventQueue, Time};
use wordline_nand::package::DieTimes;
use wordline_nand::{Command, OwnBus, Package, Step, Timing, Violation};

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

/// All packages and channels of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flash {
    geometry: Geometry,
    timing: Timing,
    packages: Vec<Package>,
    channels: Vec<OwnBus>,
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
            channels: vec![OwnBus::default(); geometry.channels as usize],
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

    /// Starts a command on an idle die.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline]
    pub fn begin(&mut self, now: Time, die: u32, command: &Command, queue: &mut EventQueue) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        let bus = &mut self.channels[self.packages_per_channel.quotient(at as u32) as usize];
        match self.packages[at].begin(now, die_in_package, command, &self.timing, bus) {
            Ok(time) => {
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
        let (at, die_in_package) = self.locate(die);
        let bus = &mut self.channels[self.packages_per_channel.quotient(at as u32) as usize];
        match self.packages[at].step(now, die_in_package, &self.timing, bus) {
            Step::At(time) => {
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
        self.packages[at].times(die_in_package)
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
