//! The straight way of programs and moves where accounts of requests are kept.
//!
//! As in `straight_moves`, with what the accounts are told at the same moments as on the general path: when a command ends, and before
//! and after the next one begins.

use super::ready::Ready;
use super::straight_pages::Seat;
use super::{Fault, HostDone, Kernel};
use crate::ops::NONE;
use crate::task::{Action, Class, Task};
use wordline_base::EventQueue;
use wordline_flash::Kind;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

impl Kernel {
    /// As [`Kernel::moves_straight`], where accounts of requests are kept and nothing else is noted.
    pub(super) fn moves_straight_noted(&self) -> bool {
        self.goes_straight_noted() && self.would_move_straight()
    }

    /// As [`Kernel::moves_pages`].
    pub(super) fn moves_pages_noted(&self) -> bool {
        self.would_move_pages() && self.moves_straight_noted()
    }

    /// True if programs and moves go straight while accounts of requests are kept.
    #[must_use]
    pub fn is_straight_in_moves_noted(&self) -> bool {
        self.straight_moves_noted
    }

    /// Ends the command of a class of a die, as [`Kernel::end_move_straight`] would; false if it has to take the general path, and nothing has
    /// happened yet.
    #[inline(always)]
    pub(super) fn end_move_noted(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if !matches!(class, Class::HOST_READ | Class::HOST_WRITE | GC_READ | GC_WRITE) {
            return Ok(false);
        }
        self.leave_history(die);
        let by_page = self.straight_pages_noted && self.dies[die as usize].count == 1;
        match class {
            Class::HOST_READ => self.end_reads(die),
            Class::HOST_WRITE => self.end_program_noted(die),
            GC_READ if by_page => self.end_page_read(die),
            GC_READ => self.end_moved_read(die),
            _ if by_page => self.end_moved_page(die),
            _ => self.end_moved_program(die),
        }
        self.go_on_noted(die, queue)?;
        Ok(true)
    }

    /// The program of a die with units of the host has ended, as [`Kernel::end_program`].
    #[inline(never)]
    fn end_program_noted(&mut self, die: u32) {
        let left = self.leave_die(die, Class::HOST_WRITE);
        // Neighbours of one request are told to it together.
        let mut done = HostDone { request: NONE, units: 0, bytes: 0, gc_affected: false };
        for &first in left.slots() {
            let mut slot = first;
            while slot != NONE {
                let op = self.slab.take(slot);
                let units = u32::from(op.units);
                let gc_affected = op.delayed || op.ready < left.collector_end();
                self.witness_end(slot, &op, false, gc_affected);
                if op.buffered {
                    self.buffer.leave(op.held, op.ordinal, units);
                    self.more_units -= units - 1;
                }
                if op.owner != done.request && done.units > 0 {
                    self.done.push(done);
                    (done.units, done.gc_affected) = (0, false);
                }
                done.request = op.owner;
                done.units += units;
                done.gc_affected |= gc_affected;
                slot = op.next;
            }
        }
        self.done.push(done);
    }

    /// A command of a die has ended: its oldest operation starts, and what other dies may have to do is looked at.
    #[inline(always)]
    pub(super) fn go_on_noted(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.dirty.is_empty() {
            self.dispatch_noted(die, queue)?;
        } else {
            self.mark(die);
        }
        self.run_noted(queue)
    }

    /// Programs a page for the oldest operation that waits for a die, as [`Kernel::dispatch_page`] would; false if it has to be looked at, and
    /// nothing has happened yet.
    #[inline(always)]
    fn program_page_noted(&mut self, die: u32, waiting: u64, queue: &mut EventQueue) -> Result<bool, Fault> {
        let first = die * self.planes_per_die.get();
        let bit = self.oldest_bit(first, waiting);
        let (class, at) = Ready::of_bit(bit);
        let seat = Seat { die, at, plane: first + at, others: Ready::planes_of(waiting & !(1 << bit), class) };
        match class {
            GC_WRITE => self.program_moved_page::<true>(seat, queue),
            Class::HOST_WRITE => self.program_page_of_host::<false, true>(seat, queue),
            _ => Ok(false),
        }
    }

    /// As [`Kernel::run_noted`], apart, so that drives without accounts need not care.
    #[cold]
    #[inline(never)]
    pub(super) fn run_apart(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        self.run_noted(queue)
    }

    /// As [`Kernel::run_straight`].
    #[inline(always)]
    fn run_noted(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        while let Some(die) = self.dirty.pop_front() {
            self.dies[die as usize].queued = false;
            if !self.dies[die as usize].busy {
                self.dispatch_noted(die, queue)?;
            }
        }
        // Of what `is_quiet` looks at, the rest is for other drives.
        if !((self.stalled && self.busy == 0) | self.shared_dirty) && self.fault.is_none() {
            return Ok(());
        }
        self.run(queue)
    }

    /// As [`Kernel::dispatch`] for an idle die, where mostly reads and writes of host and GC wait, each for a plane.
    #[inline(never)]
    fn dispatch_noted(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = &self.dies[die as usize];
        debug_assert!(!state.busy, "it looks for work");
        let Some(waiting) = state.waiting.of_host_and_gc().filter(|_| self.shared_count == 0) else {
            self.dispatch(die, queue)?;
            return Ok(());
        };
        if waiting == 0 || (self.straight_pages_noted && self.program_page_noted(die, waiting, queue)?) {
            return Ok(());
        }
        let Some((class, plane)) = self.oldest_in_plane::<false>(die, waiting) else { return Ok(()) };
        let others = Ready::planes_of(waiting, class) & !(1 << self.planes_per_die.remainder(plane));
        match class {
            Class::HOST_READ | GC_READ if self.leads_current(plane, class) => {
                self.busy += 1;
                self.hear_next(class);
                self.start_next_read(die, plane, class, others, queue)?;
                self.witness_begun(die, class);
                return Ok(());
            }
            Class::HOST_READ => self.reroute_oldest(plane),
            Class::HOST_WRITE | GC_WRITE => {
                self.command.clear(Kind::Program);
                self.bind_writes(die, plane, class, others)?;
                if self.command.planes() > 0 {
                    self.hear_next(class);
                    self.begin_straight(die, class, queue)?;
                    self.witness_begun(die, class);
                    return Ok(());
                }
            }
            _ => {}
        }
        // An erase, or operations that had become void.
        self.dispatch(die, queue)?;
        Ok(())
    }
}
