//! Policies written in Python: the firmware calls their objects and holds the interpreter's lock during the call. Their
//! exceptions are passed on unchanged: as the cause of the fault, or, while policies are built, by [`Guests`].

mod blocks;
mod buffer;
mod collect;
mod commands;
mod dies;
mod figures;
mod link;
mod mapping;
mod places;
mod sizes;
mod times;

use crate::failure::{noted, Failure};
use blocks::{Chooser, Keeper, Opener};
use buffer::Evictor;
use collect::Collector;
use commands::{Packer, Protector};
use dies::{Dispatcher, Server};
use link::Timer;
use mapping::Mapper;
use places::Placer;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use serde_json::{json, Map, Value};
use sizes::Limiter;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use times::Controller;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{
    Build, Cause, GuestArbiter, GuestCollect, GuestDispatch, GuestFreeBlock, GuestMapping, GuestPack, GuestPlacement,
    GuestProcessor, GuestRedundancy, GuestShares, GuestSlc, GuestSuspend, GuestTrim, GuestUpkeep, GuestVictim, Maker,
    Occasion, Refusal, SlcSize, Tells,
};

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
        processor: GuestProcessor;
        suspend: GuestSuspend;
        trim: GuestTrim;
    }

    fn mapping(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestMapping>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Mapper::new)?))
    }

    fn arbiter(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestArbiter>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Server::new)?))
    }

    fn dispatch(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestDispatch>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Dispatcher::new)?))
    }

    fn placement(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestPlacement>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Placer::new)?))
    }

    fn free_block(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestFreeBlock>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Opener::new)?))
    }

    fn victim(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestVictim>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Chooser::new)?))
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
        Ok(Box::new(self.read(seated, |py, seated| Keeper::new(py, seated, occasion).map(Ok))?))
    }

    fn shares(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestShares>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Controller::new)?))
    }

    fn collect(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestCollect>, String> {
        let seated = self.seated(options, build)?;
        let rest = Python::attach(|py| self.rest_of(py, &seated))?;
        Ok(Box::new(self.read(seated, |py, seated| Collector::new(py, seated, rest))?))
    }

    fn pack(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestPack>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Packer::new)?))
    }

    fn redundancy(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestRedundancy>, String> {
        Ok(Box::new(self.read(self.seated(options, build)?, Protector::new)?))
    }

    fn slc(
        &self,
        options: &Map<String, Value>,
        build: &Build<'_>,
    ) -> Result<(Option<SlcSize>, Box<dyn GuestSlc>), String> {
        let (size, limiter) = self.read(self.seated(options, build)?, Limiter::new)?;
        Ok((size, Box::new(limiter)))
    }

    fn figures(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn Any>, String> {
        let seated = self.seated(options, build)?;
        match &*self.family {
            "buffer" => {
                let rest = Python::attach(|py| self.rest_of(py, &seated))?;
                Ok(Box::new(self.read(seated, |py, seated| Evictor::figures(py, seated, rest))?))
            }
            _ => Ok(Box::new(self.read(seated, Timer::figures)?)),
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

    /// A method of its object that it may lack.
    fn method(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let method = self.object.getattr(py, name)?;
        Ok((!method.is_none(py)).then_some(method))
    }

    /// A copy with the methods of these names, if it has them.
    fn copy_with<const N: usize>(&self, names: [&str; N]) -> (Self, [Option<Py<PyAny>>; N]) {
        let copy = self.copy();
        Python::attach(|py| {
            // An object that has just been copied has the methods of the first.
            let mut methods = [const { None }; N];
            for (method, name) in methods.iter_mut().zip(names) {
                match copy.method(py, name) {
                    Ok(found) => *method = found,
                    Err(error) => {
                        let broken = copy.broken.clone().or(Some(refusal(py, error)));
                        return (Self { broken, ..copy }, [const { None }; N]);
                    }
                }
            }
            (copy, methods)
        })
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

impl Tells for Seated {
    fn begin_measuring(&mut self) -> Result<(), Refusal> {
        match &self.broken {
            // Its first decision says so, if it makes any.
            Some(_) => Ok(()),
            None => self.ask(|py| self.object.call_method0(py, "begin_measuring").map(drop)),
        }
    }

    fn figures(&mut self) -> Result<Map<String, Value>, Refusal> {
        if self.broken.is_some() {
            return Ok(Map::new());
        }
        let text: String = self.ask(|py| self.object.call_method0(py, "figures")?.extract(py))?;
        serde_json::from_str(&text).map_err(|error| format!("its figures cannot be read: {error}").into())
    }
}

/// Generates what policies tell that hold more than their objects.
macro_rules! tells {
    ($( $Policy:ty; )+) => {
        $(
            impl Tells for $Policy {
                fn begin_measuring(&mut self) -> Result<(), Refusal> {
                    self.seated.begin_measuring()
                }

                fn figures(&mut self) -> Result<Map<String, Value>, Refusal> {
                    self.seated.figures()
                }
            }
        )+
    };
}

tells! {
    Chooser;
    Collector;
    Controller;
    Dispatcher;
    Evictor;
    Keeper;
    Limiter;
    Mapper;
    Opener;
    Packer;
    Placer;
    Protector;
    Server;
    Timer;
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

/// The numbers that an answer lists, if any.
fn numbers_of(answer: &Bound<'_, PyAny>, wanted: &str) -> Result<Option<Vec<u32>>, String> {
    if answer.is_none() {
        return Ok(None);
    }
    let Ok(numbers) = answer.try_iter() else { return Err(odd(answer, wanted)) };
    let read = |number: PyResult<Bound<'_, PyAny>>| number.ok().and_then(|number| whole(&number));
    numbers.map(|number| read(number).ok_or_else(|| odd(answer, wanted))).collect::<Result<Vec<u32>, _>>().map(Some)
}

/// A truth value of Python, such as a numpy comparison, but not a forgotten return.
fn truth(answer: &Bound<'_, PyAny>) -> PyResult<Result<bool, String>> {
    if answer.is_none() {
        return Ok(Err(odd(answer, "True or False")));
    }
    answer.is_truthy().map(Ok)
}
