//! A die during a collection: it may serve GC alone, its planes may write side by side, and the use of its planes is
//! counted.

use super::{Fault, Kernel, Waits};
use crate::task::{Class, Task};
use wordline_base::time::END_OF_TIME;

impl Kernel {
    /// True if a die serves only GC now.
    #[inline]
    pub(super) fn is_held(&self, die: u32) -> bool {
        self.hold_below > 0 && self.dies[die as usize].collections > 0 && self.holds(die)
    }

    /// True if one of the collections of a die is short of free blocks.
    fn holds(&self, die: u32) -> bool {
        let planes = self.flash.geometry().planes_per_die;
        (die * planes..(die + 1) * planes).any(|plane| {
            let domain = self.blocks.domain_of_plane(plane);
            self.space.free_for_gc(&self.blocks, domain) < self.hold_below
                && self.jobs.running(self.jobs.group(Task::GC, domain)) > 0
        })
    }

    /// GC takes a victim block.
    pub(super) fn collection_starts(&mut self, block: u32) {
        let plane = self.blocks.plane_of(block);
        let die = self.planes_per_die.quotient(plane);
        let state = &mut self.dies[die as usize];
        state.collections += 1;
        if state.collections == 1 {
            if self.binding {
                self.unpaired.push(plane);
            } else {
                self.pair(plane);
            }
        }
    }

    /// The planes of a die begin to write side by side, since one of them is collected.
    fn pair(&mut self, collecting: u32) {
        let planes = self.planes_per_die.get();
        let first = self.planes_per_die.quotient(collecting) * planes;
        self.space.pair(&self.blocks, collecting, first..first + planes);
    }

    /// As [`Kernel::bind_next_page`], where collections may change the next page of a plane: one that starts meanwhile
    /// waits until the page is bound whose offset others have been chosen by.
    #[cold]
    pub(super) fn bind_known_page(&mut self, die: u32, plane: u32, class: Class, place: Waits) -> Result<(), Fault> {
        self.binding = true;
        let bound = self.bind_next_page::<false>(die, plane, class, place);
        self.binding = false;
        while let Some(collecting) = self.unpaired.pop() {
            self.pair(collecting);
        }
        bound
    }

    /// A victim block of GC is erased.
    pub(super) fn collection_ends(&mut self, block: u32) {
        let die = self.planes_per_die.quotient(self.blocks.plane_of(block));
        let state = &mut self.dies[die as usize];
        state.collections -= 1;
        if state.collections == 0 {
            state.counted = END_OF_TIME;
            let planes = self.planes_per_die.get();
            self.space.take_fuller_blocks(&self.blocks, die * planes..(die + 1) * planes);
            // Writes without a die may have waited for it; it looks for work of its own at the end of its command.
            self.shared_dirty |= self.hold_below > 0 && self.shared_count > 0;
        }
    }

    /// Sets the pages of other planes that reads of the host wait for, in the die of a domain that is one plane.
    pub(super) fn list_reads_beside(&mut self, domain: u32) {
        self.reads_beside.clear();
        let planes = self.planes_per_die.get();
        let first = self.planes_per_die.quotient(domain) * planes;
        for plane in (first..first + planes).filter(|&plane| plane != domain) {
            let fifo = self.queues[plane as usize * crate::task::CLASSES + Class::HOST_READ.index()];
            for op in fifo.iter(&self.slab) {
                let page = self.units_per_page.quotient(self.units_per_block.remainder(op.source));
                if let Err(at) = self.reads_beside.binary_search(&page) {
                    self.reads_beside.insert(at, page);
                }
            }
        }
    }
}
