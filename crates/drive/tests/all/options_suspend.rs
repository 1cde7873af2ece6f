//! Suspension for reads: latencies of a tiny drive to the picosecond, by hand, and its effect on the tail of a mixed
//! workload.
//!
//! Literals: SDR mode 5: a command or address cycle takes 20 ns, a byte 20 ns, tADL 70 ns, tWB 100 ns, tRR 20 ns; NV-DDR3 at
//! 800 MT/s: 25 ns, 1.25 ns, 150 ns, 100 ns, 20 ns. Of the drives: tR 50 us, tPROG 500 us, tBERS 3 ms, 30 us to suspend, 5 us to
//! resume.

use crate::common::pcie_3_x4::{data, COMMAND, COMPLETION};
use crate::common::{closed_loop, config, drive, one, pick, request, NS, US};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::precondition::precondition;
use wordline_drive::Drive;

const PAGE: u64 = 16_384;
const KIB: u32 = 1024;
const T_R: Time = 50 * US;
const T_PROG: Time = 500 * US;
const T_BERS: Time = 3_000 * US;
const T_SUSPEND: Time = 30 * US;
const T_RESUME: Time = 5 * US;
/// A bus of NAND packages, by hand.
struct Bus {
    keys: &'static str,
    cycle: Time,
    two_bytes: Time,
    t_adl: Time,
}

const SDR: Bus =
    Bus { keys: "interface = \"sdr\", rate_mt_s = 50", cycle: 20 * NS, two_bytes: 40 * NS, t_adl: 70 * NS };
const NV_DDR3: Bus =
    Bus { keys: "interface = \"nv-ddr3\", rate_mt_s = 800", cycle: 25 * NS, two_bytes: 2_500, t_adl: 150 * NS };

impl Bus {
    fn bytes(&self, bytes: u32) -> Time {
        Time::from(bytes / 2) * self.two_bytes
    }

    fn read(&self, bytes: u32) -> Time {
        7 * self.cycle + 100 * NS + T_R + 20 * NS + self.bytes(bytes)
    }

    /// 80h, address, tADL, a page, 10h, tWB.
    fn data_in(&self) -> Time {
        7 * self.cycle + self.t_adl + self.bytes(16 * KIB) + 100 * NS
    }

    fn erase_command(&self) -> Time {
        5 * self.cycle + 100 * NS
    }

    /// A suspend or resume command, and tWB.
    fn pause(&self) -> Time {
        self.cycle + 100 * NS
    }

    fn drive(&self, suspend: &str, rest: &str) -> Drive {
        let text = format!(
            r#"
            geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
                          blocks_per_plane = 16, pages_per_block = 16, page_kib = 16 }}
            nand = {{ {}, read_us = 50.0, program_us = 500.0, erase_us = 3000.0, suspend_us = 30.0, resume_us = 5.0 }}
            capacity = {{ raw_over_logical = 2.0 }}
            placement = {{ policy = "static" }}
            collect = {{ policy = "on-demand", scope = "plane" }}
            pack = {{ policy = "none" }}
            suspend = {{ {suspend} }}
            arbiter = {{ policy = "first-come" }}
            buffer = {{ policy = "none" }}
            link = {{ policy = "nvme", pcie_generation = 3, pcie_lanes = 4, max_payload_bytes = 256, latency_us = 0.5 }}
            verify = {{ shadow = true }}
            {rest}
            "#,
            self.keys
        );
        drive(&text, 1)
    }
}

const NONE: &str = "policy = \"none\"";
const READS: &str = "policy = \"reads\"";

/// Overwrites in order until an erase begins; returns the last written page and the start of the erase.
fn until_an_erase(drive: &mut Drive) -> (u64, Time) {
    let pages = drive.logical_bytes() / PAGE;
    for nth in 0.. {
        let before = drive.kernel().counters().erases();
        let done = one(drive, request(Op::Write, nth % pages * PAGE, 16 * KIB));
        if drive.kernel().counters().erases() > before {
            // It begins when the write is programmed, before its completion reaches the host.
            return (nth % pages, done.time - COMPLETION);
        }
    }
    unreachable!("the drive is finite")
}

