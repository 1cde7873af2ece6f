//! Where the data of an export are kept. A kind of store is one file here and one line in [`open`].
//!
//! What all of them promise (the fault model):
//!
//! - A read gives what the last write, or the last zeroing, left there; what was never written reads as zeros.
//! - What a [`Syncer`] has made durable survives the end of the process, and, if the store is on a disk, of the machine's power, as far as
//!   that disk keeps the promise of `fdatasync`.
//! - What was written afterwards may be lost with the power, byte for byte, in any order. It is not lost with the process alone.
//! - A store that sorts ([`MetadataStore`]) keeps the first promise for metadata alone: file data read as zeros.
//! - A failed read, write or sync is an error of that command; the client hears of it.

mod file;
mod memory;
mod metadata;
#[cfg(test)]
mod tests;

pub use file::FileStore;
pub use memory::MemoryStore;
pub use metadata::{MetadataStore, Rules};

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

    /// What was kept and what was not, of a store that does not keep all.
    fn sorted(&self) -> Option<Sorted> {
        None
    }
}

/// Bytes by what became of them, in a store that keeps metadata only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// The part of the disk that is known to be metadata, written or not.
    pub known: u64,
    /// Data of pages that are kept.
    pub kept: u64,
    /// Data of pages that wait until it is known what they are.
    pub waiting: u64,
    /// Written to file data, or found to be such.
    pub dropped: u64,
    /// Dropped without knowing what they were, for want of room.
    pub evicted: u64,
}

/// A kind of store, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In memory: gone with the process.
    Memory,
    /// In a sparse file.
    File(PathBuf),
    /// Metadata of file systems, in memory; with a file of rules.
    Metadata(Option<PathBuf>),
}

impl Kind {
    /// The kind that `text` names: `memory`, `file:PATH`, `metadata`, or `metadata:RULES.toml`.
    ///
    /// # Errors
    /// When there is no such kind.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("file", "")) => Err(format!("--store {text}: name the file, as in file:disk.img")),
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some(("metadata", "")) => Err(format!("--store {text}: name the file of rules, as in metadata:rules.toml")),
            Some(("metadata", path)) => Ok(Self::Metadata(Some(path.into()))),
            None if text == "memory" => Ok(Self::Memory),
            None if text == "metadata" => Ok(Self::Metadata(None)),
            _ => {
                Err(format!("--store {text}: there is no such store; give memory, file:PATH, or metadata[:RULES.toml]"))
            }
        }
    }

    /// The name of the kind in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File(_) => "file",
            Self::Metadata(_) => "metadata",
        }
    }

    /// The file that holds the data, or the file of rules.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::File(path) => Some(path),
            Self::Metadata(rules) => rules.as_deref(),
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
        Kind::Metadata(path) => {
            let rules = path.as_ref().map(|path| Rules::read(path, bytes)).transpose()?.unwrap_or_default();
            Ok(Box::new(MetadataStore::new(bytes, &rules)))
        }
    }
}
