//! Family `arbiter`: scheduling of operations at each die.

use crate::policies;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of operation classes.
pub const CLASSES: usize = 5;

/// A task and its kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Class {
    /// A page read for the host.
    HostRead,
    /// A page written for the host.
    HostWrite,
    /// A page read for GC.
    GcRead,
    /// A page written for GC.
    GcWrite,
    /// A block erase for GC.
    GcErase,
}

impl Class {
    /// All classes in the order of their numbers.
    pub const ALL: [Class; CLASSES] =
        [Class::HostRead, Class::HostWrite, Class::GcRead, Class::GcWrite, Class::GcErase];

    /// True if the class belongs to the host's task.
    #[inline]
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Class::HostRead | Class::HostWrite)
    }

    /// True if the class programs pages.
    #[inline]
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self, Class::HostWrite | Class::GcWrite)
    }
}

/// Operations waiting for a die: for each class the sequence number of the oldest, or [`Waiting::NONE`].
#[derive(Clone, Copy, Debug)]
pub struct Waiting(pub [u64; CLASSES]);

impl Waiting {
    /// Nothing of that class waits.
    pub const NONE: u64 = u64::MAX;
}

/// Schedules the operations of a die.
pub trait Arbiter {
    /// The class to serve; at least one waits.
    fn choose(&mut self, waiting: &Waiting) -> Class;
}

policies! {
    family "arbiter" decides "which operation a die serves next";
    trait Arbiter, config ArbiterConfig, policy ArbiterPolicy;
    members {
        /// The operation that has waited longest.
        "first-come" => first_come::FirstCome,
        /// A fixed order of tasks and operations.
        "priority" => priority::Priority,
    }
    methods {
        fn choose(self: &mut Self, waiting: &Waiting) -> Class;
    }
}
