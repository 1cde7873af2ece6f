//! Policies written in Python: the firmware calls their objects and holds the interpreter's lock during the call. Their
//! exceptions are passed on unchanged: as the cause of the fault, or, while policies are built, by [`Guests`].

mod commands;
mod figures;
mod times;

use crate::failure::{noted, Failure};
use commands::{Packer, Protector};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyTuple};
use serde_json::{json, Map, Value};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use times::Controller;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{
    Build, ByTask, CacheView, Cause, Constraint, GuestArbiter, GuestCollect, GuestDispatch, GuestFreeBlock,
    GuestMapping, GuestPack, GuestPlacement, GuestProcessor, GuestRedundancy, GuestShares, GuestSuspend, GuestTrim,
    GuestUpkeep, GuestVictim, Maker, MoveView, Occasion, Refusal, SlcSize, SpaceView, StageView, StepView, Target,
    Task, UpkeepView, VictimView, Waiting,
};

/// Numbers of a block for a victim policy: its own, valid logical pages, erases, age.
const COLUMNS: usize = 4;
const NUMBER: usize = size_of::<i64>();

/// The exception that prevented building a policy.
#[derive(Clone, Debug, Default)]
struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps an exception, and returns a message for callers that cannot raise it.
    fn keep(&self, py: Python<'_>, error: PyErr) -> String {
        let story = format!("it raised {error}");
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The first exception is the cause of later ones.
        kept.get_or_insert_with(|| error.clone_ref(py));
        story
    }
}

/// The caller's policies.
pub struct Guests {
    /// Their constructors.
    pub makers: Vec<Arc<dyn Maker>>,
    raised: Raised,
}

impl Guests {
    /// From pairs of a description in JSON and a function that makes the policy from options and build, both JSON.
    pub fn new(policies: Option<Vec<(String, Py<PyAny>)>>) -> Result<Self, Failure> {
        let raised = Raised::default();
        let maker = |(about, make): (String, Py<PyAny>)| {
            let about: Value = serde_json::from_str(&about).map_err(Failure::input)?;
            let text = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
            let options = about["options"].as_object().cloned().unwrap_or_default();
            let (family, name, summary) = (text("family"), text("name"), text("summary"));
            Ok(Arc::new(PythonMaker { family, name, summary, options, make, raised: raised.clone() }) as Arc<dyn Maker>)
        };
        let makers = policies.unwrap_or_default().into_iter().map(maker).collect::<Result<_, Failure>>()?;
        Ok(Self { makers, raised })
    }

    /// If an exception prevented a policy, it is the reason for the missing result.
    pub fn own(&self, failure: Failure) -> Failure {
        let raised = self.raised.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (raised, failure) {
            (Some(error), Failure::Input(story)) => Failure::Python(noted(error, &story)),
            (_, failure) => failure,
        }
    }
}

/// The refusal of a policy after an exception.
fn refusal(py: Python<'_>, error: PyErr) -> Refusal {
    let interrupted = error.is_instance_of::<PyKeyboardInterrupt>(py);
    let story = if interrupted { "it was interrupted".to_owned() } else { format!("it raised {error}") };
    Refusal { story, interrupted, cause: Some(Cause::new(error)) }
}

/// Constructs policies of a class.
struct PythonMaker {
    family: String,
    name: String,
    summary: String,
    options: Map<String, Value>,
    make: Py<PyAny>,
    raised: Raised,
}

impl fmt::Debug for PythonMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonMaker").field("family", &self.family).field("name", &self.name).finish_non_exhaustive()
    }
}

impl PythonMaker {
    /// The rest of the host that a policy waits for, if for any.
    fn rest_of(&self, py: Python<'_>, seated: &Seated) -> Result<Option<Time>, String> {
        const WANTED: &str = "a number of microseconds from 0 to 1e12, or None";
        let rest = seated.object.bind(py).getattr("after_rest").map_err(|error| self.raised.keep(py, error))?;
        if rest.is_none() {
            return Ok(None);
        }
        let us = rest.extract::<f64>().ok().filter(|us| (0.0..=1e12).contains(us));
        let us = us.ok_or_else(|| format!("its method 'after_rest' is of no use: {}", odd(&rest, WANTED)))?;
        Ok(Some(ps_from_us(us)))
    }

