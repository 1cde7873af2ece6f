//! Tables of runs: single requests against sums by hand, and whole runs against all other known figures.

use crate::common::{config, drive, NS, US};
use serde_json::{json, Value};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use wordline_base::{Op, Time};
use wordline_drive::observe::{
    BlockRow, ChannelTimes, DieTimes, IntervalRow, Observation, PlaneTimes, RequestRow, Sink, UnitRow, Wanted,
};
use wordline_drive::parts::{About, Features, Part, PARTS};
use wordline_drive::result::{self, document};
use wordline_drive::run::{run, run_watched, Ended, Watch};
use wordline_drive::Drive;
use wordline_firmware::task::{Class, Task, Tasks};
use wordline_firmware::{Waited, HOLDERS};
use wordline_workload::{Load, LoadFile};

const ALL: Wanted = Wanted {
    requests: true,
    intervals: true,
    channels: true,
    dies: true,
    planes: true,
    blocks: true,
    sample: 1,
    interval: 700 * US,
    window: Wanted::NOTHING.window,
};

/// Rows of a run.
#[derive(Debug, Default)]
struct Rows {
    requests: Vec<RequestRow>,
    intervals: Vec<IntervalRow>,
    channels: Vec<UnitRow<ChannelTimes>>,
    dies: Vec<UnitRow<DieTimes>>,
    planes: Vec<UnitRow<PlaneTimes>>,
    blocks: Vec<BlockRow>,
}

struct Kept(Arc<Mutex<Rows>>);

impl Kept {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().expect("no other thread failed")
    }
}

impl Sink for Kept {
    fn request(&mut self, row: &RequestRow) {
        self.rows().requests.push(*row);
    }
    fn interval(&mut self, row: &IntervalRow) {
        self.rows().intervals.push(row.clone());
    }
    fn channel(&mut self, row: &UnitRow<ChannelTimes>) {
        self.rows().channels.push(*row);
    }
    fn die(&mut self, row: &UnitRow<DieTimes>) {
        self.rows().dies.push(*row);
    }
    fn plane(&mut self, row: &UnitRow<PlaneTimes>) {
        self.rows().planes.push(*row);
    }
    fn block(&mut self, row: &BlockRow) {
        self.rows().blocks.push(*row);
    }
}

fn load(drive: &Drive, jobs: &Value) -> Load {
    let spec: LoadFile = serde_json::from_value(json!({ "job": jobs })).expect("a load of the test");
    Load::open(&spec, Path::new("."), drive.logical_bytes(), 1).expect("a load of the test")
}

/// Runs jobs on a drive and returns its tables; `go_on` as in a run.
fn watched(drive: &mut Drive, jobs: &Value, wanted: Wanted, go_on: bool) -> (Rows, Ended) {
    let rows = Arc::new(Mutex::new(Rows::default()));
    let load = load(drive, jobs);
    let mut observation = Observation::new(drive, wanted, Box::new(Kept(rows.clone())));
    let watch = Watch { observation: Some(&mut observation), ..Watch::default() };
    let ended = run_watched(drive, load, &mut |_| go_on, watch).expect("no rule is broken");
    observation.finish(drive);
    (Arc::into_inner(rows).expect("the observation is over").into_inner().expect("nobody failed"), ended)
}

/// The result of what the drive has done.
fn document_of(text: &str, drive: &Drive) -> Value {
    let config = config(text);
    let parts = config.parts().expect("it was checked");
    let load = json!({});
    document(
        drive,
        &result::About { config: &config, parts: &parts, workload: &load, seed: 1, partial: false, precondition: None },
    )
}

// -------------------------------------------------------------------------------------------------- single requests, by hand

/// SDR mode 5: cycles of 20 ns, tADL 70 ns, tWB 100 ns, tRR 20 ns; SATA 6 Gb/s: 120 ns a command, 40 ns a completion, and for
/// data 73,334 ps and 5/3 ns a byte with 20 bytes more for each 8,192.
const TINY: &str = r#"
    geometry = { channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
                 blocks_per_plane = 16, pages_per_block = 16, page_kib = 16 }
    nand = { interface = "sdr", rate_mt_s = 50, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }
    capacity = { raw_over_logical = 2.0 }
    mapping = { policy = "page", unit_kib = 16 }
    placement = { policy = "static", order = "PCWD" }
    collect = { policy = "on-demand", scope = "plane" }
    link = { policy = "sata", rate_gb_s = 6.0 }
    buffer = { policy = "none" }
"#;

fn job(name: &str, rw: &str, bs: &str, more: Value) -> Value {
    let mut job = json!({"name": name, "rw": rw, "bs": bs, "iodepth": 1, "number_ios": 1});
    job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    job
}

fn parts(list: &[(Part, Time)]) -> [Time; PARTS] {
    let mut parts = [0; PARTS];
    list.iter().for_each(|&(part, time)| parts[part.index()] += time);
    parts
}

