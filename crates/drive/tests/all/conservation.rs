//! Nothing is lost: random drives under random workloads keep consistent records, complete every request once, and hold
//! exactly the data that were written and not trimmed.

use crate::common::holder::{hold_and_place, Rule, Wish};
use crate::common::random_drive::{random_config, random_config_in_turn, random_config_with_logs};
use crate::common::{between, chance, for_seeds, long, one, pick, request, NS, US};
use std::collections::HashMap;
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::guests::Target;
use wordline_drive::{Completion, Drive, DriveConfig, Task};
use wordline_firmware::blocks::Status;
use wordline_firmware::task::{Action, Class};
use wordline_flash::{Kind, Segment};

const SECTOR: u64 = 512;
const LEAST_READ: Time = 20 * US;
const LEAST_PROGRAM: Time = 200 * US;
const SLC_PROGRAM: Time = 150 * US;
const ERASE: Time = 1_500 * US;

// --------------------------------------------------------------------------------------------------------- random loads

/// Shape of a workload, drawn once per run.
struct Shape {
    writes: u64,
    trims: u64,
    flushes: u64,
    fua: u64,
    largest: u64,
    aligned: bool,
    hot: bool,
    streams: u64,
    depth: u64,
    /// Mean interarrival time; none for a closed loop.
    gap: Option<Time>,
}

impl Shape {
    fn new(random: &mut Stream) -> Self {
        Self {
            writes: *pick(random, &[30, 60, 90, 100]),
            trims: *pick(random, &[0, 0, 3, 10]),
            flushes: *pick(random, &[0, 0, 2]),
            fua: *pick(random, &[0, 5, 100]),
            largest: *pick(random, &[8, 32, 64, 512]),
            aligned: chance(random, 30),
            hot: chance(random, 40),
            streams: between(random, 1, 5),
            depth: between(random, 1, 64),
            gap: (!chance(random, 60)).then(|| between(random, 1, 600) * US),
        }
    }

    fn draw(&self, random: &mut Stream, sectors: u64, unit: u64) -> Request {
        let op = match random.below(100) {
            x if x < self.flushes => Op::Flush,
            x if x < self.flushes + self.trims => Op::Trim,
            _ if chance(random, self.writes) => Op::Write,
            _ => Op::Read,
        };
        let stream = random.below(self.streams) as u16;
        if op == Op::Flush {
            return Request { op, stream, ..Request::default() };
        }
        let range = if self.hot && chance(random, 80) { (sectors / 5).max(1) } else { sectors };
        let most = self.largest.min(sectors);
        let (mut offset, mut length) = (random.below(range), between(random, 1, most));
        if self.aligned {
            offset -= offset % unit;
            length = length.next_multiple_of(unit);
        }
        length = length.min(sectors - offset);
        let fua = op == Op::Write && chance(random, self.fua);
        Request { op, stream, fua, offset: offset * SECTOR, bytes: (length * SECTOR) as u32, ..Request::default() }
    }
}

/// Knowledge of the test about a logical page, from requests and completions alone.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Unit {
    /// Writes and trims in flight.
    writing: u32,
    trimming: u32,
    /// Result of the last completed write or trim, if they did not overlap.
    written: Option<bool>,
    /// True if it was ever trimmed.
    trimmed: bool,
}

struct Shadow {
    units: Vec<Unit>,
    unit_bytes: u64,
    invalidates: bool,
}

impl Shadow {
    /// The logical pages that a request writes or reads, or that a trim covers entirely.
    fn range(&self, request: &Request) -> std::ops::Range<usize> {
        let (start, end) = (request.offset, request.offset + u64::from(request.bytes));
        let (first, last) = match request.op {
            Op::Flush => (0, 0),
            Op::Trim => (start.div_ceil(self.unit_bytes), end / self.unit_bytes),
            _ => (start / self.unit_bytes, end.div_ceil(self.unit_bytes)),
        };
        first as usize..last.max(first) as usize
    }

    fn submitted(&mut self, request: &Request) {
        let range = self.range(request);
        for unit in &mut self.units[range] {
            match request.op {
                Op::Write => {
                    unit.writing += 1;
                    unit.written = (unit.trimming == 0).then_some(true);
                }
                Op::Trim if self.invalidates => {
                    unit.trimming += 1;
                    unit.trimmed = true;
                    unit.written = (unit.writing == 0).then_some(false);
                }
                _ => {}
            }
        }
    }

