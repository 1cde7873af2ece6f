//! State of the write buffer: units that are acknowledged but not in flash, and their age.
//!
//! Buffered writes wait in the flash queues like all others. The buffer only delays pages that are not full: such a
//! page waits for more data until its oldest unit is in the oldest quarter of the buffer, or until a flush or FUA write
//! forces it out.

use crate::ops::NONE;
use std::collections::VecDeque;

/// The books of the write buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: u32,
    used: u32,
    /// Ordinal of the newest unit; the first is 1.
    newest: u64,
    /// Units up to this ordinal have to go.
    hurried: u64,
    /// Units that wait for a die, oldest first, including some already issued: (operation, ordinal).
    waiting: VecDeque<(u32, u64)>,
    /// Ordinal of the oldest unit that is not in flash; the one after the newest if all are.
    oldest: u64,
    /// From the oldest on, whether a unit is in flash: by ordinal, modulo its length.
    in_flash: Vec<bool>,
    /// The units that it holds. Looked up, never walked.
    held: Table,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Buffer {
    /// An empty buffer for `capacity` units; 0 for none at all.
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            used: 0,
            newest: 0,
            hurried: 0,
            waiting: VecDeque::with_capacity(capacity as usize),
            oldest: 1,
            in_flash: vec![false; capacity.next_power_of_two() as usize],
            held: Table::new(capacity),
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
    #[inline]
    #[must_use]
    pub fn holds(&self, unit: u32) -> bool {
        self.used > 0 && self.held.find(unit) != NONE
    }

    /// Takes a unit in; gives its ordinal, and the cell by which [`Self::pend`], [`Self::bound`] and [`Self::leave`] know it.
    #[inline]
    pub(crate) fn take(&mut self, unit: u32) -> (u64, u32) {
        self.used += 1;
        self.newest += 1;
        if self.newest - self.oldest == self.in_flash.len() as u64 {
            self.lengthen();
        }
        let found = self.held.find(unit);
        let cell = if found == NONE { self.held.insert(unit) } else { found };
        self.held.cells[cell as usize].versions += 1;
        (self.newest, cell)
    }

    /// Some unit has been waiting while many others came and went.
    #[cold]
    fn lengthen(&mut self) {
        let (old, length) = (self.in_flash.len() as u64, 2 * self.in_flash.len() as u64);
        let mut longer = vec![false; length as usize];
        for ordinal in self.oldest..self.newest {
            longer[(ordinal % length) as usize] = self.in_flash[(ordinal % old) as usize];
        }
        self.in_flash = longer;
    }

    /// Takes a unit in, as [`Self::take`], unless it waits for its page already: then it gives the operation that waits.
    #[inline]
    pub(crate) fn enter(&mut self, unit: u32) -> Result<(u64, u32), u32> {
        let cell = if self.used > 0 { self.held.find(unit) } else { NONE };
        if let Some(held) = self.held.cells.get_mut(cell as usize) {
            if held.pending != NONE {
                return Err(held.pending);
            }
            held.versions += 1;
        }
        self.used += 1;
        self.newest += 1;
        if self.newest - self.oldest == self.in_flash.len() as u64 {
            self.lengthen();
        }
        if cell != NONE {
            return Ok((self.newest, cell));
        }
        let cell = self.held.insert(unit);
        self.held.cells[cell as usize].versions = 1;
        Ok((self.newest, cell))
    }

    /// The newest version of a unit waits for its page as this operation.
    #[inline]
    pub(crate) fn pend(&mut self, cell: u32, operation: u32) {
        self.held.cells[cell as usize].pending = operation;
    }

    /// The operation that waits for its page with a unit.
    #[inline]
    pub(crate) fn pending(&self, unit: u32) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        let cell = self.held.find(unit);
        self.held.cells.get(cell as usize).map(|held| held.pending).filter(|&pending| pending != NONE)
    }

    /// A waiting unit got its page.
    #[inline]
    pub(crate) fn bound(&mut self, cell: u32, operation: u32) {
        let held = &mut self.held.cells[cell as usize];
        if held.pending == operation {
            held.pending = NONE;
        }
    }

    /// A unit is in flash, or was given back; it waits no more.
    #[inline]
    pub(crate) fn leave(&mut self, cell: u32, ordinal: u64) {
        self.used -= 1;
        // Its length is a power of two.
        let last = self.in_flash.len() - 1;
        self.in_flash[ordinal as usize & last] = true;
        while std::mem::take(&mut self.in_flash[self.oldest as usize & last]) {
            self.oldest += 1;
        }
        let held = &mut self.held.cells[cell as usize];
        held.versions = held.versions.checked_sub(1).expect("buffered units are counted");
        if held.versions == 0 {
            self.held.remove(cell);
        }
    }

    /// Units up to an ordinal have to go.
    pub(crate) fn hurry(&mut self, ordinal: u64) {
        self.hurried = self.hurried.max(ordinal);
    }

    /// True if a unit must be written even in a page that is not full.
    #[inline]
    pub(crate) fn must_go(&self, ordinal: u64) -> bool {
        ordinal <= self.hurried || self.newest - ordinal >= u64::from(self.capacity - self.capacity / 4)
    }

    /// A buffered write waits for a die.
    #[inline]
    pub(crate) fn wait(&mut self, operation: u32, ordinal: u64) {
        if self.waiting.back().is_some_and(|&(_, last)| last > ordinal) {
            return self.wait_before(operation, ordinal);
        }
        self.waiting.push_back((operation, ordinal));
    }

    /// A partial write comes late, after its old data were read: it takes the place of its age.
    #[cold]
    fn wait_before(&mut self, operation: u32, ordinal: u64) {
        let at = self.waiting.partition_point(|&(_, other)| other < ordinal);
        self.waiting.insert(at, (operation, ordinal));
    }

    /// Takes the write that has waited longest, or one that is gone already, if it must go.
    #[inline]
    pub(crate) fn take_due(&mut self) -> Option<(u32, u64)> {
        let &(_, ordinal) = self.waiting.front()?;
        if self.must_go(ordinal) {
            self.waiting.pop_front()
        } else {
            None
        }
    }
}

