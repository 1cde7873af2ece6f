//! The tables of the command decoder: the commands accepted in each state.

/// All command bytes of [`crate::chain`].
pub const COMMANDS: [u8; 29] = [
    0x00, 0x05, 0x06, 0x10, 0x11, 0x13, 0x15, 0x30, 0x31, 0x32, 0x35, 0x3f, 0x60, 0x61, 0x70, 0x78, 0x80, 0x84, 0x85,
    0x90, 0xd0, 0xd1, 0xd2, 0xe0, 0xec, 0xee, 0xef, 0xfc, 0xff,
];

/// Position of a die in a command sequence, between complete steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No sequence in progress.
    #[default]
    Idle,
    /// Planes of a read queued (after 32h).
    ReadQueued {
        /// It may end as a plain read (30h, 35h).
        plain: bool,
        /// It may continue a cache read (31h).
        cache: bool,
    },
    /// Data of a read are available.
    Output {
        /// A cache read may start here (31h): not after 3Fh.
        cache: bool,
    },
    /// Cache mode: data are available while the array reads the next page.
    CacheRead,
    /// Data of a copyback are in the register (after 35h).
    Copyback,
    /// Targets of a copyback queued (after 85h-11h).
    CopybackQueued,
    /// Planes of a program queued (after 11h).
    ProgramQueued,
    /// The array programs while the register accepts other data (after 15h).
    CacheProgram,
    /// Planes of an erase queued (after D1h).
    EraseQueued,
    /// The parameter page is available.
    Parameters,
    /// A feature is available.
    Feature,
}

/// Dies that a command concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The die selected by its row address.
    Named,
    /// All dies.
    Package,
    /// The last addressed die.
    Last,
}

pub(crate) fn reach(command: u8) -> Reach {
    match command {
        0x00 | 0x05 | 0x06 | 0x60 | 0x78 | 0x80 | 0x85 => Reach::Named,
        0x90 | 0xec | 0xee | 0xef => Reach::Package,
        _ => Reach::Last,
    }
}

pub(crate) fn is_known(command: u8) -> bool {
    COMMANDS.contains(&command)
}

pub(crate) fn is_reset(command: u8) -> bool {
    matches!(command, 0xff | 0xfc)
}

/// Commands that a die accepts in every state.
pub(crate) fn is_always(command: u8) -> bool {
    is_reset(command) || matches!(command, 0x70 | 0x78)
}

/// Commands that open a program or an erase.
pub(crate) fn writes(command: u8) -> bool {
    matches!(command, 0x60 | 0x80 | 0x85)
}

impl Mode {
    /// True if another command would abort nothing.
    pub(crate) fn is_free(self) -> bool {
        matches!(self, Self::Idle | Self::Output { .. } | Self::Copyback | Self::Parameters | Self::Feature)
    }

    /// True if the registers have pages of a read.
    pub(crate) fn holds_pages(self) -> bool {
        matches!(self, Self::Output { .. } | Self::CacheRead | Self::Copyback)
    }

