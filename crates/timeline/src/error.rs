//! Errors of a timeline.

use std::io;

use wordline_base::Time;

/// Why something was not written. Times are in picoseconds; a track is named with its ancestors.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The file could not be written.
    #[error("cannot write the timeline: {0}")]
    Io(#[from] io::Error),

    /// A slice begins before the one written last on its track has ended: Perfetto would draw one inside the other.
    #[error("slice '{name}' on track '{track}' starts at {start} ps, but the previous one ends at {busy_until} ps")]
    Overlap {
        /// The track.
        track: String,
        /// The refused slice.
        name: String,
        /// Where it begins.
        start: Time,
        /// The end of the slice before it.
        busy_until: Time,
    },

    /// A slice ends before it begins.
    #[error("slice '{name}' on track '{track}' starts at {start} ps and ends earlier, at {end} ps")]
    EndsBeforeStart {
        /// The track.
        track: String,
        /// The refused slice.
        name: String,
        /// Where it begins.
        start: Time,
        /// Where it ends.
        end: Time,
    },

    /// A counter's value is older than the one written last: within a nanosecond, the wrong one of them would stay.
    #[error("a value of counter '{track}' at {time} ps comes after one at {last} ps")]
    CounterGoesBack {
        /// The counter.
        track: String,
        /// The time of the refused value.
        time: Time,
        /// The time of the value before it.
        last: Time,
    },

    /// A slice or an instant for a counter, or a value for a track that is none.
    #[error("track '{track}' is {is}, and takes no {given}")]
    WrongTrack {
        /// The track.
        track: String,
        /// What it is.
        is: &'static str,
        /// What it was to take.
        given: &'static str,
    },
}
