//! A drive that keeps its state between workloads.

use crate::aged;
use crate::drawing::{told, Wanted};
use crate::failure::Failure;
use crate::given::{open, Load};
use crate::guest::Guests;
use crate::memory;
use crate::part;
use crate::progress::Reporter;
use crate::replay;
use crate::tables;
use crate::work;
use crate::Policies;
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use wordline_drive::config::Parts;
use wordline_drive::precondition::{precondition as age, Preconditioned};
use wordline_drive::result::{document, About};
use wordline_drive::run::{Progress, RunError, Watch};
use wordline_drive::snapshot::{self, Header};
use wordline_drive::streams::Streams;
use wordline_drive::untimed::{self, Ending};
use wordline_drive::{Drive, DriveConfig};
use wordline_settings::{Loaded, Origin};

/// Mutable state of a drive.
#[derive(Clone)]
struct State {
    drive: Drive,
    /// Its last preconditioning.
    preconditioned: Option<Preconditioned>,
    /// Workloads so far.
    runs: u64,
    /// Reason why it is unusable.
    ended: Option<String>,
}

impl State {
    /// Ends all requests in flight, so that the next workload finds an idle drive.
    fn rest(&mut self) {
        if let Err(fault) = self.drive.drain() {
            self.ended = Some(RunError::from(fault).to_string());
        }
        self.drive.completions().clear();
    }
}

/// Checks that guest policies answered while the drive was built: better reported now than by its first workload.
fn sound(drive: &Drive) -> Result<(), Failure> {
    drive.kernel().complaint().map_or(Ok(()), |fault| Err(fault.into()))
}

/// A drive with lasting state. Only one thread at a time can use it; several drives run in parallel.
#[pyclass(name = "Drive", module = "wordline._core", frozen)]
pub struct Handle {
    name: String,
    sets: Vec<String>,
    loaded: Arc<Loaded<DriveConfig>>,
    parts: Arc<Parts>,
    seed: u64,
    snapshot: Option<PathBuf>,
    guests: Arc<Guests>,
    state: Mutex<State>,
}

impl Handle {
    fn new(
        name: &str,
        sets: Vec<String>,
        seed: Option<u64>,
        snapshot: Option<PathBuf>,
        guests: Arc<Guests>,
    ) -> Result<Self, Failure> {
        let seed = seed.unwrap_or(work::SEED);
        let (loaded, parts) = work::read_drive(name, &sets, &guests)?;
        let drive = match &snapshot {
            Some(path) => {
                memory::fits_memory(&parts)?;
                aged::read_snapshot(path, &loaded.value, seed)?.1
            }
            None => work::make_drive(name, &loaded, &parts, seed)?,
        };
        sound(&drive)?;
        let state = State { drive, preconditioned: None, runs: 0, ended: None };
        Ok(Self {
            name: name.to_owned(),
            sets,
            loaded: Arc::new(loaded),
            parts: Arc::new(parts),
            seed,
            snapshot,
            guests,
            state: Mutex::new(state),
        })
    }

