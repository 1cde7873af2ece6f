//! Shared parts of the tests of the assembled drive: drives from text, repeatable seeds, and loops that feed a drive.

pub mod holder;
pub mod limiter;
pub mod random_drive;

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::load::{from_text, LoadError};
use wordline_drive::{Completion, Drive, DriveConfig};

/// Picoseconds in a nanosecond, a microsecond.
pub const NS: Time = 1_000;
pub const US: Time = 1_000_000;

/// NVMe over PCIe 3.0 x4, by hand: 8 GT/s on four lanes, 128 of 130 bits; packets of 256 bytes with 24 bytes of header.
pub mod pcie_3_x4 {
    use wordline_base::Time;

    /// The command and its fetch.
    pub const COMMAND: Time = 522_344;
    pub const COMPLETION: Time = 10_157;

    /// Data in packets.
    pub fn data(bytes: u32) -> Time {
        ((Time::from(bytes) + 24 * Time::from(bytes.div_ceil(256))) * 130_000).div_ceil(512)
    }
}

/// One plane, nothing that buffers, and a shadow disk.
pub const ONE_PLANE: &str = r#"
    geometry = { channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 16,
                 pages_per_block = 8, page_kib = 16 }
    capacity = { raw_over_logical = 2.0 }
    placement = { policy = "static" }
    collect = { policy = "on-demand", scope = "plane" }
    buffer = { policy = "none" }
    link = { policy = "nvme" }
    queue = { queues = 2, depth = 2 }
    verify = { shadow = true }
"#;

/// True if the long loops are enabled.
pub fn long() -> bool {
    std::env::var_os("WORDLINE_LONG").is_some()
}

/// Parses a configuration that must be valid.
pub fn config(text: &str) -> DriveConfig {
    from_text("test", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Builds a drive that must be valid.
pub fn drive(text: &str, seed: u64) -> Drive {
    Drive::new(&config(text), seed).expect("it was checked")
}

/// A drive of a random text; none if the value of a key is refused. A text that cannot be read is a mistake of its test.
pub fn drive_unless_refused(text: &str, seed: u64) -> Option<Drive> {
    Drive::new(&config_unless_refused(text)?, seed).ok()
}

/// The same without building it.
pub fn config_unless_refused(text: &str) -> Option<DriveConfig> {
    match from_text("random", text) {
        Ok(config) => Some(config),
        Err(LoadError::Config { .. }) => None,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Runs `test` for the seeds `0..count`, or only for WORDLINE_SEED; a failure prints how to repeat it.
pub fn for_seeds(file: &str, name: &str, count: u64, mut test: impl FnMut(u64)) {
    let only: Option<u64> =
        std::env::var("WORDLINE_SEED").ok().map(|text| text.parse().expect("WORDLINE_SEED is a number"));
    let seeds = only.map_or(0..count, |seed| seed..seed + 1);
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("repeat with: WORDLINE_SEED={seed} cargo test -p wordline-drive --test all {file}::{name}");
            resume_unwind(panic);
        }
    }
}

/// A random item of a list.
pub fn pick<'a, T>(random: &mut Stream, list: &'a [T]) -> &'a T {
    &list[random.below(list.len() as u64) as usize]
}

/// A random number from `low` to `high`, both included.
pub fn between(random: &mut Stream, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// True with a probability of `percent`.
pub fn chance(random: &mut Stream, percent: u64) -> bool {
    random.below(100) < percent
}

/// A list in random order.
pub fn shuffled<T: Clone>(random: &mut Stream, list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at as u64 + 1) as usize);
    }
    list
}

/// A request without its time.
pub fn request(op: Op, offset: u64, bytes: u32) -> Request {
    Request { op, offset, bytes, ..Request::default() }
}

/// Executes one request alone and returns its completion.
pub fn one(drive: &mut Drive, request: Request) -> Completion {
    let now = drive.now();
    drive.submit(now, Request { arrival: now, ..request }).expect("it fits the drive");
    loop {
        assert!(drive.step().expect("no rule is broken"), "the drive stalled on {request:?}");
        if let Some(done) = drive.completions().pop() {
            assert!(drive.completions().is_empty() && done.request == Request { arrival: now, ..request });
            return done;
        }
    }
}

/// Latency of a single request, after all earlier ones.
pub fn latency(drive: &mut Drive, request: Request) -> Time {
    drive.drain().expect("the drive comes to rest");
    let done = one(drive, request);
    done.time - done.request.arrival
}

/// Keeps `depth` requests in flight until `count` are done. `next` returns the request of a number.
pub fn closed_loop(drive: &mut Drive, depth: u64, count: u64, next: impl FnMut(u64) -> Request) {
    watched_loop(drive, depth, count, next, |_| {});
}

/// A [`closed_loop`] that calls a function after each step of the drive.
pub fn watched_loop(
    drive: &mut Drive,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Request,
    mut look: impl FnMut(&Drive),
) {
    let (mut submitted, mut completed) = (0, 0);
    while completed < count {
        while submitted < count && submitted - completed < depth {
            let request = next(submitted);
            if !drive.has_slot(request.stream) {
                break;
            }
            let now = drive.now();
            drive.submit(now, Request { arrival: now, ..request }).expect("it fits the drive");
            submitted += 1;
        }
        assert!(drive.step().expect("no rule is broken"), "the drive stalled after {completed} of {count} requests");
        look(drive);
        completed += drive.completions().drain(..).count() as u64;
    }
}
