//! Cache mode (`pack`): latencies of a tiny drive to the picosecond, by hand, and the bandwidth of a saturated one by formula.
//!
//! Literals of NV-DDR3 at 800 MT/s: a command or address cycle takes 25 ns, 16 KiB take 20.48 us, tADL 150 ns, tWB 100 ns, tRR
//! 20 ns, tCCS 200 ns. Of the drives: tR 50 us, tPROG 500 us, tDBSY 0.5 us, tRCBSY 3 us, tCBSY 4 us.

use crate::common::pcie_3_x4::{data, COMMAND, COMPLETION};
use crate::common::{config, drive, latency, one, request, NS, US};
use wordline_base::{Op, Request, Time};
use wordline_drive::Drive;
use wordline_flash::Segment;

const KIB: u32 = 1024;
const T_R: Time = 50 * US;
const T_PROG: Time = 500 * US;
const T_RCBSY: Time = 3 * US;
const T_CBSY: Time = 4 * US;
const T_DBSY: Time = 500 * NS;
/// 00h, address, 30h (or 31h), tWB.
const READ_COMMAND: Time = 275 * NS;
/// 31h or 3Fh, tWB.
const TURN: Time = 125 * NS;
/// tRR and a page.
const READ_OUT: Time = 20_500 * NS;
/// 06h, address, E0h, tCCS and a page.
const READ_OUT_PLANE: Time = 20_855 * NS;
/// 80h, address, tADL, a page, 10h (or 11h or 15h), tWB.
const DATA_IN: Time = 20_905 * NS;

fn build(planes: u32, pack: &str) -> Drive {
    placed(planes, pack, "policy = \"static\", order = \"PCWD\"", "plane")
}

fn placed(planes: u32, pack: &str, placement: &str, scope: &str) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = {planes},
                      blocks_per_plane = 16, pages_per_block = 16, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0,
                  dummy_busy_us = 0.5, cache_read_busy_us = 3.0, cache_program_busy_us = 4.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        placement = {{ {placement} }}
        collect = {{ policy = "on-demand", scope = "{scope}" }}
        pack = {{ {pack} }}
        arbiter = {{ policy = "first-come" }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme", pcie_generation = 3, pcie_lanes = 4, max_payload_bytes = 256, latency_us = 0.5 }}
        verify = {{ shadow = true }}
        "#
    );
    drive(&text, 1)
}

const CACHE: &str = "policy = \"cache\"";
const NONE: &str = "policy = \"none\"";

fn uses(drive: &Drive, segment: Segment) -> u64 {
    drive.kernel().flash().die_times(0).bus[segment as usize].count
}

/// Three programs back to back: while the array programs one, the data of the next come in, and each but the last takes
/// tCBSY to move to the data register.
#[test]
fn programs_follow_each_other() {
    let around = COMMAND + data(48 * KIB) + COMPLETION;
    let write = request(Op::Write, 0, 48 * KIB);
    let mut plain = build(1, NONE);
    assert_eq!(latency(&mut plain, write), around + 3 * (DATA_IN + T_PROG));
    let mut cached = build(1, CACHE);
    assert_eq!(latency(&mut cached, write), around + DATA_IN + 2 * T_CBSY + 3 * T_PROG);
    assert_eq!((uses(&cached, Segment::ProgramCache), uses(&cached, Segment::Program)), (2, 1));
    assert_eq!(cached.kernel().flash().die_times(0).register, 2 * T_CBSY);
}

/// A program without a follower costs nothing more.
#[test]
fn a_lone_program_is_a_plain_one() {
    let mut cached = build(1, CACHE);
    let around = COMMAND + data(16 * KIB) + COMPLETION;
    assert_eq!(latency(&mut cached, request(Op::Write, 0, 16 * KIB)), around + DATA_IN + T_PROG);
    assert_eq!((uses(&cached, Segment::ProgramCache), uses(&cached, Segment::Program)), (0, 1));
}

/// Three reads: while a page is transferred, the array reads the next, which takes longer. The host has the first page
/// long before the last is read.
#[test]
fn reads_follow_each_other() {
    let read = request(Op::Read, 0, 48 * KIB);
    let around = COMMAND + data(16 * KIB) + COMPLETION;
    let mut plain = build(1, NONE);
    one(&mut plain, request(Op::Write, 0, 48 * KIB));
    assert_eq!(latency(&mut plain, read), around + 3 * (READ_COMMAND + T_R + READ_OUT));
    // Written in order, each page follows the previous one; written backwards, it needs an address.
    for (order, turn, segment) in
        [([0, 1, 2], TURN, Segment::CacheSequential), ([2, 1, 0], READ_COMMAND, Segment::CacheRandom)]
    {
        let mut cached = build(1, CACHE);
        for page in order {
            one(&mut cached, request(Op::Write, page * 16_384, 16 * KIB));
        }
        let expected = READ_COMMAND + T_R + (turn + T_RCBSY) + 2 * (T_R + T_RCBSY) + READ_OUT;
        assert_eq!(latency(&mut cached, read), around + expected, "{segment:?}");
        assert_eq!((uses(&cached, segment), uses(&cached, Segment::CacheEnd)), (2, 1));
    }
}

