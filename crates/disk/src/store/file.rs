//! Data in a sparse file, which holds the disk byte for byte: other tools open it as a raw image.
//!
//! Durability is the file system's: `fdatasync` writes the data of the file, and what is needed to find them, which includes holes that
//! were made. A write is one `pwrite` into its place. So there is no journal to recover: after a loss of power each byte that was not
//! flushed is old or new, as on a drive. Where the file system cannot make holes, zeros are written.
//!
//! One server at a time: the file is locked while it is open.

use super::{Store, Syncer};
use crate::protocol::Extent;
use crate::state::sync_directory;
use rustix::fs::{fallocate, flock, seek, FallocateFlags, FlockOperation, SeekFrom};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use wordline_workload::system_words;

/// Zeros that are written at a time where no holes can be made.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// A disk in a file.
pub struct FileStore {
    file: File,
    /// False once the file system has refused to make a hole.
    makes_holes: bool,
}

impl FileStore {
    /// Opens the file at `path`, or makes it, for a disk of `bytes` bytes.
    ///
    /// # Errors
    /// When it cannot be opened or made, is no regular file, has another size, or is in use.
    pub fn open(path: &Path, bytes: u64) -> Result<Self, String> {
        let name = path.display();
        let failed = |error: io::Error| format!("{name}: cannot use this file as the store: {}", system_words(&error));
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let file = options.open(path).map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => format!("{name}: another server uses this file"),
            other => failed(other.into()),
        })?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(format!("{name}: not a regular file; a store is a file"));
        }
        match meta.len() {
            0 => {
                file.set_len(bytes).map_err(failed)?;
                sync_directory(path).map_err(failed)?;
            }
            size if size == bytes => {}
            size => {
                return Err(format!(
                "{name}: this file has {size} bytes, and the drive {bytes}: give the drive that it was made for, or \
                     the name of a new file"
            ))
            }
        }
        Ok(Self { file, makes_holes: true })
    }

    #[cfg(test)]
    pub(super) fn refuse_holes(&mut self) {
        self.makes_holes = false;
    }
}

impl Store for FileStore {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        if self.makes_holes {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&self.file, how, offset, bytes) {
                Ok(()) => return Ok(()),
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.makes_holes = false,
                Err(error) => return Err(error.into()),
            }
        }
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let length = (end - at).min(ZEROS.len() as u64);
            self.file.write_all_at(&ZEROS[..length as usize], at)?;
            at += length;
        }
        Ok(())
    }

    fn extent(&mut self, offset: u64, end: u64) -> io::Result<Extent> {
        let data = match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => data,
            // No data from here on.
            Err(Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        if data > offset {
            return Ok(Extent { bytes: data.min(end) - offset, hole: true });
        }
        let hole = seek(&self.file, SeekFrom::Hole(offset))?;
        Ok(Extent { bytes: hole.min(end) - offset, hole: false })
    }

    fn syncer(&self) -> io::Result<Option<Syncer>> {
        let file = self.file.try_clone()?;
        Ok(Some(Box::new(move || file.sync_data())))
    }

    fn held_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.blocks() * 512)
    }
}
