//! Sending operations of the host from the device queue to their dies, by the rules of the dispatch policy, with others that share
//! their command. Where operations have deadlines, those of all tasks take others along in the same way.
//!
//! Source: jung13 (6.4). In order, one that cannot go holds up all behind it (VAQ). Otherwise clumps are composed of reads, one a package.

use super::processor::{DECISION, PROCESSOR_EVENT};
use super::stage::{Queue, Stage};
use super::tags::{Choice, Tag};
use super::{stream_of, Kernel};
use crate::ops::FlashOp;
use crate::policy::dispatch::{Addressed, Staged, TagRules};
use crate::policy::pack::PackedOperation;
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task};
use wordline_base::EventQueue;

impl Kernel {
    /// Sends what can go: writes that are not held, then operations of the device queue by its rules.
    pub(super) fn send_tags(&mut self, stage: &mut Stage, listed: &mut Vec<u32>) {
        let Some(rules) = stage.tags.as_ref().map(|tags| tags.rules) else { return };
        if !stage.roaming().is_empty() {
            self.send_free(stage, listed);
        }
        if rules.in_order {
            self.send_in_order(stage);
            return;
        }
        // A package that serves one read at a time takes no other in a second clump.
        while self.compose(stage, rules) && self.send_clump(stage) && !rules.by_package {}
    }

    /// Sends writes that are not held, if they have a page and company.
    fn send_free(&mut self, stage: &mut Stage, listed: &mut Vec<u32>) {
        listed.clear();
        listed.extend(stage.roaming());
        for &at in listed.iter() {
            let at = at as usize;
            while !stage.holds(stage.queue(at).class) && stage.queue(at).fifo.len > 0 {
                let Some(Staged { die: Some(die), .. }) = self.head(stage, stage.queue(at)) else { break };
                self.send(stage, at, die);
            }
        }
    }

    /// Sends operations in the order of coming, up to the first whose die has no room. Those that lack more than room, such
    /// as a free page, wait beside the queue.
    fn send_in_order(&mut self, stage: &mut Stage) {
        let mut at = 0;
        loop {
            let Some(&Tag { slot, sequence, queue }) = stage.tags.as_ref().and_then(|tags| tags.order.get(at)) else {
                return;
            };
            let waits = self.slab.get(slot).sequence == sequence;
            let queue = queue as usize;
            if waits && stage.queue(queue).fifo.head != slot {
                // One before it in its queue lacks something.
                at += 1;
                continue;
            }
            if waits {
                match self.head(stage, stage.queue(queue)) {
                    None => {
                        at += 1;
                        continue;
                    }
                    Some(Staged { die: None, .. }) => return,
                    Some(Staged { die: Some(die), .. }) => {
                        let now = self.now;
                        if !stage.tags.as_mut().is_some_and(|tags| tags.decides(now)) {
                            return;
                        }
                        self.send_with_partners(stage, queue, die);
                    }
                }
            }
            if let Some(tags) = &mut stage.tags {
                if at == 0 {
                    tags.order.pop_front();
                } else {
                    tags.order.remove(at);
                }
            }
        }
    }

    /// Composes a clump of reads that can go, at most one a package; false if there are none.
    fn compose(&mut self, stage: &mut Stage, rules: TagRules) -> bool {
        let Some(mut tags) = stage.tags.take() else { return false };
        tags.clump.clear();
        let mut last = u32::MAX;
        for (word, mut bits) in (0..).zip(stage.open_for(Task::HOST)) {
            while bits != 0 {
                let die = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let package = tags.dies_per_package.quotient(die);
                let Some(queue) = stage.oldest_for_host(die) else { continue };
                let Queue { fifo, .. } = *stage.queue(queue as usize);
                let overdue = rules.bound <= self.now && self.slab.get(fifo.head).ready <= self.now - rules.bound;
                let rank = self.dispatch.rank(&Addressed { conflict: tags.conflict(die), overdue });
                let choice = Choice { rank, sequence: fifo.oldest(&self.slab), die, queue };
                // Dies of a package come one after the other.
                match tags.clump.last_mut().filter(|_| package == last) {
                    Some(other) if choice.order() < other.order() => *other = choice,
                    Some(_) => {}
                    None => tags.clump.push(choice),
                }
                last = package;
            }
        }
        if tags.clump.len() > 1 {
            tags.clump.sort_unstable_by_key(Choice::order);
        }
        let any = !tags.clump.is_empty();
        stage.tags = Some(tags);
        any
    }

    /// Sends the reads of a clump; false if some have to wait for a decision.
    fn send_clump(&mut self, stage: &mut Stage) -> bool {
        let (mut at, now) = (0, self.now);
        while let Some(&Choice { die, queue, .. }) = stage.tags.as_ref().and_then(|tags| tags.clump.get(at)) {
            if !stage.tags.as_mut().is_some_and(|tags| tags.decides(now)) {
                return false;
            }
            self.send_with_partners(stage, queue as usize, die);
            at += 1;
        }
        true
    }

