//! Kind of a LOAD, detected from its content: a workload file, a job file of fio, or a trace. The name decides only if
//! the content is ambiguous.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum length of a job file or workload file.
const LONGEST: u64 = 1 << 20;
/// Sections and keys at the start of a workload file.
const WORKLOAD: [&str; 3] = ["trace", "job", "runtime_s"];

/// Kind of a LOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A workload file, in TOML.
    Workload,
    /// A job file of fio.
    Jobs,
    /// A trace.
    Trace,
}

impl Kind {
    /// The kind of the file at `path`.
    pub fn of(path: &str) -> Self {
        let by_name = Self::by_name(path);
        // Only plain files are read here: a pipe can be read only once.
        match read(Path::new(path)) {
            Some(text) => Self::of_text(&text, by_name),
            None => by_name,
        }
    }

    fn by_name(path: &str) -> Self {
        match path {
            _ if path.ends_with(".toml") => Self::Workload,
            _ if path.ends_with(".fio") => Self::Jobs,
            _ => Self::Trace,
        }
    }

    fn of_text(text: &str, by_name: Self) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        let Some(first) = lines.clone().next() else { return by_name };
        if toml::from_str::<toml::Table>(text).is_ok_and(|table| is_workload(&table, by_name)) {
            return Self::Workload;
        }
        let section = |line: &str| {
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            line.starts_with('[') && line.ends_with(']') && line.len() > 2
        };
        // An invalid workload file gets an error message as a workload file.
        let like_workload = first.starts_with("[[") || WORKLOAD.iter().any(|key| begins_with(first, key));
        let (quoted, plain) =
            lines.clone().filter_map(|line| line.split_once('=')).fold((0, 0), |(quoted, plain), (_, value)| {
                let value = value.trim();
                let bare = value.parse::<f64>().is_err() && !["true", "false"].contains(&value);
                match value.starts_with(['"', '\'', '[', '{']) {
                    true => (quoted + 1, plain),
                    false => (quoted, plain + usize::from(bare)),
                }
            });
        match by_name {
            Self::Workload if section(first) && plain > quoted && !like_workload => Self::Jobs,
            Self::Jobs if like_workload && quoted > plain => Self::Workload,
            Self::Trace if like_workload && quoted >= plain => Self::Workload,
            Self::Trace if section(first) => Self::Jobs,
            _ => by_name,
        }
    }
}

/// True if a valid TOML document is a workload file: it has only keys of one.
fn is_workload(table: &toml::Table, by_name: Kind) -> bool {
    let known = table.keys().all(|key| WORKLOAD.contains(&key.as_str()));
    // A fio job may be called [trace], and a job file with only numbers is valid TOML.
    known && !table.is_empty() && (by_name != Kind::Jobs || table.get("job").is_some_and(toml::Value::is_array))
}

/// True if a line is the section `key`, one below it, or sets it.
fn begins_with(line: &str, key: &str) -> bool {
    let rest = line.trim_start_matches('[').trim_start();
    let Some(rest) = rest.strip_prefix(key) else { return false };
    match line.starts_with('[') {
        true => rest.trim_start().starts_with([']', '.']),
        false => rest.trim_start().starts_with(['=', '.']),
    }
}

/// Contents of a plain file that is not too long and is text.
fn read(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file())?;
    let mut start = [0; 512];
    let mut file = File::open(path).ok()?;
    let length = file.read(&mut start).ok()?;
    if meta.len() > LONGEST || start[..length].contains(&0) {
        return None;
    }
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8(text).ok()?;
    Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}
