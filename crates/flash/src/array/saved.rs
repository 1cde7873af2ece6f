//! Flash that was saved, or that another drive had.

use super::Flash;
use wordline_base::Time;
use wordline_nand::chain;

impl Flash {
    /// Takes over what the cells of another drive of the same geometry hold.
    pub fn adopt_cells(&mut self, other: &Flash) {
        for (mine, theirs) in self.packages.iter_mut().zip(&other.packages) {
            mine.adopt_cells(theirs);
        }
    }

    /// True if the cells of flash that was saved could be those of flash like this.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn check_saved(&self, like: &Flash) -> Result<(), String> {
        let shape = |flash: &Self| {
            let divisors = (flash.dies_per_package, flash.packages_per_channel, flash.dies_per_channel);
            (flash.geometry, flash.dies, flash.packages.len(), divisors)
        };
        if shape(self) != shape(like) {
            return Err("the flash has another geometry".into());
        }
        self.packages.iter().zip(&like.packages).try_for_each(|(package, like)| package.check_saved(like))
    }

    /// Goes on where flash of the same configuration was saved, at `now` and at rest. [`Flash::check_saved`] comes before.
    ///
    /// # Errors
    /// Says what cannot have been.
    pub fn restore(&mut self, saved: Flash, now: Time) -> Result<(), String> {
        if saved.channels.len() != self.channels.len() || saved.passed.len() != self.passed.len() {
            return Err("the flash has another number of channels or dies".into());
        }
        for (bus, was) in self.channels.iter_mut().zip(&saved.channels) {
            if was.free_at.max(was.busy) > now {
                return Err(format!("a bus was in use after the {now} ps that the drive has lived"));
            }
            (bus.free_at, bus.busy) = (was.free_at, was.busy);
        }
        if saved.passed.iter().any(|&time| time > now) {
            return Err("data waited for the bus longer than the drive has lived".into());
        }
        self.passed = saved.passed;
        for (package, was) in self.packages.iter_mut().zip(saved.packages) {
            package.restore(was, now)?;
            for die in 0..package.geometry().dies {
                let bus = package.times(die).bus;
                let least = |segment: chain::Segment| {
                    let fixed = self.timing.fixed(segment);
                    bus[segment as usize].count.checked_mul(fixed.command + fixed.address + fixed.wait)
                };
                if chain::ALL.iter().any(|&at| least(at).is_none_or(|least| least > bus[at as usize].time)) {
                    return Err("a die was on the bus for less time than its commands take".into());
                }
            }
        }
        Ok(())
    }
}
