//! A full drive under random writes only, with 2 % over-provisioning and full queues: it never gets stuck.

use crate::common::{closed_loop, config, for_seeds, long, request};
use wordline_base::{Op, Stream};
use wordline_drive::precondition::precondition;
use wordline_drive::{Drive, DriveConfig};

/// A drive with 2 % to 3 % over-provisioning: the minimum above 2 % that is accepted, with enough blocks for it.
fn tight(scope: &str, placement: &str, unit_kib: u32, buffer: &str, arbiter: &str, depth: u32) -> DriveConfig {
    // Fragmentation, up to 3 logical pages in each block of quarter pages, must be small: large blocks.
    let (dies, blocks, pages) = if unit_kib == 16 { (2, 400, 16) } else { (1, 480, 128) };
    // With GC over the drive the blocks of all planes count.
    let blocks = if scope == "plane" { blocks } else { blocks / 2 };
    let mut config = config(&format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = {dies}, planes_per_die = 2,
                      blocks_per_plane = {blocks}, pages_per_block = {pages}, page_kib = 16 }}
        capacity = {{ raw_over_logical = 2.0 }}
        mapping = {{ policy = "page", unit_kib = {unit_kib} }}
        placement = {{ {placement} }}
        collect = {{ policy = "on-demand", scope = "{scope}" }}
        arbiter = {{ {arbiter} }}
        pack = {{ policy = "planes" }}
        buffer = {{ {buffer} }}
        link = {{ policy = "nvme" }}
        queue = {{ queues = 1, depth = {depth} }}
        verify = {{ shadow = true }}
        "#
    ));
    config.firmware.capacity.raw_over_logical = (0..=100)
        .map(|step| 1.02 + 0.0001 * f64::from(step))
        .find(|&ratio| {
            config.firmware.capacity.raw_over_logical = ratio;
            config.parts().is_ok()
        })
        .expect("2 to 3 % of spare space are accepted");
    config
}

fn never_stops(config: &DriveConfig, seed: u64, depth: u64, times: f64) {
    let mut drive = Drive::new(config, seed).expect("accepted");
    let plan = *drive.kernel().plan();
    let (units, bytes) = (u64::from(plan.logical_units), plan.unit_bytes);
    let fill = wordline_drive::config::PreconditionConfig { fill: true, ..Default::default() };
    precondition(&mut drive, &fill, seed, &mut |_| true).expect("the drive is filled");
    drive.start_measuring();
    let mut random = Stream::new(seed, "full", 0);
    let count = (units as f64 * times) as u64;
    closed_loop(&mut drive, depth, count, |_| request(Op::Write, random.below(units) * u64::from(bytes), bytes));
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    let counters = drive.kernel().counters();
    let wa = counters.programs() as f64 * f64::from(plan.units_per_page) / count as f64;
    let spare = config.firmware.capacity.raw_over_logical;
    println!("{spare:.4} raw/logical, {} blocks a domain: write amplification {wa:.2}", plan.blocks_per_domain);
    assert_eq!(counters.host_units, count);
    assert!(wa > 5.0, "with so little spare space most of a victim is moved, but write amplification is {wa}");
}

const STATIC: &str = "policy = \"static\"";
const ANYWHERE: &str = "policy = \"least-busy\"";
const NO_BUFFER: &str = "policy = \"none\"";
const BUFFER: &str = "policy = \"fifo\", capacity_kib = 1024";
const FIRST_COME: &str = "policy = \"first-come\"";
const HOST_FIRST: &str =
    "policy = \"priority\", order = [\"host-read\", \"host-write\", \"gc-read\", \"gc-write\", \"gc-erase\"]";

/// Quarter pages take longest: without WORDLINE_LONG they run each scope once, and write the capacity once. With the write amplification
/// that is asserted, this erases a block more than five times on average.
fn all(name: &str, unit_kib: u32, buffer: &str) {
    let cases = [
        ("plane", STATIC, HOST_FIRST),
        ("drive", ANYWHERE, FIRST_COME),
        ("plane", ANYWHERE, FIRST_COME),
        ("plane", STATIC, FIRST_COME),
        ("plane", ANYWHERE, HOST_FIRST),
        ("drive", ANYWHERE, HOST_FIRST),
    ];
    let (count, times) = if long() {
        (6, 3.0)
    } else if unit_kib == 16 {
        (6, 1.5)
    } else {
        (2, 1.0)
    };
    for_seeds("full_drive", name, if long() { 5 } else { 1 }, |seed| {
        for (scope, placement, arbiter) in &cases[..count] {
            never_stops(&tight(scope, placement, unit_kib, buffer, arbiter, 256), seed, 256, times);
        }
    });
}

#[test]
fn whole_pages() {
    all("whole_pages", 16, NO_BUFFER);
}

#[test]
fn whole_pages_buffered() {
    all("whole_pages_buffered", 16, BUFFER);
}

#[test]
fn quarter_pages() {
    all("quarter_pages", 4, NO_BUFFER);
}

#[test]
fn quarter_pages_buffered() {
    all("quarter_pages_buffered", 4, BUFFER);
}
