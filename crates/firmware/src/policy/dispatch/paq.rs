//! Physically addressed queueing (PAQ): the device queue lies beneath the translation layer, and knows where the data of
//! reads lie.
//!
//! Source: jung13 (6.4). Reads are translated when they come, and wait by package in the *clump table* (Algorithm 1). A
//! *clump* is a set of reads that do not hinder each other: one of each free package at most (goal 2 of 6.4.3, Algorithm 2),
//! those first that have to share their die with others that wait (*node*), then their package (*cluster*), then their
//! channel (*domain*), then the rest. *Plane packing* (6.4.4) lets reads of different requests share a multi-plane command.
//! `PAQ0` is packing alone, `PAQ1` clumps alone, `PAQ2` both (6.5.2).
//!
//! Faithful: conflicts are counted among all reads that wait, as in figure 6.5; composition bottom-up and conflict-first;
//! a package waits for its own read, not for a whole clump (Algorithm 2, line 4), so clumps are no barriers. Only
//! reads enter the table; writes go to the translation layer and on to their dies at once.
//! Chosen, where the source leaves it open: 6.4.3 allows one read a package in words and in Algorithm 2, while figure
//! 6.6 shows clumps that use two dies of a package side by side; the default is the algorithm, `interleave` the figure. Algorithm 2 looks at the
//! front request before others, the worked example of figure 6.6 does not: taken is the example. PAQ0 keeps VAQ's order,
//! since 6.5.2 gives it nothing but packing. Within one level the oldest read goes first.
//! Extensions: `bound_us`, which the source leaves for future work (6.6.4), and `decision_us`, its estimate of 6.6.3.
//! A read that comes after a write of the same page under way waits for it, so that the host never sees old data.

use super::{Addressed, Conflict, Dispatch, TagRules};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;

pub(crate) const ABOUT: About = About {
    summary: "PAQ: reads wait by physical address, and go in clumps of one a package, those with most conflicts first; \
              reads of several requests share commands",
    source: "jung13 6.4",
    note: "one read a package at a time as in Algorithm 2, unless `interleave`; writes and other tasks go to their dies at once",
};

/// Options of physically addressed queueing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Reads go in clumps. False: in the order of coming, as with VAQ (PAQ0).
    pub clumps: bool,
    /// Plane packing: reads of several requests share multi-plane commands. False: only those of one request do (PAQ1).
    pub packing: bool,
    /// A package takes a read for each of its dies, not one at a time. Only with clumps.
    pub interleave: bool,
    /// Time that the scheduler takes for each command, one after the other, 0 to 1,000 µs.
    pub decision_us: f64,
    /// Reads that have waited so long go before all others that can go, up to 10,000,000 µs. Absent: they do not. Only
    /// with clumps.
    pub bound_us: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { clumps: true, packing: true, interleave: false, decision_us: 0.0, bound_us: None }
    }
}

/// Physically addressed queueing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Paq {
    rules: Rules,
}

/// [`TagRules`], as they are saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Rules {
    clumps: bool,
    packing: bool,
    interleave: bool,
    decision: Time,
    bound: Time,
}

/// Picoseconds in a microsecond.
const US: f64 = 1e6;

impl Paq {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { clumps, packing, interleave, decision_us, bound_us } = *options;
        let refused = |key, value: String, problem: &str| Err(ConfigError::new(key, value, problem));
        if !clumps && !packing {
            let problem = "leaves nothing of PAQ with dispatch.packing = false; use dispatch.policy = \"vaq\"";
            return refused("dispatch.clumps", "false".into(), problem);
        }
        if !clumps && interleave {
            let problem = "has no effect with dispatch.clumps = false: in order, dies of a package work side by side";
            return refused("dispatch.interleave", "true".into(), problem);
        }
        if !(0.0..=1e3).contains(&decision_us) {
            return refused("dispatch.decision_us", decision_us.to_string(), "must lie between 0 and 1,000");
        }
        let bound = match bound_us {
            None => END_OF_TIME,
            Some(bound) if !clumps => {
                let problem = "has no effect with dispatch.clumps = false: nothing is overtaken in order";
                return refused("dispatch.bound_us", bound.to_string(), problem);
            }
            Some(bound) if !(0.0..=1e7).contains(&bound) => {
                return refused("dispatch.bound_us", bound.to_string(), "must lie between 0 and 10,000,000");
            }
            Some(bound) => (bound * US).round() as Time,
        };
        let decision = (decision_us * US).round() as Time;
        Ok(Self { rules: Rules { clumps, packing, interleave, decision, bound } })
    }
}

impl Dispatch for Paq {
    fn depth(&self) -> Option<u32> {
        Some(1)
    }

    fn tags(&self) -> Option<TagRules> {
        let Rules { clumps, packing, interleave, decision, bound } = self.rules;
        let by_package = clumps && !interleave;
        Some(TagRules { in_order: !clumps, by_package, packs_across: packing, decision, bound })
    }

    fn rank(&mut self, read: &Addressed) -> u8 {
        match read.conflict {
            _ if read.overdue => 0,
            Conflict::Node => 1,
            Conflict::Cluster => 2,
            Conflict::Domain => 3,
            Conflict::None => 4,
        }
    }
}
