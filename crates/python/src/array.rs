//! Arrays of drives: runs, checks, and an array that keeps its state between workloads.

use crate::failure::Failure;
use crate::given::{open_on, Given, Load};
use crate::guest::Guests;
use crate::handle;
use crate::load::Spec;
use crate::memory;
use crate::part;
use crate::progress::Reporter;
use crate::tables;
use crate::work::{self, Asked};
use crate::Policies;
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{json, Value};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use wordline_drive::array::load::{self, member_seed, LoadedArray};
use wordline_drive::array::result::{config, derived, described, document, ArrayAbout};
use wordline_drive::array::Array;
use wordline_drive::precondition::{precondition, Preconditioned};
use wordline_drive::run::{Ended, Progress, RunError};
use wordline_drive::streams::Streams;
use wordline_drive::{fio_json, Device};
use wordline_settings::Origin;

/// Reads and checks an array.
fn read(path: &str, sets: &[String], guests: &Guests) -> Result<LoadedArray, Failure> {
    load::load(path, sets, &guests.makers).map_err(Failure::input)
}

/// Makes an array that was read and checked, if this machine can hold it.
fn make(loaded: &LoadedArray, seed: u64) -> Result<Array, Failure> {
    memory::fits(loaded.drives().map(|drive| drive.parts.derived().state_bytes).sum())?;
    let made = load::build(loaded, seed).map_err(Failure::input)?;
    let complaint = made.complaint().filter(|fault| !fault.is_interrupt());
    complaint.map_or(Ok(()), |fault| Err(Failure::from(fault)))?;
    Ok(made)
}

/// The resolved configuration of an array with its derived figures, members and layout.
pub fn check(path: &str, sets: &[String], seed: u64, guests: &Guests) -> Result<Value, Failure> {
    let loaded = read(path, sets, guests)?;
    make(&loaded, seed)?;
    Ok(told(&loaded))
}

/// The resolved configuration of an array with its derived figures, without building it.
pub fn resolve(path: &str, sets: &[String], guests: &Guests) -> Result<Value, Failure> {
    let loaded = read(path, sets, guests)?;
    Ok(json!({"config": config(&loaded), "derived": derived(&loaded)}))
}

fn told(loaded: &LoadedArray) -> Value {
    let mut origins: serde_json::Map<String, Value> =
        loaded.file.origins.iter().map(|(key, origin)| (key.clone(), origin.to_string().into())).collect();
    for (kind, drive) in loaded.kinds.iter().enumerate() {
        let of_drive = drive.loaded.origins.iter();
        origins.extend(of_drive.map(|(key, origin)| (of_kind(kind, key), origin.to_string().into())));
    }
    json!({
        "name": loaded.name(),
        "title": loaded.file.value.title,
        "source": loaded.file.value.source,
        "config": config(loaded),
        "origins": origins,
        "derived": derived(loaded),
        "array": described(loaded),
    })
}

/// A key of a drive of an array, as in the configuration of the array.
fn of_kind(kind: usize, key: &str) -> String {
    format!("drives.{kind}.config.{key}")
}

/// Keys of the array, and those that the user set on top of the presets of its drives.
fn changes(loaded: &LoadedArray) -> Value {
    let whole = config(loaded);
    let at = |key: &str| {
        key.split('.').fold(&whole, |value, part| match part.parse::<usize>() {
            Ok(index) if value.is_array() => &value[index],
            _ => &value[part],
        })
    };
    let own = loaded.file.origins.iter().map(|(key, origin)| (key.clone(), origin));
    let of_drives = loaded.kinds.iter().enumerate().flat_map(|(kind, drive)| {
        let by_user = |origin: &Origin| !origin.to_string().starts_with("drives/");
        let origins = drive.loaded.origins.iter().filter(move |(_, origin)| by_user(origin));
        origins.map(move |(key, origin)| (of_kind(kind, key), origin))
    });
    let all = own.chain(of_drives);
    all.map(|(key, origin)| json!({"key": key, "value": at(&key), "origin": origin.to_string()})).collect()
}

