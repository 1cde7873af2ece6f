//! Parity of logical pages: a stripe that changes is opened in memory, and its new parity written when it leaves.
//!
//! By what a write changes the parity, memory knows from the data that it overwrites, which are read before, as those of a
//! partial write are. Where they were not read, the parity is computed anew: the units that memory has not are
//! read when the stripe leaves. Nothing waits for parity but memory, so no write depends on room there, and no erase on a
//! write of parity. Units of parity are units behind those of the host, as those of a mapping table are (`table`), and their
//! programs have the same queues.

use super::Kernel;
use crate::ops::{FlashOp, Role};
use crate::raid::Parity;
use crate::task::{Action, Class, Task};
use std::ops::Range;

impl Kernel {
    fn parity(&mut self) -> &mut Parity {
        self.parity.as_mut().expect("the drive has parity of logical pages")
    }

    /// Tells which units the request overwrites whose units are written next, until it is told of none.
    #[inline]
    pub fn cover(&mut self, units: Range<u32>) {
        if let Some(parity) = &mut self.parity {
            parity.covered = units;
        }
    }

    /// True if a write of a unit has to read the data that it overwrites.
    #[cold]
    pub(super) fn needs_old(&self, unit: u32) -> bool {
        let Some(parity) = &self.parity else { return false };
        let (stripe, position) = parity.stripe_of(unit);
        let in_memory = match parity.open(stripe) {
            Some(open) => open.anew || open.known >> position & 1 == 1,
            None => self.map.place(parity.first() + stripe).is_none(),
        };
        !in_memory && self.map.place(unit).is_some() && !parity.covers(stripe, &self.map)
    }

    /// A unit of the host got a place, or one of parity; `known` if memory knows by what the parity changes.
    #[cold]
    pub(super) fn parity_changes(&mut self, unit: u32, class: Class, known: bool) {
        if class.moves() {
            return;
        }
        let (stripe, position) = self.parity().stripe_of(unit);
        if class.is_map_write() {
            self.counters.parity_units += 1;
            let missed = self.parity().open_mut(stripe).is_some_and(|open| open.missed);
            self.parity().close(stripe);
            if missed {
                self.parity().add(stripe, true);
                self.let_leave();
            }
            return;
        }
        self.spoil(stripe);
        let has_parity = self.place_of_parity(stripe).is_some();
        let parity = self.parity();
        if parity.open(stripe).is_none() {
            parity.add(stripe, !has_parity);
        }
        let open = parity.open_mut(stripe).expect("it is open now");
        let known = known || open.known >> position & 1 == 1;
        open.known |= 1 << position;
        if open.leaving {
            open.missed |= !known && !open.anew;
            return;
        }
        open.anew |= !known;
        parity.touch(stripe);
        self.leave_if_full(stripe);
        self.let_leave();
    }

    /// A unit was given back, with the others of a TRIM.
    #[cold]
    pub(super) fn parity_of_trimmed(&mut self, unit: u32, all: &Range<u32>) {
        let (stripe, position) = self.parity().stripe_of(unit);
        self.spoil(stripe);
        let has_parity = self.place_of_parity(stripe).is_some();
        let Some(parity) = &mut self.parity else { return };
        let holds_nothing = parity.placed(stripe, &self.map).next().is_none();
        if let Some(open) = parity.open_mut(stripe) {
            open.known &= !(1 << position);
            if open.leaving {
                open.missed |= holds_nothing || !open.anew;
            } else {
                open.anew = true;
            }
        } else if holds_nothing {
            self.drop_parity(stripe);
        } else if has_parity && !parity.placed(stripe, &self.map).all(|(_, unit)| all.contains(&unit)) {
            parity.add(stripe, true);
            self.let_leave();
        }
    }

    /// No unit of a stripe holds data: neither does its parity.
    fn drop_parity(&mut self, stripe: u32) {
        let unit = self.parity().first() + stripe;
        if let Some(place) = self.map.unbind(unit) {
            self.invalidate(place);
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.forget(unit);
        }
    }

