//! Replaying traces: pace, loops, limits, devices, addresses, and the readers against random damage.

use crate::common::{drain, gz, replay, zst, Scratch};
use std::path::Path;
use wordline_base::{Op, Stream};
use wordline_workload::{
    info, Compression, Devices, Load, LoadFile, Pace, Pacing, PastEnd, TraceFormat, TraceOptions, TraceReader,
};

const MIB: u64 = 1 << 20;
const DRIVE: u64 = 1024 * MIB;

fn mqsim() -> TraceOptions {
    TraceOptions { format: Some(TraceFormat::Mqsim), ..TraceOptions::default() }
}

#[test]
fn times_count_from_the_first_request_and_follow_speed() {
    let lines = "1000 0 0 8 0\r\n1500 0 8 8 1\r\n3000 0 16 1 1";
    let got = replay(lines, mqsim(), DRIVE).unwrap();
    assert_eq!(got.iter().map(|r| r.arrival).collect::<Vec<_>>(), [0, 500_000, 2_000_000]);
    assert_eq!((got[0].op, got[0].offset, got[0].bytes), (Op::Write, 0, 4096));
    assert_eq!((got[2].op, got[2].offset, got[2].bytes), (Op::Read, 8192, 512));
    let got = replay(lines, TraceOptions { speed: 2.0, ..mqsim() }, DRIVE).unwrap();
    assert_eq!(got.iter().map(|r| r.arrival).collect::<Vec<_>>(), [0, 250_000, 1_000_000]);
    let asap = TraceOptions { pace: Pace::Asap, iodepth: Some(7), ..mqsim() };
    assert!(replay(lines, asap, DRIVE).unwrap().iter().all(|r| r.arrival == 0));
}