/// Preconditions the members, those of one kind once: the others of the kind take over its state. A spare stays empty.
fn age(
    array: &mut Array,
    loaded: &LoadedArray,
    asked: handle::Asked,
    seed: u64,
    reporter: &mut Reporter,
) -> Result<Vec<Option<Preconditioned>>, Failure> {
    let mut all = Vec::new();
    for (kind, drive) in loaded.kinds.iter().enumerate() {
        let of_kind: Vec<usize> = (0..loaded.members()).filter(|&member| loaded.of[member] == kind).collect();
        let mut wanted = drive.loaded.value.precondition.clone();
        asked.apply_to(&mut wanted);
        wanted.check().map_err(Failure::input)?;
        let (Some((&first, rest)), true) = (of_kind.split_first(), wanted.writes()) else {
            all.push(None);
            continue;
        };
        let seed = member_seed(seed, first);
        let report = &mut |at: Progress| reporter.of_drive("precondition", at);
        let done = precondition(array.drive_mut(first), &wanted, seed, report)?;
        let interrupted = done.interrupted;
        all.push(Some(done));
        if interrupted {
            break;
        }
        array.drive_mut(first).share();
        let aged = array.drive_mut(first).clone();
        for &member in rest {
            array.drive_mut(member).adopt(&aged).map_err(|error| {
                Failure::Input(format!(
                    "{}: member {member} cannot take over the state of member {first}: {error}",
                    loaded.path
                ))
            })?;
        }
    }
    Ok(all)
}

fn was_interrupted(preconditions: &[Option<Preconditioned>]) -> bool {
    preconditions.iter().flatten().any(|done| done.interrupted)
}

/// The tables of all drives of an array, each in a directory of its own.
struct TablesOfAll(Vec<(tables::Opened, String)>);

impl TablesOfAll {
    fn open(asked: &tables::Asked, array: &Array) -> Result<Self, Failure> {
        let (list, directory, sample, interval, window) = asked;
        if directory.is_empty() {
            return Err(Failure::Input("the name of the directory for the tables is empty; give one".into()));
        }
        let of_drive = |(at, drive): (usize, &wordline_drive::Drive)| {
            let name = if at < array.members() { format!("member{at}") } else { "spare".to_owned() };
            let path = PathBuf::from(directory).join(&name).display().to_string();
            let asked = (list.clone(), path, *sample, *interval, *window);
            Ok((tables::Opened::new(&asked, drive.kernel().plan())?, name))
        };
        array.drives().enumerate().map(of_drive).collect::<Result<_, Failure>>().map(Self)
    }

    fn start(&mut self, array: &mut Array) {
        let observations =
            self.0.iter_mut().zip(array.drives_mut()).map(|((opened, _), drive)| opened.start(drive)).collect();
        array.watch(observations);
    }

    /// Closes all files; their entry in the result names each by its member.
    fn finish(
        self,
        loaded: &LoadedArray,
        seed: u64,
        streams: &[String],
        result: Option<&Value>,
        directory: &str,
    ) -> Value {
        let (mut files, mut errors, mut whole) = (Vec::new(), Vec::new(), Value::Null);
        for ((opened, name), drive) in self.0.into_iter().zip(loaded.drives()) {
            let mut facts = work::facts(&drive.loaded.value, seed, streams, result);
            facts.push(("array_member", name.clone()));
            let mut told = opened.finish(facts);
            for file in told["files"].as_array_mut().into_iter().flatten() {
                file["name"] = format!("{name}/{}", file["name"].as_str().unwrap_or_default()).into();
                files.push(file.take());
            }
            errors.extend(told["errors"].as_array().cloned().unwrap_or_default());
            whole = told;
        }
        whole["directory"] = directory.into();
        whole["files"] = files.into();
        whole["errors"] = errors.into();
        whole
    }
}

/// What a run takes beside the array and its workload.
struct Wanted<'a> {
    seed: u64,
    tables: Option<&'a tables::Asked>,
    preconditions: &'a [Option<Preconditioned>],
    job_by_job: bool,
}

