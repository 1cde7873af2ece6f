//! The run loop: feeds a workload to a drive and advances its clock.
//!
//! A stream with time stamps or a rate submits at its times, and waits for a queue slot if necessary; a closed-loop
//! stream submits whenever it has fewer requests in flight than its depth. Only the next request of each stream is
//! stored.

mod alone;

use crate::device::{Device, Watcher};
use crate::drive::{Drive, SubmitError};
pub use crate::progress::Progress;
use crate::progress::Start;
use crate::streams::Streams;
use crate::timeline::Recording;
pub use crate::watch::{Onlooker, Watch};
use std::fmt;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};
use wordline_firmware::{Fault, Reason};
use wordline_workload::{LeftOut, Load, LoadStream, Pacing, WorkloadError};

/// Steps between two looks at whether to go on.
const STEPS: u32 = 1 << 15;

/// A run that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workload cannot be read.
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
    /// The workload ended before any of its jobs was measured.
    #[error(
        "ramp_time: the workload ended within the first {seconds} s, before any of its jobs was measured; give them \
         more to do, or \
         a shorter ramp_time"
    )]
    Unmeasured {
        /// Seconds before measuring starts.
        seconds: f64,
    },
}

/// A worn-out drive is not a defect of the model.
fn told(fault: &Fault) -> String {
    match fault.reason() {
        Reason::WornOut { .. } | Reason::NoSpare { .. } | Reason::Policy { .. } => fault.to_string(),
        _ => format!("the model broke a rule, which is a defect of Wordline: {fault}"),
    }
}

/// One stream of a workload in a run.
struct Feed {
    stream: LoadStream,
    /// The next request; none when the stream has ended.
    head: Option<Request>,
    /// Most requests in flight: its depth, or 0 while it may send none.
    limit: u32,
    depth: u32,
    in_flight: u32,
    /// True for a closed loop: completions determine the next arrival.
    closed: bool,
    /// Added to the arrival times of the stream.
    offset: Time,
    /// Nothing is sent before.
    not_before: Time,
    /// A stream with a time limit lasts until then, even if it has sent everything.
    lasts: Option<Time>,
    /// Starts after all streams before it have ended.
    walled: bool,
    /// Requests to send until the next rest; `u32::MAX` for a stream that does not rest.
    until_rest: u32,
}

impl Feed {
    fn new(stream: LoadStream) -> Self {
        let (closed, depth) = match stream.pacing {
            Pacing::Timestamps => (false, u32::MAX),
            Pacing::AsFast { iodepth } => (true, iodepth.unwrap_or(u32::MAX)),
            Pacing::Closed { iodepth } => (true, iodepth),
            Pacing::Rate { iodepth, .. } => (false, iodepth),
        };
        let until_rest = stream.manner.think.map_or(u32::MAX, |(blocks, _)| blocks);
        Self {
            stream,
            head: None,
            limit: depth,
            depth,
            in_flight: 0,
            closed,
            offset: 0,
            not_before: 0,
            lasts: None,
            walled: true,
            until_rest,
        }
    }

    /// Starts the stream at `now`; returns the start of its requests.
    fn open(&mut self, now: Time) -> Result<Time, RunError> {
        self.walled = false;
        self.offset = now;
        self.not_before = self.stream.start + now;
        self.advance()?;
        Ok(self.not_before)
    }

    fn has_ended(&self) -> bool {
        !self.walled && self.head.is_none() && self.in_flight == 0 && self.lasts.is_none()
    }

    /// Reads the next request.
    #[inline]
    fn advance(&mut self) -> Result<(), RunError> {
        let Some(request) = self.stream.next_at_once() else { return self.advance_slowly() };
        self.head = Some(Request { arrival: request.arrival + self.offset, ..request });
        Ok(())
    }

    /// The same for a drive, which is told of it: some events will come before it.
    #[inline(always)]
    fn advance_for<D: Device>(&mut self, drive: &D) -> Result<(), RunError> {
        self.advance()?;
        if let Some(next) = &self.head {
            drive.expect(next);
        }
        Ok(())
    }