const SATA_16K: Time = 73_334 + 27_373_334;
const BUS_WRITE: Time = 140 * NS + 70 * NS + 8_192 * 40 * NS + 100 * NS;
const BUS_READ: Time = 140 * NS + 100 * NS + 20 * NS + 8_192 * 40 * NS;

#[test]
fn a_write_and_a_read_by_hand() {
    let mut drive = drive(TINY, 1);
    let write = json!([job("w", "write", "16k", json!({}))]);
    let (rows, _) = watched(&mut drive, &write, ALL, true);
    let [row] = rows.requests[..] else { panic!("one request") };
    let link = 120 * NS + SATA_16K + 40 * NS;
    let expected = parts(&[(Part::LINK, link), (Part::BUS, BUS_WRITE), (Part::ARRAY_PROGRAM, 500 * US)]);
    assert_eq!(row.parts, expected);
    assert_eq!((row.number, row.op, row.offset, row.bytes), (0, Op::Write, 0, 16_384));
    assert_eq!(row.flash_start, Some(120 * NS + SATA_16K));
    assert_eq!((row.arrival, row.submitted, row.completion), (0, 0, link + BUS_WRITE + 500 * US));

    let read = json!([job("r", "read", "16k", json!({}))]);
    let (rows, _) = watched(&mut drive, &read, ALL, true);
    let [row] = rows.requests[..] else { panic!("one request") };
    let expected = parts(&[(Part::LINK, link), (Part::BUS, BUS_READ), (Part::ARRAY_READ, 50 * US)]);
    assert_eq!(row.parts, expected);
    assert_eq!(row.flash_start, Some(120 * NS));
    // One interval of 700 us holds it; the die was busy from the command to the end of the data.
    let [die] = rows.dies[..] else { panic!("one interval") };
    assert_eq!((die.times.read, die.times.bus, die.times.occupied[0]), (50 * US, BUS_READ, 50 * US + BUS_READ));
    assert_eq!((die.start, die.end), (0, row.completion));
    let one = Class::all().map(|class| u64::from(class == Class::HOST_READ));
    assert!(Class::all().map(|class| die.times.ops[class.index()]).eq(one));
    let [interval] = &rows.intervals[..] else { panic!("one interval") };
    assert_eq!((interval.requests, interval.queue_max, interval.queue_mean), ([1, 0, 0, 0], 1, 1.0));
    assert_eq!(interval.mean[0], Some(row.completion as f64));
}

#[test]
fn reads_wait_for_the_die() {
    let mut drive = drive(&format!("{TINY}\n    queue = {{ depth = 2 }}"), 1);
    let fill = json!([job("w", "write", "16k", json!({"number_ios": 3}))]);
    watched(&mut drive, &fill, ALL, true);
    let reads = json!([job("r", "read", "16k", json!({"number_ios": 3, "iodepth": 3}))]);
    let (rows, _) = watched(&mut drive, &reads, ALL, true);
    let [first, second, third] = rows.requests[..] else { panic!("three requests") };
    let die = 50 * US + BUS_READ;
    let link = 120 * NS + SATA_16K + 40 * NS;
    let flash = [(Part::LINK, link), (Part::BUS, BUS_READ), (Part::ARRAY_READ, 50 * US)];
    assert_eq!(first.parts, parts(&flash));
    // Its command waits for the first one's on the host interface, and then it waits for the rest of the first one's
    // time in the die.
    let waits = [(Part::WAIT_LINK, 120 * NS), (Part::WAIT_DIE_READ, die - 120 * NS)];
    assert_eq!(second.parts, parts(&[&flash[..], &waits].concat()));
    // A job's third request comes when a slot is free, which is the first one's; the die executes the second until 120
    // ns + 2 die.
    assert_eq!((third.arrival, third.submitted), (first.completion, first.completion));
    let waits = [(Part::WAIT_DIE_READ, 2 * die - first.completion)];
    assert_eq!(third.parts, parts(&[&flash[..], &waits].concat()));
}

#[test]
fn the_waiting_of_operations_is_not_the_latency_of_requests() {
    let text = format!("{TINY}\n    queue = {{ depth = 2 }}");
    let mut drive = drive(&text, 1);
    watched(&mut drive, &json!([job("w", "write", "16k", json!({"number_ios": 3}))]), ALL, true);
    drive.split_time(true);
    let long = Wanted { interval: 100_000 * US, ..ALL };
    let reads = json!([job("r", "read", "16k", json!({"number_ios": 3, "iodepth": 3}))]);
    let (rows, _) = watched(&mut drive, &reads, long, true);
    let (die, first) = (50 * US + BUS_READ, rows.requests[0].completion);
    // The first waits for nothing, the second from 120 ns on for the first, the third for the rest of the second's time.
    let waits = u128::from((die - 120 * NS) + (2 * die - first));
    let waited = drive.kernel().waited().expect("they are counted");
    let mut held = [0; HOLDERS];
    held[0] = waits;
    assert_eq!(waited[Task::HOST.index()], Waited { operations: 3, held, free: 0 });
    assert_eq!(waited[Task::GC.index()], Waited::default());
    let [row] = &rows.intervals[..] else { panic!("one interval") };
    assert_eq!(row.waited[Task::HOST.index()], Some(waits as f64 / 3.0));
    assert_eq!(row.waited[Task::GC.index()], None);
    let about = document_of(&text, &drive);
    let of_host = &about["time_of"]["operations"]["host"];
    let us = |time: u128| time as f64 / 3.0 / 1e6;
    assert_eq!((of_host["count"].as_u64(), of_host["wait_us"].as_f64()), (Some(3), Some(us(waits))));
    assert_eq!((of_host["wait_die_read_us"].as_f64(), of_host["wait_free_us"].as_f64()), (Some(us(waits)), Some(0.0)));
    assert_eq!(about["time_of"]["operations"]["gc"]["wait_us"], Value::Null);
}