    fn completed(&mut self, request: &Request) {
        let range = self.range(request);
        for unit in &mut self.units[range] {
            match request.op {
                Op::Write => unit.writing -= 1,
                Op::Trim if self.invalidates => unit.trimming -= 1,
                _ => {}
            }
        }
    }

    /// True if some logical page of a read is certainly in flash when there is no write buffer.
    fn in_flash(&self, request: &Request) -> bool {
        self.units[self.range(request)]
            .iter()
            .any(|unit| unit.written == Some(true) && unit.writing == 0 && !unit.trimmed)
    }
}

type Key = (Time, u64, u32, u8, bool, u16);

fn key(request: &Request) -> Key {
    (request.arrival, request.offset, request.bytes, request.op as u8, request.fua, request.stream)
}

/// A drive and the expected contents.
struct Watched {
    drive: Drive,
    buffered: bool,
    shadow: Shadow,
    /// Requests in flight, with the minimum latency of each.
    in_flight: HashMap<Key, (u32, Time)>,
    last: Time,
    host_units: u64,
    completed: [u64; 4],
}

impl Watched {
    /// Minimum latency of a request on any host interface: the array times.
    fn least(&self, request: &Request) -> Time {
        match request.op {
            Op::Write if (!self.buffered || request.fua) && self.drive.kernel().plan().slc.is_some() => SLC_PROGRAM,
            Op::Write if !self.buffered || request.fua => LEAST_PROGRAM,
            Op::Read if !self.buffered && self.shadow.in_flash(request) => LEAST_READ,
            _ => NS,
        }
    }

    fn submit(&mut self, at: Time, request: Request) {
        let least = self.least(&request);
        self.drive.submit(at, request).expect("it fits the drive");
        self.shadow.submitted(&request);
        if request.op == Op::Trim {
            // A write that waits in the buffer can be trimmed there without a program.
            let end = request.offset + u64::from(request.bytes);
            for (&(_, offset, bytes, ..), entry) in &mut self.in_flight {
                if offset < end && request.offset < offset + u64::from(bytes) {
                    entry.1 = NS;
                }
            }
        }
        let entry = self.in_flight.entry(key(&request)).or_insert((0, least));
        entry.0 += 1;
        entry.1 = entry.1.min(least);
        if request.op == Op::Write {
            self.host_units += self.shadow.range(&request).len() as u64;
        }
    }

    fn take(&mut self) {
        let done: Vec<Completion> = self.drive.completions().drain(..).collect();
        for Completion { request, time, submitted, .. } in done {
            let entry = self.in_flight.get_mut(&key(&request)).expect("only what was submitted completes");
            assert!(entry.0 > 0, "{request:?} completes twice");
            entry.0 -= 1;
            let least = entry.1;
            if entry.0 == 0 {
                self.in_flight.remove(&key(&request));
            }
            assert!(
                submitted >= request.arrival && time >= submitted + least,
                "{request:?} took {} ps",
                time - submitted
            );
            assert!(time >= self.last, "completions come in the order of time");
            self.last = time;
            self.completed[request.op as usize] += 1;
            self.shadow.completed(&request);
        }
    }

    fn step(&mut self) -> bool {
        let went_on = self.drive.step().expect("no rule is broken");
        self.take();
        went_on
    }
}

/// Feeds requests until `volume` bytes are written; returns the number of requests.
fn feed(watched: &mut Watched, random: &mut Stream, shape: &Shape, volume: u64) -> u64 {
    let sectors = watched.drive.logical_bytes() / SECTOR;
    let unit = u64::from(watched.drive.kernel().plan().unit_bytes) / SECTOR;
    let (mut count, mut written, mut arrival) = (0, 0, watched.drive.now());
    while written < volume && count < 6_000 {
        let mut request = shape.draw(random, sectors, unit);
        if let Some(gap) = shape.gap {
            // Bursts: most requests follow at once, some after a long gap.
            arrival += if chance(random, 70) { gap / 20 } else { 2 * gap };
            while watched.drive.next_event().is_some_and(|next| next <= arrival) {
                watched.step();
            }
            request.arrival = arrival;
        }
        while !watched.drive.has_slot(request.stream)
            || (shape.gap.is_none() && u64::from(watched.drive.in_flight()) >= shape.depth)
        {
            assert!(watched.step(), "the drive stalled with {} requests in flight", watched.drive.in_flight());
        }
        let now = watched.drive.now();
        if shape.gap.is_none() {
            request.arrival = now;
        }
        watched.submit(now.max(request.arrival), request);
        count += 1;
        if request.op == Op::Write {
            written += u64::from(request.bytes);
        }
    }
    count
}

