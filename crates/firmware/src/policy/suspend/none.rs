//! No suspension: running commands finish.
//!
//! Source: ONFI 4.2, which has no suspend command.
//! Faithful: a die takes its next command when the one before it has ended.

use super::{Running, Suspend};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "a running program or erase is never suspended",
    source: "ONFI 4.2, which has no suspend command",
    note: "reads wait for the end of the running command",
};

/// No suspension has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No suspension.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Suspend for None {
    #[inline]
    fn interrupts(&self) -> bool {
        false
    }

    fn suspends(&mut self, _: &Running) -> bool {
        false
    }
}