#[test]
fn requests_of_a_page_wait_as_their_operations_do() {
    let text = text("policy = \"none\"", "").replace("unit_kib = 4", "unit_kib = 16");
    let mut drive = drive(&text, 1);
    drive.split_time(true);
    // What was never written is not read from flash.
    let units = drive.logical_bytes() / 16_384;
    watched(&mut drive, &json!([job("w", "write", "16k", json!({"number_ios": units}))]), ALL, true);
    let more = json!({"iodepth": 12, "number_ios": 3_000, "norandommap": true});
    let jobs = json!([job("mix", "randrw", "16k", more)]);
    let (rows, _) = watched(&mut drive, &jobs, ALL, true);
    let waited = *drive.kernel().waited().expect("they are counted");
    let of_host = &waited[Task::HOST.index()];
    let parts = |parts: &[Part]| -> u128 {
        rows.requests.iter().flat_map(|row| parts.iter().map(|part| u128::from(row.parts[part.index()]))).sum()
    };
    assert_eq!(of_host.operations, rows.requests.len() as u64);
    assert_eq!(of_host.held[0], parts(&[Part::WAIT_DIE_READ]));
    assert_eq!(of_host.held[1], parts(&[Part::WAIT_DIE_WRITE]));
    let by_gc = of_host.held[1 + Task::GC.index()];
    assert_eq!(by_gc, parts(&[Part::wait_die(Task::GC)]));
    assert_eq!(of_host.free, parts(&[Part::WAIT_SPACE]));
    assert!(by_gc > 0, "there was GC, and it was in the way");
    let counters = drive.kernel().counters();
    let of_gc = Task::GC.classes().map(|class| counters.ops[class.index()]).sum::<u64>();
    assert_eq!(waited[Task::GC.index()].operations, of_gc);
    // By the intervals, too: a mean for each, of as many operations as began there.
    let sum: f64 =
        rows.intervals.iter().filter_map(|row| Some(row.waited[0]? * (row.ops[0] + row.ops[1]) as f64)).sum();
    assert!((sum - of_host.sum() as f64).abs() < 1e-9 * sum, "{sum} of {of_host:?}");
}

#[test]
fn pages_of_the_same_request_are_told_apart_from_those_of_others() {
    let mut drive = drive(&format!("{TINY}\n    queue = {{ depth = 2 }}"), 1);
    watched(&mut drive, &json!([job("w", "write", "16k", json!({"number_ios": 12}))]), ALL, true);
    let die = 50 * US + BUS_READ;
    let link = 120 * NS + SATA_16K + 40 * NS;
    let flash = [(Part::LINK, link), (Part::BUS, BUS_READ), (Part::ARRAY_READ, 50 * US)];
    // Three pages of the only die, one request at a time: the last page waits for the two before it.
    let alone = json!([job("r", "read", "48k", json!({"number_ios": 2}))]);
    let (rows, _) = watched(&mut drive, &alone, ALL, true);
    assert_eq!(rows.requests.len(), 2);
    for row in &rows.requests {
        assert_eq!(row.parts, parts(&[&flash[..], &[(Part::WAIT_DIE_OWN, 2 * die)]].concat()), "{row:?}");
    }
    // Two at a time: the second is in the drive 120 ns after the first, and waits for both pages of the first and for
    // its own first page.
    let two = json!([job("r", "read", "32k", json!({"number_ios": 2, "iodepth": 2}))]);
    let (rows, _) = watched(&mut drive, &two, ALL, true);
    let [first, second] = rows.requests[..] else { panic!("two requests") };
    assert_eq!(first.parts, parts(&[&flash[..], &[(Part::WAIT_DIE_OWN, die)]].concat()));
    let waits = [(Part::WAIT_LINK, 120 * NS), (Part::WAIT_DIE_READ, 2 * die - 120 * NS), (Part::WAIT_DIE_OWN, die)];
    assert_eq!(second.parts, parts(&[&flash[..], &waits].concat()));
}

