//! The script of a host for a die: a random list of legal jobs, drawn in advance.

use super::table::{Tick, PAGES};
use wordline_base::Stream;
use wordline_flash::{Command, Kind, PageAddress};

/// Blocks per plane.
pub const BLOCKS: u32 = 8;

/// A job with its earliest start.
#[derive(Clone, Debug)]
pub struct Job {
    /// Earliest start.
    pub earliest: Tick,
    /// A single command, or the commands of a sequence in cache mode.
    pub commands: Vec<Command>,
    /// The plan to suspend it.
    pub suspension: Option<Suspension>,
}

/// The plan to suspend a command.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// Ticks from the start of the command to the first attempt.
    pub after: Tick,
    /// Ticks between attempts while the command cannot be suspended yet, and from a resumption to the next suspension.
    pub every: Tick,
    /// Reads in each suspension.
    pub reads: Vec<Vec<Command>>,
}

/// A random item of a list.
pub fn pick<'a, T>(random: &mut Stream, list: &'a [T]) -> &'a T {
    &list[random.below(list.len() as u64) as usize]
}

/// A random number from `low` to `high`, both included.
pub fn between(random: &mut Stream, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// True with a probability of `percent`.
pub fn chance(random: &mut Stream, percent: u64) -> bool {
    random.below(100) < percent
}

/// A list of `jobs` for a die of `planes` planes; `plain` ones use no cache mode, and move more data.
pub fn script(random: &mut Stream, planes: u32, jobs: usize, plain: bool) -> Vec<Job> {
    let next = vec![vec![0; BLOCKS as usize]; planes as usize];
    let mut writer = Writer { random, planes, plain, next, most_bytes: 0, clock: 0 };
    (0..jobs).map(|_| writer.job()).collect()
}

/// Draws jobs and records what is written.
struct Writer<'a> {
    random: &'a mut Stream,
    planes: u32,
    plain: bool,
    /// The next page of each block of each plane.
    next: Vec<Vec<u32>>,
    most_bytes: u64,
    clock: Tick,
}

