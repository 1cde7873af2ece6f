//! Latency of each operation on an idle drive, to the picosecond, against sums by hand from the standards.
//!
//! All figures below are literals, independent of the code under test. In picoseconds:
//! - ONFI SDR mode 5: a command, address or data cycle takes 20 ns, tADL 70 ns, tWB 100 ns, tRR 20 ns, tCCS 200 ns.
//! - ONFI NV-DDR3 at 800 MT/s: a command or address cycle takes 25 ns, two bytes take 2.5 ns, tADL 150 ns, tWB 100 ns, tRR
//!   20 ns, tCCS 200 ns.
//! - A page address is five cycles, a block address three.
//! - SATA 6 Gb/s with 8b/10b coding: 5/3 ns per byte. PCIe 3.0 x4 with 128b/130b coding: 130 bits for 16 bytes on four
//!   lanes of 8 Gb/s, 130/512 ns per byte.

use crate::common::{drive, latency, one, request, NS, US};
use wordline_base::{EventQueue, Op, Time};
use wordline_drive::Drive;
use wordline_flash::{Command, Flash, Geometry, GeometryConfig, Kind, NandConfig, PageAddress, Progress, Timing};

const KIB: u32 = 1024;
const T_R: Time = 50 * US;
const T_PROG: Time = 500 * US;
const T_BERS: Time = 3_000 * US;
const T_DBSY: Time = 500 * NS;

/// A bus of NAND packages, by hand.
#[derive(Clone, Copy)]
struct Bus {
    name: &'static str,
    keys: &'static str,
    /// A command or address cycle.
    cycle: Time,
    /// Picoseconds for two bytes of data.
    two_bytes: Time,
    t_adl: Time,
}

const T_WB: Time = 100 * NS;
const T_RR: Time = 20 * NS;
const T_CCS: Time = 200 * NS;

const SDR: Bus = Bus {
    name: "SDR",
    keys: "interface = \"sdr\", rate_mt_s = 50",
    cycle: 20 * NS,
    two_bytes: 40 * NS,
    t_adl: 70 * NS,
};
const NV_DDR3: Bus = Bus {
    name: "NV-DDR3",
    keys: "interface = \"nv-ddr3\", rate_mt_s = 800",
    cycle: 25 * NS,
    two_bytes: 2_500,
    t_adl: 150 * NS,
};

impl Bus {
    fn data(&self, bytes: u32) -> Time {
        Time::from(bytes / 2) * self.two_bytes
    }

    /// 00h, address, 30h (or 32h, when another plane follows), tWB.
    fn read_command(&self) -> Time {
        7 * self.cycle + T_WB
    }

    /// Read of one plane: the command, tR, tRR, the data.
    fn read(&self, bytes: u32) -> Time {
        self.read_command() + T_R + T_RR + self.data(bytes)
    }

    /// Read of two planes: tDBSY after the first command; then 06h, address, E0h, tCCS and the data of each plane.
    fn read_two(&self, bytes: u32) -> Time {
        2 * self.read_command() + T_DBSY + T_R + 2 * (7 * self.cycle + T_CCS + self.data(bytes))
    }

    /// 80h, address, tADL, the data, 10h (or 11h), tWB.
    fn program_command(&self, bytes: u32) -> Time {
        7 * self.cycle + self.t_adl + self.data(bytes) + T_WB
    }

    fn program(&self, bytes: u32) -> Time {
        self.program_command(bytes) + T_PROG
    }

    /// Program of two planes: both transfers, tDBSY between them, one tPROG.
    fn program_two(&self, bytes: u32) -> Time {
        2 * self.program_command(bytes) + T_DBSY + T_PROG
    }

    /// 60h, block address, D0h (or D1h), tWB.
    fn erase_command(&self) -> Time {
        5 * self.cycle + T_WB
    }
}

/// A host interface, by hand.
#[derive(Clone, Copy)]
struct Host {
    name: &'static str,
    keys: &'static str,
    command: Time,
    completion: Time,
    data: fn(u32) -> Time,
}

