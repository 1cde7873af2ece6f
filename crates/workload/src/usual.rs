//! Usual lines read at once, against the general way: the same requests, errors and figures, whatever the lines look like.

use crate::address::SECTOR;
use crate::error::WorkloadError;
use crate::format_options::TimeUnit;
use crate::options::{Backwards, Devices, PastEnd, Spread, TraceOptions, ZeroSize};
use crate::reader::formats::TraceFormat;
use crate::replay::{Standing, TraceStream};
use crate::testing::Scratch;
use crate::Space;
use wordline_base::{Request, Stream};

const DRIVE: u64 = 1 << 40;
const FORMATS: [TraceFormat; 11] = [
    TraceFormat::Msr,
    TraceFormat::Spc,
    TraceFormat::Alibaba,
    TraceFormat::Systor17,
    TraceFormat::Cloudphysics,
    TraceFormat::Tencent,
    TraceFormat::Hp,
    TraceFormat::Disksim,
    TraceFormat::Mqsim,
    TraceFormat::Arc,
    TraceFormat::Csv,
];
/// What stands in the place of a field or a byte.
const ODD: [&str; 24] = [
    "",
    " ",
    ",",
    "0",
    "-1",
    "+1",
    "1.5",
    "1e3",
    ".",
    "nan",
    "x",
    "00",
    "7 ",
    " 7",
    "\t",
    "\r",
    "#",
    "\u{e9}",
    "\n",
    "R",
    "Write",
    "18446744073709551616",
    "99999999999999999999999",
    "12345678901234567890",
];

fn pick<'a>(random: &mut Stream, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

/// A number of as many digits as may be.
fn number(random: &mut Stream) -> u64 {
    let digits = random.below(20) as u32;
    random.below(10_u64.pow(digits))
}

/// The fields of a line of this format, mostly with numbers that a drive takes.
fn fields(format: TraceFormat, now: u64, random: &mut Stream) -> Vec<String> {
    let wild = random.below(20) == 0;
    let mut some = |usual: u64| if wild { number(random) } else { random.below(usual) }.to_string();
    let (block, blocks) = (some(1 << 30), some(64));
    let (offset, size) = (some(1 << 39), some(1 << 16));
    let (tail, more) = (some(1 << 20), some(1000));
    let device = [some(3), some(300)][random.below(2) as usize].clone();
    let host = pick(random, &["hm", "usr", "web_server_2"]).to_owned();
    let word = pick(random, &["Read", "Write", "Read", "Write", "READ", "write"]).to_owned();
    let letter = pick(random, &["R", "W", "r", "w"]).to_owned();
    let digit = pick(random, &["0", "1"]).to_owned();
    let command = pick(random, &["28", "2a", "28", "2a", "35", "0", "8a"]).to_owned();
    let part = [format!(".{:03}", random.below(1000)), format!(".{:09}", now % 1_000_000_000), String::new()];
    let time = format!("{now}{}", part[random.below(3) as usize]);
    match format {
        TraceFormat::Msr => vec![(128_166_372_003_061_629 + now).to_string(), host, device, word, offset, size, tail],
        TraceFormat::Spc => vec![device, block, size, letter, time],
        TraceFormat::Alibaba => vec![device, letter, offset, size, (1_577_808_144_360_767 + now).to_string()],
        TraceFormat::Systor17 => vec![time, format!("0.{more}"), letter, device, offset, size],
        TraceFormat::Cloudphysics => vec!["1".to_owned(), time, command, size, block],
        TraceFormat::Tencent => vec![(1_538_323_200 + now / 9).to_string(), block, blocks, digit, device],
        TraceFormat::Hp => vec![time, device, offset, size, letter, tail, more, "1".to_owned()],
        TraceFormat::Csv => vec![more, offset, time, word, size],
        TraceFormat::Arc => vec![block, blocks, "0".to_owned(), more],
        _ => vec![time, device, block, blocks, digit],
    }
}

fn content(format: TraceFormat, lines: u64, broken: bool, random: &mut Stream) -> String {
    let blanks = matches!(format, TraceFormat::Hp | TraceFormat::Arc | TraceFormat::Disksim | TraceFormat::Mqsim);
    let between = if blanks { " " } else { "," };
    let end = pick(random, &["\n", "\n", "\r\n"]);
    let mut text = match format {
        TraceFormat::Systor17 => format!("Timestamp,Response,IOType,LUN,Offset,Size{end}"),
        TraceFormat::Cloudphysics => format!("version,time,op,size,lbn{end}"),
        TraceFormat::Csv => format!("note,offset_bytes,time_us,op,size_bytes{end}"),
        _ => String::new(),
    };
    let mut now = 0;
    for n in 0..lines {
        now += random.below(1000);
        let time = if broken && random.below(60) == 0 { now.saturating_sub(5000) } else { now };
        let mut fields = fields(format, time, random);
        let odd = broken && n > 0 && random.below(8) == 0;
        if odd && random.below(2) == 0 {
            let at = random.below(fields.len() as u64) as usize;
            fields[at] = pick(random, &ODD).to_owned();
        }
        let mut line = fields.join(between);
        if odd {
            let (from, word) = (random.below(line.len() as u64 + 1) as usize, pick(random, &ODD));
            let to = (from + random.below(3) as usize).min(line.len());
            if line.is_char_boundary(from) && line.is_char_boundary(to) {
                line.replace_range(from..to, word);
            }
        }
        text += &line;
        text += if broken && random.below(40) == 0 { "\r\n" } else { end };
    }
    if random.below(3) == 0 {
        text.truncate(text.trim_end().len());
    }
    text
}

