//! Every mode and distribution of fio's jobs: operation, address, size and frequency. Ordered patterns are those that
//! fio 3.33 writes into its I/O log for the same options.

use crate::common::{drain, Scratch};
use std::path::Path;
use wordline_base::{Op, Request};
use wordline_workload::{FioFile, Load, Pacing};

const MIB: u64 = 1 << 20;
const DRIVE: u64 = 64 * MIB;

fn load(options: &str) -> Load {
    let file = Scratch::new(format!("[a]\nioengine=libaio\n{}\n", options.replace(' ', "\n")));
    let file = FioFile::read(file.path(), &[]).unwrap_or_else(|error| panic!("{error}"));
    Load::open(&file.load(), Path::new("."), DRIVE, 1).unwrap_or_else(|error| panic!("{error}"))
}

fn run(options: &str) -> Vec<Request> {
    let got = drain(&mut load(options)).unwrap();
    assert!(got.iter().all(|r| r.offset + u64::from(r.bytes) <= DRIVE), "{options}");
    got
}

/// Operations and addresses in KiB, as one line.
fn line(options: &str, first: usize) -> String {
    let letter = |op: Op| &op.name()[..1];
    let word = |r: &Request| format!("{}{}+{}", letter(r.op), r.offset / 1024, r.bytes / 1024);
    run(options).iter().take(first).map(word).collect::<Vec<_>>().join(" ")
}

fn share(requests: &[Request], which: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|r| which(r)).count() as f64 / requests.len() as f64
}

#[test]
fn sequential_modes_go_in_order() {
    assert_eq!(line("size=16k", 9), "r0+4 r4+4 r8+4 r12+4");
    assert_eq!(line("rw=write size=8k offset=32k io_size=16k", 9), "w32+4 w36+4 w32+4 w36+4");
    assert_eq!(line("rw=trim size=8k bs=4k,4k,8k", 9), "t0+8");
    assert_eq!(line("rw=write:4k size=32k", 9), "w0+4 w8+4 w16+4 w24+4 w0+4 w8+4 w16+4 w24+4");
    assert_eq!(line("rw=trimwrite size=16k", 9), "t0+4 w0+4 t4+4 w4+4 t8+4 w8+4 t12+4 w12+4");
    assert_eq!(line("rw=trimwrite size=16k number_ios=2", 9), "t0+4 w0+4 t4+4 w4+4");
    assert_eq!(line("bs=24k size=64k io_size=200k", 20), "r0+24 r24+24 ".repeat(4).trim_end(), "no more than 200k");
    assert_eq!(run("size=1m loops=3").len(), 768);
    assert_eq!(run("size=1m loops=3 number_ios=10").len(), 30);
    assert_eq!(run("size=1m number_ios=1000").len(), 256, "it does not make a job longer");
    assert_eq!(run("size=25%").len() as u64, DRIVE / 4 / 4096);
}

#[test]
fn a_mix_has_a_position_for_each_direction() {
    let got = run("rw=rw size=8m rwmixread=70");
    assert!((share(&got, |r| r.op == Op::Read) - 0.7).abs() < 0.03);
    for op in [Op::Read, Op::Write] {
        let places: Vec<u64> = got.iter().filter(|r| r.op == op).map(|r| r.offset / 4096).collect();
        assert!(places.iter().copied().eq(0..places.len() as u64), "{op:?}");
    }
}

#[test]
fn random_modes_visit_each_block_once() {
    for (mode, op) in [("randread", Op::Read), ("randwrite", Op::Write), ("randtrim", Op::Trim)] {
        let got = run(&format!("rw={mode} size=4m"));
        assert!(got.iter().all(|r| r.op == op));
        let mut places: Vec<u64> = got.iter().map(|r| r.offset / 4096).collect();
        assert!(places.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() < 20);
        places.sort_unstable();
        assert!(places.into_iter().eq(0..1024), "{mode}");
    }
    let pairs = run("rw=randtrimwrite size=4m");
    assert_eq!(pairs.len(), 2048);
    for pair in pairs.chunks(2) {
        assert_eq!((pair[0].op, pair[1].op, pair[0].offset), (Op::Trim, Op::Write, pair[1].offset));
    }
    let both = run("rw=randrw size=4m");
    let mut places: Vec<u64> = both.iter().map(|r| r.offset / 4096).collect();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..1024), "both directions share one map");
}

