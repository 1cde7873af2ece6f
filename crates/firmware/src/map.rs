//! The mapping tables: forward map, reverse map and validity bits. Eight bytes and one bit per unit.
//!
//! Entries of the forward map hold the place plus one, so that 0 means "unmapped" and a fresh map is untouched zero
//! memory: a drive of a terabyte opens at once.

mod saved;

pub use saved::{Chunk, MOST_CHUNK_BYTES};

use wordline_base::SharedVec;

/// A place for a unit: block x units per block + page x units per page + position in the page.
pub type Place = u32;

/// Entries of the forward or reverse map in a cache line.
const ENTRIES_PER_LINE: u32 = 16;

/// Forward map, reverse map and validity. Copies share what neither has changed, if it was shared before.
#[derive(Clone, Debug)]
pub struct Map {
    forward: SharedVec<u32>,
    reverse: SharedVec<u32>,
    valid: SharedVec<u64>,
}

/// The map of no drive, as a drive has until its saved map is read.
impl Default for Map {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Map {
    /// A map in which no unit has a place.
    pub fn new(logical_units: u32, raw_units: u32) -> Self {
        Self {
            forward: SharedVec::new(logical_units as usize),
            reverse: SharedVec::new(raw_units as usize),
            valid: SharedVec::new((raw_units as usize).div_ceil(64)),
        }
    }

    /// The drive will be filled: large pages hold what has not been touched yet.
    pub fn expect_filling(&mut self) {
        self.forward.use_large_pages();
        self.reverse.use_large_pages();
        self.valid.use_large_pages();
    }

    /// Prepares for copies that share its entries.
    pub fn share(&mut self) {
        self.forward.share();
        self.reverse.share();
        self.valid.share();
    }

    /// Takes its entries for itself again, as far as no copy shares them any more.
    pub fn unshare(&mut self) {
        self.forward.unshare();
        self.reverse.unshare();
        self.valid.unshare();
    }

    /// Asks for a unit's entry before it is needed.
    #[inline]
    pub fn expect(&self, unit: u32) {
        self.forward.expect(unit as usize);
    }

    /// Asks for the entries of consecutive units before they are needed.
    #[inline]
    pub fn expect_all(&self, units: std::ops::RangeInclusive<u32>) {
        let (first, last) = (*units.start(), *units.end());
        self.forward.expect(first as usize);
        self.forward.expect(last as usize);
        if last.saturating_sub(first) > ENTRIES_PER_LINE {
            let between = (first..last).step_by(ENTRIES_PER_LINE as usize).skip(1);
            between.for_each(|unit| self.forward.expect(unit as usize));
        }
    }

    /// Asks for the units of the places that come after those of a place's cache line: what empties a block will look there.
    #[inline]
    pub fn expect_after(&self, place: Place) {
        self.reverse.expect((place + ENTRIES_PER_LINE) as usize);
    }

    /// Asks for the unit in a place, which will move soon.
    #[inline]
    pub fn expect_moved(&self, place: Place) {
        self.reverse.expect(place as usize);
    }

    /// Asks for the units of the first valid places, so many cache lines of them: the waits for memory of what empties a block add up otherwise,
    /// since it looks at the first pages one after the other without doing anything else.
    pub fn expect_first_valid(&self, (start, end): (Place, Place), lines: u32) {
        let mut from = start;
        for _ in 0..lines {
            let Some(place) = self.next_valid(from, end) else { break };
            self.expect_moved(place);
            from = (place | (ENTRIES_PER_LINE - 1)) + 1;
        }
    }

    /// Asks for what is needed when the unit in a place is overwritten.
    #[inline]
    pub fn expect_overwrite(&self, place: Place) {
        self.valid.expect(place as usize / 64);
    }

    /// The place of a logical unit.
    #[inline]
    pub fn place(&self, unit: u32) -> Option<Place> {
        self.forward.at(unit as usize).checked_sub(1)
    }

    /// True if the unit is at `place` now.
    #[inline]
    pub fn lies_at(&self, unit: u32, place: Place) -> bool {
        self.forward.at(unit as usize) == place + 1
    }

    /// The unit that was written to a place last, valid or not.
    #[inline]
    pub fn unit_at(&self, place: Place) -> u32 {
        self.reverse.at(place as usize)
    }

