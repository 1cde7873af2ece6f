//! Copyback: a page of a victim moves within its plane, without transferring its data over the bus.

use super::{Fault, Kernel};
use crate::ops::{FlashOp, Role, NONE};
use crate::policy::collect::Copyback;
use crate::policy::placement::Constraint;
use crate::space::Stream;
use crate::task::{Action, Class};
use wordline_flash::Kind;

impl Kernel {
    /// Binds a page of a victim as a copyback, with partners of other planes; false if it must be read and written
    /// after all, because units of it were overwritten or its plane has no room.
    #[cold]
    pub(super) fn issue_copy(&mut self, die: u32, plane: u32, slot: u32) -> Result<bool, Fault> {
        let FlashOp { source, class, .. } = *self.slab.get(slot);
        if !self.may_stay(plane, source) || !self.space.has_room(&self.blocks, plane, Stream::Collector) {
            self.slab.get_mut(slot).role = Role::Plain;
            return Ok(false);
        }
        let target = self.space.next_page(&self.blocks, plane, Stream::Collector);
        self.command.clear(Kind::Copyback);
        self.add_copy(die, plane, slot)?;
        let (planes, page, window) = (self.flash.geometry().planes_per_die, self.page_of(source), self.pack.window());
        for partner in (die * planes..(die + 1) * planes).filter(|&partner| partner != plane) {
            if self.space.next_page(&self.blocks, partner, Stream::Collector) != target
                || !self.space.has_room(&self.blocks, partner, Stream::Collector)
            {
                continue;
            }
            let joined = self.take_beside(die, (partner, class), window, |kernel, op| {
                op.role == Role::Copy && kernel.page_of(op.source) == page && kernel.may_stay(partner, op.source)
            });
            if let Some(slot) = joined {
                self.add_copy(die, partner, slot)?;
            }
        }
        let pages = self.command.pages().len() as u64;
        self.counters.copybacks += pages;
        let written = Class::new(class.task(), Action::Program);
        self.counters.count(written, pages);
        if pages > 1 {
            self.counters.multi_plane[written.index()] += pages;
        }
        Ok(true)
    }

    /// True if all units of a page are valid and may stay in their plane.
    fn may_stay(&self, plane: u32, place: u32) -> bool {
        let page = place - self.units_per_page.remainder(place);
        (page..page + self.plan.units_per_page).all(|place| {
            self.map.is_valid(place) && (self.plan.domains > 1 || self.permits(plane, self.map.unit_at(place)))
        })
    }

    /// True if the placement lets a unit lie in a plane.
    fn permits(&self, plane: u32, unit: u32) -> bool {
        let die = self.planes_per_die.quotient(plane);
        match self.placement.at(self.units_together.quotient(unit)) {
            Constraint::Any => true,
            Constraint::Channel(channel) => self.flash.channel_of(die) == channel,
            Constraint::Die(only) => die == only,
            Constraint::Plane(only) => plane == only,
        }
    }

    /// Adds a page to a copyback and gives its units their new places.
    fn add_copy(&mut self, die: u32, plane: u32, slot: u32) -> Result<(), Fault> {
        let FlashOp { source, class, .. } = *self.slab.get(slot);
        let (units, page) = (self.plan.units_per_page, source - self.units_per_page.remainder(source));
        let bound = self.space.bind(&mut self.blocks, plane, (Stream::Collector, class.task()), &mut self.free_block);
        self.settle_units(self.blocks.domain_of_plane(plane), units);
        let target = bound.block * self.plan.units_per_block + bound.page * units;
        for at in 0..units {
            let (unit, place) = (self.map.unit_at(page + at), target + at);
            let stamp = self.shadow.as_ref().map_or(0, |shadow| shadow.at(page + at));
            if let Some(old) = self.map.bind(unit, place) {
                self.invalidate(old);
            }
            self.blocks.gain(bound.block, plane);
            if self.table.is_some() {
                self.entry_changed(unit, class);
            }
            if let Some(shadow) = &mut self.shadow {
                shadow.moved(unit, place, stamp)?;
            }
        }
        let checked = self.collect.copyback() == Copyback::Checked;
        let bytes = if checked { self.flash.geometry().page_bytes } else { 0 };
        let to = self.page_address(plane, bound.block, bound.page);
        let from = self.address(page);
        self.slab.get_mut(slot).next = NONE;
        self.command.add_move(from, to, bytes);
        self.attach(die, slot);
        self.settle_page(plane, bound, class);
        Ok(())
    }
}
