//! State of the write buffer: units that are acknowledged but not in flash, and their age.
//!
//! Buffered writes wait in the flash queues like all others. The buffer only delays pages that are not full: such a
//! page waits for more data until its oldest unit is in the oldest quarter of the buffer, or until a flush or FUA write
//! forces it out.

use crate::ops::NONE;
use std::collections::VecDeque;

/// Most units that the buffer keeps together, by the power of two: 16.
const MOST_TOGETHER_BITS: u32 = 4;

/// The books of the write buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: u32,
    used: u32,
    /// Of these, the units that are kept until they are let go: they have no ordinal yet.
    kept: u32,
    /// How many units come after one that waits for company before it goes without: three quarters of those that the buffer holds
    /// besides the kept ones.
    patience: u64,
    /// Ordinal of the newest unit; the first is 1.
    newest: u64,
    /// Units up to this ordinal have to go.
    hurried: u64,
    /// Units that wait for a die, oldest first, including some already issued.
    waiting: VecDeque<Wait>,
    /// Ordinal of the oldest unit that is not in flash; the one after the newest if all are.
    oldest: u64,
    /// From the oldest on, whether a unit is in flash: by ordinal, modulo its length.
    in_flash: Vec<bool>,
    /// The units that it holds. Looked up, never walked.
    held: Table,
}

/// Units that wait for a die: one, or a stretch.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Of the first unit.
    ordinal: u64,
    /// Of one unit its operation; of a stretch its first unit, since its operation may be divided.
    of: u32,
    /// Units of a stretch; 0 for one unit.
    units: u32,
}

/// What has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// An operation, and the ordinal of its unit when it began to wait: the operation may be gone.
    Operation(u32, u64),
    /// Units of a stretch, of which one at least is not in flash: the first of them.
    Unit(u32),
}

/// Consecutive units that the buffer took in together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Ordinal of the first; the others follow.
    pub ordinal: u64,
    /// Cell of the first; the others follow.
    pub cell: u32,
    /// How many.
    pub units: u32,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(0, 1)
    }
}

impl Buffer {
    /// An empty buffer for `capacity` units, 0 for none at all, in pages of `units_per_page`.
    pub(crate) fn new(capacity: u32, units_per_page: u32) -> Self {
        Self {
            capacity,
            used: 0,
            kept: 0,
            patience: u64::from(capacity - capacity / 4),
            newest: 0,
            hurried: 0,
            waiting: VecDeque::with_capacity(capacity as usize),
            oldest: 1,
            in_flash: vec![false; capacity.next_power_of_two() as usize],
            held: Table::new(capacity, units_per_page.trailing_zeros().min(MOST_TOGETHER_BITS)),
        }
    }

