//! Family `suspend`: read suspension of programs and erases.

use crate::policies;
use crate::policy::Trouble;
use wordline_base::Time;

/// A running program or erase of a die for which a host read waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// True for an erase.
    pub erase: bool,
    /// Remaining time, in picoseconds.
    pub left: Time,
    /// Number of earlier suspensions.
    pub suspensions: u32,
}

/// Decides on read suspension of programs and erases.
pub trait Suspend {
    /// True if any command may be suspended.
    fn interrupts(&self) -> bool;
    /// True if the command is suspended for the waiting reads.
    fn suspends(&mut self, running: &Running) -> bool;
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "suspend" decides "when a host read suspends a program or an erase";
    trait Suspend, config SuspendConfig, policy SuspendPolicy;
    members {
        /// No suspension.
        "none" => none::None,
        /// Host reads interrupt programs and erases.
        "reads" => reads::Reads,
    }
    guest guest::Guest;
    methods {
        fn interrupts(self: &Self) -> bool;
        fn suspends(self: &mut Self, running: &Running) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
