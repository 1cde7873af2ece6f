//! Guest: an external dispatch policy.
//!
//! Source: whoever wrote it.
//! Faithful: the operation that it chooses goes to its die, or the run ends with the reason: the operation must have a die with
//! room. Simplified: requests are served in the order of arrival, as many as the queues hold.

use super::{DepthOptions, Dispatch, Sight, StageView};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Trouble};
use crate::task::{ByTask, TASKS};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external dispatch policy.
pub trait GuestDispatch: std::fmt::Debug + Send {
    /// True if it has to see the oldest operation of each queue, not only of those that a die may have room for; asked once.
    fn sees_all(&self) -> bool;

    /// As [`Dispatch::takes_shares`]; asked once.
    fn takes_shares(&self) -> bool;

    /// As [`Dispatch::next`], with the shares of tasks, in percent.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn next(&mut self, view: &StageView<'_>, shares: &ByTask<f64>) -> Result<Option<usize>, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestDispatch>;
}

impl Clone for Box<dyn GuestDispatch> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}


/// An external dispatch policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    seat: Seat<Box<dyn GuestDispatch>>,
    depth: u32,
    sees_all: bool,
    takes_shares: bool,
    shares: ByTask<f64>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let depth = match options.options.get("depth") {
            None => DepthOptions::default(),
            Some(given) => match given.as_u64().and_then(|depth| u32::try_from(depth).ok()) {
                Some(depth) => DepthOptions { depth },
                None => return Err(ConfigError::new("dispatch.depth", given, "must be 1 to 65,535")),
            },
        };
        let depth = depth.checked()?;
        let object = options.maker("dispatch")?.dispatch(&options.options, build);
        let object = object.map_err(|problem| options.error("dispatch", problem))?;
        let (sees_all, takes_shares) = (object.sees_all(), object.takes_shares());
        let seat = Seat::new(&options.policy, object);
        Ok(Self(Box::new(State { seat, depth, sees_all, takes_shares, shares: [0.0; TASKS] })))
    }
}

impl Dispatch for Guest {
    fn depth(&self) -> Option<u32> {
        Some(self.0.depth)
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let State { seat, shares, .. } = &mut *self.0;
        let Some(chosen) = seat.ask(|guest| guest.next(view, shares))? else {
            let ready = view.staged.iter().filter(|staged| staged.die.is_some()).count();
            if ready > 0 {
                self.0.seat.hinder(format!("it sent none of the {ready} operations whose dies have room for them"));
            }
            return None;
        };
        let problem = match view.staged.get(chosen) {
            None => format!("does not exist: operations 0 to {} are staged", view.staged.len() - 1),
            Some(staged) if staged.die.is_none() => "has no die with room for it".to_owned(),
            Some(_) => {
                self.0.seat.forgive();
                return Some(chosen);
            }
        };
        self.0.seat.refuse(format!("it chose operation {chosen}, which {problem}"));
        None
    }

    fn sees(&self) -> Sight {
        if self.0.sees_all {
            Sight::All
        } else {
            Sight::Open
        }
    }

    fn takes_shares(&self) -> bool {
        self.0.takes_shares
    }

    fn share(&mut self, shares: &ByTask<f64>) {
        self.0.shares = *shares;
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
