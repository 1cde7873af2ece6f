//! Several files as one trace.

use super::detect::Detected;
use super::parser::{Item, Line};
use super::source::{same_format, Shared, Source};
use crate::compress::is_pipe;
use crate::error::{Problem, WorkloadError};
use crate::options::{Join, TraceOptions};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a trace, read as one.
pub(crate) struct Joined {
    paths: Vec<PathBuf>,
    options: TraceOptions,
    /// By time: all files. By order: the one that is being read.
    sources: Vec<Source>,
    /// By time: the next request of each file, and the files by the times of these.
    heads: Vec<Option<Item>>,
    queue: BinaryHeap<Reverse<(u128, usize)>>,
    begun: bool,
    by_time: bool,
    /// By order: files before the one that is being read.
    passed: usize,
    /// Which of the sources the last request came from.
    last: usize,
}

impl Joined {
    /// Opens the files, of which there is at least one, and checks that they are of one format.
    pub fn open(paths: Vec<PathBuf>, options: &TraceOptions) -> Result<(Self, Detected), WorkloadError> {
        if let Some(pipe) = paths.iter().find(|path| is_pipe(path)).filter(|_| one_behind_another(paths.len(), options))
        {
            let what = "this is a pipe, and files read one after another are checked beforehand; write it to a file \
                first";
            return Err(WorkloadError::Io { file: pipe.clone(), source: io::Error::other(what) });
        }
        let (first, mut detected) = Source::open(&paths[0], options)?;
        let by_time = paths.len() > 1 && options.join == Join::Time && first.timed();
        let mut sources = vec![first];
        for path in &paths[1..] {
            let (source, other) = Source::open(path, options)?;
            detected.stand_in = detected.stand_in.or(other.stand_in);
            same_format((&paths[0], detected.format), (path, other.format))?;
            // By order one file is open at a time; each is looked at beforehand, so that a wrong one is told at once.
            if by_time {
                sources.push(source);
            }
        }
        if paths.len() > 1 {
            let how = if by_time { "merged by time" } else { "one after another" };
            detected.reason += &format!("; {} files, {how}", paths.len());
        }
        let joined = Self {
            heads: vec![None; sources.len()],
            paths,
            options: options.clone(),
            sources,
            queue: BinaryHeap::new(),
            begun: false,
            by_time,
            passed: 0,
            last: 0,
        };
        Ok((joined, detected))
    }

    /// The next request of all files.
    #[inline]
    pub fn next(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        if self.by_time {
            return self.merged(shared);
        }
        match self.sources[0].next(shared)? {
            Some(item) => Ok(Some(item)),
            None => self.following(shared),
        }
    }

    /// As [`Source::usual`].
    #[inline]
    pub fn usual(&mut self, shared: &mut Shared) -> &[Line] {
        if self.by_time {
            return &[];
        }
        self.sources[0].usual(shared)
    }

    /// As [`Source::take`].
    #[inline]
    pub fn take(&mut self, count: usize, shared: &mut Shared) -> u64 {
        self.sources[0].take(count, shared)
    }

    /// Lets all lines go the general way, to compare both.
    #[cfg(test)]
    pub fn read_slowly(&mut self) {
        self.sources.iter_mut().for_each(Source::read_slowly);
    }

    /// The first request of the next file that has any.
    #[cold]
    fn following(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        while self.passed + 1 < self.paths.len() {
            self.passed += 1;
            self.sources[0] = Source::open(&self.paths[self.passed], &self.options)?.0;
            if let Some(item) = self.sources[0].next(shared)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn merged(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        if !self.begun {
            self.begun = true;
            (0..self.sources.len()).try_for_each(|source| self.load(source, shared))?;
        } else if self.heads[self.last].is_none() {
            // The file of the last request is read on only now, so that an error can still tell that request's line.
            self.load(self.last, shared)?;
        }
        let Some(Reverse((_, source))) = self.queue.pop() else { return Ok(None) };
        self.last = source;
        Ok(self.heads[source].take())
    }

    fn load(&mut self, source: usize, shared: &mut Shared) -> Result<(), WorkloadError> {
        if let Some(item) = self.sources[source].next(shared)? {
            self.queue.push(Reverse((item.parsed.time, source)));
            self.heads[source] = Some(item);
        }
        Ok(())
    }

    /// An error about a line of the file that the last request came from.
    #[cold]
    pub fn error_at(&self, line: u64, problem: Problem) -> WorkloadError {
        self.sources[self.last].error_at(line, problem)
    }

    /// The file that the last request came from.
    pub fn path(&self) -> &Path {
        self.sources[self.last].path()
    }

    /// All files.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// True if there are time stamps.
    pub fn timed(&self) -> bool {
        self.sources[0].timed()
    }

    /// How far the reading has come: files that are behind, and bytes of those that are being read. It changes whenever
    /// [`Joined::progress`] does.
    #[inline]
    pub fn place(&self) -> (usize, u64) {
        (self.passed, self.sources.iter().map(Source::taken).sum())
    }

    /// Share that has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        let share: f64 = self.sources.iter().map(Source::progress).sum();
        (self.passed as f64 + share) / self.paths.len() as f64
    }
}

/// True if several files are read one behind another although they have time stamps.
pub(crate) fn one_behind_another(files: usize, options: &TraceOptions) -> bool {
    files > 1 && options.join == Join::Order
}
