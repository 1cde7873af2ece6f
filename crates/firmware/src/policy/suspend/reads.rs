//! Host reads interrupt programs and erases.
//!
//! Source: Wu and He, "Reducing SSD Read Latency via NAND Flash Program and Erase Suspension", FAST 2012; the suspend
//! commands of Micron's data sheets.
//! Faithful: a waiting read suspends the program or erase at its die; all ready host reads run, then the command
//! resumes; it stays suspended as long as more reads arrive. Simplified: only commands in their array phase are
//! suspended, not those in cache mode or on the bus; the array loses the times nand.suspend_us and nand.resume_us and
//! none of its work.

use super::{Running, Suspend};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Time};

pub(crate) const ABOUT: About = About {
    summary: "a waiting host read suspends the program or erase at its die; it resumes after all host reads that are \
        ready",
    source: "Wu and He, FAST 2012; suspend commands of Micron's data sheets",
    note: "commands in cache mode and copybacks are not suspended; suspension costs array time but repeats no work",
};

/// Options of read suspension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Suspend programs.
    pub programs: bool,
    /// Suspend erases.
    pub erases: bool,
    /// Maximum suspensions of one command, 1 to 65,535.
    pub most: u32,
    /// Minimum remaining time of a command to suspend it, in microseconds, 0 to 1,000,000.
    pub least_left_us: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { programs: true, erases: true, most: 4, least_left_us: 100.0 }
    }
}

/// Read suspension.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reads {
    programs: bool,
    erases: bool,
    most: u32,
    least_left: Time,
}

impl Reads {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        if !options.programs && !options.erases {
            let problem = "disables both programs and erases: allow one of them, or write suspend.policy = \"none\"";
            return Err(ConfigError::new("suspend.programs", false, problem));
        }
        if !(1..=65_535).contains(&options.most) {
            return Err(ConfigError::new("suspend.most", options.most, "must lie between 1 and 65535"));
        }
        if !(0.0..=1e6).contains(&options.least_left_us) {
            let problem = "must lie between 0 and 1,000,000";
            return Err(ConfigError::new("suspend.least_left_us", options.least_left_us, problem));
        }
        Ok(Self {
            programs: options.programs,
            erases: options.erases,
            most: options.most,
            least_left: ps_from_us(options.least_left_us),
        })
    }
}

impl Suspend for Reads {
    #[inline]
    fn interrupts(&self) -> bool {
        true
    }

    fn suspends(&mut self, running: &Running) -> bool {
        let allowed = if running.erase { self.erases } else { self.programs };
        allowed && running.suspensions < self.most && running.left >= self.least_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_soon_or_was_stopped_often_is_left_alone() {
        let mut reads = Reads { programs: false, erases: true, most: 2, least_left: 100 };
        let erase = Running { erase: true, left: 100, suspensions: 1 };
        assert!(reads.suspends(&erase));
        assert!(!reads.suspends(&Running { left: 99, ..erase }));
        assert!(!reads.suspends(&Running { suspensions: 2, ..erase }));
        assert!(!reads.suspends(&Running { erase: false, ..erase }));
    }
}
