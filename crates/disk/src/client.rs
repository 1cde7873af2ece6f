//! A connection: its socket, its side of the protocol, and the bytes on their way in and out.

use crate::address::Stream;
use crate::protocol::Session;
use crate::tls::{Channel, Keys};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::time::{Duration, Instant};

/// Bytes read from a connection in one turn, so that none keeps the others waiting.
pub const TURN: usize = 256 << 10;
/// Bytes of replies under way from which on no more commands are taken from a client: it may ask for more than it reads.
const MOST_REPLIES: usize = 64 << 20;
/// Commands of a client in progress from which on no more are taken.
const MOST_COMMANDS: u32 = 1024;
/// A pause between two replies counts as no longer than this.
const LONGEST_GAP: Duration = Duration::from_micros(100);
/// Pieces written by one call.
const PIECES: usize = 16;
/// Small replies share a buffer of this size.
const SMALL: usize = 4096;

/// What a read of a connection found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Bytes, or nothing yet.
    Open,
    /// The client has gone.
    Gone,
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    /// What seals the bytes on the socket, once that was negotiated.
    channel: Option<Box<Channel>>,
    /// Its side of the protocol.
    pub session: Session,
    /// The export that it chose.
    pub export: Option<usize>,
    /// The number of its connection, which no other ever had.
    pub number: u64,
    /// When it came, or began to leave.
    pub since: Instant,
    /// When the bytes in `input` came.
    pub heard: Instant,
    /// From one call that sends replies to the next, by the last ones, and when the last was.
    pub gap: Duration,
    told: Instant,
    /// Bytes that it sent and that are not handled yet.
    input: Vec<u8>,
    /// Bytes needed for the next message.
    needed: usize,
    output: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that are sent.
    sent: usize,
    /// Bytes of replies, whether sent soon or after their delay.
    pub reply_bytes: usize,
    /// Commands in progress.
    pub commands: u32,
    /// No more is taken from it: it said goodbye, or is to be left.
    pub leaving: bool,
}

impl Client {
    /// A new connection, with the greeting on its way; with `secure`, it has to begin TLS.
    pub fn new(stream: Stream, number: u64, now: Instant, secure: bool) -> Self {
        let mut client = Self {
            stream,
            channel: None,
            session: Session::new(secure),
            export: None,
            number,
            since: now,
            heard: now,
            gap: Duration::ZERO,
            told: now,
            input: Vec::new(),
            needed: 0,
            output: VecDeque::new(),
            sent: 0,
            reply_bytes: 0,
            commands: 0,
            leaving: false,
        };
        client.answer(Session::greet);
        client
    }

    /// Its socket, to wait for.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// True if it may send more.
    pub fn is_heard(&self) -> bool {
        !self.leaving && self.reply_bytes < MOST_REPLIES && self.commands < MOST_COMMANDS
    }

    /// True if bytes wait for the client to read.
    pub fn has_output(&self) -> bool {
        match &self.channel {
            None => !self.output.is_empty(),
            Some(channel) => !channel.going().is_empty() || (channel.is_open() && !self.output.is_empty()),
        }
    }

    /// True while its time is limited: it has chosen no export yet, or leaves.
    pub fn is_on_trial(&self) -> bool {
        self.export.is_none() || self.leaving
    }

    /// True if nothing of it is in progress any more.
    pub fn is_done(&self) -> bool {
        self.leaving && self.commands == 0 && !self.has_output()
    }

