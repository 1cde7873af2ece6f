//! A host with a queue of requests. Requests become page transactions, the scheduler distributes them over the dies,
//! and each die forms commands from its waiting transactions.

use super::outcome::{Books, Outcome};
use super::plant::Plant;
use super::{Addressing, Direction, Drawing, Experiment, Load, Scheduler, UnitError};
use crate::array::Progress;
use crate::geometry::Geometry;
use std::collections::VecDeque;
use wordline_base::{ps_from_us, Op, Request as Asked, Stream, Time};
use wordline_nand::{Command, Kind, PageAddress, MAX_PLANES};

/// Number of waiting transactions of a die that are searched for a partner on another plane.
const WINDOW: usize = 64;

/// A page transaction.
#[derive(Clone, Copy, Debug)]
struct Page {
    kind: Kind,
    at: PageAddress,
    bytes: u32,
    request: u32,
}

/// A request in service.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    arrived: Time,
    bytes: u64,
    left: u32,
}

/// Queue and current work of a die.
#[derive(Clone, Debug, Default)]
struct Die {
    waiting: VecDeque<Page>,
    busy: bool,
    since: Time,
    kind: Kind,
    /// Planes of the current command, as bits.
    planes: u8,
    /// Requests of the pages of the current command, and of the previous one in cache mode.
    current: Batch,
    before: Batch,
}

#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    requests: [u32; MAX_PLANES],
    count: usize,
}

struct Host<'a> {
    experiment: &'a Experiment,
    geometry: Geometry,
    plant: Plant,
    books: Books,
    dies: Vec<Die>,
    requests: Vec<Request>,
    free: Vec<u32>,
    /// Requests not yet arrived.
    to_come: u64,
    started: u64,
    outstanding: u32,
    next_arrival: Time,
    spacing: Time,
    stream: Stream,
    /// Next page of the stream.
    position: u64,
    /// Next page of the log.
    log: u64,
    /// Static addressing: pages written in each plane, and the place of each logical page in its plane.
    written: Vec<u64>,
    place: Vec<u32>,
    pages: u64,
    command: Command,
}

