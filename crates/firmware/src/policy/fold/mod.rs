//! Family `fold`: the data of the SLC cache move to blocks with all bits of their cells.

use crate::policies;
use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

policies! {
    family "fold" decides "when the data of the SLC cache move to other blocks, and which first";
    trait Upkeep, config FoldConfig, policy FoldPolicy;
    members {
        /// Only GC takes blocks of the cache.
        "none" => none::None,
        /// The block whose data have stayed longest, while the host rests or the cache is nearly full.
        "coldest" => coldest::Coldest,
    }
    guest guest::Guest;
    methods {
        fn occasion(self: &Self) -> Occasion;
        fn error(self: &Self, view: &UpkeepView<'_>) -> f64;
        fn next(self: &mut Self, view: &UpkeepView<'_>) -> Option<u32>;
        fn window(self: &Self) -> u32;
        fn most(self: &Self) -> u32;
        fn opens_worn(self: &Self) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
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
