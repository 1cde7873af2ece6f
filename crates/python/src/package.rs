//! A single package.

use crate::drawing::{told, Wanted};
use crate::failure::Failure;
use crate::progress::Reporter;
use pyo3::prelude::*;
use serde_json::{json, Value};
use wordline_flash::unit::{self, Experiment, UnitError};
use wordline_nand::chain::{self, Cycle, Times, OPERATIONS};
use wordline_nand::interface::Interface;

/// Runs an experiment given as JSON.
pub fn run(experiment: &str, progress: Py<PyAny>, timeline: Option<&Wanted<'_>>) -> Result<String, Failure> {
    let reader = &mut serde_json::Deserializer::from_str(experiment);
    let experiment: Experiment =
        serde_path_to_error::deserialize(reader).map_err(|error| Failure::Input(wrong(&error)))?;
    let mut reporter = Reporter::new(progress);
    let opened = timeline.map(Wanted::open).transpose()?;
    let mut report = |share| reporter.report("package", Some(share), 0, 0.0);
    let (outcome, drawn) = match opened {
        Some(opened) => opened.run(&experiment, report),
        None => (unit::run(&experiment, &mut report), None),
    };
    if let Some(error) = reporter.error {
        return Err(Failure::Python(error));
    }
    match outcome {
        Ok(outcome) => {
            let mut document = serde_json::to_value(&outcome).map_err(|error| Failure::Run(error.to_string()))?;
            if let Some(drawn) = drawn {
                document["timeline"] = told(&drawn);
            }
            Ok(document.to_string())
        }
        Err(UnitError::Interrupted) => Err(Failure::Python(pyo3::exceptions::PyKeyboardInterrupt::new_err(()))),
        Err(error @ UnitError::Illegal(_)) => Err(Failure::Run(error.to_string())),
        Err(error) => Err(Failure::input(error)),
    }
}

/// An error in an experiment, with its key. A position in the text would mean nothing to a user who gave a dictionary.
fn wrong(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (path, text) = (error.path().to_string(), error.inner().to_string());
    let told = text.rsplit_once(" at line ").map_or(text.as_str(), |(told, _)| told);
    let told = told.replace("missing field", "it lacks the key");
    if path == "." {
        format!("the experiment: {told}")
    } else {
        format!("{path}: {told}")
    }
}

/// The table of chains, for the reference.
pub fn chains() -> Value {
    let segments: Vec<Value> = chain::ALL
        .iter()
        .map(|segment| {
            let spec = segment.spec();
            let cycles: Vec<String> = spec.cycles.iter().map(|&cycle| cycle_name(cycle)).collect();
            json!({ "id": format!("{segment:?}"), "name": spec.name, "cycles": cycles, "busy": busy_name(spec.busy) })
        })
        .collect();
    let operations: Vec<Value> = OPERATIONS
        .iter()
        .map(|operation| {
            let chain: Vec<Value> = operation
                .chain
                .iter()
                .map(|&(segment, times)| json!({ "segment": segment.spec().name, "times": times_name(times) }))
                .collect();
            json!({ "name": operation.name, "chain": chain })
        })
        .collect();
    json!({ "segments": segments, "operations": operations, "modes": modes() })
}

/// The timing modes of the interfaces, in nanoseconds.
fn modes() -> Vec<Value> {
    let ns = |time: u64| time as f64 / 1e3;
    let mode = |name: &str, mode: &wordline_nand::interface::Mode| {
        json!({
            "interface": name,
            "rate_mt_s": mode.rate_mt_s,
            "latch": ns(mode.latch_cycle),
            "data in": ns(mode.write_cycle),
            "data out": ns(mode.read_cycle),
            "tADL": ns(mode.t_adl),
            "tWB": ns(mode.t_wb),
            "tRR": ns(mode.t_rr),
            "tCCS": ns(mode.t_ccs),
            "tWHR": ns(mode.t_whr),
        })
    };
    Interface::ALL
        .iter()
        .flat_map(|(interface, name)| interface.modes().iter().map(|m| mode(name, m)).collect::<Vec<_>>())
        .collect()
}

fn cycle_name(cycle: Cycle) -> String {
    match cycle {
        Cycle::Command(byte) => format!("{byte:02X}h"),
        Cycle::PageAddress => "page address".into(),
        Cycle::BlockAddress => "row address".into(),
        Cycle::ColumnAddress => "column address".into(),
        Cycle::ByteAddress => "address byte".into(),
        Cycle::DataIn => "data in".into(),
        Cycle::DataOut => "data out".into(),
        Cycle::Tadl => "tADL".into(),
        Cycle::Twb => "tWB".into(),
        Cycle::Trr => "tRR".into(),
        Cycle::Tccs => "tCCS".into(),
        Cycle::Twhr => "tWHR".into(),
    }
}

fn busy_name(busy: chain::Busy) -> &'static str {
    use chain::Busy;
    match busy {
        Busy::Dummy => "tDBSY",
        Busy::Read => "tR",
        Busy::ReadCache => "tRCBSY",
        Busy::Program => "tPROG",
        Busy::ProgramCache => "tCBSY",
        Busy::Erase => "tBERS",
        Busy::Suspend => "time to suspend",
        Busy::Resume => "time to resume, and the rest of the operation",
        Busy::Reset => "tRST",
        Busy::Feature => "tFEAT",
        Busy::Idle => "",
    }
}

fn times_name(times: Times) -> &'static str {
    match times {
        Times::Once => "once",
        Times::EachPlane => "for each plane",
        Times::EachPlaneButLast => "for each plane but the last",
        Times::EachFurtherPage => "for each further page",
        Times::EachPageButLast => "for each page but the last",
    }
}
