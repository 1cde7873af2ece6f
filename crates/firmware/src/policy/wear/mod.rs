//! Family `wear`: moving of data that stay, so that all blocks wear alike.

use crate::policies;
use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

policies! {
    family "wear" decides "which blocks are moved because others wear faster (static wear leveling)";
    trait Upkeep, config WearConfig, policy WearPolicy;
    members {
        /// None.
        "none" => none::None,
        /// The least worn block with data that stay, above a difference in P/E cycles.
        "static" => static_leveling::Static,
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

impl WearPolicy {
    /// Takes over the state of the same policy from a snapshot.
    pub(crate) fn restore(&mut self, saved: Self) {
        if let (Self::Static(own), Self::Static(saved)) = (self, saved) {
            own.restore(saved);
        }
    }
}
