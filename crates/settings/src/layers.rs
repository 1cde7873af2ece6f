//! Finding and merging the layers of a configuration.

use crate::advice::nearest_of;
use crate::check::{Below, Checker};
use crate::document::{decode, parse, Data, Entry, Node};
use crate::error::{Origin, SettingsError};
use crate::extra::ExtraVariant;
use crate::merge::{fill_tags, merge, origins};
use crate::schema::Schema;
use crate::sets;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;
use serde_path_to_error::Segment;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A configuration, and how it came about.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The configuration itself.
    pub value: T,
    /// The configuration written out, with every default in it.
    pub resolved: Value,
    /// Where each value was set, by its dotted key (`job.0.rw` within arrays). What is not here is a default.
    pub origins: BTreeMap<String, Origin>,
}

/// Finds a preset by its name: its display name and its text.
pub type Presets<'a> = &'a dyn Fn(&str) -> Option<(String, String)>;

/// Loads a configuration from a file. A path that is no file may be the name of a preset.
///
/// `sets` are the texts after `--set`, in order; `preset_names` are all names that `presets` knows, for messages.
pub fn load_file<T>(
    path: &Path,
    sets: &[String],
    presets: Presets<'_>,
    preset_names: &[String],
) -> Result<Loaded<T>, SettingsError>
where
    T: DeserializeOwned + Serialize + JsonSchema + 'static,
{
    load_file_with(path, sets, presets, preset_names, &[])
}

/// As [`load_file`], with variants that the type takes but does not tell in its schema.
pub fn load_file_with<T>(
    path: &Path,
    sets: &[String],
    presets: Presets<'_>,
    preset_names: &[String],
    extra: &[ExtraVariant],
) -> Result<Loaded<T>, SettingsError>
where
    T: DeserializeOwned + Serialize + JsonSchema + 'static,
{
    let name = path.display().to_string();
    let sources = Sources { presets, preset_names };
    if !path.is_file() && looks_like_preset(&name) {
        if let Some((shown, text)) = presets(&name) {
            let id = format!("preset {name}");
            return assemble(sources.chain(Source { id, name: shown, text, base: None })?, sets, extra);
        }
    }
    let text = read(path, &name).map_err(|reason| match reason {
        Refusal::Text(error) => error,
        Refusal::Missing if looks_like_preset(&name) => {
            let near = nearest_of("presets", &name, preset_names);
            SettingsError::Unreadable { name: name.clone(), reason: format!("no such file or preset; {near}") }
        }
        Refusal::Missing => SettingsError::Unreadable { name: name.clone(), reason: "no such file".to_string() },
        Refusal::Other(reason) => SettingsError::Unreadable { name: name.clone(), reason },
    })?;
    assemble(
        sources.chain(Source { id: identity(path), name, text, base: path.parent().map(Path::to_path_buf) })?,
        sets,
        extra,
    )
}

/// Loads a configuration from text. `name` stands for it in messages; `base_dir` is where a relative path in `extends`
/// starts, the current directory if there is none.
pub fn load_text<T>(
    name: &str,
    text: &str,
    base_dir: Option<&Path>,
    sets: &[String],
    presets: Presets<'_>,
    preset_names: &[String],
) -> Result<Loaded<T>, SettingsError>
where
    T: DeserializeOwned + Serialize + JsonSchema + 'static,
{
    load_text_with(name, text, base_dir, sets, presets, preset_names, &[])
}

/// As [`load_text`], with variants that the type takes but does not tell in its schema.
pub fn load_text_with<T>(
    name: &str,
    text: &str,
    base_dir: Option<&Path>,
    sets: &[String],
    presets: Presets<'_>,
    preset_names: &[String],
    extra: &[ExtraVariant],
) -> Result<Loaded<T>, SettingsError>
where
    T: DeserializeOwned + Serialize + JsonSchema + 'static,
{
    let base = base_dir.map(Path::to_path_buf);
    let source = Source { id: format!("text {name}"), name: name.to_string(), text: text.to_string(), base };
    assemble(Sources { presets, preset_names }.chain(source)?, sets, extra)
}

/// One text of a chain of `extends`.
struct Source {
    /// Two sources with the same identity are the same one.
    id: String,
    name: String,
    text: String,
    base: Option<PathBuf>,
}

/// One parsed layer.
struct Layer {
    name: String,
    node: Node,
}

/// Why a file gives no text.
enum Refusal {
    Missing,
    Other(String),
    Text(SettingsError),
}

fn read(path: &Path, name: &str) -> Result<String, Refusal> {
    if path.is_dir() {
        return Err(Refusal::Other("this is a directory, not a file".to_string()));
    }
    if is_device(path) {
        return Err(Refusal::Other("this is a device, not a file".to_string()));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(|error| {
        match error.kind() {
            ErrorKind::NotFound => Refusal::Missing,
            ErrorKind::PermissionDenied => Refusal::Other("no permission to read this file".to_string()),
            _ => Refusal::Other(format!("cannot be read: {error}")),
        }
    })?;
    if bytes.len() as u64 > LONGEST {
        return Err(Refusal::Other(format!("this is no configuration: it is longer than {} MiB", LONGEST >> 20)));
    }
    decode(name, bytes).map_err(Refusal::Text)
}

/// Longest configuration, in bytes: a pipe may bring one, and never end.
const LONGEST: u64 = 1 << 24;

/// Some devices never end, and none holds a configuration. A pipe may bring one.
#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_char_device() || meta.file_type().is_block_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

fn identity(path: &Path) -> String {
    format!("file {}", path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).display())
}

fn looks_like_preset(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && !name.to_ascii_lowercase().ends_with(".toml")
}

/// Where the texts of `extends` come from.
struct Sources<'a> {
    presets: Presets<'a>,
    preset_names: &'a [String],
}

