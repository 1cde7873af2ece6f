//! Blocks with a failed program, where the mapping has log blocks.
//!
//! A log block takes no more pages and is merged in its turn, but never becomes a data block. A data block keeps what a merge that is under
//! way still copies there; then its logical block is merged into another one. Either is given up after its erase. Its replacement came into
//! use when the program failed, so such a merge finds a free block as any other.
//!
//! Simplified, as with page mapping: the data of the failed page are read from there, too, in place of the controller's buffer.

use super::schedule::Cause;
use super::Kernel;
use crate::ops::NONE;

impl Kernel {
    /// A program of a block of a domain failed, which was replaced.
    pub(super) fn condemn_in_lots(&mut self, domain: u32, block: u32) {
        let Some(logs) = &mut self.logs else { return };
        if !logs.is_log(block) {
            self.condemned.push(block);
            self.evacuate_lots(domain);
            return;
        }
        let Some(tail) = logs.tail_to_give_up(block) else { return };
        self.blocks.keep(block);
        logs.filled(tail);
        if self.schedule.is_some() {
            logs.list_full(tail);
        }
        self.merge_retired(domain);
    }

    /// Merges the logical block of a condemned data block of a domain, unless a merge runs there: its end calls again.
    pub(super) fn evacuate_lots(&mut self, domain: u32) {
        let (Some(lots), Some(logs)) = (&self.lots, &mut self.logs) else { return };
        if logs.merge(domain).runs {
            return;
        }
        let (mut due, mut at) = (None, 0);
        while let (None, Some(&block)) = (due, self.condemned.get(at)) {
            let lot = lots.owner(block).filter(|&lot| lots.data(lot) == Some(block));
            if self.blocks.domain_of_plane(self.blocks.plane_of(block)) != domain {
                at += 1;
            } else if let Some(lot) = lot {
                // Wear leveling copies to it, or a first page waits for the die.
                let waits = lots.work(lot).job != NONE || lots.replaced(lot).is_some();
                due = Some(lot).filter(|_| !waits);
                at += usize::from(waits);
            } else {
                // It was replaced meanwhile.
                self.condemned.swap_remove(at);
            }
        }
        if let Some(lot) = due {
            logs.begin_alone(domain, lot, self.now);
            self.begin_next_lot(domain, Cause::OnDemand);
        }
    }
}
