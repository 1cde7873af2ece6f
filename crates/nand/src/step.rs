//! Interface of a die's step: its input, and the next need of the die.

use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Next need of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call of [`Package::step`](crate::Package::step) at this time.
    At(Time),
    /// A decision at once: [`Package::follow`] or [`Package::finish`] in cache mode; after a suspension, reads and then
    /// [`Package::resume`]. `ended` is true if the previous command has ended.
    ///
    /// [`Package::follow`]: crate::Package::follow
    /// [`Package::finish`]: crate::Package::finish
    /// [`Package::resume`]: crate::Package::resume
    Ready {
        /// True if the previous command has ended.
        ended: bool,
    },
    /// None: its command has just ended, and in cache mode all previous ones.
    Done,
}

/// Execution lane of a die: its commands, or reads beside a suspended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lane {
    /// The commands of the die.
    Main,
    /// The suspension, and reads while the main command is suspended.
    Aside,
}

/// Context of a step: the time, the times of the package, its bus and its log.
pub struct Around<'a, B, L> {
    /// The time.
    pub now: Time,
    /// The times of the package.
    pub timing: &'a Timing,
    /// Its bus.
    pub bus: &'a mut B,
    /// Its log.
    pub log: &'a mut L,
}
