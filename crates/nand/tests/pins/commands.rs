//! The effect of each command, with real bytes, and the errors of wrong ones.

use crate::player::{noise, page, sdr, Engine, Host, Job};
use wordline_base::time::{NS, US};
use wordline_base::Stream;
use wordline_nand::interface::Interface;
use wordline_nand::log::Silent;
use wordline_nand::pins::identity::{crc16, DEVICE, MANUFACTURER};
use wordline_nand::pins::status::{ARDY, CSP, FAIL, RDY, WP_N};
use wordline_nand::pins::{Lines, Mode, Pins, Reason, Right, Wait, What};
use wordline_nand::reliability::ReliabilityConfig;
use wordline_nand::{Around, NandConfig, PackageGeometry, Violation};

const GEOMETRY: PackageGeometry = PackageGeometry { dies: 2, planes: 2, blocks: 8, pages: 8, page_bytes: 64 };

fn host() -> Host {
    Host::new(GEOMETRY, &sdr())
}

fn write(host: &mut Host, die: u32, plane: u32, block: u32, number: u32, data: &[u8]) {
    host.command(0x80).at(die, page(plane, block, number), 0).data_in(data).command(0x10).wait(die);
}

fn read(host: &mut Host, die: u32, plane: u32, block: u32, number: u32, count: usize) -> Vec<u8> {
    host.command(0x00).at(die, page(plane, block, number), 0).command(0x30).wait(die);
    host.data_out(count)
}

#[test]
fn columns_change_on_the_way_in_and_out() {
    let mut host = host();
    host.command(0x80).at(0, page(0, 1, 0), 4).data_in(&[1, 2]).data_in(&[3]);
    host.command(0x85).address(&[10, 0]).data_in(&[4, 5]).command(0x10).wait(0);
    let mut expected = vec![0xff; 64];
    expected[4..7].copy_from_slice(&[1, 2, 3]);
    expected[10..12].copy_from_slice(&[4, 5]);
    assert_eq!(host.pins.page(0, page(0, 1, 0)).unwrap(), expected);
    host.command(0x00).at(0, page(0, 1, 0), 5).command(0x30).wait(0);
    assert_eq!(host.data_out(2), [2, 3]);
    assert_eq!(host.data_out(1), [0xff]);
    host.command(0x05).address(&[11, 0]).command(0xe0);
    assert_eq!(host.data_out(1), [5]);
    // A status hides the data; 00h returns to them, at the same column.
    assert_eq!(host.status(), WP_N | RDY | ARDY);
    host.command(0x00);
    assert_eq!(host.data_out(2), [0xff, 0xff]);
    host.command(0x05).at(0, page(0, 1, 0), 4).command(0xe0);
    assert_eq!(host.data_out(3), [1, 2, 3]);
}

#[test]
fn an_internal_move_takes_changed_bytes_along() {
    let mut host = host();
    let data = noise(&mut Stream::new(3, "moves", 0), 64);
    write(&mut host, 1, 1, 0, 0, &data);
    host.command(0x00).at(1, page(1, 0, 0), 0).command(0x35).wait(1);
    assert_eq!(host.data_out(64), data);
    host.command(0x85).at(1, page(1, 5, 0), 8).data_in(&[0xaa]).command(0x85).address(&[20, 0]).data_in(&[0xbb]);
    host.command(0x10).wait(1);
    let mut expected = data.clone();
    (expected[8], expected[20]) = (0xaa, 0xbb);
    assert_eq!(read(&mut host, 1, 1, 5, 0, 64), expected);
    assert_eq!(read(&mut host, 1, 1, 0, 0, 64), data, "the source is as it was");
    // Copyback cannot change planes.
    host.command(0x00).at(1, page(1, 0, 0), 0).command(0x35).wait(1).command(0x85);
    let cycles = host.pins.layout().page(1, page(0, 5, 0), 0);
    host.address(&cycles[..4]);
    let error = host.pins.address(host.now, cycles[4]).unwrap_err();
    assert_eq!(error.reason, Reason::Cells(Violation::MoveAcrossPlanes { die: 1, plane: 1, other_plane: 0 }));
}

