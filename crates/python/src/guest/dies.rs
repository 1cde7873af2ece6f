//! Policies in Python that choose operations: arbiters of the dies, and dispatch.

use super::figures::{at_once, deadlines, device_queue};
use super::{odd, truth, whole, Seated};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fmt;
use wordline_base::Time;
use wordline_drive::guests::{
    Addressed, AtOnce, ByTask, Choices, Conflict, GuestArbiter, GuestDispatch, Limits, Refusal, StageView, TagRules,
    Task, Waiting, WaitingOperation, WaitingRequest, WaitingTransaction,
};

/// Microseconds of a time.
pub(super) fn us(time: Time) -> f64 {
    time as f64 / 1e6
}

/// An arbiter.
pub(super) struct Server {
    pub(super) seated: Seated,
    /// Asked in place of the other method, with times, if the policy has it.
    in_time: Option<Py<PyAny>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("seated", &self.seated).finish_non_exhaustive()
    }
}

impl Server {
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let in_time = seated.method(py, "choose_in_time")?;
        Ok(Ok(Self { seated, in_time }))
    }
}

const INDEX: &str = "the index of an operation in the list";

/// The operations that wait, as pairs.
fn listed<'py>(py: Python<'py>, waiting: &[Waiting]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, waiting.iter().map(|one| (one.class.name(), one.sequence)))
}

impl GuestArbiter for Server {
    fn choose(&mut self, waiting: &[Waiting]) -> Result<usize, Refusal> {
        let answer = self.seated.ask(|py| {
            let answer = self.seated.decide.bind(py).call1((listed(py, waiting)?,))?;
            Ok(whole::<usize>(&answer).ok_or_else(|| odd(&answer, INDEX)))
        })?;
        Ok(answer?)
    }

    fn sees_times(&self) -> bool {
        self.in_time.is_some()
    }

    fn learn(&mut self, times: [Time; 3]) -> Result<(), Refusal> {
        let [read, program, erase] = times.map(us);
        self.seated.ask(|py| self.seated.object.call_method1(py, "learn", (read, program, erase)).map(drop))
    }

    fn choose_in_time(&mut self, waiting: &[Waiting], waited: &[Time]) -> Result<usize, Refusal> {
        let Some(in_time) = &self.in_time else { return self.choose(waiting) };
        let answer = self.seated.ask(|py| {
            let times = PyList::new(py, waited.iter().copied().map(us))?;
            let answer = in_time.bind(py).call1((listed(py, waiting)?, times))?;
            Ok(whole::<usize>(&answer).ok_or_else(|| odd(&answer, INDEX)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestArbiter> {
        let (seated, [in_time]) = self.seated.copy_with(["choose_in_time"]);
        Box::new(Self { seated, in_time })
    }
}

/// A dispatch policy.
pub(super) struct Dispatcher {
    pub(super) seated: Seated,
    sees_all: bool,
    takes_shares: bool,
    tags: Option<TagRules>,
    at_once: Option<AtOnce>,
    deadlines: Option<Limits>,
    /// Asked for the rank of a read of the device queue, if the policy has it.
    rank: Option<Py<PyAny>>,
    /// Asked whether a request is taken up, if the policy has it.
    admits: Option<Py<PyAny>>,
    /// Asked which request or transaction goes next, if the policy has it.
    next_request: Option<Py<PyAny>>,
    next_transaction: Option<Py<PyAny>>,
    /// Asked what leads a transaction, and what joins it, if the policy has it.
    leads: Option<Py<PyAny>>,
    joins: Option<Py<PyAny>>,
}

/// The methods of a dispatch policy that it may lack.
const METHODS: [&str; 6] = ["rank", "admits", "next_request", "next_transaction", "leads", "joins"];

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("seated", &self.seated).finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// With the figures that its methods give.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let object = seated.object.bind(py);
        let is = |key: &str| object.getattr(key)?.is_truthy();
        let (sees_all, takes_shares) = (is("sees_all")?, is("takes_shares")?);
        let tags = match device_queue(&object.getattr("device_queue")?)? {
            Ok(tags) => tags,
            Err(problem) => return Ok(Err(problem)),
        };
        let at_once = match at_once(&object.getattr("at_once")?)? {
            Ok(at_once) => at_once,
            Err(problem) => return Ok(Err(problem)),
        };
        let deadlines = match deadlines(&object.getattr("deadlines")?)? {
            Ok(deadlines) => deadlines,
            Err(problem) => return Ok(Err(problem)),
        };
        let [rank, admits, next_request, next_transaction, leads, joins] = METHODS.map(|name| seated.method(py, name));
        let (rank, admits) = (rank?, admits?);
        let (next_request, next_transaction, leads, joins) = (next_request?, next_transaction?, leads?, joins?);
        Ok(Ok(Self {
            seated,
            sees_all,
            takes_shares,
            tags,
            at_once,
            deadlines,
            rank,
            admits,
            next_request,
            next_transaction,
            leads,
            joins,
        }))
    }
}

/// Operations that wait for their transaction.
fn operations<'py>(py: Python<'py>, all: &[WaitingOperation]) -> PyResult<Bound<'py, PyList>> {
    let told = |one: &WaitingOperation| {
        let WaitingOperation { writes, plane, page, request, before, sequence, .. } = *one;
        (writes, plane, page, request, before, sequence, us(one.waited))
    };
    PyList::new(py, all.iter().map(told))
}

/// A figure for each task, by its name.
fn by_task<'py, N: IntoPyObject<'py> + Copy>(py: Python<'py>, figures: &ByTask<N>) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (task, figure) in Task::all().zip(figures) {
        all.set_item(task.about().name, *figure)?;
    }
    Ok(all)
}

