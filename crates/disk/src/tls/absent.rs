//! A build without TLS: there are no keys, and so no channel.

use super::Keys;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;

/// Why there is no TLS.
pub const ABSENT: Option<&str> =
    Some("this build has no TLS; install the headers of OpenSSL (libssl-dev) and pkg-config, and build again");

/// What all connections would share.
pub type Context = Infallible;

/// None can be made.
///
/// # Errors
/// Always.
pub fn context(_: HashMap<String, Vec<u8>>) -> Result<Context, &'static str> {
    Err("there is none")
}

/// A channel that nobody can have.
#[derive(Debug)]
pub enum Channel {}

impl Channel {
    /// None can be made: nobody has keys.
    ///
    /// # Errors
    /// Never.
    pub fn new(keys: &Keys, _: Vec<u8>) -> io::Result<Self> {
        match keys.context {}
    }

    /// Never called, as all that follow.
    pub fn is_open(&self) -> bool {
        match *self {}
    }

    /// Takes bytes from the socket.
    ///
    /// # Errors
    /// Never.
    pub fn take(&mut self, _: &[u8], _: &mut Vec<u8>) -> io::Result<bool> {
        match *self {}
    }

    /// Seals bytes.
    ///
    /// # Errors
    /// Never.
    pub fn seal(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    /// Bytes for the socket.
    pub fn going(&self) -> &[u8] {
        match *self {}
    }

    /// The socket took some of them.
    pub fn went(&mut self, _: usize) {
        match *self {}
    }

    /// Ends it.
    pub fn end(&mut self) {
        match *self {}
    }
}
