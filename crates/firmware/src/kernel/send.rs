//! Sending operations from the commit stage to their dies, as the dispatch policy chooses them.
//!
//! A write that was sent to a die and finds no page there comes back, so that it cannot hold up the erases that it waits
//! for.

use super::stage::{Queue, Stage};
use super::{stream_of, Kernel};
use crate::ops::{Fifo, FlashOp, NONE};
use crate::policy::dispatch::{Due, Sight, StageView, Staged};
use crate::policy::placement::Constraint;
use crate::task::{Class, CLASSES, ROWS};

/// What the dispatch policy is shown: queues of the stage, and the oldest operation of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    queues: Vec<u32>,
    heads: Vec<Staged>,
    /// How urgent each is, if there are deadlines.
    dues: Vec<Due>,
}

impl Listed {
    fn clear(&mut self) {
        self.queues.clear();
        self.heads.clear();
        self.dues.clear();
    }
}

impl Kernel {
    /// True if commands take time. Switch only while no command runs.
    ///
    /// # Panics
    /// While operations are queued or run.
    pub fn set_timed(&mut self, timed: bool) {
        assert_eq!(self.operations(), 0, "timing is switched while operations run");
        if self.timed != timed {
            // Operations that take no time need not wait for room at a die.
            std::mem::swap(&mut self.stage, &mut self.stage_aside);
        }
        self.timed = timed;
        if !timed && self.shelf.is_some() {
            self.drop_clean();
        }
        let staged = self.stage.is_some() || self.follows_ends;
        // Processors take no time while nothing does.
        let aside = self.arounds.is_some() || staged || ((timed || self.avoids_direct) && self.cores.is_some());
        self.detours = aside || self.lots.is_some() || self.wishes.is_some() || self.places_each;
        self.pages_fill = self.fills_pages();
        self.direct = self.goes_direct();
        self.direct_logs = self.goes_direct_with_logs();
        self.find_ways();
        self.stretches = self.goes_in_stretches();
    }

    /// An operation waits in the stage, behind the others of its class and place, or before them.
    pub(super) fn put_on_stage(&mut self, slot: u32, class: Class, place: Constraint, first: bool) {
        if self.by_stage_in_pages && !first {
            return self.stage_page(slot, class, place);
        }
        let Some(stage) = &mut self.stage else { return };
        let at = stage.at(class, place);
        if self.straight_by_stage && !class.is_write() && !first {
            return stage.push(&mut self.slab, slot, (at, class), |_| {});
        }
        let queue = stage.queue_mut(at);
        let mut first = first;
        if first {
            queue.fifo.push_front(&mut self.slab, slot);
        } else if let Some(deadlines) = &self.deadlines {
            first = deadlines.push(&mut queue.fifo, &mut self.slab, slot);
        } else {
            queue.fifo.push(&mut self.slab, slot);
        }
        let sequence = self.slab.get(slot).sequence;
        let Queue { fifo, is_listed, .. } = *queue;
        stage.count_staged(at, 1);
        let lonely = self.lists_late() && class.is_write() && !first && {
            let plane = if let Constraint::Plane(plane) = place { plane } else { 0 };
            self.is_lonely(slot, class, &fifo, plane)
        };
        let Some(stage) = &mut self.stage else { return };
        if lonely {
            stage.has_come(at);
            return;
        }
        if !is_listed {
            stage.fill(at);
        } else if first {
            stage.first_changes(at);
        }
        if stage.holds(class) {
            if let Some(tags) = &mut stage.tags {
                tags.line_up(at, (slot, sequence), first);
            }
        }
        stage.wake(at);
    }

