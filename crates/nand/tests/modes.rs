//! The sixteen operation modes on one die, alone on its bus: each takes the time that follows by hand from the
//! standard.
//!
//! All figures are of SDR timing mode 5, in nanoseconds. Parts of the modes, with pages of 2,048 bytes:
//!
//! | transfer | cycles of 20 ns and waits | ns |
//! |---|---|---|
//! | address of a read, a move's source or destination | 7, tWB 100 | 240 |
//! | 31h or 3Fh alone | 1, tWB 100 | 120 |
//! | address of an erase | 5, tWB 100 | 200 |
//! | data out, one plane | tRR 20, 2,048 | 40,980 |
//! | data out of a plane that is selected first | 7, tCCS 200, 2,048 | 41,300 |
//! | address and data of a program | 6, tADL 70, 2,048, 1, tWB 100 | 41,270 |

use std::collections::BTreeSet;
use wordline_nand::bus::OwnBus;
use wordline_nand::chain::OPERATIONS;
use wordline_nand::config::ByClass;
use wordline_nand::interface::Interface;
use wordline_nand::log::{Entry, What};
use wordline_nand::{Around, Command, Kind, Lane, NandConfig, Package, PackageGeometry, PageAddress, Step, Timing};

const BYTES: u32 = 2_048;
const GEOMETRY: PackageGeometry = PackageGeometry { dies: 1, planes: 2, blocks: 4, pages: 8, page_bytes: BYTES };

/// SDR mode 5; tR 50 us, tPROG 500 us, tBERS 3 ms, tDBSY 0.5 us, tRCBSY and tCBSY 3 us.
fn config() -> NandConfig {
    NandConfig {
        interface: Interface::Sdr,
        rate_mt_s: 50,
        read_us: ByClass::One(50.0),
        program_us: ByClass::One(500.0),
        erase_us: 3_000.0,
        dummy_busy_us: 0.5,
        cache_read_busy_us: 3.0,
        cache_program_busy_us: 3.0,
        ..NandConfig::default()
    }
}

fn at(plane: u32, block: u32, page: u32) -> PageAddress {
    PageAddress { plane, block, page }
}

/// A sequence of commands of a kind on the first `planes` planes, one per page offset; all except moves on block 1.
fn sequence(kind: Kind, planes: u32, pages: &[u32]) -> Vec<Command> {
    let command = |(number, &page): (usize, &u32)| {
        let mut command = Command::new(kind);
        // The last page of a cached program ends the sequence; cached reads end with a separate command.
        command.cache = pages.len() > 1 && (kind == Kind::Read || number + 1 < pages.len());
        (0..planes).for_each(|plane| command.add(at(plane, 1, page), BYTES));
        command
    };
    pages.iter().enumerate().map(command).collect()
}

/// A copyback from block 1 to block 2, with data out if `bytes` is not 0.
fn moves(planes: u32, bytes: u32) -> Vec<Command> {
    let mut command = Command::new(Kind::Copyback);
    (0..planes).for_each(|plane| command.add_move(at(plane, 1, 3), at(plane, 2, 0), bytes));
    vec![command]
}

/// Runs a sequence on a lone die; returns its time in nanoseconds and the log.
fn run(config: &NandConfig, commands: &[Command]) -> (u64, Vec<Entry>) {
    let timing = Timing::new(config, GEOMETRY.pages).expect("the configuration is legal");
    let mut package = Package::new(GEOMETRY);
    if matches!(commands[0].kind, Kind::Read | Kind::Copyback) {
        // The pages to be read are written.
        for (plane, page) in (0..GEOMETRY.planes).flat_map(|plane| (0..GEOMETRY.pages).map(move |page| (plane, page))) {
            let mut program = Command::new(Kind::Program);
            program.add(at(plane, 1, page), BYTES);
            package.commit(0, 0, &program).expect("pages in order");
        }
    }
    let (mut bus, mut log) = (OwnBus::default(), Vec::new());
    let mut rest = commands.iter();
    let first = rest.next().expect("a sequence has a command");
    let around = Around { now: 0, timing: &timing, bus: &mut bus, log: &mut log };
    let mut now = package.begin(0, Lane::Main, first, around).expect("legal");
    loop {
        match package.step(0, Lane::Main, Around { now, timing: &timing, bus: &mut bus, log: &mut log }) {
            Step::At(next) => now = next,
            Step::Done => break,
            Step::Ready { .. } => {
                let around = Around { now, timing: &timing, bus: &mut bus, log: &mut log };
                now = match rest.next() {
                    Some(command) => package.follow(0, command, around).expect("legal"),
                    None => package.finish(0, around).expect("it asked"),
                };
            }
        }
    }
    assert!(rest.next().is_none(), "the die did not ask for all commands");
    assert!(now.is_multiple_of(1_000), "{now} ps is no whole number of nanoseconds");
    (now / 1_000, log)
}

