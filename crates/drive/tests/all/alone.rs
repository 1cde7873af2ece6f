//! A stream that has a drive for itself, and that nobody measures, has a run loop of its own: all that a drive does is what it does in the
//! general loop, and what it does where somebody looks on, event by event.

use crate::common::random_drive::random_config;
use crate::common::{chance, for_seeds, long, pick, request};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::run::{run_measured, Ended, Onlooker, Watch};
use wordline_drive::snapshot::{self, Header};
use wordline_drive::streams::Streams;
use wordline_drive::Drive;
use wordline_workload::{JobOptions, Load, LoadFile, Pace, Rw, TraceFormat, TraceOptions};

/// A job of any kind; a large one reports on the way.
fn job(large: bool, random: &mut Stream) -> JobOptions {
    let open = chance(random, 40);
    JobOptions {
        rw: *pick(random, &[Rw::RandRead, Rw::RandWrite, Rw::RandRw, Rw::Write, Rw::Read, Rw::RandTrim]),
        bs: (*pick(random, &["4k", "16k", "64k"])).into(),
        iodepth: *pick(random, &[1, 3, 32, 300]),
        number_ios: Some(if large { 12_000 } else { random.below(400) + 1 }),
        rate_iops_each: open.then(|| (*pick(random, &["2000", "40000", "900000"])).to_owned()),
        fsync: *pick(random, &[0, 0, 0, 5]),
        fua: chance(random, 10),
        norandommap: true,
        thinktime_us: *pick(random, &[0.0, 0.0, 0.0, 70.0]),
        start_delay_s: *pick(random, &[0.0, 0.0, 0.0, 0.001]),
        runtime_s: *pick(random, &[None, None, None, Some(0.01)]),
        ..JobOptions::default()
    }
}

/// A trace in a file that is removed in the end; requests come together, in bursts, or long after one another.
struct Trace(PathBuf);

impl Trace {
    fn new(seed: u64, large: bool, bytes: u64, random: &mut Stream) -> Self {
        let path = std::env::temp_dir().join(format!("wordline-alone-{}-{seed}", std::process::id()));
        let (mut text, mut now) = (String::new(), 0);
        let (gap, sectors) = (*pick(random, &[0, 3000, 50_000, 2_000_000]), bytes / 512);
        for _ in 0..if large { 9_000 } else { random.below(400) + 1 } {
            now += if chance(random, 30) { 0 } else { random.below(gap + 1) };
            let blocks = (random.below(64) + 1).min(sectors);
            let first = random.below(sectors - blocks + 1);
            writeln!(text, "{now} 0 {first} {blocks} {}", random.below(2)).expect("memory");
        }
        std::fs::write(&path, text).expect("the temporary directory is writable");
        Self(path)
    }