/// Every frame has 16 bytes around it. A command is a Register frame of 20 bytes and its acknowledgement: 2 x 36 bytes
/// x 5/3 ns. A completion is a Set Device Bits frame of 8 bytes: 24 x 5/3 ns. Data: a DMA Setup frame of 28 bytes (44 x
/// 5/3 ns, rounded up to picoseconds 73,334), then the bytes with 20 more for each Data frame of at most 8,192.
const SATA: Host = Host {
    name: "SATA",
    keys: "policy = \"sata\", rate_gb_s = 6.0",
    command: 120_000,
    completion: 40_000,
    data: |bytes| 73_334 + ((Time::from(bytes) + 20 * Time::from(bytes.div_ceil(8_192))) * 5_000).div_ceil(3),
};

/// Every packet has a header of 24 bytes. A command is an entry of 64 bytes: 88 x 130/512 ns = 22,343.75 ps, then 0.5
/// us for the fetch. A completion is an entry of 16 bytes: 40 x 130/512 ns = 10,156.25 ps. Data go in packets of 256
/// bytes.
const NVME: Host = Host {
    name: "NVMe",
    keys: "policy = \"nvme\", pcie_generation = 3, pcie_lanes = 4, max_payload_bytes = 256, latency_us = 0.5",
    command: 22_344 + 500_000,
    completion: 10_157,
    data: |bytes| ((Time::from(bytes) + 24 * Time::from(bytes.div_ceil(256))) * 130_000).div_ceil(512),
};

fn cases() -> impl Iterator<Item = (Bus, Host)> {
    [SDR, NV_DDR3].into_iter().flat_map(|bus| [SATA, NVME].map(|host| (bus, host)))
}

fn build(bus: Bus, host: Host, planes: u32, unit_kib: u32, pack: &str, buffer: &str) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = {planes},
                      blocks_per_plane = 16, pages_per_block = 16, page_kib = 16 }}
        nand = {{ {}, read_us = 50.0, program_us = 500.0, erase_us = 3000.0, dummy_busy_us = 0.5 }}
        capacity = {{ raw_over_logical = 2.0 }}
        mapping = {{ policy = "page", unit_kib = {unit_kib} }}
        placement = {{ policy = "static", order = "PCWD" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        pack = {{ policy = "{pack}" }}
        arbiter = {{ policy = "first-come" }}
        buffer = {{ {buffer} }}
        link = {{ {} }}
        verify = {{ shadow = true }}
        "#,
        bus.keys, host.keys
    );
    drive(&text, 1)
}

const NO_BUFFER: &str = "policy = \"none\"";
const BUFFER: &str = "policy = \"fifo\", capacity_kib = 1024";

/// Results of the formulas above, computed separately for some of them.
#[test]
fn the_hand_counts_right() {
    assert_eq!(SDR.read(4_096), 140_000 + 100_000 + 50_000_000 + 20_000 + 81_920_000);
    assert_eq!(NV_DDR3.read(16_384), 175_000 + 100_000 + 50_000_000 + 20_000 + 20_480_000);
    assert_eq!(NV_DDR3.program(16_384), 175_000 + 150_000 + 20_480_000 + 100_000 + 500_000_000);
    // 4,096 + 20 bytes x 5/3 ns = 6,860 ns; 16,384 + 40 bytes = 27,373,333.3 ps.
    assert_eq!((SATA.data)(4_096), 73_334 + 6_860_000);
    assert_eq!((SATA.data)(16_384), 73_334 + 27_373_334);
    // 16 packets: 4,480 x 130/512 ns = 1,137.5 ns.
    assert_eq!((NVME.data)(4_096), 1_137_500);
}

#[test]
fn reads() {
    for (bus, host) in cases() {
        let mut drive = build(bus, host, 1, 16, "none", NO_BUFFER);
        one(&mut drive, request(Op::Write, 0, 16 * KIB));
        for bytes in [4 * KIB, 16 * KIB, 512] {
            let expected = host.command + bus.read(bytes) + (host.data)(bytes) + host.completion;
            let found = latency(&mut drive, request(Op::Read, u64::from(16 * KIB - bytes), bytes));
            assert_eq!(found, expected, "{} bytes on {} and {}", bytes, bus.name, host.name);
        }
        // Unwritten data come from no page, at the rate of the host interface.
        let found = latency(&mut drive, request(Op::Read, 65_536, 4 * KIB));
        assert_eq!(found, host.command + (host.data)(4 * KIB) + host.completion);
    }
}

