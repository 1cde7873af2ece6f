//! A LOAD of the command line: a workload file, a job file of fio, or a trace with options.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::progress::{interruptible, Reporter};
use pyo3::exceptions::PyKeyboardInterrupt;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wordline_drive::fio_json::JobWords;
use wordline_settings::Origin;
use wordline_workload::{
    check_meaning, fio_words, FioFile, Load, LoadFile, Place, Reading, TraceOptions, WorkloadError,
};

/// A workload and where its parts were written.
pub struct Spec {
    pub file: LoadFile,
    /// The input of the user.
    name: String,
    origins: BTreeMap<String, Origin>,
    /// True if that is a workload file.
    is_workload: bool,
    /// The jobs as fio has them, of a job file.
    fio: Option<FioFile>,
}

impl Spec {
    /// Reads a LOAD.
    pub fn read(load: &str, sets: &[String]) -> Result<Self, Failure> {
        if load.is_empty() {
            return Err(Failure::Input("the name of the workload is empty; give a trace or a workload file".into()));
        }
        let kind = Kind::of(load);
        if kind == Kind::Jobs {
            return Self::read_jobs(load, sets);
        }
        let is_workload = kind == Kind::Workload;
        let no_presets = |_: &str| None;
        let loaded = if is_workload {
            wordline_settings::load_file::<LoadFile>(Path::new(load), sets, &no_presets, &[])
        } else {
            let text = format!("[trace]\nfile = {}\n", toml::Value::String(load.to_owned()));
            wordline_settings::load_text::<LoadFile>("the command line", &text, None, sets, &no_presets, &[])
        };
        let loaded = loaded.map_err(|e| Failure::Input(as_load_set(&e.to_string())))?;
        let spec = Self { file: loaded.value, name: load.to_owned(), origins: loaded.origins, is_workload, fio: None };
        spec.has_trace_for(sets)?;
        spec.means_something()?;
        Ok(spec)
    }

    /// Every key that was written has to mean something beside the others.
    fn means_something(&self) -> Result<(), Failure> {
        check_meaning(&self.file, &|key| self.origins.contains_key(key)).map_err(|error| self.failure(&error))
    }

    fn read_jobs(load: &str, sets: &[String]) -> Result<Self, Failure> {
        if let Some(set) = sets.iter().find(|set| set.starts_with("trace.")) {
            return Err(Failure::Input(format!(
                "--load-set {set}: this is for a trace, and {load} is a job file of fio"
            )));
        }
        let fio = FioFile::read(Path::new(load), sets).map_err(Failure::input)?;
        let origin = |place: &Place| match place {
            Place::Line(line, column) => Origin::File { name: load.to_owned(), line: *line, column: *column },
            Place::Set(set) => Origin::Set(set.clone()),
        };
        let mut origins = BTreeMap::new();
        for (index, job) in fio.jobs.iter().enumerate() {
            let places = job.places.iter().map(|(key, (_, place))| (format!("job.{index}.{key}"), origin(place)));
            origins.extend(places);
            // An error of a job as a whole is reported at its section.
            origins.insert(format!("job.{index}"), origin(&job.places["name"].1));
        }
        Ok(Self { file: fio.load(), name: load.to_owned(), origins, is_workload: false, fio: Some(fio) })
    }

    /// The jobs as in fio's results, without figures, and the options that hold for all.
    pub fn words(&self) -> (Vec<JobWords>, BTreeMap<String, String>) {
        if let Some(fio) = &self.fio {
            let words = |job: &wordline_workload::FioJob| JobWords {
                title: job.title.clone(),
                options: job.options.clone(),
                percentiles: job.percentiles.clone(),
            };
            return (fio.jobs.iter().map(words).collect(), fio.globals.clone());
        }
        let words = |(index, job): (usize, &wordline_workload::JobOptions)| {
            let prefix = format!("job.{index}.");
            let value = serde_json::to_value(job).unwrap_or_default();
            let keys = self.origins.keys().filter_map(|key| key.strip_prefix(&prefix));
            let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let options = keys.map(|key| (key.to_owned(), text(&value[key]))).collect();
            let title = job.name.clone().unwrap_or_else(|| format!("job{index}"));
            JobWords { title, options, percentiles: Vec::new() }
        };
        (self.file.job.iter().enumerate().map(words).collect(), BTreeMap::new())
    }

    /// Reads the text of a workload file that is in no file; `name` stands for it in messages.
    pub fn text(name: &str, text: &str, sets: &[String]) -> Result<Self, Failure> {
        let loaded = wordline_settings::load_text::<LoadFile>(name, text, None, sets, &|_| None, &[])
            .map_err(|error| Failure::Input(as_load_set(&error.to_string())))?;
        let is_workload = name.ends_with(".toml");
        let spec = Self { file: loaded.value, name: name.to_owned(), origins: loaded.origins, is_workload, fio: None };
        spec.means_something()?;
        Ok(spec)
    }

    /// The workload for another process, without a table in memory.
    pub fn packed(&self) -> serde_json::Result<String> {
        serde_json::to_string(&(&self.name, &self.file, &self.origins, self.is_workload))
    }

    /// The workload from another process. Fio's own words are omitted: only the command reports them.
    pub fn unpacked(text: &str) -> Result<Self, Failure> {
        let (name, file, origins, is_workload) = serde_json::from_str(text).map_err(Failure::input)?;
        Ok(Self { file, name, origins, is_workload, fio: None })
    }

