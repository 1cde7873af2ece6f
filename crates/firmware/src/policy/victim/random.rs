//! Random: any closed block, evenly.
//!
//! Source: Van Houdt (SIGMETRICS 2013), the case d = 1.
//! Faithful: even draws from the closed blocks of the domain. A block with nothing to gain is drawn again (the kernel
//! would refuse it), at most 64 times.

use super::best_of::draw;
use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Stream;

pub(crate) const ABOUT: About = About {
    summary: "a closed block drawn at random, with equal probability",
    source: "Van Houdt, SIGMETRICS 2013 (d = 1)",
    note: "blocks without an invalid page are drawn again",
};

/// Random has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Random victim choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Random {
    streams: Vec<Stream>,
}

impl Random {
    pub(super) fn new(_: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { streams: (0..u64::from(build.domains)).map(|i| Stream::new(build.seed, "victim", i)).collect() })
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

impl Victim for Random {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        draw(&mut self.streams[view.domain() as usize], view, 1)
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        false
    }
}
