//! Parity programs: the last page of each row of a superblock.
//!
//! A page of parity belongs to the task whose data made it due. It holds no unit, so nothing moves it.

use super::{Fault, Kernel};
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::placement::Constraint;
use crate::space::{BoundPage, DueParity, Stream};
use crate::task::{Class, CLASSES};

impl Kernel {
    /// Pages of parity have fallen due, perhaps, with a page of a class: they are written as soon as their dies can.
    fn queue_parity(&mut self, class: Class) {
        while let Some(DueParity { plane, stream, block }) = self.space.next_due() {
            self.sequence += 1;
            let class = Class::map_write(class.task());
            let op = FlashOp {
                class,
                role: Role::Parity,
                source: block,
                unit: stream as u32,
                sequence: self.sequence,
                ready: self.now,
                ..FlashOp::default()
            };
            let slot = self.slab.insert(op);
            if let Some(stage) = &mut self.stage {
                // It goes past the stage, and takes the place of a whole page at its die.
                stage.count_waiting(self.planes_per_die.quotient(plane), class, self.plan.units_per_program as i32);
            }
            self.commit(slot, class, Constraint::Plane(plane));
        }
    }

    /// A page of a superblock was bound for a class.
    #[cold]
    pub(super) fn settle_row(&mut self, bound: BoundPage, class: Class) {
        self.fills_named_place(bound.block, bound.opened);
        if bound.closed {
            // Planes that are ahead may open another superblock.
            self.wake_stalled();
            self.shared_dirty |= self.shared_count > 0;
            if let Some(stage) = &mut self.stage {
                stage.dirty = true;
            }
            self.watch_closed(bound.block);
        }
        self.queue_parity(class);
    }

    /// True if the oldest write of a plane's queue is a page of parity.
    #[inline]
    pub(super) fn leads_parity(&self, fifo: &Fifo) -> bool {
        fifo.head != NONE && self.slab.get(fifo.head).role == Role::Parity
    }

    /// Binds a page of parity, with partners of other planes.
    #[cold]
    pub(super) fn issue_parity(&mut self, die: u32, class: Class, plane: u32) -> Result<(), Fault> {
        let page = self.bind_parity(die, class, plane);
        if self.pack.window() == 0 {
            return Ok(());
        }
        let planes = self.flash.geometry().planes_per_die;
        for partner in (die * planes..(die + 1) * planes).filter(|&partner| partner != plane) {
            let fifo = self.queues[partner as usize * CLASSES + class.index()];
            if self.leads_parity(&fifo)
                && self.blocks.get(self.slab.get(fifo.head).source).write_point == page
                && self.agrees(die, fifo.head, partner, page * self.pages_per_program)
            {
                self.bind_parity(die, class, partner);
            }
        }
        Ok(())
    }

    /// Binds the oldest page of parity of a plane: its page in the block.
    fn bind_parity(&mut self, die: u32, class: Class, plane: u32) -> u32 {
        let slot = self.pop(plane, class).expect("the survey saw it");
        if let Some(stage) = &mut self.stage {
            stage.count_waiting(die, class, 1 - self.plan.units_per_program as i32);
        }
        let FlashOp { source: block, unit: stream, .. } = *self.slab.get(slot);
        self.slab.get_mut(slot).next = NONE;
        let due = DueParity { plane, stream: Stream::numbered(stream), block };
        let bound = self.space.bind_parity(&mut self.blocks, due);
        let address = self.page_address(plane, block, bound.page * self.pages_per_program);
        self.command.add(address, self.program_bytes);
        self.attach(die, slot);
        self.counters.parity_pages += u64::from(self.pages_per_program);
        self.settle_page(plane, bound, class);
        bound.page
    }

    /// True if a write of a class that waits for a plane has its page: one of parity, or one for its data.
    #[inline(never)]
    pub(super) fn finds_page(&mut self, fifo: &Fifo, class: Class, plane: u32) -> bool {
        if class.is_map_write() && self.leads_parity(fifo) {
            return true;
        }
        if !self.may_go(fifo, class, self.blocks.domain_of_plane(plane)) && !self.fills_slc(plane, fifo, class) {
            return false;
        }
        let has_room = self.space.has_room(&self.blocks, plane, super::stream_of(class));
        if !has_room {
            self.stalled = true;
        }
        has_room
    }
}
