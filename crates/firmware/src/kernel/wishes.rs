//! Wishes: a collect policy that places says where each moved unit is to be written, a channel or a die.
//!
//! Units with a wish wait in the queue of their channel or die. A program takes them from there only if they fill it; all else stays
//! with the queue for any die. So no page is padded for a wish, a unit is in no other page than it might be without, and the promise
//! of space, which counts pages for full programs and one more for each job, holds as it does without wishes.
//!
//! A wish costs no progress. At the end of each step of the kernel that may have changed something, units give their wish up and go to the queue for any die:
//! - all units of a wish whose dies have no page for moved data;
//! - units that wait for company while no victim block that one of them came from is still being read;
//! - units that wait for company with those of a victim block that has read as much as its window lets it, if all that it
//!   has on the way wait so. Its window is at least a program's worth, so that they fill one together.
//!
//! What remains either fills a program and its die has a page for it, or more company is being read. A unit that comes back from a
//! commit stage has lost its wish.

use super::Kernel;
use crate::ops::{Fifo, FlashOp, NONE};
use crate::policy::collect::{MoveView, Target};
use crate::policy::guest::failed;
use crate::policy::placement::Constraint;
use crate::space::Stream;
use crate::task::{Action, Class, Task};

/// The class of the operations that wishes are about.
pub(super) const WISHED: Class = Class::new(Task::GC, Action::Program);

/// How often the collect policy said where moved units are to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    /// Units with a wish.
    pub units: u64,
    /// Units that gave it up since their dies had no room.
    pub without_room: u64,
    /// Units that gave it up since they lacked company.
    pub without_company: u64,
}

/// The queues of units with a wish.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// True if some wish may have become one that cannot be kept.
    due: bool,
    /// Places of which some units may wait.
    places: Vec<Constraint>,
    /// By job, its units that wait for company.
    waiting: Vec<u32>,
    /// Jobs with such units.
    jobs: Vec<u32>,
    /// Units that give their wish up.
    leaving: Vec<u32>,
    count: Wished,
}

impl Kernel {
    /// How often the collect policy said where moved units are to be written.
    #[must_use]
    pub fn wished(&self) -> Wished {
        self.wishes.as_ref().map_or(Wished::default(), |wishes| wishes.count)
    }

    /// True if a shared queue has moved units with a wish.
    #[inline]
    pub(super) fn is_wish(&self, index: usize, class: Class) -> bool {
        self.wishes.is_some() && class == WISHED && self.stage.is_none() && index != self.shared_row(class)
    }

    /// The same of a queue of the commit stage.
    #[inline]
    pub(super) fn is_staged_wish(&self, class: Class, place: Constraint) -> bool {
        class == WISHED && matches!(place, Constraint::Channel(_) | Constraint::Die(_))
    }

    /// Asks the policy where a moved unit is to be written.
    pub(super) fn wish_of(&mut self, op: &FlashOp) -> Constraint {
        let block = self.units_per_block.quotient(op.source);
        let die = self.planes_per_die.quotient(self.blocks.plane_of(block));
        let record = self.blocks.get(block);
        let view = MoveView {
            domain: 0,
            unit: op.unit,
            block,
            die,
            channel: self.flash.channel_of(die),
            valid: record.valid,
            erases: record.erases,
            free: self.space.free_for_gc(&self.blocks, 0),
            of_table: op.unit >= self.plan.logical_units,
        };
        let target = self.collect.place(&view);
        self.heed(failed(self.collect.trouble()));
        let place = match target {
            Target::Any => return Constraint::Any,
            Target::Channel(channel) => Constraint::Channel(channel),
            Target::Die(die) => Constraint::Die(die),
        };
        if let Some(wishes) = &mut self.wishes {
            wishes.count.units += 1;
            wishes.due = true;
            if !wishes.places.contains(&place) {
                wishes.places.push(place);
            }
        }
        place
    }

    /// The shared queue of moved units of a place.
    fn wish_index(&self, place: Constraint) -> usize {
        let at = match place {
            Constraint::Any | Constraint::Plane(_) => 0,
            Constraint::Channel(channel) => 1 + channel,
            Constraint::Die(die) => 1 + self.flash.geometry().channels + die,
        };
        self.shared_row(WISHED) + at as usize
    }

    /// The moved units that wait for a place.
    fn wishing(&self, place: Constraint) -> Fifo {
        match &self.stage {
            Some(stage) => stage.queue(stage.at(WISHED, place)).fifo,
            None => self.shared[self.wish_index(place)],
        }
    }

    /// Units of a queue, the newest, that wait for company.
    fn lacking_company(&self, fifo: &Fifo) -> u32 {
        if fifo.len < self.row_units && self.jobs.expects(self.jobs.group(Task::GC, 0)) {
            return fifo.len;
        }
        self.units_per_program.remainder(fifo.len)
    }

    /// The victim blocks of these units, by job.
    fn owners_lacking<'a>(&'a self, fifo: &'a Fifo) -> impl Iterator<Item = u32> + 'a {
        let full = fifo.len - self.lacking_company(fifo);
        fifo.iter(&self.slab).skip(full as usize).map(|op| op.owner)
    }

    /// True if units with a wish wait for company.
    pub(super) fn wait_with_wishes(&self) -> bool {
        let lacks = |&place: &Constraint| self.units_per_program.remainder(self.wishing(place).len) > 0;
        self.wishes.as_ref().is_some_and(|wishes| wishes.places.iter().any(lacks))
    }

