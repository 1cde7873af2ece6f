//! Error of a refused cycle: the cycle, the state of the die, the reason, and the right cycle.

use super::decode::{Accepted, Condition};
use crate::cells::Violation;
use wordline_base::Time;

/// Why a package cannot be had at the level of its pins.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PinsError {
    /// A field of the geometry is out of range.
    #[error("{field} = {value}: must lie between 1 and {most}")]
    Geometry {
        /// The field.
        field: &'static str,
        /// What was given.
        value: u32,
        /// The largest that is possible.
        most: u32,
    },
    /// The address cycles do not make two cycles of column and a row.
    #[error(
        "page_address_cycles = {page}: must be two more than block_address_cycles = {block}, for the column, and at most 8"
    )]
    Cycles {
        /// Cycles of a page address.
        page: u32,
        /// Cycles of a block address.
        block: u32,
    },
    /// The row address is too short.
    #[error(
        "block_address_cycles = {cycles}: the geometry needs {needed} bits of row address, and fewer than 2^32 blocks"
    )]
    Row {
        /// Bits that the geometry needs.
        needed: u32,
        /// Cycles of a row.
        cycles: u32,
    },
    /// The timing of the configuration cannot be used.
    #[error(transparent)]
    Timing(#[from] crate::timing::TimingError),
}

/// What a cycle was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// CLE: a command byte.
    Command(u8),
    /// ALE: an address byte.
    Address(u8),
    /// So many bytes into the package.
    DataIn(usize),
    /// So many bytes out of it.
    DataOut(usize),
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(byte) => write!(f, "command {byte:02X}h"),
            Self::Address(byte) => write!(f, "address {byte:02X}h"),
            Self::DataIn(bytes) => write!(f, "data in, {bytes} bytes"),
            Self::DataOut(bytes) => write!(f, "data out, {bytes} bytes"),
        }
    }
}

/// A wait that a cycle must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// tWB: last cycle of a command to busy.
    Twb,
    /// tADL: address to data in.
    Tadl,
    /// tCCS: change of column or plane to data.
    Tccs,
    /// tRR: ready to data out.
    Trr,
    /// tWHR: command or address to status or identifier.
    Twhr,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Twb => "tWB",
            Self::Tadl => "tADL",
            Self::Tccs => "tCCS",
            Self::Trr => "tRR",
            Self::Twhr => "tWHR",
        })
    }
}