#[test]
fn partial_programs_add_up_to_the_nop_limit() {
    let config = NandConfig { reliability: ReliabilityConfig { nop: 2, ..ReliabilityConfig::default() }, ..sdr() };
    let mut host = Host::new(GEOMETRY, &config);
    write(&mut host, 0, 0, 0, 0, &[0x0f, 0xff]);
    write(&mut host, 0, 0, 0, 0, &[0xf3, 0x12]);
    assert_eq!(host.pins.page(0, page(0, 0, 0)).unwrap()[..3], [0x03, 0x12, 0xff], "bits only fall");
    host.command(0x80).at(0, page(0, 0, 0), 0);
    let error = host.try_command(0x10).unwrap_err();
    assert!(matches!(error.reason, Reason::Cells(Violation::ProgrammedTwice { next: 1, .. })), "{error}");
    assert_eq!(host.status() & FAIL, FAIL);
    host.command(0xff).wait(0);
    assert_eq!(host.status(), WP_N | RDY | ARDY);
}

#[test]
fn the_rules_of_the_cells_are_told_with_the_cycle() {
    let mut host = host();
    host.command(0x00).at(1, page(0, 3, 2), 0);
    let error = host.try_command(0x30).unwrap_err();
    assert_eq!((error.cycle, error.what, error.die), (6, What::Command(0x30), 1));
    assert!(matches!(error.reason, Reason::Cells(Violation::ReadUnwritten { page: 2, written: 0, .. })));
    assert_eq!(
        error.to_string(),
        "cycle 6 at 120000 ps, command 30h, die 1 (idle): page 2 of block 3, plane 0, die 1 is read but not written; \
         the block has 0 pages; expected a command within the rules of the array"
    );
    // The other die continues.
    write(&mut host, 0, 0, 0, 0, &[1]);
    host.command(0xfc).wait(1);
    host.pins.cells_mut().mark_bad(1, 1, 1);
    host.command(0x60).row(1, page(1, 1, 0));
    let error = host.try_command(0xd0).unwrap_err();
    assert!(matches!(error.reason, Reason::Cells(Violation::BadBlock { block: 1, .. })));
    host.command(0xff).wait(1).command(0x00);
    let beyond = host.pins.layout().row(3, page(0, 0, 0));
    host.address(&[0, 0]).address(&beyond[..2]);
    let error = host.pins.address(host.now, 0x7f).unwrap_err();
    assert!(matches!(error.reason, Reason::Cells(Violation::UnknownAddress { .. })), "{error}");
}

#[test]
fn planes_of_a_command_keep_their_rule() {
    let wrong = |plane: u32, number: u32| {
        let mut host = host();
        host.command(0x80).at(0, page(0, 0, 0), 0).command(0x11).wait(0).command(0x80);
        let cycles = host.pins.layout().page(0, page(plane, 1, number), 0);
        host.address(&cycles[..4]);
        host.pins.address(host.now, cycles[4]).unwrap_err().reason
    };
    assert!(matches!(wrong(0, 0), Reason::Cells(Violation::PlaneAddressing { .. })));
    assert!(matches!(wrong(1, 1), Reason::Cells(Violation::PlaneAddressing { .. })));
    let mut host = host();
    (0..2).for_each(|plane| write(&mut host, 0, plane, 0, 0, &[plane as u8]));
    host.command(0x00).at(0, page(0, 0, 0), 0).command(0x32).wait(0);
    host.command(0x00).at(0, page(1, 0, 0), 0).command(0x30).wait(0);
    assert_eq!(host.try_data_out(1).unwrap_err().reason, Reason::NoPlaneSelected);
}

