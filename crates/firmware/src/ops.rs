//! Waiting flash operations and their queues.
//!
//! Operations live in one slab and are linked by index: a queue is two indices and a length, and nothing is allocated once the
//! slab has grown to the working size.

use crate::task::Class;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// No operation.
pub const NONE: u32 = u32::MAX;

/// What an operation is for, beyond its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// What its class says.
    #[default]
    Plain,
    /// A read whose data are merged into a partial write, or the write that follows it.
    Merge,
    /// A read of data that a whole unit overwrites, for the parity of its stripe, or the write that follows it.
    Change,
    /// A read of GC that is to move its page inside its plane.
    Copy,
    /// A read of a part of the mapping table.
    Map,
    /// A read of another page, to rebuild the data of one whose die is busy.
    Part,
    /// A read of old data or of old parity, for a new one of their stripe.
    Old,
    /// A program of the parity of a row. Its source is the block.
    Parity,
    /// A program of a page without data, since NAND wants the pages of a block in order.
    Filler,
    /// An erase that failed.
    Failed,
}

/// One operation of a task on one page (or, for erase, one block).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashOp {
    /// When it became ready, in picoseconds.
    pub ready: Time,
    /// Its number in the order of becoming ready.
    pub sequence: u64,
    /// First logical unit.
    pub unit: u32,
    /// Reads: the place it is read from. Writes of moved or merged units: the place the data came from. Erases: the block.
    pub source: u32,
    /// Host operations: the request. Collector operations: the job.
    pub owner: u32,
    /// Next operation in its queue, or in the page that is being programmed.
    pub next: u32,
    /// Bytes on the bus.
    pub bytes: u32,
    /// Position in the order of buffered writes. Of a part: the read that it helps to rebuild. Of old data: their stripe.
    pub ordinal: u64,
    /// A buffered write: its cell in the write buffer.
    pub held: u32,
    /// Version of the data, kept when a run is verified.
    pub stamp: u32,
    /// Logical units, consecutive. None if it is a buffered write whose unit the host gave back.
    pub units: u16,
    /// Task and kind of the operation.
    pub class: Class,
    /// What becomes of it at its end.
    pub role: Role,
    /// True if the data are in the write buffer.
    pub buffered: bool,
    /// A read before it (of old data, of the mapping table) waited for a die that GC held.
    #[serde(skip)]
    pub delayed: bool,
}

// The slab is read and written an operation at a time, in no order: beyond the line of a cache each access would take two.
const _: () = assert!(size_of::<FlashOp>() <= 64);

impl FlashOp {
    /// True of a read of data that a write overwrites, and of that write.
    #[inline]
    pub fn is_of_overwriting(&self) -> bool {
        matches!(self.role, Role::Merge | Role::Change)
    }
}

impl Default for FlashOp {
    fn default() -> Self {
        Self {
            ready: 0,
            sequence: 0,
            unit: 0,
            source: NONE,
            owner: NONE,
            next: NONE,
            bytes: 0,
            ordinal: 0,
            held: NONE,
            stamp: 0,
            units: 1,
            class: Class::HOST_READ,
            role: Role::Plain,
            buffered: false,
            delayed: false,
        }
    }
}

/// Slots for operations, used again when freed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Slab {
    ops: Vec<FlashOp>,
    free: u32,
    live: u32,
}

impl Slab {
    /// An empty slab.
    pub fn new() -> Self {
        Self { ops: Vec::new(), free: NONE, live: 0 }
    }

