//! Negotiation: the options of a client, up to the choice of an export. Fixed newstyle.

use super::query::{contexts, info};
use super::wire::{self, answer, info as about, option, transmission, ALLOCATION, ALLOCATION_ID};
use super::{Entry, Replies, MOST_PAYLOAD};

/// The block that requests should be made of.
const PREFERRED_BLOCK: u32 = 4096;

/// How far a connection is with TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tls {
    /// The server has no keys.
    #[default]
    Unknown,
    /// Nothing but TLS can be negotiated.
    Required,
    /// It has begun.
    Begun,
}

/// What a client has negotiated.
#[derive(Debug, Default)]
pub struct Negotiation {
    /// How far TLS is.
    tls: Tls,
    /// The reply to EXPORT_NAME ends without 124 zeros.
    pub no_zeroes: bool,
    /// The form of replies, and with it that of requests.
    pub replies: Replies,
    /// The context `base:allocation` is chosen.
    pub allocation: bool,
    /// For which export.
    allocation_of: Option<usize>,
}

/// What an option led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// More options follow.
    Haggle,
    /// This export is open.
    Open(usize),
    /// TLS begins.
    Secure,
    /// The client leaves.
    Bye,
    /// The connection cannot go on, for this reason.
    Broken(&'static str),
}

/// Writes a reply to an option.
pub fn answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(wire::OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

fn find(exports: &[Entry], name: &[u8]) -> Option<usize> {
    exports.iter().position(|entry| entry.name.as_bytes() == name)
}

impl Negotiation {
    /// The start of it; with `secure`, TLS comes first.
    pub fn new(secure: bool) -> Self {
        Self { tls: if secure { Tls::Required } else { Tls::Unknown }, ..Self::default() }
    }

    /// Handles an option.
    pub fn option(&mut self, option: u32, data: &[u8], exports: &[Entry], out: &mut Vec<u8>) -> Outcome {
        match option {
            option::ABORT => {
                answer(out, option, answer::ACK, &[]);
                return Outcome::Bye;
            }
            option::STARTTLS => return self.start_tls(data, out),
            // The one option that has no form for an error.
            option::EXPORT_NAME if self.tls == Tls::Required => {
                return Outcome::Broken("it asked for an export without TLS");
            }
            _ if self.tls == Tls::Required => answer(out, option, answer::ERR_TLS_REQD, b"this server needs TLS"),
            option::EXPORT_NAME => return self.export_name(data, exports, out),
            option::INFO | option::GO => return self.go(option, data, exports, out),
            option::LIST if data.is_empty() => list(exports, out),
            option::STRUCTURED_REPLY | option::EXTENDED_HEADERS if data.is_empty() => self.choose_replies(option, out),
            option::LIST | option::STRUCTURED_REPLY | option::EXTENDED_HEADERS => {
                answer(out, option, answer::ERR_INVALID, b"no data expected");
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta_context(option, data, exports, out),
            _ => answer(out, option, answer::ERR_UNSUP, &[]),
        }
        Outcome::Haggle
    }

    /// TLS begins with the next byte, and what was negotiated before is void.
    fn start_tls(&mut self, data: &[u8], out: &mut Vec<u8>) -> Outcome {
        let refused: (u32, &[u8]) = match self.tls {
            Tls::Unknown => (answer::ERR_POLICY, b"this server has no keys for TLS"),
            Tls::Begun => (answer::ERR_INVALID, b"TLS has begun"),
            Tls::Required if !data.is_empty() => (answer::ERR_INVALID, b"no data expected"),
            Tls::Required => {
                answer(out, option::STARTTLS, answer::ACK, &[]);
                *self = Self { tls: Tls::Begun, no_zeroes: self.no_zeroes, ..Self::default() };
                return Outcome::Secure;
            }
        };
        answer(out, option::STARTTLS, refused.0, refused.1);
        Outcome::Haggle
    }

    fn choose_replies(&mut self, option: u32, out: &mut Vec<u8>) {
        let extended = option == option::EXTENDED_HEADERS;
        if self.replies == Replies::Extended {
            let error = if extended { answer::ERR_INVALID } else { answer::ERR_EXT_HEADER_REQD };
            answer(out, option, error, b"extended headers are negotiated");
            return;
        }
        self.replies = if extended { Replies::Extended } else { Replies::Structured };
        answer(out, option, answer::ACK, &[]);
    }

    /// What an export can do.
    fn flags(&self) -> u16 {
        use transmission as can;
        let all = can::HAS_FLAGS | can::SEND_FLUSH | can::SEND_FUA | can::SEND_TRIM | can::SEND_WRITE_ZEROES;
        let more = can::CAN_MULTI_CONN | can::SEND_CACHE | can::SEND_FAST_ZERO;
        all | more | if self.replies.in_chunks() { can::SEND_DF } else { 0 }
    }

    fn open(&mut self, index: usize) -> Outcome {
        self.allocation = self.allocation_of == Some(index);
        Outcome::Open(index)
    }

    /// The oldest way to choose an export: an unknown name can only be answered by leaving. It does not go with extended headers.
    fn export_name(&mut self, name: &[u8], exports: &[Entry], out: &mut Vec<u8>) -> Outcome {
        if self.replies == Replies::Extended {
            return Outcome::Broken("it asked for extended headers, and for an export in the oldest way");
        }
        let Some(index) = find(exports, name) else { return Outcome::Broken("it asked for an unknown export") };
        out.extend(exports[index].bytes.to_be_bytes());
        out.extend(self.flags().to_be_bytes());
        if !self.no_zeroes {
            out.extend([0; 124]);
        }
        self.open(index)
    }

    fn go(&mut self, option: u32, data: &[u8], exports: &[Entry], out: &mut Vec<u8>) -> Outcome {
        let Some((name, kinds)) = info(data) else {
            answer(out, option, answer::ERR_INVALID, b"malformed request for an export");
            return Outcome::Haggle;
        };
        let Some(index) = find(exports, name) else {
            answer(out, option, answer::ERR_UNKNOWN, b"no such export");
            return Outcome::Haggle;
        };
        let export = &exports[index];
        let mut told = |kind: u16, rest: &[u8]| {
            let data = [&kind.to_be_bytes()[..], rest].concat();
            answer(out, option, answer::INFO, &data);
        };
        told(about::EXPORT, &[&export.bytes.to_be_bytes()[..], &self.flags().to_be_bytes()].concat());
        if kinds.contains(&about::NAME) {
            told(about::NAME, export.name.as_bytes());
        }
        if kinds.contains(&about::DESCRIPTION) {
            told(about::DESCRIPTION, export.description.as_bytes());
        }
        if kinds.contains(&about::BLOCK_SIZE) {
            let sizes = [1, PREFERRED_BLOCK, MOST_PAYLOAD].map(u32::to_be_bytes).concat();
            told(about::BLOCK_SIZE, &sizes);
        }
        answer(out, option, answer::ACK, &[]);
        if option == option::INFO {
            return Outcome::Haggle;
        }
        self.open(index)
    }

    fn meta_context(&mut self, option: u32, data: &[u8], exports: &[Entry], out: &mut Vec<u8>) {
        let set = option == option::SET_META_CONTEXT;
        if set {
            // Whatever comes of it, an earlier choice is gone.
            self.allocation_of = None;
        }
        let Some((name, queries)) = contexts(data).filter(|_| self.replies.in_chunks()) else {
            answer(out, option, answer::ERR_INVALID, b"needs structured replies and a list of queries");
            return;
        };
        let Some(index) = find(exports, name) else {
            answer(out, option, answer::ERR_UNKNOWN, b"no such export");
            return;
        };
        let all = !set && (queries.is_empty() || queries.contains(&&b"base:"[..]));
        if all || queries.contains(&ALLOCATION.as_bytes()) {
            let id = if set { ALLOCATION_ID } else { 0 };
            answer(out, option, answer::META_CONTEXT, &[&id.to_be_bytes()[..], ALLOCATION.as_bytes()].concat());
            if set {
                self.allocation_of = Some(index);
            }
        }
        answer(out, option, answer::ACK, &[]);
    }
}

fn list(exports: &[Entry], out: &mut Vec<u8>) {
    for export in exports {
        let name = export.name.as_bytes();
        let data = [&(name.len() as u32).to_be_bytes()[..], name, export.description.as_bytes()].concat();
        answer(out, option::LIST, answer::SERVER, &data);
    }
    answer(out, option::LIST, answer::ACK, &[]);
}
