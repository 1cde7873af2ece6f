//! Family `processor`: computing time of the firmware.

use crate::policies;
use crate::policy::Trouble;
use crate::task::Task;
use wordline_base::Time;

/// Work of the firmware's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Looking up the entry of a logical page of the host.
    LookUp,
    /// Generating an operation of a task: a page read, a page program, a block erase.
    Generate(Task),
}

/// Decides how long the firmware's processor works.
pub trait Processor {
    /// True if it takes any time.
    fn takes_time(&self) -> bool;
    /// Time for a piece of work, in picoseconds.
    fn time(&mut self, work: Work) -> Time;
    /// Time for a page read of the host: its look-up, then its operation.
    fn time_of_read(&mut self) -> Time {
        self.time(Work::LookUp) + self.time(Work::Generate(Task::HOST))
    }
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "processor" decides "how long the firmware computes before an operation goes to the flash";
    trait Processor, config ProcessorConfig, policy ProcessorPolicy;
    members {
        /// The firmware takes no time.
        "none" => none::None,
        /// Times drawn evenly between two limits.
        "uniform" => uniform::Uniform,
    }
    guest guest::Guest;
    methods {
        fn takes_time(self: &Self) -> bool;
        fn time(self: &mut Self, work: Work) -> Time;
        fn time_of_read(self: &mut Self) -> Time;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl ProcessorPolicy {
    /// Continues from the saved state of the same policy.
    pub(crate) fn restore(&mut self, saved: Self) {
        if let (Self::Uniform(own), Self::Uniform(saved)) = (self, saved) {
            own.restore(saved);
        }
    }
}