    /// True if the place holds valid data.
    #[inline(always)]
    pub fn is_valid(&self, place: Place) -> bool {
        self.valid.at(place as usize / 64) >> (place % 64) & 1 == 1
    }

    /// Gives a unit a new place; the old one, if any, must be invalidated by the caller.
    #[inline(always)]
    pub fn bind(&mut self, unit: u32, place: Place) -> Option<Place> {
        let entry = self.forward.at_mut(unit as usize);
        let old = entry.checked_sub(1);
        *entry = place + 1;
        *self.reverse.at_mut(place as usize) = unit;
        *self.valid.at_mut(place as usize / 64) |= 1 << (place % 64);
        old
    }

    /// The place of a unit, and how many units from it on, at most so many, have the places that follow; or have none, like it.
    #[inline]
    pub fn places_in_order(&self, unit: u32, most: u32) -> (Option<Place>, u32) {
        let first = self.place(unit);
        let follows = |at: &u32| self.place(unit + at) == first.map(|first| first + at);
        (first, 1 + (1..most).take_while(follows).count() as u32)
    }

    /// Gives consecutive units, 64 at most, consecutive new places; the old ones, if any, must be invalidated by the caller.
    #[inline]
    pub fn bind_in_order(&mut self, unit: u32, place: Place, units: u32) {
        if let Some(entries) = self.forward.own_part_mut(unit as usize, units as usize) {
            entries.iter_mut().zip(place + 1..).for_each(|(entry, place)| *entry = place);
        } else {
            (0..units).for_each(|at| *self.forward.at_mut((unit + at) as usize) = place + at + 1);
        }
        self.fill_in_order(unit, place, units);
    }

    /// The same if the units have the consecutive places from an old one on, or none; false if not, and nothing has changed.
    #[inline(always)]
    pub fn rebind_in_order(&mut self, unit: u32, old: Option<Place>, place: Place, units: u32) -> bool {
        let Some(entries) = self.forward.own_part_mut(unit as usize, units as usize) else { return false };
        let (first, step) = old.map_or((0, 0), |old| (old + 1, 1));
        if let Ok(four) = <&mut [u32; 4]>::try_from(&mut *entries) {
            // Pages mostly have four units.
            if *four != four_from(first, step) {
                return false;
            }
            *four = four_from(place + 1, 1);
            self.fill_in_order(unit, place, units);
            return true;
        }
        if entries.iter().zip(0..).any(|(&entry, at)| entry != first + at * step) {
            return false;
        }
        entries.iter_mut().zip(place + 1..).for_each(|(entry, place)| *entry = place);
        self.fill_in_order(unit, place, units);
        true
    }

    /// Consecutive places, 64 at most, hold consecutive units.
    #[inline(always)]
    fn fill_in_order(&mut self, unit: u32, place: Place, units: u32) {
        if let Some(entries) = self.reverse.own_part_mut(place as usize, units as usize) {
            if let Ok(four) = <&mut [u32; 4]>::try_from(&mut *entries) {
                *four = four_from(unit, 1);
            } else {
                entries.iter_mut().zip(unit..).for_each(|(entry, unit)| *entry = unit);
            }
        } else {
            (0..units).for_each(|at| *self.reverse.at_mut((place + at) as usize) = unit + at);
        }
        let [(word, mask), (next, rest)] = Self::masks(place, units);
        *self.valid.at_mut(word) |= mask;
        if rest != 0 {
            *self.valid.at_mut(next) |= rest;
        }
    }

    /// The validity of consecutive places, 64 at most: of two words, the position and the bits.
    #[inline]
    fn masks(place: Place, places: u32) -> [(usize, u64); 2] {
        let (word, bit) = (place as usize / 64, place % 64);
        let all = u64::MAX >> (64 - places);
        [(word, all << bit), (word + 1, all.checked_shr(64 - bit).unwrap_or(0))]
    }

    /// Takes its place from a unit.
    #[inline]
    pub fn unbind(&mut self, unit: u32) -> Option<Place> {
        std::mem::take(self.forward.at_mut(unit as usize)).checked_sub(1)
    }

    /// Clears the validity of a place.
    #[inline(always)]
    pub fn invalidate(&mut self, place: Place) {
        *self.valid.at_mut(place as usize / 64) &= !(1 << (place % 64));
    }

