//! Family `arbiter`: scheduling of operations at each die.

use crate::policies;
use crate::policy::Trouble;
use crate::task::Class;
use wordline_base::Time;

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
    /// True if it always chooses the oldest: then it is not asked where that is found without it.
    #[inline]
    fn takes_oldest(&self) -> bool {
        false
    }
    /// True if it looks at how long operations have waited: then [`Self::choose_in_time`] is asked instead.
    #[inline]
    fn sees_times(&self) -> bool {
        false
    }
    /// The nominal times of a page read, a page program and an erase in the array of the drive.
    fn learn(&mut self, _times: [Time; 3]) {}
    /// As [`Self::choose`], with how long each operation has waited since it became ready.
    fn choose_in_time(&mut self, waiting: &[Waiting], _waited: &[Time]) -> usize {
        self.choose(waiting)
    }
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
        /// Background tasks in the slack of host operations until their deadlines.
        "slack" => slack::Slack,
    }
    guest guest::Guest;
    methods {
        fn choose(self: &mut Self, waiting: &[Waiting]) -> usize;
        fn takes_oldest(self: &Self) -> bool;
        fn sees_times(self: &Self) -> bool;
        fn learn(self: &mut Self, times: [Time; 3]) -> ();
        fn choose_in_time(self: &mut Self, waiting: &[Waiting], waited: &[Time]) -> usize;
        fn prefers(self: &Self, first: Class, later: Class) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