/// Runs a workload on an array as it is. Without a result, what ended it.
fn run_on(
    array: &mut Array,
    loaded: &LoadedArray,
    spec: &Spec,
    opened: wordline_workload::Load,
    wanted: &Wanted<'_>,
    reporter: &mut Reporter,
) -> Result<Value, Result<RunError, Failure>> {
    let workload = opened.description.clone();
    let names: Vec<String> = opened.streams.iter().map(|stream| stream.name.clone()).collect();
    let mut tables = wanted.tables.map(|asked| TablesOfAll::open(asked, array)).transpose().map_err(Err)?;
    let directory = wanted.tables.map_or("", |asked| &asked.1);
    let mut streams = if wanted.job_by_job { Streams::job_by_job() } else { Streams::default() };
    if let Some(tables) = &mut tables {
        tables.start(array);
    }
    let start = ThreadTime::now();
    let ran = if was_interrupted(wanted.preconditions) {
        // Work before the run does not count in its figures.
        array.start_measuring();
        Ok(Ended { interrupted: true, cut_off: 0, left_out: None, measured_from: 0, measured_to: 0 })
    } else {
        array.run(opened, &mut |at: Progress| reporter.of_drive("run", at), &mut streams)
    };
    array.unwatch();
    let finish = |tables: Option<TablesOfAll>, result: Option<&Value>| {
        tables.map(|tables| tables.finish(loaded, wanted.seed, &names, result, directory))
    };
    let ended = match ran {
        Ok(ended) => ended,
        Err(error) => {
            finish(tables, None);
            return Err(Ok(error));
        }
    };
    if let Some(error) = reporter.error.take() {
        finish(tables, None);
        return Err(Err(Failure::Python(error)));
    }
    let about = ArrayAbout {
        loaded,
        workload: &workload,
        seed: wanted.seed,
        partial: ended.interrupted,
        preconditions: wanted.preconditions,
    };
    let mut result = document(array, &about);
    work::add_measured(&mut result, (ended.measured_from, ended.measured_to), &streams);
    result["cpu_s"] = start.elapsed().as_secs_f64().into();
    result["snapshot"] = Value::Null;
    work::add_path(&mut result, spec);
    result["changes"] = changes(loaded);
    if let Some(trace) = result["workload"].get_mut("trace") {
        trace["left_out"] = json!(ended.left_out);
    }
    if wanted.job_by_job {
        let (words, globals) = spec.words();
        result["fio"] = fio_json::document(&streams, &words, &globals);
    }
    if let Some(told) = finish(tables, Some(&result)) {
        result["tables"] = told;
    }
    Ok(result)
}

fn no_timeline(path: &str) -> Failure {
    Failure::Input(format!(
        "{path}: a timeline shows one drive, and this is an array; run one of its drives by itself, or write tables, which each \
         member has"
    ))
}

/// Runs a workload on an array, as [`work::run`] on a drive.
#[allow(clippy::too_many_arguments)] // Those of the command, one to one.
pub fn run(
    path: &str,
    load: &Given,
    (sets, load_sets): (&[String], &[String]),
    seed: Option<u64>,
    snapshot: Option<&str>,
    progress: Py<PyAny>,
    asked: &Asked<'_>,
    guests: &Guests,
) -> Result<Value, Failure> {
    let seed = seed.unwrap_or(work::SEED);
    if let Some(snapshot) = snapshot {
        return Err(Failure::Input(format!(
            "--from {snapshot}: a snapshot is of one drive, and {path} is an array; its members are preconditioned by \
             [precondition] of their drives"
        )));
    }
    if asked.timeline.is_some() {
        return Err(no_timeline(path));
    }
    if asked.watch.is_some() {
        return Err(Failure::Input(format!(
            "{path}: --watch and --dashboard show one drive, and this is an array; watch one of its drives by itself"
        )));
    }
    let loaded = read(path, sets, guests)?;
    let spec = load.spec(load_sets)?;
    let mut array = make(&loaded, seed)?;
    let opened = open_on(&spec, array.layout().space(), seed)?;
    let mut reporter = Reporter::new(progress);
    spec.look(&opened, &mut reporter)?;
    let start = ThreadTime::now();
    let preconditions = age(&mut array, &loaded, handle::Asked::default(), seed, &mut reporter)?;
    let prepared = start.elapsed().as_secs_f64();
    let wanted = Wanted { seed, tables: asked.tables, preconditions: &preconditions, job_by_job: asked.job_by_job };
    let ran = run_on(&mut array, &loaded, &spec, opened, &wanted, &mut reporter);
    let mut result = ran.map_err(|ended| ended.map_or_else(|failure| failure, Failure::from))?;
    result["precondition_cpu_s"] = prepared.into();
    Ok(result)
}

/// Mutable state of an array.
#[derive(Clone)]
struct State {
    array: Array,
    preconditioned: Vec<Option<Preconditioned>>,
    runs: u64,
    /// Reason why it is unusable.
    ended: Option<String>,
}

/// An array with lasting state. Only one thread at a time can use it.
#[pyclass(name = "Array", module = "wordline._core", frozen)]
pub struct ArrayHandle {
    path: String,
    sets: Vec<String>,
    loaded: Arc<LoadedArray>,
    seed: u64,
    guests: Arc<Guests>,
    state: Mutex<State>,
}

impl ArrayHandle {
    fn new(path: &str, sets: Vec<String>, seed: Option<u64>, guests: Arc<Guests>) -> Result<Self, Failure> {
        let seed = seed.unwrap_or(work::SEED);
        let loaded = read(path, &sets, &guests)?;
        let state = State { array: make(&loaded, seed)?, preconditioned: Vec::new(), runs: 0, ended: None };
        Ok(Self { path: path.to_owned(), sets, loaded: Arc::new(loaded), seed, guests, state: Mutex::new(state) })
    }

