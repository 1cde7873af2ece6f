//! Snapshots: a drive's state in a file, as the start of runs.
//!
//! A file is `WORDLINE` and a format number, then a zstd frame of a JSON header (version, configuration, seed,
//! preconditioning) behind its length and of the state, then the [map](maps), with zstd's checksums over all of it. A run with the same configuration continues
//! exactly from the snapshot; a run with other policies, or with an external policy, takes over data, maps and wear.
//!
//! A snapshot holds an idle drive. It is untrusted input: everything is checked before use, and derived data are
//! rebuilt from the configuration.

mod maps;

use crate::config::DriveConfig;
use crate::drive::{Drive, Unusable};
use maps::Broken;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use wordline_firmware::ConfigError;

const MAGIC: &[u8; 8] = b"WORDLINE";
/// Goes up whenever the layout of the state changes.
const FORMAT: u32 = 17;
/// Longest header, in bytes: a configuration with room to spare.
const MOST_HEADER: u64 = 1 << 24;
/// Bytes that are read from a file at once.
const BUFFER: usize = 1 << 20;
/// Bytes that a state takes beside what grows with the drive.
const STATE_AROUND: u64 = 1 << 24;

/// Header of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that wrote it.
    pub version: String,
    /// The drive's configuration.
    pub config: serde_json::Value,
    /// Seed of the drive.
    pub seed: u64,
    /// Preconditioning of the drive.
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
        /// Error of the system.
        error: std::io::Error,
    },
    /// It is no snapshot, or a damaged one.
    #[error("{path}: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// The defect.
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

/// Writes an idle drive to a file; returns its size. Who wants to keep a file of that name until the new one is whole
/// gives another name, and renames.
///
/// # Errors
/// When the file cannot be written; it is then gone.
pub fn save(path: &Path, header: &Header, drive: &Drive) -> Result<u64, SnapshotError> {
    let name = path.display().to_string();
    let failed = |error| SnapshotError::Io { path: name.clone(), error };
    if path.exists() && !path.is_file() {
        return Err(failed(std::io::Error::other("not a regular file; name a file for the snapshot")));
    }
    if let Err(error) = File::create(path).and_then(|file| write(file, header, drive)?.sync_all()) {
        // The error that stopped the writing is the one to tell; the file may not even exist.
        let _ = std::fs::remove_file(path);
        return Err(failed(error));
    }
    std::fs::metadata(path).map(|meta| meta.len()).map_err(failed)
}

/// An idle drive as the bytes of a snapshot.
///
/// # Errors
/// When memory does not suffice.
pub fn to_bytes(header: &Header, drive: &Drive) -> std::io::Result<Vec<u8>> {
    write(Vec::new(), header, drive)
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
    let mut file = stream.inner.finish()?;
    maps::write(&mut file, drive.kernel().map())?;
    Ok(file.into_inner()?)
}

/// Keeps the reason of a failed write: the serialiser reports any failure as a full buffer.
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

    /// What has been written is sent when the frame ends.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Takes the bytes that are left, and no others.
struct Compared<'a> {
    left: &'a [u8],
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.left = self.left.strip_prefix(bytes).ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads a snapshot for a drive of `config`.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds a drive of another shape.
pub fn load(path: &Path, config: &DriveConfig, seed: u64) -> Result<(Header, Drive), SnapshotError> {
    load_with(path, config, |_| seed)
}

/// As [`load`], with a seed that is chosen by what the snapshot says of itself.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    path: &Path,
    config: &DriveConfig,
    seed: impl FnOnce(&Header) -> u64,
) -> Result<(Header, Drive), SnapshotError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| SnapshotError::Io { path: name.clone(), error })?;
    read(&name, BufReader::with_capacity(BUFFER, file), config, seed)
}

/// Reads a snapshot from its bytes, as [`load`] does; `name` stands for them in messages.
///
/// # Errors
/// As [`load`].
pub fn from_bytes(name: &str, bytes: &[u8], config: &DriveConfig, seed: u64) -> Result<(Header, Drive), SnapshotError> {
    read(name, bytes, config, |_| seed)
}