#[test]
fn a_cache_sequence_keeps_its_planes() {
    let follower = Reason::Cells(Violation::Follower { die: 0 });
    let mut a = host();
    a.command(0x80).at(0, page(0, 0, 0), 0).data_in(&[1]).command(0x15).wait(0).command(0x80);
    let cycles = a.pins.layout().page(0, page(1, 0, 0), 0);
    a.address(&cycles[..4]);
    assert_eq!(a.pins.address(a.now, cycles[4]).unwrap_err().reason, follower);
    let mut a = host();
    (0..2).for_each(|plane| write(&mut a, 0, plane, 0, 0, &[plane as u8]));
    a.command(0x00).at(0, page(0, 0, 0), 0).command(0x30).wait(0).command(0x00).at(0, page(1, 0, 0), 0);
    assert_eq!(a.try_command(0x31).unwrap_err().reason, follower);
}

#[test]
fn every_wait_is_kept() {
    let mode = *host().pins.interface_mode();
    let early = |error: wordline_nand::pins::CycleError, wait: Wait, until: u64| {
        assert_eq!((error.reason, error.right), (Reason::Early { wait, until }, Right::From(until)), "{error}");
    };
    // tADL, by one picosecond.
    let mut a = host();
    a.command(0x80).at(0, page(0, 0, 0), 0);
    let until = a.now + mode.t_adl;
    early(a.clone().pins.data_in(until - 1, &[0]).unwrap_err(), Wait::Tadl, until);
    a.pins.data_in(until, &[0]).unwrap();
    // tCCS of a changed column.
    let mut a = host();
    a.command(0x80).at(0, page(0, 0, 0), 0).command(0x85).address(&[0, 0]);
    let until = a.now + mode.t_ccs;
    early(a.clone().pins.data_in(until - 1, &[0]).unwrap_err(), Wait::Tccs, until);
    a.pins.data_in(until, &[0]).unwrap();
    // tCCS of an internal move.
    let mut a = host();
    write(&mut a, 0, 0, 0, 0, &[7]);
    a.command(0x00).at(0, page(0, 0, 0), 0).command(0x35).wait(0).command(0x85).at(0, page(0, 1, 0), 0);
    let until = a.now + mode.t_ccs;
    early(a.clone().pins.data_in(until - 1, &[0]).unwrap_err(), Wait::Tccs, until);
    a.pins.data_in(until, &[0]).unwrap();
    // tWB, for the other die, too.
    let mut a = host();
    a.command(0x60).row(0, page(0, 0, 0)).command(0xd0);
    let until = a.now + mode.t_wb;
    early(a.clone().pins.command(until - 1, 0x70).unwrap_err(), Wait::Twb, until);
    early(a.clone().pins.command(until - 1, 0xff).unwrap_err(), Wait::Twb, until);
    a.clone().pins.command(until, 0x80).unwrap();
    // tWHR of a status.
    a.command(0x70);
    let until = a.now + mode.t_whr;
    early(a.clone().pins.data_out(until - 1, &mut [0]).unwrap_err(), Wait::Twhr, until);
    a.pins.data_out(until, &mut [0]).unwrap();
    // Busy, then tRR.
    let mut a = host();
    write(&mut a, 0, 0, 0, 0, &[7]);
    a.command(0x00).at(0, page(0, 0, 0), 0).command(0x30);
    let ready = a.pins.ready_at(0).unwrap().0;
    let error = a.clone().pins.data_out(ready - 1, &mut [0]).unwrap_err();
    assert_eq!((error.reason, error.right), (Reason::Busy { until: ready }, Right::From(ready)));
    early(a.clone().pins.data_out(ready + mode.t_rr - 1, &mut [0]).unwrap_err(), Wait::Trr, ready + mode.t_rr);
    let mut byte = [0];
    let end = a.pins.data_out(ready + mode.t_rr, &mut byte).unwrap();
    assert_eq!((byte, end), ([7], ready + mode.t_rr + 20 * NS));
    // A cycle still on the bus, and time that goes back.
    let error = a.clone().pins.command(end - 1, 0x70).unwrap_err();
    assert_eq!(error.reason, Reason::BusTaken { until: end });
    let error = a.pins.command(ready, 0x70).unwrap_err();
    assert_eq!(error.reason, Reason::Backwards { last: ready + mode.t_rr });
    assert_eq!(a.pins.command(u64::MAX, 0x70).unwrap_err().reason, Reason::TooLate);
}

