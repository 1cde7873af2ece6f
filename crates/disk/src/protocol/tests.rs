//! The protocol with clients that behave, that lie, and that send noise.

use super::wire::{answer, option, REQUEST_BYTES};
use super::*;

const BYTES: u64 = 1 << 30;

fn exports() -> Vec<Entry> {
    let of = |name: &str, bytes| Entry { name: name.into(), description: format!("the drive {name}"), bytes };
    vec![of("", BYTES), of("other", 4096)]
}

/// A small generator of test data: the sequence of Marsaglia's xorshift.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn opt(number: u32, data: &[u8]) -> Vec<u8> {
    let head = [&IHAVEOPT.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes()].concat();
    [head, data.to_vec()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

fn go(name: &str, kinds: &[u16]) -> Vec<u8> {
    let kinds: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
    opt(option::GO, &[text(name), ((kinds.len() / 2) as u16).to_be_bytes().to_vec(), kinds].concat())
}

fn contexts(number: u32, name: &str, queries: &[&str]) -> Vec<u8> {
    let queries =
        [&(queries.len() as u32).to_be_bytes()[..], &queries.iter().flat_map(|q| text(q)).collect::<Vec<_>>()].concat();
    opt(number, &[text(name), queries].concat())
}

fn request(kind: u16, flags: u16, offset: u64, bytes: u32) -> Vec<u8> {
    let head = [&wire::REQUEST.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes()].concat();
    [head, 7_u64.to_be_bytes().to_vec(), offset.to_be_bytes().to_vec(), bytes.to_be_bytes().to_vec()].concat()
}

const FLAGS: [u8; 4] = [0, 0, 0, 3];

/// A session with an open export.
fn opened(structured: bool, allocation: bool) -> Session {
    let mut session = Session::default();
    let mut input = FLAGS.to_vec();
    if structured {
        input.extend(opt(option::STRUCTURED_REPLY, &[]));
    }
    if allocation {
        input.extend(contexts(option::SET_META_CONTEXT, "", &["base:allocation"]));
    }
    input.extend(go("", &[]));
    let steps = play(&mut session, &input, &mut Vec::new());
    assert_eq!(steps.last().map(String::as_str), Some("Opened(0)"), "{steps:?}");
    session
}

/// All steps that some bytes lead to, as texts.
fn play(session: &mut Session, input: &[u8], out: &mut Vec<u8>) -> Vec<String> {
    let (mut at, mut steps, exports) = (0, Vec::new(), exports());
    while at < input.len() {
        let (taken, step) = session.next(&input[at..], &exports, out);
        at += taken;
        let ends = matches!(step, Step::More(_) | Step::Bye | Step::Broken(_));
        steps.push(format!("{step:?}"));
        if ends {
            break;
        }
    }
    steps
}

/// The kinds of replies to options in some bytes, with their data.
fn replies(mut out: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !out.is_empty() {
        assert_eq!(u64_at(out, 0), wire::OPTION_REPLY);
        let bytes = u32_at(out, 16) as usize;
        found.push((u32_at(out, 8), u32_at(out, 12), out[20..20 + bytes].to_vec()));
        out = &out[20 + bytes..];
    }
    found
}

#[test]
fn a_client_is_greeted_and_told_of_exports() {
    let mut greeting = Vec::new();
    Session::greet(&mut greeting);
    assert_eq!(greeting, b"NBDMAGICIHAVEOPT\x00\x03");
    let (mut session, mut out) = (Session::default(), Vec::new());
    let input = [FLAGS.to_vec(), opt(option::LIST, &[]), opt(99, b"x"), go("nothing", &[])].concat();
    play(&mut session, &input, &mut out);
    let told = replies(&out);
    let kinds: Vec<u32> = told.iter().map(|reply| reply.1).collect();
    assert_eq!(kinds, [answer::SERVER, answer::SERVER, answer::ACK, answer::ERR_UNSUP, answer::ERR_UNKNOWN]);
    assert_eq!(told[1].2, b"\0\0\0\x05otherthe drive other");
}

#[test]
fn go_tells_size_flags_and_blocks() {
    let (mut session, mut out) = (Session::default(), Vec::new());
    let input = [FLAGS.to_vec(), go("", &[3, 1, 2])].concat();
    assert_eq!(play(&mut session, &input, &mut out), ["Handled", "Opened(0)"]);
    let told = replies(&out);
    assert_eq!(told[0].2, [&[0, 0][..], &BYTES.to_be_bytes(), &0b1101_0110_1101_u16.to_be_bytes()].concat());
    assert_eq!(told[1].2, b"\0\x01");
    assert_eq!(told[2].2, b"\0\x02the drive ");
    assert_eq!(told[3].2, [0, 3, 0, 0, 0, 1, 0, 0, 16, 0, 2, 0, 0, 0]);
    assert_eq!(told[4].1, answer::ACK);
}

#[test]
fn the_oldest_way_in_has_124_zeros_unless_refused() {
    for (flags, zeros) in [([0, 0, 0, 1], 124), ([0, 0, 0, 3], 0)] {
        let (mut session, mut out) = (Session::default(), Vec::new());
        let input = [flags.to_vec(), opt(option::EXPORT_NAME, b"other")].concat();
        assert_eq!(play(&mut session, &input, &mut out), ["Handled", "Opened(1)"]);
        assert_eq!(out.len(), 10 + zeros);
        assert_eq!(u64_at(&out, 0), 4096);
    }
    let (mut session, mut out) = (Session::default(), Vec::new());
    let steps = play(&mut session, &[FLAGS.to_vec(), opt(option::EXPORT_NAME, b"none")].concat(), &mut out);
    assert!(steps[1].starts_with("Broken") && out.is_empty(), "{steps:?}");
}

#[test]
fn extents_need_structured_replies_and_their_context_on_the_same_export() {
    let status = request(wire::command::BLOCK_STATUS, 0, 0, 4096);
    let mut out = Vec::new();
    assert!(play(&mut opened(true, true), &status, &mut out)[0].starts_with("Command"));
    assert!(out.is_empty());
    assert_eq!(play(&mut opened(true, false), &status, &mut out), ["Handled"]);
    // A structured error of six bytes: EINVAL, and no message.
    assert_eq!(out[out.len() - 6..], [0, 0, 0, 22, 0, 0]);
    let (mut session, mut out) = (Session::default(), Vec::new());
    let early = contexts(option::SET_META_CONTEXT, "", &["base:allocation"]);
    let other = contexts(option::SET_META_CONTEXT, "other", &["base:allocation", "qemu:dirty-bitmap"]);
    let input = [FLAGS.to_vec(), early, opt(option::STRUCTURED_REPLY, &[]), other, go("", &[])].concat();
    play(&mut session, &input, &mut out);
    let kinds: Vec<u32> = replies(&out).iter().map(|reply| reply.1).collect();
    assert_eq!(kinds[..4], [answer::ERR_INVALID, answer::ACK, answer::META_CONTEXT, answer::ACK]);
    assert_eq!(play(&mut session, &status, &mut out), ["Handled"], "chosen for another export");
}

#[test]
fn nothing_beyond_an_export_passes() {
    use wire::command::{READ, TRIM, WRITE_ZEROES};
    let refused = |kind, flags, offset, bytes| {
        let mut out = Vec::new();
        let steps = play(&mut opened(false, false), &request(kind, flags, offset, bytes), &mut out);
        assert_eq!(steps, ["Handled"], "{kind} at {offset}, {bytes} bytes");
        assert_eq!((u32_at(&out, 0), u64_at(&out, 8)), (wire::SIMPLE_REPLY, 7));
        u32_at(&out, 4)
    };
    assert_eq!(refused(READ, 0, BYTES, 1), 22);
    assert_eq!(refused(READ, 0, BYTES - 1, 2), 22);
    assert_eq!(refused(READ, 0, u64::MAX, 1), 22);
    assert_eq!(refused(READ, 0, u64::MAX - 4095, 4096), 22);
    assert_eq!(refused(READ, 0, 0, 0), 22);
    assert_eq!(refused(READ, 0, 0, MOST_PAYLOAD + 1), 22);
    assert_eq!(refused(READ, wire::flag::NO_HOLE, 0, 1), 22);
    assert_eq!(refused(TRIM, 0, 1, u32::MAX), 22);
    assert_eq!(refused(WRITE_ZEROES, 0, BYTES - 4096, 4097), 28);
    assert_eq!(refused(8, 0, 0, 1), 22);
    let mut out = Vec::new();
    let write = [request(wire::command::WRITE, 0, BYTES - 1, 2), vec![1, 2]].concat();
    assert_eq!(play(&mut opened(false, false), &write, &mut out), ["Handled"], "its data are passed over");
    assert_eq!(u32_at(&out, 4), 28);
    let long = request(wire::command::WRITE, 0, 0, MOST_PAYLOAD + 1);
    assert!(play(&mut opened(false, false), &long, &mut out)[0].starts_with("Broken"));
}

#[test]
fn a_write_waits_for_its_data() {
    let mut session = opened(true, false);
    let whole = [request(wire::command::WRITE, wire::flag::FUA, 5, 3), b"abc".to_vec()].concat();
    let (exports, mut out) = (exports(), Vec::new());
    for end in 0..whole.len() {
        let needed = if end < REQUEST_BYTES { REQUEST_BYTES } else { whole.len() };
        assert_eq!(session.next(&whole[..end], &exports, &mut out), (0, Step::More(needed)));
    }
    let (taken, step) = session.next(&whole, &exports, &mut out);
    let Step::Command(command) = step else { panic!("{step:?}") };
    assert_eq!((taken, command.offset, command.bytes, command.fua, command.data), (31, 5, 3, true, &b"abc"[..]));
}

/// A session as a client might have it, of well-formed pieces.
fn talk(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = FLAGS.to_vec();
    for _ in 0..dice.below(6) {
        bytes.extend(match dice.below(6) {
            0 => opt(option::STRUCTURED_REPLY, &[]),
            1 => contexts(option::SET_META_CONTEXT, "", &["base:allocation"]),
            2 => contexts(option::LIST_META_CONTEXT, "other", &[]),
            3 => opt(option::LIST, &[]),
            4 => go("none", &[3]),
            _ => opt(dice.below(14) as u32, &vec![0; dice.below(40) as usize]),
        });
    }
    bytes.extend(go(if dice.below(4) == 0 { "other" } else { "" }, &[3, 1]));
    for _ in 0..dice.below(12) {
        let kind = dice.below(9) as u16;
        let size = if dice.below(6) == 0 { dice.next() as u32 } else { dice.below(9000) as u32 };
        let offset = if dice.below(6) == 0 { dice.next() } else { dice.below(BYTES) };
        let flags = if dice.below(3) == 0 { dice.below(64) as u16 } else { 0 };
        bytes.extend(request(kind, flags, offset, size));
        if kind == wire::command::WRITE && size < 9000 {
            bytes.extend(vec![kind as u8; size as usize]);
        }
    }
    bytes
}

/// Plays bytes that come in pieces, and checks what every step promises; returns the steps and the answers.
fn fed(bytes: &[u8], dice: &mut Dice, piece: u64) -> (Vec<String>, Vec<u8>) {
    let (exports, mut session, mut out, mut steps) = (exports(), Session::default(), Vec::new(), Vec::new());
    let (mut at, mut have, mut size) = (0, 0, 0);
    loop {
        let (taken, step) = session.next(&bytes[at..have], &exports, &mut out);
        assert!(taken <= have - at);
        at += taken;
        match step {
            Step::More(needed) => {
                assert!(taken == 0 && needed > have - at, "it would wait for what it has");
                assert!(needed <= (MOST_PAYLOAD as usize) + REQUEST_BYTES);
                if have == bytes.len() {
                    return (steps, out);
                }
                have = (have as u64 + 1 + dice.below(piece)).min(bytes.len() as u64) as usize;
                continue;
            }
            Step::Opened(index) => size = exports[index].bytes,
            Step::Command(command) => {
                assert!(taken >= REQUEST_BYTES);
                assert!(command.offset.checked_add(u64::from(command.bytes)).unwrap() <= size);
                assert!(command.kind == Kind::Flush || command.bytes > 0);
                assert!(!matches!(command.kind, Kind::Read | Kind::Write) || command.bytes <= MOST_PAYLOAD);
                assert_eq!(command.data.len(), if command.kind == Kind::Write { command.bytes as usize } else { 0 });
            }
            Step::Handled => assert!(taken > 0),
            Step::Bye | Step::Broken(_) => {
                steps.push(format!("{step:?}"));
                return (steps, out);
            }
        }
        steps.push(format!("{step:?}"));
    }
}

#[test]
fn whatever_comes_each_step_goes_on_and_stays_within_the_export() {
    let rounds = if std::env::var_os("WORDLINE_LONG").is_some() { 400_000 } else { 20_000 };
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut commands = 0;
    for round in 0..rounds {
        let mut bytes = talk(&mut dice);
        match round % 4 {
            // As it is.
            0 => {}
            // Some bytes changed.
            1 => {
                for _ in 0..1 + dice.below(4) {
                    let at = dice.below(bytes.len() as u64) as usize;
                    bytes[at] = dice.next() as u8;
                }
            }
            // Cut, and joined with another.
            2 => {
                bytes.truncate(dice.below(bytes.len() as u64) as usize);
                bytes.extend(talk(&mut dice));
            }
            // Noise after a greeting.
            _ => bytes = FLAGS.into_iter().chain((0..dice.below(200)).map(|_| dice.next() as u8)).collect(),
        }
        let (steps, out) = fed(&bytes, &mut dice, 3000);
        commands += steps.iter().filter(|step| step.starts_with("Command")).count();
        assert!(out.len() < 64 << 10, "many answers to few questions");
        if round % 16 == 0 {
            assert_eq!(fed(&bytes, &mut dice, 3), (steps, out), "the same in other pieces");
        }
    }
    assert!(commands > rounds / 4, "{commands}: hardly any command was played");
}
