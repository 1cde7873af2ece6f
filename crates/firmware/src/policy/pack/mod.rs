//! Family `pack`: what shares one flash command.

use crate::policies;

/// Decides what may join a command for a die.
pub trait Pack {
    /// How many operations of each other plane's queue are looked at for one that can join; 0 packs nothing.
    fn window(&self) -> u32;
}

policies! {
    family "pack" decides "what shares one flash command";
    trait Pack, config PackConfig, policy PackPolicy;
    members {
        /// Operations of one kind and page offset in different planes of a die.
        "planes" => planes::Planes,
        /// Every operation is a command of its own.
        "none" => none::None,
    }
    methods {
        fn window(self: &Self) -> u32;
    }
}
