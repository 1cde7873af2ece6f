//! Timelines of a single package, decoded again and compared with sums by hand. All times are of ONFI's asynchronous
//! mode 4: 25 ns per cycle.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::rc::Rc;
use wordline_flash::config::ByClass;
use wordline_flash::timeline::{Cut, Summary, TimelineError};
use wordline_flash::unit::{
    run_drawn, Direction, Drawing, Experiment, HostConfig, Load, Migration, Outcome, PackageConfig, UnitError,
};
use wordline_flash::{Interface, NandConfig};

/// A file that is checked afterwards.
#[derive(Clone, Default)]
struct Sheet(Rc<RefCell<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A slice, or an instant without a duration. Times in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Slice {
    track: String,
    name: String,
    start: u64,
    end: Option<u64>,
    flows: Vec<u64>,
    args: BTreeMap<String, u64>,
    /// What it is coloured by.
    group: Option<String>,
}

/// The fields of a message: number, and a number or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            kind @ (1 | 2) => {
                let length = if kind == 1 { 8 } else { varint(&mut bytes) as usize };
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                if kind == 1 {
                    Field::Number(u64::from_le_bytes(value.try_into().expect("eight bytes")))
                } else {
                    Field::Bytes(value)
                }
            }
            kind => panic!("no field of kind {kind} is written"),
        };
        list.push((tag >> 3, field));
    }
    list
}

fn number(message: &[u8], wanted: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(at, field)| match field {
        Field::Number(value) if at == wanted => Some(value),
        _ => None,
    })
}

fn messages(message: &[u8], wanted: u64) -> Vec<&[u8]> {
    let all = fields(message).into_iter();
    all.filter_map(|(at, field)| match field {
        Field::Bytes(bytes) if at == wanted => Some(bytes),
        _ => None,
    })
    .collect()
}

fn text(message: &[u8], wanted: u64) -> String {
    String::from_utf8(messages(message, wanted)[0].to_vec()).expect("names are UTF-8")
}

/// Field numbers as in github.com/google/perfetto, protos/perfetto/trace.
fn read(file: &[u8]) -> Vec<Slice> {
    let (mut tracks, mut names, mut keys) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut groups = BTreeMap::new();
    let mut slices = Vec::new();
    for packet in messages(file, 1) {
        for track in messages(packet, 60) {
            let above = number(track, 5).map(|parent: u64| format!("{}/", tracks[&parent])).unwrap_or_default();
            tracks.insert(number(track, 1).expect("its number"), format!("{above}{}", text(track, 2)));
        }
        for new in messages(packet, 12) {
            for (at, table) in [(2, &mut names), (3, &mut keys), (43, &mut groups)] {
                table.extend(messages(new, at).into_iter().map(|name| (number(name, 1), text(name, 2))));
            }
        }
        for event in messages(packet, 11) {
            let Some(name) = names.get(&number(event, 10)) else { continue };
            let value = |arg: &&[u8]| Some((keys[&number(arg, 1)].clone(), number(arg, 3)?));
            let mut args: BTreeMap<String, u64> = messages(event, 4).iter().filter_map(value).collect();
            let start = args.remove("start_ps").or_else(|| args.remove("time_ps")).expect("its exact time");
            let flows = fields(event).into_iter().filter(|(at, _)| *at == 47);
            let flows = flows.map(|(_, field)| if let Field::Number(flow) = field { flow } else { 0 }).collect();
            let end = args.remove("duration_ps").map(|duration| start + duration);
            let track = tracks[&number(event, 11).expect("its track")].clone();
            let group = number(event, 54).map(|group: u64| groups[&Some(group)].clone());
            slices.push(Slice { track, name: name.clone(), start, end, flows, args, group });
        }
    }
    slices
}

fn experiment(load: Load) -> Experiment {
    Experiment {
        package: PackageConfig { dies: 2, planes: 2, blocks_per_plane: 64, pages_per_block: 16, page_bytes: 2048 },
        nand: NandConfig {
            interface: Interface::Sdr,
            rate_mt_s: 40,
            read_us: ByClass::One(50.0),
            program_us: ByClass::One(250.0),
            erase_us: 2_500.0,
            ..NandConfig::default()
        },
        host: HostConfig { queue_depth: 2, ..HostConfig::default() },
        load,
        seed: 1,
        stage_log: false,
        latencies: true,
    }
}

fn stream(op: Direction, requests: u64) -> Load {
    Load::Stream { op, request_bytes: 2048, requests }
}

type Drawn = (Result<Outcome, UnitError>, Result<Summary, TimelineError>, Vec<Slice>);