    /// True if a die of a place has a page for moved data.
    fn has_page_for_moved(&self, place: Constraint) -> bool {
        let dies = self.flash.geometry().dies_per_channel();
        match place {
            Constraint::Channel(channel) => {
                (channel * dies..(channel + 1) * dies).any(|die| self.takes(die, Stream::Collector))
            }
            Constraint::Die(die) => self.takes(die, Stream::Collector),
            Constraint::Any | Constraint::Plane(_) => true,
        }
    }

    /// Something has changed that wishes depend on: blocks were opened or closed, units have come, or found their places.
    #[inline]
    pub(super) fn look_at_wishes(&mut self) {
        if let Some(wishes) = &mut self.wishes {
            wishes.due = true;
        }
    }

    /// Units whose wish cannot be kept give it up; true if any have. Called when dies have found their work.
    #[inline]
    pub(super) fn settle_wishes(&mut self) -> bool {
        self.wishes.as_ref().is_some_and(|wishes| wishes.due) && self.look_for_hopeless()
    }

    fn look_for_hopeless(&mut self) -> bool {
        let Some(mut wishes) = self.wishes.take() else { return false };
        wishes.due = false;
        wishes.places.retain(|&place| self.wishing(place).head != NONE);
        let mut changed = !wishes.places.is_empty() && self.give_up_hopeless(&mut wishes);
        if self.units_per_program.get().max(self.row_units) > 1 {
            // Elsewhere nothing waits for company.
            changed |= !wishes.places.is_empty() && self.give_up_stopped(&mut wishes);
        }
        self.wishes = Some(wishes);
        if changed {
            match &mut self.stage {
                Some(stage) => stage.dirty = true,
                None => self.shared_dirty = true,
            }
            self.gather(Task::GC, 0);
        }
        changed
    }

    /// Wishes for dies without room, and units that no victim block brings company any more.
    fn give_up_hopeless(&mut self, wishes: &mut Wishes) -> bool {
        let mut changed = false;
        for at in 0..wishes.places.len() {
            let place = wishes.places[at];
            let fifo = self.wishing(place);
            if !self.has_page_for_moved(place) {
                wishes.count.without_room += u64::from(fifo.len);
                self.lose_wish(&mut wishes.leaving, place, fifo.len);
                changed = true;
                continue;
            }
            let lacking = self.lacking_company(&fifo);
            let is_read = |owner: u32| self.jobs.get(owner).reads > 0 || !self.jobs.get(owner).queued;
            if lacking > 0 && !self.owners_lacking(&fifo).any(is_read) {
                wishes.count.without_company += u64::from(lacking);
                self.lose_wish(&mut wishes.leaving, place, lacking);
                changed = true;
            }
        }
        changed
    }

    /// Units of victim blocks that read no further until some of them are written, and company of these units.
    fn give_up_stopped(&mut self, wishes: &mut Wishes) -> bool {
        for place in wishes.places.iter().copied().chain([Constraint::Any]) {
            for owner in self.owners_lacking(&self.wishing(place)) {
                let at = owner as usize;
                if at >= wishes.waiting.len() {
                    wishes.waiting.resize(at + 1, 0);
                }
                if wishes.waiting[at] == 0 {
                    wishes.jobs.push(owner);
                }
                wishes.waiting[at] += 1;
            }
        }
        let mut jobs = std::mem::take(&mut wishes.jobs);
        jobs.retain(|&owner| {
            let (job, waiting) = (self.jobs.get(owner), std::mem::take(&mut wishes.waiting[owner as usize]));
            let may_read = job.queued || job.held || job.reads > 0 || job.on_the_way < job.window;
            !may_read && waiting == job.on_the_way
        });
        let mut changed = false;
        for at in 0..wishes.places.len() {
            if jobs.is_empty() {
                break;
            }
            let place = wishes.places[at];
            let fifo = self.wishing(place);
            if self.owners_lacking(&fifo).any(|owner| jobs.contains(&owner)) {
                let lacking = self.lacking_company(&fifo);
                wishes.count.without_company += u64::from(lacking);
                self.lose_wish(&mut wishes.leaving, place, lacking);
                changed = true;
            }
        }
        jobs.clear();
        wishes.jobs = jobs;
        changed
    }

    /// The newest units that wait for a place may go to any die.
    fn lose_wish(&mut self, leaving: &mut Vec<u32>, place: Constraint, count: u32) {
        for _ in 0..count {
            let index = self.wish_index(place);
            let slot = match &mut self.stage {
                Some(stage) => {
                    let at = stage.at(WISHED, place);
                    let slot = stage.queue_mut(at).fifo.pop_last(&mut self.slab);
                    stage.count_staged(at, -1);
                    if stage.queue(at).fifo.head == NONE {
                        stage.drain(at);
                    }
                    slot
                }
                None => self.shared[index].pop_last(&mut self.slab),
            };
            leaving.extend(slot);
        }
        let any = self.wish_index(Constraint::Any);
        while let Some(slot) = leaving.pop() {
            if self.stage.is_some() {
                self.put_on_stage(slot, WISHED, Constraint::Any, false);
            } else {
                self.shared[any].push(&mut self.slab, slot);
            }
        }
    }
}
