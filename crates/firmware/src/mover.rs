//! The page mover: moves all valid pages of a block and erases it. One mover serves every task that moves pages.
//!
//! A *job* reads the pages of its block that hold valid units, a window of them at a time; each unit read becomes a
//! write of its task, which gets its new page when it is issued to a die. A unit that the host overwrites meanwhile is
//! dropped.
//!
//! The units left after the full pages of a block wait for units of the next block, so that no page is padded (see
//! [`Jobs::expects`]).

use serde::{Deserialize, Serialize};

/// No job.
const NONE: u32 = u32::MAX;

/// A block being emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The block.
    pub block: u32,
    /// Its domain.
    pub domain: u32,
    /// First place not yet looked at.
    pub cursor: u32,
    /// Behind its last place.
    pub end: u32,
    /// Valid units not yet queued for reading, some of them overwritten since the job started.
    pub unread: u32,
    /// Units in progress: being read, waiting to be written, or being written.
    pub on_the_way: u32,
    /// True if all its pages are queued for reading.
    pub queued: bool,
    /// True if its erase is in progress.
    pub erasing: bool,
    next_free: u32,
}

/// The jobs that run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    jobs: Vec<Job>,
    free: u32,
    running: Vec<u32>,
    reading: Vec<u32>,
    /// By domain: jobs with pages that are not yet queued for reading.
    unread: Vec<u32>,
    /// By domain: units that do not fill a page go all the same.
    released: Vec<bool>,
    /// Outstanding page moves per job.
    pub window: u32,
}

impl Jobs {
    /// No job runs.
    pub fn new(domains: u32, window: u32) -> Self {
        Self {
            jobs: Vec::new(),
            free: NONE,
            running: vec![0; domains as usize],
            reading: vec![0; domains as usize],
            unread: vec![0; domains as usize],
            released: vec![false; domains as usize],
            window,
        }
    }

    /// Starts a job on a block with `valid` units that covers the places `start..end`.
    pub fn start(&mut self, block: u32, domain: u32, valid: u32, (start, end): (u32, u32)) -> u32 {
        self.running[domain as usize] += 1;
        self.unread[domain as usize] += 1;
        self.released[domain as usize] = false;
        let job = Job {
            block,
            domain,
            cursor: start,
            end,
            unread: valid,
            on_the_way: 0,
            queued: false,
            erasing: false,
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
        self.running[job.domain as usize] -= 1;
        job.next_free = self.free;
        self.free = slot;
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

    /// Jobs that run in a domain.
    #[inline]
    pub fn running(&self, domain: u32) -> u32 {
        self.running[domain as usize]
    }

    /// True if more units of a domain's jobs will soon be ready to fill a page.
    #[inline]
    pub fn expects(&self, domain: u32) -> bool {
        self.reading[domain as usize] > 0 || self.unread[domain as usize] > 0
    }

    /// All pages of a job are queued for reading.
    #[inline]
    pub fn all_queued(&mut self, slot: u32) {
        let job = &mut self.jobs[slot as usize];
        (job.queued, job.unread) = (true, 0);
        self.unread[job.domain as usize] -= 1;
    }

    /// True if units of a domain are written even if they do not fill a page.
    #[inline]
    pub fn is_released(&self, domain: u32) -> bool {
        self.released[domain as usize]
    }

    /// Lets units of a domain go that do not fill a page, until another job starts there.
    pub fn release(&mut self, domain: u32) {
        self.released[domain as usize] = true;
    }

    /// A page read was queued.
    #[inline]
    pub fn read_queued(&mut self, domain: u32) {
        self.reading[domain as usize] += 1;
    }

    /// A page read ended.
    #[inline]
    pub fn read_ended(&mut self, domain: u32) {
        self.reading[domain as usize] -= 1;
    }
}
