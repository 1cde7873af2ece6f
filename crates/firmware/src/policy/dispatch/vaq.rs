//! Virtually addressed queueing (VAQ): requests are worked through in the order of coming, without knowing where their
//! data lie.
//!
//! Source: jung13 (6.4.3), the scheduler to which chapter 6 compares its own; figures 6.6(b) and 6.7.
//! Faithful: strict order over requests and their pages; a page whose die works for the host holds up all behind it, also
//! those of free dies; only pages of one request share a multi-plane command (`pack.policy` says whether any do). Dies of
//! a package and packages of a channel work side by side. Assumed: operations of GC and other tasks do not pass through the
//! queue, and one of the host may wait at a die for them without holding up others. A write that finds no free page, that
//! waits for company to fill its page, or that comes after another of the same page that is under way, waits beside the queue.

use super::{Dispatch, TagRules};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::END_OF_TIME;

pub(crate) const ABOUT: About = About {
    summary: "VAQ: requests in order; a page whose die is busy holds up all behind it; only pages of one request share a \
              command",
    source: "jung13 6.4.3",
    note: "operations of GC and other tasks go to their dies at once",
};

/// Virtually addressed queueing has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Virtually addressed queueing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Vaq;

impl Vaq {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Dispatch for Vaq {
    fn depth(&self) -> Option<u32> {
        Some(1)
    }

    fn tags(&self) -> Option<TagRules> {
        Some(TagRules { in_order: true, by_package: false, packs_across: false, decision: 0, bound: END_OF_TIME })
    }
}