#[test]
fn several_requests_an_offset() {
    let got = run("rw=randread:4 size=16m number_ios=4000");
    for run in got.chunks(4) {
        let first = run[0].offset;
        // A run that reaches the end continues elsewhere.
        if first + 4 * 4096 <= 16 * MIB {
            assert!(run.iter().zip(0..).all(|(r, n)| r.offset == first + n * 4096), "{run:?}");
        }
    }
    let got = run("rw=randread:4 rw_sequencer=identical size=16m number_ios=4000");
    assert!(got.chunks(4).all(|run| run.iter().all(|r| r.offset == run[0].offset)));
}

#[test]
fn sizes_follow_ranges_and_splits() {
    let got = run("rw=randrw bssplit=4k/60:64k/40,8k/100 norandommap io_size=400m");
    let (reads, writes): (Vec<_>, Vec<_>) = got.iter().partition(|r| r.op == Op::Read);
    assert!((share(&reads, |r| r.bytes == 4096) - 0.6).abs() < 0.02);
    assert!(writes.iter().all(|r| r.bytes == 8192));
    assert!(got.iter().all(|r| r.offset % if r.op == Op::Read { 4096 } else { 8192 } == 0));
    let got = run("bsrange=4k-16k io_size=400m");
    for size in [4096, 8192, 12_288, 16_384] {
        assert!((share(&got, |r| r.bytes == size) - 0.25).abs() < 0.02, "{size}");
    }
    assert!(got.windows(2).all(|w| w[1].offset == w[0].offset + u64::from(w[0].bytes) || w[1].offset == 0));
    assert_eq!(got.iter().map(|r| u64::from(r.bytes)).sum::<u64>(), 400 * MIB, "to the byte");
    assert!(run("rw=randread bs=8k blockalign=4k number_ios=1000").iter().any(|r| r.offset % 8192 == 4096));
}

#[test]
fn distributions_are_fios() {
    let blocks = |word: &str| {
        let got = run(&format!("rw=randread bs=64k io_size=100% loops=100 random_distribution={word}"));
        let mut counts = vec![0_u32; 1024];
        got.iter().for_each(|r| counts[(r.offset / 65_536) as usize] += 1);
        counts
    };
    let top = |word: &str, n: usize| {
        let mut counts = blocks(word);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        f64::from(counts[..n].iter().sum::<u32>()) / f64::from(counts.iter().sum::<u32>())
    };
    // Zipf by its formula; fio 3.33 gives its hottest block 0.236 of the requests here.
    let weight: f64 = (1..=1024).map(|k| f64::from(k).powf(-1.2)).sum();
    assert!((top("zipf:1.2", 1) - 1.0 / weight).abs() < 0.005);
    // Four fifths of the requests go to a fifth of the blocks; fio's collisions make it 0.818.
    assert!((top("pareto:0.2", 205) - 0.8).abs() < 0.01);
    // 205 of 1024 blocks around the middle, with a deviation of a tenth: within one deviation on both sides.
    assert!((top("normal:10", 205) - 0.683).abs() < 0.01);
    let zoned = blocks("zoned:50/5:30/15:20/");
    let sum = |range: std::ops::Range<usize>| f64::from(zoned[range].iter().sum::<u32>()) / 102_400.0;
    assert!(
        (sum(0..51) - 0.5).abs() < 0.01 && (sum(51..204) - 0.3).abs() < 0.01 && (sum(204..1024) - 0.2).abs() < 0.01
    );
    assert!(zoned[204..].iter().all(|&n| n < 60), "alike inside a zone");
    let absolute = blocks("zoned_abs:90/1m:10/31m");
    assert!(absolute[512..].iter().all(|&n| n == 0));
    assert!((f64::from(absolute[..16].iter().sum::<u32>()) / 102_400.0 - 0.9).abs() < 0.01);
}

