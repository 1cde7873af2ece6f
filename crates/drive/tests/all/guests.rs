//! Policies from outside the program: they decide like built-in ones, and an invalid decision ends the run with an
//! explanation.

mod members;

use crate::common::{closed_loop, request};
use members::{guest, ruled, Choice, Guest, Rule};
use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_base::{Op, Stream};
use wordline_drive::guests::{
    CacheView, Cause, Constraint, Maker, Occasion, Refusal, StageView, UpkeepView, VictimView, Waiting,
};
use wordline_drive::load::load_with;
use wordline_drive::precondition::precondition;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Drive, DriveConfig, Fault, Reason};

fn least(view: &VictimView<'_>, _: u64) -> Result<Option<u32>, Refusal> {
    let ranked: Vec<u32> = view.by_rank().collect();
    assert_eq!(ranked.len() as u32, view.ranked_count());
    assert!(ranked.iter().all(|&block| view.is_closed(block) && !view.is_on_busy_die(block)));
    assert!(ranked.windows(2).all(|pair| view.valid(pair[0]) <= view.valid(pair[1])));
    Ok(ranked.first().copied().filter(|&block| view.gains(block)))
}

const SHAPE: [&str; 8] = [
    "geometry.channels=1",
    "geometry.packages_per_channel=1",
    "geometry.dies_per_package=2",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=40",
    "geometry.pages_per_block=16",
    "precondition.fill=false",
    "precondition.overwrites=0",
];

fn config(sets: &[&str], guests: &[Arc<dyn Maker>]) -> Result<DriveConfig, String> {
    let sets: Vec<String> = SHAPE.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    load_with("demo", &sets, guests).map(|(loaded, _)| loaded.value).map_err(|error| error.to_string())
}

/// Overwrites the drive twice at random.
fn overwrite(drive: &mut Drive) -> Result<u64, Fault> {
    let (units, bytes) = (u64::from(drive.kernel().plan().logical_units), drive.kernel().plan().unit_bytes);
    let mut random = Stream::new(1, "guests", 0);
    for _ in 0..2 * units {
        if !drive.has_slot(0) {
            // It has stopped, and says why when it is drained.
            break;
        }
        let write = request(Op::Write, random.below(units) * u64::from(bytes), bytes);
        drive.submit(drive.now(), write).expect("a slot is free");
        while drive.step()? {}
        drive.completions().clear();
    }
    drive.drain()?;
    Ok(drive.kernel().state_hash())
}

fn outcome(sets: &[&str], guests: &[Arc<dyn Maker>]) -> Result<u64, String> {
    let mut drive = Drive::new(&config(sets, guests)?, 7).map_err(|error| error.to_string())?;
    overwrite(&mut drive).map_err(|fault| fault.to_string())
}

#[test]
fn a_guest_that_decides_as_a_member_does_comes_to_the_same() {
    let member = outcome(&["victim.policy=greedy"], &[]).expect("it runs");
    assert_eq!(outcome(&["victim.policy=guest"], &[guest("victim", least)]), Ok(member));
    let limited = ["victim.policy=greedy", "collect.blocks_per_die=1"];
    let member = outcome(&limited, &[]).expect("it runs");
    let limited = ["victim.policy=guest", "collect.blocks_per_die=1"];
    assert_eq!(outcome(&limited, &[guest("victim", least)]), Ok(member));
    // The preset's GC options belong to its policy, so all relevant ones are given for both.
    let steps = ["collect.scope=plane", "collect.reserve_blocks=1", "collect.start_blocks=3", "collect.stop_blocks=3"];
    let with = |policy: &'static str| [&[policy][..], &steps, &["collect.window_pages=8"]].concat();
    let member = outcome(&with("collect.policy=on-demand"), &[]).expect("it runs");
    assert_eq!(outcome(&with("collect.policy=guest"), &[guest("collect", least)]), Ok(member));
    let member = outcome(&["free_block.policy=least-erased"], &[]).expect("it runs");
    let wear = ["free_block.policy=guest", "free_block.below=1000000"];
    assert_eq!(outcome(&wear, &[guest("free_block", least)]), Ok(member));
    assert_ne!(outcome(&["free_block.policy=fifo"], &[]), Ok(member), "the choice matters here");
}

