//! Random work on the pins and in the transaction engine ends at the same time with the same array state.

use crate::player::{for_seeds, noise, Engine, Host, Job, Part};
use std::collections::{BTreeMap, VecDeque};
use wordline_base::{Stream, Time};
use wordline_nand::config::{ByClass, PageOrder};
use wordline_nand::geometry::PageAddress;
use wordline_nand::interface::Interface;
use wordline_nand::{NandConfig, PackageGeometry, Segment};

/// Knowledge of a random host: the next page of every block, and the data of every page.
struct World {
    geometry: PackageGeometry,
    stream: Stream,
    next: BTreeMap<(u32, u32, u32), u32>,
    data: BTreeMap<(u32, u32, u32, u32), Vec<u8>>,
}

fn config(stream: &mut Stream) -> NandConfig {
    let interfaces = [Interface::Sdr, Interface::NvDdr, Interface::NvDdr2, Interface::NvDdr3, Interface::NvLpddr4];
    let interface = interfaces[stream.below(5) as usize];
    let modes = interface.modes();
    let us = |stream: &mut Stream, most: u64| stream.below(most * 1000) as f64 / 1000.0;
    let rate_mt_s = modes[stream.below(modes.len() as u64) as usize].rate_mt_s;
    // Only sdr has a wider bus, and cycles of its own.
    let (bus_bits, cycle_ns) = match interface {
        Interface::Sdr => (8 << stream.below(3), [None, Some(40.0), Some(12.5)][stream.below(3) as usize]),
        _ => (8, None),
    };
    NandConfig {
        interface,
        rate_mt_s,
        bus_bits,
        cycle_ns,
        read_us: ByClass::Each(vec![1.0 + us(stream, 60), 1.0 + us(stream, 90)]),
        program_us: ByClass::Each(vec![1.0 + us(stream, 300), 1.0 + us(stream, 900)]),
        dummy_busy_us: us(stream, 2),
        cache_read_busy_us: us(stream, 5),
        cache_program_busy_us: us(stream, 5),
        spread_percent: stream.below(20) as f64,
        page_order: if stream.below(2) == 0 { PageOrder::Alpha } else { PageOrder::Cyclic },
        ..NandConfig::default()
    }
}

impl World {
    fn new(seed: u64) -> (Self, NandConfig) {
        let mut stream = Stream::new(seed, "agreement", 0);
        let pick = |stream: &mut Stream, most: u64| 1 + stream.below(most) as u32;
        let geometry = PackageGeometry {
            dies: pick(&mut stream, 3),
            planes: pick(&mut stream, 4),
            blocks: 1 + pick(&mut stream, 6),
            pages: 3 + pick(&mut stream, 12),
            page_bytes: 2 * pick(&mut stream, 256),
        };
        let config = config(&mut stream);
        (Self { geometry, stream, next: BTreeMap::new(), data: BTreeMap::new() }, config)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.stream.below(bound as u64) as usize
    }

    /// Planes of a command: one, or several in any order.
    fn planes(&mut self, several: bool) -> Option<Vec<u32>> {
        let mut planes: Vec<u32> = (0..self.geometry.planes).collect();
        for at in (1..planes.len()).rev() {
            let other = self.below(at + 1);
            planes.swap(at, other);
        }
        let count = if several { 2 + self.below(planes.len().max(2) - 1) } else { 1 };
        planes.truncate(count);
        (planes.len() == count).then_some(planes)
    }

    /// A block of each plane whose next page satisfies `wanted`; the same page in all if `same`.
    fn blocks(&mut self, die: u32, planes: &[u32], wanted: impl Fn(u32) -> bool) -> Option<Vec<PageAddress>> {
        let mut found = Vec::new();
        for &plane in planes {
            let next = |block: u32| self.next.get(&(die, plane, block)).copied().unwrap_or(0);
            let fit: Vec<u32> = (0..self.geometry.blocks).filter(|&block| wanted(next(block))).collect();
            let block = *fit.get(self.stream.below(fit.len().max(1) as u64) as usize)?;
            found.push(PageAddress { plane, block, page: 0 });
        }
        Some(found)
    }

    /// Blocks of each plane that can take a program at the same page, and that page.
    fn open(&mut self, die: u32, planes: &[u32], room: u32) -> Option<Vec<PageAddress>> {
        let page = self.below(self.geometry.pages as usize) as u32;
        let most = self.geometry.pages;
        let page = if self.below(2) == 0 { 0 } else { page };
        let mut found = self.blocks(die, planes, |next| next == page && page + room <= most)?;
        found.iter_mut().for_each(|at| at.page = page);
        Some(found)
    }

    fn written(&mut self, die: u32, planes: &[u32], room: u32) -> Option<Vec<PageAddress>> {
        let page = self.below(self.geometry.pages as usize / 2) as u32;
        let mut found = self.blocks(die, planes, |next| page + room <= next)?;
        found.iter_mut().for_each(|at| at.page = page);
        Some(found)
    }

    fn bytes(&mut self) -> usize {
        match self.below(3) {
            0 => self.geometry.page_bytes as usize,
            _ => self.below(self.geometry.page_bytes as usize + 1),
        }
    }

