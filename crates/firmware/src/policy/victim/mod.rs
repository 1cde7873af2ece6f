//! Family `victim`: choice of the victim block.

use crate::blocks::{Blocks, VictimView};
use crate::policies;
use crate::policy::Trouble;

/// Chooses the next victim block.
pub trait Victim {
    /// The victim block, or none for no GC now.
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32>;
    /// A block was closed: all its pages are programmed, and it may become a victim from now on.
    fn closed(&mut self, view: &VictimView<'_>, block: u32);
    /// True if the policy needs the ranking by valid units, which costs some time on every overwrite.
    fn ranked(&self) -> bool;
    /// True if the policy asks for [`VictimView::aligned_reads`].
    fn wants_reads(&self) -> bool {
        false
    }
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "victim" decides "which victim block garbage collection (GC) takes next";
    trait Victim, config VictimConfig, policy VictimPolicy;
    members {
        /// The block with the fewest valid units.
        "greedy" => greedy::Greedy,
        /// Of the blocks with the fewest valid units, the one whose reads fit most waiting reads of the host.
        "read-aligned" => read_aligned::ReadAligned,
        /// The block with the best ratio of space gained, weighted by age, to work.
        "cost-benefit" => cost_benefit::CostBenefit,
        /// The block that was closed first.
        "fifo" => fifo::Fifo,
        /// Any block.
        "random" => random::Random,
        /// The best of d blocks drawn at random.
        "best-of" => best_of::BestOf,
    }
    guest guest::Guest;
    methods {
        fn choose(self: &mut Self, view: &VictimView<'_>) -> Option<u32>;
        fn closed(self: &mut Self, view: &VictimView<'_>, block: u32) -> ();
        fn ranked(self: &Self) -> bool;
        fn wants_reads(self: &Self) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl VictimPolicy {
    /// Continues from the saved state of the same policy, with `blocks`, which were checked. Policies without state and
    /// external policies start fresh.
    ///
    /// # Errors
    /// Names the saved state that is impossible.
    pub(crate) fn restore(&mut self, saved: Self, blocks: &Blocks) -> Result<(), String> {
        match (self, saved) {
            (Self::Fifo(own), Self::Fifo(saved)) => own.restore(saved, |domain| blocks.view(domain)),
            (Self::Random(own), Self::Random(saved)) => own.restore(saved),
            (Self::BestOf(own), Self::BestOf(saved)) => own.restore(saved),
            _ => Ok(()),
        }
    }
}