/// Counters, block records and the NAND's own records agree.
fn books_balance(watched: &Watched, config: &DriveConfig) {
    let kernel = watched.drive.kernel();
    let (plan, counters) = (kernel.plan(), kernel.counters());
    let upp = u64::from(plan.units_per_page);
    let moved = counters.moved.iter().sum::<u64>();
    let of_map = counters.map_writes.iter().sum::<u64>();
    assert_eq!(counters.host_units, watched.host_units, "units written by the host");
    assert_eq!(
        counters.programs() * upp,
        counters.host_units - counters.absorbed_units
            + moved
            + of_map
            + counters.padded_units
            + counters.parity_pages * upp
            + counters.parity_units,
        "every unit of every programmed page is one of the host, a moved one, one of the mapping table, parity, or empty"
    );
    assert_eq!(counters.erases(), counters.jobs.iter().sum::<u64>(), "every block that is emptied is erased");
    assert!(moved <= counters.ops[1..].iter().sum::<u64>() * upp);
    let geometry = *kernel.flash().geometry();
    let records = kernel.blocks().records();
    let nand: Vec<_> = (0..geometry.blocks()).map(|block| kernel.flash().block_record(block)).collect();
    assert_eq!(nand.iter().map(|block| u64::from(block.erases)).sum::<u64>(), counters.erases(), "erases in the NAND");
    let pages: u64 = nand
        .iter()
        .map(|block| u64::from(block.erases) * u64::from(geometry.pages_per_block) + u64::from(block.next_page))
        .sum();
    // Scrubbing empties blocks that are not full, and with block mapping every task does: each may lose all but one of its
    // pages.
    let emptied = if plan.fixes_pages { counters.jobs.iter().sum() } else { counters.jobs[Task::REFRESH.index()] };
    let in_slc = u64::from(geometry.pages_per_block - geometry.slc_pages_per_block);
    let cut = emptied * u64::from(geometry.pages_per_block - 1)
        + if plan.slc.is_some() { counters.jobs.iter().sum::<u64>() * in_slc } else { 0 };
    let full = pages - cut.min(pages)..=pages;
    let slc = nand.iter().filter(|block| block.slc).map(|block| u64::from(block.next_page)).sum();
    assert!(counters.slc_pages >= slc, "{} pages programmed in SLC mode, the NAND has {slc}", counters.slc_pages);
    assert!(full.contains(&counters.programs()), "{} pages programmed, the NAND says {full:?}", counters.programs());
    assert!(records.iter().all(|block| block.status != Status::Victim), "no collection is left half done");
    assert!(kernel.blocks().free_blocks() >= plan.reserve_blocks * plan.domains, "the reserve is whole at rest");
    let by_domain: u32 = (0..plan.domains).map(|domain| kernel.blocks().free_in_domain(domain)).sum();
    assert_eq!(kernel.blocks().free_blocks(), by_domain, "free blocks are counted twice");
    for domain in 0..plan.domains {
        assert!(kernel.blocks().free_in_domain(domain) >= plan.reserve_blocks, "the reserve of domain {domain}");
    }
    let joined = format!("{:?}", config.firmware.pack).contains("join_gc: true");
    for (class, (&of_others, &all)) in counters.joined.iter().zip(&counters.multi_plane).enumerate() {
        assert!(
            of_others <= all && (of_others == 0 || joined),
            "{of_others} operations of class {class} joined others"
        );
    }
    let planes = kernel.plane_use().share(geometry.planes_per_die);
    assert!(planes.is_none_or(|share| (0.0..=1.0).contains(&share)), "{planes:?} of the planes are busy during GC");
    let together = u64::from(plan.pages_per_program());
    let programs = (counters.programs() - counters.slc_pages) / together + counters.slc_pages;
    // As a guest has it, or another policy.
    let collect = format!("{:?}", config.firmware.collect);
    let instant = collect.contains("instant: true") || collect.contains("\"instant\": Bool(true)");
    // Of map units in SLC mode GC may have written some without time.
    let is_known = !(instant && plan.has_map() && plan.slc.is_some());
    // The time that planes worked is known if all pages of a mode are alike, and no command was cut.
    if format!("{:?}", config.nand.program_us).contains("One(") && counters.suspensions == 0 && is_known {
        let timed =
            |all: u64, action| all - if instant { counters.ops[Class::new(Task::GC, action).index()] } else { 0 };
        let worked = |kind: Kind| -> Time {
            let of_die = |die| kernel.flash().die_times(die).cells[kind as usize];
            let by_planes = (0..geometry.dies()).flat_map(|die| (1..).zip(of_die(die)));
            by_planes.map(|(planes, time)| planes * time).sum()
        };
        let plain = (timed(counters.programs(), Action::Program) - counters.slc_pages) / together;
        assert_eq!(worked(Kind::Read), timed(counters.reads(), Action::Read) * LEAST_READ, "reads");
        assert_eq!(worked(Kind::Program), plain * LEAST_PROGRAM + counters.slc_pages * SLC_PROGRAM, "programs");
        assert_eq!(worked(Kind::Erase), timed(counters.erases(), Action::Erase) * ERASE, "erases");
        if format!("{:?}", config.firmware.pack).contains("None") {
            // A copyback is a read and a program in one command.
            assert_eq!(counters.commands + counters.copybacks, counters.reads() + programs + counters.erases());
        }
    }
    for channel in 0..geometry.channels {
        assert!(kernel.flash().channel_times(channel).busy <= watched.drive.now());
    }
}

