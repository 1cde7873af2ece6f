//! Family `refresh`: moving of data that reads disturb.

use crate::policies;
use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

policies! {
    family "refresh" decides "which blocks are moved because reads disturb their data";
    trait Upkeep, config RefreshConfig, policy RefreshPolicy;
    members {
        /// None.
        "none" => none::None,
        /// The most-read block, above a threshold.
        "scrub" => scrub::Scrub,
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

impl RefreshPolicy {
    /// Takes over the state of the same policy from a snapshot.
    pub(crate) fn restore(&mut self, saved: Self) {
        if let (Self::Scrub(own), Self::Scrub(saved)) = (self, saved) {
            own.restore(&saved);
        }
    }
}
