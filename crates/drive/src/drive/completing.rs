//! The end of a request: what the firmware has done is gathered, a read's data go to the host, and the completion after them.

use super::{Completion, Drive, Slot, FINISH, NO_REQUEST};
use crate::metrics::Measured;
use wordline_base::Time;
use wordline_firmware::{Fault, HostDone};

impl Drive {
    /// Carries a read's data to the host.
    #[inline]
    pub(super) fn send(&mut self, slot: u32, bytes: u32) {
        let time = self.time_out(bytes);
        let end = self.wires[usize::from(!self.link.half_duplex)].carry(self.now, time);
        let state = &mut self.slots[slot as usize];
        state.data_end = state.data_end.max(end);
    }

    /// Gathers what the firmware has done, until it has nothing more to say.
    #[inline(always)]
    pub(super) fn settle(&mut self) -> Result<(), Fault> {
        let done = self.kernel.done();
        if done.is_empty() {
            return Ok(());
        }
        match done[..] {
            // Without a write buffer nothing follows from it in the firmware.
            [only] if !self.buffers => {
                done.clear();
                self.deliver(only);
                Ok(())
            }
            _ => self.gather(),
        }
    }

    #[inline(never)]
    pub(super) fn gather(&mut self) -> Result<(), Fault> {
        while !self.kernel.done().is_empty() {
            let mut at = 0;
            while let Some(&done) = self.kernel.done().get(at) {
                at += 1;
                self.deliver(done);
            }
            self.kernel.done().clear();
            if self.buffers && self.follows_in_firmware() {
                self.refill()?;
            }
        }
        Ok(())
    }

    /// True if something may follow in the firmware of a drive with a write buffer from what is done: requests wait for room there, or the
    /// firmware is to go on.
    #[inline]
    pub(super) fn follows_in_firmware(&self) -> bool {
        !self.blocked.is_empty() || !self.flushing.is_empty() || !self.kernel.is_settled()
    }

    /// Units of a request are done in the firmware.
    #[inline(always)]
    pub(super) fn deliver(&mut self, done: HostDone) {
        if let Some(end) = self.deliver_to_end(done) {
            self.queue.push_in_row(end, FINISH, done.request);
        }
    }

    /// The same; tells when the host will have the completion, if the request is done.
    #[inline(always)]
    pub(super) fn deliver_to_end(&mut self, done: HostDone) -> Option<Time> {
        if done.request == NO_REQUEST {
            return None;
        }
        let wire = usize::from(!self.link.half_duplex);
        let time = if done.bytes > 0 { self.time_out(done.bytes) } else { 0 };
        let state = &mut self.slots[done.request as usize];
        if done.bytes > 0 {
            state.data_end = state.data_end.max(self.wires[wire].carry(self.now, time));
        }
        state.units -= done.units;
        state.gc_affected |= done.gc_affected;
        if state.units > 0 {
            return None;
        }
        // All of a request is done: its completion goes to the host once its data are there.
        if let Some(split) = &mut self.split {
            split.done(done.request, self.now);
        }
        // Data went before it on the same wire, so it cannot overtake them.
        let ready = state.data_end.max(self.now);
        let time = self.time_of_completion(ready);
        Some(self.wires[wire].carry(ready, time))
    }

    /// The write buffer has room again: blocked writes go on, and flushes may be done.
    pub(super) fn refill(&mut self) -> Result<(), Fault> {
        self.unblock();
        if self.keeps {
            self.keep_reads();
        }
        while let Some(&slot) = self.flushing.front() {
            if !self.kernel.buffer().is_in_flash(self.slots[slot as usize].ordinal) {
                break;
            }
            self.flushing.pop_front();
            self.slots[slot as usize].units = 0;
            self.end_await_buffer(slot);
            self.complete(slot);
        }
        self.kernel.pump(&mut self.queue)
    }

    /// Writes go on that wait for room in the write buffer, as far as there is some.
    #[inline]
    pub(super) fn unblock(&mut self) {
        while let Some(&slot) = self.blocked.front() {
            if !self.write(slot) {
                break;
            }
            self.blocked.pop_front();
            self.end_await_buffer(slot);
            self.complete_if_done(slot);
        }
    }

    /// A request starts to wait for the write buffer.
    pub(super) fn await_buffer(&mut self, slot: u32) {
        self.slots[slot as usize].blocked = self.now;
        self.kernel.await_buffer(slot, self.now);
    }

    /// Its wait ends: the request was delayed by GC if GC held up the buffer.
    pub(super) fn end_await_buffer(&mut self, slot: u32) {
        let state = &mut self.slots[slot as usize];
        state.gc_affected |= self.kernel.end_await_buffer(slot, state.blocked, self.now);
    }

    #[inline]
    pub(super) fn complete_if_done(&mut self, slot: u32) {
        let state = &self.slots[slot as usize];
        if state.units == 0 {
            self.complete(slot);
        }
    }

    /// All of a request is done, without another word of the firmware.
    #[inline(never)]
    pub(super) fn complete(&mut self, slot: u32) {
        self.deliver(HostDone { request: slot, units: 0, bytes: 0, gc_affected: false });
    }

    /// Who follows requests hears that one has ended, and its account is closed.
    #[inline(never)]
    fn tell_of_end(&mut self, slot: u32) {
        if self.minds_requests {
            self.note_leaving(slot);
        }
        let Self { split: Some(split), kernel, slots, now, .. } = self else { return };
        let way = kernel.way(slot).expect("accounts are kept");
        let Slot { request, submitted, .. } = &slots[slot as usize];
        split.finished(slot, request, *submitted, way, *now);
    }

    /// The request of a slot is among those that are done.
    #[inline(never)]
    fn tell_completion(&mut self, slot: u32) {
        let Slot { request, submitted, gc_affected, .. } = self.slots[slot as usize];
        self.completions.push(Completion { request, time: self.now, submitted, slot, gc_affected });
    }

    /// The host has the completion: the slot is free.
    #[inline]
    pub(super) fn finish(&mut self, slot: u32) -> Result<(), Fault> {
        // Its parts one by one: all of it would be copied.
        let state = &self.slots[slot as usize];
        let (arrival, stream) = (state.request.arrival, state.request.stream);
        let measured = Measured {
            op: state.request.op,
            bytes: state.request.bytes,
            offset: state.request.offset,
            latency: self.now - arrival,
            waiting: state.submitted - arrival,
            gc_affected: state.gc_affected,
        };
        let queue = self.queue_of(stream);
        self.free_slots[queue].push(slot);
        self.in_service -= 1;
        if self.minds_ends {
            self.tell_of_end(slot);
        }
        let counters = self.kernel.counters();
        let (programs, units) = (counters.programmed, counters.host_units);
        if units >= self.rounds.due {
            self.rounds.end(counters);
        }
        self.metrics.record(self.now, &measured, programs, units, self.kernel.blocks().free_blocks());
        if !self.untold {
            self.tell_completion(slot);
        }
        if self.queued.is_empty() {
            return Ok(());
        }
        self.dispatch()
    }
}
