//! Family `free_block`: choice of the next free block.

use crate::policies;
use crate::policy::Trouble;

/// Ranks the free blocks of a plane; the one with the lowest rank is opened next.
pub trait FreeBlock {
    /// The rank of a block when it becomes free, after `erases` erases, as the `order`-th block freed in its plane.
    fn rank(&mut self, erases: u32, order: u32) -> u64;
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "free_block" decides "which free block of a plane is opened next";
    trait FreeBlock, config FreeBlockConfig, policy FreeBlockPolicy;
    members {
        /// The block with the fewest erases.
        "least-erased" => least_erased::LeastErased,
        /// The block that has been free longest.
        "fifo" => fifo::Fifo,
    }
    guest guest::Guest;
    methods {
        fn rank(self: &mut Self, erases: u32, order: u32) -> u64;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