fn options(format: TraceFormat, broken: bool, random: &mut Stream) -> TraceOptions {
    let mut options = TraceOptions {
        format: Some(format),
        past_end: PastEnd::Wrap,
        zero_size: ZeroSize::Skip,
        backwards: Backwards::Clamp,
        ..TraceOptions::default()
    };
    if !broken {
        return options;
    }
    options.skip_bad = [0.0, 1.0, 1.0][random.below(3) as usize];
    options.zero_size = [ZeroSize::Skip, ZeroSize::Skip, ZeroSize::Error][random.below(3) as usize];
    options.backwards = [Backwards::Clamp, Backwards::Clamp, Backwards::Error][random.below(3) as usize];
    options.past_end = [PastEnd::Wrap, PastEnd::Wrap, PastEnd::Error, PastEnd::Scale][random.below(4) as usize];
    options.sort_window = [None, None, Some(3)][random.below(3) as usize];
    options.spread = [None, None, Some(Spread::None), Some(Spread::Even)][random.below(4) as usize];
    options.limit = [None, None, Some(random.below(100) + 1)][random.below(3) as usize];
    options.loops = [1, 1, 2][random.below(3) as usize];
    if !matches!(format, TraceFormat::Arc | TraceFormat::Cloudphysics | TraceFormat::Csv) {
        options.device = [None, None, Some("1".to_owned()), Some("hm_1".to_owned())][random.below(4) as usize].clone();
        options.devices = [Devices::Merge, Devices::Stack][random.below(2) as usize];
    }
    if format != TraceFormat::Arc {
        options.time_unit = [None, None, Some(TimeUnit::Ps), Some(TimeUnit::S)][random.below(4) as usize];
        options.speed = [1.0, 1.0, 3.0][random.below(3) as usize];
    }
    options.address_block_bytes = [None, None, Some(1)][random.below(3) as usize];
    options.size_block_bytes = [None, None, Some(SECTOR)][random.below(3) as usize];
    options
}

/// What a stream gives and says with each request, and how many requests come at once.
type Told = Vec<(Result<Option<Request>, String>, u32, Standing, u64)>;

/// `most` is how many requests may come in one step; none if all lines go the general way.
fn told(file: &Scratch, options: &TraceOptions, most: usize) -> Result<(Told, Vec<String>, usize), WorkloadError> {
    let mut stream = TraceStream::open(file.path(), options, &Space::whole(DRIVE), 3)?;
    let (mut told, mut at_once) = (Vec::new(), 0);
    loop {
        if most == 0 {
            stream.read_slowly();
        }
        let (mut given, before) = (Vec::new(), stream.done());
        stream.give_at_once(most.max(1), |request, device| given.push((request, device)));
        at_once += given.len();
        for (n, &(request, device)) in given.iter().enumerate() {
            told.push((Ok(Some(request)), device, stream.standing(), before + n as u64 + 1));
        }
        if let Some((_, device)) = given.last() {
            assert_eq!((*device, before + given.len() as u64), (stream.device(), stream.done()));
            continue;
        }
        let request = stream.next_otherwise().map_err(|error| error.to_string());
        let goes_on = matches!(request, Ok(Some(_)));
        told.push((request, stream.device(), stream.standing(), stream.done()));
        if !goes_on {
            return Ok((told, stream.device_names().to_vec(), at_once));
        }
    }
}

/// Compares both ways; gives how many requests came at once, and how many there were.
fn alike(seed: u64) -> (usize, usize) {
    let mut random = Stream::new(seed, "usual-test", 0);
    let format = FORMATS[random.below(FORMATS.len() as u64) as usize];
    let broken = random.below(4) > 0;
    let file = Scratch::new(content(format, random.below(300) + 1, broken, &mut random).as_bytes());
    let options = options(format, broken, &mut random);
    let most = [1, 2, 7, 1000][random.below(4) as usize];
    let (usual, slow) = (told(&file, &options, most), told(&file, &options, 0));
    match (usual, slow) {
        (Ok((usual, names, at_once)), Ok((slow, same_names, none))) => {
            assert_eq!(none, 0, "the general way takes nothing at once");
            for (n, (usual, slow)) in usual.iter().zip(&slow).enumerate() {
                assert_eq!(usual, slow, "seed {seed}, {}, step {n}", format.name());
            }
            assert_eq!((usual.len(), names), (slow.len(), same_names), "seed {seed}");
            if !broken && usual.len() > 50 && !matches!(format, TraceFormat::Arc | TraceFormat::Tencent) {
                assert!(at_once * 8 > usual.len(), "seed {seed}: {at_once} of {} {}", usual.len(), format.name());
            }
            (at_once, usual.len())
        }
        (usual, slow) => {
            let text = |end: Result<_, WorkloadError>| end.map(drop).map_err(|error| error.to_string());
            assert_eq!(text(usual.map(drop)), text(slow.map(drop)), "seed {seed}");
            (0, 0)
        }
    }
}

#[test]
fn usual_lines_are_read_as_any_other() {
    let rounds = if std::env::var_os("WORDLINE_LONG").is_some_and(|value| value == "1") { 10_000 } else { 600 };
    let (at_once, all) = (0..rounds).map(alike).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(at_once * 20 > all, "{at_once} of {all} at once");
}
