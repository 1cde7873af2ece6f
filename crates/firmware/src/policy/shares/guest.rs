//! Guest: an external control of shares.
//!
//! Source: whoever wrote it.
//! Faithful: background tasks have the shares that it gives, as they are; the host has the rest. A task that an answer leaves out
//! keeps its share, at first 10 %.

use super::{with_host, Shares};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::task::{ByTask, Task, Tasks, TASKS};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// The section of a guest.
pub type Options = GuestOptions;

/// Share of a background task before it has another, in percent.
const FIRST: f64 = 10.0;

/// An external control of shares.
pub trait GuestShares: Tells + std::fmt::Debug + Send {
    /// Time between two calls, in picoseconds; above 0.
    fn interval(&self) -> Time;

    /// Shares in percent, by background task, from how far the state that each keeps is from its target, as a part of the target; none
    /// for a task that keeps its share. Also called once when the drive is built, at the target.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn control(&mut self, tasks: Tasks, errors: &ByTask<f64>) -> Result<ByTask<Option<f64>>, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestShares>;
}

impl Clone for Box<dyn GuestShares> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external control of shares, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    seat: Seat<Box<dyn GuestShares>>,
    interval: Time,
    tasks: Tasks,
    /// Of background tasks.
    shares: ByTask<f64>,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("shares")?.shares(&options.options, build);
        let object = object.map_err(|problem| options.error("shares", problem))?;
        let mut shares = [0.0; TASKS];
        build.tasks.background().for_each(|task| shares[task.index()] = FIRST);
        let interval = object.interval();
        let mut guest = Self { seat: Seat::new(&options.policy, object), interval, tasks: build.tasks, shares };
        guest.control(&[0.0; TASKS]);
        Ok(guest)
    }

    /// What makes shares unusable, if anything.
    fn problem(&self, shares: &ByTask<f64>) -> Option<String> {
        let wrong = |task: &Task| !(shares[task.index()] > 0.0 && shares[task.index()] < 100.0);
        if let Some(task) = self.tasks.background().find(wrong) {
            let (name, share) = (task.about().name, shares[task.index()]);
            return Some(format!("it gave {name} a share of {share} %; it must be above 0 and below 100"));
        }
        let all: f64 = shares.iter().sum();
        (all >= 100.0).then(|| format!("it left nothing for the host: background tasks have {all} % together"))
    }
}

impl Shares for Guest {
    fn shares(&self) -> ByTask<f64> {
        with_host(self.shares)
    }

    fn interval(&self) -> Option<Time> {
        Some(self.interval)
    }

    fn control(&mut self, errors: &ByTask<f64>) -> bool {
        let tasks = self.tasks;
        // Without an answer the run ends: shares stay as they are until then.
        let Some(answer) = self.seat.ask(|guest| guest.control(tasks, errors)) else { return false };
        let mut shares = self.shares;
        for task in tasks.background() {
            shares[task.index()] = answer[task.index()].unwrap_or(shares[task.index()]);
        }
        if let Some(problem) = self.problem(&shares) {
            self.seat.refuse(problem);
            return false;
        }
        let moves = shares != self.shares;
        self.shares = shares;
        moves
    }

    fn is_given(&self) -> bool {
        true
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
