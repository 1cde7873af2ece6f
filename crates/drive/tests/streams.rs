//! Jobs side by side, one after another, resting, ramping and steady: what is measured of each against what the drive measured of
//! all.

mod common;

use common::{drive, for_seeds, pick};
use wordline_base::{Op, Stream};
use wordline_drive::run::{run_measured, RunError, Watch};
use wordline_drive::streams::Streams;
use wordline_drive::Drive;
use wordline_workload::{Bytes, JobOptions, Load, LoadFile, Rw};

const SMALL: &str = "
[geometry]
channels = 2
packages_per_channel = 1
dies_per_package = 2
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 16
page_kib = 16
[capacity]
raw_over_logical = 1.4
[verify]
shadow = true
";

fn job(rw: Rw) -> JobOptions {
    JobOptions { rw, bs: "16k".into(), ..JobOptions::default() }
}

fn run(jobs: Vec<JobOptions>) -> Result<(Drive, Streams), RunError> {
    let mut drive = drive(SMALL, 1);
    let spec = LoadFile { job: jobs, ..LoadFile::default() };
    let load = Load::open(&spec, std::path::Path::new("."), drive.logical_bytes(), 1)?;
    let mut streams = Streams::job_by_job();
    run_measured(&mut drive, load, &mut |_| true, Watch::default(), &mut streams)?;
    Ok((drive, streams))
}

fn ran(jobs: Vec<JobOptions>) -> (Drive, Streams) {
    run(jobs).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn streams_add_up_to_the_drive() {
    for_seeds("streams", "streams_add_up_to_the_drive", 20, |seed| {
        let mut random = Stream::new(seed, "streams-test", 0);
        let modes = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandRw, Rw::Trim, Rw::RandTrimWrite, Rw::RandWrite];
        let some = |random: &mut Stream| JobOptions {
            iodepth: *pick(random, &[1, 2, 7, 32]),
            numjobs: *pick(random, &[1, 1, 3]),
            number_ios: Some(random.below(300) + 1),
            bssplit: random.below(2).eq(&0).then(|| "4k/30:16k/:64k/20".to_owned()),
            thinktime_us: *pick(random, &[0.0, 0.0, 50.0]),
            thinktime_blocks: *pick(random, &[1, 5]),
            stonewall: random.below(3) == 0,
            group_reporting: random.below(2) == 0,
            rate_iops_each: random.below(3).eq(&0).then(|| "20000".to_owned()),
            fsync: *pick(random, &[0, 0, 8]),
            ..job(*pick(random, &modes))
        };
        let jobs: Vec<_> = (0..=random.below(4)).map(|_| some(&mut random)).collect();
        let (drive, streams) = ran(jobs);
        let reported = streams.reported();
        for op in Op::ALL {
            let of = |stats: &wordline_drive::streams::StreamStats| stats.ops[op as usize].latency.count;
            assert_eq!(reported.iter().map(of).sum::<u64>(), drive.metrics.latency[op as usize].count(), "{op:?}");
            let bytes = reported.iter().map(|stats| stats.ops[op as usize].bytes).sum::<u64>();
            assert_eq!(bytes, drive.metrics.bytes[op as usize]);
            let largest = reported.iter().map(|stats| stats.ops[op as usize].latency.max).max().unwrap();
            assert_eq!(Some(largest), drive.metrics.latency[op as usize].max().map(|max| max / 1000).or(Some(0)));
        }
        assert_eq!(reported.iter().map(|stats| stats.end).max(), Some(drive.metrics.end));
    });
}

#[test]
fn a_wall_stands_until_all_before_it_have_ended() {
    let few = |rw, count| JobOptions { number_ios: Some(count), ..job(rw) };
    let walled = JobOptions { stonewall: true, start_delay_s: 0.001, ..few(Rw::Read, 10) };
    let (_, streams) = ran(vec![few(Rw::Write, 200), few(Rw::Write, 50), walled, few(Rw::Read, 5)]);
    let [long, short, walled, beside] = &streams.reported()[..] else { panic!("four jobs") };
    assert!((long.start, short.start) == (0, 0) && short.end < long.end);
    assert_eq!(walled.start, long.end + 1_000_000_000, "its own delay counts from the wall");
    assert_eq!(beside.start, long.end, "what is behind the wall starts with it");
    assert_eq!((long.group, walled.group, beside.group), (0, 1, 1));
}

