//! Job files of fio: read, checked, and turned into jobs.
//!
//! `known` lists the accepted options; values follow fio's documentation, checked against fio 3.33. An option that
//! would have another meaning than in fio is refused, never ignored.

mod convert;
mod known;
mod lines;
mod value;

use crate::error::{nearest, shown, JobFileError, Place, WorkloadError};
use crate::job::JobOptions;
use crate::load::LoadFile;
pub use convert::fio_words;
use convert::Draft;
use lines::{sections, written, Written};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A job file with its jobs.
#[derive(Clone, Debug)]
pub struct FioFile {
    /// Options of the `[global]` sections as written, in the form of fio's results.
    pub globals: BTreeMap<String, String>,
    /// The jobs in order.
    pub jobs: Vec<FioJob>,
}

/// A job of a job file.
#[derive(Clone, Debug)]
pub struct FioJob {
    /// Its name in fio's results; several jobs may have the same.
    pub title: String,
    /// Its options. Its name is the title, with a number if that is taken.
    pub job: JobOptions,
    /// Its own options as written.
    pub options: BTreeMap<String, String>,
    /// Percentiles that its results are to hold; fio's own list when empty.
    pub percentiles: Vec<f64>,
    /// Where the options were written, by their names in [`JobOptions`], with their names in fio.
    pub places: BTreeMap<&'static str, (&'static str, Place)>,
}

/// A wrong option of a job file, before the file is known.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub place: Place,
    pub text: String,
    pub problem: String,
}

impl Wrong {
    #[cold]
    pub fn new(place: Place, text: &str, problem: impl Into<String>) -> Self {
        Self { place, text: shown(text.as_bytes()), problem: problem.into() }
    }

    #[cold]
    pub fn of(written: &Written, problem: impl Into<String>) -> Self {
        let value = written.value.as_ref().map_or(String::new(), |value| format!("={value}"));
        Self::new(written.place.clone(), &format!("{}{value}", written.name), problem)
    }
}

/// Longest job file, in bytes: a device has no end.
const LONGEST: u64 = 1 << 24;

impl FioFile {
    /// Reads a job file. `sets` override options of all jobs, `iodepth=4`, or of one, `name.iodepth=4`.
    ///
    /// # Errors
    /// When the file cannot be read, or holds what is no option, cannot be carried out, or makes no sense.
    pub fn read(path: &Path, sets: &[String]) -> Result<Self, WorkloadError> {
        let io = |source| WorkloadError::Io { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(io)?;
        let whole = |problem: &str| {
            let problem = problem.to_owned();
            let error = JobFileError { file: path.to_owned(), place: None, text: String::new(), problem };
            WorkloadError::JobFile(Box::new(error))
        };
        if bytes.len() as u64 > LONGEST {
            return Err(whole(&format!("this is no job file: it is longer than {} MiB", LONGEST >> 20)));
        }
        let text = String::from_utf8(bytes).map_err(|_| whole("this is not a text file; a job file was expected"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let file = Self::parse(text, sets).map_err(|Wrong { place, text, problem }| {
            let error = JobFileError { file: path.to_owned(), place: Some(place), text, problem };
            WorkloadError::JobFile(Box::new(error))
        })?;
        if file.jobs.is_empty() {
            return Err(whole("no job in this file; give one a section of its own, such as [job1]"));
        }
        Ok(file)
    }

    fn parse(text: &str, sets: &[String]) -> Result<Self, Wrong> {
        let sections = sections(text)?;
        let titles: Vec<&str> = sections.iter().filter(|s| s.name != "global").map(|s| &s.name[..]).collect();
        let overrides = sets.iter().map(|set| overriding(set, &titles)).collect::<Result<Vec<_>, _>>()?;
        let mut file = Self { globals: BTreeMap::new(), jobs: Vec::new() };
        let mut before: Vec<&Written> = Vec::new();
        for section in &sections {
            if section.name == "global" {
                before.extend(&section.options);
                note(&mut file.globals, &section.options);
                continue;
            }
            let forced = overrides.iter().filter(|(job, _)| job.as_deref().is_none_or(|job| job == section.name));
            let own = section.options.iter().chain(forced.map(|(_, written)| written));
            let all: Vec<&Written> = before.iter().copied().chain(own.clone()).collect();
            let draft = Draft::new(&section.name, section.line, &all)?;
            let named = overrides.iter().filter(|(job, _)| job.is_some()).map(|(_, written)| written);
            let own_words: Vec<&Written> = section.options.iter().chain(named).collect();
            draft.means_something(&|written| own_words.iter().any(|own| std::ptr::eq(*own, written)))?;
            let mut job = draft.finish()?;
            note(&mut job.options, own);
            let taken = |name: &str| file.jobs.iter().any(|other| other.job.name.as_deref() == Some(name));
            let name = std::iter::once(job.title.clone())
                .chain((2..).map(|number| format!("{}#{number}", job.title)))
                .find(|name| !taken(name));
            job.job.name = name;
            file.jobs.push(job);
        }
        one_target(&sections)?;
        Ok(file)
    }

    /// The workload that the jobs are.
    #[must_use]
    pub fn load(&self) -> LoadFile {
        LoadFile { job: self.jobs.iter().map(|job| job.job.clone()).collect(), ..LoadFile::default() }
    }
}

fn note<'a>(map: &mut BTreeMap<String, String>, options: impl IntoIterator<Item = &'a Written>) {
    let shown = |written: &Written| written.value.clone().unwrap_or_else(|| "1".to_owned());
    let name = |written: &Written| known::meant(&written.name).unwrap_or(&written.name).to_owned();
    map.extend(options.into_iter().map(|written| (name(written), shown(written))));
}

/// `option=value` or `job.option=value`.
fn overriding(set: &str, titles: &[&str]) -> Result<(Option<String>, Written), Wrong> {
    let place = Place::Set(set.to_owned());
    let mut written = written(set, place.clone());
    if known::names().any(|name| name == written.name) {
        return Ok((None, written));
    }
    let Some((job, option)) = written.name.rsplit_once('.') else { return Ok((None, written)) };
    if !titles.contains(&job) {
        let near = nearest(job, titles.iter().copied());
        return Err(Wrong::new(place, set, format!("there is no job [{job}] in this file{near}")));
    }
    let job = job.to_owned();
    written.name = option.to_owned();
    Ok((Some(job), written))
}

/// Jobs on several devices cannot be separated on one drive.
fn one_target(sections: &[lines::Section]) -> Result<(), Wrong> {
    let named = |written: &&Written| written.name == "filename" && written.value.is_some();
    let mut names = sections.iter().flat_map(|section| &section.options).filter(named);
    let Some(first) = names.next() else { return Ok(()) };
    match names.find(|other| other.value != first.value) {
        None => Ok(()),
        Some(other) => {
            let problem = format!(
                "the load is for one drive, and another job has filename={}; give all jobs the same, and apart regions by \
                 offset and size",
                first.value.as_deref().unwrap_or_default()
            );
            Err(Wrong::of(other, problem))
        }
    }
}

#[cfg(test)]
mod tests;
