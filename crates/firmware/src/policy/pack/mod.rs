//! Family `pack`: multi-plane commands and cache mode.

use crate::policies;
use crate::policy::Trouble;
use crate::task::Class;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Limits of cache mode on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMode {
    /// Followers in a row before an older operation of their class that waits for other planes of the die.
    pub passes: u32,
}

/// An operation that a command has, or could take along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedOperation {
    /// Its class.
    pub class: Class,
    /// Its plane.
    pub plane: u32,
    /// Its page of a block; none for an erase.
    pub page: Option<u32>,
    /// Of an operation of the host, its request, if it belongs to one.
    pub request: Option<u32>,
    /// Its number in the order of becoming ready.
    pub sequence: u64,
    /// How long it has waited.
    pub waited: Time,
}

/// An operation that could lead the next command of a sequence in cache mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// The operation.
    pub operation: PackedOperation,
    /// How many of its class wait for its plane and came before it.
    pub before: u32,
}

/// Decides which operations join a command of a die, and which may follow it.
pub trait Pack {
    /// Operations of each other plane's queue searched for one that can join; 0 packs nothing.
    fn window(&self) -> u32;
    /// True if moved pages wait until they fill a program of all planes of a die, while more are to come.
    fn gathers(&self) -> bool {
        false
    }
    /// True if only operations of one request of the host share a command; those of other tasks have no requests.
    fn within_request(&self) -> bool {
        false
    }
    /// True if commands of one task take operations of another along.
    fn mixes(&self) -> bool {
        false
    }
    /// True if an operation of a class may share a command that one of another task leads.
    fn joins(&mut self, _lead: Class, _other: Class) -> bool {
        false
    }
    /// True if it may refuse single operations that fit.
    fn refuses(&self) -> bool {
        false
    }
    /// True if an operation that fits may share a command with those given, of which the first leads.
    fn fits(&mut self, _command: &[PackedOperation], _other: &PackedOperation) -> bool {
        true
    }
    /// True if it chooses what follows in cache mode.
    fn chooses_followers(&self) -> bool {
        false
    }
    /// Which of these leads the command that follows the given one, by index; none if the sequence ends.
    fn follows(&mut self, _command: &[PackedOperation], _waiting: &[Follower]) -> Option<usize> {
        Some(0)
    }
    /// True if it may let reads of another task follow in cache mode.
    fn has_crossings(&self) -> bool {
        false
    }
    /// True if reads of a class may follow those of another, `before`.
    fn crosses(&mut self, _before: Class, _next: Class) -> bool {
        false
    }
    /// Cache mode for reads that follow reads and programs that follow programs, if used.
    fn cache(&self) -> Option<CacheMode>;
    /// Trouble with its answers: only an external one can fail.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "pack" decides "which operations share a multi-plane command, and which follow each other in cache mode";
    trait Pack, config PackConfig, policy PackPolicy;
    members {
        /// Operations of one kind and page offset in different planes of a die.
        "planes" => planes::Planes,
        /// Cache mode of single-plane commands.
        "cache" => cache::Cache,
        /// Every operation is a command of its own.
        "none" => none::None,
    }
    guest guest::Guest;
    methods {
        fn window(self: &Self) -> u32;
        fn gathers(self: &Self) -> bool;
        fn within_request(self: &Self) -> bool;
        fn mixes(self: &Self) -> bool;
        fn joins(self: &mut Self, lead: Class, other: Class) -> bool;
        fn refuses(self: &Self) -> bool;
        fn fits(self: &mut Self, command: &[PackedOperation], other: &PackedOperation) -> bool;
        fn chooses_followers(self: &Self) -> bool;
        fn follows(self: &mut Self, command: &[PackedOperation], waiting: &[Follower]) -> Option<usize>;
        fn has_crossings(self: &Self) -> bool;
        fn crosses(self: &mut Self, before: Class, next: Class) -> bool;
        fn cache(self: &Self) -> Option<CacheMode>;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

/// The passes that a cache mode allows, checked.
fn checked_passes(passes: u32) -> Result<u32, crate::ConfigError> {
    if passes > 65_535 {
        return Err(crate::ConfigError::new("pack.passes", passes, "must lie between 0 and 65535"));
    }
    Ok(passes)
}
