//! Placements in Python: where each write may go, or the planes that pages keep.

use super::{odd, whole, Seated};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use std::fmt;
use wordline_drive::guests::{Constraint, GuestPlacement, Refusal};

/// A placement.
pub(super) struct Placer {
    pub(super) seated: Seated,
    pattern: Option<Vec<u32>>,
    /// Its method that takes the request too.
    place_for: Option<Py<PyAny>>,
    begins: Option<Py<PyAny>>,
    passed_over: Option<Py<PyAny>>,
}

impl fmt::Debug for Placer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placer").field("seated", &self.seated).field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

const METHODS: [&str; 3] = ["place_for", "begins", "passed_over"];

impl Placer {
    /// With the pattern that its method gives, if it has one.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let answer = seated.object.bind(py).getattr("pattern")?;
        let pattern = match answer.extract::<Option<Vec<u32>>>() {
            Ok(pattern) => pattern,
            Err(_) => {
                let wanted = odd(&answer, "the numbers of all planes, each as often");
                return Ok(Err(format!("its method 'pattern' is of no use: {wanted}")));
            }
        };
        let [place_for, begins, passed_over] = METHODS.map(|name| seated.method(py, name));
        Ok(Ok(Self { pattern, place_for: place_for?, begins: begins?, passed_over: passed_over?, seated }))
    }
}

/// The place that an answer names.
fn place_of(answer: &Bound<'_, PyAny>) -> Option<Constraint> {
    if answer.is_none() {
        return Some(Constraint::Any);
    }
    if let Ok(pair) = answer.cast::<PyTuple>() {
        let (kind, number) = pair.extract::<(PyBackedStr, Bound<'_, PyAny>)>().ok()?;
        let of_kind = match &*kind {
            "channel" => Constraint::Channel,
            "die" => Constraint::Die,
            "plane" => Constraint::Plane,
            _ => return None,
        };
        return whole(&number).map(of_kind);
    }
    whole(answer).map(Constraint::Plane)
}

impl GuestPlacement for Placer {
    fn pattern(&self) -> Option<Vec<u32>> {
        self.pattern.clone()
    }

    fn needs_requests(&self) -> bool {
        self.place_for.is_some()
    }

    fn takes_turns(&self) -> bool {
        self.passed_over.is_some()
    }

    fn place(&mut self, page: u32, request: Option<u32>) -> Result<Constraint, Refusal> {
        const WANTED: &str = "the number of a plane, a pair such as (\"die\", 3) or (\"channel\", 0), or None";
        let answer = self.seated.ask(|py| {
            let answer = match &self.place_for {
                Some(place) => place.bind(py).call1((page, request))?,
                None => self.seated.decide.bind(py).call1((page,))?,
            };
            Ok(place_of(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn begin(&mut self, request: u32) -> Result<(), Refusal> {
        match &self.begins {
            Some(begins) => self.seated.ask(|py| begins.call1(py, (request,)).map(drop)),
            None => Ok(()),
        }
    }

    fn pass_over(&mut self) -> Result<(), Refusal> {
        match &self.passed_over {
            Some(passed_over) => self.seated.ask(|py| passed_over.call0(py).map(drop)),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn GuestPlacement> {
        let (seated, [place_for, begins, passed_over]) = self.seated.copy_with(METHODS);
        Box::new(Self { seated, pattern: self.pattern.clone(), place_for, begins, passed_over })
    }
}
