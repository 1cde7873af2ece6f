//! Replies to commands, in the form that the client negotiated.

use super::wire::{self, chunk, ALLOCATION_ID, HOLE_AND_ZERO};
use super::Kind;

/// Errors that a reply may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdError {
    /// The drive or the store failed: EIO.
    Io,
    /// The command makes no sense: EINVAL.
    Invalid,
    /// Beyond the end, or no room in the store: ENOSPC.
    NoSpace,
    /// The server is closing: ESHUTDOWN.
    Shutdown,
}

impl NbdError {
    fn number(self) -> u32 {
        match self {
            NbdError::Io => 5,
            NbdError::Invalid => 22,
            NbdError::NoSpace => 28,
            NbdError::Shutdown => 108,
        }
    }
}

/// A part of an export with one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length in bytes.
    pub bytes: u64,
    /// True if it takes no space and reads as zeros.
    pub hole: bool,
}

/// The form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// Simple ones only.
    #[default]
    Simple,
    /// Structured ones for reads and extents.
    Structured,
    /// Structured ones with extended headers for all commands.
    Extended,
}

/// Which command is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct To {
    /// The client's name for it.
    pub cookie: u64,
    /// Its first byte, which an extended header repeats.
    pub offset: u64,
}

impl Replies {
    /// True if reads and extents are answered in chunks.
    #[must_use]
    pub fn in_chunks(self) -> bool {
        self != Self::Simple
    }

    fn simple(out: &mut Vec<u8>, to: To, error: u32) {
        out.extend(wire::SIMPLE_REPLY.to_be_bytes());
        out.extend(error.to_be_bytes());
        out.extend(to.cookie.to_be_bytes());
    }

    fn chunk(self, out: &mut Vec<u8>, to: To, kind: u16, bytes: u32) {
        let magic = if self == Self::Extended { wire::EXTENDED_REPLY } else { wire::STRUCTURED_REPLY };
        out.extend(magic.to_be_bytes());
        // Every reply here is one chunk.
        out.extend(chunk::DONE.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend(to.cookie.to_be_bytes());
        if self == Self::Extended {
            out.extend(to.offset.to_be_bytes());
            out.extend(u64::from(bytes).to_be_bytes());
        } else {
            out.extend(bytes.to_be_bytes());
        }
    }

    /// The command is done. Not for reads, whose data follow their head, and not for extents.
    pub fn done(self, out: &mut Vec<u8>, to: To) {
        if self == Self::Extended {
            self.chunk(out, to, chunk::NONE, 0);
        } else {
            Self::simple(out, to, 0);
        }
    }

    /// The command failed; `kind` is what it was, if that is known.
    pub fn error(self, out: &mut Vec<u8>, to: To, kind: Option<Kind>, error: NbdError) {
        let has_data = matches!(kind, Some(Kind::Read | Kind::BlockStatus));
        if self == Self::Extended || (self == Self::Structured && has_data) {
            self.chunk(out, to, chunk::ERROR, 6);
            out.extend(error.number().to_be_bytes());
            out.extend(0_u16.to_be_bytes());
        } else {
            Self::simple(out, to, error.number());
        }
    }

    /// The head of a read's data.
    pub fn data(self, out: &mut Vec<u8>, to: To, bytes: u32) {
        if self.in_chunks() {
            self.chunk(out, to, chunk::OFFSET_DATA, 8 + bytes);
            out.extend(to.offset.to_be_bytes());
        } else {
            Self::simple(out, to, 0);
        }
    }

    /// A read of zeros only, without data; only for replies in chunks.
    pub fn hole(self, out: &mut Vec<u8>, to: To, bytes: u32) {
        self.chunk(out, to, chunk::OFFSET_HOLE, 12);
        out.extend(to.offset.to_be_bytes());
        out.extend(bytes.to_be_bytes());
    }

    /// The extents of a range, from its start; only for replies in chunks.
    pub fn extents(self, out: &mut Vec<u8>, to: To, extents: &[Extent]) {
        let (count, state) = (extents.len() as u32, |extent: &Extent| if extent.hole { HOLE_AND_ZERO } else { 0 });
        if self == Self::Extended {
            self.chunk(out, to, chunk::BLOCK_STATUS_EXT, 8 + 16 * count);
            out.extend(ALLOCATION_ID.to_be_bytes());
            out.extend(count.to_be_bytes());
            for extent in extents {
                out.extend(extent.bytes.to_be_bytes());
                out.extend(u64::from(state(extent)).to_be_bytes());
            }
        } else {
            self.chunk(out, to, chunk::BLOCK_STATUS, 4 + 8 * count);
            out.extend(ALLOCATION_ID.to_be_bytes());
            for extent in extents {
                out.extend(u32::try_from(extent.bytes).unwrap_or(u32::MAX).to_be_bytes());
                out.extend(state(extent).to_be_bytes());
            }
        }
    }
}