fn has_map(drive: &Drive) -> bool {
    drive.kernel().plan().has_map()
}

/// Each logical page is read alone: one flash read if it holds data, none if not.
fn holds_what_was_written(watched: &mut Watched) {
    let unit_bytes = watched.shadow.unit_bytes;
    let mut mapped = 0_u64;
    for at in 0..watched.shadow.units.len() {
        let host_reads = |drive: &Drive| {
            let counters = drive.kernel().counters();
            counters.ops[Class::HOST_READ.index()] + counters.rebuilt_reads
                - counters.part_reads
                - counters.parity_reads
                - counters.map_reads[Task::HOST.index()]
        };
        let before = host_reads(&watched.drive);
        one(&mut watched.drive, request(Op::Read, at as u64 * unit_bytes, unit_bytes as u32));
        if has_map(&watched.drive) {
            // A read of the mapping table may be counted, but wait behind one of another task that has ended. To drain the drive
            // would count all its blocks again for each unit.
            while watched.drive.step().expect("no rule is broken") {}
        }
        let reads = host_reads(&watched.drive) - before;
        mapped += reads;
        match watched.shadow.units[at].written {
            // A trim and a write overlapped: either may have been last.
            None if watched.shadow.units[at].trimmed => assert!(reads <= 1),
            None => assert_eq!(reads, 0, "unit {at} was never written"),
            Some(written) => {
                assert_eq!(reads, u64::from(written), "unit {at}, trimmed {}", watched.shadow.units[at].trimmed)
            }
        }
    }
    let valid: u64 = watched.drive.kernel().blocks().records().iter().map(|block| u64::from(block.valid)).sum();
    let plan = watched.drive.kernel().plan();
    let behind = u64::from(plan.map_units + plan.parity_units);
    assert!(
        (mapped..=mapped + behind).contains(&valid),
        "valid units are those that can be read, of the map, and of parity"
    );
}

fn watch(config: &DriveConfig, seed: u64) -> Watched {
    let drive = Drive::new(config, seed).expect("it was accepted");
    let plan = *drive.kernel().plan();
    let buffered = config.buffer.name() != "none";
    let shadow = Shadow {
        units: vec![Unit::default(); plan.logical_units as usize],
        unit_bytes: u64::from(plan.unit_bytes),
        invalidates: config.firmware.trim.name() == "invalidate",
    };
    Watched { drive, buffered, shadow, in_flight: HashMap::new(), last: 0, host_units: 0, completed: [0; 4] }
}

/// Names the drive of a failed test.
struct Story<'a>(&'a DriveConfig);

impl Drop for Story<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}", self.0);
        }
    }
}

/// By chance, by logical page, all to one die, and now and then to a channel.
const WISHES: [Wish; 4] = [
    |_, (_, dies), random| Target::Die(random.below(dies.into()) as u32),
    |view, (_, dies), _| Target::Die(view.unit % dies),
    |_, _, _| Target::Die(0),
    |view, (channels, _), random| match random.below(3) {
        0 => Target::Any,
        1 => Target::Channel((view.block + 1) % channels),
        _ => Target::Die(view.die),
    },
];

