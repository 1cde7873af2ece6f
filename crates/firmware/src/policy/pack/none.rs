//! No packing: every operation is a command of its own.
//!
//! Source: the legacy mode of jung13 (2.3).
//! Faithful: single-plane commands only, without cache mode.

use super::{CacheMode, Pack};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "every operation is a single-plane command of its own",
    source: "jung13 2.3 (legacy mode)",
    note: "no multi-plane commands and no cache mode",
};

/// No packing has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No packing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Pack for None {
    #[inline]
    fn window(&self) -> u32 {
        0
    }

    #[inline]
    fn cache(&self) -> Option<CacheMode> {
        Option::None
    }
}