    fn place_of_parity(&self, stripe: u32) -> Option<u32> {
        self.parity.as_ref().and_then(|parity| self.map.place(parity.first() + stripe))
    }

    /// A stripe leaves memory once it has all data of it: nothing is read for its parity then.
    fn leave_if_full(&mut self, stripe: u32) {
        let parity = self.parity();
        if parity.open(stripe).is_some_and(|open| parity.is_full(open)) {
            parity.open_mut(stripe).expect("it is open").anew = true;
            self.leave(stripe);
        }
    }

    /// Stripes leave memory that it cannot hold.
    fn let_leave(&mut self) {
        while let Some(stripe) = self.parity().surplus() {
            self.leave(stripe);
        }
    }

    /// A stripe leaves memory: what its new parity needs is read.
    fn leave(&mut self, stripe: u32) {
        self.parity().leave(stripe);
        let open = *self.parity().open(stripe).expect("it leaves now");
        let mut needed = std::mem::take(&mut self.needed);
        needed.clear();
        let Some(parity) = &self.parity else { return };
        if open.anew {
            let unknown = parity.placed(stripe, &self.map).filter(|(position, _)| open.known >> position & 1 == 0);
            needed.extend(unknown.map(|(_, unit)| unit));
        } else {
            needed.push(parity.first() + stripe);
        }
        for &unit in &needed {
            let Some(source) = self.map.place(unit) else { continue };
            let class = Class::new(Task::HOST, Action::Read);
            let (bytes, ordinal) = (self.plan.unit_bytes, stripe.into());
            let op = FlashOp { class, unit, source, bytes, ordinal, role: Role::Old, ..FlashOp::default() };
            let slot = self.slab.insert(op);
            self.parity().open_mut(stripe).expect("it leaves now").reads += 1;
            self.enqueue(slot);
        }
        self.needed = needed;
        self.write_parity(stripe);
    }

    /// Writes the parity of a stripe that is leaving, if nothing is being read for it.
    fn write_parity(&mut self, stripe: u32) {
        if self.parity().open(stripe).is_none_or(|open| open.reads > 0) {
            return;
        }
        let Some(parity) = &self.parity else { return };
        let unit = parity.first() + stripe;
        if parity.placed(stripe, &self.map).next().is_none() {
            self.parity().close(stripe);
            self.drop_parity(stripe);
            return;
        }
        let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
        let op = FlashOp { class: Class::map_write(Task::HOST), unit, stamp, ..FlashOp::default() };
        let slot = self.slab.insert(op);
        self.enqueue(slot);
    }

    /// Old data or old parity were read for the parity of a stripe, or hold nothing any more.
    #[cold]
    pub(super) fn old_read(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        self.counters.parity_reads += 1;
        if self.notes.is_some() {
            self.witness_end(slot, op, false, gc_affected);
        }
        self.end_old(slot, op);
    }

    /// Follows old data that have moved.
    #[cold]
    pub(super) fn follow_old(&mut self, slot: u32, op: &FlashOp) {
        match self.map.place(op.unit) {
            Some(place) => {
                self.slab.get_mut(slot).source = place;
                self.enqueue(slot);
            }
            None => self.end_old(slot, op),
        }
    }

    fn end_old(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        let stripe = op.ordinal as u32;
        self.parity().open_mut(stripe).expect("it waits for what is read").reads -= 1;
        self.write_parity(stripe);
    }

    /// True if the data of a unit can be computed from the others of its stripe, in flash or with what memory has. Then its parity
    /// in flash is one of them, unless memory has the whole of it.
    pub(super) fn computes_from(&self, unit: u32) -> Option<bool> {
        let parity = self.parity.as_ref()?;
        let (stripe, position) = parity.stripe_of(unit);
        if position == parity.positions() {
            return None;
        }
        match parity.open(stripe) {
            Some(open) if open.missed => None,
            Some(open) if !open.anew => Some(true),
            Some(open) => (open.leaving && open.reads == 0).then_some(false),
            None => self.place_of_parity(stripe).map(|_| true),
        }
    }
}
