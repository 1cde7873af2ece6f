//! Shares that stay as they are.
//!
//! Source: kim18 (5.1, 5.2): GC with a fixed share of 5 to 80 %. Faithful: the share is that of the limits on outstanding
//! operations. Assumed: 10 % for a task that is not named.

use super::{by_name, with_host, Shares};
use crate::policy::{About, Build};
use crate::task::ByTask;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) const ABOUT: About = About {
    summary: "shares that stay as they are",
    source: "kim18 5.1, 5.2",
    note: "10 % for a background task that is not named",
};

/// Options of fixed shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Shares of background tasks in percent, by name (such as gc), above 0 and together below 100; the host has the
    /// rest. A task that is not named has 10.
    pub percent: BTreeMap<String, f64>,
}

/// Share of a background task that is not named, in percent.
const USUAL: f64 = 10.0;

/// Fixed shares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fixed {
    shares: ByTask<f64>,
    is_given: bool,
}

impl Fixed {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = (|share: f64| share > 0.0 && share < 100.0, "must be above 0 and below 100");
        let shares = by_name("percent", &options.percent, build, |_| USUAL, rule)?;
        let all: f64 = shares.iter().sum();
        if all >= 100.0 {
            let problem = format!("leaves nothing for the host: background tasks have {all} % together");
            return Err(ConfigError::new("shares.percent", format!("{:?}", options.percent), problem));
        }
        Ok(Self { shares: with_host(shares), is_given: !options.percent.is_empty() })
    }
}

impl Shares for Fixed {
    fn shares(&self) -> ByTask<f64> {
        self.shares
    }

    fn is_given(&self) -> bool {
        self.is_given
    }
}
