//! Tables of a run: requests, intervals, units of the flash and blocks, as rows of plain data for a [`Sink`] that writes them.
//!
//! The drive and its firmware record the events of a step; after each step they are read here and dropped, so memory
//! depends only on work in progress. A run without tables pays nothing for it.

mod periods;
mod units;

pub use crate::rows::{BlockRow, ChannelTimes, DieTimes, IntervalRow, PlaneTimes, RequestRow, Sink, UnitRow};

use crate::drive::Drive;
use periods::Periods;
use std::fmt;
use units::Units;
use wordline_base::time::{END_OF_TIME, MS};
use wordline_base::Time;
use wordline_firmware::blocks::Status;
use wordline_firmware::Noting;

/// The shortest interval: with shorter ones, too many would be open at a time.
pub const SHORTEST_INTERVAL: Time = MS / 100;

/// The requested tables and their resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A row a request.
    pub requests: bool,
    /// A row an interval.
    pub intervals: bool,
    /// A row an interval and channel.
    pub channels: bool,
    /// A row an interval and die.
    pub dies: bool,
    /// A row an interval and plane.
    pub planes: bool,
    /// A row per block, at the end of the figures.
    pub blocks: bool,
    /// Sampling: one request in this many, selected by a hash of their numbers.
    pub sample: u64,
    /// Length of an interval in picoseconds, at least [`SHORTEST_INTERVAL`].
    pub interval: Time,
    /// From when to when rows are written, in picoseconds since the start of the run: requests that complete then, and intervals, the
    /// first of which begins with it and the last ends with it. The table of blocks is as without it.
    pub window: (Time, Time),
}

impl Wanted {
    /// No table; all requests, and intervals of 100 ms.
    pub const NOTHING: Self = Self {
        requests: false,
        intervals: false,
        channels: false,
        dies: false,
        planes: false,
        blocks: false,
        sample: 1,
        interval: 100 * MS,
        window: (0, END_OF_TIME),
    };

    fn units(&self) -> bool {
        self.channels || self.dies || self.planes
    }
}