    #[inline(never)]
    fn advance_slowly(&mut self) -> Result<(), RunError> {
        self.head = self.stream.next()?;
        match &mut self.head {
            Some(head) => head.arrival += self.offset,
            None if self.stream.timed_out => self.lasts = self.end(),
            None => {}
        }
        Ok(())
    }

    /// From when on it sends nothing.
    #[inline]
    fn end(&self) -> Option<Time> {
        self.stream.end.map(|end| end + self.offset)
    }

    /// When the next request could be submitted, if the drive has a slot.
    #[inline]
    fn ready(&self, now: Time) -> Option<Time> {
        let head = self.head.as_ref()?;
        if self.in_flight >= self.limit {
            return None;
        }
        let start = if self.closed { self.not_before } else { head.arrival.max(self.not_before) };
        Some(start.max(now))
    }

    /// True if the next request arrives at this very time, and something else that happens now comes first. Of streams that are not closed.
    #[inline(never)]
    fn comes_now<D: Device>(&self, drive: &D) -> bool {
        let now = drive.now();
        self.head.as_ref().is_some_and(|head| head.arrival == now) && drive.has_event_now()
    }

    /// A request was sent; after so many the stream sends nothing until all have completed.
    #[inline]
    fn sent(&mut self, op: Op) {
        self.in_flight += 1;
        if self.until_rest != u32::MAX && op != Op::Flush {
            self.until_rest -= 1;
            if self.until_rest == 0 {
                self.limit = 0;
            }
        }
    }

    /// A request has completed; think time starts with the last one before it.
    #[inline]
    fn completed(&mut self, now: Time) {
        self.in_flight -= 1;
        if self.until_rest == 0 && self.in_flight == 0 {
            let (blocks, rest) = self.stream.manner.think.expect("a stream that rests");
            self.until_rest = blocks;
            self.limit = self.depth;
            self.not_before = now.saturating_add(rest);
        }
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
    /// True if it was interrupted; its results are then partial.
    pub interrupted: bool,
    /// Requests that were in flight when it was.
    pub cut_off: u32,
    /// Requests of the trace left out or changed while reading; `None` without a trace.
    pub left_out: Option<LeftOut>,
    /// Start of the figures of the run, in ps from its start: 0, or the end of the first ramp.
    pub measured_from: Time,
    /// Their end: at the last completion, at the end of a job's `runtime` if that is later, or where the run was
    /// interrupted.
    pub measured_to: Time,
}

/// Feeds a workload to a drive until it ends, or until `report` stops it.
///
/// # Errors
/// When the workload cannot be read, a request does not fit the drive, or the firmware broke a rule.
pub fn run(drive: &mut Drive, load: Load, report: &mut dyn FnMut(Progress) -> bool) -> Result<Ended, RunError> {
    run_recorded(drive, load, report, None)
}

/// As [`run`], with a timeline, which the caller finishes.
///
/// # Errors
/// As [`run`].
pub fn run_recorded(
    drive: &mut Drive,
    load: Load,
    report: &mut dyn FnMut(Progress) -> bool,
    recording: Option<&mut Recording>,
) -> Result<Ended, RunError> {
    run_watched(drive, load, report, Watch { recording, ..Watch::default() })
}

/// As [`run`], with observers, which their owners finish.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    drive: &mut Drive,
    load: Load,
    report: &mut dyn FnMut(Progress) -> bool,
    watch: Watch<'_>,
) -> Result<Ended, RunError> {
    run_measured(drive, load, report, watch, &mut Streams::default())
}

/// As [`run_watched`], while `streams` measures the streams of the workload by themselves, if it is to or the workload
/// needs it.
///
/// # Errors
/// As [`run`], and if the workload ends before any of its jobs is measured.
pub fn run_measured(
    drive: &mut Drive,
    load: Load,
    report: &mut dyn FnMut(Progress) -> bool,
    watch: Watch<'_>,
    streams: &mut Streams,
) -> Result<Ended, RunError> {
    run_on(drive, load, report, watch, streams)
}

