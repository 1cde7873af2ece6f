//! Followers in cache mode in which a packer has a say, and those of commands of several tasks.
//!
//! What the engine would let follow is found as in `sequence.rs`; of that the packer chooses, or ends the sequence. Nothing is bound before it
//! has agreed on all of a follower. In each plane a read follows that is of the task which the plane worked for, or in all of them reads of
//! another task, if the packer lets these follow: then the die works for that from there on.

use super::sequence::{Sequence, Source};
use super::{stream_of, Fault, Kernel, Waits};
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::pack::{Follower, PackedOperation};
use crate::task::{Action, Class, Task, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_flash::{Command, Kind};

impl Kernel {
    /// Puts the read together that follows on a die, whose oldest of the class waits for the plane given; false if there is none.
    #[cold]
    pub(super) fn follow_with_agreed_read(
        &mut self,
        die: u32,
        class: Class,
        oldest: u32,
        before: &Command,
    ) -> Result<bool, Fault> {
        self.follow_in(die, self.planes_to_follow(die, before), (oldest, class), before, false)
    }

    /// Lets reads of another class follow that the die would serve next, if the packer does.
    #[cold]
    pub(super) fn cross_to_read(&mut self, die: u32, class: Class, place: Waits) -> Result<bool, Fault> {
        let own = self.dies[die as usize].class;
        let are_reads = [own, class].into_iter().all(|class| class.action() == Action::Read);
        let Waits::Plane(oldest) = place else { return Ok(false) };
        if !are_reads || (self.instant && class.task() == Task::GC) {
            return Ok(false);
        }
        let (before, first) = (self.running[die as usize], die * self.planes_per_die.get());
        let planes = before.pages().iter().map(|at| (first + at.plane, class)).collect();
        self.follow_in(die, planes, (oldest, class), &before, true)
    }

    /// The same for these planes and classes, if the oldest read has this one; `crosses` where the die has worked for another class.
    fn follow_in(
        &mut self,
        die: u32,
        planes: Vec<(u32, Class)>,
        oldest: (u32, Class),
        before: &Command,
        crosses: bool,
    ) -> Result<bool, Fault> {
        let among = planes.iter().position(|&place| place == oldest);
        let lead = among.unwrap_or(0);
        let waiting = self.reads_that_follow(&planes, lead);
        if waiting.is_empty() || (crosses && !self.may_cross(die, oldest.1)) || !self.may_pass(die, among.is_none()) {
            return Ok(false);
        }
        let Some(at) = self.chosen_follower(die, before, &waiting) else { return Ok(false) };
        let Some(chosen) = self.agreed_partners(&planes, lead, waiting[at].operation) else { return Ok(false) };
        self.hold(die);
        if crosses {
            self.work_for(die, oldest.1);
        }
        self.command.clear(Kind::Read);
        for ((plane, class), sequence) in planes.into_iter().zip(chosen) {
            let slot = self.take_read(plane, class, u32::MAX, |_, op| op.sequence == sequence);
            self.add_read(die, slot.expect("it was found just now"))?;
        }
        Ok(true)
    }

    /// True if the packer lets reads of a class follow those that a die works for.
    fn may_cross(&mut self, die: u32, class: Class) -> bool {
        let own = self.dies[die as usize].class;
        self.pack.crosses(own, class)
    }

    /// A die works for another class from now on, in the midst of a sequence: its time so far is charged to the one before. Its command
    /// before the next one is held.
    fn work_for(&mut self, die: u32, class: Class) {
        let now = self.now;
        let Sequence { held, of_held: (before, mixed), .. } = self.sequences[die as usize];
        let pages = &held.pages[..usize::from(held.count)];
        let since = self.dies[die as usize].since;
        if mixed {
            self.divide_time(die, pages, now - since);
        } else {
            self.dies[die as usize].occupied[before.counted().index()] += now - since;
        }
        if before.task() == Task::GC && self.awaiting > 0 {
            self.let_go(die);
        }
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.leave(die, now);
        }
        let state = &mut self.dies[die as usize];
        if state.counted != END_OF_TIME {
            let from = std::mem::replace(&mut state.counted, now);
            self.plane_use.add(now - from, (now - since.max(from)) * pages.len() as Time);
        }
        state.mixed = false;
        state.begin(class, now);
        if self.holding.asks {
            self.holding.changed(die);
        }
    }

    /// The planes of a die's command, which is followed in the same ones, and the class of each.
    fn planes_to_follow(&self, die: u32, before: &Command) -> Vec<(u32, Class)> {
        let state = &self.dies[die as usize];
        let class = |slot: u32| if state.mixed { self.slab.get(slot).class } else { state.class };
        let pages = before.pages().iter().zip(&state.pages);
        pages.map(|(at, &slot)| (die * self.planes_per_die.get() + at.plane, class(slot))).collect()
    }

    /// Reads of the leading one of some planes that could follow, with reads of all the others: the oldest alone, unless the packer
    /// chooses.
    fn reads_that_follow(&self, planes: &[(u32, Class)], lead: usize) -> Vec<Follower> {
        let (plane, class) = planes[lead];
        let queue = &self.queues[plane as usize * CLASSES + class.index()];
        let goes = |op: &FlashOp| op.role != Role::Copy && self.is_current(op);
        if queue.head == NONE || !goes(self.slab.get(queue.head)) {
            // It must be looked up again, or goes alone.
            return Vec::new();
        }
        let most = if self.pack.chooses_followers() { self.pack.window().max(1) } else { 1 };
        let complete = |op: &FlashOp| {
            let from = self.first_of_page(self.page_of(op.source));
            let others = (0..planes.len()).filter(|&at| at != lead);
            others.into_iter().all(|at| self.partners(planes[at], from).next().is_some())
        };
        let reads = (0..most).zip(queue.iter(&self.slab)).filter(|(_, op)| goes(op) && complete(op));
        let told = |op: &FlashOp| self.packed(op, plane, Some(self.page_of(op.source)));
        reads.map(|(before, op)| Follower { operation: told(op), before }).collect()
    }

    /// Reads of a plane for pages whose units begin so in their blocks, within the window.
    fn partners(&self, (plane, class): (u32, Class), from: u32) -> impl Iterator<Item = &FlashOp> {
        let queue = &self.queues[plane as usize * CLASSES + class.index()];
        queue.iter(&self.slab).take(self.pack.window() as usize).filter(move |op| self.joins(op, from))
    }

    /// Which of these leads what follows on a die, if anything does.
    fn chosen_follower(&mut self, die: u32, before: &Command, waiting: &[Follower]) -> Option<usize> {
        if !self.pack.chooses_followers() {
            return Some(0);
        }
        let state = &self.dies[die as usize];
        let command = self.packed_command(die, before, &state.pages[..usize::from(state.count)]);
        self.pack.follows(&command, waiting)
    }

    /// The numbers of the reads that follow in these planes with the one that leads, as the packer agrees; none if it agrees on none for some
    /// plane.
    fn agreed_partners(&mut self, planes: &[(u32, Class)], lead: usize, leader: PackedOperation) -> Option<Vec<u64>> {
        let from = self.first_of_page(leader.page.expect("a read has a page"));
        let (mut command, mut chosen) = (vec![leader], vec![leader.sequence; planes.len()]);
        for at in (0..planes.len()).filter(|&at| at != lead) {
            let told = |op: &FlashOp| self.packed(op, planes[at].0, leader.page);
            let oldest: Vec<_> = self.partners(planes[at], from).map(told).collect();
            let agreed = oldest.into_iter().find(|other| !self.refuses || self.pack.fits(&command, other))?;
            chosen[at] = agreed.sequence;
            command.push(agreed);
        }
        Some(chosen)
    }

    /// True if the packer agrees that writes from `source` follow a program of a die.
    #[cold]
    pub(super) fn agrees_on_program(&mut self, die: u32, class: Class, source: Source, before: &Command) -> bool {
        let command = self.writes_that_follow(die, class, source, before);
        let Some(&operation) = command.first() else { return false };
        if self.chosen_follower(die, before, &[Follower { operation, before: 0 }]).is_none() {
            return false;
        }
        !self.refuses || (1..command.len()).all(|at| self.pack.fits(&command[..at], &command[at]))
    }

    /// What would follow a program of a die from `source`: of each plane the write with which its page begins.
    fn writes_that_follow(&self, die: u32, class: Class, source: Source, before: &Command) -> Vec<PackedOperation> {
        let first = die * self.planes_per_die.get();
        let page_of = |(nth, plane): (u32, u32)| {
            let (fifo, units) = match source {
                Source::Own => (&self.queues[plane as usize * CLASSES + class.index()], 0),
                Source::Shared(queue) => (&self.shared[queue], nth * self.plan.units_per_program),
            };
            let op = self.write_behind(fifo, class, units)?;
            Some(self.packed(op, plane, Some(self.page_to_write(plane, stream_of(class)))))
        };
        (0..).zip(before.pages()).filter_map(|(nth, at)| page_of((nth, first + at.plane))).collect()
    }

    /// The first write of a queue that is sure to get its page after so many units.
    fn write_behind(&self, fifo: &Fifo, class: Class, units: u32) -> Option<&FlashOp> {
        let mut units_before = 0;
        fifo.iter(&self.slab).filter(|op| self.is_sure(op, class)).find(|op| {
            units_before += u32::from(op.units);
            units_before > units
        })
    }
}
