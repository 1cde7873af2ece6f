//! Every reader on foreign input: random bytes, mutated and truncated lines, other formats. Nothing panics, and every
//! error in a line names it. Many more rounds with WORDLINE_LONG.

use crate::common::{gz, zst, Scratch};
use wordline_base::Stream;
use wordline_workload::{TimeUnit, TraceFormat, TraceOptions, TraceReader, WorkloadError};

/// Typical lines of each format.
const SEEDS: [(TraceFormat, &str); 19] = [
    (TraceFormat::Msr, "128166385295514663,hm,0,Write,9056014336,2048,2833\n128166385295514878,hm,0,Read,11855351808,512,2617\n"),
    (TraceFormat::Spc, "0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041,7\n"),
    (TraceFormat::Alibaba, "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n"),
    (TraceFormat::Systor17, "Timestamp,Response,IOType,LUN,Offset,Size\n1455592511.083801,0.000237,W,3,22190575616,4096\n1455592511.083902,,,3,,\n"),
    (TraceFormat::Cloudphysics, "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898368902,28,1024,7\n"),
    (TraceFormat::Etw, "BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\nEndHeader\n DiskRead, 8612, xperf.exe (3984), 11844, 0xffffe288b23f1b20, 0x018f0b8000, 0x00001000, 283, 0\n"),
    (TraceFormat::Fio, "fio version 2 iolog\nsda add\nsda open\nsda read 4096 8192\nsda wait 150 0\nsda write 0 512\nsda sync 0 0\nsda close\n"),
    (TraceFormat::Fio, "fio version 3 iolog\n0 sda add\n10 sda read 4096 8192\n20 sda trim 0 512\n"),
    (TraceFormat::Blkparse, "  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n  8,16   2        5     0.002036907  3643  D  WS 4931672 + 8 [jbd2]\n  8,16   0        8     0.002900000  3557  D  FN [kworker]\nCPU0 (8,16):\n Reads Queued: 0\n"),
    (TraceFormat::Fiu, "89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173\n"),
    (TraceFormat::Wiscsee, "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 0.000122793 False\n"),
    (TraceFormat::Hp, "0.000000 1 270336 4096 R 174 19687 1\n30.183968 0 172552192 8192 W 146 36899 1\n"),
    (TraceFormat::Emmc, "0 8 4096 4 1.740780627 1.740812815 1.740851877 1.741075471\n376834 2 1024 5 1.741780627 1.75 1.76 1.77\n"),
    (TraceFormat::Disksim, "5265.313 0 6357144 8 0\n5265.703 0 6307768 8 1\n"),
    (TraceFormat::Ssdsim, "26214000 0 303574 7 0\n26214000 1 240840 6 1\n"),
    (TraceFormat::Tencent, "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n1538323201,1904106400,384,0,1360\n"),
    (TraceFormat::Arc, "230027 8 0 0\n1842745 64 0 1\n"),
    (TraceFormat::Csv, "time_us,op,offset_bytes,size_bytes,device,fua\n1.5,R,0,512,a,0\n2,write,\"512\",512,b,1\n"),
    (TraceFormat::Pattern, "1.5s vda: read @8 len=512\n1.75s vdb: write @16 len=4096 ok\n"),
];

const PATTERN: &str = r"(?<time>\S+)s (?<device>\w+): (?<op>\w+) @(?<lba>\S+) len=(?<size>\S+)";

/// Binary files that are read whole.
fn binaries() -> Vec<(TraceFormat, Vec<u8>)> {
    let mut srt = b"$$TR_IOREC-1.3\0\nversion = 1.3;\n\x0c".to_vec();
    let mut vscsi = Vec::new();
    let mut traces = Vec::new();
    for version in [7_u32, 8] {
        let mut trace = Vec::new();
        for n in 0..20_u32 {
            let mut record: Vec<u8> = (0x6561_7400 | version).to_le_bytes().to_vec();
            record.extend(n.to_le_bytes());
            record.extend(u64::from(n * 1000).to_le_bytes());
            record.extend(u64::from(n * 8).to_le_bytes());
            record.extend(4096_u32.to_le_bytes());
            let action = 7 | 1_u64 << 22 | 1 << (16 + n % 2);
            if version == 7 {
                record.extend((action as u32).to_le_bytes());
                record.extend(5_u32.to_le_bytes());
            } else {
                record.extend(5_u32.to_le_bytes());
                record.extend(action.to_le_bytes());
            }
            record.extend([16, 0, 128, 0, 1, 0, 0, 0, 0, 0, (n % 3) as u8, 0]);
            record.extend(vec![0; if version == 8 { 12 } else { 0 } + (n % 3) as usize]);
            trace.extend(record);
        }
        traces.push((TraceFormat::Blktrace, trace));
    }
    for n in 0..20_u32 {
        for word in [56, 0x0004_0001, n, n * 7, 174, 19_687, 4096, 1056 + n, 0x0800_0107, 4, 1, n & 1, 0, 1] {
            srt.extend(u32::to_be_bytes(word));
        }
        for word in [n, 4096, 1, 0x0100_002a - 2 * (n & 1), n * 8, 0, n * 100, 0] {
            vscsi.extend(u32::to_le_bytes(word));
        }
    }
    traces.push((TraceFormat::HpSrt, srt));
    traces.push((TraceFormat::Vscsi, vscsi));
    traces
}

