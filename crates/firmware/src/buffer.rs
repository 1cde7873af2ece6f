//! State of the write buffer: units that are acknowledged but not in flash, and their age.
//!
//! Buffered writes wait in the flash queues like all others. The buffer only delays pages that are not full: such a
//! page waits for more data until its oldest unit is in the oldest quarter of the buffer, or until a flush or FUA write
//! forces it out.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The books of the write buffer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffer {
    capacity: u32,
    used: u32,
    /// Ordinal of the newest unit; the first is 1.
    newest: u64,
    /// Units up to this ordinal have to go.
    hurried: u64,
    /// Units that wait for a die, oldest first, including some already issued: (operation, ordinal).
    waiting: VecDeque<(u32, u64)>,
    /// From the oldest unit that is not in flash on: whether each is.
    in_flash: VecDeque<bool>,
    /// The units that it holds. Looked up, never walked.
    held: FxHashMap<u32, Held>,
}

/// A unit in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    /// Versions of it that are not in flash.
    versions: u32,
    /// The operation that still waits for its page; none if all are issued.
    pending: Option<u32>,
}

impl Buffer {
    /// An empty buffer for `capacity` units; 0 for none at all.
    pub(crate) fn new(capacity: u32) -> Self {
        let mut buffer = Self { capacity, ..Self::default() };
        buffer.held.reserve(capacity as usize);
        buffer
    }

    /// True if there is a buffer.
    #[inline]
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.capacity > 0
    }

    /// True if it has room for another unit. Without a buffer there is always room.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.capacity == 0 || self.used < self.capacity
    }

    /// Ordinal of the newest unit.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// True if all units up to an ordinal are in flash.
    #[inline]
    #[must_use]
    pub fn is_in_flash(&self, ordinal: u64) -> bool {
        self.newest - self.in_flash.len() as u64 >= ordinal
    }

    /// True if it holds a version of a unit.
    #[inline]
    #[must_use]
    pub fn holds(&self, unit: u32) -> bool {
        self.used > 0 && self.held.contains_key(&unit)
    }

    /// Takes a unit in and gives its ordinal.
    #[inline]
    pub(crate) fn take(&mut self, unit: u32) -> u64 {
        self.used += 1;
        self.newest += 1;
        self.in_flash.push_back(false);
        self.held.entry(unit).or_insert(Held { versions: 0, pending: None }).versions += 1;
        self.newest
    }

    /// The newest version of a unit waits for its page as this operation.
    #[inline]
    pub(crate) fn pend(&mut self, unit: u32, operation: u32) {
        self.held.get_mut(&unit).expect("buffered units are counted").pending = Some(operation);
    }

    /// The operation that waits for its page with a unit.
    #[inline]
    pub(crate) fn pending(&self, unit: u32) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        self.held.get(&unit).and_then(|held| held.pending)
    }

    /// A waiting unit got its page.
    #[inline]
    pub(crate) fn bound(&mut self, unit: u32, operation: u32) {
        let held = self.held.get_mut(&unit).expect("buffered units are counted");
        if held.pending == Some(operation) {
            held.pending = None;
        }
    }

    /// A unit is in flash, or was given back; it waits no more.
    #[inline]
    pub(crate) fn leave(&mut self, unit: u32, ordinal: u64) {
        self.used -= 1;
        let oldest = self.newest - self.in_flash.len() as u64 + 1;
        self.in_flash[(ordinal - oldest) as usize] = true;
        while self.in_flash.front() == Some(&true) {
            self.in_flash.pop_front();
        }
        let held = self.held.get_mut(&unit).expect("buffered units are counted");
        held.versions -= 1;
        if held.versions == 0 {
            self.held.remove(&unit);
        }
    }

    /// Units up to an ordinal have to go.
    pub(crate) fn hurry(&mut self, ordinal: u64) {
        self.hurried = self.hurried.max(ordinal);
    }

    /// True if a unit must be written even in a page that is not full.
    #[inline]
    pub(crate) fn must_go(&self, ordinal: u64) -> bool {
        ordinal <= self.hurried || self.newest - ordinal >= u64::from(self.capacity - self.capacity / 4)
    }

    /// A buffered write waits for a die.
    #[inline]
    pub(crate) fn wait(&mut self, operation: u32, ordinal: u64) {
        // A partial write comes late, after its old data were read: it takes the place of its age.
        let at = match self.waiting.back() {
            Some(&(_, last)) if last > ordinal => self.waiting.partition_point(|&(_, other)| other < ordinal),
            _ => self.waiting.len(),
        };
        self.waiting.insert(at, (operation, ordinal));
    }

    /// The write that has waited longest, or one that is gone already.
    #[inline]
    pub(crate) fn oldest_waiting(&self) -> Option<(u32, u64)> {
        self.waiting.front().copied()
    }

    /// Forgets [`Self::oldest_waiting`].
    #[inline]
    pub(crate) fn stop_waiting(&mut self) {
        self.waiting.pop_front();
    }
}
