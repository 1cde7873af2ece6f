//! Written traces are read back: random records through every format, compressed and not, and damaged tables.

use crate::common::Scratch;
use std::path::Path;
use wordline_base::{Op, Stream};
use wordline_workload::{
    convert, OutputFormat, Record, TimeUnit, TraceFormat, TraceOptions, TraceReader, TraceWriter, WriteOptions, Written,
};

/// Limits of a test's records.
#[derive(Clone, Copy)]
struct Kind {
    ops: u64,
    fua: bool,
    /// Multiple of bytes.
    grain: u64,
    /// Times are multiples of this many ps.
    tick: u128,
    devices: u64,
}

fn random_records(seed: u64, count: usize, kind: Kind) -> Vec<Record> {
    let mut random = Stream::new(seed, "writers-test", 0);
    let mut time = 0;
    let records = (0..count).map(|n| {
        if n > 0 {
            // Gaps of all magnitudes, and none.
            let bits = random.below(44);
            time += u128::from(random.below(1 << bits)) / kind.tick * kind.tick;
        }
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][random.below(kind.ops) as usize];
        // The first records name all devices, in order.
        let device = if (n as u64) < kind.devices { n as u64 } else { random.below(kind.devices) } as u32;
        let op = if (n as u64) < kind.devices { Op::Write } else { op };
        let bits = 10 + random.below(46);
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (
                random.below(1 << bits) / kind.grain * kind.grain,
                ((1 + random.below(1 << 20)).next_multiple_of(kind.grain)) as u32,
            ),
        };
        Record { time_ps: time, device, offset, bytes, op, fua: kind.fua && op == Op::Write && random.below(3) == 0 }
    });
    records.collect()
}

fn options(format: OutputFormat) -> WriteOptions {
    WriteOptions { format, drop: false, round: false, note: Some("a note\nof two lines".to_owned()) }
}

fn write(path: &Path, name: &str, options: WriteOptions, records: &[Record], devices: &[String]) -> Written {
    let mut writer = TraceWriter::create(Some(path), name, options).unwrap();
    records.iter().for_each(|record| writer.write(record, devices).unwrap());
    writer.finish().unwrap()
}

fn read(path: &Path, format: Option<TraceFormat>) -> (Vec<Record>, Vec<String>) {
    let options = TraceOptions { format, ..TraceOptions::default() };
    let mut reader = TraceReader::open(path, &options).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record);
    }
    (records, reader.devices().to_vec())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Writes and reads back, plain and compressed.
fn round_trip(format: OutputFormat, reads: Option<TraceFormat>, kind: Kind, devices: &[String]) {
    for seed in 0..4 {
        let records = random_records(seed, 3000, kind);
        let endings: &[&str] = if format == OutputFormat::Parquet { &[""] } else { &["", ".gz", ".zst"] };
        for ending in endings {
            let file = Scratch::new(b"");
            let written = write(file.path(), &format!("out.x{ending}"), options(format), &records, devices);
            assert_eq!((written.requests, written.times_cut), (3000, 0), "{format:?}");
            let (got, got_devices) = read(file.path(), reads);
            assert_eq!(got, records, "{format:?}{ending}, seed {seed}");
            if !devices.is_empty() {
                assert_eq!(got_devices, devices, "{format:?}");
            }
        }
    }
}

#[test]
fn csv_and_parquet_keep_everything() {
    let kind = Kind { ops: 4, fua: true, grain: 1, tick: 1, devices: 3 };
    let devices = names(&["sda", "hm_0", "7"]);
    round_trip(OutputFormat::Csv, None, kind, &devices);
    round_trip(OutputFormat::Parquet, None, kind, &devices);
    let alone = Kind { devices: 1, ..kind };
    round_trip(OutputFormat::Csv, None, alone, &[]);
    round_trip(OutputFormat::Parquet, None, alone, &[]);
}

#[test]
fn msr_keeps_reads_and_writes_to_its_ticks() {
    let kind = Kind { ops: 2, fua: false, grain: 1, tick: 100_000, devices: 3 };
    round_trip(OutputFormat::Msr, None, kind, &names(&["hm_0", "hm_1", "web_2"]));
}

#[test]
fn the_five_columns_keep_reads_and_writes_of_whole_blocks() {
    let kind = Kind { ops: 2, fua: false, grain: 512, tick: 1, devices: 3 };
    let devices = names(&["0", "4", "2"]);
    round_trip(OutputFormat::Disksim, Some(TraceFormat::Disksim), kind, &devices);
    let whole = Kind { tick: 1000, ..kind };
    round_trip(OutputFormat::Mqsim, Some(TraceFormat::Mqsim), whole, &devices);
    round_trip(OutputFormat::Ssdsim, Some(TraceFormat::Ssdsim), whole, &devices);
}