    /// True if an operation goes to its die past the stage: nothing that waits there can go, its die has room, and the
    /// dispatch policy wants it. Writes may have to wait for a page or for company.
    #[inline]
    pub(super) fn passes_stage(&mut self, op: &FlashOp, place: Constraint) -> bool {
        let (Some(stage), Constraint::Plane(plane)) = (&mut self.stage, place) else { return false };
        let (class, sequence) = (op.class, op.sequence);
        let die = self.planes_per_die.quotient(plane);
        if let Some(tags) = &stage.tags {
            let passes = if stage.holds(class) {
                // With nothing before it and no partner, it would go in the next look at the queue.
                self.comes_alone
                    && class == Class::HOST_READ
                    && !stage.is_due()
                    && tags.is_clear(die)
                    && stage.has_room(die, class)
            } else {
                !class.is_write()
            };
            if passes {
                stage.count_waiting(die, class, 1);
                if stage.holds(class) {
                    stage.settle();
                }
            }
            return passes;
        }
        if class.is_write() || stage.is_due() || !stage.has_room(die, class) {
            return false;
        }
        if self.dispatch.sees() == Sight::All && !stage.has_nothing() {
            return false;
        }
        if self.now >= self.control_due {
            // Shares may be others from now on.
            return false;
        }
        let only = Staged { class, sequence, die: Some(die) };
        let wanted = self.dispatch.wants(&only, &stage.outstanding, &self.nominal);
        if wanted {
            stage.count_waiting(die, class, 1);
            stage.settle();
        }
        wanted
    }

    /// The operations of a class and place that wait in the stage.
    fn staged(&self, class: Class, place: Constraint) -> Option<Fifo> {
        let stage = self.stage.as_ref()?;
        Some(stage.queue(stage.at(class, place)).fifo)
    }

