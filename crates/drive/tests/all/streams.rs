//! Jobs side by side, one after another, resting, ramping and steady: the figures of each job against those of the
//! drive.

use crate::common::{drive, for_seeds, pick};
use serde_json::{json, Value};
use wordline_base::{Histogram, Op, Stream};
use wordline_drive::jobs::MOST_ROWS;
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
            assert_eq!(reported.iter().map(of).sum::<u64>(), drive.metrics.latency(op).count(), "{op:?}");
            let bytes = reported.iter().map(|stats| stats.ops[op as usize].bytes).sum::<u64>();
            assert_eq!(bytes, drive.metrics.bytes(op));
            let largest = reported.iter().map(|stats| stats.ops[op as usize].latency.max).max().unwrap();
            assert_eq!(Some(largest), drive.metrics.latency(op).max().map(|max| max / 1000).or(Some(0)));
        }
        assert_eq!(reported.iter().map(|stats| stats.end).max(), Some(drive.metrics.end));
        let Some(jobs) = streams.jobs() else {
            assert_eq!(reported.len(), 1, "one stream has no rows of its own");
            return;
        };
        let rows = jobs.rows();
        for op in Op::ALL {
            let mut sum = Histogram::default();
            rows.iter().for_each(|row| sum.merge(&row.latency[op as usize]));
            assert_eq!(sum, drive.metrics.latency(op), "{op:?}");
            assert_eq!(rows.iter().map(|row| row.bytes[op as usize]).sum::<u64>(), drive.metrics.bytes(op));
        }
        assert_eq!(rows.iter().map(|row| row.gc_affected).sum::<u64>(), drive.metrics.gc_affected);
        assert_eq!(rows.iter().map(|row| row.end).max(), Some(drive.metrics.end));
    });
}

#[test]
fn jobs_have_figures_of_their_own() {
    let few = |rw: Rw, count| JobOptions { name: Some(format!("{rw:?}")), number_ios: Some(count), ..job(rw) };
    let walled = JobOptions { stonewall: true, numjobs: 2, ..few(Rw::Read, 30) };
    let together = JobOptions { numjobs: 3, group_reporting: true, ..few(Rw::RandRead, 10) };
    let (drive, streams) = ran(vec![few(Rw::Write, 50), walled, together]);
    let rows = streams.jobs().expect("there are several").rows();
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.stream, row.streams, row.requests())).collect();
    assert_eq!(
        told,
        [("Write", 0, 1, 50), ("Read.0", 1, 1, 30), ("Read.1", 2, 1, 30), ("RandRead", 3, 3, 30)],
        "clones apart, but for those that are reported together"
    );
    assert_eq!((rows[0].start, rows[1].start, rows[3].start), (0, rows[0].end, rows[0].end), "the fill, then the rest");
    // Each has the latency of its own requests: a read of one page waits for no program.
    let max = |row: usize, op: Op| rows[row].latency[op as usize].max();
    assert!(max(0, Op::Write) > max(1, Op::Read) && max(0, Op::Read).is_none());
    let document = streams.jobs().unwrap().document();
    let first = &document[0];
    let seconds = rows[0].end as f64 / 1e12;
    assert!((first["iops"].as_f64().unwrap() - 50.0 / seconds).abs() < 1e-6 * 50.0 / seconds);
    assert!(first["iops"].as_f64().unwrap() > 50.0 / (drive.metrics.end as f64 / 1e12), "in its own time");
    assert_eq!((&first["by_op"]["write"]["bytes"], &first["by_op"]["read"]), (&json!(50 * 16_384), &Value::Null));
}

#[test]
fn figures_of_many_streams_stay_few() {
    let few = |name: &str, numjobs| JobOptions {
        name: Some(name.to_owned()),
        number_ios: Some(1),
        numjobs,
        ..job(Rw::RandRead)
    };
    // More clones than rows: one row per job.
    let (drive, streams) = ran(vec![few("one", 1), few("hundred", 100), few("two", 2)]);
    let rows = streams.jobs().unwrap().rows();
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.stream, row.requests())).collect();
    assert_eq!(told, [("one", 0, 1), ("hundred", 1, 100), ("two", 101, 2)]);
    assert_eq!(drive.metrics.requests(), 103);
    // More jobs than rows: the last row covers all the rest.
    let (_, streams) = ran((0..MOST_ROWS + 5).map(|n| few(&format!("job{n}"), 1)).collect());
    let rows = streams.jobs().unwrap().rows();
    let last = rows.last().unwrap();
    assert_eq!((rows.len(), last.name.as_str(), last.requests()), (MOST_ROWS, "job63 and 5 more", 6));
    assert!(rows[..MOST_ROWS - 1].iter().all(|row| row.requests() == 1));
}

#[test]
fn before_the_first_ramp_nothing_counts_for_any_job() {
    let timed = |ramp_time_s| JobOptions {
        ramp_time_s,
        time_based: true,
        runtime_s: Some(0.05),
        rate_iops_each: Some("1000".into()),
        ..job(Rw::RandRead)
    };
    let walled = JobOptions { stonewall: true, number_ios: Some(3), ..job(Rw::Read) };
    let (drive, streams) = ran(vec![timed(0.02), timed(0.03), walled]);
    let rows = streams.jobs().unwrap().rows();
    assert_eq!(
        (rows[2].start, rows[2].requests()),
        (rows[0].end.max(rows[1].end), 3),
        "behind the wall, after the ramps"
    );
    let sum: u64 = rows.iter().map(|row| row.requests()).sum();
    assert_eq!(sum, drive.metrics.requests());
    assert_eq!((rows[0].start, rows[1].start), (20_000_000_000, 20_000_000_000));
    assert!(rows.iter().all(|row| row.end >= 50_000_000_000), "each lasts until its time is over");
    assert_eq!(rows.iter().map(|row| row.end).max(), Some(drive.metrics.end));
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
    // Four requests at 0, 0.5, 1 and 1.5 s; the rest after the last one exceeds the end.
    let resting = JobOptions { thinktime_us: 500_000.0, ..limited(Rw::Read) };
    let (drive, streams) = ran(vec![resting.clone()]);
    assert_eq!(
        (drive.metrics.requests(), drive.metrics.end, streams.reported()[0].runtime()),
        (4, 2 * second, 2 * second)
    );
    // A higher rate does not extend it.
    let (drive, streams) = ran(vec![JobOptions { rate_iops: Some(1000.0), ..resting }]);
    assert_eq!((drive.metrics.requests(), streams.reported()[0].runtime()), (4, 2 * second));
    let (drive, _) =
        ran(vec![JobOptions { rate_iops: Some(1e7), iodepth: 4, runtime_s: Some(0.1), ..limited(Rw::Write) }]);
    let late = drive.metrics.end - second / 10;
    assert!((1..second / 100).contains(&late), "only what was in flight ends later: {late}");
    // One per second: at 0 and 1 s, and two seconds in all. A job behind a wall waits for them.
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
    // The drive measures from the earlier end on: 100 of one and 130 of the other.
    assert_eq!(drive.metrics.requests(), 230);
    assert_eq!(drive.metrics.start, 20_000_000_000 - 1);
    // The duration of a job without a rate shows only when it runs.
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
