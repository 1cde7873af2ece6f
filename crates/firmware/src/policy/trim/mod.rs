//! Family `trim`: handling of deallocations.

use crate::policies;

/// Decides the handling of trimmed logical pages.
pub trait Trim {
    /// True if the logical pages are unmapped at once.
    fn invalidates(&self) -> bool;
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
    methods {
        fn invalidates(self: &Self) -> bool;
    }
}
