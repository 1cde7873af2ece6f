//! Arrays of drives: against the drive alone, against members by themselves, by hand, and under random loads.

use crate::common::{between, chance, config, drive, for_seeds, latency, pick, request};
use wordline_base::time::{MS, S};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::array::config::{ArrayConfig, ArrayKind, Members};
use wordline_drive::array::layout::Layout;
use wordline_drive::array::Array;
use wordline_drive::run::run;
use wordline_drive::streams::Streams;
use wordline_drive::{Completion, Device, Drive};
use wordline_workload::{JobOptions, Load, LoadFile, Rw};

/// 14 MiB of logical pages, less what is spare.
const SMALL: &str = "
[geometry]
channels = 2
packages_per_channel = 1
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 16
page_kib = 16
[mapping]
policy = \"page\"
unit_kib = 4
[capacity]
raw_over_logical = 1.6
[queue]
depth = 8
[verify]
shadow = true
";

const K: u64 = 1 << 10;
const CHUNK: u64 = 64 * K;

fn plan(kind: ArrayKind, members: u32) -> ArrayConfig {
    ArrayConfig { kind, members: Members::Count(members), drive: Some("small".into()), ..ArrayConfig::default() }
}

fn array(config: &ArrayConfig, seed: u64) -> Array {
    config.check().expect("a valid array");
    let count = config.members.count() as usize;
    let drives: Vec<Drive> = (0..count + usize::from(config.spare)).map(|at| drive(SMALL, seed + at as u64)).collect();
    let sizes: Vec<u64> = drives[..count].iter().map(Drive::logical_bytes).collect();
    Array::new(config, Layout::new(config.kind, &sizes, config.chunk()), drives)
}

fn load(bytes: u64, jobs: Vec<JobOptions>) -> Load {
    let spec = LoadFile { job: jobs, ..LoadFile::default() };
    Load::open(&spec, std::path::Path::new("."), bytes, 1).expect("a valid workload")
}

fn job(rw: Rw, number_ios: u64) -> JobOptions {
    JobOptions { rw, bs: "4k".into(), iodepth: 4, number_ios: Some(number_ios), ..JobOptions::default() }
}

/// Feeds requests at their times, each when the device has a slot, and gives what was done.
fn feed(device: &mut impl Device, requests: &[Request]) -> Vec<Completion> {
    let mut done = Vec::new();
    for &request in requests {
        while !device.has_slot(request.stream) || device.next_event().is_some_and(|event| event <= request.arrival) {
            assert!(device.steps(Time::MAX, 1).expect("no rule is broken") > 0, "the device stalled");
            done.append(device.completions());
        }
        let at = request.arrival.max(device.now());
        device.submit(at, request).expect("it fits");
    }
    device.drain().expect("the device comes to rest");
    done.append(device.completions());
    done
}

/// Random requests in the order of their times.
fn requests(random: &mut Stream, count: u64, bytes: u64, gap: Time) -> Vec<Request> {
    let mut arrival = 0;
    let mut one = || {
        arrival += random.below(gap);
        let op = *pick(random, &[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush]);
        let most = if op == Op::Trim { 2048 } else { *pick(random, &[8, 8, 32, 600]) };
        let length = between(random, 1, most) * 512;
        let offset = random.below((bytes - length) / 512) * 512;
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (offset, length) };
        Request { arrival, fua: chance(random, 5), ..request(op, offset, length as u32) }
    };
    (0..count).map(|_| one()).collect()
}

