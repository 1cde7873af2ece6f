//! Every possible error in a trace, and its message.

use crate::common::{gz, replay, zst, Scratch};
use wordline_workload::{detect, info, Backwards, Pace, PastEnd, TraceFormat, TraceOptions, ZeroSize};

const DRIVE: u64 = 1 << 30;

fn options(format: TraceFormat) -> TraceOptions {
    TraceOptions { format: Some(format), ..TraceOptions::default() }
}

/// The error of replaying these lines, which must contain all of `parts`.
fn fails(content: impl AsRef<[u8]>, options: TraceOptions, parts: &[&str]) {
    let error = replay(content, options, DRIVE).expect_err("this must fail").to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

const MSR: &str = "128000000000000000,web,0,Read,4096,512,9\n128000000000000010,web,0,Write,0,4096,9\n";

#[test]
fn a_bad_field_names_file_line_field_value_and_remedy() {
    let file = Scratch::new(format!("{MSR}128000000000000020,web,0,Read,40x6,512,9\n"));
    let error = info(file.path(), &TraceOptions::default()).unwrap_err().to_string();
    let expected = format!(
        "{}, line 3: Offset `40x6`: not a number; expected a whole number\n  line 3: \
         128000000000000020,web,0,Read,40x6,512,9",
        file.path().display()
    );
    assert_eq!(error, expected);
}

#[test]
fn numbers_that_are_none() {
    let d = || options(TraceFormat::Disksim);
    fails("nan 0 8 8 1\n", d(), &["line 1: time `nan`", "not a finite number"]);
    fails("inf 0 8 8 1\n", d(), &["not a finite number"]);
    fails("-1.5 0 8 8 1\n", d(), &["time `-1.5`", "must not be negative"]);
    fails("1 0 -8 8 1\n", d(), &["block number `-8`", "must not be negative"]);
    fails("1 0 8 2097153 1\n", d(), &["block count `2097153`", "over 1 GiB"]);
    fails("1 0 36028797018963968 1 1\n", d(), &["block number", "exceeds 2^64 bytes"]);
    let top = "128000000000000000,web,0,Read,18446744073709551615,512,9\n";
    fails(top, TraceOptions::default(), &["18446744073709551615 + size 512 exceeds 2^64 bytes"]);
    fails("1 0 99999999999999999999 1 1\n", d(), &["too large"]);
}

#[test]
fn time_that_runs_backwards() {
    let lines = "5.0 0 0 8 1\n2.5 0 8 8 1\n7 0 8 8 1\n";
    let d = options(TraceFormat::Disksim);
    fails(lines, d.clone(), &["line 2: time", "runs backwards: 0.0025 s", "`backwards = \"clamp\"`"]);
    let clamped = replay(lines, TraceOptions { backwards: Backwards::Clamp, ..d }, DRIVE).unwrap();
    assert_eq!(clamped.iter().map(|r| r.arrival).collect::<Vec<_>>(), [0, 0, 2_000_000_000]);
}

#[test]
fn lines_of_another_layout() {
    let mixed = format!("{MSR}1 2 3 4 5\n");
    fails(
        &mixed,
        TraceOptions::default(),
        &["line 3: columns", "has 1 where an MSR trace has 7", "this line has blanks"],
    );
    fails(format!("{MSR}1,2\n"), TraceOptions::default(), &["has 2 where an MSR trace has 7"]);
    fails("1 0 8 8 1\n1 0 8 8\n", options(TraceFormat::Mqsim), &["line 2", "has 4 where format mqsim has 5"]);
    let csv = "time_s,op,lba,blocks\n0,R,0,8\n1,R,8\n";
    fails(csv, TraceOptions::default(), &["line 3", "has 3 where the header has 4, separated by commas"]);
    fails("1 0 8 8 x\n", options(TraceFormat::Mqsim), &["op `x`", "must be 1 for a read or 0 for a write"]);
    fails("time_s,op,lba,blocks\n0,Q,0,8\n", TraceOptions::default(), &["op `Q`", "must be read, write, trim"]);
}

#[test]
fn requests_of_nothing() {
    let lines = "1 0 8 8 1\n2 0 8 0 1\n3 0 8 8 1\n";
    let d = options(TraceFormat::Disksim);
    fails(lines, d.clone(), &["line 2: size: is zero", "`zero_size = \"skip\"`"]);
    let skip = TraceOptions { zero_size: ZeroSize::Skip, ..d };
    assert_eq!(replay(lines, skip.clone(), DRIVE).unwrap().len(), 2);
    fails("2 0 8 0 1\n", skip, &["no request in this trace", "all its 1 requests have zero bytes"]);
}

#[test]
fn empty_files() {
    fails("", TraceOptions::default(), &["no request in this trace: it has no line with data"]);
    fails("# nothing\n\n", options(TraceFormat::Msr), &["no line with data"]);
    fails("time_s,op,lba,blocks\n", TraceOptions::default(), &["nothing after its header"]);
    fails(gz(b""), TraceOptions::default(), &["no line with data"]);
}

#[test]
fn files_that_are_cut_off_or_damaged() {
    let content: String =
        (0..20_000).map(|n| format!("{n}.{:03} 0 {} 8 1\n", n * 7919 % 1000, n * 104_729 % 9973)).collect();
    let d = options(TraceFormat::Disksim);
    for (packed, kind) in [(gz(content.as_bytes()), "gzip"), (zst(content.as_bytes()), "zstd")] {
        let whole = replay(&packed, d.clone(), DRIVE).unwrap();
        assert_eq!(whole.len(), 20_000);
        for part in [packed.len() / 2, packed.len() - 1, 5] {
            let error = replay(&packed[..part], d.clone(), DRIVE).unwrap_err().to_string();
            let cut = format!("the {kind} data is cut off after line ");
            assert!(error.contains(&cut), "{kind} {part}: {error}");
        }
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0xa5);
        let error = replay(&damaged, d.clone(), DRIVE).unwrap_err().to_string();
        assert!(error.contains(kind) || error.contains("line "), "{error}");
    }
}

