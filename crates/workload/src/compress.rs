//! Opening a file that may be compressed, detected by its first bytes and never by its name.

use crate::error::WorkloadError;
use crate::parquet_text::{ParquetText, MAGIC};
use flate2::read::MultiGzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    Plain,
    /// gzip, one or several members.
    Gzip,
    /// Zstandard, one or several frames.
    Zstd,
}

impl Compression {
    /// The name used in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Compression::Plain => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// Archives and compressions that are recognised only to say so.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"\xfd7zXZ\0", "an xz file"),
    (b"BZh", "a bzip2 file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "an lz4 file"),
];

/// Decompressed bytes of a file, with the number of bytes read from the file itself.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    pub compression: Compression,
    /// True if the file is a Parquet table, which is given as lines.
    pub table: bool,
    /// Metadata of a table.
    pub note: Option<String>,
    consumed: Arc<AtomicU64>,
    size: u64,
    /// True if it comes through a pipe.
    once: bool,
}

thread_local! {
    static STOPS: RefCell<Vec<Arc<AtomicBool>>> = const { RefCell::new(Vec::new()) };
}

/// Files that this thread reads end with an error once `stop` is true: nobody needs them any more.
pub fn heed(stop: Arc<AtomicBool>) {
    STOPS.with_borrow_mut(|stops| stops.push(stop));
}

/// What this thread heeds, for another one that reads in its place.
pub(crate) fn heeded() -> Vec<Arc<AtomicBool>> {
    STOPS.with_borrow(Clone::clone)
}

/// True if nobody waits any more for what this thread reads.
fn is_stopped() -> bool {
    STOPS.with_borrow(|stops| stops.iter().any(|stop| stop.load(Ordering::Relaxed)))
}

/// The content of a pipe, which can be read once. Its beginning is kept until the actual reading starts, for detection
/// of the format.
#[derive(Debug)]
pub(crate) struct Pipe(Mutex<Flow>);

#[derive(Debug)]
struct Flow {
    file: File,
    head: Vec<u8>,
    keep: bool,
}

impl Pipe {
    /// The pipe at `path`, if that is one.
    pub fn at(path: &Path) -> io::Result<Option<Arc<Self>>> {
        if !is_pipe(path) {
            return Ok(None);
        }
        let flow = Flow { file: File::open(path)?, head: Vec::new(), keep: true };
        Ok(Some(Arc::new(Self(Mutex::new(flow)))))
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever reads from here on is the last to begin.
    pub fn begin(&self) {
        self.flow().keep = false;
    }
}

/// True if a name is that of a pipe.
pub(crate) fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo() || meta.file_type().is_socket())
}

/// Reads a pipe from its beginning.
struct FromPipe {
    pipe: Arc<Pipe>,
    at: usize,
}

impl Read for FromPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let flow = &mut *self.pipe.flow();
        if let Some(kept) = flow.head.get(self.at..).filter(|kept| !kept.is_empty()) {
            let n = kept.len().min(buffer.len());
            buffer[..n].copy_from_slice(&kept[..n]);
            self.at += n;
            return Ok(n);
        }
        let n = flow.file.read(buffer)?;
        if flow.keep {
            flow.head.extend_from_slice(&buffer[..n]);
            self.at += n;
        }
        Ok(n)
    }
}

