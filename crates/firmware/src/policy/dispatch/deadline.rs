//! Earliest deadline first, with garbage collection in the slack of the host's requests.
//!
//! Source: jung13 (8.1.1) names a host interface scheduler, QoS-aware and GC-aware, that shall meet "all the deadlines of I/O
//! requests by redistributing the garbage collection overheads across non-critical I/O requests", as future work: it has no
//! algorithm. Taken for it: earliest deadline first (Liu and Layland, 1973), and slack stealing (Lehoczky and Ramos-Thuel, 1992)
//! for what GC has to do.
//! Faithful: what it decides from, deadlines of requests and dies that collect; that requests which can wait bear GC, and those
//! which cannot do not. Simplified: it meets deadlines as far as it can, and counts those that are missed. Nothing that runs is
//! stopped for a request (`suspend.policy` does that). Slack is reckoned die by die from array times alone; `margin_us` stands for
//! buses and the host interface.
//! Chosen: the defaults of reads and writes are the targets of Linux's scheduler Kyber. An operation of a background task has a
//! deadline of its own, so that none waits for ever behind requests that are late anyway. Writes that may go to several dies go to
//! one that does not collect, if any has room.

use super::{DepthOptions, Dispatch, Due, Limits, StageView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wordline_base::{Op, Time};

pub(crate) const ABOUT: About = About {
    summary: "earliest deadline first; GC goes first at a die whose requests have slack for it, and writes go around dies that \
              collect; missed deadlines are counted",
    source: "jung13 8.1.1 (future work, without an algorithm)",
    note: "deadlines are met as far as possible; slack is reckoned by die from array times and a margin",
};

/// Options of earliest deadline first. Deadlines are in µs from the arrival of a request at the host queue to its completion,
/// 1 to 60,000,000.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Deadline of reads.
    pub read_deadline_us: f64,
    /// Deadline of writes. Those in the write buffer, which the host does not wait for, have it from their coming there.
    pub write_deadline_us: f64,
    /// Deadline of flushes, and so of the buffered writes before them.
    pub flush_deadline_us: f64,
    /// Deadline of operations of GC and of other background tasks, from when they could begin.
    pub background_deadline_us: f64,
    /// Deadlines of all reads, writes and flushes of some streams, instead of those above: by number, `{ 0 = 300.0 }`. Jobs are
    /// streams in the order of the workload, each clone one.
    pub stream_deadline_us: BTreeMap<String, f64>,
    /// Scheduling looks at GC. False: operations go by deadlines alone, and writes to the least loaded die.
    pub gc_aware: bool,
    /// Time kept free before each deadline for what the array times of a die do not tell, such as transfers, 0 to 1,000,000 µs.
    pub margin_us: f64,
    /// Operations that a die holds at most, the running one included, 1 to 65,535. Others that share its multi-plane command do not
    /// count. What a die has taken goes before all that comes later.
    pub depth: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read_deadline_us: 2_000.0,
            write_deadline_us: 10_000.0,
            flush_deadline_us: 10_000.0,
            background_deadline_us: 10_000.0,
            stream_deadline_us: BTreeMap::new(),
            gc_aware: true,
            margin_us: 100.0,
            depth: 1,
        }
    }
}

/// Earliest deadline first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deadline {
    depth: u32,
    limits: Limits,
    margin: Time,
}

/// Picoseconds in a microsecond.
const US: f64 = 1e6;

/// A deadline in picoseconds.
fn checked(key: &str, us: f64) -> Result<Time, ConfigError> {
    if (1.0..=6e7).contains(&us) {
        return Ok((us * US).round() as Time);
    }
    Err(ConfigError::new(format!("dispatch.{key}"), us, "must lie between 1 and 60,000,000"))
}

