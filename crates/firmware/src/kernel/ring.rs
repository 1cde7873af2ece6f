//! A queue of dies in which each is at most once: a ring that never grows.

/// No die.
const NONE: u32 = u32::MAX;

/// Dies in the order of their coming.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// The first, since mostly there is no other; [`NONE`] if there is none.
    first: u32,
    /// Those after it.
    dies: Vec<u32>,
    mask: usize,
    head: usize,
    tail: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self { first: NONE, dies: Vec::new(), mask: 0, head: 0, tail: 0 }
    }
}

impl Ring {
    /// For so many dies.
    pub fn new(dies: u32) -> Self {
        let size = dies.next_power_of_two() as usize;
        Self { first: NONE, dies: vec![0; size], mask: size - 1, head: 0, tail: 0 }
    }

    /// Appends a die that is not in it.
    #[inline]
    pub fn push_back(&mut self, die: u32) {
        if self.first == NONE {
            self.first = die;
            return;
        }
        self.dies[self.tail & self.mask] = die;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the die that came first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<u32> {
        let die = self.first;
        if die == NONE {
            return None;
        }
        self.first = NONE;
        if self.head != self.tail {
            self.first = self.dies[self.head & self.mask];
            self.head = self.head.wrapping_add(1);
        }
        Some(die)
    }

    /// True if it has no die.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Its dies.
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) + usize::from(self.first != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_leave_in_the_order_of_their_coming() {
        let mut ring = Ring::new(3);
        for round in 0..5 {
            [round, 7, 9].into_iter().for_each(|die| ring.push_back(die));
            assert_eq!(ring.len(), 3);
            assert_eq!([ring.pop_front(), ring.pop_front(), ring.pop_front()], [Some(round), Some(7), Some(9)]);
            assert!(ring.is_empty() && ring.pop_front().is_none());
        }
    }
}
