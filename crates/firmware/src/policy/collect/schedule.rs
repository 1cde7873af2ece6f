//! Scheduling of collections over idle periods: what "agc", "dgc" and "agc-dgc" share.
//!
//! Source: jung13 (7.4, 7.5, Algorithm 3): advanced and delayed garbage collection (AGC, DGC), equations 7.1 and 7.2.
//! Faithful: short idle periods are known from the next request and its start, long ones by a threshold; delayed collections come
//! first, and their time is gone from the period; look-ahead in short periods, if the collection fits in; proactive compaction in
//! long ones, below a threshold of free blocks; a collection makes way for the host after each operation. Assumed: a period is
//! short if it ends before the threshold of long ones, and nobody knows of a long one before that; the end of the request before
//! (equation 7.1 estimates it) is the true one. Simplified: the metadata program of equation 7.2 counts in the estimate of a
//! collection, and is not done; of the queue one request is previewed, the second of the source's two, since the first is the
//! one whose end begins the period.

use super::on_demand::{OnDemand, Options as OnDemandOptions};
use super::Collect;
use crate::policy::Build;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Time};

/// What is collected in long idle periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compacts {
    /// Log blocks that are full, those first that were full first.
    #[default]
    Full,
    /// Any log blocks, those first that are merged first on demand.
    Any,
}

/// Which collections leave busy periods, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// True if they are done ahead, in idle periods.
    pub advanced: bool,
    /// Which of them in long ones.
    pub compacts: Compacts,
    /// True if those that the host would wait for are delayed to idle periods, while there are free blocks.
    pub delayed: bool,
    /// Steps that writes pay for, if collections go in such.
    pub steps: Option<Steps>,
}

impl Rule {
    /// True if collections are done in idle periods.
    #[must_use]
    pub fn uses_rests(&self) -> bool {
        self.advanced || self.delayed
    }
}

/// Steps of collections, each of which moves a page or erases a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Free blocks of a domain below which collections go in steps.
    pub below: u32,
    /// Steps that a page written to a log block pays for.
    pub per_page: u32,
}

/// An idle period and what may be collected in it, of one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleView {
    /// The GC domain: the drive or a plane.
    pub domain: u32,
    /// Its free blocks.
    pub free: u32,
    /// True if the host has rested for as long as [`Collect::rest`] says.
    pub rested: bool,
    /// Length of the period, from the end of the last request to the start of the next, in picoseconds, if the workload tells it.
    pub period: Option<Time>,
    /// What is left of it.
    pub left: Option<Time>,
    /// True if the list of delayed collections has one that can start.
    pub has_delayed: bool,
    /// Time (equation 7.2) of the collection that the next request will have to wait for; none if it needs none, or is not known.
    pub needed: Option<Time>,
    /// True if there are log blocks of the kind that is compacted in long periods ([`Compacts`]), and they can be merged.
    pub has_full: bool,
}

/// What to collect in an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleWork {
    /// Nothing.
    Nothing,
    /// The collection that was delayed first (retroactive compaction).
    Retroactive,
    /// The one that the next request will need (look-ahead).
    LookAhead,
    /// The log blocks that are compacted first (proactive compaction).
    Proactive,
}

/// Time of moving `pages` valid pages and erasing `blocks` blocks, where reads, programs and erases take `nominal` (equation 7.2). The
/// metadata that confirm an erase take a program.
#[must_use]
pub fn collection_time([read, program, erase]: [Time; 3], pages: u32, blocks: u32) -> Time {
    (read + program) * Time::from(pages) + (erase + program) * Time::from(blocks)
}

/// The three schedules: AGC, DGC, or both.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scheduler {
    /// Garbage collection on demand.
    pub on_demand: OnDemand,
    rule: Rule,
    idle: Time,
    threshold: u32,
}

impl Scheduler {
    /// A schedule; `idle_us` and `threshold_blocks` are those of AGC.
    pub fn new(
        rule: Rule,
        idle_us: f64,
        threshold_blocks: Option<u32>,
        on_demand: &OnDemandOptions,
        build: &Build<'_>,
    ) -> Result<Self, ConfigError> {
        let on_demand = on_demand.by_steps("collections that are scheduled over idle periods", build)?;
        if !(0.0..=1e12).contains(&idle_us) {
            return Err(ConfigError::new("collect.idle_us", idle_us, "must be 0 to 1e12 microseconds"));
        }
        let threshold = threshold_blocks.unwrap_or(on_demand.stop().saturating_mul(2));
        if threshold == 0 {
            let problem = "must be at least 1, or nothing is compacted ahead; use collect.policy = \"dgc\" for that";
            return Err(ConfigError::new("collect.threshold_blocks", threshold, problem));
        }
        Ok(Self { on_demand, rule, idle: ps_from_us(idle_us), threshold })
    }

    /// Resumes in the domains in which GC was active.
    pub fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.on_demand.restore(saved.on_demand)
    }

    /// Which collections leave busy periods.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Time without a request after which a period is long.
    pub fn idle(&self) -> Time {
        self.idle
    }

    /// The idle part of Algorithm 3.
    pub fn work(&self, view: &IdleView) -> IdleWork {
        if self.rule.delayed && view.has_delayed {
            return IdleWork::Retroactive;
        }
        if !self.rule.advanced {
            return IdleWork::Nothing;
        }
        let is_short = view.period.is_some_and(|period| period <= self.idle);
        if is_short {
            let fits = view.needed.zip(view.left).is_some_and(|(time, left)| time <= left);
            return if fits { IdleWork::LookAhead } else { IdleWork::Nothing };
        }
        if view.rested && view.has_full && view.free < self.threshold {
            return IdleWork::Proactive;
        }
        IdleWork::Nothing
    }
}