    /// The state, if no other thread uses it. Waiting could last for hours, or for ever in a progress function.
    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Failure::Run(format!("the drive {} is busy; wait until it is done, or fork it before", self.name))
            }
            TryLockError::Poisoned(_) => Failure::Run(format!("the drive {} failed in an earlier run", self.name)),
        })
    }

    /// The state of a usable drive.
    fn working(&self) -> Result<MutexGuard<'_, State>, Failure> {
        let state = self.state()?;
        self.alive(&state)?;
        Ok(state)
    }

    fn alive(&self, state: &State) -> Result<(), Failure> {
        match &state.ended {
            Some(why) => Err(Failure::Run(format!("the drive {} failed before: {why}", self.name))),
            None => Ok(()),
        }
    }

    fn run_load(
        &self,
        load: &Load,
        seed: Option<u64>,
        progress: Py<PyAny>,
        timeline: Option<&Wanted<'_>>,
        tables: Option<&tables::Asked>,
        split: bool,
    ) -> Result<Value, Failure> {
        let mut state = self.working()?;
        let state = &mut *state;
        let (seed, config) = (seed.unwrap_or(self.seed), &self.loaded.value);
        let opened = open(load.spec(), state.drive.logical_bytes(), seed)?;
        let workload = opened.description.clone();
        let names: Vec<String> = opened.streams.iter().map(|stream| stream.name.clone()).collect();
        let mut reporter = Reporter::new(progress);
        // A workload that fails half-way would leave an unusable drive.
        load.look(state.drive.logical_bytes(), &opened, &mut reporter)?;
        let timeline = timeline.map(Wanted::open).transpose()?;
        let mut tables = tables.map(|asked| tables::Opened::new(asked, state.drive.kernel().plan())).transpose()?;
        state.drive.split_time(split);
        let mut observation = tables.as_mut().map(|tables| tables.start(&mut state.drive));
        let mut streams = Streams::default();
        let start = ThreadTime::now();
        let mut report = |at: Progress| reporter.of_drive("run", at);
        let (ran, drawn) = work::feed(
            &mut state.drive,
            opened,
            timeline,
            Watch { observation: observation.as_mut(), ..Watch::default() },
            &config.name,
            &mut report,
            &mut streams,
        );
        if let Some(observation) = observation {
            observation.finish(&mut state.drive);
        }
        let ended = match ran {
            Ok(ended) => ended,
            Err(error) => {
                tables.map(|tables| tables.finish(work::facts(config, seed, &names, None)));
                match &error {
                    RunError::Fault(_) => state.ended = Some(error.to_string()),
                    RunError::Load(_) | RunError::Request { .. } | RunError::Unmeasured { .. } => state.rest(),
                }
                return Err(error.into());
            }
        };
        if let Some(error) = reporter.error {
            tables.map(|tables| tables.finish(work::facts(config, seed, &names, None)));
            state.rest();
            return Err(Failure::Python(error));
        }
        let about = About {
            config,
            parts: &self.parts,
            workload: &workload,
            seed,
            partial: ended.interrupted,
            precondition: state.preconditioned.clone(),
        };
        let mut result = document(&state.drive, &about);
        work::add_measured(&mut result, (ended.measured_from, ended.measured_to), &streams);
        result["cpu_s"] = start.elapsed().as_secs_f64().into();
        work::add_origins(&mut result, &self.loaded, load.spec(), self.snapshot.as_deref());
        result["earlier_runs"] = state.runs.into();
        if let Some(drawn) = drawn {
            result["timeline"] = told(&drawn);
        }
        if let Some(tables) = tables {
            result["tables"] = tables.finish(work::facts(config, seed, &names, Some(&result)));
        }
        if let Some(trace) = result["workload"].get_mut("trace") {
            trace["left_out"] = json!(ended.left_out);
        }
        state.runs += 1;
        if ended.interrupted {
            state.rest();
        }
        Ok(result)
    }

    /// Carries a workload out without time.
    fn replay_load(
        &self,
        load: &Load,
        seed: Option<u64>,
        times: Option<u64>,
        progress: Py<PyAny>,
    ) -> Result<Value, Failure> {
        let mut state = self.working()?;
        let state = &mut *state;
        let (seed, config) = (seed.unwrap_or(self.seed), &self.loaded.value);
        let times = replay::times(&self.name, config, times)?;
        let opened = open(load.spec(), state.drive.logical_bytes(), seed)?;
        let workload = opened.description.clone();
        let mut reporter = Reporter::new(progress);
        // A workload that fails half-way would leave an unusable drive.
        load.look(state.drive.logical_bytes(), &opened, &mut reporter)?;
        let start = ThreadTime::now();
        let done = replay::carry_out(&mut state.drive, load.spec(), seed, times, &mut reporter).inspect_err(|_| {
            state.ended = Some("a replay without time failed half-way".into());
        })?;
        state.ended = replay::story(&done);
        if let Some(error) = reporter.error {
            return Err(Failure::Python(error));
        }
        let partial = done.ending == Ending::Interrupted;
        let precondition = state.preconditioned.clone();
        let about = About { config, parts: &self.parts, workload: &workload, seed, partial, precondition };
        let mut result = untimed::document(&state.drive, &done, times, &about);
        result["cpu_s"] = start.elapsed().as_secs_f64().into();
        work::add_origins(&mut result, &self.loaded, load.spec(), self.snapshot.as_deref());
        result["earlier_runs"] = state.runs.into();
        state.runs += 1;
        Ok(result)
    }

    fn age(&self, asked: &Asked, seed: Option<u64>, progress: Py<PyAny>) -> Result<Value, Failure> {
        let mut state = self.working()?;
        let state = &mut *state;
        let mut wanted = self.loaded.value.precondition.clone();
        asked.apply_to(&mut wanted);
        wanted.check().map_err(Failure::input)?;
        if !wanted.writes() {
            return Err(Failure::Input(format!(
                "{}: no preconditioning is set, here or in [precondition] of the drive; give an option, as in \
                 fill=True",
                self.name
            )));
        }
        let mut reporter = Reporter::new(progress);
        let mut report = |at: Progress| reporter.of_drive("precondition", at);
        let done = match age(&mut state.drive, &wanted, seed.unwrap_or(self.seed), &mut report) {
            Ok(done) => done,
            Err(fault) => {
                let error = RunError::from(fault);
                state.ended = Some(error.to_string());
                return Err(error.into());
            }
        };
        if done.interrupted {
            // It is neither new nor preconditioned, and later work could not detect that.
            let (filled, random) = (done.filled_units, done.random_units);
            state.ended = Some(format!(
                "its preconditioning was interrupted after {filled} units in order and {random} at random; create it \
                 again"
            ));
        } else {
            state.preconditioned = Some(done.clone());
        }
        match reporter.error {
            Some(error) => Err(Failure::Python(error)),
            None => Ok(json!(done)),
        }
    }

    fn copy(&self, sets: Vec<String>, seed: Option<u64>) -> Result<Self, Failure> {
        let mut state = self.state()?;
        state.drive.share();
        let mut copy = state.clone();
        if sets.is_empty() && seed.is_none_or(|seed| seed == self.seed) {
            let (loaded, parts) = (Arc::clone(&self.loaded), Arc::clone(&self.parts));
            return Ok(self.with(self.sets.clone(), loaded, parts, self.seed, copy));
        }
        // Another drive can take over only an idle one.
        self.alive(&state)?;
        let sets = [&self.sets[..], &sets[..]].concat();
        let seed = seed.unwrap_or(self.seed);
        let (loaded, parts) = work::read_drive(&self.name, &sets, &self.guests)?;
        let mut drive = work::make_drive(&self.name, &loaded, &parts, seed)?;
        drive.adopt(&state.drive).map_err(|error| {
            Failure::Input(format!("the fork of {} cannot take over its state: {error}", self.name))
        })?;
        sound(&drive)?;
        copy.drive = drive;
        Ok(self.with(sets, Arc::new(loaded), Arc::new(parts), seed, copy))
    }

    fn with(
        &self,
        sets: Vec<String>,
        loaded: Arc<Loaded<DriveConfig>>,
        parts: Arc<Parts>,
        seed: u64,
        state: State,
    ) -> Self {
        let (name, snapshot) = (self.name.clone(), self.snapshot.clone());
        let guests = Arc::clone(&self.guests);
        Self { name, sets, loaded, parts, seed, snapshot, guests, state: Mutex::new(state) }
    }

    fn header(&self, state: &State) -> Result<Header, Failure> {
        let header = work::header(&self.loaded.value, self.seed, &state.preconditioned);
        header.map_err(|error| Failure::Run(error.to_string()))
    }

    fn write_snapshot(&self, path: &Path, shown: &Path) -> Result<u64, Failure> {
        let state = self.working()?;
        let header = self.header(&state)?;
        snapshot::save(path, &header, &state.drive).map_err(|error| work::unwritten(shown, error))
    }

    /// The drive for another process: its origin, and its state as the bytes of a snapshot.
    fn packed(&self) -> Result<(Value, Vec<u8>), Failure> {
        let state = self.working()?;
        let bytes = snapshot::to_bytes(&self.header(&state)?, &state.drive)
            .map_err(|error| Failure::Run(format!("the drive {} cannot be packed: {error}", self.name)))?;
        let Loaded { value, resolved, origins } = &*self.loaded;
        let named = json!([self.name, self.sets, self.seed, state.preconditioned, state.runs]);
        Ok((json!([named, [json!(value), resolved, json!(origins)], self.snapshot]), bytes))
    }

    fn unpacked(about: &str, bytes: &[u8], guests: Arc<Guests>) -> Result<Self, Failure> {
        let (named, (config, resolved, origins), snapshot): Packed =
            serde_json::from_str(about).map_err(Failure::input)?;
        let (name, sets, seed, preconditioned, runs) = named;
        let (value, parts) = wordline_drive::load::resolved(&name, config, &guests.makers).map_err(Failure::input)?;
        memory::fits_memory(&parts)?;
        let (_, drive) =
            snapshot::from_bytes(&format!("the drive {name}"), bytes, &value, seed).map_err(Failure::input)?;
        sound(&drive)?;
        let state = Mutex::new(State { drive, preconditioned, runs, ended: None });
        let (loaded, parts) = (Arc::new(Loaded { value, resolved, origins }), Arc::new(parts));
        Ok(Self { name, sets, loaded, parts, seed, snapshot, guests, state })
    }

    fn told(&self) -> Result<Value, Failure> {
        let state = self.state()?;
        let blocks = state.drive.kernel().blocks();
        let erases: u64 = blocks.records().iter().map(|block| u64::from(block.erases)).sum();
        Ok(json!({
            "simulated_s": state.drive.now() as f64 / 1e12,
            "runs": state.runs,
            "free_blocks": blocks.free_blocks(),
            "erases": erases,
            "most_erases": blocks.records().iter().map(|block| block.erases).max(),
            "precondition": state.preconditioned,
            "ended": state.ended,
        }))
    }
}

