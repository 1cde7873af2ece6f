//! Fixed priorities.
//!
//! Source: choi18 (Table 1): "GC (highest), reads (second highest), writes (lowest)"; kim18 (5.2) gives the host the
//! highest priority in its RAIN system. Both are orders of this one policy.
//! Faithful: strict priority at each die, first come within a class. An operation that runs is not interrupted.

use super::{Arbiter, Waiting};
use crate::policy::{About, Build};
use crate::task::{Action, Class, Task, CLASSES};
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
    /// Classes, highest priority first: gc-erase, gc-write, gc-read, host-read and host-write, and classes of other
    /// tasks (such as refresh-read). Other tasks that are not named come last: they wait while others keep a die busy.
    pub order: Vec<Class>,
}

impl Default for Options {
    fn default() -> Self {
        Self { order: default_order().collect() }
    }
}

/// Garbage collection first, with erases before programs before reads; then the host, with reads first.
fn default_order() -> impl Iterator<Item = Class> {
    let collection = Action::ALL.into_iter().rev().map(|action| Class::new(Task::GC, action));
    collection.chain(Task::HOST.classes())
}

/// Fixed priorities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Priority {
    /// By class: its place in the order.
    ranks: [u8; CLASSES],
}

impl Priority {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let mut ranks = [u8::MAX; CLASSES];
        for (rank, class) in (0..).zip(&options.order) {
            ranks[class.index()] = rank;
        }
        let named = |class: &Class| ranks[class.index()] != u8::MAX;
        let twice = options.order.len() != Class::all().filter(named).count();
        if twice || !default_order().all(|class| named(&class)) {
            let names: Vec<&str> = default_order().filter_map(Class::name).collect();
            let problem =
                format!("must name each of {} once, and classes of other tasks at most once", names.join(", "));
            return Err(ConfigError::new("arbiter.order", format!("{:?}", options.order), problem));
        }
        let last = Class::all().filter(|class| !named(class)).collect::<Vec<_>>();
        for (rank, class) in (options.order.len() as u8..).zip(last.into_iter().rev()) {
            ranks[class.index()] = rank;
        }
        // Of a task's programs, those of its data come first.
        for task in Task::all() {
            ranks[Class::map_write(task).index()] = ranks[Class::new(task, Action::Program).index()];
        }
        Ok(Self { ranks })
    }
}

impl Arbiter for Priority {
    #[inline]
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let mut best = 0;
        for (at, one) in waiting.iter().enumerate().skip(1) {
            if self.ranks[one.class.index()] < self.ranks[waiting[best].class.index()] {
                best = at;
            }
        }
        best
    }

    fn prefers(&self, first: Class, later: Class) -> bool {
        self.ranks[first.index()] < self.ranks[later.index()]
    }
}