impl Writer<'_> {
    fn job(&mut self) -> Job {
        // Most starts are in the past, with a few pauses.
        self.clock += self.random.below(100);
        if chance(self.random, 4) {
            self.clock += self.random.below(3_000);
        }
        self.most_bytes = *pick(self.random, if self.plain { &[16, 150, 600] } else { &[4, 16, 16, 40, 150] });
        let planes = self.some_planes();
        let commands = match self.random.below(100) {
            0..20 => self.read(&planes),
            20..40 if !self.plain => self.cache_read(&planes),
            20..30 => self.read(&planes),
            30..60 => self.program(&planes),
            60..75 if !self.plain => self.cache_program(&planes),
            75..90 => self.copyback(&planes),
            _ => None,
        };
        let commands = commands.unwrap_or_else(|| self.erase(&planes));
        let suspension = self.suspension(&commands);
        Job { earliest: self.clock, commands, suspension }
    }

    /// One plane, or several in random order.
    fn some_planes(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.planes).collect();
        for at in (1..all.len()).rev() {
            all.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        let several = self.planes > 1 && chance(self.random, 60);
        let count = if several { between(self.random, 2, u64::from(self.planes)) } else { 1 };
        all.truncate(count as usize);
        all
    }

    fn bytes(&mut self) -> u32 {
        between(self.random, 1, self.most_bytes) as u32
    }

    /// A block of each plane that `fits`, all at page `page`.
    fn blocks(&mut self, planes: &[u32], page: u32, fits: impl Fn(u32) -> bool) -> Vec<PageAddress> {
        let mut places = Vec::new();
        for &plane in planes {
            let nexts = &self.next[plane as usize];
            let fitting: Vec<u32> = (0..BLOCKS).filter(|&block| fits(nexts[block as usize])).collect();
            places.push(PageAddress { plane, block: *pick(self.random, &fitting), page });
        }
        places
    }

    /// A written page in each plane, at one offset.
    fn written(&mut self, planes: &[u32]) -> Option<Vec<PageAddress>> {
        let longest = |&plane: &u32| self.next[plane as usize].iter().copied().max();
        let most = planes.iter().filter_map(longest).min().filter(|&most| most > 0)?;
        let page = self.random.below(u64::from(most)) as u32;
        Some(self.blocks(planes, page, |next| next > page))
    }

    /// The next page of a block in each plane, at one offset.
    fn free(&mut self, planes: &[u32]) -> Option<Vec<PageAddress>> {
        let everywhere = |page: &u32| planes.iter().all(|&plane| self.next[plane as usize].contains(page));
        let pages: Vec<u32> = (0..PAGES).filter(everywhere).collect();
        if pages.is_empty() {
            return None;
        }
        let page = *pick(self.random, &pages);
        Some(self.blocks(planes, page, |next| next == page))
    }

    fn note_written(&mut self, places: &[PageAddress]) {
        for at in places {
            self.next[at.plane as usize][at.block as usize] = at.page + 1;
        }
    }

    fn command(&mut self, kind: Kind, cache: bool, places: &[PageAddress]) -> Command {
        let mut command = Command::new(kind);
        command.cache = cache;
        for &at in places {
            let bytes = if kind == Kind::Erase { 0 } else { self.bytes() };
            command.add(at, bytes);
        }
        command
    }

    fn read(&mut self, planes: &[u32]) -> Option<Vec<Command>> {
        let places = self.written(planes)?;
        Some(vec![self.command(Kind::Read, false, &places)])
    }

    fn cache_read(&mut self, planes: &[u32]) -> Option<Vec<Command>> {
        let mut places = self.written(planes)?;
        let sequential = *pick(self.random, &[0, 50, 100]);
        let mut commands = vec![self.command(Kind::Read, true, &places)];
        for _ in 1..between(self.random, 1, 6) {
            let goes_on = |at: &PageAddress| at.page + 1 < self.next[at.plane as usize][at.block as usize];
            if places.iter().all(goes_on) && chance(self.random, sequential) {
                places.iter_mut().for_each(|at| at.page += 1);
            } else {
                places = self.written(planes)?;
            }
            commands.push(self.command(Kind::Read, true, &places));
        }
        Some(commands)
    }

    fn program(&mut self, planes: &[u32]) -> Option<Vec<Command>> {
        let places = self.free(planes)?;
        self.note_written(&places);
        Some(vec![self.command(Kind::Program, false, &places)])
    }

    fn cache_program(&mut self, planes: &[u32]) -> Option<Vec<Command>> {
        let mut commands = Vec::new();
        for _ in 0..between(self.random, 1, 6) {
            let Some(places) = self.free(planes) else { break };
            self.note_written(&places);
            commands.push(self.command(Kind::Program, true, &places));
        }
        // The last page ends the sequence, or the host does.
        if commands.len() > 1 && chance(self.random, 50) {
            commands.last_mut()?.cache = false;
        }
        (!commands.is_empty()).then_some(commands)
    }

    fn copyback(&mut self, planes: &[u32]) -> Option<Vec<Command>> {
        let (from, to) = (self.written(planes)?, self.free(planes)?);
        self.note_written(&to);
        // Data of all planes come out, of none, or of some.
        let out = *pick(self.random, &[0, 100, 50]);
        let mut command = Command::new(Kind::Copyback);
        for (&from, &to) in from.iter().zip(&to) {
            let bytes = if chance(self.random, out) { self.bytes() } else { 0 };
            command.add_move(from, to, bytes);
        }
        Some(vec![command])
    }

    fn erase(&mut self, planes: &[u32]) -> Vec<Command> {
        let places: Vec<PageAddress> = planes
            .iter()
            .map(|&plane| PageAddress { plane, block: self.random.below(u64::from(BLOCKS)) as u32, page: 0 })
            .collect();
        for at in &places {
            self.next[at.plane as usize][at.block as usize] = 0;
        }
        vec![self.command(Kind::Erase, false, &places)]
    }

    /// Reads of other pages, beside a single program or erase.
    fn suspension(&mut self, commands: &[Command]) -> Option<Suspension> {
        let [command] = commands else { return None };
        let fits = matches!(command.kind, Kind::Program | Kind::Erase) && !command.cache;
        if !fits || !chance(self.random, 60) {
            return None;
        }
        let mut reads = Vec::new();
        for _ in 0..between(self.random, 1, 2) {
            let mut beside = Vec::new();
            for _ in 0..between(self.random, 1, 3) {
                let planes = self.some_planes();
                let places = self.written(&planes).unwrap_or_default();
                let own = |at: &PageAddress| command.kind == Kind::Program && command.pages().contains(at);
                if !places.is_empty() && !places.iter().any(own) {
                    beside.push(self.command(Kind::Read, false, &places));
                }
            }
            if !beside.is_empty() {
                reads.push(beside);
            }
        }
        let (after, every) = (self.random.below(300), between(self.random, 1, 40));
        (!reads.is_empty()).then_some(Suspension { after, every, reads })
    }
}