fn read(
    name: &str,
    mut file: impl BufRead + Send,
    config: &DriveConfig,
    seed: impl FnOnce(&Header) -> u64,
) -> Result<(Header, Drive), SnapshotError> {
    let damaged = |problem: String| SnapshotError::Damaged { path: name.to_owned(), problem };
    let mut head = [0; 12];
    file.read_exact(&mut head).map_err(|_| damaged("too short for a snapshot".into()))?;
    if &head[..8] != MAGIC {
        return Err(damaged("not a snapshot (make one with 'wordline precondition')".into()));
    }
    let format = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if format != FORMAT {
        return Err(damaged(format!(
            "snapshot format {format}, but this version reads format {FORMAT}; create it again"
        )));
    }
    let broken = |error: std::io::Error| damaged(format!("damaged or cut short ({error}); create it again"));
    let misfit = |error| SnapshotError::Misfit { path: name.to_owned(), error };
    let mut stream = zstd::Decoder::with_buffer(&mut file).map_err(broken)?.single_frame();
    let mut length = [0; 8];
    stream.read_exact(&mut length).map_err(broken)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER {
        return Err(damaged("damaged: its header has no end; create it again".into()));
    }
    let mut bytes = Vec::new();
    stream.by_ref().take(length).read_to_end(&mut bytes).map_err(broken)?;
    let header: Header =
        serde_json::from_slice(&bytes).map_err(|e| damaged(format!("damaged: its header: {e}; create it again")))?;
    // No more is read than the state of this drive can be, whatever the file makes of itself.
    let most = 2 * config.parts().map_err(misfit)?.derived().state_bytes + STATE_AROUND;
    bytes.clear();
    stream.take(most + 1).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 > most {
        let problem = "holds more than a drive of this size: give the drive the geometry of the snapshot";
        return Err(damaged(problem.into()));
    }
    let (mut saved, rest): (Drive, &[u8]) =
        postcard::take_from_bytes(&bytes).map_err(|e| damaged(format!("damaged: {e}; create it again")))?;
    if !rest.is_empty() {
        return Err(damaged(format!("damaged: {} bytes too many; create it again", rest.len())));
    }
    let unusable = |problem| match problem {
        Unusable::Misfit(error) => misfit(error),
        Unusable::Unsound(problem) => damaged(format!("no drive can be in this state: {problem}; create it again")),
    };
    let seed = seed(&header);
    let mut drive = Drive::new(config, seed).map_err(misfit)?;
    let mut map = drive.map_for(&saved).map_err(unusable)?;
    maps::read(&mut file, &mut map).map_err(|problem| match problem {
        Broken::Unread(error) => broken(error),
        Broken::Unsound(problem) => unusable(Unusable::Unsound(problem)),
    })?;
    if !file.fill_buf().map_err(broken)?.is_empty() {
        return Err(damaged("damaged: it goes on after its end; create it again".into()));
    }
    saved.kernel_mut().0.set_map(map);
    let mut resolved = serde_json::to_value(config).map_err(|e| damaged(e.to_string()))?;
    // Earlier preconditioning is part of the saved state, not of the drive.
    let mut was = header.config.clone();
    for value in [&mut resolved, &mut was] {
        if let Some(map) = value.as_object_mut() {
            map.remove("precondition");
        }
    }
    // An external policy is saved by its name only: it starts fresh.
    if resolved != was || header.seed != seed || config.has_guests() {
        drive.adopt_saved(saved).map_err(unusable)?;
        return Ok((header, drive));
    }
    drive.restore(saved).map_err(unusable)?;
    // Everything else is derived from the configuration: written again, the drive gives the same bytes.
    let mut same = Compared { left: &bytes };
    if postcard::to_io(&drive, &mut same).is_err() || !same.left.is_empty() {
        return Err(damaged("its state does not match its configuration; create it again".into()));
    }
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
        let config = crate::load::from_text("small", "title = \"small\"\n[geometry]\nblocks_per_plane = 64\n").unwrap();
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
