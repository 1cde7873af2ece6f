//! The protocol with clients that behave, that lie, and that send noise.

use super::wire::{answer, option, EXTENDED_REQUEST_BYTES, REQUEST_BYTES};
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

fn extended(kind: u16, flags: u16, offset: u64, bytes: u64) -> Vec<u8> {
    let head = [&wire::EXTENDED_REQUEST.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes()].concat();
    [head, 7_u64.to_be_bytes().to_vec(), offset.to_be_bytes().to_vec(), bytes.to_be_bytes().to_vec()].concat()
}

/// The head of a reply with an extended header to [`extended`], and what follows it.
fn extended_reply(kind: u16, offset: u64, payload: &[u8]) -> Vec<u8> {
    let head = [&wire::EXTENDED_REPLY.to_be_bytes()[..], &1_u16.to_be_bytes(), &kind.to_be_bytes()].concat();
    let rest = [7, offset, payload.len() as u64].map(u64::to_be_bytes).concat();
    [head, rest, payload.to_vec()].concat()
}

const FLAGS: [u8; 4] = [0, 0, 0, 3];

/// A session with an open export.
fn opened(structured: bool, allocation: bool) -> Session {
    let mut session = Session::new(false);
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

/// A session with an open export of `bytes`, and extended headers.
fn opened_extended(bytes: u64) -> (Session, Vec<Entry>) {
    let exports = vec![Entry { bytes, ..exports().remove(0) }];
    let (mut session, mut out) = (Session::new(false), Vec::new());
    let allocation = contexts(option::SET_META_CONTEXT, "", &["base:allocation"]);
    for message in [FLAGS.to_vec(), opt(option::EXTENDED_HEADERS, &[]), allocation, go("", &[])] {
        let (taken, step) = session.next(&message, &exports, &mut out);
        assert!(taken == message.len() && matches!(step, Step::Handled | Step::Opened(0)), "{step:?}");
    }
    (session, exports)
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
    let (mut session, mut out) = (Session::new(false), Vec::new());
    let input = [FLAGS.to_vec(), opt(option::LIST, &[]), opt(99, b"x"), go("nothing", &[])].concat();
    play(&mut session, &input, &mut out);
    let told = replies(&out);
    let kinds: Vec<u32> = told.iter().map(|reply| reply.1).collect();
    assert_eq!(kinds, [answer::SERVER, answer::SERVER, answer::ACK, answer::ERR_UNSUP, answer::ERR_UNKNOWN]);
    assert_eq!(told[1].2, b"\0\0\0\x05otherthe drive other");
}

#[test]
fn go_tells_size_flags_and_blocks() {
    let (mut session, mut out) = (Session::new(false), Vec::new());
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
        let (mut session, mut out) = (Session::new(false), Vec::new());
        let input = [flags.to_vec(), opt(option::EXPORT_NAME, b"other")].concat();
        assert_eq!(play(&mut session, &input, &mut out), ["Handled", "Opened(1)"]);
        assert_eq!(out.len(), 10 + zeros);
        assert_eq!(u64_at(&out, 0), 4096);
    }
    let (mut session, mut out) = (Session::new(false), Vec::new());
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
    let (mut session, mut out) = (Session::new(false), Vec::new());
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

#[test]
fn extended_headers_count_by_64_bits_and_answer_with_what_was_asked() {
    const HUGE: u64 = 1 << 42;
    let (mut session, exports) = opened_extended(HUGE);
    let mut out = Vec::new();
    for kind in [wire::command::TRIM, wire::command::WRITE_ZEROES, wire::command::BLOCK_STATUS, wire::command::CACHE] {
        let asked = extended(kind, 0, 4096, HUGE - 4096);
        assert_eq!(session.next(&asked[..31], &exports, &mut out), (0, Step::More(EXTENDED_REQUEST_BYTES)));
        let (taken, step) = session.next(&asked, &exports, &mut out);
        let Step::Command(command) = step else { panic!("{step:?}") };
        assert_eq!((taken, command.offset, command.bytes), (32, 4096, HUGE - 4096));
    }
    // The flag says that the data of a write follow; a client may leave it out.
    for flags in [wire::flag::PAYLOAD_LEN, 0] {
        let write = [extended(wire::command::WRITE, flags, 5, 3), b"abc".to_vec()].concat();
        assert_eq!(session.next(&write[..34], &exports, &mut out), (0, Step::More(35)));
        let (taken, step) = session.next(&write, &exports, &mut out);
        let Step::Command(command) = step else { panic!("{step:?}") };
        assert_eq!((taken, command.data), (35, &b"abc"[..]));
    }
    assert!(out.is_empty());
    let invalid = [0, 0, 0, 22, 0, 0];
    let error = wire::chunk::ERROR;
    for (asked, taken, reply) in [
        // One byte too many, and a sum that does not fit 64 bits.
        (extended(wire::command::TRIM, 0, 8, HUGE - 7), 32, extended_reply(error, 8, &invalid)),
        (extended(wire::command::TRIM, 0, 8, u64::MAX - 7), 32, extended_reply(error, 8, &invalid)),
        (extended(wire::command::READ, 0, 0, 1 << 32), 32, extended_reply(error, 0, &invalid)),
        (extended(99, 0, 3, 1), 32, extended_reply(error, 3, &invalid)),
        // Data behind another command are passed over.
        (
            [extended(wire::command::BLOCK_STATUS, wire::flag::PAYLOAD_LEN, 9, 4), vec![0; 4]].concat(),
            36,
            extended_reply(error, 9, &invalid),
        ),
    ] {
        out.clear();
        assert_eq!(session.next(&asked, &exports, &mut out), (taken, Step::Handled));
        assert_eq!(out, reply);
    }
    for broken in [request(wire::command::FLUSH, 0, 0, 0), extended(8, wire::flag::PAYLOAD_LEN, 0, 1 << 26)] {
        let whole = [broken, vec![0; 8]].concat();
        assert!(matches!(session.next(&whole, &exports, &mut out).1, Step::Broken(_)));
    }
}

#[test]
fn every_reply_with_an_extended_header_is_a_chunk() {
    let (to, mut out) = (To { cookie: 7, offset: 4096 }, Vec::new());
    Replies::Extended.done(&mut out, to);
    assert_eq!(out, extended_reply(0, 4096, &[]));
    out.clear();
    Replies::Extended.extents(&mut out, to, &[Extent { bytes: 1 << 33, hole: true }, Extent { bytes: 1, hole: false }]);
    let numbers = [1_u64 << 33, 3, 1, 0].map(u64::to_be_bytes).concat();
    assert_eq!(out, extended_reply(6, 4096, &[&[0, 0, 0, 1, 0, 0, 0, 2], &numbers[..]].concat()));
    out.clear();
    Replies::Extended.hole(&mut out, to, 512);
    assert_eq!(out, extended_reply(2, 4096, &[&4096_u64.to_be_bytes()[..], &512_u32.to_be_bytes()].concat()));
    out.clear();
    Replies::Extended.data(&mut out, to, 2);
    out.extend(b"ab");
    assert_eq!(out, extended_reply(1, 4096, &[&4096_u64.to_be_bytes()[..], b"ab"].concat()));
    // Without them, a longer extent is cut: the client asks again for the rest.
    out.clear();
    Replies::Structured.extents(&mut out, to, &[Extent { bytes: 1 << 33, hole: true }]);
    assert_eq!(out[20..], [0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 3]);
}

#[test]
fn extended_headers_are_chosen_once_and_not_taken_back() {
    let input = [
        FLAGS.to_vec(),
        opt(option::STRUCTURED_REPLY, &[]),
        opt(option::EXTENDED_HEADERS, b"x"),
        opt(option::EXTENDED_HEADERS, &[]),
        opt(option::EXTENDED_HEADERS, &[]),
        opt(option::STRUCTURED_REPLY, &[]),
        opt(option::EXPORT_NAME, b"other"),
    ];
    let (mut session, mut out) = (Session::new(false), Vec::new());
    let steps = play(&mut session, &input.concat(), &mut out);
    let kinds: Vec<u32> = replies(&out).iter().map(|reply| reply.1).collect();
    use answer::{ACK, ERR_EXT_HEADER_REQD, ERR_INVALID};
    assert_eq!(kinds, [ACK, ERR_INVALID, ACK, ERR_INVALID, ERR_EXT_HEADER_REQD]);
    assert!(steps.last().unwrap().starts_with("Broken"), "{steps:?}");
}

#[test]
fn a_server_with_keys_negotiates_nothing_before_tls() {
    let (mut session, mut out, exports) = (Session::new(true), Vec::new(), exports());
    let early = [FLAGS.to_vec(), opt(option::STRUCTURED_REPLY, &[]), go("", &[]), opt(option::LIST, &[])].concat();
    assert_eq!(play(&mut session, &early, &mut out), ["Handled"; 4]);
    assert!(replies(&out).iter().all(|reply| reply.1 == answer::ERR_TLS_REQD));
    out.clear();
    let start = opt(option::STARTTLS, &[]);
    assert_eq!(session.next(&opt(option::STARTTLS, b"x"), &exports, &mut out).1, Step::Handled);
    assert_eq!(session.next(&start, &exports, &mut out), (16, Step::Secure));
    let kinds: Vec<u32> = replies(&out).iter().map(|reply| reply.1).collect();
    assert_eq!(kinds, [answer::ERR_INVALID, answer::ACK]);
    out.clear();
    assert_eq!(play(&mut session, &[start.clone(), go("", &[])].concat(), &mut out), ["Handled", "Opened(0)"]);
    assert_eq!(replies(&out)[0].1, answer::ERR_INVALID, "TLS begins once");

    for (input, end) in [
        (opt(option::EXPORT_NAME, b""), "Broken"),
        (opt(option::ABORT, &[]), "Bye"),
        // Somebody in between might have added the second.
        ([start.clone(), opt(option::LIST, &[])].concat(), "Broken"),
    ] {
        let steps = play(&mut Session::new(true), &[FLAGS.to_vec(), input].concat(), &mut Vec::new());
        assert!(steps.last().unwrap().starts_with(end), "{steps:?}");
    }
    out.clear();
    play(&mut Session::new(false), &[FLAGS.to_vec(), start].concat(), &mut out);
    assert_eq!(replies(&out)[0].1, answer::ERR_POLICY, "no keys, no TLS");
}

#[test]
fn what_was_negotiated_before_tls_is_void() {
    // A server that may do without would keep nothing either; here the choice comes before and after.
    let (mut session, exports, mut out) = (Session::new(true), exports(), Vec::new());
    session.next(&FLAGS, &exports, &mut out);
    session.negotiation.replies = Replies::Extended;
    assert_eq!(session.next(&opt(option::STARTTLS, &[]), &exports, &mut out).1, Step::Secure);
    assert_eq!(session.replies(), Replies::Simple);
    assert!(session.negotiation.no_zeroes, "that is no option");
}

/// A session as a client might have it, of well-formed pieces.
fn talk(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = FLAGS.to_vec();
    let wide = dice.below(3) == 0;
    if wide {
        bytes.extend(opt(option::EXTENDED_HEADERS, &[]));
    }
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
        if wide {
            let size = if dice.below(6) == 0 { dice.next() } else { size.into() };
            bytes.extend(extended(kind, flags, offset, size));
            if flags & wire::flag::PAYLOAD_LEN != 0 && kind != wire::command::WRITE && size < 9000 {
                bytes.extend(vec![1; size as usize]);
            }
        } else {
            bytes.extend(request(kind, flags, offset, size));
        }
        if kind == wire::command::WRITE && size < 9000 {
            bytes.extend(vec![kind as u8; size as usize]);
        }
    }
    bytes
}

