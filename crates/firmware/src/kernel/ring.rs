//! A queue of dies in which each is at most once: a ring that never grows.

/// Dies in the order of their coming.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    dies: Vec<u32>,
    mask: usize,
    head: usize,
    tail: usize,
}

impl Ring {
    /// For so many dies.
    pub fn new(dies: u32) -> Self {
        let size = dies.next_power_of_two() as usize;
        Self { dies: vec![0; size], mask: size - 1, head: 0, tail: 0 }
    }

    /// Appends a die that is not in it.
    #[inline]
    pub fn push_back(&mut self, die: u32) {
        self.dies[self.tail & self.mask] = die;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the die that came first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<u32> {
        if self.head == self.tail {
            return None;
        }
        let die = self.dies[self.head & self.mask];
        self.head = self.head.wrapping_add(1);
        Some(die)
    }

    /// True if it has no die.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Its dies.
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
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