impl Deadline {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let mut by_stream = BTreeMap::new();
        for (name, &us) in &options.stream_deadline_us {
            let stream = name.parse::<u16>().ok().filter(|number| number.to_string() == *name);
            let Some(stream) = stream else {
                let problem = "is no stream; streams have numbers from 0 to 65,535, such as stream_deadline_us = { 0 = 300.0 }";
                return Err(ConfigError::new("dispatch.stream_deadline_us", format!("{name:?}"), problem));
            };
            by_stream.insert(stream, checked(&format!("stream_deadline_us.{name}"), us)?);
        }
        let mut by_kind = [None; Op::ALL.len()];
        by_kind[Op::Read as usize] = Some(checked("read_deadline_us", options.read_deadline_us)?);
        by_kind[Op::Write as usize] = Some(checked("write_deadline_us", options.write_deadline_us)?);
        by_kind[Op::Flush as usize] = Some(checked("flush_deadline_us", options.flush_deadline_us)?);
        let background = checked("background_deadline_us", options.background_deadline_us)?;
        if !(0.0..=1e6).contains(&options.margin_us) {
            return Err(ConfigError::new("dispatch.margin_us", options.margin_us, "must lie between 0 and 1,000,000"));
        }
        let depth = DepthOptions { depth: options.depth }.checked()?;
        let limits = Limits { by_kind, by_stream, background, avoids_gc: options.gc_aware };
        Ok(Self { depth, limits, margin: (options.margin_us * US).round() as Time })
    }

    /// True if an operation of a background task may go first at a die: all that waits there for the host would still end in
    /// time. Of each queue, everything is to be done by the deadline of its first.
    fn has_slack(&self, view: &StageView<'_>, die: u32, background: usize) -> bool {
        let time_of = |at: usize| {
            let (staged, due) = (&view.staged[at], &view.dues[at]);
            view.times[staged.class.action() as usize].saturating_mul(Time::from(due.operations))
        };
        let taken = self.margin + view.times[view.staged[background].class.action() as usize];
        let of_host = || {
            let at_die = view.staged.iter().enumerate().filter(move |(_, staged)| staged.die == Some(die));
            at_die.filter(|(_, staged)| staged.class.is_host()).map(|(at, _)| at)
        };
        of_host().all(|at| {
            let left = view.dues[at].left;
            let before: Time = of_host().filter(|&other| view.dues[other].left <= left).map(time_of).sum();
            left >= (taken + before).min(i64::MAX as Time) as i64
        })
    }
}

