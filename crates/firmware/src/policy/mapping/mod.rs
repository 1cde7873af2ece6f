//! Family `mapping`: translation of logical pages to flash pages, and its cost.

use crate::policies;

/// Properties of the drive that a mapping scheme fixes.
pub trait Mapping {
    /// Bytes in a mapping unit, the smallest unit of state.
    fn unit_bytes(&self) -> u32;
}

policies! {
    family "mapping" decides "how logical pages (mapping units) map to flash pages";
    trait Mapping, config MappingConfig, policy MappingPolicy;
    members {
        /// Every mapping unit has its own entry, all in memory.
        "page" => page::Page,
    }
    methods {
        fn unit_bytes(self: &Self) -> u32;
    }
}