    /// This workload and another side by side.
    pub fn beside(&self, other: &Self) -> Result<Self, Failure> {
        let placed = |spec: &Self| {
            let mut trace = spec.file.trace.clone()?;
            trace.file = spec.base().join(&trace.file);
            Some(trace)
        };
        let trace = match (placed(self), placed(other)) {
            (Some(_), Some(_)) => {
                return Err(Failure::Input("both workloads have a trace, and only one can be replayed".into()));
            }
            (mine, theirs) => mine.or(theirs),
        };
        let runtime_s = match (self.file.runtime_s, other.file.runtime_s) {
            (Some(mine), Some(theirs)) if mine != theirs => {
                return Err(Failure::Input(format!(
                    "the workloads have different time limits: runtime_s = {mine} and {theirs}"
                )));
            }
            (mine, theirs) => mine.or(theirs),
        };
        let job = [&self.file.job[..], &other.file.job[..]].concat();
        let name = "the workloads together".to_owned();
        let file = LoadFile { trace, job, runtime_s };
        Ok(Self { file, name, origins: BTreeMap::new(), is_workload: false, fio: None })
    }

    /// Summary of its trace.
    pub fn info(&self) -> Result<Value, Failure> {
        let (path, options) = self.trace()?;
        let name = options.file.clone();
        let info = interruptible(move || wordline_workload::info(&path, &options))?;
        let info = info.map_err(|error| self.failure(&error))?;
        let mut value = serde_json::to_value(&info).map_err(|error| Failure::Run(error.to_string()))?;
        value["file"] = json!(name);
        Ok(value)
    }

    /// Its trace: path and options.
    pub fn trace(&self) -> Result<(PathBuf, TraceOptions), Failure> {
        let Some(trace) = self.file.trace.clone() else {
            return Err(Failure::Input(format!("{}: a workload without a [trace]", self.name)));
        };
        Ok((self.base().join(&trace.file), trace))
    }

    /// Options for a trace need a trace.
    fn has_trace_for(&self, sets: &[String]) -> Result<(), Failure> {
        let mut written = self.origins.iter().filter(|(key, _)| key.starts_with("trace."));
        if self.file.trace.is_none() || written.any(|(_, origin)| matches!(origin, Origin::File { .. })) {
            return Ok(());
        }
        match sets.iter().find(|set| set.trim_start().starts_with("trace")) {
            Some(set) if !self.origins.contains_key("trace.file") => Err(Failure::Input(format!(
                "--load-set {set}: this is for a trace, and {} has no [trace]; trace.file would have to name one",
                self.name
            ))),
            _ => Ok(()),
        }
    }

    /// The folder for relative trace names of a workload file.
    pub fn base(&self) -> PathBuf {
        let parent = if self.is_workload { Path::new(&self.name).parent() } else { None };
        parent.map_or_else(PathBuf::new, Path::to_path_buf)
    }

    /// Reads the traces of `load` once, for errors that a replay would report.
    pub fn look(&self, load: &Load, reporter: &mut Reporter) -> Result<(), Failure> {
        let mut watch = |at: Reading| reporter.report("look at the trace", Some(at.fraction), at.requests, 0.0);
        let whole = load.look(&mut watch).map_err(|error| self.failure(&error))?;
        match (whole, reporter.error.take()) {
            (true, _) => Ok(()),
            (false, Some(error)) => Err(Failure::Python(error)),
            (false, None) => Err(Failure::Python(PyKeyboardInterrupt::new_err(()))),
        }
    }

    /// Error of the workload, with its place.
    pub fn failure(&self, error: &WorkloadError) -> Failure {
        if let (Some(fio), WorkloadError::Option { key, value, problem }) = (&self.fio, error) {
            return self.job_failure(fio, key, value, problem);
        }
        let place = match error {
            WorkloadError::Option { key, .. } => self.place(&self.written(key)),
            // The name of a trace is its place.
            WorkloadError::Io { .. } if self.is_workload => self.place("trace.file"),
            _ => None,
        };
        match place {
            Some(place) => Failure::Input(format!("{place}: {error}")),
            None => Failure::input(error),
        }
    }

    /// The same, in the terms of a job file.
    fn job_failure(&self, fio: &FioFile, key: &str, value: &str, problem: &str) -> Failure {
        let written = self.written(key);
        let index = |part: &str| part.parse::<usize>().ok();
        let parts = written.strip_prefix("job.").and_then(|rest| rest.split_once('.'));
        let job = parts.and_then(|(number, option)| Some((fio.jobs.get(index(number)?)?, number, option)));
        let Some((job, number, option)) = job else {
            return Failure::Input(format!("{}: {key} = {value}: {problem}", self.name));
        };
        let word = job.places.get(option).map_or(option, |(word, _)| word);
        let place = self.place(&written).filter(|_| self.origins.contains_key(&written));
        let place = place.or_else(|| self.place(&format!("job.{number}"))).unwrap_or_else(|| self.name.clone());
        let problem = fio_words(problem);
        Failure::Input(format!("{place}: [{}] {word}={}: {problem}", job.title, value.trim_matches('"')))
    }

    /// A key with the number of its job: messages name jobs, files number them.
    fn written(&self, key: &str) -> String {
        let named = |(index, job): (usize, &wordline_workload::JobOptions)| {
            let name = job.name.clone().unwrap_or_else(|| format!("job{index}"));
            let option = key.strip_prefix("job.")?.strip_prefix(&*name)?.strip_prefix('.')?;
            Some(format!("job.{index}.{option}"))
        };
        self.file.job.iter().enumerate().find_map(named).unwrap_or_else(|| key.to_owned())
    }

    fn place(&self, key: &str) -> Option<String> {
        match self.origins.get(key) {
            Some(origin) => Some(as_load_set(&origin.to_string())),
            None => self.is_workload.then(|| self.name.clone()),
        }
    }
}

/// Overrides of the workload have an option of their own.
fn as_load_set(text: &str) -> String {
    text.replace("--set ", "--load-set ")
}