    fn options(&self, random: &mut Stream) -> TraceOptions {
        let asap = chance(random, 20);
        TraceOptions {
            file: self.0.clone(),
            format: Some(TraceFormat::Mqsim),
            pace: if asap { Pace::Asap } else { Pace::Timestamps },
            iodepth: asap.then(|| *pick(random, &[1, 8])),
            loops: *pick(random, &[1, 1, 2]),
            ..TraceOptions::default()
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs a workload until so many reports; gives the end of the run, or its error, and all reports.
fn ran(drive: &mut Drive, spec: &LoadFile, most: usize, mut streams: Streams) -> (Result<Ended, String>, Vec<String>) {
    let load = Load::open(spec, Path::new("."), drive.logical_bytes(), 1).expect("a workload of the test");
    let mut reports = Vec::new();
    let mut report = |progress| {
        reports.push(format!("{progress:?}"));
        reports.len() < most
    };
    let ended = run_measured(drive, load, &mut report, Watch::default(), &mut streams);
    (ended.map_err(|error| error.to_string()), reports)
}

/// Sees every event by itself, so that none is handled with the one before it.
#[derive(Debug)]
struct Looker;

impl Onlooker for Looker {
    fn before(&mut self, _: &Drive, _: Time) -> bool {
        true
    }
}

/// Runs a workload event by event; true if it came to its end.
fn watched(drive: &mut Drive, spec: &LoadFile) -> bool {
    let load = Load::open(spec, Path::new("."), drive.logical_bytes(), 1).expect("a workload of the test");
    let watch = Watch { onlooker: Some(&mut Looker), ..Watch::default() };
    run_measured(drive, load, &mut |_| true, watch, &mut Streams::default()).is_ok()
}

/// All that a drive tells of a run.
fn same_figures(one: &Drive, other: &Drive) {
    assert_eq!(one.metrics, other.metrics);
    assert_eq!((one.events(), one.now()), (other.events(), other.now()));
    assert_eq!(one.kernel().counters(), other.kernel().counters());
    assert_eq!(one.activity(), other.activity());
}

#[test]
fn a_stream_alone_is_fed_as_any_other() {
    let (mut reported, mut interrupted, mut whole, mut refused) = (0, 0, 0, 0);
    let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
    for_seeds("alone", "a_stream_alone_is_fed_as_any_other", if long() { 10_000 } else { 300 }, |seed| {
        let mut random = Stream::new(seed, "alone-test", 0);
        let drive = random_config(&mut random).and_then(|config| Drive::new(&config, seed).ok());
        let Some(mut alone) = drive.filter(|drive| drive.logical_bytes() >= 1 << 20) else { return refused += 1 };
        let large = seed % 15 == 7;
        let trace = chance(&mut random, 50).then(|| Trace::new(seed, large, alone.logical_bytes(), &mut random));
        let spec = LoadFile {
            trace: trace.as_ref().map(|trace| trace.options(&mut random)),
            job: if trace.is_none() { vec![job(large, &mut random)] } else { Vec::new() },
            runtime_s: *pick(&mut random, &[None, None, None, Some(0.005)]),
        };
        let most = *pick(&mut random, &[1, usize::MAX]);
        let (mut other, mut single) = (alone.clone(), alone.clone());
        let ended = ran(&mut alone, &spec, most, Streams::default());
        assert_eq!(ended, ran(&mut other, &spec, most, Streams::job_by_job()));
        same_figures(&alone, &other);
        reported += ended.1.len();
        match ended.0 {
            Ok(Ended { interrupted: false, .. }) => {
                whole += 1;
                let state = |drive: &mut Drive| snapshot::to_bytes(&header, drive).expect("a drive can be saved");
                let whole = state(&mut alone);
                assert!(whole == state(&mut other), "the states differ");
                assert!(watched(&mut single, &spec));
                same_figures(&alone, &single);
                assert!(whole == state(&mut single), "event by event it becomes another state");
            }
            _ => interrupted += 1,
        }
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    let enough = reported > 3 && interrupted > 1 && whole > 100;
    assert!(one || enough, "{reported} reports, {interrupted} interrupted, {whole} to their ends, {refused} refused");
}

/// A live disk takes a request when it comes, which may be at the very time of events, or of another request: all that happen then come
/// first. A run of what it took does the same.
#[test]
fn what_a_live_disk_took_runs_alike() {
    let (mut refused, mut tied) = (0, 0);
    for_seeds("alone", "what_a_live_disk_took_runs_alike", if long() { 10_000 } else { 300 }, |seed| {
        let mut random = Stream::new(seed, "live-test", 0);
        let drive = random_config(&mut random).and_then(|config| Drive::new(&config, seed).ok());
        let Some(mut live) = drive.filter(|drive| drive.logical_bytes() >= 1 << 20 && !drive.waits_for_rest()) else {
            return refused += 1;
        };
        let mut again = live.clone();
        let text = lived(&mut live, &mut random, &mut tied);
        let trace = Trace(std::env::temp_dir().join(format!("wordline-live-{}-{seed}.csv", std::process::id())));
        std::fs::write(&trace.0, text).expect("the temporary directory is writable");
        let options = TraceOptions { file: trace.0.clone(), ..TraceOptions::default() };
        let spec = LoadFile { trace: Some(options), ..LoadFile::default() };
        ran(&mut again, &spec, usize::MAX, Streams::default()).0.expect("it runs");
        assert_eq!(again.metrics, live.metrics);
        assert_eq!(again.kernel().state_hash(), live.kernel().state_hash());
    });
    println!("{refused} drives were refused, {tied} requests came at the time of events");
    assert!(tied > 100 || std::env::var_os("WORDLINE_SEED").is_some(), "{tied}");
}

/// Gives a drive requests as a live disk does, and tells them as a trace.
fn lived(drive: &mut Drive, random: &mut Stream, tied: &mut u32) -> String {
    drive.unshare();
    drive.start_measuring();
    let (start, sectors) = (drive.now(), drive.logical_bytes() / 512);
    let mut text = String::from("time_us,op,offset_bytes,size_bytes\n");
    let gap = *pick(random, &[1_000_000, 50_000_000, 2_000_000_000]);
    let mut at = start;
    for nth in 0..random.below(300) + 1 {
        // The times of a trace begin with its first request.
        match drive.next_event() {
            Some(next) if chance(random, 60) => at = at.max(next),
            _ if nth > 0 && chance(random, 60) => at = at.max(drive.now()) + random.below(gap),
            _ => {}
        }
        loop {
            while drive.next_event().is_some_and(|next| next <= at) && drive.step().expect("no rule is broken") {}
            if drive.has_slot(0) {
                break;
            }
            at = drive.next_event().expect("something is in flight");
        }
        *tied += u32::from(nth > 0 && drive.now() == at);
        let blocks = (random.below(64) + 1).min(sectors);
        let (first, op) = (random.below(sectors - blocks + 1), *pick(random, &[Op::Read, Op::Write]));
        let (taken, bytes) = (at - start, (blocks * 512) as u32);
        let (us, rest, name) = (taken / 1_000_000, taken % 1_000_000, if op == Op::Read { "R" } else { "W" });
        writeln!(text, "{us}.{rest:06},{name},{},{bytes}", first * 512).expect("memory");
        drive.submit(at, Request { arrival: at, ..request(op, first * 512, bytes) }).expect("it has a slot");
        drive.completions().clear();
    }
    while drive.in_flight() > 0 && drive.step().expect("no rule is broken") {}
    drive.end_measuring().expect("no policy fails");
    drive.drain().expect("it comes to rest");
    text
}
