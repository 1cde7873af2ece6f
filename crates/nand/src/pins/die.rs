//! A die (LUN) as its pins show it: its position in a sequence, its busy times, and the work of its array.

use super::decode::{self, Condition, Mode};
use super::error::Reason;
use super::registers::Registers;
use super::status;
use crate::cells::Violation;
use crate::geometry::{PackageGeometry, PageAddress};
use wordline_base::Time;

/// Array work that a RESET would abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Program,
    Erase,
}

/// A program or erase in the array, or waiting for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) task: Task,
    pub(crate) pages: Vec<PageAddress>,
    pub(crate) end: Time,
    /// True if it can be suspended: not in cache mode, and no copyback.
    pub(crate) alone: bool,
}

/// The state of a die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Die {
    pub(crate) mode: Mode,
    pub(crate) ready_at: Time,
    pub(crate) array_at: Time,
    /// End of the last RESET.
    pub(crate) reset_until: Time,
    pub(crate) works: Vec<Work>,
    /// The suspended work, and its remaining time.
    pub(crate) suspended: Option<(Work, Time)>,
    /// Queued planes of an incomplete command.
    pub(crate) queue: Vec<PageAddress>,
    /// Pages of the last read, whose data are in the registers; the sources of a copyback.
    pub(crate) read: Vec<PageAddress>,
    /// Pages of the last cache program, while the array is busy.
    pub(crate) cached: Vec<PageAddress>,
    pub(crate) planes: Vec<Registers>,
    /// The plane that is selected for output.
    pub(crate) plane: Option<u32>,
    /// The next column to output.
    pub(crate) column: u32,
    pub(crate) failed: bool,
    pub(crate) failed_before: bool,
}

impl Die {
    pub(crate) fn new(geometry: &PackageGeometry) -> Self {
        Self {
            mode: Mode::Idle,
            ready_at: 0,
            array_at: 0,
            reset_until: 0,
            works: Vec::new(),
            suspended: None,
            queue: Vec::new(),
            read: Vec::new(),
            cached: Vec::new(),
            planes: vec![Registers::new(geometry.page_bytes); geometry.planes as usize],
            plane: None,
            column: 0,
            failed: false,
            failed_before: false,
        }
    }

    /// Removes finished work.
    pub(crate) fn advance(&mut self, now: Time) {
        self.works.retain(|work| work.end > now);
        self.mode = self.mode_at(now);
        if self.array_at <= now {
            self.cached.clear();
        }
    }

    /// Its mode at a time: a cache program without a follower ends with its array work.
    fn mode_at(&self, now: Time) -> Mode {
        if self.mode == Mode::CacheProgram && self.array_at <= now {
            Mode::Idle
        } else {
            self.mode
        }
    }

    pub(crate) fn lines(&self, now: Time) -> status::Lines {
        let ready = now >= self.ready_at;
        status::Lines { ready, array_ready: ready && now >= self.array_at }
    }

    pub(crate) fn condition(&self, now: Time) -> Condition {
        let status::Lines { ready, array_ready } = self.lines(now);
        Condition {
            mode: self.mode_at(now),
            ready,
            array_ready,
            suspended: self.suspended.is_some(),
            failed: self.failed,
        }
    }

    /// The status register.
    pub(crate) fn status(&self, now: Time, write_protected: bool) -> u8 {
        let lines = self.lines(now);
        let bits = [
            (self.failed, status::FAIL),
            (self.failed_before, status::FAILC),
            (self.suspended.is_some(), status::CSP),
            (lines.array_ready, status::ARDY),
            (lines.ready, status::RDY),
            (!write_protected, status::WP_N),
        ];
        bits.iter().filter(|(set, _)| *set).fold(0, |status, (_, bit)| status | bit)
    }

    /// Checks that it accepts `command`, a known one.
    pub(crate) fn takes(&self, command: u8, now: Time) -> Result<(), Reason> {
        if decode::is_always(command) {
            return Ok(());
        }
        if self.failed {
            return Err(Reason::Failed);
        }
        if now < self.ready_at {
            return match command {
                0x84 => self.suspendable(Task::Program),
                0x61 => self.suspendable(Task::Erase),
                _ => Err(Reason::Busy { until: self.ready_at }),
            };
        }
        let taken = match &self.suspended {
            None => self.mode_at(now).opening().contains(&command),
            Some((work, _)) => {
                let resume = if work.task == Task::Erase { 0xd2 } else { 0x13 };
                // A read with a missing plane is still in progress.
                let resumes = command == resume && !matches!(self.mode, Mode::ReadQueued { .. });
                resumes || self.mode.opening_aside().contains(&command)
            }
        };
        if taken {
            Ok(())
        } else {
            Err(Reason::OutOfSequence)
        }
    }

    fn suspendable(&self, task: Task) -> Result<(), Reason> {
        match self.works.as_slice() {
            [work] if work.task == task && work.alone => Ok(()),
            _ => Err(Reason::NotSuspendable),
        }
    }

    /// True if it is idle as required by commands for the whole package.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.lines(now).array_ready && self.mode_at(now).is_free() && self.suspended.is_none()
    }

    /// The plane addressing rule: another plane of the same command, at the same page offset unless it is an erase.
    pub(crate) fn joins(&self, die: u32, at: PageAddress, same_offset: bool) -> Result<(), Violation> {
        let clash = self.queue.iter().find(|other| other.plane == at.plane || (same_offset && other.page != at.page));
        clash.map_or(Ok(()), |other| {
            Err(Violation::PlaneAddressing {
                die,
                plane: at.plane,
                page: at.page,
                other_plane: other.plane,
                other_page: other.page,
            })
        })
    }

    /// True if a page cannot be read because of the suspended command.
    pub(crate) fn is_held_back(&self, at: PageAddress) -> bool {
        self.suspended.as_ref().is_some_and(|(work, _)| {
            let touches = |page: &PageAddress| {
                (page.plane, page.block) == (at.plane, at.block) && (work.task == Task::Erase || page.page == at.page)
            };
            work.pages.iter().any(touches)
        })
    }

    /// Ends the current sequence.
    pub(crate) fn leave(&mut self, mode: Mode) {
        self.mode = mode;
        self.queue.clear();
        self.read.clear();
        self.plane = None;
        self.column = 0;
    }
}

/// True if two lists of pages have the same planes in the same order.
pub(crate) fn same_planes(a: &[PageAddress], b: &[PageAddress]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.plane == b.plane)
}