#[test]
fn a_guest_places_as_a_member_does() {
    // Two dies of two planes on one channel: static placement goes round the dies first.
    let fixed = Rule::Place(|_, page| Ok(Constraint::Plane([0, 2, 1, 3][page as usize % 4])));
    let anywhere = Rule::Place(|_, _| Ok(Constraint::Any));
    let more = [
        &[][..],
        &["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256", "pack.policy=planes"],
        &["dispatch.policy=one-queue", "processor.policy=uniform", "verify.shadow=true"],
    ];
    for (scope, policy, rule) in [
        ("collect.scope=plane", "placement.policy=static", fixed),
        ("collect.scope=plane", "placement.policy=least-busy", anywhere),
        ("collect.scope=drive", "placement.policy=least-busy", anywhere),
    ] {
        for sets in more {
            let member = outcome(&[&[scope, policy], sets].concat(), &[]).expect("it runs");
            let guests = [ruled("placement", rule)];
            assert_eq!(outcome(&[&[scope, "placement.policy=guest"], sets].concat(), &guests), Ok(member), "{policy}");
        }
    }
}

/// Answers that change from write to write fix nothing, whichever they are.
#[test]
fn a_guest_may_place_the_same_page_elsewhere() {
    let turns: Rule = Rule::Place(|asked, _| {
        Ok(match asked % 4 {
            0 => Constraint::Any,
            1 => Constraint::Channel(0),
            2 => Constraint::Die((asked / 4 % 2) as u32),
            _ => Constraint::Plane((asked / 4 % 4) as u32),
        })
    });
    for more in [
        &["mapping.unit_kib=4"][..],
        &["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256", "dispatch.policy=priority"],
        &["buffer.policy=fifo", "buffer.capacity_kib=256", "processor.policy=uniform", "pack.policy=cache"],
        &["mapping.unit_kib=4", "mapping.policy=cached", "mapping.cache_kib=4"],
    ] {
        let sets = ["placement.policy=guest", "collect.scope=plane", "verify.shadow=true"];
        outcome(&[&sets, more].concat(), &[ruled("placement", turns)]).expect("it runs");
    }
}

