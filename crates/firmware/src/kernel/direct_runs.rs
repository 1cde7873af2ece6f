//! The direct way of untimed writes of the host beside log blocks: consecutive units as a whole.
//!
//! While a drive is at rest, writes of one logical block all go to its data block, if they are the next ones there, or all to one log
//! block. If that is open and has room for them, nothing else follows from them. All others go the general way.

use super::{Fault, Kernel};
use crate::blocks::Status;
use crate::task::Class;
use wordline_base::Time;

/// Where writes of a logical block go: a block, and its tail if it is a log block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Goal {
    block: u32,
    tail: Option<u32>,
}

impl Kernel {
    /// True if untimed writes of consecutive units may go the direct way.
    #[must_use]
    pub fn takes_runs(&self) -> bool {
        self.direct_logs && !self.buffer.is_used()
    }

    /// Writes consecutive units, all of their bytes given, as [`Kernel::write`] and [`Kernel::pump`] would; false if they have to go
    /// the general way, and nothing was done. For drives where [`Kernel::takes_runs`].
    ///
    /// # Errors
    /// When a rule is broken.
    pub fn write_run(&mut self, now: Time, first: u32, count: u32) -> Result<bool, Fault> {
        self.now = now;
        if self.slab.live() > 0 || self.fault.is_some() {
            return Ok(false);
        }
        let Some(goal) = self.goal_of(first, count) else { return Ok(false) };
        let Some(lots) = &self.lots else { return Ok(false) };
        let (lot, end) = (lots.of_unit(first), lots.page_of(first) + count);
        let start = self.blocks.get(goal.block).write_point;
        let plane = self.blocks.plane_of(goal.block);
        let clock = self.blocks.clock(self.blocks.domain_of_plane(plane));
        let place = goal.block * self.plan.units_per_block + start;
        // Units that lie side by side leave their block together.
        let (mut leaves, mut units, mut left_at) = (u32::MAX, 0, 0);
        for nth in 0..count {
            let Some(old) = self.map.bind(first + nth, place + nth) else { continue };
            self.map.invalidate(old);
            let block = self.units_per_block.quotient(old);
            if block != leaves {
                self.lose_several(leaves, units, left_at);
                (leaves, units) = (block, 0);
            }
            (units, left_at) = (units + 1, clock.wrapping_add(nth + 1));
        }
        self.lose_several(leaves, units, left_at);
        self.blocks.gain_several(goal.block, plane, count);
        let is_full = self.blocks.programmed_several(goal.block, count);
        if is_full {
            self.blocks.keep(goal.block);
        }
        let (die, address) = (self.planes_per_die.quotient(plane), self.page_address(plane, goal.block, start));
        self.flash.commit_programs(now, die, address, count)?;
        self.counters.host_units += u64::from(count);
        self.count_pages(Class::HOST_WRITE, count);
        if let (Some(tail), Some(logs)) = (goal.tail, &mut self.logs) {
            logs.written_several(tail, lot, end, is_full);
            if is_full {
                let domain = logs.domain_of_tail(tail);
                self.merge_retired(domain);
            }
        }
        Ok(true)
    }

    /// Units of a block became invalid, if there were any.
    fn lose_several(&mut self, block: u32, units: u32, clock: u32) {
        if units > 0 {
            self.blocks.lose_several(block, units, clock);
        }
    }

    /// Where consecutive units of one logical block go, if that is open and has room for them.
    fn goal_of(&self, first: u32, count: u32) -> Option<Goal> {
        let (lots, logs) = (self.lots.as_ref()?, self.logs.as_ref()?);
        let (lot, page) = (lots.of_unit(first), lots.page_of(first));
        if count == 0 || lots.of_unit(first + count - 1) != lot {
            return None;
        }
        // The first page opens a data block.
        let data = lots.data(lot)?;
        let record = self.blocks.get(data);
        if record.status == Status::Open && record.write_point == page {
            return Some(Goal { block: data, tail: None });
        }
        let (tail, block) = logs.takes(lot, page, count, &self.blocks)?;
        Some(Goal { block, tail: Some(tail) })
    }
}
