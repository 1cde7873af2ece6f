//! GC in the slack of requests: operations of background tasks go while those of the host still meet their deadlines.
//!
//! Source: Jung et al., HIOS (ISCA 2014), as choi18 (3.3) describes it: a request has slack until its deadline, GC is cut into
//! pieces, and each piece is done in the slack of a request, so that all requests end in time.
//! Faithful: pieces are single operations of GC (a read, a program, an erase); one goes if every operation of the host that waits
//! for the die would still end by its deadline; else the one of the host with the least slack goes.
//! Assumed: the deadlines; they hold for the operations of a request, from when they become ready; times are the nominal ones of
//! the cells. Only the oldest read and the oldest write of the host are looked at. A background operation that has waited for
//! a deadline of its own goes first, so that reads cannot hold it up for ever.
//! Simplified: HIOS also reorders requests before the drive; here the arbiter of each die decides alone.

use super::{Arbiter, Waiting};
use crate::policy::{About, Build};
use crate::task::Action;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::US;
use wordline_base::Time;

pub(crate) const ABOUT: About = About {
    summary: "garbage collection and other background tasks in the slack of host operations: one of theirs goes if every \
        operation of the host that waits still meets its deadline",
    source: "HIOS (Jung et al., ISCA 2014) as described in choi18 3.3",
    note: "deadlines are assumed; they count from when an operation becomes ready, at each die by itself",
};

/// Options of GC in slack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Deadline of a read of the host, in microseconds from when it waits for its die, 1 to 10,000,000.
    pub read_deadline_us: f64,
    /// The same of a write.
    pub write_deadline_us: f64,
    /// The same of an operation of a background task: when it has waited so long, it goes first.
    pub background_deadline_us: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { read_deadline_us: 5_000.0, write_deadline_us: 20_000.0, background_deadline_us: 200_000.0 }
    }
}

/// GC in the slack of host operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slack {
    /// Deadlines of reads and writes of the host, and of background operations.
    read: Time,
    write: Time,
    background: Time,
    /// Nominal times of a page read, a page program and an erase.
    #[serde(skip)]
    times: [Time; 3],
}

impl Slack {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let time = |key: &str, us: f64| {
            if us.is_finite() && (1.0..=1e7).contains(&us) {
                return Ok((us * US as f64).round() as Time);
            }
            Err(ConfigError::new(format!("arbiter.{key}"), us, "must lie between 1 and 10,000,000"))
        };
        Ok(Self {
            read: time("read_deadline_us", options.read_deadline_us)?,
            write: time("write_deadline_us", options.write_deadline_us)?,
            background: time("background_deadline_us", options.background_deadline_us)?,
            times: [0; 3],
        })
    }

    fn time(&self, one: &Waiting) -> Time {
        self.times[one.class.action() as usize]
    }

    /// What is left of the deadline of an operation of the host when it has been served, if it starts now; 0 if it is late.
    fn slack(&self, one: &Waiting, waited: Time) -> Time {
        let deadline = if one.class.action() == Action::Read { self.read } else { self.write };
        deadline.saturating_sub(waited + self.time(one))
    }
}

impl Arbiter for Slack {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        // Nobody asks it without times.
        super::first_come::FirstCome.choose(waiting)
    }

    fn sees_times(&self) -> bool {
        true
    }

    fn learn(&mut self, times: [Time; 3]) {
        self.times = times;
    }

    fn choose_in_time(&mut self, waiting: &[Waiting], waited: &[Time]) -> usize {
        let all = || waiting.iter().zip(waited).enumerate();
        let host = all().filter(|(_, (one, _))| one.class.is_host());
        let tightest = host.map(|(at, (one, &waited))| (self.slack(one, waited), one.sequence, at)).min();
        let background = all().filter(|(_, (one, _))| !one.class.is_host());
        let oldest = background.min_by_key(|(_, (one, _))| one.sequence);
        match (tightest, oldest) {
            (Some((slack, _, at)), Some((other, (one, &waited)))) => {
                let fits = self.time(one) <= slack;
                if fits || waited >= self.background {
                    other
                } else {
                    at
                }
            }
            (Some((_, _, at)), None) | (None, Some((at, _))) => at,
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Class, Task, Tasks};
    use wordline_flash::{Geometry, GeometryConfig};

    const READ: Time = 50 * US;
    const PROGRAM: Time = 500 * US;
    const ERASE: Time = 3_000 * US;

    fn policy(options: &Options) -> Result<Slack, ConfigError> {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: false,
            domains: 1,
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        let mut policy = Slack::new(options, &build)?;
        policy.learn([READ, PROGRAM, ERASE]);
        Ok(policy)
    }

    fn gc(action: Action, sequence: u64) -> Waiting {
        Waiting { class: Class::new(Task::GC, action), sequence }
    }

    #[test]
    fn a_piece_of_gc_goes_while_the_read_behind_it_is_in_time() {
        let options = Options { read_deadline_us: 1_000.0, ..Options::default() };
        let mut policy = policy(&options).unwrap();
        let read = Waiting { class: Class::HOST_READ, sequence: 1 };
        // A program and the read take 550 us: the read may have waited for 450.
        for (piece, most) in [(Action::Read, 900), (Action::Program, 450)] {
            let waiting = [read, gc(piece, 2)];
            assert_eq!(policy.choose_in_time(&waiting, &[most * US, 0]), 1, "{piece:?}");
            assert_eq!(policy.choose_in_time(&waiting, &[most * US + 1, 0]), 0, "{piece:?}");
        }
        // An erase never fits.
        let waiting = [read, gc(Action::Erase, 2)];
        assert_eq!(policy.choose_in_time(&waiting, &[0, 0]), 0);
        // A late read goes first, and all wait for an operation of GC that has waited too long.
        assert_eq!(policy.choose_in_time(&waiting, &[5_000 * US, 199_999 * US]), 0);
        assert_eq!(policy.choose_in_time(&waiting, &[5_000 * US, 200_000 * US]), 1);
    }

    #[test]
    fn of_the_host_the_tightest_goes_and_of_gc_the_oldest() {
        let mut policy = policy(&Options::default()).unwrap();
        let (read, write) = (Waiting { class: Class::HOST_READ, sequence: 9 }, Waiting { class: Class::HOST_WRITE, sequence: 1 });
        // By hand: 5,000 - 50 - 0 of the read against 20,000 - 500 - 14,600 of the write.
        assert_eq!(policy.choose_in_time(&[read, write], &[0, 14_600 * US]), 1);
        assert_eq!(policy.choose_in_time(&[read, write], &[0, 14_500 * US]), 0);
        assert_eq!(policy.choose_in_time(&[gc(Action::Erase, 7), gc(Action::Read, 4)], &[0, 0]), 1);
        // The tightest of the host decides for both.
        let all = [read, write, gc(Action::Erase, 3)];
        assert_eq!(policy.choose_in_time(&all, &[0, 0, 0]), 2, "3,000 us fit in 4,950");
        assert_eq!(policy.choose_in_time(&all, &[0, 16_501 * US, 0]), 1, "2,999 us are left");
    }

    #[test]
    fn impossible_deadlines_are_refused() {
        for (options, key) in [
            (Options { read_deadline_us: 0.0, ..Options::default() }, "arbiter.read_deadline_us = 0"),
            (Options { write_deadline_us: f64::NAN, ..Options::default() }, "arbiter.write_deadline_us = NaN"),
            (Options { background_deadline_us: 1e9, ..Options::default() }, "arbiter.background_deadline_us"),
        ] {
            let error = policy(&options).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("between 1 and 10,000,000"), "{error}");
        }
    }
}
