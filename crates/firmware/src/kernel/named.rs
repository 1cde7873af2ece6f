//! Named places in superblocks: a placement from outside says where each write of the host goes.
//!
//! A plane takes pages of the two superblocks that are open in its group, and no others before all its planes have filled the older one.
//! So a write that waits for a place could wait for writes to others, which may never come. A name is a wish, therefore: writes
//! give it up, and go to the queue for any die, as soon as no plane of their place has a page of an open superblock or can get one without the
//! others: it may open the newer one, or GC is about to make room for it. A page that is due to hold parity is written whatever else waits.
//!
//! So what waits for a place has a page, or waits for parity or GC, and neither of them waits for the host. All else waits as without names.

use super::Kernel;
use crate::ops::NONE;
use crate::policy::placement::Constraint;
use crate::task::{Class, Task, CLASSES};

/// The places that writes of the host may wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// True if a plane may have run out of pages.
    due: bool,
    places: Vec<Constraint>,
    /// Writes that give their place up.
    leaving: Vec<u32>,
}

impl Kernel {
    /// A write of the host goes to the place that the placement named, or anywhere if it gets no page there.
    pub(super) fn seek_place(&mut self, slot: u32, place: Constraint) -> Constraint {
        if self.named.is_none() || place == Constraint::Any {
            return place;
        }
        if !self.gets_page(place, self.jobs.of_task(Task::GC) > 0) {
            self.placement.give_up(slot);
            return Constraint::Any;
        }
        if let Some(named) = self.named.as_mut().filter(|named| !named.places.contains(&place)) {
            named.places.push(place);
        }
        place
    }

    /// The place of a write that comes back to the commit stage from its die, perhaps one of several of its place.
    pub(super) fn place_again(&mut self, slot: u32, class: Class) -> Constraint {
        let place = self.place_for(slot);
        if class == Class::HOST_WRITE {
            self.seek_place(slot, place)
        } else {
            place
        }
    }

    /// True if a plane of a place has a page for the host, or gets one whatever the host writes to others, perhaps from GC if it `collects`.
    fn gets_page(&self, place: Constraint, collects: bool) -> bool {
        let geometry = self.flash.geometry();
        let (planes, of_channel) = (geometry.planes_per_die, geometry.dies_per_channel() * geometry.planes_per_die);
        let mut planes = match place {
            Constraint::Any => return true,
            Constraint::Channel(channel) => channel * of_channel..(channel + 1) * of_channel,
            Constraint::Die(die) => die * planes..(die + 1) * planes,
            Constraint::Plane(plane) => plane..plane + 1,
        };
        planes.any(|plane| self.space.gets_page_in_stripe(&self.blocks, plane, collects))
    }

    /// Planes may have run out of pages.
    #[inline]
    pub(super) fn look_at_names(&mut self) {
        if let Some(named) = &mut self.named {
            named.due = true;
        }
    }

    /// Writes that get no page in their places give them up; true if any have. Called when dies have found their work.
    #[inline]
    pub(super) fn settle_names(&mut self) -> bool {
        let stuck = self.stalled && self.busy == 0 && !self.is_computing();
        self.named.as_ref().is_some_and(|named| named.due || stuck) && self.give_names_up(stuck)
    }

    #[cold]
    fn give_names_up(&mut self, stuck: bool) -> bool {
        let Some(mut named) = self.named.take() else { return false };
        let mut changed = false;
        named.due = false;
        named.places.retain(|&place| {
            // When nothing moves, GC is no hope either.
            let collects = !stuck && self.jobs.of_task(Task::GC) > 0;
            if !self.gets_page(place, collects) {
                changed |= self.go_anywhere(&mut named.leaving, place);
            }
            self.is_named_still(place)
        });
        self.named = Some(named);
        changed
    }

    /// The queue of the host's writes for a place that any of several planes may take, counted in their row.
    fn shared_at(&self, place: Constraint) -> usize {
        let at = match place {
            Constraint::Any | Constraint::Plane(_) => 0,
            Constraint::Channel(channel) => 1 + channel,
            Constraint::Die(die) => 1 + self.flash.geometry().channels + die,
        };
        at as usize
    }

    /// True if writes of the host wait for a place.
    fn is_named_still(&self, place: Constraint) -> bool {
        let staged =
            |place| self.stage.as_ref().map_or(NONE, |stage| stage.queue(stage.at(Class::HOST_WRITE, place)).fifo.head);
        let at_die = match place {
            Constraint::Plane(plane) => self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head,
            _ => self.shared[self.shared_row(Class::HOST_WRITE) + self.shared_at(place)].head,
        };
        at_die != NONE || staged(place) != NONE
    }

    /// The writes of the host that wait for a place may go to any die; true if there are some.
    fn go_anywhere(&mut self, leaving: &mut Vec<u32>, place: Constraint) -> bool {
        while let Some(slot) = self.leaves_place(place) {
            leaving.push(slot);
        }
        while let Some(slot) = self.leaves_stage(place) {
            leaving.push(slot);
        }
        let changed = !leaving.is_empty();
        for slot in leaving.drain(..) {
            self.placement.give_up(slot);
            if self.slab.get(slot).buffered && self.notes.is_some() {
                self.witness_wait(slot, Constraint::Any);
            }
            if self.stage.is_some() {
                self.put_on_stage(slot, Class::HOST_WRITE, Constraint::Any, false);
            } else {
                self.enqueue_shared(Class::HOST_WRITE, 0, slot);
            }
        }
        if changed {
            match &mut self.stage {
                Some(stage) => stage.dirty = true,
                None => self.shared_dirty = true,
            }
        }
        changed
    }

    /// The oldest write of the host that waits for a place at its dies leaves them.
    fn leaves_place(&mut self, place: Constraint) -> Option<u32> {
        let class = Class::HOST_WRITE;
        if let Constraint::Plane(plane) = place {
            return self.pop(plane, class);
        }
        let at = self.shared_row(class) + self.shared_at(place);
        let slot = self.shared[at].pop(&self.slab)?;
        self.count_shared(class, -1);
        if let Constraint::Die(die) = place {
            self.leaves_die(die, class);
        }
        Some(slot)
    }

    /// The same of the commit stage.
    fn leaves_stage(&mut self, place: Constraint) -> Option<u32> {
        let stage = self.stage.as_mut()?;
        let at = stage.at(Class::HOST_WRITE, place);
        let slot = stage.queue_mut(at).fifo.pop(&self.slab)?;
        stage.count_staged(at, -1);
        if stage.queue(at).fifo.head == NONE {
            stage.drain(at);
        }
        Some(slot)
    }

    /// A page of a block of a superblock was bound: a plane may have run out of pages with it.
    #[inline]
    pub(super) fn fills_named_place(&mut self, block: u32, opened: bool) {
        if self.named.is_some() && (opened || self.blocks.get(block).write_point == self.blocks.programs_of(block)) {
            self.look_at_names();
        }
    }
}
