//! What a transaction of the host has: the operation that leads it, and those that join it.
//!
//! At most one operation of a plane goes, with the writes that fill its page; all are of one kind, and those of a die have one page offset,
//! so that they can share a command. Of these the oldest leads and the oldest join, unless the dispatch policy chooses.

use super::{stream_of, Kernel};
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::dispatch::{Choices, WaitingOperation};
use crate::policy::placement::Constraint;
use crate::task::Action;
use wordline_base::Divisor;

/// A transaction that is put together.
#[derive(Clone, Debug, Default)]
pub(super) struct Joining {
    /// Its operations, with their planes. The first leads.
    pub chosen: Vec<(u32, u32)>,
    /// The number of its place.
    place: u32,
    /// The planes of the place.
    planes: u32,
    /// By plane: operations of its kind that were looked at.
    looked_at: Vec<u32>,
    /// By plane: how many of these were taken.
    taken: Vec<u32>,
}

impl Joining {
    /// Another one begins, for a place with so many planes.
    pub fn begin(&mut self, place: u32, planes: u32) {
        (self.place, self.planes) = (place, planes);
        self.chosen.clear();
    }

    /// One page, several planes of a die, single planes of several dies, or both.
    pub fn kind(&self, planes_per_die: Divisor) -> usize {
        let place = |&(_, plane): &(u32, u32)| (planes_per_die.quotient(plane), plane);
        let (first, places) = (place(&self.chosen[0]).0, self.chosen.iter().map(place));
        let several_dies = places.clone().any(|(die, _)| die != first);
        let beside = |(die, plane)| places.clone().any(|(other, beside)| other == die && beside != plane);
        usize::from(places.clone().any(beside)) + 2 * usize::from(several_dies)
    }

    /// Its pages, of so many units each.
    pub fn pages(&self, units_per_page: u32) -> u64 {
        // Of each plane, every unit that begins a page.
        let before = |at: usize| self.chosen[..at].iter().filter(|one| one.1 == self.chosen[at].1).count() as u32;
        (0..self.chosen.len()).filter(|&at| before(at) % units_per_page == 0).count() as u64
    }
}

impl Kernel {
    /// Takes the operation that leads out of a queue, and those that join it.
    pub(super) fn put_together(&mut self, queue: &mut Fifo, choices: Choices, joining: &mut Joining) {
        let lead = if choices.leads { self.chosen_lead(queue, joining) } else { queue.head };
        self.take_along(queue, lead, joining);
        self.fill_page(queue, joining);
        if choices.joins {
            self.join_chosen(queue, joining);
        } else {
            self.join_oldest(queue, joining);
        }
    }

    /// The plane of an operation that waits for its transaction.
    fn plane_in_transaction(&self, slot: u32) -> u32 {
        let Constraint::Plane(plane) = self.place_for(slot) else {
            unreachable!("what waits for a transaction has a plane")
        };
        plane
    }

    /// Takes an operation out of a queue.
    fn take_along(&mut self, queue: &mut Fifo, slot: u32, joining: &mut Joining) {
        let before = queue.slots(&self.slab).take_while(|&other| other != slot).last().unwrap_or(NONE);
        queue.take(&mut self.slab, before, slot);
        joining.chosen.push((slot, self.plane_in_transaction(slot)));
    }

    /// Takes the writes along that are programmed with the one that was chosen last: the oldest of its plane, until they fill what is programmed
    /// together. One that has to wait holds up those behind it.
    fn fill_page(&mut self, queue: &mut Fifo, joining: &mut Joining) {
        let Some(&(slot, plane)) = joining.chosen.last() else { return };
        let FlashOp { class, owner, .. } = *self.slab.get(slot);
        let mut lacks = self.plan.units_per_program - 1;
        if lacks == 0 || !class.is_write() {
            return;
        }
        let within = self.keeps_to_request(class);
        let (mut before, mut at) = (NONE, queue.head);
        while at != NONE && lacks > 0 {
            let op = *self.slab.get(at);
            if op.class != class || self.plane_in_transaction(at) != plane {
                before = at;
            } else if within && op.owner != owner {
                return;
            } else {
                queue.take(&mut self.slab, before, at);
                joining.chosen.push((at, plane));
                lacks -= 1;
            }
            at = op.next;
        }
    }

    /// Takes the operations of the kind of the one that leads that can go with it, the oldest first. Reads may pass reads of their plane;
    /// writes pass none of theirs.
    fn join_oldest(&mut self, queue: &mut Fifo, joining: &mut Joining) {
        let Joining { chosen, looked_at, taken, place, planes } = joining;
        for counts in [&mut *looked_at, &mut *taken] {
            counts.clear();
            counts.resize(*planes as usize, 0);
        }
        let lead = *self.slab.get(chosen[0].0);
        let within = self.keeps_to_request(lead.class);
        let writes = lead.class.is_write();
        let most = if writes { 1 } else { self.pack.window().max(1) };
        let (mut before, mut at) = (NONE, queue.head);
        while at != NONE {
            let op = *self.slab.get(at);
            let takes = match self.place_for(at) {
                Constraint::Plane(plane) if op.class == lead.class => {
                    let index = (plane - *place * *planes) as usize;
                    let (before, own) = (looked_at[index], taken[index]);
                    looked_at[index] += 1;
                    let goes = (!within || op.owner == lead.owner)
                        && if own > 0 {
                            // It fills the page of those before it.
                            writes && own == before && own < self.plan.units_per_program
                        } else {
                            before < most
                                && self.fits_beside(&op, plane, chosen)
                                && (!self.refuses || self.agrees_beside(at, plane, chosen))
                        };
                    taken[index] += u32::from(goes);
                    goes.then_some(plane)
                }
                _ => None,
            };
            match takes {
                Some(plane) => {
                    queue.take(&mut self.slab, before, at);
                    chosen.push((at, plane));
                }
                None => before = at,
            }
            at = op.next;
        }
    }

