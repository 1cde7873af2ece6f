//! The NBD protocol as a state machine over bytes: no sockets, no clock, no store.
//!
//! [`Session::next`] takes the bytes that a client has sent so far, handles one message of them, and says what it was. Negotiation and
//! refusals are answered here; what leaves as a [`Command`] lies within its export.

mod command;
mod handshake;
mod query;
mod reply;
#[cfg(test)]
mod tests;
pub mod wire;

pub use command::{Command, Kind};
pub use reply::{Extent, NbdError, Replies, To};

use handshake::Negotiation;
use wire::{u32_at, u64_at, IHAVEOPT, NBDMAGIC, OPTION_BYTES};

/// Most bytes that a read or a write may have.
pub const MOST_PAYLOAD: u32 = 32 << 20;
/// Most bytes of an option: a name of 4,096 bytes, and queries.
const MOST_OPTION: u32 = 1 << 16;

/// An export as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; empty for the default export.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What the first message in a client's bytes was.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It is not complete: that many bytes are needed in all.
    More(usize),
    /// It is answered, or needs no answer.
    Handled,
    /// TLS begins with the next byte of both sides, after the answer.
    Secure,
    /// The client chose this export; its commands follow.
    Opened(usize),
    /// A command for the export.
    Command(Command<'a>),
    /// The connection ends, in good order.
    Bye,
    /// The connection ends: the client broke the protocol, in this way.
    Broken(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flags,
    Options,
    Open { bytes: u64 },
}

/// One client's side of the protocol.
#[derive(Debug)]
pub struct Session {
    state: State,
    negotiation: Negotiation,
}

impl Session {
    /// A session with a client that has sent nothing; with `secure`, nothing but TLS can be negotiated at first.
    #[must_use]
    pub fn new(secure: bool) -> Self {
        Self { state: State::Flags, negotiation: Negotiation::new(secure) }
    }

    /// Writes the server's greeting.
    pub fn greet(out: &mut Vec<u8>) {
        out.extend(NBDMAGIC.to_be_bytes());
        out.extend(IHAVEOPT.to_be_bytes());
        out.extend((wire::handshake::FIXED_NEWSTYLE | wire::handshake::NO_ZEROES).to_be_bytes());
    }

    /// The form of replies that the client chose.
    #[must_use]
    pub fn replies(&self) -> Replies {
        self.negotiation.replies
    }

    /// Handles the first message in `input`; returns the bytes that it took, and what it was. Answers go to `out`.
    pub fn next<'a>(&mut self, input: &'a [u8], exports: &[Entry], out: &mut Vec<u8>) -> (usize, Step<'a>) {
        match self.state {
            State::Flags => self.flags(input),
            State::Options => self.option(input, exports, out),
            State::Open { bytes } => self.command(input, bytes, out),
        }
    }

    fn flags(&mut self, input: &[u8]) -> (usize, Step<'static>) {
        if input.len() < 4 {
            return (0, Step::More(4));
        }
        let known = u32::from(wire::handshake::FIXED_NEWSTYLE | wire::handshake::NO_ZEROES);
        let flags = u32_at(input, 0);
        if flags & !known != 0 {
            return (4, Step::Broken("it set handshake flags that the server did not offer"));
        }
        self.negotiation.no_zeroes = flags & u32::from(wire::handshake::NO_ZEROES) != 0;
        self.state = State::Options;
        (4, Step::Handled)
    }

    fn option(&mut self, input: &[u8], exports: &[Entry], out: &mut Vec<u8>) -> (usize, Step<'static>) {
        if input.len() < OPTION_BYTES {
            return (0, Step::More(OPTION_BYTES));
        }
        let (option, length) = (u32_at(input, 8), u32_at(input, 12));
        if u64_at(input, 0) != IHAVEOPT {
            return (input.len(), Step::Broken("an option does not begin with IHAVEOPT"));
        }
        if length > MOST_OPTION {
            handshake::answer(out, option, wire::answer::ERR_TOO_BIG, &[]);
            return (input.len(), Step::Broken("an option is longer than 64 KiB"));
        }
        let end = OPTION_BYTES + length as usize;
        let Some(data) = input.get(OPTION_BYTES..end) else { return (0, Step::More(end)) };
        let step = match self.negotiation.option(option, data, exports, out) {
            handshake::Outcome::Haggle => Step::Handled,
            // Whoever was in between could have added them.
            handshake::Outcome::Secure if input.len() > end => Step::Broken("it sent more before TLS began"),
            handshake::Outcome::Secure => Step::Secure,
            handshake::Outcome::Bye => Step::Bye,
            handshake::Outcome::Broken(why) => Step::Broken(why),
            handshake::Outcome::Open(index) => {
                self.state = State::Open { bytes: exports[index].bytes };
                Step::Opened(index)
            }
        };
        (end, step)
    }

    fn command<'a>(&self, input: &'a [u8], end: u64, out: &mut Vec<u8>) -> (usize, Step<'a>) {
        let (allocation, extended) = (self.negotiation.allocation, self.replies() == Replies::Extended);
        match command::next(input, command::Terms { end, allocation, extended }) {
            command::Next::More(needed) => (0, Step::More(needed)),
            command::Next::Broken(why) => (input.len(), Step::Broken(why)),
            command::Next::Bye(taken) => (taken, Step::Bye),
            command::Next::Command(taken, command) => (taken, Step::Command(command)),
            command::Next::Refused { taken, to, kind, error } => {
                self.replies().error(out, to, kind, error);
                (taken, Step::Handled)
            }
        }
    }
}