#[test]
fn a_wait_for_the_write_buffer_is_told_by_what_keeps_it_from_draining() {
    let text = TINY.replace("policy = \"none\"", "policy = \"fifo\", capacity_kib = 64");
    let mut drive = drive(&format!("{text}\n    queue = {{ depth = 5 }}"), 1);
    let writes = json!([job("w", "write", "16k", json!({"number_ios": 5, "iodepth": 5}))]);
    let (rows, _) = watched(&mut drive, &writes, ALL, true);
    let [first, second, third, fourth, fifth] = rows.requests[..] else { panic!("five requests") };
    let waits = |row: &RequestRow| row.parts[Part::WAIT_BUFFER_PROGRAM.index()] > 0;
    assert!(![first, second, third, fourth].iter().any(waits), "there was room");
    // The buffer has space for four. The fifth is in the drive four times its data transfer after the first, and waits
    // until the first is in flash: all buffered logical pages belong to the write of the first or are behind it, on the
    // bus and in the array.
    let whole = BUS_WRITE + 500 * US - 4 * SATA_16K;
    let bus = (u128::from(whole) * u128::from(BUS_WRITE) / u128::from(BUS_WRITE + 500 * US)) as Time;
    let told = [Part::WAIT_BUFFER_BUS, Part::WAIT_BUFFER_PROGRAM].map(|part| fifth.parts[part.index()]);
    assert_eq!(told, [bus, whole - bus]);
    let others = [Part::wait_buffer(Task::GC), Part::WAIT_BUFFER_READ, Part::WAIT_BUFFER_SPACE];
    assert!(others.iter().all(|&part| fifth.parts[part.index()] == 0) && !fifth.gc_affected, "{fifth:?}");
}

#[test]
fn requests_that_come_by_the_clock_wait_for_a_slot() {
    let mut drive = drive(&format!("{TINY}\n    queue = {{ depth = 2 }}"), 1);
    watched(&mut drive, &json!([job("w", "write", "16k", json!({"number_ios": 3}))]), ALL, true);
    let reads = json!([job("r", "read", "16k", json!({"number_ios": 3, "iodepth": 8, "rate_iops": 1e6}))]);
    let (rows, _) = watched(&mut drive, &reads, ALL, true);
    let [first, _, third] = rows.requests[..] else { panic!("three requests") };
    assert_eq!((third.submitted, third.arrival - first.arrival), (first.completion, 2 * US));
    assert_eq!(third.parts[Part::WAITING.index()], first.completion - third.arrival);
}

#[test]
fn a_part_of_a_page_is_read_and_written() {
    let mut drive = drive(TINY, 1);
    watched(&mut drive, &json!([job("w", "write", "16k", json!({}))]), ALL, true);
    let (rows, _) = watched(&mut drive, &json!([job("p", "write", "4k", json!({}))]), ALL, true);
    let link = 120 * NS + 73_334 + 6_860 * NS + 40 * NS;
    let expected = parts(&[
        (Part::LINK, link),
        (Part::BUS, BUS_READ + BUS_WRITE),
        (Part::ARRAY_READ, 50 * US),
        (Part::ARRAY_PROGRAM, 500 * US),
    ]);
    assert_eq!(rows.requests[0].parts, expected);
}

// ---------------------------------------------------------------------------------------------------------------- whole runs

fn text(pack: &str, rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
                      blocks_per_plane = 24, pages_per_block = 16, page_kib = 16 }}
        capacity = {{ raw_over_logical = 1.6 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        pack = {{ {pack} }}
        {rest}
        "#
    )
}

/// Drives with every source of latency.
fn drives() -> Vec<(&'static str, String)> {
    let plane =
        "placement = { policy = \"static\", order = \"CWDP\" }\ncollect = { policy = \"on-demand\", scope = \"plane\"";
    let buffer = "buffer = { policy = \"fifo\", capacity_kib = 256 }";
    // Buffered units wait in the commit stage, in queues of planes, or of any die.
    let staged = |dispatch| text("policy = \"none\"", &format!("{buffer}\ndispatch = {{ policy = \"{dispatch}\" }}"));
    let staged_by_plane = |dispatch| {
        text("policy = \"none\"", &format!("{plane} }}\n{buffer}\ndispatch = {{ policy = \"{dispatch}\" }}"))
    };
    vec![
        ("one queue, buffer", staged("one-queue")),
        ("static one queue, buffer", staged_by_plane("one-queue")),
        ("debit, buffer", staged("debit")),
        ("static debit, buffer", staged_by_plane("debit")),
        ("weighted fair, buffer", staged("weighted-fair")),
        ("priority, buffer", staged("priority")),
        ("static priority, buffer", staged_by_plane("priority")),
        ("deadline, buffer", staged("deadline")),
        ("static deadline, buffer", staged_by_plane("deadline")),
        ("plain", text("policy = \"none\"", "")),
        ("planes", text("policy = \"planes\"", &format!("{plane} }}"))),
        ("buffer", text("policy = \"planes\"", "buffer = { policy = \"fifo\", capacity_kib = 256 }")),
        (
            "static buffer",
            text("policy = \"none\"", &format!("{plane} }}\nbuffer = {{ policy = \"fifo\", capacity_kib = 256 }}")),
        ),
        ("cache", text("policy = \"cache\"", &format!("{plane} }}"))),
        ("copyback", text("policy = \"planes\"", &format!("{plane}, copyback = \"checked\" }}"))),
        ("suspend", text("policy = \"none\"", "suspend = { policy = \"reads\" }")),
        ("sata", text("policy = \"none\"", "link = { policy = \"sata\", rate_gb_s = 3.0 }")),
        ("fifo", text("policy = \"none\"", "dispatch = { policy = \"fifo\", window = 3 }")),
    ]
}

