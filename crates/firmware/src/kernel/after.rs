//! Operations of the host that wait for writes of the same units that came before them, on drives whose device queue, deadlines, or
//! choices among requests or transactions let operations overtake each other.
//!
//! A write changes the map when it is bound to a page. A read that came after it and goes before would return old data; so
//! would all later ones if a newer write to another die were bound first. Such operations wait here until what came
//! before them is bound. Buffered writes are no concern: reads find their data in the buffer.

use super::Kernel;
use crate::ops::{FlashOp, Role};
use crate::policy::placement::Constraint;
use crate::task::Class;
use rustc_hash::FxHashMap;

/// An operation that waits for older writes.
#[derive(Clone, Copy, Debug)]
struct Parked {
    slot: u32,
    /// Its units.
    first: u32,
    count: u32,
    /// Writes that it waits for.
    older: u32,
}

/// Writes of a unit since all were bound.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    come: u32,
    bound: u32,
}

/// Writes that are not bound yet, and what waits for them.
#[derive(Clone, Debug, Default)]
pub(super) struct After {
    /// Units with such writes.
    unbound: FxHashMap<u32, Writes>,
    parked: Vec<Parked>,
    freed: Vec<Parked>,
}

impl After {
    /// A write of a unit has come; gives its number among them, from 1 on.
    pub fn write_comes(&mut self, unit: u32) -> u64 {
        let writes = self.unbound.entry(unit).or_default();
        writes.come += 1;
        u64::from(writes.come)
    }

    /// What waits for writes, by its slots.
    pub fn parked(&self) -> impl Iterator<Item = u32> + '_ {
        self.parked.iter().map(|parked| parked.slot)
    }

    /// Writes that came before one that is not bound, and are not bound either.
    fn older(&self, unit: u32, number: u64) -> u32 {
        let bound = self.unbound.get(&unit).map_or(0, |writes| writes.bound);
        (number as u32 - 1).saturating_sub(bound)
    }

    /// Writes of some units that are not bound.
    fn unbound(&self, first: u32, count: u32) -> u32 {
        if self.unbound.is_empty() {
            return 0;
        }
        let of = |unit| self.unbound.get(&unit).map_or(0, |writes| writes.come - writes.bound);
        (first..first + count).map(of).sum()
    }

    /// A write of a unit is bound.
    fn write_is_bound(&mut self, unit: u32) {
        let Some(writes) = self.unbound.get_mut(&unit) else { return };
        writes.bound += 1;
        if writes.bound == writes.come {
            self.unbound.remove(&unit);
        }
        let mut at = 0;
        while let Some(parked) = self.parked.get_mut(at) {
            if (parked.first..parked.first + parked.count).contains(&unit) {
                parked.older -= 1;
                if parked.older == 0 {
                    // The order of those that are left does not matter; that of those that go does.
                    self.freed.push(self.parked.remove(at));
                    continue;
                }
            }
            at += 1;
        }
    }
}

impl Kernel {
    /// Lets an operation of the host wait if a write of one of its units came before it and is not bound; false if none is.
    #[inline]
    pub(super) fn waits_for_writes(&mut self, slot: u32, op: &FlashOp, place: Constraint) -> bool {
        let Some(after) = self.after.as_mut().filter(|_| self.timed) else { return false };
        if !op.class.is_host() || op.buffered || !matches!(op.role, Role::Plain | Role::Merge | Role::Change) {
            return false;
        }
        // Each is looked at once: later it would wait for younger writes, or they for each other. Of a write, the ordinal is its
        // number among those of its unit.
        let count = u32::from(op.units);
        let older = match op.class {
            // Reads pass writes of their unit that wait in transactions, as they do where these go in order.
            Class::HOST_READ if op.role == Role::Plain && op.ordinal == 0 && self.transactions.is_none() => {
                self.slab.get_mut(slot).ordinal = 1;
                after.unbound(op.unit, count)
            }
            Class::HOST_READ if op.role == Role::Plain => 0,
            _ => {
                self.slab.get_mut(slot).ordinal = 0;
                // Those for one plane stay in order, unless deadlines order them, each request has its own, or transactions are chosen; and
                // those that need old data look at them again when they are bound.
                let one_plane = matches!(place, Constraint::Plane(_)) && self.deadlines.is_none() && !self.follows_ends;
                let in_order = one_plane || op.role != Role::Plain || op.ordinal == 0;
                if in_order {
                    0
                } else {
                    after.older(op.unit, op.ordinal)
                }
            }
        };
        if older > 0 {
            after.parked.push(Parked { slot, first: op.unit, count, older });
        }
        older > 0
    }

    /// A write of the host that is not buffered is bound.
    #[inline]
    pub(super) fn is_bound(&mut self, op: &FlashOp) {
        if op.class == Class::HOST_WRITE && !op.buffered && self.timed {
            if let Some(after) = &mut self.after {
                after.write_is_bound(op.unit);
            }
        }
    }

    /// Lets operations go on whose older writes are bound; false if there are none.
    #[inline]
    pub(super) fn go_after(&mut self) -> bool {
        if self.after.as_ref().is_none_or(|after| after.freed.is_empty()) {
            return false;
        }
        while let Some(parked) = self.after.as_mut().filter(|after| !after.freed.is_empty()) {
            let Parked { slot, .. } = parked.freed.remove(0);
            let op = *self.slab.get(slot);
            if op.class == Class::HOST_READ {
                // It is looked up again.
                self.reroute(slot);
            } else {
                self.send_aside(slot, self.place_for(slot));
            }
        }
        true
    }
}
