//! Family `trim`: what a deallocation does.

use crate::policies;

/// Decides what the drive does with units that the host gives back.
pub trait Trim {
    /// Whether the units lose their pages at once.
    fn invalidates(&self) -> bool;
}

policies! {
    family "trim" decides "what a deallocation does";
    trait Trim, config TrimConfig, policy TrimPolicy;
    members {
        /// The units lose their pages, which the collector then need not move.
        "invalidate" => invalidate::Invalidate,
        /// Nothing.
        "ignore" => ignore::Ignore,
    }
    methods {
        fn invalidates(self: &Self) -> bool;
    }
}