impl GuestDispatch for Dispatcher {
    fn sees_all(&self) -> bool {
        self.sees_all
    }

    fn takes_shares(&self) -> bool {
        self.takes_shares
    }

    fn tags(&self) -> Option<TagRules> {
        self.tags
    }

    fn at_once(&self) -> Option<AtOnce> {
        self.at_once
    }

    fn rank(&mut self, read: &Addressed) -> Result<u8, Refusal> {
        const WANTED: &str = "a whole number from 0 to 255";
        let Some(rank) = &self.rank else { return Ok(0) };
        let conflict = match read.conflict {
            Conflict::None => "none",
            Conflict::Domain => "channel",
            Conflict::Cluster => "package",
            Conflict::Node => "die",
        };
        let answer = self.seated.ask(|py| {
            let answer = rank.bind(py).call1((conflict, read.overdue))?;
            Ok(whole::<u8>(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn deadlines(&self) -> Option<Limits> {
        self.deadlines.clone()
    }

    fn choices(&self) -> Choices {
        let Self { next_request, next_transaction, leads, joins, .. } = self;
        let [requests, places, leads, joins] = [next_request, next_transaction, leads, joins].map(Option::is_some);
        Choices { requests, places, leads, joins }
    }

    fn next_request(&mut self, die: u32, waiting: &[WaitingRequest]) -> Result<usize, Refusal> {
        const WANTED: &str = "the index of a request in the list";
        let Some(choose) = &self.next_request else { return Ok(0) };
        let answer = self.seated.ask(|py| {
            let told = |one: &WaitingRequest| (one.request, one.writes, one.operations, one.sequence, us(one.waited));
            let answer = choose.bind(py).call1((die, PyList::new(py, waiting.iter().map(told))?))?;
            Ok(whole::<usize>(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn next_transaction(&mut self, waiting: &[WaitingTransaction]) -> Result<Option<usize>, Refusal> {
        const WANTED: &str = "the index of a transaction in the list, or None";
        let Some(choose) = &self.next_transaction else { return Ok(None) };
        let answer = self.seated.ask(|py| {
            let told = |one: &WaitingTransaction| {
                let WaitingTransaction { place, is_free, writes, operations, sequence, .. } = *one;
                (place, is_free, us(one.bus), writes, operations, sequence, us(one.waited))
            };
            let answer = choose.bind(py).call1((PyList::new(py, waiting.iter().map(told))?,))?;
            if answer.is_none() {
                return Ok(Ok(None));
            }
            Ok(whole::<usize>(&answer).map(Some).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn leads(&mut self, place: u32, waiting: &[WaitingOperation]) -> Result<usize, Refusal> {
        const WANTED: &str = "the index of an operation in the list";
        let Some(choose) = &self.leads else { return Ok(0) };
        let answer = self.seated.ask(|py| {
            let answer = choose.bind(py).call1((place, operations(py, waiting)?))?;
            Ok(whole::<usize>(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn joins(&mut self, chosen: &[WaitingOperation], waiting: &[WaitingOperation]) -> Result<Option<usize>, Refusal> {
        const WANTED: &str = "the index of an operation in the list, or None";
        let Some(choose) = &self.joins else { return Ok(None) };
        let answer = self.seated.ask(|py| {
            let answer = choose.bind(py).call1((operations(py, chosen)?, operations(py, waiting)?))?;
            if answer.is_none() {
                return Ok(Ok(None));
            }
            Ok(whole::<usize>(&answer).map(Some).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn limits_requests(&self) -> bool {
        self.admits.is_some()
    }

    fn admits(&mut self, in_service: u32) -> Result<bool, Refusal> {
        let Some(admits) = &self.admits else { return Ok(true) };
        let answer = self.seated.ask(|py| truth(&admits.bind(py).call1((in_service,))?))?;
        Ok(answer?)
    }

    fn next(&mut self, view: &StageView<'_>, shares: &ByTask<f64>) -> Result<Option<usize>, Refusal> {
        const WANTED: &str = "the index of an operation in the list, or None";
        let answer = self.seated.ask(|py| {
            let staged = view.staged.iter().map(|one| (one.class.name(), one.sequence, one.die));
            let staged = PyList::new(py, staged)?;
            let shares = if self.takes_shares { Some(by_task(py, shares)?) } else { None };
            let outstanding = by_task(py, view.outstanding)?;
            let decide = self.seated.decide.bind(py);
            let answer = if self.deadlines.is_some() {
                let dues = PyList::new(py, view.dues.iter().map(|due| (due.left, due.operations)))?;
                decide.call1((staged, outstanding, *view.times, shares, dues))?
            } else {
                decide.call1((staged, outstanding, *view.times, shares))?
            };
            if answer.is_none() {
                return Ok(Ok(None));
            }
            Ok(whole::<usize>(&answer).map(Some).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestDispatch> {
        let Self { sees_all, takes_shares, tags, at_once, ref deadlines, .. } = *self;
        let (seated, [rank, admits, next_request, next_transaction, leads, joins]) = self.seated.copy_with(METHODS);
        Box::new(Self {
            seated,
            sees_all,
            takes_shares,
            tags,
            at_once,
            deadlines: deadlines.clone(),
            rank,
            admits,
            next_request,
            next_transaction,
            leads,
            joins,
        })
    }
}