#[test]
fn lines_and_status_follow_the_die() {
    let mut host = host();
    host.command(0x80).at(0, page(0, 0, 0), 0).data_in(&[1]).command(0x15);
    let moved = host.now + 100 * NS + 3 * US;
    assert_eq!(host.pins.ready_at(0), Some((moved, moved + 500 * US)));
    assert_eq!(host.pins.ready(0, moved - 1), Some(Lines { ready: false, array_ready: false }));
    assert_eq!(host.pins.ready(0, moved), Some(Lines { ready: true, array_ready: false }));
    assert_eq!(host.pins.ready(0, moved + 500 * US), Some(Lines { ready: true, array_ready: true }));
    assert_eq!(host.pins.ready(2, 0), None);
    assert_eq!(host.status(), WP_N);
    host.wait(0);
    assert_eq!(host.status(), WP_N | RDY);
    host.command(0x78).row(1, page(0, 0, 0));
    assert_eq!(host.data_out(1), [WP_N | RDY | ARDY], "the other die");
    host.rest(0);
    host.command(0x78).row(0, page(0, 0, 0));
    assert_eq!(host.data_out(1), [WP_N | RDY | ARDY]);
    host.pins.set_write_protected(true);
    assert_eq!(host.status(), RDY | ARDY);
    assert_eq!(host.try_command(0x60).unwrap_err().reason, Reason::WriteProtected);
}

#[test]
fn a_status_turns_ready_while_it_is_read() {
    let mut host = host();
    host.command(0x60).row(0, page(0, 0, 0)).command(0xd0);
    let ready = host.pins.ready_at(0).unwrap().0;
    host.command(0x70);
    let mut status = [0; 10];
    // Ten status bytes of 20 ns each, five of them before the die is ready.
    host.pins.data_out(ready - 100 * NS, &mut status).unwrap();
    assert_eq!(status[..5], [WP_N; 5]);
    assert_eq!(status[5..], [WP_N | RDY | ARDY; 5]);
}

#[test]
fn suspension_takes_the_time_of_the_engine() {
    for (mode, after) in [(6, 100 * US), (14, 1_000 * US), (6, 500 * US - 150 * NS), (6, 500 * US - 1)] {
        let (mut host, mut engine) = (host(), Engine::new(GEOMETRY, &sdr()));
        let job = |mode, block| Job {
            mode,
            die: 0,
            steps: vec![vec![page(0, block, 0)]],
            targets: vec![],
            data: vec![vec![0x11; 64]],
            bytes: 64,
        };
        let (aside, main) = (job(6, 0), job(mode, 1));
        aside.run(&mut host);
        engine.run(0, &aside);
        let start = host.now;
        let (_, due) = engine.begin(start, &main);
        let mut none = Vec::new();
        main.play(&mut host, main.parts()[0], &mut none);
        assert_eq!(host.pins.ready_at(0).unwrap().0, due);
        host.now += after;
        let Engine { package, timing, bus } = &mut engine;
        let rests = package.suspend(0, due, Around { now: host.now, timing, bus, log: &mut Silent }).unwrap();
        host.command(if mode == 6 { 0x84 } else { 0x61 });
        assert_eq!(host.pins.ready_at(0).unwrap().0, rests.unwrap_or(due));
        let suspended = rests.is_some();
        host.wait(0);
        assert_eq!(host.status() & CSP != 0, suspended);
        if !suspended {
            assert_eq!(host.status(), WP_N | RDY | ARDY);
            continue;
        }
        assert_eq!(read(&mut host, 0, 0, 0, 0, 1), [0x11]);
        let lane = wordline_nand::Lane::Aside;
        while package.step(0, lane, Around { now: host.now, timing, bus, log: &mut Silent })
            != wordline_nand::Step::Done
        {}
        let due = package.resume(0, Around { now: host.now, timing, bus, log: &mut Silent }).unwrap();
        host.command(if mode == 6 { 0x13 } else { 0xd2 });
        assert_eq!(host.pins.ready_at(0).unwrap().0, due);
        host.wait(0);
        assert_eq!(host.pins.page(0, page(0, 1, 0)).is_some(), mode == 6);
    }
}

