//! Drives from snapshots: of one from which the runs of several seeds start, it is read once, and each run gets a fork.

use crate::failure::Failure;
use crate::memory::fits_memory;
use pyo3::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use wordline_drive::config::Parts;
use wordline_drive::snapshot::{self, Header, SnapshotError};
use wordline_drive::{Drive, DriveConfig};
use wordline_workload::system_words;

/// Reads a snapshot for a drive.
pub fn read_snapshot(path: &Path, config: &DriveConfig, seed: u64) -> Result<(Header, Drive), Failure> {
    read_snapshot_with(path, config, |_| seed)
}

/// As [`read_snapshot`], with a seed that is chosen by what the snapshot says of itself.
pub fn read_snapshot_with(
    path: &Path,
    config: &DriveConfig,
    seed: impl FnOnce(&Header) -> u64,
) -> Result<(Header, Drive), Failure> {
    if path.is_dir() {
        return Err(Failure::Input(format!("{}: this is a directory; a snapshot is one file", path.display())));
    }
    snapshot::load_with(path, config, seed).map_err(|error| match error {
        SnapshotError::Io { path, error } => Failure::Input(format!("{path}: {}", system_words(&error))),
        other => Failure::input(other),
    })
}

/// What is read of a snapshot, by the first run that asks for it.
#[pyclass(name = "Aged", module = "wordline._core", frozen)]
pub struct Aged {
    seeds: Range<u64>,
    /// The drive, and the seed with which it was read.
    base: Mutex<Option<(Drive, u64)>>,
}

impl Aged {
    /// True once it is read.
    pub fn is_read(&self) -> bool {
        self.base.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A drive in the state of the snapshot, as it would be read with this seed. The others read it anew where memory does not hold one
    /// beside those that run.
    pub fn start(&self, path: &Path, config: &DriveConfig, parts: &Parts, seed: u64) -> Result<Drive, Failure> {
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if base.is_some() && fits_memory(parts).is_err() {
            *base = None;
            return Ok(read_snapshot(path, config, seed)?.1);
        }
        let (drive, own) = match &mut *base {
            Some(read) => read,
            None => base.insert(self.read(path, config)?),
        };
        drive.share();
        // With its own seed a drive goes on where it was, where that is known; a policy of the caller starts afresh.
        if *own == seed && !config.has_guests() {
            return Ok(drive.clone());
        }
        let mut fork = Drive::new(config, seed).map_err(Failure::input)?;
        fork.adopt(drive).map_err(Failure::input)?;
        Ok(fork)
    }

    /// The drive with the seed that it was saved with, if that is one of those to run: only then the snapshot holds all of its state.
    fn read(&self, path: &Path, config: &DriveConfig) -> Result<(Drive, u64), Failure> {
        let mut seed = self.seeds.start;
        let choose = |header: &Header| {
            if self.seeds.contains(&header.seed) {
                seed = header.seed;
            }
            seed
        };
        let drive = read_snapshot_with(path, config, choose)?.1;
        Ok((drive, seed))
    }
}

#[pymethods]
impl Aged {
    /// For the runs of so many seeds.
    #[new]
    fn __new__(first: u64, count: u64) -> Self {
        Self { seeds: first..first.saturating_add(count), base: Mutex::new(None) }
    }
}