#[test]
fn loops_go_on_with_the_mean_gap_and_the_limit_spans_them() {
    let lines = "0 0 0 8 0\n1000 0 8 8 1\n3000 0 16 8 1\n";
    let got = replay(lines, TraceOptions { loops: 3, ..mqsim() }, DRIVE).unwrap();
    let arrivals: Vec<_> = got.iter().map(|r| r.arrival / 1000).collect();
    assert_eq!(arrivals, [0, 1000, 3000, 4500, 5500, 7500, 9000, 10_000, 12_000]);
    let got = replay(lines, TraceOptions { loops: 3, limit: Some(4), ..mqsim() }, DRIVE).unwrap();
    assert_eq!(got.len(), 4);
    let one = replay("5 0 0 8 0\n", TraceOptions { loops: 2, ..mqsim() }, DRIVE).unwrap();
    assert_eq!(one.iter().map(|r| r.arrival).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn a_trace_reads_alike_however_it_is_compressed() {
    let lines: String = (0..30_000).map(|n| format!("{n}000 {} {} 8 {}\n", n % 3, n * 8 % 9999, n % 2)).collect();
    let plain = replay(&lines, mqsim(), DRIVE).unwrap();
    assert_eq!(plain.len(), 30_000);
    assert_eq!(plain, replay(gz(lines.as_bytes()), mqsim(), DRIVE).unwrap());
    assert_eq!(plain, replay(zst(lines.as_bytes()), mqsim(), DRIVE).unwrap());
    let file = Scratch::new(gz(lines.as_bytes()));
    let got = info(file.path(), &mqsim()).unwrap();
    assert_eq!((got.detected.compression, got.requests, got.devices.len()), (Compression::Gzip, 30_000, 3));
}

#[test]
fn wrapping_splits_and_scaling_fills() {
    let lines = format!("0 0 {} 16 0\n1 0 {} 8 1\n", 4 * MIB / 512 - 8, 9 * MIB / 512);
    let wrap = TraceOptions { past_end: PastEnd::Wrap, ..mqsim() };
    let got: Vec<_> = replay(&lines, wrap, 4 * MIB).unwrap().iter().map(|r| (r.offset, r.bytes)).collect();
    assert_eq!(got, [(4 * MIB - 4096, 4096), (0, 4096), (MIB, 4096)]);
    let scale = TraceOptions { past_end: PastEnd::Scale, ..mqsim() };
    let got = replay(&lines, scale.clone(), 4 * MIB).unwrap();
    assert!(got.iter().all(|r| r.offset + u64::from(r.bytes) <= 4 * MIB && r.offset % 4096 == 0), "{got:?}");
    assert!(got[1].offset > 3 * MIB, "the highest request lies at the end of the drive");
    let known = TraceOptions { extent_bytes: Some(18 * MIB), ..scale };
    assert_eq!(replay(&lines, known, 4 * MIB).unwrap()[1].offset, 2 * MIB);
}

#[test]
fn devices_merge_stack_or_are_left_out() {
    let lines = "0 7 0 8 0\n5 2 8 8 1\n9 7 16 8 1\n";
    let offsets = |options| replay(lines, options, DRIVE).unwrap().iter().map(|r| r.offset).collect::<Vec<_>>();
    assert_eq!(offsets(mqsim()), [0, 4096, 8192]);
    assert_eq!(offsets(TraceOptions { devices: Devices::Stack, ..mqsim() }), [0, MIB + 4096, 8192]);
    let only = TraceOptions { device: Some("2".into()), ..mqsim() };
    let got = replay(lines, only, DRIVE).unwrap();
    assert_eq!((got.len(), got[0].arrival, got[0].offset), (1, 0, 4096));
}

#[test]
fn csv_columns_by_name() {
    let lines =
        "fua;TIME_MS;op;\"lba\";blocks;device\n1;0.5;W;8;8;a\n0;1.25;read;16;8;b\n;2;discard;0;8;a\n;3;flush;;;a\n";
    let got = replay(lines, TraceOptions::default(), DRIVE).unwrap();
    let short: Vec<_> = got.iter().map(|r| (r.arrival / 1000, r.op, r.offset, r.bytes, r.fua)).collect();
    let expected = [
        (0, Op::Write, 4096, 4096, true),
        (750_000, Op::Read, 8192, 4096, false),
        (1_500_000, Op::Trim, 0, 4096, false),
        (2_500_000, Op::Flush, 0, 0, false),
    ];
    assert_eq!(short, expected);
    let tabs = "time_s\top\toffset_bytes\tsize_bytes\tnote\n0\tR\t100\t100\t\n";
    let got = replay(tabs, TraceOptions::default(), DRIVE).unwrap();
    assert_eq!((got[0].offset, got[0].bytes), (0, 512), "bytes are rounded outwards to sectors");
}

#[test]
fn info_counts() {
    let lines = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                 100,web,0,Read,0,4096,9\n110,web,1,Write,4096,512,9\n120,web,0,read,4096,8192,9\n130,web,0,Write,0,4096,9\n";
    let file = Scratch::new(lines);
    let got = info(file.path(), &TraceOptions::default()).unwrap();
    assert_eq!((got.requests, got.reads, got.writes, got.trims, got.flushes), (4, 2, 2, 0, 0));
    assert_eq!((got.read_bytes, got.written_bytes, got.size_bytes), (12_288, 4608, [512, 8192]));
    assert_eq!((got.mean_read_bytes, got.mean_write_bytes), (Some(6144.0), Some(2304.0)));
    assert_eq!((got.duration_s, got.random_share, got.aligned_4k_share), (3e-6, 0.75, 0.75));
    assert_eq!((got.extent_bytes, got.distinct_4k_pages), (12_288, 4));
    let devices: Vec<_> = got.devices.iter().map(|d| (&d.name[..], d.requests, d.extent_bytes)).collect();
    assert_eq!(devices, [("web_0", 3, 12_288), ("web_1", 1, 4608)]);
    assert!(got.detected.reason.contains("seven fields separated by commas"), "{}", got.detected.reason);
}

#[test]
fn a_load_describes_itself_and_reports_progress() {
    let file = Scratch::new("0 0 0 8 0\n1000 0 8 8 1\n");
    let trace = TraceOptions { file: file.path().to_owned(), pace: Pace::Asap, ..mqsim() };
    let spec = LoadFile { trace: Some(trace), ..LoadFile::default() };
    let mut load = Load::open(&spec, Path::new("."), DRIVE, 1).unwrap();
    assert_eq!(load.streams[0].pacing, Pacing::AsFast { iodepth: None });
    assert_eq!(load.description["trace"]["format"], "mqsim");
    assert_eq!(load.description["trace"]["reason"], "given by `format`");
    drain(&mut load).unwrap();
    assert_eq!(load.streams[0].progress(), Some(1.0));
    let text = Load::open(&LoadFile::default(), Path::new("."), DRIVE, 1).err().unwrap().to_string();
    assert!(text.contains("give a [trace]"), "{text}");
}

#[test]
fn the_run_time_ends_a_timed_trace() {
    let file = Scratch::new("0 0 0 8 0\n1000 0 8 8 1\n2000000000 0 8 8 1\n");
    let trace = TraceOptions { file: file.path().to_owned(), ..mqsim() };
    let spec = LoadFile { trace: Some(trace), runtime_s: Some(1.0), ..LoadFile::default() };
    let mut load = Load::open(&spec, Path::new("."), DRIVE, 1).unwrap();
    assert_eq!(drain(&mut load).unwrap().len(), 2);
}

/// Damages lines at random: readers return records or an error, never a panic, and records stay valid.
#[test]
fn damaged_lines_never_panic() {
    let good = [
        (TraceFormat::Msr, "128000000000000000,web,0,Read,4096,512,9\n128000000000000010,web,1,Write,0,4096,9\n"),
        (TraceFormat::Msr, "128000000000000000 web 0 read 4096 512 9\n128000000000000010 web 1 write 0 4096 9\n"),
        (TraceFormat::Disksim, "1.25 0 8 8 1\n2.5 1 16 8 0\n"),
        (TraceFormat::Ssdsim, "1000\t0\t8\t8\t1\n2000\t1\t16\t8\t0\n"),
        (TraceFormat::Csv, "time_us,op,lba,blocks,device,fua\n1.5,R,8,8,a,0\n2,W,16,8,b,1\n3,flush,,,a,\n"),
    ];
    let odd = *b"0123456789.,; \t\r\n-+eE#\"xNnaiR%\x00\xff\xc3\xa4\x1f\x8b(/";
    for seed in 0..4_000 {
        let mut random = Stream::new(seed, "workload-fuzz", 0);
        let (format, text) = good[random.below(good.len() as u64) as usize];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            let byte = odd[random.below(odd.len() as u64) as usize];
            match random.below(5) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                3 => bytes.truncate(at + 1),
                _ => bytes.splice(at..at, text.bytes().take(random.below(40) as usize)).for_each(drop),
            }
        }
        let packed = match random.below(3) {
            0 => gz(&bytes),
            1 => zst(&bytes),
            _ => bytes,
        };
        let file = Scratch::new(&packed);
        let known = random.below(4) > 0;
        let options = TraceOptions { format: known.then_some(format), ..TraceOptions::default() };
        let outcome = std::panic::catch_unwind(|| {
            let mut reader = match TraceReader::open(file.path(), &options) {
                Ok(reader) => reader,
                Err(error) => return drop(error.to_string()),
            };
            let mut last = 0;
            loop {
                match reader.next_record() {
                    Ok(Some(record)) => {
                        assert!(record.time_ps >= last && record.bytes <= 1 << 30);
                        assert!(record.bytes > 0 || record.op == Op::Flush);
                        last = record.time_ps;
                    }
                    Ok(None) => break,
                    Err(error) => return drop(error.to_string()),
                }
            }
        });
        assert!(outcome.is_ok(), "seed {seed}: {:?}", String::from_utf8_lossy(&packed));
    }
}
