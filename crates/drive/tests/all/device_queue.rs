//! The device queue on drives seen from outside: the worked examples of jung13, chapter 6, and requests that depend on
//! each other.

use crate::common::{for_seeds, request, watched_loop, US};
use serde_json::Map;
use serde_json::Value;
use std::sync::Arc;
use wordline_base::{Op, Stream, Time};
use wordline_drive::guests::{Build, Constraint, GuestPlacement, Maker, Refusal, Tells};
use wordline_drive::load::load_with;
use wordline_drive::Drive;

/// Puts each logical page into the plane of a list; pages behind its end go to the planes in turn.
#[derive(Clone, Debug)]
struct Listed(&'static [u32]);

impl Tells for Listed {}

impl GuestPlacement for Listed {
    fn place(&mut self, page: u32, _: Option<u32>) -> Result<Constraint, Refusal> {
        let plane = self.0.get(page as usize).copied().unwrap_or(page % PLANES);
        Ok(Constraint::Plane(plane))
    }

    fn fork(&self) -> Box<dyn GuestPlacement> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct List {
    planes: &'static [u32],
    options: Map<String, Value>,
}

impl Maker for List {
    fn family(&self) -> &str {
        "placement"
    }

    fn name(&self) -> &str {
        "listed"
    }

    fn summary(&self) -> &str {
        "a plane for each page"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn placement(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestPlacement>, String> {
        Ok(Box::new(Listed(self.planes)))
    }
}

/// Four channels of two packages of four dies of two planes.
const PLANES: u32 = 64;
const BLOCKS: u32 = 16;

/// The plane of a channel, package, die and plane, all counted from 1.
const fn plane(channel: u32, package: u32, die: u32, plane: u32) -> u32 {
    (((channel - 1) * 2 + package - 1) * 4 + die - 1) * 2 + plane - 1
}

/// A drive whose reads take 400 µs and whose bus takes next to nothing. Its first pages are in the planes given, in the order of
/// their numbers.
fn listed(planes: &'static [u32], dispatch: &str, pack: &str) -> Drive {
    let sets = [
        "geometry.channels=4",
        "geometry.packages_per_channel=2",
        "geometry.dies_per_package=4",
        "geometry.planes_per_die=2",
        "geometry.blocks_per_plane=16",
        "capacity.raw_over_logical=1.8",
        "geometry.pages_per_block=16",
        "geometry.page_kib=4",
        "nand.read_us=400.0",
        "precondition.fill=false",
        "precondition.overwrites=0",
        "buffer.policy=none",
        "collect.scope=drive",
        "placement.policy=listed",
        "verify.shadow=true",
        &format!("pack.policy={pack}"),
    ];
    let mut sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    sets.extend(dispatch.split(' ').map(|set| format!("dispatch.{set}")));
    let maker: Arc<dyn Maker> = Arc::new(List { planes, options: Map::new() });
    let config = load_with("demo", &sets, &[maker]).expect("it is valid").0.value;
    let mut drive = Drive::new(&config, 1).expect("it was checked");
    let count = planes.len() as u64;
    let page = page_bytes(&drive);
    watched_loop(&mut drive, 1, count, |nth| request(Op::Write, nth * page, page as u32), |_| {});
    drive
}

fn page_bytes(drive: &Drive) -> u64 {
    u64::from(drive.kernel().plan().unit_bytes)
}

/// Page reads that the dies have begun, by plane.
fn begun(drive: &Drive) -> Vec<u32> {
    let of_plane = |plane| {
        let blocks = plane * BLOCKS..(plane + 1) * BLOCKS;
        blocks.map(|block| drive.kernel().flash().block_record(block).reads).sum()
    };
    (0..PLANES).map(of_plane).collect()
}

/// Reads logical pages, given by their numbers and how many, and tells when each plane began a read of one of them,
/// in rounds of a read from the first on. `before` are single pages read just before.
fn rounds(drive: &mut Drive, before: &[u64], requests: &[(u64, u64)]) -> Vec<(u32, u64)> {
    let page = page_bytes(drive);
    let start = drive.now();
    let all = before.iter().map(|&first| (first, 1)).chain(requests.iter().copied());
    for (first, count) in all {
        drive.submit(start, request(Op::Read, first * page, (count * page) as u32)).expect("a slot is free");
    }
    let (mut seen, mut found) = (begun(drive), Vec::new());
    while drive.step().expect("no rule is broken") {
        let now = begun(drive);
        for plane in 0..PLANES {
            for _ in seen[plane as usize]..now[plane as usize] {
                found.push((plane, (drive.now() - start) / (400 * US)));
            }
        }
        seen = now;
    }
    drive.completions().clear();
    found
}

/// The command queue of figure 6.5, as far as the text tells it: 1 and 2 are in one die, 21 in another of their package; 31 and 32
/// in two dies of the next package; 51 and 61 alone; 81 and 82 in one die, 91 in another of their package. 6.4.2 and 6.4.3
/// say of request 1 that it has no conflict of dies, but shares a channel and a package within itself, and a package with request 2.
const QUEUE: [u32; 10] = [
    plane(1, 1, 2, 1), // 21, request 1
    plane(1, 2, 1, 1), // 31
    plane(1, 2, 2, 1), // 32
    plane(1, 1, 1, 1), // 1, request 2
    plane(1, 1, 1, 2), // 2
    plane(3, 1, 1, 1), // 61
    plane(2, 2, 1, 1), // 51, request 3
    plane(4, 1, 4, 1), // 81, request 4
    plane(4, 1, 4, 2), // 82, request 5
    plane(4, 1, 3, 1), // 91, request 6
];
/// The same pages, and one in another die of each of the five packages, that is read first so that all others are queued.
const WITH_OTHERS: [u32; 15] = {
    let mut all = [0; 15];
    let mut at = 0;
    while at < QUEUE.len() {
        all[at] = QUEUE[at];
        at += 1;
    }
    all[10] = plane(1, 1, 4, 1);
    all[11] = plane(1, 2, 4, 1);
    all[12] = plane(2, 2, 4, 1);
    all[13] = plane(3, 1, 4, 1);
    all[14] = plane(4, 1, 1, 1);
    all
};
const OTHERS: [u64; 5] = [10, 11, 12, 13, 14];
const NAMES: [u32; 15] = [21, 31, 32, 1, 2, 61, 51, 81, 82, 91, 0, 0, 0, 0, 0];
const REQUESTS: [(u64, u64); 6] = [(0, 3), (3, 3), (6, 1), (7, 1), (8, 1), (9, 1)];

/// The place of a plane's page in the queue.
fn place(plane: u32) -> usize {
    WITH_OTHERS.iter().position(|&other| other == plane).expect("it is one of them")
}

/// The names of the pages that are begun in a round, in the order of the queue.
fn names(found: &[(u32, u64)], round: u64) -> Vec<u32> {
    let mut places: Vec<usize> = found.iter().filter(|&&(_, at)| at == round).map(|&(plane, _)| place(plane)).collect();
    places.sort_unstable();
    places.into_iter().map(|at| NAMES[at]).filter(|&name| name > 0).collect()
}

#[test]
fn figure_6_6_virtual_addresses_need_six_sets() {
    let mut found = rounds(&mut listed(&WITH_OTHERS, "policy=vaq", "none"), &[], &REQUESTS);
    // What begins at one moment is seen by plane.
    found.sort_by_key(|&(plane, round)| (round, place(plane)));
    // By hand: 2 waits for 1, and holds up all behind it; 82 waits for 81, and holds up 91.
    assert_eq!(names(&found, 0), [21, 31, 32, 1]);
    assert_eq!(names(&found, 1), [2, 61, 51, 81]);
    assert_eq!(names(&found, 2), [82, 91]);
    // The figure shows what the translation layer hands over: a set is a request, or the part of it that goes without
    // waiting; two neighbours that are in one package altogether are one, since their dies interleave.
    let request_of =
        |at: usize| REQUESTS.iter().position(|&(first, count)| (first..first + count).contains(&(at as u64)));
    let mut sets: Vec<(u64, usize, Vec<u32>)> = Vec::new();
    for &(plane, round) in &found {
        let (request, package) = (request_of(place(plane)).expect("it is of one"), plane / 8);
        match sets.last_mut() {
            Some(set) if (set.0, set.1) == (round, request) => set.2.push(package),
            _ => sets.push((round, request, vec![package])),
        }
    }
    sets.dedup_by(|next, set| next.0 == set.0 && next.2 == set.2 && next.2.len() == 1);
    assert_eq!(sets.len(), 6, "{sets:?}");
}

#[test]
fn figure_6_6_physical_addresses_need_three_clumps() {
    // All are queued while a first read keeps each package busy. One read a package, then its next: by 6.4.3, clump 1 has
    // the nodes 1 and 81, of the cluster that is free 31, and 51 and 61, which have no conflict.
    let found = rounds(&mut listed(&WITH_OTHERS, "policy=paq", "none"), &OTHERS, &REQUESTS);
    let sorted = |round| {
        let mut names = names(&found, round);
        names.sort_unstable();
        names
    };
    assert!(names(&found, 0).is_empty());
    assert_eq!(sorted(1), [1, 31, 51, 61, 81]);
    // 2 and 21, and 82 and 91, share a package alone now: the oldest first.
    assert_eq!(sorted(2), [21, 32, 82]);
    assert_eq!(sorted(3), [2, 91]);
    assert!(names(&found, 4).is_empty());
    // With a read in each of its dies, a package needs as many rounds as its die with most reads has: figure 6.6's interleaving.
    let found = rounds(&mut listed(&WITH_OTHERS, "policy=paq interleave=true", "none"), &OTHERS, &REQUESTS);
    assert_eq!(names(&found, 0), [21, 31, 32, 1, 61, 51, 81, 91]);
    assert_eq!(names(&found, 1), [2, 82]);
}

/// Figure 6.7: pages 2 and 3, 4 and 5, 6 and 7, 72 and 73 lie side by side in planes of a die; only 72 and 73 are of one
/// request.
const PAIRS: [u32; 8] = [
    plane(1, 1, 1, 1), // 2
    plane(2, 1, 1, 1), // 6
    plane(3, 1, 1, 1), // 4
    plane(4, 1, 1, 1), // 72
    plane(4, 1, 1, 2), // 73
    plane(1, 1, 1, 2), // 3
    plane(2, 1, 1, 2), // 7
    plane(3, 1, 1, 2), // 5
];

#[test]
fn figure_6_7_four_transactions_instead_of_six_and_a_pair() {
    let transactions = |dispatch: &str| {
        let mut drive = listed(&PAIRS, dispatch, "planes");
        drive.start_measuring();
        // 72 and 73 are one request, the others one each; those of one die wait, since its package works on the first.
        let requests = [(0, 1), (1, 1), (2, 1), (3, 2), (5, 1), (6, 1), (7, 1)];
        rounds(&mut drive, &[], &requests);
        let counters = drive.kernel().counters();
        (counters.commands, counters.multi_plane.iter().sum::<u64>() / 2)
    };
    // Six alone, and one pair.
    assert_eq!(transactions("policy=vaq"), (7, 1));
    assert_eq!(transactions("policy=paq packing=false"), (7, 1));
    assert_eq!(transactions("policy=out-of-order"), (7, 1));
    // The first of each pair has gone before the second came, but in a queue that waits all find each other.
    let queued = |dispatch: &str| {
        const WITH_FIRST: [u32; 12] = {
            let mut all = [0; 12];
            let mut at = 0;
            while at < 8 {
                all[at] = PAIRS[at];
                at += 1;
            }
            all[8] = plane(1, 1, 1, 1);
            all[9] = plane(2, 1, 1, 1);
            all[10] = plane(3, 1, 1, 1);
            all[11] = plane(4, 1, 1, 1);
            all
        };
        let mut drive = listed(&WITH_FIRST, dispatch, "planes");
        drive.start_measuring();
        rounds(&mut drive, &[8, 9, 10, 11], &[(0, 1), (1, 1), (2, 1), (3, 2), (5, 1), (6, 1), (7, 1)]);
        let counters = drive.kernel().counters();
        (counters.commands - 4, counters.multi_plane.iter().sum::<u64>() / 2)
    };
    assert_eq!(queued("policy=vaq"), (7, 1));
    assert_eq!(queued("policy=paq packing=false"), (7, 1));
    for across in
        ["policy=paq", "policy=paq clumps=false", "policy=paq interleave=true", "policy=out-of-order packing=true"]
    {
        assert_eq!(queued(across), (4, 4), "{across}");
    }
}

#[test]
fn the_oldest_reads_are_not_passed_for_ever() {
    // Two reads always wait for die 1 of a package, and one that came first for die 2: conflict-first passes it.
    const TWO: [u32; 17] = {
        let mut all = [plane(1, 1, 1, 1); 17];
        all[0] = plane(1, 1, 2, 1);
        all
    };
    let place = |dispatch: &str| {
        let mut drive = listed(&TWO, dispatch, "none");
        let mut requests = vec![(0, 1)];
        requests.extend((1..13).map(|page| (page, 1)));
        let found = rounds(&mut drive, &[13], &requests);
        found.iter().position(|&(plane, _)| plane == TWO[0]).expect("it is read")
    };
    // Twelve wait for die 1: eleven of them go while another waits there.
    assert_eq!(place("policy=paq"), 12);
    // After 1 ms it is overdue: it goes after the reads that begin before, at 0, 0.4 and 0.8 ms.
    assert_eq!(place("policy=paq bound_us=1000.0"), 3);
}

#[test]
fn each_decision_takes_its_time() {
    let end = |dispatch: &str| {
        let mut drive = listed(&QUEUE, dispatch, "none");
        let start = drive.now();
        rounds(&mut drive, &[], &[(0, 3)]);
        drive.now() - start
    };
    // Three reads in three dies run side by side, and the last one begins three decisions later. Its data do not wait for
    // those of the others then, for some µs.
    let plain = end("policy=paq interleave=true");
    let slow = end("policy=paq interleave=true decision_us=20.0");
    assert!((slow - plain).abs_diff(60 * US) < 10 * US, "{plain} {slow}");
}

/// Requests that are in the drive together, on few pages: a read finds what the writes before it have written. It can do so only after
/// the die has written it, so it ends later.
#[test]
fn a_read_never_finds_what_a_write_before_it_replaces() {
    for_seeds("device_queue", "a_read_never_finds_what_a_write_before_it_replaces", 6, |seed| {
        let policies = [
            "policy=vaq",
            "policy=paq",
            "policy=paq interleave=true",
            "policy=paq clumps=false",
            "policy=out-of-order",
            "policy=deadline",
            "policy=deadline depth=1 stream_deadline_us.0=300.0 write_deadline_us=20000.0",
        ];
        for (nth, dispatch) in policies.iter().enumerate() {
            let placement = if (seed + nth as u64).is_multiple_of(2) { "least-busy" } else { "static" };
            dependent(dispatch, placement, seed);
        }
    });
}

fn dependent(dispatch: &str, placement: &str, seed: u64) {
    let mut sets: Vec<String> = [
        "geometry.channels=2",
        "geometry.packages_per_channel=1",
        "geometry.dies_per_package=2",
        "geometry.planes_per_die=1",
        "geometry.blocks_per_plane=32",
        "capacity.raw_over_logical=1.8",
        "geometry.pages_per_block=16",
        "precondition.fill=false",
        "precondition.overwrites=0",
        "buffer.policy=none",
        "verify.shadow=true",
    ]
    .iter()
    .map(|&set| set.to_owned())
    .collect();
    sets.push(format!("placement.policy={placement}"));
    sets.push(format!("collect.scope={}", if placement == "static" { "plane" } else { "drive" }));
    sets.extend(dispatch.split(' ').map(|set| format!("dispatch.{set}")));
    let config = load_with("demo", &sets, &[]).expect("it is valid").0.value;
    let mut drive = Drive::new(&config, seed).expect("it was checked");
    let (page, mut random) = (page_bytes(&drive), Stream::new(seed, "dependent", 0));
    watched_loop(&mut drive, 1, 12, |nth| request(Op::Write, nth * page, page as u32), |_| {});
    // By slot: number, page, whether it reads, and when it came. The data of a write take some time to come.
    let mut under_way: Vec<Option<(usize, u64, bool, Time)>> = vec![None; 1024];
    // By number: whether it has ended, and, of a read, the writes of its page that were in the drive before.
    let (mut ended, mut before): (Vec<bool>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut checked = 0;
    for _ in 0..6_000 {
        while drive.in_flight() < 24 && drive.has_slot(0) {
            let (at, is_read) = (random.below(12), random.below(2) == 0);
            let op = if is_read { Op::Read } else { Op::Write };
            let now = drive.now();
            let slot = drive.submit(now, request(op, at * page, page as u32)).expect("a slot is free");
            let came_before = |&(number, page, reads, time): &(usize, u64, bool, Time)| {
                (is_read && !reads && page == at && time + 200 * US < now).then_some(number)
            };
            before.push(under_way.iter().flatten().filter_map(came_before).collect());
            under_way[slot as usize] = Some((ended.len(), at, is_read, now));
            ended.push(false);
        }
        assert!(drive.step().expect("no rule is broken"), "{dispatch}: the drive stalled");
        for done in drive.completions().drain(..) {
            let (number, ..) = under_way[done.slot as usize].take().expect("it is under way");
            ended[number] = true;
            for &write in &before[number] {
                assert!(ended[write], "{dispatch}, {placement}: a read ended before a write that came before it");
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "{checked}");
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
}