fn draw(experiment: &Experiment, adjust: impl FnOnce(&mut Drawing), progress: impl FnMut(f64) -> bool) -> Drawn {
    let sheet = Sheet::default();
    let mut drawing = Drawing::new(Box::new(sheet.clone()));
    adjust(&mut drawing);
    let outcome = run_drawn(experiment, Some(&mut drawing), progress);
    let file = sheet.0.take();
    (outcome, drawing.came_to.expect("it was carried out"), read(&file))
}

/// The slices of a complete experiment.
fn slices(experiment: &Experiment) -> Vec<Slice> {
    let (outcome, summary, slices) = draw(experiment, |_| (), |_| true);
    outcome.expect("the experiment is sound");
    assert_eq!(summary.expect("it could be written"), Summary { slices: slices.len() as u64, cut: None });
    slices
}

fn on<'a>(slices: &'a [Slice], track: &str) -> Vec<(&'a str, u64, u64)> {
    let track = format!("package/{track}");
    let those = slices.iter().filter(|slice| slice.track == track);
    those.map(|slice| (&*slice.name, slice.start, slice.end.expect("a slice"))).collect()
}

fn named<'a>(slices: &'a [Slice], track: &str, at: usize) -> &'a Slice {
    let track = format!("package/{track}");
    slices.iter().filter(|slice| slice.track == track).nth(at).expect("it is there")
}

const NS: u64 = 1_000;
/// 00h, five address cycles and 30h 175 ns, tWB 100 ns.
const READ: u64 = 275 * NS;
const T_R: u64 = 50_000 * NS;
/// tRR 20 ns, 2,048 bytes 51,200 ns.
const OUT: u64 = 51_220 * NS;

#[test]
fn two_reads_are_drawn_as_calculated_by_hand() {
    let slices = slices(&experiment(stream(Direction::Read, 2)));
    // Both dies are addressed one after the other; the second die's data wait for the first's.
    let (first_ready, second_ready) = (READ + T_R, 2 * READ + T_R);
    let first_end = first_ready + OUT;
    let end = first_end + OUT;
    assert_eq!(on(&slices, "host/slot 0"), [("read", 0, first_end)]);
    assert_eq!(on(&slices, "host/slot 1"), [("read", 0, end)]);
    let bus = [
        ("READ PAGE", 0, READ),
        ("READ PAGE", READ, 2 * READ),
        ("data out", first_ready, first_end),
        ("data out", first_end, end),
    ];
    assert_eq!(on(&slices, "channel 0/bus"), bus);
    let parts = on(&slices, "channel 0/package 0/package bus");
    let first_parts =
        [("CLE", 0, 25 * NS), ("ALE", 25 * NS, 150 * NS), ("CLE", 150 * NS, 175 * NS), ("wait", 175 * NS, READ)];
    assert_eq!(parts[..4], first_parts);
    assert_eq!(parts[10..], [("wait", first_end, first_end + 20 * NS), ("TOR", first_end + 20 * NS, end)]);
    assert_eq!(on(&slices, "channel 0/package 0/die 0"), [("read", 0, first_end)]);
    assert_eq!(on(&slices, "channel 0/package 0/die 1"), [("read", 0, end)]);
    assert_eq!(on(&slices, "channel 0/package 0/die 0/plane 0"), [("TON", READ, first_ready)]);
    assert_eq!(on(&slices, "channel 0/package 0/die 1/plane 0"), [("TON", 2 * READ, second_ready)]);
    assert_eq!(slices.len(), 2 + 4 + 12 + 2 + 2);
    // All that a command does has the colour of its task, on dies, planes and buses; requests have those of their names.
    for slice in &slices {
        let task = (!slice.track.starts_with("package/host")).then_some("host");
        assert_eq!(slice.group.as_deref(), task, "{slice:?}");
    }
    // The second waited for the bus, for its address and for its data.
    let second = named(&slices, "channel 0/package 0/die 1", 0);
    assert_eq!((second.args["waited_ps"], second.args["bytes"]), (READ + first_end - second_ready, 2048));
    assert_eq!(named(&slices, "channel 0/bus", 3).args["waited_ps"], first_end - second_ready);
    let request = named(&slices, "host/slot 1", 0);
    let expected =
        [("bytes", 2048), ("lba", 4), ("offset_bytes", 2048), ("request", 2), ("stream", 0), ("waited_ps", 0)];
    assert_eq!(request.args, expected.map(|(name, value)| (name.to_owned(), value)).into());
    // A flow leads from each request to its command, and is written in this order, since both begin at once.
    assert_eq!((&request.flows, request.flows.len()), (&second.flows, 1));
    let at = |wanted: &Slice| slices.iter().position(|slice| slice == wanted);
    assert!(at(request) < at(second));
}

