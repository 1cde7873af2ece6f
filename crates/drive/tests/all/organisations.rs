//! Organisations of dirik09: gangs, wide buses, requests to banks, and banks that serve a request at a time, seen from outside.

use crate::common::{drive, for_seeds, request, watched_loop, NS, US};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::Drive;
use wordline_firmware::BankUse;

/// ATA-133, by hand: twelve registers of 120 ns; SERVICE and the tag, then 7.5 ns a byte with two bytes of CRC; the status.
const ATA_COMMAND: Time = 1_440 * NS;
const ATA_END: Time = 120 * NS;
fn ata(bytes: Time) -> Time {
    240 * NS + (bytes + 2) * 7_500
}

const SLOW_BUS: &str = "cycle_ns = 40.0,";
const ATA: &str = r#"link = { policy = "ata", udma_mode = 6 }"#;

/// Dies of one plane: a read is 25 µs, a program 200 µs.
fn organised(geometry: &str, nand: &str, more: &str, seed: u64) -> Drive {
    let planes = if geometry.contains("planes") { "" } else { "planes_per_die = 1, blocks_per_plane = 64," };
    let text = format!(
        r#"
        geometry = {{ {geometry}, {planes} dies_per_package = 1, pages_per_block = 16, page_kib = 2 }}
        nand = {{ interface = "sdr", rate_mt_s = 50, {nand} read_us = 25.0, program_us = 200.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.8 }}
        mapping = {{ policy = "page", unit_kib = 2 }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        {more}
        "#
    );
    drive(&text, seed)
}

/// Times from the arrival of the first request to the end of each; each comes `apart` after the one before.
fn ends<const N: usize>(drive: &mut Drive, apart: Time, requests: [Request; N]) -> [Time; N] {
    let now = drive.now();
    let slots = requests.map(|each| {
        drive.advance_to(drive.now() + apart).expect("no rule is broken");
        assert!(drive.completions().is_empty(), "all are under way together");
        drive.submit(drive.now(), each).expect("there is room")
    });
    let mut ends = [0; N];
    while drive.step().expect("no rule is broken") {
        for done in drive.completions().drain(..) {
            ends[slots.iter().position(|&slot| slot == done.slot).expect("it is one of them")] = done.time - now;
        }
    }
    drive.kernel().audit().expect("the books balance");
    ends
}

/// The same for requests that come together.
fn latencies<const N: usize>(drive: &mut Drive, requests: [Request; N]) -> [Time; N] {
    ends(drive, 0, requests)
}

fn pages(op: Op, first: u64, count: u32) -> Request {
    request(op, first * 2048, count * 2048)
}

const GANG: &str = "channels = 1, packages_per_channel = 1, gang = 4";

#[test]
fn a_gang_programs_and_reads_the_pages_of_its_members_at_once() {
    // 80h and five address cycles, tADL, the data, 10h, tWB.
    let program = |cycles: Time| (240 + 70 + 40 + 100) * NS + cycles * 40 * NS;
    // 00h, five address cycles and 30h, tWB; tRR and the data.
    let read = |cycles: Time| (280 + 100 + 20) * NS + cycles * 40 * NS;
    for (width, bytes) in [("", 1), ("bus_bits = 16,", 2), ("bus_bits = 32,", 4)] {
        let nand = format!("{SLOW_BUS} {width}");
        let mut gang = organised(GANG, &nand, ATA, 1);
        let cycles = 8192 / bytes;
        let [written] = latencies(&mut gang, [pages(Op::Write, 0, 4)]);
        assert_eq!(written, ATA_COMMAND + ata(8192) + program(cycles) + 200 * US + ATA_END, "{width}");
        let [all] = latencies(&mut gang, [pages(Op::Read, 0, 4)]);
        assert_eq!(all, ATA_COMMAND + read(cycles) + 25 * US + ata(8192) + ATA_END, "{width}");
        // The data of one member alone go out.
        let [one] = latencies(&mut gang, [pages(Op::Read, 2, 1)]);
        assert_eq!(one, ATA_COMMAND + read(cycles / 4) + 25 * US + ata(2048) + ATA_END, "{width}");
    }
    // A page of data in a gang of four: all of the page is loaded, or the data alone.
    for (nand, cycles) in [("", 8192), ("load_whole_pages = false,", 2048)] {
        let mut gang = organised(GANG, &format!("{SLOW_BUS} {nand}"), ATA, 1);
        let [written] = latencies(&mut gang, [pages(Op::Write, 0, 1)]);
        assert_eq!(written, ATA_COMMAND + ata(2048) + program(cycles) + 200 * US + ATA_END, "{nand}");
    }
}

#[test]
fn a_gang_costs_the_energy_of_its_members() {
    let energy = |gang: u32| {
        let geometry = format!("channels = 1, packages_per_channel = 1, gang = {gang}");
        let mut drive = organised(&geometry, SLOW_BUS, ATA, 1);
        drive.start_measuring();
        latencies(&mut drive, [pages(Op::Write, 0, gang)]);
        drive.energy()
    };
    let (one, four) = (energy(1), energy(4));
    assert!((four.program_j / one.program_j - 4.0).abs() < 1e-9, "{one:?} {four:?}");
    assert!((four.data_in_j / one.data_in_j - 4.0).abs() < 1e-9, "four times the data on one bus");
}

const BANKS: &str = "channels = 1, packages_per_channel = 4";
const BY_REQUEST: &str = r#"placement = { policy = "by-request", order = "CWD" }"#;
const FIRST_COME: &str = r#"dispatch = { policy = "one-request" }"#;
const READS_FIRST: &str = r#"dispatch = { policy = "one-request", order = "reads-first" }"#;

/// When requests end, in multiples of 200 µs. They come shortly after each other, so that a read does not overtake the data of a write.
fn programs<const N: usize>(drive: &mut Drive, requests: [Request; N]) -> [Time; N] {
    ends(drive, 3 * US, requests).map(|time| {
        let programs = time / (200 * US);
        assert!(time - programs * 200 * US < 100 * US, "{time}");
        programs
    })
}

/// A drive whose bus and link take next to no time.
fn fast(geometry: &str, more: &str) -> Drive {
    let link = r#"link = { policy = "nvme", pcie_generation = 6, pcie_lanes = 16 }"#;
    organised(geometry, "cycle_ns = 1.0, bus_bits = 32,", &format!("{link}\n{more}"), 1)
}

#[test]
fn a_request_writes_all_its_pages_in_one_bank_and_the_next_request_in_the_next() {
    let mut drive = fast(BANKS, BY_REQUEST);
    // Four requests fill the four banks; the fifth is behind the first.
    let writes = [(0, 3), (10, 1), (20, 2), (30, 3), (40, 1)].map(|(first, count)| pages(Op::Write, first, count));
    assert_eq!(programs(&mut drive, writes), [3, 1, 2, 3, 4]);
    // Page by page they would be spread over all banks.
    let mut spread = fast(BANKS, r#"placement = { policy = "in-turn", order = "WCDP" }"#);
    assert_eq!(programs(&mut spread, writes), [1, 1, 2, 3, 3]);
}

#[test]
fn a_bank_does_all_of_a_request_before_the_next() {
    let one = "channels = 1, packages_per_channel = 1";
    let (long, next, read) = (pages(Op::Write, 0, 2), pages(Op::Write, 10, 3), pages(Op::Read, 20, 1));
    let run = |more: &str| {
        let mut drive = fast(one, more);
        latencies(&mut drive, [pages(Op::Write, 20, 1)]);
        drive.start_measuring();
        let ends = programs(&mut drive, [long, next, read]);
        (ends, drive.kernel().banks())
    };
    let (ends, counts) = run(FIRST_COME);
    assert_eq!(ends, [2, 5, 5]);
    let [reads, writes] = counts.expect("dies serve one request");
    assert_eq!((reads.parts, writes.parts, reads.ahead, writes.ahead), (1, 2, 0, 0));
    // The second write waits for two programs, the read for five.
    let about = |bank: BankUse, programs: Time| bank.waited.abs_diff(programs * 200 * US) < 100 * US;
    assert!(about(writes, 2) && about(reads, 5), "{reads:?} {writes:?}");
    // The read goes before the second write, but after all of the first: it was being served.
    let (ends, counts) = run(READS_FIRST);
    assert_eq!(ends, [2, 5, 2]);
    assert_eq!(counts.map(|[reads, writes]| (reads.ahead, writes.ahead)), Some((1, 0)));
    // An arbiter that prefers reads lets it go between the pages of the first.
    let (ends, counts) = run(r#"arbiter = { policy = "reads-first" }"#);
    assert_eq!(ends, [2, 5, 1]);
    assert_eq!(counts, None);
}

#[test]
fn a_request_waits_at_each_of_its_banks_by_itself() {
    let mut drive = fast("channels = 1, packages_per_channel = 2", &format!("{BY_REQUEST}\n{FIRST_COME}"));
    // Pages 0 and 1 in the first bank, 2 and 3 in the second.
    latencies(&mut drive, [pages(Op::Write, 0, 2), pages(Op::Write, 2, 2)]);
    drive.start_measuring();
    // Three programs in the first bank and one in the second; the read has a part in each, and is done behind the first.
    let requests = [pages(Op::Write, 10, 3), pages(Op::Write, 20, 1), pages(Op::Read, 0, 4), pages(Op::Read, 2, 1)];
    assert_eq!(programs(&mut drive, requests), [3, 1, 3, 1]);
    let [reads, _] = drive.kernel().banks().expect("dies serve one request");
    assert_eq!(reads.parts, 3);
}

#[test]
fn a_read_that_goes_first_does_not_overtake_the_write_of_its_data() {
    let mut drive = fast(BANKS, &format!("{BY_REQUEST}\n{READS_FIRST}"));
    latencies(&mut drive, [pages(Op::Write, 5, 1)]);
    // Page 5 is written anew in the bank of the first request, behind it; then its read, and one more write of it.
    let requests = [
        pages(Op::Write, 50, 3),
        pages(Op::Write, 60, 1),
        pages(Op::Write, 70, 1),
        pages(Op::Write, 80, 1),
        pages(Op::Write, 5, 1),
        pages(Op::Read, 5, 1),
        pages(Op::Write, 5, 1),
        pages(Op::Read, 5, 1),
    ];
    // The shadow disk sees that the last read gets the last data. The second write of page 5 goes to a bank that is free after one
    // program, and waits until the first one is bound, after three.
    assert_eq!(programs(&mut drive, requests), [3, 1, 1, 1, 4, 4, 4, 4]);
}

#[test]
fn nothing_is_lost_while_garbage_is_collected() {
    for_seeds("organisations", "nothing_is_lost_while_garbage_is_collected", 3, |seed| {
        let shapes = [
            "channels = 1, packages_per_channel = 4",
            "channels = 2, packages_per_channel = 1, gang = 2",
            "channels = 1, packages_per_channel = 1, gang = 8",
            // What is under way is much of the capacity: a request may wait for room that only those behind it can make.
            "channels = 1, packages_per_channel = 1, planes_per_die = 4, blocks_per_plane = 24",
            "channels = 2, packages_per_channel = 1, planes_per_die = 2, blocks_per_plane = 24",
        ];
        for (at, geometry) in shapes.into_iter().enumerate() {
            for dispatch in [FIRST_COME, READS_FIRST] {
                for placement in [BY_REQUEST, r#"placement = { policy = "static" }"#] {
                    let pack = ["policy = \"cache\"", "policy = \"none\""][(at + seed as usize) % 2];
                    let more = format!("{dispatch}\n{placement}\npack = {{ {pack} }}");
                    let mut drive = organised(geometry, "load_whole_pages = false, bus_bits = 16,", &more, seed);
                    let pages = drive.logical_bytes() / 2048;
                    watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 2048, 2048), |_| {});
                    let mut random = Stream::new(seed, "organisations", 0);
                    // Requests of one to eight pages, some of which begin and end inside pages; half of them in an eighth of the drive.
                    let mut next = |_| {
                        let within = if random.below(2) == 0 { pages / 8 } else { pages };
                        let most = if geometry.contains("planes") { 64 } else { 8 };
                        let (first, count) = (random.below(within.max(most + 1) - most), 1 + random.below(most));
                        let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
                        let cut = if random.below(4) == 0 { 512 } else { 0 };
                        request(op, first * 2048 + cut, count as u32 * 2048)
                    };
                    watched_loop(&mut drive, 32, pages, &mut next, |_| {});
                    drive.drain().expect("the drive comes to rest");
                    drive.kernel().audit().expect("the books balance");
                    assert!(drive.kernel().counters().collections() > 20, "{geometry} {more}");
                }
            }
        }
    });
}
