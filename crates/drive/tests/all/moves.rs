//! Where moved data go: a worked example by hand, and what a wish must not cost: progress, space, data.

use crate::common::holder::{hold_and_place, Wish};
use crate::common::random_drive::random_config;
use crate::common::{between, chance, closed_loop, config, for_seeds, one, request};
use std::fmt::Write;
use wordline_base::{Op, Stream};
use wordline_drive::guests::Target;
use wordline_drive::load::from_text;
use wordline_drive::{Drive, DriveConfig, Task};
use wordline_firmware::task::{Action, Class};
use wordline_firmware::Wished;

const PAGE: u32 = 4096;
const PAGES: u64 = 16;

/// Two channels of a die each, of a plane, that start GC below 14 of 24 free blocks, with the block that was full first.
fn text(collect: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 12, pages_per_block = {PAGES}, page_kib = 4 }}
        capacity = {{ raw_over_logical = 6.0 }}
        placement = {{ policy = "least-busy" }}
        victim = {{ policy = "fifo" }}
        collect = {{ policy = "on-demand", scope = "drive", start_blocks = 14, {collect} }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        "#
    )
}

/// Pages programmed in each channel so far.
fn programmed(drive: &Drive) -> [u64; 2] {
    [0_u32, 1].map(|plane| {
        let record = |block| drive.kernel().flash().block_record(plane * 12 + block);
        (0..12).map(record).map(|block| u64::from(block.erases) * PAGES + u64::from(block.next_page)).sum()
    })
}

/// The host writes page by page, to one channel and the other in turn. So even pages lie in channel 0, in blocks 0 and 1, and odd ones in
/// channel 1, in blocks 12 and 13. 96 writes fill six more blocks, and leave four valid pages in block 0, three in block 12 and six in
/// block 1. The next write opens a block, so that 13 are free. With a block that GC opens in each channel it takes three victims to
/// have 14 again: block 0, 12 and 1, with 10 pages of channel 0 and 3 of channel 1.
fn collected(collect: &str) -> [u64; 2] {
    let mut drive = Drive::new(&config(&text(collect)), 1).expect("it is accepted");
    let mut write = |number: u64| {
        one(&mut drive, request(Op::Write, number * u64::from(PAGE), PAGE));
    };
    (0..4 * PAGES).for_each(&mut write);
    (0..12).for_each(|nth| write(2 * nth));
    (0..13).for_each(|nth| write(2 * nth + 1));
    (0..10).for_each(|nth| write(32 + 2 * nth));
    (0..61).for_each(|_| write(0));
    assert_eq!((drive.kernel().counters().collections(), drive.kernel().blocks().free_blocks()), (0, 14));
    let valid = |block: usize| drive.kernel().blocks().records()[block].valid;
    assert_eq!([0, 12, 1].map(valid), [4, 3, 6]);
    let before = programmed(&drive);
    assert_eq!(before, [5 * PAGES; 2]);
    one(&mut drive, request(Op::Write, 0, PAGE));
    drive.drain().expect("the drive comes to rest");
    let counters = *drive.kernel().counters();
    assert_eq!((counters.collections(), counters.moved_units()), (3, 13));
    assert_eq!(drive.kernel().wished().without_room + drive.kernel().wished().without_company, 0);
    drive.kernel().audit().expect("the books balance");
    let after = programmed(&drive);
    // The host's page is in channel 0.
    [after[0] - before[0] - 1, after[1] - before[1]]
}

#[test]
fn moved_data_stay_in_their_channel() {
    assert_eq!(collected("moves_to = \"same-channel\""), [10, 3]);
    assert_eq!(collected("moves_to = \"same-die\""), [10, 3]);
    let anywhere = collected("moves_to = \"any-die\"");
    assert_eq!(anywhere.iter().sum::<u64>(), 13);
    assert_ne!(anywhere, [10, 3]);
}

