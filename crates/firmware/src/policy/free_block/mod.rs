//! Family `free_block`: choice of the next free block.

use crate::policies;
use crate::policy::Trouble;
use crate::task::Task;

/// A free block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeEntry {
    /// Its number.
    pub block: u32,
    /// Its erases.
    pub erases: u32,
    /// Its rank.
    pub rank: u64,
}

/// The free blocks of a plane, one of which is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct FreeView<'a> {
    /// The plane.
    pub plane: u32,
    /// The task whose data the block is to take first.
    pub task: Task,
    /// True if it is opened in SLC mode.
    pub slc: bool,
    /// The free blocks, the one of lowest rank first; of superblocks, their first blocks.
    pub free: &'a [FreeEntry],
}

/// Ranks the free blocks of a plane; the one with the lowest rank is opened next.
pub trait FreeBlock {
    /// The rank of a block when it becomes free, after `erases` erases, as the `order`-th block freed in its plane.
    fn rank(&mut self, erases: u32, order: u32) -> u64;
    /// True if it chooses among the free blocks when one is opened.
    fn chooses(&self) -> bool {
        false
    }
    /// The block to open, where it chooses; none for the one of lowest rank.
    fn choose(&mut self, _: &FreeView<'_>) -> Option<u32> {
        None
    }
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
        fn chooses(self: &Self) -> bool;
        fn choose(self: &mut Self, view: &FreeView<'_>) -> Option<u32>;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
