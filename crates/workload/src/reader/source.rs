//! One file of a trace: its lines or records, its parser, and what makes its time stamps usable.

use super::batch::Batch;
use super::detect::{self, Detected};
use super::formats::{check_options, TraceFormat};
use super::order::{Sorter, Spreader, MOST_SHARED};
use super::parser::{Item, Line, Opened, Opening, Parser};
use crate::device::DeviceTable;
use crate::error::{option, Problem, WorkloadError};
use crate::lines::Lines;
use crate::options::{Spread, TraceOptions};
use std::path::{Path, PathBuf};

/// Most requests that a window of sorting may hold.
pub(crate) const LARGEST_WINDOW: u32 = 1 << 24;
/// Minimum lines for the share of bad lines before the end: bad lines may be clustered at the start, but a file of
/// another kind should not be read to its end.
const SHARE_OVER: u64 = 1_000_000;

/// Lines one behind another that were not as most lines are, after which no further one of the file is expected to be.
const MOST_ODD: u32 = 64;

/// State shared by all files of a trace.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub devices: DeviceTable,
    /// Name and, once it has appeared, number of the only device to keep.
    pub filter: Option<(String, Option<u32>)>,
    /// Share of the lines that may be bad.
    pub skip_bad: f64,
    /// Lines that hold a request, of any device.
    pub requests: u64,
    /// Lines that are no request in this format.
    pub ignored: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Requests with a broken stamp.
    pub wrapped: u64,
    /// The last unreadable line, for the error at the end.
    pub last_bad: Option<WorkloadError>,
}

impl Shared {
    /// State from the options, before anything is read.
    pub fn of(options: &TraceOptions) -> Self {
        let filter = options.device.clone().map(|name| (name, None));
        Self { filter, skip_bad: options.skip_bad, ..Self::default() }
    }

    /// True if the requests of a device are wanted.
    #[inline]
    pub fn keeps(&mut self, device: u32) -> bool {
        let Some((wanted, number)) = &mut self.filter else { return true };
        if number.is_none() && self.devices.names().get(device as usize).is_some_and(|name| name == wanted) {
            *number = Some(device);
        }
        *number == Some(device)
    }

    /// Lines so far.
    fn lines(&self) -> u64 {
        self.requests + self.ignored + self.unreadable
    }

    /// Takes a bad line, if there may be as many.
    #[cold]
    fn bad(&mut self, error: WorkloadError) -> Result<(), WorkloadError> {
        if self.skip_bad <= 0.0 {
            return Err(error);
        }
        self.unreadable += 1;
        let over = self.lines().max(SHARE_OVER);
        if self.too_many_of(over) {
            return Err(self.too_many(error, over));
        }
        self.last_bad = Some(error);
        Ok(())
    }

    /// At the end of the trace: whether the bad lines were too many of all.
    pub fn check_end(&mut self) -> Result<(), WorkloadError> {
        match self.last_bad.take() {
            Some(error) if self.too_many_of(self.lines()) => Err(self.too_many(error, self.lines())),
            _ => Ok(()),
        }
    }

    fn too_many_of(&self, lines: u64) -> bool {
        self.unreadable as f64 > self.skip_bad * lines as f64
    }

    fn too_many(&self, error: WorkloadError, over: u64) -> WorkloadError {
        let WorkloadError::Line(mut line) = error else { return error };
        let (bad, lines, share) = (self.unreadable, self.lines(), self.skip_bad);
        let over = if over > lines { format!(" allows of {over}") } else { String::new() };
        line.problem = format!(
            "{}; with it {bad} of {lines} lines cannot be read, more than skip_bad = {share}{over}",
            line.problem
        );
        WorkloadError::Line(line)
    }
}

/// One file of a trace.
pub(crate) struct Source {
    lines: Lines,
    parser: Box<dyn Parser>,
    /// Bytes that tell the length of a binary record; 0 for lines.
    head: usize,
    /// Lines read ahead.
    batch: Batch,
    sorter: Option<Sorter>,
    spreader: Option<Spreader>,
    /// True if there is either.
    arranged: bool,
    /// True if all lines have been read.
    ended: bool,
    timed: bool,
    /// True if it comes through a pipe.
    once: bool,
    /// Lines since the last one that was as most are.
    odd: u32,
}