fn options(format: TraceFormat, random: &mut Stream) -> TraceOptions {
    let pattern = format == TraceFormat::Pattern;
    TraceOptions {
        format: Some(format),
        pattern: pattern.then(|| PATTERN.to_owned()),
        time_unit: pattern.then_some(TimeUnit::S),
        skip_bad: [0.0, 0.0, 0.3, 1.0][random.below(4) as usize],
        sort_window: [None, Some(0), Some(3)][random.below(3) as usize],
        ..TraceOptions::default()
    }
}

/// Reads everything; returns the number of requests, or the error.
fn read(content: &[u8], options: &TraceOptions) -> Result<u64, WorkloadError> {
    let file = Scratch::new(content);
    let mut reader = TraceReader::open(file.path(), options)?;
    let mut count = 0;
    while let Some(record) = reader.next_record()? {
        assert!(record.op != wordline_base::Op::Flush || record.bytes == 0);
        count += 1;
    }
    assert!(reader.next_record().is_ok_and(|record| record.is_none()), "a reader stays at its end");
    Ok(count)
}

/// An error about a line names file, number, field and text.
fn check(content: &[u8], format: TraceFormat, error: &WorkloadError) {
    let WorkloadError::Line(line) = error else { return };
    let text = error.to_string();
    assert!(line.line > 0 && !line.field.is_empty() && !line.problem.is_empty(), "{text}");
    assert!(text.contains(&format!("{} {}: ", line.unit, line.line)), "{text}");
    if line.unit == "line" {
        let wanted = content.split(|byte| *byte == b'\n').nth(line.line as usize - 1).unwrap_or_default();
        let wanted = String::from_utf8_lossy(wanted.strip_prefix(b"\xef\xbb\xbf").unwrap_or(wanted));
        let start: String = wanted.chars().take_while(|c| c.is_ascii_graphic() || *c == ' ').take(40).collect();
        assert!(line.text.starts_with(&start), "{format:?}: `{}` is not the start of line {}", line.text, line.line);
    }
}

fn mutate(content: &mut Vec<u8>, random: &mut Stream) {
    const LIKELY: &[u8] = b"0123456789,. \t\n-+eERWxX\0\xff\"DFN#:";
    for _ in 0..=random.below(4) {
        if content.is_empty() {
            return;
        }
        let at = random.below(content.len() as u64) as usize;
        let byte = LIKELY[random.below(LIKELY.len() as u64) as usize];
        match random.below(7) {
            0 => content[at] = byte,
            1 => content[at] = random.below(256) as u8,
            2 => content.insert(at, byte),
            3 => drop(content.remove(at)),
            4 => content.truncate(at),
            5 => {
                let end = (at + 1 + random.below(30) as usize).min(content.len());
                let piece = content[at..end].to_vec();
                content.splice(at..at, piece);
            }
            _ => {
                let end = (at + 1 + random.below(12) as usize).min(content.len());
                content.splice(at..end, *b"99999999999999999999");
            }
        }
    }
}

fn rounds() -> u64 {
    if std::env::var_os("WORDLINE_LONG").is_some_and(|value| value == "1") {
        200_000
    } else {
        6_000
    }
}

#[test]
fn whole_seeds_are_read() {
    let mut random = Stream::new(1, "seeds", 0);
    for (format, text) in SEEDS {
        let options = TraceOptions { skip_bad: 0.0, sort_window: None, ..options(format, &mut random) };
        let count = read(text.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}"));
        assert!(count > 0, "{format:?}");
    }
    for (format, bytes) in binaries() {
        let options = TraceOptions { skip_bad: 0.0, sort_window: None, ..options(format, &mut random) };
        assert_eq!(read(&bytes, &options).unwrap_or_else(|error| panic!("{error}")), 20, "{format:?}");
        assert_eq!(read(&bytes, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}")), 20, "{format:?}");
    }
}

#[test]
fn nothing_panics_and_errors_name_their_line() {
    let mut random = Stream::new(7, "reader-fuzz", 0);
    let mut seeds: Vec<(TraceFormat, Vec<u8>)> = binaries();
    seeds.extend(SEEDS.map(|(format, text)| (format, text.as_bytes().to_vec())));
    let mut failed = 0;
    for round in 0..rounds() {
        let (own, seed) = &seeds[random.below(seeds.len() as u64) as usize];
        let mut content = seed.clone();
        match random.below(10) {
            0 => content = (0..random.below(400)).map(|_| random.below(256) as u8).collect(),
            1 => content.extend(&seeds[random.below(seeds.len() as u64) as usize].1),
            _ => mutate(&mut content, &mut random),
        }
        // Mostly read in its own format, sometimes in another.
        let format = if random.below(5) > 0 {
            *own
        } else {
            TraceFormat::ALL[random.below(TraceFormat::ALL.len() as u64) as usize]
        };
        let mut options = options(format, &mut random);
        if random.below(4) == 0 && format != TraceFormat::Pattern {
            options.format = None;
        }
        let packed = match round % 8 {
            0 => gz(&content),
            1 => zst(&content),
            _ => content.clone(),
        };
        if let Err(error) = read(&packed, &options) {
            failed += 1;
            assert!(!error.to_string().is_empty());
            check(&content, format, &error);
        }
    }
    assert!(failed > rounds() / 10, "the fuzzing found next to nothing wrong: {failed}");
}