    /// Stores an operation.
    #[inline(always)]
    pub fn insert(&mut self, op: FlashOp) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.grow();
        }
        // The operation is written straight to its place, which is the only one that it may get.
        let slot = self.free;
        let place = &mut self.ops[slot as usize];
        self.free = place.next;
        *place = op;
        slot
    }

    /// Makes a new slot.
    #[cold]
    fn grow(&mut self) {
        self.free = self.ops.len() as u32;
        self.ops.push(FlashOp::default());
    }

    /// Gives a slot back.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.live -= 1;
        self.ops[slot as usize].next = self.free;
        self.free = slot;
    }

    /// Takes the operation out of a slot, and gives that back.
    #[inline(always)]
    pub fn take(&mut self, slot: u32) -> FlashOp {
        self.live -= 1;
        let op = &mut self.ops[slot as usize];
        let taken = *op;
        op.next = self.free;
        self.free = slot;
        taken
    }

    /// The same if it fits.
    #[inline(always)]
    pub fn take_if(&mut self, slot: u32, fits: impl FnOnce(&FlashOp) -> bool) -> Option<FlashOp> {
        let op = &mut self.ops[slot as usize];
        if !fits(op) {
            return None;
        }
        let taken = *op;
        op.next = self.free;
        self.free = slot;
        self.live -= 1;
        Some(taken)
    }

    /// Operations stored.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// The operations stored. It looks at all slots twice, so it is for rare occasions.
    pub fn all(&self) -> impl Iterator<Item = &FlashOp> {
        let mut is_free = vec![false; self.ops.len()];
        let mut slot = self.free;
        while slot != NONE {
            is_free[slot as usize] = true;
            slot = self.ops[slot as usize].next;
        }
        self.ops.iter().zip(is_free).filter_map(|(op, is_free)| (!is_free).then_some(op))
    }

    /// The operation in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &FlashOp {
        &self.ops[slot as usize]
    }

    /// The operation in a slot, unless that is [`NONE`], which no slot is.
    #[inline(always)]
    pub fn find(&self, slot: u32) -> Option<&FlashOp> {
        self.ops.get(slot as usize)
    }

    /// The operation in a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut FlashOp {
        &mut self.ops[slot as usize]
    }
}

/// A queue of operations, first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fifo {
    /// Oldest operation.
    pub head: u32,
    tail: u32,
    /// Operations in the queue; of writes, their units (those given back count as well).
    pub len: u32,
    /// Number of the oldest operation, which is asked for more often than it changes; the highest if there is none.
    #[serde(skip, default = "no_number")]
    oldest: u64,
}

fn no_number() -> u64 {
    u64::MAX
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0, oldest: no_number() }
    }
}

impl Fifo {
    /// Number of the oldest operation in the order of becoming ready; the highest if there is none.
    #[inline]
    pub fn oldest(&self, slab: &Slab) -> u64 {
        debug_assert!(self.head == NONE || self.oldest == slab.get(self.head).sequence, "the number is out of date");
        self.oldest
    }

    /// The same where the operations are not at hand.
    #[inline]
    pub fn number(&self) -> u64 {
        self.oldest
    }

    /// Another operation, or none, is the oldest.
    #[inline]
    fn lead(&mut self, slab: &Slab, op: u32) {
        self.head = op;
        self.oldest = slab.find(op).map_or(no_number(), |op| op.sequence);
    }

    /// Appends an operation.
    #[inline]
    pub fn push(&mut self, slab: &mut Slab, op: u32) {
        self.push_here(slab, op);
    }

    /// The same where a call would cost as much; true if no other waits.
    #[inline(always)]
    pub fn push_here(&mut self, slab: &mut Slab, op: u32) -> bool {
        self.push_changed(slab, op, |_| {})
    }

    /// Appends an operation that becomes another one, with a number of its own; true if no other waits.
    #[inline(always)]
    pub fn push_changed(&mut self, slab: &mut Slab, slot: u32, change: impl FnOnce(&mut FlashOp)) -> bool {
        let op = slab.get_mut(slot);
        change(op);
        op.next = NONE;
        let sequence = op.sequence;
        self.link_last(slab, slot, sequence)
    }

    /// Stores an operation and appends it; gives its slot, and whether no other waits.
    #[inline(always)]
    pub fn push_new(&mut self, slab: &mut Slab, op: FlashOp) -> (u32, bool) {
        debug_assert_eq!(op.next, NONE, "it comes last");
        let sequence = op.sequence;
        let slot = slab.insert(op);
        (slot, self.link_last(slab, slot, sequence))
    }

    /// An operation with such a number comes last; true if it is also the first.
    #[inline(always)]
    fn link_last(&mut self, slab: &mut Slab, op: u32, sequence: u64) -> bool {
        let last = slab.ops.get_mut(std::mem::replace(&mut self.tail, op) as usize);
        self.len += 1;
        let is_first = last.is_none();
        match last {
            Some(last) => last.next = op,
            None => (self.head, self.oldest) = (op, sequence),
        }
        is_first
    }

    /// Puts an operation before all others.
    pub fn push_front(&mut self, slab: &mut Slab, op: u32) {
        slab.get_mut(op).next = self.head;
        if self.head == NONE {
            self.tail = op;
        }
        self.lead(slab, op);
        self.len += 1;
    }

