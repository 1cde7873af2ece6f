//! Guest: an external model of the firmware's computing time.
//!
//! Source: whoever wrote it.
//! Faithful: each piece of work takes the time that it says. What has a processor of its own is that of `uniform`.

use super::{Processor, Work};
use crate::policy::{Refusal, Tells, Trouble, seated};
use wordline_base::Time;

/// An external model of computing time.
pub trait GuestProcessor: Tells + std::fmt::Debug + Send {
    /// As [`Processor::time`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn time(&mut self, work: Work) -> Result<Time, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestProcessor>;
}

seated!(processor, GuestProcessor);

impl Processor for Guest {
    fn takes_time(&self) -> bool {
        true
    }

    fn time(&mut self, work: Work) -> Time {
        // Without an answer the run ends.
        self.0.ask(|guest| guest.time(work)).unwrap_or(0)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
