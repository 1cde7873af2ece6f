//! Every command byte, and every pair of them, in every state of a die: accepted and rejected ones.
//!
//! The tables here are written from the standard, independent of the package's own: each state with its accepted
//! commands and their next states. One die with two planes, so that nothing depends on other dies.

use crate::player::{page, sdr, Host};
use wordline_nand::config::ByClass;
use wordline_nand::pins::status::{FAIL, FAILC};
use wordline_nand::pins::{Reason, What};
use wordline_nand::{NandConfig, PackageGeometry};

const GEOMETRY: PackageGeometry = PackageGeometry { dies: 1, planes: 2, blocks: 4, pages: 4, page_bytes: 16 };

/// A command and its next state.
type Takes = &'static [(u8, &'static str)];

/// A state by name: its accepted commands besides RESET and READ STATUS, whether it accepts READ STATUS, and which of
/// (a)ddress, data (i)n and data (o)ut.
struct State {
    name: &'static str,
    takes: Takes,
    status: bool,
    more: &'static str,
    build: Option<fn(&mut Host)>,
}

/// A state between two sequences.
const fn between(name: &'static str, takes: Takes, more: &'static str, build: fn(&mut Host)) -> State {
    State { name, takes, status: true, more, build: Some(build) }
}

/// A state within a sequence.
const fn within(name: &'static str, takes: Takes, more: &'static str, build: fn(&mut Host)) -> State {
    State { name, takes, status: false, more, build: Some(build) }
}

const IDLE: Takes = &[
    (0x00, "address"),
    (0x60, "address"),
    (0x80, "address"),
    (0x90, "address"),
    (0xec, "address"),
    (0xee, "address"),
    (0xef, "address"),
];
const HELD: Takes = &[
    (0x00, "address"),
    (0x05, "address"),
    (0x06, "address"),
    (0x31, "busy"),
    (0x60, "address"),
    (0x80, "address"),
    (0x90, "address"),
    (0xec, "address"),
    (0xee, "address"),
    (0xef, "address"),
];
const HELD_LAST: Takes = &[
    (0x00, "address"),
    (0x05, "address"),
    (0x06, "address"),
    (0x60, "address"),
    (0x80, "address"),
    (0x90, "address"),
    (0xec, "address"),
    (0xee, "address"),
    (0xef, "address"),
];
const MOVE: Takes = &[
    (0x00, "address"),
    (0x05, "address"),
    (0x06, "address"),
    (0x60, "address"),
    (0x80, "address"),
    (0x85, "address"),
    (0x90, "address"),
    (0xec, "address"),
    (0xee, "address"),
    (0xef, "address"),
];
const PARAMETERS: Takes = &[
    (0x00, "address"),
    (0x05, "address"),
    (0x60, "address"),
    (0x80, "address"),
    (0x90, "address"),
    (0xec, "address"),
    (0xee, "address"),
    (0xef, "address"),
];
const CACHE_READ: Takes = &[(0x00, "address"), (0x05, "address"), (0x06, "address"), (0x31, "busy"), (0x3f, "busy")];
const READ_ONLY: Takes = &[(0x00, "address")];
const PROGRAM_ONLY: Takes = &[(0x80, "address")];

fn read(host: &mut Host, plane: u32, last: u8) {
    host.command(0x00).at(0, page(plane, 0, 0), 0).command(last);
}

fn read_held(host: &mut Host) {
    read(host, 0, 0x30);
    host.wait(0);
}

fn both_held(host: &mut Host) {
    read(host, 0, 0x32);
    host.wait(0);
    read(host, 1, 0x30);
    host.wait(0);
}

fn cache_read(host: &mut Host) {
    read_held(host);
    host.command(0x31).wait(0);
}

fn both_cache_read(host: &mut Host) {
    both_held(host);
    host.command(0x31).wait(0);
}

fn move_held(host: &mut Host) {
    read(host, 0, 0x35);
    host.wait(0);
}

fn both_moves_held(host: &mut Host) {
    read(host, 0, 0x32);
    host.wait(0);
    read(host, 1, 0x35);
    host.wait(0);
}

/// 80h and the address of an empty page.
fn program_address(host: &mut Host, plane: u32, number: u32) {
    host.command(0x80).at(0, page(plane, 2, number), 0);
}

fn program(host: &mut Host, plane: u32, last: u8) {
    program_address(host, plane, 0);
    host.data_in(&[1, 2, 3]).command(last);
}

fn cache_program(host: &mut Host) {
    program(host, 0, 0x15);
    host.wait(0);
}

