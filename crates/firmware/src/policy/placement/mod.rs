//! Family `placement`: page allocation for writes.

use crate::policies;

/// Constraint on page allocation for a queued write; the page is allocated when the write is issued to a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Any die: the first that is ready.
    Any,
    /// Any die of a channel.
    Channel(u32),
    /// Any plane of a die.
    Die(u32),
    /// One plane.
    Plane(u32),
}

/// Decides page allocation for writes.
pub trait Placement {
    /// The constraint for the logical page `page` (mapping units of one page belong together).
    fn place(&self, page: u32) -> Constraint;
    /// True if a logical page always goes to the same plane.
    fn fixed(&self) -> bool;
}

policies! {
    family "placement" decides "where a write may go";
    trait Placement, config PlacementConfig, policy PlacementPolicy;
    members {
        /// A fixed plane for every logical page, in one of the 24 orders of channel, way, die and plane.
        "static" => fixed::Fixed,
        /// The first die that is ready takes the write.
        "least-busy" => least_busy::LeastBusy,
    }
    methods {
        fn place(self: &Self, page: u32) -> Constraint;
        fn fixed(self: &Self) -> bool;
    }
}
