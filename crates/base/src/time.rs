//! Simulated time: whole picoseconds since the start of the run.
//!
//! 64 bits hold 213 days. Sources of requests (trace readers, rate-limited jobs) check against [`END_OF_TIME`] so that no
//! addition inside the engine can overflow.

/// A point in time or a duration, in picoseconds.
pub type Time = u64;

/// No request may arrive later than this (2^63 ps, 106 days): the rest of the range is room for the engine to finish.
pub const END_OF_TIME: Time = 1 << 63;

/// Picoseconds in a nanosecond.
pub const NS: Time = 1_000;
/// Picoseconds in a microsecond.
pub const US: Time = 1_000_000;
/// Picoseconds in a millisecond.
pub const MS: Time = 1_000_000_000;
/// Picoseconds in a second.
pub const S: Time = 1_000_000_000_000;

/// Converts nanoseconds from a configuration file to picoseconds, rounded to the nearest.
///
/// Negative values and values beyond the range saturate; configuration checks refuse them before they get here.
#[must_use]
pub fn ps_from_ns(ns: f64) -> Time {
    (ns * NS as f64).round() as Time
}

/// Converts microseconds from a configuration file to picoseconds, rounded to the nearest.
#[must_use]
pub fn ps_from_us(us: f64) -> Time {
    (us * US as f64).round() as Time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_round_to_the_nearest_picosecond() {
        assert_eq!(ps_from_us(50.0), 50_000_000);
        assert_eq!(ps_from_ns(1.6665), 1_667);
        assert_eq!(ps_from_us(0.000_000_4), 0);
    }
}