fn both_cache_program(host: &mut Host) {
    program(host, 0, 0x11);
    host.wait(0);
    program(host, 1, 0x15);
    host.wait(0);
}

fn target(host: &mut Host, plane: u32) {
    host.command(0x85).at(0, page(plane, 2, 0), 0);
}

fn erase(host: &mut Host, plane: u32, last: u8) {
    host.command(0x60).row(0, page(plane, 3, 0)).command(last);
}

fn suspended_program(host: &mut Host) {
    program(host, 0, 0x10);
    host.command(0x84).wait(0);
}

fn suspended_erase(host: &mut Host) {
    erase(host, 0, 0xd0);
    host.command(0x61).wait(0);
}

fn opened(host: &mut Host, command: u8) {
    host.command(command);
}

fn package_wide(host: &mut Host, command: u8, address: u8) {
    host.command(command).address(&[address]);
}

/// States that can be built, in the order of ONFI's chapters; "address", "busy" and the like below are their followers.
fn states() -> Vec<State> {
    vec![
        between("idle", IDLE, "", |_| {}),
        between("status shown", IDLE, "o", |host| opened(host, 0x70)),
        between("status enhanced shown", IDLE, "o", |host| {
            host.command(0x78).row(0, page(1, 0, 0));
        }),
        // Sequences whose address is missing.
        within("after 00h", &[], "a", |host| opened(host, 0x00)),
        within("after 60h", &[], "a", |host| opened(host, 0x60)),
        within("after 78h", &[], "a", |host| opened(host, 0x78)),
        within("after 80h", &[], "a", |host| opened(host, 0x80)),
        within("after 90h", &[], "a", |host| opened(host, 0x90)),
        within("after ECh", &[], "a", |host| opened(host, 0xec)),
        within("after EEh", &[], "a", |host| opened(host, 0xee)),
        within("after EFh", &[], "a", |host| opened(host, 0xef)),
        within("after 00h and a part of the address", &[], "a", |host| {
            host.command(0x00).address(&[0, 0]);
        }),
        within("after 00h beside data", &[], "ao", |host| {
            read_held(host);
            host.command(0x00);
        }),
        within("after 05h", &[], "a", |host| {
            read_held(host);
            host.command(0x05);
        }),
        within("after 05h and a column", &[(0xe0, "read held")], "a", |host| {
            read_held(host);
            host.command(0x05).address(&[0, 0]);
        }),
        within("after 05h and three cycles", &[], "a", |host| {
            read_held(host);
            host.command(0x05).address(&[0, 0, 0]);
        }),
        within("after 05h and a page", &[(0xe0, "read held")], "", |host| {
            read_held(host);
            host.command(0x05).at(0, page(0, 0, 0), 0);
        }),
        within("after 06h", &[], "a", |host| {
            read_held(host);
            host.command(0x06);
        }),
        within("after 06h and two cycles", &[], "a", |host| {
            read_held(host);
            host.command(0x06).address(&[0, 0]);
        }),
        within("after 06h and a page", &[(0xe0, "read held")], "", |host| {
            read_held(host);
            host.command(0x06).at(0, page(0, 0, 0), 0);
        }),
        // Reads.
        within("read addressed", &[(0x30, "busy"), (0x32, "busy"), (0x35, "busy")], "", |host| {
            host.command(0x00).at(0, page(0, 0, 0), 0);
        }),
        within(
            "read addressed on held data",
            &[(0x30, "busy"), (0x31, "busy"), (0x32, "busy"), (0x35, "busy")],
            "",
            |host| {
                read_held(host);
                host.command(0x00).at(0, page(0, 0, 1), 0);
            },
        ),
        between("busy", &[], "", |host| read(host, 0, 0x30)),
        between("busy with a plane", &[], "", |host| read(host, 0, 0x32)),
        between("read queued", READ_ONLY, "", |host| {
            read(host, 0, 0x32);
            host.wait(0);
        }),
        within("second plane addressed", &[(0x30, "busy"), (0x35, "busy")], "", |host| {
            read(host, 0, 0x32);
            host.wait(0).command(0x00).at(0, page(1, 0, 0), 0);
        }),
        between("read held", HELD, "o", read_held),
        between("read held, status shown", HELD, "o", |host| {
            read_held(host);
            host.command(0x70);
        }),
        between("two planes held", HELD, "", both_held),
        // Cache reads.
        between("busy with 31h", &[], "", |host| {
            read_held(host);
            host.command(0x31);
        }),
        between("cache read", CACHE_READ, "o", cache_read),
        between("cache read of two planes", CACHE_READ, "", both_cache_read),
        within("cache read addressed", &[(0x31, "busy")], "", |host| {
            // 32h would lead to two planes instead of one: detected at 31h.
            both_cache_read(host);
            host.command(0x00).at(0, page(0, 0, 1), 0).command(0x32).wait(0);
            host.command(0x00).at(0, page(1, 0, 1), 0);
        }),
        within("first plane of a cache read addressed", &[(0x32, "busy")], "", |host| {
            both_cache_read(host);
            host.command(0x00).at(0, page(0, 0, 1), 0);
        }),
        between("cache read queued", READ_ONLY, "", |host| {
            both_cache_read(host);
            host.command(0x00).at(0, page(0, 0, 1), 0).command(0x32).wait(0);
        }),
        between("busy with 3Fh", &[], "", |host| {
            cache_read(host);
            host.command(0x3f);
        }),
        between("last page held", HELD_LAST, "o", |host| {
            cache_read(host);
            host.command(0x3f).wait(0);
        }),
        within("read addressed on the last page", &[(0x30, "busy"), (0x32, "busy"), (0x35, "busy")], "", |host| {
            cache_read(host);
            host.command(0x3f).wait(0).command(0x00).at(0, page(0, 0, 1), 0);
        }),
        // Programs.
        within(
            "program addressed",
            &[(0x10, "busy with a program"), (0x11, "busy"), (0x15, "busy"), (0x85, "address")],
            "i",
            |host| program_address(host, 0, 0),
        ),
        within(
            "program with data",
            &[(0x10, "busy with a program"), (0x11, "busy"), (0x15, "busy"), (0x85, "address")],
            "i",
            |host| {
                program_address(host, 0, 0);
                host.data_in(&[1, 2, 3]);
            },
        ),
        within("after 85h within a program", &[], "a", |host| {
            program_address(host, 0, 0);
            host.command(0x85);
        }),
        within(
            "after 85h and a column",
            &[(0x10, "busy with a program"), (0x11, "busy"), (0x15, "busy"), (0x85, "address")],
            "i",
            |host| {
                program_address(host, 0, 0);
                host.command(0x85).address(&[3, 0]);
            },
        ),
        between("busy with 11h", &[], "", |host| program(host, 0, 0x11)),
        between("program queued", PROGRAM_ONLY, "", |host| {
            program(host, 0, 0x11);
            host.wait(0);
        }),
        within(
            "second plane of a program",
            &[(0x10, "busy with a program"), (0x15, "busy"), (0x85, "address")],
            "i",
            |host| {
                program(host, 0, 0x11);
                host.wait(0);
                program_address(host, 1, 0);
            },
        ),
        between("busy with a program", &[(0x84, "busy")], "", |host| program(host, 0, 0x10)),
        between("busy with 15h", &[], "", |host| program(host, 0, 0x15)),
        between("cache program", PROGRAM_ONLY, "", cache_program),
        within("cache program addressed", &[(0x10, "busy"), (0x15, "busy"), (0x85, "address")], "i", |host| {
            cache_program(host);
            program_address(host, 0, 1);
        }),
        within("first plane of a cache program addressed", &[(0x11, "busy"), (0x85, "address")], "i", |host| {
            both_cache_program(host);
            program_address(host, 0, 1);
        }),
        between("cache program over", IDLE, "", |host| {
            cache_program(host);
            host.rest(0);
        }),
        between("busy with the end of a cache program", &[], "", |host| {
            cache_program(host);
            program_address(host, 0, 1);
            host.command(0x10);
        }),
        between("busy with the end of a cache program alone", &[], "", |host| {
            cache_program(host);
            let first = host.pins.ready_at(0).unwrap().1;
            program_address(host, 0, 1);
            host.command(0x10);
            host.now = first;
        }),
        between("idle after a program", IDLE, "", |host| {
            program(host, 0, 0x10);
            host.wait(0);
        }),
        // Internal moves.
        between("move held", MOVE, "o", move_held),
        between("moves of two planes held", MOVE, "", both_moves_held),
        within("after 85h", &[], "a", |host| {
            move_held(host);
            host.command(0x85);
        }),
        within("move addressed", &[(0x10, "busy"), (0x85, "address")], "i", |host| {
            move_held(host);
            target(host, 0);
        }),
        within("move with data", &[(0x10, "busy"), (0x85, "address")], "i", |host| {
            move_held(host);
            target(host, 0);
            host.data_in(&[7]);
        }),
        within("first of two moves addressed", &[(0x10, "busy"), (0x11, "busy"), (0x85, "address")], "i", |host| {
            both_moves_held(host);
            target(host, 0);
        }),
        between("move queued", &[(0x85, "address")], "", |host| {
            both_moves_held(host);
            target(host, 0);
            host.command(0x11).wait(0);
        }),
        within("second move addressed", &[(0x10, "busy"), (0x85, "address")], "i", |host| {
            both_moves_held(host);
            target(host, 0);
            host.command(0x11).wait(0);
            target(host, 1);
        }),
        between("busy with a move", &[], "", |host| {
            move_held(host);
            target(host, 0);
            host.command(0x10);
        }),
        // Erases.
        within("erase addressed", &[(0xd0, "busy with an erase"), (0xd1, "busy")], "", |host| {
            host.command(0x60).row(0, page(0, 3, 0));
        }),
        between("busy with D1h", &[], "", |host| erase(host, 0, 0xd1)),
        between("erase queued", &[(0x60, "address")], "", |host| {
            erase(host, 0, 0xd1);
            host.wait(0);
        }),
        within("second plane of an erase", &[(0xd0, "busy with an erase")], "", |host| {
            erase(host, 0, 0xd1);
            host.wait(0).command(0x60).row(0, page(1, 3, 0));
        }),
        between("busy with an erase", &[(0x61, "busy")], "", |host| erase(host, 0, 0xd0)),
        // Suspended.
        between("busy with a suspension", &[], "", |host| {
            program(host, 0, 0x10);
            host.command(0x84);
        }),
        between("program suspended", &[(0x00, "address"), (0x13, "busy with a program")], "", suspended_program),
        between("erase suspended", &[(0x00, "address"), (0xd2, "busy with an erase")], "", suspended_erase),
        within("read addressed beside a suspended program", &[(0x30, "busy"), (0x32, "busy")], "", |host| {
            suspended_program(host);
            host.command(0x00).at(0, page(0, 0, 0), 0);
        }),
        between("busy with a read beside a suspended erase", &[], "", |host| {
            suspended_erase(host);
            read(host, 0, 0x30);
        }),
        between(
            "read held beside a suspended erase",
            &[(0x00, "address"), (0x05, "address"), (0x06, "address"), (0xd2, "busy with an erase")],
            "o",
            |host| {
                suspended_erase(host);
                read_held(host);
            },
        ),
        between("read queued beside a suspended erase", READ_ONLY, "", |host| {
            suspended_erase(host);
            read(host, 0, 0x32);
            host.wait(0);
        }),
        between("busy with a resumed program", &[(0x84, "busy")], "", |host| {
            suspended_program(host);
            host.command(0x13);
        }),
        between("busy with a resumed erase", &[(0x61, "busy")], "", |host| {
            suspended_erase(host);
            host.command(0xd2);
        }),
        // The package as a whole.
        between("identifier shown", IDLE, "o", |host| package_wide(host, 0x90, 0x20)),
        between("busy with the parameter page", &[], "", |host| package_wide(host, 0xec, 0x00)),
        between("parameter page held", PARAMETERS, "o", |host| {
            package_wide(host, 0xec, 0x00);
            host.wait(0);
        }),
        between("busy with a feature", &[], "", |host| package_wide(host, 0xee, 0x10)),
        between("feature held", IDLE, "o", |host| {
            package_wide(host, 0xee, 0x10);
            host.wait(0);
        }),
        within("feature to be set", &[], "i", |host| package_wide(host, 0xef, 0x10)),
        within("feature partly set", &[], "i", |host| {
            package_wide(host, 0xef, 0x10);
            host.data_in(&[1, 0]);
        }),
        between("busy with a set feature", &[], "", |host| {
            package_wide(host, 0xef, 0x10);
            host.data_in(&[1, 0, 0, 0]);
        }),
        between("busy with RESET", &[], "", |host| opened(host, 0xff)),
        between("failed", &[], "", |host| {
            host.try_command(0x10).unwrap_err();
        }),
        // States that only follow from those above; their names are in the tables above.
        State { name: "address", takes: &[], status: false, more: "a", build: None },
    ]
}

