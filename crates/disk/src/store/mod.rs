//! Where the data of an export are kept. A kind of store is one file here and one line in [`open`].
//!
//! What all of them promise (the fault model):
//!
//! - A read gives what the last write, or the last zeroing, left there; what was never written reads as zeros.
//! - What a [`Syncer`] has made durable survives the end of the process, and, if the store is on a disk, of the machine's power, as far as
//!   that disk keeps the promise of `fdatasync`.
//! - What was written afterwards may be lost with the power, byte for byte, in any order. It is not lost with the process alone.
//! - A failed read, write or sync is an error of that command; the client hears of it.

mod file;
mod memory;
#[cfg(test)]
mod tests;

pub use file::FileStore;
pub use memory::MemoryStore;

use crate::protocol::Extent;
use std::io;
use std::path::{Path, PathBuf};

/// The piece in which stores account for data, in bytes.
pub const PAGE: usize = 4096;

/// Makes durable all that was written before the call; it runs in a thread of its own.
pub type Syncer = Box<dyn FnMut() -> io::Result<()> + Send>;

/// The data of an export. All ranges lie within its size: the protocol has checked them.
pub trait Store: Send {
    /// Fills `into` with the data from `offset` on.
    ///
    /// # Errors
    /// When the medium fails.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// When the medium fails or is full.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Makes a range read as zeros, and frees what it took.
    ///
    /// # Errors
    /// When the medium fails.
    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()>;

    /// The part of one state that begins at `offset`, which is before `end`; it does not go beyond `end`.
    ///
    /// # Errors
    /// When the medium fails.
    fn extent(&mut self, offset: u64, end: u64) -> io::Result<Extent>;

    /// A handle that makes written data durable; none if that means nothing to the store.
    ///
    /// # Errors
    /// When there can be no such handle.
    fn syncer(&self) -> io::Result<Option<Syncer>>;

    /// Bytes that the data take.
    fn held_bytes(&self) -> u64;
}

/// A kind of store, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In memory: gone with the process.
    Memory,
    /// In a sparse file.
    File(PathBuf),
}

impl Kind {
    /// The kind that `text` names: `memory`, or `file:PATH`.
    ///
    /// # Errors
    /// When there is no such kind.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("file", "")) => Err(format!("--store {text}: name the file, as in file:disk.img")),
            Some(("file", path)) => Ok(Self::File(path.into())),
            None if text == "memory" => Ok(Self::Memory),
            _ => Err(format!("--store {text}: there is no such store; give memory or file:PATH")),
        }
    }

    /// The name of the kind in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File(_) => "file",
        }
    }

    /// The file, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::File(path) => Some(path),
        }
    }
}

/// Opens a store of `bytes` bytes.
///
/// # Errors
/// When its file cannot be used; the message names it.
pub fn open(kind: &Kind, bytes: u64) -> Result<Box<dyn Store>, String> {
    match kind {
        Kind::Memory => Ok(Box::new(MemoryStore::new(bytes))),
        Kind::File(path) => Ok(Box::new(FileStore::open(path, bytes)?)),
    }
}