/// As [`run_measured`], on any device.
///
/// # Errors
/// As [`run_measured`].
pub(crate) fn run_on<D: Device, W: Watcher<D>>(
    drive: &mut D,
    load: Load,
    report: &mut dyn FnMut(Progress) -> bool,
    watch: W,
    streams: &mut Streams,
) -> Result<Ended, RunError> {
    drive.unshare();
    drive.start_measuring();
    let start = drive.now();
    streams.begin(&load, start);
    let mut walls = Walls::new(&load, start);
    let mut feeds: Vec<Feed> = load.streams.into_iter().map(Feed::new).collect();
    let fed = feed_all(drive, &mut feeds, &mut walls, report, watch, streams);
    drive.announce(None);
    let interrupted = match fed {
        Err(RunError::Fault(fault)) if fault.is_interrupt() => true,
        Err(RunError::Load(error)) if error.is_interrupt() => true,
        ended => ended?,
    };
    let cut_off = if interrupted { drive.in_flight() } else { 0 };
    drive.end_measuring()?;
    if let Some(jobs) = streams.jobs_mut() {
        jobs.name(feeds.first().map_or(&[], |feed| feed.stream.device_names()));
    }
    let (measured_from, measured_to) = (walls.measured_from - start, drive.metrics().end - start);
    Ok(Ended { interrupted, cut_off, left_out: left_out(&feeds), measured_from, measured_to })
}

/// Feeds the streams to the drive until they end, or until `report` stops them; returns whether it did.
fn feed_all<D: Device, W: Watcher<D>>(
    drive: &mut D,
    feeds: &mut [Feed],
    walls: &mut Walls,
    report: &mut dyn FnMut(Progress) -> bool,
    watch: W,
    streams: &mut Streams,
) -> Result<bool, RunError> {
    let mut watch = watch.is_needed().then_some(watch);
    let (begun, start) = (Start::new(drive), drive.now());
    let mut steps = 0;
    let mut next = None;
    // Nothing new can be submitted until a slot is free again or the next arrival has come.
    let mut due = true;
    let (rests, previews) = (drive.waits_for_rest(), drive.previews());
    let alone = watch.is_none() && alone::is_possible(drive, feeds, streams);
    loop {
        if steps == STEPS {
            steps = 0;
            if !report(begun.progress(drive, fraction(feeds), drive.metrics().requests())) {
                return Ok(true);
            }
        }
        if walls.wait {
            due |= walls.open(feeds, drive.now(), streams)?;
        }
        if let Some(plain) = drive.plain().filter(|_| alone && !walls.wait) {
            alone::feed(plain, &mut feeds[0], &mut steps)?;
            if steps == STEPS {
                continue;
            }
            due = true;
        }
        if due || next.is_some_and(|next| next <= drive.now()) {
            next = submit(drive, feeds, watch.as_mut(), streams)?;
            if next.is_none() && walls.next == feeds.len() && feeds.iter().all(Feed::has_ended) {
                break;
            }
        }
        if rests {
            if previews {
                drive.preview(next_request(feeds, drive.now(), next).as_ref());
            }
            drive.announce(next);
        }
        // Events of the drive up to the next arrival come first; at the same time, too, all of them: completions free slots. If nobody looks
        // between them, the drive takes them by itself.
        let unwatched = watch.is_none() && !walls.wait;
        let taken = if unwatched { drive.steps(next.unwrap_or(Time::MAX), STEPS - steps)? } else { 0 };
        if taken > 0 {
            steps += taken;
            due = gather(drive, feeds, streams);
        } else {
            let event = drive.next_event();
            if walls.wait {
                walls.measure(drive, watch.as_mut(), event.into_iter().chain(next).min(), streams)?;
            }
            match (event, next) {
                (None, None) if walls.next < feeds.len() && feeds[..walls.next].iter().all(Feed::has_ended) => {}
                (None, None) => break,
                (Some(event), next) if next.is_none_or(|arrival| event <= arrival) => {
                    match &mut watch {
                        None => drop(drive.steps(Time::MAX, 1)?),
                        Some(watch) => {
                            watch.before(drive, event);
                            drive.steps(Time::MAX, 1)?;
                            watch.after(drive);
                        }
                    }
                    due = gather(drive, feeds, streams);
                }
                (_, Some(arrival)) => {
                    if let Some(watch) = &mut watch {
                        watch.before(drive, arrival);
                    }
                    drive.advance_to(arrival)?;
                }
                (Some(_), None) => unreachable!("handled above"),
            }
            if watch.as_ref().is_some_and(|watch| watch.has_stopped()) {
                return Ok(true);
            }
            steps += 1;
        }
    }
    if let Some(feed) = feeds.iter().find(|feed| feed.head.is_some()) {
        // Requests wait, yet nothing will ever happen: the drive has stalled.
        drive.check_idle()?;
        return Err(Fault::books(format!("stream '{}' cannot submit any more", feed.stream.name)).into());
    }
    if walls.measure_from < Time::MAX {
        return Err(RunError::Unmeasured { seconds: (walls.measure_from - start) as f64 / 1e12 });
    }
    // The figures end with the workload; background work after it is reported separately.
    drive.end_measuring()?;
    match &mut watch {
        None => drive.drain()?,
        Some(watch) => {
            watch.measured(drive);
            watch.drain(drive)?;
        }
    }
    Ok(false)
}

