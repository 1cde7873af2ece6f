//! The straight way of all commands through the commit stage where several units fill a page, and each plane collects for itself.
//!
//! As [`super::staged_pages`], with which it shares what comes next at a die and the look at the stage. A read of a victim ends with a write for each
//! unit of its page that is still valid: these come to the queue of their plane together. Their program ends with the next read of its job.
//!
//! [`Kernel::goes_by_stage_in_planes`] is the one place that says which drives may go this way.

use super::{Fault, Kernel, Waits};
use crate::ops::FlashOp;
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task};
use wordline_base::EventQueue;
use wordline_flash::Kind;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

impl Kernel {
    /// True if all commands may go straight through the commit stage where several units fill a page.
    #[must_use]
    pub fn is_straight_by_stage_in_units(&self) -> bool {
        self.by_stage_in_planes && !self.by_stage_in_pages
    }

    /// Ends a command that read or programmed for GC, as [`Kernel::complete`] and [`Kernel::pump`] would.
    #[inline(never)]
    pub(super) fn end_units_by_stage(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        debug_assert!(!self.dies[die as usize].mixed, "no command has operations of several tasks");
        let left = self.leave_die(die, class);
        if let Some(stage) = &mut self.stage {
            stage.end_pages(die, class, left.slots().len() as u32);
        }
        if class == GC_READ {
            left.slots().iter().for_each(|&slot| self.units_were_read(slot));
        } else {
            self.units_were_moved(&left, Self::moves_on_by_stage);
        }
        self.go_on_after(die, queue)
    }

    /// Programs the oldest units of a class that wait for a plane of an idle die, if they fill a page of an open block, and nothing that waits
    /// for other planes may share the command; false if not, and nothing has happened yet.
    #[inline(never)]
    pub(super) fn program_units(
        &mut self,
        die: u32,
        class: Class,
        (plane, others): (u32, u32),
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if others != 0 && self.window > 0 {
            return Ok(false);
        }
        self.command.clear(Kind::Program);
        if !self.bind_full_page(die, plane, class, Waits::Plane(plane))? {
            return Ok(false);
        }
        self.start(die, class, queue)?;
        Ok(true)
    }

    /// A page of a victim was read: as [`Kernel::moved_out`].
    #[inline(always)]
    fn units_were_read(&mut self, slot: u32) {
        let FlashOp { source, owner, units, .. } = *self.slab.get(slot);
        self.slab.remove(slot);
        let gone = u32::from(units) - self.stage_moved(GC_WRITE, source, owner);
        let domain = self.jobs.get(owner).domain;
        self.jobs.read_ended(owner);
        self.settle_units(domain, gone);
        self.moves_on_by_stage(owner, gone);
        self.gather(Task::GC, domain);
    }

    /// Units of a job of GC have reached their new places, or need none any more: as [`Kernel::arrived`].
    #[inline(never)]
    fn moves_on_by_stage(&mut self, slot: u32, units: u32) {
        self.jobs.get_mut(slot).on_the_way -= units;
        while let Some(place) = self.page_to_read(slot) {
            let units = self.take_page(slot, place);
            self.sequence += 1;
            let (ready, sequence) = (self.now, self.sequence);
            let read = self.slab.insert(FlashOp { ready, sequence, ..self.read_for(slot, place, units) });
            self.send_from_processor(read, GC_READ, Constraint::Plane(self.plane_of(place)));
        }
    }
}
