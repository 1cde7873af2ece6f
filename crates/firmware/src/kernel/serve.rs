//! Requests of the host, split into units: reads, writes and TRIM become operations, or wait for their entries of the
//! mapping table.

use super::Kernel;
use crate::buffer::Buffer;
use crate::map::Place;
use crate::ops::{FlashOp, Role, NONE};
use crate::task::Class;
use wordline_base::Time;

/// Consecutive units of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub first: u32,
    /// The unit after the last.
    pub end: u32,
    /// Bytes of the first unit that are not read.
    pub skip: u32,
    /// Bytes in all.
    pub bytes: u32,
}

impl Kernel {
    /// Reads `bytes` from byte `skip` of unit `first` on, for a request; returns the units and bytes that wait for
    /// flash. The others are unwritten or still in the write buffer.
    #[inline]
    pub fn read(&mut self, now: Time, request: u32, first: u32, skip: u32, bytes: u32) -> (u32, u32) {
        self.now = now;
        let whole = Span { first, end: first + (skip + bytes).div_ceil(self.plan.unit_bytes), skip, bytes };
        let like = FlashOp { class: Class::HOST_READ, owner: request, ..FlashOp::default() };
        if self.table.is_some() {
            self.read_by_map(whole, &like)
        } else {
            self.read_span(whole, &like, None)
        }
    }

    /// Reads units whose entries are known, with operations like the one given; returns the units and bytes that wait
    /// for flash. They waited for their entries since the time given.
    #[inline]
    pub(super) fn read_span(&mut self, span: Span, like: &FlashOp, since: Option<Time>) -> (u32, u32) {
        let unit_bytes = self.plan.unit_bytes;
        let (mut units_waiting, mut bytes_waiting) = (0, 0);
        let Span { first: mut at, end, mut skip, bytes: mut left } = span;
        while at < end {
            let place = if self.buffer.holds(at) {
                if self.shelf.is_some() {
                    self.note_read(at);
                }
                None
            } else {
                self.map.place(at)
            };
            let units = place.map_or(1, |place| self.run_in_page(at, end, place));
            let share = (units * unit_bytes - skip).min(left);
            if let Some(place) = place {
                let op = FlashOp { unit: at, units: units as u16, source: place, bytes: share, ..*like };
                if self.straight_by_stage {
                    self.queue_read(place, op);
                } else {
                    let op = self.slab.insert(op);
                    if let Some(since) = since {
                        self.witness_lookup(op, since);
                    }
                    if self.detours {
                        self.comes_alone = units_waiting == 0 && at + units == end && since.is_none();
                    }
                    self.enqueue(op);
                    self.comes_alone = false;
                }
                units_waiting += units;
                bytes_waiting += share;
            }
            left -= share;
            skip = 0;
            at += units;
        }
        (units_waiting, bytes_waiting)
    }

    /// As [`Kernel::read_span`] for units that the write buffer does not hold, on drives whose reads go straight through the stage.
    pub(super) fn read_by_stage(&mut self, span: Span, like: &FlashOp) -> (u32, u32) {
        let (unit_bytes, units_per_page) = (self.plan.unit_bytes, self.plan.units_per_page);
        let (mut units_waiting, mut bytes_waiting) = (0, 0);
        let Span { first: mut at, end, mut skip, bytes: mut left } = span;
        while at < end {
            let mut units = 1;
            let place = self.map.place(at);
            if let Some(place) = place.filter(|_| units_per_page > 1) {
                let page = place - self.units_per_page.remainder(place);
                let lies_there = |other: Place| other.wrapping_sub(page) < units_per_page;
                while at + units < end && self.map.place(at + units).is_some_and(lies_there) {
                    units += 1;
                }
            }
            let share = (units * unit_bytes - skip).min(left);
            if let Some(place) = place {
                self.queue_read(place, FlashOp { unit: at, units: units as u16, source: place, bytes: share, ..*like });
                units_waiting += units;
                bytes_waiting += share;
            }
            left -= share;
            skip = 0;
            at += units;
        }
        (units_waiting, bytes_waiting)
    }

    /// How many units from `first` on lie in the page of `place`.
    #[inline]
    fn run_in_page(&self, first: u32, end: u32, place: Place) -> u32 {
        let units_per_page = self.plan.units_per_page;
        let mut units = 1;
        if units_per_page > 1 {
            let page = place - self.units_per_page.remainder(place);
            let lies_there = |other: Place| other.wrapping_sub(page) < units_per_page;
            while first + units < end
                && self.map.place(first + units).is_some_and(lies_there)
                && !self.buffer.holds(first + units)
            {
                units += 1;
            }
        }
        units
    }

