//! Workloads without time, from text to documents.

use crate::aged;
use crate::failure::Failure;
use crate::given::{open, Given};
use crate::guest::Guests;
use crate::load::Spec;
use crate::memory;
use crate::progress::Reporter;
use crate::work::{self, SEED};
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use wordline_drive::result::About;
use wordline_drive::run::Progress;
use wordline_drive::untimed::{self, Ending, Times, Untimed, UntimedError};
use wordline_drive::{snapshot, Drive, DriveConfig};

impl From<UntimedError> for Failure {
    fn from(error: UntimedError) -> Self {
        match error {
            UntimedError::Fault(fault) => fault.into(),
            error => Self::input(error),
        }
    }
}

/// How often a workload is carried out, if the drive can do that: nothing stands for the end of its life.
pub fn times(drive: &str, config: &DriveConfig, times: Option<u64>) -> Result<Times, Failure> {
    let endless = config.nand.reliability.endurance == 0;
    match times {
        Some(0) => Err(Failure::Input("a workload is carried out at least once; give a number from 1".into())),
        Some(times) => Ok(Times::Number(times)),
        None if endless => Err(Failure::Input(format!(
            "{drive}: nand.reliability.endurance = 0: its blocks never wear out, so its life has no end; give the P/E cycles that a \
             block endures, as in nand.reliability.endurance=3000, or a number of times"
        ))),
        None => Ok(Times::ToTheEnd),
    }
}

/// Carries a workload out on a drive.
pub fn carry_out(
    drive: &mut Drive,
    spec: &Spec,
    seed: u64,
    times: Times,
    reporter: &mut Reporter,
) -> Result<Untimed, Failure> {
    let bytes = drive.logical_bytes();
    let mut report = |at: Progress| reporter.of_drive("replay", at);
    untimed::carry_out(drive, times, &mut || open(spec, bytes, seed), &mut report)
}

/// Why a drive cannot go on after this, if it cannot.
pub fn story(done: &Untimed) -> Option<String> {
    match &done.ending {
        Ending::EndOfLife(fault) => Some(fault.to_string()),
        Ending::Done | Ending::Interrupted => None,
    }
}

/// What the command asks for.
pub struct Asked<'a> {
    /// Times that the workload is carried out; nothing for until the end of life.
    pub times: Option<u64>,
    /// A snapshot to start from.
    pub snapshot: Option<&'a str>,
    /// Where the state is saved at the end, and its name in messages.
    pub save: Option<(PathBuf, PathBuf)>,
}

/// Carries a workload out on a new drive, or on one from a snapshot, and gives the result document.
#[allow(clippy::too_many_arguments)] // Those of the command, one to one.
pub fn replay(
    drive: &str,
    load: &Given,
    sets: &[String],
    load_sets: &[String],
    seed: Option<u64>,
    asked: &Asked<'_>,
    progress: Py<PyAny>,
    guests: &Guests,
) -> Result<Value, Failure> {
    let seed = seed.unwrap_or(SEED);
    let (loaded, parts) = work::read_drive(drive, sets, guests)?;
    let config = &loaded.value;
    let times = times(drive, config, asked.times)?;
    if let Some(snapshot) = asked.snapshot {
        work::not_aged_again(&loaded, snapshot)?;
    }
    let spec = load.spec(load_sets)?;
    // Built, opened and checked first, so that errors in drive or workload are reported at once.
    let new = match asked.snapshot {
        None => Some(work::make_drive(drive, &loaded, &parts, seed)?),
        Some(_) => memory::fits_memory(&parts).map(|()| None)?,
    };
    let opened = open(&spec, parts.logical_bytes(), seed)?;
    let workload = opened.description.clone();
    let mut reporter = Reporter::new(progress);
    spec.look(&opened, &mut reporter)?;
    let start = ThreadTime::now();
    let (mut drive, preconditioned) = match (new, asked.snapshot) {
        (Some(new), _) => work::prepare(new, config, seed, &mut reporter)?,
        (None, snapshot) => (aged::read_snapshot(Path::new(snapshot.unwrap_or_default()), config, seed)?.1, None),
    };
    let prepared = start.elapsed().as_secs_f64();
    if preconditioned.as_ref().is_some_and(|done| done.interrupted) {
        return Err(reporter.error.map_or_else(
            || Failure::Run("interrupted during the preconditioning: nothing was replayed".into()),
            Failure::Python,
        ));
    }
    let done = carry_out(&mut drive, &spec, seed, times, &mut reporter)?;
    if let Some(error) = reporter.error {
        return Err(Failure::Python(error));
    }
    let partial = done.ending == Ending::Interrupted;
    let header = work::header(config, seed, &preconditioned).map_err(|error| Failure::Run(error.to_string()))?;
    let about = About { config, parts: &parts, workload: &workload, seed, partial, precondition: preconditioned };
    let mut result = untimed::document(&drive, &done, times, &about);
    result["cpu_s"] = (start.elapsed().as_secs_f64() - prepared).into();
    result["precondition_cpu_s"] = prepared.into();
    work::add_origins(&mut result, &loaded, &spec, asked.snapshot.map(Path::new));
    if let Some((path, shown)) = &asked.save {
        let saved = story(&done).is_none() && !partial;
        if saved {
            snapshot::save(path, &header, &drive).map_err(|error| work::unwritten(shown, error))?;
        }
        result["saved"] = json!(saved);
    }
    Ok(result)
}
