//! Layout after a fill: untimed or timed, neighbours are in the planes of the same die, so that reads of them share
//! commands.

use crate::common::{closed_loop, drive, request};
use wordline_base::Op;
use wordline_drive::config::PreconditionConfig;
use wordline_drive::precondition::precondition;
use wordline_firmware::task::Class;

const NO_BUFFER: &str = "policy = \"none\"";

/// Share of the pages read in multi-plane commands, and MiB/s, of sequential reads of 128 KiB over the whole drive.
fn sequential_reads(planes: u32, unit_kib: u32, buffer: &str, timed: bool) -> (f64, f64) {
    let mut drive = drive(
        &format!(
            r#"
            geometry = {{ channels = 4, packages_per_channel = 1, dies_per_package = 2, planes_per_die = {planes},
                blocks_per_plane = 24, pages_per_block = 48, page_kib = 16 }}
            nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
            capacity = {{ raw_over_logical = 2.0 }}
            mapping = {{ policy = "page", unit_kib = {unit_kib} }}
            placement = {{ policy = "least-busy" }}
            collect = {{ policy = "on-demand", scope = "drive" }}
            pack = {{ policy = "planes" }}
            buffer = {{ {buffer} }}
            link = {{ policy = "nvme", pcie_generation = 4, pcie_lanes = 4 }}
            queue = {{ queues = 1, depth = 64 }}
            "#
        ),
        1,
    );
    let fill = PreconditionConfig { fill: true, timed, ..PreconditionConfig::default() };
    precondition(&mut drive, &fill, 1, &mut |_| true).expect("no rule is broken");
    let before = *drive.kernel().counters();
    let (start, size) = (drive.now(), 131_072_u32);
    let count = drive.logical_bytes() / u64::from(size);
    closed_loop(&mut drive, 32, count, |nth| request(Op::Read, nth * u64::from(size), size));
    let after = *drive.kernel().counters();
    let class = Class::HOST_READ.index();
    let share =
        (after.multi_plane[class] - before.multi_plane[class]) as f64 / (after.ops[class] - before.ops[class]) as f64;
    (share, (count * u64::from(size)) as f64 / 1_048_576.0 / ((drive.now() - start) as f64 / 1e12))
}

#[test]
fn a_timed_and_an_untimed_fill_leave_stripes_alike() {
    for (planes, unit_kib) in [(2, 16), (4, 16), (2, 4), (4, 4)] {
        for buffer in [NO_BUFFER, "policy = \"fifo\", capacity_kib = 4096"] {
            let [(timed_share, timed), (share, untimed)] =
                [true, false].map(|timed| sequential_reads(planes, unit_kib, buffer, timed));
            println!("{planes} planes, {unit_kib} KiB, {buffer}: {timed:.0} MiB/s and {timed_share:.3} after a timed fill, {untimed:.0} MiB/s and {share:.3} after an untimed one");
            assert!(share > 0.98, "{planes} planes: {share}");
            if unit_kib == 16 || buffer != NO_BUFFER {
                assert!(timed_share > 0.98, "{planes} planes: timed {timed_share}");
                assert!((untimed / timed - 1.0).abs() < 0.02, "{planes} planes: {untimed} MiB/s, timed {timed}");
            } else {
                // Logical pages come one by one, each acknowledged when it is in flash: some dies start before their
                // second page is full.
                assert!(timed_share > 0.75, "{planes} planes: timed {timed_share}");
            }
        }
    }
}
