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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replies {
    /// Structured replies for reads and extents.
    pub structured: bool,
}

impl Replies {
    fn simple(out: &mut Vec<u8>, cookie: u64, error: u32) {
        out.extend(wire::SIMPLE_REPLY.to_be_bytes());
        out.extend(error.to_be_bytes());
        out.extend(cookie.to_be_bytes());
    }

    fn chunk(out: &mut Vec<u8>, cookie: u64, kind: u16, bytes: u32) {
        out.extend(wire::STRUCTURED_REPLY.to_be_bytes());
        // Every reply here is one chunk.
        out.extend(chunk::DONE.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend(cookie.to_be_bytes());
        out.extend(bytes.to_be_bytes());
    }

    /// The command is done. Not for reads, whose data follow their head, and not for extents.
    pub fn done(self, out: &mut Vec<u8>, cookie: u64) {
        Self::simple(out, cookie, 0);
    }

    /// The command failed; `kind` is what it was, if that is known.
    pub fn error(self, out: &mut Vec<u8>, cookie: u64, kind: Option<Kind>, error: NbdError) {
        if self.structured && matches!(kind, Some(Kind::Read | Kind::BlockStatus)) {
            Self::chunk(out, cookie, chunk::ERROR, 6);
            out.extend(error.number().to_be_bytes());
            out.extend(0_u16.to_be_bytes());
        } else {
            Self::simple(out, cookie, error.number());
        }
    }

    /// The head of a read's data.
    pub fn data(self, out: &mut Vec<u8>, cookie: u64, offset: u64, bytes: u32) {
        if self.structured {
            Self::chunk(out, cookie, chunk::OFFSET_DATA, 8 + bytes);
            out.extend(offset.to_be_bytes());
        } else {
            Self::simple(out, cookie, 0);
        }
    }

    /// A read of zeros only, without data; only for structured replies.
    pub fn hole(self, out: &mut Vec<u8>, cookie: u64, offset: u64, bytes: u32) {
        Self::chunk(out, cookie, chunk::OFFSET_HOLE, 12);
        out.extend(offset.to_be_bytes());
        out.extend(bytes.to_be_bytes());
    }

    /// The extents of a range, from its start.
    pub fn extents(self, out: &mut Vec<u8>, cookie: u64, extents: &[Extent]) {
        Self::chunk(out, cookie, chunk::BLOCK_STATUS, 4 + 8 * extents.len() as u32);
        out.extend(ALLOCATION_ID.to_be_bytes());
        for extent in extents {
            out.extend(u32::try_from(extent.bytes).unwrap_or(u32::MAX).to_be_bytes());
            out.extend(if extent.hole { HOLE_AND_ZERO } else { 0 }.to_be_bytes());
        }
    }
}
