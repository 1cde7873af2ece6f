//! The desk of a server: who sits there looks at its disks while they are served, pauses them, and swaps policies and parameters.

use crate::failure::Failure;
use crate::guest::Guests;
use crate::work;
use pyo3::prelude::*;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wordline_disk::{Control, Refused};
use wordline_drive::config::Parts;
use wordline_drive::precondition::Preconditioned;
use wordline_drive::result::{document, About};
use wordline_drive::{DriveConfig, Task};
use wordline_settings::Loaded;

/// What may change while a disk is served: sections whole, with those of background tasks, and keys of others. The rest is the shape
/// of the drive, or of its data.
const SECTIONS: [&str; 17] = [
    "arbiter",
    "buffer",
    "collect",
    "dispatch",
    "free_block",
    "link",
    "pack",
    "placement",
    "processor",
    "queue",
    "redundancy",
    "shares",
    "slc",
    "suspend",
    "trim",
    "victim",
    "mapping",
];
const NAND: [&str; 13] = [
    "nand.interface",
    "nand.rate_mt_s",
    "nand.read_us",
    "nand.program_us",
    "nand.slc_read_us",
    "nand.slc_program_us",
    "nand.erase_us",
    "nand.suspend_us",
    "nand.resume_us",
    "nand.latency_model",
    "nand.typical_read_us",
    "nand.typical_program_us",
    "nand.spread_percent",
];
/// Keys of such sections that are the shape of the data.
const FIXED: [&str; 3] = ["mapping.policy", "mapping.unit_kib", "collect.scope"];
/// Not a key of the drive: the pace of its time.
const PACE: &str = "pace";
/// The figures of a configuration that stay when the next one comes.
const FIGURES: [&str; 6] = ["simulated_s", "requests", "iops", "bandwidth_mib_s", "latency_us", "write_amplification"];

/// The sections that may change whole.
fn sections() -> impl Iterator<Item = &'static str> {
    let of_tasks = Task::all().filter(|&task| task != Task::HOST && task != Task::GC).map(|task| task.about().name);
    SECTIONS.into_iter().chain(of_tasks)
}

/// True if a key may change while the disk is served.
fn may_change(key: &str) -> bool {
    let in_section = key.split_once('.').is_some_and(|(section, _)| sections().any(|known| known == section));
    !FIXED.contains(&key) && (NAND.contains(&key) || in_section)
}

/// What may change, as words.
fn changeable() -> String {
    let mut all: Vec<String> = sections().filter(|&name| name != "mapping").map(|name| format!("{name}.*")).collect();
    all.extend(NAND.map(String::from));
    all.extend(["mapping.cache_kib".to_owned(), PACE.to_owned()]);
    all.sort();
    format!("{} (but {})", all.join(", "), FIXED[2])
}

/// A drive that is served, as its user described it.
pub struct Served {
    /// The name of the export.
    pub name: String,
    /// Preset or file.
    pub drive: String,
    /// Settings on top of it.
    pub sets: Vec<String>,
    /// What both say.
    pub loaded: Loaded<DriveConfig>,
    /// Its parts.
    pub parts: Parts,
    /// Its seed.
    pub seed: u64,
    /// How it was preconditioned.
    pub preconditioned: Option<Preconditioned>,
    /// Swaps so far, as the result has them.
    pub swaps: Vec<Value>,
}

/// The desk of a server.
#[pyclass(module = "wordline._core", frozen, skip_from_py_object)]
#[derive(Clone)]
pub struct Desk {
    control: Control,
    served: Arc<Mutex<Vec<Served>>>,
    /// The exports, whose order does not change.
    names: Arc<Vec<String>>,
    /// One swap at a time.
    swaps: Arc<Mutex<()>>,
}

impl Desk {
    pub fn new(control: Control, served: Vec<Served>) -> Self {
        let names = Arc::new(served.iter().map(|served| served.name.clone()).collect());
        Self { control, served: Arc::new(Mutex::new(served)), names, swaps: Arc::default() }
    }

