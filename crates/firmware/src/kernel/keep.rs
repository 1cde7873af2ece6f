//! Units that an external policy keeps in the write buffer (`policy/keep.rs`).
//!
//! A unit that is kept has room in the buffer, and is found there, but is no operation yet. It becomes one when it is let go: from then
//! on it is as if the host had just written it. So all that orders and hurries what leaves the buffer knows nothing of what is kept.

use super::{HostDone, Kernel};
use crate::ops::{FlashOp, NONE};
use crate::policy::guest::failed;
use crate::policy::keep::{BufferView, Keeper, KeptUnit};
use crate::task::Class;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use wordline_base::Time;

/// A unit that is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    unit: u32,
    /// Its cell in the buffer.
    cell: u32,
    written: u64,
    whole: bool,
    stamp: u32,
}

/// The units that are kept, and the policy that says so.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    pub(super) policy: Keeper,
    /// By the number of the write with which they came.
    kept: BTreeMap<u64, Kept>,
    /// By unit, that number. Looked up, never walked.
    came: FxHashMap<u32, u64>,
    /// Writes of units that came to the buffer.
    writes: u64,
    /// Room for what the policy is shown.
    shown: Vec<KeptUnit>,
}

impl Shelf {
    fn new(policy: Keeper) -> Self {
        Self { policy, kept: BTreeMap::new(), came: FxHashMap::default(), writes: 0, shown: Vec::new() }
    }

    fn take(&mut self, unit: u32) -> Option<Kept> {
        let came = self.came.remove(&unit)?;
        self.kept.remove(&came)
    }
}

impl Kernel {
    /// Lets an external policy say what the write buffer keeps. Nothing has been written yet.
    pub fn keep_with(&mut self, policy: Keeper) {
        if let Some(rest) = policy.rest() {
            self.rests.wait_for_buffer(rest);
        }
        self.shelf = Some(Box::new(Shelf::new(policy)));
        self.outside = true;
        self.find_ways();
        self.stretches = self.goes_in_stretches();
    }

    /// True if the write buffer keeps a unit: another write of it needs no room.
    #[must_use]
    pub fn keeps(&self, unit: u32) -> bool {
        self.shelf.as_ref().is_some_and(|shelf| shelf.came.contains_key(&unit))
    }

    /// As [`Kernel::write`], where the policy may keep the unit.
    pub fn write_or_keep(&mut self, now: Time, request: u32, unit: u32, whole: bool, through: bool) -> bool {
        self.now = now;
        // What is on its way already is replaced there.
        let leaves = self.buffer.pending(unit).is_some();
        let Some(shelf) = self.shelf.as_mut().filter(|_| !leaves) else {
            return self.write(now, request, unit, whole, through);
        };
        shelf.writes += 1;
        let written = shelf.writes;
        if through {
            let kept_whole = self.drop_kept(unit).is_some_and(|kept| kept.whole);
            return self.write(now, request, unit, whole || kept_whole, through);
        }
        if let Some(kept) = shelf.came.get(&unit).and_then(|came| shelf.kept.get_mut(came)) {
            kept.written = written;
            kept.whole |= whole;
            if let Some(shadow) = &mut self.shadow {
                kept.stamp = shadow.version();
            }
            self.counters.host_units += 1;
            self.counters.absorbed_units += 1;
            return true;
        }
        let keeps = shelf.policy.keeps(unit);
        let has_failed = failed(shelf.policy.trouble());
        self.heed(has_failed);
        if !keeps {
            return self.write(now, request, unit, whole, through);
        }
        self.keep(Kept { unit, cell: NONE, written, whole, stamp: 0 });
        true
    }

    fn keep(&mut self, mut kept: Kept) {
        self.counters.host_units += 1;
        if let Some(shadow) = &mut self.shadow {
            kept.stamp = shadow.version();
        }
        kept.cell = self.buffer.keep(kept.unit);
        if let Some(shelf) = &mut self.shelf {
            shelf.came.insert(kept.unit, kept.written);
            shelf.kept.insert(kept.written, kept);
        }
        // There is less room for what waits on its way.
        self.push_out();
    }

    /// A kept unit is not wanted any more: another write takes its place, or it was given back.
    fn drop_kept(&mut self, unit: u32) -> Option<Kept> {
        let kept = self.shelf.as_mut()?.take(unit)?;
        self.buffer.drop_kept(kept.cell);
        self.counters.absorbed_units += 1;
        Some(kept)
    }

    /// The host gives a unit back: if it is kept, it leaves without being written.
    #[cold]
    pub(super) fn forget_kept(&mut self, unit: u32) {
        if self.drop_kept(unit).is_some() {
            // Writes that wait for room may go on.
            self.done.push(HostDone { request: NONE, units: 1, bytes: 0, gc_affected: false });
        }
    }

    /// Asks the policy which kept units leave, after a write of the host, and while one waits for room.
    pub fn make_room(&mut self, now: Time, waits: bool) {
        self.choose_leaving(now, waits, false);
    }

    /// The same once the host has rested as long as the policy waits for.
    pub(super) fn make_room_at_rest(&mut self, now: Time) {
        self.choose_leaving(now, false, true);
    }

    fn choose_leaving(&mut self, now: Time, waits: bool, rested: bool) {
        self.now = now;
        if self.fault.is_some() {
            return;
        }
        let Some(shelf) = self.shelf.as_mut().filter(|shelf| !shelf.kept.is_empty()) else { return };
        shelf.shown.clear();
        let shown = |(&came, kept): (&u64, &Kept)| {
            let Kept { unit, written, whole, .. } = *kept;
            KeptUnit { unit, came, written, whole }
        };
        shelf.shown.extend(shelf.kept.iter().map(shown));
        let (room, leaving) = self.buffer.room_and_leaving();
        let chosen = shelf.policy.evict(&BufferView { kept: &shelf.shown, room, leaving, waits, rested, now });
        for unit in chosen {
            if let Some(kept) = self.shelf.as_mut().and_then(|shelf| shelf.take(unit)) {
                self.send_kept(&kept);
            } else if let Some(shelf) = &mut self.shelf {
                shelf.policy.refuse_unit(unit);
                break;
            }
        }
        let has_failed = self.shelf.as_ref().is_some_and(|shelf| failed(shelf.policy.trouble()));
        self.heed(has_failed);
    }

    /// Lets all kept units go, in the order of their coming.
    #[cold]
    pub(super) fn send_all_kept(&mut self) {
        while let Some((_, kept)) = self.shelf.as_mut().and_then(|shelf| shelf.kept.pop_first()) {
            if let Some(shelf) = &mut self.shelf {
                shelf.came.remove(&kept.unit);
            }
            self.send_kept(&kept);
        }
    }

    /// A unit that was kept goes to its die.
    fn send_kept(&mut self, kept: &Kept) {
        let Kept { unit, cell, whole, stamp, .. } = *kept;
        let ordinal = self.buffer.let_go();
        let op = FlashOp { class: Class::HOST_WRITE, unit, ordinal, held: cell, stamp, ..FlashOp::default() };
        self.hand_on(FlashOp { buffered: true, ..op }, whole);
    }
}
