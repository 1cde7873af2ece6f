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
    /// When it was made.
    began: Instant,
    /// When its course changed last, and the time that it showed then.
    start: Instant,
    base: Time,
    pace: Pace,
    /// False while it stands still.
    runs: bool,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        let now = Instant::now();
        Self { began: now, start: now, base: 0, pace, runs: true }
    }

    /// Time on the wall since it was made.
    #[must_use]
    pub fn age(&self, wall: Instant) -> Duration {
        wall.saturating_duration_since(self.began)
    }

    /// True while it does not stand still.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// Its pace: simulated seconds in a second; none if time jumps.
    #[must_use]
    pub fn pace(&self) -> Option<f64> {
        match self.pace {
            Pace::Wall(pace) => Some(pace),
            Pace::Jump => None,
        }
    }

    /// From `now` on it stands still, or runs again.
    pub fn run(&mut self, now: Instant, runs: bool) {
        (self.base, self.start, self.runs) = (self.at(now), now.max(self.start), runs);
    }

    /// From `now` on it has another pace; one whose time jumps keeps doing so, and this is false.
    pub fn set_pace(&mut self, now: Instant, pace: f64) -> bool {
        if self.jumps() {
            return false;
        }
        (self.base, self.start, self.pace) = (self.at(now), now.max(self.start), Pace::Wall(pace));
        true
    }

    /// True if the drive's time jumps.
    #[must_use]
    pub fn jumps(&self) -> bool {
        self.pace == Pace::Jump
    }

    /// Simulated time since the start at `wall`, in picoseconds.
    #[must_use]
    pub fn at(&self, wall: Instant) -> Time {
        if !self.runs {
            return self.base;
        }
        self.base.saturating_add(self.span(wall.saturating_duration_since(self.start))).min(END_OF_TIME)
    }

    /// When the wall shows the simulated time `time` since the start; late enough, by less than a nanosecond of the wall.
    #[must_use]
    pub fn wall(&self, time: Time) -> Instant {
        let left = time.saturating_sub(self.base);
        let ns = match self.pace {
            _ if !self.runs && left > 0 => u128::MAX,
            Pace::Wall(1.0) | Pace::Jump => u128::from(left).div_ceil(PS),
            Pace::Wall(pace) => (left as f64 / pace / PS as f64).ceil() as u128,
        };
        // A year is as good as never.
        let ns = u64::try_from(ns).unwrap_or(u64::MAX).min(31_536_000_000_000_000);
        self.start + Duration::from_nanos(ns)
    }

    /// Simulated time in a duration of the wall, at its pace.
    #[must_use]
    pub fn span(&self, wall: Duration) -> Time {
        let elapsed = wall.as_nanos() * PS;
        let ps = match self.pace {
            // Exact: a float holds no more than 15 digits.
            Pace::Wall(1.0) | Pace::Jump => elapsed,
            Pace::Wall(pace) => (elapsed as f64 * pace) as u128,
        };
        Time::try_from(ps).unwrap_or(END_OF_TIME).min(END_OF_TIME)
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
    fn it_stands_still_and_changes_its_pace_without_a_jump() {
        let mut clock = Clock::new(Pace::Wall(1.0));
        let after = |ms| clock.began + Duration::from_millis(ms);
        let times = [10, 30, 40, 60, 70].map(after);
        let ms = 1_000_000_000;
        clock.run(times[0], false);
        assert_eq!((clock.at(times[1]), clock.runs()), (10 * ms, false));
        assert!(clock.wall(10 * ms + 1) > times[1] + Duration::from_secs(1_000_000), "never, for now");
        clock.run(times[1], true);
        assert_eq!((clock.at(times[1]), clock.at(times[2])), (10 * ms, 20 * ms));
        assert!(clock.set_pace(times[2], 0.5));
        assert_eq!((clock.at(times[3]), clock.wall(30 * ms)), (30 * ms, times[3]));
        assert_eq!((clock.span(Duration::from_millis(2)), clock.age(times[4])), (ms, Duration::from_millis(70)));
        // While it stands still, its pace may change, too.
        clock.run(times[3], false);
        assert!(clock.set_pace(times[4], 2.0));
        assert_eq!((clock.at(times[4]), clock.pace()), (30 * ms, Some(2.0)));
        assert!(!Clock::new(Pace::Jump).set_pace(Instant::now(), 2.0));
    }

    #[test]
    fn the_end_of_time_is_never_passed() {
        let clock = Clock::new(Pace::Wall(1e9));
        assert_eq!(clock.at(clock.start + Duration::from_secs(1 << 30)), END_OF_TIME);
        assert!(clock.wall(END_OF_TIME) > clock.start);
        assert!(Clock::new(Pace::Wall(1e-9)).wall(END_OF_TIME) > clock.start);
    }
}
