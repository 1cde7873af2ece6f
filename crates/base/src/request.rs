//! Host requests.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The kind of a host request, as NVMe names them (trim = deallocate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Data from the drive to the host.
    #[default]
    Read,
    /// Data from the host to the drive.
    Write,
    /// The host gives a range back.
    Trim,
    /// All writes acknowledged before it become durable.
    Flush,
}

impl Op {
    /// All operations, in the order of their numbers.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }
}

/// One request of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// When it arrives at the host queue, in picoseconds since the start of the run.
    pub arrival: Time,
    /// First byte on the drive.
    pub offset: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u32,
    /// What to do.
    pub op: Op,
    /// Force unit access: a write is complete only when it is in flash.
    pub fua: bool,
    /// Which job or trace stream it belongs to.
    pub stream: u16,
}