    /// True if there is a buffer.
    #[inline]
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.capacity > 0
    }

    /// True if it has room for another unit. Without a buffer there is always room.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.capacity == 0 || self.used < self.capacity
    }

    /// Ordinal of the newest unit.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// True if all units up to an ordinal are in flash.
    #[inline]
    #[must_use]
    pub fn is_in_flash(&self, ordinal: u64) -> bool {
        ordinal < self.oldest
    }

    /// True if it holds a version of a unit.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, unit: u32) -> bool {
        self.used > 0 && self.held.find(unit).is_some_and(|cell| self.held.units[cell as usize].versions > 0)
    }

    /// Takes a unit in; gives its ordinal, and the cell by which [`Self::pend`], [`Self::bound`] and [`Self::leave`] know it.
    #[inline]
    pub(crate) fn take(&mut self, unit: u32) -> (u64, u32) {
        let cell = self.held.find(unit).unwrap_or_else(|| self.held.insert(unit));
        self.held.gain(cell, 1);
        (self.number(1), cell)
    }

    /// Numbers the units that come next; gives the ordinal of the first.
    #[inline]
    fn number(&mut self, units: u32) -> u64 {
        let (first, newest) = (self.newest + 1, self.newest + u64::from(units));
        while newest - self.oldest >= self.in_flash.len() as u64 {
            self.lengthen();
        }
        self.used += units;
        self.newest = newest;
        first
    }

    /// Some unit has been waiting while many others came and went.
    #[cold]
    fn lengthen(&mut self) {
        let (old, length) = (self.in_flash.len() as u64, 2 * self.in_flash.len() as u64);
        let mut longer = vec![false; length as usize];
        for ordinal in self.oldest..=self.newest {
            longer[(ordinal % length) as usize] = self.in_flash[(ordinal % old) as usize];
        }
        self.in_flash = longer;
    }

    /// Takes a unit in, as [`Self::take`], unless it waits for its page already: then it gives the operation that waits.
    #[inline]
    pub(crate) fn enter(&mut self, unit: u32) -> Result<(u64, u32), u32> {
        let cell = if self.used > 0 { self.held.find(unit) } else { None };
        if let Some(cell) = cell {
            let pending = self.held.units[cell as usize].pending;
            if pending != NONE {
                return Err(pending);
            }
        }
        let cell = cell.unwrap_or_else(|| self.held.insert(unit));
        self.held.gain(cell, 1);
        Ok((self.number(1), cell))
    }

    /// Takes units from `first` on in together, before `end`: as many as it keeps together, has room for, and that do not wait for their
    /// pages already. Nothing if these are less than two.
    #[inline]
    pub(crate) fn take_stretch(&mut self, first: u32, end: u32) -> Option<Stretch> {
        let most = (end - first).min(self.held.left_together(first)).min(self.capacity - self.used);
        if most < 2 {
            return None;
        }
        let found = if self.used > 0 { self.held.find(first) } else { None };
        let (cell, units) = match found {
            Some(cell) => (cell, self.held.run_without_pending(cell, most)),
            None => (self.held.insert(first), most),
        };
        if units < 2 {
            return None;
        }
        self.held.gain(cell, units);
        Some(Stretch { ordinal: self.number(units), cell, units })
    }

    /// The newest version of a unit, and of so many in all from it on, waits for its page as this operation.
    #[inline]
    pub(crate) fn pend(&mut self, cell: u32, units: u32, operation: u32) {
        self.held.change(cell, units, |held| held.pending = operation);
    }

    /// The operation that waits for its page with a unit.
    #[inline]
    pub(crate) fn pending(&self, unit: u32) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        let cell = self.held.find(unit)?;
        Some(self.held.units[cell as usize].pending).filter(|&pending| pending != NONE)
    }

    /// A waiting unit got its page.
    #[inline]
    pub(crate) fn bound(&mut self, cell: u32, operation: u32) {
        let held = &mut self.held.units[cell as usize];
        if held.pending == operation {
            held.pending = NONE;
        }
    }

    /// The units of a stretch got their pages. None of them waits again as another operation.
    #[inline]
    pub(crate) fn bound_stretch(&mut self, cell: u32, units: u32) {
        self.pend(cell, units, NONE);
    }

    /// A unit, and so many in all from it on, is in flash, or was given back; it waits no more.
    #[inline]
    pub(crate) fn leave(&mut self, cell: u32, ordinal: u64, units: u32) {
        self.used -= units;
        // Its length is a power of two.
        let last = self.in_flash.len() - 1;
        if ordinal == self.oldest {
            self.oldest += u64::from(units);
        } else {
            for more in 0..u64::from(units) {
                self.in_flash[(ordinal + more) as usize & last] = true;
            }
        }
        while std::mem::take(&mut self.in_flash[self.oldest as usize & last]) {
            self.oldest += 1;
        }
        self.held.lose(cell, units);
    }

    /// Takes a unit in that is kept; gives the cell by which it is known.
    pub(crate) fn keep(&mut self, unit: u32) -> u32 {
        let cell = self.held.find(unit).unwrap_or_else(|| self.held.insert(unit));
        self.held.gain(cell, 1);
        self.used += 1;
        self.keeps(self.kept + 1);
        cell
    }

    /// A unit is kept no more and goes to its die; gives its ordinal.
    pub(crate) fn let_go(&mut self) -> u64 {
        self.used -= 1;
        self.keeps(self.kept - 1);
        self.number(1)
    }

    /// A unit that was kept leaves without being written.
    pub(crate) fn drop_kept(&mut self, cell: u32) {
        self.used -= 1;
        self.keeps(self.kept - 1);
        self.held.lose(cell, 1);
    }

    /// So many units are kept. What is on its way has less room then, and the oldest must not wait for more than there is room for.
    fn keeps(&mut self, kept: u32) {
        self.kept = kept;
        let room = self.capacity - kept;
        let quarter = if kept == 0 { room / 4 } else { (room / 4).max(1) };
        self.patience = room.saturating_sub(quarter).into();
    }

    /// Units that it has room for, and those that are on their way to flash.
    pub(crate) fn room_and_leaving(&self) -> (u32, u32) {
        (self.capacity - self.used, self.used - self.kept)
    }

    /// Units up to an ordinal have to go.
    pub(crate) fn hurry(&mut self, ordinal: u64) {
        self.hurried = self.hurried.max(ordinal);
    }

    /// True if a unit must be written even in a page that is not full.
    #[inline]
    pub(crate) fn must_go(&self, ordinal: u64) -> bool {
        ordinal <= self.hurried || self.newest - ordinal >= self.patience
    }

    /// A buffered write waits for a die.
    #[inline]
    pub(crate) fn wait(&mut self, operation: u32, ordinal: u64) {
        if self.waiting.back().is_some_and(|last| last.ordinal > ordinal) {
            return self.wait_before(operation, ordinal);
        }
        self.waiting.push_back(Wait { ordinal, of: operation, units: 0 });
    }

    /// A stretch of buffered units waits for a die, the newest of all.
    #[inline]
    pub(crate) fn wait_together(&mut self, first: u32, ordinal: u64, units: u32) {
        self.waiting.push_back(Wait { ordinal, of: first, units });
    }

    /// A partial write comes late, after its old data were read: it takes the place of its age.
    #[cold]
    fn wait_before(&mut self, operation: u32, ordinal: u64) {
        let at = self.waiting.partition_point(|other| other.ordinal < ordinal);
        self.waiting.insert(at, Wait { ordinal, of: operation, units: 0 });
    }

    /// Units up to this ordinal must go: as [`Self::must_go`] says.
    #[inline]
    fn last_due(&self) -> u64 {
        self.hurried.max(self.newest.saturating_sub(self.patience))
    }

    /// True if [`Self::take_due`] may find something.
    #[inline]
    pub(crate) fn has_due(&self) -> bool {
        self.waiting.front().is_some_and(|wait| wait.ordinal <= self.last_due())
    }

    /// What it would find, as operations and their ordinals.
    pub(crate) fn due(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let due = self.last_due();
        self.waiting.iter().take_while(move |wait| wait.ordinal <= due).map(|wait| (wait.of, wait.ordinal))
    }

    /// Takes the unit that has waited longest, and those of its stretch, if they must go and are not in flash.
    #[inline]
    pub(crate) fn take_due(&mut self) -> Option<Due> {
        let due = self.last_due();
        loop {
            let &Wait { ordinal, of, units } = self.waiting.front()?;
            if ordinal > due {
                return None;
            }
            if units == 0 {
                self.waiting.pop_front();
                if !self.has_reached_flash(ordinal) {
                    return Some(Due::Operation(of, ordinal));
                }
            } else {
                // Of a stretch, all units that must go by now: they wait together.
                let must_go = u64::from(units).min(due - ordinal + 1) as u32;
                if must_go == units {
                    self.waiting.pop_front();
                } else {
                    let left = Wait { ordinal: ordinal + u64::from(must_go), of: of + must_go, units: units - must_go };
                    self.waiting[0] = left;
                }
                // Mostly the newest of them is older than all that are not in flash.
                let end = ordinal + u64::from(must_go);
                if end > self.oldest && (ordinal..end).any(|ordinal| !self.has_reached_flash(ordinal)) {
                    return Some(Due::Unit(of));
                }
            }
        }
    }

    /// True if the unit with an ordinal is in flash, whether older ones are or not.
    #[inline]
    fn has_reached_flash(&self, ordinal: u64) -> bool {
        // A newer one may be in flash before an older one.
        ordinal < self.oldest || self.in_flash[ordinal as usize & (self.in_flash.len() - 1)]
    }
}