#[test]
fn an_iolog_is_read_back() {
    let kind = Kind { ops: 4, fua: false, grain: 1, tick: 1_000_000, devices: 2 };
    round_trip(OutputFormat::Fio, None, kind, &names(&["/dev/sda", "hm_0"]));
}

#[test]
fn an_iolog_holds_every_request_and_opens_its_files() {
    let records = random_records(1, 500, Kind { ops: 4, fua: false, grain: 1, tick: 1_000_000, devices: 2 });
    let file = Scratch::new(b"");
    let devices = names(&["/dev/sda", "my disk"]);
    let written = write(file.path(), "out.iolog", options(OutputFormat::Fio), &records, &devices);
    assert_eq!(written.devices, ["/dev/sda", "my_disk"]);
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let mut open = Vec::new();
    let mut got = Vec::new();
    for line in lines {
        let fields: Vec<_> = line.split(' ').collect();
        match fields[..] {
            [_, name, "add"] => assert!(!open.contains(&name)),
            [_, name, "open"] => open.push(name),
            [_, name, "close"] => assert!(open.contains(&name)),
            [us, name, action, offset, length] => {
                let device = open.iter().position(|file| *file == name).expect("opened before its first use") as u32;
                let op = match action {
                    "read" => Op::Read,
                    "write" => Op::Write,
                    "trim" => Op::Trim,
                    "sync" => Op::Flush,
                    other => panic!("{other}"),
                };
                got.push(Record {
                    time_ps: us.parse::<u128>().unwrap() * 1_000_000,
                    device,
                    offset: offset.parse().unwrap(),
                    bytes: length.parse().unwrap(),
                    op,
                    fua: false,
                });
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(got, records);
    assert!(text.ends_with("/dev/sda close\n") || text.ends_with("my_disk close\n"));
}

#[test]
fn what_a_format_cannot_say_is_an_error_or_left_out_and_counted() {
    let record = |time_ps, op, bytes, fua| Record { time_ps, device: 0, offset: 1024, bytes, op, fua };
    let records = [
        record(0, Op::Write, 4096, true),
        record(150_000, Op::Trim, 4096, false),
        Record { offset: 0, bytes: 0, ..record(150_000, Op::Flush, 0, false) },
        record(250_001, Op::Read, 100, false),
    ];
    let refused = |format, records: &[Record]| {
        let file = Scratch::new(b"");
        let mut writer = TraceWriter::create(Some(file.path()), "out.x", options(format)).unwrap();
        let failed = records.iter().find_map(|record| writer.write(record, &[]).err());
        failed.expect("one is refused").to_string()
    };
    let message = refused(OutputFormat::Msr, &records);
    assert!(message.contains("out.x: request 1 is marked") && message.contains("--drop"), "{message}");
    let message = refused(OutputFormat::Disksim, &records[1..]);
    assert!(message.contains("request 1 is a trim") && message.contains("disksim"), "{message}");
    let message = refused(OutputFormat::Msr, &records[2..]);
    assert!(message.contains("request 1 is a flush"), "{message}");
    let message = refused(OutputFormat::Mqsim, &records[3..]);
    assert!(message.contains("covers 100 bytes from 1024") && message.contains("--round"), "{message}");
    let late = [Record { time_ps: 1 << 64, ..records[3] }];
    assert!(refused(OutputFormat::Parquet, &late).contains("213 days"));
    // A time that neither the tools of a format nor Wordline could read back.
    for format in OutputFormat::ALL {
        let late =
            [Record { time_ps: u128::MAX, ..records[0] }, Record { time_ps: format.latest_ps() + 1, ..records[0] }];
        let lenient = WriteOptions { drop: true, round: true, ..options(format) };
        for late in late {
            let mut writer = TraceWriter::create(Some(Scratch::new(b"").path()), "out.x", lenient.clone()).unwrap();
            let message = writer.write(&late, &[]).expect_err("too late").to_string();
            assert!(
                message.contains("out.x: request 1 comes ") && message.contains("after the first, and"),
                "{message}"
            );
        }
    }

    let file = Scratch::new(b"");
    let lenient = WriteOptions { drop: true, round: true, ..options(OutputFormat::Mqsim) };
    let written = write(file.path(), "out.x", lenient, &records, &[]);
    assert_eq!((written.requests, written.dropped, written.unmarked), (2, 2, 1));
    assert_eq!((written.times_cut, written.rounded), (1, 1));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "0 0 2 8 0\n250 0 2 1 1\n");
}

#[test]
fn lines_of_each_format_by_hand() {
    let records = [
        Record { time_ps: 0, device: 0, offset: 7_014_609_920, bytes: 24_576, op: Op::Write, fua: false },
        Record { time_ps: 1_234_500_000, device: 0, offset: 4096, bytes: 512, op: Op::Read, fua: false },
    ];
    for (format, expected) in [
        (OutputFormat::Msr, "0,hm,0,Write,7014609920,24576,0\n12345,hm,0,Read,4096,512,0\n"),
        (OutputFormat::Disksim, "0 0 13700410 48 0\n1.2345 0 8 1 1\n"),
        (OutputFormat::Ssdsim, "0 0 13700410 48 0\n1234500 0 8 1 1\n"),
        (
            OutputFormat::Fio,
            "fio version 3 iolog\n0 hm_0 add\n0 hm_0 open\n0 hm_0 write 7014609920 24576\n1234 hm_0 read 4096 512\n\
             1234 hm_0 close\n",
        ),
        (
            OutputFormat::Csv,
            "# a note\n# of two lines\ntime_us,device,op,offset_bytes,size_bytes,fua\n0,hm_0,W,7014609920,24576,0\n\
             1234.5,hm_0,R,4096,512,0\n",
        ),
    ] {
        let file = Scratch::new(b"");
        write(file.path(), "out.x", options(format), &records, &names(&["hm_0"]));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), expected, "{format:?}");
    }
}

