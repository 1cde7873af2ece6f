//! Which planes have an open block for a stream, as bits: a word for each die, in which the writes that wait for a die have the same bits.

use super::{Stream, NONE, STREAMS};

/// See the module. It follows from the open blocks, and is not saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    planes_per_die: usize,
    dies: Vec<u64>,
}

impl Stream {
    /// The bit of its writes to the first plane of a die; those to the other planes follow.
    #[must_use]
    pub const fn first_bit(self) -> u32 {
        match self {
            Self::Host => 8,
            Self::Collector => 40,
        }
    }
}

impl Opened {
    /// Of so many planes, none has an open block.
    pub fn new(planes: u32, planes_per_die: u32) -> Self {
        Self { planes_per_die: planes_per_die as usize, dies: vec![0; (planes / planes_per_die) as usize] }
    }

    /// Of the open blocks given, by plane, then stream.
    pub fn take_over(&mut self, open: &[u32]) {
        self.dies.fill(0);
        for slot in (0..open.len()).filter(|&slot| open[slot] != NONE) {
            self.set(slot, true);
        }
    }

    /// A plane has an open block for a stream from now on, or none.
    #[inline(never)]
    pub fn set(&mut self, slot: usize, is_open: bool) {
        let (plane, stream) = (slot / STREAMS, slot % STREAMS);
        let bit = Stream::numbered(stream as u32).first_bit() + (plane % self.planes_per_die) as u32;
        let die = &mut self.dies[plane / self.planes_per_die];
        *die = *die & !(1 << bit) | u64::from(is_open) << bit;
    }

    /// The bits of a die.
    #[inline(always)]
    pub fn of_die(&self, die: u32) -> u64 {
        self.dies[die as usize]
    }
}
