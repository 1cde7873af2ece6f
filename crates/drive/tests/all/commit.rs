//! The commit stage: order of operations with a single queue, and limits of debit scheduling, on drives seen from
//! outside.

use crate::common::{drive, for_seeds, one, request, watched_loop, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::{Drive, Task};

/// Two dies of one plane behind one channel that takes no time to speak of: a read is 50 µs.
fn two_dies(dispatch: &str, seed: u64) -> Drive {
    two_dies_with(50.0, dispatch, seed)
}

/// The same with other reads.
fn two_dies_with(read_us: f64, dispatch: &str, seed: u64) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1,
            blocks_per_plane = 64, pages_per_block = 32, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = {read_us:?}, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "static", order = "CWDP" }}
        dispatch = {{ {dispatch} }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        "#
    );
    let mut drive = drive(&text, seed);
    let pages = drive.logical_bytes() / 4096;
    watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 4096, 4096), |_| {});
    drive
}

/// Latency of four reads that arrive together, three of die 0 and then one of die 1.
fn latencies(dispatch: &str) -> [Time; 4] {
    let mut drive = two_dies(dispatch, 1);
    // Neighbouring pages are in different dies.
    let (die_of, now) = (|page: u64| page % 2, drive.now());
    let pages = [0, 2, 4, 1];
    assert_eq!(pages.map(die_of), [0, 0, 0, 1]);
    let slots = pages.map(|page| drive.submit(now, request(Op::Read, page * 4096, 4096)).expect("there is room"));
    let mut ends = [0; 4];
    while drive.step().expect("no rule is broken") {
        for done in drive.completions().drain(..) {
            ends[slots.iter().position(|&slot| slot == done.slot).expect("it is one of them")] = done.time - now;
        }
    }
    ends
}

#[test]
fn an_operation_for_a_full_die_holds_up_those_behind_it() {
    let (read, close) = (50 * US, 25 * US);
    let about = |time: Time, reads: u64| time.abs_diff(reads * read) < close;
    let [first, second, third, other] = latencies("policy = \"fifo\"");
    assert!(
        about(first, 1) && about(second, 2) && about(third, 3) && about(other, 1),
        "{first} {second} {third} {other}"
    );
    // With room for one operation, the fourth waits until the third has gone to die 0.
    let [first, second, third, other] = latencies("policy = \"one-queue\", depth = 1");
    assert!(
        about(first, 1) && about(second, 2) && about(third, 3) && about(other, 3),
        "{first} {second} {third} {other}"
    );
    // With room for three, nobody waits.
    assert!(about(latencies("policy = \"one-queue\", depth = 3")[3], 1));
    // Debit scheduling goes on with the next die: two of the host's three operations are for die 0.
    let [.., third, other] = latencies("policy = \"debit\", depth = 2");
    assert!(about(third, 3) && about(other, 1), "{third} {other}");
}

#[test]
fn no_task_has_more_outstanding_than_its_limit() {
    for_seeds("commit", "no_task_has_more_outstanding_than_its_limit", 4, |seed| {
        for (depth, share) in [(4, 25), (2, 50), (8, 10)] {
            let mut drive = two_dies(
                &format!("policy = \"debit\", depth = {depth} }}\n shares = {{ percent = {{ gc = {share} }}"),
                seed,
            );
            let pages = drive.logical_bytes() / 4096;
            let mut random = Stream::new(seed, "limits", 0);
            let capacity = 2 * depth;
            let limit = ((capacity * share) as f64 / 100.0).round().max(1.0) as u32;
            let mut most = 0;
            let anywhere = |_| {
                let op = if random.below(3) == 0 { Op::Read } else { Op::Write };
                request(op, random.below(pages) * 4096, 4096)
            };
            watched_loop(&mut drive, 32, 3 * pages, anywhere, |drive| {
                let outstanding = drive.kernel().standing().expect("there is a commit stage").outstanding;
                most = most.max(outstanding[Task::GC.index()]);
                assert!(outstanding.iter().sum::<u32>() <= capacity as u32, "{outstanding:?}");
            });
            assert_eq!(most, limit, "depth {depth}, share {share}");
            drive.drain().expect("the drive comes to rest");
            drive.kernel().audit().expect("the books balance");
        }
    });
}

/// A die serves first what was sent to it first. By the order in which operations became ready, all reads of a victim that wait
/// in the stage would go before a read of the host.
#[test]
fn nothing_overtakes_what_was_sent_to_a_die() {
    for_seeds("commit", "nothing_overtakes_what_was_sent_to_a_die", 4, |seed| {
        let priority = "policy = \"priority\", depth = 4 }\n arbiter = { policy = \"first-come\" }";
        let mut drive = two_dies_with(400.0, &format!("{priority}\n collect = {{ window_pages = 32"), seed);
        let pages = drive.logical_bytes() / 4096;
        let mut random = Stream::new(seed, "sent", 0);
        let mut next = |op| request(op, random.below(pages) * 4096, 4096);
        // The fill has left free blocks; these writes use them up.
        watched_loop(&mut drive, 4, pages, |_| next(Op::Write), |_| {});
        drive.start_measuring();
        watched_loop(&mut drive, 4, pages, |nth| next(if nth % 2 == 0 { Op::Write } else { Op::Read }), |_| {});
        assert!(drive.kernel().counters().jobs[Task::GC.index()] > 20);
        let longest = drive.metrics.latency(Op::Read).max().expect("there are reads");
        // Four operations of the die, one of them an erase, three others of the host, and its own.
        let bound = (3000 + 3 * 500 + 3 * 500 + 400) * US;
        assert!(longest < bound, "a read took {} us", longest / US);
    });
}