    /// True if an operation can go with those that were chosen: its plane is not among them, and its page has the offset of others of
    /// its die.
    fn fits_beside(&self, op: &FlashOp, plane: u32, chosen: &[(u32, u32)]) -> bool {
        let die = self.planes_per_die.quotient(plane);
        let mut beside = chosen.iter().filter(|(_, other)| self.planes_per_die.quotient(*other) == die);
        if beside.clone().any(|&(_, other)| other == plane) {
            return false;
        }
        let other = beside.next();
        if other.is_some() && self.pack.window() == 0 {
            return false;
        }
        if op.class.action() == Action::Read {
            let same = |&(slot, _): &(u32, u32)| self.page_of(self.slab.get(slot).source) == self.page_of(op.source);
            return self.is_current(op) && other.is_none_or(same);
        }
        let stream = stream_of(op.class);
        let next_page = |plane| self.space.next_page(&self.blocks, plane, stream);
        self.space.has_room(&self.blocks, plane, stream)
            && other.is_none_or(|&(_, other)| next_page(plane) == next_page(other))
    }

    /// The operation that the dispatch policy lets lead; it is not asked about one alone.
    #[cold]
    fn chosen_lead(&mut self, queue: &Fifo, joining: &Joining) -> u32 {
        let waiting = self.waiting_operations(queue);
        let (slots, shown): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        if slots.len() == 1 {
            return slots[0];
        }
        slots[self.dispatch.leads(joining.place, &shown)]
    }

    /// Takes what the dispatch policy lets join, one by one, of all that can.
    #[cold]
    fn join_chosen(&mut self, queue: &mut Fifo, joining: &mut Joining) {
        let lead = *self.slab.get(joining.chosen[0].0);
        let within = self.keeps_to_request(lead.class);
        let mut chosen = vec![self.waiting_operation(joining.chosen[0].0, 0)];
        loop {
            let can_join = |&(slot, _): &(u32, WaitingOperation)| {
                let (op, plane) = (self.slab.get(slot), self.plane_in_transaction(slot));
                op.class == lead.class
                    && self.fits_beside(op, plane, &joining.chosen)
                    && (!within || self.shares_request(op, plane, &joining.chosen))
            };
            let mut waiting: Vec<_> = self.waiting_operations(queue).into_iter().filter(can_join).collect();
            if self.refuses {
                waiting.retain(|&(slot, one)| self.agrees_beside(slot, one.plane, &joining.chosen));
            }
            let (slots, shown): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
            if slots.is_empty() {
                return;
            }
            let Some(next) = self.dispatch.joins(&chosen, &shown) else { return };
            chosen.push(shown[next]);
            self.take_along(queue, slots[next], joining);
            self.fill_page(queue, joining);
        }
    }

    /// True if those of its die that were chosen are of the request of an operation.
    fn shares_request(&self, op: &FlashOp, plane: u32, chosen: &[(u32, u32)]) -> bool {
        let die = self.planes_per_die.quotient(plane);
        let mut beside = chosen.iter().filter(|(_, other)| self.planes_per_die.quotient(*other) == die);
        beside.all(|&(slot, _)| self.slab.get(slot).owner == op.owner)
    }

    /// The operations of a queue, as the dispatch policy sees them.
    fn waiting_operations(&self, queue: &Fifo) -> Vec<(u32, WaitingOperation)> {
        let mut all: Vec<(u32, WaitingOperation)> = Vec::new();
        for slot in queue.slots(&self.slab) {
            let op = self.waiting_operation(slot, 0);
            let alike = |(_, other): &&(u32, WaitingOperation)| (other.plane, other.writes) == (op.plane, op.writes);
            let before = all.iter().filter(alike).count() as u32;
            all.push((slot, WaitingOperation { before, ..op }));
        }
        all
    }

    fn waiting_operation(&self, slot: u32, before: u32) -> WaitingOperation {
        let op @ FlashOp { class, sequence, ready, owner, source, role, .. } = *self.slab.get(slot);
        let (plane, writes) = (self.plane_in_transaction(slot), class.is_write());
        let page = if writes {
            let stream = stream_of(op.class);
            let has_room = self.space.has_room(&self.blocks, plane, stream);
            has_room.then(|| self.page_to_write(plane, stream))
        } else {
            Some(self.page_of(source))
        };
        let is_of_request = owner != NONE && matches!(role, Role::Plain | Role::Merge | Role::Change);
        let request = is_of_request.then_some(owner);
        WaitingOperation { writes, plane, page, request, before, sequence, waited: self.now - ready }
    }
}
