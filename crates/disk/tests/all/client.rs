//! A client of the live disk for tests: blocking, with simple replies.

use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZERO: u16 = 6;

pub struct Client {
    pub stream: UnixStream,
}

impl Client {
    /// Connects to the default export.
    pub fn new(socket: &Path) -> Self {
        let mut client = Self::raw(socket);
        let mut greeting = [0; 18];
        client.stream.read_exact(&mut greeting).unwrap();
        let name = [&b"\0\0\0\x03IHAVEOPT"[..], &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
        client.stream.write_all(&name).unwrap();
        client.stream.read_exact(&mut [0; 10]).unwrap();
        client
    }

    /// Connects, and says nothing.
    pub fn raw(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream }
    }

    /// Sends a command; `data` are those of a write.
    pub fn ask(&mut self, kind: u16, cookie: u64, offset: u64, bytes: u32, data: &[u8]) -> Result<()> {
        let head = [&0x2560_9513_u32.to_be_bytes()[..], &0_u16.to_be_bytes(), &kind.to_be_bytes()].concat();
        let rest = [&cookie.to_be_bytes()[..], &offset.to_be_bytes(), &bytes.to_be_bytes(), data].concat();
        self.stream.write_all(&[head, rest].concat())
    }

    /// The next reply's cookie and error.
    pub fn answer(&mut self) -> Result<(u64, u32)> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        assert_eq!(head[..4], 0x6744_6698_u32.to_be_bytes());
        let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
        Ok((u64::from_be_bytes(head[8..].try_into().unwrap()), error))
    }

    /// Does a command, which succeeds.
    pub fn does(&mut self, kind: u16, offset: u64, bytes: u32, data: &[u8]) {
        self.ask(kind, 9, offset, bytes, data).unwrap();
        assert_eq!(self.answer().unwrap(), (9, 0));
    }

    pub fn read(&mut self, offset: u64, bytes: usize) -> Vec<u8> {
        self.does(READ, offset, bytes as u32, &[]);
        let mut data = vec![0; bytes];
        self.stream.read_exact(&mut data).unwrap();
        data
    }
}