#[test]
fn each_direction_has_its_rate() {
    let within = |requests: &[Request], op| requests.iter().filter(|r| r.op == op).count();
    let got = run("rw=randrw rate_iops=200 runtime=2 rwmixread=90");
    assert_eq!((within(&got, Op::Read), within(&got, Op::Write)), (400, 400), "the rates decide the mix, as in fio");
    let got = run("rw=randrw rate_iops=200,100 runtime=2");
    assert_eq!((within(&got, Op::Read), within(&got, Op::Write)), (400, 200));
    let got = run("rw=rw rate=1m,512k bs=4k,8k runtime=1");
    assert_eq!((within(&got, Op::Read), within(&got, Op::Write)), (256, 64));
    let got = run("rw=randread rate_iops=1000 rate_process=poisson runtime=20 time_based");
    assert!((got.len() as f64 / 20_000.0 - 1.0).abs() < 0.03);
    let gaps: Vec<f64> = got.windows(2).map(|w| (w[1].arrival - w[0].arrival) as f64 / 1e9).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "gaps of a Poisson process deviate by their mean");
    assert_eq!(load("rate_iops=100 iodepth=4").streams[0].pacing, Pacing::Rate { iops: 100.0, iodepth: 4 });
    let one_only = FioFile::read(Scratch::new("[a]\nrw=randrw\nrate_iops=,100\n").path(), &[]).unwrap().load();
    let error = Load::open(&one_only, Path::new("."), DRIVE, 1).err().unwrap().to_string();
    assert!(error.contains("limits one direction only of a mixed job"), "{error}");
}

#[test]
fn clones_lie_where_their_increments_put_them() {
    let mut load = load("rw=randwrite size=4m offset=8m offset_increment=4m numjobs=3");
    let mut firsts = Vec::new();
    for (n, stream) in (0..).zip(&mut load.streams) {
        let mut offsets = Vec::new();
        while let Some(request) = stream.next().unwrap() {
            offsets.push(request.offset);
        }
        firsts.push((offsets[0] - (8 + 4 * n) * MIB, offsets[1] - (8 + 4 * n) * MIB));
        assert_eq!(offsets.len(), 1024);
        assert!(offsets.iter().all(|offset| (8 + 4 * n) * MIB <= *offset && *offset < (12 + 4 * n) * MIB));
    }
    assert!(firsts[0] != firsts[1] && firsts[1] != firsts[2], "each has random numbers of its own");
}

#[test]
fn a_job_that_does_not_fit_is_told_with_its_place() {
    let error = |text: &str| {
        let file = Scratch::new(text);
        let spec = FioFile::read(file.path(), &[]).map(|file| file.load());
        let opened = spec.and_then(|spec| Load::open(&spec, Path::new("."), DRIVE, 1).map(drop));
        opened.unwrap_err().to_string()
    };
    assert!(error("[a]\nsize=1g\n").contains("reach beyond the drive"));
    assert!(error("[a]\noffset_increment=40m\nnumjobs=3\n").contains("clone 2 lies beyond the drive"));
    assert!(error("[a]\nbs=1000\n").contains("must be a multiple of 512 bytes"));
    assert!(error("[a]\nrw=randread\nrandom_distribution=zoned:60/10:30/20\n").contains("add up to"));
    assert!(error("[a]\nrate=1m\nrate_iops=100\n").contains("as well; give one of them"));
    assert!(error("[a]\nrw=trimwrite\nbs=4k,4k,8k\n").contains("trimwrite writes what it trimmed"));
    assert!(error("[a]\niodpth=1\n").contains(":2:1: iodpth=1: no such option; did you mean `iodepth`?"));
    assert!(error("; nothing\n").contains("no job in this file"));
    assert!(error("[a]\nbs=\u{FFFD}\n").contains("must be a number"));
    let missing = FioFile::read(Path::new("missing.fio"), &[]).unwrap_err().to_string();
    assert_eq!(missing, "missing.fio: no such file");
}