fn mixed() -> Value {
    json!([
        {"name": "fill", "rw": "write", "bs": "64k", "iodepth": 4, "number_ios": 800},
        {"name": "mix", "rw": "randrw", "bs": "4k", "iodepth": 12, "number_ios": 3_000, "norandommap": true},
        {"name": "odd", "rw": "randwrite", "bs": "6k", "iodepth": 3, "number_ios": 600, "norandommap": true},
        {"name": "rate", "rw": "randread", "bs": "4k", "iodepth": 2, "number_ios": 500, "norandommap": true, "rate_iops": 1e5},
        {"name": "trim", "rw": "randtrim", "bs": "32k", "iodepth": 1, "number_ios": 100, "norandommap": true},
    ])
}

fn sum<T>(rows: &[T], of: impl Fn(&T) -> u64) -> u64 {
    rows.iter().map(of).sum()
}

#[test]
fn tables_agree_with_the_results() {
    for (name, text) in drives() {
        let mut unseen = drive(&text, 1);
        let jobs = load(&unseen, &mixed());
        run(&mut unseen, jobs, &mut |_| true).expect("no rule is broken");
        let mut seen = drive(&text, 1);
        seen.split_time(true);
        let (rows, ended) = watched(&mut seen, &mixed(), ALL, true);
        assert!(!ended.interrupted);
        assert_eq!(seen.metrics, unseen.metrics, "{name}: to look at a run changes nothing");
        requests_agree(name, &seen, &rows);
        units_agree(name, &seen, &rows);
        intervals_agree(name, &seen, &rows);
        blocks_agree(name, &seen, &rows);
    }
}

#[test]
fn a_window_has_its_rows_of_the_whole_run_and_no_others() {
    for (name, text) in drives() {
        let (whole, _) = watched(&mut drive(&text, 1), &mixed(), ALL, true);
        // On the edges of intervals: the same rows.
        let window = (15 * ALL.interval, 40 * ALL.interval);
        let (rows, _) = watched(&mut drive(&text, 1), &mixed(), Wanted { window, ..ALL }, true);
        let shown = |time: Time| window.0 <= time && time < window.1;
        let requests: Vec<_> = whole.requests.iter().filter(|row| shown(row.completion)).copied().collect();
        assert!(!requests.is_empty() && requests == rows.requests, "{name}");
        let intervals: Vec<_> = whole.intervals.iter().filter(|row| shown(row.start)).cloned().collect();
        assert_eq!(intervals, rows.intervals, "{name}");
        assert_eq!((rows.intervals.len(), rows.intervals[0].start), (25, window.0), "{name}");
        let dies: Vec<_> = whole.dies.iter().filter(|row| shown(row.start)).copied().collect();
        assert_eq!(dies, rows.dies, "{name}");
        assert!(whole.channels.iter().filter(|row| shown(row.start)).eq(&rows.channels), "{name}");
        assert!(whole.planes.iter().filter(|row| shown(row.start)).eq(&rows.planes), "{name}");
        assert_eq!(whole.blocks, rows.blocks, "{name}");
        // Anywhere else, with finer intervals: the first begins and the last ends with it.
        let window = (10_000 * US + 77 * NS, 20_000 * US + 5 * NS);
        let fine = Wanted { window, interval: 90 * US, ..ALL };
        let (rows, _) = watched(&mut drive(&text, 1), &mixed(), fine, true);
        let (first, last) = (&rows.intervals[0], rows.intervals.last().expect("there are some"));
        assert_eq!((first.start, last.end), window, "{name}");
        let counted = rows.intervals.iter().flat_map(|row| row.requests).sum::<u64>();
        let within = |time: Time| window.0 <= time && time < window.1;
        let requests = whole.requests.iter().filter(|row| within(row.completion));
        assert!(requests.clone().eq(&rows.requests), "{name}");
        assert_eq!(counted, requests.count() as u64, "{name}");
        assert!(rows.dies.iter().all(|row| within(row.start) && row.end <= window.1), "{name}");
        let alone = Wanted { channels: false, dies: false, planes: false, requests: false, ..fine };
        let (only, _) = watched(&mut drive(&text, 1), &mixed(), alone, true);
        assert_eq!(only.intervals, rows.intervals, "{name}: also without the tables of units");
        assert!(only.requests.is_empty() && only.dies.is_empty(), "{name}");
    }
}