#[test]
fn a_place_of_no_use_ends_the_run_with_its_story() {
    let story = |rule| {
        let sets = ["placement.policy=guest", "collect.scope=plane"];
        outcome(&sets, &[ruled("placement", Rule::Place(rule))]).expect_err("it fails")
    };
    type Where = fn(u64, u32) -> Result<Constraint, Refusal>;
    for (rule, words) in [
        ((|_, _| Ok(Constraint::Plane(4))) as Where, " in plane 4, which does not exist: the drive has planes 0 to 3"),
        (|_, _| Ok(Constraint::Die(u32::MAX)), " in die 4294967295, which does not exist: the drive has dies 0 to 1"),
        (|_, _| Ok(Constraint::Channel(1)), " in channel 1, which does not exist: the drive has channels 0 to 0"),
        (|asked, _| if asked < 900 { Ok(Constraint::Any) } else { Err("lost".into()) }, ": lost"),
        (|_, _| Ok(Constraint::Plane(0)), "writes wait for room in places that it chose"),
    ] {
        let told = story(rule);
        assert!(told.starts_with("the policy 'guest' (placement), at "), "{told}");
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
    let guests = [ruled("placement", Rule::Place(|_, _| Ok(Constraint::Any)))];
    let sets = ["placement.policy=guest", "collect.scope=drive", "pack.policy=none"];
    for (others, words) in [
        (&["mapping.policy=block"][..], "it places single pages"),
        (&["redundancy.policy=superblock", "dispatch.policy=vaq"], "which orders writes by their places"),
    ] {
        let told = config(&[&sets, others].concat(), &guests).expect_err("it is refused");
        assert!(told.contains("placement.policy = guest") && told.contains(words), "{told}");
    }
}

/// Where blocks form superblocks, no place holds the drive up, and rows keep their parity.
#[test]
fn places_in_superblocks_are_wishes() {
    let turns: Rule = Rule::Place(|asked, page| {
        Ok(match asked % 5 {
            0 => Constraint::Any,
            1 => Constraint::Die(page % 2),
            _ => Constraint::Plane((asked / 900 % 4) as u32),
        })
    });
    let one = Rule::Place(|_, _| Ok(Constraint::Plane(2)));
    let anywhere = Rule::Place(|_, _| Ok(Constraint::Any));
    let sets = ["mapping.unit_kib=4", "collect.scope=drive", "capacity.raw_over_logical=3", "verify.shadow=true"];
    for more in [
        &["redundancy.policy=superblock"][..],
        &["redundancy.policy=rain"],
        &["redundancy.policy=rain", "dispatch.policy=one-queue", "dispatch.depth=2"],
        &["redundancy.policy=rain", "buffer.policy=fifo", "buffer.capacity_kib=256", "dispatch.policy=priority"],
        &["redundancy.policy=superblock", "processor.policy=uniform", "pack.policy=planes"],
    ] {
        let run = |rule| busy(&[&sets[..], &["placement.policy=guest"], more].concat(), &[ruled("placement", rule)]);
        let member = busy(&[&sets, more].concat(), &[]).expect("it runs");
        assert_eq!(run(anywhere), Ok(member), "{more:?}");
        for rule in [turns, one] {
            assert_ne!(run(rule).expect("it runs"), member, "the places matter here: {more:?}");
        }
    }
}

/// Writes and reads at random, with several under way.
fn busy(sets: &[&str], guests: &[Arc<dyn Maker>]) -> Result<(u64, u64), String> {
    let mut drive = Drive::new(&config(sets, guests)?, 7).map_err(|error| error.to_string())?;
    let (units, bytes) = (u64::from(drive.kernel().plan().logical_units), drive.kernel().plan().unit_bytes);
    let mut random = Stream::new(1, "guests", 0);
    for at in 0..4 * units {
        while !drive.has_slot(0) {
            if !drive.step().map_err(|fault| fault.to_string())? {
                break;
            }
            drive.completions().clear();
        }
        if !drive.has_slot(0) {
            break;
        }
        let op = if at < units || at % 3 > 0 { Op::Write } else { Op::Read };
        let unit = if at < units { at } else { random.below(units) };
        drive.submit(drive.now(), request(op, unit * u64::from(bytes), bytes)).expect("a slot is free");
    }
    drive.drain().map_err(|fault| fault.to_string())?;
    drive.kernel().audit().map_err(|fault| fault.to_string())?;
    Ok((drive.kernel().state_hash(), drive.now()))
}

#[test]
fn a_guest_serves_as_a_member_does() {
    let reads_first = Rule::Serve(|_, waiting| {
        let read = waiting.iter().position(|one| one.class.name() == Some("host-read"));
        let oldest = (0..waiting.len()).min_by_key(|&at| waiting[at].sequence);
        read.or(oldest).ok_or_else(|| "nothing waits".into())
    });
    for more in [&[][..], &["pack.policy=cache"], &["dispatch.policy=one-queue"], &["suspend.policy=reads"]] {
        let member = busy(&[&["arbiter.policy=reads-first"], more].concat(), &[]).expect("it runs");
        let guests = [ruled("arbiter", reads_first)];
        assert_eq!(busy(&[&["arbiter.policy=guest"], more].concat(), &guests), Ok(member), "{more:?}");
        assert_ne!(busy(&[&["arbiter.policy=priority"], more].concat(), &[]), Ok(member), "the choice matters here");
    }
}

#[test]
fn an_operation_that_does_not_wait_cannot_be_served() {
    type Serves = fn(u64, &[Waiting]) -> Result<usize, Refusal>;
    for (rule, words) in [
        ((|_, waiting| Ok(waiting.len())) as Serves, "which does not exist: operations 0 to "),
        (|_, _| Ok(usize::MAX), "it chose operation 18446744073709551615, which does not exist"),
        (|asked, _| if asked < 20 { Ok(1) } else { Err("lost".into()) }, ": lost"),
    ] {
        let told = busy(&["arbiter.policy=guest"], &[ruled("arbiter", Rule::Serve(rule))]).expect_err("it fails");
        assert!(told.starts_with("the policy 'guest' (arbiter), at ") && told.contains(words), "{told}");
    }
    // The newest of all, for ever: nothing is refused, and all is served in the end.
    let newest = Rule::Serve(|_, waiting| {
        (0..waiting.len()).max_by_key(|&at| waiting[at].sequence).ok_or_else(|| "nothing waits".into())
    });
    busy(&["arbiter.policy=guest", "verify.shadow=true"], &[ruled("arbiter", newest)]).expect("it runs");
}

#[test]
fn a_guest_sends_as_a_member_does() {
    let in_order = Rule::Send(|_, view| {
        let oldest = (0..view.staged.len()).min_by_key(|&at| view.staged[at].sequence);
        Ok(oldest.filter(|&at| view.staged[at].die.is_some()))
    });
    for more in [
        &["dispatch.depth=2"][..],
        &["collect.scope=plane", "placement.policy=static"],
        &["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256", "verify.shadow=true"],
        &["processor.policy=uniform", "mapping.policy=cached", "mapping.cache_kib=16"],
    ] {
        let member = busy(&[&["dispatch.policy=one-queue"], more].concat(), &[]).expect("it runs");
        let guests = [ruled("dispatch", in_order)];
        assert_eq!(busy(&[&["dispatch.policy=guest"], more].concat(), &guests), Ok(member), "{more:?}");
        assert_ne!(busy(&[&["dispatch.policy=priority"], more].concat(), &[]), Ok(member), "the choice matters here");
    }
}

/// Whatever a guest sends that has a die, and in whatever order, all is served in the end.
#[test]
fn a_guest_may_send_any_operation_with_a_die() {
    let some = Rule::Send(|asked, view| {
        let goes: Vec<usize> = (0..view.staged.len()).filter(|&at| view.staged[at].die.is_some()).collect();
        Ok(goes.get(asked as usize * 7919 % goes.len().max(1)).copied())
    });
    for more in [
        &["dispatch.depth=1"][..],
        &["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256", "pack.policy=cache"],
        &["mapping.policy=block", "pack.policy=none", "placement.policy=least-busy", "collect.scope=drive"],
        &["redundancy.policy=superblock", "collect.scope=drive", "placement.policy=least-busy", "pack.policy=none"],
    ] {
        let sets = ["dispatch.policy=guest", "verify.shadow=true", "capacity.raw_over_logical=1.6"];
        busy(&[&sets, more].concat(), &[ruled("dispatch", some)]).expect("it runs");
    }
}

#[test]
fn an_operation_that_cannot_go_ends_the_run_with_its_story() {
    type Sends = fn(u64, &StageView<'_>) -> Result<Option<usize>, Refusal>;
    let story = |rule| busy(&["dispatch.policy=guest"], &[ruled("dispatch", Rule::Send(rule))]).expect_err("it fails");
    for (rule, words) in [
        ((|_, view| Ok(Some(view.staged.len()))) as Sends, "which does not exist: operations 0 to 0 are staged"),
        (|_, view| Ok(view.staged.iter().position(|one| one.die.is_none()).or(Some(0))), "which has no die with room"),
        (
            |asked, view| {
                if asked < 20 {
                    Ok(view.staged.iter().position(|one| one.die.is_some()))
                } else {
                    Err("lost".into())
                }
            },
            ": lost",
        ),
        (|_, _| Ok(None), "whose dies have room for them"),
    ] {
        let told = story(rule);
        assert!(told.starts_with("the policy 'guest' (dispatch), at "), "{told}");
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
    let guests = [ruled("dispatch", Rule::Send(|_, _| Ok(None)))];
    let refused = |more: &str| config(&["dispatch.policy=guest", more], &guests).expect_err("it is refused");
    for depth in ["dispatch.depth=0", "dispatch.depth=65536", "dispatch.depth=-4"] {
        let told = refused(depth);
        assert!(told.contains("dispatch.depth = ") && told.contains(": must be 1 to 65,535"), "{told}");
    }
    let told = refused("shares.policy=feedback");
    assert!(told.contains("has no effect: dispatch.policy = \"guest\" takes no shares"), "{told}");
}

const CACHE: [&str; 3] = ["mapping.unit_kib=4", "mapping.cache_kib=8", "verify.shadow=true"];

#[test]
fn a_guest_lets_map_units_leave_as_a_member_does() {
    let oldest = Rule::Leave(|_, view| Ok(view.oldest[0].0));
    let newest = Rule::Leave(|_, view| Ok(view.oldest[view.oldest.len() - 1].0));
    for more in [&[][..], &["dispatch.policy=priority"], &["collect.scope=plane", "placement.policy=static"]] {
        let sets = [&CACHE, more].concat();
        let member = busy(&[&["mapping.policy=cached"], &sets[..]].concat(), &[]).expect("it runs");
        let as_guest = |rule| busy(&[&["mapping.policy=guest"], &sets[..]].concat(), &[ruled("mapping", rule)]);
        assert_eq!(as_guest(oldest), Ok(member), "{more:?}");
        assert_ne!(as_guest(newest).expect("it runs"), member, "the choice matters here");
    }
}

#[test]
fn a_map_unit_that_memory_lacks_cannot_leave() {
    type Leaves = fn(u64, &CacheView<'_>) -> Result<u32, Refusal>;
    for (rule, words) in [
        ((|_, view| Ok(view.coming)) as Leaves, ", which memory does not hold"),
        (|_, _| Ok(u32::MAX), "it chose map unit 4294967295, which memory does not hold"),
        (|asked, view| if asked < 20 { Ok(view.oldest[0].0) } else { Err("lost".into()) }, ": lost"),
    ] {
        let sets = [&["mapping.policy=guest"][..], &CACHE].concat();
        let told = busy(&sets, &[ruled("mapping", Rule::Leave(rule))]).expect_err("it fails");
        assert!(told.starts_with("the policy 'guest' (mapping), at ") && told.contains(words), "{told}");
    }
}

/// The most-read block with data, from 24 reads on.
fn most_read(_: u64, view: &UpkeepView<'_>) -> Result<Option<u32>, Refusal> {
    let most = view.written().max_by_key(|&block| (view.reads(block), u32::MAX - block));
    Ok(most.filter(|&block| view.reads(block) >= 24))
}

#[test]
fn a_guest_moves_blocks_as_a_member_does() {
    let scrub = ["refresh.policy=scrub", "refresh.start_reads=24", "refresh.stop_reads=24"];
    let guests = [ruled("refresh", Rule::Move(Occasion::Reads(24), most_read))];
    for more in [
        &[][..],
        &["refresh.window_pages=3", "collect.scope=drive", "placement.policy=least-busy"],
        &["dispatch.policy=debit", "shares.policy=feedback", "verify.shadow=true"],
    ] {
        let member = busy(&[&scrub, more].concat(), &[]).expect("it runs");
        assert_eq!(busy(&[&["refresh.policy=guest"], more].concat(), &guests), Ok(member), "{more:?}");
        assert_ne!(busy(more, &[]), Ok(member), "blocks were moved: {more:?}");
    }
}

/// Whatever a guest moves, the data stay whole, and the drive comes to rest.
#[test]
fn a_guest_may_move_any_block_with_data() {
    let some: fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal> = |asked, view| {
        let blocks: Vec<u32> = view.written().collect();
        let chosen = blocks.get(asked as usize * 7919 % blocks.len().max(1)).copied();
        Ok(chosen.filter(|_| asked % 3 == 0))
    };
    // Where several blocks move at once, each read and each erase may ask for more: these two rules come to an end.
    let worn_by_reads: fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal> =
        |_, view| Ok(view.written().find(|&block| view.reads(block) >= 5));
    let young: fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal> = |_, view| {
        let most = view.in_use().map(|block| view.erases(block)).max().unwrap_or(0);
        Ok(view.written().find(|&block| view.erases(block) + 1 < most))
    };
    for more in [
        &[][..],
        &["mapping.policy=block", "pack.policy=none", "placement.policy=least-busy", "collect.scope=drive"],
        &["mapping.unit_kib=4", "collect.scope=plane", "buffer.policy=fifo", "buffer.capacity_kib=256"],
        &["redundancy.policy=superblock", "collect.scope=drive", "placement.policy=least-busy", "pack.policy=none"],
    ] {
        for (family, occasion) in [("wear", Occasion::Erase), ("refresh", Occasion::Reads(5))] {
            let (policy, several) = (format!("{family}.policy=guest"), format!("{family}.blocks_at_once=3"));
            let without = [&["verify.shadow=true", "capacity.raw_over_logical=1.6"], more].concat();
            let guests = [ruled(family, Rule::Move(occasion, some))];
            let moved = busy(&[&without[..], &[&policy]].concat(), &guests).expect("it runs");
            assert_ne!(Ok(moved), busy(&without, &[]), "blocks were moved: {family} {more:?}");
            let rule = if family == "wear" { young } else { worn_by_reads };
            let guests = [ruled(family, Rule::Move(occasion, rule))];
            let alone = busy(&[&without[..], &[&policy]].concat(), &guests).expect("it runs");
            let together = busy(&[&without[..], &[&policy, &several]].concat(), &guests).expect("it runs");
            assert_ne!(alone, together, "several at a time: {family} {more:?}");
        }
    }
}

#[test]
fn a_block_that_cannot_be_moved_ends_the_run_with_its_story() {
    type Moves = fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal>;
    let story = |family, rule: Moves| {
        let policy = format!("{family}.policy=guest");
        busy(&[&policy], &[ruled(family, Rule::Move(Occasion::Erase, rule))]).expect_err("it fails")
    };
    let free: Moves = |_, view| Ok(view.in_use().find(|&block| view.is_free(block)));
    let first: Moves = |_, view| Ok(view.written().next());
    for (rule, words) in [
        ((|_, _| Ok(Some(160))) as Moves, "it chose block 160, which does not exist: the drive has blocks 0 to 159"),
        (free, "which cannot be moved: its state is Free"),
        (|asked, _| if asked < 20 { Ok(None) } else { Err("lost".into()) }, ": lost"),
        // The drive would never be idle again.
        (first, "it chose 321 blocks while the host wrote and read nothing; answer None in time"),
    ] {
        for family in ["refresh", "wear"] {
            let told = story(family, rule);
            assert!(told.starts_with(&format!("the policy 'guest' ({family}), at ")), "{told}");
            assert!(told.contains(words), "'{words}' is not in: {told}");
        }
    }
}

#[test]
fn the_section_of_a_guest_that_moves_blocks_is_checked() {
    let never: fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal> = |_, _| Ok(None);
    let told = |occasion, sets: &[&str]| {
        let sets = [&["wear.policy=guest"], sets].concat();
        config(&sets, &[ruled("wear", Rule::Move(occasion, never))]).map(drop).expect_err("it is refused")
    };
    for window in ["wear.window_pages=0", "wear.window_pages=65536", "wear.window_pages=-1"] {
        let told = told(Occasion::Erase, &[window]);
        assert!(told.contains("wear.window_pages = ") && told.contains(": must be 1 to 65,535"), "{told}");
    }
    for blocks in ["wear.blocks_at_once=0", "wear.blocks_at_once=1001", "wear.blocks_at_once=4294967297"] {
        let told = told(Occasion::Erase, &[blocks]);
        assert!(told.contains("wear.blocks_at_once = ") && told.contains(": must be 1 to 1,000"), "{told}");
    }
    let few = told(Occasion::Reads(0), &[]);
    assert!(few.contains("it wants to be asked from 0 page reads on; at least 1 is needed"), "{few}");
    let shared = told(Occasion::Erase, &["collect.into=shared-block", "collect.scope=plane"]);
    assert!(shared.contains("collect.into = shared-block: does not go with wear leveling"), "{shared}");
    // One that is never asked is no task.
    let guests = [ruled("wear", Rule::Move(Occasion::Never, never))];
    let idle = config(&["wear.policy=guest"], &guests).expect("accepted");
    assert_eq!(Drive::new(&idle, 7).expect("accepted").kernel().tasks().iter().count(), 2);
}

#[test]
fn a_rank_that_is_not_given_ends_the_run_wherever_it_is_asked_for() {
    let guests = [guest("free_block", least)];
    let told = |ranks: &str| {
        let sets = ["free_block.policy=guest", ranks];
        outcome(&sets, &guests).expect_err("it fails")
    };
    // The drive has 160 blocks: it asks about the first when the drive is built, about the last before anything is
    // erased.
    for ranks in ["free_block.below=0", "free_block.below=159"] {
        assert_eq!(told(ranks), "the policy 'guest' (free_block), at 0.000000 s: tired");
    }
    let later = told("free_block.below=170");
    assert!(later.ends_with(": tired") && !later.contains("at 0.000000 s"), "{later}");

    // A drive with another's state asks again about the free blocks.
    let mut worn = Drive::new(&config(&[], &[]).expect("accepted"), 7).expect("accepted");
    overwrite(&mut worn).expect("it runs");
    let free = worn.kernel().blocks().free_blocks();
    for (ranks, holds) in [(160 + free, true), (160 + free - 1, false)] {
        let ranks = format!("free_block.below={ranks}");
        let config = config(&["free_block.policy=guest", &ranks], &guests).expect("accepted");
        let mut drive = Drive::new(&config, 7).expect("accepted");
        drive.adopt(&worn).expect("of one shape");
        assert_eq!(drive.kernel().complaint().is_none(), holds);
        assert_eq!(drive.drain().is_ok(), holds);
    }
}

#[test]
fn what_a_guest_may_not_choose_ends_the_run_with_its_story() {
    let story = |choice: Choice| {
        outcome(&["victim.policy=guest", "collect.scope=plane"], &[guest("victim", choice)]).expect_err("it fails")
    };
    let free: Choice = |view, _| Ok((0..40).map(|n| view.domain() * 40 + n).find(|&block| !view.is_closed(block)));
    let full: Choice = |view, _| Ok(view.by_rank().last());
    for (choice, words) in [
        (
            (|_, _| Ok(Some(u32::MAX))) as Choice,
            "it chose block 4294967295, which does not exist: the drive has blocks 0 to 159",
        ),
        (|view, _| Ok(Some((view.domain() * 40 + 40) % 160)), "a block of domain "),
        (free, "which is not closed: its state is "),
        (full, "which gains no page: 6"),
        (|_, _| Ok(None), "it chose no block, though "),
        (|_, asked| if asked < 5 { Err("no idea".into()) } else { Ok(None) }, ": no idea"),
    ] {
        let told = story(choice);
        assert!(told.starts_with("the policy 'guest' (victim), at "), "{told}");
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
    let told = outcome(&["collect.policy=guest", "collect.below=0"], &[guest("collect", least)]).expect_err("it stops");
    assert!(
        told.contains("the policy 'guest' (collect), at ") && told.contains("did not start garbage collection"),
        "{told}"
    );
}

#[test]
fn an_interrupt_while_a_guest_decides_is_no_failure_of_it() {
    let stop: Choice = |view, asked| {
        let stopped = Refusal { story: "stopped".into(), interrupted: true, cause: Some(Cause::new(asked)) };
        if asked < 5 {
            least(view, asked)
        } else {
            Err(stopped)
        }
    };
    let mut config = config(&["victim.policy=guest"], &[guest("victim", stop)]).expect("accepted");
    let mut drive = Drive::new(&config, 7).expect("accepted");
    let fault = overwrite(&mut drive).expect_err("it is interrupted");
    assert!(fault.is_interrupt() && fault.to_string().ends_with(": stopped"), "{fault}");
    let Reason::Policy { trouble, .. } = fault.reason() else { unreachable!("it is one of a policy") };
    assert_eq!(trouble.cause.as_ref().and_then(Cause::get::<u64>), Some(&5));
    // The guest is not asked again: its last answer is missing.
    assert_eq!(overwrite(&mut drive).expect_err("it has ended"), fault);

    (config.precondition.fill, config.precondition.overwrites) = (true, 2.0);
    let mut drive = Drive::new(&config, 7).expect("accepted");
    let units = u64::from(drive.kernel().plan().logical_units);
    let done = precondition(&mut drive, &config.precondition, 7, &mut |_| true).expect("it is interrupted");
    assert!(done.interrupted && done.filled_units == units && (1..2 * units).contains(&done.random_units), "{done:?}");
}

#[test]
fn a_forked_drive_has_a_guest_of_its_own() {
    let guests = [guest("victim", |view, asked| if asked > 20 { Err("tired".into()) } else { least(view, asked) })];
    let mut drive = Drive::new(&config(&["victim.policy=guest"], &guests).expect("accepted"), 7).expect("accepted");
    let fork = drive.clone();
    assert!(overwrite(&mut drive).is_err());
    // The second's count started where the first was at the fork: at zero.
    let mut again = fork.clone();
    assert_eq!(
        overwrite(&mut again).map_err(|f| f.to_string()),
        overwrite(&mut fork.clone()).map_err(|f| f.to_string())
    );
}

#[test]
fn its_section_is_checked_like_any_other() {
    let refused = |sets: &[&str], guests: &[Arc<dyn Maker>]| config(sets, guests).expect_err("it is refused");
    let both = [guest("collect", least)];
    for (sets, guests, words) in [
        (&["collect.policy=guest", "collect.belov=1"][..], &both[..], "did you mean 'collect.below'?"),
        (&["collect.policy=guest", "collect.below=x"], &both, "expected an integer"),
        (&["collect.policy=guest", "collect.stop_blocks=1"], &both, "the thresholds are crossed"),
        (&["collect.policy=gest"], &both, "guest"),
        (&["collect.policy=guest"], &[], "on-demand"),
        (&["collect.below=1"], &both, "it is an option of policy 'guest'"),
        (&[], &[guest("victim", least), guest("victim", least)], "two policies of the family have this name"),
    ] {
        let told = refused(sets, guests);
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
    let taken: Arc<dyn Maker> =
        Arc::new(Guest { family: "victim", name: "greedy", choice: least, options: Map::default() });
    assert!(refused(&[], &[taken]).contains("a policy of this name comes with the program"));
    let resolved = serde_json::to_value(config(&["collect.policy=guest"], &both).expect("accepted")).expect("is JSON");
    // The scope is that of the drive below, whose policy has it, too.
    assert_eq!(resolved["collect"], json!({"policy": "guest", "scope": "drive", "below": 3}));
}

/// A guest of `collect` only decides when: its section has the steps.
#[test]
fn all_steps_of_garbage_collection_hold_for_a_guest() {
    let guests = [guest("collect", least), guest("victim", least)];
    let paced = |pacing: &str| {
        let config = config(&["collect.policy=guest", "arbiter.policy=first-come", pacing], &guests).expect("accepted");
        Drive::new(&config, 7).expect("accepted").kernel().plan().paced
    };
    assert!(paced("collect.pacing=true") && !paced("collect.pacing=false"));
}

#[test]
fn a_snapshot_keeps_the_name_and_the_data() {
    let guests = [guest("victim", least)];
    let config = config(&["victim.policy=guest"], &guests).expect("accepted");
    let mut drive = Drive::new(&config, 7).expect("accepted");
    overwrite(&mut drive).expect("it runs");
    let header = Header {
        version: "test".into(),
        config: serde_json::to_value(&config).expect("is JSON"),
        seed: 7,
        precondition: Value::Null,
    };
    let path = std::env::temp_dir().join(format!("wordline-guest-{}.snapshot", std::process::id()));
    snapshot::save(&path, &header, &drive).expect("it is saved");
    let (_, mut loaded) = snapshot::load(&path, &config, 7).expect("it is loaded");
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(loaded.kernel().state_hash(), drive.kernel().state_hash());
    overwrite(&mut loaded).expect("the guest decides again");
    closed_loop(&mut loaded, 1, 10, |_| request(Op::Write, 0, 4096));
}
