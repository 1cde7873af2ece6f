//! Map zones: whose table is loaded and stored by whom, what that costs, and what zones do to log blocks, by hand.

use crate::common::{drive, for_seeds, latency, one, request};
use wordline_base::{Op, Stream, Time};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, Task};

const PAGE: u64 = 4096;
/// Pages in a block.
const PAGES: u64 = 256;

/// Two dies of 24 blocks of 256 pages of 4 KiB: 32 logical blocks in eight zones of four, whose tables have 4 + 4 * 256 entries
/// of four bytes with BAST: two pages. They are in one logical block more.
fn empty(mapping: &str, more: &str) -> Drive {
    drive(
        &format!(
            r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = {PAGES}, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.5 }}
        mapping = {{ {mapping} }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
        verify = {{ shadow = true }}
        {more}
        "#
        ),
        1,
    )
}

/// The same, with all logical blocks written in order.
fn filled(mapping: &str) -> Drive {
    let mut drive = empty(mapping, "");
    let plan = *drive.kernel().plan();
    assert_eq!(u64::from(plan.logical_units), 32 * PAGES);
    (0..32).for_each(|lot| write(&mut drive, lot, 0, PAGES));
    drive
}

fn write(drive: &mut Drive, lot: u64, page: u64, pages: u64) {
    one(drive, request(Op::Write, (lot * PAGES + page) * PAGE, (pages * PAGE) as u32));
    settle(drive);
}

fn read(drive: &mut Drive, lot: u64, page: u64) -> Time {
    let time = latency(drive, request(Op::Read, (lot * PAGES + page) * PAGE, PAGE as u32));
    settle(drive);
    time
}

fn settle(drive: &mut Drive) {
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
}

/// Tables loaded and stored, and their pages read and written for the host, and for GC.
fn tables(drive: &Drive) -> [u64; 6] {
    let counters = drive.kernel().counters();
    let [host, gc] = [Task::HOST, Task::GC].map(Task::index);
    let (reads, writes) = (counters.map_reads, counters.map_writes);
    [counters.map_loads, counters.map_stores, reads[host], writes[host], reads[gc], writes[gc]]
}

/// What some step did to the tables.
fn of(drive: &mut Drive, step: impl FnOnce(&mut Drive)) -> [u64; 6] {
    let before = tables(drive);
    step(drive);
    let mut grown = tables(drive);
    grown.iter_mut().zip(before).for_each(|(now, before)| *now -= before);
    grown
}

const TWO: &str = "policy = \"bast\", log_blocks = 6, zone_blocks = 4, zone_tables = 2";

#[test]
fn the_plan_counts_zones_tables_and_memory() {
    let plan = *empty(TWO, "").kernel().plan();
    let zones = plan.zones.expect("it has zones");
    assert_eq!((zones.count, zones.tables, zones.table_bytes, zones.table_units), (8, 2, 4 * (4 + 4 * PAGES), 2));
    assert_eq!((plan.map_units, plan.first_map_unit(), plan.units()), (16, 32 * 256, 32 * 256 + 16));
    // Two tables, and where the sixteen pages of all lie.
    assert_eq!(plan.table_bytes, 2 * 4 * (4 + 4 * PAGES) + 4 * 16);
    assert_eq!(plan.spare_blocks, 48 - 32 - 1);
    // All six log blocks may be of one zone of FAST.
    let fast = empty("policy = \"fast\", log_blocks = 6, zone_blocks = 4, zone_tables = 2", "");
    assert_eq!(fast.kernel().plan().zones.map(|zones| zones.table_bytes), Some(4 * (4 + 6 * PAGES)));
    // Five zones of seven logical blocks; the last has four.
    let uneven = empty("policy = \"bast\", log_blocks = 6, zone_blocks = 7, zone_tables = 2", "");
    assert_eq!(uneven.kernel().plan().zones.map(|zones| zones.count), Some(5));
}

