//! Deadlines of operations in the commit stage, for a dispatch policy that has any.
//!
//! Operations of a request have its deadline. What nobody waits for (buffered writes, the mapping table, background tasks) has one
//! from when it became ready; a flush moves those of the buffered writes before it up to its own.

use super::stage::Queue;
use super::Kernel;
use crate::ops::{Fifo, FlashOp, Role, Slab, NONE};
use crate::policy::dispatch::{Due, Limits};
use crate::policy::placement::Constraint;
use crate::task::{Action, Class};
use std::collections::VecDeque;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};

/// Deadlines of a drive.
#[derive(Clone, Debug)]
pub(super) struct Deadlines {
    pub limits: Limits,
    /// By request: when it should be complete.
    requests: Vec<Time>,
    /// Flushes, the oldest first: the last buffered write before each, and when it should be complete.
    flushes: VecDeque<(u64, Time)>,
}

impl Deadlines {
    /// No request is in the drive.
    pub fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), requests: Vec::new(), flushes: VecDeque::new() }
    }

    /// When an operation should be done.
    fn of(&self, op: &FlashOp) -> Time {
        if !op.class.is_host() {
            return op.ready.saturating_add(self.limits.background);
        }
        let kind = if op.buffered || op.class.is_write() { Op::Write } else { Op::Read };
        let own = match op.role {
            Role::Plain | Role::Merge | Role::Change if op.owner != NONE => self.request(op.owner),
            _ => op.ready.saturating_add(self.limits.by_kind[kind as usize].unwrap_or(END_OF_TIME)),
        };
        if !op.buffered || self.flushes.is_empty() {
            return own;
        }
        let flush = self.flushes.partition_point(|&(last, _)| last < op.ordinal);
        self.flushes.get(flush).map_or(own, |&(_, due)| own.min(due))
    }

    fn request(&self, number: u32) -> Time {
        self.requests.get(number as usize).copied().unwrap_or(END_OF_TIME)
    }

    /// Puts an operation into a queue, before those that should be done later if they may change places; true if it is the first of others.
    pub fn push(&self, fifo: &mut Fifo, slab: &mut Slab, slot: u32) -> bool {
        let op = *slab.get(slot);
        // Buffered writes and those that need old data stay in order.
        let moves =
            op.class == Class::HOST_READ || (op.class == Class::HOST_WRITE && !op.buffered && op.role == Role::Plain);
        if !moves {
            fifo.push(slab, slot);
            return false;
        }
        let due = self.of(&op);
        fifo.push_before(slab, slot, |other| self.of(other) > due)
    }
}

impl Kernel {
    /// The deadlines of requests, if they have any.
    #[must_use]
    pub fn deadlines(&self) -> Option<&Limits> {
        self.deadlines.as_ref().map(|deadlines| &deadlines.limits)
    }

    /// A request comes, with a number of its own among those in the drive.
    #[cold]
    pub fn expect_by_deadline(&mut self, number: u32, request: &Request) {
        let Some(deadlines) = &mut self.deadlines else { return };
        let due = deadlines.limits.of(request).map_or(END_OF_TIME, |limit| request.arrival.saturating_add(limit));
        let number = number as usize;
        if deadlines.requests.len() <= number {
            deadlines.requests.resize(number + 1, END_OF_TIME);
        }
        deadlines.requests[number] = due;
    }

    /// A flush with such a number waits for the buffered writes up to an ordinal.
    #[cold]
    pub fn flush_by_deadline(&mut self, number: u32, ordinal: u64) {
        let Some(deadlines) = &mut self.deadlines else { return };
        while deadlines.flushes.front().is_some_and(|&(last, _)| self.buffer.is_in_flash(last)) {
            deadlines.flushes.pop_front();
        }
        let due = deadlines.request(number);
        // A later flush may have to be done earlier, and waits for what an older one waits for.
        deadlines.flushes.iter_mut().for_each(|(_, other)| *other = due.min(*other));
        match deadlines.flushes.back_mut() {
            Some((last, _)) if *last == ordinal => {}
            _ => deadlines.flushes.push_back((ordinal, due)),
        }
    }

    /// How urgent the first operation of a queue of the stage is.
    pub(super) fn due(&self, deadlines: &Deadlines, queue: &Queue) -> Due {
        let Queue { class, place, fifo, .. } = *queue;
        let due = deadlines.of(self.slab.get(fifo.head)).min(END_OF_TIME - 1);
        let operations = match (place, class.action()) {
            // The others may go elsewhere.
            (Constraint::Any | Constraint::Channel(_), _) => 1,
            (_, Action::Program) => fifo.len.div_ceil(self.plan.units_per_program),
            _ => fifo.len,
        };
        Due { left: due as i64 - self.now as i64, operations }
    }
}
