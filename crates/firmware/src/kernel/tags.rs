//! The device queue: what the commit stage knows of the host's operations in it, in order or by physical address.
//!
//! Source: jung13 (6.4). Reads that wait are counted by die, package and channel: the *clump table*. Each die tells its oldest read by itself, so
//! that a clump costs a look at each die with room.

use crate::policy::dispatch::{Conflict, TagRules};
use std::collections::VecDeque;
use std::ops::Range;
use wordline_base::{Divisor, Time};
use wordline_flash::Geometry;

/// An operation that waits in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub slot: u32,
    /// Its number; another one now if it is gone.
    pub sequence: u64,
    /// Its queue in the stage.
    pub queue: u32,
}

/// A read that may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub rank: u8,
    pub sequence: u64,
    pub die: u32,
    pub queue: u32,
}

impl Choice {
    /// The order in which reads of a clump go.
    pub fn order(&self) -> (u8, u64) {
        (self.rank, self.sequence)
    }
}

/// The device queue of a drive.
#[derive(Clone, Debug)]
pub(super) struct TagQueue {
    pub rules: TagRules,
    pub dies_per_package: Divisor,
    packages_per_channel: Divisor,
    /// Operations in the order of coming, if they go in it.
    pub order: VecDeque<Tag>,
    /// Reads that wait, if they do not go in order: by die, package and channel.
    by_die: Vec<u32>,
    by_package: Vec<u32>,
    by_channel: Vec<u32>,
    /// By package, if it serves one read at a time: those sent to its dies that have not ended.
    sent: Vec<u32>,
    pub clump: Vec<Choice>,
    /// When the decision that is being made is made.
    pub decided: Option<Time>,
    /// True if its event is to come.
    pub is_scheduled: bool,
}

impl TagQueue {
    /// The device queue of a drive, empty.
    pub fn new(rules: TagRules, geometry: &Geometry) -> Self {
        let packages = geometry.dies() / geometry.dies_per_package;
        Self {
            rules,
            dies_per_package: Divisor::new(geometry.dies_per_package),
            packages_per_channel: Divisor::new(packages / geometry.channels),
            order: VecDeque::new(),
            by_die: vec![0; geometry.dies() as usize],
            by_package: vec![0; packages as usize],
            by_channel: vec![0; geometry.channels as usize],
            sent: vec![0; packages as usize],
            clump: Vec::with_capacity(packages as usize),
            decided: None,
            is_scheduled: false,
        }
    }

    /// An operation waits for a die, or, if negative, waits no longer.
    #[inline]
    pub fn count_waiting(&mut self, die: u32, change: i32) {
        if self.rules.in_order {
            return;
        }
        let package = self.dies_per_package.quotient(die);
        let counts = [
            &mut self.by_die[die as usize],
            &mut self.by_package[package as usize],
            &mut self.by_channel[self.packages_per_channel.quotient(package) as usize],
        ];
        for count in counts {
            *count = count.checked_add_signed(change).expect("a read leaves a table that it is in");
        }
    }

    /// An operation was sent to a die of a package that serves one read at a time, or, if negative, has ended there; gives the dies
    /// of the package if they all are free from now on (true), or no longer (false).
    #[inline]
    pub fn count_sent(&mut self, die: u32, change: i32) -> Option<(Range<u32>, bool)> {
        let package = self.dies_per_package.quotient(die);
        let sent = &mut self.sent[package as usize];
        let before = *sent;
        *sent = before.checked_add_signed(change).expect("a package gives back what it was sent");
        let (is_free, dies) = (*sent == 0, self.dies_per_package.get());
        ((before == 0) != is_free).then_some((package * dies..(package + 1) * dies, is_free))
    }

    /// True if the package of a die may take another read.
    #[inline]
    pub fn is_free(&self, die: u32) -> bool {
        !self.rules.by_package || self.sent[self.dies_per_package.quotient(die) as usize] == 0
    }

    /// True if a read for a die may be sent as it comes: its package is free, none waits that would go before or with it, and deciding takes
    /// no time.
    #[inline]
    pub fn is_clear(&self, die: u32) -> bool {
        let package = self.dies_per_package.quotient(die);
        let none_waits = match (self.rules.in_order, self.rules.by_package) {
            (true, _) => self.order.is_empty(),
            (false, true) => self.by_package[package as usize] == 0,
            (false, false) => self.by_die[die as usize] == 0,
        };
        none_waits && self.rules.decision == 0 && self.is_free(die)
    }

    /// What a read for a die has to share with others that wait.
    #[inline]
    pub fn conflict(&self, die: u32) -> Conflict {
        let package = self.dies_per_package.quotient(die);
        if self.by_die[die as usize] > 1 {
            Conflict::Node
        } else if self.by_package[package as usize] > 1 {
            Conflict::Cluster
        } else if self.by_channel[self.packages_per_channel.quotient(package) as usize] > 1 {
            Conflict::Domain
        } else {
            Conflict::None
        }
    }

    /// True if a command may be sent now. If deciding takes time, the decision begins, unless it is made.
    pub fn decides(&mut self, now: Time) -> bool {
        if self.rules.decision == 0 {
            return true;
        }
        if self.decided.is_some_and(|time| time <= now) {
            self.decided = None;
            return true;
        }
        self.decided.get_or_insert(now + self.rules.decision);
        false
    }

    /// An operation waits behind all others, or before them, if they go in order.
    #[inline]
    pub fn line_up(&mut self, queue: usize, (slot, sequence): (u32, u64), first: bool) {
        if !self.rules.in_order {
            return;
        }
        let tag = Tag { slot, sequence, queue: queue as u32 };
        if first {
            self.order.push_front(tag);
        } else {
            self.order.push_back(tag);
        }
    }
}