/// Drives a drive through random loads, until it is at rest.
fn exercise(config: &DriveConfig, random: &mut Stream, seed: u64) -> Watched {
    let mut watched = watch(config, seed);
    let mut sent = 0;
    let phases = between(random, 1, 3);
    for _ in 0..phases {
        let shape = Shape::new(random);
        let volume = watched.drive.logical_bytes() * between(random, 5, 30) / 10 / phases;
        sent += feed(&mut watched, random, &shape, volume);
        if chance(random, 50) {
            while watched.step() {}
            assert_eq!(watched.drive.in_flight(), 0, "all requests are done when nothing moves");
            watched.drive.drain().expect("the drive comes to rest");
        }
    }
    while watched.step() {}
    assert!(watched.in_flight.is_empty(), "{} requests never completed", watched.in_flight.len());
    assert_eq!(watched.completed.iter().sum::<u64>(), sent);
    assert_eq!(watched.drive.metrics.requests(), sent);
    watched.drive.drain().expect("the drive comes to rest");
    watched.take();
    assert_eq!(watched.drive.kernel().operations(), 0);
    watched.drive.kernel().audit().expect("the books balance");
    books_balance(&watched, config);
    watched
}

/// Reads all back; the reads may start scrubbing.
fn holds_to_the_end(watched: &mut Watched) {
    holds_what_was_written(watched);
    watched.drive.drain().expect("the drive comes to rest");
    watched.drive.kernel().audit().expect("the books balance");
}

#[test]
fn random_drives() {
    let (mut accepted, mut refused, mut collected, mut copied, mut suspended) = (0, 0, 0, 0, 0);
    let (mut scrubbed, mut leveled, mut held) = (0, 0, 0);
    let (mut wished, mut without_room, mut without_company) = (0, 0, 0);
    let (mut read_on, mut programmed_on) = (0, 0);
    let (mut parity, mut rebuilt, mut of_pages, mut around_them) = (0, 0, 0, 0);
    let count = if long() { 10_000 } else { 1_000 };
    for_seeds("conservation", "random_drives", count, |seed| {
        let random = &mut Stream::new(seed, "test", 0);
        let Some(mut config) = random_config(random) else {
            refused += 1;
            return;
        };
        accepted += 1;
        let may_hold = !config.parts().expect("it is accepted").plan().fixes_pages
            && !format!("{:?}", config.firmware.collect).contains("instant: true");
        let rules: [Rule; 3] = [|_, _| false, |_, random| chance(random, 50), |view, _| view.host_rests];
        let rule = (may_hold && chance(random, 15)).then(|| *pick(random, &rules));
        let has_wishes =
            ["SameChannel", "SameDie"].iter().any(|to| format!("{:?}", config.firmware.collect).contains(to));
        let wish = (has_wishes && chance(random, 50)).then(|| *pick(random, &WISHES));
        if rule.is_some() || wish.is_some() {
            hold_and_place(&mut config, rule, wish);
        }
        let _story = Story(&config);
        let mut watched = exercise(&config, random, seed);
        let counters = watched.drive.kernel().counters();
        collected += counters.collections();
        scrubbed += counters.jobs[Task::REFRESH.index()];
        leveled += counters.jobs[Task::WEAR.index()];
        copied += counters.copybacks;
        suspended += counters.suspensions;
        held += counters.holds;
        let wishes = watched.drive.kernel().wished();
        wished += wishes.units;
        without_room += wishes.without_room;
        without_company += wishes.without_company;
        parity += counters.parity_pages;
        rebuilt += counters.rebuilt_reads;
        if watched.drive.kernel().plan().raid.is_some() {
            of_pages += counters.parity_units;
            around_them += counters.rebuilt_reads;
        }
        let flash = watched.drive.kernel().flash();
        for die in 0..flash.geometry().dies() {
            let uses = flash.die_times(die).bus.map(|used| used.count);
            read_on += uses[Segment::CacheRandom as usize] + uses[Segment::CacheSequential as usize];
            programmed_on += uses[Segment::ProgramCache as usize];
        }
        holds_to_the_end(&mut watched);
    });
    println!(
        "{accepted} drives, {refused} refused, {collected} collections, {scrubbed} scrubbed blocks, {leveled} moved for \
         wear, {copied} copybacks, {suspended} suspensions, {held} steps of GC on hold"
    );
    println!("{wished} moved units with a wish; {without_room} found no room there, {without_company} no company");
    println!(
        "in cache mode: {read_on} reads, {programmed_on} programs; {parity} pages of parity, {rebuilt} rebuilt reads; of \
        logical pages: {of_pages} units of parity, {around_them} rebuilt reads"
    );
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(accepted * 2 > count, "most configurations are accepted, but only {accepted} were");
        assert!(collected > accepted * 20, "drives are driven into collection");
        assert!(
            read_on > accepted && programmed_on > accepted,
            "{read_on} reads and {programmed_on} programs in cache mode"
        );
        assert!(parity > 10 * accepted && rebuilt > accepted, "{parity} pages of parity, {rebuilt} rebuilt reads");
        assert!(
            of_pages > 10 * accepted && around_them > accepted / 2,
            "{of_pages} units of parity, {around_them} rebuilt reads"
        );
        assert!(scrubbed > accepted && leveled > accepted, "{scrubbed} scrubbed blocks, {leveled} moved for wear");
        assert!(copied > accepted && suspended > accepted, "{copied} copybacks, {suspended} suspensions");
        assert!(held > 10 * accepted, "{held} steps of GC on hold");
        assert!(wished > 100 * accepted && without_room > accepted && without_company > accepted);
    }
}