    /// From here on all bytes are sealed; those that wait go before.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn secure(&mut self, keys: &Keys) -> io::Result<()> {
        let mut before: Vec<u8> = self.output.drain(..).flatten().collect();
        before.drain(..std::mem::take(&mut self.sent));
        self.reply_bytes -= before.len();
        self.channel = Some(Box::new(Channel::new(keys, before)?));
        Ok(())
    }

    /// Reads what has come by `now`, at most a turn of it; `buffer` has room for that, and is shared by all connections: to clear one of its own
    /// for each read would take longer than the read of a command.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn hear(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Heard> {
        self.heard = now;
        let got = loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Heard::Open),
                other => break other?,
            }
        };
        if got == 0 {
            return Ok(Heard::Gone);
        }
        let Some(channel) = &mut self.channel else {
            self.input.extend_from_slice(&buffer[..got]);
            return Ok(Heard::Open);
        };
        let stays = channel.take(&buffer[..got], &mut self.input);
        if stays.is_err() {
            // The alert, which tells the client why; if there is no room for it, the end of the connection does.
            let _ = self.stream.write(channel.going());
        }
        Ok(if stays? { Heard::Open } else { Heard::Gone })
    }

    /// True if there is something to handle.
    pub fn has_work(&self) -> bool {
        self.has_message() && self.is_heard()
    }

    /// True if there may be a whole message.
    pub fn has_message(&self) -> bool {
        !self.input.is_empty() && self.input.len() >= self.needed
    }

    /// Takes the bytes out, to be handled; [`Client::give_back`] follows.
    pub fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// Gives the bytes back of which the first `taken` are handled; the next message needs `needed`.
    pub fn give_back(&mut self, mut input: Vec<u8>, taken: usize, needed: usize) {
        input.drain(..taken);
        // A large write is rare enough not to keep its memory.
        if input.capacity() > 4 * TURN && input.len() < TURN && needed < TURN {
            input.shrink_to(TURN);
        }
        self.input = input;
        self.needed = needed;
    }

    /// Adds what `write` writes to the replies.
    pub fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let fits = |piece: &Vec<u8>| piece.capacity() <= SMALL && piece.len() + 64 <= piece.capacity();
        if !self.output.back().is_some_and(fits) {
            self.output.push_back(Vec::with_capacity(SMALL));
        }
        let piece = self.output.back_mut().expect("pushed before");
        let before = piece.len();
        write(piece);
        self.reply_bytes += piece.len() - before;
        if piece.is_empty() {
            self.output.pop_back();
        }
    }

    /// Notes that replies are sent at `now`.
    pub fn hears_at(&mut self, now: Instant) {
        let gap = now.saturating_duration_since(std::mem::replace(&mut self.told, now)).min(LONGEST_GAP);
        self.gap = (self.gap * 15 + gap) / 16;
    }

    /// Adds a reply whose bytes were counted when it was made.
    pub fn send_later(&mut self, reply: Vec<u8>) {
        self.output.push_back(reply);
    }

    /// Writes replies, as far as the client reads; sent buffers go to `pool`.
    ///
    /// # Errors
    /// When the client has gone.
    pub fn send(&mut self, pool: &mut Vec<Vec<u8>>) -> io::Result<()> {
        if self.channel.is_some() {
            return self.send_sealed(pool);
        }
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(if count == 0 { &piece[self.sent..] } else { piece });
                count += 1;
            }
            match self.stream.write_vectored(&slices[..count]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => self.went(sent, pool),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The same where bytes are sealed: as many pieces as there is room for go in one write.
    fn send_sealed(&mut self, pool: &mut Vec<Vec<u8>>) -> io::Result<()> {
        loop {
            while let (Some(channel), Some(piece)) = (&mut self.channel, self.output.front()) {
                let sealed = if channel.is_open() { channel.seal(&piece[self.sent..])? } else { 0 };
                if sealed == 0 {
                    break;
                }
                self.went(sealed, pool);
            }
            let Some(channel) = self.channel.as_mut().filter(|channel| !channel.going().is_empty()) else {
                return Ok(());
            };
            match self.stream.write(channel.going()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => channel.went(sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn went(&mut self, bytes: usize, pool: &mut Vec<Vec<u8>>) {
        self.reply_bytes -= bytes;
        self.sent += bytes;
        while let Some(piece) = self.output.front() {
            if self.sent < piece.len() {
                break;
            }
            self.sent -= piece.len();
            if let Some(piece) = self.output.pop_front() {
                recycle(pool, piece);
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.end();
            // Where there is no room, the end of the connection has to do.
            let _ = self.stream.write(channel.going());
        }
    }
}

/// Keeps a buffer for the next reply.
pub fn recycle(pool: &mut Vec<Vec<u8>>, mut piece: Vec<u8>) {
    if pool.len() < 256 && piece.capacity() > SMALL && piece.capacity() <= 4 * TURN {
        piece.clear();
        pool.push(piece);
    }
}