#[test]
fn in_cache_mode_what_is_left_of_a_command_has_its_own_track() {
    let mut reads = experiment(stream(Direction::Read, 3));
    reads.package.dies = 1;
    reads.package.planes = 1;
    reads.host.cache = true;
    let slices = slices(&reads);
    let die = on(&slices, "channel 0/package 0/die 0");
    let before = on(&slices, "channel 0/package 0/die 0/command before");
    // The first page is read; after 31h and tWB its data move to the other register, and are transferred while the
    // second is read.
    let (turned, moves) = (READ + T_R + (25 + 100) * NS, reads_move(&slices));
    assert_eq!((die[0], die[1].1), (("read", 0, READ + T_R), READ + T_R));
    let second_read = turned + moves + T_R;
    assert_eq!(before[0], ("read", READ + T_R, turned + moves + OUT));
    assert_eq!(
        on(&slices, "channel 0/package 0/die 0/plane 0")[..3],
        [("TON", READ, READ + T_R), ("register", turned, turned + moves), ("TON", turned + moves, second_read),]
    );
    assert_eq!((die.len(), before.len()), (3, 2));
    let requests = [0, 1, 0].map(|slot| format!("host/slot {slot}"));
    assert_eq!(named(&slices, &requests[0], 0).flows, named(&slices, "channel 0/package 0/die 0", 0).flows);
    assert_eq!(
        named(&slices, &requests[0], 0).flows,
        named(&slices, "channel 0/package 0/die 0/command before", 0).flows
    );
}

fn reads_move(slices: &[Slice]) -> u64 {
    let (_, start, end) = on(slices, "channel 0/package 0/die 0/plane 0")[1];
    assert_eq!(end - start, (NandConfig::default().cache_read_busy_us * 1e6) as u64);
    end - start
}

/// Workloads with every kind of command, single and multi-plane, plain and in cache mode.
fn all_kinds() -> Vec<Experiment> {
    let mut list = Vec::new();
    for mode in [
        Migration::Legacy,
        Migration::Cache,
        Migration::Internal,
        Migration::Multi,
        Migration::MultiCache,
        Migration::MultiInternal,
    ] {
        list.push(experiment(Load::Migrate { mode, blocks: 2 }));
    }
    for (cache, planes) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let mix =
            Load::Mix { write_percent: 30.0, write_bytes: 8192, read_bytes: 6144, requests: 120, footprint_pages: 512 };
        let mut mixed = experiment(mix);
        mixed.host = HostConfig { cache, planes_per_command: planes, queue_depth: 16, ..HostConfig::default() };
        list.push(mixed);
    }
    list
}

#[test]
fn bus_and_planes_show_what_the_books_say() {
    for experiment in all_kinds() {
        // Any overlap on a track would be an error.
        let (outcome, summary, slices) = draw(&experiment, |_| (), |_| true);
        let outcome = outcome.expect("the experiment is sound");
        summary.unwrap_or_else(|error| panic!("{error}: {experiment:?}"));
        let sum = |track: &str, names: &[&str]| -> f64 {
            let those = slices.iter().filter(|slice| slice.track.ends_with(track) && names.contains(&&*slice.name));
            those.map(|slice| (slice.end.unwrap_or(0) - slice.start) as f64 / 1e6).sum()
        };
        let all_names: BTreeSet<&str> = slices.iter().map(|slice| &*slice.name).collect();
        let all_names: Vec<&str> = all_names.into_iter().collect();
        let stages = &outcome.stages_us;
        for (track, names, expected) in [
            ("/bus", &all_names[..], outcome.bus_busy_us),
            ("/package bus", &["CLE"], stages.cle),
            ("/package bus", &["ALE"], stages.ale),
            ("/package bus", &["TIR"], stages.tir),
            ("/package bus", &["TOR"], stages.tor),
        ] {
            let drawn = sum(track, names);
            assert!(
                (drawn - expected).abs() < 1e-3,
                "{track} {names:?}: {drawn} instead of {expected}: {experiment:?}"
            );
        }
        // Each command is drawn once on its die, and the planes of a command have the same stages.
        let commands: BTreeSet<u64> = slices.iter().filter_map(|slice| slice.args.get("command").copied()).collect();
        assert_eq!(commands.len() as u64, outcome.commands, "{experiment:?}");
        let dies = |slice: &&Slice| slice.track.ends_with("/die 0") || slice.track.ends_with("/die 1");
        assert_eq!(slices.iter().filter(dies).count() as u64, outcome.commands, "{experiment:?}");
        let array: f64 = (0..2).map(|plane| sum(&format!("/plane {plane}"), &["TON", "TIN", "BER"])).sum();
        let busy = stages.ton + stages.tin + stages.ber;
        assert!(busy <= array + 1e-3 && array <= 2.0 * busy + 1e-3, "{array} of {busy}: {experiment:?}");
    }
}

