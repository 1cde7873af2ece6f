//! Banks that serve a request of the host at a time (`policy/dispatch/one_request.rs`). A bank is a die.
//!
//! Operations of a request wait at their die until it has done all that the request before them has there. Then they go into its
//! queues together. What comes later of the same request, such as the write after a read of old data, follows at once while the die
//! still serves it, and waits again if it does not. If nothing can go on, because a request waits for room that others would make, all
//! that wait go to their dies.

use super::Kernel;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::dispatch::{Order, WaitingRequest};
use crate::policy::placement::Constraint;
use crate::task::Class;
use serde::{Deserialize, Serialize};
use wordline_base::Time;
use wordline_flash::Geometry;

/// What banks did for requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankUse {
    /// Parts of requests that were served: one for each die in which a request has pages.
    pub parts: u64,
    /// Time that they waited for their die to be done with other requests, in picoseconds.
    pub waited: Time,
    /// Parts that went before older ones: of the other kind, unless a policy chose them.
    pub ahead: u64,
}

/// Reads, then writes.
pub type BankCounts = [BankUse; 2];

/// Operations that wait for their bank, and the requests that are served.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    order: Order,
    /// True if the dispatch policy chooses in place of it.
    chosen: bool,
    /// By die: operations of requests that read, and of those that write.
    waiting: Vec<[Fifo; 2]>,
    /// By die: the request that it serves, or none.
    serving: Vec<u32>,
    /// Dies that may serve another request.
    free: Vec<u32>,
    pub counts: BankCounts,
}

impl Banks {
    /// Nothing waits.
    pub fn new(order: Order, chosen: bool, geometry: &Geometry) -> Self {
        let dies = geometry.dies() as usize;
        Self {
            order,
            chosen,
            waiting: vec![[Fifo::default(); 2]; dies],
            serving: vec![NONE; dies],
            free: Vec::new(),
            counts: BankCounts::default(),
        }
    }

    /// True if nothing waits or is served.
    pub fn is_empty(&self) -> bool {
        self.serving.iter().all(|&request| request == NONE)
            && self.waiting.iter().flatten().all(|fifo| fifo.head == NONE)
    }

    /// True if a die may serve another request.
    pub fn is_due(&self) -> bool {
        !self.free.is_empty()
    }

    /// Operations of requests that write which wait for a die.
    pub fn writes_waiting(&self, die: u32) -> u32 {
        self.waiting[die as usize][1].len
    }

    fn is_wanted(&self, die: u32) -> bool {
        self.waiting[die as usize].iter().any(|fifo| fifo.head != NONE)
    }
}

/// True if an operation is part of a write: also the reads of old data that it needs.
fn is_of_write(op: &FlashOp) -> bool {
    op.class.is_write() || op.is_of_overwriting()
}

impl Kernel {
    /// What banks did for reads and writes; none if dies take operations of any requests.
    #[must_use]
    pub fn banks(&self) -> Option<BankCounts> {
        Some(self.banks.as_ref()?.counts)
    }

    /// Lets an operation of the host wait for its bank; false if it goes on at once.
    pub(super) fn waits_for_bank(&mut self, slot: u32, class: Class, constraint: Constraint) -> bool {
        let Constraint::Plane(plane) = constraint else { return false };
        let op = *self.slab.get(slot);
        let wanted = self.timed && matches!(class, Class::HOST_READ | Class::HOST_WRITE) && op.owner != NONE;
        let Some(banks) = self.banks.as_mut().filter(|_| wanted && op.role != Role::Map) else { return false };
        let die = self.planes_per_die.quotient(plane);
        let serving = banks.serving[die as usize];
        if serving == op.owner {
            return false;
        }
        banks.waiting[die as usize][usize::from(is_of_write(&op))].push(&mut self.slab, slot);
        if serving == NONE {
            banks.free.push(die);
        }
        true
    }

