//! Guest: an external policy of the family `wear`.
//!
//! Source: whoever wrote it.
//! Faithful: see the guests of all background tasks.

use super::Mover;
use crate::policy::GuestOptions;

/// The section of a guest.
pub type Options = GuestOptions;

/// An external policy, and its trouble.
pub type Guest = Mover<true>;