    /// Commands that a ready die accepts besides those that it always accepts.
    pub(crate) fn opening(self) -> &'static [u8] {
        match self {
            Self::Idle | Self::Feature => &[0x00, 0x60, 0x80, 0x90, 0xec, 0xee, 0xef],
            Self::Parameters => &[0x00, 0x05, 0x60, 0x80, 0x90, 0xec, 0xee, 0xef],
            Self::Output { cache: true } => &[0x00, 0x05, 0x06, 0x31, 0x60, 0x80, 0x90, 0xec, 0xee, 0xef],
            Self::Output { cache: false } => &[0x00, 0x05, 0x06, 0x60, 0x80, 0x90, 0xec, 0xee, 0xef],
            Self::Copyback => &[0x00, 0x05, 0x06, 0x60, 0x80, 0x85, 0x90, 0xec, 0xee, 0xef],
            Self::ReadQueued { .. } => &[0x00],
            Self::CacheRead => &[0x00, 0x05, 0x06, 0x31, 0x3f],
            Self::CopybackQueued => &[0x85],
            Self::ProgramQueued | Self::CacheProgram => &[0x80],
            Self::EraseQueued => &[0x60],
        }
    }

    /// The same during a suspension: plain reads.
    pub(crate) fn opening_aside(self) -> &'static [u8] {
        match self {
            Self::Output { .. } => &[0x00, 0x05, 0x06],
            _ => &[0x00],
        }
    }

    /// Commands that end the addressing of `command` in this mode; `aside` is true during a suspension.
    pub(crate) fn closing(self, command: u8, aside: bool) -> &'static [u8] {
        match command {
            0x00 if aside => &[0x30, 0x32],
            0x00 => match self {
                Self::Output { cache: true } => &[0x30, 0x31, 0x32, 0x35],
                Self::ReadQueued { plain: true, cache: true } => &[0x30, 0x31, 0x32, 0x35],
                Self::ReadQueued { plain: false, .. } | Self::CacheRead => &[0x31, 0x32],
                _ => &[0x30, 0x32, 0x35],
            },
            0x05 | 0x06 => &[0xe0],
            0x60 => &[0xd0, 0xd1],
            0x80 => &[0x10, 0x11, 0x15, 0x85],
            0x85 => &[0x10, 0x11, 0x85],
            _ => &[],
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::ReadQueued { .. } => "planes of a read queued",
            Self::Output { .. } => "data of a read held",
            Self::CacheRead => "cache read",
            Self::Copyback => "data of an internal move held",
            Self::CopybackQueued => "planes of an internal move queued",
            Self::ProgramQueued => "planes of a program queued",
            Self::CacheProgram => "cache program",
            Self::EraseQueued => "planes of an erase queued",
            Self::Parameters => "parameter page held",
            Self::Feature => "feature held",
        })
    }
}

/// The state of a die at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Position in a sequence.
    pub mode: Mode,
    /// RDY: it accepts commands.
    pub ready: bool,
    /// ARDY: its array is idle.
    pub array_ready: bool,
    /// A program or an erase is suspended.
    pub suspended: bool,
    /// A cycle was rejected since the last RESET.
    pub failed: bool,
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [(!self.ready, "busy"), (self.suspended, "suspended"), (self.failed, "failed")];
        self.mode.fmt(f)?;
        parts.iter().filter(|(is, _)| *is).try_for_each(|(_, part)| write!(f, ", {part}"))
    }
}

/// The cycles accepted at some point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Commands, one bit each in the order of [`COMMANDS`].
    pub(crate) commands: u32,
    /// An address cycle.
    pub address: bool,
    /// Data in.
    pub data_in: bool,
    /// Data out.
    pub data_out: bool,
}

impl Accepted {
    /// The accepted commands, in ascending order.
    pub fn commands(&self) -> impl Iterator<Item = u8> + '_ {
        COMMANDS.iter().enumerate().filter(|(bit, _)| self.commands >> bit & 1 == 1).map(|(_, &command)| command)
    }
}

impl std::fmt::Display for Accepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = [(self.address, "an address"), (self.data_in, "data in"), (self.data_out, "data out")];
        for (_, kind) in kinds.iter().filter(|(taken, _)| *taken) {
            write!(f, "{kind}, ")?;
        }
        f.write_str("one of the commands")?;
        self.commands().try_for_each(|command| write!(f, " {command:02X}h"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{self, Cycle};
    use std::collections::BTreeSet;

    #[test]
    fn the_commands_are_those_of_the_chains() {
        let cycles = chain::ALL.iter().flat_map(|segment| segment.spec().cycles);
        let of_chains: BTreeSet<u8> =
            cycles.filter_map(|cycle| if let Cycle::Command(byte) = cycle { Some(*byte) } else { None }).collect();
        assert_eq!(COMMANDS.to_vec(), of_chains.into_iter().collect::<Vec<_>>());
    }
}
