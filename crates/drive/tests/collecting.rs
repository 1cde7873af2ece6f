//! Number of concurrently collected blocks, counted from outside after every step of a drive.

mod common;

use common::{drive, request, watched_loop};
use wordline_base::{Op, Stream};
use wordline_drive::Drive;
use wordline_firmware::blocks::Status;

/// Blocks being collected now.
fn victims(drive: &Drive) -> usize {
    drive.kernel().blocks().records().iter().filter(|block| block.status == Status::Victim).count()
}

/// Maximum number of concurrently collected blocks, and the number of collections, while a full drive with logical
/// pages of 4 KiB in flash pages of 16 KiB is overwritten in random order by writes of `kib`.
fn overwrite(at_a_time: u32, kib: u32) -> (usize, u64) {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1,
            blocks_per_plane = 48, pages_per_block = 32, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 8, start_blocks = 16, window_pages = 64,
            blocks_at_a_time = {at_a_time} }}
        buffer = {{ policy = "none" }}
        "#
    );
    let mut drive = drive(&text, 1);
    let (bytes, mut random) = (kib * 1024, Stream::new(1, "offsets", 0));
    let places = drive.logical_bytes() / u64::from(bytes);
    watched_loop(&mut drive, 8, places, |nth| request(Op::Write, nth * u64::from(bytes), bytes), |_| {});
    let before = drive.kernel().counters().collections();
    let mut most = 0;
    let anywhere = |_| request(Op::Write, random.below(places) * u64::from(bytes), bytes);
    watched_loop(&mut drive, 8, places, anywhere, |drive| most = most.max(victims(drive)));
    (most, drive.kernel().counters().collections() - before)
}

/// Writes of whole pages leave whole pages valid: no logical page of a victim waits for others, so no block starts
/// early.
#[test]
fn whole_pages_keep_to_the_limit() {
    for at_a_time in [1, 2, 4] {
        let (most, collections) = overwrite(at_a_time, 16);
        println!("limit {at_a_time}: at most {most} in {collections} collections");
        assert!(collections > 40, "{collections}");
        assert_eq!(most, at_a_time as usize);
    }
}

/// Only the logical pages of the last, incomplete page wait for others: less than a page of them, so from at most three
/// blocks.
#[test]
fn blocks_that_wait_for_company_are_few() {
    for at_a_time in [1, 2, 4] {
        let (most, collections) = overwrite(at_a_time, 4);
        println!("limit {at_a_time}: at most {most} in {collections} collections");
        assert!(collections > 40, "{collections}");
        assert!(most <= at_a_time as usize + 3, "{most} at a time, the limit is {at_a_time}");
    }
}