#[test]
fn a_rest_begins_when_all_have_completed() {
    let resting =
        JobOptions { number_ios: Some(40), iodepth: 32, thinktime_us: 10_000.0, thinktime_blocks: 8, ..job(Rw::Read) };
    let (_, streams) = ran(vec![resting]);
    let stats = &streams.reported()[0];
    assert_eq!(stats.depth, 8, "no more than eight are in flight");
    let busy = stats.runtime() - 4 * 10_000_000_000;
    assert!((1..1_000_000_000).contains(&busy), "four rests between forty requests: {}", stats.runtime());
}

#[test]
fn a_job_with_a_runtime_sends_nothing_later_and_lasts_until_then() {
    let second = 1_000_000_000_000;
    let limited = |rw| JobOptions { time_based: true, runtime_s: Some(2.0), ..job(rw) };
    // Four requests at 0, 0.5, 1 and 1.5 s, and the rest after the last goes beyond the end.
    let resting = JobOptions { thinktime_us: 500_000.0, ..limited(Rw::Read) };
    let (drive, streams) = ran(vec![resting.clone()]);
    assert_eq!(
        (drive.metrics.requests(), drive.metrics.end, streams.reported()[0].runtime()),
        (4, 2 * second, 2 * second)
    );
    // A rate that asks for more does not make it longer.
    let (drive, streams) = ran(vec![JobOptions { rate_iops: Some(1000.0), ..resting }]);
    assert_eq!((drive.metrics.requests(), streams.reported()[0].runtime()), (4, 2 * second));
    let (drive, _) =
        ran(vec![JobOptions { rate_iops: Some(1e7), iodepth: 4, runtime_s: Some(0.1), ..limited(Rw::Write) }]);
    let late = drive.metrics.end - second / 10;
    assert!((1..second / 100).contains(&late), "only what was in flight ends later: {late}");
    // One a second: at 0 and 1 s, and two seconds in all. A job behind a wall waits for them.
    let slow = JobOptions { rate_iops: Some(1.0), ..limited(Rw::Read) };
    let (drive, streams) = ran(vec![slow, JobOptions { stonewall: true, number_ios: Some(1), ..job(Rw::Read) }]);
    assert_eq!((drive.metrics.requests(), streams.reported()[0].runtime()), (3, 2 * second));
    assert_eq!(streams.reported()[1].start, 2 * second);
}

#[test]
fn what_is_before_the_end_of_a_ramp_is_not_measured() {
    let ramping = |ramp_time_s| JobOptions {
        rate_iops: Some(1000.0),
        ramp_time_s,
        runtime_s: Some(0.1),
        time_based: true,
        ..job(Rw::RandRead)
    };
    let (drive, streams) = ran(vec![ramping(0.05), ramping(0.02)]);
    let [late, early] = &streams.reported()[..] else { panic!("two jobs") };
    assert_eq!((late.ops[0].latency.count, early.ops[0].latency.count), (100, 100));
    assert_eq!((late.start, early.start), (50_000_000_000, 20_000_000_000));
    // The drive measures from the earlier end on: 100 of the one and 130 of the other.
    assert_eq!(drive.metrics.requests(), 230);
    assert_eq!(drive.metrics.start, 20_000_000_000 - 1);
    // How long a job without a rate takes shows only when it is run.
    let short = JobOptions { time_based: false, size: Some(Bytes::from("160k")), rate_iops: None, ..ramping(0.05) };
    assert!(matches!(run(vec![short]), Err(RunError::Unmeasured { .. })));
}

#[test]
fn a_job_ends_when_it_is_steady() {
    let wanted = JobOptions {
        time_based: true,
        runtime_s: Some(2.0),
        steadystate: Some("iops:10%".into()),
        ss_dur_s: 0.05,
        ss_interval_s: 0.01,
        numjobs: 2,
        ..job(Rw::RandRead)
    };
    let (drive, streams) = ran(vec![JobOptions { group_reporting: true, ..wanted.clone() }]);
    let judged: Vec<_> = streams.judged().collect();
    assert_eq!(judged.len(), 1, "judged together");
    assert_eq!(judged[0].attained, Some(50_000_000_000));
    assert!(judged[0].measured.unwrap() < 10.0 && drive.metrics.end < 60_000_000_000);
    let total: f64 = judged[0].values.iter().map(|value| value.0 * 0.01).sum();
    assert!((total - drive.metrics.requests() as f64).abs() <= 4.0, "all that was done is in the window");
    let (_, streams) = ran(vec![wanted]);
    assert_eq!(streams.judged().count(), 2, "each by itself");
}
