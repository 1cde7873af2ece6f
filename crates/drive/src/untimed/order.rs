//! The requests of a workload in one order, without time.
//!
//! Requests of a stream keep their order. Streams side by side: by their times, if all have times; else they take turns. A stream that
//! starts after earlier ones does so.

use super::UntimedError;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};
use wordline_workload::{Load, LoadStream, Pacing};

/// Most requests that are kept in memory; a longer workload is read again.
const MOST_KEPT: usize = 1 << 24;
/// Requests ahead of their turn when their map entries are asked for.
const AHEAD: usize = 8;

/// The requests of a workload, in one order.
pub(super) struct InOrder {
    streams: Vec<LoadStream>,
    /// The next request of each.
    heads: Vec<Option<Request>>,
    /// Those that run side by side.
    first: usize,
    end: usize,
    /// True if their times give the order.
    by_time: bool,
    /// The stream of the last request.
    last: usize,
}

impl InOrder {
    pub fn new(load: Load) -> Result<Self, UntimedError> {
        let streams = load.streams;
        for stream in &streams {
            let name = || stream.name.clone();
            if stream.manner.steady.is_some() {
                return Err(UntimedError::Steady { stream: name() });
            }
            if !has_times(stream) && stream.progress().is_none() {
                return Err(UntimedError::Endless { stream: name() });
            }
        }
        let heads = vec![None; streams.len()];
        let mut new = Self { streams, heads, first: 0, end: 0, by_time: false, last: 0 };
        new.open()?;
        Ok(new)
    }

    /// Starts the streams up to the next that waits for earlier ones.
    fn open(&mut self) -> Result<(), UntimedError> {
        self.first = self.end;
        let group = &self.streams[self.first..];
        let walled = |stream: &LoadStream| stream.manner.stonewall;
        self.end += group.iter().enumerate().take_while(|(at, stream)| *at == 0 || !walled(stream)).count();
        self.by_time = self.streams[self.first..self.end].iter().all(has_times);
        // The first of them has the first turn.
        self.last = self.end.saturating_sub(1);
        for at in self.first..self.end {
            self.heads[at] = self.streams[at].next()?;
        }
        Ok(())
    }

    /// The next request.
    pub fn next(&mut self) -> Result<Option<Request>, UntimedError> {
        loop {
            if let Some(at) = self.whose_turn() {
                self.last = at;
                let next = self.streams[at].next()?;
                return Ok(std::mem::replace(&mut self.heads[at], next));
            }
            if self.end == self.streams.len() {
                return Ok(None);
            }
            self.open()?;
        }
    }

    /// The stream whose request is the next.
    #[inline]
    fn whose_turn(&self) -> Option<usize> {
        let waits = |at: &usize| self.heads[*at].is_some();
        if self.end - self.first == 1 {
            return Some(self.first).filter(waits);
        }
        if self.by_time {
            let due = |at: &usize| self.heads[*at].map_or(END_OF_TIME, |head| self.start_of(*at).max(head.arrival));
            return (self.first..self.end).filter(waits).min_by_key(due);
        }
        (self.last + 1..self.end).chain(self.first..=self.last).find(waits)
    }

    fn start_of(&self, at: usize) -> Time {
        self.streams[at].start
    }

    /// The stream of the last request.
    pub fn name(&self) -> String {
        self.streams[self.last].name.clone()
    }

    /// Share of the requests that were given, if it is known.
    pub fn progress(&self) -> Option<f64> {
        let parts: Option<Vec<f64>> = self.streams.iter().map(LoadStream::progress).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum::<f64>() / parts.len() as f64)
    }
}

fn has_times(stream: &LoadStream) -> bool {
    matches!(stream.pacing, Pacing::Timestamps | Pacing::Rate { .. })
}

/// A request without its time and stream.
#[derive(Clone, Copy, Debug)]
struct Brief {
    offset: u64,
    bytes: u32,
    op: Op,
    fua: bool,
}

/// The requests of a workload, kept to be carried out again: reading a trace takes longer than that.
#[derive(Debug, Default)]
pub(super) struct Kept {
    list: Vec<Brief>,
    whole: bool,
}

impl Kept {
    /// The workload begins.
    pub fn begin(&mut self) {
        (self.list, self.whole) = (Vec::new(), false);
    }

    /// Its next request.
    #[inline]
    pub fn keep(&mut self, request: &Request) {
        if self.list.len() <= MOST_KEPT {
            let Request { offset, bytes, op, fua, .. } = *request;
            self.list.push(Brief { offset, bytes, op, fua });
        }
    }

    /// It has ended.
    pub fn end(&mut self) {
        self.whole = self.list.len() <= MOST_KEPT;
        if !self.whole {
            self.list = Vec::new();
        }
    }

    /// True if all of it is here.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub fn get(&self, at: usize) -> Request {
        let Brief { offset, bytes, op, fua } = self.list[at];
        Request { offset, bytes, op, fua, ..Request::default() }
    }

    /// First byte of a request some places after this one.
    #[inline]
    pub fn ahead(&self, at: usize) -> Option<u64> {
        self.list.get(at + AHEAD).map(|brief| brief.offset)
    }
}