#[test]
fn a_suspended_command_keeps_its_page_to_itself() {
    let mut host = host();
    write(&mut host, 0, 0, 1, 0, &[1]);
    host.command(0x80).at(0, page(0, 1, 1), 0).data_in(&[2]).command(0x10).command(0x84).wait(0);
    assert_eq!(read(&mut host, 0, 0, 1, 0, 1), [1], "another page of the block");
    host.command(0x00).at(0, page(0, 1, 1), 0);
    assert_eq!(host.try_command(0x30).unwrap_err().reason, Reason::Suspended { plane: 0, block: 1, page: 1 });
    host.command(0xff).wait(0);
    host.command(0x00).at(0, page(0, 1, 1), 0);
    assert_eq!(host.try_command(0x30).unwrap_err().reason, Reason::CutOff { plane: 0, block: 1, page: 1 });
}

#[test]
fn reset_takes_its_time_and_leaves_ruins() {
    let after_reset = |host: &mut Host, die: u32| {
        host.command(0xff);
        host.pins.ready_at(die).unwrap().0 - host.now - 100 * NS
    };
    let mut a = host();
    assert_eq!(after_reset(&mut a, 0), 5 * US);
    a.wait(0);
    write(&mut a, 0, 0, 0, 0, &[1]);
    a.command(0x00).at(0, page(0, 0, 0), 0).command(0x30);
    assert_eq!(after_reset(&mut a, 0), 5 * US);
    a.wait(0).command(0x80).at(0, page(0, 0, 1), 0).data_in(&[2]).command(0x10);
    assert_eq!(after_reset(&mut a, 0), 10 * US);
    assert_eq!(a.pins.ready_at(1).unwrap().0 - a.now - 100 * NS, 5 * US, "the other die");
    a.wait(0);
    assert_eq!(a.pins.page(0, page(0, 0, 1)), None);
    assert_eq!(read(&mut a, 0, 0, 0, 0, 1), [1], "the page before is whole");
    a.command(0x60).row(0, page(0, 0, 0)).command(0xd0);
    assert_eq!(after_reset(&mut a, 0), 500 * US);
    let ready = a.pins.ready_at(0).unwrap();
    a.command(0xff);
    assert_eq!(a.pins.ready_at(0).unwrap(), ready, "a second RESET does not shorten the first");
    a.wait(0).command(0x80).at(0, page(0, 0, 0), 0);
    assert_eq!(a.try_command(0x10).unwrap_err().reason, Reason::CutOff { plane: 0, block: 0, page: 0 });
    a.command(0xff).wait(0).command(0x60).row(0, page(0, 0, 0)).command(0xd0).wait(0);
    write(&mut a, 0, 0, 0, 0, &[3]);
    assert_eq!(read(&mut a, 0, 0, 0, 0, 1), [3]);
}

