//! The straight way of plain reads where accounts of requests are kept.
//!
//! As in `straight`, with what the accounts are told at the same moments as on the general path. Programs and moves are in
//! `straight_moves_noted`.

use super::straight::Next;
use super::{Fault, Kernel};
use crate::ops::FlashOp;
use crate::task::Class;
use wordline_base::{EventQueue, Time};

impl Kernel {
    /// As [`Kernel::goes_straight`], where accounts of requests are kept and nothing else is noted.
    pub(super) fn goes_straight_noted(&self) -> bool {
        self.keeps_accounts_only() && self.stage.is_none() && self.would_go_straight()
    }

    /// As [`Kernel::read_straight`], where accounts of requests are kept: the request is one that has begun its way.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(never)]
    pub fn read_straight_noted(
        &mut self,
        now: Time,
        request: u32,
        unit: u32,
        bytes: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight_noted || self.buffer.holds(unit) || !self.is_quiet_straight() {
            return Ok(false);
        }
        let Some(spot) = self.spot_of(unit) else { return Ok(false) };
        self.now = now;
        let read = FlashOp { unit, owner: request, bytes, ..FlashOp::default() };
        if spot.busy {
            self.read_at(spot, read, queue)?;
            return Ok(true);
        }
        self.hear_next(Class::HOST_READ);
        self.read_at(spot, read, queue)?;
        self.witness_begun(spot.die, Class::HOST_READ);
        Ok(true)
    }

    /// Ends the command of a class of a die, as [`Kernel::on_die`] would, where accounts of requests are kept; true if [`Kernel::only`] is done.
    /// Apart, so that drives without accounts need not care.
    ///
    /// # Errors
    /// When a rule is broken.
    #[cold]
    #[inline(never)]
    pub(super) fn end_apart(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if class == Class::HOST_READ {
            self.end_read_noted(die, queue)
        } else {
            self.end_other_noted(die, class, queue)
        }
    }

    /// The same where it was no plain read of one page.
    #[inline(never)]
    fn end_other_noted(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if !self.straight_moves_noted || !self.end_move_noted(die, class, queue)? {
            self.end_generally(die, queue)?;
        }
        Ok(false)
    }

    /// The same where it has read for the host: as [`Kernel::end_straight`].
    #[inline(never)]
    fn end_read_noted(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let slot = self.dies[die as usize].pages[0];
        let quiet = self.shared_count == 0 && self.is_quiet_straight();
        let Some((done, next)) = self.end_lone_read(die, quiet) else {
            return self.end_other_noted(die, Class::HOST_READ, queue);
        };
        self.only = done;
        self.close_read(die, slot, &done);
        match next {
            Next::Read(found) => {
                self.hear_next(Class::HOST_READ);
                self.begin_next_read::<false>(die, found, queue)?;
                self.witness_begun(die, Class::HOST_READ);
            }
            Next::Nothing if !self.stalled => {}
            Next::General if self.straight_moves_noted => self.go_on_noted(die, queue)?,
            _ => {
                self.mark(die);
                self.pump(queue)?;
            }
        }
        Ok(true)
    }
}