    /// The write buffer, to look at.
    #[inline]
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Writes a unit for a request; `whole` is true if all its bytes are given. True if the host need not wait for it,
    /// because it stays in the write buffer; `through` forbids that (FUA).
    #[inline]
    pub fn write(&mut self, now: Time, request: u32, unit: u32, whole: bool, through: bool) -> bool {
        self.now = now;
        self.counters.host_units += 1;
        let mut op = FlashOp { class: Class::HOST_WRITE, unit, owner: request, ..FlashOp::default() };
        if let Some(shadow) = &mut self.shadow {
            op.stamp = shadow.version();
        }
        let buffered = self.buffer.is_used();
        if buffered && self.absorb(unit, request, op.stamp, through) {
            return !through;
        }
        if buffered {
            (op.ordinal, op.held) = self.buffer.take(unit);
            op.buffered = true;
            if through {
                self.buffer.hurry(op.ordinal);
            } else {
                op.owner = NONE;
            }
        }
        self.hand_on(op, whole);
        buffered && !through
    }

    /// A write of a unit goes on its way, after its old data have been read if it needs them.
    #[inline(always)]
    pub(super) fn hand_on(&mut self, mut op: FlashOp, whole: bool) {
        let FlashOp { unit, buffered, .. } = op;
        if !whole {
            op.role = Role::Merge;
        } else if self.parity.is_some() && self.needs_old(unit) {
            op.role = Role::Change;
        }
        if let Some(after) = self.after.as_mut().filter(|_| !buffered && self.timed) {
            op.ordinal = after.write_comes(unit);
        }
        let known = self.table.is_none() || self.finds_entries(unit, 1);
        if known {
            self.aim_write(&mut op);
        }
        let slot = self.slab.insert(op);
        if buffered {
            self.buffer.pend(op.held, 1, slot);
        }
        if known {
            self.enqueue(slot);
        } else {
            self.await_entry(slot);
        }
    }

    /// A write that needs its old data reads them first, if there are any.
    #[inline]
    pub(super) fn aim_write(&self, op: &mut FlashOp) {
        if !op.is_of_overwriting() {
            return;
        }
        match self.map.place(op.unit).filter(|_| op.units > 0) {
            Some(place) => {
                op.class = Class::HOST_READ;
                op.source = place;
                op.bytes = self.plan.unit_bytes;
            }
            None => op.role = Role::Plain,
        }
    }

    /// A write of a unit that still waits in the buffer replaces what waits there; false if nothing does.
    fn absorb(&mut self, unit: u32, request: u32, stamp: u32, through: bool) -> bool {
        let Some(mut slot) = self.buffer.pending(unit) else { return false };
        if through || self.shadow.is_some() {
            slot = self.alone(slot, unit);
        }
        let op = self.slab.get_mut(slot);
        if through && op.owner != NONE {
            // Two FUA writes of one unit at a time: each answers for itself.
            return false;
        }
        op.stamp = stamp;
        // A trimmed unit is written again; its removal was counted already.
        if op.units == 0 {
            op.units = 1;
        } else {
            self.counters.absorbed_units += 1;
        }
        if through {
            op.owner = request;
            let ordinal = op.ordinal;
            self.buffer.hurry(ordinal);
            self.push_out();
        }
        true
    }

    /// Takes the units `first..first + count` from the host.
    pub fn trim(&mut self, now: Time, first: u32, count: u32) {
        self.now = now;
        if !self.trim.invalidates(first, count) {
            return;
        }
        if self.shelf.is_some() {
            (first..first + count).for_each(|unit| self.forget_kept(unit));
        }
        for unit in first..first + count {
            if let Some(slot) = self.buffer.pending(unit) {
                // It still waits in the buffer: it leaves without being written.
                let slot = self.alone(slot, unit);
                let op = self.slab.get_mut(slot);
                self.counters.absorbed_units += u64::from(op.units);
                op.units = 0;
            }
            if let Some(place) = self.map.unbind(unit) {
                self.invalidate(place);
                if self.table.is_some() {
                    self.entry_given_back(unit, first..first + count);
                }
                if self.parity.is_some() {
                    self.parity_of_trimmed(unit, &(first..first + count));
                }
            }
            if let Some(shadow) = &mut self.shadow {
                shadow.forget(unit);
            }
            if let Some(lots) = &mut self.lots {
                lots.mark(lots.of_unit(unit));
            }
        }
    }

    /// All units that are buffered now have to go to flash whatever company they have; gives the ordinal of the newest.
    pub fn flush(&mut self, now: Time) -> u64 {
        self.now = now;
        if self.shelf.is_some() {
            self.send_all_kept();
        }
        let newest = self.buffer.newest();
        self.buffer.hurry(newest);
        self.push_out();
        newest
    }
}
