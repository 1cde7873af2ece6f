//! Units that an external policy keeps in the write buffer (`policy/keep.rs`).
//!
//! A unit that is kept has room in the buffer, and is found there, but is no operation yet. It becomes one when it is let go: from then
//! on it is as if the host had just written it. So all that orders and hurries what leaves the buffer knows nothing of what is kept.
//!
//! A unit that was read may be kept, too. It is clean: its data are those that its place in flash has, wherever that moves. So no other
//! version of it is in the buffer, a write takes its place, TRIM drops it, and it leaves without a program, in no time.

use super::{Fault, HostDone, Kernel};
use crate::map::{Map, Place};
use crate::ops::{FlashOp, NONE};
use crate::policy::guest::failed;
use crate::policy::keep::{BufferView, Keeper, KeptUnit};
use crate::shadow::Shadow;
use crate::task::Class;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use wordline_base::Time;

/// A unit that is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    unit: u32,
    /// Its cell in the buffer.
    cell: u32,
    written: u64,
    read: u64,
    whole: bool,
    clean: bool,
    stamp: u32,
}

/// Consecutive units that a read of the host has brought from a page.
#[derive(Clone, Copy, Debug)]
pub struct FromFlash {
    /// The request, as the drive numbered it.
    pub request: u32,
    /// The first unit.
    pub unit: u32,
    /// How many.
    pub units: u32,
    /// A place in the page.
    pub source: Place,
    /// On a drive with the shadow disk, their versions when they were read.
    stamp: u32,
}

/// Why the policy is asked what leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    waits: bool,
    rested: bool,
    comes: Option<u32>,
}

/// The units that are kept, and the policy that says so.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    pub(super) policy: Keeper,
    /// By the number of the use with which they came.
    kept: BTreeMap<u64, Kept>,
    /// By unit, that number. Looked up, never walked.
    came: FxHashMap<u32, u64>,
    /// Writes of units that came to the buffer and, if the policy is asked about reads, reads of what is kept.
    uses: u64,
    /// What reads have brought that the policy has not been asked about.
    from_flash: VecDeque<FromFlash>,
    /// Room for what the policy is shown.
    shown: Vec<KeptUnit>,
}

impl Shelf {
    fn new(policy: Keeper) -> Self {
        let (kept, came, from_flash, shown) = Default::default();
        Self { policy, kept, came, uses: 0, from_flash, shown }
    }

    fn get_mut(&mut self, unit: u32) -> Option<&mut Kept> {
        self.kept.get_mut(self.came.get(&unit)?)
    }

    fn take(&mut self, unit: u32) -> Option<Kept> {
        let came = self.came.remove(&unit)?;
        self.kept.remove(&came)
    }

    /// The units of one kind, in the order of their coming.
    fn units(&self, clean: bool) -> Vec<u32> {
        self.kept.values().filter(|kept| kept.clean == clean).map(|kept| kept.unit).collect()
    }

    /// Checks that clean units are in flash as they are here, while nothing is under way.
    pub(super) fn check(&self, map: &Map, shadow: Option<&Shadow>) -> Result<(), Fault> {
        for kept in self.kept.values().filter(|kept| kept.clean) {
            if map.place(kept.unit).is_none() {
                return Err(Fault::books(format!("unit {} was read, and is kept, but has no place", kept.unit)));
            }
            shadow.map_or(Ok(()), |shadow| kept.check(shadow))?;
        }
        Ok(())
    }
}