impl Sources<'_> {
    /// Follows `extends` from the main source. The layers come lowest first.
    fn chain(&self, main: Source) -> Result<Vec<Layer>, SettingsError> {
        let mut seen: Vec<(String, String)> = Vec::new();
        let mut layers = Vec::new();
        let mut source = main;
        loop {
            let mut node = parse(&source.name, &source.text)?;
            let extends = take_extends(&mut node)?;
            layers.push(Layer { name: source.name.clone(), node });
            let Some((target, at)) = extends else { break };
            let found = self.find(&target, &at, source.base.as_deref())?;
            seen.push((source.id, source.name));
            no_circle(&seen, &found, at)?;
            source = found;
        }
        layers.reverse();
        Ok(layers)
    }

    fn find(&self, target: &str, at: &Origin, base: Option<&Path>) -> Result<Source, SettingsError> {
        if let Some((name, text)) = (self.presets)(target) {
            return Ok(Source { id: format!("preset {target}"), name, text, base: None });
        }
        let fail = |message| SettingsError::Extends { at: at.clone(), message };
        if looks_like_preset(target) || target.is_empty() {
            let near = nearest_of("presets", target, self.preset_names);
            return Err(fail(format!("'extends' names the unknown preset '{target}'; {near}")));
        }
        let path = base.map_or_else(|| PathBuf::from(target), |base| base.join(target));
        let name = path.display().to_string();
        let text = read(&path, &name).map_err(|refusal| match refusal {
            Refusal::Text(error) => error,
            Refusal::Missing => fail(format!("'extends' names the file '{name}', which does not exist")),
            Refusal::Other(reason) => fail(format!("'extends' names '{name}': {reason}")),
        })?;
        Ok(Source { id: identity(&path), name, text, base: path.parent().map(Path::to_path_buf) })
    }
}

/// Removes `extends` from a document: it is the loader's, not the configuration's.
fn take_extends(node: &mut Node) -> Result<Option<(String, Origin)>, SettingsError> {
    let Data::Table(entries) = &mut node.data else { return Ok(None) };
    let Some(index) = entries.iter().position(|e| e.key == "extends") else { return Ok(None) };
    let Entry { node, at, .. } = entries.remove(index);
    let at = node.at.clone().or(at).unwrap_or(Origin::Set(String::new()));
    match node.data {
        Data::Text(target) => Ok(Some((target, at))),
        _ => {
            let advice = "expected the name of a preset or the path of a file, as a string".to_string();
            Err(SettingsError::BadValue { at, key: "extends".to_string(), found: node.describe(), advice })
        }
    }
}

fn no_circle(seen: &[(String, String)], found: &Source, at: Origin) -> Result<(), SettingsError> {
    if seen.iter().all(|(id, _)| *id != found.id) {
        return Ok(());
    }
    let names: Vec<&str> = seen.iter().map(|(_, name)| name.as_str()).chain([found.name.as_str()]).collect();
    Err(SettingsError::Extends { at, message: format!("'extends' goes in a circle: {}", names.join(" -> ")) })
}

/// Checks the layers one by one, lays them over each other and reads the result.
fn assemble<T>(layers: Vec<Layer>, sets: &[String], extra: &[ExtraVariant]) -> Result<Loaded<T>, SettingsError>
where
    T: DeserializeOwned + Serialize + JsonSchema + 'static,
{
    let mut schema = Schema::of::<T>();
    if !extra.is_empty() {
        schema = Arc::new(schema.with(extra));
    }
    let view = schema.view();
    let start = Origin::start_of(layers.last().map_or("", |layer| layer.name.as_str()));
    let default = view.default();
    let documents = layers.into_iter().map(|layer| (Origin::start_of(&layer.name), layer.node));
    let overrides = sets::document(sets)?.map(|node| (start.clone(), node));
    let mut merged = Node { at: Some(start.clone()), data: Data::Table(Vec::new()) };
    for (start, node) in documents.chain(overrides) {
        let checker = Checker { root: view, complete: false };
        checker.document(&node, Below { lower: Some(&merged), default }, &start)?;
        merged = merge(view, merged, node, default);
    }
    // A section or the whole may be overridden from the command line, but what it lacks is missing from the file.
    merged.at = Some(start.clone());
    fill_tags(view, &mut merged, default);
    Checker { root: view, complete: true }.document(&merged, Below { lower: None, default }, &start)?;
    let mut json = merged.to_json();
    extra.iter().for_each(|variant| variant.fill(&mut json));
    let value: T = serde_path_to_error::deserialize(json).map_err(|error| rejected(&error, &merged, start))?;
    let resolved = serde_json::to_value(&value).map_err(|error| SettingsError::Unreadable {
        name: "resolved configuration".to_string(),
        reason: format!("cannot be written out: {error}"),
    })?;
    Ok(Loaded { value, resolved, origins: origins(&merged) })
}

/// What serde refuses although the schema allows it, at the place of the innermost value that serde names.
fn rejected(error: &serde_path_to_error::Error<serde_json::Error>, merged: &Node, start: Origin) -> SettingsError {
    let (mut node, mut at, mut path) = (merged, start, Vec::new());
    for segment in error.path() {
        let child = match segment {
            Segment::Map { key } => node.get(key).map(|child| (child, key.clone())),
            Segment::Seq { index } => node.elements().and_then(|e| e.get(*index)).map(|n| (n, index.to_string())),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let Some((child, key)) = child else { break };
        at = child.at.clone().unwrap_or(at);
        path.push(key);
        node = child;
    }
    let message = error.inner().to_string();
    if path.is_empty() {
        return SettingsError::Syntax { at, message };
    }
    SettingsError::Rejected { at, key: crate::report::dotted(&path), found: node.describe(), message }
}