/// Four dies of two planes each, with four mapping units in a page.
fn larger(collect: &str, rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
            blocks_per_plane = 20, pages_per_block = 16, page_kib = 16 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ scope = "drive", {collect} }}
        verify = {{ shadow = true }}
        {rest}
        "#
    )
}

/// Random writes of one mapping unit, several times the capacity; then all is read, and the books are checked.
fn churn(config: &DriveConfig, seed: u64) -> (Drive, Wished) {
    let mut drive = Drive::new(config, seed).expect("it is accepted");
    let units = drive.logical_bytes() / 4096;
    let mut random = Stream::new(seed, "places", 0);
    closed_loop(&mut drive, 16, 4 * units, |_| request(Op::Write, random.below(units) * 4096, 4096));
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    closed_loop(&mut drive, 16, units, |nth| request(Op::Read, nth * 4096, 4096));
    drive.drain().expect("the drive comes to rest");
    let wished = drive.kernel().wished();
    assert!(drive.kernel().counters().collections() > 50);
    (drive, wished)
}

/// Most units find company and room, and no more of pages stays empty.
#[test]
fn wishes_are_kept_beside_units_that_fill_no_page() {
    for policy in ["on-demand", "preemptive"] {
        for stage in
            ["", "dispatch = { policy = \"one-queue\", depth = 2 }", "pack = { policy = \"planes\", gather = true }"]
        {
            let window = if policy == "preemptive" { "window_pages = 2" } else { "window_pages = 8" };
            let run = |to: &str| {
                let collect = format!("policy = \"{policy}\", {window}, moves_to = \"{to}\"");
                churn(&config(&larger(&collect, stage)), 1)
            };
            let (usual, nothing) = run("any-die");
            assert_eq!(nothing, Wished::default());
            // Four units fill a page.
            let padded = |drive: &Drive| {
                let counters = drive.kernel().counters();
                4 * counters.ops[Class::new(Task::GC, Action::Program).index()] - counters.moved[Task::GC.index()]
            };
            for to in ["same-channel", "same-die"] {
                let (drive, wished) = run(to);
                let kept = wished.units - wished.without_room - wished.without_company;
                assert!(kept * 10 > wished.units * 6, "{policy}, {stage}: {wished:?}");
                assert!(padded(&drive) <= padded(&usual) + wished.units / 100);
            }
        }
    }
}

/// A policy that sends all data to one die, or each unit to another: what finds no room or no company there goes anywhere.
#[test]
fn a_wish_that_cannot_be_kept_stops_nothing() {
    type Seen = fn(&Wished) -> bool;
    let wishes: [(Wish, Seen); 3] = [
        (|_, _, _| Target::Die(3), |wished| wished.without_room > 1_000),
        (|view, (_, dies), _| Target::Die(view.unit % dies), |wished| wished.without_company > 1_000),
        (
            |_, (channels, _), random| Target::Channel(random.below(channels.into()) as u32),
            |wished| wished.units > 1_000,
        ),
    ];
    let stages =
        ["", "dispatch = { policy = \"one-queue\", depth = 1 }", "dispatch = { policy = \"debit\", depth = 2 }"];
    for (wish, is_seen) in wishes {
        for stage in stages {
            // The window holds no more than fills a page.
            let mut config = config(&larger("policy = \"on-demand\", window_pages = 1, pacing = true", stage));
            hold_and_place(&mut config, None, Some(wish));
            let (_, wished) = churn(&config, 2);
            assert!(is_seen(&wished), "{stage}: {wished:?}");
        }
    }
}

/// A victim on hold brings no company, and what waits for it is no reason to stand still.
#[test]
fn wishes_and_holds_go_together() {
    for_seeds("moves", "wishes_and_holds_go_together", 12, |seed| {
        let mut config = config(&larger("policy = \"on-demand\", window_pages = 1, blocks_at_a_time = 4", ""));
        let wish: Wish = |_, (_, dies), random| Target::Die(random.below(dies.into()) as u32);
        hold_and_place(&mut config, Some(|_, random| chance(random, 30)), Some(wish));
        let (drive, wished) = churn(&config, seed);
        assert!(drive.kernel().counters().holds > 100 && wished.units > 1_000);
    });
}

