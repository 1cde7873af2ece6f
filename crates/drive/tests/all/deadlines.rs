//! Deadlines on drives seen from outside: the order of requests by hand, flushes, and that nothing waits for ever.

use crate::common::{drive, for_seeds, request, watched_loop, US};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::Drive;

/// Two dies of one plane behind one channel that takes no time to speak of: a read is 50 µs, a program 500 µs.
fn two_dies(dispatch: &str, buffer: &str, seed: u64) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1,
            blocks_per_plane = 64, pages_per_block = 32, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "static", order = "CWDP" }}
        dispatch = {{ policy = "deadline", {dispatch} }}
        buffer = {{ {buffer} }}
        verify = {{ shadow = true }}
        "#
    );
    let mut drive = drive(&text, seed);
    let pages = drive.logical_bytes() / 4096;
    watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 4096, 4096), |_| {});
    drive.drain().expect("the drive comes to rest");
    drive
}

const NO_BUFFER: &str = "policy = \"none\"";

/// Latencies of requests that come together, as kind, page and stream.
fn latencies(drive: &mut Drive, requests: &[(Op, u64, u16)]) -> Vec<Time> {
    let start = drive.now();
    let submit = |&(op, page, stream): &(Op, u64, u16)| {
        let request = Request { arrival: start, stream, ..request(op, page * 4096, 4096) };
        drive.submit(start, request).expect("there is room")
    };
    let slots: Vec<u32> = requests.iter().map(submit).collect();
    let mut ends = vec![0; slots.len()];
    while drive.step().expect("no rule is broken") {
        for done in drive.completions().drain(..) {
            ends[slots.iter().position(|&slot| slot == done.slot).expect("it is one of them")] = done.time - start;
        }
    }
    ends
}

/// That latencies are the sums of array times given, in µs, and less than 25 µs more.
fn assert_about(found: &[Time], sums: &[u64]) {
    let close = |(&found, &sum): (&Time, &u64)| found >= sum * US && found < (sum + 25) * US;
    assert!(found.len() == sums.len() && found.iter().zip(sums).all(close), "{found:?} are not {sums:?}");
}

#[test]
fn requests_of_a_die_go_by_their_deadlines() {
    // Even pages are in die 0. The first read begins at once; of the others the one of stream 0 is due first.
    let reads = [(Op::Read, 0, 1), (Op::Read, 2, 1), (Op::Read, 4, 1), (Op::Read, 6, 0)];
    let mut plain = two_dies("read_deadline_us = 1000.0", NO_BUFFER, 1);
    assert_about(&latencies(&mut plain, &reads), &[50, 100, 150, 200]);
    let mut by_stream = two_dies("stream_deadline_us = { 0 = 90.0 }", NO_BUFFER, 1);
    assert_about(&latencies(&mut by_stream, &reads), &[50, 150, 200, 100]);
    // Of two kinds: a write that came first waits for reads, or reads wait for it. Its data take some time to come.
    let mixed = [(Op::Read, 0, 1), (Op::Read, 2, 1), (Op::Write, 4, 1), (Op::Read, 6, 1), (Op::Read, 1, 1)];
    let mut reads_first = two_dies("read_deadline_us = 1000.0, write_deadline_us = 5000.0", NO_BUFFER, 1);
    assert_about(&latencies(&mut reads_first, &mixed), &[50, 100, 650, 150, 50]);
    let mut writes_first = two_dies("read_deadline_us = 5000.0, write_deadline_us = 1000.0", NO_BUFFER, 1);
    assert_about(&latencies(&mut writes_first, &mixed), &[50, 600, 550, 650, 50]);
    // So do writes of two streams to one die, but not of one page: the newer waits for the older one.
    let writes = [(Op::Read, 0, 1), (Op::Write, 2, 1), (Op::Write, 4, 1), (Op::Write, 6, 0)];
    let mut apart = two_dies("stream_deadline_us = { 0 = 900.0 }", NO_BUFFER, 1);
    assert_about(&latencies(&mut apart, &writes), &[50, 1050, 1550, 550]);
    let same = [(Op::Read, 0, 1), (Op::Write, 2, 1), (Op::Write, 4, 1), (Op::Write, 4, 0)];
    let mut together = two_dies("stream_deadline_us = { 0 = 900.0 }", NO_BUFFER, 1);
    assert_about(&latencies(&mut together, &same), &[50, 550, 1050, 1550]);
}