#[test]
fn writes() {
    for (bus, host) in cases() {
        let name = format!("{} and {}", bus.name, host.name);
        let mut drive = build(bus, host, 1, 16, "none", NO_BUFFER);
        let around = |bytes| host.command + (host.data)(bytes) + host.completion;
        let whole = request(Op::Write, 0, 16 * KIB);
        assert_eq!(latency(&mut drive, whole), around(16 * KIB) + bus.program(16 * KIB), "a page on {name}");
        // A part of a page: the whole page is read, merged and programmed.
        let expected = around(4 * KIB) + bus.read(16 * KIB) + bus.program(16 * KIB);
        let part = request(Op::Write, 4_096, 4 * KIB);
        assert_eq!(latency(&mut drive, part), expected, "a quarter of a page on {name}");
        // Without old data nothing is read.
        let new = request(Op::Write, 1 << 20, 4 * KIB);
        assert_eq!(latency(&mut drive, new), around(4 * KIB) + bus.program(16 * KIB), "a new quarter on {name}");
        // Two pages, one after the other on the only plane.
        let two = request(Op::Write, 0, 32 * KIB);
        assert_eq!(latency(&mut drive, two), around(32 * KIB) + 2 * bus.program(16 * KIB), "two pages on {name}");
    }
}

#[test]
fn sub_page_units() {
    for (bus, host) in cases() {
        let mut drive = build(bus, host, 1, 4, "none", NO_BUFFER);
        let around = |bytes| host.command + (host.data)(bytes) + host.completion;
        // One logical page goes into its own page; the bus transfers the page.
        let one_unit = request(Op::Write, 0, 4 * KIB);
        assert_eq!(latency(&mut drive, one_unit), around(4 * KIB) + bus.program(16 * KIB));
        // Half a logical page: only this logical page is read.
        let half = request(Op::Write, 2_048, 2 * KIB);
        assert_eq!(latency(&mut drive, half), around(2 * KIB) + bus.read(4 * KIB) + bus.program(16 * KIB));
        // Four logical pages fill one page, and are read together.
        let page = request(Op::Write, 16_384, 16 * KIB);
        assert_eq!(latency(&mut drive, page), around(16 * KIB) + bus.program(16 * KIB));
        let read = request(Op::Read, 16_384, 16 * KIB);
        assert_eq!(latency(&mut drive, read), around(16 * KIB) + bus.read(16 * KIB));
    }
}

#[test]
fn buffered_writes_and_flushes() {
    for (bus, host) in cases() {
        let mut drive = build(bus, host, 1, 4, "none", BUFFER);
        let around = |bytes| host.command + (host.data)(bytes) + host.completion;
        assert_eq!(latency(&mut drive, request(Op::Flush, 0, 0)), host.command + host.completion, "nothing to flush");
        assert_eq!(
            latency(&mut drive, request(Op::Write, 0, 4 * KIB)),
            around(4 * KIB),
            "acknowledged from the buffer"
        );
        // It waits there for more data, and is read from there.
        let found = one(&mut drive, request(Op::Read, 0, 4 * KIB));
        assert_eq!(found.time - found.submitted, around(4 * KIB));
        // A flush programs it.
        let flush = one(&mut drive, request(Op::Flush, 0, 0));
        assert_eq!(flush.time - flush.submitted, host.command + bus.program(16 * KIB) + host.completion);
        assert_eq!(latency(&mut drive, request(Op::Flush, 0, 0)), host.command + host.completion, "flushed before");
        // A FUA write does not stay in the buffer.
        let through = wordline_base::Request { fua: true, ..request(Op::Write, 65_536, 4 * KIB) };
        assert_eq!(latency(&mut drive, through), around(4 * KIB) + bus.program(16 * KIB));
    }
}

#[test]
fn trims() {
    for (bus, host) in cases() {
        let mut drive = build(bus, host, 1, 16, "none", NO_BUFFER);
        one(&mut drive, request(Op::Write, 0, 16 * KIB));
        assert_eq!(latency(&mut drive, request(Op::Trim, 0, 16 * KIB)), host.command + host.completion);
        assert_eq!(
            latency(&mut drive, request(Op::Read, 0, 4 * KIB)),
            host.command + (host.data)(4 * KIB) + host.completion
        );
    }
}

