//! A drive from a snapshot.

use super::Drive;
use wordline_base::time::END_OF_TIME;
use wordline_firmware::{ConfigError, Map};

/// Why a drive that was saved cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// It is of another shape than the drive that is to take its state over.
    Misfit(ConfigError),
    /// It holds what no drive can come to.
    Unsound(String),
}

impl Drive {
    /// Takes over data, maps and wear of a drive that was saved, as [`Drive::adopt`] does, once they are checked.
    pub(crate) fn adopt_saved(&mut self, saved: Drive) -> Result<(), Unusable> {
        self.kernel.keeps_planes(&saved.kernel).map_err(Unusable::Misfit)?;
        self.check_saved(&saved)?;
        self.kernel.adopt_last(saved.kernel).map_err(Unusable::Misfit)
    }

    /// Goes on where a drive of the same configuration was saved, at rest. Of that drive it takes only what changes while a drive
    /// lives, and only once it is checked.
    pub(crate) fn restore(&mut self, saved: Drive) -> Result<(), Unusable> {
        self.check_saved(&saved)?;
        let unsound = |problem: &str| Err(Unusable::Unsound(problem.into()));
        let Drive { now, wires, free_slots, kernel, .. } = saved;
        if now > END_OF_TIME || wires.iter().any(|wire| wire.free_at.max(wire.busy) > now) {
            return unsound("the host interface was in use after the drive became idle");
        }
        // Each queue has all its slots; their order tells which is taken next.
        let all = |free: &Vec<u32>| {
            let mut slots = free.clone();
            slots.sort_unstable();
            slots
        };
        if !free_slots.iter().map(all).eq(self.free_slots.iter().map(all)) {
            return unsound("a queue lacks slots, or has slots of another queue");
        }
        self.kernel.restore(kernel, now).map_err(Unusable::Unsound)?;
        (self.now, self.wires, self.free_slots) = (now, wires, free_slots);
        Ok(())
    }

    /// An empty map for a drive that was saved, if this drive can take it over; see [`Kernel::map_for`].
    pub(crate) fn map_for(&self, saved: &Drive) -> Result<Map, Unusable> {
        self.kernel.fits(&saved.kernel).map_err(Unusable::Misfit)?;
        Ok(self.kernel.map_for(&saved.kernel))
    }

    fn check_saved(&self, saved: &Drive) -> Result<(), Unusable> {
        saved.kernel.check_saved(&self.kernel).map_err(Unusable::Unsound)
    }
}
