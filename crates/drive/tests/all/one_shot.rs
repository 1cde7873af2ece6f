//! One-shot programming: the pages of a word line are programmed together, and read one by one.

use crate::common::{closed_loop, drive, latency, one, request, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::load::from_text;
use wordline_drive::Drive;

const PAGE: u64 = 16_384;
const T_PROG: Time = 1_500 * US;

/// Dies of one plane, whose programs write three pages. A page takes 20 us on the bus.
fn text(dies: u32, sections: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = {dies}, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = 24, page_kib = 16, pages_per_program = 3 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 1500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        verify = {{ shadow = true }}
        {sections}
        "#
    )
}

fn write(first: u64, pages: u64) -> wordline_base::Request {
    request(Op::Write, first * PAGE, (pages * PAGE) as u32)
}

/// Pages programmed, those of them that stayed empty, and commands since the drive was new.
fn programmed(drive: &Drive) -> (u64, u64, u64) {
    let counters = drive.kernel().counters();
    (counters.programs(), counters.padded_units, counters.commands)
}

#[test]
fn three_pages_go_in_one_program() {
    let mut drive = drive(&text(1, ""), 1);
    let took = latency(&mut drive, write(0, 3));
    assert_eq!(programmed(&drive), (3, 0, 1));
    // The data of three pages, and one tPROG; the host link and the commands take some us.
    assert!((T_PROG + 61 * US..T_PROG + 80 * US).contains(&took), "{took} ps");
    // Their reads are of single pages: one array read each.
    let before = *drive.kernel().counters();
    let single = latency(&mut drive, request(Op::Read, PAGE, PAGE as u32));
    assert!((70 * US..80 * US).contains(&single), "{single} ps");
    let all = latency(&mut drive, request(Op::Read, 0, 3 * PAGE as u32));
    assert!((3 * 70 * US..3 * 80 * US).contains(&all), "{all} ps");
    assert_eq!(drive.kernel().counters().reads() - before.reads(), 4);
}

#[test]
fn a_page_alone_wastes_the_others_without_a_buffer() {
    let mut drive = drive(&text(1, ""), 1);
    for page in 0..5 {
        latency(&mut drive, write(page, 1));
    }
    assert_eq!(programmed(&drive), (15, 10, 5));
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn the_buffer_keeps_pages_until_a_word_line_is_full() {
    let buffer = "buffer = { policy = \"fifo\", capacity_kib = 1024 }";
    let mut drive = drive(&text(1, buffer), 1);
    for page in [5, 9] {
        let done = one(&mut drive, write(page, 1));
        assert!(done.time - done.request.arrival < 50 * US);
    }
    while drive.step().expect("no rule is broken") {}
    assert_eq!(programmed(&drive), (0, 0, 0), "two pages wait for a third");
    one(&mut drive, write(20, 1));
    while drive.step().expect("no rule is broken") {}
    assert_eq!(programmed(&drive), (3, 0, 1));
    // A flush lets one go alone.
    one(&mut drive, write(30, 1));
    one(&mut drive, request(Op::Flush, 0, 0));
    assert_eq!(programmed(&drive), (6, 2, 2));
}

#[test]
fn moved_pages_fill_word_lines_too() {
    let sections = "placement = { policy = \"least-busy\" }\ncollect = { policy = \"on-demand\", scope = \"drive\" }\n\
        buffer = { policy = \"fifo\", capacity_kib = 1024 }";
    for unit_kib in [16, 4] {
        let mut drive =
            drive(&text(2, &format!("{sections}\nmapping = {{ policy = \"page\", unit_kib = {unit_kib} }}")), 1);
        let bytes = unit_kib * 1024;
        let units = drive.logical_bytes() / bytes;
        let mut random = Stream::new(1, "places", 0);
        closed_loop(&mut drive, 32, units, |nth| request(Op::Write, nth * bytes, bytes as u32));
        closed_loop(&mut drive, 32, 4 * units, |_| request(Op::Write, random.below(units) * bytes, bytes as u32));
        let counters = *drive.kernel().counters();
        assert!(counters.collections() > 50 && counters.moved_units() > units / 4);
        let padded = counters.padded_units as f64 * bytes as f64 / PAGE as f64 / counters.programs() as f64;
        assert!(padded < 0.01, "{padded} of all pages stayed empty");
        drive.drain().expect("it comes to rest");
        drive.kernel().audit().expect("the books balance");
        closed_loop(&mut drive, 8, units, |nth| request(Op::Read, nth * bytes, bytes as u32));
    }
}

#[test]
fn parity_takes_whole_word_lines() {
    let sections = "placement = { policy = \"least-busy\" }\ncollect = { policy = \"on-demand\", scope = \"drive\" }\n\
        redundancy = { policy = \"rain\" }\ncapacity.raw_over_logical = 4.0";
    let text = text(4, sections).replace("capacity = { raw_over_logical = 2.0 }", "");
    let mut drive = drive(&text, 1);
    // A row: three dies with data, one with parity; three pages each.
    closed_loop(&mut drive, 16, 3, |nth| write(3 * nth, 3));
    drive.drain().expect("it comes to rest");
    let counters = drive.kernel().counters();
    assert_eq!((counters.programs(), counters.parity_pages, counters.padded_units), (12, 3, 0));
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let on_demand = "policy = \"on-demand\"";
    for (more, key) in [
        ("mapping = { policy = \"block\" }".to_owned(), "mapping.policy"),
        (format!("collect = {{ {on_demand}, copyback = \"internal\" }}"), "collect.copyback"),
        (format!("collect = {{ {on_demand}, window_pages = 2 }}"), "collect.window_pages"),
        ("refresh = { policy = \"scrub\", window_pages = 2 }".to_owned(), "refresh.window_pages"),
    ] {
        let error = from_text("test", &text(1, &more)).expect_err(&more).to_string();
        assert!(error.contains(key) && error.contains("does not go with geometry.pages_per_program = 3"), "{error}");
    }
    let by_class = text(1, "").replace("program_us = 1500.0", "program_us = [1000.0, 2000.0]");
    let error = from_text("test", &by_class).unwrap_err().to_string();
    assert!(error.contains("nand.program_us") && error.contains("the time of all these pages"), "{error}");
    let uneven = text(1, "").replace("pages_per_block = 24", "pages_per_block = 25");
    let error = from_text("test", &uneven).unwrap_err().to_string();
    assert!(error.contains("geometry.pages_per_program = 3: must divide pages_per_block = 25"), "{error}");
}