#[test]
fn identifiers_are_those_of_onfi() {
    let mut host = host();
    host.command(0x90).address(&[0x00]);
    assert_eq!(host.data_out(2), [MANUFACTURER, DEVICE]);
    host.command(0x90).address(&[0x20]);
    assert_eq!(host.data_out(4), *b"ONFI");
    assert_eq!(host.try_data_out(1).unwrap_err().reason, Reason::Column { column: 4, bytes: 1, end: 4 });
    host.command(0xff).wait(0).command(0x90);
    assert_eq!(host.pins.address(host.now, 0x40).unwrap_err().reason, Reason::NothingThere { address: 0x40 });
}

/// CRC-16 as a polynomial division, bit by bit, with the start value in front: independent of the package's own.
fn remainder(bytes: &[u8]) -> u16 {
    let mut bits: Vec<bool> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
    bits.extend([false; 16]);
    (0..16).for_each(|bit| bits[bit] ^= 0x4f4e >> (15 - bit) & 1 == 1);
    for at in 0..bits.len() - 16 {
        if bits[at] {
            // x^16 + x^15 + x^2 + 1
            [0, 1, 14, 16].iter().for_each(|term| bits[at + term] ^= true);
        }
    }
    bits[bits.len() - 16..].iter().fold(0, |crc, &bit| crc << 1 | u16::from(bit))
}

#[test]
fn the_parameter_page_is_valid_three_times() {
    let mut host = host();
    host.command(0xec).address(&[0]);
    let busy = host.pins.ready_at(0).unwrap().0 - host.now - 100 * NS;
    assert_eq!(busy, 50 * US, "tR");
    host.wait(0);
    let whole = host.data_out(768);
    let page = &whole[..256];
    assert!(whole[256..512] == *page && whole[512..] == *page);
    let word = |at: usize| u16::from_le_bytes([page[at], page[at + 1]]);
    let long = |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
    assert_eq!(&page[..4], b"ONFI");
    assert_eq!((long(80), word(84), long(92), long(96)), (64, 0, 8, 16), "bytes, spare, pages, blocks of a LUN");
    assert_eq!((page[100], page[101], page[110], page[113]), (2, 0x23, 1, 1), "LUNs, cycles, NOP, plane bits");
    assert_eq!((word(129), word(133), word(135), word(137), word(139)), (0x3f, 500, 3_000, 50, 200));
    assert_eq!((page[14], page[64]), (3, MANUFACTURER));
    assert_eq!(word(254), remainder(&page[..254]));
    assert_eq!(crc16(&page[..254]), remainder(&page[..254]));
    // 05h-E0h changes the column in it.
    host.command(0x05).address(&[0x00, 0x01]).command(0xe0);
    assert_eq!(host.data_out(4), *b"ONFI");
    assert_eq!(host.try_data_out(509).unwrap_err().reason, Reason::Column { column: 260, bytes: 509, end: 768 });
}

#[test]
fn features_set_the_timing_mode() {
    let mut host = host();
    let get = |host: &mut Host, address: u8| {
        host.command(0xee).address(&[address]).wait(0);
        host.data_out(4)
    };
    assert_eq!(get(&mut host, 0x01), [5, 0, 0, 0], "SDR mode 5");
    host.command(0xef).address(&[0x01]).data_in(&[0, 0, 0, 0]);
    assert_eq!(host.pins.ready_at(0).unwrap().0 - host.now, 100 * NS + US, "tWB of mode 5, tFEAT");
    host.wait(0);
    assert_eq!(host.pins.interface_mode().latch_cycle, 100 * NS, "SDR mode 0");
    let start = host.now;
    host.command(0x60);
    assert_eq!(host.now - start, 100 * NS);
    host.row(0, page(0, 0, 0)).command(0xd0).wait(0);
    assert_eq!(host.now - start, (5 * 100 + 200) * NS + 3_000 * US);
    assert_eq!(get(&mut host, 0x01), [0, 0, 0, 0]);
    host.command(0xef).address(&[0x10]).data_in(&[3, 0]).data_in(&[0, 0]).wait(0);
    assert_eq!(get(&mut host, 0x10), [3, 0, 0, 0]);
    let refused = |host: &Host, address: u8, value: u8| {
        let mut host = host.clone();
        host.command(0xef).address(&[address]);
        host.now += 200 * NS;
        host.pins.data_in(host.now, &[value, 0, 0, 0]).unwrap_err().reason
    };
    for (address, value) in [(0x01, 6), (0x01, 0x15), (0x10, 4)] {
        assert_eq!(refused(&host, address, value), Reason::FeatureValue { address, value });
    }
    let config = NandConfig { interface: Interface::NvDdr3, rate_mt_s: 800, ..NandConfig::default() };
    let mut fast = Host::new(GEOMETRY, &config);
    assert_eq!(get(&mut fast, 0x01), [0x3a, 0, 0, 0], "NV-DDR3 mode 10");
}

