//! Family `refresh`: moving of data that reads disturb.

use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{upkeep_policies, Erased, Leveling, Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

upkeep_policies! {
    family "refresh" decides "which blocks are moved because reads disturb their data";
    config RefreshConfig, policy RefreshPolicy;
    members {
        /// None.
        "none" => none::None,
        /// The most-read block, above a threshold.
        "scrub" => scrub::Scrub,
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
