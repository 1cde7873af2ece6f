//! The straight way of plain reads where accounts of requests are kept.
//!
//! As in `straight`, with what the accounts are told at the same moments as on the general path. Commands of other kinds take that
//! path.

use super::straight::Spot;
use super::{Fault, Kernel};
use crate::ops::FlashOp;
use crate::task::{Class, CLASSES};
use wordline_base::{EventQueue, Time};

impl Kernel {
    /// As [`Kernel::goes_straight`], where accounts of requests are kept and nothing else is noted.
    pub(super) fn goes_straight_noted(&self) -> bool {
        self.keeps_accounts_only() && self.stage.is_none() && self.would_go_straight()
    }

    /// As [`Kernel::read_straight`], where accounts of requests are kept: the request is one that has begun its way.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(never)]
    pub fn read_straight_noted(
        &mut self,
        now: Time,
        request: u32,
        unit: u32,
        bytes: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight_noted || self.buffer.holds(unit) || !self.is_quiet_straight() {
            return Ok(false);
        }
        let Some(Spot { source, plane, die, busy, .. }) = self.spot_of(unit) else { return Ok(false) };
        self.now = now;
        self.sequence += 1;
        let (ready, sequence) = (now, self.sequence);
        let read = FlashOp { unit, owner: request, bytes, ready, sequence, source, ..FlashOp::default() };
        self.queues[plane as usize * CLASSES + Class::HOST_READ.index()].push_new(&mut self.slab, read);
        let at = plane - die * self.planes_per_die.get();
        self.dies[die as usize].waiting.set(Class::HOST_READ, at);
        if !busy {
            self.busy += 1;
            self.start_read_noted(die, at, 0, queue)?;
        }
        Ok(true)
    }

    /// Ends the command of a die that has read for the host, as [`Kernel::end_straight`] would, where accounts of requests are kept; false if it
    /// has to take the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(never)]
    pub(super) fn end_noted(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let slot = self.dies[die as usize].pages[0];
        let op = *self.slab.get(slot);
        // What comes next is looked up once this one is told.
        let Some((done, _)) = self.end_lone_read(die, false) else { return Ok(false) };
        self.witness_idle(die);
        self.witness_end(slot, &op, false, done.gc_affected);
        self.done.push(done);
        let quiet = self.shared_count == 0 && self.is_quiet_straight();
        let waiting = self.dies[die as usize].waiting.only_host_reads().filter(|_| quiet);
        if waiting == Some(0) && !self.stalled {
            return Ok(true);
        }
        if let Some((at, others)) = waiting.and_then(|planes| self.oldest_plain_read(die, planes)) {
            self.busy += 1;
            self.start_read_noted(die, at, others, queue)?;
            return Ok(true);
        }
        self.mark(die);
        self.pump(queue)?;
        Ok(true)
    }

    /// The plane of a die with the oldest read of the host, and the others where some wait, as bits; none if it has to be looked at.
    fn oldest_plain_read(&self, die: u32, planes: u32) -> Option<(u32, u32)> {
        if planes == 0 {
            return None;
        }
        let first = die * self.planes_per_die.get();
        let at = if planes.is_power_of_two() { planes.trailing_zeros() } else { self.oldest_bit(first, planes.into()) };
        let head = self.queues[(first + at) as usize * CLASSES + Class::HOST_READ.index()].head;
        self.is_current(self.slab.get(head)).then_some((at, planes & !(1 << at)))
    }

    /// Starts the oldest read of the host that waits for a plane of a die, with partners of other planes, as bits. The die counts as one
    /// that works.
    fn start_read_noted(&mut self, die: u32, at: u32, others: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let class = Class::HOST_READ;
        let plane = die * self.planes_per_die.get() + at;
        self.foresee(class, None);
        self.start_next_read(die, plane, class, others, queue)?;
        let state = &self.dies[die as usize];
        self.witness(die, class, (state.count, state.pages));
        Ok(())
    }
}