/// Runs the same jobs on a drive and on an array of it alone: every completion and every block is the same.
#[test]
fn an_array_of_one_drive_is_the_drive() {
    for_seeds("arrays", "an_array_of_one_drive_is_the_drive", 6, |seed| {
        let mut random = Stream::new(seed, "array-test", 0);
        let modes = [Rw::RandRw, Rw::RandWrite, Rw::Read, Rw::RandTrimWrite];
        let jobs: Vec<JobOptions> = (0..=random.below(2))
            .map(|nth| JobOptions {
                name: Some(format!("job{nth}")),
                iodepth: *pick(&mut random, &[1, 4, 40]),
                bssplit: Some("4k/60:20k/20:132k".to_owned()),
                fsync: *pick(&mut random, &[0, 7]),
                ramp_time_s: if seed == 3 { 0.01 } else { 0.0 },
                ..job(*pick(&mut random, &modes), 1500)
            })
            .collect();
        let mut alone = drive(SMALL, seed);
        let bytes = alone.logical_bytes();
        run(&mut alone, load(bytes, jobs.clone()), &mut |_| true).expect("it runs");
        for kind in [ArrayKind::Join, ArrayKind::Raid0] {
            let mut of_one = array(&plan(kind, 1), seed);
            assert_eq!(of_one.logical_bytes(), bytes, "whole stripes");
            of_one.run(load(bytes, jobs.clone()), &mut |_| true, &mut Streams::default()).expect("it runs");
            let member = of_one.drives().next().expect("a member");
            let (ours, its) = (of_one.metrics(), &alone.metrics);
            assert_eq!((ours.hash, ours.end), (its.hash, its.end), "{kind:?}, seed {seed}");
            assert_eq!(Op::ALL.map(|op| ours.bytes(op)), Op::ALL.map(|op| its.bytes(op)), "{kind:?}, seed {seed}");
            assert!(ours.by_size == its.by_size && ours.affected_latency == its.affected_latency);
            assert_eq!((ours.waiting_sum, ours.waiting_max), (its.waiting_sum, its.waiting_max));
            assert!(member.metrics == *its, "the member itself");
            assert_eq!(member.kernel().blocks().records(), alone.kernel().blocks().records());
        }
    });
}

/// Members that share nothing step as drives by themselves, whatever the order of their events.
#[test]
fn members_of_a_joined_array_are_independent() {
    for_seeds("arrays", "members_of_a_joined_array_are_independent", 4, |seed| {
        let mut random = Stream::new(seed, "array-test", 1);
        let mut joined = array(&ArrayConfig { queue_depth: Some(4000), ..plan(ArrayKind::Join, 3) }, seed);
        let size = joined.drives().next().expect("a member").logical_bytes();
        let gap = *pick(&mut random, &[MS / 20, MS]);
        let alone: Vec<Vec<Request>> = (0..3)
            .map(|_| requests(&mut random, 300, size, gap))
            .map(|mut all| {
                // A flush is for all members: none of one alone.
                all.retain(|request| request.op != Op::Flush);
                all
            })
            .collect();
        let mut all: Vec<Request> = (0..3_u64)
            .flat_map(|at| alone[at as usize].iter().map(move |r| Request { offset: r.offset + at * size, ..*r }))
            .collect();
        all.sort_by_key(|request| request.arrival);
        let done = feed(&mut joined, &all);
        assert_eq!(done.len(), all.len());
        for at in 0..3_u64 {
            let mut by_itself = drive(SMALL, seed + at);
            let mut want: Vec<_> = feed(&mut by_itself, &alone[at as usize])
                .iter()
                .map(|d| (d.time, d.request.offset, d.request.bytes))
                .collect();
            let of = |d: &&Completion| d.request.offset / size == at;
            let mut got: Vec<_> =
                done.iter().filter(of).map(|d| (d.time, d.request.offset - at * size, d.request.bytes)).collect();
            want.sort_unstable();
            got.sort_unstable();
            assert!(got == want, "member {at}, seed {seed}");
        }
    });
}

#[test]
fn stripes_split_requests_and_nothing_is_lost() {
    let mut striped = array(&plan(ArrayKind::Raid0, 4), 1);
    let mut random = Stream::new(1, "array-test", 2);
    striped.start_measuring();
    let all = requests(&mut random, 600, striped.logical_bytes(), MS / 4);
    let done = feed(&mut striped, &all);
    assert_eq!(done.len(), all.len());
    for op in [Op::Read, Op::Write, Op::Trim] {
        let of_host: u64 = all.iter().filter(|r| r.op == op).map(|r| u64::from(r.bytes)).sum();
        assert_eq!(striped.metrics().bytes(op), of_host, "{op:?}");
        assert_eq!(striped.drives().map(|drive| drive.metrics.bytes(op)).sum::<u64>(), of_host, "{op:?}");
    }
    let flushes = all.iter().filter(|r| r.op == Op::Flush).count() as u64;
    assert!(flushes > 0);
    assert!(striped.drives().all(|drive| drive.metrics.latency(Op::Flush).count() == flushes), "a flush is for all");
}