fn left_out(feeds: &[Feed]) -> Option<LeftOut> {
    feeds.iter().find_map(|feed| feed.stream.left_out())
}

fn fraction(feeds: &[Feed]) -> Option<f64> {
    let parts: Option<Vec<f64>> = feeds.iter().map(|feed| feed.stream.progress()).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum::<f64>() / parts.len() as f64)
}

/// The streams that start after earlier ones, and the end of the first ramp.
struct Walls {
    /// The first stream that has not been started.
    next: usize,
    /// Start of the figures, if not at the start of the run; `Time::MAX` otherwise, and afterwards.
    measure_from: Time,
    /// When they began.
    measured_from: Time,
    /// True if any of these is still pending.
    wait: bool,
}

impl Walls {
    fn new(load: &Load, start: Time) -> Self {
        // Streams behind a wall start later than any of those before it, whose ramps are over by then or do not matter.
        let walled = |stream: &&LoadStream| !stream.manner.stonewall;
        let first = load.streams.iter().enumerate().take_while(|(index, stream)| *index == 0 || walled(stream));
        let from = first.map(|(_, stream)| stream.start + stream.manner.ramp).min().unwrap_or(0);
        let ramp = load.streams.iter().any(|stream| stream.manner.ramp > 0) && from > 0;
        Self { next: 0, measure_from: if ramp { start + from } else { Time::MAX }, measured_from: start, wait: true }
    }

    /// Starts all streams up to the next stonewall; returns whether there were any.
    fn open(&mut self, feeds: &mut [Feed], now: Time, streams: &mut Streams) -> Result<bool, RunError> {
        let first = self.next;
        while self.next < feeds.len() {
            let (before, rest) = feeds.split_at_mut(self.next);
            if rest[0].stream.manner.stonewall && !before.iter().all(Feed::has_ended) {
                break;
            }
            let begins = rest[0].open(now)?;
            streams.started(self.next, begins);
            self.next += 1;
        }
        self.wait = self.next < feeds.len() || self.measure_from < Time::MAX;
        Ok(self.next > first)
    }

    /// Begins to measure when nothing happens any more before the time for that; `next` is when something does.
    fn measure<D: Device, W: Watcher<D>>(
        &mut self,
        drive: &mut D,
        watch: Option<&mut W>,
        next: Option<Time>,
        streams: &mut Streams,
    ) -> Result<(), RunError> {
        if next.is_some_and(|next| next >= self.measure_from) {
            // Requests that complete before it count in no figure; those that complete at that moment do.
            drive.advance_to(self.measure_from - 1)?;
            match watch {
                None => drive.start_measuring(),
                Some(watch) => watch.measure(drive, self.measure_from),
            }
            if let Some(jobs) = streams.jobs_mut() {
                jobs.restart(self.measure_from);
            }
            self.measured_from = std::mem::replace(&mut self.measure_from, Time::MAX);
        }
        Ok(())
    }
}

