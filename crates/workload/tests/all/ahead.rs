//! Traces that a thread of its own reads: the same requests, errors and figures as without it.

use crate::common::{gz, zst, Scratch};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wordline_base::{Request, Stream};
use wordline_workload::{
    Backwards, Devices, Join, LeftOut, Load, LoadFile, Pace, PastEnd, Spread, TraceFormat, TraceOptions, ZeroSize,
};

const DRIVE: u64 = 1 << 30;

/// What a stream gives and says with each request.
#[derive(Debug, PartialEq)]
struct Step {
    request: Result<Option<Request>, String>,
    device: u32,
    names: Vec<String>,
    left_out: Option<LeftOut>,
    progress: Option<f64>,
}

/// All that a stream gives, and once more behind its end.
fn steps(spec: &LoadFile, ahead: bool) -> Vec<Step> {
    let mut load = Load::open(spec, Path::new("."), DRIVE, 1).unwrap();
    load.read_ahead(ahead);
    let stream = &mut load.streams[0];
    let mut steps = Vec::new();
    loop {
        let request = stream.next().map_err(|error| error.to_string());
        let (ended, failed) = (request == Ok(None), request.is_err());
        let names = stream.device_names().to_vec();
        let (device, left_out, progress) = (stream.device(), stream.left_out(), stream.progress());
        steps.push(Step { request, device, names, left_out, progress });
        if ended {
            assert_eq!(stream.next().ok(), Some(None), "a stream stays at its end");
        }
        if ended || failed {
            return steps;
        }
    }
}

/// Compares both ways; gives the requests and the error of the end.
fn alike(trace: TraceOptions) -> (usize, Option<String>) {
    let spec = LoadFile { trace: Some(trace), ..LoadFile::default() };
    let (here, ahead) = (steps(&spec, false), steps(&spec, true));
    for (n, (here, ahead)) in here.iter().zip(&ahead).enumerate() {
        assert_eq!(here, ahead, "step {n}");
    }
    assert_eq!(here.len(), ahead.len());
    let error = here.last().and_then(|step| step.request.clone().err());
    (here.len() - 1, error)
}

fn file(path: &Path, options: TraceOptions) -> TraceOptions {
    TraceOptions { file: path.to_owned(), ..options }
}

fn one(content: impl AsRef<[u8]>, options: TraceOptions) -> (usize, Option<String>) {
    let scratch = Scratch::new(content);
    alike(file(scratch.path(), options))
}

fn format(format: TraceFormat) -> TraceOptions {
    TraceOptions { format: Some(format), ..TraceOptions::default() }
}

/// Lines of MQSim: times nearly in order, some without bytes, of devices that appear one by one.
fn mqsim(lines: u64) -> String {
    let mut random = Stream::new(1, "ahead-test", 0);
    let mut text = String::new();
    for n in 0..lines {
        let time = n * 1000 + random.below(3000);
        let (device, block) = (random.below(n / 700 + 1), random.below(DRIVE / 512 + 4096));
        let blocks = if random.below(50) == 0 { 0 } else { random.below(64) + 1 };
        writeln!(text, "{time} {device} {block} {blocks} {}", random.below(2)).unwrap();
    }
    text
}

fn forgiving() -> TraceOptions {
    TraceOptions {
        past_end: PastEnd::Wrap,
        backwards: Backwards::Clamp,
        zero_size: ZeroSize::Skip,
        ..format(TraceFormat::Mqsim)
    }
}

#[test]
fn options_and_packings() {
    let text = mqsim(20_000);
    let sorted = TraceOptions { sort_window: Some(100), ..forgiving() };
    for options in [
        forgiving(),
        sorted.clone(),
        TraceOptions { loops: 3, ..forgiving() },
        TraceOptions { loops: 3, limit: Some(31_001), speed: 2.5, ..forgiving() },
        TraceOptions { limit: Some(4096), ..forgiving() },
        TraceOptions { limit: Some(4097), ..forgiving() },
        TraceOptions { limit: Some(12_288), ..forgiving() },
        TraceOptions { device: Some("9".into()), ..forgiving() },
        TraceOptions { devices: Devices::Stack, ..forgiving() },
        TraceOptions { past_end: PastEnd::Scale, pace: Pace::Asap, ..forgiving() },
        TraceOptions { spread: Some(Spread::None), ..sorted },
    ] {
        let (requests, error) = one(&text, options.clone());
        assert!(requests > 400 && error.is_none(), "{options:?}: {error:?}");
    }
    let limit = TraceOptions { limit: Some(9000), ..forgiving() };
    for packed in [gz(text.as_bytes()), zst(text.as_bytes())] {
        one(&packed, forgiving());
        one(&packed, limit.clone());
        // A file that was cut off, and one that is damaged.
        let cut = &packed[..packed.len() * 2 / 3];
        let (requests, error) = one(cut, forgiving());
        assert!(requests > 4096 && error.is_some(), "{requests} requests");
        let mut damaged = packed.clone();
        damaged[packed.len() * 2 / 3..].fill(0x55);
        assert!(one(&damaged, forgiving()).1.is_some());
    }
}

