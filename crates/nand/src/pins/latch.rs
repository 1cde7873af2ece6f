//! The command and address registers of a package: the cycles of a sequence so far, and the next output.

use super::error::Wait;
use super::layout::{COLUMN_CYCLES, MAX_CYCLES};
use crate::geometry::PageAddress;
use wordline_base::Time;

/// A command with a complete address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addressed {
    pub(crate) command: u8,
    pub(crate) die: u32,
    pub(crate) at: PageAddress,
    /// The next column of data in or out.
    pub(crate) column: u32,
    /// The wait before data, and its end.
    pub(crate) from: (Wait, Time),
}

/// A sequence of cycles so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Front {
    /// The next cycle opens a sequence.
    #[default]
    Free,
    /// Address cycles follow the command.
    Address { command: u8, cycles: [u8; MAX_CYCLES], count: usize, since: Time },
    /// The command that ends the sequence follows, or data.
    Complete(Addressed),
    /// Two cycles of a new column for data in.
    Column { of: Addressed, cycles: [u8; COLUMN_CYCLES], count: usize },
    /// The bytes of a feature follow.
    Feature { address: u8, value: [u8; 4], count: usize, from: Time },
}

/// Source of data out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing.
    #[default]
    Nothing,
    /// The status of the last addressed die.
    Status,
    /// An identifier.
    Identifier { bytes: &'static [u8], column: u32 },
    /// Data of the last addressed die.
    Data,
}
