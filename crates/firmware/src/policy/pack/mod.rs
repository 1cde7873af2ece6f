//! Family `pack`: what shares one flash command, and what follows another in cache mode.

use crate::policies;
use serde::{Deserialize, Serialize};

/// How a die goes on in cache mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMode {
    /// Followers in a row that may go before an older operation of their class that waits for other planes of the die.
    pub passes: u32,
}

/// Decides what may join a command for a die, and what may follow it.
pub trait Pack {
    /// How many operations of each other plane's queue are looked at for one that can join; 0 packs nothing.
    fn window(&self) -> u32;
    /// Whether, and how, reads follow reads and programs follow programs in cache mode.
    fn cache(&self) -> Option<CacheMode>;
}

policies! {
    family "pack" decides "what shares one flash command, and what follows another in cache mode";
    trait Pack, config PackConfig, policy PackPolicy;
    members {
        /// Operations of one kind and page offset in different planes of a die.
        "planes" => planes::Planes,
        /// Cache mode of single-plane commands.
        "cache" => cache::Cache,
        /// Every operation is a command of its own.
        "none" => none::None,
    }
    methods {
        fn window(self: &Self) -> u32;
        fn cache(self: &Self) -> Option<CacheMode>;
    }
}

/// The passes that a cache mode allows, checked.
fn checked_passes(passes: u32) -> Result<u32, crate::ConfigError> {
    if passes > 65_535 {
        return Err(crate::ConfigError::new("pack.passes", passes, "must lie between 0 and 65535"));
    }
    Ok(passes)
}
