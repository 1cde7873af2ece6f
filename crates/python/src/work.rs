//! Runs and preconditioning, from text to documents.

use crate::aged::{read_snapshot, Aged};
use crate::drawing::{cut_of, told, Drawn, Opened, Wanted};
use crate::failure::Failure;
use crate::given::{open, Given};
use crate::guest::Guests;
use crate::load::Spec;
use crate::memory::fits_memory;
use crate::pacer::{looks, Pacer};
use crate::progress::Reporter;
use crate::tables;
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{json, Value};
use std::io::ErrorKind;
use std::path::Path;
use wordline_base::Time;
use wordline_drive::array::load as array;
use wordline_drive::config::Parts;
use wordline_drive::precondition::{precondition as age, Preconditioned};
use wordline_drive::result::{document, About};
use wordline_drive::run::{run_measured, Ended, Progress, RunError, Watch};
use wordline_drive::snapshot::{self, Header, SnapshotError};
use wordline_drive::streams::Streams;
use wordline_drive::timeline::Cut;
use wordline_drive::{fio_json, Drive, DriveConfig, Judged};
use wordline_settings::{Loaded, Origin};
use wordline_tables::Facts;
use wordline_workload::{system_words, Load};

/// Seed of a run that names none.
pub const SEED: u64 = 42;

/// Reads and checks a drive.
pub fn read_drive(drive: &str, sets: &[String], guests: &Guests) -> Result<(Loaded<DriveConfig>, Parts), Failure> {
    if drive.is_empty() {
        return Err(Failure::Input("the name of the drive is empty; give a preset or a TOML file".into()));
    }
    if array::is_array(drive) {
        return Err(Failure::Input(format!(
            "{drive}: this is an array of drives, and here is place for one drive alone: an array has no snapshot, and is not \
             served as a disk"
        )));
    }
    wordline_drive::load::load_with(drive, sets, &guests.makers).map_err(Failure::input)
}

/// Makes a drive that was read and checked, if this machine can hold it.
pub fn make_drive(drive: &str, loaded: &Loaded<DriveConfig>, parts: &Parts, seed: u64) -> Result<Drive, Failure> {
    fits_memory(parts)?;
    let made = wordline_drive::load::make(loaded, drive, seed).map_err(Failure::input)?;
    // Better reported now than by its first workload. An interrupt instead ends that workload, which then reports its
    // progress.
    let complaint = made.kernel().complaint().filter(|fault| !fault.is_interrupt());
    complaint.map_or(Ok(()), |fault| Err(Failure::from(fault)))?;
    Ok(made)
}

/// Requested outputs of a run besides its result, and their detail.
pub struct Asked<'a> {
    /// A timeline.
    pub timeline: Option<&'a Wanted<'a>>,
    /// Tables.
    pub tables: Option<&'a tables::Asked>,
    /// The figures of each job in fio's form.
    pub job_by_job: bool,
    /// Latency breakdown of requests.
    pub split: bool,
    /// Somebody who watches it live: his function, and the pace, in simulated seconds a second.
    pub watch: Option<(&'a Py<PyAny>, f64)>,
}

