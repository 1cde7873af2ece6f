//! Family `collect`: when blocks are collected, and in what steps.

use crate::policies;
use crate::policy::Trouble;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Over which blocks space is counted and victims are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All blocks of the drive; moved units go wherever a die is ready.
    Drive,
    /// Each plane for itself; moved units stay in their plane.
    #[default]
    Plane,
}

/// Whether pages of a victim move inside their plane, by the copyback commands of the NAND, instead of over the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copyback {
    /// Each page is read out and written back in.
    #[default]
    Off,
    /// The page stays in the register of its plane: bit errors move along.
    Internal,
    /// The page comes out to be checked, but does not go back in.
    Checked,
}

/// What the collector knows of a domain (the drive or a plane) when it decides.
#[derive(Clone, Copy, Debug)]
pub struct SpaceView {
    /// The domain.
    pub domain: u32,
    /// Its free blocks.
    pub free: u32,
    /// Blocks being collected in it now; each becomes free. Those whose last units wait for company in a page do not count.
    pub running: u32,
}

/// Decides when to collect.
pub trait Collect {
    /// Whether another block should be collected now.
    fn wants(&mut self, view: &SpaceView) -> bool;
    /// Free blocks that only the collector may open, in each domain.
    fn reserve(&self) -> u32;
    /// Free blocks below which collection starts, in each domain.
    fn start(&self) -> u32;
    /// Free blocks at which collection stops, in each domain.
    fn stop(&self) -> u32;
    /// Pages that one collection may have on their way at a time.
    fn window(&self) -> u32;
    /// Blocks that may be collected at a time in each domain.
    fn most(&self) -> u32;
    /// How pages move whose units are all valid.
    fn copyback(&self) -> Copyback;
    /// What is wrong with its answers, if it comes from outside the program.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "collect" decides "when blocks are collected, and in what steps";
    trait Collect, config CollectConfig, policy CollectPolicy;
    members {
        /// When free blocks run low.
        "on-demand" => on_demand::OnDemand,
    }
    guest guest::Guest;
    methods {
        fn wants(self: &mut Self, view: &SpaceView) -> bool;
        fn reserve(self: &Self) -> u32;
        fn start(self: &Self) -> u32;
        fn stop(self: &Self) -> u32;
        fn window(self: &Self) -> u32;
        fn most(self: &Self) -> u32;
        fn copyback(self: &Self) -> Copyback;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl CollectConfig {
    /// Whether somebody wrote how many free blocks end collection.
    pub(crate) fn says_stop(&self) -> bool {
        match self {
            Self::OnDemand(options) => options.stop_blocks.is_some(),
            Self::Guest(_) => true,
        }
    }

    /// The chosen scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Self::OnDemand(options) => options.scope,
            Self::Guest(options) => guest::scope(options),
        }
    }
}

impl CollectPolicy {
    /// Goes on where the same policy was saved. Those from outside the program start anew.
    ///
    /// # Errors
    /// Says what it cannot have remembered.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), String> {
        match (self, saved) {
            (Self::OnDemand(own), Self::OnDemand(saved)) => own.restore(saved),
            _ => Ok(()),
        }
    }
}
