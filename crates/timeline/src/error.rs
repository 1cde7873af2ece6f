//! Errors of a timeline.

use std::io;

use wordline_base::Time;

/// Why an event was not written. Times are in picoseconds; a track is named with its ancestors.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The file could not be written.
    #[error("cannot write the timeline: {0}")]
    Io(#[from] io::Error),

    /// A slice begins before the end of the last one on its track: Perfetto would draw one inside the other.
    #[error("slice '{name}' on track '{track}' starts at {start} ps, but the previous one ends at {busy_until} ps")]
    Overlap {
        /// The track.
        track: String,
        /// The rejected slice.
        name: String,
        /// Its start.
        start: Time,
        /// The end of the previous slice.
        busy_until: Time,
    },

    /// A slice ends before it begins.
    #[error("slice '{name}' on track '{track}' starts at {start} ps and ends earlier, at {end} ps")]
    EndsBeforeStart {
        /// The track.
        track: String,
        /// The rejected slice.
        name: String,
        /// Its start.
        start: Time,
        /// Its end.
        end: Time,
    },

    /// A counter's value is older than the last one: within a nanosecond, the wrong value would stay.
    #[error("a value of counter '{track}' at {time} ps comes after one at {last} ps")]
    CounterGoesBack {
        /// The counter.
        track: String,
        /// The time of the rejected value.
        time: Time,
        /// The time of the previous value.
        last: Time,
    },

    /// A slice or an instant for a counter, or a value for another track.
    #[error("track '{track}' is {is}, and takes no {given}")]
    WrongTrack {
        /// The track.
        track: String,
        /// Its kind.
        is: &'static str,
        /// The kind of event.
        given: &'static str,
    },
}