struct Counting<R> {
    file: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Input {
    /// Opens a file, or reads a pipe that was opened before from its beginning.
    pub fn open(path: &Path, pipe: Option<&Arc<Pipe>>) -> Result<Self, WorkloadError> {
        let io = |source| WorkloadError::Io { file: path.to_owned(), source };
        // Checked before it is opened: opening a pipe would wait for its writer.
        let meta = std::fs::metadata(path).map_err(io)?;
        if meta.is_dir() {
            return Err(io(io::Error::other("this is a directory; a trace is one file")));
        }
        if let Some(pipe) = pipe {
            let from = || FromPipe { pipe: Arc::clone(pipe), at: 0 };
            let mut magic = Vec::with_capacity(8);
            from().take(8).read_to_end(&mut magic).map_err(io)?;
            if magic.starts_with(MAGIC) {
                let what = "this is a Parquet table from a pipe, and its end must be read first; write it to a file";
                return Err(io(io::Error::other(what)));
            }
            return Self::unpacked(path, from(), &magic, 0);
        }
        if is_pipe(path) {
            let what = "this is a pipe, and a trace of this kind must be read more than once; write it to a file first";
            return Err(io(io::Error::other(what)));
        }
        let mut file = File::open(path).map_err(io)?;
        let mut magic = Vec::with_capacity(8);
        (&mut file).take(8).read_to_end(&mut magic).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        if magic.starts_with(MAGIC) {
            let consumed = Arc::new(AtomicU64::new(0));
            let text = ParquetText::open(file, meta.len(), Arc::clone(&consumed)).map_err(io)?;
            let (note, compression) = (text.note().map(str::to_owned), Compression::Plain);
            return Ok(Self {
                reader: Box::new(text),
                compression,
                table: true,
                note,
                consumed,
                size: meta.len(),
                once: false,
            });
        }
        Self::unpacked(path, file, &magic, meta.len())
    }

    /// What `file` holds, of `size` bytes and beginning with `magic`; of a pipe the size is 0.
    fn unpacked(path: &Path, file: impl Read + Send + 'static, magic: &[u8], size: u64) -> Result<Self, WorkloadError> {
        let io = |source| WorkloadError::Io { file: path.to_owned(), source };
        if let Some((_, what)) = FOREIGN.iter().find(|(start, _)| magic.starts_with(start)) {
            let what = format!("it is {what}; plain text, gzip and zstd are read: unpack it first");
            return Err(WorkloadError::NotText { file: path.to_owned(), what });
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let counting = Counting { file, consumed: Arc::clone(&consumed) };
        let skippable = magic.len() >= 4 && (0x50..=0x5f).contains(&magic[0]) && magic[1..4] == [0x2a, 0x4d, 0x18];
        let (reader, compression): (Box<dyn Read + Send>, _) = if magic.starts_with(&[0x1f, 0x8b]) {
            (Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, counting))), Compression::Gzip)
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
            let mut decoder = zstd::Decoder::new(counting).map_err(io)?;
            // Files packed with `zstd --long` need up to 2 GiB of window; memory follows what the file really uses.
            decoder.window_log_max(31).map_err(io)?;
            (Box::new(decoder), Compression::Zstd)
        } else {
            (Box::new(counting), Compression::Plain)
        };
        Ok(Self { reader, compression, table: false, note: None, consumed, size, once: is_pipe(path) })
    }

    /// Share of the file that has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self.size {
            0 => 1.0,
            size => (self.taken() as f64 / size as f64).min(1.0),
        }
    }

    /// Bytes that have been read from the file itself.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Fills `buffer` from its start as far as the data goes.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if is_stopped() {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        loop {
            match self.reader.read(buffer) {
                // A signal, for whose sender a pipe may never say anything again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.once => {}
                other => return other,
            }
        }
    }
}

/// Turns an error of reading into the one a user understands, `lines` complete lines (or what `unit` says) into the file.
#[cold]
pub(crate) fn read_error(
    path: &Path,
    compression: Compression,
    (unit, lines): (&'static str, u64),
    source: io::Error,
) -> WorkloadError {
    let file = path.to_owned();
    let kind = compression.name();
    match compression {
        _ if source.kind() == io::ErrorKind::Interrupted => WorkloadError::Io { file, source },
        Compression::Plain => WorkloadError::Io { file, source },
        _ if source.kind() == io::ErrorKind::UnexpectedEof => WorkloadError::Truncated { file, kind, unit, lines },
        _ => WorkloadError::Corrupt { file, kind, unit, lines, message: source.to_string() },
    }
}
