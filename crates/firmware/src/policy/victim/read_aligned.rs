//! Read-aligned: of the blocks with the fewest valid units, the one whose pages fit most reads that wait.
//!
//! Source: choi18 (4.3, Algorithm 3, "GC-VIC"): a GC read and a read of the host can share a multi-plane command if their page
//! offsets are the same.
//! Faithful: only blocks with the least valid count are compared, so that GC moves no more data than with greedy; at most
//! `candidates` of them; each waiting read counts once; the computing time is zero, as the paper takes it to be small.
//! Assumed: of blocks with as many fitting reads, the one that has had its valid count longest; only reads that wait at the
//! die are known, as everywhere in the firmware. Useful with `pack.join_gc` alone.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "of the blocks with the fewest valid mapping units, the one with most valid pages at whose offset a read waits for \
              another plane of the die",
    source: "choi18 4.3, Algorithm 3 (GC-VIC)",
    note: "computing time is zero; for pack.join_gc",
};

/// Options of the read-aligned choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Blocks compared, 1 to 65,535.
    pub candidates: u32,
}

impl Default for Options {
    fn default() -> Self {
        // choi18 4.3: "the maximum number of candidate blocks is at most 10".
        Self { candidates: 10 }
    }
}

/// Read-aligned victim choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadAligned {
    candidates: u32,
}

impl ReadAligned {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        if !(1..=65_535).contains(&options.candidates) {
            return Err(ConfigError::new("victim.candidates", options.candidates, "must lie between 1 and 65535"));
        }
        Ok(Self { candidates: options.candidates })
    }
}

impl Victim for ReadAligned {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        let mut best = None;
        for block in view.all_least_valid().take(self.candidates as usize) {
            let fitting = view.aligned_reads(block);
            if best.is_none_or(|(_, most)| fitting > most) {
                best = Some((block, fitting));
            }
        }
        best.map(|(block, _)| block)
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        true
    }

    fn wants_reads(&self) -> bool {
        true
    }
}
