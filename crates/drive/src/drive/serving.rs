//! The way of a request from the drive to the firmware: it is queued, taken up as the dispatch policy admits, and split into mapping units.

use super::Drive;
use std::ops::Range;
use wordline_base::{Op, Request};
use wordline_firmware::Fault;

impl Drive {
    /// All of a request is in the drive.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, slot: u32) -> Result<(), Fault> {
        if let Some(split) = &mut self.split {
            split.queued(slot, self.now);
        }
        if self.queued.is_empty() && self.kernel.admits(self.in_service) {
            return self.take_up(slot);
        }
        self.queue_up(slot)
    }

    /// A request has to wait until the dispatch policy admits it.
    #[inline(never)]
    fn queue_up(&mut self, slot: u32) -> Result<(), Fault> {
        self.queued.push_back(slot);
        self.dispatch()
    }

    /// Takes up a request that need not wait.
    #[inline(never)]
    fn take_up(&mut self, slot: u32) -> Result<(), Fault> {
        self.in_service += 1;
        if self.starts_straight(slot)? {
            // Where others go with it, they may have found nothing left to do.
            return self.settle();
        }
        self.serve_alone(slot)
    }

    /// Serves a request that nothing shorter is known for.
    #[inline(never)]
    fn serve_alone(&mut self, slot: u32) -> Result<(), Fault> {
        self.serve(slot);
        self.kernel.pump(&mut self.queue)?;
        self.settle()
    }

    /// Starts a read, or a write of parts of units, at once, if it is of one unit or two and nothing is in its way; false if it is to be
    /// served as any other request.
    #[inline(always)]
    fn starts_straight(&mut self, slot: u32) -> Result<bool, Fault> {
        let Request { offset, bytes, op, .. } = self.slots[slot as usize].request;
        if self.split.is_some() {
            return self.starts_straight_noted(slot);
        }
        let (first, skip) = self.unit_at(offset);
        let end = skip + u64::from(bytes);
        if op != Op::Read || end > u64::from(self.plan.unit_bytes) {
            let has_whole_unit = skip == 0 && end >= u64::from(self.plan.unit_bytes);
            if op == Op::Write && has_whole_unit {
                return if !self.buffers {
                    self.writes_whole(slot, first, end)
                } else {
                    Ok(end == u64::from(self.plan.unit_bytes) && self.writes_to_buffer(slot, first)?)
                };
            }
            return self.starts_in_parts(slot, first, (skip, end));
        }
        // If it does not start so, its units are counted anew.
        self.slots[slot as usize].units = 1;
        self.kernel.read_straight(self.now, slot, first, bytes, &mut self.queue)
    }

    /// Starts a read of one unit, or a write of whole units, at once where accounts of requests are kept; false if it is to be served as any
    /// other request.
    #[inline(never)]
    fn starts_straight_noted(&mut self, slot: u32) -> Result<bool, Fault> {
        let Request { offset, bytes, op, .. } = self.slots[slot as usize].request;
        let (first, skip) = self.unit_at(offset);
        let (end, whole) = (skip + u64::from(bytes), u64::from(self.plan.unit_bytes));
        if op == Op::Write && skip == 0 && end >= whole && !self.buffers && self.kernel.is_straight_in_moves_noted() {
            self.begin_way(slot);
            return self.writes_whole(slot, first, end);
        }
        if op != Op::Read || end > whole {
            return Ok(false);
        }
        self.begin_way(slot);
        let started = self.kernel.read_straight_noted(self.now, slot, first, bytes, &mut self.queue)?;
        if started {
            self.slots[slot as usize].units = 1;
        }
        Ok(started)
    }

    /// Begins the account of a request that is taken up, where accounts are kept.
    #[inline]
    fn begin_way(&mut self, slot: u32) {
        if let Some(split) = &mut self.split {
            split.served(slot, self.now);
            self.kernel.begin_way(slot, self.now);
        }
    }

    /// Writes whole units, up to such a byte counted from the start of the first one, where there is no write buffer; false if it is to be served
    /// as any other request.
    #[inline(always)]
    fn writes_whole(&mut self, slot: u32, first: u32, end: u64) -> Result<bool, Fault> {
        let Some(shift) = self.unit_shift.filter(|shift| end & ((1 << shift) - 1) == 0) else { return Ok(false) };
        let units = (end >> shift) as u32;
        if !self.write_units(slot, first..first + units) {
            return Ok(false);
        }
        let state = &mut self.slots[slot as usize];
        (state.units, state.next_unit) = (units, first + units);
        self.kernel.pump(&mut self.queue)?;
        Ok(true)
    }

    /// Writes whole units of a request together, where there is no write buffer; false if they have to be written one by one, and nothing has
    /// happened yet. Nothing ends before the firmware goes on.
    #[inline(always)]
    fn write_units(&mut self, slot: u32, units: Range<u32>) -> bool {
        if self.kernel.is_straight_in_moves() {
            self.kernel.write_straight(self.now, slot, units);
        } else if self.kernel.is_straight_by_stage_in_pages() {
            self.kernel.write_by_stage_in_pages(self.now, slot, units);
        } else if self.kernel.is_straight_in_moves_noted() {
            self.kernel.write_straight(self.now, slot, units);
        } else {
            return false;
        }
        true
    }

    /// Writes a whole unit into the write buffer, if that has room and nothing waits for it; false if it is to be served as any other
    /// request, and nothing has happened yet.
    #[inline(never)]
    fn writes_to_buffer(&mut self, slot: u32, unit: u32) -> Result<bool, Fault> {
        let straight = self.kernel.is_straight_in_moves() && !self.slots[slot as usize].request.fua;
        if !straight || !self.blocked.is_empty() || !self.kernel.buffer().has_room() {
            return Ok(false);
        }
        self.kernel.expect_overwrite(unit);
        if !self.kernel.write_buffered_straight(self.now, unit) {
            return Ok(false);
        }
        self.slots[slot as usize].next_unit = unit + 1;
        self.complete(slot);
        self.kernel.pump(&mut self.queue)?;
        Ok(true)
    }

    /// The same for all but a read of one unit: for bytes from `skip` to `end`, counted from the start of the first unit.
    #[inline(never)]
    fn starts_in_parts(&mut self, slot: u32, first: u32, (skip, end): (u64, u64)) -> Result<bool, Fault> {
        let whole = u64::from(self.plan.unit_bytes);
        let is_two = end > whole;
        let started = match self.slots[slot as usize].request.op {
            Op::Read if end <= 2 * whole => {
                let bytes = [(whole - skip) as u32, (end - whole) as u32];
                self.kernel.read_two_straight(self.now, slot, first, bytes, &mut self.queue)?
            }
            // No unit of it is whole.
            Op::Write if end - skip < whole && !is_two || is_two && skip > 0 && end < 2 * whole => {
                self.kernel.write_parts_straight(self.now, slot, (first, is_two), &mut self.queue)?
            }
            _ => false,
        };
        if started {
            self.slots[slot as usize].units = 1 + u32::from(is_two);
        }
        Ok(started)
    }

    /// Takes queued requests up, as the dispatch policy admits them.
    #[inline]
    pub(super) fn dispatch(&mut self) -> Result<(), Fault> {
        while !self.queued.is_empty() && self.kernel.admits(self.in_service) {
            let slot = self.queued.pop_front().expect("checked");
            self.in_service += 1;
            self.serve(slot);
        }
        self.kernel.pump(&mut self.queue)?;
        self.settle()
    }

    /// Splits a request into mapping units for the firmware.
    #[inline]
    fn serve(&mut self, slot: u32) {
        self.begin_way(slot);
        let request = self.slots[slot as usize].request;
        let unit_bytes = u64::from(self.plan.unit_bytes);
        let (first, skip) = ((request.offset / unit_bytes) as u32, (request.offset % unit_bytes) as u32);
        match request.op {
            Op::Read => {
                let (units, bytes) = self.kernel.read(self.now, slot, first, skip, request.bytes);
                self.slots[slot as usize].units = units;
                // Unwritten and buffered units are returned to the host at once.
                if bytes < request.bytes {
                    self.send(slot, request.bytes - bytes);
                }
                self.complete_if_done(slot);
            }
            Op::Write => {
                let end = (request.offset + u64::from(request.bytes)).div_ceil(unit_bytes) as u32;
                let state = &mut self.slots[slot as usize];
                state.units = end - first;
                state.next_unit = first;
                self.kernel.begin_write(slot);
                if self.blocked.is_empty() && self.write(slot) {
                    self.complete_if_done(slot);
                } else {
                    self.blocked.push_back(slot);
                    self.await_buffer(slot);
                }
            }
            Op::Trim => {
                let start = request.offset.div_ceil(unit_bytes) as u32;
                let end = ((request.offset + u64::from(request.bytes)) / unit_bytes) as u32;
                if end > start {
                    self.kernel.trim(self.now, start, end - start);
                }
                self.complete_if_done(slot);
            }
            Op::Flush => {
                let ordinal = self.kernel.flush(self.now);
                self.slots[slot as usize].ordinal = ordinal;
                if self.kernel.buffer().is_in_flash(ordinal) {
                    self.complete_if_done(slot);
                } else {
                    self.slots[slot as usize].units = 1;
                    self.flushing.push_back(slot);
                    self.kernel.flush_by_deadline(slot, ordinal);
                    self.await_buffer(slot);
                }
            }
        }
    }

    /// Hands a write's units to the firmware while the buffer has room; true when all are handed over.
    #[inline]
    pub(super) fn write(&mut self, slot: u32) -> bool {
        let state = self.slots[slot as usize];
        let unit_bytes = u64::from(self.plan.unit_bytes);
        let (start, end) = (state.request.offset, state.request.offset + u64::from(state.request.bytes));
        let units_end = end.div_ceil(unit_bytes) as u32;
        let (mut unit, mut done) = (state.next_unit, 0);
        let wholes = start.div_ceil(unit_bytes) as u32..(end / unit_bytes) as u32;
        self.kernel.cover(wholes.clone());
        let together = self.kernel.has_stretches() && !state.request.fua;
        let straight = self.kernel.is_straight_in_moves();
        let buffered_straight = straight && self.kernel.buffer().is_used() && !state.request.fua;
        if self.kernel.buffer().is_used() {
            if self.keeps {
                return self.write_or_keep(slot);
            }
        } else if wholes.contains(&unit) && self.write_units(slot, unit..wholes.end) {
            unit = wholes.end;
        }
        while unit < units_end && self.kernel.buffer().has_room() {
            self.kernel.expect_overwrite(unit);
            let whole = wholes.contains(&unit);
            if together && whole && unit + 1 < wholes.end {
                let units = self.kernel.write_stretch(self.now, unit..wholes.end);
                if units > 0 {
                    (unit, done) = (unit + units, done + units);
                    continue;
                }
            }
            if buffered_straight && whole && self.kernel.write_buffered_straight(self.now, unit) {
                (unit, done) = (unit + 1, done + 1);
                continue;
            }
            done += u32::from(self.kernel.write(self.now, slot, unit, whole, state.request.fua));
            unit += 1;
        }
        self.kernel.cover(0..0);
        let state = &mut self.slots[slot as usize];
        state.next_unit = unit;
        state.units -= done;
        unit == units_end
    }
}
