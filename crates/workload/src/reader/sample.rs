//! The start of a trace's file, from which its format is told and its parser made.

use crate::compress::{Compression, Input, Pipe};
use crate::error::{empty, shown, LineError, Problem, WorkloadError};
use crate::lines::Lines;
use crate::standin::mark;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mark of a trace whose times have no meaning: among the first comments of CSV, or in the metadata of a Parquet table.
pub(crate) const UNTIMED: &str = "no time stamps: only the order counts";

/// Lines examined.
const SAMPLE: usize = 1_000;
/// Bytes examined.
const SAMPLE_BYTES: usize = 64 << 10;

/// The start of a file.
pub(crate) struct Sample {
    path: PathBuf,
    /// The pipe that the file is, if it is one.
    pub pipe: Option<Arc<Pipe>>,
    pub compression: Compression,
    /// True for a Parquet table, which is read as lines.
    pub table: bool,
    /// Metadata of the table.
    pub note: Option<String>,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// True if these are all.
    pub whole: bool,
    /// Its first lines that are neither blank nor comments, as the reader of lines sees them; none in binary files.
    pub lines: Vec<Vec<u8>>,
    /// Number of the first line.
    first_number: u64,
}

impl Sample {
    /// Reads a file's first bytes.
    pub fn of_bytes(path: &Path) -> Result<Self, WorkloadError> {
        let pipe = Pipe::at(path).map_err(|source| WorkloadError::Io { file: path.to_owned(), source })?;
        let mut input = Input::open(path, pipe.as_ref())?;
        let (compression, table, note) = (input.compression, input.table, input.note.take());
        let mut bytes = vec![0; SAMPLE_BYTES];
        let mut filled = 0;
        let mut whole = false;
        while filled < bytes.len() {
            // An error does not matter here: the reader comes to it, too.
            match input.read(&mut bytes[filled..]) {
                Ok(0) => {
                    whole = true;
                    break;
                }
                Ok(n) => filled += n,
                Err(_) => break,
            }
        }
        bytes.truncate(filled);
        let path = path.to_owned();
        Ok(Self { path, pipe, compression, table, note, bytes, whole, lines: Vec::new(), first_number: 0 })
    }

    /// Reads its first lines, too. It is an error if none can be read, or if the first cannot and none may be bad; the
    /// reader handles the others.
    pub fn with_lines(mut self, may_be_bad: bool) -> Result<Self, WorkloadError> {
        let mut lines = Lines::of(&self.path, self.pipe.as_ref(), false)?;
        let mut bytes = 0;
        let found = loop {
            match lines.advance() {
                Err(WorkloadError::Line(_)) if may_be_bad && (lines.number() as usize) < SAMPLE => {}
                other => break other?,
            }
        };
        if !found {
            return Err(empty(&self.path, "it has no line with data"));
        }
        self.first_number = lines.number();
        loop {
            bytes += lines.current().len();
            self.lines.push(lines.current().to_vec());
            if bytes > SAMPLE_BYTES || self.lines.len() == SAMPLE || !lines.advance().unwrap_or(false) {
                return Ok(self);
            }
        }
    }

    /// The first line.
    pub fn first(&self) -> &[u8] {
        self.lines.first().map_or(b"", Vec::as_slice)
    }

    /// The number of the first line in the file; comments and bad lines may come before it.
    pub fn first_number(&self) -> u64 {
        self.first_number
    }

    /// The first well-formed line, or else the first: a parser must not learn from a bad line.
    pub fn first_that(&self, fits: impl Fn(&[u8]) -> bool) -> &[u8] {
        self.lines.iter().map(Vec::as_slice).find(|line| fits(line)).unwrap_or_else(|| self.first())
    }

    /// True if the trace states that its times have no meaning.
    pub fn says_untimed(&self) -> bool {
        let comments = (!self.table).then(|| mark::comments(&self.bytes));
        let told = self.note.as_deref().or(comments.as_deref());
        told.is_some_and(|told| told.lines().any(|line| line == UNTIMED))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error about the first line.
    #[cold]
    pub fn error(&self, problem: Problem) -> WorkloadError {
        WorkloadError::Line(Box::new(LineError {
            file: self.path.clone(),
            unit: "line",
            line: self.first_number,
            text: shown(self.first()),
            field: problem.field,
            value: problem.value,
            problem: problem.problem,
        }))
    }
}