fn requests_agree(name: &str, drive: &Drive, rows: &Rows) {
    let (metrics, requests) = (&drive.metrics, &rows.requests);
    assert_eq!(requests.len() as u64, metrics.requests(), "{name}");
    assert_eq!(sum(requests, |row| u64::from(row.gc_affected)), metrics.gc_affected, "{name}");
    let waiting: u128 = requests.iter().map(|row| u128::from(row.parts[Part::WAITING.index()])).sum();
    assert_eq!(waiting, metrics.waiting_sum, "{name}");
    let mut numbers: Vec<u64> = requests.iter().map(|row| row.number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..requests.len() as u64), "{name}: each request has its number");
    for row in requests {
        assert_eq!(row.parts.iter().sum::<Time>(), row.completion - row.arrival, "{name}: {row:?}");
        assert_eq!(row.parts[Part::WAITING.index()], row.submitted - row.arrival, "{name}: {row:?}");
        let held_up =
            [Part::wait_die(Task::GC), Part::wait_buffer(Task::GC)].iter().any(|&part| row.parts[part.index()] > 0);
        // A read beside a suspended erase may wait for another, whose time counts as that of the erase.
        assert!(row.gc_affected || !held_up || name == "suspend", "{name}: {row:?}");
        assert!(row.flash_start.is_none_or(|start| start >= row.submitted && start < row.completion), "{row:?}");
    }
    for op in Op::ALL {
        let mut latencies: Vec<Time> =
            requests.iter().filter(|row| row.op == op).map(|row| row.completion - row.arrival).collect();
        latencies.sort_unstable();
        let histogram = &metrics.latency(op);
        assert_eq!(latencies.len() as u64, histogram.count(), "{name}");
        for q in [0.5, 0.9, 0.99] {
            let Some(told) = histogram.quantile(q) else { continue };
            let exact = latencies[(q * latencies.len() as f64).ceil() as usize - 1];
            assert!(told >= exact && told - exact <= exact / 256 + 1, "{name}: {q} {told} {exact}");
        }
    }
    let split = drive.split().expect("it was asked").document(Tasks::ALL, Features::ALL);
    for (op, name_of) in [(Op::Read, "read"), (Op::Write, "write")] {
        for About { part, name: key, .. } in Part::all() {
            let of_rows: Time = requests.iter().filter(|row| row.op == op).map(|row| row.parts[part.index()]).sum();
            assert_eq!(split[name_of][key], json!(of_rows as f64 / 1e12), "{name}: {key} of {name_of}s");
        }
    }
    let waited = |part: Part| requests.iter().map(|row| row.parts[part.index()]).sum::<Time>();
    assert_eq!(
        waited(Part::wait_buffer(Task::GC)) > 0,
        name.ends_with("buffer"),
        "{name}: the drive is full and collects"
    );
    // The unexplained rest is small.
    let total: Time = requests.iter().map(|row| row.completion - row.arrival).sum();
    let other: Time = requests.iter().map(|row| row.parts[Part::OTHER.index()]).sum();
    assert!(other * 20 < total, "{name}: {other} of {total} is not told");
    let reads = requests.iter().filter(|row| row.op == Op::Read);
    assert!(reads.clone().all(|row| row.parts[Part::ARRAY_PROGRAM.index()] == 0), "{name}");
}

