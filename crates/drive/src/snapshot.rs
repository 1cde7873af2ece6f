//! Snapshots: a drive's state in a file, to start runs from.
//!
//! A file is `WORDLINE` and a format number, then a zstd stream of a JSON header (version, configuration, seed, how it was made)
//! and the state, with zstd's checksum over all of it. A run with the same configuration goes on exactly where the snapshot was taken; a run with other policies
//! takes over data, maps and wear. So does one with a policy from outside the program.

use crate::config::DriveConfig;
use crate::drive::Drive;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use wordline_firmware::ConfigError;

const MAGIC: &[u8; 8] = b"WORDLINE";
/// Goes up whenever the layout of the state changes.
const FORMAT: u32 = 3;

/// What a snapshot says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that wrote it.
    pub version: String,
    /// The drive's configuration.
    pub config: serde_json::Value,
    /// Seed of the drive.
    pub seed: u64,
    /// What was done to the drive.
    pub precondition: serde_json::Value,
}

/// A snapshot that cannot be written or used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no snapshot, or a damaged one.
    #[error("{path}: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It does not fit the drive.
    #[error("{path} does not fit the drive: {error}")]
    Misfit {
        /// The file.
        path: String,
        /// In what.
        error: ConfigError,
    },
}

/// Writes a drive at rest to a file, by way of a temporary one, so that a broken run leaves no half snapshot.
///
/// # Errors
/// When the file cannot be written.
pub fn save(path: &Path, header: &Header, drive: &Drive) -> Result<u64, SnapshotError> {
    let name = path.display().to_string();
    let failed = |error| SnapshotError::Io { path: name.clone(), error };
    if path.exists() && !path.is_file() {
        // A rename would replace a device or pipe by a file.
        return Err(failed(std::io::Error::other("not a regular file; name a file for the snapshot")));
    }
    let temporary = path.with_extension("part");
    let written = File::create(&temporary)
        .and_then(|file| write(file, header, drive)?.sync_all())
        .and_then(|()| std::fs::rename(&temporary, path));
    if let Err(error) = written {
        // The error that stopped the writing is the one to tell; the temporary file may not even exist.
        let _ = std::fs::remove_file(&temporary);
        return Err(failed(error));
    }
    std::fs::metadata(path).map(|meta| meta.len()).map_err(failed)
}

fn write<W: Write>(file: W, header: &Header, drive: &Drive) -> std::io::Result<W> {
    let mut file = BufWriter::new(file);
    file.write_all(MAGIC)?;
    file.write_all(&FORMAT.to_le_bytes())?;
    let mut stream = zstd::Encoder::new(file, 1)?;
    stream.include_checksum(true)?;
    let header = serde_json::to_vec(header)?;
    stream.write_all(&(header.len() as u64).to_le_bytes())?;
    stream.write_all(&header)?;
    let mut stream = Keeping { inner: stream, failed: None };
    let written = postcard::to_io(drive, &mut stream).map(drop);
    let failed = stream.failed.take();
    written.map_err(|error| failed.unwrap_or_else(|| std::io::Error::other(error)))?;
    Ok(stream.inner.finish()?.into_inner()?)
}

/// Keeps why writing failed: the serialiser tells of any failure as of a buffer that is full.
struct Keeping<W> {
    inner: W,
    failed: Option<std::io::Error>,
}

impl<W: Write> Write for Keeping<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.inner.write(bytes).map_err(|error| {
            let told = error.raw_os_error().map_or_else(|| error.kind().into(), std::io::Error::from_raw_os_error);
            // Asked again, it is the caller's business; anything else ends the writing.
            if error.kind() != std::io::ErrorKind::Interrupted {
                self.failed = Some(error);
            }
            told
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Reads a snapshot for a drive of `config`.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds a drive of another shape.
pub fn load(path: &Path, config: &DriveConfig, seed: u64) -> Result<(Header, Drive), SnapshotError> {
    let name = path.display().to_string();
    let damaged = |problem: String| SnapshotError::Damaged { path: name.clone(), problem };
    let mut file = BufReader::new(File::open(path).map_err(|error| SnapshotError::Io { path: name.clone(), error })?);
    let mut head = [0; 12];
    file.read_exact(&mut head).map_err(|_| damaged("too short for a snapshot".into()))?;
    if &head[..8] != MAGIC {
        return Err(damaged("not a snapshot (make one with 'wordline precondition')".into()));
    }
    let format = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if format != FORMAT {
        return Err(damaged(format!("snapshot format {format}, but this version reads format {FORMAT}; make it anew")));
    }
    let broken = |error: std::io::Error| damaged(format!("damaged or cut short ({error}); make it anew"));
    let mut bytes = Vec::new();
    zstd::Decoder::with_buffer(file).and_then(|mut stream| stream.read_to_end(&mut bytes)).map_err(broken)?;
    let cut = || damaged("damaged or cut short; make it anew".into());
    let length = bytes.get(..8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).ok_or_else(cut)? as usize;
    let body = length.checked_add(8).filter(|&end| end <= bytes.len()).ok_or_else(cut)?;
    let header: Header = serde_json::from_slice(&bytes[8..body]).map_err(|e| damaged(e.to_string()))?;
    let saved: Drive =
        postcard::from_bytes(&bytes[body..]).map_err(|e| damaged(format!("damaged: {e}; make it anew")))?;
    drop(bytes);
    let mut resolved = serde_json::to_value(config).map_err(|e| damaged(e.to_string()))?;
    // What was done before is part of the saved state, not of the drive.
    let mut was = header.config.clone();
    for value in [&mut resolved, &mut was] {
        if let Some(map) = value.as_object_mut() {
            map.remove("precondition");
        }
    }
    // A policy from outside the program is saved by its name: it starts anew.
    if resolved == was && header.seed == seed && !config.firmware.has_guests() {
        return Ok((header, saved));
    }
    let misfit = |error| SnapshotError::Misfit { path: name.clone(), error };
    let mut drive = Drive::new(config, seed).map_err(misfit)?;
    drive.adopt(&saved).map_err(misfit)?;
    Ok((header, drive))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    /// A disk with so much room.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(Error::from(ErrorKind::StorageFull));
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_as_such_wherever_it_is_met() {
        let config =
            crate::config::from_text("small", "title = \"small\"\n[geometry]\nblocks_per_plane = 64\n").unwrap();
        let mut drive = Drive::new(&config, 1).unwrap();
        let all = crate::config::PreconditionConfig { overwrites: 1.0, ..config.precondition.clone() };
        crate::precondition::precondition(&mut drive, &all, 1, &mut |_| true).unwrap();
        let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
        let mut whole = Vec::new();
        write(&mut whole, &header, &drive).unwrap();
        assert!(whole.len() > 100_000, "{}: too small to be written in several steps", whole.len());
        // While the head is written, in the midst of the state, and when only its end is missing.
        for room in [0, 4, whole.len() / 2, whole.len() - 1] {
            let error = write(Small(room), &header, &drive).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{room}: {error}");
        }
    }
}