/// Plays bytes that come in pieces, and checks what every step promises; returns the steps and the answers.
fn fed(bytes: &[u8], dice: &mut Dice, piece: u64, secure: bool) -> (Vec<String>, Vec<u8>) {
    let (exports, mut session, mut out, mut steps) = (exports(), Session::new(secure), Vec::new(), Vec::new());
    let (mut at, mut have, mut size) = (0, 0, 0);
    loop {
        let (taken, step) = session.next(&bytes[at..have], &exports, &mut out);
        assert!(taken <= have - at);
        at += taken;
        match step {
            Step::More(needed) => {
                assert!(taken == 0 && needed > have - at, "it would wait for what it has");
                assert!(needed <= (MOST_PAYLOAD as usize) + EXTENDED_REQUEST_BYTES);
                if have == bytes.len() {
                    return (steps, out);
                }
                have = (have as u64 + 1 + dice.below(piece)).min(bytes.len() as u64) as usize;
                continue;
            }
            Step::Opened(index) => size = exports[index].bytes,
            Step::Command(command) => {
                assert!(taken >= REQUEST_BYTES);
                assert!(command.offset.checked_add(command.bytes).unwrap() <= size);
                assert!(command.kind == Kind::Flush || command.bytes > 0);
                assert!(!matches!(command.kind, Kind::Read | Kind::Write) || command.bytes <= MOST_PAYLOAD.into());
                assert_eq!(command.data.len(), if command.kind == Kind::Write { command.bytes as usize } else { 0 });
            }
            Step::Handled | Step::Secure => assert!(taken > 0),
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
        let secure = round % 7 == 0;
        let (steps, out) = fed(&bytes, &mut dice, 3000, secure);
        commands += steps.iter().filter(|step| step.starts_with("Command")).count();
        assert!(out.len() < 64 << 10, "many answers to few questions");
        if round % 16 == 0 {
            assert_eq!(fed(&bytes, &mut dice, 3, secure), (steps, out), "the same in other pieces");
        }
    }
    assert!(commands > rounds / 4, "{commands}: hardly any command was played");
}
