//! The command and address registers of a package: what of a sequence of cycles has come so far, and what comes out next.

use super::error::Wait;
use super::layout::{COLUMN_CYCLES, MAX_CYCLES};
use crate::geometry::PageAddress;
use wordline_base::Time;

/// A command whose address is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addressed {
    pub(crate) command: u8,
    pub(crate) die: u32,
    pub(crate) at: PageAddress,
    /// The next column to go in or come out.
    pub(crate) column: u32,
    /// What data must wait for, and until when.
    pub(crate) from: (Wait, Time),
}

/// A sequence of cycles, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Front {
    /// The next cycle opens another.
    #[default]
    Free,
    /// Address cycles follow the command.
    Address { command: u8, cycles: [u8; MAX_CYCLES], count: usize, since: Time },
    /// The command that ends the sequence follows, or data.
    Complete(Addressed),
    /// Two cycles of another column for the data that go in.
    Column { of: Addressed, cycles: [u8; COLUMN_CYCLES], count: usize },
    /// The bytes of a feature follow.
    Feature { address: u8, value: [u8; 4], count: usize, from: Time },
}

/// What data cycles bring out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing.
    #[default]
    Nothing,
    /// The status of the die that was addressed last.
    Status,
    /// An identifier.
    Identifier { bytes: &'static [u8], column: u32 },
    /// What the die that was addressed last holds.
    Data,
}
