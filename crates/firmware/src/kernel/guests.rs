//! External policies: figures of their own, and the one that times transfers of the host interface.

use super::{Fault, Kernel, Reason};
use crate::policy::guest::failed;
use crate::policy::{Carrier, CarryView, Telling};
use serde_json::{Map, Value};
use wordline_base::Time;

impl Kernel {
    /// External policies that are asked during a run, each with its family.
    fn seats_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut dyn Telling)> {
        let all = [
            ("mapping", self.mapping.guest_mut().map(|guest| guest.seat_mut())),
            ("placement", self.placement.guest_mut().map(|guest| guest.seat_mut())),
            ("victim", self.victim.guest_mut().map(|guest| guest.seat_mut())),
            ("collect", self.collect.guest_mut().map(|guest| guest.seat_mut())),
            ("free_block", self.free_block.guest_mut().map(|guest| guest.seat_mut())),
            ("pack", self.pack.guest_mut().map(|guest| guest.seat_mut())),
            ("dispatch", self.dispatch.guest_mut().map(|guest| guest.seat_mut())),
            ("shares", self.shares.guest_mut().map(|guest| guest.seat_mut())),
            ("arbiter", self.arbiter.guest_mut().map(|guest| guest.seat_mut())),
            ("suspend", self.suspend.guest_mut().map(|guest| guest.seat_mut())),
            ("trim", self.trim.guest_mut().map(|guest| guest.seat_mut())),
            ("redundancy", self.redundancy.guest_mut().map(|guest| guest.seat_mut())),
            ("slc", self.slc.as_mut().and_then(|slc| slc.guest_mut()).map(|guest| guest.seat_mut())),
            ("processor", self.processor.guest_mut().map(|guest| guest.seat_mut())),
            ("buffer", self.shelf.as_mut().map(|shelf| shelf.policy.seat_mut())),
            ("link", self.carrier.as_mut().map(|carrier| carrier.seat_mut())),
        ];
        let named = all.into_iter().filter_map(|(family, seat)| Some((family, seat?)));
        named.chain(self.upkeep.seats_mut())
    }

    /// Lets an external policy say how long transfers of the host interface take.
    pub fn carry_with(&mut self, policy: Carrier) {
        self.carrier = Some(Box::new(policy));
    }

    /// How long a transfer takes, by the external policy, if one says so. If it fails, the run ends with the next step.
    #[cold]
    pub fn time_to_carry(&mut self, view: &CarryView) -> Time {
        let Some(carrier) = &mut self.carrier else { return view.usual };
        let time = carrier.time(view);
        if failed(carrier.trouble()) {
            self.now = self.now.max(view.now);
            self.heed(true);
        }
        time
    }

    /// Tells external policies that measuring starts. If one fails, the run ends with the next step.
    pub(super) fn tell_of_measuring(&mut self) {
        let now = self.now;
        let told = self.seats_mut().find_map(|(family, seat)| Some((family, seat.begin_measuring().err()?)));
        if let Some((family, trouble)) = told {
            self.fault.get_or_insert(Reason::Policy { time: now, family, trouble }.into());
        }
    }

    /// The figures that external policies tell of themselves, by family; those that tell none are left out.
    ///
    /// # Errors
    /// A policy failed to tell them, or the user ended the run meanwhile.
    pub fn figures_of_guests(&mut self) -> Result<Map<String, Value>, Fault> {
        let mut all = Map::new();
        let now = self.now;
        for (family, seat) in self.seats_mut() {
            let figures = seat.figures().map_err(|trouble| Reason::Policy { time: now, family, trouble })?;
            if !figures.is_empty() {
                all.insert(family.to_owned(), Value::Object(figures));
            }
        }
        Ok(all)
    }
}
