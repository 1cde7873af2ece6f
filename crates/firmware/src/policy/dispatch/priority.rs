//! Fixed priorities of tasks before the dies.
//!
//! Source: kim18 (5.2): in its RAIN system "resources are arbitrated through fixed priority scheduling, with host requests
//! having the highest priority"; 4.1 gives each chip a queue of at most four requests.
//! Faithful: the host first; no operation waits that a die has room for. With first come, first served at the dies, as in the
//! source, what a die has taken is not overtaken, so that an operation of the host can wait for as many others as a die holds;
//! other arbiters order it again. Assumed: the order of the other tasks, which the source does not tell; within a task first
//! come, first served.

use super::{Dispatch, Sight, StageView};
use crate::policy::{About, Build};
use crate::task::{ByTask, Task, Tasks, TASKS};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "fixed priorities of tasks, as long as a die has room (the scheduler of RAIN)",
    source: "kim18 5.2",
    note: "arbiter.policy orders what a die has taken; the order of background tasks is not published",
};

/// Options of fixed priorities before the dies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Operations that a die holds at most, the running one included, 1 to 65,535.
    pub depth: u32,
    /// Tasks by name (such as host and gc), highest priority first. Those that are not named come last, together.
    pub order: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let order = [Task::HOST, Task::GC].map(|task| task.about().name.to_owned());
        Self { depth: super::DepthOptions::default().depth, order: order.into() }
    }
}

/// Fixed priorities of tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Priority {
    depth: u32,
    /// By task: its place in the order.
    ranks: ByTask<u8>,
}

impl Priority {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { depth, ref order } = *options;
        let depth = super::DepthOptions { depth }.checked()?;
        let mut ranks = [TASKS as u8; TASKS];
        for (rank, name) in (0..).zip(order) {
            let refused = |problem: String| ConfigError::new("dispatch.order", format!("{order:?}"), problem);
            let task = Task::all().find(|task| task.about().name == name).ok_or_else(|| {
                let names: Vec<&str> = Task::all().map(|task| task.about().name).collect();
                refused(format!("has no task '{name}'; tasks are: {}", names.join(", ")))
            })?;
            if !build.tasks.has(task) {
                return Err(refused(format!("names '{name}', and the drive has no such task; leave it out")));
            }
            if ranks[task.index()] < rank {
                return Err(refused(format!("names '{name}' twice")));
            }
            ranks[task.index()] = rank;
        }
        Ok(Self { depth, ranks })
    }
}

impl Dispatch for Priority {
    fn depth(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn sees(&self) -> Sight {
        Sight::Oldest
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let goes = view.staged.iter().enumerate().filter(|(_, staged)| staged.die.is_some());
        goes.min_by_key(|(_, staged)| (self.ranks[staged.class.task().index()], staged.sequence)).map(|(at, _)| at)
    }

    fn next_of(&mut self, tasks: Tasks, numbers: &ByTask<u64>, _outstanding: &ByTask<u32>) -> Option<Task> {
        tasks.iter().min_by_key(|task| (self.ranks[task.index()], numbers[task.index()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::dispatch::Staged;
    use crate::task::{Action, Class};

    fn chosen(order: &[&str], staged: &[(Task, u64, Option<u32>)]) -> Option<usize> {
        let mut ranks = [TASKS as u8; TASKS];
        for (rank, name) in (0..).zip(order) {
            ranks[Task::all().position(|task| task.about().name == *name).expect("a task")] = rank;
        }
        let staged: Vec<Staged> = staged
            .iter()
            .map(|&(task, sequence, die)| Staged { class: Class::new(task, Action::Read), sequence, die })
            .collect();
        let view = StageView { staged: &staged, dues: &[], outstanding: &[0; TASKS], times: &[1; 3] };
        Priority { depth: 4, ranks }.next(&view)
    }

    #[test]
    fn the_first_task_of_the_order_that_can_go_is_chosen() {
        let (host, gc) = (Task::HOST, Task::GC);
        let both = [(gc, 1, Some(0)), (host, 2, Some(0))];
        assert_eq!(chosen(&["host", "gc"], &both), Some(1));
        assert_eq!(chosen(&["gc", "host"], &both), Some(0));
        // Without an order, the oldest.
        assert_eq!(chosen(&[], &both), Some(0));
        // The host's die is full: nothing is kept for it.
        assert_eq!(chosen(&["host", "gc"], &[(gc, 2, Some(1)), (host, 1, None)]), Some(0));
        assert_eq!(chosen(&["host", "gc"], &[(gc, 2, None), (host, 1, None)]), None);
    }
}
