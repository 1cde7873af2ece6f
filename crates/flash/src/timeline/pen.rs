//! Where slices end up: cut to the window, counted, and nothing more after an error.

use super::Frame;
use std::io::Write;
use wordline_base::Time;
use wordline_timeline::{Arg, Event, Timeline, TimelineError, TrackId};

/// Why a timeline does not show all that it was to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It holds as many slices as it may.
    Full(u64),
    /// The run was interrupted.
    Interrupted,
    /// The run could not go on, for the reason given.
    Failed(String),
}

impl Cut {
    fn reason(&self) -> String {
        match self {
            Cut::Full(most) => format!("full: it holds {most} slices"),
            Cut::Interrupted => "the run was interrupted".to_owned(),
            Cut::Failed(why) => format!("the run failed: {why}"),
        }
    }
}

/// Result of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Slices that it holds.
    pub slices: u64,
    /// When it was cut, in picoseconds since its origin, and why.
    pub cut: Option<(Time, Cut)>,
}

/// A timeline with its window. Times are those of the flash.
pub(super) struct Pen {
    timeline: Timeline<Box<dyn Write>>,
    root: TrackId,
    origin: Time,
    from: Time,
    until: Time,
    slices: u64,
    most: u64,
    cut: Option<(Time, Cut)>,
    /// The first error; nothing is written after it.
    error: Option<TimelineError>,
}

impl std::fmt::Debug for Pen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pen").field("slices", &self.slices).field("cut", &self.cut).finish_non_exhaustive()
    }
}

impl Pen {
    /// Starts a timeline and its root.
    pub fn new(writer: Box<dyn Write>, frame: &Frame) -> Result<(Self, TrackId), TimelineError> {
        let mut timeline = Timeline::new(writer)?;
        let root = timeline.track(None, &frame.title)?;
        let pen = Self {
            timeline,
            root,
            origin: frame.origin,
            from: frame.origin.saturating_add(frame.window.0),
            until: frame.origin.saturating_add(frame.window.1),
            slices: 0,
            most: frame.most_slices,
            cut: None,
            error: None,
        };
        Ok((pen, root))
    }

    /// Adds a track below another.
    pub fn track(&mut self, parent: TrackId, name: &str) -> Result<TrackId, TimelineError> {
        self.timeline.track(Some(parent), name)
    }

    /// Where a slice that starts at `start` begins in the file.
    pub fn nanosecond(&self, start: Time) -> Time {
        self.rebased(start.max(self.from)) / wordline_base::time::NS
    }

    fn rebased(&self, time: Time) -> Time {
        time.saturating_sub(self.origin)
    }

    /// Keeps an error; the first is told.
    pub fn note<T>(&mut self, outcome: Result<T, TimelineError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    /// Draws the part of a slice within the window.
    pub fn slice(&mut self, track: TrackId, start: Time, end: Time, event: &Event) {
        let visible = start < self.until && (end > self.from || start == end && start == self.from);
        if !visible || self.error.is_some() {
            return;
        }
        let (shown, shown_end) = (self.rebased(start.max(self.from)), self.rebased(end.min(self.until)));
        self.slices += 1;
        let written = if self.from <= start && end <= self.until {
            self.timeline.slice(track, shown, shown_end, event)
        } else {
            let whole = [("whole_start_ps", self.rebased(start)), ("whole_end_ps", self.rebased(end))];
            let mut args = event.args.to_vec();
            args.extend(whole.map(|(name, time)| (name, Arg::Uint(time))));
            self.timeline.slice(track, shown, shown_end, &Event { args: &args, ..*event })
        };
        self.note(written);
    }

    /// Nothing is shown after `now`, for a reason; that of the first cut stays.
    pub fn cut(&mut self, now: Time, why: Cut) {
        if self.cut.is_none() && now < self.until {
            self.until = now;
            self.cut = Some((self.rebased(now), why));
        }
    }

    /// Cuts the timeline if it holds as much as it may, with `waiting` slices that are not drawn yet.
    pub fn limit(&mut self, now: Time, waiting: u64) {
        if self.slices + waiting >= self.most {
            self.cut(now, Cut::Full(self.most));
        }
    }

    /// True if nothing that starts after `time` is shown.
    pub fn is_over(&self, time: Time) -> bool {
        time > self.until || self.error.is_some()
    }

    /// Marks a cut, and ends the file.
    pub fn finish(mut self) -> Result<Summary, TimelineError> {
        if let Some((time, cut)) = &self.cut {
            let reason = cut.reason();
            let args = [("reason", Arg::Text(&reason))];
            let marked =
                self.timeline.instant(self.root, *time, &Event { name: "cut here", args: &args, ..Event::default() });
            self.note(marked);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        self.timeline.finish()?;
        Ok(Summary { slices: self.slices, cut: self.cut })
    }
}