#[test]
fn errors_come_with_their_turn() {
    let text = mqsim(15_000);
    let lines: Vec<&str> = text.lines().collect();
    for at in [0, 4095, 4096, 4097, 8191, 8192, 14_999] {
        let mut bad = lines.clone();
        bad[at] = "12 0 x 8 1";
        let (requests, error) = one(bad.join("\n"), forgiving());
        let error = error.unwrap();
        assert!(requests <= at + at / 50, "{requests} requests before line {at}");
        assert!(error.contains(&format!("line {}", at + 1)) && error.contains("`x`"), "{error}");
        let few = TraceOptions { skip_bad: 0.01, ..forgiving() };
        assert_eq!(one(bad.join("\n"), few).1, None);
    }
    // Errors of a request that is none of the reader's, of which the file is read again.
    let sorted = TraceOptions { sort_window: Some(100), past_end: PastEnd::Error, ..forgiving() };
    let mut high: Vec<String> = (0..15_000).map(|n| format!("{} 0 8 8 1", n * 1000)).collect();
    high[13_000] = "13000000 0 99999999999 8 1".to_owned();
    let (requests, error) = one(high.join("\n"), sorted.clone());
    assert_eq!(requests, 13_000);
    assert!(error.unwrap().contains("line 13001"));
    high[13_000] = "99999999999999999999 0 8 8 1".to_owned();
    assert!(one(high.join("\n"), sorted).1.unwrap().contains("simulated time ends"));
    let backwards = TraceOptions { backwards: Backwards::Error, ..forgiving() };
    high[13_000] = "5 0 8 8 1".to_owned();
    assert!(one(high.join("\n"), backwards).1.unwrap().contains("runs backwards"));
}

#[test]
fn files_of_one_trace() {
    let text = mqsim(9000);
    let lines: Vec<&str> = text.lines().collect();
    let parts: Vec<Scratch> = (0..4)
        .map(|part| Scratch::new(lines.iter().skip(part).step_by(4).copied().collect::<Vec<_>>().join("\n")))
        .collect();
    let files: Vec<PathBuf> = parts.iter().map(|part| part.path().to_owned()).collect();
    for join in [Join::Time, Join::Order] {
        let (requests, error) = alike(TraceOptions { files: files.clone(), join, loops: 2, ..forgiving() });
        assert!(requests > 17_000, "{requests} requests, {error:?}");
    }
}

#[test]
fn formats_with_other_lines() {
    let mut random = Stream::new(1, "ahead-lines", 0);
    let mut text = String::new();
    for n in 0..30_000_u64 {
        let (event, block) = (["Q", "D", "C"][random.below(3) as usize], random.below(1 << 20));
        writeln!(text, "  8,16   3 {n:>8} {:>5}.{:09}  3645  {event}   W {block} + 8 [java]", n / 1000, n % 1000)
            .unwrap();
    }
    let (requests, error) = one(&text, TraceOptions { past_end: PastEnd::Wrap, ..TraceOptions::default() });
    assert!(requests > 9000 && error.is_none(), "{requests}: {error:?}");
    let mut text = "time_us,op,offset_bytes,size_bytes,device\n".to_owned();
    for n in 0..10_000 {
        writeln!(text, "{n}.5,{},{},4096,sd{}", ["R", "w", "trim"][n % 3], n % 999 * 512, n / 1000).unwrap();
    }
    assert_eq!(one(&text, TraceOptions::default()), (10_000, None));
    let times = "128166372003061629,srv,0,Read,0,4096,1\n".repeat(5000);
    assert_eq!(one(&times, TraceOptions { spread: Some(Spread::Random), ..TraceOptions::default() }), (5000, None));
}

#[test]
fn traces_of_hardly_any_line() {
    let options = format(TraceFormat::Mqsim);
    assert_eq!(one("0 0 0 8 1\n", options.clone()), (1, None));
    let scratch = Scratch::new("\n# nothing\n");
    let spec = LoadFile { trace: Some(file(scratch.path(), options.clone())), ..LoadFile::default() };
    let error = |ahead| {
        let mut load = Load::open(&spec, Path::new("."), DRIVE, 1).map_err(|error| error.to_string())?;
        load.read_ahead(ahead);
        load.streams[0].next().map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(error(true), error(false));
    assert!(error(true).is_err());
    // Exactly one block, and exactly two.
    for lines in [4096, 8192] {
        let text: String = (0..lines).map(|n| format!("{n} 0 0 8 1\n")).collect();
        assert_eq!(one(&text, options.clone()), (lines, None));
    }
}

#[test]
fn whoever_leaves_early_ends_the_reading() {
    let scratch = Scratch::new(zst(mqsim(60_000).as_bytes()));
    // To the end it would take hours.
    let loops = TraceOptions { loops: 100_000, ..forgiving() };
    let spec = LoadFile { trace: Some(file(scratch.path(), loops)), ..LoadFile::default() };
    for taken in [0, 5000, 30_000] {
        let mut load = Load::open(&spec, Path::new("."), DRIVE, 1).unwrap();
        load.read_ahead(true);
        for _ in 0..taken {
            load.streams[0].next().unwrap();
        }
    }
}
