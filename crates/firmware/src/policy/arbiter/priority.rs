//! Fixed priorities.
//!
//! Source: choi18 (Table 1): "GC (highest), reads (second highest), writes (lowest)"; kim18 (5.2) gives the host the
//! highest priority in its RAIN system. Both are orders of this one policy.
//! Faithful: strict priority at each die, first come within a class. An operation that runs is not interrupted.

use super::{Arbiter, Class, Waiting, CLASSES};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "fixed priorities of tasks and operations; FCFS within each",
    source: "choi18 Table 1; kim18 5.2",
    note: "a running operation is not interrupted",
};

/// Options of fixed priorities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// All classes (gc-erase, gc-write, gc-read, host-read, host-write), highest priority first.
    pub order: Vec<Class>,
}

impl Default for Options {
    fn default() -> Self {
        Self { order: vec![Class::GcErase, Class::GcWrite, Class::GcRead, Class::HostRead, Class::HostWrite] }
    }
}

/// Fixed priorities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Priority {
    order: [Class; CLASSES],
}

impl Priority {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let given = format!("{:?}", options.order);
        let order: [Class; CLASSES] = options
            .order
            .clone()
            .try_into()
            .ok()
            .filter(|order: &[Class; CLASSES]| Class::ALL.iter().all(|class| order.contains(class)))
            .ok_or_else(|| {
                let problem = "must name each of gc-erase, gc-write, gc-read, host-read, host-write once";
                ConfigError::new("arbiter.order", given, problem)
            })?;
        Ok(Self { order })
    }
}

impl Arbiter for Priority {
    #[inline]
    fn choose(&mut self, waiting: &Waiting) -> Class {
        let waits = |class: &&Class| waiting.0[**class as usize] != Waiting::NONE;
        *self.order.iter().find(waits).unwrap_or(&self.order[0])
    }
}
