//! Shares controlled by the state of the drive: AutoSSD.
//!
//! Source: kim18 (3.3), equation 1: S[t] = P e[t] + I S[t-1]. The error e of GC is the number of free blocks missing to
//! the count at which GC starts (equation 2); that of read scrubbing the page reads of the most-read block beyond the
//! count at which scrubbing starts (equation 3).
//! Faithful: the three equations; a background task starts with a small share, which grows while its error lasts and
//! decays afterwards. Assumed, since the paper does not tell them: P, I and the interval (its authors tuned them by hand
//! for their drive), and the bounds of a share. Errors are parts of their targets, so that one P fits drives of any size:
//! the paper's P, in percent per block or per read, is this one divided by the target.

use super::{by_name, with_host, Shares};
use crate::policy::{About, Build};
use crate::task::{ByTask, Task, Tasks, TASKS};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wordline_base::time::MS;
use wordline_base::Time;

pub(crate) const ABOUT: About = About {
    summary: "shares controlled by free blocks and read counts (AutoSSD)",
    source: "kim18 3.3",
    note: "equations 1 to 3; gains, interval and bounds are not published and chosen here; errors are parts of their targets",
};

/// Options of share control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Time between two steps of the control, in milliseconds, 0.001 to 1,000,000.
    pub interval_ms: f64,
    /// Gain P by background task: the percent that a step adds when all free blocks of the target are missing (gc), or
    /// a block has twice the reads of the target (refresh); 0 or more. A task that is not named has 1.28.
    pub p: BTreeMap<String, f64>,
    /// Decay I by background task: the part of its share that a step keeps, 0 or more and below 1. A task that is not
    /// named has 0.99.
    pub i: BTreeMap<String, f64>,
    /// The smallest share of a background task, with which it starts, in percent, above 0.
    pub least: f64,
    /// The largest share of all background tasks together, in percent, below 100.
    pub most: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { interval_ms: 10.0, p: BTreeMap::new(), i: BTreeMap::new(), least: 5.0, most: 80.0 }
    }
}

/// Gain and decay of a task that is not named: a lasting lack of a tenth of the target leads to a share of 12.8 %, within
/// about a second.
const P: f64 = 1.28;
const I: f64 = 0.99;

/// Controlled shares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Feedback {
    interval: Time,
    tasks: Tasks,
    p: ByTask<f64>,
    i: ByTask<f64>,
    least: f64,
    most: f64,
    /// Of background tasks: as the equation gives them, within the bounds.
    shares: ByTask<f64>,
}

impl Feedback {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { interval_ms, p, i, least, most } = options;
        if !(0.001..=1e6).contains(interval_ms) {
            return Err(ConfigError::new("shares.interval_ms", interval_ms, "must be 0.001 to 1,000,000"));
        }
        let tasks = build.tasks.background().count() as f64;
        if !(*least > 0.0 && least * tasks < 100.0) {
            let problem = format!("must be above 0 and below {}, for {tasks} background tasks", 100.0 / tasks);
            return Err(ConfigError::new("shares.least", least, problem));
        }
        if !(*most >= least * tasks && *most < 100.0) {
            let problem = format!("must be at least {} (shares.least for each task) and below 100", least * tasks);
            return Err(ConfigError::new("shares.most", most, problem));
        }
        let gain = (|gain: f64| gain >= 0.0 && gain.is_finite(), "must be 0 or more");
        let decay = (|decay: f64| (0.0..1.0).contains(&decay), "must be 0 or more and below 1");
        let mut control = Self {
            interval: (interval_ms * MS as f64).round() as Time,
            tasks: build.tasks,
            p: by_name("p", p, build, |_| P, gain)?,
            i: by_name("i", i, build, |_| I, decay)?,
            least: *least,
            most: *most,
            shares: [0.0; TASKS],
        };
        control.control(&[0.0; TASKS]);
        Ok(control)
    }

    /// Goes on with the shares of a drive that was saved.
    pub(super) fn restore(&mut self, saved: &Self) -> Result<(), String> {
        let possible = |share: f64| share == 0.0 || (self.least..=self.most).contains(&share);
        if !saved.shares.iter().all(|&share| possible(share)) || saved.shares.iter().sum::<f64>() > self.most + 1e-6 {
            return Err("the shares of its tasks are impossible".into());
        }
        self.shares = saved.shares;
        Ok(())
    }
}

