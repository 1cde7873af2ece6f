//! Best of d: the block with the fewest valid units among d drawn at random.
//!
//! Source: Van Houdt (SIGMETRICS 2013), "d-choices"; Li, Lee and Lui (SIGMETRICS 2013), "randomised greedy".
//! Faithful: d independent draws with replacement from the closed blocks of the domain; of equals the one drawn first.
//! A draw that yields nothing to gain is repeated, at most 64 times.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Stream;

pub(crate) const ABOUT: About = About {
    summary: "the block with the fewest valid mapping units among d drawn at random",
    source: "Van Houdt, SIGMETRICS 2013; Li, Lee and Lui, SIGMETRICS 2013",
    note: "draws with replacement; among equals, the one drawn first",
};

/// Options of best-of-d.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Blocks drawn for each choice, 1 to 1,000.
    pub d: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { d: 10 }
    }
}

/// Best-of-d victim choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BestOf {
    d: u32,
    streams: Vec<Stream>,
}

impl BestOf {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        if !(1..=1_000).contains(&options.d) {
            return Err(ConfigError::new("victim.d", options.d, "must lie between 1 and 1000"));
        }
        let streams = (0..u64::from(build.domains)).map(|i| Stream::new(build.seed, "victim", i)).collect();
        Ok(Self { d: options.d, streams })
    }

    /// Continues the saved sequence of random numbers.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        if saved.streams.len() != self.streams.len() {
            return Err("the random numbers belong to another drive".into());
        }
        self.streams = saved.streams;
        Ok(())
    }
}

/// How often a draw without gain is repeated before the policy gives up for now.
const TRIES: u32 = 64;

/// The best of `d` draws that the kernel would accept.
pub(super) fn draw(stream: &mut Stream, view: &VictimView<'_>, d: u32) -> Option<u32> {
    let count = view.closed_count();
    if count == 0 {
        return None;
    }
    for _ in 0..TRIES {
        let mut best = view.closed_at(stream.below(u64::from(count)) as u32);
        for _ in 1..d {
            let other = view.closed_at(stream.below(u64::from(count)) as u32);
            let better = view.valid(other) < view.valid(best);
            if better && !view.is_on_busy_die(other) || view.is_on_busy_die(best) {
                best = other;
            }
        }
        if view.suits(best) {
            return Some(best);
        }
    }
    // Chance had its tries; a drive that must go on takes the first block that gains.
    (0..count).map(|at| view.closed_at(at)).find(|&block| view.suits(block))
}

impl Victim for BestOf {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        draw(&mut self.streams[view.domain() as usize], view, self.d)
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        false
    }
}
