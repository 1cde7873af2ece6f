//! Wear leveling beside log blocks: which blocks data move to and from, by hand; and what it does to the wear of a drive.

use crate::common::{closed_loop, drive, one, request};
use wordline_base::{Op, Stream};
use wordline_drive::{Drive, Task};
use wordline_firmware::task::{Action, Class};

const PAGE: u64 = 16_384;
/// Pages in a block.
const PAGES: u64 = 8;

/// One plane of blocks of eight pages.
fn empty((blocks, ratio): (u32, f64), mapping: &str, wear: &str) -> Drive {
    drive(
        &format!(
            r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = {blocks}, pages_per_block = {PAGES}, page_kib = 16 }}
        capacity = {{ raw_over_logical = {ratio:?} }}
        mapping = {{ {mapping} }}
        placement = {{ policy = "least-busy" }}
        free_block = {{ policy = "fifo" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
        buffer = {{ policy = "none" }}
        wear = {{ {wear} }}
        verify = {{ shadow = true }}
        "#
        ),
        1,
    )
}

fn write(drive: &mut Drive, first: u64, pages: u64) {
    one(drive, request(Op::Write, first * PAGE, (pages * PAGE) as u32));
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
}

/// P/E cycles of all blocks.
fn cycles(drive: &Drive) -> Vec<u32> {
    drive.kernel().blocks().records().iter().map(|block| block.erases).collect()
}

/// Erases of GC and by wear leveling.
fn erases(drive: &Drive) -> [u64; 2] {
    [Task::GC, Task::WEAR].map(|task| drive.kernel().counters().ops[Class::new(task, Action::Erase).index()])
}