fn units_agree(name: &str, drive: &Drive, rows: &Rows) {
    let flash = drive.kernel().flash();
    let counters = drive.kernel().counters();
    for die in 0..flash.geometry().dies() {
        let of_die: Vec<DieTimes> = rows.dies.iter().filter(|row| row.unit == die).map(|row| row.times).collect();
        let times = flash.die_times(die);
        let array = sum(&of_die, |t| t.read + t.program + t.erase + t.other);
        assert_eq!(array, times.array(), "{name}: die {die}");
        assert_eq!(sum(&of_die, |t| t.bus), times.bus.iter().map(|used| used.time).sum::<Time>(), "{name}: die {die}");
        assert_eq!(sum(&of_die, |t| t.wait_bus), times.contention, "{name}: die {die}");
        let occupied = drive.kernel().occupied(die, drive.now());
        for (class, &taken) in occupied.iter().enumerate() {
            assert_eq!(sum(&of_die, |t| t.occupied[class]), taken, "{name}: die {die}");
        }
    }
    let reading = drive.reading();
    for die in 0..flash.geometry().dies() {
        let within = rows.dies.iter().filter(|row| row.unit == die && row.end <= reading.at);
        let array: Time = within.map(|row| row.times).map(|t| t.read + t.program + t.erase + t.other).sum();
        // In cache mode the flash reports its work a few command cycles early or late.
        let off = if name == "cache" { 10 * US } else { 0 };
        assert!(array.abs_diff(reading.dies[die as usize]) <= off, "{name}: {array} {}", reading.dies[die as usize]);
    }
    for (class, &count) in counters.ops.iter().enumerate() {
        assert_eq!(sum(&rows.dies, |row| row.times.ops[class]), count, "{name}: class {class}");
        assert_eq!(sum(&rows.planes, |row| row.times.ops[class]), count, "{name}: class {class}");
    }
    for channel in 0..flash.geometry().channels {
        let of_channel: Vec<ChannelTimes> =
            rows.channels.iter().filter(|row| row.unit == channel).map(|row| row.times).collect();
        let busy = flash.channel_times(channel).busy;
        assert_eq!(sum(&of_channel, |t| t.data + t.command), busy, "{name}: channel {channel}");
        assert_eq!(sum(&of_channel, |t| t.by_task.iter().sum::<Time>()), busy, "{name}: channel {channel}");
    }
    for row in &rows.dies {
        let (length, times) = (row.end - row.start, row.times);
        // Work of the drive after its last completion is in an interval of its own.
        let from = if row.start >= drive.metrics.end { drive.metrics.end } else { 0 };
        assert!((row.start - from) % ALL.interval == 0 && length <= ALL.interval, "{name}: {row:?}");
        assert!(row.end <= drive.metrics.end || row.start >= drive.metrics.end, "{name}: {row:?}");
        assert!(times.occupied.iter().sum::<Time>() <= length && times.read + times.program <= 2 * length, "{row:?}");
        if name != "cache" && name != "suspend" {
            let told = times.read + times.program + times.erase + times.other + times.bus + times.wait_bus;
            assert_eq!(told, times.occupied.iter().sum::<Time>(), "{name}: {row:?}");
        }
    }
    assert!(rows.channels.iter().all(|row| row.times.data + row.times.command <= row.end - row.start), "{name}");
}

fn intervals_agree(name: &str, drive: &Drive, rows: &Rows) {
    let counters = drive.kernel().counters();
    for op in Op::ALL {
        let op = op as usize;
        assert_eq!(sum(&rows.intervals, |row| row.requests[op]), drive.metrics.latency(Op::ALL[op]).count(), "{name}");
        assert_eq!(sum(&rows.intervals, |row| row.bytes[op]), drive.metrics.bytes(Op::ALL[op]), "{name}");
        let most = rows.intervals.iter().filter_map(|row| row.max[op]).max();
        assert_eq!(most, drive.metrics.latency(Op::ALL[op]).max(), "{name}");
    }
    for (class, &count) in counters.ops.iter().enumerate() {
        assert_eq!(sum(&rows.intervals, |row| row.ops[class]), count, "{name}: class {class}");
    }
    assert_eq!(sum(&rows.intervals, |row| row.moved_units), counters.moved_units(), "{name}");
    // The mean number of occupied slots is the total time of requests over the time (Little).
    let spent: Time = rows.requests.iter().map(|row| row.completion - row.submitted).sum();
    let area: f64 = rows.intervals.iter().map(|row| row.queue_mean * (row.end - row.start) as f64).sum();
    assert!((area - spent as f64).abs() < 1e-6 * spent as f64, "{name}: {area} {spent}");
    let geometry = drive.kernel().flash().geometry();
    let dies: Time = rows.dies.iter().map(|row| row.times.occupied.iter().sum::<Time>()).sum();
    let shares: f64 = rows.intervals.iter().map(|row| row.dies_busy * (row.end - row.start) as f64).sum();
    assert!((shares * f64::from(geometry.dies()) - dies as f64).abs() < 1e-6 * dies as f64, "{name}");
    // Those up to the last completion are in the result.
    let reading = drive.reading();
    let within: Vec<&IntervalRow> = rows.intervals.iter().filter(|row| row.end <= drive.metrics.end).collect();
    for (class, &count) in reading.counters.ops.iter().enumerate() {
        assert_eq!(within.iter().map(|row| row.ops[class]).sum::<u64>(), count, "{name}: class {class}");
    }
    assert_eq!(within.iter().map(|row| row.moved_units).sum::<u64>(), reading.counters.moved_units(), "{name}");
    assert_eq!(within.last().map(|row| (row.end, row.free_blocks)), Some((reading.at, reading.free_blocks)), "{name}");
    let last = rows.intervals.last().expect("there is an interval");
    assert_eq!((last.end, last.free_blocks), (drive.now(), drive.kernel().blocks().free_blocks()), "{name}");
}

fn blocks_agree(name: &str, drive: &Drive, rows: &Rows) {
    // As at the end of the figures, though the drive continues.
    let reading = drive.reading();
    assert_eq!(rows.blocks.len(), drive.kernel().blocks().records().len(), "{name}");
    let mean = sum(&rows.blocks, |row| u64::from(row.erases)) as f64 / rows.blocks.len() as f64;
    assert_eq!(Some(mean), reading.wear["mean"].as_f64(), "{name}: a block counts its erase when that is over");
    let free = rows.blocks.iter().filter(|row| row.state == "free").count() as u32;
    assert_eq!(free, reading.free_blocks, "{name}");
    let valid: u64 = drive.kernel().blocks().records().iter().map(|block| u64::from(block.valid)).sum();
    let told = sum(&rows.blocks, |row| u64::from(row.valid_units));
    assert!(name == "buffer" || told == valid, "{name}: {told} {valid}");
}