/// Name, commands and time of a mode, by hand.
fn modes() -> [(&'static str, Vec<Command>, u64); 16] {
    [
        // Address 240, tR 50,000, data 40,980.
        ("read", sequence(Kind::Read, 1, &[3]), 91_220),
        // Address 240, tDBSY 500, address 240, tR 50,000, data 2 x 41,300.
        ("multi-plane read", sequence(Kind::Read, 2, &[3]), 133_580),
        // Address 240, tR 50,000; 31h 120, tRCBSY 3,000; while page 3 comes out (40,980, then 31h 120) the array reads
        // page 4 (50,000), then tRCBSY 3,000; the same with page 4 and 5 and 3Fh; data 40,980.
        ("cache read, sequential", sequence(Kind::Read, 1, &[3, 4, 5]), 200_340),
        // Address 240, tDBSY 500, address 240, tR 50,000; 31h 120, tRCBSY 3,000; data 2 x 41,300, during which the
        // array reads the next pages; 31h 120, tRCBSY 3,000; data 82,600; 3Fh 120, tRCBSY 3,000; data 82,600.
        ("multi-plane cache read, sequential", sequence(Kind::Read, 2, &[3, 4, 5]), 308_140),
        // Address 240, tR 50,000; address and 31h 240, tRCBSY 3,000; tR 50,000, longer than data 40,980 and address
        // 240; tRCBSY 3,000; tR 50,000 again, tRCBSY 3,000; data 40,980.
        ("cache read, random", sequence(Kind::Read, 1, &[6, 2, 5]), 200_460),
        // Addresses 240, 500, 240, tR 50,000; addresses 980, tRCBSY 3,000; data 82,600, longer than tR; addresses 980,
        // tRCBSY 3,000; data 82,600; 3Fh 120, tRCBSY 3,000; data 82,600.
        ("multi-plane cache read, random", sequence(Kind::Read, 2, &[6, 2, 5]), 309_860),
        // Address and data 41,270, tPROG 500,000.
        ("program", sequence(Kind::Program, 1, &[0]), 541_270),
        // 41,270, tDBSY 500, 41,270, tPROG 500,000.
        ("multi-plane program", sequence(Kind::Program, 2, &[0]), 583_040),
        // 41,270, tCBSY 3,000; tPROG 500,000, in which the next data come (41,270); tCBSY 3,000, tPROG 500,000; the
        // last page moves on with 10h and no tCBSY, tPROG 500,000.
        ("cache program", sequence(Kind::Program, 1, &[0, 1, 2]), 1_547_270),
        // Data of two planes 41,270, 500, 41,270; tCBSY 3,000, tPROG 500,000; the same again; tPROG 500,000.
        ("multi-plane cache program", sequence(Kind::Program, 2, &[0, 1, 2]), 1_589_040),
        // Source 240, tR 50,000, destination 240, tPROG 500,000.
        ("internal data move", moves(1, 0), 550_480),
        // Sources 240, 500, 240, tR 50,000; destinations 240, 500, 240, tPROG 500,000.
        ("multi-plane internal data move", moves(2, 0), 551_960),
        // As without data, plus 40,980.
        ("internal data move with data out", moves(1, BYTES), 591_460),
        // As without data, plus 2 x 41,300.
        ("multi-plane internal data move with data out", moves(2, BYTES), 634_560),
        // Address 200, tBERS 3,000,000.
        ("erase", sequence(Kind::Erase, 1, &[0]), 3_000_200),
        // Addresses 200, 500, 200, tBERS 3,000,000.
        ("multi-plane erase", sequence(Kind::Erase, 2, &[0]), 3_000_900),
    ]
}

#[test]
fn each_mode_takes_the_sum_of_its_chain() {
    let modes = modes();
    for operation in &OPERATIONS {
        let (name, commands, by_hand) =
            modes.iter().find(|(name, ..)| *name == operation.name).unwrap_or_else(|| panic!("no {}", operation.name));
        let (took, log) = run(&config(), commands);
        assert_eq!(took, *by_hand, "{name}, in ns");
        // The chains in the table of operations equal those on the bus.
        let on_bus = log.iter().filter_map(|entry| match entry.what {
            What::Bus(segment) => Some(segment.spec().name),
            What::Array(_) => None,
        });
        let promised = operation.chain.iter().map(|(segment, _)| segment.spec().name);
        assert_eq!(on_bus.collect::<BTreeSet<_>>(), promised.collect::<BTreeSet<_>>(), "{name}");
    }
}

fn took(config: &NandConfig, kind: Kind, planes: u32, pages: &[u32]) -> u64 {
    run(config, &sequence(kind, planes, pages)).0
}

/// With a fast array the bus is the bottleneck, with a slow one the array.
#[test]
fn sequences_of_cached_reads_are_bound_by_bus_or_array() {
    let (fast, slow) = (
        NandConfig { read_us: ByClass::One(20.0), ..config() },
        NandConfig { read_us: ByClass::One(100.0), ..config() },
    );
    // Address 240, tR 20,000; 31h 120, tRCBSY 3,000; then 40,980, 120 and 3,000 for each of two pages, and 40,980 for
    // the last.
    assert_eq!(took(&fast, Kind::Read, 1, &[0, 1, 2]), 152_540);
    // Two more pages are two times 44,100 more.
    assert_eq!(took(&fast, Kind::Read, 1, &[0, 1, 2, 3, 4]), 240_740);
    // Address 240, tR 100,000; 31h 120, tRCBSY 3,000; tR 100,000 and tRCBSY 3,000 for each of two pages; data 40,980.
    assert_eq!(took(&slow, Kind::Read, 1, &[0, 1, 2]), 350_340);
    // Two more pages are two times 103,000 more.
    assert_eq!(took(&slow, Kind::Read, 1, &[0, 1, 2, 3, 4]), 556_340);
    // Random: 240 instead of 120 for 31h. Address 240, tR 20,000; 240, 3,000; 40,980, 240, 3,000; 40,980, 3Fh 120,
    // 3,000; 40,980.
    assert_eq!(took(&fast, Kind::Read, 1, &[7, 1, 4]), 152_780);
    // Address 240, tR 100,000; 240, 3,000; two times 103,000; 40,980.
    assert_eq!(took(&slow, Kind::Read, 1, &[7, 1, 4]), 350_460);
    // Two planes: addresses 980, tR 20,000; 31h 120, 3,000; two times 82,600, 120 and 3,000; 82,600.
    assert_eq!(took(&fast, Kind::Read, 2, &[0, 1, 2]), 278_140);
    // Addresses 980, tR 100,000; 31h 120, 3,000; two times 103,000; 82,600.
    assert_eq!(took(&slow, Kind::Read, 2, &[0, 1, 2]), 392_700);
    // Two planes, random: 980 instead of 120 for 31h.
    assert_eq!(took(&fast, Kind::Read, 2, &[7, 1, 4]), 279_860);
    // Addresses 980, tR 100,000; 980, 3,000; two times 103,000 (82,600 and 980 fit into tR); 82,600.
    assert_eq!(took(&slow, Kind::Read, 2, &[7, 1, 4]), 393_560);
}

#[test]
fn sequences_of_cached_programs_are_bound_by_bus_or_array() {
    let fast = |us| NandConfig { program_us: ByClass::One(us), ..config() };
    // Data 41,270 and tCBSY 3,000 for each of two pages, during which the array programs the previous page (30,000);
    // data 41,270, tPROG 30,000.
    assert_eq!(took(&fast(30.0), Kind::Program, 1, &[0, 1, 2]), 159_810);
    // Two more pages are two times 44,270 more.
    assert_eq!(took(&fast(30.0), Kind::Program, 1, &[0, 1, 2, 3, 4]), 248_350);
    // Slow cells: 41,270; 3,000 and 500,000 for each of four pages; 500,000.
    assert_eq!(took(&config(), Kind::Program, 1, &[0, 1, 2, 3, 4]), 2_553_270);
    // Two planes: 83,040 and 3,000 for each of two pages; 83,040, tPROG 60,000.
    assert_eq!(took(&fast(60.0), Kind::Program, 2, &[0, 1, 2]), 315_120);
    // Slow cells: 83,040; 3,000 and 500,000 for each of two pages; 500,000.
    assert_eq!(took(&config(), Kind::Program, 2, &[0, 1, 2]), 1_589_040);
    // A sequence ended by the host: its last page goes in with 15h, and takes tCBSY as well.
    let mut open = sequence(Kind::Program, 1, &[0, 1, 2]);
    open[2].cache = true;
    assert_eq!(run(&config(), &open).0, 1_550_270);
    // One cached page without a follower: a read takes no more time, a program tCBSY.
    let [mut read, mut program] = [Kind::Read, Kind::Program].map(|kind| sequence(kind, 1, &[0]));
    (read[0].cache, program[0].cache) = (true, true);
    assert_eq!(run(&config(), &read).0, 91_220);
    assert_eq!(run(&config(), &program).0, 544_270);
}

/// Of a copyback on two planes, the data of only one come out.
#[test]
fn a_move_brings_out_what_is_asked_for() {
    for checked in 0..2 {
        let mut command = Command::new(Kind::Copyback);
        for plane in 0..2 {
            command.add_move(at(plane, 1, 3), at(plane, 2, 0), if plane == checked { BYTES } else { 0 });
        }
        // As without data, plus 41,300 for one plane.
        assert_eq!(run(&config(), &[command]).0, 593_260, "data of plane {checked}");
    }
}