/// A read of two chunks is as slow as the slower of its pieces, which two members read side by side.
#[test]
fn pieces_run_side_by_side() {
    let mut striped = array(&plan(ArrayKind::Raid0, 2), 1);
    let write = Request { arrival: 0, ..request(Op::Write, 0, 2 * CHUNK as u32) };
    feed(&mut striped, &[write]);
    let mut alone = drive(SMALL, 1);
    feed(&mut alone, &[Request { arrival: 0, ..request(Op::Write, 0, CHUNK as u32) }]);
    let half = latency(&mut alone, request(Op::Read, 32 * K, 32 * K as u32));
    let now = striped.now();
    let done = feed(&mut striped, &[Request { arrival: now, ..request(Op::Read, 32 * K, 64 * K as u32) }]);
    assert_eq!(done[0].time - now, half);
    // What does not fit into a queue of 8 waits for a slot, and all of it is done.
    let burst: Vec<_> = (0..16).map(|_| Request { arrival: striped.now(), ..request(Op::Read, 0, 4096) }).collect();
    assert_eq!(striped.queues(), (1, 16));
    assert_eq!(feed(&mut striped, &burst).len(), 16);
}

/// Two reads, then two writes: the latency of a small write is that of a read and that of a write of a member.
#[test]
fn a_small_write_with_parity_is_two_reads_and_two_writes() {
    let mut parity = array(&plan(ArrayKind::Raid5, 5), 1);
    let stripe = 4 * CHUNK;
    feed(&mut parity, &[request(Op::Write, 0, stripe as u32)]);
    parity.start_measuring();
    let counts: Vec<u64> = parity.drives().map(|drive| drive.metrics.requests()).collect();
    assert_eq!(counts, [0; 5]);
    let mut alone = drive(SMALL, 1);
    feed(&mut alone, &[Request { arrival: 0, ..request(Op::Write, 0, CHUNK as u32) }]);
    let read = latency(&mut alone, request(Op::Read, 4 * K, 4096));
    let write = latency(&mut alone, request(Op::Write, 4 * K, 4096));
    let now = parity.now();
    // In the second chunk of stripe 0, which is on member 1; its parity is on member 4.
    let done = feed(&mut parity, &[Request { arrival: now, ..request(Op::Write, CHUNK + 4 * K, 4096) }]);
    assert_eq!(done[0].time - now, read + write);
    let of = |op: Op| parity.drives().map(|drive| drive.metrics.latency(op).count()).collect::<Vec<_>>();
    assert_eq!((of(Op::Read), of(Op::Write)), (vec![0, 1, 0, 0, 1], vec![0, 1, 0, 0, 1]));
    let counts = parity.parity_counts().expect("it has parity");
    assert_eq!((counts.modify_writes, counts.reads_for_writes, counts.parity_written_bytes), (1, 2, 4096));
    // A whole stripe reads nothing.
    let now = parity.now();
    feed(&mut parity, &[Request { arrival: now, ..request(Op::Write, stripe, stripe as u32) }]);
    let counts = parity.parity_counts().expect("it has parity");
    assert_eq!((counts.full_writes, counts.reads_for_writes), (1, 2));
    assert_eq!(parity.written().host_units, (4096 + stripe) / 4096, "parity is none of the host's");
}

