//! Queueing: an operation goes into the queue of its class that its constraint selects.

use super::Kernel;
use crate::map::Place;
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, CLASSES, TASKS};

impl Kernel {
    /// Puts an operation into the queue of its class, where its constraint says.
    #[inline]
    pub(super) fn enqueue(&mut self, slot: u32) {
        self.sequence += 1;
        let op = self.slab.get_mut(slot);
        op.sequence = self.sequence;
        op.ready = self.now;
        let op = *op;
        let constraint = match op.class.action() {
            Action::Erase => Constraint::Plane(self.blocks.plane_of(op.source)),
            Action::Program if op.class.is_host() || self.plan.domains == 1 => {
                self.placement.place(self.units_per_page.quotient(op.unit))
            }
            Action::Read | Action::Program => Constraint::Plane(self.plane_of(op.source)),
        };
        let geometry = self.flash.geometry();
        let channels = geometry.channels as usize;
        match constraint {
            Constraint::Plane(plane) => {
                let die = self.planes_per_die.quotient(plane);
                self.queues[plane as usize * CLASSES + op.class.index()].push(&mut self.slab, slot);
                self.waiting[die as usize].set(op.class, self.planes_per_die.remainder(plane));
                self.mark(die);
                if self.attentive && op.class == Class::HOST_READ {
                    self.press(die);
                }
            }
            Constraint::Any => self.enqueue_shared(op.class, 0, slot),
            Constraint::Channel(channel) => self.enqueue_shared(op.class, 1 + channel as usize, slot),
            Constraint::Die(die) => self.enqueue_shared(op.class, 1 + channels + die as usize, slot),
        }
        if op.buffered {
            if self.notes.is_some() {
                self.witness_wait(slot, constraint);
            }
            if op.class == Class::HOST_WRITE {
                self.buffer.wait(slot, op.ordinal);
                self.push_out();
            }
        }
    }

    #[inline]
    pub(super) fn enqueue_shared(&mut self, class: Class, at: usize, slot: u32) {
        let index = self.shared_row(class) + at;
        self.shared[index].push(&mut self.slab, slot);
        self.shared_waiting[class.task().index()] += 1;
        self.shared_count += 1;
        self.shared_dirty = true;
    }

    /// The first shared queue of the writes of a task.
    #[inline]
    pub(super) fn shared_row(&self, class: Class) -> usize {
        class.task().index() * (self.shared.len() / TASKS)
    }

    /// Wakes the die of the oldest buffered unit if it has waited long enough.
    pub(super) fn push_out(&mut self) {
        while let Some((slot, ordinal)) = self.buffer.oldest_waiting() {
            let op = self.slab.get(slot);
            // The slot may have been used again since its write left the buffer.
            let waits = op.ordinal == ordinal && op.class == Class::HOST_WRITE && op.buffered;
            if waits && !self.buffer.must_go(ordinal) {
                return;
            }
            self.buffer.stop_waiting();
            if waits {
                match self.placement.place(self.units_per_page.quotient(op.unit)) {
                    Constraint::Plane(plane) => self.mark(plane / self.flash.geometry().planes_per_die),
                    _ => self.shared_dirty = true,
                }
            }
        }
    }

    #[inline]
    pub(super) fn plane_of(&self, place: Place) -> u32 {
        self.blocks.plane_of(self.units_per_block.quotient(place))
    }

    /// Notes that a die may find work.
    #[inline]
    pub(super) fn mark(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.busy && !state.queued {
            state.queued = true;
            self.dirty.push_back(die);
        }
    }
}
