//! The external policies that the sections name.

use super::FirmwareConfig;
use crate::policy::{GuestOptions, Guests};

impl FirmwareConfig {
    /// The sections that name an external policy.
    fn guests_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut GuestOptions)> {
        let named = [
            ("mapping", self.mapping.guest_mut()),
            ("placement", self.placement.guest_mut()),
            ("victim", self.victim.guest_mut()),
            ("collect", self.collect.guest_mut()),
            ("free_block", self.free_block.guest_mut()),
            ("pack", self.pack.guest_mut()),
            ("dispatch", self.dispatch.guest_mut()),
            ("shares", self.shares.guest_mut()),
            ("arbiter", self.arbiter.guest_mut()),
            ("suspend", self.suspend.guest_mut()),
            ("trim", self.trim.guest_mut()),
            ("redundancy", self.redundancy.guest_mut()),
            ("slc", self.slc.guest_mut()),
            ("processor", self.processor.guest_mut()),
        ];
        let named = named.into_iter().filter_map(|(family, section)| Some((family, section?)));
        named.chain(self.upkeep.guests_mut())
    }

    /// Looks up the external policies that the sections name.
    pub fn seat(&mut self, guests: &Guests) {
        self.guests_mut().for_each(|(family, section)| section.seat(family, guests));
    }

    /// True if an external policy is named.
    #[must_use]
    pub fn has_guests(&self) -> bool {
        // A copy serves: this is asked when a drive is made.
        self.clone().guests_mut().next().is_some()
    }

    /// True if an external policy may be asked during a run. A size without limits (`fixed_size`), or a pattern of planes (`fixed_places`),
    /// was told before.
    pub(crate) fn asks_guests(&self, fixed_places: bool, fixed_size: bool) -> bool {
        let was_told = |family| (family == "slc" && fixed_size) || (family == "placement" && fixed_places);
        self.clone().guests_mut().any(|(family, _)| !was_told(family))
    }
}
