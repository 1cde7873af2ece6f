//! Drives served as disks.

use crate::aged;
use crate::desk::{Desk, Served};
use crate::failure::Failure;
use crate::guest::Guests;
use crate::memory;
use crate::progress::Reporter;
use crate::work;
use cpu_time::ThreadTime;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, SystemTime};
use wordline_disk::store::{self, Kind};
use wordline_disk::{
    Address, Closed, Control, Entry, Keys, Listener, Offer, Options, Pace, Recorder, Server, State, Status,
};
use wordline_drive::result::{document, About};
use wordline_drive::run::RunError;
use wordline_drive::snapshot::Header;
use wordline_drive::streams::Streams;
use wordline_drive::Drive;
use wordline_workload::{system_words, OutputFormat, TraceWriter, WriteOptions};

/// Between two looks at signals, and between two reports.
const EVERY: Duration = Duration::from_millis(100);

/// What to serve, as the command says it.
#[derive(Deserialize)]
struct Plan {
    exports: Vec<Wanted>,
    /// A Unix socket; if there is none, `tcp`.
    socket: Option<PathBuf>,
    tcp: Option<String>,
    /// Serve over TLS only, with the keys in this file.
    tls_psk: Option<PathBuf>,
    /// Simulated seconds in a second; none for no delay.
    pace: Option<f64>,
    low_cpu: bool,
}

/// An export.
#[derive(Deserialize)]
struct Wanted {
    name: String,
    drive: String,
    sets: Vec<String>,
    seed: Option<u64>,
    snapshot: Option<PathBuf>,
    /// Where its state is kept from one server to the next, and the user's name of that.
    state: Option<PathBuf>,
    store: String,
    /// The file for its trace, and the user's name of that.
    record: Option<(PathBuf, String)>,
}

/// What an export has beside its drive.
struct Kept {
    snapshot: Option<PathBuf>,
    store: Kind,
    state: Option<State>,
}