/// Looks at a run and makes its tables.
pub struct Observation {
    wanted: Wanted,
    sink: Box<dyn Sink>,
    /// The window.
    window: (Time, Time),
    /// Start and end of the current interval.
    from: Time,
    due: Time,
    /// True if the drive keeps the latency breakdown only for these tables.
    asked: bool,
    units: Option<Units>,
    periods: Option<Periods>,
    /// True if the table of blocks has been written.
    told_blocks: bool,
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Observation {
    /// Starts to look at an idle drive, whose time now is the origin of all times.
    ///
    /// # Panics
    /// When the interval is shorter than [`SHORTEST_INTERVAL`], or the sample is 0.
    pub fn new(drive: &mut Drive, wanted: Wanted, sink: Box<dyn Sink>) -> Self {
        assert!(wanted.interval >= SHORTEST_INTERVAL && wanted.sample > 0);
        // Counters restart before differences are taken.
        drive.start_measuring();
        let origin = drive.now();
        let asked = (wanted.requests || wanted.intervals) && drive.split().is_none();
        if asked {
            drive.split_time(true);
        }
        if let Some(split) = drive.split_mut().filter(|_| wanted.requests) {
            split.make_rows(origin, wanted.sample);
        }
        let window = (origin.saturating_add(wanted.window.0), origin.saturating_add(wanted.window.1));
        let mut observation = Self {
            wanted,
            sink,
            window,
            from: origin,
            due: Time::MAX,
            asked,
            units: wanted.units().then(|| Units::new(drive, wanted)),
            periods: wanted.intervals.then(|| Periods::new(drive)),
            told_blocks: false,
        };
        if wanted.intervals || wanted.units() {
            observation.due = observation.end_of(origin);
        }
        observation.note_passages(drive, wanted.units());
        observation
    }

    /// Has the firmware note every step, or not; what others want noted stays.
    fn note_passages(&self, drive: &mut Drive, passages: bool) {
        let kernel = drive.kernel_mut().0;
        let noting = kernel.noting();
        kernel.record(Noting { passages, ..noting });
    }

    /// When an interval ends that starts at `from`: it does not reach over an edge of the window. Rows of units are written as soon as they
    /// are complete, so that few are open; without units, what is before the window is one interval, and there are none behind it.
    fn end_of(&self, from: Time) -> Time {
        let next = from + self.wanted.interval;
        let edge = self.edge_after(from);
        if self.shows(from) || self.units.is_some() {
            next.min(edge)
        } else {
            edge
        }
    }

    /// The next edge of the window; none behind it.
    fn edge_after(&self, time: Time) -> Time {
        let (opens, ends) = self.window;
        [opens, ends].into_iter().find(|&edge| time < edge).unwrap_or(Time::MAX)
    }

    /// True if what happens at a time is shown.
    fn shows(&self, time: Time) -> bool {
        (self.window.0..self.window.1).contains(&time)
    }

    /// The drive's time advances to `next`: intervals that end before it are closed.
    #[inline]
    pub(crate) fn before(&mut self, drive: &Drive, next: Time) {
        if next >= self.due {
            self.turn(drive, next);
        }
    }

    #[cold]
    fn turn(&mut self, drive: &Drive, next: Time) {
        while next >= self.due {
            self.close(drive, self.due);
            let mut from = self.due;
            if drive.in_flight() == 0 && drive.kernel().operations() == 0 {
                // Nothing happens until then.
                let edge = self.edge_after(from);
                from = if next >= edge {
                    edge
                } else {
                    from + (next - from) / self.wanted.interval * self.wanted.interval
                };
                self.skip(from);
            }
            (self.from, self.due) = (from, self.end_of(from));
        }
    }

    fn skip(&mut self, to: Time) {
        if let Some(periods) = &mut self.periods {
            periods.skip(to);
        }
    }

    fn close(&mut self, drive: &Drive, end: Time) {
        let span = (self.from, end);
        let shown = self.shows(self.from);
        let sink: &mut dyn Sink = if shown { &mut *self.sink } else { &mut Nowhere };
        if let Some(periods) = &mut self.periods {
            periods.close(drive, span, sink);
        }
        if let Some(units) = &mut self.units {
            units.close(drive, span, &mut *self.sink);
        }
    }

    /// All figures start at `from`, the next instant: an interval ends there, so that the following intervals belong to
    /// the result.
    pub(crate) fn measure(&mut self, drive: &mut Drive, from: Time) {
        self.before(drive, from);
        self.cut(drive, from);
        drive.start_measuring();
        if let Some(periods) = &mut self.periods {
            periods.count_anew(drive, from);
        }
    }

    /// All figures end now, and background work follows: an interval ends, so that the previous intervals belong to the
    /// result, and the table of blocks has the same state as the result.
    pub(crate) fn measured(&mut self, drive: &Drive) {
        self.before(drive, drive.now());
        self.cut(drive, drive.now());
        self.blocks(drive);
    }

    /// Ends an interval at `at`, and starts the next one there.
    fn cut(&mut self, drive: &Drive, at: Time) {
        if self.due == Time::MAX {
            return;
        }
        if self.from < at {
            self.close(drive, at);
        }
        if let Some(units) = &mut self.units {
            units.cut(at);
        }
        (self.from, self.due) = (at, self.end_of(at));
    }

    fn blocks(&mut self, drive: &Drive) {
        if self.wanted.blocks && !std::mem::replace(&mut self.told_blocks, true) {
            blocks(drive, &mut *self.sink);
        }
    }

    /// A request got a slot.
    pub(crate) fn submitted(&mut self, drive: &mut Drive, slot: u32, now: Time) {
        if let Some(split) = drive.split_mut() {
            split.number(slot);
        }
        if let Some(periods) = &mut self.periods {
            periods.submitted(now);
        }
    }

    /// True if it observes every step of the flash.
    #[inline]
    pub(crate) fn sees_steps(&self) -> bool {
        self.units.is_some()
    }

    /// The drive has made a step: reads what it noted.
    pub(crate) fn after(&mut self, drive: &mut Drive) {
        if let Some(units) = &mut self.units {
            let now = drive.now();
            if let Some(noted) = drive.kernel_mut().0.noted() {
                units.read(&noted, now);
            }
        }
        if drive.completions().is_empty() {
            return;
        }
        self.requests(drive);
        if let Some(periods) = &mut self.periods {
            drive.completions().iter().for_each(|completion| periods.completed(completion));
        }
    }

    fn requests(&mut self, drive: &mut Drive) {
        if let Some(rows) = drive.split_mut().and_then(|split| split.rows()) {
            let (from, to) = self.wanted.window;
            rows.iter().filter(|row| (from..to).contains(&row.completion)).for_each(|row| self.sink.request(row));
            rows.clear();
        }
    }

    /// The run is over, or was cut off: writes all that is left.
    pub fn finish(mut self, drive: &mut Drive) {
        let now = drive.now();
        self.requests(drive);
        if let Some(split) = drive.split_mut() {
            split.end_rows();
        }
        self.note_passages(drive, false);
        self.before(drive, now);
        if now > self.from && self.due < Time::MAX {
            self.close(drive, now);
        }
        if let Some(units) = &mut self.units {
            units.finish(now, &mut *self.sink);
        }
        self.blocks(drive);
        // The last interval has the waits of its operations.
        if self.asked && drive.in_flight() == 0 {
            drive.split_time(false);
        }
    }
}

/// Takes the rows that are not of the window.
struct Nowhere;

impl Sink for Nowhere {
    fn request(&mut self, _: &RequestRow) {}
    fn interval(&mut self, _: &IntervalRow) {}
    fn channel(&mut self, _: &UnitRow<ChannelTimes>) {}
    fn die(&mut self, _: &UnitRow<DieTimes>) {}
    fn plane(&mut self, _: &UnitRow<PlaneTimes>) {}
    fn block(&mut self, _: &BlockRow) {}
}

/// Writes the blocks as they are.
fn blocks(drive: &Drive, sink: &mut dyn Sink) {
    let flash = drive.kernel().flash();
    let geometry = *flash.geometry();
    for (block, record) in (0..).zip(drive.kernel().blocks().records()) {
        let nand = flash.block_record(block);
        let plane = block / geometry.blocks_per_plane;
        let die = plane / geometry.planes_per_die;
        let state = match record.status {
            Status::Free => "free",
            Status::Open => "open",
            Status::Closed | Status::Kept => "closed",
            Status::Victim => "victim",
            Status::Bad => "bad",
            Status::Spare => "spare",
        };
        sink.block(&BlockRow {
            block,
            plane,
            die,
            channel: flash.channel_of(die),
            state,
            erases: record.erases,
            valid_units: record.valid,
            reads: nand.reads,
            write_point: record.write_point * geometry.pages_per_program,
            bad: nand.bad || record.status == Status::Bad,
        });
    }
}