#[test]
fn every_request_leads_to_its_commands() {
    for experiment in all_kinds() {
        let slices = slices(&experiment);
        let flows = |of: fn(&Slice) -> bool| -> BTreeSet<u64> {
            slices.iter().filter(|slice| of(slice)).flat_map(|slice| slice.flows.clone()).collect()
        };
        let from = flows(|slice| slice.track.contains("/host/"));
        let to = flows(|slice| slice.track.contains("/die "));
        assert_eq!(from, to, "{experiment:?}");
        let requests = slices.iter().filter(|slice| slice.track.contains("/host/"));
        assert!(requests.clone().all(|request| !request.flows.is_empty()));
        assert_eq!(requests.count() == 0, matches!(experiment.load, Load::Migrate { .. }));
    }
}

#[test]
fn a_window_is_the_whole_cut_at_its_bounds() {
    for experiment in all_kinds() {
        let whole = slices(&experiment);
        let window = (300_000_123, 2_000_000_777);
        let (_, _, seen) = draw(&experiment, |drawing| drawing.window = window, |_| true);
        let mut expected: Vec<Slice> = whole.into_iter().filter(|slice| slice.start < window.1).collect();
        expected.retain(|slice| slice.end > Some(window.0));
        assert_eq!(seen.len(), expected.len(), "{experiment:?}");
        let key = |slice: &Slice| (slice.track.clone(), slice.start);
        expected.sort_by_key(key);
        let mut seen: Vec<Slice> = seen;
        seen.sort_by_key(key);
        for (seen, whole) in seen.iter().zip(&expected) {
            let (start, end) = (whole.start.max(window.0), whole.end.map(|end| end.min(window.1)));
            assert_eq!((&seen.track, &seen.name, seen.start, seen.end), (&whole.track, &whole.name, start, end));
            let cut = (start, end) != (whole.start, whole.end);
            assert_eq!(seen.args.get("whole_end_ps").copied(), whole.end.filter(|_| cut));
            // A request that continues after the window shows no commands that begin there.
            let on_host = whole.track.contains("/host/") && whole.end > Some(window.1);
            assert!(seen.flows.len() == whole.flows.len() || on_host, "{seen:?} of {whole:?}");
        }
    }
}

#[test]
fn a_full_timeline_is_cut_and_says_where() {
    let mut reads = experiment(stream(Direction::Read, 200));
    reads.host.queue_depth = 4;
    let (outcome, summary, slices) = draw(&reads, |drawing| drawing.most_slices = 500, |_| true);
    assert_eq!(outcome.expect("the run goes on").requests, 200);
    let (at, why) = summary.unwrap().cut.expect("it is cut");
    assert_eq!(why, Cut::Full(500));
    let marks: Vec<&Slice> = slices.iter().filter(|slice| slice.end.is_none()).collect();
    assert_eq!(marks.len(), 1);
    assert_eq!((&*marks[0].name, &*marks[0].track, marks[0].start), ("cut here", "package", at));
    assert!((400..520).contains(&slices.len()), "{} slices", slices.len());
    assert!(slices.iter().all(|slice| slice.end.unwrap_or(0) <= at));
}

#[test]
fn an_interrupted_run_leaves_a_marked_timeline() {
    let long = experiment(stream(Direction::Read, 100_000));
    let (outcome, summary, slices) = draw(&long, |_| (), |_| false);
    assert_eq!(outcome.unwrap_err(), UnitError::Interrupted);
    let (at, why) = summary.unwrap().cut.expect("it is cut");
    assert_eq!(why, Cut::Interrupted);
    assert!(slices.iter().all(|slice| slice.end.unwrap_or(0) <= at));
    assert_eq!(slices.iter().filter(|slice| slice.name == "cut here").count(), 1);
}

/// A disk that is full after this number of bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_run_outlives_a_full_disk() {
    for room in [0, 200_000] {
        let mut drawing = Drawing::new(Box::new(Disk(room)));
        let outcome = run_drawn(&experiment(stream(Direction::Read, 5_000)), Some(&mut drawing), |_| true);
        assert_eq!(outcome.expect("the run goes on").requests, 5_000);
        let Some(Err(TimelineError::Io(error))) = drawing.came_to else { panic!("{drawing:?}") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn drawing_changes_nothing_and_is_the_same_every_time() {
    for mut experiment in all_kinds() {
        experiment.stage_log = true;
        let plain = run_drawn(&experiment, None, |_| true).expect("it is sound");
        let (drawn, _, slices) = draw(&experiment, |_| (), |_| true);
        assert_eq!(drawn.expect("it is sound"), plain);
        assert_eq!(draw(&experiment, |_| (), |_| true).2, slices);
    }
}