/// The next state after a command, if it is accepted.
fn next(states: &[State], state: &State, byte: u8) -> Option<&'static str> {
    match byte {
        0xff | 0xfc => Some("busy"),
        0x70 if state.status => Some(state.name),
        0x78 if state.status => Some("address"),
        _ => {
            let found = state.takes.iter().find(|(command, _)| *command == byte).map(|(_, next)| *next);
            assert!(found.is_none_or(|name| states.iter().any(|other| other.name == name)), "{found:?}");
            found
        }
    }
}

/// A package with two written pages in block 0 of both planes. All busy times are long compared with the cycles.
fn prepared() -> Host {
    let config = NandConfig { dummy_busy_us: 10.0, read_us: ByClass::One(50.0), ..sdr() };
    let mut host = Host::new(GEOMETRY, &config);
    for number in 0..3 {
        for plane in 0..2 {
            host.command(0x80).at(0, page(plane, 0, number), 0).data_in(&[0x5a; 16]).command(0x10).wait(0);
        }
    }
    host
}

#[test]
fn every_command_and_every_pair_is_taken_or_refused_as_the_standard_says() {
    let states = states();
    let named = |name: &str| states.iter().find(|state| state.name == name).expect("it was looked up before");
    let start = prepared();
    let (mut one, mut two) = ([0_u64; 2], [0_u64; 2]);
    let mut built = 0;
    for state in &states {
        let Some(build) = state.build else { continue };
        built += 1;
        let mut host = start.clone();
        build(&mut host);
        for first in 0..=255_u8 {
            let mut after = host.clone();
            let taken = after.try_command(first);
            let expected = next(&states, state, first);
            assert_eq!(taken.is_ok(), expected.is_some(), "{}, then {first:02X}h: {taken:?}", state.name);
            one[usize::from(taken.is_ok())] += 1;
            if let Err(error) = taken {
                assert_eq!((error.what, error.die), (What::Command(first), 0));
                assert!(!error.right.to_string().is_empty() && !error.reason.to_string().is_empty());
            }
            let follows = expected.map_or_else(|| named("failed"), named);
            for second in 0..=255_u8 {
                let mut last = after.clone();
                let taken = last.try_command(second);
                let expected = next(&states, follows, second);
                assert_eq!(
                    taken.is_ok(),
                    expected.is_some(),
                    "{}, then {first:02X}h, then {second:02X}h ({}): {taken:?}",
                    state.name,
                    follows.name
                );
                two[usize::from(taken.is_ok())] += 1;
            }
        }
    }
    println!(
        "{built} states: of single commands {} refused, {} taken; of pairs {} and {}",
        one[0], one[1], two[0], two[1]
    );
    assert_eq!(one[0] + one[1], built * 256);
    assert_eq!(two[0] + two[1], built * 256 * 256);
    let by_tables: usize = states
        .iter()
        .filter(|state| state.build.is_some())
        .map(|state| 2 + state.takes.len() + if state.status { 2 } else { 0 })
        .sum();
    assert_eq!(one[1], by_tables as u64, "each command of the tables is taken once");
}