/// Neighbouring units in the buffer that are kept together: a group.
#[derive(Clone, Copy, Debug)]
struct Group {
    number: u32,
    /// Versions of all its units that are not in flash.
    versions: u32,
    /// The next group of the same chain, or the next unused one.
    next: u32,
}

/// A unit in the buffer.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Versions of it that are not in flash.
    versions: u32,
    /// The operation that still waits for its page; [`NONE`] if all are issued.
    pending: u32,
}

/// The units that a buffer holds, by number: chains of groups, which stay where they are. A group has a cell for each of its
/// units, also for those that are not there.
#[derive(Clone, Debug)]
struct Table {
    groups: Vec<Group>,
    /// By group, then unit.
    units: Vec<Held>,
    /// Units of a group, by the power of two.
    together_bits: u32,
    unused: u32,
    /// First groups of the chains; their number is a power of two.
    chains: Vec<u32>,
    shift: u32,
}

impl Table {
    fn new(capacity: u32, together_bits: u32) -> Self {
        // Twice as many chains as units keep them short.
        let bits = (2 * u64::from(capacity)).next_power_of_two().ilog2();
        let chains = vec![NONE; 1 << bits];
        let (groups, units) = (Vec::new(), Vec::new());
        Self { groups, units, together_bits, unused: NONE, chains, shift: u64::BITS - bits }
    }

