//! Bandwidth of a saturated drive against the formula of its bottleneck: dies, channels, or the host interface. In each
//! case one of them is far below the others, and the queue is deep enough to keep it busy.
//!
//! All figures are literals. NV-DDR3: a command or address cycle takes 25 ns, tADL 150 ns, tWB 100 ns, tRR 20 ns, tCCS 200 ns,
//! and at R MT/s a byte takes 1/R us. So for a page of `n` bytes, in nanoseconds:
//! - command of a read: 7 x 25 + 100 = 275; its data: 20 + n / R
//! - command and data of a program: 7 x 25 + 150 + 100 = 425, + n / R
//! - data of one plane of several: 7 x 25 + 200 = 375, + n / R

use crate::common::{drive, request};
use wordline_base::{Op, Request, Stream};
use wordline_drive::precondition::precondition;
use wordline_drive::Drive;

const PAGE: f64 = 16_384.0;
/// Nanoseconds for a page of 16 KiB at 800 MT/s (1.25 ns a byte) and 200 MT/s (5 ns a byte).
const PAGE_800: f64 = PAGE * 1.25;
const PAGE_200: f64 = PAGE * 5.0;
const READ_COMMAND: f64 = 275.0;
const READ_OUT: f64 = 20.0;
const READ_OUT_PLANE: f64 = 375.0;
const PROGRAM: f64 = 425.0;
const T_DBSY: f64 = 500.0;

struct Case {
    shape: &'static str,
    planes: u32,
    nand: &'static str,
    link: &'static str,
    depth: u64,
}

const FAST_LINK: &str = "policy = \"nvme\", pcie_generation = 5, pcie_lanes = 16, latency_us = 0.0";

impl Case {
    fn drive(&self) -> Drive {
        let text = format!(
            r#"
            geometry = {{ {}, planes_per_die = {}, blocks_per_plane = 96, pages_per_block = 64, page_kib = 16 }}
            nand = {{ interface = "nv-ddr3", {}, erase_us = 3000.0, dummy_busy_us = 0.5 }}
            capacity = {{ raw_over_logical = 1.5 }}
            placement = {{ policy = "static", order = "PCWD" }}
            collect = {{ policy = "on-demand", scope = "plane" }}
            pack = {{ policy = "planes" }}
            buffer = {{ policy = "none" }}
            link = {{ {} }}
            queue = {{ queues = 1, depth = {} }}
            "#,
            self.shape, self.planes, self.nand, self.link, self.depth
        );
        drive(&text, 1)
    }

    fn filled(&self) -> Drive {
        let mut drive = self.drive();
        let fill = wordline_drive::config::PreconditionConfig { fill: true, ..Default::default() };
        precondition(&mut drive, &fill, 1, &mut |_| true).expect("the drive is filled");
        drive
    }

    /// Bytes per nanosecond, measured after a tenth of the completions, with the queue always full.
    fn saturate(&self, drive: &mut Drive, count: u64, mut next: impl FnMut(u64) -> Request) -> f64 {
        let (mut submitted, mut completed, mut bytes, mut start) = (0, 0, 0, 0);
        while completed < count {
            while submitted - completed < self.depth {
                let now = drive.now();
                drive.submit(now, Request { arrival: now, ..next(submitted) }).expect("there is a slot");
                submitted += 1;
            }
            assert!(drive.step().expect("no rule is broken"), "the drive stalled");
            for done in drive.completions().drain(..) {
                completed += 1;
                if completed > count / 10 {
                    bytes += u64::from(done.request.bytes);
                } else {
                    start = done.time;
                }
            }
        }
        1e3 * bytes as f64 / (drive.now() - start) as f64
    }

    fn random_read(&self, bytes: u32, count: u64) -> f64 {
        let mut drive = self.filled();
        let (places, mut random) = (drive.logical_bytes() / u64::from(bytes), Stream::new(1, "bandwidth", 0));
        self.saturate(&mut drive, count, |_| request(Op::Read, random.below(places) * u64::from(bytes), bytes))
    }

    fn sequential(&self, op: Op, bytes: u32) -> f64 {
        let mut drive = if op == Op::Read { self.filled() } else { self.drive() };
        let places = drive.logical_bytes() / u64::from(bytes);
        // A drive is written once, so that nothing is collected; reads last as long as the measurement.
        let count = if op == Op::Read { 3_000 } else { places - self.depth };
        let found = self.saturate(&mut drive, count, |nth| request(op, nth % places * u64::from(bytes), bytes));
        assert_eq!(drive.kernel().counters().collections(), 0);
        found
    }
}

#[track_caller]
fn agrees(name: &str, found: f64, formula: f64) {
    let difference = found / formula - 1.0;
    println!("{name:<44}{formula:>10.4}{found:>10.4} GB/s{:>9.3} %", 100.0 * difference);
    assert!(difference.abs() < 0.01, "{name}: {found} GB/s, but the bottleneck allows {formula}");
}

/// Eight dies on eight channels: a die delivers a page per tR + command + data.
const DIES: Case = Case {
    shape: "channels = 8, packages_per_channel = 1, dies_per_package = 1",
    planes: 1,
    nand: "rate_mt_s = 800, read_us = 100.0, program_us = 500.0",
    link: FAST_LINK,
    depth: 1_024,
};

/// The same with two planes per die.
const DIES_OF_TWO_PLANES: Case = Case { planes: 2, ..DIES };

/// Eight dies on each of two slow channels: while one transfers, the others read; the channel is always busy.
const CHANNELS: Case = Case {
    shape: "channels = 2, packages_per_channel = 4, dies_per_package = 2",
    planes: 1,
    nand: "rate_mt_s = 200, read_us = 3.0, program_us = 100.0",
    link: FAST_LINK,
    depth: 512,
};