    /// Clears the validity of consecutive places, 64 at most.
    #[inline]
    pub fn invalidate_in_order(&mut self, place: Place, places: u32) {
        let [(word, mask), (next, rest)] = Self::masks(place, places);
        *self.valid.at_mut(word) &= !mask;
        if rest != 0 {
            *self.valid.at_mut(next) &= !rest;
        }
    }

    /// The first valid place in `from..end`.
    #[inline(always)]
    pub fn next_valid(&self, from: Place, end: Place) -> Option<Place> {
        let mut at = from;
        while at < end {
            let word = self.valid.at(at as usize / 64) >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// True if it has as many units and places as another.
    pub fn has_size_of(&self, other: &Self) -> bool {
        (self.forward.len(), self.reverse.len()) == (other.forward.len(), other.reverse.len())
    }

    /// Places of the drive.
    pub fn places(&self) -> u32 {
        self.reverse.len() as u32
    }

    /// Logical units of the drive.
    pub fn logical_units(&self) -> u32 {
        self.forward.len() as u32
    }

    /// Valid places in `from..end`.
    pub fn count_valid(&self, from: Place, end: Place) -> u32 {
        let (mut at, mut count) = (from, 0);
        while at < end {
            // To the end of its word, or to the end asked for.
            let width = (64 - at % 64).min(end - at);
            let word = self.valid.at(at as usize / 64) >> (at % 64);
            count += (word & (u64::MAX >> (64 - width))).count_ones();
            at += width;
        }
        count
    }
}

/// Four numbers from one on.
#[inline(always)]
fn four_from(first: u32, step: u32) -> [u32; 4] {
    [0, 1, 2, 3].map(|at| first.wrapping_add(at * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_moves_and_leaves() {
        let mut map = Map::new(100, 200);
        assert_eq!(map.place(7), None);
        assert_eq!(map.bind(7, 130), None);
        assert_eq!(map.bind(7, 65), Some(130));
        map.invalidate(130);
        assert_eq!((map.place(7), map.unit_at(65), map.is_valid(130)), (Some(65), 7, false));
        assert_eq!(map.unbind(7), Some(65));
        assert_eq!(map.place(7), None);
    }

    #[test]
    fn units_in_order_are_bound_as_one_by_one() {
        let mut random = wordline_base::Stream::new(1, "map-test", 0);
        for shared in [false, true] {
            let (mut together, mut apart) = (Map::new(300, 400), Map::new(300, 400));
            if shared {
                together.share();
            }
            for _ in 0..500 {
                let units = 1 + random.below(64) as u32;
                let (unit, place) = (random.below(236) as u32, random.below(336) as u32);
                let (first, count) = together.places_in_order(unit, units);
                let follows = |at: u32| apart.place(unit + at) == first.map(|first| first + at);
                assert!(count <= units && (0..count).all(follows) && (count == units || !follows(count)));
                let at_once = together.rebind_in_order(unit, first, place, units);
                assert_eq!(at_once, !shared && count == units);
                if !at_once {
                    together.bind_in_order(unit, place, units);
                }
                (0..units).for_each(|at| _ = apart.bind(unit + at, place + at));
                let (old, places) = (random.below(336) as u32, 1 + random.below(64) as u32);
                together.invalidate_in_order(old, places);
                (old..old + places).for_each(|place| apart.invalidate(place));
                assert!((0..300).all(|unit| together.place(unit) == apart.place(unit)));
                assert!((0..400).all(|place| together.unit_at(place) == apart.unit_at(place)));
                assert!((0..400).all(|place| together.is_valid(place) == apart.is_valid(place)));
            }
        }
    }

    #[test]
    fn valid_places_are_found_across_words() {
        let mut map = Map::new(10, 300);
        for place in [3, 64, 127, 128, 255] {
            map.bind(1, place);
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(place) = map.next_valid(at, 255) {
            found.push(place);
            at = place + 1;
        }
        assert_eq!(found, [3, 64, 127, 128]);
        assert_eq!(map.next_valid(128, 128), None);
        assert_eq!(map.count_valid(0, 300), 5);
        for (from, end) in [(0, 4), (3, 3), (3, 4), (4, 64), (4, 65), (64, 128), (63, 129), (128, 256), (255, 300)] {
            let by_one = (from..end).filter(|&place| map.is_valid(place)).count() as u32;
            assert_eq!(map.count_valid(from, end), by_one, "{from}..{end}");
        }
    }
}