    fn seated(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Seated, String> {
        let geometry = build.geometry;
        let told = json!({
            "seed": build.seed,
            "domains": build.domains,
            "channels": geometry.channels,
            "packages_per_channel": geometry.packages,
            "dies_per_package": geometry.dies_per_package,
            "planes_per_die": geometry.planes_per_die,
            "planes": geometry.planes(),
            "blocks_per_plane": geometry.blocks_per_plane,
            "pages_per_block": geometry.pages_per_block,
            "pages_per_program": geometry.pages_per_program,
            "units_per_page": (build.units_per_program / geometry.pages_per_program).max(1),
            "page_bytes": geometry.page_bytes,
        });
        Python::attach(|py| {
            let texts = (Value::Object(options.clone()).to_string(), told.to_string());
            let object = self.make.call1(py, texts).map_err(|error| self.raised.keep(py, error))?;
            Seated::new(py, object).map_err(|error| self.raised.keep(py, error))
        })
    }

    /// Reads what a policy says once, when the drive is built.
    fn read<A>(
        &self,
        seated: Seated,
        reader: impl FnOnce(Python<'_>, Seated) -> PyResult<Result<A, String>>,
    ) -> Result<A, String> {
        Python::attach(|py| reader(py, seated).map_err(|error| self.raised.keep(py, error)))?
    }
}

/// Generates the methods that make policies of which only the decision is called.
macro_rules! seated {
    ($( $family:ident: $Object:ident; )+) => {
        $(
            fn $family(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn $Object>, String> {
                Ok(Box::new(self.seated(options, build)?))
            }
        )+
    };
}

impl Maker for PythonMaker {
    fn family(&self) -> &str {
        &self.family
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    seated! {
        arbiter: GuestArbiter;
        free_block: GuestFreeBlock;
        mapping: GuestMapping;
        placement: GuestPlacement;
        processor: GuestProcessor;
        suspend: GuestSuspend;
        trim: GuestTrim;
        victim: GuestVictim;
    }

    fn dispatch(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestDispatch>, String> {
        let seated = self.seated(options, build)?;
        let is = |key: &str| {
            Python::attach(|py| {
                let answer = seated.object.bind(py).getattr(key).and_then(|answer| answer.is_truthy());
                answer.map_err(|error| self.raised.keep(py, error))
            })
        };
        let (sees_all, takes_shares) = (is("sees_all")?, is("takes_shares")?);
        Ok(Box::new(Dispatcher { seated, sees_all, takes_shares }))
    }

    fn upkeep(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestUpkeep>, String> {
        const WANTED: &str = "a number of page reads from 1 to 2**32 - 2, or None";
        let seated = self.seated(options, build)?;
        let occasion = Python::attach(|py| {
            let answer = seated.object.bind(py).getattr("after_reads").map_err(|error| self.raised.keep(py, error))?;
            let reads = |reads: &u32| (1..u32::MAX).contains(reads);
            if let Some(idle) = self.rest_of(py, &seated)? {
                if !answer.is_none() {
                    return Err("it has both 'after_reads' and 'after_rest'; let one of them return None".into());
                }
                return Ok(Occasion::Cache { idle });
            }
            match whole::<u32>(&answer).filter(reads) {
                _ if answer.is_none() => Ok(Occasion::Erase),
                Some(reads) => Ok(Occasion::Reads(reads)),
                None => Err(format!("its method 'after_reads' is of no use: {}", odd(&answer, WANTED))),
            }
        })?;
        Ok(Box::new(Keeper { seated, occasion }))
    }

    fn shares(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestShares>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Controller::new)?))
    }

    fn collect(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestCollect>, String> {
        let seated = self.seated(options, build)?;
        let rest = Python::attach(|py| self.rest_of(py, &seated))?;
        Ok(Box::new(self.read(seated, |py, seated| Collector::new(py, seated, rest).map(Ok))?))
    }

    fn pack(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestPack>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Packer::new)?))
    }

    fn redundancy(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestRedundancy>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Protector::new)?))
    }

    fn slc(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Option<SlcSize>, String> {
        self.read(self.seated(options, build)?, |py, seated| figures::cache_size(&seated.answer(py)?))
    }

    fn figures(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn Any>, String> {
        let seated = self.seated(options, build)?;
        match &*self.family {
            "buffer" => Ok(Box::new(self.read(seated, |py, seated| figures::capacity(&seated.answer(py)?))?)),
            _ => Ok(Box::new(self.read(seated, |py, seated| figures::link_costs(&seated.answer(py)?))?)),
        }
    }
}

/// A policy in use: its object with the frequently called methods.
struct Seated {
    object: Py<PyAny>,
    /// The decision method.
    decide: Py<PyAny>,
    /// Called for each closed block, or used map unit, if the policy has it.
    closed: Option<Py<PyAny>>,
    /// Reason why it cannot decide, if its copy failed.
    broken: Option<Refusal>,
}

impl fmt::Debug for Seated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seated").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Seated {
    fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let decide = object.getattr(py, "decide")?;
        let closed = object.getattr(py, "closed")?;
        let closed = (!closed.is_none(py)).then_some(closed);
        Ok(Self { object, decide, closed, broken: None })
    }

    /// The answer of a policy that is asked once.
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.decide.bind(py).call0()
    }

    /// Calls it with the interpreter's lock.
    fn ask<A>(&self, question: impl FnOnce(Python<'_>) -> PyResult<A>) -> Result<A, Refusal> {
        match &self.broken {
            Some(why) => Err(why.clone()),
            None => Python::attach(|py| question(py).map_err(|error| refusal(py, error))),
        }
    }

    fn copy(&self) -> Self {
        Python::attach(|py| {
            let copied = self.object.call_method0(py, "fork").and_then(|object| Self::new(py, object));
            copied.unwrap_or_else(|error| Self {
                object: self.object.clone_ref(py),
                decide: self.decide.clone_ref(py),
                closed: None,
                broken: Some(refusal(py, error)),
            })
        })
    }
}

