//! A bank serves a request of the host at a time; the others wait until it is done there.
//!
//! Source: dirik09 (section 3: a bank accepts one request at a time, and works independently of the other banks; section 5.5: first
//! come, first served against reads before writes).
//! Faithful: a die takes what a request has for it, and nothing of another request before that is done; a request whose pages lie in
//! several dies waits at each by itself; with `order = "reads-first"` the oldest read goes before the oldest write, and nothing that
//! has begun is interrupted. Assumed: a bank is a die; old data that a partial write needs are part of the write; a read of what an older
//! write has not written yet waits for it. Simplified: operations of background tasks are not held up, and take their turns at the die; if
//! the drive stands still because a request waits for room that others would make, all that wait go at once.

use super::Dispatch;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "each die serves a request of the host at a time; those that wait there go in order, or reads before writes",
    source: "dirik09 sections 3 and 5.5",
    note: "a bank is a die; background tasks are not held up",
};

/// Which request a die serves next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The one that came first.
    #[default]
    FirstCome,
    /// The oldest read; if none waits, the oldest write.
    ReadsFirst,
}

/// Options of dies that serve one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which of the requests that wait for a die it serves next: the one that came first, or reads before writes.
    pub order: Order,
}

/// Dies that serve one request at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneRequest {
    order: Order,
}

impl OneRequest {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { order: options.order })
    }
}

impl Dispatch for OneRequest {
    fn banks(&self) -> Option<Order> {
        Some(self.order)
    }
}
