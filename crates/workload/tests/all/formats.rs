//! Every format on typical lines, with its quirks and its codes for read and write.

use crate::common::{gz, zst, Scratch};
use wordline_base::Op::{self, Flush, Read, Trim, Write};
use wordline_workload::{Join, LeftOut, Record, Spread, TimeUnit, TraceFormat, TraceOptions, TraceReader, Unmatched};

const US: u128 = 1_000_000;
const MS: u128 = 1_000 * US;
const S: u128 = 1_000 * MS;

/// A whole trace: format, records, devices, skipped lines, and how the format was detected.
struct Whole {
    format: TraceFormat,
    records: Vec<Record>,
    devices: Vec<String>,
    left_out: LeftOut,
    reason: String,
    timed: bool,
}

fn drain(mut reader: TraceReader) -> Result<Whole, String> {
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        records.push(record);
    }
    Ok(Whole {
        format: reader.detected().format,
        records,
        devices: reader.devices().to_vec(),
        left_out: reader.left_out(),
        reason: reader.detected().reason.clone(),
        timed: reader.timed(),
    })
}

fn read(content: impl AsRef<[u8]>, options: &TraceOptions) -> Result<Whole, String> {
    let file = Scratch::new(content);
    TraceReader::open(file.path(), options).map_err(|error| error.to_string()).and_then(drain)
}

