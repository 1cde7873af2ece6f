//! Functions on traces: summary, conversion, and generation from statistics.

use crate::failure::Failure;
use crate::key_json;
use crate::load::Spec;
use crate::progress::{interruptible, Reporter};
use pyo3::exceptions::{PyBrokenPipeError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use wordline_settings::{keys as keys_of, Loaded};
use wordline_workload::{
    convert_as, info_watched, mark, synthesise, ConvertError, Detected, Model, OutputFormat, Reading, StandIn,
    TraceOptions, TraceWriter, WorkloadError, WriteError, WriteOptions,
};

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            // The reader of the output has closed it.
            WriteError::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe => {
                Failure::Python(PyBrokenPipeError::new_err(source.to_string()))
            }
            WriteError::Io { .. } => Failure::Run(error.to_string()),
            other => Failure::input(other),
        }
    }
}

/// The work's result, unless it was stopped.
fn unless_stopped<T>(done: Option<T>, reporter: Reporter) -> Result<T, Failure> {
    match (done, reporter.error) {
        (_, Some(error)) => Err(Failure::Python(error)),
        (Some(done), None) => Ok(done),
        (None, None) => Err(Failure::Python(PyKeyboardInterrupt::new_err(()))),
    }
}

/// Passes progress on.
fn watching<'a>(reporter: &'a mut Reporter, phase: &'a str) -> impl FnMut(Reading) -> bool + 'a {
    move |at| reporter.report(phase, Some(at.fraction), at.requests, 0.0)
}

fn told(value: serde_json::Result<Value>) -> Result<Value, Failure> {
    value.map_err(|error| Failure::Run(error.to_string()))
}

/// The trace of a workload, with the workload for messages.
fn trace_of(path: &str, load_sets: &[String]) -> Result<(Spec, PathBuf, TraceOptions), Failure> {
    let spec = Spec::read(path, load_sets)?;
    let Some(trace) = spec.file.trace.clone() else {
        return Err(Failure::Input(format!("{path}: a workload file without a [trace]")));
    };
    let file = spec.base().join(&trace.file);
    Ok((spec, file, trace))
}

/// Waits for the writer of a pipe, which may never come; the open handle keeps the pipe open.
fn writer_of(path: &Path) -> Result<Option<File>, Failure> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
    let path = path.to_owned();
    // Errors are reported by the next reader.
    if is_pipe {
        interruptible(move || File::open(path).ok())
    } else {
        Ok(None)
    }
}

/// Summary of a trace.
#[pyfunction]
pub fn trace_info(
    py: Python<'_>,
    path: &str,
    load_sets: Vec<String>,
    window: u32,
    progress: Py<PyAny>,
) -> PyResult<String> {
    py.detach(|| {
        let (spec, file, options) = trace_of(path, &load_sets)?;
        let _open = writer_of(&file)?;
        let mut reporter = Reporter::new(progress);
        let info = info_watched(&file, &options, window, &mut watching(&mut reporter, "read"))
            .map_err(|error| spec.failure(&error))?;
        let mut value = told(serde_json::to_value(unless_stopped(info, reporter)?))?;
        value["file"] = json!(options.file);
        if !options.files.is_empty() {
            value["files"] = json!(options.files);
        }
        Ok::<_, Failure>(value.to_string())
    })
    .map_err(PyErr::from)
}

/// Opens the output. Standard output if there is no path.
fn writer(path: Option<&str>, name: &str, options: WriteOptions) -> Result<TraceWriter, Failure> {
    Ok(TraceWriter::create(path.map(Path::new), name, options)?)
}