    fn served(&self) -> MutexGuard<'_, Vec<Served>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The drives, once the server has ended.
    pub fn into_served(self) -> Vec<Served> {
        let _no_swap = self.swaps.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *self.served())
    }

    fn place(&self, export: &str) -> Result<usize, Failure> {
        let found = self.names.iter().position(|name| name == export);
        found.ok_or_else(|| {
            let names: Vec<String> = self.names.iter().map(|name| format!("'{name}'")).collect();
            Failure::Input(format!("there is no export '{export}'; the exports are: {}", names.join(", ")))
        })
    }

    /// Sets the pace: simulated seconds in a second.
    fn set_pace(&self, text: &str) -> Result<Value, Failure> {
        let pace: f64 = text.parse().unwrap_or(f64::NAN);
        if !(1e-6..=1e6).contains(&pace) {
            let problem = "not a number between 0.000001 and 1,000,000; 1 is real time";
            return Err(Failure::Input(format!("{PACE}={text}: {problem}")));
        }
        self.control.set_pace(pace).map_err(Failure::input)?;
        Ok(json!({"changed": [{"key": PACE, "to": pace}]}))
    }

    /// Swaps the drive of an export for one with other settings.
    fn swap(&self, export: &str, asked: &[String]) -> Result<Value, Failure> {
        let place = self.place(export)?;
        let _one_at_a_time = self.swaps.try_lock().map_err(|_| Failure::input(Refused::Swapping))?;
        let (name, mut sets, seed, before) = {
            let served = self.served();
            let Some(of) = served.get(place) else { return Err(Failure::input(Refused::Ended)) };
            (of.drive.clone(), of.sets.clone(), of.seed, of.loaded.resolved.clone())
        };
        for set in asked {
            make_room(&mut sets, set)?;
        }
        sets.extend_from_slice(asked);
        let guests = Guests::new(None)?;
        let (loaded, parts) = work::read_drive(&name, &sets, &guests)?;
        let changed = changes(&before, &loaded.resolved);
        if let Some(key) = changed.keys().find(|key| !may_change(key)) {
            return Err(Failure::Input(format!(
                "{}: {key} would change with it (the file of the drive may have been edited), and it cannot on a running disk; \
                 these can: {}",
                asked.join(" "),
                changeable()
            )));
        }
        if changed.is_empty() {
            return Ok(json!({"changed": []}));
        }
        let next = work::make_drive(&name, &loaded, &parts, seed)?;
        let swapped = self.control.swap(place, Box::new(next)).map_err(|refused| match refused {
            Refused::Misfit(error) => {
                Failure::Input(format!("{}: the data of the disk do not fit that: {error}", asked.join(" ")))
            }
            refused => Failure::input(refused),
        })?;
        let change = |(key, (was, now)): (&String, &(Value, Value))| json!({"key": key, "from": was, "to": now});
        let mut told = json!({
            "at_s": swapped.at as f64 / 1e12,
            "drained_s": swapped.drained as f64 / 1e12,
            "changed": changed.iter().map(change).collect::<Vec<_>>(),
        });
        {
            let mut served = self.served();
            let Some(of) = served.get_mut(place) else { return Ok(told) };
            told["before"] = figures(&swapped.old, of);
            of.swaps.push(told.clone());
            (of.sets, of.loaded, of.parts) = (sets, loaded, parts);
        }
        drop(swapped.old);
        self.control.settle(place);
        Ok(told)
    }
}

/// Removes earlier settings that a new one, KEY=VALUE, makes void.
fn make_room(sets: &mut Vec<String>, set: &str) -> Result<(), Failure> {
    let Some((key, _)) = set.split_once('=') else {
        return Err(Failure::Input(format!("{set}: give KEY=VALUE, such as victim.policy=fifo")));
    };
    let key = key.trim();
    if key == PACE {
        return Err(Failure::Input(format!(
            "{set}: the pace changes by itself; give the other keys in another command"
        )));
    }
    if !may_change(key) {
        return Err(Failure::Input(format!("{key} cannot change on a running disk; these can: {}", changeable())));
    }
    // Options of a policy go with it.
    let family = key.strip_suffix("policy").filter(|family| family.ends_with('.'));
    let void = |old: &String| {
        let old = old.split('=').next().unwrap_or_default().trim();
        old == key || family.is_some_and(|family| old.starts_with(family))
    };
    sets.retain(|old| !void(old));
    Ok(())
}