/// Notes what the drive has completed; false if nothing.
#[inline]
fn gather<D: Device>(drive: &mut D, feeds: &mut [Feed], streams: &mut Streams) -> bool {
    let now = drive.now();
    let completions = drive.completions();
    match completions[..] {
        [] => return false,
        // Mostly it is one, and nobody measures streams by themselves.
        [done] if !streams.measure() => {
            completions.clear();
            feeds[usize::from(done.request.stream)].completed(now);
        }
        _ => settle(drive, feeds, streams),
    }
    true
}

/// Notes what the drive has completed.
fn settle<D: Device>(drive: &mut D, feeds: &mut [Feed], streams: &mut Streams) {
    let now = drive.now();
    let completions = drive.completions();
    for completion in completions.iter() {
        feeds[usize::from(completion.request.stream)].completed(now);
    }
    if let Some(jobs) = streams.jobs_mut() {
        completions.iter().for_each(|done| jobs.completed(done));
    }
    if streams.active() {
        let mut steady = false;
        for done in completions.iter() {
            steady |= streams.completed(done);
        }
        if steady {
            let ended = feeds.iter_mut().enumerate().filter(|(index, _)| streams.is_steady(*index));
            ended.for_each(|(_, feed)| (feed.head, feed.lasts) = (None, None));
        }
    }
    completions.clear();
}

/// The request that comes next, at a time that is known.
fn next_request(feeds: &[Feed], now: Time, next: Option<Time>) -> Option<Request> {
    feeds.iter().find(|feed| next.is_some() && feed.ready(now) == next).and_then(|feed| feed.head)
}

/// Submits what can be submitted now; gives the time of the next arrival that has a place.
fn submit<D: Device, W: Watcher<D>>(
    drive: &mut D,
    feeds: &mut [Feed],
    mut watch: Option<&mut W>,
    streams: &mut Streams,
) -> Result<Option<Time>, RunError> {
    let mut next: Option<Time> = None;
    for (index, feed) in feeds.iter_mut().enumerate() {
        while let Some(ready) = feed.ready(drive.now()) {
            if feed.end().is_some_and(|end| ready >= end) {
                // Whatever happens, it can send this no sooner.
                feed.head = None;
                feed.lasts = feed.end();
                break;
            }
            if ready > drive.now() {
                next = Some(next.map_or(ready, |next| next.min(ready)));
                break;
            }
            if !drive.has_slot(index as u16) {
                break;
            }
            if !feed.closed && feed.comes_now(drive) {
                next = Some(drive.now());
                break;
            }
            let Some(head) = &feed.head else { break };
            let arrival = if feed.closed { ready } else { head.arrival };
            let request = Request {
                // A stream that rested catches up with its rate; the rest is none of its requests' latency.
                arrival: arrival.max(feed.not_before),
                bytes: if head.op == Op::Flush { 0 } else { head.bytes },
                stream: index as u16,
                ..*head
            };
            let wrong = |error| RunError::Request { stream: feed.stream.name.clone(), error };
            if request.arrival >= END_OF_TIME {
                return Err(wrong(SubmitError::OutOfTime { arrival: request.arrival, at: ready, now: drive.now() }));
            }
            let slot = drive.submit(ready, request).map_err(wrong)?;
            if let Some(watch) = &mut watch {
                watch.submitted(drive, slot, ready, &request);
            }
            feed.sent(request.op);
            if let Some(jobs) = streams.jobs_mut() {
                jobs.submitted(slot, feed.stream.device());
            }
            if streams.active() {
                streams.submitted(index, ready, feed.in_flight);
            }
            feed.advance_for(drive)?;
        }
        if let Some(end) = feed.lasts {
            if end > drive.now() {
                next = Some(next.map_or(end, |next| next.min(end)));
            } else {
                feed.lasts = None;
                drive.metrics_mut().lasted(end);
                streams.ended(index, end);
            }
        }
    }
    Ok(next)
}
