//! Family `trim`: handling of deallocations.

use crate::policies;
use crate::policy::Trouble;

/// Decides the handling of trimmed logical pages.
pub trait Trim {
    /// True if the logical pages of a request, `count` from `first` on, are unmapped at once.
    fn invalidates(&mut self, first: u32, count: u32) -> bool;
    /// Trouble with its answers: only an external one can fail.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "trim" decides "how a deallocation (TRIM) is handled";
    trait Trim, config TrimConfig, policy TrimPolicy;
    members {
        /// The logical pages are unmapped; GC need not move them.
        "invalidate" => invalidate::Invalidate,
        /// Nothing.
        "ignore" => ignore::Ignore,
    }
    guest guest::Guest;
    methods {
        fn invalidates(self: &mut Self, first: u32, count: u32) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}
