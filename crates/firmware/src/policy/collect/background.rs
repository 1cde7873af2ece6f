//! Background garbage collection: on demand, and besides while the host rests.
//!
//! Source: idle periods as jung13 (7.4) uses them: GC works ahead in long ones, after a threshold; in short ones, which are known since
//! the next request can be previewed, only if a block's operations fit in (equations 7.1 and 7.2).
//! Faithful: both, the second with `foresight`. This is not the AGC of that chapter: no list of blocks that the next requests
//! will need, and no merges. Ours: the free blocks at which working ahead stops, and that a victim that is not urgent makes way for the
//! host as with "preemptive". Simplified: the time of a block is that of its operations in the array, one after the other; the buses,
//! and other blocks that are collected at the same die, are not looked at.

use super::on_demand::{OnDemand, Options as OnDemandOptions};
use super::{CandidateView, Collect, MoveView, SpaceView, Step, StepView, Target};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Time};

pub(crate) const ABOUT: About = About {
    summary: "as on-demand; besides, after `idle_us` without a request of the host, GC works ahead until `background_blocks` are free, and \
        its victims are on hold while the host needs their dies",
    source: "jung13 7.4",
    note: "not the AGC of jung13: the threshold is ours, and any block may be chosen; the time that a block takes is estimated from array times alone",
};

/// Options of background garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// Time without a request of the host in the drive, in microseconds, after which GC works ahead; 0 to 1e12.
    pub idle_us: f64,
    /// GC works ahead until a domain has this many free blocks; more than stop_blocks. Absent: twice stop_blocks.
    pub background_blocks: Option<u32>,
    /// In a rest, GC starts a block only if it can end before the next request, which the workload tells: an ideal to compare with.
    pub foresight: bool,
    /// Those of garbage collection on demand.
    #[serde(flatten)]
    pub on_demand: OnDemandOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { idle_us: 10_000.0, background_blocks: None, foresight: false, on_demand: OnDemandOptions::default() }
    }
}

/// Background garbage collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Background {
    on_demand: OnDemand,
    idle: Time,
    blocks: u32,
    foresight: bool,
}

impl Background {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let on_demand = OnDemand::new(&options.on_demand, build)?;
        let (start, stop) = (on_demand.start(), on_demand.stop());
        if !(0.0..=1e12).contains(&options.idle_us) {
            return Err(ConfigError::new("collect.idle_us", options.idle_us, "must be 0 to 1e12 microseconds"));
        }
        let blocks = options.background_blocks.unwrap_or(stop.saturating_mul(2));
        if blocks <= stop {
            let problem = format!(
                "must be more than stop_blocks = {stop}, which GC on demand reaches without rests; raise it, or use collect.policy = \
                 \"on-demand\""
            );
            return Err(ConfigError::new("collect.background_blocks", blocks, problem));
        }
        let alone = on_demand.hold_below();
        if alone > start {
            let problem = format!(
                "must be at most start_blocks = {start}: above, GC makes way for the host, and cannot have its die alone; lower it, or \
                 leave it out (hold_below_blocks = \"absent\", if a preset has it)"
            );
            return Err(ConfigError::new("collect.hold_below_blocks", alone, problem));
        }
        Ok(Self { on_demand, idle: ps_from_us(options.idle_us), blocks, foresight: options.foresight })
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.on_demand.restore(saved.on_demand)
    }
}

impl Collect for Background {
    #[inline]
    fn wants(&mut self, view: &SpaceView) -> bool {
        self.on_demand.wants(view) || (view.rested && view.free + view.running < self.blocks)
    }

    fn rest(&self) -> Option<Time> {
        Some(self.idle)
    }

    fn weighs(&self) -> bool {
        self.foresight
    }

    fn takes(&mut self, view: &CandidateView) -> bool {
        view.free < self.on_demand.start() || view.until_next.is_none_or(|left| view.time <= left)
    }

    fn steps(&self) -> bool {
        true
    }

    fn step(&mut self, view: &StepView) -> Step {
        if view.is_in_the_way() && view.free >= self.on_demand.start() {
            Step::Hold
        } else {
            Step::Go
        }
    }

    fn places(&self) -> bool {
        self.on_demand.places()
    }

    fn place(&mut self, view: &MoveView) -> Target {
        self.on_demand.place(view)
    }

    figures_of!(on_demand);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_flash::{Geometry, GeometryConfig};

    fn policy(foresight: bool) -> Background {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let config = crate::FirmwareConfig::default();
        let on_demand = OnDemandOptions { start_blocks: Some(5), stop_blocks: Some(6), ..OnDemandOptions::default() };
        let options = Options { background_blocks: Some(9), foresight, on_demand, ..Options::default() };
        Background::new(&options, &config.build(&geometry, 1, 1)).unwrap()
    }

    #[test]
    fn it_works_ahead_in_rests_alone() {
        let mut policy = policy(false);
        let view = |free, running, rested| SpaceView { domain: 0, free, running, rested };
        for (free, running, rested, wanted) in [
            (6, 0, false, false),
            (6, 0, true, true),
            (8, 0, true, true),
            (8, 1, true, false),
            (9, 0, true, false),
            (4, 0, false, true),
            (5, 0, false, true),
            (6, 0, false, false),
        ] {
            assert_eq!(policy.wants(&view(free, running, rested)), wanted, "{free} free, {running} in progress");
        }
    }

    #[test]
    fn a_block_that_would_end_too_late_is_not_begun_unless_blocks_are_short() {
        let mut policy = policy(true);
        assert!(policy.weighs());
        let view = |free, until_next| CandidateView { domain: 0, free, rested: true, until_next, time: 100 };
        for (free, until_next, taken) in
            [(7, Some(99), false), (7, Some(100), true), (7, None, true), (5, Some(0), false), (4, Some(0), true)]
        {
            assert_eq!(policy.takes(&view(free, until_next)), taken, "{free} free, {until_next:?} left");
        }
    }
}
