//! Family `suspend`: whether a read may interrupt a program or an erase.

use crate::policies;
use wordline_base::Time;

/// A program or erase at work in the cells of a die for which a host read waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Whether it is an erase.
    pub erase: bool,
    /// How long it would still run, in picoseconds.
    pub left: Time,
    /// How often it was suspended before.
    pub suspensions: u32,
}

/// Decides whether a read may interrupt a program or an erase.
pub trait Suspend {
    /// Whether anything is ever interrupted.
    fn interrupts(&self) -> bool;
    /// Whether the command is suspended for the reads that wait.
    fn suspends(&self, running: &Running) -> bool;
}

policies! {
    family "suspend" decides "whether a read may interrupt a program or an erase";
    trait Suspend, config SuspendConfig, policy SuspendPolicy;
    members {
        /// What runs ends.
        "none" => none::None,
        /// Host reads interrupt programs and erases.
        "reads" => reads::Reads,
    }
    methods {
        fn interrupts(self: &Self) -> bool;
        fn suspends(self: &Self, running: &Running) -> bool;
    }
}
