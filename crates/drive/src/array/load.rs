//! Loading an array: its file, the drives of its members with their overrides, and the checks of all of them together.

use super::config::{ArrayFile, ArrayKind, Members};
use super::layout::Layout;
use super::Array;
use crate::config::{DriveConfig, Parts};
use crate::guests::Guests;
use crate::load::{load_with, make, LoadError};
use crate::presets;
use std::path::Path;
use wordline_base::event::MAX_INDEX;
use wordline_firmware::ConfigError;
use wordline_settings::{Loaded, Origin};

/// Files of `extends` that are followed to see whether a file is of an array.
const MOST_HOPS: usize = 16;
/// The longest file that is looked at, in bytes: as the longest configuration.
const LONGEST: u64 = 1 << 24;
/// Begins an override of a single member: `member.2.victim.policy=fifo`.
const ONE: &str = "member.";
/// The keys of an array file that are none of a drive.
const OWN: &str = "array";

/// A drive of an array.
#[derive(Clone, Debug)]
pub struct MemberDrive {
    /// Its preset or file, as the array file names it.
    pub name: String,
    /// Its configuration.
    pub loaded: Loaded<DriveConfig>,
    /// Its parts.
    pub parts: Parts,
}

/// An array as its files describe it.
#[derive(Clone, Debug)]
pub struct LoadedArray {
    /// The name of its file.
    pub path: String,
    /// The array file.
    pub file: Loaded<ArrayFile>,
    /// The different drives.
    pub kinds: Vec<MemberDrive>,
    /// By member, and behind them a spare: its drive.
    pub of: Vec<usize>,
    /// Where addresses lie.
    pub layout: Layout,
}

impl LoadedArray {
    /// Members of the layout.
    #[must_use]
    pub fn members(&self) -> usize {
        self.of.len() - usize::from(self.file.value.array.spare)
    }

    /// The drives of the members, and behind them that of a spare.
    pub fn drives(&self) -> impl ExactSizeIterator<Item = &MemberDrive> {
        self.of.iter().map(|&kind| &self.kinds[kind])
    }

    /// Its name for people: that in its file, or the name of the file without folder and ending.
    #[must_use]
    pub fn name(&self) -> String {
        if !self.file.value.name.is_empty() {
            return self.file.value.name.clone();
        }
        Path::new(&self.path).file_stem().map_or_else(|| self.path.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Total depth of its queues.
    #[must_use]
    pub fn queue_slots(&self) -> u64 {
        let parts = |at: usize| &self.kinds[self.of[at]].parts;
        let queues = u64::from(parts(0).queues);
        match self.file.value.array.queue_depth {
            Some(depth) => queues * u64::from(depth),
            None => {
                let together = |at| u64::from(parts(at).queues) * u64::from(parts(at).depth);
                (0..self.members()).map(together).sum::<u64>().div_ceil(queues) * queues
            }
        }
    }
}

/// True if a drive argument names the file of an array. What cannot be read is none; loading it as a drive tells why.
#[must_use]
pub fn is_array(drive: &str) -> bool {
    let mut path = Path::new(drive).to_path_buf();
    for _ in 0..MOST_HOPS {
        let plain = std::fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST);
        let Some(text) = plain.then(|| std::fs::read_to_string(&path).ok()).flatten() else { return false };
        let value =
            |line: &str, key: &str| Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().to_owned());
        let lines = || text.lines().map(str::trim_start);
        // A file with an error in it is still one of an array: so its error is told as one.
        if lines().any(|line| line.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with("array")))
            || lines().any(|line| line.starts_with("array.") || value(line, OWN).is_some())
        {
            return true;
        }
        let Some(target) = lines().find_map(|line| value(line, "extends")) else { return false };
        let target = target.trim_matches(['"', '\'']).to_owned();
        path = path.parent().map_or_else(|| target.clone().into(), |folder| folder.join(&target));
    }
    false
}