/// Four dies of one plane, whose blocks form superblocks; two operations for each die, three of the eight for GC.
const FOUR_DIES: &str = r#"
    geometry = { channels = 4, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
        blocks_per_plane = 44, pages_per_block = 8, page_kib = 4 }
    nand = { interface = "nv-ddr3", rate_mt_s = 1600, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }
    capacity = { raw_over_logical = 3.38 }
    placement = { policy = "least-busy" }
    redundancy = { policy = "superblock" }
    collect = { policy = "on-demand", scope = "drive", start_blocks = 82, stop_blocks = 82, window_pages = 2 }
    dispatch = { policy = "debit", depth = 2 }
    shares = { percent = { gc = 37.5 } }
    arbiter = { policy = "first-come" }
    buffer = { policy = "none" }
    verify = { shadow = true }
"#;

/// Pages that each die has read for anybody.
fn reads(drive: &Drive) -> [u32; 4] {
    let mut reads = [0; 4];
    for (block, record) in drive.kernel().flash().block_records().enumerate() {
        reads[block / 44] += record.reads;
    }
    reads
}

/// Debits of the host and of GC.
fn debits(drive: &Drive) -> [u32; 2] {
    let outstanding = drive.kernel().standing().expect("there is a commit stage").outstanding;
    [outstanding[Task::HOST.index()], outstanding[Task::GC.index()]]
}

/// Operations of the host and of GC that wait in the stage.
fn waiting(drive: &Drive) -> [u32; 2] {
    let waiting = drive.kernel().standing().expect("there is a commit stage").waiting;
    [waiting[Task::HOST.index()], waiting[Task::GC.index()]]
}

/// Writes pages of thirteen superblocks, and most of each again, so that the next write starts GC; tells the die of each page.
fn before_gc() -> (Drive, Vec<usize>) {
    let mut drive = drive(FOUR_DIES, 1);
    let twice = (0..416).filter(|page| page % 32 < 25).take(320);
    for page in (0..416).chain(twice) {
        one(&mut drive, request(Op::Write, page * 4096, 4096));
    }
    assert_eq!(drive.kernel().counters().collections(), 0);
    let mut dies = Vec::new();
    for page in 0..416 {
        let before = reads(&drive);
        one(&mut drive, request(Op::Read, page * 4096, 4096));
        dies.push((0..4).find(|&die| reads(&drive)[die] > before[die]).expect("a die reads it"));
    }
    (drive, dies)
}

/// Both examples of kim18's figure 3, one after the other: limits of five and three, queues of two. Task A is the host, B is GC.
#[test]
fn debits_by_the_worked_examples() {
    let (mut drive, dies) = before_gc();
    let limits = drive.kernel().standing().and_then(|standing| standing.limits).expect("there are limits");
    assert_eq!((limits[Task::HOST.index()], limits[Task::GC.index()]), (5, 3));
    let submit = |drive: &mut Drive, op, page: usize| {
        drive.submit(drive.now(), request(op, page as u64 * 4096, 4096)).expect("there is room")
    };
    submit(&mut drive, Op::Write, 411);
    while debits(&drive)[1] == 0 {
        assert!(drive.step().expect("no rule is broken"), "GC starts");
    }
    // 3a. The write runs in die 0, and a read of GC fills its queue; others run in dies 1 and 2. GC has reached its limit, so its reads
    // for die 3 wait though that is idle, behind another one for die 0.
    let (start, before) = (drive.now(), reads(&drive));
    assert_eq!((debits(&drive), waiting(&drive)), ([1, 3], [0, 4]));
    let of_die = |die: usize| dies.iter().rposition(|&other| other == die).expect("each die has pages");
    let [full, other] = [0, 3].map(|die| submit(&mut drive, Op::Read, of_die(die)));
    while drive.now() < start + 10 * US {
        assert!(drive.step().expect("no rule is broken"));
    }
    assert_eq!((debits(&drive), waiting(&drive)), ([2, 3], [1, 4]), "that for die 3 goes, that for die 0 waits");

    // 3b. Reads of GC end in dies 1 and 2: others for dies 2 and 3 go, before the older one for die 0. The host is below its limit, but
    // its read is for die 0, too.
    let mut ends = [0; 2];
    let run_until = |drive: &mut Drive, ends: &mut [Time; 2], time| {
        while drive.now() < start + time {
            assert!(drive.step().expect("no rule is broken"));
            for done in drive.completions().drain(..) {
                if let Some(at) = [full, other].iter().position(|&slot| slot == done.slot) {
                    ends[at] = done.time - start;
                }
            }
        }
        let now = reads(drive);
        [0, 1, 2, 3].map(|die| now[die] - before[die])
    };
    assert_eq!(run_until(&mut drive, &mut ends, 80 * US), [0, 1, 1, 1], "one of them the host's");
    // The programs of what was read wait instead of two reads.
    assert_eq!((debits(&drive), waiting(&drive)), ([1, 3], [1, 4]));
    assert_eq!(run_until(&mut drive, &mut ends, 130 * US), [0, 1, 2, 2]);
    // The program in die 0 takes 500 us; then come the reads of GC and of the host.
    let mut now = drive.now();
    while run_until(&mut drive, &mut ends, now - start + 1)[0] == 0 {
        now = drive.now();
    }
    assert!(drive.now() - start > 490 * US, "{}", drive.now() - start);
    run_until(&mut drive, &mut ends, 700 * US);
    assert!(ends[1] < 70 * US && ends[0] > 590 * US, "{ends:?}");
}
