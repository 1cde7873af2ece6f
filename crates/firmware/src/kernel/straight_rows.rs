//! Binding writes of the host that fill their pages, in one or several planes of a die.
//!
//! Most writes wait for a plane with an open block, and fill a page: a whole unit where a page has one, or a stretch. Then all that is asked
//! about a plane is known from the head of its queue and from its open block, and the page is bound in one go. Anything else takes the way
//! of `straight_moves`, page by page.

use super::direct::bits;
use super::{Fault, Kernel};
use crate::ops::{FlashOp, Role, NONE};
use crate::space::{BoundPage, Stream};
use crate::task::{Class, CLASSES};

/// The oldest write of a plane, and the page that it fills.
#[derive(Clone, Copy)]
struct AtHand {
    slot: u32,
    unit: u32,
    stamp: u32,
    owner: u32,
    block: u32,
    page: u32,
}

impl Kernel {
    /// Binds a page for the oldest write of the host in a plane, with partners of other planes, as bits: as [`Kernel::bind_writes`]. False if
    /// it has to be done as elsewhere, and nothing has happened yet.
    #[inline(always)]
    pub(super) fn bind_row(&mut self, die: u32, plane: u32, others: u32) -> Result<bool, Fault> {
        let Some(lead) = self.write_at_hand(plane) else { return Ok(false) };
        self.bind_at_hand(die, plane, lead);
        if others == 0 {
            return Ok(true);
        }
        let first = die * self.planes_per_die.get();
        let keeps_to_request = self.pack.within_request();
        for to in bits(others).map(|bit| first + bit) {
            if let Some(other) = self.write_at_hand(to) {
                if other.page == lead.page && (!keeps_to_request || other.owner == lead.owner) {
                    self.bind_at_hand(die, to, other);
                }
            } else if self.write_joins(to, Class::HOST_WRITE, lead.page, lead.slot) {
                self.bind_page_straight(die, to, Class::HOST_WRITE)?;
            }
        }
        Ok(true)
    }

    /// The oldest write of the host that waits for a plane, if there is an open block, and the write fills its next page and is still to be done
    /// as it is.
    #[inline(always)]
    fn write_at_hand(&self, plane: u32) -> Option<AtHand> {
        let slot = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head;
        if slot == NONE {
            return None;
        }
        let FlashOp { unit, stamp, owner, units, role, buffered, .. } = *self.slab.get(slot);
        let (block, page) = self.space.open_page(&self.blocks, plane, Stream::Host)?;
        let most = self.plan.units_per_program;
        let plain = u32::from(units) == most && role != Role::Merge && (most > 1 || !buffered);
        plain.then_some(AtHand { slot, unit, stamp, owner, block, page })
    }

    /// Fills the next page of the open block with it.
    #[inline(always)]
    fn bind_at_hand(&mut self, die: u32, plane: u32, at_hand: AtHand) {
        let AtHand { slot, unit, stamp, block, page, .. } = at_hand;
        let (class, most) = (Class::HOST_WRITE, self.plan.units_per_program);
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        fifo.cut(&mut self.slab, slot, most);
        if fifo.head == NONE {
            self.dies[die as usize].waiting.clear(class, plane - die * self.planes_per_die.get());
        }
        let closed = self.space.fill_open_page(&mut self.blocks, plane, Stream::Host, block);
        let place = block * self.plan.units_per_block + page * most;
        if most == 1 {
            if let Some(old) = self.map.bind(unit, place) {
                self.map.invalidate(old);
                let domain = self.blocks.lose_at_once(self.units_per_block.quotient(old));
                if self.starved[domain as usize] {
                    self.feed(domain);
                }
            }
            self.blocks.gain(block, plane);
            if let Some(shadow) = &mut self.shadow {
                shadow.write(unit, place, stamp);
            }
        } else {
            self.place_stretch(slot, place, block, plane);
        }
        self.command.add(self.page_address(plane, block, page * self.pages_per_program), self.program_bytes);
        self.attach(die, slot);
        if closed {
            self.settle_page(plane, BoundPage { block, page, opened: false, closed, slc: false }, class);
        }
    }
}