pub fn serve(
    experiment: &Experiment,
    mut drawing: Option<&mut Drawing>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, UnitError> {
    let mut host = Host::new(experiment)?;
    host.prepare()?;
    if experiment.stage_log {
        host.plant.record();
    }
    if let Some(drawing) = &mut drawing {
        drawing.begin(&mut host.plant, experiment, Some(experiment.host.queue_depth));
    }
    let ran = host.run(progress);
    if let Some(drawing) = &mut drawing {
        drawing.end(&mut host.plant, &ran);
    }
    ran?;
    let Host { mut plant, geometry, books, pages, .. } = host;
    Ok(books.close(&mut plant, &geometry, experiment, pages, 0))
}

impl<'a> Host<'a> {
    fn new(experiment: &'a Experiment) -> Result<Self, UnitError> {
        let geometry = experiment.geometry()?;
        let depth = experiment.host.queue_depth;
        let (Load::Stream { requests, .. } | Load::Mix { requests, .. }) = experiment.load else {
            unreachable!("migrations have a script");
        };
        Ok(Self {
            experiment,
            geometry,
            plant: Plant::new(experiment, geometry)?,
            books: Books::new(experiment),
            dies: vec![Die::default(); geometry.dies() as usize],
            requests: vec![Request::default(); depth as usize],
            free: (0..depth).rev().collect(),
            to_come: requests,
            started: 0,
            outstanding: 0,
            next_arrival: 0,
            spacing: ps_from_us(experiment.host.arrival_us),
            stream: Stream::new(experiment.seed, "unit-load", 0),
            position: 0,
            log: 0,
            written: vec![0; geometry.planes() as usize],
            place: Vec::new(),
            pages: 0,
            command: Command::new(Kind::Read),
        })
    }

    /// Pages of one plane.
    fn plane_pages(&self) -> u64 {
        u64::from(self.geometry.blocks_per_plane) * u64::from(self.geometry.pages_per_block)
    }

    /// Fills the pages to be read, and checks the space for the pages to be written.
    fn prepare(&mut self) -> Result<(), UnitError> {
        let page = u64::from(self.geometry.page_bytes);
        let all = u64::from(self.geometry.planes()) * self.plane_pages();
        let (filled, written) = match self.experiment.load {
            Load::Stream { op, request_bytes, requests } => {
                let pages = u64::from(request_bytes).div_ceil(page).saturating_mul(requests);
                // A read workload starts over at the end of the package.
                if op == Direction::Read {
                    (pages.min(all), 0)
                } else {
                    (0, pages)
                }
            }
            Load::Mix { write_bytes, requests, write_percent, footprint_pages, .. } => {
                let most = (u64::from(write_bytes) * 3 / 2).div_ceil(page);
                let share = if write_percent > 0.0 { most.saturating_mul(requests) } else { 0 };
                (u64::from(footprint_pages), (share as f64 * write_percent / 100.0 * 1.1) as u64)
            }
            Load::Migrate { .. } => unreachable!("migrations have a script"),
        };
        if filled.saturating_add(written) > all {
            let problem = format!(
                "the load needs {filled} pages to read and about {written} to write, but the package has {all}: \
                 take more blocks_per_plane, or fewer requests"
            );
            return Err(UnitError::value("load.requests", self.to_come, problem));
        }
        for page in 0..filled {
            let (die, at) = self.layout(page);
            self.plant.fill(die, at)?;
        }
        let stripe = u64::from(self.geometry.planes());
        self.log = filled.div_ceil(stripe) * stripe;
        if self.experiment.host.addressing == Addressing::Static {
            for plane in 0..self.geometry.planes() {
                let record = |block| self.plant.flash().block_record(block).next_page;
                let first = plane * self.geometry.blocks_per_plane;
                let full = (first..first + self.geometry.blocks_per_plane).map(|block| u64::from(record(block)));
                self.written[plane as usize] = full.sum();
            }
            if let Load::Mix { footprint_pages, .. } = self.experiment.load {
                self.place = (0..footprint_pages).map(|page| (u64::from(page) / stripe) as u32).collect();
            }
        }
        Ok(())
    }

    /// Die, plane and place in the plane of a page, in the scheduler's order.
    #[inline]
    fn stripe(&self, page: u64) -> (u32, u32, u64) {
        let (dies, planes) = (u64::from(self.geometry.dies()), u64::from(self.geometry.planes_per_die));
        let (die, plane) = match self.experiment.host.scheduler {
            Scheduler::DieFirst => (page % dies, page / dies % planes),
            Scheduler::PlaneFirst => (page / planes % dies, page % planes),
        };
        (die as u32, plane as u32, page / (dies * planes))
    }

    #[inline]
    fn address(&self, plane: u32, place: u64) -> PageAddress {
        let pages = u64::from(self.geometry.pages_per_block);
        PageAddress { plane, block: (place / pages) as u32, page: (place % pages) as u32 }
    }

    #[inline]
    fn layout(&self, page: u64) -> (u32, PageAddress) {
        let (die, plane, place) = self.stripe(page);
        (die, self.address(plane, place))
    }

    fn run(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> Result<(), UnitError> {
        let all = self.to_come.max(1) as f64;
        let mut steps = 0_u64;
        loop {
            while self.admits() {
                self.arrive()?;
            }
            self.dispatch_all()?;
            let next = self.plant.next();
            let arrival = (self.to_come > 0 && self.room()).then_some(self.next_arrival);
            match (next, arrival) {
                (Some((time, die)), arrival) if arrival.is_none_or(|arrival| time < arrival) => self.step(time, die)?,
                (_, Some(arrival)) => self.plant.now = self.plant.now.max(arrival),
                (_, None) => return Ok(()),
            }
            steps += 1;
            if steps.is_multiple_of(1 << 16) && !progress(1.0 - self.to_come as f64 / all) {
                return Err(UnitError::Interrupted);
            }
        }
    }

    #[inline]
    fn room(&self) -> bool {
        self.outstanding < self.experiment.host.queue_depth
    }

    #[inline]
    fn admits(&self) -> bool {
        self.to_come > 0 && self.room() && self.next_arrival <= self.plant.now
    }

    /// The next request: operation, first page and bytes.
    #[inline]
    fn draw(&mut self) -> (Kind, u64, u64) {
        let page = u64::from(self.geometry.page_bytes);
        match self.experiment.load {
            Load::Stream { op, request_bytes, .. } => {
                let first = self.position;
                self.position += u64::from(request_bytes).div_ceil(page);
                let kind = if op == Direction::Read { Kind::Read } else { Kind::Program };
                (kind, first, u64::from(request_bytes))
            }
            Load::Mix { write_percent, write_bytes, read_bytes, footprint_pages, .. } => {
                let write = self.stream.unit() * 100.0 < write_percent;
                let mean = u64::from(if write { write_bytes } else { read_bytes });
                // Uniform between half and one and a half of the mean.
                let bytes = (mean / 2 + self.stream.below(mean + 1)).max(1);
                let pages = bytes.div_ceil(page).min(u64::from(footprint_pages));
                let first = self.stream.below(u64::from(footprint_pages) - pages + 1);
                (if write { Kind::Program } else { Kind::Read }, first, bytes.min(pages * page))
            }
            Load::Migrate { .. } => unreachable!("migrations have a script"),
        }
    }

    /// A request arrives and becomes page transactions.
    fn arrive(&mut self) -> Result<(), UnitError> {
        let arrived = if self.spacing > 0 { self.next_arrival } else { self.plant.now };
        self.next_arrival += self.spacing;
        self.to_come -= 1;
        self.started += 1;
        self.outstanding += 1;
        let (kind, first, bytes) = self.draw();
        let page = u64::from(self.geometry.page_bytes);
        let count = bytes.div_ceil(page);
        let slot = self.free.pop().expect("the queue has room");
        self.requests[slot as usize] = Request { arrived, bytes, left: count as u32 };
        self.plant.arrived(slot, || {
            let op = if kind == Kind::Read { Op::Read } else { Op::Write };
            Asked { arrival: arrived, offset: first * page, bytes: bytes as u32, op, ..Asked::default() }
        });
        self.pages += count;
        for at in 0..count {
            let (die, address) = self.locate(kind, first + at)?;
            let bytes = (bytes - at * page).min(page) as u32;
            self.dies[die as usize].waiting.push_back(Page { kind, at: address, bytes, request: slot });
        }
        Ok(())
    }

    /// The physical address of a page to read or write.
    fn locate(&mut self, kind: Kind, page: u64) -> Result<(u32, PageAddress), UnitError> {
        let fixed = self.experiment.host.addressing == Addressing::Static;
        if kind == Kind::Read {
            let all = u64::from(self.geometry.planes()) * self.plane_pages();
            let (die, plane, place) = self.stripe(page % all);
            let place = if self.place.is_empty() { place } else { u64::from(self.place[page as usize]) };
            return Ok((die, self.address(plane, place)));
        }
        let (die, plane, place) = if fixed {
            let (die, plane, _) = self.stripe(page);
            let written = &mut self.written[(die * self.geometry.planes_per_die + plane) as usize];
            *written += 1;
            (die, plane, *written - 1)
        } else {
            self.log += 1;
            self.stripe(self.log - 1)
        };
        if place >= self.plane_pages() {
            let problem = "the workload writes more than the package holds: give more blocks_per_plane, or fewer \
                requests";
            return Err(UnitError::value("load.requests", self.started + self.to_come, problem));
        }
        if let Some(current) = self.place.get_mut(page as usize).filter(|_| fixed) {
            *current = place as u32;
        }
        Ok((die, self.address(plane, place)))
    }

    #[inline]
    fn dispatch_all(&mut self) -> Result<(), UnitError> {
        for die in 0..self.dies.len() {
            if self.dies[die].busy || self.dies[die].waiting.is_empty() || !self.form(die, None) {
                continue;
            }
            let more = self.dies[die].waiting.front().is_some_and(|page| page.kind == self.command.kind);
            self.command.cache = self.experiment.host.cache && (more || self.command.kind == Kind::Read);
            let state = &mut self.dies[die];
            state.busy = true;
            state.since = self.plant.now;
            state.kind = self.command.kind;
            self.books.issued(&self.command);
            self.plant.begin(die as u32, &self.command)?;
            let Batch { requests, count } = &self.dies[die].current;
            self.plant.serve(die as u32, &requests[..*count]);
        }
        Ok(())
    }

    /// True if a plane-first host waits for more pages before it sends a command with fewer planes than possible.
    #[inline]
    fn collects(&self) -> bool {
        self.experiment.host.scheduler == Scheduler::PlaneFirst && self.to_come > 0 && self.room()
    }

    /// Forms a command from the oldest waiting transaction of a die and its partners; in cache mode one of `kind` on
    /// the same planes. False if there is none.
    fn form(&mut self, die: usize, follows: Option<Kind>) -> bool {
        let per_command = self.experiment.host.planes_per_command;
        let collects = self.collects();
        let state = &mut self.dies[die];
        let Some(&head) = state.waiting.front() else { return false };
        if follows.is_some_and(|kind| kind != head.kind) {
            return false;
        }
        let first = head.at.plane - head.at.plane % per_command;
        let mut found = [usize::MAX; MAX_PLANES];
        let mut missing = per_command;
        for (index, page) in state.waiting.iter().take(WINDOW).enumerate() {
            let at = page.at.plane.wrapping_sub(first);
            if at >= per_command || found[at as usize] != usize::MAX {
                continue;
            }
            // Only the oldest transaction of a plane may join, so pages of a plane keep their order.
            let joins = page.kind == head.kind && page.at.page == head.at.page;
            found[at as usize] = if joins { index } else { usize::MAX - 1 };
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
        let joined = |index: &&usize| **index < usize::MAX - 1;
        if collects && follows.is_none() && found[..per_command as usize].contains(&usize::MAX) {
            return false;
        }
        if follows.is_some() {
            let planes = (0..per_command).filter(|&at| found[at as usize] < usize::MAX - 1);
            if state.planes != planes.fold(0, |mask, at| mask | 1 << (first + at)) {
                return false;
            }
        }
        let state = &mut self.dies[die];
        self.command.clear(head.kind);
        state.before = state.current;
        state.current.count = 0;
        state.planes = 0;
        for &index in found.iter().filter(joined) {
            let page = state.waiting[index];
            state.planes |= 1 << page.at.plane;
            self.command.add(page.at, page.bytes);
            state.current.requests[state.current.count] = page.request;
            state.current.count += 1;
        }
        let mut indices = found;
        indices.sort_unstable_by(|a, b| b.cmp(a));
        for &index in indices.iter().filter(joined) {
            state.waiting.remove(index);
        }
        true
    }

    fn step(&mut self, time: Time, die: u32) -> Result<(), UnitError> {
        let at = die as usize;
        match self.plant.step(time, die) {
            Progress::Busy => {}
            Progress::Ready { ended } => {
                if ended {
                    let batch = self.dies[at].before;
                    self.end(batch);
                    self.dies[at].before.count = 0;
                }
                self.admit_now()?;
                let kind = self.dies[at].kind;
                if self.form(at, Some(kind)) {
                    let more = self.dies[at].waiting.front().is_some_and(|page| page.kind == kind);
                    self.command.cache = more || kind == Kind::Read;
                    self.books.issued(&self.command);
                    self.plant.follow(die, &self.command)?;
                    let Batch { requests, count } = &self.dies[at].current;
                    self.plant.serve(die, &requests[..*count]);
                } else {
                    self.plant.finish(die)?;
                }
            }
            Progress::Done => {
                let state = &mut self.dies[at];
                let (before, current) = (state.before, state.current);
                state.busy = false;
                state.before.count = 0;
                state.current.count = 0;
                self.books.served(time - state.since);
                self.end(before);
                self.end(current);
            }
        }
        Ok(())
    }

    /// Admits all requests that may arrive now, so that a die in cache mode sees them.
    fn admit_now(&mut self) -> Result<(), UnitError> {
        while self.admits() {
            self.arrive()?;
        }
        Ok(())
    }

    /// Completes the pages of a command.
    #[inline]
    fn end(&mut self, batch: Batch) {
        for &slot in &batch.requests[..batch.count] {
            let request = &mut self.requests[slot as usize];
            request.left -= 1;
            if request.left == 0 {
                self.books.request_done(self.plant.now - request.arrived, request.bytes);
                self.plant.ended(slot);
                self.outstanding -= 1;
                self.free.push(slot);
            }
        }
    }
}
