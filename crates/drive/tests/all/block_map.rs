//! The map of the blocks in a result, unpacked and compared with the blocks themselves.

use crate::common::{closed_loop, config, drive, request};
use base64::prelude::{Engine, BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use serde_json::{json, Value};
use std::io::Read;
use wordline_base::{Op, Stream};
use wordline_drive::result::{document, About};
use wordline_drive::Drive;
use wordline_firmware::blocks::{Block, Status};

fn text(planes: u32, blocks: u32) -> String {
    format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = {planes},
            blocks_per_plane = {blocks}, pages_per_block = 4, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 5.0, program_us = 20.0, erase_us = 50.0 }}
        capacity = {{ raw_over_logical = 1.5 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        buffer = {{ policy = "none" }}
        "#
    )
}

fn map(text: &str, drive: &Drive) -> Value {
    let config = config(text);
    let parts = config.parts().expect("it was checked");
    let about =
        About { config: &config, parts: &parts, workload: &json!({}), seed: 1, partial: false, precondition: None };
    document(drive, &about)["map"].clone()
}

/// The bytes of a map, moment by moment.
fn unpacked(text: &Value, moments: usize) -> Vec<Vec<u8>> {
    let packed = BASE64_STANDARD.decode(text.as_str().expect("a text")).expect("base64");
    let mut bytes = Vec::new();
    ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("zlib data");
    let mut told: Vec<Vec<u8>> = bytes.chunks(bytes.len() / moments).map(<[u8]>::to_vec).collect();
    for at in 1..told.len() {
        let (before, now) = told.split_at_mut(at);
        now[0].iter_mut().zip(&before[at - 1]).for_each(|(now, before)| *now = now.wrapping_add(*before));
    }
    told
}

/// Overwrites a full drive in random order; measurement starts after the fill.
fn worn(text: &str) -> Drive {
    let mut drive = drive(text, 3);
    let pages = drive.logical_bytes() / 4096;
    closed_loop(&mut drive, 16, pages, |nth| request(Op::Write, nth * 4096, 4096));
    drive.start_measuring();
    let mut random = Stream::new(1, "offsets", 0);
    closed_loop(&mut drive, 16, 8 * pages, |_| request(Op::Write, random.below(pages) * 4096, 4096));
    drive.end_measuring().expect("no policy fails");
    drive
}

/// Blocks of each cell.
fn cells(drive: &Drive, blocks: usize, per_cell: usize) -> Vec<&[Block]> {
    drive.kernel().blocks().records().chunks(blocks).flat_map(|plane| plane.chunks(per_cell)).collect()
}

fn holds(planes: u32, blocks: u32, per_cell: usize) {
    let text = text(planes, blocks);
    let drive = worn(&text);
    let map = map(&text, &drive);
    assert_eq!(map["blocks_per_cell"], per_cell);
    let at: Vec<f64> = map["at_s"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert!(at[0] == 0.0 && at.windows(2).all(|pair| pair[0] < pair[1]) && (6..=64).contains(&at.len()), "{at:?}");
    let end = (drive.metrics.end - drive.metrics.start) as f64 / 1e12;
    assert!((at.last().expect("there is one") - end).abs() < 1e-12);
    let cells = cells(&drive, blocks as usize, per_cell);
    let last = |text: &Value| unpacked(text, at.len()).pop().expect("there is a moment");
    let (valid, erases) = (last(&map["valid"]), last(&map["erases"]["data"]));
    let (least, step) = (map["erases"]["least"].as_f64().expect("told"), map["erases"]["step"].as_f64().expect("told"));
    assert_eq!((valid.len(), erases.len()), (cells.len(), cells.len()));
    for (at, cell) in cells.iter().enumerate() {
        let share = cell.iter().map(|block| f64::from(block.valid)).sum::<f64>() / (4.0 * cell.len() as f64);
        assert!((f64::from(valid[at]) / 255.0 - share).abs() <= 1.0 / 255.0, "cell {at}: {} {share}", valid[at]);
        let mean = cell.iter().map(|block| f64::from(block.erases)).sum::<f64>() / cell.len() as f64;
        assert!((least + step * f64::from(erases[at]) - mean).abs() <= step / 2.0 + 1e-9, "cell {at}");
    }
    for (status, name) in [(Status::Free, "free"), (Status::Open, "open"), (Status::Victim, "victim")] {
        let told = map["states"].get(name).map(last);
        for (at, cell) in cells.iter().enumerate() {
            let blocks = cell.iter().filter(|block| block.status == status).count();
            let share = told.as_ref().map_or(0, |told| told[at]);
            assert_eq!((f64::from(share) * cell.len() as f64 / 255.0).round() as usize, blocks, "{name}, cell {at}");
        }
    }
    // At the start everything was written once: no block was erased, and only open blocks were half valid.
    let first = &unpacked(&map["valid"], at.len())[0];
    let half = first.iter().filter(|&&share| share != 0 && share != 255).count();
    assert!(half <= 2 * planes as usize, "{half}");
}

#[test]
fn cells_are_blocks_where_there_are_few() {
    holds(2, 60, 1);
}

#[test]
fn neighbouring_blocks_share_a_cell_where_there_are_many() {
    holds(1, 4_100, 3);
    holds(2, 1_500, 2);
}
