//! Family `arbiter`: scheduling of operations at each die.

use crate::policies;
use crate::policy::Trouble;
use crate::task::Class;

/// An operation that a die could start now: the oldest of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its task and kind.
    pub class: Class,
    /// Its number in the order of becoming ready.
    pub sequence: u64,
}

/// Schedules the operations of a die.
pub trait Arbiter {
    /// The index of the operation to serve, of at least one and at most one of a class.
    fn choose(&mut self, waiting: &[Waiting]) -> usize;
    /// True if no operation of `later` starts while one of `first` waits.
    fn prefers(&self, first: Class, later: Class) -> bool {
        let _ = (first, later);
        false
    }
    /// The last problem with an external policy, if any.
    #[inline]
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "arbiter" decides "which operation a die serves next";
    trait Arbiter, config ArbiterConfig, policy ArbiterPolicy;
    members {
        /// The operation that has waited longest.
        "first-come" => first_come::FirstCome,
        /// A fixed order of tasks and operations.
        "priority" => priority::Priority,
        /// Reads of the host first, the rest in the order of arrival.
        "reads-first" => reads_first::ReadsFirst,
    }
    guest guest::Guest;
    methods {
        fn choose(self: &mut Self, waiting: &[Waiting]) -> usize;
        fn prefers(self: &Self, first: Class, later: Class) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
