//! A step of a die: what its caller brings to it, and what the die says it needs next.

use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// What a die needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To be stepped at this time.
    At(Time),
    /// An answer, at once: [`Package::follow`] or [`Package::finish`] for a command in cache mode; for a die that was suspended,
    /// reads, and [`Package::resume`] after them. `ended` tells that the command before the current one has ended.
    ///
    /// [`Package::follow`]: crate::Package::follow
    /// [`Package::finish`]: crate::Package::finish
    /// [`Package::resume`]: crate::Package::resume
    Ready {
        /// True if the command before the current one has ended.
        ended: bool,
    },
    /// Nothing: its command ended just now, and in cache mode all that came before it.
    Done,
}

/// What a die works on: its commands, or reads beside a suspended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lane {
    /// The command of the die.
    Main,
    /// Suspending, and what is done while the main command is suspended.
    Aside,
}

/// What every step needs besides the package: when, the times, the bus and whoever looks on.
pub struct Around<'a, B, L> {
    /// The time.
    pub now: Time,
    /// The times of the package.
    pub timing: &'a Timing,
    /// Its bus.
    pub bus: &'a mut B,
    /// Who looks on.
    pub log: &'a mut L,
}