/// Serves until an interrupt; gives the results as a JSON list.
pub fn serve(plan: &str, progress: Py<PyAny>, ready: &Py<PyAny>, status: &Py<PyAny>) -> Result<String, Failure> {
    let plan: Plan = serde_json::from_str(plan).map_err(Failure::input)?;
    let guests = Guests::new(None)?;
    let keys = plan.tls_psk.as_deref().map(Keys::read).transpose().map_err(Failure::Input)?;
    let address = match (&plan.socket, &plan.tcp) {
        (Some(path), _) => Address::Unix(path.clone()),
        (None, tcp) => Address::tcp(tcp.as_deref().unwrap_or_default(), keys.is_some()).map_err(Failure::Input)?,
    };
    let listener = Listener::bind(&address).map_err(Failure::Input)?;
    let mut reporter = Reporter::new(progress);
    let (mut offers, mut served, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in &plan.exports {
        let (offer, drive, beside) = open(wanted, &guests, &mut reporter)?;
        offers.push(offer);
        served.push(drive);
        kept.push(beside);
    }
    let pace = plan.pace.map_or(Pace::Jump, Pace::Wall);
    let users = keys.as_ref().map(|keys| keys.users().to_vec());
    let options = Options { pace, low_cpu: plan.low_cpu, keep_requests: false, keys };
    let stores: Vec<&Kind> = kept.iter().map(|kept: &Kept| &kept.store).collect();
    let states: Vec<Option<&State>> = kept.iter().map(|kept: &Kept| kept.state.as_ref()).collect();
    let mut told = ready_words(&listener.address(), &offers, &stores, &states);
    told["tls_users"] = json!(users);
    let told = told.to_string();
    for state in kept.iter_mut().filter_map(|kept| kept.state.as_mut()) {
        state.begin().map_err(Failure::Run)?;
    }
    let server = Server::new(listener, offers, options).map_err(Failure::Run)?;
    let control = server.control();
    let desk = Desk::new(control.clone(), served);
    let own = desk.clone();
    let desk = Python::attach(|py| Py::new(py, desk)).map_err(Failure::Python)?;
    let work = move || {
        let start = ThreadTime::now();
        let closed = server.run();
        (closed, start.elapsed().as_secs_f64())
    };
    let thread = Builder::new().name("wordline-disk".into()).spawn(work).map_err(|e| Failure::Run(e.to_string()))?;
    let watched = watch(&control, &thread, (&told, desk), ready, status);
    control.stop();
    let (closed, cpu_s) = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    let exports = closed.len() as f64;
    // However watching ended, drives that are at rest are saved.
    let results: Vec<Value> = own
        .into_served()
        .into_iter()
        .zip(kept)
        .zip(closed)
        .map(|(of, closed)| result(of, closed, cpu_s / exports))
        .collect();
    watched?;
    Ok(Value::Array(results).to_string())
}

/// Opens what an export needs, and ages its drive.
fn open(wanted: &Wanted, guests: &Guests, reporter: &mut Reporter) -> Result<(Offer, Served, Kept), Failure> {
    let seed = wanted.seed.unwrap_or(work::SEED);
    let (loaded, parts) = work::read_drive(&wanted.drive, &wanted.sets, guests)?;
    if let Some(snapshot) = &wanted.snapshot {
        work::not_aged_again(&loaded, &snapshot.display().to_string())?;
    }
    let kind = Kind::parse(&wanted.store).map_err(Failure::Input)?;
    let store = store::open(&kind, parts.logical_bytes()).map_err(Failure::Input)?;
    let state = wanted.state.as_deref().map(State::open).transpose().map_err(Failure::Input)?;
    let kept = state.as_ref().filter(|state| state.saved_at().is_some()).map(|state| state.path().to_owned());
    // A drive that has a state goes on from there, however it started once.
    let snapshot = kept.or_else(|| wanted.snapshot.clone());
    let recorder = wanted.record.as_ref().map(|(path, name)| record(path, name)).transpose()?;
    let (drive, preconditioned) = match &snapshot {
        Some(path) => {
            memory::fits_memory(&parts)?;
            (aged::read_snapshot(path, &loaded.value, seed)?.1, None)
        }
        None => {
            let new = work::make_drive(&wanted.drive, &loaded, &parts, seed)?;
            work::prepare(new, &loaded.value, seed, reporter)?
        }
    };
    if let Some(error) = reporter.error.take() {
        return Err(Failure::Python(error));
    }
    if preconditioned.as_ref().is_some_and(|done| done.interrupted) {
        return Err(Failure::Python(PyKeyboardInterrupt::new_err(())));
    }
    let entry = Entry { name: wanted.name.clone(), description: loaded.value.title.clone(), bytes: 0 };
    let offer = Offer { entry, drive, store, recorder };
    let (drive, sets) = (wanted.drive.clone(), wanted.sets.clone());
    let served =
        Served { name: wanted.name.clone(), drive, sets, loaded, parts, seed, preconditioned, swaps: Vec::new() };
    Ok((offer, served, Kept { snapshot, store: kind, state }))
}

/// A trace: a table for a name that ends in `.parquet`, else CSV, which both keep all that clients ask for.
fn record(path: &Path, name: &str) -> Result<Recorder, Failure> {
    let table = [".parquet", ".pq"].iter().any(|ending| name.to_lowercase().ends_with(ending));
    let format = if table { OutputFormat::Parquet } else { OutputFormat::Csv };
    let note = Some("recorded by wordline serve".to_owned());
    let options = WriteOptions { format, drop: false, round: false, note };
    TraceWriter::create(Some(path), name, options).map(Recorder::new).map_err(Failure::input)
}

fn ready_words(address: &Address, offers: &[Offer], stores: &[&Kind], states: &[Option<&State>]) -> Value {
    let words = |((offer, store), state): ((&Offer, &&Kind), &Option<&State>)| {
        let Entry { name, description, .. } = &offer.entry;
        let bytes = offer.drive.logical_bytes();
        json!({"name": name, "title": description, "bytes": bytes, "store": store.name(), "state": state.map(state_words)})
    };
    let exports: Vec<Value> = offers.iter().zip(stores).zip(states).map(words).collect();
    let (socket, tcp) = match address {
        Address::Unix(path) => (Some(path), None),
        Address::Tcp(address) => (None, Some(address.to_string())),
    };
    json!({"socket": socket, "tcp": tcp, "exports": exports})
}

/// The state that a drive goes on from: when it was saved, in seconds since 1970, and whether more has happened to the drive since.
fn state_words(state: &State) -> Value {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    json!({"path": state.path(), "saved_s": state.saved_at().map(since), "behind": state.is_behind()})
}

/// Saves the state of a drive that is at rest; gives what the result says of it.
fn keep(state: State, header: serde_json::Result<Header>, drive: &Drive, failed: bool) -> Value {
    let (path, loaded, behind) = (state.path().to_owned(), state.saved_at().is_some(), state.is_behind());
    let saved = match header {
        _ if failed => Err(format!("{}: the state of a drive that failed is not saved", path.display())),
        Ok(header) => state.save(&header, drive),
        Err(error) => Err(error.to_string()),
    };
    let (bytes, error) = saved.map_or_else(|error| (None, Some(error)), |bytes| (Some(bytes), None));
    json!({"path": path, "loaded": loaded, "behind": behind, "saved_bytes": bytes, "error": error})
}

/// Tells that the server is ready and how it does, until an interrupt or its end.
fn watch(
    control: &Control,
    thread: &JoinHandle<(Vec<Closed>, f64)>,
    (told, desk): (&str, Py<Desk>),
    ready: &Py<PyAny>,
    status: &Py<PyAny>,
) -> Result<(), Failure> {
    let mut next = Python::attach(|py| {
        py.check_signals()?;
        ready.call1(py, (told, desk)).map(drop)
    });
    while next.is_ok() && !thread.is_finished() {
        std::thread::sleep(EVERY);
        next = Python::attach(|py| {
            py.check_signals()?;
            status.call1(py, (status_words(&control.status()),)).map(drop)
        });
    }
    next.or_else(|error| {
        // An interrupt is how a server ends.
        let interrupt = Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py));
        if interrupt {
            Ok(())
        } else {
            Err(Failure::Python(error))
        }
    })
}