/// Writes a trace in another format.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // The arguments of the command, one to one.
pub fn trace_convert(
    py: Python<'_>,
    path: &str,
    load_sets: Vec<String>,
    out_path: Option<&str>,
    out_name: &str,
    to: Option<&str>,
    drop: bool,
    round: bool,
    window: Option<(u64, u64)>,
    progress: Py<PyAny>,
) -> PyResult<String> {
    py.detach(|| {
        let format = OutputFormat::choose(to, out_name)?;
        let (spec, file, options) = trace_of(path, &load_sets)?;
        let _open = writer_of(&file)?;
        let mut note = None;
        let make = |source: &Detected| {
            note = source.stand_in.as_ref().map(|mark| format!("{mark}\nconverted from: {}", options.file.display()));
            TraceWriter::create(
                out_path.map(Path::new),
                out_name,
                WriteOptions { format, drop, round, note: note.clone() },
            )
        };
        let window = window.map_or((0, u128::MAX), |(from, to)| (from.into(), to.into()));
        let mut reporter = Reporter::new(progress);
        let done = convert_as(&file, &options, window, make, &mut watching(&mut reporter, "convert"));
        let done = done.map_err(|error| match error {
            ConvertError::Read(error) => spec.failure(&error),
            ConvertError::Write(error) => error.into(),
        })?;
        let mut value = told(serde_json::to_value(unless_stopped(done, reporter)?))?;
        value["file"] = json!(options.file);
        value["format"] = format.name().into();
        value["stand_in"] = note.is_some().into();
        value["mark"] = note.into();
        value["resolution_ps"] = format.resolution_ps().into();
        Ok::<_, Failure>(value.to_string())
    })
    .map_err(PyErr::from)
}

/// A stand-in with the user's statistics and its fitted distributions.
fn stand_in(spec: Option<&str>, sets: &[String]) -> Result<(Loaded<StandIn>, Model), Failure> {
    let no_presets = |_: &str| None;
    let loaded: Loaded<StandIn> = match spec {
        Some(path) => wordline_settings::load_file(Path::new(path), sets, &no_presets, &[]),
        None => wordline_settings::load_text("the command line", "", None, sets, &no_presets, &[]),
    }
    .map_err(Failure::input)?;
    let model = loaded.value.model().map_err(|error| {
        let place = match &error {
            WorkloadError::Option { key, .. } => loaded.origins.get(key).map(ToString::to_string),
            _ => None,
        };
        let place = place.or(spec.map(ToOwned::to_owned)).map_or(String::new(), |place| format!("{place}: "));
        Failure::Input(format!("{place}{error}"))
    })?;
    Ok((loaded, model))
}

/// Generates a trace from statistics.
#[pyfunction]
pub fn trace_synth(
    py: Python<'_>,
    spec: Option<&str>,
    sets: Vec<String>,
    out_path: Option<&str>,
    out_name: &str,
    to: Option<&str>,
    progress: Py<PyAny>,
) -> PyResult<String> {
    py.detach(|| {
        let format = OutputFormat::choose(to, out_name)?;
        let (loaded, model) = stand_in(spec, &sets)?;
        let asked = told(serde_json::to_value(&loaded.value))?;
        let given: serde_json::Map<_, _> =
            asked.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).map(cloned).collect();
        let version = env!("CARGO_PKG_VERSION");
        let mark = mark(version, &Value::Object(given.clone()), &model.arrivals().to_string());
        let note = Some(mark.clone());
        let writer = writer(out_path, out_name, WriteOptions { format, drop: false, round: false, note })?;
        let mut reporter = Reporter::new(progress);
        let done = synthesise(&model, writer, &mut watching(&mut reporter, "synthesise"));
        let done = done.map_err(|error| match error {
            ConvertError::Read(error) => Failure::input(error),
            ConvertError::Write(error) => error.into(),
        })?;
        let mut value = told(serde_json::to_value(unless_stopped(done, reporter)?))?;
        value["resolution_ps"] = format.resolution_ps().into();
        value["stand_in"] = true.into();
        value["mark"] = mark.into();
        value["version"] = version.into();
        value["format"] = format.name().into();
        value["asked"] = Value::Object(given);
        Ok::<_, Failure>(value.to_string())
    })
    .map_err(PyErr::from)
}

fn cloned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// The keys of a description for `trace_synth`.
#[pyfunction]
pub fn synth_keys() -> String {
    Value::Array(keys_of::<StandIn>().iter().map(key_json).collect()).to_string()
}