    /// The chain of a group: neighbours are far apart (Fibonacci hashing).
    #[inline]
    fn chain(&self, number: u32) -> usize {
        // With one chain, the shift would be by the whole width.
        (u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15).checked_shr(self.shift)).unwrap_or(0) as usize
    }

    /// Place of a unit in its group.
    #[inline]
    fn place(&self, unit: u32) -> u32 {
        unit & ((1 << self.together_bits) - 1)
    }

    /// Units from this one on to the end of its group.
    #[inline]
    fn left_together(&self, unit: u32) -> u32 {
        (1 << self.together_bits) - self.place(unit)
    }

    /// The cell of a unit, if its group is there.
    #[inline]
    fn find(&self, unit: u32) -> Option<u32> {
        let number = unit >> self.together_bits;
        let mut at = self.chains[self.chain(number)];
        while let Some(group) = self.groups.get(at as usize) {
            if group.number == number {
                return Some(at << self.together_bits | self.place(unit));
            }
            at = group.next;
        }
        None
    }

    /// Makes the group of a unit; gives the unit's cell.
    #[inline]
    fn insert(&mut self, unit: u32) -> u32 {
        let number = unit >> self.together_bits;
        let chain = self.chain(number);
        let group = Group { number, versions: 0, next: self.chains[chain] };
        let at = self.unused;
        if at == NONE {
            self.chains[chain] = self.groups.len() as u32;
            self.groups.push(group);
            // All cells of a group that is not used are as these.
            self.units.resize(self.groups.len() << self.together_bits, Held { versions: 0, pending: NONE });
        } else {
            self.unused = self.groups[at as usize].next;
            self.groups[at as usize] = group;
            self.chains[chain] = at;
        }
        self.chains[chain] << self.together_bits | self.place(unit)
    }

    /// How many units from a cell on, at most so many, do not wait for their pages.
    #[inline]
    fn run_without_pending(&self, cell: u32, most: u32) -> u32 {
        let cells = &self.units[cell as usize..(cell + most) as usize];
        cells.iter().take_while(|held| held.pending == NONE).count() as u32
    }

    /// Changes the cells of a stretch. Pages mostly have four units.
    #[inline(always)]
    fn change(&mut self, cell: u32, units: u32, change: impl Fn(&mut Held)) {
        let cells = &mut self.units[cell as usize..(cell + units) as usize];
        if let Ok(four) = <&mut [Held; 4]>::try_from(&mut *cells) {
            four.each_mut().into_iter().for_each(change);
        } else {
            cells.iter_mut().for_each(change);
        }
    }

    /// A unit, and so many in all from it on, has another version.
    #[inline]
    fn gain(&mut self, cell: u32, units: u32) {
        if units == 1 {
            self.units[cell as usize].versions += 1;
        } else {
            self.change(cell, units, |held| held.versions += 1);
        }
        self.groups[(cell >> self.together_bits) as usize].versions += units;
    }

    /// The same with one version less.
    #[inline]
    fn lose(&mut self, cell: u32, units: u32) {
        if units == 1 {
            let versions = &mut self.units[cell as usize].versions;
            *versions = versions.checked_sub(1).expect("buffered units are counted");
        } else {
            self.change(cell, units, |held| {
                held.versions = held.versions.checked_sub(1).expect("buffered units are counted");
            });
        }
        let group = &mut self.groups[(cell >> self.together_bits) as usize];
        group.versions -= units;
        if group.versions == 0 {
            self.remove(cell >> self.together_bits);
        }
    }

    #[inline]
    fn remove(&mut self, at: u32) {
        let Group { number, next, .. } = self.groups[at as usize];
        let chain = self.chain(number);
        let mut before = self.chains[chain];
        if before == at {
            self.chains[chain] = next;
        } else {
            while self.groups[before as usize].next != at {
                before = self.groups[before as usize].next;
            }
            self.groups[before as usize].next = next;
        }
        self.groups[at as usize].next = std::mem::replace(&mut self.unused, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use wordline_base::Stream;

    #[test]
    fn units_leave_in_any_order_and_the_oldest_tells_what_is_in_flash() {
        let mut buffer = Buffer::new(4, 1);
        let taken: Vec<(u64, u32)> = [7, 8, 7, 9].map(|unit| buffer.take(unit)).to_vec();
        assert_eq!(taken.iter().map(|taken| taken.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(!buffer.has_room() && buffer.holds(7) && !buffer.holds(1));
        buffer.leave(taken[1].1, 2, 1);
        assert!(!buffer.is_in_flash(2) && !buffer.holds(8), "the first has not left");
        buffer.leave(taken[0].1, 1, 1);
        assert!(buffer.is_in_flash(2) && !buffer.is_in_flash(3) && buffer.holds(7), "a newer version is left");
        buffer.leave(taken[3].1, 4, 1);
        buffer.leave(taken[2].1, 3, 1);
        assert!(buffer.is_in_flash(4) && !buffer.holds(7) && !buffer.holds(9));
    }

    #[test]
    fn one_unit_may_stay_while_many_come_and_go() {
        let mut buffer = Buffer::new(3, 1);
        let (first, stays) = buffer.take(1);
        for unit in 2..100 {
            let (ordinal, cell) = buffer.take(unit);
            buffer.leave(cell, ordinal, 1);
            assert!(!buffer.is_in_flash(first));
        }
        buffer.leave(stays, first, 1);
        assert!(buffer.is_in_flash(99));
    }

    #[test]
    fn what_waits_is_taken_by_age_once_it_must_go() {
        let mut buffer = Buffer::new(8, 1);
        (1..=4).for_each(|unit| _ = buffer.take(unit));
        [(10, 1), (13, 4), (12, 3)].into_iter().for_each(|(operation, ordinal)| buffer.wait(operation, ordinal));
        assert_eq!(buffer.take_due(), None, "a quarter of the buffer is not reached");
        buffer.hurry(3);
        assert_eq!(
            [(); 3].map(|()| buffer.take_due()),
            [Some(Due::Operation(10, 1)), Some(Due::Operation(12, 3)), None]
        );
        (5..=8).for_each(|unit| _ = buffer.take(unit));
        assert_eq!(buffer.take_due(), None, "4 is older than 4 units only");
        (9..=10).for_each(|unit| _ = buffer.take(unit));
        assert_eq!(buffer.take_due(), Some(Due::Operation(13, 4)));
    }

    #[test]
    fn what_is_kept_has_room_and_no_ordinal_until_it_is_let_go() {
        let mut buffer = Buffer::new(8, 1);
        let kept = [7, 8, 9, 5].map(|unit| buffer.keep(unit));
        assert_eq!((buffer.room_and_leaving(), buffer.newest(), buffer.holds(8)), ((4, 0), 0, true));
        assert!(buffer.is_in_flash(0), "a flush would let them go first");
        let (ordinal, cell) = buffer.take(1);
        buffer.wait(10, ordinal);
        (2..=3).for_each(|unit| _ = buffer.take(unit));
        assert_eq!(buffer.take_due(), None, "it waits for three others, of the four that there is room for");
        assert_eq!((buffer.take(4).0, buffer.has_room()), (4, false));
        assert_eq!(buffer.take_due(), Some(Due::Operation(10, 1)));
        buffer.leave(cell, ordinal, 1);
        assert_eq!(buffer.let_go(), 5, "it is the newest from now on");
        assert_eq!(buffer.room_and_leaving(), (1, 4));
        buffer.drop_kept(kept[1]);
        assert_eq!((buffer.room_and_leaving(), buffer.holds(8)), ((2, 4), false));
        buffer.leave(kept[0], 5, 1);
        assert_eq!((buffer.room_and_leaving(), buffer.holds(7), buffer.holds(9)), ((3, 3), false, true));
    }

    #[test]
    fn a_stretch_enters_waits_and_leaves_as_its_units_would() {
        let mut buffer = Buffer::new(16, 4);
        assert_eq!(buffer.take_stretch(3, 8), None, "the first of a stretch is the last of its group");
        let whole = buffer.take_stretch(4, 20).expect("a whole group");
        assert_eq!((whole.ordinal, whole.units), (1, 4));
        buffer.pend(whole.cell, 4, 70);
        buffer.wait_together(4, 1, 4);
        assert_eq!([3, 4, 7, 8].map(|unit| buffer.pending(unit)), [None, Some(70), Some(70), None]);
        assert_eq!(buffer.take_stretch(4, 8), None, "its units wait for their pages");
        // The first two get their pages, and leave in the other order.
        buffer.bound_stretch(whole.cell, 2);
        assert_eq!([4, 5, 6].map(|unit| buffer.pending(unit)), [None, None, Some(70)]);
        let again = buffer.take_stretch(4, 8).expect("two of them do not wait any more");
        assert_eq!((again.ordinal, again.units, again.cell), (5, 2, whole.cell));
        buffer.leave(whole.cell + 1, 2, 1);
        assert!(buffer.holds(5) && !buffer.is_in_flash(2));
        buffer.hurry(4);
        // Of the units that must go, the second is in flash: the stretch has others.
        assert_eq!([(); 2].map(|()| buffer.take_due()), [Some(Due::Unit(4)), None]);
        buffer.leave(whole.cell, 1, 1);
        buffer.leave(again.cell, 5, 2);
        assert!(!buffer.holds(4) && !buffer.holds(5) && buffer.holds(6) && buffer.is_in_flash(2));
        buffer.leave(whole.cell + 2, 3, 2);
        assert!(!buffer.holds(6) && buffer.is_in_flash(6) && buffer.has_room());
    }

    #[test]
    fn a_stretch_takes_no_more_than_there_is_room_for() {
        let mut buffer = Buffer::new(3, 4);
        assert_eq!(buffer.take_stretch(8, 12).map(|stretch| stretch.units), Some(3));
        assert!(!buffer.has_room());
        assert_eq!(Buffer::new(8, 6).take_stretch(0, 6).map(|stretch| stretch.units), Some(2), "groups divide a page");
        assert_eq!(Buffer::new(8, 5).take_stretch(0, 5), None);
        assert_eq!(Buffer::new(64, 64).take_stretch(3, 64).map(|stretch| stretch.units), Some(13));
    }

    #[test]
    fn agrees_with_a_map() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "buffer-test", 0);
            let mut buffer = Buffer::new(64, 1 << (seed % 4));
            let mut held: HashMap<u32, u32> = HashMap::new();
            let mut inside: Vec<(u32, u64, u32)> = Vec::new();
            for step in 0..4_000 {
                if buffer.has_room() && random.below(2) > 0 {
                    let unit = random.below(100) as u32 * 3;
                    let (ordinal, cell) = buffer.take(unit);
                    buffer.pend(cell, 1, step);
                    assert_eq!(buffer.pending(unit), Some(step), "seed {seed}");
                    inside.push((unit, ordinal, cell));
                    *held.entry(unit).or_default() += 1;
                } else if !inside.is_empty() {
                    let (unit, ordinal, cell) = inside.swap_remove(random.below(inside.len() as u64) as usize);
                    buffer.leave(cell, ordinal, 1);
                    *held.get_mut(&unit).unwrap() -= 1;
                }
                let unit = random.below(100) as u32 * 3;
                assert_eq!(buffer.holds(unit), held.get(&unit).is_some_and(|&count| count > 0), "seed {seed}");
                let oldest = inside.iter().map(|unit| unit.1).min().unwrap_or(buffer.newest() + 1);
                assert!(buffer.is_in_flash(oldest - 1) && !buffer.is_in_flash(oldest), "seed {seed}");
            }
        }
    }
}