/// Loads an array file with overrides. Those of `array`, `name`, `title` and `source` are its own, those that begin with
/// `member.N` are of one member, all others are of all members.
///
/// # Errors
/// Names file, line, key and value of what cannot be used, and what to write instead.
pub fn load(path: &str, sets: &[String], guests: &Guests) -> Result<LoadedArray, LoadError> {
    let mut own = Vec::new();
    let mut each: Vec<(Option<u32>, String)> = Vec::new();
    for set in sets {
        let key = set.split('=').next().unwrap_or_default().trim();
        if [OWN, "name", "title", "source"].contains(&key.split('.').next().unwrap_or_default()) {
            own.push(set.clone());
        } else if let Some(rest) = set.trim_start().strip_prefix(ONE) {
            each.push(of_member(set, rest)?);
        } else {
            each.push((None, set.clone()));
        }
    }
    let file =
        wordline_settings::load_file_with::<ArrayFile>(Path::new(path), &own, &presets::text, &presets::names(), &[])?;
    let array = &file.value.array;
    array.check().map_err(|error| at(&file, path, error))?;
    check_names(&file.value).map_err(|error| at(&file, path, error))?;
    let count = array.members.count();
    if let Some((member, set)) = each.iter().find_map(|(m, set)| Some((m.filter(|&m| m >= count)?, set))) {
        let problem = format!("--set {ONE}{member}.{set}: the array has members 0 to {}", count - 1);
        return Err(LoadError::Array { problem });
    }
    let (kinds, of) = drives_of(&file, path, &each, guests)?;
    let sizes: Vec<u64> =
        of[..count as usize].iter().map(|&kind: &usize| kinds[kind].parts.plan().logical_bytes()).collect();
    check_together(array.kind, array.chunk(), &kinds, &of[..count as usize], &sizes)
        .map_err(|error| at(&file, path, error))?;
    let layout = Layout::new(array.kind, &sizes, array.chunk());
    let loaded = LoadedArray { path: path.to_owned(), file, kinds, of, layout };
    if loaded.queue_slots() > u64::from(MAX_INDEX) {
        let problem =
            format!("the queues of the array would have {} slots, and can have {MAX_INDEX}", loaded.queue_slots());
        let depth =
            loaded.file.value.array.queue_depth.map_or_else(|| "(absent)".to_owned(), |depth| depth.to_string());
        return Err(at(&loaded.file, path, ConfigError::new("array.queue_depth", depth, problem)));
    }
    Ok(loaded)
}

/// An override of one member: its number, and the override itself.
fn of_member(set: &str, rest: &str) -> Result<(Option<u32>, String), LoadError> {
    let wrong = || LoadError::Array {
        problem: format!("--set {set}: name the member by its number, as in --set {ONE}0.victim.policy=fifo"),
    };
    let (number, set) = rest.split_once('.').ok_or_else(wrong)?;
    Ok((Some(number.parse().map_err(|_| wrong())?), set.to_owned()))
}

/// The different drives, and that of each member and of a spare.
fn drives_of(
    file: &Loaded<ArrayFile>,
    path: &str,
    each: &[(Option<u32>, String)],
    guests: &Guests,
) -> Result<(Vec<MemberDrive>, Vec<usize>), LoadError> {
    let array = &file.value.array;
    let count = array.members.count();
    let folder = Path::new(path).parent().unwrap_or_else(|| Path::new(""));
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    let (mut kinds, mut of) = (Vec::<MemberDrive>::new(), Vec::new());
    for member in 0..count + u32::from(array.spare) {
        // A spare is as the first member is.
        let like = if member < count { member } else { 0 };
        let (key, name) = match &array.members {
            Members::Count(_) => ("array.drive", array.drive.clone().unwrap_or_default()),
            Members::Drives(drives) => ("array.members", drives[like as usize].clone()),
        };
        let sets: Vec<String> =
            each.iter().filter(|(of, _)| of.is_none_or(|of| of == like)).map(|(_, set)| set.clone()).collect();
        let wanted = (name, sets);
        let kind = match seen.iter().position(|known| *known == wanted) {
            Some(kind) => kind,
            None => {
                let (name, sets) = &wanted;
                let known = presets::text(name).is_some() || !name.contains(['/', '\\', '.']);
                let from = if known { name.clone() } else { folder.join(name).display().to_string() };
                let place = |error: LoadError| match &error {
                    // An override is its own place, as it was written.
                    LoadError::Settings(error) if matches!(error.origin(), Some(Origin::Set(_))) => {
                        let mut of_one =
                            each.iter().filter(|(of, _)| *of == Some(like)).map(|(_, set)| format!("--set {set}"));
                        let told = error.to_string();
                        let short = of_one.find(|set| told.starts_with(set.as_str()));
                        let problem = short.map_or_else(
                            || told.clone(),
                            |set| told.replacen(&set, &set.replacen("--set ", &format!("--set {ONE}{like}."), 1), 1),
                        );
                        LoadError::Array { problem }
                    }
                    _ => {
                        let origin = file.origins.get(key).map_or_else(|| path.to_owned(), ToString::to_string);
                        LoadError::Array { problem: format!("{origin}: {key}, member {member}: {error}") }
                    }
                };
                if is_array(&from) {
                    let problem = "is an array itself; a member is one drive";
                    return Err(at(file, path, ConfigError::new(key, format!("{name:?}"), problem)));
                }
                let (loaded, parts) = load_with(&from, sets, guests).map_err(place)?;
                kinds.push(MemberDrive { name: name.clone(), loaded, parts });
                seen.push(wanted);
                kinds.len() - 1
            }
        };
        of.push(kind);
    }
    Ok((kinds, of))
}

