//! Traces that a thread reads ahead of the drive: the same run, to its end or to where it is interrupted.

use crate::common::config;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wordline_drive::run::{run, Ended, RunError};
use wordline_drive::Drive;
use wordline_workload::{Load, LoadFile, TraceOptions};

const SMALL: &str = r#"
    geometry = { channels = 2, packages_per_channel = 2, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 64,
                 pages_per_block = 64, page_kib = 16 }
    nand = { read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }
    capacity = { raw_over_logical = 1.6 }
"#;
const LINES: u64 = 30_000;

/// A file that is removed at the end of the test.
struct Trace(PathBuf);

impl Trace {
    /// So many lines, of which one that is named cannot be read.
    fn new(name: &str, bad: Option<u64>) -> Self {
        let path = std::env::temp_dir().join(format!("wordline-ahead-{}-{name}", std::process::id()));
        let mut text = String::new();
        for n in 0..LINES {
            let (block, word) = (n * 7919 % 4096 * 32, if bad == Some(n) { "x" } else { "8" });
            writeln!(text, "{} 0 {block} {word} {}", n * 50_000, n % 2).expect("memory");
        }
        std::fs::write(&path, text).expect("the temporary directory is writable");
        Self(path)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Replays a trace until so many reports; gives the end of the run and what the drive has done.
fn replay(trace: &Trace, ahead: bool, reports: u32, limit: Option<u64>) -> (Result<Ended, RunError>, [u64; 4]) {
    let mut drive = Drive::new(&config(SMALL), 1).expect("it was checked");
    let words = serde_json::json!({"file": trace.0, "format": "mqsim", "limit": limit});
    let options: TraceOptions = serde_json::from_value(words).expect("the options are sound");
    let file = LoadFile { trace: Some(options), ..LoadFile::default() };
    let mut load = Load::open(&file, Path::new("."), drive.logical_bytes(), 1).expect("the trace opens");
    load.read_ahead(ahead);
    let mut left = reports;
    let ended = run(&mut drive, load, &mut |_| {
        left = left.saturating_sub(1);
        left > 0
    });
    let done = [
        drive.metrics.requests(),
        drive.now(),
        drive.kernel().counters().programs(),
        drive.kernel().counters().reads(),
    ];
    (ended, done)
}

#[test]
fn runs_are_the_same() {
    let trace = Trace::new("whole", None);
    for (reports, limit) in [(u32::MAX, None), (u32::MAX, Some(20_000)), (1, None), (2, None)] {
        let (here, done) = replay(&trace, false, reports, limit);
        let (ahead, also) = replay(&trace, true, reports, limit);
        let (here, ahead) = (here.expect("no rule is broken"), ahead.expect("no rule is broken"));
        assert_eq!((here, done), (ahead, also), "{reports} reports, limit {limit:?}");
        assert_eq!(here.interrupted, reports < u32::MAX);
        // Its thread had more to read.
        assert!(done[0] > 4096 && (done[0] < LINES) == (here.interrupted || limit.is_some()), "{done:?}");
    }
}

#[test]
fn an_error_ends_the_run_where_it_is() {
    for bad in [4096, 25_000] {
        let trace = Trace::new(&format!("bad-{bad}"), Some(bad));
        let (here, done) = replay(&trace, false, u32::MAX, None);
        let (ahead, also) = replay(&trace, true, u32::MAX, None);
        let (here, ahead) = (here.expect_err("a bad line").to_string(), ahead.expect_err("a bad line").to_string());
        assert_eq!((&here, done), (&ahead, also));
        // All before it have come; those in the queue of 1,024 are not complete.
        assert!(here.contains(&format!("line {}", bad + 1)) && done[0] + 1024 >= bad, "{here}: {done:?}");
    }
}