    /// A random legal job of a mode on a die, recorded in the world; `None` if its state has none.
    fn job(&mut self, mode: usize, die: u32) -> Option<Job> {
        let planes = self.planes(matches!(mode, 1 | 3 | 5 | 7 | 9 | 11 | 13 | 15))?;
        let sequence = if matches!(mode, 2..=5 | 8 | 9) { 2 + self.below(3) as u32 } else { 1 };
        let on = |first: &[PageAddress], by: u32| -> Vec<PageAddress> {
            first.iter().map(|at| PageAddress { page: at.page + by, ..*at }).collect()
        };
        let mut targets = Vec::new();
        let steps: Vec<Vec<PageAddress>> = match mode {
            0..=3 => {
                let first = self.written(die, &planes, sequence)?;
                (0..sequence).map(|by| on(&first, by)).collect()
            }
            4 | 5 => (0..sequence).map(|_| self.written(die, &planes, 1)).collect::<Option<_>>()?,
            6..=9 => {
                let first = self.open(die, &planes, sequence)?;
                (0..sequence).map(|by| on(&first, by)).collect()
            }
            10..=13 => {
                targets = self.open(die, &planes, 1)?;
                vec![self.written(die, &planes, 1)?]
            }
            _ => vec![self.blocks(die, &planes, |_| true)?],
        };
        // Without bytes the engine moves the data without data out.
        let bytes = self.bytes().max(usize::from(matches!(mode, 12 | 13)));
        let data = steps.iter().flatten().map(|_| noise(&mut self.stream, bytes)).collect();
        // A random cache read that happens to continue is a sequential one in the engine.
        let continues = |pair: &[Vec<PageAddress>]| pair[1] == on(&pair[0], 1);
        if matches!(mode, 4 | 5) && steps.windows(2).any(continues) {
            return None;
        }
        let job = Job { mode, die, steps, targets, data, bytes: bytes as u32 };
        self.book(&job);
        Some(job)
    }

    fn write(&mut self, die: u32, at: PageAddress, data: &[u8]) {
        let PageAddress { plane, block, page } = at;
        let mut whole = data.to_vec();
        whole.resize(self.geometry.page_bytes as usize, 0xff);
        self.data.insert((die, plane, block, page), whole);
        self.next.insert((die, plane, block), page + 1);
    }

    fn held(&self, die: u32, at: PageAddress) -> &[u8] {
        &self.data[&(die, at.plane, at.block, at.page)]
    }

    fn book(&mut self, job: &Job) {
        let die = job.die;
        match job.mode {
            6..=9 => {
                let pages: Vec<_> = job.steps.iter().flatten().copied().collect();
                pages.into_iter().zip(&job.data).for_each(|(at, data)| self.write(die, at, data));
            }
            10..=13 => {
                for (from, &to) in job.steps[0].iter().zip(&job.targets) {
                    let data = self.held(die, *from).to_vec();
                    self.write(die, to, &data);
                }
            }
            14 | 15 => {
                for at in &job.steps[0] {
                    self.next.remove(&(die, at.plane, at.block));
                    self.data.retain(|&(d, plane, block, _), _| (d, plane, block) != (die, at.plane, at.block));
                }
            }
            _ => {}
        }
    }

    /// Data out of the pages of a job: the first bytes of each.
    fn out(&self, job: &Job) -> Vec<Vec<u8>> {
        if !matches!(job.mode, 0..=5 | 12 | 13) {
            return Vec::new();
        }
        let cut = |at: &PageAddress| self.held(job.die, *at)[..job.bytes as usize].to_vec();
        job.steps.iter().flatten().map(cut).collect()
    }