/// Two writes of the same bytes come after each other, those of other bytes of the stripe side by side.
#[test]
fn writes_of_one_page_of_a_stripe_follow_each_other() {
    let times = |offsets: [u64; 2]| {
        let mut parity = array(&plan(ArrayKind::Raid5, 5), 1);
        feed(&mut parity, &[request(Op::Write, 0, 4 * CHUNK as u32)]);
        let now = parity.now();
        parity.start_measuring();
        let done =
            feed(&mut parity, &offsets.map(|offset| Request { arrival: now, ..request(Op::Write, offset, 4096) }));
        let waits = parity.parity_counts().expect("it has parity").waits;
        (done.iter().map(|done| done.time - now).max().expect("two are done"), waits)
    };
    let (apart, none) = times([0, 3 * CHUNK + 16 * K]);
    let (together, one) = times([0, 3 * CHUNK]);
    assert_eq!((none, one), (0, 1));
    assert!(together > apart * 3 / 2, "{together} and {apart}");
}

#[test]
fn a_trim_takes_whole_stripes() {
    let mut parity = array(&plan(ArrayKind::Raid5, 3), 1);
    parity.start_measuring();
    let stripe = 2 * CHUNK;
    // One and a half stripes, and less than one: the first trims one stripe on every member, the other nothing.
    let all = [request(Op::Trim, stripe / 2, (stripe / 2 + stripe) as u32), request(Op::Trim, 512, 4096)];
    let done = feed(&mut parity, &all);
    assert_eq!(done.len(), 2);
    assert!(parity.drives().all(|drive| drive.metrics.bytes(Op::Trim) == CHUNK));
    let counts = parity.parity_counts().expect("it has parity");
    assert_eq!(counts.untrimmed_bytes, stripe / 2 + 4096);
}

/// The chunk of a member that failed is read from all others; those of the others as ever.
#[test]
fn a_missing_member_is_read_from_the_others() {
    let mut parity = array(&ArrayConfig { fail_member: Some(1), ..plan(ArrayKind::Raid5, 4) }, 1);
    let stripe = 3 * CHUNK;
    feed(&mut parity, &[request(Op::Write, 0, stripe as u32)]);
    assert_eq!(parity.failed(), None);
    parity.start_measuring();
    let now = parity.now();
    assert_eq!(parity.failed(), Some((1, now)));
    let reads =
        |parity: &Array| parity.drives().map(|drive| drive.metrics.latency(Op::Read).count()).collect::<Vec<_>>();
    feed(&mut parity, &[Request { arrival: now, ..request(Op::Read, 0, 4096) }]);
    assert_eq!(reads(&parity), [1, 0, 0, 0]);
    let now = parity.now();
    feed(&mut parity, &[Request { arrival: now, ..request(Op::Read, CHUNK, 4096) }]);
    assert_eq!(reads(&parity), [2, 0, 1, 1]);
    let counts = parity.parity_counts().expect("it has parity");
    assert_eq!((counts.degraded_reads, counts.degraded_bytes), (1, 4096));
}

/// At 1 MiB a second the chunks of a member of 8 MiB take eight seconds; load goes on meanwhile.
#[test]
fn a_rebuild_keeps_its_pace_while_load_goes_on() {
    let config = ArrayConfig {
        fail_member: Some(2),
        fail_at_s: Some(0.5),
        spare: true,
        rebuild_mib_s: Some(8.0),
        ..plan(ArrayKind::Raid5, 4)
    };
    let mut parity = array(&config, 1);
    let Layout::Parity(layout) = *parity.layout() else { panic!("parity") };
    let jobs = vec![JobOptions {
        number_ios: None,
        runtime_s: Some(2.5),
        time_based: true,
        rate_iops_each: Some("2000".into()),
        ..job(Rw::RandRw, 0)
    }];
    let bytes = parity.logical_bytes();
    parity.run(load(bytes, jobs), &mut |_| true, &mut Streams::default()).expect("it runs");
    let (failed, at) = parity.failed().expect("it failed");
    assert_eq!((failed, at), (2, S / 2));
    let (begun, ended, stripes) = parity.rebuilt().expect("it was rebuilt");
    let ended = ended.expect("in time");
    assert_eq!((begun, stripes), (S / 2, layout.stripes));
    let seconds = (ended - begun) as f64 / 1e12;
    let pace = ((layout.stripes - 1) * CHUNK) as f64 / (8.0 * 1_048_576.0);
    assert!(seconds >= pace && seconds < pace + 0.02, "{seconds} s at a pace of {pace} s");
    let drives: Vec<&Drive> = parity.drives().collect();
    let counts = parity.parity_counts().expect("it has parity");
    assert_eq!(counts.rebuilt_bytes, layout.stripes * CHUNK);
    assert!(drives[4].metrics.bytes(Op::Write) >= counts.rebuilt_bytes, "and what the host wrote since");
    assert!(drives[4].metrics.bytes(Op::Read) > 0, "the spare is read once it holds the stripe");
    assert!(counts.degraded_reads > 10, "{counts:?}");
}