#[test]
fn a_read_meets_an_erase() {
    for bus in [SDR, NV_DDR3] {
        let out = data(4 * KIB) + COMPLETION;
        let mut drive = bus.drive(NONE, "");
        let (page, began) = until_an_erase(&mut drive);
        let read = one(&mut drive, request(Op::Read, page * PAGE, 4 * KIB));
        assert_eq!(read.time, began + bus.erase_command() + T_BERS + bus.read(4 * KIB) + out, "it waits for the erase");

        let mut drive = bus.drive(READS, "");
        let (page, began) = until_an_erase(&mut drive);
        let now = drive.now();
        let read = one(&mut drive, request(Op::Read, page * PAGE, 4 * KIB));
        let (arrival, cells) = (now + COMMAND, began + bus.erase_command());
        assert!(arrival > cells, "the erase is in the cells");
        let stopped = arrival + bus.pause();
        let end = stopped + T_SUSPEND + bus.read(4 * KIB);
        assert_eq!(read.time, end + out, "it stops the erase");
        // A write waits for the erase, which lost no work.
        let write = one(&mut drive, request(Op::Write, 0, 16 * KIB));
        let erased = end + bus.pause() + T_RESUME + (cells + T_BERS - stopped);
        assert_eq!(write.time, erased + bus.data_in() + T_PROG + COMPLETION);
        assert_eq!(drive.kernel().counters().suspensions, 1);
    }
}

/// Reads arrive while the bus still transfers the data of a program: they suspend it the moment the array starts,
/// execute one after the other, and the program resumes.
#[test]
fn reads_meet_a_program_on_the_bus() {
    let bus = SDR;
    let mut drive = bus.drive(READS, "");
    one(&mut drive, request(Op::Write, 0, 48 * KIB));
    drive.drain().expect("the drive comes to rest");
    let start = drive.now();
    let at = |time, request: Request| (time, Request { arrival: time, ..request });
    let (now, write) = at(start, request(Op::Write, 3 * PAGE, 16 * KIB));
    drive.submit(now, write).expect("there is a slot");
    for page in [0, 1] {
        let (now, read) = at(start + 100 * US + page, request(Op::Read, page * PAGE, 4 * KIB));
        drive.advance_to(now).expect("no rule is broken");
        drive.submit(now, read).expect("there is a slot");
    }
    drive.drain().expect("the drive comes to rest");
    let times: Vec<Time> = drive.completions().drain(..).map(|done| done.time).collect();
    let cells = start + COMMAND + data(16 * KIB) + bus.data_in();
    assert!(cells > start + 200 * US, "the bus carries the data long after the reads have come");
    let first = cells + bus.pause() + T_SUSPEND + bus.read(4 * KIB);
    let second = first + bus.read(4 * KIB);
    let out = data(4 * KIB) + COMPLETION;
    // The array was still busy while the bus carried the suspension.
    let programmed = second + bus.pause() + T_RESUME + (T_PROG - bus.pause());
    assert_eq!(times, [first + out, second + out, programmed + COMPLETION]);
    assert_eq!(drive.kernel().counters().suspensions, 1);
}

/// A read of the page under program waits for it; a read of another page of its block does not.
#[test]
fn a_page_under_program_cannot_be_read() {
    let bus = NV_DDR3;
    let mut drive = bus.drive(READS, "");
    one(&mut drive, request(Op::Write, 0, 16 * KIB));
    one(&mut drive, request(Op::Write, PAGE, 16 * KIB));
    drive.drain().expect("the drive comes to rest");
    let start = drive.now();
    drive.submit(start, Request { arrival: start, ..request(Op::Write, 0, 16 * KIB) }).expect("there is a slot");
    let later = start + 100 * US;
    drive.advance_to(later).expect("no rule is broken");
    let read = one(&mut drive, request(Op::Read, PAGE, 4 * KIB));
    let arrival = later + COMMAND;
    let out = data(4 * KIB) + COMPLETION;
    assert_eq!(read.time, arrival + bus.pause() + T_SUSPEND + bus.read(4 * KIB) + out);
    assert_eq!(drive.kernel().counters().suspensions, 1);
    let now = drive.now();
    drive.submit(now, Request { arrival: now, ..request(Op::Read, 0, 4 * KIB) }).expect("there is a slot");
    drive.drain().expect("the drive comes to rest");
    let times: Vec<Time> = drive.completions().drain(..).map(|done| done.time).collect();
    let cells = start + COMMAND + data(16 * KIB) + bus.data_in();
    let left = cells + T_PROG - (arrival + bus.pause());
    let programmed = read.time - out + bus.pause() + T_RESUME + left;
    // Both go to the host over the same wire: the data before, the completion of the write first of all.
    assert_eq!(times[0], programmed + COMPLETION);
    assert_eq!(times[1], programmed + bus.read(4 * KIB) + out);
    assert_eq!(drive.kernel().counters().suspensions, 1, "nothing was stopped for it");
}

