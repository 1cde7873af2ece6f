//! Read scrubbing: a task of its own, whose blocks, operations and delays are told by its name.

use crate::common::{closed_loop, drive, request, watched_loop};
use wordline_base::{Op, Stream};
use wordline_drive::parts::{Features, Part};
use wordline_drive::{Drive, Task};
use wordline_firmware::task::{Action, Class};

/// A drive that scrubs blocks after few reads, filled once.
fn filled(scope: &str, more: &str, seed: u64) -> Drive {
    let placement = if scope == "plane" { "static" } else { "least-busy" };
    let mut drive = drive(
        &format!(
            r#"
            geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
                blocks_per_plane = 24, pages_per_block = 16, page_kib = 16 }}
            nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
            capacity = {{ raw_over_logical = 1.6 }}
            placement = {{ policy = "{placement}" }}
            collect = {{ policy = "on-demand", scope = "{scope}" }}
            refresh = {{ policy = "scrub", start_reads = 200, stop_reads = 150 }}
            buffer = {{ policy = "none" }}
            verify = {{ shadow = true }}
            {more}
            "#
        ),
        seed,
    );
    let plan = *drive.kernel().plan();
    let (units, bytes) = (u64::from(plan.logical_units), plan.unit_bytes);
    closed_loop(&mut drive, 16, units, |nth| request(Op::Write, nth * u64::from(bytes), bytes));
    drive
}

/// The most page reads of a block.
fn most_read(drive: &Drive) -> u32 {
    let flash = drive.kernel().flash();
    (0..flash.geometry().blocks()).map(|block| flash.block_record(block).reads).max().unwrap_or(0)
}

#[test]
fn hammered_blocks_are_moved_and_nothing_is_lost() {
    for (scope, unit) in [("plane", ""), ("drive", ""), ("drive", "mapping = { policy = \"page\", unit_kib = 4 }")] {
        let mut drive = filled(scope, unit, 1);
        let bytes = drive.kernel().plan().unit_bytes;
        drive.split_time(true);
        // Four logical pages take all reads: their blocks reach the threshold again and again.
        let mut random = Stream::new(1, "hammer", 0);
        closed_loop(&mut drive, 8, 20_000, |_| request(Op::Read, random.below(4) * u64::from(bytes), bytes));
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
        let counters = *drive.kernel().counters();
        let moved = counters.jobs[Task::REFRESH.index()];
        let of = |action| counters.ops[Class::new(Task::REFRESH, action).index()];
        assert!(moved > 20, "{scope}: {moved} blocks were moved");
        assert_eq!(of(Action::Erase), moved, "{scope}: every block that was moved was erased");
        assert_eq!(counters.collections(), 0, "{scope}: reads cause no garbage");
        assert!(of(Action::Program) > 0 && of(Action::Read) > 0);
        // While a block moves, its reads go on: at most as many as the drive does in that time.
        assert!(most_read(&drive) < 400, "{scope}: a block has had {} reads", most_read(&drive));
        let told = drive.split().expect("it was asked").document(drive.kernel().tasks(), Features::default());
        assert!(told["read"]["wait_die_refresh"].as_f64().expect("it is a number") > 0.0, "{scope}: {told}");
        assert_eq!(told["read"]["wait_die_gc"], 0.0, "{scope}");
        assert_eq!(told["write"][&Part::all()[Part::wait_die(Task::REFRESH).index()].name], 0.0);
    }
}

#[test]
fn the_share_of_scrubbing_grows_until_the_hot_block_is_erased() {
    for seed in 0..4 {
        // A step of the control adds ten percent for each tenth that the reads are above the threshold.
        let control = "dispatch = { policy = \"debit\" }\n\
            shares = { policy = \"feedback\", interval_ms = 0.1, least = 5.0, p = { refresh = 100.0 } }";
        let mut drive = filled("drive", control, seed);
        let bytes = drive.kernel().plan().unit_bytes;
        let share =
            |drive: &Drive| drive.kernel().standing().and_then(|it| it.shares).expect("it has")[Task::REFRESH.index()];
        let (mut most, mut scrubbed) = (0.0, 0);
        // One page takes all reads, so no other block keeps the share up.
        watched_loop(
            &mut drive,
            8,
            2_000,
            |_| request(Op::Read, 0, bytes),
            |drive| {
                let erased = drive.kernel().counters().jobs[Task::REFRESH.index()];
                if erased == scrubbed {
                    // What the control takes for the state of the drive is that of its blocks.
                    let told = drive.kernel().most_reads().expect("a task looks at reads");
                    assert_eq!(told, most_read(drive), "seed {seed}: the hot block counts until its erase");
                }
                scrubbed = erased;
                most = share(drive).max(most);
            },
        );
        assert!(scrubbed > 3, "seed {seed}: {scrubbed} blocks were scrubbed");
        assert!(most > 10.0, "seed {seed}: the share grew to {most} % alone");
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
    }
}

#[test]
fn scrubbing_and_collection_share_what_space_there_is() {
    for seed in 0..4 {
        let mut drive = filled("drive", "", seed);
        let plan = *drive.kernel().plan();
        let (units, bytes) = (u64::from(plan.logical_units), plan.unit_bytes);
        let mut random = Stream::new(seed, "both", 0);
        closed_loop(&mut drive, 32, 30_000, |_| {
            let write = random.below(4) == 0;
            let unit = if write { random.below(units) } else { random.below(8) };
            request(if write { Op::Write } else { Op::Read }, unit * u64::from(bytes), bytes)
        });
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
        let counters = drive.kernel().counters();
        assert!(counters.collections() > 100 && counters.jobs[Task::REFRESH.index()] > 5, "{counters:?}");
        assert_eq!(counters.erases(), counters.jobs.iter().sum::<u64>());
    }
}

#[test]
fn a_drive_without_it_knows_nothing_of_it() {
    let drive = drive("geometry = { channels = 1, packages_per_channel = 1, blocks_per_plane = 64 }", 1);
    let tasks: Vec<&str> = drive.kernel().tasks().iter().map(|task| task.about().name).collect();
    assert_eq!(tasks, ["host", "gc"]);
}
