//! Error of a rejected cycle: the cycle, the state of the die, the reason, and the expected cycle.

use super::decode::{Accepted, Condition};
use crate::cells::Violation;
use wordline_base::Time;

/// Why a package cannot be built at pin level.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PinsError {
    /// A field of the geometry is out of range.
    #[error("{field} = {value}: must lie between 1 and {most}")]
    Geometry {
        /// The name of the field.
        field: &'static str,
        /// The value given.
        value: u32,
        /// The maximum.
        most: u32,
    },
    /// The address cycles are not two column cycles and a row.
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
        /// Bits needed by the geometry.
        needed: u32,
        /// Cycles of a row address.
        cycles: u32,
    },
    /// The timing of the configuration cannot be used.
    #[error(transparent)]
    Timing(#[from] crate::timing::TimingError),
}

/// Kind of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// CLE: a command byte.
    Command(u8),
    /// ALE: an address byte.
    Address(u8),
    /// This many bytes into the package.
    DataIn(usize),
    /// This many bytes out of it.
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

/// A minimum wait.
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

/// Why a cycle is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The time is before that of an earlier cycle.
    #[error("time goes back from {last} ps")]
    Backwards {
        /// The time of the last cycle.
        last: Time,
    },
    /// The time is after the end of every simulation, 2^63 ps.
    #[error("the time is after 2^63 ps")]
    TooLate,
    /// An earlier cycle is still on the bus.
    #[error("an earlier cycle is on the bus until {until} ps")]
    BusTaken {
        /// End of that cycle.
        until: Time,
    },
    /// A wait is not over.
    #[error("{wait} lasts until {until} ps")]
    Early {
        /// The wait.
        wait: Wait,
        /// Its end.
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
        /// End of the busy time.
        until: Time,
    },
    /// A command for the whole package while one of its dies is busy.
    #[error("the command is for the whole package, and die {die} is not idle")]
    PackageBusy {
        /// A die that is not idle.
        die: u32,
    },
    /// A cycle was rejected before, and the die waits for RESET.
    #[error("the die has failed and waits for RESET")]
    Failed,
    /// WP_n is low.
    #[error("the package is write protected")]
    WriteProtected,
    /// No single program or erase of that kind is running.
    #[error("no single command of that kind runs that could be suspended")]
    NotSuspendable,
    /// No address is expected here.
    #[error("no command waits for an address cycle")]
    NoAddress,
    /// No data in is expected here.
    #[error("no command waits for data")]
    NoDataIn,
    /// No data out is available here.
    #[error("no data are held for output")]
    NoDataOut,
    /// Several planes have data, and none is selected.
    #[error("several planes hold data, and none is selected")]
    NoPlaneSelected,
    /// The register of the plane has no data of a read.
    #[error("plane {plane} holds no data of a read")]
    PlaneNotRead {
        /// The plane.
        plane: u32,
    },
    /// The bytes exceed the register.
    #[error("{bytes} bytes from column {column} go beyond the {end} bytes of the register")]
    Column {
        /// The column.
        column: u32,
        /// Number of bytes.
        bytes: usize,
        /// Bytes in the register.
        end: u32,
    },
    /// No identifier, parameter page or feature has this address.
    #[error("no register at address {address:02X}h")]
    NothingThere {
        /// The address.
        address: u8,
    },
    /// Invalid value of a feature.
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
    /// A RESET aborted a program or erase of the page or its block.
    #[error("page {page} of block {block}, plane {plane} was cut off by RESET and must be erased first")]
    CutOff {
        /// The plane.
        plane: u32,
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// The suspended command works on the page or its block.
    #[error("page {page} of block {block}, plane {plane} is in use by the suspended command")]
    Suspended {
        /// The plane.
        plane: u32,
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// A rule of the array is broken.
    #[error(transparent)]
    Cells(#[from] Violation),
}

/// The expected cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The same cycle, not before this time.
    From(Time),
    /// One of these cycles.
    Cycles(Accepted),
    /// A cycle that follows this rule.
    Rule(&'static str),
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::From(time) => write!(f, "this cycle at {time} ps or later"),
            Self::Cycles(accepted) => accepted.fmt(f),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

impl Reason {
    /// The expected cycle, where one of `accepted` cycles is possible.
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
            Self::PackageBusy { .. } => Right::Rule("this command once all dies are ready and idle"),
            Self::WriteProtected => Right::Rule("WP_n high"),
            Self::NoPlaneSelected => Right::Rule("06h, an address and E0h to select a plane"),
            Self::PlaneNotRead { .. } => Right::Rule("a plane of the last read"),
            Self::Column { .. } => Right::Rule("bytes within the register"),
            Self::NothingThere { .. } => {
                Right::Rule("00h or 20h for READ ID, 00h for the parameter page, 01h or 10h for features")
            }
            Self::FeatureValue { .. } => {
                Right::Rule("a timing mode of the interface in use, or a drive strength of 0 to 3")
            }
            Self::NoPlaneLeft => Right::Rule("the command of the last plane"),
            Self::CutOff { .. } => Right::Rule("an erase of the block"),
            Self::Suspended { .. } => Right::Rule("a resume first, or a read of another block"),
            Self::Cells(_) => Right::Rule("a command within the rules of the array"),
        }
    }
}

/// A rejected cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cycle {cycle} at {at} ps, {what}, die {die} ({condition}): {reason}; expected {right}")]
pub struct CycleError {
    /// Its number among all cycles of the package, from 0; for several data cycles, the number of the first.
    pub cycle: u64,
    /// Its time.
    pub at: Time,
    /// Its kind.
    pub what: What,
    /// The die concerned.
    pub die: u32,
    /// The state of that die before it.
    pub condition: Condition,
    /// The reason.
    pub reason: Reason,
    /// The expected cycle.
    pub right: Right,
}

/// A reason and the die that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) die: u32,
    pub(crate) reason: Reason,
}

/// Adds the die to a reason.
pub(crate) trait On<T> {
    fn on(self, die: u32) -> Result<T, Wrong>;
}

impl<T, R: Into<Reason>> On<T> for Result<T, R> {
    fn on(self, die: u32) -> Result<T, Wrong> {
        self.map_err(|reason| Wrong { die, reason: reason.into() })
    }
}
