//! What commands are for, told to whoever looks on: who draws a timeline of the flash, and who follows requests through it.

use super::Kernel;
use crate::ops::{FlashOp, NONE};
use crate::policy::arbiter::{Class, CLASSES};
use wordline_base::Time;
use wordline_flash::{Kind, Logged, MAX_PLANES};

/// A command that has begun, and a request that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The lane of the flash that runs it.
    pub lane: u32,
    /// Its number, in the order of the starts.
    pub command: u64,
    /// Whose command it is.
    pub class: Class,
    /// The request, as the drive numbered it; none for the collector's, and for data that were acknowledged before.
    pub request: Option<u32>,
}

/// A step in the life of commands and of the host's operations, in the order of happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// A lane has begun a command. The operations that it carries follow.
    Begun {
        /// The lane of the flash.
        lane: u32,
        /// The number of the command.
        command: u64,
        /// Whose command it is.
        class: Class,
        /// What it does: a copyback counts as a read and a program.
        kind: Kind,
        /// The planes that take part, as bits.
        planes: u8,
    },
    /// The command begun last carries an operation of the host.
    Bound {
        /// The operation; its number is used again when it has ended.
        operation: u32,
        /// The request, as the drive numbered it; none if its data were acknowledged before.
        request: Option<u32>,
        /// Since when it has waited, in picoseconds.
        ready: Time,
    },
    /// A die has nothing more to do.
    Idle {
        /// The die.
        die: u32,
    },
    /// An operation of the host has left its command; the old data for a partial write, or all that was asked for.
    Ended {
        /// The operation.
        operation: u32,
        /// The request, if it is still waited for.
        request: Option<u32>,
        /// Whether it goes on as a write, with the same number.
        goes_on: bool,
        /// Bytes that it read for the host.
        bytes: u32,
        /// Whether it waited for a die that the collector held.
        gc_affected: bool,
    },
}

/// What is noted for those who look on.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    wants: Noting,
    services: Vec<Service>,
    passages: Vec<Passage>,
}

/// What to note of what the flash does, beside its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noting {
    /// Whom each command serves.
    pub services: bool,
    /// Every step of commands and operations.
    pub passages: bool,
}

/// What was noted since the last look.
#[derive(Debug)]
pub struct Noted<'a> {
    /// Whom the commands serve that have begun.
    pub services: &'a mut Vec<Service>,
    /// The steps of commands and operations.
    pub passages: &'a mut Vec<Passage>,
    /// What the dies did. A command is told before its entries.
    pub entries: &'a mut Vec<Logged>,
}

impl Kernel {
    /// Starts or ends recording what the flash does, and for whom.
    pub fn record(&mut self, noting: Noting) {
        let on = noting.services || noting.passages;
        if on != self.notes.is_some() {
            self.flash.record(on);
        }
        self.notes = on.then(|| Box::new(Notes { wants: noting, ..Notes::default() }));
    }

    /// What is noted now.
    #[must_use]
    pub fn noting(&self) -> Noting {
        self.notes.as_ref().map_or(Noting::default(), |notes| notes.wants)
    }

    /// What was noted since the last call, if anything is; the caller drains it.
    pub fn noted(&mut self) -> Option<Noted<'_>> {
        let notes = self.notes.as_mut()?;
        let entries = self.flash.recorded()?;
        Some(Noted { services: &mut notes.services, passages: &mut notes.passages, entries })
    }

    /// How long a die has been taken by commands of each class up to `at`, which is neither before its last event nor after its next:
    /// from the start of a command to its end, waiting for the bus included. Reads beside a suspended command count as that command.
    #[must_use]
    pub fn occupied(&self, die: u32, at: Time) -> [Time; CLASSES] {
        let state = &self.dies[die as usize];
        let mut times = state.occupied;
        if state.busy && self.timed {
            times[state.class as usize] += at - state.since;
        }
        times
    }

    /// Whether dies work in cache mode.
    #[must_use]
    pub fn caches(&self) -> bool {
        self.pack.cache().is_some()
    }

    /// Notes whom the command serves that a lane has just begun with the operations `pages`; once if for no request.
    #[cold]
    pub(super) fn witness(&mut self, lane: u32, class: Class, (count, pages): (u8, [u32; MAX_PLANES])) {
        let command = self.flash.command_number(lane);
        let Some(notes) = &mut self.notes else { return };
        let first = notes.services.len();
        if notes.wants.services {
            notes.services.push(Service { lane, command, class, request: None });
        }
        if notes.wants.passages {
            let planes = self.command.pages().iter().fold(0, |planes, page| planes | 1 << page.plane);
            notes.passages.push(Passage::Begun { lane, command, class, kind: self.command.kind, planes });
        }
        for &page in pages.iter().take(usize::from(count)).filter(|_| class.is_host()) {
            let mut operation = page;
            while operation != NONE {
                let op = self.slab.get(operation);
                let request = (op.owner != NONE).then_some(op.owner);
                let served = Service { lane, command, class, request };
                if notes.wants.services && request.is_some() && !notes.services[first..].contains(&served) {
                    notes.services.push(served);
                }
                if notes.wants.passages {
                    notes.passages.push(Passage::Bound { operation, request, ready: op.ready });
                }
                operation = op.next;
            }
        }
    }

    /// Notes that an operation of the host has left its command.
    #[cold]
    pub(super) fn witness_end(&mut self, operation: u32, op: &FlashOp, goes_on: bool, gc_affected: bool) {
        let request = (op.owner != NONE).then_some(op.owner);
        let bytes = if goes_on || op.class != Class::HostRead { 0 } else { op.bytes };
        self.pass(Passage::Ended { operation, request, goes_on, bytes, gc_affected });
    }

    /// Notes a step.
    #[cold]
    pub(super) fn pass(&mut self, passage: Passage) {
        if let Some(notes) = self.notes.as_mut().filter(|notes| notes.wants.passages) {
            notes.passages.push(passage);
        }
    }
}