#[test]
fn a_table_of_more_than_one_row_group_and_one_of_other_columns() {
    let records = random_records(9, 300_000, Kind { ops: 4, fua: true, grain: 512, tick: 1000, devices: 2 });
    let file = Scratch::new(b"");
    write(file.path(), "out.parquet", options(OutputFormat::Parquet), &records, &names(&["a,b", "c"]));
    let (got, devices) = read(file.path(), None);
    assert!(got == records);
    assert_eq!(devices, ["a,b", "c"]);
    // Column names can be mapped, as in CSV.
    let columns = wordline_workload::Columns { time: Some("size_bytes".to_owned()), ..Default::default() };
    let options = TraceOptions {
        columns,
        time_unit: Some(TimeUnit::Ns),
        backwards: wordline_workload::Backwards::Clamp,
        ..TraceOptions::default()
    };
    let mut reader = TraceReader::open(file.path(), &options).unwrap();
    reader.next_record().unwrap();
    assert!(reader.clamped() == 0 && reader.progress() > 0.0);
    let wrong = TraceOptions { format: Some(TraceFormat::Msr), ..TraceOptions::default() };
    let message = TraceReader::open(file.path(), &wrong).err().unwrap().to_string();
    assert!(message.contains("this is a Parquet table"), "{message}");
    let text = Scratch::new(b"time_us,op,offset_bytes,size_bytes\n1,R,0,512\n");
    let wrong = TraceOptions { format: Some(TraceFormat::Parquet), ..TraceOptions::default() };
    let message = TraceReader::open(text.path(), &wrong).err().unwrap().to_string();
    assert!(message.contains("this is no Parquet table"), "{message}");
}