#[test]
fn after_a_ramp_the_tables_tell_what_the_result_does() {
    let jobs = json!([
        {"name": "mix", "rw": "randrw", "bs": "4k", "iodepth": 12, "number_ios": 3_000, "norandommap": true, "ramp_time_s": 0.005},
        {"name": "late", "rw": "randwrite", "bs": "16k", "number_ios": 200, "ramp_time_s": 0.008},
    ]);
    for (name, text) in drives() {
        let mut unseen = drive(&text, 1);
        let alone = load(&unseen, &jobs);
        run(&mut unseen, alone, &mut |_| true).expect("no rule is broken");
        let mut seen = drive(&text, 1);
        let (mut rows, ended) = watched(&mut seen, &jobs, ALL, true);
        assert_eq!(seen.metrics, unseen.metrics, "{name}: to look at a run changes nothing");
        assert_eq!(ended.measured_from, 5_000 * US, "{name}: the first ramp");
        let all = rows.requests.len();
        rows.requests.retain(|row| row.completion >= ended.measured_from);
        rows.intervals.retain(|row| row.start >= ended.measured_from);
        assert!(rows.requests.len() < all && rows.requests.len() as u64 == seen.metrics.requests(), "{name}");
        let counters = seen.kernel().counters();
        for op in 0..4 {
            assert_eq!(
                sum(&rows.intervals, |row| row.requests[op]),
                seen.metrics.latency(Op::ALL[op]).count(),
                "{name}"
            );
        }
        for (class, &count) in counters.ops.iter().enumerate() {
            assert_eq!(sum(&rows.intervals, |row| row.ops[class]), count, "{name}: class {class}");
        }
        assert!(rows.intervals.iter().all(|row| row.dies_busy <= 1.0 && row.link_busy[0] <= 1.0), "{name}");
    }
}

#[test]
fn the_picture_of_activity_agrees_with_the_table() {
    let mut drive = drive(&drives()[1].1, 1);
    let (rows, _) = watched(&mut drive, &mixed(), ALL, true);
    let picture =
        drive.activity().unwrap().document(drive.kernel(), &drive.wires(), drive.is_half_duplex(), drive.now());
    let (interval, end) = (picture["interval_s"].as_f64().unwrap(), picture["end_s"].as_f64().unwrap());
    for die in 0..8 {
        let Some(list) = picture["dies_gc"].get(die) else { break };
        let shares = list.as_array().unwrap();
        assert!(shares.len() as f64 == (end / interval).ceil() && shares.len() <= 256);
        let told: f64 = shares
            .iter()
            .enumerate()
            .map(|(at, share)| share.as_f64().unwrap() * interval.min(end - at as f64 * interval))
            .sum();
        let of_die = rows.dies.iter().filter(|row| row.unit == die as u32);
        let exact = of_die.map(|row| row.times.occupied[2..].iter().sum::<Time>()).sum::<Time>() as f64 / 1e12;
        assert!((told - exact).abs() <= 5e-4 * end, "die {die}: {told} {exact}");
    }
}

#[test]
fn a_sample_is_a_share_of_all_requests_and_the_same_rows() {
    let text = &drives()[0].1;
    let (all, _) = watched(&mut drive(text, 1), &mixed(), ALL, true);
    let (some, _) = watched(&mut drive(text, 1), &mixed(), Wanted { sample: 10, ..ALL }, true);
    let kept: Vec<&RequestRow> =
        all.requests.iter().filter(|row| some.requests.iter().any(|other| other == *row)).collect();
    assert_eq!(kept.len(), some.requests.len(), "a sampled row is what it is without a sample");
    let expected = all.requests.len() as f64 / 10.0;
    assert!((some.requests.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{}", some.requests.len());
    assert_eq!(some.intervals, all.intervals);
}

#[test]
fn an_interrupted_run_leaves_what_was_done() {
    let mut drive = drive(&drives()[0].1, 1);
    let jobs =
        json!([{"name": "w", "rw": "randwrite", "bs": "4k", "iodepth": 8, "number_ios": 200_000, "norandommap": true}]);
    let (rows, ended) = watched(&mut drive, &jobs, ALL, false);
    assert!(ended.interrupted && ended.cut_off > 0);
    assert_eq!(rows.requests.len() as u64, drive.metrics.requests());
    assert_eq!(sum(&rows.intervals, |row| row.requests.iter().sum()), drive.metrics.requests());
    assert!(rows.intervals.iter().all(|row| row.end <= drive.now()));
    assert!(rows.dies.iter().all(|row| row.end <= drive.now() && row.start < row.end));
    assert!(!rows.blocks.is_empty());
}