/// Limits of suspension: number, time, and the choice between both.
#[test]
fn the_policy_decides() {
    let bus = NV_DDR3;
    // Consecutive reads during one erase: each suspends it again, up to `most` times.
    for most in [1, 3] {
        let mut drive = bus.drive(&format!("{READS}, most = {most}"), "");
        let (page, _) = until_an_erase(&mut drive);
        for _ in 0..5 {
            one(&mut drive, request(Op::Read, page * PAGE, 4 * KIB));
            let now = drive.now();
            drive.advance_to(now + 20 * US).expect("no rule is broken");
        }
        assert_eq!(drive.kernel().counters().suspensions, most);
    }
    for (options, suspensions) in
        [("erases = false", 0), ("least_left_us = 3000.0", 0), ("least_left_us = 2990.0", 1), ("programs = false", 1)]
    {
        let mut drive = bus.drive(&format!("{READS}, {options}"), "");
        let (page, _) = until_an_erase(&mut drive);
        one(&mut drive, request(Op::Read, page * PAGE, 4 * KIB));
        assert_eq!(drive.kernel().counters().suspensions, suspensions, "{options}");
    }
    for (options, message) in [
        ("most = 0", "suspend.most = 0: must lie between 1 and 65535"),
        ("least_left_us = -1.0", "suspend.least_left_us = -1: must lie between 0 and 1,000,000"),
        ("programs = false, erases = false", "disables both programs and erases"),
    ] {
        let text = format!("suspend = {{ {READS}, {options} }}");
        let error = wordline_drive::load::from_text("test", &text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(config("").firmware.suspend.name(), "none");
}

/// A preconditioned drive under reads and writes: the tail of the reads no longer contains programs and erases.
#[test]
fn the_tail_of_the_reads_is_cut() {
    let tail = |suspend: &str| {
        let text = format!(
            r#"
            geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
                          blocks_per_plane = 32, pages_per_block = 32, page_kib = 16 }}
            nand = {{ read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
            capacity = {{ raw_over_logical = 1.5 }}
            suspend = {{ {suspend} }}
            buffer = {{ policy = "none" }}
            "#
        );
        let mut drive = drive(&text, 1);
        let steps = wordline_drive::config::PreconditionConfig { fill: true, overwrites: 1.0, ..Default::default() };
        precondition(&mut drive, &steps, 1, &mut |_| true).expect("no rule is broken");
        drive.start_measuring();
        let (pages, mut random) = (drive.logical_bytes() / PAGE, Stream::new(7, "tail", 0));
        closed_loop(&mut drive, 4, 6_000, |_| {
            let op = *pick(&mut random, &[Op::Read, Op::Read, Op::Read, Op::Write]);
            request(op, random.below(pages) * PAGE, 16 * KIB)
        });
        let reads = &drive.metrics.latency(Op::Read);
        (reads.quantile(0.99).expect("there are thousands"), drive.kernel().counters().suspensions)
    };
    let ((plain, none), (cut, suspensions)) = (tail(NONE), tail(READS));
    println!("p99 of reads: {} us, with suspension {} us", plain / US, cut / US);
    assert!(none == 0 && suspensions > 500, "{suspensions} suspensions");
    assert!(cut * 2 < plain, "p99 of {cut} ps against {plain} ps");
}