    /// Puts a part of an operation right behind it. The queue counts them as it did the whole.
    pub fn push_behind(&mut self, slab: &mut Slab, whole: u32, part: u32) {
        slab.get_mut(part).next = std::mem::replace(&mut slab.get_mut(whole).next, part);
        if self.tail == whole {
            self.tail = part;
        }
    }

    /// Puts an operation before the first that `comes_later` than it, or behind all; true if it comes before all others.
    pub fn push_before(&mut self, slab: &mut Slab, op: u32, comes_later: impl Fn(&FlashOp) -> bool) -> bool {
        if self.tail == NONE || !comes_later(slab.get(self.tail)) {
            self.push(slab, op);
            return false;
        }
        let Some((before, other)) = self.position(slab, self.len, comes_later) else { return false };
        if before == NONE {
            self.push_front(slab, op);
            return true;
        }
        slab.get_mut(op).next = other;
        slab.get_mut(before).next = op;
        self.len += 1;
        false
    }

    /// Takes the newest operation.
    pub fn pop_last(&mut self, slab: &mut Slab) -> Option<u32> {
        let last = self.tail;
        if last == NONE {
            return None;
        }
        let position = self.len - 1;
        let mut before = NONE;
        let mut op = self.head;
        for _ in 0..position {
            (before, op) = (op, slab.get(op).next);
        }
        self.tail = before;
        if before == NONE {
            self.lead(slab, NONE);
        } else {
            slab.get_mut(before).next = NONE;
        }
        self.len -= 1;
        Some(last)
    }

    /// Takes the oldest operation.
    #[inline(always)]
    pub fn pop(&mut self, slab: &Slab) -> Option<u32> {
        let op = self.head;
        self.lead(slab, slab.find(op)?.next);
        if self.head == NONE {
            self.tail = NONE;
        }
        self.len -= 1;
        Some(op)
    }

    /// The oldest operation, if there is one, to be looked at before it is taken.
    #[inline(always)]
    pub fn lead_of<'a>(&'a mut self, slab: &'a mut Slab) -> Option<Lead<'a>> {
        let (ops, slot) = (&mut slab.ops[..], self.head);
        ((slot as usize) < ops.len()).then_some(Lead { fifo: self, ops, slot })
    }

    /// The oldest operation and the newest, if there are any.
    #[inline(always)]
    pub fn ends<'a>(&self, slab: &'a Slab) -> Option<(&'a FlashOp, &'a FlashOp)> {
        Some((slab.find(self.head)?, slab.get(self.tail)))
    }

    /// Its operations, the oldest first.
    #[inline]
    pub fn iter<'a>(&self, slab: &'a Slab) -> impl Iterator<Item = &'a FlashOp> {
        let get = |slot| (slot != NONE).then(|| slab.get(slot));
        std::iter::successors(get(self.head), move |op| get(op.next))
    }

    /// The same, by their slots.
    pub fn slots<'a>(&self, slab: &'a Slab) -> impl Iterator<Item = u32> + 'a {
        let some = |slot| (slot != NONE).then_some(slot);
        std::iter::successors(some(self.head), move |&slot| some(slab.get(slot).next))
    }

    /// The first of the oldest `window` operations that `fits`.
    pub fn find(&self, slab: &Slab, window: u32, fits: impl Fn(&FlashOp) -> bool) -> Option<u32> {
        self.position(slab, window, fits).map(|(_, op)| op)
    }

    /// The same, with the operation before it.
    #[inline(always)]
    pub fn position(&self, slab: &Slab, window: u32, fits: impl Fn(&FlashOp) -> bool) -> Option<(u32, u32)> {
        let ops = &slab.ops[..];
        let (mut before, mut op) = (NONE, self.head);
        for _ in 0..window {
            let candidate = ops.get(op as usize)?;
            if fits(candidate) {
                return Some((before, op));
            }
            (before, op) = (op, candidate.next);
        }
        None
    }

    /// Takes an operation that comes after another, or first.
    #[inline]
    pub fn take(&mut self, slab: &mut Slab, before: u32, op: u32) {
        let next = slab.get(op).next;
        if before == NONE {
            self.lead(slab, next);
        } else {
            slab.get_mut(before).next = next;
        }
        if self.tail == op {
            self.tail = before;
        }
        self.len -= 1;
    }

    /// Takes the oldest operations up to one, so many in all. They stay linked in their order.
    #[inline(always)]
    pub fn cut(&mut self, slab: &mut Slab, last: u32, count: u32) {
        let next = std::mem::replace(&mut slab.get_mut(last).next, NONE);
        self.lead(slab, next);
        if self.head == NONE {
            self.tail = NONE;
        }
        self.len -= count;
    }

    /// Appends operations that are linked in their order, by the first and the last, so many in all.
    #[inline]
    pub fn append(&mut self, slab: &mut Slab, (first, last): (u32, u32), count: u32) {
        if self.head == NONE {
            self.lead(slab, first);
        } else {
            slab.get_mut(self.tail).next = first;
        }
        self.tail = last;
        self.len += count;
    }

    /// Takes the first of the oldest `window` operations that `fits`.
    #[inline]
    pub fn take_if(&mut self, slab: &mut Slab, window: u32, fits: impl Fn(&FlashOp) -> bool) -> Option<u32> {
        let (before, op) = self.position(slab, window, fits)?;
        self.take(slab, before, op);
        Some(op)
    }
}