/// Fast flash behind SATA 3 Gb/s: 10/3 ns per byte, and per request a command (2 x 36 bytes), a DMA Setup frame (44),
/// Data frames of 8,192 bytes with 20 more each, and a completion (24), one direction at a time.
const SATA: Case = Case {
    shape: "channels = 4, packages_per_channel = 1, dies_per_package = 2",
    planes: 1,
    nand: "rate_mt_s = 1600, read_us = 3.0, program_us = 50.0",
    link: "policy = \"sata\", rate_gb_s = 3.0",
    depth: 32,
};

fn sata(bytes: f64) -> f64 {
    bytes / ((72.0 + 44.0 + bytes + 20.0 * (bytes / 8_192.0).ceil() + 24.0) * 10.0 / 3.0)
}

/// Fast flash behind PCIe 1.0 x1: 4 ns per byte each way; packets of 256 bytes have 24 more, a completion takes 40
/// bytes in the direction of read data, a command 88 bytes in the direction of written data.
const PCIE: Case = Case {
    link: "policy = \"nvme\", pcie_generation = 1, pcie_lanes = 1, max_payload_bytes = 256, latency_us = 0.0",
    depth: 128,
    ..SATA
};

fn pcie(bytes: f64, entry: f64) -> f64 {
    bytes / ((bytes + 24.0 * (bytes / 256.0).ceil() + entry) * 4.0)
}

#[test]
fn random_reads() {
    let die = READ_COMMAND + 100_000.0 + READ_OUT + PAGE_800;
    agrees("random read of pages, dies", DIES.random_read(16_384, 40_000), 8.0 * PAGE / die);
    // A quarter of a page: same tR, a quarter of the transfer.
    let die = READ_COMMAND + 100_000.0 + READ_OUT + PAGE_800 / 4.0;
    agrees("random read of 4 KiB, dies", DIES.random_read(4_096, 40_000), 8.0 * PAGE / 4.0 / die);
    let channel = READ_COMMAND + READ_OUT + PAGE_200;
    agrees("random read of pages, channels", CHANNELS.random_read(16_384, 20_000), 2.0 * PAGE / channel);
    let channel = READ_COMMAND + READ_OUT + PAGE_200 / 4.0;
    agrees("random read of 4 KiB, channels", CHANNELS.random_read(4_096, 20_000), 2.0 * PAGE / 4.0 / channel);
    agrees("random read of pages, SATA", SATA.random_read(16_384, 20_000), sata(PAGE));
    agrees("random read of 4 KiB, SATA", SATA.random_read(4_096, 20_000), sata(4_096.0));
    agrees("random read of pages, PCIe", PCIE.random_read(16_384, 20_000), pcie(PAGE, 40.0));
}

/// With a larger tR: while other dies transfer, a die reads, so the channel stays busy.
#[test]
fn channels_hide_the_reads() {
    let slow = Case { nand: "rate_mt_s = 200, read_us = 50.0, program_us = 100.0", ..CHANNELS };
    let channel = READ_COMMAND + READ_OUT + PAGE_200;
    agrees("random read of pages, channels, tR 50 us", slow.random_read(16_384, 20_000), 2.0 * PAGE / channel);
}

#[test]
fn sequential_reads() {
    let die = READ_COMMAND + 100_000.0 + READ_OUT + PAGE_800;
    agrees("sequential read, dies", DIES.sequential(Op::Read, 131_072), 8.0 * PAGE / die);
    // Two planes: two commands with tDBSY between them, one tR, two transfers.
    let die = 2.0 * READ_COMMAND + T_DBSY + 100_000.0 + 2.0 * (READ_OUT_PLANE + PAGE_800);
    let found = DIES_OF_TWO_PLANES.sequential(Op::Read, 262_144);
    agrees("sequential read, dies of two planes", found, 16.0 * PAGE / die);
    let channel = READ_COMMAND + READ_OUT + PAGE_200;
    agrees("sequential read, channels", CHANNELS.sequential(Op::Read, 131_072), 2.0 * PAGE / channel);
    // Each page is a transfer of its own on the host interface: one DMA Setup per page, one command and completion per
    // request.
    let request = 72.0 + 24.0 + 8.0 * (44.0 + PAGE + 40.0);
    agrees("sequential read, SATA", SATA.sequential(Op::Read, 131_072), 8.0 * PAGE / (request * 10.0 / 3.0));
    agrees("sequential read, PCIe", PCIE.sequential(Op::Read, 131_072), pcie(131_072.0, 40.0));
}

#[test]
fn sequential_writes() {
    let die = PROGRAM + PAGE_800 + 500_000.0;
    agrees("sequential write, dies", DIES.sequential(Op::Write, 16_384), 8.0 * PAGE / die);
    // Two planes: both transfers with tDBSY between them, one tPROG.
    let die = 2.0 * (PROGRAM + PAGE_800) + T_DBSY + 500_000.0;
    let found = DIES_OF_TWO_PLANES.sequential(Op::Write, 32_768);
    agrees("sequential write, dies of two planes", found, 16.0 * PAGE / die);
    let channel = PROGRAM + PAGE_200;
    agrees("sequential write, channels", CHANNELS.sequential(Op::Write, 16_384), 2.0 * PAGE / channel);
    agrees("sequential write, SATA", SATA.sequential(Op::Write, 65_536), sata(65_536.0));
    agrees("sequential write, PCIe", PCIE.sequential(Op::Write, 65_536), pcie(65_536.0, 88.0));
}