/// A unit in the buffer.
#[derive(Clone, Copy, Debug)]
struct Held {
    unit: u32,
    /// Versions of it that are not in flash.
    versions: u32,
    /// The operation that still waits for its page; [`NONE`] if all are issued.
    pending: u32,
    /// The next unit of the same chain, or the next unused cell.
    next: u32,
}

/// The units that a buffer holds, by number: chains of cells, which stay where they are.
#[derive(Clone, Debug)]
struct Table {
    cells: Vec<Held>,
    unused: u32,
    /// First cells of the chains; their number is a power of two.
    chains: Vec<u32>,
    shift: u32,
}

impl Table {
    fn new(capacity: u32) -> Self {
        // Twice as many chains as units keep them short.
        let bits = (2 * u64::from(capacity)).next_power_of_two().ilog2();
        let (cells, chains) = (Vec::with_capacity(capacity as usize), vec![NONE; 1 << bits]);
        Self { cells, unused: NONE, chains, shift: u64::BITS - bits }
    }

    /// The chain of a unit: neighbours are far apart (Fibonacci hashing).
    #[inline]
    fn chain(&self, unit: u32) -> usize {
        // With one chain, the shift would be by the whole width.
        (u64::from(unit).wrapping_mul(0x9E37_79B9_7F4A_7C15).checked_shr(self.shift)).unwrap_or(0) as usize
    }

    #[inline]
    fn find(&self, unit: u32) -> u32 {
        let mut cell = self.chains[self.chain(unit)];
        while let Some(held) = self.cells.get(cell as usize) {
            if held.unit == unit {
                return cell;
            }
            cell = held.next;
        }
        NONE
    }

    #[inline]
    fn insert(&mut self, unit: u32) -> u32 {
        let chain = self.chain(unit);
        let held = Held { unit, versions: 0, pending: NONE, next: self.chains[chain] };
        let cell = self.unused;
        if cell == NONE {
            self.chains[chain] = self.cells.len() as u32;
            self.cells.push(held);
        } else {
            self.unused = self.cells[cell as usize].next;
            self.cells[cell as usize] = held;
            self.chains[chain] = cell;
        }
        self.chains[chain]
    }