/// The figures of a drive whose time is over.
fn figures(old: &wordline_drive::Drive, of: &Served) -> Value {
    let workload = json!({"live": of.name});
    let about = About {
        config: &of.loaded.value,
        parts: &of.parts,
        workload: &workload,
        seed: of.seed,
        partial: false,
        precondition: None,
    };
    let whole = document(old, &about);
    FIGURES.iter().map(|key| ((*key).to_owned(), whole[*key].clone())).collect::<Map<_, _>>().into()
}

/// The keys in which two configurations differ, each with both values.
fn changes(before: &Value, after: &Value) -> BTreeMap<String, (Value, Value)> {
    fn flat(value: &Value, at: &str, into: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let inner = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                flat(value, &inner, into);
            }),
            value => drop(into.insert(at.to_owned(), value.clone())),
        }
    }
    let (mut was, mut now) = (BTreeMap::new(), BTreeMap::new());
    flat(before, "", &mut was);
    flat(after, "", &mut now);
    let keys: std::collections::BTreeSet<&String> = was.keys().chain(now.keys()).collect();
    let of = |map: &BTreeMap<String, Value>, key: &String| map.get(key).cloned().unwrap_or(Value::Null);
    let both = keys.into_iter().map(|key| (key.clone(), (of(&was, key), of(&now, key))));
    both.filter(|(_, (was, now))| was != now).collect()
}

#[pymethods]
impl Desk {
    /// The names of the exports; the first one's is empty.
    fn exports(&self) -> Vec<String> {
        self.names.to_vec()
    }

    /// How an export is now, as JSON; with the state of its blocks, if `cells`.
    fn view(&self, py: Python<'_>, export: &str, cells: bool) -> PyResult<String> {
        Ok(py.detach(|| -> Result<String, Failure> {
            let place = self.place(export)?;
            let view = self.control.view(place, cells).ok_or_else(|| Failure::input(Refused::Ended))?;
            let mut told = view.document();
            let served = self.served();
            if let Some(of) = served.get(place) {
                let config = &of.loaded.value;
                told["drive"] = json!({"name": config.name, "title": config.title});
                told["policies"] = policies(&of.loaded.resolved);
                told["changes"] = work::changes(&of.loaded);
                told["live"]["swaps"] = json!(of.swaps);
            }
            Ok(told.to_string())
        })?)
    }

    /// Lets the time of all drives stand still, or run again.
    fn pause(&self, py: Python<'_>, paused: bool) {
        py.detach(|| self.control.pause(paused));
    }

    /// Changes keys of an export, each as KEY=VALUE, or the pace of all; gives what changed, as JSON. It waits until the drive is drained.
    fn set(&self, py: Python<'_>, export: &str, sets: Vec<String>) -> PyResult<String> {
        let done = py.detach(|| match &sets[..] {
            [] => Err(Failure::Input("nothing to set; give KEY=VALUE".into())),
            [only] if only.split('=').next().is_some_and(|key| key.trim() == PACE) => {
                self.set_pace(only.split_once('=').map_or("", |(_, value)| value.trim()))
            }
            _ => self.swap(export, &sets),
        })?;
        Ok(done.to_string())
    }

    /// Ends the server, as Ctrl-C does.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.control.stop());
    }
}

/// The policy of each family.
pub fn policies(resolved: &Value) -> Value {
    let sections = resolved.as_object().into_iter().flatten();
    let named = sections.filter_map(|(family, section)| Some((family.clone(), section.get("policy")?.clone())));
    named.collect::<Map<_, _>>().into()
}