#[test]
fn a_look_up_loads_the_whole_table_that_memory_lacks() {
    let mut drive = filled(TWO);
    read(&mut drive, 0, 9);
    read(&mut drive, 4, 9);
    // Memory has the tables of zones 0 and 1.
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 3, 5)), [0; 6]);
    let hit = read(&mut drive, 3, 5);
    let mut missed = 0;
    assert_eq!(of(&mut drive, |drive| missed = read(drive, 9, 5)), [1, 0, 2, 0, 0, 0]);
    // Both pages of the table are in one die. The array reads each; the second waits for the first to leave the register. Data and
    // commands of a page of 4 KiB take less than 4 us on the bus.
    assert!((hit + 100_000_000..hit + 108_000_000).contains(&missed), "{missed} and {hit}");
    // Zone 2 has taken the place of zone 1, which was used the longest ago.
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 0, 7)), [0; 6]);
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 4, 7)), [1, 0, 2, 0, 0, 0]);
}

#[test]
fn a_table_that_changed_is_stored_as_a_whole_when_it_leaves() {
    let mut drive = filled(TWO);
    read(&mut drive, 0, 9);
    read(&mut drive, 4, 9);
    // Three changes in zone 1, then two other zones: both pages are written once.
    assert_eq!(of(&mut drive, |drive| (0..3).for_each(|nth| write(drive, 5, 7 * nth, 1))), [0; 6]);
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 8, 0)), [1, 0, 2, 0, 0, 0]);
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 12, 0)), [1, 1, 2, 2, 0, 0]);
    assert_eq!(of(&mut drive, |drive| _ = read(drive, 5, 7)), [1, 0, 2, 0, 0, 0]);
    // A trim of a whole zone changes its table, and needs none of it.
    let whole = request(Op::Trim, 16 * PAGES * PAGE, (4 * PAGES * PAGE) as u32);
    assert_eq!(
        of(&mut drive, |drive| {
            one(drive, whole);
            settle(drive);
        }),
        [0; 6]
    );
}

#[test]
fn a_merge_loads_the_table_of_its_zone_for_gc() {
    let mut drive = filled("policy = \"bast\", log_blocks = 3, zone_blocks = 4, zone_tables = 1");
    // The tables have a log block, since the fill has stored some of them again. Two more are taken here.
    write(&mut drive, 0, 200, 1);
    write(&mut drive, 4, 200, 1);
    let merges = drive.kernel().counters().log_merges;
    let tables = of(&mut drive, |drive| write(drive, 8, 200, 1));
    assert_eq!(drive.kernel().counters().log_merges, merges + 1);
    // With three log blocks a table has one page. Zone 2 is loaded for the host, and zone 1 stored. The write waits for the merge
    // of logical block 0, which loads the table of zone 0 for GC in place of that of zone 2. When the write gets its page, zone 2
    // is loaded again, and zone 0 is stored.
    assert_eq!(tables, [3, 2, 2, 2, 1, 0]);
}

#[test]
fn log_blocks_serve_one_zone() {
    let fast = |zones: &str| {
        let mut drive = filled(&format!("policy = \"fast\", log_blocks = 6{zones}"));
        let before = drive.kernel().blocks().free_in_domain(0);
        (0..4).for_each(|nth| write(&mut drive, 4 * nth, 100, 1));
        before - drive.kernel().blocks().free_in_domain(0)
    };
    assert_eq!(fast(""), 1);
    assert_eq!(fast(", zone_blocks = 4, zone_tables = 8"), 4);
    assert_eq!(fast(", zone_blocks = 8, zone_tables = 4"), 2);
}