impl Source {
    /// Opens a file of a trace.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<(Self, Detected), WorkloadError> {
        let (mut detected, sample) = detect::resolve(path, options)?;
        let format = detected.format;
        let given = options.for_format();
        check_options(format, &given)?;
        if options.sort_window.is_some_and(|window| window > LARGEST_WINDOW) {
            let window = options.sort_window.unwrap_or_default();
            return Err(option("trace.sort_window", window, format!("must be at most {LARGEST_WINDOW} requests")));
        }
        let opened = (format.about().open)(&Opening { name: format.name(), options: &given, sample: &sample })?;
        let window = options.sort_window.unwrap_or(opened.sort_window);
        let how = options.spread.unwrap_or(if opened.spread { Spread::Even } else { Spread::None });
        say(&mut detected, &opened, window, how);
        let sorter = (opened.timed && window > 0).then(|| Sorter::new(window, opened.wrapped));
        let spreader = (opened.timed && how != Spread::None).then(|| Spreader::new(opened.unit, how));
        let mut source = Self {
            lines: Lines::of(path, sample.pipe.as_ref(), opened.head > 0)?,
            parser: opened.parser,
            head: opened.head,
            batch: Batch::new(),
            arranged: sorter.is_some() || spreader.is_some(),
            sorter,
            spreader,
            ended: false,
            timed: opened.timed,
            once: sample.pipe.is_some(),
            odd: 0,
        };
        if let Some(pipe) = &sample.pipe {
            pipe.begin();
        }
        source.skip(opened.skip)?;
        Ok((source, detected))
    }

    /// Leaves out what comes before the first request.
    fn skip(&mut self, count: usize) -> Result<(), WorkloadError> {
        if self.head > 0 {
            return self.lines.skip_bytes(count).map(drop);
        }
        for _ in 0..count {
            self.lines.advance()?;
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }

    /// True if it has time stamps.
    pub fn timed(&self) -> bool {
        self.timed
    }

    /// Share of the file that has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.lines.input().progress()
    }

    /// Bytes of the file that have been read.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.lines.input().taken()
    }

    /// The next request in order of time.
    #[inline]
    pub fn next(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        match (&self.spreader, &self.sorter) {
            (None, None) => self.raw(shared),
            (None, Some(_)) => self.sorted(shared),
            (Some(_), _) => self.spread(shared),
        }
    }

    /// The next lines, if they are as most are and not to be sorted, spread or chosen; they are taken only by [`Source::take`]. None
    /// says nothing: then [`Source::next`] has the next request.
    #[inline]
    pub fn usual(&mut self, shared: &mut Shared) -> &[Line] {
        if self.arranged || shared.filter.is_some() {
            return &[];
        }
        self.usual_lines(shared)
    }

    /// The next lines that are as most are.
    #[inline]
    fn usual_lines(&mut self, shared: &mut Shared) -> &[Line] {
        if self.batch.rest().is_empty() {
            self.fill_batch(shared);
        }
        self.batch.rest()
    }

    #[inline(never)]
    fn fill_batch(&mut self, shared: &mut Shared) {
        if self.odd == MOST_ODD || self.head > 0 {
            return;
        }
        let ahead = self.lines.ahead();
        self.batch.fill(|lines| self.parser.parse_many(ahead, &mut shared.devices, lines));
        self.odd = if self.batch.rest().is_empty() { self.odd + 1 } else { 0 };
    }

    /// Takes so many usual lines, one at least; gives the number of the last one.
    #[inline]
    pub fn take(&mut self, count: usize, shared: &mut Shared) -> u64 {
        let (length, last) = self.batch.take(count);
        self.lines.take(count as u64, length, last);
        shared.requests += count as u64;
        self.lines.number()
    }

    /// Lets all lines go the general way, to compare both.
    #[cfg(test)]
    pub fn read_slowly(&mut self) {
        self.odd = MOST_ODD;
        self.batch.clear();
    }

    /// The next request as recorded in the file.
    #[inline]
    fn raw(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        loop {
            if let Some(&Line { parsed, .. }) = self.usual_lines(shared).first() {
                let line = self.take(1, shared);
                if shared.keeps(parsed.device) {
                    return Ok(Some(Item { parsed, line }));
                }
                continue;
            }
            self.batch.clear();
            if !self.advance(shared)? {
                return Ok(None);
            }
            match self.parser.parse(self.lines.current(), &mut shared.devices) {
                Ok(Some(parsed)) => {
                    shared.requests += 1;
                    if shared.keeps(parsed.device) {
                        return Ok(Some(Item { parsed, line: self.lines.number() }));
                    }
                }
                Ok(None) => shared.ignored += 1,
                Err(problem) => shared.bad(self.lines.error(*problem))?,
            }
        }
    }

    /// Goes to the next line or record.
    #[inline]
    fn advance(&mut self, shared: &mut Shared) -> Result<bool, WorkloadError> {
        if self.head > 0 {
            let parser = &self.parser;
            return self.lines.advance_record(self.head, |head| parser.length(head));
        }
        loop {
            match self.lines.advance() {
                // A line that is no text is a bad line; the file goes on behind it.
                Err(error @ WorkloadError::Line(_)) => shared.bad(error)?,
                other => return other,
            }
        }
    }

    fn sorted(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        loop {
            let mut next = None;
            while next.is_none() && !self.ended {
                match self.raw(shared)? {
                    Some(item) => next = self.sorter.as_mut().and_then(|sorter| sorter.push(item)),
                    None => self.ended = true,
                }
            }
            let sorter = self.sorter.as_mut().expect("only called with a window");
            let Some(item) = next.or_else(|| sorter.pop()) else { return Ok(None) };
            if !sorter.is_wrapped(&item) {
                return Ok(Some(item));
            }
            shared.wrapped += 1;
        }
    }

    fn spread(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        let item = self.spreader.as_mut().and_then(Spreader::pop);
        if item.is_some() {
            return Ok(item);
        }
        let mut spreader = self.spreader.take().expect("only called with a spreader");
        let filled = self.fill(&mut spreader, shared);
        let item = spreader.pop();
        self.spreader = Some(spreader);
        filled.map(|()| item)
    }

    /// Reads all requests of one stamp.
    fn fill(&mut self, spreader: &mut Spreader, shared: &mut Shared) -> Result<(), WorkloadError> {
        spreader.begin();
        loop {
            let next = if self.sorter.is_some() { self.sorted(shared)? } else { self.raw(shared)? };
            let Some(item) = next else { break };
            let problem = if !spreader.is_whole(&item) {
                "is not a whole number of its unit and cannot be spread; `spread = \"none\"` uses it as it is"
            } else if spreader.len() == MOST_SHARED {
                "is shared by more than 4,194,304 requests, the maximum that can be spread; `spread = \"none\"` lets \
                 them arrive \
                 together"
            } else {
                if spreader.add(item) {
                    continue;
                }
                break;
            };
            return Err(self.error_at(item.line, *Problem::new("time", b"", problem)));
        }
        spreader.finish();
        Ok(())
    }

    /// An error about a line or record, which may lie behind: then the file is read again up to there.
    #[cold]
    pub fn error_at(&self, line: u64, problem: Problem) -> WorkloadError {
        if self.lines.number() == line {
            return self.lines.error(problem);
        }
        if self.once {
            return self.lines.gone(line, problem);
        }
        match self.again(line) {
            Ok(lines) => lines.error(problem),
            Err(error) => error,
        }
    }

    fn again(&self, line: u64) -> Result<Lines, WorkloadError> {
        let mut lines = Lines::of(self.path(), None, self.head > 0)?;
        if self.head > 0 {
            lines.skip_bytes(self.lines.skipped())?;
        }
        while lines.number() < line {
            let there = match self.head {
                0 => lines.advance().or_else(|error| match error {
                    WorkloadError::Line(_) => Ok(true),
                    other => Err(other),
                })?,
                head => lines.advance_record(head, |head| self.parser.length(head))?,
            };
            if !there {
                break;
            }
        }
        Ok(lines)
    }
}

/// Says how the time stamps are taken, where that is not plain.
fn say(detected: &mut Detected, opened: &Opened, window: u32, how: Spread) {
    if !opened.timed {
        detected.reason += "; no time stamps: only the order counts, as fast as the queue takes it";
        return;
    }
    if window > 0 {
        detected.reason += &format!("; sorted by time within {window} requests");
    }
    match how {
        Spread::Even => detected.reason += "; requests of one stamp are spread evenly over its unit",
        Spread::Random => detected.reason += "; requests of one stamp are spread at random over its unit",
        Spread::None => {}
    }
}

/// Checks that the files of a trace are of one format.
pub(crate) fn same_format(first: (&Path, TraceFormat), other: (&Path, TraceFormat)) -> Result<(), WorkloadError> {
    if first.1 == other.1 {
        return Ok(());
    }
    let message = format!(
        "this file is of format {}, and {} is of format {}; the files of one trace must be of one format",
        other.1.name(),
        first.0.display(),
        first.1.name()
    );
    Err(WorkloadError::Format { file: PathBuf::from(other.0), message })
}
