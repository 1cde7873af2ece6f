//! Read speed of each trace format on generated files: plain, gzip and zstd.

use crate::cases::{rate, uncounted, Case};
use crate::measure::{report, timed};
use serde_json::{json, Value};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use wordline_base::Stream;
use wordline_workload::{TimeUnit, TraceFormat, TraceOptions, TraceReader};

const UNIT: &str = "lines a CPU second";
const TITLE: &str = "reading a plain trace";
const LINES: f64 = 1e6;

const fn plain(name: &'static str) -> Case {
    uncounted(rate(name, TITLE, UNIT, 3e6, 0, one))
}

/// A case a format, and one a packing for the slowest format.
pub const ALL: &[Case] = &[
    plain("read:msr"),
    plain("read:spc"),
    plain("read:alibaba"),
    plain("read:tencent"),
    plain("read:systor17"),
    plain("read:cloudphysics"),
    plain("read:etw"),
    plain("read:fio-iolog"),
    plain("read:blkparse"),
    plain("read:fiu"),
    plain("read:wiscsee"),
    plain("read:hp"),
    plain("read:emmc"),
    plain("read:disksim"),
    plain("read:mqsim"),
    plain("read:arc"),
    plain("read:csv"),
    plain("read:pattern"),
    plain("read:blktrace"),
    plain("read:vscsi"),
    plain("read:hp-srt"),
    uncounted(rate("read-gz", "reading traces packed with gzip: the slowest format", UNIT, 1e6, 0, gzip)),
    uncounted(rate("read-zst", "reading traces packed with zstd: the slowest format", UNIT, 1e6, 0, zstandard)),
];

fn format_of(case: &str) -> TraceFormat {
    let name = case.strip_prefix("read:").expect("a case of a format");
    TraceFormat::ALL.into_iter().find(|format| format.name() == name).expect("the name of a format")
}

fn one(case: &Case, share: f64, _: bool) -> Value {
    let format = format_of(case.name);
    let path = scratch("plain");
    make(format, (LINES * share) as u64, &mut BufWriter::new(create(&path))).expect("the disk has room");
    let (lines, seconds) = read(&path, format);
    std::fs::remove_file(&path).expect("it was just read");
    report(lines, seconds, lines / seconds, json!({}))
}

fn gzip(_: &Case, share: f64, _: bool) -> Value {
    slowest(share, |path, format, lines| {
        let mut out = flate2::write::GzEncoder::new(create(path), flate2::Compression::default());
        make(format, lines, &mut BufWriter::new(&mut out))?;
        out.finish().map(drop)
    })
}

fn zstandard(_: &Case, share: f64, _: bool) -> Value {
    slowest(share, |path, format, lines| {
        let mut out = zstd::Encoder::new(create(path), 3)?;
        make(format, lines, &mut BufWriter::new(&mut out))?;
        out.finish().map(drop)
    })
}

fn slowest(share: f64, pack: impl Fn(&Path, TraceFormat, u64) -> std::io::Result<()>) -> Value {
    let path = scratch("packed");
    let mut worst = (f64::INFINITY, "", 0.0, 0.0);
    for case in ALL.iter().filter(|case| case.name.starts_with("read:")) {
        let format = format_of(case.name);
        pack(&path, format, (LINES * share * 0.3) as u64).expect("the disk has room");
        let (lines, seconds) = read(&path, format);
        if lines / seconds < worst.0 {
            worst = (lines / seconds, format.name(), lines, seconds);
        }
    }
    std::fs::remove_file(&path).expect("it was just read");
    report(worst.2, worst.3, worst.0, json!({"slowest": worst.1}))
}

fn scratch(kind: &str) -> PathBuf {
    std::env::temp_dir().join(format!("wordline-bench-{kind}-{}", std::process::id()))
}

fn create(path: &Path) -> File {
    File::create(path).expect("the temporary directory can be written")
}

/// Lines read and CPU seconds for it.
fn read(path: &Path, format: TraceFormat) -> (f64, f64) {
    let pattern = format == TraceFormat::Pattern;
    let text = r"^(?<time>\d+) (?<device>\w+): (?<op>\w+) @(?<offset>\d+) len=(?<size>\d+)";
    let options = TraceOptions {
        format: Some(format),
        pattern: pattern.then(|| text.to_owned()),
        time_unit: pattern.then_some(TimeUnit::Ns),
        ..TraceOptions::default()
    };
    let (seconds, lines) = timed(|| {
        let mut reader = TraceReader::open(path, &options).expect("the trace opens");
        let mut requests = 0_u64;
        while reader.next_record().expect("the trace is well-formed").is_some() {
            requests += 1;
        }
        (requests + reader.left_out().ignored) as f64
    });
    (lines, seconds)
}

/// Writes a trace of so many lines; of those that have several events a request, one in three is the request.
fn make(format: TraceFormat, lines: u64, out: &mut dyn Write) -> std::io::Result<()> {
    let mut random = Stream::new(1, "bench-readers", 0);
    header(format, out)?;
    let mut ns = 0;
    for line in 0..lines {
        ns += random.below(200) * 100;
        let request = Request {
            ns,
            block: random.below(1 << 23) * 8,
            blocks: (random.below(16) + 1) * 8,
            read: random.below(2) == 1,
            event: ["Q", "D", "C"][(line % 3) as usize],
        };
        request.write(format, out)?;
    }
    Ok(())
}

