//! Family `shares`: how much of the dies' time each task may take, for the dispatch policies that take shares.
//!
//! Shares are in percent of the drive. Those of background tasks are given or controlled; the host has the rest.

use crate::policies;
use crate::policy::{Build, Trouble};
use crate::task::{ByTask, Task, TASKS};
use crate::ConfigError;
use std::collections::BTreeMap;
use wordline_base::Time;

/// Gives tasks their shares.
pub trait Shares {
    /// The shares now, in percent.
    fn shares(&self) -> ByTask<f64>;
    /// Time between two looks at the state of the drive, in picoseconds; none if shares stay as they are.
    fn interval(&self) -> Option<Time> {
        None
    }
    /// Looks at how far the state that each task keeps is from its target, as a part of the target; true if a share
    /// changed.
    fn control(&mut self, _errors: &ByTask<f64>) -> bool {
        false
    }
    /// True if the drive file gives or controls shares, which only some dispatch policies take.
    fn is_given(&self) -> bool;
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "shares" decides "how much of the dies' time each task may take";
    trait Shares, config SharesConfig, policy SharesPolicy;
    members {
        /// Shares that stay as they are.
        "fixed" => fixed::Fixed,
        /// Shares controlled by free blocks and read counts.
        "feedback" => feedback::Feedback,
    }
    guest guest::Guest;
    methods {
        fn shares(self: &Self) -> ByTask<f64>;
        fn interval(self: &Self) -> Option<Time>;
        fn control(self: &mut Self, errors: &ByTask<f64>) -> bool;
        fn is_given(self: &Self) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

/// Figures that are given by name of a background task, the usual one for those that are not named.
///
/// # Errors
/// Names a task that the drive does not have, or a figure that does not fit.
fn by_name(
    key: &str,
    given: &BTreeMap<String, f64>,
    build: &Build<'_>,
    usual: impl Fn(Task) -> f64,
    (fits, rule): (impl Fn(f64) -> bool, &str),
) -> Result<ByTask<f64>, ConfigError> {
    let mut figures = [0.0; TASKS];
    build.tasks.background().for_each(|task| figures[task.index()] = usual(task));
    for (name, &figure) in given {
        let key = format!("shares.{key}.{name}");
        let Some(task) = build.tasks.background().find(|task| task.about().name == name) else {
            let names: Vec<&str> = build.tasks.background().map(|task| task.about().name).collect();
            let problem = format!("the drive has no such background task; it has: {}", names.join(", "));
            return Err(ConfigError::new(key, figure, problem));
        };
        if !fits(figure) {
            return Err(ConfigError::new(key, figure, rule));
        }
        figures[task.index()] = figure;
    }
    Ok(figures)
}

/// Shares of background tasks with that of the host, which is the rest.
fn with_host(mut shares: ByTask<f64>) -> ByTask<f64> {
    let host = Task::HOST.index();
    shares[host] = 0.0;
    shares[host] = 100.0 - shares.iter().sum::<f64>();
    shares
}

impl SharesPolicy {
    /// Continues from the saved state of the same policy.
    ///
    /// # Errors
    /// Says what state is impossible.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), String> {
        match (self, saved) {
            (Self::Feedback(own), Self::Feedback(saved)) => own.restore(&saved),
            _ => Ok(()),
        }
    }
}