    /// The state, if no other thread uses it, and it is usable.
    fn working(&self) -> Result<MutexGuard<'_, State>, Failure> {
        let state = self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Failure::Run(format!("the array {} is busy; wait until it is done, or fork it before", self.path))
            }
            TryLockError::Poisoned(_) => Failure::Run(format!("the array {} failed in an earlier run", self.path)),
        })?;
        match &state.ended {
            Some(why) => Err(Failure::Run(format!("the array {} failed before: {why}", self.path))),
            None => Ok(state),
        }
    }

    fn run_load(
        &self,
        load: &Load,
        seed: Option<u64>,
        progress: Py<PyAny>,
        tables: Option<&tables::Asked>,
    ) -> Result<Value, Failure> {
        let mut state = self.working()?;
        let state = &mut *state;
        let seed = seed.unwrap_or(self.seed);
        let bytes = state.array.logical_bytes();
        let opened = open_on(load.spec(), state.array.layout().space(), seed)?;
        let mut reporter = Reporter::new(progress);
        load.look(bytes, &opened, &mut reporter)?;
        let wanted = Wanted { seed, tables, preconditions: &state.preconditioned, job_by_job: false };
        let ran = run_on(&mut state.array, &self.loaded, load.spec(), opened, &wanted, &mut reporter);
        let rest = match &ran {
            Ok(result) => result["partial"] == true,
            Err(Ok(RunError::Fault(fault))) => {
                state.ended = Some(RunError::Fault(fault.clone()).to_string());
                false
            }
            Err(_) => true,
        };
        if rest {
            if let Err(fault) = state.array.drain() {
                state.ended = Some(RunError::from(fault).to_string());
            }
            state.array.completions().clear();
        }
        let mut result = ran.map_err(|ended| ended.map_or_else(|failure| failure, Failure::from))?;
        result["earlier_runs"] = state.runs.into();
        state.runs += 1;
        Ok(result)
    }

    fn precondition_all(&self, asked: handle::Asked, seed: Option<u64>, progress: Py<PyAny>) -> Result<Value, Failure> {
        let mut state = self.working()?;
        let state = &mut *state;
        let mut reporter = Reporter::new(progress);
        let done = match age(&mut state.array, &self.loaded, asked, seed.unwrap_or(self.seed), &mut reporter) {
            Ok(done) => done,
            Err(failure) => {
                if let Failure::Run(why) = &failure {
                    state.ended = Some(why.clone());
                }
                return Err(failure);
            }
        };
        let Some(first) = done.iter().flatten().next().cloned() else {
            return Err(Failure::Input(format!(
                "{}: no preconditioning is set, here or in [precondition] of its drives; give an option, as in fill=True",
                self.path
            )));
        };
        let last = done.iter().flatten().last().cloned().unwrap_or_else(|| first.clone());
        if was_interrupted(&done) {
            state.ended = Some("its preconditioning was interrupted; create it again".into());
        } else {
            state.preconditioned = done;
        }
        match reporter.error {
            Some(error) => Err(Failure::Python(error)),
            // Of several kinds of drives the first tells, unless a later one was interrupted.
            None => Ok(json!(if last.interrupted { last } else { first })),
        }
    }

    fn copy(&self, sets: Vec<String>, seed: Option<u64>) -> Result<Self, Failure> {
        let mut state = self.working()?;
        state.array.drives_mut().for_each(wordline_drive::Drive::share);
        let mut copy = state.clone();
        let (path, guests) = (self.path.clone(), Arc::clone(&self.guests));
        if sets.is_empty() && seed.is_none_or(|seed| seed == self.seed) {
            let loaded = Arc::clone(&self.loaded);
            return Ok(Self {
                path,
                sets: self.sets.clone(),
                loaded,
                seed: self.seed,
                guests,
                state: Mutex::new(copy),
            });
        }
        let sets = [&self.sets[..], &sets[..]].concat();
        let seed = seed.unwrap_or(self.seed);
        let loaded = read(&path, &sets, &guests)?;
        let mut array = make(&loaded, seed)?;
        if array.drives().len() != state.array.drives().len() {
            return Err(Failure::Input(format!(
                "the fork of {path} has {} drives, and takes over the state of {}; give it as many",
                array.drives().len(),
                state.array.drives().len()
            )));
        }
        if array.layout() != state.array.layout() {
            return Err(Failure::Input(format!(
                "the fork of {path} lays its addresses otherwise; it cannot take over data in another layout: leave array.kind, \
                 array.stripe_kib and the members as they are"
            )));
        }
        if state.array.failed().is_some() {
            return Err(Failure::Input(format!(
                "the fork of {path}: a member has failed, and a fork under other keys would have it again; fork the array before"
            )));
        }
        for (member, (drive, old)) in array.drives_mut().zip(state.array.drives()).enumerate() {
            drive.adopt(old).map_err(|error| {
                Failure::Input(format!("the fork of {path} cannot take over the state of member {member}: {error}"))
            })?;
        }
        copy.array = array;
        Ok(Self { path, sets, loaded: Arc::new(loaded), seed, guests, state: Mutex::new(copy) })
    }

    fn no_snapshot(&self) -> Failure {
        Failure::Input(format!(
            "{}: an array has no snapshot and cannot be sent to another process; make it there from its file",
            self.path
        ))
    }
}