/// The latency of a flush that comes while 32 reads are always under way, and buffered writes before it wait.
fn flush_among_reads(dispatch: &str, seed: u64) -> Time {
    let mut drive = two_dies(dispatch, "policy = \"fifo\", capacity_kib = 256", seed);
    let pages = drive.logical_bytes() / 4096;
    let mut random = Stream::new(seed, "flush", 0);
    let next = |nth| match nth {
        20..24 => request(Op::Write, random.below(pages) * 4096, 4096),
        40 => request(Op::Flush, 0, 0),
        _ => request(Op::Read, random.below(pages) * 4096, 4096),
    };
    drive.start_measuring();
    watched_loop(&mut drive, 32, 3_000, next, |_| {});
    drive.metrics.latency(Op::Flush).max().expect("there is a flush")
}

#[test]
fn a_flush_brings_its_deadline_to_the_writes_before_it() {
    for_seeds("deadlines", "a_flush_brings_its_deadline_to_the_writes_before_it", 3, |seed| {
        // Reads are late all the time, and writes could wait for a minute.
        let flush = |us| {
            flush_among_reads(
                &format!("read_deadline_us = 100.0, write_deadline_us = 6e7, flush_deadline_us = {us}"),
                seed,
            )
        };
        let (soon, late) = (flush("1000.0"), flush("2e7"));
        // After the flush's millisecond a read is due later than its writes: two or so for each die.
        assert!(soon > 1_000 * US && soon < 5_000 * US, "{soon}");
        assert!(late > 20_000 * US, "{late}");
    });
}

/// The longest latency of a write, and the victim blocks of GC, under reads that are late all the time.
fn writes_among_late_reads(background_us: &str, seed: u64) -> (Time, u64) {
    let dispatch =
        format!("read_deadline_us = 1.0, write_deadline_us = 2000.0, background_deadline_us = {background_us}");
    let mut drive = two_dies(&dispatch, NO_BUFFER, seed);
    let pages = drive.logical_bytes() / 4096;
    let mut random = Stream::new(seed, "late reads", 0);
    let mut next = |op| request(op, random.below(pages) * 4096, 4096);
    watched_loop(&mut drive, 4, pages, |_| next(Op::Write), |_| {});
    drive.start_measuring();
    watched_loop(&mut drive, 24, 20_000, |nth| next(if nth % 20 == 0 { Op::Write } else { Op::Read }), |_| {});
    let longest = drive.metrics.latency(Op::Write).max().expect("there are writes");
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    (longest, drive.kernel().counters().collections())
}

#[test]
fn late_reads_do_not_hold_up_gc_for_ever() {
    for_seeds("deadlines", "late_reads_do_not_hold_up_gc_for_ever", 3, |seed| {
        let (longest, collections) = writes_among_late_reads("2000.0", seed);
        assert!(collections > 10, "{collections}");
        // A write waits for a block at most: each of the 31 or fewer pages of a victim waits for its deadline at most twice.
        assert!(longest < (31 * 2 * 2_000 + 10_000) * US, "{longest}");
        // With a deadline of a minute GC comes after all reads.
        let (unbounded, _) = writes_among_late_reads("6e7", seed);
        assert!(unbounded > longest, "{unbounded} {longest}");
    });
}

/// Reads that missed 400 µs, of small random requests on a full drive.
fn missed(dispatch: &str, seed: u64) -> u64 {
    let mut drive = two_dies(dispatch, NO_BUFFER, seed);
    let pages = drive.logical_bytes() / 4096;
    let mut random = Stream::new(seed, "missed", 0);
    let mut next = |op| request(op, random.below(pages) * 4096, 4096);
    watched_loop(&mut drive, 4, pages, |_| next(Op::Write), |_| {});
    let mut missed = 0;
    let (mut at, mut order) = (drive.now(), Stream::new(seed, "arrivals", 0));
    for _ in 0..6_000 {
        at += order.below(900) * US;
        drive.advance_to(at).expect("no rule is broken");
        let late = |done: wordline_drive::Completion| {
            done.request.op == Op::Read && done.time - done.request.arrival > 400 * US
        };
        missed += drive.completions().drain(..).filter(|&done| late(done)).count() as u64;
        let op = if order.below(5) == 0 { Op::Write } else { Op::Read };
        drive.submit(at, Request { arrival: at, ..next(op) }).expect("there is room");
    }
    missed
}

#[test]
fn requests_with_slack_bear_gc() {
    for_seeds("deadlines", "requests_with_slack_bear_gc", 3, |seed| {
        // By deadlines alone, GC's are early or late. In the slack of requests it hurts few that have little.
        let aware =
            missed("read_deadline_us = 400.0, write_deadline_us = 20000.0, background_deadline_us = 20000.0", seed);
        let early = missed(
            "gc_aware = false, read_deadline_us = 400.0, write_deadline_us = 20000.0, background_deadline_us = 1.0",
            seed,
        );
        assert!(aware < early, "{aware} {early}");
    });
}