    #[inline]
    fn remove(&mut self, cell: u32) {
        let Held { unit, next, .. } = self.cells[cell as usize];
        let chain = self.chain(unit);
        let mut before = self.chains[chain];
        if before == cell {
            self.chains[chain] = next;
        } else {
            while self.cells[before as usize].next != cell {
                before = self.cells[before as usize].next;
            }
            self.cells[before as usize].next = next;
        }
        self.cells[cell as usize].next = std::mem::replace(&mut self.unused, cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use wordline_base::Stream;

    #[test]
    fn units_leave_in_any_order_and_the_oldest_tells_what_is_in_flash() {
        let mut buffer = Buffer::new(4);
        let taken: Vec<(u64, u32)> = [7, 8, 7, 9].map(|unit| buffer.take(unit)).to_vec();
        assert_eq!(taken.iter().map(|taken| taken.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(!buffer.has_room() && buffer.holds(7) && !buffer.holds(1));
        buffer.leave(taken[1].1, 2);
        assert!(!buffer.is_in_flash(2) && !buffer.holds(8), "the first has not left");
        buffer.leave(taken[0].1, 1);
        assert!(buffer.is_in_flash(2) && !buffer.is_in_flash(3) && buffer.holds(7), "a newer version is left");
        buffer.leave(taken[3].1, 4);
        buffer.leave(taken[2].1, 3);
        assert!(buffer.is_in_flash(4) && !buffer.holds(7) && !buffer.holds(9));
    }

    #[test]
    fn one_unit_may_stay_while_many_come_and_go() {
        let mut buffer = Buffer::new(3);
        let (first, stays) = buffer.take(1);
        for unit in 2..100 {
            let (ordinal, cell) = buffer.take(unit);
            buffer.leave(cell, ordinal);
            assert!(!buffer.is_in_flash(first));
        }
        buffer.leave(stays, first);
        assert!(buffer.is_in_flash(99));
    }

    #[test]
    fn what_waits_is_taken_by_age_once_it_must_go() {
        let mut buffer = Buffer::new(8);
        (1..=4).for_each(|unit| _ = buffer.take(unit));
        [(10, 1), (13, 4), (12, 3)].into_iter().for_each(|(operation, ordinal)| buffer.wait(operation, ordinal));
        assert_eq!(buffer.take_due(), None, "a quarter of the buffer is not reached");
        buffer.hurry(3);
        assert_eq!([(); 3].map(|()| buffer.take_due()), [Some((10, 1)), Some((12, 3)), None]);
        (5..=8).for_each(|unit| _ = buffer.take(unit));
        assert_eq!(buffer.take_due(), None, "4 is older than 4 units only");
        (9..=10).for_each(|unit| _ = buffer.take(unit));
        assert_eq!(buffer.take_due(), Some((13, 4)));
    }

    #[test]
    fn agrees_with_a_map() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "buffer-test", 0);
            let mut buffer = Buffer::new(64);
            let mut held: HashMap<u32, u32> = HashMap::new();
            let mut inside: Vec<(u32, u64, u32)> = Vec::new();
            for step in 0..4_000 {
                if buffer.has_room() && random.below(2) > 0 {
                    let unit = random.below(100) as u32 * 1_000;
                    let (ordinal, cell) = buffer.take(unit);
                    buffer.pend(cell, step);
                    assert_eq!(buffer.pending(unit), Some(step), "seed {seed}");
                    inside.push((unit, ordinal, cell));
                    *held.entry(unit).or_default() += 1;
                } else if !inside.is_empty() {
                    let (unit, ordinal, cell) = inside.swap_remove(random.below(inside.len() as u64) as usize);
                    buffer.leave(cell, ordinal);
                    *held.get_mut(&unit).unwrap() -= 1;
                }
                let unit = random.below(100) as u32 * 1_000;
                assert_eq!(buffer.holds(unit), held.get(&unit).is_some_and(|&count| count > 0), "seed {seed}");
                let oldest = inside.iter().map(|unit| unit.1).min().unwrap_or(buffer.newest() + 1);
                assert!(buffer.is_in_flash(oldest - 1) && !buffer.is_in_flash(oldest), "seed {seed}");
            }
        }
    }
}
