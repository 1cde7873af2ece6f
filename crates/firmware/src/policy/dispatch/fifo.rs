//! FCFS: requests are dispatched in the order of arrival.
//!
//! Source: NVMe and NCQ queues as drives serve them; jung13 (6.4) describes the order.
//! Faithful: strict order of arrival, independent of addresses. Flash operations then wait in the queues of the dies,
//! and requests complete in any order. This is not jung13's virtually addressed queue (VAQ, 6.4.3): there an operation
//! that waits for a busy package holds up all requests behind it, and only pages of one request share a command.

use super::Dispatch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use crate::policy::{About, Build};
use crate::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "FCFS: requests are dispatched in the order of arrival, at most `window` at a time",
    source: "jung13 6.4",
    note: "operations of dispatched requests wait at their dies; completion is in any order; not VAQ (6.4.3), whose \
           requests wait behind a busy package",
};

/// Options of first in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Maximum requests in service. Absent: all that the queues hold; 1: one after the other.
    pub window: Option<u32>,
}

/// First in, first out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fifo {
    window: u32,
}

impl Fifo {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        match options.window {
            Some(0) => Err(ConfigError::new("dispatch.window", 0, "must be at least 1")),
            window => Ok(Self { window: window.unwrap_or(u32::MAX) }),
        }
    }
}

impl Dispatch for Fifo {
    #[inline]
    fn admits(&mut self, in_service: u32) -> bool {
        in_service < self.window
    }

    fn admits_below(&self) -> u32 {
        self.window
    }
}