#[pymethods]
impl ArrayHandle {
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
        if snapshot.is_some() {
            let problem = format!("{drive}: a snapshot is of one drive, and this is an array");
            return Err(Failure::Input(problem).into());
        }
        let guests = Arc::new(Guests::new(policies)?);
        let seated = Arc::clone(&guests);
        let made = py.detach(|| Self::new(drive, sets, seed, seated));
        Ok(made.map_err(|failure| guests.own(failure))?)
    }

    /// Configuration, origins and derived figures, as JSON.
    fn describe(&self) -> String {
        told(&self.loaded).to_string()
    }

    /// Current state of the array, as JSON: that of all members together.
    fn state_json(&self) -> PyResult<String> {
        let state = self.state.try_lock().map_err(|_| Failure::Run(format!("the array {} is busy", self.path)))?;
        let erases =
            || state.array.drives().flat_map(|drive| drive.kernel().blocks().records()).map(|block| block.erases);
        Ok(json!({
            "simulated_s": state.array.now() as f64 / 1e12,
            "runs": state.runs,
            "free_blocks": state.array.free_blocks(),
            "erases": erases().map(u64::from).sum::<u64>(),
            "most_erases": erases().max(),
            "precondition": state.preconditioned.iter().flatten().next(),
            "ended": state.ended,
        })
        .to_string())
    }

    /// The seed of its random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs a workload on the array as it is; the result as JSON.
    #[pyo3(signature = (load, seed, progress, timeline=None, window=None, limit=None, tables=None, split=true))]
    #[allow(clippy::too_many_arguments)] // Those of a drive, one to one.
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
        // Times of requests are not divided over members.
        let _ = (window, limit, split);
        if timeline.is_some() {
            return Err(no_timeline(&self.path).into());
        }
        let run = || self.run_load(load, seed, progress, tables.as_ref());
        let result = py.detach(|| run().map(|done| done.to_string()));
        Ok(result.map_err(|failure| self.guests.own(failure))?)
    }

    /// Runs a workload on the array as it is; the result as JSON, and the parts of it that have dotted keys.
    fn run_for(
        &self,
        py: Python<'_>,
        load: &Load,
        seed: Option<u64>,
        progress: Py<PyAny>,
        keys: Vec<String>,
    ) -> PyResult<(String, String)> {
        let wanted = part::Wanted::new(&keys);
        let run = || self.run_load(load, seed, progress, None);
        let found = py.detach(|| run().map(|done| (done.to_string(), wanted.of_value(&done).to_string())));
        Ok(found.map_err(|failure| self.guests.own(failure))?)
    }

    /// Preconditions the members; what was done to the first, as JSON.
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
        let asked = handle::Asked { fill, overwrites, steady_state, block_reads, timed };
        let done = py.detach(|| self.precondition_all(asked, seed, progress));
        Ok(done.map_err(|failure| self.guests.own(failure))?.to_string())
    }

    /// An array of its own in the same state, under further overrides if there are any.
    fn fork(&self, py: Python<'_>, sets: Vec<String>, seed: Option<u64>) -> PyResult<Self> {
        let copy = py.detach(|| self.copy(sets, seed));
        Ok(copy.map_err(|failure| self.guests.own(failure))?)
    }

    /// Refuses: there is no snapshot of an array.
    fn save(&self, path: PathBuf, shown: PathBuf) -> PyResult<u64> {
        let _ = (path, shown);
        Err(self.no_snapshot().into())
    }

    /// Refuses, for the same reason.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let _ = py;
        Err(self.no_snapshot().into())
    }
}
