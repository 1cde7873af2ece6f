//! Computing time of the firmware: on single requests by hand, and under load.

use crate::common::{closed_loop, drive, latency, one, pick, request, US};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::parts::Features;
use wordline_drive::{Drive, Task};
use wordline_firmware::task::Tasks;

const PAGE: u32 = 16 * 1024;

/// A drive of one die, whose firmware takes 3 us for a look-up, 5 us for a host operation, and 7 us for one of GC.
fn text(processor: &str, more: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = 16, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive" }}
        buffer = {{ policy = "none" }}
        processor = {{ {processor} }}
        verify = {{ shadow = true }}
        {more}
        "#
    )
}

const FIXED: &str = r#"policy = "uniform", lookup_us = [3.0, 3.0], host_us = [5.0, 5.0], background_us = [7.0, 7.0]"#;

fn written(processor: &str, more: &str) -> Drive {
    let mut drive = drive(&text(processor, more), 1);
    closed_loop(&mut drive, 4, 40, |nth| request(Op::Write, nth * u64::from(PAGE), PAGE));
    drive.drain().expect("the drive comes to rest");
    drive
}

/// What computing adds to a request.
fn added(more: &str, op: Op, bytes: u32) -> Time {
    let [with, without] = [FIXED, r#"policy = "none""#].map(|processor| {
        let mut drive = written(processor, more);
        latency(&mut drive, request(op, 0, bytes))
    });
    with - without
}

#[test]
fn a_request_pays_for_look_ups_and_operations() {
    assert_eq!(added("", Op::Read, PAGE), (3 + 5) * US);
    assert_eq!(added("", Op::Write, PAGE), (3 + 5) * US);
    // One after the other; the die reads the first while the second is worked on.
    assert_eq!(added("", Op::Read, 2 * PAGE), (3 + 5) * US);
    // Old data are read: the read pays for its look-up and itself, the write for itself.
    assert_eq!(added("", Op::Write, PAGE / 2), (3 + 5 + 5) * US);
    // A page of four logical pages: one look-up, and one operation.
    let small = r#"mapping = { policy = "page", unit_kib = 4 }"#;
    assert_eq!(added(small, Op::Write, PAGE), (3 + 5) * US);
    assert_eq!(added(small, Op::Read, PAGE), (3 + 5) * US);
    // Nothing is asked of the flash: reads of what was never written.
    let [with, without] = [FIXED, r#"policy = "none""#]
        .map(|processor| latency(&mut drive(&text(processor, ""), 1), request(Op::Read, 0, PAGE)));
    assert_eq!(with, without);
}

#[test]
fn operations_of_a_task_are_worked_on_one_by_one() {
    // Two reads at once on a drive whose processor is slow: the second waits for the first.
    let slow = r#"policy = "uniform", lookup_us = [0.0, 0.0], host_us = [1000.0, 1000.0]"#;
    let mut drive = written(slow, "");
    drive.split_time(true);
    let start = drive.now();
    for page in 0..3_u64 {
        let read = Request { arrival: start, ..request(Op::Read, page * u64::from(PAGE), PAGE) };
        drive.submit(start, read).expect("it fits");
    }
    drive.drain().expect("the drive comes to rest");
    let mut ends: Vec<Time> = drive.completions().drain(..).map(|done| done.time - start).collect();
    ends.sort_unstable();
    assert!(
        (0..3).all(|at| ends[at] > (at as Time + 1) * 1000 * US && ends[at] < (at as Time + 1) * 1000 * US + 100 * US)
    );
    let parts = drive.split().expect("it was asked").document(Tasks::BASIC, Features::ALL);
    let told = |part: &str| parts["read"][part].as_f64().expect("it is told");
    // The commands come one after the other over the host interface, some hundred nanoseconds apart.
    assert!((told("processor") - 0.006).abs() < 2e-6, "all of the wait is told: {parts}");
    assert!(told("other") < 1e-9);
}

#[test]
fn gc_is_slower_by_its_computing_time_and_loses_nothing() {
    let slow = r#"policy = "uniform", background_us = [2000.0, 2000.0]"#;
    let run = |processor: &str, more: &str| {
        let mut drive = drive(&text(processor, more), 1);
        let pages = u64::from(drive.kernel().plan().logical_bytes() as u32 / PAGE);
        closed_loop(&mut drive, 8, pages, |nth| request(Op::Write, nth * u64::from(PAGE), PAGE));
        let mut random = Stream::new(1, "churn", 0);
        closed_loop(&mut drive, 8, 4 * pages, |_| {
            let op = *pick(&mut random, &[Op::Read, Op::Write, Op::Write]);
            request(op, random.below(pages) * u64::from(PAGE), PAGE)
        });
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
        assert!(drive.kernel().counters().jobs[Task::GC.index()] > 20);
        one(&mut drive, request(Op::Read, 0, PAGE));
        (drive.now(), drive.kernel().counters().padded_units)
    };
    for more in ["", r#"mapping = { policy = "page", unit_kib = 4 }"#] {
        let (quick, _) = run(FIXED, more);
        let (slow, padded) = run(slow, more);
        assert!(slow > quick + 100_000 * US, "{slow} with a slow processor, {quick} with a quick one");
        // The units of a victim wait for each other as without computing time.
        assert!(padded < 100, "{padded} units of pages stay empty");
    }
}
