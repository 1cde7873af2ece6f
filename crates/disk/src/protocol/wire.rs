//! Numbers of the NBD protocol, by the names of its specification ("The NBD protocol", doc/proto.md of the NBD project), and how they
//! lie in messages: everything is big-endian.

/// First eight bytes of a server's greeting.
pub const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
/// The next eight, and the first of every option.
pub const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
/// First bytes of the reply to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// First bytes of a request.
pub const REQUEST: u32 = 0x2560_9513;
/// First bytes of a request with an extended header.
pub const EXTENDED_REQUEST: u32 = 0x21e4_1c71;
/// First bytes of a simple reply.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// First bytes of a chunk of a structured reply.
pub const STRUCTURED_REPLY: u32 = 0x668e_33ef;
/// First bytes of a chunk of a reply with an extended header.
pub const EXTENDED_REPLY: u32 = 0x6e8a_278c;

/// Length of a request without data.
pub const REQUEST_BYTES: usize = 28;
/// The same with an extended header, which counts bytes by 64 bits.
pub const EXTENDED_REQUEST_BYTES: usize = 32;
/// Length of the head of an option.
pub const OPTION_BYTES: usize = 16;

/// Handshake flags of the server and of the client.
pub mod handshake {
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// Options of a client.
pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// Replies to options.
pub mod answer {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const ERR_UNSUP: u32 = (1 << 31) + 1;
    pub const ERR_POLICY: u32 = (1 << 31) + 2;
    pub const ERR_INVALID: u32 = (1 << 31) + 3;
    pub const ERR_TLS_REQD: u32 = (1 << 31) + 5;
    pub const ERR_UNKNOWN: u32 = (1 << 31) + 6;
    pub const ERR_TOO_BIG: u32 = (1 << 31) + 9;
    pub const ERR_EXT_HEADER_REQD: u32 = (1 << 31) + 10;
}

/// Kinds of information on an export.
pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod transmission {
    pub const HAS_FLAGS: u16 = 1 << 0;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub const SEND_DF: u16 = 1 << 7;
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    pub const SEND_CACHE: u16 = 1 << 10;
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Commands.
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of commands.
pub mod flag {
    pub const FUA: u16 = 1 << 0;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DF: u16 = 1 << 2;
    pub const REQ_ONE: u16 = 1 << 3;
    pub const FAST_ZERO: u16 = 1 << 4;
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

/// Chunks of a structured reply.
pub mod chunk {
    pub const DONE: u16 = 1 << 0;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const OFFSET_HOLE: u16 = 2;
    pub const BLOCK_STATUS: u16 = 5;
    pub const BLOCK_STATUS_EXT: u16 = 6;
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// State of a range in the context `base:allocation`: unallocated, and read as zeros.
pub const HOLE_AND_ZERO: u32 = 0b11;

/// The one metadata context.
pub const ALLOCATION: &str = "base:allocation";
/// Its number.
pub const ALLOCATION_ID: u32 = 1;

/// The 16-bit number at `at`; the caller has checked that it is there.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The 64-bit number at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
