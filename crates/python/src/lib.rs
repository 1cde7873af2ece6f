//! The binding: text in, JSON out. Work runs without the interpreter's lock; ten times per second the caller's progress
//! function is called with it, and an interrupt (Ctrl-C) stops the work and returns its partial result.

mod aged;
mod array;
mod desk;
mod drawing;
mod failure;
mod frame;
mod given;
mod guest;
mod handle;
mod kind;
mod live;
mod load;
mod memory;
mod pacer;
mod package;
mod part;
mod progress;
mod records;
mod replay;
mod table;
mod tables;
mod traces;
mod work;

use failure::Failure;
use guest::Guests;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::path::PathBuf;
use wordline_drive::array::config::ArrayFile;
use wordline_drive::{presets, DriveConfig, Task};
use wordline_settings::{keys as keys_of, KeyDoc};
use wordline_workload::LoadFile;

// The name that users know, which unpickling also needs.
create_exception!(wordline, InputError, PyValueError, "Wrong input of the user. The message is complete.");
create_exception!(wordline, RunError, PyRuntimeError, "The run failed.");

/// Policies of the caller: descriptions in JSON and constructors.
type Policies = Vec<(String, Py<PyAny>)>;

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Input(message) => InputError::new_err(message),
            Failure::Run(message) => RunError::new_err(message),
            Failure::Python(error) => error,
        }
    }
}

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The resolved configuration of a drive with its derived figures.
#[pyfunction]
#[pyo3(signature = (drive, sets, policies=None, seed=None))]
fn check(drive: &str, sets: Vec<String>, policies: Option<Policies>, seed: Option<u64>) -> PyResult<String> {
    let guests = Guests::new(policies)?;
    if wordline_drive::array::load::is_array(drive) {
        let checked = array::check(drive, &sets, seed.unwrap_or(work::SEED), &guests);
        return Ok(checked.map_err(|failure| guests.own(failure))?.to_string());
    }
    let checked = work::read_drive(drive, &sets, &guests).and_then(|(loaded, parts)| {
        // Some errors show only when the drive is built, such as too many bad blocks.
        work::make_drive(drive, &loaded, &parts, seed.unwrap_or(work::SEED))?;
        Ok(work::described(&loaded, &parts).to_string())
    });
    Ok(checked.map_err(|failure| guests.own(failure))?)
}

/// As `check` without origins and without building the drive, whose own errors, such as too many bad blocks, show when it
/// is built.
#[pyfunction]
fn resolve(py: Python<'_>, drive: &str, sets: Vec<String>) -> PyResult<String> {
    let guests = Guests::new(None)?;
    let resolved = py.detach(|| {
        if wordline_drive::array::load::is_array(drive) {
            array::resolve(drive, &sets, &guests).map(|value| value.to_string())
        } else {
            work::read_drive(drive, &sets, &guests).map(|(loaded, parts)| work::resolved(&loaded, &parts).to_string())
        }
    });
    Ok(resolved.map_err(|failure| guests.own(failure))?)
}

/// Kind of a LOAD by its content: `workload`, `jobs` or `trace`.
#[pyfunction]
fn load_kind(path: &str) -> &'static str {
    match kind::Kind::of(path) {
        kind::Kind::Workload => "workload",
        kind::Kind::Jobs => "jobs",
        kind::Kind::Trace => "trace",
    }
}

/// The file of a preset.
#[pyfunction]
fn preset(name: &str) -> Option<String> {
    presets::text(name).map(|(_, text)| text)
}

/// The presets.
#[pyfunction]
fn drives() -> PyResult<String> {
    let mut list = Vec::new();
    for name in presets::names() {
        let (loaded, parts) = wordline_drive::load(&name, &[]).map_err(Failure::input)?;
        let figures = parts.derived();
        list.push(json!({
            "name": name,
            "title": loaded.value.title,
            "source": loaded.value.source,
            "summary": format!(
                "{:.0} GiB, {} channels, {} dies",
                figures.logical_bytes as f64 / (1_u64 << 30) as f64,
                figures.channels,
                figures.dies
            ),
        }));
    }
    Ok(Value::Array(list).to_string())
}

fn key_json(key: &KeyDoc) -> Value {
    let choices: Vec<Value> = key.choices.iter().map(|c| json!({"name": c.name, "doc": c.doc})).collect();
    json!({
        "key": key.key,
        "kind": key.kind,
        "default": key.default,
        "required": key.required,
        "doc": key.doc,
        "choices": choices,
        "variant": key.variant.as_ref().map(|v| json!({"tag": v.tag, "name": v.name})),
    })
}

