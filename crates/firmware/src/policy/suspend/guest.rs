//! Guest: an external choice of the commands that reads suspend.
//!
//! Source: whoever wrote it.
//! Faithful: a running program or erase is suspended when it says so.

use super::{Running, Suspend};
use crate::policy::{Refusal, Tells, Trouble, seated};

/// An external choice of the commands that reads suspend.
pub trait GuestSuspend: Tells + std::fmt::Debug + Send {
    /// As [`Suspend::suspends`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn suspends(&mut self, running: &Running) -> Result<bool, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestSuspend>;
}

seated!(suspend, GuestSuspend);

impl Suspend for Guest {
    fn interrupts(&self) -> bool {
        true
    }

    fn suspends(&mut self, running: &Running) -> bool {
        // Without an answer the run ends.
        self.0.ask(|guest| guest.suspends(running)).unwrap_or(false)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