#[test]
fn damaged_tables_are_errors_and_never_panics() {
    let records = random_records(5, 400, Kind { ops: 4, fua: true, grain: 512, tick: 1000, devices: 2 });
    let file = Scratch::new(b"");
    write(file.path(), "out.parquet", options(OutputFormat::Parquet), &records, &names(&["a", "b"]));
    let good = std::fs::read(file.path()).unwrap();
    let mut random = Stream::new(1, "writers-test", 1);
    let mut refused = 0;
    for n in 0..2000 {
        let mut bad = good.clone();
        if n % 4 == 0 {
            bad.truncate(4 + random.below(bad.len() as u64 - 4) as usize);
        } else {
            for _ in 0..1 + random.below(4) {
                let at = 4 + random.below(bad.len() as u64 - 4) as usize;
                bad[at] = random.bits() as u8;
            }
        }
        let file = Scratch::new(&bad);
        let read = TraceReader::open(file.path(), &TraceOptions::default()).and_then(|mut reader| {
            while reader.next_record()?.is_some() {}
            Ok(())
        });
        refused += u32::from(read.is_err());
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn windows_limits_and_speed() {
    let text = "time_us,op,offset_bytes,size_bytes\n0,R,0,512\n10,R,512,512\n20,W,0,512\n30,R,4096,512\n40,R,0,512\n";
    let source = Scratch::new(text.as_bytes());
    let run = |options: TraceOptions, window| {
        let out = Scratch::new(b"");
        let write = WriteOptions { note: None, ..self::options(OutputFormat::Csv) };
        let writer = TraceWriter::create(Some(out.path()), "out.csv", write).unwrap();
        let done = convert(source.path(), &options, window, writer, &mut |_| true);
        let text = std::fs::read_to_string(out.path()).unwrap();
        (done, text.lines().skip(1).map(ToOwned::to_owned).collect::<Vec<_>>())
    };
    let all = (0, u128::MAX);
    let (done, lines) = run(TraceOptions::default(), (10_000_000, 30_000_000));
    assert_eq!(done.unwrap().unwrap().written.requests, 2);
    assert_eq!(lines, ["0,R,512,512,0", "10,W,0,512,0"]);
    let (_, lines) = run(TraceOptions { limit: Some(2), speed: 4.0, ..TraceOptions::default() }, all);
    assert_eq!(lines, ["0,R,0,512,0", "2.5,R,512,512,0"]);
    let (done, _) = run(TraceOptions::default(), (1_000_000_000, u128::MAX));
    assert!(done.unwrap_err().to_string().contains("no request to write"));
    let (done, _) = run(TraceOptions { speed: 0.0, ..TraceOptions::default() }, all);
    assert!(done.unwrap_err().to_string().contains("trace.speed = 0"));
}

#[test]
fn formats_are_chosen_by_name_or_ending() {
    let choose = |given, name| OutputFormat::choose(given, name).map_err(|error| error.to_string());
    assert_eq!(choose(None, "a.csv.gz"), Ok(OutputFormat::Csv));
    assert_eq!(choose(None, "a.PARQUET"), Ok(OutputFormat::Parquet));
    assert_eq!(choose(None, "dir/x.iolog.zst"), Ok(OutputFormat::Fio));
    assert_eq!(choose(Some("msr"), "a.csv"), Ok(OutputFormat::Msr));
    assert!(choose(None, "a.txt").unwrap_err().contains("--to"));
    assert!(choose(None, "-").unwrap_err().contains("--to"));
    assert!(choose(Some("parket"), "-").unwrap_err().contains("did you mean `parquet`"));
    let packed = TraceWriter::create(None, "x.parquet.gz", options(OutputFormat::Parquet)).err().unwrap();
    assert!(packed.to_string().contains("compressed inside"));
}

#[test]
fn the_latest_time_of_each_format_is_read_back() {
    for format in OutputFormat::ALL {
        let (file, late) = (Scratch::new(b""), format.latest_ps());
        let record = |time_ps| Record { time_ps, device: 0, offset: 0, bytes: 512, op: Op::Read, fua: false };
        write(file.path(), "out.x", options(format), &[record(0), record(late)], &[]);
        let given = (!matches!(format, OutputFormat::Csv | OutputFormat::Parquet)).then(|| read_as(format));
        let (records, _) = read(file.path(), given);
        let resolution = u128::from(format.resolution_ps());
        assert_eq!(records[1].time_ps, late / resolution * resolution, "{format:?}");
    }
}

#[test]
fn a_copy_without_times_says_so_where_it_can() {
    let list = Scratch::new("7 2 0 0\n9 1 0 1\n");
    let options_of = |format| TraceOptions { format: Some(format), ..TraceOptions::default() };
    for format in OutputFormat::ALL {
        for note in [None, Some("a note".to_owned())] {
            let copy = Scratch::new(b"");
            let how = WriteOptions { note, ..options(format) };
            let writer = TraceWriter::create(Some(copy.path()), "out.x", how).unwrap();
            let arc = options_of(TraceFormat::Arc);
            let told = convert(list.path(), &arc, (0, u128::MAX), writer, &mut |_| true).unwrap().unwrap();
            let says = matches!(format, OutputFormat::Csv | OutputFormat::Parquet);
            assert_eq!((told.timed, told.says_untimed), (false, says), "{format:?}");
            let reader = TraceReader::open(copy.path(), &options_of(read_as(format))).unwrap();
            assert_eq!(reader.timed(), !says, "{format:?}");
            if says {
                assert!(reader.detected().reason.contains("only the order counts"));
                let (again, writer) = (Scratch::new(b""), |path: &Path| {
                    TraceWriter::create(Some(path), "out.x", options(OutputFormat::Csv)).unwrap()
                });
                let whole = TraceOptions::default();
                let told = convert(copy.path(), &whole, (0, u128::MAX), writer(again.path()), &mut |_| true);
                assert!(!told.unwrap().unwrap().timed, "a copy of the copy");
            }
        }
    }
}

/// The format as which a written one is read.
fn read_as(format: OutputFormat) -> TraceFormat {
    match format {
        OutputFormat::Msr => TraceFormat::Msr,
        OutputFormat::Disksim => TraceFormat::Disksim,
        OutputFormat::Mqsim => TraceFormat::Mqsim,
        OutputFormat::Ssdsim => TraceFormat::Ssdsim,
        OutputFormat::Fio => TraceFormat::Fio,
        OutputFormat::Csv => TraceFormat::Csv,
        OutputFormat::Parquet => TraceFormat::Parquet,
    }
}
