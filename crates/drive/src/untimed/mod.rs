//! A workload on a drive without time: wear and lifetime.
//!
//! Requests are carried out one after another, each to its end before the next begins: writes, trims and flushes change map, blocks
//! and wear, and collection, merges and background tasks follow at once. No command takes time, so there are no latencies, and a drive
//! bears its whole life in minutes.
//!
//! The state is that of a run in time in which each request waits for the one before, as far as the firmware does not look at
//! time: a test compares both. It differs where operations of one request overtake each other in time, as those that may go to any
//! idle die do, where GC or a merge is still under way when the next request comes, and where a policy waits for the host to rest: without
//! time it never does.

mod curve;
mod document;
mod order;

pub use curve::{Curve, Point};
pub use document::document;

use crate::drive::{Drive, SubmitError};
use crate::progress::{Progress, Start};
use order::{InOrder, Kept};
use wordline_base::{Op, Request};
use wordline_firmware::{Fault, Reason};
use wordline_workload::{Load, WorkloadError};

/// Requests between two reports of progress.
const REPORT: u32 = 1 << 12;
/// The number of a request towards the firmware: nobody waits for its end.
const NOBODY: u32 = u32::MAX;

/// A workload that cannot be carried out without time.
#[derive(Debug, thiserror::Error)]
pub enum UntimedError {
    /// It cannot be read.
    #[error(transparent)]
    Load(#[from] WorkloadError),
    /// The firmware broke a rule.
    #[error("the model broke a rule, which is a defect of Wordline: {0}")]
    Fault(#[from] Fault),
    /// A request does not fit the drive.
    #[error("{stream}: {error}")]
    Request {
        /// The stream.
        stream: String,
        /// What is wrong.
        error: SubmitError,
    },
    /// Time alone ends a stream.
    #[error(
        "{stream}: only its run time ends this job, and without time it never does; give it an end, as with number_ios or io_size"
    )]
    Endless {
        /// The stream.
        stream: String,
    },
    /// A stream ends when its rate is steady.
    #[error(
        "{stream}: a steady state of its rate ends this job, and without time there is no rate; leave steadystate out"
    )]
    Steady {
        /// The stream.
        stream: String,
    },
    /// Nothing wears the drive.
    #[error("the workload writes nothing, so the drive never comes to its end of life; give one that writes, or a number of times")]
    ReadsOnly,
}

/// How often a workload is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// So often, or until the end of life.
    Number(u64),
    /// Until the end of life.
    ToTheEnd,
}

/// Why the work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All is done.
    Done,
    /// The drive has come to its end of life: a block needs an erase beyond its endurance, or a plane has no block left to replace a
    /// bad one.
    EndOfLife(Fault),
    /// The caller stopped it.
    Interrupted,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Untimed {
    /// Times that the whole workload was carried out.
    pub times: u64,
    /// Requests, by the numbers of their operations.
    pub requests: [u64; 4],
    /// Their bytes.
    pub bytes: [u64; 4],
    /// Why it ended.
    pub ending: Ending,
    /// The drive over what the host wrote.
    pub curve: Curve,
}

impl Untimed {
    /// Bytes that the host wrote.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.bytes[Op::Write as usize]
    }
}

/// Carries a workload out on a drive without time. `open` opens it, each time the same; `report` gets the progress and says whether to
/// go on. Measuring of the drive begins anew, and ends when it is idle; after the end of life the drive cannot go on.
///
/// # Errors
/// Those of `open`, and when a request does not fit the drive, the workload needs time, or the firmware broke a rule.
pub fn carry_out<E: From<UntimedError>>(
    drive: &mut Drive,
    times: Times,
    open: &mut dyn FnMut() -> Result<Load, E>,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Untimed, E> {
    let mut requests = InOrder::new(open()?)?;
    drive.kernel_mut().0.unshare();
    drive.drain().map_err(UntimedError::Fault)?;
    drive.kernel_mut().0.set_timed(false);
    drive.start_measuring();
    let begun = Start::new(drive);
    let curve = Curve::new(drive);
    let done = Untimed { times: 0, requests: [0; 4], bytes: [0; 4], ending: Ending::Done, curve };
    let mut work = Work { drive, times, done, begun, until_report: REPORT, report };
    let mut kept = Kept::default();
    loop {
        let ended = if work.done.times > 0 && kept.is_whole() {
            work.again(&kept)
        } else {
            if work.done.times > 0 {
                requests = InOrder::new(open()?)?;
            }
            work.once(&mut requests, &mut kept)
        };
        if !work.goes_on(ended)? {
            break;
        }
    }
    Ok(work.end()?)
}

/// A workload under way.
struct Work<'a> {
    drive: &'a mut Drive,
    times: Times,
    done: Untimed,
    begun: Start,
    until_report: u32,
    report: &'a mut dyn FnMut(Progress) -> bool,
}

/// How a round of the workload ended: true if it was stopped.
type Stopped = Result<bool, UntimedError>;

