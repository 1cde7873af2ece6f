//! Family `redundancy`: blocks of several dies that belong together, parity among them, and reads around busy dies.

use crate::policies;
use crate::policy::{Build, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Superblocks: one block of each plane of some dies, opened, closed, collected and erased together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// Dies of a superblock.
    pub dies: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// True if of each row (the pages of one offset in one plane of each die) the page that is written last is parity.
    pub parity: bool,
}

impl Stripe {
    /// Blocks of a superblock.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.dies * self.planes_per_die
    }

    /// Pages of a superblock that hold data, with blocks of so many pages.
    #[must_use]
    pub fn data_pages(&self, pages_per_block: u32) -> u32 {
        (self.dies - u32::from(self.parity)) * self.planes_per_die * pages_per_block
    }
}

/// Parity of logical pages: so many pages, each in another die, one of them parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raid {
    /// Pages of a stripe, parity included.
    pub dies: u32,
    /// Stripes whose changes memory can hold.
    pub open: u32,
}

/// A read of the host whose die works for a background task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AroundView {
    /// Until its die has ended its command, and what a commit stage has sent to it: by the nominal times of the cells.
    pub wait: Time,
    /// The same of the dies with the other pages of its row or stripe, whatever they work for: the longest wait. What waits at an arbiter is
    /// not counted.
    pub wait_of_others: Time,
    /// True if its die serves GC alone until the victim is erased.
    pub held: bool,
}

/// Decides which blocks belong together, and which reads are rebuilt from others.
pub trait Redundancy {
    /// How blocks form superblocks; none if each stands alone.
    fn stripe(&self) -> Option<Stripe> {
        None
    }
    /// The dies of each group whose blocks form superblocks; none if neighbours of a group are on different channels.
    fn groups(&self) -> Option<&[Vec<u32>]> {
        None
    }
    /// How parity is formed of logical pages, if it is.
    fn raid(&self) -> Option<Raid> {
        None
    }
    /// True if at most one die of those that share parity is collected at a time.
    fn collects_in_turn(&self) -> bool {
        false
    }
    /// True if the dies of a superblock erase their blocks one after the other; else all at once.
    fn erases_in_turn(&self) -> bool {
        false
    }
    /// True if reads may go around busy dies.
    fn has_ways_around(&self) -> bool;
    /// True if this read is rebuilt from pages of other dies.
    fn goes_around(&mut self, view: &AroundView) -> bool;
    /// Trouble with its answers: only an external one can fail.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "redundancy" decides "which blocks are written and erased together, what parity protects, and which reads are rebuilt";
    trait Redundancy, config RedundancyConfig, policy RedundancyPolicy;
    members {
        /// Each block stands alone.
        "none" => none::None,
        /// Superblocks over several dies, without parity.
        "superblock" => superblock::Superblock,
        /// Superblocks with parity; reads are rebuilt around dies that background tasks keep busy.
        "rain" => rain::Rain,
        /// Parity of consecutive logical pages; the dies of a group are collected in turn, and reads rebuilt around them.
        "ttflash" => ttflash::TtFlash,
    }
    guest guest::Guest;
    methods {
        fn stripe(self: &Self) -> Option<Stripe>;
        fn groups(self: &Self) -> Option<&[Vec<u32>]>;
        fn raid(self: &Self) -> Option<Raid>;
        fn collects_in_turn(self: &Self) -> bool;
        fn erases_in_turn(self: &Self) -> bool;
        fn has_ways_around(self: &Self) -> bool;
        fn goes_around(self: &mut Self, view: &AroundView) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

/// The superblocks of so many dies (absent: of all), checked.
fn checked_stripe(dies: Option<u32>, parity: bool, build: &Build<'_>) -> Result<Stripe, ConfigError> {
    let given = dies.is_some();
    let dies = dies.unwrap_or(build.geometry.dies());
    if let Some(problem) = stripe_problem(dies, build) {
        return Err(ConfigError::new("redundancy.dies", dies, problem).derived(given, "all dies of the drive"));
    }
    Ok(Stripe { dies, planes_per_die: build.geometry.planes_per_die, parity })
}

/// What is wrong with superblocks of so many dies, if anything.
fn stripe_problem(dies: u32, build: &Build<'_>) -> Option<String> {
    let all = build.geometry.dies();
    if dies >= 2 && all.is_multiple_of(dies) {
        return None;
    }
    let fit: Vec<String> =
        (2..=all).filter(|&count| all.is_multiple_of(count)).map(|count| count.to_string()).collect();
    Some(if fit.is_empty() {
        "superblocks need a drive of at least two dies; use redundancy.policy = \"none\"".to_owned()
    } else {
        format!("must divide the {all} dies of the drive into groups of at least two: use {}", fit.join(", "))
    })
}

/// What is wrong with stripes of logical pages in so many dies, if anything.
fn raid_problem(dies: u32, build: &Build<'_>) -> Option<String> {
    let planes = build.geometry.planes();
    let most = build.geometry.dies().min(64);
    if (2..=most).contains(&dies) && planes.is_multiple_of(dies) {
        return None;
    }
    let fit: Vec<String> =
        (2..=most).filter(|&count| planes.is_multiple_of(count)).map(|count| count.to_string()).collect();
    Some(if fit.is_empty() {
        "parity needs a drive of at least two dies; use redundancy.policy = \"none\"".to_owned()
    } else {
        format!("must be 2 to {most}, and divide the {planes} planes of the drive: use {}", fit.join(", "))
    })
}