/// Runs a workload on a drive and gives the result document.
#[allow(clippy::too_many_arguments)] // Those of the command, one to one.
pub fn run(
    drive: &str,
    load: &Given,
    sets: &[String],
    load_sets: &[String],
    seed: Option<u64>,
    snapshot: Option<&str>,
    aged: Option<&Aged>,
    progress: Py<PyAny>,
    asked: &Asked<'_>,
    guests: &Guests,
) -> Result<Value, Failure> {
    let Asked { timeline, tables, job_by_job, split, watch } = *asked;
    let seed = seed.unwrap_or(SEED);
    let (loaded, parts) = read_drive(drive, sets, guests)?;
    if let Some(snapshot) = snapshot {
        not_aged_again(&loaded, snapshot)?;
    }
    let spec = load.spec(load_sets)?;
    // Built, opened and checked first, so that errors in drive or workload are reported at once.
    let new = match snapshot {
        None => Some(make_drive(drive, &loaded, &parts, seed)?),
        Some(_) if aged.is_some_and(Aged::is_read) => None,
        Some(_) => fits_memory(&parts).map(|()| None)?,
    };
    let load = open(&spec, parts.logical_bytes(), seed)?;
    let workload = load.description.clone();
    let names: Vec<String> = load.streams.iter().map(|stream| stream.name.clone()).collect();
    let opened = timeline.map(Wanted::open).transpose()?;
    let mut tables = tables.map(|asked| tables::Opened::new(asked, parts.plan())).transpose()?;
    let mut reporter = Reporter::new(progress);
    spec.look(&load, &mut reporter)?;
    let mut streams = if job_by_job { Streams::job_by_job() } else { Streams::default() };
    let start = ThreadTime::now();
    let (mut drive, preconditioned) = match (new, snapshot) {
        (Some(new), _) => prepare(new, &loaded.value, seed, &mut reporter)?,
        (None, snapshot) => {
            let path = Path::new(snapshot.unwrap_or_default());
            let drive = match aged {
                Some(aged) => aged.start(path, &loaded.value, &parts, seed)?,
                None => read_snapshot(path, &loaded.value, seed)?.1,
            };
            (drive, None)
        }
    };
    let prepared = start.elapsed().as_secs_f64();
    let mut partial = preconditioned.as_ref().is_some_and(|done| done.interrupted);
    let (mut left_out, mut measured) = (None, (0, 0));
    let title = &loaded.value.name;
    let mut live = watch.map(|(function, pace)| Pacer::new(function, pace, &drive));
    drive.split_time(split);
    let mut observation = tables.as_mut().map(|tables| tables.start(&mut drive));
    let drawn = if !partial {
        let mut report = |at: Progress| reporter.of_drive("run", at);
        let watch = Watch { observation: observation.as_mut(), onlooker: live.as_mut().map(looks), ..Watch::default() };
        let (ran, drawn) = feed(&mut drive, load, opened, watch, title, &mut report, &mut streams);
        match ran {
            Ok(ended) => {
                (partial, left_out) = (ended.interrupted, ended.left_out);
                measured = (ended.measured_from, ended.measured_to);
            }
            Err(error) => {
                // Its tables show the events before the error.
                observation.into_iter().for_each(|observation| observation.finish(&mut drive));
                tables.map(|tables| tables.finish(facts(&loaded.value, seed, &names, None)));
                return Err(error.into());
            }
        }
        drawn
    } else {
        // Work before the run does not count in its figures.
        drive.start_measuring();
        opened.map(|opened| opened.start(&mut drive, title)?.finish(&mut drive, Some(Cut::Interrupted)))
    };
    observation.into_iter().for_each(|observation| observation.finish(&mut drive));
    let config = &loaded.value;
    if let Some(error) = reporter.error.or_else(|| live.and_then(|live| live.error)) {
        tables.map(|tables| tables.finish(facts(config, seed, &names, None)));
        return Err(Failure::Python(error));
    }
    let about = About { config, parts: &parts, workload: &workload, seed, partial, precondition: preconditioned };
    let mut result = document(&drive, &about);
    add_measured(&mut result, measured, &streams);
    result["cpu_s"] = (start.elapsed().as_secs_f64() - prepared).into();
    result["precondition_cpu_s"] = prepared.into();
    add_origins(&mut result, &loaded, &spec, snapshot.map(Path::new));
    if let Some(trace) = result["workload"].get_mut("trace") {
        trace["left_out"] = json!(left_out);
    }
    if let Some(drawn) = drawn {
        result["timeline"] = told(&drawn);
    }
    if job_by_job {
        let (words, globals) = spec.words();
        result["fio"] = fio_json::document(&streams, &words, &globals);
    }
    if let Some(tables) = tables {
        result["tables"] = tables.finish(facts(config, seed, &names, Some(&result)));
    }
    Ok(result)
}

/// Adds the time span of the figures, and the figures of each job.
pub fn add_measured(result: &mut Value, (from, to): (Time, Time), streams: &Streams) {
    result["measured_from_s"] = (from as f64 / 1e12).into();
    result["measured_to_s"] = (to as f64 / 1e12).into();
    if let Some(jobs) = streams.jobs() {
        result["jobs"] = jobs.document();
    }
    let steady: Vec<Value> = streams.judged().map(|judged| steady_state(&judged)).collect();
    if !steady.is_empty() {
        result["steady_state"] = steady.into();
    }
}