impl Shares for Feedback {
    fn shares(&self) -> ByTask<f64> {
        with_host(self.shares)
    }

    fn interval(&self) -> Option<Time> {
        Some(self.interval)
    }

    fn control(&mut self, errors: &ByTask<f64>) -> bool {
        let before = self.shares;
        for at in self.tasks.background().map(Task::index) {
            let share = self.p[at] * errors[at] + self.i[at] * self.shares[at];
            self.shares[at] = share.clamp(self.least, self.most);
        }
        // What is beyond the smallest shares is cut in proportion where tasks want too much together.
        let tasks = self.tasks.background().count() as f64;
        let beyond = self.shares.iter().sum::<f64>() - tasks * self.least;
        let room = self.most - tasks * self.least;
        if beyond > room {
            for at in self.tasks.background().map(Task::index) {
                self.shares[at] = self.least + (self.shares[at] - self.least) * room / beyond;
            }
        }
        self.shares != before
    }

    fn is_given(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_flash::{Geometry, GeometryConfig};

    fn control(options: &Options) -> Result<Feedback, ConfigError> {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let tasks = Tasks::BASIC.with(other());
        let build = Build { geometry: &geometry, units_per_program: 1, plane_local: false, domains: 1, blocks_together: 1, tasks, seed: 1 };
        Feedback::new(options, &build)
    }

    /// A background task besides GC.
    fn other() -> Task {
        Tasks::ALL.background().find(|&task| task != Task::GC).unwrap()
    }

    fn errors(gc: f64, others: f64) -> ByTask<f64> {
        let mut errors = [0.0; TASKS];
        (errors[Task::GC.index()], errors[other().index()]) = (gc, others);
        errors
    }

    fn told(control: &Feedback) -> [f64; 3] {
        [Task::HOST, Task::GC, other()].map(|task| control.shares()[task.index()])
    }

    #[test]
    fn shares_follow_equation_1_within_their_bounds() {
        let gains = |gc: f64, others: f64| [("gc".into(), gc), (other().about().name.into(), others)].into();
        let options = Options { p: gains(0.5, 0.001), i: gains(0.5, 0.9), least: 5.0, most: 50.0, ..Options::default() };
        let mut control = control(&options).unwrap();
        assert_eq!(told(&control), [90.0, 5.0, 5.0]);
        assert!(control.control(&errors(20.0, 0.0)));
        // GC: 0.5 x 20 + 0.5 x 5; the other would have 4.5.
        assert_eq!(told(&control), [82.5, 12.5, 5.0]);
        assert!(control.control(&errors(20.0, 10_000.0)));
        // GC: 10 + 6.25; the other: 10 + 4.5.
        assert_eq!(told(&control), [69.25, 16.25, 14.5]);
        assert!(control.control(&errors(0.0, 0.0)));
        assert_eq!(told(&control), [78.825, 8.125, 13.05]);
        // Together they have no more than half: of the 95 and 45 beyond their smallest shares, 40 x 45/90 each.
        assert!(control.control(&errors(1e6, 1e9)));
        assert_eq!(told(&control), [50.0, 25.0, 25.0]);
        for _ in 0..200 {
            control.control(&errors(0.0, 0.0));
        }
        assert_eq!(told(&control), [90.0, 5.0, 5.0]);
        assert!(!control.control(&errors(0.0, 0.0)), "nothing changes at rest");
    }

    #[test]
    fn options_that_cannot_be_used_are_named() {
        let wrong = [
            (Options { interval_ms: 0.0, ..Options::default() }, "shares.interval_ms"),
            (Options { least: 60.0, ..Options::default() }, "shares.least"),
            (Options { most: 5.0, ..Options::default() }, "shares.most"),
            (Options { p: [("wear".into(), 1.0)].into(), ..Options::default() }, "shares.p.wear"),
            (Options { i: [("gc".into(), 1.0)].into(), ..Options::default() }, "shares.i.gc"),
        ];
        for (options, key) in wrong {
            assert_eq!(control(&options).unwrap_err().key, key);
        }
    }
}
