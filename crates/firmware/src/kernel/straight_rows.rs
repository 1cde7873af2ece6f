//! Rows of writes of the host: pages of one or several planes of a die that are bound, and mostly begun, as one.
//!
//! Most writes wait for a plane with an open block, and fill a page: a whole unit where a page has one, or a stretch. Then all that is asked
//! about a plane is known from the head of its queue and from its open block, and the page is bound in one go. Where nothing but such writes
//! waits for a die, for several planes, the oldest leads, and no other class is looked at. Anything else takes the way of `straight_moves`,
//! page by page.

use super::direct::bits;
use super::{Fault, Kernel};
use crate::map::Place;
use crate::ops::{Role, NONE};
use crate::space::{BoundPage, Stream};
use crate::task::{Class, CLASSES};
use wordline_base::EventQueue;
use wordline_flash::{Kind, PageAddress};

/// The oldest write of a plane, and the page that it fills.
#[derive(Clone, Copy)]
struct AtHand {
    slot: u32,
    unit: u32,
    block: u32,
    page: u32,
}

impl Kernel {
    /// True if programs of the host in several planes go straight, beside other programs and moves.
    pub(super) fn writes_rows(&self) -> bool {
        self.moves_straight() && self.pack.window() > 0 && !self.avoids_short
    }

    /// Programs the oldest writes of the host that wait for an idle die, where nothing else waits there and they wait for several planes, of which
    /// mostly all have an open block; false if it has to be done as elsewhere, and nothing has happened yet.
    #[inline(always)]
    pub(super) fn dispatch_row(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Some(planes) = self.dies[die as usize].waiting.only_host_writes() else { return Ok(false) };
        if !self.straight_rows || planes & planes.wrapping_sub(1) == 0 || self.shared_count > 0 {
            return Ok(false);
        }
        if self.straight_pages {
            self.program_row_of_host::<true>(die, planes, queue)
        } else {
            self.program_row_of_host::<false>(die, planes, queue)
        }
    }

    /// The same where they wait for these planes, as bits. `LONE` is for [`Kernel::bind_row`].
    #[inline(never)]
    fn program_row_of_host<const LONE: bool>(
        &mut self,
        die: u32,
        planes: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        let at = self.oldest_write(die, planes);
        self.command.clear(Kind::Program);
        if !self.bind_row::<LONE>(die, at, planes & !(1 << at))? {
            return Ok(false);
        }
        self.begin_row(die, queue)?;
        Ok(true)
    }

    /// Of planes of a die where writes of the host wait, of which there are some, the one with the oldest.
    #[inline(always)]
    fn oldest_write(&self, die: u32, planes: u32) -> u32 {
        let first = (die * self.planes_per_die.get()) as usize * CLASSES + Class::HOST_WRITE.index();
        let queues = &self.queues[first..];
        let number = |at: u32| queues[at as usize * CLASSES].number();
        let mut found = planes.trailing_zeros();
        let mut oldest = number(found);
        for at in bits(planes & (planes - 1)) {
            let number = number(at);
            if number < oldest {
                (oldest, found) = (number, at);
            }
        }
        found
    }

    /// Sends the writes of the host that were bound to their idle die.
    #[inline(always)]
    fn begin_row(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let planes = self.command.planes();
        self.count_direct(Class::HOST_WRITE, planes as u64);
        self.busy += 1;
        self.dies[die as usize].begin(Class::HOST_WRITE, self.now);
        if planes == 1 {
            self.flash.program_page(self.now, die, &self.command, queue)?;
        } else {
            self.flash.program_pages(self.now, die, &self.command, queue)?;
        }
        Ok(())
    }

    /// Binds a page for the oldest write of the host in a plane of a die, with partners of other planes, as bits: as
    /// [`Kernel::bind_writes`]. False if it has to be done as elsewhere, and nothing has happened yet. `LONE` says that a unit fills a page, and that
    /// a program writes one.
    #[inline(always)]
    pub(super) fn bind_row<const LONE: bool>(&mut self, die: u32, at: u32, others: u32) -> Result<bool, Fault> {
        debug_assert!(!LONE || self.plan.units_per_program == 1, "it takes one unit");
        debug_assert!(self.space.is_plain(), "each stream has open blocks of its own");
        let first = die * self.planes_per_die.get();
        let Some(lead) = self.write_at_hand::<LONE>(first + at) else { return Ok(false) };
        // Where nothing is left to wait is told once, at the end.
        let mut emptied = self.bind_at_hand::<LONE>(die, (first + at, at), lead);
        let keeps_to_request = others != 0 && self.within_request;
        for at in bits(others) {
            let to = first + at;
            if let Some(other) = self.write_at_hand::<LONE>(to) {
                if other.page == lead.page && (!keeps_to_request || self.are_of_one_request(lead.slot, other.slot)) {
                    emptied |= self.bind_at_hand::<LONE>(die, (to, at), other);
                }
            } else if self.write_joins(to, Class::HOST_WRITE, lead.page, lead.slot) {
                self.bind_page_straight(die, to, Class::HOST_WRITE)?;
            }
        }
        self.dies[die as usize].waiting.clear_planes(Class::HOST_WRITE, emptied);
        Ok(true)
    }