/// The oldest operation of a queue.
pub struct Lead<'a> {
    fifo: &'a mut Fifo,
    ops: &'a mut [FlashOp],
    slot: u32,
}

/// An operation that has left its queue, and stands alone.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Its slot.
    pub slot: u32,
    /// What it is.
    pub op: FlashOp,
    /// True if it was the last of its queue.
    pub last: bool,
}

impl Lead<'_> {
    /// What it is.
    #[inline(always)]
    pub fn op(&self) -> &FlashOp {
        &self.ops[self.slot as usize]
    }

    /// Takes it out of its queue.
    #[inline(always)]
    pub fn take(self) -> Taken {
        let Self { fifo, ops, slot } = self;
        let next = std::mem::replace(&mut ops[slot as usize].next, NONE);
        let op = ops[slot as usize];
        fifo.head = next;
        fifo.len -= 1;
        // No slot is the one that stands for none.
        let follower = ops.get(next as usize);
        match follower {
            Some(follower) => fifo.oldest = follower.sequence,
            None => (fifo.oldest, fifo.tail) = (no_number(), NONE),
        }
        Taken { slot, op, last: follower.is_none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_keep_order_and_give_up_their_middle() {
        let mut slab = Slab::new();
        let mut queue = Fifo::default();
        for unit in 0..6 {
            let op = slab.insert(FlashOp { unit, ..FlashOp::default() });
            queue.push(&mut slab, op);
        }
        assert_eq!(queue.find(&slab, 4, |op| op.unit == 4), None, "4 lies beyond the window");
        assert_eq!(queue.find(&slab, 5, |op| op.unit == 4).map(|op| slab.get(op).unit), Some(4));
        let taken = queue.take_if(&mut slab, 4, |op| op.unit == 3).unwrap();
        assert_eq!(slab.get(taken).unit, 3);
        assert_eq!(queue.take_if(&mut slab, 3, |op| op.unit == 5), None, "5 lies beyond the window");
        let taken = queue.take_if(&mut slab, 9, |op| op.unit == 5).unwrap();
        assert_eq!(slab.get(taken).unit, 5);
        let op = slab.insert(FlashOp { unit: 9, ..FlashOp::default() });
        queue.push(&mut slab, op);
        assert_eq!(queue.iter(&slab).map(|op| op.unit).collect::<Vec<_>>(), [0, 1, 2, 4, 9]);
        // Ordered by unit: into the middle, before all, behind all.
        for (unit, comes_first) in [(3, false), (0, false), (9, false), (10, false)] {
            let op = slab.insert(FlashOp { unit, ..FlashOp::default() });
            assert_eq!(queue.push_before(&mut slab, op, |other| other.unit > unit), comes_first, "{unit}");
        }
        assert_eq!(queue.iter(&slab).map(|op| op.unit).collect::<Vec<_>>(), [0, 0, 1, 2, 3, 4, 9, 9, 10]);
        let op = slab.insert(FlashOp { unit: 7, ..FlashOp::default() });
        assert!(queue.push_before(&mut slab, op, |_| true), "all others come later");
        let mut left = Vec::new();
        while let Some(op) = queue.pop(&slab) {
            left.push(slab.get(op).unit);
            slab.remove(op);
        }
        assert_eq!(left, [7, 0, 0, 1, 2, 3, 4, 9, 9, 10]);
        assert_eq!((queue, slab.live()), (Fifo::default(), 2));
    }
}