/// Reads with format detection.
fn found(content: impl AsRef<[u8]>) -> Whole {
    read(content, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn given(format: TraceFormat) -> TraceOptions {
    TraceOptions { format: Some(format), ..TraceOptions::default() }
}

fn fails(content: impl AsRef<[u8]>, options: &TraceOptions, parts: &[&str]) {
    let Err(error) = read(content, options) else { panic!("this must fail: {parts:?}") };
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

/// Time, operation, first byte and size of each request.
fn rows(whole: &Whole) -> Vec<(u128, Op, u64, u32)> {
    whole.records.iter().map(|r| (r.time_ps, r.op, r.offset, r.bytes)).collect()
}

#[test]
fn spc_has_blocks_seconds_and_optional_fields() {
    let got = found("0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041\n1,3436288,15872,r,1.011732,7,x\n");
    assert_eq!((got.format, got.devices), (TraceFormat::Spc, vec!["0".to_owned(), "1".to_owned()]));
    let expected = [
        (0, Write, 20_941_264 * 512, 8192),
        (2_335 * US, Write, 20_939_840 * 512, 8192),
        (460_026 * US, Read, 3_436_288 * 512, 15_872),
    ];
    let got = found("0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041\n1,3436288,15872,r,1.011732,7,x\n");
    assert_eq!(rows(&got), expected);
    fails("0,1,512,R,0.5\n0,1,512,T,0.6\n", &TraceOptions::default(), &["line 2: Opcode `T`", "must be R or W"]);
    fails("0,1,512,R,0.5\n0,1,512\n", &TraceOptions::default(), &["line 2: columns", "has 3 where format spc has 5"]);
}

#[test]
fn alibaba_has_bytes_and_microseconds() {
    let got = found("419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n");
    assert_eq!(got.format, TraceFormat::Alibaba);
    assert_eq!(rows(&got), [(0, Write, 8_792_731_648, 16_384), (46 * US, Read, 59_110_326_272, 360_448)]);
    assert_eq!(got.devices, ["419", "725"]);
}

#[test]
fn tencent_is_never_guessed_and_its_seconds_are_spread() {
    let lines = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n1538323201,1904106400,384,0,1360\n";
    fails(lines, &TraceOptions::default(), &["it might be tencent", "by --format"]);
    let got = read(lines, &given(TraceFormat::Tencent)).unwrap();
    let expected = [
        (0, Read, 12_910_952 * 512, 65_536),
        (S / 2, Write, 6_338_688 * 512, 4096),
        (S, Read, 1_904_106_400 * 512, 196_608),
    ];
    assert_eq!(rows(&got), expected);
    assert!(got.reason.contains("spread evenly over its unit"), "{}", got.reason);
    let together = TraceOptions { spread: Some(Spread::None), ..given(TraceFormat::Tencent) };
    assert_eq!(read(lines, &together).unwrap().records[1].time_ps, 0);
    let random = TraceOptions { spread: Some(Spread::Random), ..given(TraceFormat::Tencent) };
    let (one, two) = (read(lines, &random).unwrap(), read(lines, &random).unwrap());
    assert_eq!(one.records, two.records);
    assert!(one.records[1].time_ps < S && one.reason.contains("at random"));
    // Only requests of the same device share a second.
    let one = TraceOptions { device: Some("1627".into()), ..given(TraceFormat::Tencent) };
    assert_eq!(rows(&read(lines, &one).unwrap()), [(0, Write, 6_338_688 * 512, 4096)]);
    let turned = TraceOptions { read_is: Some("1".into()), ..given(TraceFormat::Tencent) };
    assert_eq!(read(lines, &turned).unwrap().records[0].op, Write);
    fails("1.5,0,8,0,1\n", &given(TraceFormat::Tencent), &["line 1: time", "not a whole number of its unit"]);
}

#[test]
fn systor_has_a_header_and_blank_types() {
    let got = found(
        "Timestamp,Response,IOType,LUN,Offset,Size\n\
         1455592511.083801000,0.000237000,W,3,22190575616,4096\n\
         1455592511.083902000,,,3,,\n\
         1455592511.083902500,0.000110000,R,4,512,1024\n",
    );
    assert_eq!((got.format, got.left_out.ignored), (TraceFormat::Systor17, 1));
    assert_eq!(rows(&got), [(0, Write, 22_190_575_616, 4096), (101_500_000, Read, 512, 1024)]);
    assert_eq!(got.devices, ["3", "4"]);
}

#[test]
fn cloudphysics_has_scsi_commands() {
    let got = found(
        "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898368902,28,1024,7\n1,5633898368903,0,0,0\n\
         1,5633898368904,8A,512,1\n1,5633898368905,35,0,0\n",
    );
    assert_eq!((got.format, got.left_out.ignored), (TraceFormat::Cloudphysics, 1));
    let expected = [
        (0, Write, 42_932_745 * 512, 512),
        (100 * US, Read, 7 * 512, 1024),
        (102 * US, Write, 512, 512),
        (103 * US, Flush, 0, 0),
    ];
    assert_eq!(rows(&got), expected);
    fails("version,time,op,size,lbn\n1,2,xy,512,1\n", &TraceOptions::default(), &["line 2: op `xy`", "SCSI command"]);
}

/// A record of vscsi: serial number, command, bytes, block, time.
fn vscsi(version: u16, command: u16, bytes: u32, block: u64, time: u64) -> Vec<u8> {
    let (serial, segments) = (7_u32, 1_u32);
    let mut out = Vec::new();
    let words = |out: &mut Vec<u8>| [serial, bytes, segments].iter().for_each(|n| out.extend(n.to_le_bytes()));
    let shorts = |out: &mut Vec<u8>| [command, version << 8 | 3].iter().for_each(|n| out.extend(n.to_le_bytes()));
    if version == 1 {
        words(&mut out);
        shorts(&mut out);
    } else {
        shorts(&mut out);
        words(&mut out);
    }
    out.extend(block.to_le_bytes());
    out.extend(time.to_le_bytes());
    if version == 2 {
        out.extend(99_u64.to_le_bytes());
    }
    out
}

#[test]
fn vscsi_has_two_versions() {
    for version in [1, 2] {
        let records = [
            vscsi(version, 0x2a, 512, 100, 5_000_000),
            vscsi(version, 0x28, 4096, 200, 5_000_010),
            vscsi(version, 0x91, 0, 0, 5_000_020),
        ];
        let content = records.concat();
        for packed in [content.clone(), gz(&content), zst(&content)] {
            let got = found(packed);
            assert_eq!(got.format, TraceFormat::Vscsi);
            assert_eq!(rows(&got), [(0, Write, 51_200, 512), (10 * US, Read, 102_400, 4096), (20 * US, Flush, 0, 0)]);
        }
        let cut = &content[..content.len() - 1];
        fails(cut, &given(TraceFormat::Vscsi), &["record 3: length", "the file ends within it", "record 3: "]);
        let other = [content.clone(), vscsi(3 - version, 0x28, 512, 0, 9).repeat(9)].concat();
        fails(other, &given(TraceFormat::Vscsi), &["record 4"]);
    }
    fails("nothing of the kind, but long enough", &given(TraceFormat::Vscsi), &["neither version 1 nor version 2"]);
}

const ETW: &str = "BeginHeader
   DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName
  DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName
  DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,                           ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri
EndHeader
OS Version: 5.2.3790, Trace Size: 14848KB, Events Lost: 0
   DiskRead,       8612,        xperf.exe (3984),      11844, 0xffffe288b23f1b20, 0x018f0b8000, 0x00001000,         283,        0, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\a,b\"
  DiskFlush,       8700,        xperf.exe (3984),      11844, 0xffffe288b23f1b20,                                     283,        0, 0x060043,         283,       3
  DiskWrite,       8712,        xperf.exe (3984),      11844, 0xffffe288b23f1b20, 0x0000000200, 0x00000200,         283,        1, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\$Mft\"
";

#[test]
fn etw_finds_its_columns_in_the_header() {
    let expected = [(0, Read, 0x1_8f0b_8000, 4096), (100 * US, Write, 512, 512)];
    let got = found(ETW);
    assert_eq!((got.format, got.left_out.ignored), (TraceFormat::Etw, 7));
    assert_eq!(rows(&got), expected);
    assert_eq!(got.devices, ["0", "1"]);
    // The later layout has the processor after the thread.
    let later = ETW.replace("ThreadID,", "ThreadID, CPU,").replace("11844,", "11844,   1,");
    assert_eq!(rows(&found(later)), expected);
    fails(
        ETW.replace("IOSize", "Bytes"),
        &TraceOptions::default(),
        &["line 2: header `IOSize`: this column is missing"],
    );
    fails(ETW.replace("0x00000200,  ", "512,  "), &TraceOptions::default(), &["line 9: IOSize `512`", "hexadecimal"]);
    let headless = ETW.split("EndHeader\n").nth(1).unwrap();
    fails(headless, &given(TraceFormat::Etw), &["line 1: header", "begins with BeginHeader"]);
}

#[test]
fn fio_version_2_waits_and_version_3_has_stamps() {
    let got = found(
        "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 8192\n/dev/sda wait 150 0\n\
         /dev/sda write 0 512\n/dev/sda sync 0 0\n/dev/sda wait 50\n/dev/sda trim 1024 512\n/dev/sda close\n",
    );
    let expected =
        [(0, Read, 4096, 8192), (150 * US, Write, 0, 512), (150 * US, Flush, 0, 0), (200 * US, Trim, 1024, 512)];
    assert_eq!((got.format, got.timed, rows(&got)), (TraceFormat::Fio, true, expected.to_vec()));
    let got = found("fio version 2 iolog\nx add\nx open\nx read 0 512\nx write 512 512\nx close\n");
    assert!(!got.timed && got.reason.contains("only the order counts"), "{}", got.reason);
    let got = found("fio version 3 iolog\n0 x add\n0 x open\n10 x read 0 512\n35 x datasync 0 0\n40 x close\n");
    assert_eq!(rows(&got), [(0, Read, 0, 512), (25 * US, Flush, 0, 0)]);
    let wait = "fio version 3 iolog\n1 x read 0 512\n1 x wait 0 512\n";
    fails(wait, &TraceOptions::default(), &["line 3: action `wait`", "must be read, write, trim"]);
    fails("x read 0 512\n", &given(TraceFormat::Fio), &["line 1: header", "fio version 2 iolog"]);
}

const BLKPARSE: &str = "Input file sda.blktrace.0 added
  8,16   3        4     0.000011950  3645  I   R 4938888 + 256 [java]
  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]
  8,16   1        6 1266874889.708668759  3646  D   R 5632664 + 256 [java]
  8,16   2        5     0.002036907  3643  D  WS 4931672 + 8 [jbd2/sda-8]
  8,16   5        0     0.002040000     0  m   N cfq18615S / insert_request
  8,16   0        7     0.001795683  3557  D   D 64 + 8 [fstrim]
  8,16   0        8     0.002900000  3557  D  FN [kworker/0:1H]
  8,16   0        9     0.002950000  3557  D   R 36 (12 00 00 00 24 00 ..) [udisksd]
  8,16   0       10     0.003000000  3557  D WFS 128 + 8 [jbd2/sda-8]
CPU0 (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB

Total (8,16):
Throughput (R/W): 878KiB/s / 214KiB/s
Events (8,16): 5472 entries
Skips: 0 forward (0 -   0.0%)
";

#[test]
fn blkparse_takes_one_action_sorts_and_drops_wrapped_stamps() {
    let got = found(BLKPARSE);
    assert_eq!(got.format, TraceFormat::Blkparse);
    assert_eq!((got.left_out.wrapped, got.left_out.ignored), (1, 10));
    let at = |ns: u128| (ns - 26_421) * 1000;
    let expected = [
        (0, Read, 4_938_888 * 512, 131_072),
        (at(1_795_683), Trim, 64 * 512, 4096),
        (at(2_036_907), Write, 4_931_672 * 512, 4096),
        (at(2_900_000), Flush, 0, 0),
        (at(3_000_000), Write, 128 * 512, 4096),
    ];
    assert_eq!(rows(&got), expected);
    assert!(got.records[4].fua && !got.records[2].fua);
    assert_eq!(got.devices, ["8,16"]);
    let queued = TraceOptions { action: Some("I".into()), ..TraceOptions::default() };
    assert_eq!(read(BLKPARSE, &queued).unwrap().records.len(), 1);
    let none = TraceOptions { action: Some("Q".into()), ..TraceOptions::default() };
    fails(BLKPARSE, &none, &["no request in this trace", "other events", "trace.action=Q"]);
    let wrong = TraceOptions { action: Some("X".into()), ..TraceOptions::default() };
    fails(BLKPARSE, &wrong, &["trace.action = \"X\": must be one of Q, G, I, D, C"]);
    let unsorted = TraceOptions { sort_window: Some(0), ..TraceOptions::default() };
    fails(BLKPARSE, &unsorted, &["runs backwards", "`sort_window`"]);
    let other = BLKPARSE.replace("CPU0", "what");
    fails(other, &TraceOptions::default(), &["line 11: line", "is no event of blkparse's default layout"]);
}

/// A record of blktrace: action with category, time in ns, sector, bytes, and trailing data.
fn blktrace(version: u32, big: bool, action: u64, time: u64, sector: u64, bytes: u32, rest: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut put = |value: u64, width: usize| {
        let bytes = value.to_be_bytes();
        let part = &bytes[8 - width..];
        if big {
            out.extend(part);
        } else {
            out.extend(part.iter().rev());
        }
    };
    put(u64::from(0x6561_7400 | version), 4);
    put(1, 4);
    put(time, 8);
    put(sector, 8);
    put(bytes.into(), 4);
    if version == 7 {
        put(action, 4);
        put(3557, 4);
    } else {
        put(3557, 4);
        put(action, 8);
    }
    put(8 << 20 | 16, 4);
    put(2, 4);
    put(0, 2);
    put(rest.len() as u64, 2);
    if version == 8 {
        put(0, 8);
        put(0, 4);
    }
    out.extend(rest);
    out
}

const ISSUE: u64 = 7 | 1 << 22;
const QUEUE: u64 = 1 | 1 << 20;
const READ_BIT: u64 = 1 << 16;
const WRITE_BIT: u64 = 1 << 17;

fn blktrace_file(version: u32, big: bool) -> Vec<u8> {
    let record = |action, time, sector, bytes, rest: &[u8]| blktrace(version, big, action, time, sector, bytes, rest);
    [
        record(1 << 26, 0, 0, 0, b"java"),
        record(QUEUE | READ_BIT, 900, 8, 4096, b""),
        record(ISSUE | READ_BIT, 1_000, 8, 4096, b""),
        record(ISSUE | WRITE_BIT | 1 << 31, 3_000, 16, 512, b"abc"),
        record(ISSUE | WRITE_BIT | 1 << 29, 2_000, 24, 8192, &[7; 300]),
        record(ISSUE | WRITE_BIT | 1 << 18, 4_000, 0, 0, b""),
        record(ISSUE | READ_BIT | 1 << 25, 4_500, 0, 36, b""),
        record(ISSUE | READ_BIT, u64::MAX - 5, 8, 512, b""),
    ]
    .concat()
}

#[test]
fn blktrace_has_two_versions_and_two_byte_orders() {
    let expected = [(0, Read, 4096, 4096), (US, Trim, 12_288, 8192), (2 * US, Write, 8192, 512), (3 * US, Flush, 0, 0)];
    for (version, big) in [(7, false), (7, true), (8, false), (8, true)] {
        let content = blktrace_file(version, big);
        for packed in [content.clone(), gz(&content), zst(&content)] {
            let got = found(packed);
            assert_eq!(got.format, TraceFormat::Blktrace);
            assert_eq!(rows(&got), expected, "{version} {big}");
            assert_eq!((got.left_out.wrapped, got.left_out.ignored), (1, 3));
            assert!(got.records[2].fua && got.devices == ["8,16"]);
        }
        let micro = TraceOptions { time_unit: Some(TimeUnit::Us), ..TraceOptions::default() };
        let got = read(&content, &micro).unwrap();
        assert_eq!(got.records[1].time_ps, 1_000 * US, "old kernels count microseconds");
        fails(&content[..content.len() - 3], &TraceOptions::default(), &["record 8: length", "ends within it"]);
        let mut damaged = content.clone();
        let third = content.len() - blktrace(version, big, 0, 0, 0, 0, b"").len();
        damaged[third + 1] ^= 0xff;
        fails(&damaged, &TraceOptions::default(), &["record 8: record", "magic number"]);
    }
}

#[test]
fn files_of_processors_are_merged_by_time() {
    let folder = Scratch::new("");
    let folder = folder.path().with_extension("dir");
    std::fs::create_dir(&folder).unwrap();
    for cpu in 0..3_u64 {
        let records: Vec<_> = (0..1000)
            .map(|n| blktrace(7, false, ISSUE | READ_BIT, 1000 + n * 30 + cpu * 10, (n * 3 + cpu) * 8, 4096, b""))
            .collect();
        std::fs::write(folder.join(format!("sda.blktrace.{cpu}")), records.concat()).unwrap();
    }
    let check = |whole: Whole| {
        let order: Vec<_> = whole.records.iter().map(|r| (r.time_ps / 10_000, r.offset / 4096)).collect();
        assert_eq!(order, (0..3000).map(|n| (u128::from(n), n)).collect::<Vec<u64_pair>>());
        assert!(whole.reason.contains("3 files, merged by time"), "{}", whole.reason);
    };
    #[allow(non_camel_case_types)]
    type u64_pair = (u128, u64);
    let plain = TraceOptions::default();
    check(TraceReader::open(&folder, &plain).map(drain).unwrap().unwrap());
    check(TraceReader::open(&folder.join("sda.blktrace.*"), &plain).map(drain).unwrap().unwrap());
    let files = (0..3).map(|cpu| format!("sda.blktrace.{cpu}").into()).collect();
    let listed = TraceOptions { files, ..TraceOptions::default() };
    check(TraceReader::open(&folder, &listed).map(drain).unwrap().unwrap());
    // Concatenated, their times go backwards.
    let order = TraceOptions { join: Join::Order, ..TraceOptions::default() };
    let error = TraceReader::open(&folder, &order).map(drain).unwrap().err().unwrap();
    assert!(error.contains("sda.blktrace.1, record 1: time: runs backwards"), "{error}");
    std::fs::write(folder.join("sda.txt"), "1,web,0,Read,0,512,9\n").unwrap();
    let error = TraceReader::open(&folder, &plain).err().unwrap().to_string();
    assert!(error.contains("sda.txt: this file is of format msr") && error.contains("of format blktrace"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn errors_of_merged_files_name_the_right_line() {
    let one = Scratch::new("10,web,0,Read,0,512,9\n30,web,0,Read,0,0,9\n");
    let two = Scratch::new("20,web,1,Write,0,512,9\n40,web,1,Write,0,512,9\n");
    let files = vec![two.path().to_owned(), one.path().to_owned()];
    let options = TraceOptions { files, ..TraceOptions::default() };
    let error = TraceReader::open("".as_ref(), &options).map(drain).unwrap().err().unwrap();
    let expected = format!("{}, line 2: size: is zero", one.path().display());
    assert!(error.starts_with(&expected) && error.ends_with("line 2: 30,web,0,Read,0,0,9"), "{error}");
}

#[test]
fn parts_follow_each_other() {
    let one = Scratch::new("0 8 0 0\n8 8 0 1\n");
    let two = Scratch::new("16 8 0 2\n");
    let files = vec![one.path().to_owned(), two.path().to_owned()];
    let options = TraceOptions { files, ..given(TraceFormat::Arc) };
    let got = TraceReader::open("".as_ref(), &options).map(drain).unwrap().unwrap();
    assert_eq!(rows(&got), [(0, Read, 0, 4096), (0, Read, 4096, 4096), (0, Read, 8192, 4096)]);
    assert!(!got.timed && got.reason.contains("2 files, one after another"), "{}", got.reason);
}

#[test]
fn hp_labs_as_text_and_as_recorded() {
    let text = found("0.000000 1 270336 4096 R 174 19687 1\n30.183968 0 172552192 8192 W 146 36899 1\n");
    let expected = [(0, Read, 270_336, 4096), (30_183_968 * US, Write, 172_552_192, 8192)];
    assert_eq!((text.format, rows(&text)), (TraceFormat::Hp, expected.to_vec()));
    let mut content = b"$$TR_IOREC-1.3 (test)\0\nversion = 1.3;\n\x0c".to_vec();
    for (s, us, bytes, sector, device, flags) in
        [(0, 0, 4096, 1056, 0x0800_0107_u32, 0x1b), (30, 183_968, 8192, 674_032, 0x0800_000f, 0x1a)]
    {
        for word in [56, 0x0004_0001, s, us, 174, 19_687, bytes, sector, device, 4, 1, flags, 0, 1] {
            content.extend_from_slice(&u32::to_be_bytes(word));
        }
    }
    let got = found(zst(&content));
    assert_eq!((got.format, rows(&got)), (TraceFormat::HpSrt, expected.to_vec()));
    assert_eq!((got.devices, text.devices), (vec!["1".into(), "0".into()], vec!["1".to_owned(), "0".to_owned()]));
    content.extend([0, 0, 0, 1, 2]);
    fails(&content, &TraceOptions::default(), &["record 3: size `1`", "is no size of a record"]);
}

#[test]
fn fiu_has_names_with_blanks() {
    let sum = "88b93b628d84082186026d9da044f173";
    let got = found(format!(
        "89966527950584 4253 nfsd 508516672 8 W 6 0 {sum}\n89966527996712 4253 a b c 508516680 8 R 6 0 {sum}\n"
    ));
    assert_eq!((got.format, got.devices.clone()), (TraceFormat::Fiu, vec!["6,0".to_owned()]));
    assert_eq!(rows(&got), [(0, Write, 508_516_672 * 512, 4096), (46_128_000, Read, 508_516_680 * 512, 4096)]);
}

#[test]
fn arc_lists_have_no_time() {
    let got = read("230027 8 0 0\n1842745 64 0 1\n", &given(TraceFormat::Arc)).unwrap();
    assert_eq!(rows(&got), [(0, Read, 230_027 * 512, 4096), (0, Read, 1_842_745 * 512, 32_768)]);
}

#[test]
fn emmc_says_its_size_twice() {
    let got = found(
        "0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n\
         376834 2 1024 5 1.741780627 1.75 1.76 1.77\n",
    );
    assert_eq!(
        (got.format, rows(&got)),
        (TraceFormat::Emmc, vec![(0, Read, 0, 4096), (MS, Write, 376_834 * 512, 1024)])
    );
    let wrong = "0 8 4096 0 1.0 1.1 1.2 1.3\n".repeat(100) + "0 8 512 0 1.0 1.1 1.2 1.3\n";
    fails(wrong, &TraceOptions::default(), &["line 101: bytes `512`", "is not the sectors"]);
}

#[test]
fn wiscsee_takes_one_event() {
    let got = found(
        "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 0.000122793 False\n\
         39949 D write 331776 4096 0.000196695 7.3902e-05 True\n39949 D discard 0 4096 0.0002 0 False\n",
    );
    assert_eq!((got.format, got.left_out.ignored), (TraceFormat::Wiscsee, 1));
    let expected = [(0, Read, 299_008, 4096), (196_695_000, Write, 331_776, 4096), (200 * US, Trim, 0, 4096)];
    assert_eq!(rows(&got), expected);
}

#[test]
fn a_pattern_reads_anything() {
    let pattern = r"^(?<time>\d+\.\d+)s (?<device>\w+): (?<op>\w+) @(?<lba>\d+) len=(?<size>\d+)";
    let options = TraceOptions {
        pattern: Some(pattern.into()),
        time_unit: Some(TimeUnit::S),
        unmatched: Unmatched::Skip,
        read_is: Some("get".into()),
        write_is: Some("put".into()),
        ..TraceOptions::default()
    };
    let lines = "-- started --\n1.5s vda: get @8 len=512\n1.75s vdb: put @16 len=4096 ok\n";
    let got = read(lines, &options).unwrap();
    assert_eq!((got.format, got.left_out.ignored), (TraceFormat::Pattern, 1));
    assert_eq!(rows(&got), [(0, Read, 4096, 512), (S / 4, Write, 8192, 4096)]);
    assert_eq!(got.devices, ["vda", "vdb"]);
    let strict = TraceOptions { unmatched: Unmatched::Error, ..options.clone() };
    fails(lines, &strict, &["line 1: line", "not matched by the pattern", "unmatched=skip"]);
    let with = |pattern: &str| TraceOptions { pattern: Some(pattern.into()), ..options.clone() };
    fails(lines, &with("(?<op>"), &["trace.pattern", "no regular expression"]);
    fails(lines, &with("(?<op>.)"), &["needs a group for the address: (?<offset>…) or (?<lba>…)"]);
    fails(lines, &with("(?<opp>.)"), &["no group may be called \"opp\"", "did you mean `op`?"]);
    let unitless = TraceOptions { time_unit: None, ..options.clone() };
    fails(lines, &unitless, &["trace.time_unit = nothing", "does not define its time unit"]);
    let other = TraceOptions { format: Some(TraceFormat::Msr), ..options };
    fails(lines, &other, &["does not apply to a trace of format msr"]);
}

#[test]
fn a_stated_share_of_bad_lines_may_be_left_out() {
    let mut lines: Vec<String> = (0..20_000).map(|n| format!("{n},web,0,Read,{},512,9", n * 512)).collect();
    lines[7] = "garbage".to_owned();
    lines[9_000] = "9000,web,0,Read,x,512,9".to_owned();
    let mut content = lines.join("\n").into_bytes();
    let options = |skip_bad| TraceOptions { skip_bad, ..TraceOptions::default() };
    let got = read(&content, &options(0.001)).unwrap();
    assert_eq!((got.records.len(), got.left_out.unreadable), (19_998, 2));
    fails(&content, &options(0.0), &["line 8: columns", "garbage"]);
    // The share is of all 20,000 lines, wherever the bad ones are.
    assert_eq!(read(&content, &options(0.0001)).unwrap().left_out.unreadable, 2);
    let more = ["line 9001: Offset `x`", "2 of 20000 lines cannot be read, more than skip_bad = 0.00009"];
    fails(&content, &options(0.000_09), &more);
    // Damaged text is a bad line, too; reading continues after it.
    let at = content.len() - 4;
    content[at] = 0xff;
    assert_eq!(read(&content, &options(0.001)).unwrap().left_out.unreadable, 3);
    fails(&content, &options(1.5), &["trace.skip_bad = 1.5: must be a share"]);
    // The share of a short trace covers few lines.
    let short = lines[..10].join("\n");
    fails(short, &options(0.001), &["line 8: columns", "1 of 10 lines", "skip_bad = 0.001"]);
    // A file of another kind is not read to its end.
    let mut other = "0,web,0,Read,0,512,9\n".to_owned();
    other.push_str(&"garbage\n".repeat(5_000));
    fails(
        other,
        &options(0.001),
        &["line 1002", "1001 of 1002 lines cannot be read, more than skip_bad = 0.001 allows of 1000000"],
    );
}

#[test]
fn a_bad_first_line_says_nothing_of_the_others() {
    let lines = |separator: &str| -> String {
        (0..2_000).map(|n| format!("{n},web,0,Read,{},512,9\n", n * 512).replace(',', separator)).collect()
    };
    let options = |skip_bad| TraceOptions { skip_bad, format: Some(TraceFormat::Msr), ..TraceOptions::default() };
    for (first, separator) in [("garbage", ","), ("a,b", " "), ("\u{e9}", ",")] {
        let content = format!("{first}\n{}", lines(separator));
        let got = read(content.as_bytes(), &options(0.001)).unwrap();
        assert_eq!((got.records.len(), got.left_out.unreadable), (2_000, 1), "{first}");
        fails(content, &options(0.0), &["line 1: columns"]);
    }
    let damaged = [b"\xff\xfe,\n", lines(",").as_bytes()].concat();
    let damaged = [b"x", &damaged[..]].concat();
    assert_eq!(read(&damaged, &options(0.001)).unwrap().left_out.unreadable, 1);
    fails(&damaged, &options(0.0), &["line 1: text", "not UTF-8"]);
}
