//! Family `mapping`: the translation of logical units to pages, and the work that it costs.

use crate::policies;

/// What a mapping scheme fixes for the drive.
pub trait Mapping {
    /// Bytes in a mapping unit, the atom of state.
    fn unit_bytes(&self) -> u32;
}

policies! {
    family "mapping" decides "how logical units find their pages";
    trait Mapping, config MappingConfig, policy MappingPolicy;
    members {
        /// Every unit has an entry of its own, all in memory.
        "page" => page::Page,
    }
    methods {
        fn unit_bytes(self: &Self) -> u32;
    }
}