/// Who is asked, and always answers any die, changes nothing.
#[test]
fn to_be_asked_changes_nothing() {
    for_seeds("moves", "to_be_asked_changes_nothing", 60, |seed| {
        let random = &mut Stream::new(seed, "asked", 0);
        let fits = |config: &DriveConfig| {
            let text = format!("{:?}", config.firmware.collect);
            text.contains("SameChannel") || text.contains("SameDie")
        };
        let Some(config) = random_config(random).filter(fits) else { return };
        let after = |wish: Option<Wish>| {
            let mut config = config.clone();
            hold_and_place(&mut config, None, Some(|_, _, _| Target::Any));
            if wish.is_none() {
                hold_and_place(&mut config, None, None);
            }
            let mut drive = Drive::new(&config, seed).expect("it is accepted");
            let sectors = drive.logical_bytes() / 512;
            let mut random = Stream::new(seed, "places", 0);
            let mut next = |_| {
                let (op, at) = (if random.below(4) == 0 { Op::Read } else { Op::Write }, random.below(sectors));
                request(op, at * 512, (512 * between(&mut random, 1, 64.min(sectors - at))) as u32)
            };
            closed_loop(&mut drive, 16, 600, &mut next);
            drive.drain().expect("the drive comes to rest");
            (drive.now(), drive.kernel().state_hash(), *drive.kernel().counters())
        };
        assert_eq!(after(None), after(Some(|_, _, _| Target::Any)));
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |collect: &str, more: &str| {
        let mut text = text("").replace("scope = \"drive\", start_blocks = 14, ", collect);
        writeln!(text, "{more}").expect("a text takes all");
        from_text("test", &text).expect_err("it is refused").to_string()
    };
    for (collect, more, words) in [
        ("moves_to = \"same-die\"", "", "collect.moves_to = same-die: needs collect.scope = \"drive\""),
        ("scope = \"drive\", moves_to = \"same-die\", copyback = \"internal\"", "", "use \"off\", or use \"any-die\""),
        ("scope = \"drive\", moves_to = \"same-die\"", "mapping = { policy = \"block\" }", "use \"page\""),
        ("scope = \"drive\", moves_to = \"same-plane\"", "", "any-die, same-channel, same-die"),
    ] {
        let told = refused(collect, more);
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
}

/// An answer beyond the drive ends the run with the policy's name and what there is.
#[test]
fn places_that_do_not_exist_end_the_run() {
    for (wish, words) in [
        ((|_, (_, dies), _| Target::Die(dies)) as Wish, "to die 4, which does not exist: the drive has dies 0 to 3"),
        (
            |_, (channels, _), _| Target::Channel(channels + 5),
            "to channel 7, which does not exist: the drive has channels 0 to 1",
        ),
    ] {
        let mut config = config(&larger("policy = \"on-demand\"", ""));
        hold_and_place(&mut config, None, Some(wish));
        let mut drive = Drive::new(&config, 1).expect("it is accepted");
        let mut random = Stream::new(1, "places", 0);
        let units = drive.logical_bytes() / 4096;
        let told = loop {
            let arrival = drive.now();
            drive.submit(arrival, request(Op::Write, random.below(units) * 4096, 4096)).expect("there is a slot");
            let ended = loop {
                match drive.step() {
                    Ok(true) => {}
                    Ok(false) => break None,
                    Err(fault) => break Some(fault.to_string()),
                }
            };
            drive.completions().clear();
            if let Some(told) = ended {
                break told;
            }
        };
        assert!(told.contains("holder") && told.contains(words), "'{words}' is not in: {told}");
    }
}
