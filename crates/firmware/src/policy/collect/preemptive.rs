//! Preemptive garbage collection: on demand, but on hold while the host needs the die of the victim block.
//!
//! Source: Lee et al., "A semi-preemptive garbage collector for solid state drives", ISPASS 2011, as choi18 (3.3) describes it: "given
//! a read request, the GC in progress is suspended first, the read request gets serviced next, and then the pending GC is resumed".
//! Faithful: operations of the host go before each page move and before the erase; a hard threshold of free blocks, below which GC
//! goes on. Ours, since choi18 does not say: what counts is the die of the victim block, by page reads (moved pages are written
//! as they come); GC also goes on where the host finds no page to write until it does. Where commands of GC take operations of the host
//! along, only those that the next move cannot take put GC on hold, as in choi18 (4.4): reads of the collecting plane, and those that
//! "have no match with the GC read". Writes, of which 4.4 says nothing, go by the same rule: those of the collecting plane, and of planes
//! with another next page. Simplified: a command that runs is not interrupted (`suspend` does that); the steps of GC are not reordered, and
//! no host data are merged into them, as the original does.

use super::on_demand::{OnDemand, Options as OnDemandOptions};
use super::{Collect, MoveView, SpaceView, Step, StepView, Target};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "as on-demand; before each page read and the erase of a victim, GC is on hold while the host needs the die for what GC \
        cannot take along, unless free blocks are below hard_blocks",
    source: "Lee et al., ISPASS 2011, as described in choi18 3.3",
    note: "commands that run are not interrupted, steps of GC are not reordered or merged with host requests",
};

/// Options of preemptive garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// While a domain has fewer free blocks, GC is not put on hold: at least reserve_blocks, and below start_blocks. Absent:
    /// start_blocks - 1.
    pub hard_blocks: Option<u32>,
    /// Those of garbage collection on demand.
    #[serde(flatten)]
    pub on_demand: OnDemandOptions,
}

/// Preemptive garbage collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Preemptive {
    on_demand: OnDemand,
    hard: u32,
}

impl Preemptive {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        // One move at a time, so that the host can come before each.
        let window = options.on_demand.window_pages.unwrap_or(build.geometry.pages_per_program);
        let on_demand = OnDemandOptions { window_pages: Some(window), ..options.on_demand.clone() };
        let on_demand = OnDemand::new(&on_demand, build)?;
        let (reserve, start) = (on_demand.reserve(), on_demand.start());
        let hard = options.hard_blocks.unwrap_or(start - 1);
        if hard < reserve {
            let problem =
                format!("must be at least reserve_blocks = {reserve}, which the host cannot take: GC alone would be left to wait for");
            return Err(ConfigError::new("collect.hard_blocks", hard, problem));
        }
        if hard >= start {
            let problem = format!(
                "must be below start_blocks = {start}, or GC would never be put on hold; lower it, or use collect.policy = \
                 \"on-demand\""
            );
            return Err(ConfigError::new("collect.hard_blocks", hard, problem));
        }
        let alone = on_demand.hold_below();
        if alone > hard {
            let problem = format!(
                "must be at most hard_blocks = {hard}: above, GC makes way for the host, and cannot have its die alone; lower it, or \
                 leave it out (hold_below_blocks = \"absent\", if a preset has it)"
            );
            return Err(ConfigError::new("collect.hold_below_blocks", alone, problem));
        }
        Ok(Self { on_demand, hard })
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.on_demand.restore(saved.on_demand)
    }
}

impl Collect for Preemptive {
    #[inline]
    fn wants(&mut self, view: &SpaceView) -> bool {
        self.on_demand.wants(view)
    }

    fn steps(&self) -> bool {
        true
    }

    fn step(&mut self, view: &StepView) -> Step {
        if view.is_in_the_way() && view.free >= self.hard {
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

    #[test]
    fn the_host_comes_first_until_blocks_are_short() {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let config = crate::FirmwareConfig::default();
        let on_demand = OnDemandOptions { start_blocks: Some(5), ..OnDemandOptions::default() };
        let options = Options { hard_blocks: None, on_demand };
        let mut policy = Preemptive::new(&options, &config.build(&geometry, 1, 1)).unwrap();
        assert_eq!((policy.hard, policy.window()), (4, 1));
        let calm = StepView {
            domain: 0,
            die: 0,
            free: 4,
            running: 1,
            erases: false,
            unread: 3,
            on_the_way: 0,
            host_reads: 0,
            host_writes: 0,
            die_works: true,
            die_serves_host: false,
            host_has_room: true,
            host_rests: false,
            takes_along: false,
            joining_reads: 0,
            joining_writes: 0,
        };
        let read = StepView { host_reads: 1, ..calm };
        for (view, step) in [
            (calm, Step::Go),
            (read, Step::Hold),
            (StepView { host_writes: 2, ..calm }, Step::Hold),
            (StepView { die_serves_host: true, erases: true, ..calm }, Step::Hold),
            (StepView { free: 3, ..read }, Step::Go),
            (StepView { host_has_room: false, ..read }, Step::Go),
            // Where GC takes operations along, only others are in the way.
            (StepView { takes_along: true, joining_reads: 1, die_serves_host: true, ..read }, Step::Go),
            (StepView { takes_along: true, joining_reads: 1, host_reads: 2, ..calm }, Step::Hold),
            (StepView { takes_along: true, host_writes: 3, joining_writes: 3, ..calm }, Step::Go),
            (StepView { takes_along: true, host_writes: 3, joining_writes: 2, ..calm }, Step::Hold),
        ] {
            assert_eq!(policy.step(&view), step, "{view:?}");
        }
    }
}
