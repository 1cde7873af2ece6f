//! Guest: an external policy of the family `fold`.
//!
//! Source: whoever wrote it.
//! Faithful: see the guests of all background tasks.

use super::{Family, Mover};
use crate::policy::GuestOptions;

/// The section of a guest.
pub type Options = GuestOptions;

/// The family.
#[derive(Clone, Debug)]
pub struct Own;

impl Family for Own {
    const NAME: &'static str = "fold";
    const OPENS_WORN: bool = false;
}

/// An external policy, and its trouble.
pub type Guest = Mover<Own>;