    fn are_of_one_request(&self, one: u32, other: u32) -> bool {
        self.slab.get(one).owner == self.slab.get(other).owner
    }

    /// The oldest write of the host that waits for a plane, if there is an open block, and the write fills its next page and is still to be done
    /// as it is.
    #[inline(always)]
    fn write_at_hand<const LONE: bool>(&self, plane: u32) -> Option<AtHand> {
        let slot = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head;
        let op = self.slab.find(slot)?;
        let most = if LONE { 1 } else { self.plan.units_per_program };
        let plain = u32::from(op.units) == most && op.role != Role::Merge && (most > 1 || !op.buffered);
        if !plain {
            return None;
        }
        let (block, page) = self.space.open_page(&self.blocks, plane, Stream::Host)?;
        Some(AtHand { slot, unit: op.unit, block, page })
    }

    /// Fills the next page of the open block with it; tells as a bit whether no other waits for the plane.
    #[inline(always)]
    fn bind_at_hand<const LONE: bool>(&mut self, die: u32, (plane, at): (u32, u32), at_hand: AtHand) -> u32 {
        let AtHand { slot, unit, block, page } = at_hand;
        let (class, most) = (Class::HOST_WRITE, if LONE { 1 } else { self.plan.units_per_program });
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        fifo.cut(&mut self.slab, slot, most);
        let emptied = u32::from(fifo.head == NONE) << at;
        let place = block * self.plan.units_per_block + page * most;
        let closed = if LONE || most == 1 {
            self.place_lone_unit((slot, unit), place, (block, page), plane)
        } else {
            let closed = self.space.fill_open_page(&mut self.blocks, plane, Stream::Host, block);
            self.place_stretch(slot, place, block, plane);
            closed
        };
        let address = PageAddress {
            plane: at,
            block: block - plane * self.blocks_per_plane.get(),
            page: if LONE { page } else { page * self.pages_per_program },
        };
        self.command.add(address, self.program_bytes);
        self.attach(die, slot);
        if closed {
            self.settle_page(plane, BoundPage { block, page, opened: false, closed, slc: false }, class);
        }
        emptied
    }

    /// Gives a unit of the host, which fills a page, its place in the open block of a plane, of which that is the next page; true if it was the
    /// last.
    #[inline(always)]
    pub(super) fn place_lone_unit(
        &mut self,
        (slot, unit): (u32, u32),
        place: Place,
        (block, page): (u32, u32),
        plane: u32,
    ) -> bool {
        let old = self.map.bind(unit, place);
        if let Some(shadow) = &mut self.shadow {
            shadow.write(unit, place, self.slab.get(slot).stamp);
        }
        let Some(old) = old else {
            return self.space.fill_open_page_of_host(&mut self.blocks, plane, (block, page), None);
        };
        self.map.invalidate(old);
        let old = self.units_per_block.quotient(old);
        // Mostly a unit stays in its plane.
        let stays = old.wrapping_sub(plane * self.blocks_per_plane.get()) < self.blocks_per_plane.get();
        if !stays || self.starved[self.blocks.domain_of_plane(plane) as usize] {
            return self.move_lone_unit(old, block, plane);
        }
        self.space.fill_open_page_of_host(&mut self.blocks, plane, (block, page), Some(old))
    }

    /// A unit that fills a page of the open block of a plane was in another plane, or what it leaves there lets a collection start.
    #[cold]
    fn move_lone_unit(&mut self, old: u32, block: u32, plane: u32) -> bool {
        let closed = self.space.fill_open_page(&mut self.blocks, plane, Stream::Host, block);
        let domain = self.blocks.lose(old);
        if self.starved[domain as usize] {
            self.feed(domain);
        }
        self.blocks.gain(block, plane);
        closed
    }
}
