//! Dynamic allocation: a write goes to the die where it can start first.
//!
//! Source: the dynamic allocation that jung13 (chapter 3) and Tavakkol et al. (TOMPECS 2016) set against static
//! orders; late binding as in the design of this engine. Among several idle dies the one on the channel whose bus is
//! free first takes the write; ties go round the channels and the dies in turn.
//! Faithful: no write waits while a die that could take it is idle. Simplified: nothing.

use super::{Constraint, Placement};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "dynamic allocation: the first idle die takes the write; among idle dies, the one whose bus is free first",
    source: "jung13 chapter 3 (dynamic allocation)",
    note: "a write gets its page only when it is issued to a die",
};

/// Least-busy placement has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Least-busy placement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeastBusy;

impl LeastBusy {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Placement for LeastBusy {
    #[inline]
    fn at(&self, _: u32) -> Constraint {
        Constraint::Any
    }

    fn fixed(&self) -> bool {
        false
    }
}