/// Checks that the members make an array of this kind.
fn check_together(
    kind: ArrayKind,
    chunk: u64,
    kinds: &[MemberDrive],
    of: &[usize],
    sizes: &[u64],
) -> Result<(), ConfigError> {
    let wrong = |value: String, problem: String| Err(ConfigError::new("array.members", value, problem));
    let first = &kinds[of[0]];
    for (member, &other) in of.iter().enumerate() {
        let other = &kinds[other];
        let units = |drive: &MemberDrive| (drive.parts.geometry.page_bytes, drive.parts.plan().unit_bytes);
        if units(other) != units(first) {
            let told = |(page, unit): (u32, u32)| format!("pages of {page} bytes and mapping units of {unit}");
            let problem = format!(
                "member {member} has {}, and member 0 {}; members have the same, since figures of the array count them together",
                told(units(other)),
                told(units(first))
            );
            return wrong(other.name.clone(), problem);
        }
        if kind != ArrayKind::Join && sizes[member] != sizes[0] {
            let problem = format!(
                "member {member} has {} bytes, and member 0 {}; {} takes members of one capacity, kind = \"join\" any",
                sizes[member],
                sizes[0],
                kind.name()
            );
            return wrong(other.name.clone(), problem);
        }
    }
    if kind != ArrayKind::Join && sizes[0] < chunk {
        let largest = (sizes[0] >> 12 << 2).max(4);
        let problem = format!("a member has {} bytes; the largest stripe is {largest}", sizes[0]);
        return Err(ConfigError::new("array.stripe_kib", chunk >> 10, problem));
    }
    Ok(())
}

/// Names go to terminals and into reports.
fn check_names(file: &ArrayFile) -> Result<(), ConfigError> {
    for (key, text) in [("name", &file.name), ("title", &file.title), ("source", &file.source)] {
        if text.chars().any(char::is_control) {
            let problem = "holds a control character, which no terminal and no report can show; leave it out";
            return Err(ConfigError::new(key, format!("{text:?}"), problem));
        }
    }
    Ok(())
}

/// An error with the place where its key was set.
fn at(file: &Loaded<ArrayFile>, path: &str, error: ConfigError) -> LoadError {
    let origin = file.origins.get(&error.key).map_or_else(|| path.to_owned(), ToString::to_string);
    LoadError::Config { origin, error }
}

/// The seed of a member: that of the array for the first, so that an array of one drive is that drive.
#[must_use]
pub fn member_seed(seed: u64, member: usize) -> u64 {
    seed.wrapping_add((member as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Builds the drives of an array.
///
/// # Errors
/// As [`load`], for what shows only now.
pub fn build(loaded: &LoadedArray, seed: u64) -> Result<Array, LoadError> {
    let drives: Result<Vec<_>, _> = loaded
        .drives()
        .enumerate()
        .map(|(member, drive)| make(&drive.loaded, &drive.name, member_seed(seed, member)))
        .collect();
    Ok(Array::new(&loaded.file.value.array, loaded.layout.clone(), drives?))
}