/// A requested steady state, and its result.
fn steady_state(judged: &Judged<'_>) -> Value {
    let steady = judged.steady;
    json!({
        "job": judged.stream,
        "criterion": steady.kind.name(),
        "limit": steady.limit,
        "limit_in_percent": steady.percent,
        "window_s": steady.window as f64 * steady.interval as f64 / 1e12,
        "attained": judged.attained.is_some(),
        "at_s": judged.attained.map(|at| at as f64 / 1e12),
        "measured": judged.measured,
        "iops": judged.values.iter().map(|value| value.0).collect::<Vec<_>>(),
        "bytes_per_s": judged.values.iter().map(|value| value.1).collect::<Vec<_>>(),
    })
}

/// Metadata of tables about their run: its inputs, and its result if it completed.
pub fn facts(config: &DriveConfig, seed: u64, streams: &[String], result: Option<&Value>) -> Facts {
    let resolved = serde_json::to_string(config).unwrap_or_default();
    let digest = result.and_then(|result| result["digest"].as_str()).unwrap_or_default();
    let partial = result.is_none_or(|result| result["partial"] == true);
    let told = |key| result.map_or_else(String::new, |result| result[key].to_string());
    vec![
        ("drive", config.name.clone()),
        ("seed", seed.to_string()),
        ("streams", json!(streams).to_string()),
        ("config_digest", wordline_drive::result::digest_of(&resolved)),
        ("digest", digest.to_owned()),
        ("partial", partial.to_string()),
        ("measured_from_s", told("measured_from_s")),
        ("measured_to_s", told("measured_to_s")),
    ]
}

/// Adds the origins of the run's parts. The path of a trace is reported, but is not part of the workload.
pub fn add_origins(result: &mut Value, drive: &Loaded<DriveConfig>, load: &Spec, snapshot: Option<&Path>) {
    result["snapshot"] = json!(snapshot);
    add_path(result, load);
    result["changes"] = changes(drive);
}

/// Adds the path of a trace.
pub fn add_path(result: &mut Value, load: &Spec) {
    let path =
        load.file.trace.as_ref().filter(|trace| trace.table.is_none()).map(|trace| load.base().join(&trace.file));
    if let Some(trace) = result["workload"].get_mut("trace") {
        trace["path"] = json!(path);
    }
}

/// A drive's resolved configuration with its derived figures.
pub fn described(loaded: &Loaded<DriveConfig>, parts: &Parts) -> Value {
    let origins: serde_json::Map<String, Value> =
        loaded.origins.iter().map(|(key, origin)| (key.clone(), origin.to_string().into())).collect();
    json!({
        "name": loaded.value.name,
        "title": loaded.value.title,
        "source": loaded.value.source,
        "config": loaded.resolved,
        "origins": origins,
        "derived": parts.derived(),
    })
}

/// The part of it that tells what the drive is.
pub fn resolved(loaded: &Loaded<DriveConfig>, parts: &Parts) -> Value {
    json!({"config": loaded.resolved, "derived": parts.derived()})
}

/// Feeds a workload to a drive, and draws a timeline if requested. A failed run leaves a complete timeline, and a
/// failed timeline does not stop the run.
pub fn feed(
    drive: &mut Drive,
    load: Load,
    timeline: Option<Opened>,
    watch: Watch<'_>,
    title: &str,
    report: &mut dyn FnMut(Progress) -> bool,
    streams: &mut Streams,
) -> (Result<Ended, RunError>, Option<Drawn>) {
    match timeline.map(|opened| opened.start(drive, title)) {
        Some(Ok(mut recording)) => {
            let Watch { observation, onlooker, .. } = watch;
            let watch = Watch { recording: Some(&mut recording), observation, onlooker, ..Watch::default() };
            let ran = run_measured(drive, load, report, watch, streams);
            let drawn = recording.finish(drive, cut_of(&ran));
            (ran, Some(drawn))
        }
        Some(Err(error)) => (run_measured(drive, load, report, watch, streams), Some(Err(error))),
        None => (run_measured(drive, load, report, watch, streams), None),
    }
}

