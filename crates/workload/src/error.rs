//! Errors of a workload, as shown to the user.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Longest piece of an offending line that an error shows, in characters.
const SHOWN: usize = 120;

/// Reason why a workload could not be opened or read further.
///
/// The text of each error names the file, the line and the field, shows the value, and says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The file could not be opened or read.
    #[error("{}: {}", file.display(), system_words(source))]
    Io {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A malformed line of a trace.
    #[error("{0}")]
    Line(Box<LineError>),
    /// A malformed row of a table in memory.
    #[error(
        "{}, row {row} (the first is 0): {field}{}: {problem}",
        table.display(),
        if value.is_empty() { String::new() } else { format!(" `{value}`") }
    )]
    Row {
        /// Label of the table.
        table: PathBuf,
        /// The row's number, from 0.
        row: u64,
        /// The field that is wrong.
        field: &'static str,
        /// Its value; empty when the row as a whole is wrong.
        value: String,
        /// What is wrong, and what to write instead.
        problem: String,
    },
    /// A compressed file is truncated.
    #[error(
        "{}: the {kind} data is cut off after {unit} {lines}: the file is incomplete (an interrupted copy or download?); \
         fetch it again, or unpack the available part with a tool that accepts it and read that",
        file.display()
    )]
    Truncated {
        /// The file.
        file: PathBuf,
        /// `gzip` or `zstd`.
        kind: &'static str,
        /// Unit of the count, `line` or `record`.
        unit: &'static str,
        /// Complete ones before the end.
        lines: u64,
    },
    /// Compressed data does not decode.
    #[error("{}: the {kind} data is damaged after {unit} {lines}: {message}", file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// `gzip` or `zstd`.
        kind: &'static str,
        /// Unit of the count, `line` or `record`.
        unit: &'static str,
        /// Complete ones before the damage.
        lines: u64,
        /// Error of the decoder.
        message: String,
    },
    /// The file does not hold lines of text.
    #[error("{}: this is not a text trace: {what}", file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// Likely content, and the remedy.
        what: String,
    },
    /// A wrong option of a fio job file.
    #[error("{0}")]
    JobFile(Box<JobFileError>),
    /// No request in the file.
    #[error("{}: no request in this trace: {why}", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
        /// Its content instead.
        why: String,
    },
    /// The format of a trace was not given and cannot be detected from its first lines.
    #[error("{}: {message}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The first lines, and the option to give.
        message: String,
    },
    /// An option has an invalid value, by itself or for this drive.
    #[error("{key} = {value}: {problem}")]
    Option {
        /// The option as written in a workload file, for example `job.bs`.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong, and what to write instead.
        problem: String,
    },
}

/// One bad line of a trace.
#[derive(Debug)]
pub struct LineError {
    /// The file.
    pub file: PathBuf,
    /// `line`, or `record` in a binary file.
    pub unit: &'static str,
    /// Its number, from 1, counting comments and blank lines.
    pub line: u64,
    /// The line, shortened, with unprintable bytes escaped; for a binary record, the first bytes in hexadecimal.
    pub text: String,
    /// The field that is wrong.
    pub field: &'static str,
    /// Its value, shortened; empty when the line as a whole is wrong.
    pub value: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

/// A wrong option of a job file.
#[derive(Debug)]
pub struct JobFileError {
    /// The file.
    pub file: PathBuf,
    /// Where in it, or on the command line; `None` for the file as a whole.
    pub place: Option<Place>,
    /// The option as written.
    pub text: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

/// Where an option of a job file was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line and column of the job file, from 1.
    Line(usize, usize),
    /// On the command line; the text as typed.
    Set(String),
}

impl WorkloadError {
    /// True if a signal ended the reading of a pipe: the user interrupted the run.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::Interrupted)
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}: {}", self.file.display(), self.unit, self.line, self.field)?;
        if !self.value.is_empty() {
            write!(f, " `{}`", self.value)?;
        }
        write!(f, ": {}\n  {} {}: {}", self.problem, self.unit, self.line, self.text)
    }
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.text.is_empty() { String::new() } else { format!(" {}:", self.text) };
        match &self.place {
            Some(Place::Line(line, column)) => {
                write!(f, "{}:{line}:{column}:{text} {}", self.file.display(), self.problem)
            }
            Some(Place::Set(set)) => write!(f, "--load-set {set}: {}", self.problem),
            None => write!(f, "{}:{text} {}", self.file.display(), self.problem),
        }
    }
}

/// Error of a line parser; the reader adds file, line and text.
#[derive(Debug)]
pub(crate) struct Problem {
    pub field: &'static str,
    pub value: String,
    pub problem: String,
}

impl Problem {
    #[cold]
    pub fn new(field: &'static str, value: &[u8], problem: impl Into<String>) -> Box<Self> {
        Box::new(Self { field, value: shown(value), problem: problem.into() })
    }
}

/// Error of the operating system, in plain words.
#[must_use]
pub fn system_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission to read this file".to_owned(),
        _ => match error.to_string() {
            // The number is of no use to the user.
            text if error.raw_os_error().is_some() => {
                text.split(" (os error").next().unwrap_or_default().to_lowercase()
            }
            text => text,
        },
    }
}

/// An option error.
#[cold]
pub(crate) fn option(key: &str, value: impl fmt::Display, problem: impl Into<String>) -> WorkloadError {
    WorkloadError::Option { key: key.to_owned(), value: value.to_string(), problem: problem.into() }
}

/// An error about a trace without any request; `why` says what it has instead.
#[cold]
pub(crate) fn empty(path: &Path, why: &str) -> WorkloadError {
    WorkloadError::Empty { file: path.to_owned(), why: why.to_owned() }
}

/// `bytes` as text for an error: shortened, unprintable bytes escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    // Four bytes per character are enough; a line without an end is not copied as a whole.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN {
            out.push('…');
            break;
        }
        match c {
            '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// `, did you mean …?` for the nearest of `choices`, or nothing when none is near.
pub(crate) fn nearest<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> String {
    let word = word.to_lowercase();
    let best = choices
        .into_iter()
        .map(|choice| (strsim::damerau_levenshtein(&word, &choice.to_lowercase()), choice))
        .min_by_key(|(distance, _)| *distance);
    match best {
        Some((distance, choice)) if distance <= 1 + word.chars().count() / 3 => format!("; did you mean `{choice}`?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_and_escaped() {
        assert_eq!(shown(b"a\tb\x00c\xff"), "a b\\u{0}c\u{fffd}");
        let long = shown(&[b'x'; 5000]);
        assert_eq!(long.chars().count(), SHOWN + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        assert_eq!(nearest("hm_1", ["hm_0", "prxy_0"]), "; did you mean `hm_0`?");
        assert_eq!(nearest("zzzzzz", ["hm_0"]), "");
    }
}
