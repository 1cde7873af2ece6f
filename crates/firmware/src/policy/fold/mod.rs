//! Family `fold`: the data of the SLC cache move to blocks with all bits of their cells.

use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{upkeep_policies, Erased, Leveling, Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

upkeep_policies! {
    family "fold" decides "when the data of the SLC cache move to other blocks, and which first";
    config FoldConfig, policy FoldPolicy;
    members {
        /// Only GC takes blocks of the cache.
        "none" => none::None,
        /// The block whose data have stayed longest, while the host rests or the cache is nearly full.
        "coldest" => coldest::Coldest,
    }
}

impl FoldPolicy {
    /// Takes over the state of the same policy from a snapshot.
    pub(crate) fn restore(&mut self, saved: Self) {
        if let (Self::Coldest(own), Self::Coldest(saved)) = (self, saved) {
            own.restore(&saved);
        }
    }
}