/// Why a cycle is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The time is before that of an earlier cycle.
    #[error("time goes back from {last} ps")]
    Backwards {
        /// The time of the last cycle.
        last: Time,
    },
    /// The time is beyond the end of all simulations, 2^63 ps.
    #[error("no time is that late")]
    TooLate,
    /// An earlier cycle is still on the bus.
    #[error("an earlier cycle is on the bus until {until} ps")]
    BusTaken {
        /// When it is free.
        until: Time,
    },
    /// A wait is not over.
    #[error("{wait} lasts until {until} ps")]
    Early {
        /// Which one.
        wait: Wait,
        /// When it is over.
        until: Time,
    },
    /// The byte is no command of this package.
    #[error("no such command")]
    Unknown,
    /// The command has no place here.
    #[error("the command has no place in this sequence")]
    OutOfSequence,
    /// The die is busy.
    #[error("the die is busy until {until} ps")]
    Busy {
        /// When it is ready.
        until: Time,
    },
    /// A command for the whole package while one of its dies is at work.
    #[error("the command is for the whole package, and die {die} is not idle")]
    PackageBusy {
        /// A die that is not idle.
        die: u32,
    },
    /// A cycle was refused before, and the die waits for RESET.
    #[error("the die has failed and waits for RESET")]
    Failed,
    /// WP_n is low.
    #[error("the package is write protected")]
    WriteProtected,
    /// No single program or erase of that kind runs.
    #[error("no single command of that kind runs that could be suspended")]
    NotSuspendable,
    /// Nothing takes an address here.
    #[error("no command waits for an address cycle")]
    NoAddress,
    /// Nothing takes data here.
    #[error("no command waits for data")]
    NoDataIn,
    /// Nothing gives data here.
    #[error("no data are held for output")]
    NoDataOut,
    /// Data of several planes are held, and none is selected.
    #[error("several planes hold data, and none is selected")]
    NoPlaneSelected,
    /// The register of the plane holds no data of a read.
    #[error("plane {plane} holds no data of a read")]
    PlaneNotRead {
        /// The plane.
        plane: u32,
    },
    /// The bytes go beyond the end of the register.
    #[error("{bytes} bytes from column {column} go beyond the {end} bytes of the register")]
    Column {
        /// The column.
        column: u32,
        /// How many bytes.
        bytes: usize,
        /// Bytes in the register.
        end: u32,
    },
    /// There is nothing at the address of an identifier, a parameter page or a feature.
    #[error("no register at address {address:02X}h")]
    NothingThere {
        /// The address.
        address: u8,
    },
    /// The value of a feature has no meaning here.
    #[error("feature {address:02X}h does not take {value:02X}h")]
    FeatureValue {
        /// The feature.
        address: u8,
        /// Its first byte.
        value: u8,
    },
    /// All planes are in the command already.
    #[error("no plane is left that could follow")]
    NoPlaneLeft,
    /// A program or an erase of the page or its block was cut off by RESET.
    #[error("page {page} of block {block}, plane {plane} was cut off by RESET and must be erased first")]
    CutOff {
        /// The plane.
        plane: u32,
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// The page, or its block, is what the suspended command works on.
    #[error("page {page} of block {block}, plane {plane} is in the hands of the suspended command")]
    Suspended {
        /// The plane.
        plane: u32,
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// A rule of the cells is broken.
    #[error(transparent)]
    Cells(#[from] Violation),
}

/// What would be right instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The same, not before this time.
    From(Time),
    /// One of these cycles.
    Cycles(Accepted),
    /// To follow this rule.
    Rule(&'static str),
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::From(time) => write!(f, "from {time} ps on"),
            Self::Cycles(accepted) => accepted.fmt(f),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

impl Reason {
    /// What would be right, where one of `accepted` cycles is taken.
    pub(crate) fn right(self, accepted: Accepted) -> Right {
        match self {
            Self::Backwards { last: until }
            | Self::BusTaken { until }
            | Self::Early { until, .. }
            | Self::Busy { until } => Right::From(until),
            Self::Unknown
            | Self::OutOfSequence
            | Self::Failed
            | Self::NotSuspendable
            | Self::NoAddress
            | Self::NoDataIn
            | Self::NoDataOut => Right::Cycles(accepted),
            Self::TooLate => Right::Rule("a time up to 2^63 ps"),
            Self::PackageBusy { .. } => Right::Rule("to wait until all dies are ready and idle"),
            Self::WriteProtected => Right::Rule("to raise WP_n"),
            Self::NoPlaneSelected => Right::Rule("06h, an address and E0h, to select a plane"),
            Self::PlaneNotRead { .. } => Right::Rule("a plane of the last read"),
            Self::Column { .. } => Right::Rule("to stay within the register"),
            Self::NothingThere { .. } => {
                Right::Rule("00h or 20h for READ ID, 00h for the parameter page, 01h or 10h for features")
            }
            Self::FeatureValue { .. } => {
                Right::Rule("a timing mode of the interface in use, or a drive strength of 0 to 3")
            }
            Self::NoPlaneLeft => Right::Rule("the command of the last plane"),
            Self::CutOff { .. } => Right::Rule("to erase the block"),
            Self::Suspended { .. } => Right::Rule("to resume first, or to read another block"),
            Self::Cells(_) => Right::Rule("to keep the rules of the cells"),
        }
    }
}

/// A refused cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cycle {cycle} at {at} ps, {what}, die {die} ({condition}): {reason}; right would be: {right}")]
pub struct CycleError {
    /// Its number among all cycles of the package, from 0; of several data cycles, that of the first.
    pub cycle: u64,
    /// The time at which it was tried.
    pub at: Time,
    /// What it was.
    pub what: What,
    /// The die that it concerned.
    pub die: u32,
    /// The state of that die before it.
    pub condition: Condition,
    /// Why it is refused.
    pub reason: Reason,
    /// What would be right.
    pub right: Right,
}

/// A reason and the die that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) die: u32,
    pub(crate) reason: Reason,
}

/// Tells which die a reason concerns.
pub(crate) trait On<T> {
    fn on(self, die: u32) -> Result<T, Wrong>;
}

impl<T, R: Into<Reason>> On<T> for Result<T, R> {
    fn on(self, die: u32) -> Result<T, Wrong> {
        self.map_err(|reason| Wrong { die, reason: reason.into() })
    }
}
