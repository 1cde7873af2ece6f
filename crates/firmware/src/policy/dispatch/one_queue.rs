//! One queue of operations for all tasks and dies, served in order.
//!
//! Source: kim18 (5.2), the system called Vanilla: "all tasks dispatch requests to the controller through a single pair
//! of request/response queue", scheduled first in, first out; jung13 (6.4.3) describes how an operation for a busy die
//! then holds up those behind it.
//! Faithful: strict order of becoming ready, over all tasks and dies; at most `depth` operations a die. Assumed: a write
//! joins the queue when it has a page to go to, since a drive without free pages would otherwise wait for ever.

pub use super::DepthOptions as Options;
use super::{Dispatch, Sight, StageView};
use crate::policy::{About, Build};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "one queue for all tasks and dies: an operation whose die is full holds up all behind it (Vanilla)",
    source: "kim18 5.2; jung13 6.4.3",
    note: "a write without a free page waits outside the queue",
};

/// One queue for all tasks and dies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneQueue {
    depth: u32,
}

impl OneQueue {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { depth: options.checked()? })
    }
}

impl Dispatch for OneQueue {
    fn depth(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn sees(&self) -> Sight {
        Sight::All
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let (at, oldest) = view.staged.iter().enumerate().min_by_key(|(_, staged)| staged.sequence)?;
        oldest.die.map(|_| at)
    }
}