#[test]
fn two_planes_work_together_or_in_turn() {
    for (bus, host) in cases() {
        let name = format!("{} and {}", bus.name, host.name);
        let (write, read) = (request(Op::Write, 0, 32 * KIB), request(Op::Read, 0, 32 * KIB));
        let page = (host.data)(16 * KIB);
        let mut together = build(bus, host, 2, 16, "planes", NO_BUFFER);
        let expected = host.command + (host.data)(32 * KIB) + bus.program_two(16 * KIB) + host.completion;
        assert_eq!(latency(&mut together, write), expected, "two planes programmed together on {name}");
        // Both pages are ready when the command ends, and go to the host one after the other.
        let expected = host.command + bus.read_two(16 * KIB) + 2 * page + host.completion;
        assert_eq!(latency(&mut together, read), expected, "two planes read together on {name}");
        let mut in_turn = build(bus, host, 2, 16, "none", NO_BUFFER);
        let expected = host.command + (host.data)(32 * KIB) + 2 * bus.program(16 * KIB) + host.completion;
        assert_eq!(latency(&mut in_turn, write), expected, "two planes programmed in turn on {name}");
        // The first page goes to the host while the second is read, which takes longer on each of these host
        // interfaces.
        assert!(bus.read(16 * KIB) > page);
        let expected = host.command + 2 * bus.read(16 * KIB) + page + host.completion;
        assert_eq!(latency(&mut in_turn, read), expected, "two planes read in turn on {name}");
    }
}

/// A write during a collection waits for its rest: here for the erase of a block without valid pages, which begins the
/// moment the previous write is programmed.
#[test]
fn a_write_waits_for_an_erase() {
    for (bus, host) in cases() {
        let mut drive = build(bus, host, 1, 16, "none", NO_BUFFER);
        let pages = drive.logical_bytes() / 16_384;
        let free = host.command + (host.data)(16 * KIB) + bus.program(16 * KIB) + host.completion;
        let erase = bus.erase_command() + T_BERS;
        let (mut waited, mut erases, mut last) = (0, false, 0);
        for nth in 0..4 * pages {
            let before = drive.kernel().counters().erases();
            let done = one(&mut drive, request(Op::Write, nth % pages * 16_384, 16 * KIB));
            // The erase began when the write before was programmed, a completion's time before the host heard of it.
            let expected = if erases { last + erase + bus.program(16 * KIB) } else { last + free };
            assert_eq!(done.time, expected, "write {nth} on {} and {}", bus.name, host.name);
            waited += u64::from(erases);
            erases = drive.kernel().counters().erases() > before;
            last = done.time;
        }
        let counters = drive.kernel().counters();
        assert_eq!(counters.moved_units(), 0, "sequential overwriting leaves nothing to move");
        assert!(waited > 10, "{waited} of {} writes waited", 4 * pages);
    }
}

/// Erases of one and two planes by the flash alone; each command follows its chain.
#[test]
fn erases() {
    for bus in [SDR, NV_DDR3] {
        let shape = GeometryConfig {
            channels: 1,
            packages_per_channel: 1,
            gang: 1,
            dies_per_package: 1,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_kib: 16,
            pages_per_program: 1,
            slc_pages_per_block: None,
        };
        let geometry = Geometry::new(&shape).expect("it is sound");
        let mut nand = NandConfig::default();
        if bus.name == "SDR" {
            // The section as in the drive files above.
            nand = crate::common::config(&format!("nand = {{ {} }}", bus.keys)).nand;
        }
        let timing = Timing::new(&nand, 4).expect("it is sound");
        let mut flash = Flash::new(geometry, timing, 0);
        let mut queue = EventQueue::with_capacity(1);
        let mut now = 0;
        for (planes, expected) in [(1, bus.erase_command() + T_BERS), (2, 2 * bus.erase_command() + T_DBSY + T_BERS)] {
            let mut command = Command::new(Kind::Erase);
            (0..planes).for_each(|plane| command.add(PageAddress { plane, block: 1, page: 0 }, 0));
            let start = now;
            flash.begin(now, 0, &command, &mut queue).expect("it is legal");
            loop {
                let event = queue.pop().expect("the command has not ended");
                now = event.time;
                if flash.step(now, 0, &mut queue) == Progress::Done {
                    break;
                }
            }
            assert_eq!(now - start, expected, "{planes} planes on {}", bus.name);
        }
    }
}
