//! Policies in Python of the families that decide about time: shares, suspension, computing.

use super::{odd, truth, Seated};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::fmt;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{ByTask, GuestProcessor, GuestShares, GuestSuspend, Refusal, Running, Task, Tasks, Work};

/// The longest computing time that a policy may give, and the longest interval, in microseconds.
const LONGEST_US: f64 = 1e9;

/// A number of Python that is no truth value.
pub(super) fn number(answer: &Bound<'_, PyAny>) -> Option<f64> {
    if answer.is_instance_of::<PyBool>() {
        return None;
    }
    answer.extract::<f64>().ok().filter(|number| number.is_finite())
}

/// A control of shares.
pub(super) struct Controller {
    pub(super) seated: Seated,
    interval: Time,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("seated", &self.seated).finish_non_exhaustive()
    }
}

impl Controller {
    /// With the interval that its attribute `interval_ms` names.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        const WANTED: &str = "a number of milliseconds from 0.001 to 1e6";
        let answer = seated.object.bind(py).getattr("interval_ms")?;
        let Some(ms) = number(&answer).filter(|ms| (0.001..=1e6).contains(ms)) else {
            return Ok(Err(format!("its 'interval_ms' is of no use: {}", odd(&answer, WANTED))));
        };
        Ok(Ok(Self { seated, interval: ps_from_us(ms * 1e3) }))
    }
}

/// The shares that an answer gives to tasks of the drive.
fn shares_of(answer: &Bound<'_, PyAny>, tasks: Tasks) -> Result<ByTask<Option<f64>>, String> {
    let names: Vec<&str> = tasks.background().map(|task| task.about().name).collect();
    let wanted = format!("a dict of shares in percent, by task: {}", names.join(", "));
    let Ok(given) = answer.cast::<PyDict>() else { return Err(odd(answer, &wanted)) };
    let mut shares = ByTask::default();
    for (name, share) in given.iter() {
        let named = name.extract::<String>().ok();
        let task = named.and_then(|name| tasks.background().find(|task| task.about().name == name));
        match (task, number(&share)) {
            (Some(task), Some(share)) => shares[task.index()] = Some(share),
            _ => return Err(odd(answer, &wanted)),
        }
    }
    Ok(shares)
}

impl GuestShares for Controller {
    fn interval(&self) -> Time {
        self.interval
    }

    fn control(&mut self, tasks: Tasks, errors: &ByTask<f64>) -> Result<ByTask<Option<f64>>, Refusal> {
        let answer = self.seated.ask(|py| {
            let told = PyDict::new(py);
            for task in tasks.background() {
                told.set_item(task.about().name, errors[task.index()])?;
            }
            let answer = self.seated.decide.bind(py).call1((told,))?;
            Ok(shares_of(&answer, tasks))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestShares> {
        Box::new(Self { seated: self.seated.copy(), interval: self.interval })
    }
}

impl GuestSuspend for Seated {
    fn suspends(&mut self, running: &Running) -> Result<bool, Refusal> {
        let answer = self.ask(|py| {
            let told = (running.erase, running.left as f64 / 1e6, running.suspensions);
            let answer = self.decide.bind(py).call1(told)?;
            truth(&answer)
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestSuspend> {
        Box::new(self.copy())
    }
}

impl GuestProcessor for Seated {
    fn time(&mut self, work: Work) -> Result<Time, Refusal> {
        const WANTED: &str = "a number of microseconds from 0 to 1e9";
        let (what, task) = match work {
            Work::LookUp => ("look-up", Task::HOST),
            Work::Generate(task) => ("generate", task),
        };
        let answer = self.ask(|py| {
            let answer = self.decide.bind(py).call1((what, task.about().name))?;
            let us = number(&answer).filter(|us| (0.0..=LONGEST_US).contains(us));
            Ok(us.map(ps_from_us).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestProcessor> {
        Box::new(self.copy())
    }
}
