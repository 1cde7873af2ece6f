//! Cost of writing the table of requests in a run.

use crate::cases::{aged, job, Case};
use crate::measure::{peak_mib, report, timed};
use cpu_time::ThreadTime;
use serde_json::{json, Value};
use std::hint::black_box;
use std::path::Path;
use wordline_drive::observe::{
    BlockRow, ChannelTimes, DieTimes, IntervalRow, Observation, PlaneTimes, RequestRow, Sink, UnitRow, Wanted,
};
use wordline_drive::run::{run_watched, Watch};
use wordline_drive::Drive;
use wordline_tables::Tables;
use wordline_workload::Load;

/// Rounds, of which the one in the middle counts.
const ROUNDS: usize = 5;

/// Seconds of one round.
#[derive(Clone, Copy)]
struct Round {
    plain: f64,
    /// With rows that nobody writes.
    made: f64,
    /// With the table: of the thread that runs the drive, and of the one that writes.
    run: f64,
    writer: f64,
    bytes: u64,
}

impl Round {
    fn slower(&self) -> f64 {
        self.run.max(self.writer) / self.plain
    }
}

/// The same run without and with the table. Two threads work with it; what counts is the busier one, so that the figure is that of
/// a machine with two free processors, however busy this one is.
pub fn table_of_requests(case: &Case, share: f64, small: bool) -> Value {
    let drive = aged(case, small, 2.0);
    let count = (2e6 * share * if small { 0.02 } else { 1.0 }) as u64;
    let mut rounds: Vec<Round> = (0..if small { 1 } else { ROUNDS }).map(|_| round(&drive, count)).collect();
    rounds.sort_by(|a, b| a.slower().total_cmp(&b.slower()));
    let middle = rounds[rounds.len() / 2];
    report(
        count as f64,
        middle.run.max(middle.writer),
        middle.slower(),
        json!({
            "seconds without": middle.plain,
            "with rows that nobody writes": middle.made,
            "of the run": middle.run,
            "of the writer": middle.writer,
            "bytes a row": middle.bytes as f64 / count as f64,
            "peak MiB": peak_mib(),
        }),
    )
}

/// Every run has a copy of the drive, made like the others: an older one lies elsewhere in memory, which alone costs a tenth.
fn round(drive: &Drive, count: u64) -> Round {
    let mut without = drive.clone();
    let (plain, _) = timed(|| go(&mut without, count, None));
    let hash = without.metrics.hash;
    drop(without);
    let wanted = Wanted { requests: true, ..Wanted::NOTHING };
    let mut seen = drive.clone();
    let (made, _) = timed(|| {
        let mut observation = Observation::new(&mut seen, wanted, Box::new(Nowhere));
        go(&mut seen, count, Some(&mut observation));
        observation.finish(&mut seen);
    });
    drop(seen);
    let directory = std::env::temp_dir().join(format!("wordline-bench-tables-{}", std::process::id()));
    let mut with = drive.clone();
    let mut tables =
        Tables::open(&directory, &wanted, drive.kernel().plan()).expect("the temporary directory can be written");
    let (all, (run, written)) = timed(|| {
        let start = ThreadTime::now();
        let mut observation = Observation::new(&mut with, wanted, tables.sink());
        go(&mut with, count, Some(&mut observation));
        observation.finish(&mut with);
        let run = start.elapsed().as_secs_f64();
        (run, tables.finish(&Vec::new()))
    });
    let bytes = written.iter().flatten().map(|table| table.bytes).sum::<u64>();
    std::fs::remove_dir_all(&directory).expect("it was just written");
    assert_eq!(hash, with.metrics.hash, "tables change nothing");
    Round { plain, made, run, writer: all - run, bytes }
}

/// Rows that nobody writes: what is left is the cost of making them.
struct Nowhere;

impl Sink for Nowhere {
    fn request(&mut self, row: &RequestRow) {
        black_box(row);
    }
    fn interval(&mut self, _: &IntervalRow) {}
    fn channel(&mut self, _: &UnitRow<ChannelTimes>) {}
    fn die(&mut self, _: &UnitRow<DieTimes>) {}
    fn plane(&mut self, _: &UnitRow<PlaneTimes>) {}
    fn block(&mut self, _: &BlockRow) {}
}

fn go(drive: &mut Drive, count: u64, observation: Option<&mut Observation>) {
    let words = json!({"rw": "randrw", "rwmixread": 70, "bs": "16k", "iodepth": 32, "norandommap": true,
        "number_ios": count});
    let load = Load::open(&job(words), Path::new("."), drive.logical_bytes(), 1).expect("a load of the benchmark");
    let watch = Watch { observation, ..Watch::default() };
    run_watched(drive, load, &mut |_| true, watch).expect("a run of the benchmark");
}