/// The methods of a policy that has a [`Scheduler`] in its only field.
macro_rules! scheduled {
    () => {
        fn wants(&mut self, view: &super::SpaceView) -> bool {
            super::Collect::wants(&mut self.0.on_demand, view)
        }

        fn rest(&self) -> Option<wordline_base::Time> {
            Some(self.0.idle())
        }

        fn schedule(&self) -> Option<super::schedule::Rule> {
            Some(self.0.rule())
        }

        fn idle_work(&mut self, view: &super::schedule::IdleView) -> super::schedule::IdleWork {
            self.0.work(view)
        }

        fn reserve(&self) -> u32 {
            self.0.on_demand.reserve()
        }

        fn start(&self) -> u32 {
            self.0.on_demand.start()
        }

        fn stop(&self) -> u32 {
            self.0.on_demand.stop()
        }

        fn window(&self) -> u32 {
            self.0.on_demand.window()
        }

        fn most(&self) -> u32 {
            self.0.on_demand.most()
        }

        fn most_of_die(&self) -> Option<u32> {
            self.0.on_demand.most_of_die()
        }

        fn paces(&self) -> bool {
            self.0.on_demand.paces()
        }

        fn copyback(&self) -> super::Copyback {
            self.0.on_demand.copyback()
        }

        fn destination(&self) -> super::Destination {
            self.0.on_demand.destination()
        }

        fn hold_below(&self) -> u32 {
            self.0.on_demand.hold_below()
        }
    };
}
#[cfg(test)]
mod tests {
    use super::*;
    use wordline_flash::{Geometry, GeometryConfig};

    const MS: Time = 1_000_000_000;

    fn scheduler(advanced: bool, delayed: bool) -> Scheduler {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let config = crate::FirmwareConfig::default();
        let on_demand = OnDemandOptions { start_blocks: Some(5), ..OnDemandOptions::default() };
        let build = config.build(&geometry, 1, 1);
        Scheduler::new(
            Rule { advanced, delayed, compacts: Compacts::Full, steps: None },
            1e6,
            Some(8),
            &on_demand,
            &build,
        )
        .unwrap()
    }

    /// The figures of jung13 (7.6): 128 pages of 183.2 and 860.36 µs, and two blocks of 2 ms.
    #[test]
    fn a_collection_takes_the_time_of_equation_7_2() {
        let nominal = [183_200_000, 860_360_000, 2_000_000_000];
        assert_eq!(collection_time(nominal, 128, 2), 128 * 1_043_560_000 + 2 * 2_860_360_000);
        assert_eq!(collection_time(nominal, 0, 1), 2_860_360_000);
    }

    const REST: IdleView = IdleView {
        domain: 0,
        free: 7,
        rested: false,
        period: Some(200 * MS),
        left: Some(150 * MS),
        has_delayed: false,
        needed: Some(140 * MS),
        has_full: true,
    };

    #[test]
    fn algorithm_3_takes_delayed_collections_first_then_looks_ahead_or_compacts() {
        let long = IdleView { rested: true, period: Some(3_000 * MS), left: Some(2_000 * MS), needed: None, ..REST };
        for (name, view, both, agc, dgc) in [
            ("a collection that fits in", REST, IdleWork::LookAhead, IdleWork::LookAhead, IdleWork::Nothing),
            (
                "one that was delayed",
                IdleView { has_delayed: true, ..REST },
                IdleWork::Retroactive,
                IdleWork::LookAhead,
                IdleWork::Retroactive,
            ),
            (
                "what a delayed one has left is too short",
                IdleView { left: Some(139 * MS), ..REST },
                IdleWork::Nothing,
                IdleWork::Nothing,
                IdleWork::Nothing,
            ),
            (
                "the next request needs none",
                IdleView { needed: None, ..REST },
                IdleWork::Nothing,
                IdleWork::Nothing,
                IdleWork::Nothing,
            ),
            ("long", long, IdleWork::Proactive, IdleWork::Proactive, IdleWork::Nothing),
            (
                "long, not yet known",
                IdleView { rested: false, ..long },
                IdleWork::Nothing,
                IdleWork::Nothing,
                IdleWork::Nothing,
            ),
            (
                "enough free blocks",
                IdleView { free: 8, ..long },
                IdleWork::Nothing,
                IdleWork::Nothing,
                IdleWork::Nothing,
            ),
            (
                "no full block",
                IdleView { has_full: false, ..long },
                IdleWork::Nothing,
                IdleWork::Nothing,
                IdleWork::Nothing,
            ),
            (
                "of unknown length",
                IdleView { period: None, left: None, ..long },
                IdleWork::Proactive,
                IdleWork::Proactive,
                IdleWork::Nothing,
            ),
        ] {
            for (policy, work) in [((true, true), both), ((true, false), agc), ((false, true), dgc)] {
                assert_eq!(scheduler(policy.0, policy.1).work(&view), work, "{name}, {policy:?}");
            }
        }
    }
}