/// Packed form of a drive, beside its state: name and overrides, seed, preconditioning; its configuration; its origin.
type Packed = (Named, (Value, Value, BTreeMap<String, Origin>), Option<PathBuf>);
type Named = (String, Vec<String>, u64, Option<Preconditioned>, u64);

/// Preconditioning options beyond the configuration.
#[derive(Clone, Copy, Default)]
pub struct Asked {
    pub fill: Option<bool>,
    pub overwrites: Option<f64>,
    pub steady_state: Option<bool>,
    pub block_reads: Option<u32>,
    pub timed: Option<bool>,
}

impl Asked {
    /// Changes a configuration to what was asked.
    pub fn apply_to(&self, config: &mut wordline_drive::config::PreconditionConfig) {
        config.fill = self.fill.unwrap_or(config.fill);
        config.overwrites = self.overwrites.unwrap_or(config.overwrites);
        config.steady_state = self.steady_state.unwrap_or(config.steady_state);
        config.block_reads = self.block_reads.unwrap_or(config.block_reads);
        config.timed = self.timed.unwrap_or(config.timed);
    }
}

#[pymethods]
impl Handle {
    #[new]
    #[pyo3(signature = (drive, sets, seed=None, snapshot=None, policies=None))]
    fn __new__(
        py: Python<'_>,
        drive: &str,
        sets: Vec<String>,
        seed: Option<u64>,
        snapshot: Option<PathBuf>,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let guests = Arc::new(Guests::new(policies)?);
        let seated = Arc::clone(&guests);
        let made = py.detach(|| Self::new(drive, sets, seed, snapshot, seated));
        Ok(made.map_err(|failure| guests.own(failure))?)
    }

