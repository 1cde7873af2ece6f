//! Events of the near future, each in a place by its time.
//!
//! A *place* is a span of 2^18 ps, about 262 ns. The wheel has 4,096 of them, about 1.07 ms, so mostly all that dies do but erase. Bits tell
//! which places are taken, so the first event is found by two looks for the lowest bit, whatever their number. Most events are alone in
//! their place; the others of a place follow the first in a list. One that comes after the last place is refused.

use super::{IN_HEAP, NEVER};

/// Bits of a time within a place.
const SHIFT: u32 = 18;
/// Words of bits, a bit for each place.
const WORDS: usize = 64;
const PLACES: usize = 64 * WORDS;
/// What a place is counted from that is known to have several events.
pub(super) const CROWDED: usize = PLACES;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// The events of a place but the first: the first of them, and the last.
#[derive(Clone, Copy, Debug)]
struct Rest {
    second: u32,
    last: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// The first event of each place; only those of taken places mean anything.
    keys: Box<[u128; PLACES]>,
    /// The places that have more, as bits.
    shared: [u64; WORDS],
    /// Of these, the second event and the last, as numbers of `others`.
    rests: Box<[Rest; PLACES]>,
    /// All events but the first of their place, and the one that follows in it; what is not in use follows `free`.
    others: Vec<(u128, u32)>,
    free: u32,
    /// The taken places, as bits.
    taken: [u64; WORDS],
    /// The words that have some.
    words: u64,
    /// The first place, counted from time 0 on: it is not after any event, and the last is `PLACES - 1` later.
    now: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        let many = "it has so many places";
        Self {
            keys: vec![0; PLACES].into_boxed_slice().try_into().expect(many),
            shared: [0; WORDS],
            rests: vec![Rest { second: NONE, last: NONE }; PLACES].into_boxed_slice().try_into().expect(many),
            others: Vec::new(),
            free: NONE,
            taken: [0; WORDS],
            words: 0,
            now: 0,
        }
    }
}

/// The place of an event, counted from time 0 on.
#[inline(always)]
fn place_of(key: u128) -> u64 {
    (key >> 64) as u64 >> SHIFT
}

impl Wheel {
    /// Number of events.
    pub fn len(&self) -> usize {
        let firsts: u32 = self.taken.iter().map(|word| word.count_ones()).sum();
        let free = std::iter::successors(Some(self.free), |&at| Some(self.others.get(at as usize)?.1));
        firsts as usize + self.others.len() + 1 - free.count()
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        (self.taken, self.shared, self.words) = ([0; WORDS], [0; WORDS], 0);
        self.others.clear();
        self.free = NONE;
    }

    /// Puts an event into its place, and tells which that is; none if the wheel has none for its time.
    #[inline(always)]
    pub fn insert(&mut self, key: u128) -> Option<usize> {
        let place = place_of(key);
        let at = place as usize % PLACES;
        let (word, bit) = (at / 64, 1 << (at % 64));
        if place.wrapping_sub(self.now) >= PLACES as u64 {
            return None;
        }
        let taken = self.taken[word];
        if taken & bit != 0 {
            self.insert_behind(key, at);
            return Some(at);
        }
        self.keys[at] = key;
        self.taken[word] = taken | bit;
        self.words |= 1 << word;
        Some(at)
    }

    /// Puts an event into a place that has some, in their order: mostly it is the last.
    #[inline(never)]
    fn insert_behind(&mut self, key: u128, at: usize) {
        let (at, number) = (at % PLACES, self.free);
        if number == NONE {
            return self.insert_more(key, at);
        }
        let (shared, bit) = (&mut self.shared[at / 64], 1 << (at % 64));
        let rest = &mut self.rests[at];
        if *shared & bit == 0 {
            if key < self.keys[at] {
                return self.insert_first(key, at);
            }
            *shared |= bit;
            rest.second = number;
        } else {
            let last = &mut self.others[rest.last as usize];
            if key < last.0 {
                return self.insert_between(key, at);
            }
            last.1 = number;
        }
        rest.last = number;
        self.free = std::mem::replace(&mut self.others[number as usize], (key, NONE)).1;
    }

    /// The same for an event that comes before the first of its place.
    #[cold]
    fn insert_first(&mut self, key: u128, at: usize) {
        let first = std::mem::replace(&mut self.keys[at], key);
        self.insert_behind(first, at);
    }

    /// The same where there is no room for another.
    #[cold]
    fn insert_more(&mut self, key: u128, at: usize) {
        self.free = self.others.len() as u32;
        self.others.push((0, NONE));
        self.insert_behind(key, at);
    }

    /// Puts an event into a place before the last of several, and there is room for it.
    #[inline(never)]
    fn insert_between(&mut self, mut key: u128, at: usize) {
        let first = &mut self.keys[at];
        if key < *first {
            key = std::mem::replace(first, key);
        }
        let (mut before, mut after) = (NONE, self.rests[at].second);
        while self.others[after as usize].0 < key {
            (before, after) = (after, self.others[after as usize].1);
        }
        let number = self.free;
        self.free = std::mem::replace(&mut self.others[number as usize], (key, after)).1;
        if before == NONE {
            self.rests[at].second = number;
        } else {
            self.others[before as usize].1 = number;
        }
    }

    /// Takes the first event from its place if it is alone there; gives the one that is first then, and its place.
    #[inline(always)]
    pub fn take_alone(&mut self, key: u128, at: usize) -> Option<(u128, usize)> {
        self.now = place_of(key);
        let (word, bit) = (at / 64 % WORDS, 1 << (at % 64));
        if self.shared[word] & bit != 0 {
            return None;
        }
        let left = self.taken[word] & !bit;
        self.taken[word] = left;
        if left == 0 {
            self.words &= !(1 << word);
        }
        Some(self.first_from(at))
    }

    /// The same where it is not alone; the place comes as [`CROWDED`] if there is still another behind the one that is first then.
    #[inline(always)]
    pub fn take_before_others(&mut self, at: usize) -> (u128, usize) {
        let at = at % PLACES;
        let rest = &mut self.rests[at];
        let number = rest.second;
        let other = &mut self.others[number as usize];
        let (key, after) = *other;
        other.1 = self.free;
        (self.free, self.keys[at], rest.second) = (number, key, after);
        if after == NONE {
            self.shared[at / 64] &= !(1 << (at % 64));
            return (key, at);
        }
        (key, CROWDED + at)
    }

    /// An event has been taken elsewhere that came before all others: the wheel turns on to its time, never back. Gives its first event.
    #[inline(always)]
    pub fn turn_to(&mut self, key: u128) -> (u128, usize) {
        self.now = self.now.max(place_of(key));
        self.first_from(self.now as usize % PLACES)
    }

    /// The first event from a place on, once around, and its place.
    #[inline(always)]
    fn first_from(&self, at: usize) -> (u128, usize) {
        let word = at / 64 % WORDS;
        let here = self.taken[word] >> (at % 64);
        if here != 0 {
            let at = (at + here.trailing_zeros() as usize) % PLACES;
            return (self.keys[at], at);
        }
        if self.words == 0 {
            return (NEVER, IN_HEAP);
        }
        // The words after this one, and at the end this one: its bits before the place.
        let after = self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + after) % WORDS;
        let at = word * 64 + self.taken[word].trailing_zeros() as usize % 64;
        (self.keys[at], at)
    }
}
