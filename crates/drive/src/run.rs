//! The run loop: feeds a load to a drive and drives its clock.
//!
//! A stream with time stamps or a rate submits at its times, waiting for a queue slot if it must; a closed stream submits
//! whenever it has fewer requests in flight than its depth. Nothing is stored but the next request of each stream.

use crate::drive::{Drive, SubmitError};
use crate::timeline::Recording;
use std::fmt;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};
use wordline_firmware::Fault;
use wordline_workload::{Load, LoadStream, Pacing, WorkloadError};

/// Steps between two looks at whether to go on.
const STEPS: u32 = 1 << 15;

/// A run that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The load cannot be read.
    #[error(transparent)]
    Load(#[from] WorkloadError),
    /// The firmware broke a rule, or the flash is worn out.
    #[error("{}", told(.0))]
    Fault(#[from] Fault),
    /// A request does not fit the drive.
    #[error("{stream}: {error}")]
    Request {
        /// The stream.
        stream: String,
        /// What is wrong.
        error: SubmitError,
    },
}

/// A drive that wears out is no mistake of anybody.
fn told(fault: &Fault) -> String {
    match fault {
        Fault::WornOut { .. } | Fault::NoSpare { .. } => fault.to_string(),
        _ => format!("the model broke a rule, which is a defect of it: {fault}"),
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Share of the load, if it is known.
    pub fraction: Option<f64>,
    /// Completed requests.
    pub requests: u64,
    /// Simulated time since the start of the run, in picoseconds.
    pub time: Time,
}

/// One stream of a load in a run.
struct Feed {
    stream: LoadStream,
    /// The next request; none when the stream has ended.
    head: Option<Request>,
    depth: u32,
    in_flight: u32,
    /// Whether the host decides when the next request arrives (closed loop).
    closed: bool,
    /// Added to the arrival times of the stream.
    offset: Time,
}

impl Feed {
    fn new(stream: LoadStream, offset: Time) -> Result<Self, RunError> {
        let (closed, depth) = match stream.pacing {
            Pacing::Timestamps => (false, u32::MAX),
            Pacing::AsFast { iodepth } => (true, iodepth.unwrap_or(u32::MAX)),
            Pacing::Closed { iodepth } => (true, iodepth),
            Pacing::Rate { iodepth, .. } => (false, iodepth),
        };
        let mut feed = Self { stream, head: None, depth, in_flight: 0, closed, offset };
        feed.advance()?;
        Ok(feed)
    }

    /// Reads the next request.
    #[inline]
    fn advance(&mut self) -> Result<(), RunError> {
        self.head = self.stream.next()?;
        if let Some(head) = &mut self.head {
            head.arrival += self.offset;
        }
        Ok(())
    }

    /// When the next request could be submitted, if the drive has a slot.
    #[inline]
    fn ready(&self, now: Time) -> Option<Time> {
        let head = self.head.as_ref()?;
        if self.in_flight >= self.depth {
            return None;
        }
        let start = if self.closed { self.stream.start + self.offset } else { head.arrival };
        Some(start.max(now))
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("name", &self.stream.name).field("in_flight", &self.in_flight).finish()
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether it was interrupted, so that its results are partial.
    pub interrupted: bool,
    /// Requests that were in flight when it was.
    pub cut_off: u32,
}

/// Feeds a load to a drive until it ends, or until `report` says not to go on.
///
/// # Errors
/// When the load cannot be read, a request does not fit the drive, or the firmware broke a rule.
pub fn run(drive: &mut Drive, load: Load, report: &mut dyn FnMut(Progress) -> bool) -> Result<Ended, RunError> {
    run_recorded(drive, load, report, None)
}

/// As [`run`], while a timeline is drawn; its caller ends it.
///
/// # Errors
/// As [`run`].
pub fn run_recorded(
    drive: &mut Drive,
    load: Load,
    report: &mut dyn FnMut(Progress) -> bool,
    mut recording: Option<&mut Recording>,
) -> Result<Ended, RunError> {
    let start = drive.now();
    drive.start_measuring();
    let mut feeds = load.streams.into_iter().map(|stream| Feed::new(stream, start)).collect::<Result<Vec<_>, _>>()?;
    let mut steps = 0;
    loop {
        let next = submit(drive, &mut feeds, recording.as_deref_mut())?;
        // Events of the drive up to the next arrival come first; at the same time, too: completions free slots.
        let event = drive.next_event();
        match (event, next) {
            (None, None) => break,
            (Some(event), next) if next.is_none_or(|arrival| event <= arrival) => {
                drive.step()?;
                if let Some(recording) = &mut recording {
                    recording.observe(drive);
                }
                settle(drive, &mut feeds);
            }
            (_, Some(arrival)) => drive.advance_to(arrival)?,
            (Some(_), None) => unreachable!("handled above"),
        }
        steps += 1;
        if steps == STEPS {
            steps = 0;
            let progress =
                Progress { fraction: fraction(&feeds), requests: drive.metrics.requests(), time: drive.now() - start };
            if !report(progress) {
                return Ok(Ended { interrupted: true, cut_off: drive.in_flight() });
            }
        }
    }
    if let Some(feed) = feeds.iter().find(|feed| feed.head.is_some()) {
        // Requests wait, yet nothing will ever happen: the drive has stalled.
        drive.check_idle()?;
        return Err(Fault::Books(format!("stream '{}' can submit nothing more", feed.stream.name)).into());
    }
    match recording {
        None => drive.drain()?,
        Some(recording) => drive.drain_watched(|drive| recording.observe(drive))?,
    }
    Ok(Ended { interrupted: false, cut_off: 0 })
}

fn fraction(feeds: &[Feed]) -> Option<f64> {
    let parts: Option<Vec<f64>> = feeds.iter().map(|feed| feed.stream.progress()).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum::<f64>() / parts.len() as f64)
}

/// Notes what the drive has completed.
#[inline]
fn settle(drive: &mut Drive, feeds: &mut [Feed]) {
    let completions = drive.completions();
    for completion in completions.iter() {
        feeds[usize::from(completion.request.stream)].in_flight -= 1;
    }
    completions.clear();
}

/// Submits what can be submitted now; gives the time of the next arrival that has a place.
#[inline]
fn submit(
    drive: &mut Drive,
    feeds: &mut [Feed],
    mut recording: Option<&mut Recording>,
) -> Result<Option<Time>, RunError> {
    let mut next: Option<Time> = None;
    for (index, feed) in feeds.iter_mut().enumerate() {
        while let Some(ready) = feed.ready(drive.now()) {
            if ready > drive.now() {
                next = Some(next.map_or(ready, |next| next.min(ready)));
                break;
            }
            if !drive.has_slot(index as u16) {
                break;
            }
            let mut request = feed.head.expect("it is ready");
            request.stream = index as u16;
            if feed.closed {
                request.arrival = ready;
                if feed.stream.end.is_some_and(|end| ready >= end + feed.offset) {
                    feed.head = None;
                    break;
                }
            }
            if request.op == Op::Flush {
                request.bytes = 0;
            }
            let wrong = |error| RunError::Request { stream: feed.stream.name.clone(), error };
            if request.arrival >= END_OF_TIME {
                return Err(wrong(SubmitError::OutOfTime { arrival: request.arrival, at: ready, now: drive.now() }));
            }
            let slot = drive.submit(ready, request).map_err(wrong)?;
            if let Some(recording) = &mut recording {
                recording.submitted(slot, ready, &request);
            }
            feed.in_flight += 1;
            feed.advance()?;
        }
    }
    Ok(next)
}