    /// Configuration, origins and derived figures, as JSON.
    fn describe(&self) -> String {
        work::described(&self.loaded, &self.parts).to_string()
    }

    /// Current state of the drive, as JSON.
    fn state_json(&self) -> PyResult<String> {
        Ok(self.told()?.to_string())
    }

    /// The seed of its random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs a workload on the drive as it is; the result as JSON.
    #[pyo3(signature = (load, seed, progress, timeline=None, window=None, limit=None, tables=None, split=true))]
    #[allow(clippy::too_many_arguments)] // Those of the command, one to one.
    fn run(
        &self,
        py: Python<'_>,
        load: &Load,
        seed: Option<u64>,
        progress: Py<PyAny>,
        timeline: Option<&str>,
        window: Option<(u64, u64)>,
        limit: Option<u64>,
        tables: Option<tables::Asked>,
        split: bool,
    ) -> PyResult<String> {
        let wanted = timeline.map(|path| Wanted { path, window, limit });
        let run = || self.run_load(load, seed, progress, wanted.as_ref(), tables.as_ref(), split);
        // Others may use the interpreter meanwhile: a result is long.
        let result = py.detach(|| run().map(|done| done.to_string()));
        Ok(result.map_err(|failure| self.guests.own(failure))?)
    }

    /// Runs a workload on the drive as it is; the result as JSON, and the parts of it that have dotted keys.
    fn run_for(
        &self,
        py: Python<'_>,
        load: &Load,
        seed: Option<u64>,
        progress: Py<PyAny>,
        keys: Vec<String>,
    ) -> PyResult<(String, String)> {
        let run = || self.run_load(load, seed, progress, None, None, true);
        let wanted = part::Wanted::new(&keys);
        let found = py.detach(|| run().map(|done| (done.to_string(), wanted.of_value(&done).to_string())));
        Ok(found.map_err(|failure| self.guests.own(failure))?)
    }