impl Work<'_> {
    /// Carries the workload out as it is read, and keeps its requests.
    fn once(&mut self, requests: &mut InOrder, kept: &mut Kept) -> Stopped {
        kept.begin();
        while let Some(request) = requests.next()? {
            self.drive.fits(&request).map_err(|error| UntimedError::Request { stream: requests.name(), error })?;
            kept.keep(&request);
            if self.take(&request, || requests.progress())? {
                return Ok(true);
            }
        }
        kept.end();
        Ok(false)
    }

    /// Carries out the requests that were kept.
    fn again(&mut self, kept: &Kept) -> Stopped {
        let all = kept.len();
        for at in 0..all {
            if let Some(unit) = kept.ahead(at) {
                self.drive.expect_at(unit);
            }
            if self.take(&kept.get(at), || Some(at as f64 / all as f64))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Carries out one request; true if the caller stops the work.
    #[inline]
    fn take(&mut self, request: &Request, share: impl FnOnce() -> Option<f64>) -> Stopped {
        self.done.requests[request.op as usize] += 1;
        if request.op != Op::Flush {
            self.done.bytes[request.op as usize] += u64::from(request.bytes);
        }
        self.drive.carry_out(request)?;
        self.done.curve.look(self.drive, self.done.written());
        self.until_report -= 1;
        if self.until_report > 0 {
            return Ok(false);
        }
        self.until_report = REPORT;
        let requests = self.done.requests.iter().sum();
        let fraction = share().and_then(|share| self.share(share));
        Ok(!(self.report)(self.begun.progress(self.drive, fraction, requests)))
    }

    /// The share of all that is done, when that of a round is.
    fn share(&self, of_round: f64) -> Option<f64> {
        match self.times {
            Times::Number(times) => Some((self.done.times as f64 + of_round) / times as f64),
            Times::ToTheEnd => None,
        }
    }

    /// Notes how a round ended; true if another follows.
    fn goes_on(&mut self, ended: Stopped) -> Result<bool, UntimedError> {
        match ended {
            Ok(false) => self.done.times += 1,
            Ok(true) => self.done.ending = Ending::Interrupted,
            Err(UntimedError::Fault(fault)) if fault.is_interrupt() => self.done.ending = Ending::Interrupted,
            Err(UntimedError::Load(error)) if error.is_interrupt() => self.done.ending = Ending::Interrupted,
            Err(UntimedError::Fault(fault)) => self.done.ending = Ending::EndOfLife(of_life(fault)?),
            Err(error) => return Err(error),
        }
        if self.done.ending != Ending::Done {
            return Ok(false);
        }
        match self.times {
            Times::Number(times) => Ok(self.done.times < times),
            Times::ToTheEnd if self.done.written() == 0 => Err(UntimedError::ReadsOnly),
            Times::ToTheEnd => Ok(true),
        }
    }

    /// Brings the drive to rest, and closes the figures.
    fn end(mut self) -> Result<Untimed, UntimedError> {
        if !matches!(self.done.ending, Ending::EndOfLife(_)) {
            match self.drive.drain() {
                Ok(()) => self.drive.kernel_mut().0.set_timed(true),
                Err(fault) if fault.is_interrupt() => self.done.ending = Ending::Interrupted,
                Err(fault) => self.done.ending = Ending::EndOfLife(of_life(fault)?),
            }
        }
        match self.drive.end_measuring() {
            Err(fault) if fault.is_interrupt() => self.done.ending = Ending::Interrupted,
            ended => ended?,
        }
        let written = self.done.written();
        self.done.curve.end(self.drive, written);
        Ok(self.done)
    }
}

/// The fault, if it is an end of life and no defect.
fn of_life(fault: Fault) -> Result<Fault, UntimedError> {
    match fault.reason() {
        Reason::WornOut { .. } | Reason::NoSpare { .. } => Ok(fault),
        _ => Err(fault.into()),
    }
}

impl Drive {
    /// Carries out one request that fits, without time, to its end.
    pub(crate) fn carry_out(&mut self, request: &Request) -> Result<(), Fault> {
        let (kernel, queue, now) = self.kernel_mut();
        let unit_bytes = u64::from(kernel.plan().unit_bytes);
        let (start, end) = (request.offset, request.offset + u64::from(request.bytes));
        let first = (start / unit_bytes) as u32;
        // Units that are covered as a whole.
        let whole = start.div_ceil(unit_bytes) as u32..(end / unit_bytes) as u32;
        match request.op {
            Op::Write => {
                let is_whole = whole.start == first && u64::from(whole.end) * unit_bytes == end;
                if is_whole && kernel.takes_runs() && kernel.write_run(now, first, whole.end - first)? {
                    kernel.pump(queue)?;
                    kernel.done().clear();
                    return Ok(());
                }
                kernel.begin_write(0);
                kernel.cover(whole.clone());
                for unit in first..end.div_ceil(unit_bytes) as u32 {
                    if !kernel.buffer().has_room() {
                        kernel.pump(queue)?;
                        kernel.done().clear();
                    }
                    kernel.write(now, NOBODY, unit, whole.contains(&unit), request.fua);
                }
                kernel.cover(0..0);
            }
            Op::Read => {
                let skip = (start % unit_bytes) as u32;
                kernel.read(now, NOBODY, first, skip, request.bytes);
            }
            Op::Trim if !whole.is_empty() => kernel.trim(now, whole.start, whole.end - whole.start),
            Op::Trim => {}
            Op::Flush => drop(kernel.flush(now)),
        }
        kernel.pump(queue)?;
        kernel.done().clear();
        Ok(())
    }

    /// Tells that the unit with a byte will soon be written, so that its map entry is at hand then.
    #[inline]
    fn expect_at(&mut self, offset: u64) {
        let (kernel, ..) = self.kernel_mut();
        kernel.expect((offset / u64::from(kernel.plan().unit_bytes)) as u32);
    }
}