    /// Queues of the stage in which moved units of a class wait: of some planes, or of any.
    pub(super) fn moved_on_stage(
        &self,
        class: Class,
        anywhere: bool,
        planes: std::ops::Range<u32>,
    ) -> impl Iterator<Item = Fifo> + '_ {
        let places = anywhere.then_some(Constraint::Any).into_iter().chain(planes.map(Constraint::Plane));
        let places = places.take(if self.stage.is_some() { usize::MAX } else { 0 });
        places.filter_map(move |place| self.staged(class, place))
    }

    /// Lets the dispatch policy send operations to their dies while it wants.
    pub(super) fn run_stage(&mut self) {
        if self.straight_by_stage && self.buffer.has_due() {
            self.list_due();
        }
        if self.stage.is_some() && self.now >= self.control_due {
            self.control_shares();
        }
        let Some(mut stage) = self.stage.take() else { return };
        let mut listed = self.listed.take().unwrap_or_default();
        match self.dispatch.sees() {
            _ if stage.tags.is_some() => self.send_tags(&mut stage, &mut listed.queues),
            Sight::Oldest => {
                let tasks = self.may_be_sent(&stage, stage.tasks());
                self.send_bound(&mut stage, tasks);
            }
            sight => self.send_listed(&mut stage, sight, &mut listed),
        }
        self.listed = Some(listed);
        let goes = |at| stage.tags.is_some() || self.has_company(stage.queue(at));
        let roams = stage.roaming().iter().any(|&at| goes(at as usize));
        stage.roams = roams;
        stage.settle();
        self.stage = Some(stage);
    }

    /// The choice of the dispatch policy from a list.
    #[inline]
    fn choice(&mut self, stage: &Stage, listed: &Listed) -> Option<(u32, u32)> {
        if listed.heads.is_empty() {
            return None;
        }
        let Listed { heads, dues, .. } = listed;
        let view = StageView { staged: heads, dues, outstanding: &stage.outstanding, times: &self.nominal };
        let chosen = self.dispatch.next(&view)?;
        let die = listed.heads[chosen].die.expect("the policy chooses an operation with a die");
        Some((listed.queues[chosen], die))
    }

    /// Shows the policy the oldest operations of all queues, or of those whose die may have room.
    fn send_listed(&mut self, stage: &mut Stage, sight: Sight, listed: &mut Listed) {
        loop {
            listed.clear();
            match sight {
                Sight::All => stage.list_all(&mut listed.queues),
                _ => stage.list(stage.below(stage.tasks()), &mut listed.queues),
            }
            let Listed { queues, heads, .. } = listed;
            queues.retain(|&at| {
                let head = self.head(stage, stage.queue(at as usize));
                heads.extend(head);
                head.is_some()
            });
            if let Some(deadlines) = &self.deadlines {
                let due = |&at: &u32| self.due(deadlines, stage.queue(at as usize));
                listed.dues.extend(listed.queues.iter().map(due));
            }
            let Some((at, die)) = self.choice(stage, listed) else { return };
            if self.deadlines.is_some() {
                self.send_with_partners(stage, at as usize, die);
            } else {
                self.send(stage, at as usize, die);
            }
        }
    }

    /// The oldest operation of a queue, with the die that has room for it: of several the one with the least load, of
    /// equals the next in turn. None if it has to wait outside: for company, or for a page.
    #[inline]
    pub(super) fn head(&mut self, stage: &Stage, queue: &Queue) -> Option<Staged> {
        let Queue { class, place, fifo, .. } = *queue;
        let room = |die: u32| stage.has_room(die, class).then_some(die);
        let die = match place {
            Constraint::Plane(plane) => {
                if class.is_write() && !self.finds_page(&fifo, class, plane) {
                    return None;
                }
                room(self.planes_per_die.quotient(plane))
            }
            _ if !self.has_company(queue) => return None,
            place => self.least_loaded(stage, class, place)?,
        };
        Some(Staged { class, sequence: fifo.oldest(&self.slab), die })
    }

    /// True if the operations of a queue of writes that may go to several dies wait for no company. Units with a wish fill whole
    /// programs.
    #[inline]
    pub(super) fn has_company(&self, queue: &Queue) -> bool {
        let Queue { class, place, fifo, .. } = queue;
        fifo.len >= self.plan.units_per_program
            || (!self.is_staged_wish(*class, *place) && self.may_go_alone(fifo, *class, 0))
    }

    /// The least loaded die with room for a write that may go to several; none at all if none has a page for it.
    #[inline]
    fn least_loaded(&mut self, stage: &Stage, class: Class, place: Constraint) -> Option<Option<u32>> {
        let dies = match place {
            Constraint::Channel(channel) => {
                let dies = self.flash.geometry().dies_per_channel();
                channel * dies..(channel + 1) * dies
            }
            Constraint::Die(die) => die..die + 1,
            _ => 0..self.dies.len() as u32,
        };
        // In order of their turns, so that the first of equals is the next.
        let turn = self.stage_turn.clamp(dies.start, dies.end);
        let in_turn = [turn..dies.end, dies.start..turn];
        let wished = self.is_staged_wish(class, place);
        let has_room = |die| if wished { stage.has_room_for_program(die, class) } else { stage.has_room(die, class) };
        let avoids_gc = self.deadlines.as_ref().is_some_and(|deadlines| deadlines.limits.avoids_gc && class.is_host());
        let mut best: Option<(u32, u32)> = None;
        'dies: for dies in in_turn.clone() {
            for die in dies {
                let mut load = stage.load(die);
                if avoids_gc && self.dies[die as usize].collections > 0 {
                    // More than any die holds.
                    load += 1 << 16;
                }
                if best.is_some_and(|(least, _)| load >= least) || !has_room(die) {
                    continue;
                }
                if self.takes(die, stream_of(class)) {
                    best = Some((load, die));
                    if load == 0 {
                        break 'dies;
                    }
                }
            }
        }
        if let Some((_, die)) = best {
            return Some(Some(die));
        }
        let waits_for_room = in_turn.into_iter().flatten().any(|die| self.takes(die, stream_of(class)));
        self.stalled |= !waits_for_room && !wished;
        waits_for_room.then_some(None)
    }

    /// Sends the oldest operation of a queue, or units for a page, to a die.
    pub(super) fn send(&mut self, stage: &mut Stage, at: usize, die: u32) {
        let Queue { class, place: waits, .. } = *stage.queue(at);
        let wished = self.is_staged_wish(class, waits);
        let place = match waits {
            Constraint::Any | Constraint::Channel(_) => {
                self.stage_turn = (die + 1) % self.flash.geometry().dies();
                Constraint::Die(die)
            }
            place => place,
        };
        let most = if class.is_write() {
            match stage.lacking(die, class) {
                lacking if lacking > 0 && !wished => lacking,
                _ => self.plan.units_per_program,
            }
        } else {
            1
        };
        let mut sent = 0;
        if matches!(place, Constraint::Die(_)) {
            sent = self.send_together(stage, at, die, most);
        }
        while sent < most {
            let Some(slot) = stage.queue_mut(at).fifo.pop(&self.slab) else { break };
            self.commit_next(slot, class, place);
            sent += 1;
        }
        stage.count_staged(at, -(sent as i32));
        stage.count_waiting(die, class, sent as i32);
        if self.deadlines.is_some() && matches!(place, Constraint::Die(_)) {
            // Of units that go with others, the last may lose their company at once: then their die sends them back.
            self.mark(die);
        }
        self.head_changes(stage, at);
    }

    /// Puts the oldest writes of a queue, so many at most, behind those that were sent to their die before; returns how many.
    #[inline]
    fn send_together(&mut self, stage: &mut Stage, at: usize, die: u32, most: u32) -> u32 {
        let Queue { class, fifo, .. } = *stage.queue(at);
        let (mut last, mut next, mut sent) = (NONE, fifo.head, 0);
        while sent < most && next != NONE {
            self.sequence += 1;
            let op = self.slab.get_mut(next);
            op.sequence = self.sequence;
            (last, next, sent) = (next, op.next, sent + 1);
        }
        if sent > 0 {
            stage.queue_mut(at).fifo.cut(&mut self.slab, last, sent);
            let place = 1 + (self.flash.geometry().channels + die) as usize;
            let index = self.shared_row(class) + place;
            self.shared[index].append(&mut self.slab, (fifo.head, last), sent);
            self.note_shared(class, place);
            self.count_shared(class, sent as i32);
            self.shared_dirty = true;
        }
        sent
    }

    /// Puts an operation into the queue of its die: there, what came first is what was sent first.
    #[inline]
    pub(super) fn commit_next(&mut self, slot: u32, class: Class, place: Constraint) {
        self.sequence += 1;
        self.slab.get_mut(slot).sequence = self.sequence;
        self.commit(slot, class, place);
    }

    /// A queue of the stage has another first operation, or none.
    #[inline]
    pub(super) fn head_changes(&mut self, stage: &mut Stage, at: usize) {
        let Queue { class, place, fifo, .. } = *stage.queue(at);
        let roams = !matches!(place, Constraint::Plane(_));
        if fifo.head == NONE && self.awaiting > 0 && class == Class::HOST_WRITE && roams {
            self.stage_emptied(place);
        }
        let waits_for_others = || {
            let domain = if let Constraint::Plane(plane) = place { self.blocks.domain_of_plane(plane) } else { 0 };
            self.lists_late() && class.is_write() && !class.is_map_write() && !self.may_go(&fifo, class, domain)
        };
        if fifo.head == NONE {
            stage.drain(at);
            return;
        }
        if waits_for_others() {
            stage.drain(at);
        } else {
            stage.first_changes(at);
        }
    }

    /// Takes writes back that cannot go on their die, so that they do not fill it: without a page for them, or without
    /// company since units of their page were dropped.
    pub(super) fn recall(&mut self, die: u32) {
        let planes = self.flash.geometry().planes_per_die;
        let mut waiting = self.dies[die as usize].waiting;
        while let Some((class, plane)) = waiting.next() {
            if !class.is_write() {
                continue;
            }
            let plane = die * planes + plane;
            let fifo = self.queues[plane as usize * CLASSES + class.index()];
            let domain = self.blocks.domain_of_plane(plane);
            let goes = self.leads_parity(&fifo)
                || (self.may_go(&fifo, class, domain) && self.space.has_room(&self.blocks, plane, stream_of(class)));
            if goes {
                continue;
            }
            while let Some(slot) = self.pop_last(plane, class) {
                let place = self.place_again(slot, class);
                self.put_on_stage(slot, class, place, true);
            }
            self.miss_company(class, domain);
        }
        if self.shared_count > 0 {
            self.recall_shared(die);
        }
    }

    fn recall_shared(&mut self, die: u32) {
        for row in 0..ROWS {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            let class = Class::of_row(row);
            let [.., index] = self.shared_of(die, class);
            let fifo = self.shared[index];
            let goes = || self.may_go(&fifo, class, 0) && self.takes(die, stream_of(class));
            if fifo.head == NONE || goes() {
                continue;
            }
            while let Some(slot) = self.shared[index].pop_last(&mut self.slab) {
                self.count_shared(class, -1);
                self.leaves_die(die, class);
                let place = self.place_again(slot, class);
                self.put_on_stage(slot, class, place, true);
            }
            self.miss_company(class, 0);
        }
    }
}
