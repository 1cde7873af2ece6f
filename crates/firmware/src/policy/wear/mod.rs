//! Family `wear`: moving of data that stay, so that all blocks wear alike.

use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{upkeep_policies, Erased, Leveling, Occasion, Session, Upkeep, UpkeepView};
use crate::policy::Trouble;

/// Erases of a block in a snapshot are fewer, so that they can be counted on.
pub(crate) const MOST_ERASES: u32 = u32::MAX / 2;

upkeep_policies! {
    family "wear" decides "which blocks are moved because others wear faster (static wear leveling)";
    config WearConfig, policy WearPolicy;
    members {
        /// None.
        "none" => none::None,
        /// The least worn block with data that stay, above a difference in P/E cycles.
        "static" => static_leveling::Static,
        /// Data that stay move into a block that GC has erased and that is worn above the average (chang11).
        "lazy" => lazy::Lazy,
        /// Data leave blocks that were not erased lately, as a bit for each block tells.
        "recency" => recency::Recency,
        /// The most and the least worn block exchange their data.
        "hot-cold" => hot_cold::HotCold,
        /// The most worn block of a pool of hot data takes the data of the least worn one of a pool of cold data.
        "dual-pool" => dual_pool::DualPool,
    }
}

impl WearPolicy {
    /// Takes over the state of the same policy from a snapshot.
    pub(crate) fn restore(&mut self, saved: Self) {
        match (self, saved) {
            (Self::Static(own), Self::Static(saved)) => own.restore(saved),
            (Self::Lazy(own), Self::Lazy(saved)) => own.restore(saved),
            (Self::Recency(own), Self::Recency(saved)) => own.restore(saved),
            (Self::HotCold(own), Self::HotCold(saved)) => own.restore(saved),
            (Self::DualPool(own), Self::DualPool(saved)) => own.restore(saved),
            _ => {}
        }
    }
}
