//! The record of a die: what a command of it touches lies together.

use super::ready::Ready;
use crate::ops::NONE;
use crate::task::{Class, Task, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_flash::MAX_PLANES;

/// Current work of a die, and what waits for it.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) busy: bool,
    pub(super) queued: bool,
    pub(super) class: Class,
    pub(super) count: u8,
    pub(super) pages: [u32; MAX_PLANES],
    /// When GC last let go of it.
    pub(super) collector_end: Time,
    /// When its command began.
    pub(super) since: Time,
    /// Victim blocks of GC in its planes.
    pub(super) collections: u32,
    /// Until when the use of its planes by collections is counted; the end of time if none is under way.
    pub(super) counted: Time,
    /// True if its command has operations of several tasks.
    pub(super) mixed: bool,
    /// Its queues that are not empty.
    pub(super) waiting: Ready,
    /// How long it was busy, by class.
    pub(super) occupied: [Time; CLASSES],
}

impl Default for Die {
    /// A die that has done nothing.
    fn default() -> Self {
        Self {
            busy: false,
            queued: false,
            class: Class::HOST_READ,
            count: 0,
            pages: [NONE; MAX_PLANES],
            collector_end: 0,
            since: 0,
            collections: 0,
            counted: END_OF_TIME,
            mixed: false,
            waiting: Ready::NOTHING,
            occupied: [0; CLASSES],
        }
    }
}

impl Die {
    /// It begins a command of a class.
    #[inline(always)]
    pub(super) fn begin(&mut self, class: Class, now: Time) {
        (self.busy, self.class, self.since) = (true, class, now);
        self.count_from(class, now);
    }

    /// With the first command of GC, the use of its planes counts.
    #[inline(always)]
    pub(super) fn count_from(&mut self, class: Class, now: Time) {
        if class.task() == Task::GC && self.collections > 0 && self.counted == END_OF_TIME {
            self.counted = now;
        }
    }
}
