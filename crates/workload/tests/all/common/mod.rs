//! Temporary files for the integration tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use wordline_base::Request;
use wordline_workload::{JobOptions, Load, LoadFile, TraceOptions, WorkloadError};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that is removed at the end of the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(content: impl AsRef<[u8]>) -> Self {
        let name = format!("wordline-load-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("the temporary directory is writable");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn gz(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub fn zst(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

/// All requests of the first stream of a workload.
pub fn drain(load: &mut Load) -> Result<Vec<Request>, WorkloadError> {
    let mut requests = Vec::new();
    while let Some(request) = load.streams[0].next()? {
        requests.push(request);
    }
    assert_eq!(load.streams[0].next()?, None, "a stream stays at its end");
    Ok(requests)
}

/// All requests of a trace with these lines.
pub fn replay(content: impl AsRef<[u8]>, options: TraceOptions, drive: u64) -> Result<Vec<Request>, WorkloadError> {
    let file = Scratch::new(content);
    let trace = Some(TraceOptions { file: file.path().to_owned(), ..options });
    drain(&mut Load::open(&LoadFile { trace, ..LoadFile::default() }, Path::new("."), drive, 1)?)
}

pub fn open_job(job: JobOptions, drive: u64) -> Result<Load, WorkloadError> {
    Load::open(&LoadFile { job: vec![job], ..LoadFile::default() }, Path::new("."), drive, 1)
}