/// Random loads on arrays of all kinds, with members that fail and are rebuilt; every member keeps a shadow disk.
#[test]
fn random_loads_break_no_rule() {
    for_seeds("arrays", "random_loads_break_no_rule", 12, |seed| {
        let mut random = Stream::new(seed, "array-test", 3);
        let kind = *pick(
            &mut random,
            &[ArrayKind::Raid0, ArrayKind::Join, ArrayKind::Raid5, ArrayKind::Raid5, ArrayKind::Raid5],
        );
        let members = between(&mut random, if kind == ArrayKind::Raid5 { 3 } else { 1 }, 6) as u32;
        let fails = kind == ArrayKind::Raid5 && chance(&mut random, 70);
        let spare = fails && chance(&mut random, 60);
        let config = ArrayConfig {
            stripe_kib: (kind != ArrayKind::Join).then(|| *pick(&mut random, &[4, 12, 64, 256])),
            queue_depth: pick(&mut random, &[None, Some(1), Some(300)]).to_owned(),
            fail_member: fails.then(|| random.below(u64::from(members)) as u32),
            fail_at_s: fails.then(|| *pick(&mut random, &[0.0, 0.02, 0.15])),
            spare,
            rebuild_mib_s: spare.then(|| *pick(&mut random, &[2.0, 100.0])),
            rebuild_depth: spare.then(|| *pick(&mut random, &[1, 8])),
            ..plan(kind, members)
        };
        let gap = *pick(&mut random, &[MS / 50, MS]);
        let outcome = || {
            let mut random = Stream::new(seed, "array-test", 4);
            let mut array = array(&config, seed);
            array.start_measuring();
            let all = requests(&mut random, 500, array.logical_bytes(), gap);
            let done = feed(&mut array, &all);
            assert_eq!(done.len(), all.len());
            let told: u64 = all.iter().filter(|r| r.op == Op::Write).map(|r| u64::from(r.bytes)).sum();
            assert_eq!(array.metrics().bytes(Op::Write), told);
            if let Some(counts) = array.parity_counts().filter(|_| !fails) {
                let written: u64 = array.drives().map(|drive| drive.metrics.bytes(Op::Write)).sum();
                assert_eq!(written, told + counts.parity_written_bytes, "host data and parity, nothing else");
            }
            assert!(!fails || array.failed().is_some() || gap < MS);
            array.metrics().hash
        };
        assert_eq!(outcome(), outcome(), "the same again");
    });
}

#[test]
fn a_copy_of_an_array_goes_on_by_itself() {
    let mut first = array(&plan(ArrayKind::Raid5, 3), 1);
    let mut random = Stream::new(1, "array-test", 5);
    let all = requests(&mut random, 200, first.logical_bytes(), MS / 4);
    feed(&mut first, &all);
    let mut second = first.clone();
    let later: Vec<_> = all.iter().map(|r| Request { arrival: r.arrival + first.now(), ..*r }).collect();
    let times = |done: Vec<Completion>| done.iter().map(|d| d.time).collect::<Vec<_>>();
    assert_eq!(times(feed(&mut first, &later)), times(feed(&mut second, &later)));
    assert!(config(SMALL).verify.shadow);
}