fn status_words(status: &Status) -> String {
    json!({
        "clients": status.clients,
        "requests": status.requests,
        "errors": status.errors,
        "read_bytes": status.bytes[0],
        "written_bytes": status.bytes[1],
        "late_p50_us": status.late_us.0,
        "late_p99_us": status.late_us.1,
        "lag_us": status.lag_us,
        "failed": status.failed,
    })
    .to_string()
}

/// The result of an export: that of a run, and how it was served.
fn result((served, kept): (Served, Kept), closed: Closed, cpu_s: f64) -> Value {
    let Served { loaded, parts, seed, preconditioned, swaps, .. } = served;
    let Kept { snapshot, store, state } = kept;
    let Closed { drive, mut live, recorded, fault, unsaved, .. } = closed;
    let workload = json!({"live": live["export"]});
    let header = work::header(&loaded.value, seed, &preconditioned);
    let kept = state.map(|state| keep(state, header, &drive, fault.is_some()));
    let about = About {
        config: &loaded.value,
        parts: &parts,
        workload: &workload,
        seed,
        partial: fault.is_some(),
        precondition: preconditioned,
    };
    let mut result = document(&drive, &about);
    let end = span(&drive);
    work::add_measured(&mut result, (0, end), &Streams::default());
    result["cpu_s"] = cpu_s.into();
    result["snapshot"] = json!(snapshot);
    result["changes"] = work::changes(&loaded);
    live["swaps"] = swaps.into();
    live["store"] = store.name().into();
    live["state"] = json!(kept);
    live["store_path"] = json!(store.path());
    live["fault"] = json!(fault.map(|fault| RunError::from(fault).to_string()));
    live["unsaved"] = json!(unsaved.map(|error| system_words(&error)));
    live["recorded"] = match recorded {
        None => Value::Null,
        Some(Ok(written)) => json!({"requests": written.requests, "error": null}),
        Some(Err(error)) => json!({"requests": null, "error": error.to_string()}),
    };
    result["live"] = live;
    result
}

fn span(drive: &Drive) -> u64 {
    drive.metrics.end - drive.metrics.start
}
