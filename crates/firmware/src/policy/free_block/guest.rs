//! Guest: an external free-block policy.
//!
//! Source: whoever wrote it.
//! Faithful: the blocks of a plane are opened by the ranks that it gave them; of equal ones, the block with the lowest
//! number.

use super::FreeBlock;
use crate::policy::{Refusal, Tells, Trouble, seated};

/// An external free-block policy.
pub trait GuestFreeBlock: Tells + std::fmt::Debug + Send {
    /// As [`FreeBlock::rank`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn rank(&mut self, erases: u32, order: u32) -> Result<u64, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestFreeBlock>;
}

seated!(free_block, GuestFreeBlock);

impl FreeBlock for Guest {
    fn rank(&mut self, erases: u32, order: u32) -> u64 {
        // Without an answer the run ends: what stands in for it decides no result.
        self.0.ask(|guest| guest.rank(erases, order)).unwrap_or(u64::MAX)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