    /// Sends the oldest operation of a queue to a die, and those that may share its command: of other planes, at the same
    /// page offset, and of the same request or, by the rules or without a device queue, of any.
    pub(super) fn send_with_partners(&mut self, stage: &mut Stage, at: usize, die: u32) {
        let Queue { class, place, fifo, .. } = *stage.queue(at);
        let (lead, op) = (fifo.head, self.slab.get(fifo.head));
        let (owner, source) = (op.owner, op.source);
        let (window, planes) = (self.pack.window(), self.planes_per_die.get());
        if window == 0 || planes == 1 {
            return self.send(stage, at, die);
        }
        let any_request = stage.tags.as_ref().is_none_or(|tags| tags.rules.packs_across);
        let across = any_request && !self.keeps_to_request(class);
        match (class.action(), place) {
            (Action::Read, Constraint::Plane(plane)) => {
                let page = self.page_of(source);
                let mut sent = self.sent_together(lead, plane, page);
                self.send(stage, at, die);
                for other in (die * planes..(die + 1) * planes).filter(|&other| other != plane) {
                    self.send_partner(stage, (class, other), page, (!across).then_some(owner), &mut sent);
                }
            }
            (Action::Erase, Constraint::Plane(plane)) => {
                let mut sent = self.sent_together(lead, plane, 0);
                self.send(stage, at, die);
                for other in (die * planes..(die + 1) * planes).filter(|&other| other != plane) {
                    let at = stage.at(class, Constraint::Plane(other));
                    let fifo = stage.queue(at).fifo;
                    if fifo.len > 0 && self.goes_along(fifo.head, other, 0, &mut sent) {
                        self.send(stage, at, die);
                    }
                }
            }
            (_, Constraint::Plane(plane)) => {
                let stream = stream_of(class);
                let page = self.space.next_page(&self.blocks, plane, stream);
                let to_write = if self.refuses { self.page_to_write(plane, stream) } else { 0 };
                let mut sent = self.sent_together(lead, plane, to_write);
                self.send(stage, at, die);
                for other in (die * planes..(die + 1) * planes).filter(|&other| other != plane) {
                    let at = stage.at(class, Constraint::Plane(other));
                    let fifo = stage.queue(at).fifo;
                    let joins = fifo.len > 0
                        && (across || self.slab.get(fifo.head).owner == owner)
                        && self.space.next_page(&self.blocks, other, stream) == page
                        && self.finds_page(&fifo, class, other)
                        && self.goes_along(fifo.head, other, to_write, &mut sent);
                    if joins {
                        self.send(stage, at, die);
                    }
                }
            }
            _ => {
                let mut beside = self.planes_side_by_side(die, class);
                self.send(stage, at, die);
                while beside > 1 {
                    beside -= 1;
                    let queue = *stage.queue(at);
                    let joins = queue.fifo.len > 0
                        && (across || self.slab.get(queue.fifo.head).owner == owner)
                        && self.head(stage, &queue).is_some();
                    if !joins {
                        break;
                    }
                    self.send(stage, at, die);
                }
            }
        }
    }

    /// Sends the first read of a plane to its die that may join a command for pages of this offset; only of the request
    /// given, if one is.
    fn send_partner(
        &mut self,
        stage: &mut Stage,
        (class, plane): (Class, u32),
        page: u32,
        owner: Option<u32>,
        sent: &mut Vec<PackedOperation>,
    ) {
        let place = Constraint::Plane(plane);
        let at = stage.at(class, place);
        if stage.queue(at).fifo.len == 0 {
            return;
        }
        let from = self.first_of_page(page);
        let fits = |op: &FlashOp| owner.is_none_or(|owner| op.owner == owner) && self.joins(op, from);
        let (fifo, window) = (stage.queue(at).fifo, self.pack.window());
        let found = if self.refuses {
            let fit: Vec<_> =
                fifo.slots(&self.slab).take(window as usize).filter(|&slot| fits(self.slab.get(slot))).collect();
            let agreed = fit.into_iter().find(|&slot| self.goes_along(slot, plane, page, sent));
            agreed.and_then(|agreed| {
                let sequence = self.slab.get(agreed).sequence;
                fifo.position(&self.slab, window, |op| op.sequence == sequence)
            })
        } else {
            fifo.position(&self.slab, window, fits)
        };
        let Some((before, slot)) = found else { return };
        stage.queue_mut(at).fifo.take(&mut self.slab, before, slot);
        stage.count_staged(at, -1);
        stage.count_waiting(self.planes_per_die.quotient(plane), class, 1);
        self.commit_next(slot, class, place);
        self.head_changes(stage, at);
    }

    /// How many planes of a die one command can write: those with the lowest write point.
    fn planes_side_by_side(&self, die: u32, class: Class) -> u32 {
        let (stream, planes) = (stream_of(class), self.planes_per_die.get());
        let Some(best) = self.best_plane(die, stream) else { return 1 };
        let page = self.space.next_page(&self.blocks, best, stream);
        let fits = |&plane: &u32| {
            self.space.next_page(&self.blocks, plane, stream) == page
                && self.space.has_room(&self.blocks, plane, stream)
        };
        (die * planes..(die + 1) * planes).filter(fits).count() as u32
    }

    /// Puts the event of a decision into the queue that lacks it.
    #[cold]
    pub(super) fn schedule_decision(&mut self, queue: &mut EventQueue) {
        let Some(tags) = self.stage.as_mut().and_then(|stage| stage.tags.as_mut()) else { return };
        if let Some(time) = tags.decided.filter(|_| !tags.is_scheduled) {
            queue.push(time, PROCESSOR_EVENT, DECISION);
            tags.is_scheduled = true;
        }
    }

    /// A decision is made: the device queue is looked at.
    #[cold]
    pub(super) fn decide(&mut self) {
        if let Some(tags) = self.stage.as_mut().and_then(|stage| stage.tags.as_mut()) {
            tags.is_scheduled = false;
        }
        self.run_stage();
        if let Some(tags) = self.stage.as_mut().and_then(|stage| stage.tags.as_mut()) {
            // What it was for may be gone.
            tags.decided = tags.decided.filter(|&time| time > self.now);
        }
    }
}