/// All policies with their options.
#[pyfunction]
fn policies() -> String {
    let keys = keys_of::<DriveConfig>();
    let list: Vec<Value> = wordline_drive::policy::catalogue()
        .iter()
        .map(|member| {
            let tag = format!("{}.policy", member.family);
            let belongs = |key: &&KeyDoc| key.variant.as_ref().is_some_and(|v| v.tag == tag && v.name == member.name);
            let options: Vec<Value> = keys.iter().filter(belongs).map(key_json).collect();
            let mut value = json!(member);
            value["options"] = options.into();
            value
        })
        .collect();
    Value::Array(list).to_string()
}

/// The keys of a drive file.
#[pyfunction]
fn keys() -> String {
    Value::Array(keys_of::<DriveConfig>().iter().map(key_json).collect()).to_string()
}

/// The keys of an array file.
#[pyfunction]
fn array_keys() -> String {
    Value::Array(keys_of::<ArrayFile>().iter().map(key_json).collect()).to_string()
}

/// True if a drive argument names the file of an array.
#[pyfunction]
fn is_array(drive: &str) -> bool {
    wordline_drive::array::load::is_array(drive)
}

/// The keys of a workload file.
#[pyfunction]
fn load_keys() -> String {
    Value::Array(keys_of::<LoadFile>().iter().map(key_json).collect()).to_string()
}

/// The keys of a result, section by section.
#[pyfunction]
fn result_keys() -> String {
    json!(wordline_drive::result::keys::sections()).to_string()
}

/// The tasks that a drive may have: name in keys, and in sentences.
#[pyfunction]
fn tasks() -> Vec<(&'static str, &'static str)> {
    Task::all().map(|task| (task.about().name, task.about().title)).collect()
}

/// The formats of traces as a table in Markdown.
#[pyfunction]
fn format_table() -> String {
    wordline_workload::format_table()
}

/// The page on tables in Markdown.
#[pyfunction]
fn tables_page() -> String {
    wordline_tables::page()
}

/// Runs a workload on a drive.
#[pyfunction]
#[pyo3(signature = (drive, load, sets, load_sets, seed, snapshot, progress, timeline=None, window=None, limit=None, tables=None,
    job_by_job=false, split=true, policies=None, watch=None, aged=None))]
#[allow(clippy::too_many_arguments)] // The arguments of the command, one to one.
fn run(
    py: Python<'_>,
    drive: &str,
    load: given::Given,
    sets: Vec<String>,
    load_sets: Vec<String>,
    seed: Option<u64>,
    snapshot: Option<&str>,
    progress: Py<PyAny>,
    timeline: Option<&str>,
    window: Option<(u64, u64)>,
    limit: Option<u64>,
    tables: Option<tables::Asked>,
    job_by_job: bool,
    split: bool,
    policies: Option<Policies>,
    watch: Option<(Py<PyAny>, f64)>,
    aged: Option<Py<aged::Aged>>,
) -> PyResult<String> {
    let aged = aged.as_ref().map(Py::get);
    let wanted = timeline.map(|path| drawing::Wanted { path, window, limit });
    let (wanted, tables) = (wanted.as_ref(), tables.as_ref());
    let guests = Guests::new(policies)?;
    let document = py
        .detach(|| {
            let asked = work::Asked {
                timeline: wanted,
                tables,
                job_by_job,
                split,
                watch: watch.as_ref().map(|(function, pace)| (function, *pace)),
            };
            let ran = if wordline_drive::array::load::is_array(drive) {
                array::run(drive, &load, (&sets, &load_sets), seed, snapshot, progress, &asked, &guests)
            } else {
                work::run(drive, &load, &sets, &load_sets, seed, snapshot, aged, progress, &asked, &guests)
            };
            ran.map(|done| done.to_string())
        })
        .map_err(|failure| guests.own(failure))?;
    Ok(document)
}

/// The parts of a result that have dotted keys, as JSON: what is not there is left out.
#[pyfunction]
fn part_of_result(py: Python<'_>, text: &str, keys: Vec<String>) -> PyResult<String> {
    let part = py.detach(|| part::Wanted::new(&keys).of(text));
    part.map_err(|error| PyValueError::new_err(format!("this is no result: {error}")))
}

/// The tables that a run can write.
#[pyfunction]
fn table_names() -> Vec<&'static str> {
    wordline_tables::NAMES.to_vec()
}