/// With all tables in memory, zones of whole groups change nothing.
#[test]
fn zones_in_memory_cost_nothing() {
    for_seeds("map_zones", "zones_in_memory_cost_nothing", 3, |seed| {
        let mapping =
            ["policy = \"bast\"", "policy = \"sast\", group_blocks = 4, group_log_blocks = 3"][seed as usize % 2];
        let mut told = ["", ", zone_blocks = 8, zone_tables = 4"].map(|zones| {
            let mut drive = filled(&format!("{mapping}, log_blocks = 6{zones}"));
            let mut random = Stream::new(seed, "places", 0);
            let time: Time = (0..400)
                .map(|_| {
                    let at = random.below(32 * PAGES) * PAGE;
                    latency(&mut drive, request(Op::Write, at, PAGE as u32))
                })
                .sum();
            settle(&mut drive);
            let counters = *drive.kernel().counters();
            (time, counters.ops, counters.merges, counters.log_merges, counters.map_reads)
        });
        let [whole, zones] = &mut told;
        assert!(whole.3 > 20, "{} merges", whole.3);
        assert_eq!(whole, zones);
    });
}

/// Reads and first overwrites, which need no merge, against a list of the tables in the order of their last use.
#[test]
fn the_table_used_the_longest_ago_leaves() {
    for_seeds("map_zones", "the_table_used_the_longest_ago_leaves", 4, |seed| {
        let mut random = Stream::new(seed, "places", 0);
        let held = 1 + random.below(4) as usize;
        let mapping = format!("policy = \"fast\", log_blocks = 12, zone_blocks = 4, zone_tables = {held}");
        let mut drive = filled(&mapping);
        // In memory, newest last, with what has changed.
        let mut model: Vec<(u64, bool)> = (0..held as u64).map(|nth| (8 - held as u64 + nth, true)).collect();
        let before = tables(&drive);
        let (mut loads, mut stores) = (0, 0);
        for nth in 0..150 {
            let (lot, writes) = (random.below(32), nth % 3 == 0);
            let zone = lot / 4;
            let changed = match model.iter().position(|&(other, _)| other == zone) {
                Some(at) => model.remove(at).1,
                None => {
                    loads += 1;
                    if model.len() == held {
                        stores += u64::from(model.remove(0).1);
                    }
                    false
                }
            };
            model.push((zone, changed || writes));
            if writes {
                write(&mut drive, lot, 1 + random.below(PAGES - 1), 1);
            } else {
                read(&mut drive, lot, random.below(PAGES));
            }
        }
        assert_eq!(drive.kernel().counters().log_merges, 0);
        let told = tables(&drive);
        assert_eq!([told[0] - before[0], told[1] - before[1]], [loads, stores], "{held} tables in memory");
        assert!(loads > 50 && stores > 20);
    });
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |mapping: &str| {
        let text = format!(
            "geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 24, \
             pages_per_block = 256, page_kib = 4 }}\ncapacity = {{ raw_over_logical = 1.5 }}\nmapping = {{ {mapping} }}\n\
             placement = {{ policy = \"least-busy\" }}\ncollect = {{ policy = \"on-demand\", scope = \"drive\" }}"
        );
        match from_text("mine", &text) {
            Ok(config) => config.parts().err().map(|error| error.to_string()).expect("it is refused"),
            Err(error) => error.to_string(),
        }
    };
    let half = refused("policy = \"bast\", zone_blocks = 4");
    assert!(half.contains("mapping.zone_blocks = 4") && half.contains("needs mapping.zone_tables"), "{half}");
    let half = refused("policy = \"fast\", zone_tables = 4");
    assert!(half.contains("mapping.zone_tables = 4") && half.contains("without mapping.zone_blocks"), "{half}");
    let none = refused("policy = \"sast\", zone_blocks = 0, zone_tables = 1");
    assert!(none.contains("mapping.zone_blocks = 0: must be at least 1"), "{none}");
    // Sixteen spare blocks have 4,096 pages: tables of five pages each for 32 zones of a logical block, which is one block's worth.
    let tight = refused("policy = \"fast\", zone_blocks = 1, zone_tables = 1, log_blocks = 30");
    assert!(tight.contains("mapping.log_blocks = 30") && tight.contains("15 spare blocks leave room for"), "{tight}");
    let other = refused("policy = \"block\", zone_blocks = 4, zone_tables = 1");
    assert!(other.contains("zone_blocks"), "{other}");
}
