//! Operations that wait for a die, as bits: one for each class and plane.

use crate::space::Stream;
use crate::task::{Class, Task, CLASSES};
use wordline_flash::MAX_PLANES;

const PLANES: usize = MAX_PLANES;
/// Classes in a word.
const WIDTH: usize = u64::BITS as usize / PLANES;

/// Non-empty queues of a die: bit `class * MAX_PLANES + plane`, counted over all words. The first word has host and GC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready([u64; CLASSES.div_ceil(WIDTH)]);

/// Queues from the first of a die on, among which those of its host and GC are whatever their number fits.
pub(super) const NEXT_QUEUES: usize = 1 << u8::BITS;
const _: () = assert!(PLANES * CLASSES <= NEXT_QUEUES);

/// By bit of host and GC: its queue, among those of its die.
const QUEUES: [u8; u64::BITS as usize] = {
    let (mut queues, mut bit) = ([0; u64::BITS as usize], 0);
    while bit < queues.len() {
        queues[bit] = (bit % PLANES * CLASSES + bit / PLANES) as u8;
        bit += 1;
    }
    queues
};

#[inline]
fn bit(class: Class, plane: u32) -> u64 {
    1 << ((class.index() % WIDTH * PLANES) as u32 + plane)
}

impl Ready {
    /// Nothing waits.
    pub const NOTHING: Self = Self([0; CLASSES.div_ceil(WIDTH)]);

    /// The bits of writes of host and GC.
    pub const WRITES: u64 = {
        let (mut bits, mut class) = (0, 0);
        while class < WIDTH {
            if Class::numbered(class as u8).is_write() {
                bits |= ((1 << PLANES) - 1) << (class * PLANES);
            }
            class += 1;
        }
        bits
    };

    /// The bits of programs of the mapping table of host and GC.
    pub const MAP_WRITES: u64 = {
        let (mut bits, mut class) = (0, 0);
        while class < WIDTH {
            if Class::numbered(class as u8).is_map_write() {
                bits |= ((1 << PLANES) - 1) << (class * PLANES);
            }
            class += 1;
        }
        bits
    };

    /// Of the bits of host and GC, the planes for which operations of a class wait.
    #[inline]
    pub fn planes_of(bits: u64, class: Class) -> u32 {
        (bits >> (class.index() * PLANES)) as u32 & ((1 << PLANES) - 1)
    }

    /// Operations of a class wait for a plane of the die.
    #[inline(always)]
    pub fn set(&mut self, class: Class, plane: u32) {
        self.0[class.index() / WIDTH] |= bit(class, plane);
    }

    /// No operations of a class wait for a plane any more.
    #[inline(always)]
    pub fn clear(&mut self, class: Class, plane: u32) {
        self.0[class.index() / WIDTH] &= !bit(class, plane);
    }

    /// No operations of a class wait for these planes any more, as bits.
    #[inline(always)]
    pub fn clear_planes(&mut self, class: Class, planes: u32) {
        self.0[class.index() / WIDTH] &= !(u64::from(planes) << (class.index() % WIDTH * PLANES));
    }

    /// What waits for a task.
    pub fn of(self, task: Task) -> Self {
        let mut left = Self::NOTHING;
        let mut all = self;
        while let Some((class, plane)) = all.next() {
            if class.task() == task {
                left.set(class, plane);
            }
        }
        left
    }

    /// True if operations of a class wait.
    #[inline]
    pub fn has(self, class: Class) -> bool {
        let all = bit(class, 0) * ((1 << PLANES) - 1);
        self.0[class.index() / WIDTH] & all != 0
    }

    /// The planes for which operations of a class wait, as bits.
    #[inline(always)]
    pub fn planes(self, class: Class) -> u32 {
        (self.0[class.index() / WIDTH] >> (class.index() % WIDTH * PLANES)) as u32 & ((1 << PLANES) - 1)
    }

    /// True if nothing waits.
    #[inline]
    pub fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }

    /// The bits of host and GC, if nothing else waits.
    #[inline]
    pub fn of_host_and_gc(self) -> Option<u64> {
        let [first, rest @ ..] = self.0;
        (rest.iter().all(|&bits| bits == 0)).then_some(first)
    }

    /// The planes for which reads of the host wait, if nothing else waits.
    #[inline]
    pub fn only_host_reads(self) -> Option<u32> {
        let planes = self.planes(Class::HOST_READ);
        (self.of_host_and_gc() == Some(u64::from(planes))).then_some(planes)
    }

    /// The planes for which writes of the host wait, if nothing else waits.
    #[inline]
    pub fn only_host_writes(self) -> Option<u32> {
        const AT: usize = Class::HOST_WRITE.index() * PLANES;
        let waiting = self.of_host_and_gc()?;
        (waiting & !(((1 << PLANES) - 1) << AT) == 0).then_some((waiting >> AT) as u32)
    }

    /// The class and plane of a bit of host and GC.
    #[inline]
    pub fn of_bit(bit: u32) -> (Class, u32) {
        (Class::numbered((bit / PLANES as u32) as u8), bit % PLANES as u32)
    }

    /// The plane and the stream of a bit of writes of host and GC that are not of the mapping table.
    #[inline(always)]
    pub fn write_of_bit(bit: u32) -> (u32, Stream) {
        (bit % PLANES as u32, Stream::numbered(bit / (u64::BITS / 2)))
    }

    /// The queue of a bit of host and GC, among those of its die.
    #[inline]
    pub fn queue_of_bit(bit: u32) -> usize {
        usize::from(QUEUES[bit as usize % QUEUES.len()])
    }

    /// Takes the next class and plane with operations, class by class; a copy is emptied in this way.
    #[inline]
    pub fn next(&mut self) -> Option<(Class, u32)> {
        for (word, bits) in self.0.iter_mut().enumerate() {
            if *bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                return Some((Class::numbered((word * WIDTH + bit / PLANES) as u8), (bit % PLANES) as u32));
            }
        }
        None
    }
}