/// Preconditions a drive and writes a snapshot.
#[pyfunction]
#[pyo3(signature = (drive, sets, seed, out_path, shown, progress, policies=None))]
#[allow(clippy::too_many_arguments)] // The arguments of the command, one to one.
fn precondition(
    py: Python<'_>,
    drive: &str,
    sets: Vec<String>,
    seed: Option<u64>,
    out_path: PathBuf,
    shown: PathBuf,
    progress: Py<PyAny>,
    policies: Option<Policies>,
) -> PyResult<String> {
    let guests = Guests::new(policies)?;
    let document = py
        .detach(|| work::precondition(drive, &sets, seed, &out_path, &shown, progress, &guests))
        .map_err(|failure| guests.own(failure))?;
    Ok(document.to_string())
}

/// Carries a workload out on a drive without time; the result as JSON.
#[pyfunction]
#[pyo3(name = "replay", signature = (drive, load, sets, load_sets, seed, snapshot, progress, times, save=None, policies=None))]
#[allow(clippy::too_many_arguments)] // The arguments of the command, one to one.
fn untimed(
    py: Python<'_>,
    drive: &str,
    load: given::Given,
    sets: Vec<String>,
    load_sets: Vec<String>,
    seed: Option<u64>,
    snapshot: Option<&str>,
    progress: Py<PyAny>,
    times: Option<u64>,
    save: Option<(PathBuf, PathBuf)>,
    policies: Option<Policies>,
) -> PyResult<String> {
    let guests = Guests::new(policies)?;
    let asked = replay::Asked { times, snapshot, save };
    let document = py
        .detach(|| {
            let done = replay::replay(drive, &load, &sets, &load_sets, seed, &asked, progress, &guests);
            done.map(|done| done.to_string())
        })
        .map_err(|failure| guests.own(failure))?;
    Ok(document)
}

/// Serves drives as disks until an interrupt; gives a result for each export, as JSON.
#[pyfunction]
fn serve(py: Python<'_>, plan: &str, progress: Py<PyAny>, ready: Py<PyAny>, status: Py<PyAny>) -> PyResult<String> {
    Ok(py.detach(|| live::serve(plan, progress, &ready, &status))?)
}

/// Runs a workload on one package.
#[pyfunction]
#[pyo3(signature = (experiment, progress, timeline=None, window=None, limit=None))]
fn package_run(
    py: Python<'_>,
    experiment: &str,
    progress: Py<PyAny>,
    timeline: Option<&str>,
    window: Option<(u64, u64)>,
    limit: Option<u64>,
) -> PyResult<String> {
    let wanted = timeline.map(|path| drawing::Wanted { path, window, limit });
    Ok(py.detach(|| package::run(experiment, progress, wanted.as_ref()))?)
}

/// The operation modes of a package, each with its chain of segments.
#[pyfunction]
fn package_chains() -> String {
    package::chains().to_string()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add("SEED", work::SEED)?;
    module.add_class::<handle::Handle>()?;
    module.add_class::<array::ArrayHandle>()?;
    module.add_class::<aged::Aged>()?;
    module.add_class::<given::Load>()?;
    module.add_class::<desk::Desk>()?;
    module.add_class::<frame::Frame>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(drives, module)?)?;
    module.add_function(wrap_pyfunction!(load_kind, module)?)?;
    module.add_function(wrap_pyfunction!(preset, module)?)?;
    module.add_function(wrap_pyfunction!(policies, module)?)?;
    module.add_function(wrap_pyfunction!(keys, module)?)?;
    module.add_function(wrap_pyfunction!(array_keys, module)?)?;
    module.add_function(wrap_pyfunction!(is_array, module)?)?;
    module.add_function(wrap_pyfunction!(load_keys, module)?)?;
    module.add_function(wrap_pyfunction!(result_keys, module)?)?;
    module.add_function(wrap_pyfunction!(format_table, module)?)?;
    module.add_function(wrap_pyfunction!(tasks, module)?)?;
    module.add_function(wrap_pyfunction!(tables_page, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(part_of_result, module)?)?;
    module.add_function(wrap_pyfunction!(table_names, module)?)?;
    module.add_function(wrap_pyfunction!(precondition, module)?)?;
    module.add_function(wrap_pyfunction!(untimed, module)?)?;
    module.add_function(wrap_pyfunction!(serve, module)?)?;
    module.add_function(wrap_pyfunction!(package_run, module)?)?;
    module.add_function(wrap_pyfunction!(package_chains, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_synth, module)?)?;
    module.add_function(wrap_pyfunction!(traces::synth_keys, module)?)
}