#[test]
fn every_other_cycle_is_taken_or_refused_as_the_standard_says() {
    let start = prepared();
    for state in states() {
        let Some(build) = state.build else { continue };
        let mut host = start.clone();
        build(&mut host);
        // After all waits, and before any busy die is ready.
        let now = host.now.max(host.pins.earliest()) + 250_000;
        // There is no feature 00h.
        let byte = u8::from(["after EEh", "after EFh"].contains(&state.name));
        let results = [
            ('a', host.clone().pins.address(now, byte)),
            ('i', host.clone().pins.data_in(now, &[0])),
            ('o', host.clone().pins.data_out(now, &mut [0])),
        ];
        for (kind, result) in results {
            assert_eq!(result.is_ok(), state.more.contains(kind), "{}, then '{kind}': {result:?}", state.name);
        }
    }
}

#[test]
fn a_refusal_shows_in_the_status_until_reset() {
    let start = prepared();
    for state in states() {
        let Some(build) = state.build else { continue };
        let mut host = start.clone();
        build(&mut host);
        if state.name == "failed" {
            continue;
        }
        assert_eq!(host.try_command(0x42).unwrap_err().reason, Reason::Unknown, "{}", state.name);
        assert_eq!(host.status() & (FAIL | FAILC), FAIL, "{}", state.name);
        host.try_command(0x00).unwrap_err();
        assert_eq!(host.status() & (FAIL | FAILC), FAIL | FAILC, "{}", state.name);
        host.command(0xff).wait(0);
        assert_eq!(host.status(), 0xe0, "{}", state.name);
        // It works again.
        host.command(0x60).row(0, page(0, 3, 0)).command(0xd0).wait(0);
        host.command(0x80).at(0, page(0, 3, 0), 0).data_in(&[9]).command(0x10).wait(0);
        host.command(0x00).at(0, page(0, 3, 0), 0).command(0x30).wait(0);
        assert_eq!(host.data_out(2), [9, 0xff], "{}", state.name);
    }
}
