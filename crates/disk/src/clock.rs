//! How the time of a drive follows the clock on the wall.

use std::time::{Duration, Instant};
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;

/// Picoseconds in a nanosecond.
const PS: u128 = 1000;

/// The course of a drive's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many simulated seconds in a second of the wall, more than 0; 1 is real time.
    Wall(f64),
    /// The drive's time jumps to what happens next, so no request waits; between requests it stands still.
    Jump,
}

/// A clock that gives the time of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    pace: Pace,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { start: Instant::now(), pace }
    }

    /// True if the drive's time jumps.
    #[must_use]
    pub fn jumps(&self) -> bool {
        self.pace == Pace::Jump
    }

    /// Simulated time since the start at `wall`, in picoseconds.
    #[must_use]
    pub fn at(&self, wall: Instant) -> Time {
        let elapsed = wall.saturating_duration_since(self.start).as_nanos() * PS;
        let ps = match self.pace {
            // Exact: a float holds no more than 15 digits.
            Pace::Wall(1.0) | Pace::Jump => elapsed,
            Pace::Wall(pace) => (elapsed as f64 * pace) as u128,
        };
        Time::try_from(ps).unwrap_or(END_OF_TIME).min(END_OF_TIME)
    }

    /// When the wall shows the simulated time `time` since the start; late enough, by less than a nanosecond of the wall.
    #[must_use]
    pub fn wall(&self, time: Time) -> Instant {
        let ns = match self.pace {
            Pace::Wall(1.0) | Pace::Jump => u128::from(time).div_ceil(PS),
            Pace::Wall(pace) => (time as f64 / pace / PS as f64).ceil() as u128,
        };
        // A year is as good as never.
        let ns = u64::try_from(ns).unwrap_or(u64::MAX).min(31_536_000_000_000_000);
        self.start + Duration::from_nanos(ns)
    }

    /// Simulated time in a duration of the wall.
    #[must_use]
    pub fn span(&self, wall: Duration) -> Time {
        self.at(self.start + wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_is_exact_and_a_pace_scales_it() {
        let real = Clock::new(Pace::Wall(1.0));
        let later = real.start + Duration::from_nanos(86_400_000_000_001);
        assert_eq!(real.at(later), 86_400_000_000_001_000);
        assert_eq!(real.wall(86_400_000_000_001_000), later);
        assert_eq!(real.wall(1), real.start + Duration::from_nanos(1), "not before its time");
        let slow = Clock { pace: Pace::Wall(0.1), ..real };
        assert_eq!(slow.at(slow.start + Duration::from_micros(10)), 1_000_000);
        assert_eq!(slow.wall(1_000_000), slow.start + Duration::from_micros(10));
    }

    #[test]
    fn the_end_of_time_is_never_passed() {
        let clock = Clock::new(Pace::Wall(1e9));
        assert_eq!(clock.at(clock.start + Duration::from_secs(1 << 30)), END_OF_TIME);
        assert!(clock.wall(END_OF_TIME) > clock.start);
        assert!(Clock::new(Pace::Wall(1e-9)).wall(END_OF_TIME) > clock.start);
    }
}
