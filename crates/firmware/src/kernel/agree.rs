//! Packers that may refuse: which operations share a multi-plane command, of those that fit together, operation by operation.
//!
//! They are asked where a command is put together, and where what may share one is sent to its die together. Drives without such a
//! packer look at one truth value there.

use super::{stream_of, Fault, Kernel};
use crate::ops::{FlashOp, NONE};
use crate::policy::pack::PackedOperation;
use crate::task::{Action, Class, CLASSES};
use wordline_flash::Command;

impl Kernel {
    /// Takes the reads of other planes along that join one which leads a command, where the packer may refuse.
    #[cold]
    #[inline(never)]
    pub(super) fn join_agreed_reads(&mut self, die: u32, lead: u32, class: Class) -> Result<(), Fault> {
        let FlashOp { source, owner, .. } = *self.slab.get(lead);
        let (page, any_owner) = (self.page_of(source), !self.keeps_to_request(class));
        let from = self.first_of_page(page);
        let fits = |kernel: &Self, op: &FlashOp| kernel.joins(op, from) && (any_owner || op.owner == owner);
        for partner in self.planes_left(die) {
            if let Some(slot) = self.take_beside(die, (partner, class), self.pack.window(), fits) {
                self.add_read(die, slot)?;
            }
        }
        if self.mixes {
            self.join_reads(die, class, page)?;
        }
        Ok(())
    }

    /// Takes the first of the oldest `window` operations of a plane's queue that `fits` a command of a die, and that the packer lets in.
    #[inline(always)]
    pub(super) fn take_beside(
        &mut self,
        die: u32,
        (plane, class): (u32, Class),
        window: u32,
        fits: impl Fn(&Self, &FlashOp) -> bool,
    ) -> Option<u32> {
        if self.refuses {
            let (pages, count) = (self.dies[die as usize].pages, usize::from(self.dies[die as usize].count));
            return self.take_agreed(die, &pages[..count], (plane, class), window, fits);
        }
        self.take_read(plane, class, window, fits)
    }

    /// The same where the packer may refuse, for a command of these operations.
    #[cold]
    pub(super) fn take_agreed(
        &mut self,
        die: u32,
        command: &[u32],
        (plane, class): (u32, Class),
        window: u32,
        fits: impl Fn(&Self, &FlashOp) -> bool,
    ) -> Option<u32> {
        let queue = self.queues[plane as usize * CLASSES + class.index()];
        let oldest = queue.iter(&self.slab).take(window as usize).filter(|op| fits(self, op));
        let oldest: Vec<_> = oldest.map(|op| self.packed(op, plane, Some(self.page_of(op.source)))).collect();
        let command = self.packed_together(die, command);
        let agreed = oldest.into_iter().find(|other| self.pack.fits(&command, other))?;
        self.take_read(plane, class, window, |_, op| op.sequence == agreed.sequence)
    }

    /// True if the packer lets a write that waits first into the command of a die, for the next page of a plane.
    #[inline(always)]
    pub(super) fn agrees_on_write(&mut self, die: u32, slot: u32, plane: u32) -> bool {
        !self.refuses || self.lets_write(die, slot, plane)
    }

    #[cold]
    fn lets_write(&mut self, die: u32, slot: u32, plane: u32) -> bool {
        let page = self.page_to_write(plane, stream_of(self.slab.get(slot).class));
        self.lets_in(die, slot, plane, page)
    }

    /// True if the packer lets the oldest erase of a plane, if there is one, into the command of a die.
    #[cold]
    pub(super) fn lets_erase(&mut self, die: u32, plane: u32, class: Class) -> bool {
        let head = self.queues[plane as usize * CLASSES + class.index()].head;
        head == NONE || self.lets_in(die, head, plane, 0)
    }

    /// True if the packer lets an operation for a page of a plane into the command of a die.
    #[inline]
    pub(super) fn agrees(&mut self, die: u32, slot: u32, plane: u32, page: u32) -> bool {
        !self.refuses || self.lets_in(die, slot, plane, page)
    }

    #[cold]
    fn lets_in(&mut self, die: u32, slot: u32, plane: u32, page: u32) -> bool {
        let state = &self.dies[die as usize];
        let command = self.packed_together(die, &state.pages[..usize::from(state.count)]);
        let other = self.packed(self.slab.get(slot), plane, Some(page));
        self.pack.fits(&command, &other)
    }

    /// What is sent to a die together, from the operation that leads on, where the packer may refuse; otherwise nothing is noted.
    #[inline]
    pub(super) fn sent_together(&self, lead: u32, plane: u32, page: u32) -> Vec<PackedOperation> {
        let lead = self.refuses.then(|| self.packed(self.slab.get(lead), plane, Some(page)));
        lead.into_iter().collect()
    }

    /// True if the packer lets an operation share a command with what was sent to its die; then that has it.
    #[inline]
    pub(super) fn goes_along(&mut self, slot: u32, plane: u32, page: u32, sent: &mut Vec<PackedOperation>) -> bool {
        if self.refuses {
            let other = self.packed(self.slab.get(slot), plane, Some(page));
            let agrees = self.pack.fits(sent, &other);
            sent.extend(agrees.then_some(other));
            return agrees;
        }
        true
    }

    /// True if the packer lets an operation of a transaction share a command with those that the transaction has in its die.
    #[cold]
    pub(super) fn agrees_beside(&mut self, slot: u32, plane: u32, chosen: &[(u32, u32)]) -> bool {
        let die = self.planes_per_die.quotient(plane);
        let beside = chosen.iter().filter(|(_, other)| self.planes_per_die.quotient(*other) == die);
        let beside: Vec<_> = beside.map(|&(slot, plane)| self.packed_later(slot, plane)).collect();
        let other = self.packed_later(slot, plane);
        beside.is_empty() || self.pack.fits(&beside, &other)
    }

    /// An operation that is not bound yet, as the packer sees it.
    fn packed_later(&self, slot: u32, plane: u32) -> PackedOperation {
        let op = self.slab.get(slot);
        let page = match op.class.action() {
            Action::Program => self.page_to_write(plane, stream_of(op.class)),
            _ => self.page_of(op.source),
        };
        self.packed(op, plane, Some(page))
    }

    /// The operations of the command that is put together for a die, as the packer sees them.
    fn packed_together(&self, die: u32, slots: &[u32]) -> Vec<PackedOperation> {
        self.packed_command(die, &self.command, slots)
    }

    /// The same of a command of a die with these operations.
    pub(super) fn packed_command(&self, die: u32, command: &Command, slots: &[u32]) -> Vec<PackedOperation> {
        let first = die * self.planes_per_die.get();
        let pages = command.pages().iter().zip(slots);
        pages.map(|(at, &slot)| self.packed(self.slab.get(slot), first + at.plane, Some(at.page))).collect()
    }

    /// An operation as the packer sees it.
    pub(super) fn packed(&self, op: &FlashOp, plane: u32, page: Option<u32>) -> PackedOperation {
        let FlashOp { class, owner, sequence, ready, .. } = *op;
        let page = page.filter(|_| class.action() != Action::Erase);
        let request = (class.is_host() && owner != NONE).then_some(owner);
        PackedOperation { class, plane, page, request, sequence, waited: self.now - ready }
    }
}