/// An unusable answer, as the end of a sentence.
fn odd(answer: &Bound<'_, PyAny>, wanted: &str) -> String {
    let shown = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let kind = answer.get_type().name().map_or_else(|_| String::new(), |name| format!(" ({name})"));
    let shown = if shown.chars().count() > 60 { shown.chars().take(60).chain("...".chars()).collect() } else { shown };
    format!("it answered {shown}{kind}; expected {wanted}")
}

/// A whole number of Python that is no truth value, which Python takes for 0 or 1.
fn whole<'py, N: FromPyObjectOwned<'py>>(answer: &Bound<'py, PyAny>) -> Option<N> {
    if answer.is_instance_of::<PyBool>() {
        None
    } else {
        answer.extract().ok()
    }
}

/// The block that an answer names, if any.
fn block_of(answer: &Bound<'_, PyAny>) -> Result<Option<u32>, String> {
    if answer.is_none() {
        return Ok(None);
    }
    whole(answer).map(Some).ok_or_else(|| odd(answer, "the number of a block, or None"))
}

/// The columns one after another: all blocks, all numbers of valid logical pages, all erases, all ages.
fn fill(view: &VictimView<'_>, count: usize, memory: &mut [u8]) {
    let (blocks, rest) = memory.split_at_mut(count * NUMBER);
    let (valid, rest) = rest.split_at_mut(count * NUMBER);
    let (erases, ages) = rest.split_at_mut(count * NUMBER);
    let cells = |column: &mut [u8], at: usize, value: u32| {
        column[at * NUMBER..(at + 1) * NUMBER].copy_from_slice(&i64::from(value).to_ne_bytes());
    };
    for (at, block) in view.by_rank().enumerate() {
        cells(blocks, at, block);
        cells(valid, at, view.valid(block));
        cells(erases, at, view.erases(block));
        cells(ages, at, view.age(block));
    }
}