impl Kept {
    /// Checks on a drive with the shadow disk that a clean unit has the data that it should have.
    fn check(&self, shadow: &Shadow) -> Result<(), Fault> {
        let Self { unit, stamp, .. } = *self;
        match shadow.expected(unit) {
            expected if expected == stamp => Ok(()),
            expected => Err(Fault::books(format!(
                "unit {unit} should hold version {expected}, but version {stamp} of it is kept"
            ))),
        }
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
        shelf.uses += 1;
        let written = shelf.uses;
        if through {
            let kept_whole = self.drop_kept(unit).is_some_and(|kept| kept.whole);
            return self.write(now, request, unit, whole || kept_whole, through);
        }
        if let Some(kept) = shelf.get_mut(unit).filter(|kept| !kept.clean) {
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
        // What was read gives way, and the write of a part needs no old data from flash.
        let was_read = self.drop_kept(unit);
        let whole = whole || was_read.is_some();
        if !keeps {
            return self.write(now, request, unit, whole, through);
        }
        self.counters.host_units += 1;
        let stamp = self.shadow.as_mut().map_or(0, Shadow::version);
        let read = was_read.map_or(0, |kept| kept.read);
        self.keep(written, Kept { unit, cell: NONE, written, read, whole, clean: false, stamp });
        true
    }

    /// Keeps a unit that came with such a use.
    fn keep(&mut self, came: u64, mut kept: Kept) {
        kept.cell = self.buffer.keep(kept.unit);
        if let Some(shelf) = &mut self.shelf {
            shelf.came.insert(kept.unit, came);
            shelf.kept.insert(came, kept);
        }
        // There is less room for what waits on its way.
        self.push_out();
    }

    /// A kept unit is not wanted any more: another write takes its place, it was given back, or it is clean and leaves.
    fn drop_kept(&mut self, unit: u32) -> Option<Kept> {
        let kept = self.shelf.as_mut()?.take(unit)?;
        self.buffer.drop_kept(kept.cell);
        self.counters.absorbed_units += u64::from(!kept.clean);
        Some(kept)
    }

    /// All that was only read leaves: without time nothing is kept.
    #[cold]
    pub(super) fn drop_clean(&mut self) {
        let clean = self.shelf.as_ref().map_or_else(Vec::new, |shelf| shelf.units(true));
        for unit in clean {
            self.drop_kept(unit);
        }
    }

    /// A read of the host has brought units from flash, of which the policy is asked what is kept.
    #[cold]
    pub(super) fn note_from_flash(&mut self, op: &FlashOp) {
        let timed = self.timed;
        if let Some(shelf) = self.shelf.as_mut().filter(|shelf| timed && shelf.policy.minds_reads()) {
            let FlashOp { owner: request, unit, units, source, stamp, .. } = *op;
            shelf.from_flash.push_back(FromFlash { request, unit, units: units.into(), source, stamp });
        }
    }

    /// Takes units that a read has brought from flash since, the first ones first.
    pub fn take_from_flash(&mut self) -> Option<FromFlash> {
        let read = self.shelf.as_mut()?.from_flash.pop_front()?;
        let FromFlash { unit, units, source, stamp, .. } = read;
        if let Some(shadow) = self.shadow.as_ref().filter(|_| stamp != 0) {
            let is_there = (unit..unit + units).all(|unit| self.lies_in_page(unit, source));
            if is_there && shadow.versions_of(unit, units) != stamp {
                let story = format!("{units} units from {unit} on have changed in place {source} while they were read");
                self.fault.get_or_insert(Fault::books(story));
            }
        }
        Some(read)
    }

    /// True if a unit lies in the page of a place.
    fn lies_in_page(&self, unit: u32, source: Place) -> bool {
        let page = |place| self.units_per_page.quotient(place);
        self.map.place(unit).is_some_and(|place| page(place) == page(source))
    }

    /// Lets the policy keep a unit that was read from a page, if its data are still those of that page, and there is room or the policy
    /// makes some at once; `waits` is true if writes wait for room.
    pub fn keep_read(&mut self, now: Time, unit: u32, source: Place, waits: bool) {
        self.now = now;
        if self.fault.is_some() || self.buffer.holds(unit) || !self.lies_in_page(unit, source) {
            return;
        }
        let Some(shelf) = &mut self.shelf else { return };
        let keeps = shelf.policy.keeps_read(unit);
        let has_failed = failed(shelf.policy.trouble());
        self.heed(has_failed);
        if keeps && !self.buffer.has_room() {
            self.choose_leaving(now, Asked { waits, comes: Some(unit), ..Asked::default() });
        }
        if !keeps || !self.buffer.has_room() {
            return;
        }
        let Some(shelf) = &mut self.shelf else { return };
        shelf.uses += 1;
        let (read, stamp) = (shelf.uses, self.shadow.as_ref().map_or(0, |shadow| shadow.expected(unit)));
        self.keep(read, Kept { unit, cell: NONE, written: 0, read, whole: true, clean: true, stamp });
    }

    /// The host reads a unit that the buffer has.
    #[cold]
    pub(super) fn note_read(&mut self, unit: u32) {
        let Self { shelf, shadow, fault, .. } = self;
        let Some(shelf) = shelf.as_mut().filter(|shelf| shelf.policy.minds_reads()) else { return };
        let read = shelf.uses + 1;
        let Some(kept) = shelf.get_mut(unit) else { return };
        kept.read = read;
        if let Some(shadow) = shadow.as_ref().filter(|_| kept.clean) {
            if let Err(misplaced) = kept.check(shadow) {
                fault.get_or_insert(misplaced);
            }
        }
        shelf.uses = read;
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
        self.choose_leaving(now, Asked { waits, ..Asked::default() });
    }

    /// The same once the host has rested as long as the policy waits for.
    pub(super) fn make_room_at_rest(&mut self, now: Time) {
        self.choose_leaving(now, Asked { rested: true, ..Asked::default() });
    }

    fn choose_leaving(&mut self, now: Time, Asked { waits, rested, comes }: Asked) {
        self.now = now;
        if self.fault.is_some() {
            return;
        }
        let Some(shelf) = self.shelf.as_mut().filter(|shelf| !shelf.kept.is_empty()) else { return };
        shelf.shown.clear();
        let shown = |(&came, kept): (&u64, &Kept)| {
            let Kept { unit, written, read, whole, clean, .. } = *kept;
            KeptUnit { unit, came, written, read, whole, clean }
        };
        shelf.shown.extend(shelf.kept.iter().map(shown));
        let (room, leaving) = self.buffer.room_and_leaving();
        let chosen = shelf.policy.evict(&BufferView { kept: &shelf.shown, room, leaving, waits, comes, rested, now });
        for unit in chosen {
            let Some(shelf) = &mut self.shelf else { break };
            match shelf.take(unit) {
                Some(kept) if kept.clean => self.buffer.drop_kept(kept.cell),
                Some(kept) => self.send_kept(&kept),
                None => {
                    shelf.policy.refuse_unit(unit);
                    break;
                }
            }
        }
        let has_failed = self.shelf.as_ref().is_some_and(|shelf| failed(shelf.policy.trouble()));
        self.heed(has_failed);
    }

    /// Lets all kept units go that are not in flash, in the order of their coming.
    #[cold]
    pub(super) fn send_all_kept(&mut self) {
        let written = self.shelf.as_ref().map_or_else(Vec::new, |shelf| shelf.units(false));
        for unit in written {
            if let Some(kept) = self.shelf.as_mut().and_then(|shelf| shelf.take(unit)) {
                self.send_kept(&kept);
            }
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
