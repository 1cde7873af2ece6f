//! Commands: their form, and the checks that nothing leaves an export.

use super::wire::{command, flag, u16_at, u32_at, u64_at, REQUEST, REQUEST_BYTES};
use super::{NbdError, MOST_PAYLOAD};

/// What a command wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data of the export.
    Read,
    /// New data.
    Write,
    /// All that was acknowledged becomes durable.
    Flush,
    /// The data of a range are no longer needed.
    Trim,
    /// The data of a range will be needed soon.
    Cache,
    /// A range shall read as zeros.
    WriteZeroes,
    /// Which parts of a range hold data.
    BlockStatus,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] =
        [Kind::Read, Kind::Write, Kind::Flush, Kind::Trim, Kind::Cache, Kind::WriteZeroes, Kind::BlockStatus];

    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Flush => "flush",
            Kind::Trim => "trim",
            Kind::Cache => "cache",
            Kind::WriteZeroes => "write_zeroes",
            Kind::BlockStatus => "block_status",
        }
    }

    fn of(number: u16) -> Option<Self> {
        Some(match number {
            command::READ => Kind::Read,
            command::WRITE => Kind::Write,
            command::FLUSH => Kind::Flush,
            command::TRIM => Kind::Trim,
            command::CACHE => Kind::Cache,
            command::WRITE_ZEROES => Kind::WriteZeroes,
            command::BLOCK_STATUS => Kind::BlockStatus,
            _ => return None,
        })
    }

    /// The flags that it takes. FUA is allowed with all, as the specification says.
    fn flags(self) -> u16 {
        flag::FUA
            | match self {
                Kind::Read => flag::DF,
                Kind::WriteZeroes => flag::NO_HOLE | flag::FAST_ZERO,
                Kind::BlockStatus => flag::REQ_ONE,
                Kind::Write | Kind::Flush | Kind::Trim | Kind::Cache => 0,
            }
    }
}

/// A command that lies within its export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// What it wants.
    pub kind: Kind,
    /// The client's name for it, which its reply carries.
    pub cookie: u64,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Bytes, more than 0; 0 for a flush.
    pub bytes: u32,
    /// Done only when durable.
    pub fua: bool,
    /// Zeros that take space.
    pub no_hole: bool,
    /// One extent suffices.
    pub one: bool,
    /// The data of a read in one piece.
    pub whole: bool,
    /// The data of a write.
    pub data: &'a [u8],
}

/// What the first command in a client's bytes was.
#[derive(Debug)]
pub enum Next<'a> {
    More(usize),
    Command(usize, Command<'a>),
    Refused { taken: usize, cookie: u64, kind: Option<Kind>, error: NbdError },
    Bye(usize),
    Broken(&'static str),
}

/// Reads the first command for an export of `end` bytes; `allocation` tells whether it may ask for extents.
pub fn next(input: &[u8], end: u64, allocation: bool) -> Next<'_> {
    if input.len() < REQUEST_BYTES {
        return Next::More(REQUEST_BYTES);
    }
    if u32_at(input, 0) != REQUEST {
        return Next::Broken("a request does not begin with the magic number");
    }
    let (flags, number, cookie) = (u16_at(input, 4), u16_at(input, 6), u64_at(input, 8));
    let (offset, bytes) = (u64_at(input, 16), u32_at(input, 24));
    if number == command::DISC {
        return Next::Bye(REQUEST_BYTES);
    }
    let mut taken = REQUEST_BYTES;
    if number == command::WRITE {
        if bytes > MOST_PAYLOAD {
            return Next::Broken("a write is longer than 32 MiB, the largest block that was offered");
        }
        taken += bytes as usize;
    }
    let Some(data) = input.get(REQUEST_BYTES..taken) else { return Next::More(taken) };
    let kind = Kind::of(number);
    let refused = |error| Next::Refused { taken, cookie, kind, error };
    let Some(known) = kind else { return refused(NbdError::Invalid) };
    if flags & !known.flags() != 0 || (known == Kind::BlockStatus && !allocation) {
        return refused(NbdError::Invalid);
    }
    let (offset, bytes) = if known == Kind::Flush { (0, 0) } else { (offset, bytes) };
    if known != Kind::Flush {
        if bytes == 0 || (known == Kind::Read && bytes > MOST_PAYLOAD) {
            return refused(NbdError::Invalid);
        }
        if offset.checked_add(u64::from(bytes)).is_none_or(|last| last > end) {
            let full = matches!(known, Kind::Write | Kind::WriteZeroes);
            return refused(if full { NbdError::NoSpace } else { NbdError::Invalid });
        }
    }
    Next::Command(
        taken,
        Command {
            kind: known,
            cookie,
            offset,
            bytes,
            fua: flags & flag::FUA != 0,
            no_hole: flags & flag::NO_HOLE != 0,
            one: flags & flag::REQ_ONE != 0,
            whole: flags & flag::DF != 0,
            data,
        },
    )
}
