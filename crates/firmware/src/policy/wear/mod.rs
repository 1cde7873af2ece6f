//! Family `wear`: moving of data that stay, so that all blocks wear alike.

use crate::policy::upkeep::guest::{Family, Mover};
use crate::policy::upkeep::{upkeep_policies, Occasion, Upkeep, UpkeepView};
use crate::policy::Trouble;

upkeep_policies! {
    family "wear" decides "which blocks are moved because others wear faster (static wear leveling)";
    config WearConfig, policy WearPolicy;
    members {
        /// None.
        "none" => none::None,
        /// The least worn block with data that stay, above a difference in P/E cycles.
        "static" => static_leveling::Static,
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