/// A read without a follower is as fast as a plain one.
#[test]
fn a_lone_read_costs_nothing() {
    let mut cached = build(1, CACHE);
    one(&mut cached, request(Op::Write, 0, 16 * KIB));
    let expected = COMMAND + READ_COMMAND + T_R + READ_OUT + data(16 * KIB) + COMPLETION;
    assert_eq!(latency(&mut cached, request(Op::Read, 0, 16 * KIB)), expected);
}

/// Both planes of a die in one command, also in cache mode.
#[test]
fn multi_plane_commands_follow_each_other() {
    let mut cached = build(2, "policy = \"planes\", cache = true");
    let around = COMMAND + data(64 * KIB) + COMPLETION;
    let found = latency(&mut cached, request(Op::Write, 0, 64 * KIB));
    assert_eq!(found, around + 2 * DATA_IN + T_DBSY + T_CBSY + 2 * T_PROG);
    // Two pages are ready at the end of each command, and go to the host one after the other.
    let around = COMMAND + 2 * data(16 * KIB) + COMPLETION;
    let found = latency(&mut cached, request(Op::Read, 0, 64 * KIB));
    let sense = 2 * READ_COMMAND + T_DBSY + T_R;
    assert_eq!(found, around + sense + (TURN + T_RCBSY) + (T_R + T_RCBSY) + 2 * READ_OUT_PLANE);
}

/// With two planes and single-plane commands a sequence stays in its plane, up to a limit.
#[test]
fn a_sequence_passes_older_operations_of_other_planes_a_few_times() {
    // Eight pages alternate between both planes: the last program of each sequence is a plain one.
    for (passes, sequences) in [(0, 8), (1, 4), (3, 2), (16, 2)] {
        let mut cached = build(2, &format!("policy = \"cache\", passes = {passes}"));
        one(&mut cached, request(Op::Write, 0, 128 * KIB));
        assert_eq!(uses(&cached, Segment::Program), sequences, "{passes} passes");
    }
}

/// Bytes per microsecond of a drive under a full queue of pages in order.
fn saturated(drive: &mut Drive, op: Op, count: u64) -> f64 {
    let (mut submitted, mut completed, mut start) = (0, 0, 0);
    while completed < count {
        while submitted - completed < 32 {
            let (now, places) = (drive.now(), drive.logical_bytes() / 16_384);
            let next = Request { arrival: now, ..request(op, submitted % places * 16_384, 16 * KIB) };
            drive.submit(now, next).expect("there is a slot");
            submitted += 1;
        }
        assert!(drive.step().expect("no rule is broken"), "the drive stalled");
        for done in drive.completions().drain(..) {
            completed += 1;
            if completed == count / 10 {
                start = done.time;
            }
        }
    }
    16_384.0 * (count - count / 10) as f64 / ((drive.now() - start) as f64 / 1e6)
}

/// The array never waits for the bus: a page per tPROG + tCBSY, and per tR + tRCBSY.
#[test]
fn sequential_bandwidth_is_that_of_the_cells() {
    for (pack, write_us, read_us) in [(NONE, 20.905 + 500.0, 0.275 + 50.0 + 20.5), (CACHE, 504.0, 53.0)] {
        let mut drive = build(1, pack);
        let found = saturated(&mut drive, Op::Write, 90);
        let formula = 16_384.0 / write_us;
        assert!((found / formula - 1.0).abs() < 0.005, "{pack}: {found} of {formula} bytes/us written");
        drive.drain().expect("the drive comes to rest");
        drive.completions().clear();
        let found = saturated(&mut drive, Op::Read, 90);
        let formula = 16_384.0 / read_us;
        assert!((found / formula - 1.0).abs() < 0.005, "{pack}: {found} of {formula} bytes/us read");
    }
}

/// With dynamic placement, writes follow each other as well, in one plane or in both.
#[test]
fn writes_without_a_plane_follow_each_other() {
    for (planes, pack, scope) in [
        (1, CACHE, "plane"),
        (1, CACHE, "drive"),
        (2, "policy = \"planes\", cache = true", "plane"),
        (2, "policy = \"planes\", cache = true", "drive"),
        (2, CACHE, "drive"),
    ] {
        let mut drive = placed(planes, pack, "policy = \"least-busy\"", scope);
        let found = saturated(&mut drive, Op::Write, 60 * u64::from(planes));
        let together = if pack == CACHE { 1.0 } else { f64::from(planes) };
        let formula = together * 16_384.0 / 504.0;
        // Once per block, a multi-plane command does not follow: if both planes open a block, either could take the
        // space.
        let slack = if together > 1.0 { 0.015 } else { 0.005 };
        assert!(
            (found / formula - 1.0).abs() < slack,
            "{planes} planes, {pack}, {scope}: {found} of {formula} bytes/us"
        );
    }
}

#[test]
fn nonsense_is_refused() {
    let error = wordline_drive::load::from_text("test", "pack = { policy = \"cache\", passes = 65536 }").unwrap_err();
    assert!(error.to_string().ends_with("pack.passes = 65536: must lie between 0 and 65535"), "{error}");
    assert_eq!(config("pack = { policy = \"cache\" }").firmware.pack.name(), "cache");
}
