//! Guest: an external policy of deallocations.
//!
//! Source: whoever wrote it.
//! Faithful: the logical pages of a request are unmapped at once if it says so, all of them. Simplified: logical pages covered in part
//! are not part of the request, and the command costs its transfer and no flash operations, as with `invalidate`.

use super::Trim;
use crate::policy::{Refusal, Tells, Trouble, seated};

/// An external policy of deallocations.
pub trait GuestTrim: Tells + std::fmt::Debug + Send {
    /// As [`Trim::invalidates`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn invalidates(&mut self, first: u32, count: u32) -> Result<bool, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestTrim>;
}

seated!(trim, GuestTrim);

impl Trim for Guest {
    fn invalidates(&mut self, first: u32, count: u32) -> bool {
        // Without an answer the run ends.
        self.0.ask(|guest| guest.invalidates(first, count)).unwrap_or(false)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