/// A drive from a snapshot is already preconditioned; new settings of preconditioning would have no effect.
pub fn not_aged_again(loaded: &Loaded<DriveConfig>, snapshot: &str) -> Result<(), Failure> {
    let asked = loaded.origins.iter().find_map(|(key, origin)| match origin {
        Origin::Set(set) if key.starts_with("precondition.") => Some(set),
        _ => None,
    });
    asked.map_or(Ok(()), |set| {
        Err(Failure::Input(format!(
            "--set {set}: with --from {snapshot} the drive starts as the snapshot left it and is not preconditioned again; \
             omit one of the two"
        )))
    })
}

/// A new drive at the start of the run.
pub fn prepare(
    mut drive: Drive,
    config: &DriveConfig,
    seed: u64,
    reporter: &mut Reporter,
) -> Result<(Drive, Option<Preconditioned>), Failure> {
    let wanted = &config.precondition;
    if !wanted.writes() {
        return Ok((drive, None));
    }
    let done = age(&mut drive, wanted, seed, &mut |at| reporter.of_drive("precondition", at))?;
    Ok((drive, Some(done)))
}

/// Keys that the user set on top of a preset.
pub fn changes(loaded: &Loaded<DriveConfig>) -> Value {
    let of_user = loaded.origins.iter().filter(|(_, origin)| !origin.to_string().starts_with("drives/"));
    let list: Vec<Value> = of_user
        .map(|(key, origin)| {
            let value = key.split('.').fold(&loaded.resolved, |value, part| &value[part]);
            json!({"key": key, "value": value, "origin": origin.to_string()})
        })
        .collect();
    Value::Array(list)
}

/// Preconditions a drive and writes a snapshot of it to `out`; messages call it `shown`.
#[allow(clippy::too_many_arguments)] // Those of the command, one to one.
pub fn precondition(
    drive: &str,
    sets: &[String],
    seed: Option<u64>,
    out: &Path,
    shown: &Path,
    progress: Py<PyAny>,
    guests: &Guests,
) -> Result<Value, Failure> {
    let seed = seed.unwrap_or(SEED);
    let (loaded, parts) = read_drive(drive, sets, guests)?;
    let new = make_drive(drive, &loaded, &parts, seed)?;
    let mut reporter = Reporter::new(progress);
    let (aged, done) = prepare(new, &loaded.value, seed, &mut reporter)?;
    if let Some(error) = reporter.error {
        return Err(Failure::Python(error));
    }
    let done = done.ok_or_else(|| {
        Failure::Input(format!(
            "{drive}: no preconditioning is set in [precondition]; set an option, as in --set precondition.fill=true"
        ))
    })?;
    let header = header(&loaded.value, seed, &done).map_err(|error| Failure::Run(error.to_string()))?;
    if done.interrupted {
        return Ok(json!({"precondition": done, "state_bytes": 0, "partial": true}));
    }
    let bytes = snapshot::save(out, &header, &aged).map_err(|error| unwritten(shown, error))?;
    Ok(json!({
        "precondition": done,
        "state_bytes": parts.derived().state_bytes,
        "file_bytes": bytes,
        "write_amplification": done.write_amplification,
        "free_blocks": aged.kernel().blocks().free_blocks(),
        "seed": seed,
        "partial": false,
    }))
}

/// The header of a drive's snapshot.
pub fn header(config: &DriveConfig, seed: u64, preconditioned: &impl Serialize) -> serde_json::Result<Header> {
    Ok(Header {
        version: env!("CARGO_PKG_VERSION").into(),
        config: serde_json::to_value(config)?,
        seed,
        precondition: serde_json::to_value(preconditioned)?,
    })
}

/// Error of writing a snapshot to the user's path `shown`.
pub fn unwritten(shown: &Path, error: SnapshotError) -> Failure {
    let SnapshotError::Io { error, .. } = error else { return Failure::input(error) };
    let words = match error.kind() {
        ErrorKind::NotFound => "the directory does not exist; create it first".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => system_words(&error),
    };
    Failure::Run(format!("{}: the snapshot cannot be written: {words}", shown.display()))
}
