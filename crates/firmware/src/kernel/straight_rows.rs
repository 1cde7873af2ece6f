//! Binding writes of the host that fill their pages, in one or several planes of a die.
//!
//! Most writes wait for a plane with an open block, and fill a page: a whole unit where a page has one, or a stretch. Then all that is asked
//! about a plane is known from the head of its queue and from its open block, and the page is bound in one go. Anything else takes the way
//! of `straight_moves`, page by page.

use super::direct::bits;
use super::{Fault, Kernel};
use crate::ops::{FlashOp, Role, NONE};
use crate::space::Stream;
use crate::task::{Class, CLASSES};

impl Kernel {
    /// Binds a page for the oldest write of the host in a plane, with partners of other planes, as bits: as [`Kernel::bind_writes`]. False if
    /// it has to be done as elsewhere, and nothing has happened yet.
    #[inline(always)]
    pub(super) fn bind_row(&mut self, die: u32, plane: u32, others: u32) -> Result<bool, Fault> {
        let Some((slot, page)) = self.write_at_hand(plane) else { return Ok(false) };
        self.bind_at_hand(die, plane, slot);
        if others == 0 {
            return Ok(true);
        }
        let first = die * self.planes_per_die.get();
        let keeps_to_request = self.pack.within_request();
        for to in bits(others).map(|bit| first + bit) {
            if let Some((other, page_of_other)) = self.write_at_hand(to) {
                let goes_with = !keeps_to_request || self.slab.get(other).owner == self.slab.get(slot).owner;
                if page_of_other == page && goes_with {
                    self.bind_at_hand(die, to, other);
                }
            } else if self.write_joins(to, Class::HOST_WRITE, page, slot) {
                self.bind_page_straight(die, to, Class::HOST_WRITE)?;
            }
        }
        Ok(true)
    }

    /// The oldest write of the host that waits for a plane, and the next page of its open block, if there is one and the write fills the
    /// page and is still to be done as it is.
    #[inline(always)]
    fn write_at_hand(&self, plane: u32) -> Option<(u32, u32)> {
        let slot = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head;
        if slot == NONE {
            return None;
        }
        let op = self.slab.get(slot);
        let page = self.space.open_page(&self.blocks, plane, Stream::Host)?;
        let most = self.plan.units_per_program;
        let plain = u32::from(op.units) == most && op.role != Role::Merge && (most > 1 || !op.buffered);
        plain.then_some((slot, page))
    }

    /// Fills the next page of the open block with it.
    #[inline(always)]
    fn bind_at_hand(&mut self, die: u32, plane: u32, slot: u32) {
        let (class, most) = (Class::HOST_WRITE, self.plan.units_per_program);
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        fifo.cut(&mut self.slab, slot, most);
        if fifo.head == NONE {
            self.dies[die as usize].waiting.clear(class, plane - die * self.planes_per_die.get());
        }
        let bound = self.space.bind_open(&mut self.blocks, plane, Stream::Host);
        let place = bound.block * self.plan.units_per_block + bound.page * most;
        if most == 1 {
            let FlashOp { unit, stamp, .. } = *self.slab.get(slot);
            if let Some(old) = self.map.bind(unit, place) {
                self.invalidate(old);
            }
            self.blocks.gain(bound.block, plane);
            if let Some(shadow) = &mut self.shadow {
                shadow.write(unit, place, stamp);
            }
        } else {
            self.place_stretch(slot, place, bound.block, plane);
        }
        let address = self.page_address(plane, bound.block, bound.page * self.pages_per_program);
        self.command.add(address, self.program_bytes);
        self.attach(die, slot);
        if bound.closed {
            self.settle_page(plane, bound, class);
        }
    }
}
