//! The page mover: moves all valid pages of a block and erases it. One mover serves every task that moves pages.
//!
//! A *job* reads the pages of its block that hold valid units, a window of them at a time; each unit read becomes a
//! write of its task, which gets its new page when it is issued to a die. A unit that the host overwrites meanwhile is
//! dropped.
//!
//! The units left after the full pages of a block wait for units of the next block, so that no page is padded (see
//! [`Jobs::expects`]).

use crate::map::Map;
use crate::task::{Task, TASKS};

/// No job.
const NONE: u32 = u32::MAX;

/// A block being emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The block.
    pub block: u32,
    /// The task that moves its data.
    pub task: Task,
    /// Its domain.
    pub domain: u32,
    /// The jobs of its task and domain: see [`Jobs::group`].
    pub group: u32,
    /// First place not yet looked at.
    pub cursor: u32,
    /// Behind its last place.
    pub end: u32,
    /// Valid units not yet queued for reading, some of them overwritten since the job started.
    pub unread: u32,
    /// Units that may be in progress at a time.
    pub window: u32,
    /// Units in progress: being read, waiting to be written, or being written.
    pub on_the_way: u32,
    /// Pages that are queued for reading, or being read.
    pub reads: u32,
    /// True if all its pages are queued for reading.
    pub queued: bool,
    /// True if nothing is left to move.
    pub empty: bool,
    /// True if its erase is in progress.
    pub erasing: bool,
    /// True if it is on hold before its next step.
    pub held: bool,
    /// True if its policy is not asked about its steps any more.
    pub forced: bool,
    /// The logical block whose replaced block it is, if it copies within one.
    pub lot: u32,
    runs: bool,
    next_free: u32,
}

impl Job {
    /// True if it has places left to look at, and does not before one of its units is where it belongs.
    #[inline(always)]
    pub fn rests(&self) -> bool {
        self.cursor < self.end && self.on_the_way >= self.window
    }
}

/// The jobs that run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    jobs: Vec<Job>,
    free: u32,
    domains: u32,
    /// By group.
    running: Vec<u32>,
    /// By group: page reads.
    reading: Vec<u32>,
    /// By group: jobs with pages that are not yet queued for reading.
    unread: Vec<u32>,
    /// By group: units that do not fill a page go all the same.
    released: Vec<bool>,
}

impl Jobs {
    /// No job runs.
    pub fn new(domains: u32) -> Self {
        let groups = TASKS * domains as usize;
        Self {
            jobs: Vec::new(),
            free: NONE,
            domains,
            running: vec![0; groups],
            reading: vec![0; groups],
            unread: vec![0; groups],
            released: vec![false; groups],
        }
    }

    /// The group of the jobs of a task in a domain. Units of a group fill pages together.
    #[inline]
    pub fn group(&self, task: Task, domain: u32) -> u32 {
        task.index() as u32 * self.domains + domain
    }

    /// Starts a job of a task, with a window in units, on a block of a domain with `valid` units in the places
    /// `start..end`.
    pub fn start(
        &mut self,
        (task, window): (Task, u32),
        (block, domain): (u32, u32),
        valid: u32,
        (start, end): (u32, u32),
    ) -> u32 {
        let group = self.group(task, domain);
        self.running[group as usize] += 1;
        self.unread[group as usize] += 1;
        self.released[group as usize] = false;
        let job = Job {
            block,
            task,
            domain,
            group,
            cursor: start,
            end,
            unread: valid,
            window,
            on_the_way: 0,
            reads: 0,
            queued: false,
            empty: false,
            erasing: false,
            held: false,
            forced: false,
            lot: NONE,
            runs: true,
            next_free: NONE,
        };
        if self.free == NONE {
            self.jobs.push(job);
            return self.jobs.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.jobs[slot as usize].next_free;
        self.jobs[slot as usize] = job;
        slot
    }

    /// Ends a job.
    pub fn end(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        self.running[job.group as usize] -= 1;
        job.runs = false;
        job.next_free = self.free;
        self.free = slot;
    }

    /// The slots of the jobs that empty blocks given, in their order.
    pub fn of_blocks<'a>(&'a self, blocks: impl Iterator<Item = u32> + 'a) -> impl Iterator<Item = u32> + 'a {
        blocks.filter_map(|block| {
            let runs = |job: &Job| job.block == block && job.runs;
            self.jobs.iter().position(runs).map(|slot| slot as u32)
        })
    }

    /// The job in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &Job {
        &self.jobs[slot as usize]
    }

    /// The job in a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Job {
        &mut self.jobs[slot as usize]
    }

    /// Jobs of a group that run.
    #[inline]
    pub fn running(&self, group: u32) -> u32 {
        self.running[group as usize]
    }

    /// Jobs of a task that run.
    pub fn of_task(&self, task: Task) -> u32 {
        let groups = self.group(task, 0) as usize..self.group(task, self.domains) as usize;
        self.running[groups].iter().sum()
    }

    /// True if more units of a group's jobs will soon be ready to fill a page.
    #[inline]
    pub fn expects(&self, group: u32) -> bool {
        self.reading[group as usize] > 0 || self.unread[group as usize] > 0
    }

    /// All pages of a job are queued for reading.
    #[inline]
    pub fn all_queued(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        (job.queued, job.unread) = (true, 0);
        self.unread[job.group as usize] -= 1;
    }

    /// A job goes on to another place, with so many valid units more.
    pub fn extend(&mut self, slot: u32, end: u32, units: u32) {
        let job = &mut self.jobs[slot as usize];
        job.end = end;
        job.unread += units;
        if std::mem::take(&mut job.queued) {
            self.unread[job.group as usize] += 1;
        }
    }

    /// True if units of a group are written even if they do not fill a page.
    #[inline]
    pub fn is_released(&self, group: u32) -> bool {
        self.released[group as usize]
    }

    /// Lets units of a group go that do not fill a page, until another of its jobs starts.
    pub fn release(&mut self, group: u32) {
        self.released[group as usize] = true;
    }

    /// A page read of a job was queued; gives the job.
    #[inline(always)]
    pub fn read_queued(&mut self, slot: u32) -> &mut Job {
        let job = &mut self.jobs[slot as usize];
        job.reads += 1;
        self.reading[job.group as usize] += 1;
        job
    }

    /// The place that a job reads next, if it has one from its cursor on, and its window lets it read at once; the page there is
    /// queued for reading. Gives the job, too.
    #[inline(always)]
    pub fn read_next(&mut self, slot: u32, map: &Map) -> Option<(u32, &Job)> {
        let job = &mut self.jobs[slot as usize];
        if job.cursor >= job.end || job.on_the_way > job.window {
            return None;
        }
        let place = map.next_valid(job.cursor, job.end)?;
        (job.cursor, job.unread, job.reads) = (place + 1, job.unread - 1, job.reads + 1);
        self.reading[job.group as usize] += 1;
        Some((place, job))
    }

    /// All that a job was to move is moved.
    pub fn done(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        self.reading[job.group as usize] -= std::mem::take(&mut job.reads);
        (job.cursor, job.on_the_way) = (job.end, 0);
        if !job.queued {
            self.all_queued(slot);
        }
    }

    /// A page read of a job ended; gives the job.
    #[inline(always)]
    pub fn read_ended(&mut self, slot: u32) -> &Job {
        let job = &mut self.jobs[slot as usize];
        job.reads -= 1;
        self.reading[job.group as usize] -= 1;
        job
    }
}