    /// A command of a die has ended, perhaps the last of the request that it serves.
    pub(super) fn bank_may_be_free(&mut self, die: u32) {
        let serves = self.die_serves_host(die);
        let Some(banks) = &mut self.banks else { return };
        let at = die as usize;
        if serves || banks.serving[at] == NONE {
            return;
        }
        banks.serving[at] = NONE;
        if banks.is_wanted(die) {
            banks.free.push(die);
        }
    }

    /// True if operations of the host run in a die, or wait in its queues.
    pub(super) fn die_serves_host(&self, die: u32) -> bool {
        let (state, waiting) = (&self.dies[die as usize], self.dies[die as usize].waiting);
        let runs = state.busy && state.class.is_host();
        runs || waiting.has(Class::HOST_READ) || waiting.has(Class::HOST_WRITE)
    }

    /// Gives free dies their next requests.
    pub(super) fn run_banks(&mut self) {
        let Some(mut banks) = self.banks.take() else { return };
        while let Some(die) = banks.free.pop() {
            // It may have been listed twice.
            if banks.serving[die as usize] == NONE {
                self.serve_next(&mut banks, die);
            }
        }
        self.banks = Some(banks);
    }

    /// Sends all that waits for banks to their dies; false if nothing does. Only while nothing runs: then a request waits for room in its
    /// plane, which those behind it may make by overwriting what lies there.
    #[cold]
    pub(super) fn release_banks(&mut self) -> bool {
        let Some(mut banks) = self.banks.take() else { return false };
        let mut released = false;
        for fifo in banks.waiting.iter_mut().flatten() {
            while let Some(slot) = fifo.pop(&self.slab) {
                self.commit(slot, self.slab.get(slot).class, self.place_for(slot));
                released = true;
            }
        }
        self.banks = Some(banks);
        released
    }

    /// Lets the dispatch policy choose among the requests that wait for a die, of which there are some: whether it writes, and its oldest
    /// operation.
    #[cold]
    fn choose_request(&mut self, banks: &Banks, die: u32) -> (bool, u32) {
        let mut waiting: Vec<(WaitingRequest, u32)> = Vec::new();
        for (queue, writes) in banks.waiting[die as usize].iter().zip([false, true]) {
            for slot in queue.slots(&self.slab) {
                let FlashOp { owner, ready, sequence, .. } = *self.slab.get(slot);
                if let Some((known, _)) = waiting.iter_mut().find(|(known, _)| known.request == owner) {
                    known.operations += 1;
                    continue;
                }
                let waited = self.now - ready;
                waiting.push((WaitingRequest { request: owner, writes, operations: 1, sequence, waited }, slot));
            }
        }
        waiting.sort_by_key(|(request, _)| request.sequence);
        let (shown, first): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        let chosen = self.dispatch.next_request(die, &shown);
        (shown[chosen].writes, first[chosen])
    }

    /// Sends all that the next request has for a die into its queues.
    fn serve_next(&mut self, banks: &mut Banks, die: u32) {
        let at = die as usize;
        let heads = banks.waiting[at].map(|fifo| fifo.head);
        let age = |slot: u32| if slot == NONE { u64::MAX } else { self.slab.get(slot).sequence };
        let [read, write] = heads.map(age);
        let writes = match banks.order {
            Order::FirstCome => write < read,
            Order::ReadsFirst => heads[0] == NONE,
        };
        let (mut writes, mut head) = (writes, heads[usize::from(writes)]);
        if head == NONE {
            return;
        }
        if banks.chosen {
            (writes, head) = self.choose_request(banks, die);
        }
        let FlashOp { owner, ready, sequence, .. } = *self.slab.get(head);
        let counts = &mut banks.counts[usize::from(writes)];
        counts.parts += 1;
        counts.waited += self.now - ready;
        counts.ahead += u64::from(sequence > read.min(write));
        banks.serving[at] = owner;
        for queue in 0..banks.waiting[at].len() {
            while let Some(slot) = banks.waiting[at][queue].take_if(&mut self.slab, u32::MAX, |op| op.owner == owner) {
                let class = self.slab.get(slot).class;
                self.commit(slot, class, self.place_for(slot));
            }
        }
    }
}
