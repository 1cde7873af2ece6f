//! Copyback in GC: its cost in time and on the bus, by hand, and its invariants.
//!
//! Literals of NV-DDR3 at 800 MT/s: a command or address cycle takes 25 ns, 16 KiB take 20.48 us, tADL 150 ns, tWB 100 ns, tRR
//! 20 ns. Of the drives: tR 50 us, tPROG 500 us, tBERS 3 ms.

use crate::common::{closed_loop, drive, one, request, NS, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::Drive;
use wordline_firmware::task::{Action, Class, Task};
use wordline_flash::Segment;

const PAGE: u64 = 16_384;
const KIB: u32 = 1024;
/// 00h, address, 30h (or 35h), tWB; 85h, address, 10h, tWB.
const READ_COMMAND: Time = 275 * NS;
const STORE_COMMAND: Time = 275 * NS;
/// tRR and a page.
const READ_OUT: Time = 20_500 * NS;
/// 80h, address, tADL, a page, 10h, tWB.
const DATA_IN: Time = 20_905 * NS;
/// 60h, block address, D0h, tWB.
const ERASE_COMMAND: Time = 225 * NS;
const T_R: Time = 50 * US;
const T_PROG: Time = 500 * US;
const T_BERS: Time = 3_000 * US;

fn build(planes: u32, unit_kib: u32, copyback: &str, rest: &str) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = {planes},
                      blocks_per_plane = 32, pages_per_block = 16, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.5 }}
        mapping = {{ policy = "page", unit_kib = {unit_kib} }}
        arbiter = {{ policy = "first-come" }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme", pcie_generation = 3, pcie_lanes = 4, latency_us = 0.5 }}
        verify = {{ shadow = true }}
        collect = {{ policy = "on-demand", copyback = "{copyback}", {} }}
        "#,
        if rest.is_empty() {
            "scope = \"plane\" }\n placement = { policy = \"static\", order = \"PCWD\" }\n pack = { policy = \"none\""
        } else {
            rest
        }
    );
    drive(&text, 1)
}

/// Bus cost of a moved page.
fn on_bus(copyback: &str) -> Time {
    match copyback {
        "off" => READ_COMMAND + READ_OUT + DATA_IN,
        "internal" => READ_COMMAND + STORE_COMMAND,
        _ => READ_COMMAND + READ_OUT + STORE_COMMAND,
    }
}

fn uses(drive: &Drive, segment: Segment) -> u64 {
    drive.kernel().flash().die_times(0).bus[segment as usize].count
}

/// Writes one at a time. If the end of one starts a copyback or an erase, the next waits for it and for nothing else.
#[test]
fn a_write_waits_for_a_copyback() {
    for copyback in ["internal", "checked"] {
        let mut drive = build(1, 16, copyback, "");
        let pages = drive.logical_bytes() / PAGE;
        let (mut last, mut waits, mut waited) = (0, 0, 0);
        let program = DATA_IN + T_PROG;
        // The host alone: command, 0.5 us, 64 packets of 256 bytes, completion.
        let host = 522_344 + ((PAGE + 24 * 64) * 130_000).div_ceil(512) + 10_157;
        // The whole drive, then all but one page of every block.
        let rounds = (0..pages).chain((0..pages).filter(|page| page % 16 != 0));
        for page in rounds {
            let before = *drive.kernel().counters();
            let done = one(&mut drive, request(Op::Write, page * PAGE, 16 * KIB));
            let expected = last + if waits == 0 { host + program } else { waits + program };
            assert_eq!(done.time, expected, "page {page}, {copyback}");
            let after = drive.kernel().counters();
            waits = match (after.copybacks - before.copybacks, after.erases() - before.erases()) {
                (0, 0) => 0,
                (1, 0) => on_bus(copyback) + T_R + T_PROG,
                (0, 1) => ERASE_COMMAND + T_BERS,
                other => panic!("{other:?} copybacks and erases at once"),
            };
            waited += after.copybacks - before.copybacks;
            last = done.time;
        }
        assert!(waited > 5, "{waited} writes waited for a copyback");
        assert_eq!(waited, drive.kernel().counters().moved_units(), "every page was moved inside its plane");
    }
}