impl GuestVictim for Seated {
    fn choose(&mut self, view: &VictimView<'_>) -> Result<Option<u32>, Refusal> {
        let count = view.closed_count() as usize;
        let answer = self.ask(|py| {
            // The bytes are never written again: arrays over them are read-only, and stay valid if the policy keeps
            // them.
            let memory = PyBytes::new_with(py, COLUMNS * NUMBER * count, |memory| {
                fill(view, count, memory);
                Ok(())
            })?;
            let answer = self.decide.bind(py).call1((memory, count, view.domain()))?;
            Ok(block_of(&answer))
        })?;
        Ok(answer?)
    }

    fn closed(&mut self, _: &VictimView<'_>, block: u32) -> Result<(), Refusal> {
        match &self.closed {
            Some(closed) => self.ask(|py| closed.call1(py, (block,)).map(drop)),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn GuestVictim> {
        Box::new(self.copy())
    }
}

/// A collect policy.
struct Collector {
    seated: Seated,
    /// The rest of the host after which it is asked, if it waits for one.
    rest: Option<Time>,
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
    fn new(py: Python<'_>, seated: Seated, rest: Option<Time>) -> PyResult<Self> {
        let method = |name: &str| {
            let method = seated.object.bind(py).getattr(name)?;
            Ok::<_, PyErr>((!method.is_none()).then(|| method.unbind()))
        };
        let (step, place) = (method("step")?, method("place")?);
        Ok(Self { seated, rest, step, place })
    }
}

/// A truth value of Python, such as a numpy comparison, but not a forgotten return.
fn truth(answer: &Bound<'_, PyAny>) -> PyResult<Result<bool, String>> {
    if answer.is_none() {
        return Ok(Err(odd(answer, "True or False")));
    }
    answer.is_truthy().map(Ok)
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

    fn steps(&self) -> bool {
        self.step.is_some()
    }

    fn step(&mut self, view: &StepView) -> Result<bool, Refusal> {
        let Some(step) = &self.step else { return Ok(true) };
        let answer = self.seated.ask(|py| {
            // Tuples of at most twelve come from Rust.
            let numbers = (view.domain, view.die, view.free, view.running, view.unread, view.on_the_way);
            let host = (view.host_reads, view.host_writes, view.host_has_room, view.host_rests);
            truth(&step.bind(py).call1((numbers, host, view.erases, view.die_works, view.die_serves_host))?)
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
        let seated = self.seated.copy();
        Python::attach(|py| {
            // An object that has just been copied has the methods of the first.
            let again = |method: &Option<Py<PyAny>>, name| match method {
                Some(_) => seated.object.getattr(py, name).map(Some),
                None => Ok(None),
            };
            let methods = again(&self.step, "step").and_then(|step| Ok((step, again(&self.place, "place")?)));
            let (step, place, broken) = match methods {
                Ok((step, place)) => (step, place, None),
                Err(error) => (None, None, Some(refusal(py, error))),
            };
            let broken = seated.broken.or(broken);
            Box::new(Self { seated: Seated { broken, ..seated }, rest: self.rest, step, place })
        })
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

impl GuestFreeBlock for Seated {
    fn rank(&mut self, erases: u32, order: u32) -> Result<u64, Refusal> {
        let answer = self.ask(|py| {
            let answer = self.decide.bind(py).call1((erases, order))?;
            Ok(whole::<u64>(&answer).ok_or_else(|| odd(&answer, "a whole number from 0 to 2**64 - 1")))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestFreeBlock> {
        Box::new(self.copy())
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

impl GuestPlacement for Seated {
    fn place(&mut self, page: u32) -> Result<Constraint, Refusal> {
        const WANTED: &str = "the number of a plane, a pair such as (\"die\", 3) or (\"channel\", 0), or None";
        let answer = self.ask(|py| {
            let answer = self.decide.bind(py).call1((page,))?;
            Ok(place_of(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestPlacement> {
        Box::new(self.copy())
    }
}

impl GuestArbiter for Seated {
    fn choose(&mut self, waiting: &[Waiting]) -> Result<usize, Refusal> {
        const WANTED: &str = "the index of an operation in the list";
        let answer = self.ask(|py| {
            let list = PyList::new(py, waiting.iter().map(|one| (one.class.name(), one.sequence)))?;
            let answer = self.decide.bind(py).call1((list,))?;
            Ok(whole::<usize>(&answer).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestArbiter> {
        Box::new(self.copy())
    }
}

/// A policy of a background task.
struct Keeper {
    seated: Seated,
    occasion: Occasion,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeper").field(&self.seated).field(&self.occasion).finish()
    }
}

/// Columns of the view of a background task: numbers of blocks, valid logical pages, page reads, erases; then the truth values.
const NUMBERS: usize = 4;
const TRUTHS: usize = 4;

/// The columns one after another, as those of [`fill`].
fn fill_blocks(view: &UpkeepView<'_>, count: usize, memory: &mut [u8]) {
    let (numbers, truths) = memory.split_at_mut(NUMBERS * count * NUMBER);
    let mut cached = view.cached().peekable();
    for (at, block) in view.in_use().enumerate() {
        let row = [block, view.valid(block), view.reads(block), view.erases(block)];
        for (column, value) in row.into_iter().enumerate() {
            let place = (column * count + at) * NUMBER;
            numbers[place..place + NUMBER].copy_from_slice(&i64::from(value).to_ne_bytes());
        }
        let is_cached = cached.next_if_eq(&block).is_some();
        let row = [view.is_written(block), view.is_full(block), view.is_free(block), is_cached];
        for (column, value) in row.into_iter().enumerate() {
            truths[column * count + at] = u8::from(value);
        }
    }
}

impl GuestUpkeep for Keeper {
    fn occasion(&self) -> Occasion {
        self.occasion
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Result<Option<u32>, Refusal> {
        let count = view.in_use().count();
        let answer = self.seated.ask(|py| {
            let memory = PyBytes::new_with(py, (NUMBERS * NUMBER + TRUTHS) * count, |memory| {
                fill_blocks(view, count, memory);
                Ok(())
            })?;
            let left: u32 = view.domains().map(|domain| view.slc_left(domain)).sum();
            let told = (memory, count, view.host_units(), view.host_reads(), view.is_idle(), left);
            let answer = self.seated.decide.bind(py).call1(told)?;
            Ok(block_of(&answer))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestUpkeep> {
        Box::new(Self { seated: self.seated.copy(), occasion: self.occasion })
    }
}

/// A dispatch policy.
struct Dispatcher {
    seated: Seated,
    sees_all: bool,
    takes_shares: bool,
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("seated", &self.seated).finish_non_exhaustive()
    }
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

    fn next(&mut self, view: &StageView<'_>, shares: &ByTask<f64>) -> Result<Option<usize>, Refusal> {
        const WANTED: &str = "the index of an operation in the list, or None";
        let answer = self.seated.ask(|py| {
            let staged = view.staged.iter().map(|one| (one.class.name(), one.sequence, one.die));
            let staged = PyList::new(py, staged)?;
            let shares = if self.takes_shares { Some(by_task(py, shares)?) } else { None };
            let told = (staged, by_task(py, view.outstanding)?, *view.times, shares);
            let answer = self.seated.decide.bind(py).call1(told)?;
            if answer.is_none() {
                return Ok(Ok(None));
            }
            Ok(whole::<usize>(&answer).map(Some).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestDispatch> {
        let Self { seated, sees_all, takes_shares } = self;
        Box::new(Self { seated: seated.copy(), sees_all: *sees_all, takes_shares: *takes_shares })
    }
}

impl GuestMapping for Seated {
    fn evict(&mut self, view: &CacheView<'_>) -> Result<u32, Refusal> {
        let answer = self.ask(|py| {
            let answer = self.decide.bind(py).call1((PyList::new(py, view.oldest)?, view.coming))?;
            Ok(whole::<u32>(&answer).ok_or_else(|| odd(&answer, "the number of a map unit that memory holds")))
        })?;
        Ok(answer?)
    }

    fn used(&mut self, map_unit: u32) -> Result<(), Refusal> {
        match &self.closed {
            Some(used) => self.ask(|py| used.call1(py, (map_unit,)).map(drop)),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn GuestMapping> {
        Box::new(self.copy())
    }
}