/// The same where planes take turns: then writes of one unit may wait in several planes.
#[test]
fn random_drives_whose_planes_take_turns() {
    let (mut accepted, mut collected, mut programmed_on) = (0, 0, 0);
    let count = if long() { 10_000 } else { 1_000 };
    for_seeds("conservation", "random_drives_whose_planes_take_turns", count, |seed| {
        let random = &mut Stream::new(seed, "test", 0);
        let Some(config) = random_config_in_turn(random) else { return };
        if Drive::new(&config, seed).is_err() {
            // Too many of its blocks are bad.
            return;
        }
        accepted += 1;
        let _story = Story(&config);
        let mut watched = exercise(&config, random, seed);
        collected += watched.drive.kernel().counters().collections();
        let flash = watched.drive.kernel().flash();
        let of_die = |die| flash.die_times(die).bus[Segment::ProgramCache as usize].count;
        programmed_on += (0..flash.geometry().dies()).map(of_die).sum::<u64>();
        holds_to_the_end(&mut watched);
    });
    println!("{accepted} drives, {collected} collections, {programmed_on} programs in cache mode");
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(accepted * 30 > count, "only {accepted} of {count} were accepted");
        assert!(collected > accepted * 20 && programmed_on > accepted);
    }
}

/// The same with log blocks: every kind of merge is hit, and every kind of wear leveling.
#[test]
fn random_drives_with_log_blocks() {
    let (mut accepted, mut merges, mut log_merges) = (0, [0; 3], 0);
    let policies = ["Lazy", "Recency", "Static", "HotCold", "DualPool"];
    let mut leveled = [0; 5];
    let count = if long() { 20_000 } else { 2_000 };
    for_seeds("conservation", "random_drives_with_log_blocks", count, |seed| {
        let random = &mut Stream::new(seed, "test", 0);
        let Some(config) = random_config_with_logs(random, false) else { return };
        accepted += 1;
        let _story = Story(&config);
        let mut watched = exercise(&config, random, seed);
        let counters = watched.drive.kernel().counters();
        log_merges += counters.log_merges;
        let policy = format!("{:?}", config.firmware.upkeep.wear);
        if let Some(at) = policies.iter().position(|name| policy.starts_with(name)) {
            let moved = counters.jobs[Task::WEAR.index()];
            leveled[at] += moved;
            assert_eq!(moved, counters.ops[Class::new(Task::WEAR, Action::Erase).index()]);
        }
        for (all, of_drive) in merges.iter_mut().zip(counters.merges) {
            *all += of_drive;
        }
        holds_to_the_end(&mut watched);
    });
    println!("{accepted} drives, {log_merges} merges of log blocks, with {merges:?} of logical blocks");
    println!("{policies:?} moved {leveled:?} blocks");
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(accepted * 20 > count, "only {accepted} of {count} were accepted");
        assert!(merges.iter().all(|&count| count > 5 * accepted) && log_merges > 50 * accepted, "{merges:?}");
        assert!(leveled.iter().all(|&count| count > accepted), "{leveled:?}");
    }
}
