//! Commands: their form, and the checks that nothing leaves an export.

use super::wire::{
    command, flag, u16_at, u32_at, u64_at, EXTENDED_REQUEST, EXTENDED_REQUEST_BYTES, REQUEST, REQUEST_BYTES,
};
use super::{NbdError, To, MOST_PAYLOAD};

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
    /// What its reply carries.
    pub to: To,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Bytes, more than 0; 0 for a flush.
    pub bytes: u64,
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
    Refused { taken: usize, to: To, kind: Option<Kind>, error: NbdError },
    Bye(usize),
    Broken(&'static str),
}

/// What a session negotiated about commands.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Bytes of the export.
    pub end: u64,
    /// Commands may ask for extents.
    pub allocation: bool,
    /// They have extended headers.
    pub extended: bool,
}

/// Reads the first command.
pub fn next(input: &[u8], terms: Terms) -> Next<'_> {
    let head = if terms.extended { EXTENDED_REQUEST_BYTES } else { REQUEST_BYTES };
    if input.len() < head {
        return Next::More(head);
    }
    if u32_at(input, 0) != if terms.extended { EXTENDED_REQUEST } else { REQUEST } {
        return Next::Broken("a request does not begin with the magic number");
    }
    let (flags, number) = (u16_at(input, 4), u16_at(input, 6));
    let to = To { cookie: u64_at(input, 8), offset: u64_at(input, 16) };
    let bytes = if terms.extended { u64_at(input, 24) } else { u64::from(u32_at(input, 24)) };
    if number == command::DISC {
        return Next::Bye(head);
    }
    let mut taken = head;
    // A write has its data behind it, and what the flag says of others is that they do, too.
    if number == command::WRITE || (terms.extended && flags & flag::PAYLOAD_LEN != 0) {
        if bytes > u64::from(MOST_PAYLOAD) {
            return Next::Broken("a request has more than 32 MiB of data, the most that was offered");
        }
        taken += bytes as usize;
    }
    let Some(data) = input.get(head..taken) else { return Next::More(taken) };
    let kind = Kind::of(number);
    let refused = |error| Next::Refused { taken, to, kind, error };
    let Some(known) = kind else { return refused(NbdError::Invalid) };
    let payload = if terms.extended && known == Kind::Write { flag::PAYLOAD_LEN } else { 0 };
    if flags & !(known.flags() | payload) != 0 || (known == Kind::BlockStatus && !terms.allocation) {
        return refused(NbdError::Invalid);
    }
    let (offset, bytes) = if known == Kind::Flush { (0, 0) } else { (to.offset, bytes) };
    if known != Kind::Flush {
        if bytes == 0 || (known == Kind::Read && bytes > u64::from(MOST_PAYLOAD)) {
            return refused(NbdError::Invalid);
        }
        if offset.checked_add(bytes).is_none_or(|last| last > terms.end) {
            let full = matches!(known, Kind::Write | Kind::WriteZeroes);
            return refused(if full { NbdError::NoSpace } else { NbdError::Invalid });
        }
    }
    Next::Command(
        taken,
        Command {
            kind: known,
            to,
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
