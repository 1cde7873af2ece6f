//! The spare space that a drive needs.

use super::Plan;
use crate::policy::collect::CollectPolicy;
use wordline_flash::Geometry;

/// Spare blocks that a domain needs to avoid deadlock: open blocks, blocks free when GC stops, and invalid pages too
/// scattered to be worth collecting.
pub(super) struct Need {
    /// Open blocks.
    pub open: u64,
    /// Free when GC stops.
    pub free: u64,
    /// For invalid pages too scattered.
    pub scattered: u64,
    /// Being emptied.
    pub in_use: u64,
}

impl Need {
    pub fn of(geometry: &Geometry, plan: &Plan, collect: &CollectPolicy) -> Self {
        let blocks = u64::from(plan.blocks_per_domain);
        let (together, of_each) = plan.stripe.map_or((1, 1), |stripe| (u64::from(stripe.blocks()), 2));
        let pages = plan.programs_per_block();
        let data_pages = plan.stripe.map_or(pages, |stripe| stripe.data_pages(pages));
        let free = u64::from(collect.stop()).max(u64::from(collect.reserve()) + together);
        if plan.fixes_pages {
            // Open blocks are those of logical blocks, and a merge frees the replaced block whatever is left in it.
            // Log blocks are beside them, at least so many.
            let open = plan.logs.map_or(0, |rule| u64::from(rule.least()));
            return Self { open, free, scattered: 0, in_use: together };
        }
        Self {
            // Two superblocks for each stream: planes may be one ahead.
            open: 2 * of_each * u64::from(geometry.planes() / plan.domains),
            free,
            // A block yields nothing unless a whole page of it can be gained, or one for each block of a superblock.
            scattered: (blocks * (together * u64::from(plan.units_per_program) - 1))
                .div_ceil(u64::from(data_pages) * u64::from(plan.units_per_program))
                .next_multiple_of(together),
            in_use: together,
        }
    }

    /// All of them.
    pub fn blocks(&self) -> u32 {
        u32::try_from(self.open + self.free + self.scattered + self.in_use).unwrap_or(u32::MAX)
    }
}

/// The least number above `from`, up to `most`, that is right, where the numbers above a right one are right, but for rounding.
pub(super) fn least(from: u64, most: u64, right: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut wrong, mut step) = (from, 1);
    let mut found = loop {
        let next = (wrong + step).min(most);
        if right(next) {
            break next;
        }
        if next == most {
            return None;
        }
        (wrong, step) = (next, step * 2);
    };
    while found - wrong > 1 {
        let middle = wrong + (found - wrong) / 2;
        if right(middle) {
            found = middle;
        } else {
            wrong = middle;
        }
    }
    Some(found)
}