/// Random overwrites of whole pages: total bus traffic and total array work.
#[test]
fn the_bus_carries_commands_only() {
    let mut seen = Vec::new();
    for copyback in ["off", "internal", "checked"] {
        let mut drive = build(1, 16, copyback, "");
        let (pages, mut random) = (drive.logical_bytes() / PAGE, Stream::new(3, "copyback", 0));
        closed_loop(&mut drive, 8, 6 * pages, |_| request(Op::Write, random.below(pages) * PAGE, 16 * KIB));
        drive.drain().expect("the drive comes to rest");
        let counters = *drive.kernel().counters();
        let moved = counters.ops[Class::new(Task::GC, Action::Program).index()];
        let host = counters.programs() - moved;
        let read = counters.reads() - counters.copybacks;
        let written = moved - counters.copybacks;
        let bus = host * DATA_IN
            + counters.copybacks * on_bus(copyback)
            + read * (READ_COMMAND + READ_OUT)
            + written * DATA_IN
            + counters.erases() * ERASE_COMMAND;
        assert_eq!(drive.kernel().flash().channel_times(0).busy, bus, "{copyback}");
        let array = counters.reads() * T_R + counters.programs() * T_PROG + counters.erases() * T_BERS;
        assert_eq!(drive.kernel().flash().die_times(0).array(), array, "{copyback}");
        assert_eq!(counters.copybacks, uses(&drive, Segment::CopybackProgram));
        assert_eq!(host, 6 * pages);
        assert!(counters.moved_units() > pages, "{copyback}: {} units moved", counters.moved_units());
        if copyback != "off" {
            // Pages that were overwritten before their move are not moved.
            assert_eq!(counters.copybacks, counters.moved_units(), "{copyback}");
        }
        seen.push((bus, counters.programs() as f64 / (6 * pages) as f64));
    }
    let [(off, amplification), (internal, same), (checked, also)] = seen[..] else { panic!("three") };
    assert!(internal < checked && checked < off, "{internal} < {checked} < {off} ps on the bus");
    // A page that is read and written takes longer; some are overwritten meanwhile and need no write.
    assert!(same == also && same / amplification < 1.05 && same >= amplification, "{seen:?}");
}

/// Partly valid pages are read and written, full ones are moved; write amplification counts both.
#[test]
fn pages_with_holes_are_read_and_written() {
    let mut drive = build(1, 4, "internal", "");
    let (units, mut random) = (drive.logical_bytes() / 4_096, Stream::new(4, "copyback", 0));
    closed_loop(&mut drive, 8, units / 4, |nth| request(Op::Write, nth * PAGE, 16 * KIB));
    closed_loop(&mut drive, 8, 3 * units, |_| request(Op::Write, random.below(units) * 4_096, 4 * KIB));
    drive.drain().expect("the drive comes to rest");
    let counters = drive.kernel().counters();
    assert!(counters.copybacks > 10, "{} copybacks", counters.copybacks);
    assert!(counters.moved_units() > 4 * counters.copybacks + 100, "{} units moved", counters.moved_units());
    assert_eq!(counters.programs() * 4, counters.host_units + counters.moved_units() + counters.padded_units);
}

/// Two planes share the time of a copyback.
#[test]
fn planes_copy_together() {
    let rest =
        "scope = \"plane\" }\n placement = { policy = \"static\", order = \"PCWD\" }\n pack = { policy = \"planes\"";
    let mut drive = build(2, 16, "internal", rest);
    let (pairs, mut random) = (drive.logical_bytes() / (2 * PAGE), Stream::new(5, "copyback", 0));
    closed_loop(&mut drive, 4, 6 * pairs, |_| request(Op::Write, random.below(pairs) * 2 * PAGE, 32 * KIB));
    drive.drain().expect("the drive comes to rest");
    assert!(uses(&drive, Segment::CopybackProgramQueue) > 20);
    let counters = drive.kernel().counters();
    assert_eq!(
        counters.copybacks,
        uses(&drive, Segment::CopybackProgram) + uses(&drive, Segment::CopybackProgramQueue)
    );
}

/// Over the whole drive as well: a page stays in its plane if the plane has space.
#[test]
fn free_placement_lets_pages_stay() {
    let rest = "scope = \"drive\" }\n placement = { policy = \"least-busy\" }\n pack = { policy = \"planes\"";
    let mut drive = build(2, 16, "checked", rest);
    let (pages, mut random) = (drive.logical_bytes() / PAGE, Stream::new(6, "copyback", 0));
    closed_loop(&mut drive, 8, 5 * pages, |_| request(Op::Write, random.below(pages) * PAGE, 16 * KIB));
    drive.drain().expect("the drive comes to rest");
    let counters = drive.kernel().counters();
    assert!(counters.copybacks * 10 > counters.moved_units() * 9, "{counters:?}");
}
