//! Policies in Python that decide when to collect, in what steps, and where moved data go.

use super::dies::us;
use super::figures::schedule;
use super::{odd, truth, whole, Seated};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use std::fmt;
use wordline_base::Time;
use wordline_drive::guests::{
    CandidateView, GuestCollect, IdleView, IdleWork, MoveView, Refusal, Rule, SpaceView, StepView, Target,
};

/// A collect policy.
pub(super) struct Collector {
    pub(super) seated: Seated,
    /// The rest of the host after which it is asked, if it waits for one.
    rest: Option<Time>,
    /// Asked about each block that was chosen, if the policy has it.
    takes: Option<Py<PyAny>>,
    /// Which merges of log blocks leave busy periods.
    schedule: Option<Rule>,
    /// Asked what to merge in an idle period, if the policy has it.
    idle_work: Option<Py<PyAny>>,
    /// Asked before each step of a victim block, if the policy has it.
    step: Option<Py<PyAny>>,
    /// Asked where each moved logical page is to be written, if the policy has it.
    place: Option<Py<PyAny>>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("seated", &self.seated).finish_non_exhaustive()
    }
}

impl Collector {
    /// With the schedule that its method gives, if it has one.
    pub(super) fn new(py: Python<'_>, seated: Seated, rest: Option<Time>) -> PyResult<Result<Self, String>> {
        let schedule = match schedule(&seated.object.bind(py).getattr("schedule")?)? {
            Ok(schedule) => schedule,
            Err(problem) => return Ok(Err(problem)),
        };
        let method = |name: &str| seated.method(py, name);
        let (takes, idle_work) = (method("takes")?, method("idle_work")?);
        let (step, place) = (method("step")?, method("place")?);
        Ok(Ok(Self { seated, rest, takes, schedule, idle_work, step, place }))
    }
}

impl GuestCollect for Collector {
    fn wants(&mut self, view: &SpaceView) -> Result<bool, Refusal> {
        let decide = &self.seated.decide;
        let told = (view.domain, view.free, view.running, view.rested);
        let answer = self.seated.ask(|py| truth(&decide.bind(py).call1(told)?))?;
        Ok(answer?)
    }

    fn rest(&self) -> Option<Time> {
        self.rest
    }

    fn weighs(&self) -> bool {
        self.takes.is_some()
    }

    fn takes(&mut self, view: &CandidateView) -> Result<bool, Refusal> {
        let Some(takes) = &self.takes else { return Ok(true) };
        let answer = self.seated.ask(|py| {
            let told = (view.domain, view.free, view.rested, view.until_next.map(us), us(view.time));
            truth(&takes.bind(py).call1(told)?)
        })?;
        Ok(answer?)
    }

    fn schedule(&self) -> Option<Rule> {
        self.schedule
    }

    fn idle_work(&mut self, view: &IdleView) -> Result<IdleWork, Refusal> {
        const WANTED: &str = "\"retroactive\", \"look-ahead\", \"proactive\", or None";
        let Some(idle_work) = &self.idle_work else { return Ok(IdleWork::Nothing) };
        let answer = self.seated.ask(|py| {
            let (period, left, needed) = (view.period.map(us), view.left.map(us), view.needed.map(us));
            let told = (view.domain, view.free, view.rested, period, left, view.has_delayed, needed, view.has_full);
            let answer = idle_work.bind(py).call1(told)?;
            let work = match answer.extract::<Option<PyBackedStr>>().ok() {
                Some(None) => Some(IdleWork::Nothing),
                Some(Some(name)) => match &*name {
                    "retroactive" => Some(IdleWork::Retroactive),
                    "look-ahead" => Some(IdleWork::LookAhead),
                    "proactive" => Some(IdleWork::Proactive),
                    _ => None,
                },
                None => None,
            };
            Ok(work.ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn steps(&self) -> bool {
        self.step.is_some()
    }

    fn step(&mut self, view: &StepView) -> Result<bool, Refusal> {
        let Some(step) = &self.step else { return Ok(true) };
        let answer = self.seated.ask(|py| {
            // Tuples of at most twelve come from Rust.
            let numbers = (view.domain, view.die, view.free, view.running, view.unread, view.on_the_way);
            let host = (view.host_reads, view.host_writes, view.host_has_room, view.host_rests);
            let die = (view.erases, view.die_works, view.die_serves_host);
            let along = (view.takes_along, view.joining_reads, view.joining_writes);
            truth(&step.bind(py).call1((numbers, host, die, along))?)
        })?;
        Ok(answer?)
    }

    fn places(&self) -> bool {
        self.place.is_some()
    }

    fn place(&mut self, view: &MoveView) -> Result<Target, Refusal> {
        const WANTED: &str = "the number of a die, a pair such as (\"channel\", 0) or (\"die\", 3), or None";
        let Some(place) = &self.place else { return Ok(Target::Any) };
        let answer = self.seated.ask(|py| {
            let numbers =
                (view.domain, view.unit, view.block, view.die, view.channel, view.valid, view.erases, view.free);
            let answer = place.bind(py).call1((numbers, view.of_table))?;
            Ok(target_of(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestCollect> {
        let names = ["takes", "idle_work", "step", "place"];
        let (seated, [takes, idle_work, step, place]) = self.seated.copy_with(names);
        Box::new(Self { seated, rest: self.rest, takes, schedule: self.schedule, idle_work, step, place })
    }
}

/// The channel or die that an answer names.
fn target_of(answer: &Bound<'_, PyAny>) -> Option<Target> {
    if answer.is_none() {
        return Some(Target::Any);
    }
    if let Ok(pair) = answer.cast::<PyTuple>() {
        let (kind, number) = pair.extract::<(PyBackedStr, Bound<'_, PyAny>)>().ok()?;
        let of_kind = match &*kind {
            "channel" => Target::Channel,
            "die" => Target::Die,
            _ => return None,
        };
        return whole(&number).map(of_kind);
    }
    whole(answer).map(Target::Die)
}