#[test]
fn truncation_says_after_which_line() {
    // One frame per line, the third of them truncated.
    let frames: Vec<_> =
        ["1 0 8 8 1\n", "2 0 8 8 1\n", "3 0 8 8 1\n"].iter().map(|line| zst(line.as_bytes())).collect();
    let whole = frames.concat();
    assert_eq!(replay(&whole, options(TraceFormat::Disksim), DRIVE).unwrap().len(), 3, "several frames are one file");
    fails(&whole[..whole.len() - 3], options(TraceFormat::Disksim), &["the zstd data is cut off after line 2"]);
    let members: Vec<_> = ["1 0 8 8 1\n", "2 0 8 8 1\n"].iter().map(|line| gz(line.as_bytes())).collect();
    let whole = members.concat();
    assert_eq!(replay(&whole, options(TraceFormat::Disksim), DRIVE).unwrap().len(), 2, "several members are one file");
    fails(&whole[..whole.len() - 3], options(TraceFormat::Disksim), &["the gzip data is cut off after line "]);
}

#[test]
fn files_that_are_no_text() {
    fails([0_u8, 1, 2, 3, 0, 0, 0, 9], TraceOptions::default(), &["this is not a text trace", "NUL bytes"]);
    fails(b"1,2,3\xff\n", TraceOptions::default(), &["not UTF-8 text (byte 0xff at column 6)"]);
    fails(b"PK\x03\x04zip", TraceOptions::default(), &["a zip archive", "unpack it first"]);
    fails(vec![b'7'; 300_000], TraceOptions::default(), &["longer than 64 KiB"]);
    let error = info("/nowhere/at/all".as_ref(), &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all: "), "{error}");
}

#[test]
fn arrivals_beyond_the_end_of_time() {
    let lines = "0 0 8 8 1\n9300000000 0 8 8 1\n";
    fails(lines, options(TraceFormat::Disksim), &["line 2: time", "9300000 s after the first", "106 days", "`speed`"]);
    let faster = TraceOptions { speed: 2.0, ..options(TraceFormat::Disksim) };
    assert_eq!(replay(lines, faster, DRIVE).unwrap()[1].arrival, 4_650_000_000_000_000_000);
}

#[test]
fn five_columns_are_never_guessed() {
    let file = Scratch::new("1000000 0 8 8 1\n3000000 0 8 8 0\n");
    let error = detect(file.path()).unwrap_err().to_string();
    for part in [
        "give the format",
        "first line: 1000000 0 8 8 1",
        "\"disksim\"                     2000 s in ms         4.0 KiB in blocks of 512",
        "\"disksim-4k\"                  2000 s in ms        32.0 KiB in blocks of 4096",
        "\"mqsim\"                      0.002 s in ns",
        "\"ssdsim\"                     0.002 s in ns",
        "--format",
    ] {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
    let fractions = Scratch::new("1.5 0 8 8 1\n");
    assert!(detect(fractions.path()).unwrap_err().to_string().contains("but times have fractions"));
}

#[test]
fn unknown_layouts_list_the_choices() {
    fails(
        "hello world\n",
        TraceOptions::default(),
        &["not recognised", "first line: hello world", "formats that can be given", "msr, spc", "csv, pattern"],
    );
    let commented = "# made by hand\n\nhello world\n";
    fails(commented, TraceOptions::default(), &["line 3, the first with data: hello world"]);
    fails("when;what;where\n1;2;3\n", TraceOptions::default(), &["CSV header of 3 columns separated by semicolons"]);
    let csv = "time_s,op,offset_bytes\n1,R,0\n";
    fails(csv, TraceOptions::default(), &["line 1: header", "no column with the size", "[time_s, op, offset_bytes]"]);
}

#[test]
fn a_device_that_is_not_there() {
    let wrong = TraceOptions { device: Some("web_1".into()), ..TraceOptions::default() };
    fails(MSR, wrong, &["trace.device = \"web_1\": no such device; this trace has web_0; did you mean `web_0`?"]);
}

#[test]
fn addresses_beyond_the_drive() {
    let line = format!("128000000000000000,web,0,Read,{DRIVE},4096,9\n");
    fails(
        line,
        TraceOptions::default(),
        &["line 1: offset", "1073741824 + 4096", "has 1073741824 bytes", "wrap", "scale"],
    );
}

#[test]
fn options_that_make_no_sense() {
    let d = || TraceOptions::default();
    fails(MSR, TraceOptions { speed: 0.0, ..d() }, &["trace.speed = 0: must be above 0"]);
    fails(MSR, TraceOptions { speed: f64::NAN, ..d() }, &["trace.speed = NaN"]);
    fails(MSR, TraceOptions { loops: 0, ..d() }, &["trace.loops = 0: must be at least 1"]);
    fails(MSR, TraceOptions { iodepth: Some(0), ..d() }, &["trace.iodepth = 0"]);
    fails(
        MSR,
        TraceOptions { read_is: Some("1".into()), ..d() },
        &["trace.read_is = \"1\": does not apply to a trace of format msr; it is for parquet, disksim"],
    );
    let mut columns = TraceOptions::default();
    columns.columns.op = Some("opp".into());
    let csv = "time_s,op,lba,blocks\n0,R,0,8\n";
    fails(csv, columns, &["trace.columns.op = \"opp\": no such column", "did you mean `op`?"]);
    let mut columns = TraceOptions::default();
    columns.columns.time = Some("when".into());
    fails("when,op,lba,blocks\n0,R,0,8\n", columns, &["its unit is not in its name; give `time_unit`"]);
}

#[test]
fn columns_that_could_both_be_meant_are_told() {
    let row = "0,R,4096,8,512\n";
    let d = TraceOptions::default;
    for (header, wanted) in [
        ("time_us,op,offset_bytes,lba,size_bytes", "offset_bytes and lba could both be the address"),
        ("time_us,op,offset_bytes,offset_bytes,size_bytes", "columns 3 and 4 are both called offset_bytes"),
        ("time_us,op,lba,blocks,size_bytes", "size_bytes and blocks could both be the size"),
        ("time_us,op,lba,time_s,size_bytes", "time_s and time_us could both be the time"),
        ("time_us,Op,lba,OP,size_bytes", "Op and OP could both be the operation"),
    ] {
        fails(format!("{header}\n{row}"), d(), &["line 1: header", wanted]);
    }
    let named = |key: &dyn Fn(&mut TraceOptions)| {
        let mut options = d();
        key(&mut options);
        options
    };
    let both = format!("time_us,op,offset_bytes,lba,size_bytes\n{row}");
    let lba = named(&|o| o.columns.lba = Some("lba".into()));
    assert_eq!(replay(&both, lba, 1 << 20).unwrap()[0].offset, 4096);
    let bytes = named(&|o| o.columns.offset_bytes = Some("lba".into()));
    assert_eq!(replay(&both, bytes, 1 << 20).unwrap()[0].offset, 0, "8 bytes lie in the first sector");
    let two = named(&|o| (o.columns.lba, o.columns.offset_bytes) = (Some("lba".into()), Some("offset_bytes".into())));
    fails(both, two, &["`columns.offset_bytes` and `columns.lba` both name a column with the address"]);
}

#[test]
fn a_file_without_a_header_is_told_so() {
    let mut columns = TraceOptions::default();
    columns.columns.time = Some("x".into());
    fails(MSR, columns, &["line 1: header", "is a number and no name, so the file has no header", "another --format"]);
    let csv = TraceOptions { format: Some(TraceFormat::Csv), ..TraceOptions::default() };
    fails(MSR, csv, &["so the file has no header"]);
}

#[test]
fn options_that_mean_nothing_beside_others_are_told() {
    let d = TraceOptions::default;
    let (asap, wrap) = (Pace::Asap, PastEnd::Wrap);
    fails(
        MSR,
        TraceOptions { iodepth: Some(4), ..d() },
        &["trace.iodepth = 4: has no effect at `pace = \"timestamps\"`"],
    );
    fails(
        MSR,
        TraceOptions { pace: asap, speed: 2.0, ..d() },
        &["trace.speed = 2: has no effect at `pace = \"asap\"`"],
    );
    let extent = TraceOptions { past_end: wrap, extent_bytes: Some(1 << 30), ..d() };
    fails(MSR, extent, &["trace.extent_bytes = 1073741824: is used only by `past_end = \"scale\"`"]);
    let list = "7 2 0 0\n";
    fails(
        list,
        TraceOptions { speed: 2.0, ..options(TraceFormat::Arc) },
        &["has no effect in a trace without time stamps"],
    );
    let by_queue = TraceOptions { iodepth: Some(4), ..options(TraceFormat::Arc) };
    assert_eq!(replay(list, by_queue, DRIVE).unwrap().len(), 1, "the queue paces such a trace");
}
