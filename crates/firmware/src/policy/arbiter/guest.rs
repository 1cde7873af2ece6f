//! Guest: an external arbiter.
//!
//! Source: whoever wrote it.
//! Faithful: the operation that it chooses is served, or the run ends with the reason. Simplified: it is not asked about a
//! single operation.

use super::{Arbiter, Waiting};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external arbiter.
pub trait GuestArbiter: std::fmt::Debug + Send {
    /// As [`Arbiter::choose`], of at least two operations.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn choose(&mut self, waiting: &[Waiting]) -> Result<usize, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestArbiter>;
}

impl Clone for Box<dyn GuestArbiter> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external arbiter, and its trouble, in a box: built-in ones stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<Seat<Box<dyn GuestArbiter>>>);

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("arbiter")?.arbiter(&options.options, build);
        let object = object.map_err(|problem| options.error("arbiter", problem))?;
        Ok(Self(Box::new(Seat::new(&options.policy, object))))
    }
}

impl Arbiter for Guest {
    #[cold]
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        // Without an answer the run ends: what stands in for it decides no result.
        let Some(chosen) = self.0.ask(|guest| guest.choose(waiting)) else { return 0 };
        if chosen < waiting.len() {
            return chosen;
        }
        let last = waiting.len() - 1;
        self.0.refuse(format!("it chose operation {chosen}, which does not exist: operations 0 to {last} wait"));
        0
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