fn header(format: TraceFormat, out: &mut dyn Write) -> std::io::Result<()> {
    match format {
        TraceFormat::Csv => writeln!(out, "time_us,op,offset_bytes,size_bytes"),
        TraceFormat::Systor17 => writeln!(out, "Timestamp,Response,IOType,LUN,Offset,Size"),
        TraceFormat::Cloudphysics => writeln!(out, "version,time,op,size,lbn"),
        TraceFormat::Fio => writeln!(out, "fio version 3 iolog"),
        TraceFormat::HpSrt => out.write_all(b"$$TR_IOREC-1.3\0\n\x0c"),
        TraceFormat::Etw => {
            writeln!(out, "BeginHeader")?;
            for event in ["DiskRead", "DiskWrite"] {
                writeln!(
                    out,
                    "{event}, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, \
                     IrpFlags, DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName"
                )?;
            }
            writeln!(out, "EndHeader")
        }
        _ => Ok(()),
    }
}

struct Request {
    ns: u64,
    block: u64,
    blocks: u64,
    read: bool,
    event: &'static str,
}

impl Request {
    fn write(&self, format: TraceFormat, out: &mut dyn Write) -> std::io::Result<()> {
        let &Self { ns, block, blocks, read, event } = self;
        let (offset, bytes) = (block * 512, blocks * 512);
        let word = ["Write", "Read"][usize::from(read)];
        let small = ["write", "read"][usize::from(read)];
        let letter = &word[..1];
        let digit = u8::from(read);
        let (s, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
        match format {
            TraceFormat::Msr => {
                writeln!(out, "{},host,0,{word},{offset},{bytes},{}", 128_166_372_003_061_629 + ns / 100, ns % 9999)
            }
            TraceFormat::Spc => writeln!(out, "0,{block},{bytes},{letter},{s}.{:06}", part / 1000),
            TraceFormat::Alibaba => writeln!(out, "419,{letter},{offset},{bytes},{}", 1_577_808_144_360_767 + ns / 1000),
            TraceFormat::Tencent => writeln!(out, "{},{block},{blocks},{},1063", 1_538_323_200 + s, 1 - digit),
            TraceFormat::Systor17 => writeln!(out, "{}.{part:09},0.000237,{letter},3,{offset},{bytes}", 1_455_592_511 + s),
            TraceFormat::Cloudphysics => {
                let command = ["2a", "28"][usize::from(read)];
                writeln!(out, "1,{},{command},{bytes},{block}", 5_633_898_368_802 + ns / 1000)
            }
            TraceFormat::Etw => writeln!(
                out,
                "   Disk{word},  {:>9},        xperf.exe (3984),      11844, 0xffffe288b23f1b20, {offset:#012x}, {bytes:#010x}, \
                 283,        0, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\$Mft\"",
                ns / 1000
            ),
            TraceFormat::Fio => writeln!(out, "{} /dev/sda {small} {offset} {bytes}", ns / 1000),
            TraceFormat::Blkparse => {
                writeln!(out, "  8,16   3 {:>8} {s:>5}.{part:09}  3645  {event}   {letter} {block} + {blocks} [java]", ns % 99)
            }
            TraceFormat::Fiu => {
                writeln!(out, "{ns} 4253 nfsd {block} {blocks} {letter} 6 0 88b93b628d84082186026d9da044f173")
            }
            TraceFormat::Wiscsee => {
                let event = if event == "Q" { "C" } else { event };
                writeln!(out, "39949 {event} {small} {offset} {bytes} {s}.{part:09} 0 False")
            }
            TraceFormat::Hp => writeln!(out, "{s}.{:06} 1 {offset} {bytes} {letter} 174 19687 1", part / 1000),
            TraceFormat::Emmc => {
                let time = format!("{s}.{part:09}");
                writeln!(out, "{block}\t\t{blocks}\t\t{bytes}\t\t{}\t\t{time}\t\t{time}\t\t{time}\t\t{time}", 1 - digit)
            }
            TraceFormat::Disksim => writeln!(out, "{}.{:06} 0 {block} {blocks} {digit}", ns / 1_000_000, ns % 1_000_000),
            TraceFormat::Arc => writeln!(out, "{block} {blocks} 0 {ns}"),
            TraceFormat::Csv => writeln!(out, "{}.{:03},{word},{offset},{bytes}", ns / 1000, ns % 1000),
            TraceFormat::Pattern => writeln!(out, "{ns} vda: {small} @{offset} len={bytes}"),
            TraceFormat::Blktrace | TraceFormat::Vscsi | TraceFormat::HpSrt => out.write_all(&self.record(format)),
            _ => writeln!(out, "{ns} 0 {block} {blocks} {digit}"),
        }
    }

    /// A binary record.
    fn record(&self, format: TraceFormat) -> Vec<u8> {
        let &Self { ns, block, blocks, read, event } = self;
        let bytes = (blocks * 512) as u32;
        let pair = |value: u64| [value as u32, (value >> 32) as u32];
        let words: Vec<u32> = match format {
            TraceFormat::Blktrace => {
                let code = [1, 7, 8][["Q", "D", "C"].iter().position(|name| *name == event).unwrap_or(0)];
                let action = code | 1 << if read { 16 } else { 17 };
                let (time, sector) = (pair(ns), pair(block));
                vec![0x6561_7407, 1, time[0], time[1], sector[0], sector[1], bytes, action, 5, 8 << 20 | 16, 2, 0]
            }
            TraceFormat::Vscsi => {
                let (lbn, time) = (pair(block), pair(ns / 1000));
                let command = if read { 0x28 } else { 0x2a };
                vec![1, bytes, 1, 0x0100_0000 | command, lbn[0], lbn[1], time[0], time[1]]
            }
            _ => {
                let micros = ns / 1000;
                let (s, us) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
                let sector = (block * 2) as u32;
                vec![56, 0x0004_0001, s, us, 174, 19_687, bytes, sector, 0x0800_0107, 4, 1, u32::from(read), 0, 1]
            }
        };
        let big = format == TraceFormat::HpSrt;
        words.into_iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
    }
}
