//! The state of a drive from one server to the next: a snapshot that is read at the start, and written at the end.
//!
//! While a server uses it, there is a file of the same name with `.lock` behind it, which keeps others away. Who saves the state removes
//! it. So if there is one that nobody holds, the last server was killed, or could not save the state: what it did to the drive is lost.

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wordline_drive::snapshot::{self, Header, SnapshotError};
use wordline_drive::Drive;
use wordline_workload::system_words;

/// The file with a drive's state, as long as a server has it.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    lock_path: PathBuf,
    lock: File,
    saved_at: Option<SystemTime>,
    lost: bool,
    begun: bool,
}

impl State {
    /// Takes the state at `path`, which need not exist.
    ///
    /// # Errors
    /// When another server has it, it is no regular file, or its directory refuses a file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let failed = |error: io::Error| format!("{name}: the state cannot be kept there: {}", system_words(&error));
        let saved_at = match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => Some(meta.modified().map_err(failed)?),
            Ok(_) => return Err(format!("{name}: not a regular file; the state of a drive is a file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let lock_path = beside(path, ".lock");
        loop {
            let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
            let lock = options.open(&lock_path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => format!("{name}: the directory does not exist; create it first"),
                _ => failed(error),
            })?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
                Errno::WOULDBLOCK => format!("{name}: another server uses this state"),
                other => failed(other.into()),
            })?;
            let own = lock.metadata().map_err(failed)?;
            // Its last holder may have removed it meanwhile.
            if std::fs::metadata(&lock_path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())) {
                let lost = own.len() > 0;
                return Ok(Self { path: path.to_owned(), lock_path, lock, saved_at, lost, begun: false });
            }
        }
    }

    /// When it was saved; none if there is no state yet.
    #[must_use]
    pub fn saved_at(&self) -> Option<SystemTime> {
        self.saved_at
    }

    /// True if the last server changed the drive, and did not save its state.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.lost
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From here on the drive changes: unless its state is saved, the next server is told so.
    ///
    /// # Errors
    /// When that cannot be noted.
    pub fn begin(&mut self) -> Result<(), String> {
        let noted = self.lock.write_all(b"serving\n").and_then(|()| self.lock.sync_all());
        noted.map_err(|error| format!("{}: cannot write: {}", self.lock_path.display(), system_words(&error)))?;
        self.begun = true;
        Ok(())
    }

    /// Saves the state of an idle drive in place of the last one, and gives the file back; tells its size in bytes. The last state stays until the
    /// new one is whole and on the disk.
    ///
    /// # Errors
    /// When it cannot be written; the last state is then unchanged.
    pub fn save(mut self, header: &Header, drive: &Drive) -> Result<u64, String> {
        let part = beside(&self.path, ".part");
        let failed = |error: io::Error| {
            let _ = std::fs::remove_file(&part);
            format!(
                "{}: the state of the drive is not saved, the last one is unchanged: {}",
                self.path.display(),
                system_words(&error)
            )
        };
        let bytes = snapshot::save(&part, header, drive).map_err(|error| match error {
            SnapshotError::Io { error, .. } => failed(error),
            other => other.to_string(),
        })?;
        std::fs::rename(&part, &self.path).and_then(|()| sync_directory(&self.path)).map_err(failed)?;
        // What was lost before is part of the new state.
        (self.begun, self.lost) = (false, false);
        Ok(bytes)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if !self.begun && !self.lost {
            // If it stays, the next server says too much.
            let _ = std::fs::remove_file(&self.lock_path);
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the name of a new file durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wordline-state-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn one_server_at_a_time_and_the_next_knows_how_it_ended() {
        let folder = folder("turns");
        let (path, lock) = (folder.join("d.state"), folder.join("d.state.lock"));
        let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
        let config = wordline_drive::load::from_text("small", "[geometry]\nblocks_per_plane = 64\n").unwrap();
        let drive = Drive::new(&config, 1).unwrap();

        let mut first = State::open(&path).unwrap();
        assert!(first.saved_at().is_none() && !first.is_behind());
        assert!(State::open(&path).unwrap_err().contains("another server uses this state"));
        first.begin().unwrap();
        assert_eq!(first.save(&header, &drive).unwrap(), std::fs::metadata(&path).unwrap().len());
        assert!(!lock.exists());
        assert!(snapshot::load(&path, &config, 1).is_ok());

        // A server that did not get to serve leaves nothing; one that ended early does, until the state is saved.
        drop(State::open(&path).unwrap());
        assert!(!lock.exists());
        let mut killed = State::open(&path).unwrap();
        killed.begin().unwrap();
        drop(killed);
        let behind = State::open(&path).unwrap();
        assert!(behind.saved_at().is_some() && behind.is_behind());
        drop(behind);
        let mut again = State::open(&path).unwrap();
        assert!(again.is_behind());
        again.begin().unwrap();
        again.save(&header, &drive).unwrap();
        assert!(!State::open(&path).unwrap().is_behind());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_state_that_cannot_be_written_leaves_the_last_one() {
        let folder = folder("refused");
        let path = folder.join("d.state");
        std::fs::write(&path, "the last one").unwrap();
        std::fs::create_dir(folder.join("d.state.part")).unwrap();
        let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
        let config = wordline_drive::load::from_text("small", "[geometry]\nblocks_per_plane = 64\n").unwrap();
        let mut state = State::open(&path).unwrap();
        state.begin().unwrap();
        let told = state.save(&header, &Drive::new(&config, 1).unwrap()).unwrap_err();
        assert!(told.contains("the last one is unchanged"), "{told}");
        assert_eq!(std::fs::read(&path).unwrap(), b"the last one");
        assert!(State::open(&path).unwrap().is_behind());
        assert!(State::open(&folder).unwrap_err().contains("not a regular file"));
        assert!(State::open(&folder.join("no/such/d.state")).unwrap_err().contains("d.state"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
