//! Reads of the host first; everything else in the order of arrival.
//!
//! Source: dirik09 (read priority, figure 10: reads before writes), here at each die and before garbage collection, too.
//! Faithful: a read waits for the command that runs, and for earlier reads. Simplified: nothing bounds it, so writes,
//! garbage collection and read scrubbing wait while reads keep a die busy.

use super::first_come::FirstCome;
use super::{Arbiter, Waiting};
use crate::policy::{About, Build};
use crate::task::Class;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "host reads before everything else; the rest FCFS",
    source: "dirik09, read priority (figure 10)",
    note: "a running operation is not interrupted; writes, garbage collection and read scrubbing wait while reads keep a die busy, without bound",
};

/// Reads first has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Host reads, then first come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadsFirst;

impl ReadsFirst {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Arbiter for ReadsFirst {
    #[inline]
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let read = waiting.iter().position(|one| one.class == Class::HOST_READ);
        read.unwrap_or_else(|| FirstCome.choose(waiting))
    }

    fn prefers(&self, first: Class, later: Class) -> bool {
        first == Class::HOST_READ && later != Class::HOST_READ
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Action, Task};

    #[test]
    fn a_read_passes_all_and_the_rest_go_in_order() {
        let one = |class, sequence| Waiting { class, sequence };
        let erase = one(Class::new(Task::GC, Action::Erase), 3);
        let (moved, write, read) = (one(Class::new(Task::GC, Action::Program), 2), one(Class::HOST_WRITE, 1), one(Class::HOST_READ, 9));
        assert_eq!(ReadsFirst.choose(&[erase, moved, write, read]), 3);
        assert_eq!(ReadsFirst.choose(&[erase, moved, write]), 2);
        assert_eq!(ReadsFirst.choose(&[erase, moved]), 1);
        assert!(ReadsFirst.prefers(Class::HOST_READ, Class::HOST_WRITE) && !ReadsFirst.prefers(Class::HOST_WRITE, moved.class));
    }
}