    /// Carries a workload out without time on the drive as it is, so often or until the end of its life; the result as JSON.
    fn replay(
        &self,
        py: Python<'_>,
        load: &Load,
        seed: Option<u64>,
        times: Option<u64>,
        progress: Py<PyAny>,
    ) -> PyResult<String> {
        let result = py.detach(|| self.replay_load(load, seed, times, progress).map(|done| done.to_string()));
        Ok(result.map_err(|failure| self.guests.own(failure))?)
    }

    /// Preconditions the drive; what was done, as JSON.
    #[pyo3(signature = (progress, fill=None, overwrites=None, steady_state=None, block_reads=None, timed=None, seed=None))]
    #[allow(clippy::too_many_arguments)] // One a key of the section.
    fn precondition(
        &self,
        py: Python<'_>,
        progress: Py<PyAny>,
        fill: Option<bool>,
        overwrites: Option<f64>,
        steady_state: Option<bool>,
        block_reads: Option<u32>,
        timed: Option<bool>,
        seed: Option<u64>,
    ) -> PyResult<String> {
        let asked = Asked { fill, overwrites, steady_state, block_reads, timed };
        let done = py.detach(|| self.age(&asked, seed, progress));
        Ok(done.map_err(|failure| self.guests.own(failure))?.to_string())
    }

    /// A drive of its own in the same state, under further overrides if there are any.
    fn fork(&self, py: Python<'_>, sets: Vec<String>, seed: Option<u64>) -> PyResult<Self> {
        let copy = py.detach(|| self.copy(sets, seed));
        Ok(copy.map_err(|failure| self.guests.own(failure))?)
    }

    /// Writes a snapshot; its size in bytes.
    fn save(&self, py: Python<'_>, path: PathBuf, shown: PathBuf) -> PyResult<u64> {
        Ok(py.detach(|| self.write_snapshot(&path, &shown))?)
    }

    /// The drive for another process: a text and bytes.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let (about, bytes) = py.detach(|| self.packed())?;
        Ok((about.to_string(), PyBytes::new(py, &bytes)))
    }

    /// The drive that another process packed.
    #[staticmethod]
    #[pyo3(signature = (about, state, policies=None))]
    fn unpack(py: Python<'_>, about: &str, state: &[u8], policies: Option<Policies>) -> PyResult<Self> {
        let guests = Arc::new(Guests::new(policies)?);
        let seated = Arc::clone(&guests);
        let made = py.detach(|| Self::unpacked(about, state, seated));
        Ok(made.map_err(|failure| guests.own(failure))?)
    }
}
