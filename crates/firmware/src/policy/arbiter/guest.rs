//! Guest: an external arbiter.
//!
//! Source: whoever wrote it.
//! Faithful: the operation that it chooses is served, or the run ends with the reason. Simplified: it is not asked about a
//! single operation.

use super::{Arbiter, Waiting};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// The section of a guest.
pub type Options = GuestOptions;

/// An external arbiter.
pub trait GuestArbiter: Tells + std::fmt::Debug + Send {
    /// As [`Arbiter::choose`], of at least two operations.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn choose(&mut self, waiting: &[Waiting]) -> Result<usize, Refusal>;

    /// As [`Arbiter::sees_times`]; asked once.
    fn sees_times(&self) -> bool {
        false
    }

    /// As [`Arbiter::learn`]; told once.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn learn(&mut self, _times: [Time; 3]) -> Result<(), Refusal> {
        Ok(())
    }

    /// As [`Arbiter::choose_in_time`], of at least two operations.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn choose_in_time(&mut self, waiting: &[Waiting], _waited: &[Time]) -> Result<usize, Refusal> {
        self.choose(waiting)
    }

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestArbiter>;
}

impl Clone for Box<dyn GuestArbiter> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external arbiter, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in arbiters stay small. Saved is the name alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct State {
    seat: Seat<Box<dyn GuestArbiter>>,
    #[serde(skip)]
    sees_times: bool,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("arbiter")?.arbiter(&options.options, build);
        let object = object.map_err(|problem| options.error("arbiter", problem))?;
        let sees_times = object.sees_times();
        Ok(Self(Box::new(State { seat: Seat::new(&options.policy, object), sees_times })))
    }

    /// The operation that it chose, if there is such a one.
    fn checked(&mut self, chosen: Option<usize>, waiting: &[Waiting]) -> usize {
        // Without an answer the run ends: what stands in for it decides no result.
        let Some(chosen) = chosen else { return 0 };
        if chosen < waiting.len() {
            return chosen;
        }
        let last = waiting.len() - 1;
        self.0.seat.refuse(format!("it chose operation {chosen}, which does not exist: operations 0 to {last} wait"));
        0
    }
}

impl Arbiter for Guest {
    #[cold]
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let chosen = self.0.seat.ask(|guest| guest.choose(waiting));
        self.checked(chosen, waiting)
    }

    fn sees_times(&self) -> bool {
        self.0.sees_times
    }

    #[cold]
    fn learn(&mut self, times: [Time; 3]) {
        if self.0.sees_times {
            self.0.seat.ask(|guest| guest.learn(times));
        }
    }

    #[cold]
    fn choose_in_time(&mut self, waiting: &[Waiting], waited: &[Time]) -> usize {
        let chosen = self.0.seat.ask(|guest| guest.choose_in_time(waiting, waited));
        self.checked(chosen, waiting)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