    /// Both packages have the contents of the world.
    fn compare(&self, host: &Host, engine: &Engine) {
        let PackageGeometry { dies, planes, blocks, pages, .. } = self.geometry;
        for die in 0..dies {
            for plane in 0..planes {
                for block in 0..blocks {
                    let record = host.pins.cells().record(die, plane, block);
                    assert_eq!(record, engine.package.cells().record(die, plane, block));
                    let next = self.next.get(&(die, plane, block)).copied().unwrap_or(0);
                    assert_eq!(record.next_page, next);
                    for page in 0..pages {
                        let at = PageAddress { plane, block, page };
                        let known = self.data.get(&(die, plane, block, page)).map(Vec::as_slice);
                        assert_eq!(host.pins.page(die, at), known, "die {die}, {at:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn random_transactions_agree_one_at_a_time() {
    let played = std::cell::Cell::new([0_u32; 16]);
    for_seeds("random_transactions_agree_one_at_a_time", 60, |seed| {
        let (mut world, config) = World::new(seed);
        let (mut host, mut engine) = (Host::new(world.geometry, &config), Engine::new(world.geometry, &config));
        for _ in 0..150 {
            let (mode, die) = (world.below(16), world.below(world.geometry.dies as usize) as u32);
            // Expected data of a read are taken before its job is recorded; the job changes nothing.
            let Some(job) = world.job(mode, die) else { continue };
            let mut counts = played.get();
            counts[mode] += 1;
            played.set(counts);
            host.now += world.stream.below(1_000_000);
            let ends = engine.run(host.now, &job);
            let out = job.run(&mut host);
            assert_eq!(host.now, ends, "{job:?}");
            if mode < 6 {
                assert_eq!(out, world.out(&job), "{job:?}");
            }
        }
        world.compare(&host, &engine);
    });
    let counts = played.get();
    assert!(std::env::var_os("WORDLINE_SEED").is_some() || counts.iter().all(|&n| n > 40), "{counts:?}");
}

/// Modes whose every bus use names its die, so that several dies can alternate.
const NAMED: [usize; 10] = [1, 6, 7, 8, 9, 10, 11, 13, 14, 15];

#[test]
fn random_transactions_agree_on_interleaved_dies() {
    let (together, jobs_played) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_seeds("random_transactions_agree_on_interleaved_dies", 60, |seed| {
        let (mut world, config) = World::new(seed);
        world.geometry.dies = 3;
        let (mut host, mut engine) = (Host::new(world.geometry, &config), Engine::new(world.geometry, &config));
        let mut work: Vec<VecDeque<Job>> = (0..3).map(|_| VecDeque::new()).collect();
        for _ in 0..150 {
            let (mode, die) = (NAMED[world.below(NAMED.len())], world.below(3));
            work[die].extend(world.job(mode, die as u32));
        }
        let starts: Vec<Time> = (0..3).map(|_| world.stream.below(10_000_000)).collect();
        let by_engine = turns_in_engine(&mut engine, work.clone(), &starts);
        let by_pins = turns_on_pins(&mut host, work, &starts);
        assert_eq!(by_pins, by_engine);
        // Two dies are busy at once: a job of one ends between start and end of a job of the other.
        together.set(together.get() + by_pins.windows(2).filter(|pair| pair[0].1 != pair[1].1).count());
        jobs_played.set(jobs_played.get() + by_pins.len());
        world.compare(&host, &engine);
    });
    let (changes, jobs) = (together.get(), jobs_played.get());
    assert!(changes > jobs / 4, "{changes} changes between dies in {jobs} jobs: the dies must take turns");
}

/// The die with the earliest next time, the lowest on a tie.
fn earliest(due: &[Option<Time>]) -> Option<(Time, usize)> {
    due.iter().enumerate().filter_map(|(die, time)| time.map(|time| (time, die))).min()
}

/// Ends of all jobs, with their dies, in the order of time.
fn turns_in_engine(engine: &mut Engine, mut work: Vec<VecDeque<Job>>, starts: &[Time]) -> Vec<(Time, usize)> {
    let mut running: Vec<_> = work.iter().map(|_| None).collect();
    let mut due: Vec<_> = starts.iter().map(|&start| Some(start)).collect();
    let mut ends = Vec::new();
    while let Some((now, die)) = earliest(&due) {
        let next = match &mut running[die] {
            Some(job) => engine.step(now, die as u32, job),
            None => None,
        };
        if let Some(next) = next {
            due[die] = Some(next);
            continue;
        }
        if running[die].take().is_some() {
            ends.push((now, die));
        }
        due[die] = work[die].pop_front().map(|job| {
            let (job, at) = engine.begin(now, &job);
            running[die] = Some(job);
            at
        });
    }
    ends
}

fn keeps_bus((segment, ..): Part, next: Option<&Part>) -> bool {
    match segment {
        Segment::ReadQueue | Segment::EraseQueue => true,
        Segment::ReadOutPlane => next.is_some_and(|next| next.0 == Segment::ReadOutPlane),
        _ => false,
    }
}

fn turns_on_pins(host: &mut Host, mut work: Vec<VecDeque<Job>>, starts: &[Time]) -> Vec<(Time, usize)> {
    let mut running: Vec<Option<(Job, VecDeque<Part>)>> = work.iter().map(|_| None).collect();
    let mut due: Vec<_> = starts.iter().map(|&start| Some(start)).collect();
    let mut ends = Vec::new();
    while let Some((now, die)) = earliest(&due) {
        let (ready, rested) = host.pins.ready_at(die as u32).unwrap();
        if let Some((job, parts)) = &mut running[die] {
            if let Some(mut part) = parts.pop_front() {
                host.now = now.max(host.pins.earliest());
                job.play(host, part, &mut Vec::new());
                // The bus stays with a die between the addresses of several planes, and between their data.
                while keeps_bus(part, parts.front()) {
                    part = parts.pop_front().expect("there is another");
                    host.now = host.now.max(host.pins.ready_at(die as u32).unwrap().0);
                    job.play(host, part, &mut Vec::new());
                }
                let (ready, rested) = host.pins.ready_at(die as u32).unwrap();
                due[die] = Some(host.now.max(if parts.is_empty() { rested } else { ready }));
                continue;
            }
            assert!(now >= ready && now >= rested);
            ends.push((now, die));
            running[die] = None;
        }
        due[die] = work[die].pop_front().map(|job| {
            let parts = job.parts().into();
            running[die] = Some((job, parts));
            now
        });
    }
    ends
}