/// Ten blocks with BAST: logical blocks 0 to 4 fill blocks 0 to 4, and logical block 0 is overwritten whole, again and again. Free
/// blocks are taken in the order of their erases. Each overwrite goes to a log block; the next one makes that the data block, in a
/// switch merge, and erases the data block before. So blocks 5, 6, 7, 8, 9, 0 and again 5 become log blocks.
#[test]
fn data_move_to_the_elder_block_that_gc_has_erased() {
    let mut drive = empty((10, 2.0), "policy = \"bast\"", "policy = \"lazy\", delta_cycles = 1.25");
    (0..5).for_each(|lot| write(&mut drive, lot * PAGES, PAGES));
    (0..7).for_each(|_| write(&mut drive, 0, PAGES));
    // Block 0 was erased first, then 5, 6, 7, 8, 9: one less than the overwrites. All have been free once, and none is elder.
    assert_eq!(cycles(&drive), [1, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    // Data of logical block 0 go on through the same six blocks: all of them have two cycles after six overwrites more. When the
    // first got its second it had one, and the average was 0.6; 1 - 0.6 is no more than 1.25, as 1 - 1.1 is not.
    (0..6).for_each(|_| write(&mut drive, 0, PAGES));
    assert_eq!(cycles(&drive), [2, 0, 0, 0, 0, 2, 2, 2, 2, 2]);
    assert_eq!(erases(&drive), [12, 0]);
    let elder = stale_block(&drive);
    let before = data_blocks(&drive);
    // The next block that GC erases had two cycles, and the average was 1.2: 0.8, still too little. So has each of the six: the
    // last of them 2 - 1.7.
    (0..6).for_each(|_| write(&mut drive, 0, PAGES));
    assert_eq!(erases(&drive), [18, 0]);
    // 3 - 1.8 = 1.2 is too little, too. Round after round the six gain one and the average 0.6: the first of the next round has four
    // cycles, and the average is 2.4. 4 - 2.4 = 1.6 is more than 1.25.
    (0..6).for_each(|_| write(&mut drive, 0, PAGES));
    assert_eq!(erases(&drive), [24, 0]);
    write(&mut drive, 0, PAGES);
    assert_eq!(erases(&drive), [25, 1]);
    // Five logical blocks, so the permutation goes modulo 8, and skips what is not below 5: 2, 1, 4, 3, 0. Logical block 2 has left
    // block 2, which was erased for it, and has the block with five cycles.
    let now = data_blocks(&drive);
    assert_eq!((before[2], now[2]), (2, elder));
    assert_eq!((cycles(&drive)[2], cycles(&drive)[elder as usize]), (1, 5));
    for lot in [1, 3, 4] {
        assert_eq!(now[lot], before[lot]);
    }
    // The next block that GC erases has four cycles as well. The average was 2.6, so logical block 1 is next: 4 - 2.6 = 1.4.
    write(&mut drive, 0, PAGES);
    assert_eq!(erases(&drive), [26, 2]);
    assert_eq!((data_blocks(&drive)[1], cycles(&drive)[1]), (worn_blocks(&drive, 5)[1], 1));
    // Then 4 - 2.8 is too little.
    write(&mut drive, 0, PAGES);
    assert_eq!(erases(&drive), [27, 2]);
    (0..5).for_each(|lot| {
        let read = request(Op::Read, lot * PAGES * PAGE, (PAGES * PAGE) as u32);
        one(&mut drive, read);
    });
}

/// The data block of each of the five logical blocks; that of logical block 0 is not looked for.
fn data_blocks(drive: &Drive) -> [u32; 5] {
    let block_of = |lot: u64| {
        let unit = (lot * PAGES) as u32;
        drive.kernel().map().place(unit).expect("it was written") / PAGES as u32
    };
    [0, 1, 2, 3, 4].map(block_of)
}

/// The block that the next overwrite of logical block 0 makes GC erase: its data block, beside the log block with the newest data. Its
/// pages are all that nobody wants any more.
fn stale_block(drive: &Drive) -> u32 {
    let is_stale = |(_, record): &(u32, &wordline_firmware::blocks::Block)| record.valid == 0 && record.write_point > 0;
    (0..).zip(drive.kernel().blocks().records()).find(is_stale).expect("the data block is stale").0
}

/// The blocks with so many P/E cycles that hold data of logical blocks 1 to 4, by logical block from the last on.
fn worn_blocks(drive: &Drive, wanted: u32) -> Vec<u32> {
    let worn = |block: &u32| cycles(drive)[*block as usize] == wanted;
    data_blocks(drive)[1..].iter().rev().copied().filter(worn).collect()
}

/// A drive of eighty blocks, of whose logical blocks a part is overwritten at random, some pages at a time.
fn worn(mapping: &str, wear: &str, seed: u64) -> Drive {
    let mut drive = empty((80, 1.6), mapping, wear);
    let plan = *drive.kernel().plan();
    let (units, bytes) = (u64::from(plan.logical_units), plan.unit_bytes);
    closed_loop(&mut drive, 1, units, |nth| request(Op::Write, nth * u64::from(bytes), bytes));
    let mut random = Stream::new(seed, "hot", 0);
    closed_loop(&mut drive, 4, 12_000, |_| {
        let first = random.below(units / 5);
        request(Op::Write, first * u64::from(bytes), bytes * (1 + random.below(3) as u32))
    });
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
    drive
}

fn deviation(drive: &Drive) -> f64 {
    let all = cycles(drive);
    let mean = all.iter().sum::<u32>() as f64 / all.len() as f64;
    (all.iter().map(|&erases| (f64::from(erases) - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt()
}

const MAPPINGS: [&str; 5] = [
    "policy = \"bast\"",
    "policy = \"sast\", group_blocks = 4, group_log_blocks = 4",
    "policy = \"fast\"",
    "policy = \"page\"",
    "policy = \"block\"",
];

/// The place of page mapping in the list, with which lazy wear leveling does not go.
const PAGE_MAPPING: usize = 3;

#[test]
fn blocks_wear_alike_with_every_mapping() {
    for mapping in MAPPINGS {
        let without = deviation(&worn(mapping, "policy = \"none\"", 3));
        if mapping != MAPPINGS[PAGE_MAPPING] {
            let drive = worn(mapping, "policy = \"lazy\", delta_cycles = 4.0", 3);
            let ([of_gc, by_wear], with) = (erases(&drive), deviation(&drive));
            let told = format!("{mapping}: deviation {without:.1} and {with:.1}, {of_gc} and {by_wear} erases");
            assert!(by_wear > 10 && by_wear * 5 < of_gc, "{told}");
            assert!(with < 0.1 * without, "{told}");
            assert!((drive.kernel().blocks().wear().1 - with).abs() < 1e-9);
            let leveling = drive.kernel().leveling().expect("it counts its sessions");
            assert_eq!([leveling.gc_erases, leveling.wear_erases], [of_gc, by_wear], "{told}");
        }
        for policy in ["recency\", erases_per_block = 4.0", "static\", start_cycles = 8, stop_cycles = 6"] {
            let drive = worn(mapping, &format!("policy = \"{policy}"), 3);
            let ([of_gc, by_wear], with) = (erases(&drive), deviation(&drive));
            let told =
                format!("{mapping} {policy}: deviation {without:.1} and {with:.1}, {of_gc} and {by_wear} erases");
            assert!(by_wear > 10 && by_wear * 2 < of_gc && with < without, "{told}");
        }
    }
}

/// The same drive with dual pool and a threshold of 2: at first the blocks with even numbers are in the hot pool.
#[test]
fn the_hot_pool_takes_the_data_of_the_cold_pool() {
    let mut drive = empty((10, 2.0), "policy = \"bast\"", "policy = \"dual-pool\", threshold_cycles = 2");
    (0..5).for_each(|lot| write(&mut drive, lot * PAGES, PAGES));
    // GC erases blocks 0, 5, 6, 7, 8, 9 in turn, one less than the overwrites. After two laps all six have two cycles: no more than the
    // threshold above blocks 1 and 3 of the cold pool.
    (0..13).for_each(|_| write(&mut drive, 0, PAGES));
    assert_eq!((cycles(&drive), erases(&drive)), (vec![2, 0, 0, 0, 0, 2, 2, 2, 2, 2], [12, 0]));
    // Block 0 comes to three: the data of logical block 1 leave block 1 for it.
    assert_eq!(stale_block(&drive), 0);
    write(&mut drive, 0, PAGES);
    assert_eq!((cycles(&drive), erases(&drive)), (vec![3, 1, 0, 0, 0, 2, 2, 2, 2, 2], [13, 1]));
    assert_eq!(data_blocks(&drive)[1..], [0, 2, 3, 4]);
    // So does block 5, which is in the cold pool: the most worn hot ones have two. It has had three erases, block 2 none: it is hot now.
    assert_eq!(stale_block(&drive), 5);
    write(&mut drive, 0, PAGES);
    assert_eq!((cycles(&drive), erases(&drive)), (vec![3, 1, 0, 0, 0, 3, 2, 2, 2, 2], [14, 1]));
    // Block 6 comes to three, and takes the data of logical block 3 from block 3.
    assert_eq!(stale_block(&drive), 6);
    write(&mut drive, 0, PAGES);
    assert_eq!((cycles(&drive), erases(&drive)), (vec![3, 1, 0, 1, 0, 3, 3, 2, 2, 2], [15, 2]));
    assert_eq!(data_blocks(&drive)[1..], [0, 2, 6, 4]);
    (0..5).for_each(|lot| {
        let read = request(Op::Read, lot * PAGES * PAGE, (PAGES * PAGE) as u32);
        one(&mut drive, read);
    });
}

/// Dual pool keeps the most worn blocks out of use; hot-cold swapping erases the most worn block for each swap (chang11, LCTES 2011, 2.4).
#[test]
fn pools_spare_the_most_worn_block_and_swaps_do_not() {
    for mapping in MAPPINGS {
        let most = |drive: &Drive| cycles(drive).into_iter().max().unwrap_or(0);
        let without = worn(mapping, "policy = \"none\"", 3);
        let [pools, swaps] = ["dual-pool", "hot-cold"]
            .map(|policy| worn(mapping, &format!("policy = \"{policy}\", threshold_cycles = 8"), 3));
        let told = [&without, &pools, &swaps].map(|drive| (deviation(drive), most(drive), erases(drive)));
        assert!(told[1..].iter().all(|&(_, _, [of_gc, by_wear])| by_wear > 10 && by_wear * 4 < of_gc), "{told:?}");
        assert!(told[1].0 < 0.3 * told[0].0, "{mapping}: {told:?}");
        // With page mapping data that stay share blocks with what GC moves, so that they leave the worn block again.
        assert!(told[1].1 < told[0].1 || mapping == MAPPINGS[PAGE_MAPPING], "{mapping}: {told:?}");
        assert!(told[2].0 < told[0].0 && told[2].1 > 2 * told[1].1, "{mapping}: {told:?}");
    }
}

/// A session of tuning ends when wear leveling has erased so many blocks; the threshold becomes the root of g times it times
/// 100 over -lambda.
#[test]
fn sessions_tune_the_threshold() {
    let tuning = "policy = \"lazy\", delta_cycles = 2.0, session_erases = 25, lambda_percent = -2.0";
    let drive = worn("policy = \"fast\"", tuning, 5);
    let leveling = drive.kernel().leveling().expect("it counts its sessions");
    assert!(leveling.sessions.len() >= 2, "{leveling:?}");
    let nexts = leveling.sessions.iter().skip(1).map(|session| session.delta).chain([leveling.delta]);
    for (session, next) in leveling.sessions.iter().zip(nexts) {
        assert!((next - (50.0 * session.overhead * session.delta).sqrt()).abs() < 1e-9, "{leveling:?}");
    }
    let counted: f64 = leveling.sessions.iter().map(|session| 25.0 / session.overhead).sum();
    assert!(counted <= leveling.gc_erases as f64 + 1e-6 && leveling.wear_erases / 25 == leveling.sessions.len() as u64);
}