impl Dispatch for Deadline {
    fn depth(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn deadlines(&self) -> Option<&Limits> {
        Some(&self.limits)
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let goes = || view.staged.iter().enumerate().filter(|(_, staged)| staged.die.is_some());
        if view.dues.is_empty() {
            // It is alone.
            return goes().map(|(at, _)| at).next();
        }
        let order = |&(at, staged): &(usize, &super::Staged)| {
            let Due { left, .. } = view.dues[at];
            (left, staged.sequence)
        };
        let (first, staged) = goes().min_by_key(order)?;
        if self.limits.avoids_gc && staged.class.is_host() {
            let die = staged.die?;
            let background = goes().filter(|(_, other)| other.die == Some(die) && !other.class.is_host());
            if let Some((at, _)) = background.min_by_key(order) {
                if self.has_slack(view, die, at) {
                    return Some(at);
                }
            }
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::dispatch::Staged;
    use crate::task::{Action, Class, Task, TASKS};
    use wordline_flash::{Geometry, GeometryConfig};

    fn policy(change: impl FnOnce(&mut Options)) -> Result<Deadline, ConfigError> {
        let geometry = Geometry::new(&GeometryConfig::default()).expect("the default is valid");
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: true,
            domains: geometry.planes(),
            blocks_together: 1,
            tasks: crate::task::Tasks::BASIC,
            seed: 1,
        };
        let mut options = Options { margin_us: 0.0, ..Options::default() };
        change(&mut options);
        Deadline::new(&options, &build)
    }

    /// Operations as class, die, time left in µs and how many of them; the choice among them where a read takes 50 µs, a program 500
    /// and an erase 3,000.
    fn chosen(policy: &mut Deadline, waiting: &[(Class, Option<u32>, i64, u32)]) -> Option<usize> {
        let us = |us: i64| us * US as i64;
        let staged: Vec<Staged> =
            (1..).zip(waiting).map(|(sequence, &(class, die, ..))| Staged { class, sequence, die }).collect();
        let dues: Vec<Due> =
            waiting.iter().map(|&(_, _, left, operations)| Due { left: us(left), operations }).collect();
        let times = [50, 500, 3_000].map(|time| us(time) as Time);
        policy.next(&StageView { staged: &staged, dues: &dues, outstanding: &[0; TASKS], times: &times })
    }

    const READ: Class = Class::HOST_READ;
    const WRITE: Class = Class::HOST_WRITE;
    const ERASE: Class = Class::new(Task::GC, Action::Erase);
    const MOVE: Class = Class::new(Task::GC, Action::Read);

    #[test]
    fn the_earliest_deadline_goes_first_and_of_equals_the_oldest() {
        let mut policy = policy(|_| {}).expect("it is valid");
        assert_eq!(chosen(&mut policy, &[(WRITE, Some(0), 700, 1), (READ, Some(0), 600, 1)]), Some(1));
        assert_eq!(chosen(&mut policy, &[(READ, Some(1), 600, 1), (READ, Some(0), 600, 1)]), Some(0));
        // One that is late goes before all others, if its die has room.
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), 5, 1), (WRITE, Some(0), -5, 1)]), Some(1));
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), 5, 1), (WRITE, None, -5, 1)]), Some(0));
        assert_eq!(chosen(&mut policy, &[(READ, None, 5, 1)]), None);
        assert_eq!(chosen(&mut policy, &[]), None);
    }

    #[test]
    fn gc_takes_the_slack_of_requests_and_no_more() {
        let mut policy = policy(|_| {}).expect("it is valid");
        // An erase and the read after it take 3,050 µs.
        let both = |left| [(READ, Some(0), left, 1), (ERASE, Some(0), 9_000, 1)];
        assert_eq!(chosen(&mut policy, &both(3_050)), Some(1));
        assert_eq!(chosen(&mut policy, &both(3_049)), Some(0));
        // Three reads wait in the queue: 3,150 µs.
        let three = |left| [(READ, Some(0), left, 3), (ERASE, Some(0), 9_000, 1)];
        assert_eq!(chosen(&mut policy, &three(3_150)), Some(1));
        assert_eq!(chosen(&mut policy, &three(3_149)), Some(0));
        // A write with a later deadline goes after the reads: 3,000 + 2 × 50 + 500 µs; the reads have enough.
        let mixed = |left| [(READ, Some(0), 3_200, 2), (WRITE, Some(0), left, 1), (ERASE, Some(0), 9_000, 1)];
        assert_eq!(chosen(&mut policy, &mixed(3_600)), Some(2));
        assert_eq!(chosen(&mut policy, &mixed(3_599)), Some(0));
        // Requests of other dies do not count.
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), 60, 1), (ERASE, Some(1), 9_000, 1)]), Some(0));
        // Background tasks have deadlines, too: the erase is older than a late read.
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), -10, 1), (ERASE, Some(0), -20, 1)]), Some(1));
        // A page read of GC takes 50 µs, the read after it 50 more.
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), 100, 1), (MOVE, Some(0), 9_000, 1)]), Some(1));
        assert_eq!(chosen(&mut policy, &[(READ, Some(0), 99, 1), (MOVE, Some(0), 9_000, 1)]), Some(0));
    }

    #[test]
    fn without_a_look_at_gc_deadlines_alone_count() {
        let mut blind = policy(|options| options.gc_aware = false).expect("it is valid");
        assert_eq!(chosen(&mut blind, &[(READ, Some(0), 8_999, 1), (ERASE, Some(0), 9_000, 1)]), Some(0));
        let mut careful = policy(|options| options.margin_us = 200.0).expect("it is valid");
        assert_eq!(chosen(&mut careful, &[(READ, Some(0), 3_250, 1), (ERASE, Some(0), 9_000, 1)]), Some(1));
        assert_eq!(chosen(&mut careful, &[(READ, Some(0), 3_249, 1), (ERASE, Some(0), 9_000, 1)]), Some(0));
    }

    #[test]
    fn impossible_deadlines_are_refused_by_name() {
        let refused = |change: fn(&mut Options)| policy(change).expect_err("it is impossible").key;
        assert_eq!(refused(|options| options.read_deadline_us = 0.0), "dispatch.read_deadline_us");
        assert_eq!(refused(|options| options.write_deadline_us = 1e9), "dispatch.write_deadline_us");
        assert_eq!(refused(|options| options.flush_deadline_us = f64::NAN), "dispatch.flush_deadline_us");
        assert_eq!(refused(|options| options.background_deadline_us = -1.0), "dispatch.background_deadline_us");
        assert_eq!(refused(|options| options.margin_us = -0.1), "dispatch.margin_us");
        assert_eq!(refused(|options| options.depth = 0), "dispatch.depth");
        let of_streams = |name: &str, us| {
            let name = name.to_owned();
            policy(|options| options.stream_deadline_us = BTreeMap::from([(name, us)])).expect_err("it is impossible").key
        };
        for name in ["first", "-1", "65536", "01", ""] {
            assert_eq!(of_streams(name, 5.0), "dispatch.stream_deadline_us", "{name}");
        }
        assert_eq!(of_streams("7", 0.0), "dispatch.stream_deadline_us.7");
    }
}