#[test]
fn commands_for_the_package_wait_for_all_dies() {
    let mut host = host();
    host.command(0x60).row(1, page(0, 0, 0)).command(0xd0);
    // Die 0 is addressed and idle, die 1 erases.
    host.command(0x78).row(0, page(0, 0, 0));
    let error = host.try_command(0x90).unwrap_err();
    assert_eq!((error.die, error.reason), (0, Reason::PackageBusy { die: 1 }));
}

#[test]
fn dies_take_turns_on_the_bus() {
    let mut host = host();
    for die in 0..2 {
        write(&mut host, die, 0, 0, 0, &[die as u8 + 1, 9]);
    }
    for die in 0..2 {
        host.command(0x00).at(die, page(0, 0, 0), 0).command(0x30);
    }
    host.wait(0).wait(1);
    // 06h-E0h selects a die; so does 78h, and 00h brings its data back.
    host.command(0x06).at(0, page(0, 0, 0), 0).command(0xe0);
    assert_eq!(host.data_out(1), [1]);
    host.command(0x78).row(1, page(0, 0, 0));
    assert_eq!(host.data_out(1), [WP_N | RDY | ARDY]);
    host.command(0x00);
    assert_eq!(host.data_out(2), [2, 9]);
    // A busy die is rejected at its address, since 00h could be for another.
    host.command(0x60).row(0, page(0, 3, 0)).command(0xd0).command(0x00);
    let cycles = host.pins.layout().page(0, page(0, 0, 0), 0);
    host.address(&cycles[..4]);
    let error = host.pins.address(host.now, cycles[4]).unwrap_err();
    assert!(matches!(error.reason, Reason::Busy { .. }) && error.die == 0, "{error}");
    assert_eq!(error.condition.mode, Mode::Idle);
    assert_eq!(host.status(), WP_N | FAIL, "the die whose address was refused");
    assert_eq!(read(&mut host, 1, 0, 0, 0, 2), [2, 9], "the other die is not in it");
}

#[test]
fn a_wrong_command_is_told_what_would_be_right() {
    let mut host = host();
    host.command(0x60).row(0, page(0, 0, 0));
    let error = host.try_command(0x30).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cycle 4 at 80000 ps, command 30h, die 0 (idle): the command has no place in this sequence; expected one of \
         the commands D0h D1h FCh FFh"
    );
    let error = host.try_command(0x31).unwrap_err();
    let Right::Cycles(right) = error.right else { panic!("{error}") };
    assert_eq!(error.reason, Reason::Failed);
    // The other die accepts these; this one only the last four.
    assert_eq!(right.commands().filter(|command| [0x70, 0x78, 0xfc, 0xff].contains(command)).count(), 4);
}

#[test]
fn what_cannot_be_built_is_refused() {
    let none = PackageGeometry { dies: 0, ..GEOMETRY };
    assert!(Pins::new(none, &sdr()).unwrap_err().to_string().contains("dies = 0"));
    let config = NandConfig { rate_mt_s: 51, ..sdr() };
    assert!(Pins::new(GEOMETRY, &config).unwrap_err().to_string().contains("rate_mt_s = 51"));
}
