//! Runs and preconditioning, from texts to documents.

use crate::load;
use crate::progress::Reporter;
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::path::Path;
use wordline_drive::config::Parts;
use wordline_drive::precondition::{precondition as age, Preconditioned};
use wordline_drive::result::{document, About};
use wordline_drive::run::{run as feed, RunError};
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Drive, DriveConfig, Fault};
use wordline_settings::Loaded;
use wordline_workload::Load;

/// Seed of a run that names none.
const SEED: u64 = 42;

/// Why there is no result.
pub enum Failure {
    /// What the user gave is wrong.
    Input(String),
    /// The run could not be carried through.
    Run(String),
    /// The caller's own function failed.
    Python(PyErr),
}

impl Failure {
    pub fn input(error: impl std::fmt::Display) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Fault(_) => Self::Run(error.to_string()),
            RunError::Load(_) | RunError::Request { .. } => Self::input(error),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        RunError::from(fault).into()
    }
}

/// Runs a load on a drive and gives the result document.
pub fn run(
    drive: &str,
    load: &str,
    sets: &[String],
    load_sets: &[String],
    seed: Option<u64>,
    snapshot: Option<&str>,
    progress: Py<PyAny>,
) -> Result<Value, Failure> {
    let seed = seed.unwrap_or(SEED);
    let (loaded, parts) = wordline_drive::load(drive, sets).map_err(Failure::input)?;
    let spec = load::file(load, load_sets)?;
    // Opened before the drive is aged, so that a wrong load is told at once.
    let load = Load::open(&spec, &load::base(load), parts.logical_bytes(), seed).map_err(Failure::input)?;
    let workload = load.description.clone();
    let mut reporter = Reporter::new(progress);
    let start = ThreadTime::now();
    let (mut drive, preconditioned) = prepare(&loaded.value, seed, snapshot, &mut reporter)?;
    let prepared = start.elapsed().as_secs_f64();
    let mut partial = reporter.interrupted;
    if !partial {
        let ended =
            feed(&mut drive, load, &mut |at| reporter.report("run", at.fraction, at.requests, at.time as f64 / 1e12))?;
        partial = ended.interrupted;
    }
    if let Some(error) = reporter.error {
        return Err(Failure::Python(error));
    }
    let config = &loaded.value;
    let about = About { config, parts: &parts, workload: &workload, seed, partial, precondition: preconditioned };
    let mut result = document(&drive, &about);
    result["cpu_s"] = (start.elapsed().as_secs_f64() - prepared).into();
    result["precondition_cpu_s"] = prepared.into();
    result["snapshot"] = json!(snapshot);
    result["changes"] = changes(&loaded);
    Ok(result)
}

/// The drive at the start of the run.
fn prepare(
    config: &DriveConfig,
    seed: u64,
    snapshot: Option<&str>,
    reporter: &mut Reporter,
) -> Result<(Drive, Option<Preconditioned>), Failure> {
    if let Some(path) = snapshot {
        let (_, drive) = snapshot::load(Path::new(path), config, seed).map_err(Failure::input)?;
        return Ok((drive, None));
    }
    let mut drive = Drive::new(config, seed).map_err(Failure::input)?;
    let wanted = &config.precondition;
    if !(wanted.fill || wanted.overwrites > 0.0 || wanted.steady_state) {
        return Ok((drive, None));
    }
    let done = age(&mut drive, wanted, seed, &mut |share| reporter.report("precondition", Some(share), 0, 0.0))?;
    Ok((drive, Some(done)))
}

/// What the user set, beyond what a preset says.
fn changes(loaded: &Loaded<DriveConfig>) -> Value {
    let of_user = loaded.origins.iter().filter(|(_, origin)| !origin.to_string().starts_with("drives/"));
    let list: Vec<Value> = of_user
        .map(|(key, origin)| {
            let value = key.split('.').fold(&loaded.resolved, |value, part| &value[part]);
            json!({"key": key, "value": value, "origin": origin.to_string()})
        })
        .collect();
    Value::Array(list)
}

/// Preconditions a drive and writes a snapshot of it.
pub fn precondition(
    drive: &str,
    sets: &[String],
    seed: Option<u64>,
    out: &Path,
    progress: Py<PyAny>,
) -> Result<Value, Failure> {
    let seed = seed.unwrap_or(SEED);
    let (loaded, parts): (Loaded<DriveConfig>, Parts) = wordline_drive::load(drive, sets).map_err(Failure::input)?;
    let mut reporter = Reporter::new(progress);
    let (drive, done) = prepare(&loaded.value, seed, None, &mut reporter)?;
    if let Some(error) = reporter.error {
        return Err(Failure::Python(error));
    }
    let done = done.ok_or_else(|| {
        Failure::Input("the drive has no [precondition]; say what to do, as in --set precondition.fill=true".into())
    })?;
    let header = Header {
        version: env!("CARGO_PKG_VERSION").into(),
        config: serde_json::to_value(&loaded.value).map_err(|e| Failure::Run(e.to_string()))?,
        seed,
        precondition: serde_json::to_value(&done).map_err(|e| Failure::Run(e.to_string()))?,
    };
    if done.interrupted {
        return Ok(json!({"precondition": done, "state_bytes": 0, "partial": true}));
    }
    let bytes = snapshot::save(out, &header, &drive).map_err(Failure::input)?;
    Ok(json!({
        "precondition": done,
        "state_bytes": parts.derived().state_bytes,
        "file_bytes": bytes,
        "write_amplification": done.write_amplification,
        "free_blocks": drive.kernel().blocks().free_blocks(),
        "seed": seed,
        "partial": false,
    }))
}
