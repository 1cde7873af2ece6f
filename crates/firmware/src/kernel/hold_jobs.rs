//! Jobs of GC on hold: a policy that steps is asked before each page read of a job, and before its erase.
//!
//! A job on hold keeps its block and its promise of room. Its policy is asked again when what it sees may have changed: a command at
//! its die has ended, a block was opened or became free, another job has ended, or the host has left the drive; and once in
//! the moment in which it was put on hold, when all dies have found their work. Nothing is asked by a clock.
//!
//! A hold costs no progress. If writes find no room and nothing moves, all jobs on hold go on to their ends, whatever their
//! policy says; so do they when the drive becomes idle, since a drive at rest has no jobs. A policy that holds while the host
//! rests is not asked until the host comes back. In a die that GC has for itself nobody else would be served, so its jobs
//! are not asked; nor are any while commands take no time.

use super::{stream_of, Kernel};
use crate::mover::Job;
use crate::ops::NONE;
use crate::policy::collect::{Step, StepView};
use crate::policy::guest::failed;
use crate::space::Stream;
use crate::task::{Class, Task, CLASSES, ROWS};

/// The jobs on hold, and for which of them something has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Holding {
    /// True if the policy is asked about steps.
    pub asks: bool,
    /// True if something may have changed for a job.
    pub due: bool,
    jobs: Vec<u32>,
    /// Those of them that are being asked.
    asked: Vec<u32>,
    /// The job that is being asked again.
    again: Option<u32>,
    /// True if something has changed for all.
    all: bool,
    /// By die: the same for its jobs. Empty if the policy is not asked.
    dies: Vec<bool>,
}

impl Holding {
    pub fn new(asks: bool, dies: u32) -> Self {
        Self { asks, dies: vec![false; if asks { dies as usize } else { 0 }], ..Self::default() }
    }

    /// Jobs on hold.
    pub fn count(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// Something has changed for the jobs of a die.
    #[inline]
    pub fn changed(&mut self, die: u32) {
        if !self.jobs.is_empty() {
            self.dies[die as usize] = true;
            self.due = true;
        }
    }

    /// Something has changed for all; false if there are none.
    #[inline]
    pub fn all_changed(&mut self) -> bool {
        let any = !self.jobs.is_empty();
        self.all |= any;
        self.due |= any;
        any
    }
}

impl Kernel {
    /// Asks whether a job takes its next step, a page read or the erase; true if it is on hold.
    #[cold]
    pub(super) fn is_put_on_hold(&mut self, slot: u32, erases: bool) -> bool {
        let job = *self.jobs.get(slot);
        if job.task != Task::GC {
            return false;
        }
        let die = self.die_of_job(slot);
        let is_asked = self.timed && !self.closing && !job.forced && !self.is_held(die);
        let holds = is_asked && {
            let view = self.step_view(&job, die, erases);
            let step = self.collect.step(&view);
            self.heed(failed(self.collect.trouble()));
            step == Step::Hold
        };
        let again = self.holding.again.take_if(|again| *again == slot).is_some();
        if holds && !job.held {
            self.holding.jobs.push(slot);
            if !again {
                self.counters.holds += 1;
                self.holding.changed(die);
            }
        } else if job.held && !holds {
            self.holding.jobs.retain(|&held| held != slot);
        }
        self.jobs.get_mut(slot).held = holds;
        holds
    }

    fn die_of_job(&self, slot: u32) -> u32 {
        self.planes_per_die.quotient(self.blocks.plane_of(self.jobs.get(slot).block))
    }

    fn step_view(&mut self, job: &Job, die: u32, erases: bool) -> StepView {
        let (host_reads, host_writes) = self.host_waits_for(die);
        let takes_along = self.mixes && !erases;
        let (joining_reads, joining_writes) = if takes_along { self.could_join(job, die) } else { (0, 0) };
        let state = &self.dies[die as usize];
        let has_room = |plane| self.space.has_room(&self.blocks, plane, Stream::Host);
        StepView {
            domain: job.domain,
            die,
            free: self.space.free_for_gc(&self.blocks, job.domain),
            running: self.jobs.running(job.group),
            erases,
            unread: if erases { 0 } else { self.map.count_valid(job.cursor, job.end) },
            on_the_way: job.on_the_way,
            host_reads,
            host_writes,
            die_works: state.busy,
            die_serves_host: state.busy && state.class.is_host(),
            host_has_room: self.blocks.planes_of_domain(job.domain).any(has_room) && !self.is_waited_for(die),
            host_rests: self.rests.rests(),
            takes_along,
            joining_reads,
            joining_writes,
        }
    }

    /// Reads and writes of the host that wait for a die. Writes count if they could start there, as in [`Kernel::survey`]: those
    /// that lack room or company would keep GC waiting for what only GC, or more of the host, can bring.
    fn host_waits_for(&self, die: u32) -> (u32, u32) {
        let (mut reads, mut writes) = (0, 0);
        let mut waiting = self.dies[die as usize].waiting;
        while let Some((class, plane)) = waiting.next() {
            if !class.is_host() {
                continue;
            }
            let plane = die * self.planes_per_die.get() + plane;
            let fifo = &self.queues[plane as usize * CLASSES + class.index()];
            if !class.is_write() {
                reads += fifo.len;
            } else if class.is_map_write() && self.leads_parity(fifo) {
                writes += 1;
            } else if (self.may_go(fifo, class, self.blocks.domain_of_plane(plane))
                || self.fills_slc(plane, fifo, class))
                && self.space.has_room(&self.blocks, plane, stream_of(class))
            {
                writes += fifo.len;
            }
        }
        if self.shared_count > 0 {
            let rows = (0..ROWS).filter(|&row| self.shared_waiting[row] > 0).map(Class::of_row);
            for class in rows.filter(|class| class.is_host()) {
                let goes = |&index: &usize| self.shared[index].head != NONE && self.row_may_go(index, class);
                let waiting: u32 = self
                    .shared_of(die, class)
                    .iter()
                    .filter(|index| goes(index))
                    .map(|&index| self.shared[index].len)
                    .sum();
                if waiting > 0 && self.takes(die, stream_of(class)) {
                    writes += waiting;
                }
            }
        }
        (reads, writes)
    }

    /// Asks about the jobs on hold for which something may have changed.
    #[cold]
    pub(super) fn ask_held(&mut self) {
        let all = std::mem::take(&mut self.holding.all);
        self.holding.due = false;
        self.take_steps(|kernel, slot| all || kernel.holding.dies[kernel.die_of_job(slot) as usize], Some);
    }

    /// Lets all jobs on hold go on to their ends; false if there are none.
    #[cold]
    pub(super) fn force_held(&mut self) -> bool {
        let any = self.holding.count() > 0;
        for at in 0..self.holding.jobs.len() {
            self.jobs.get_mut(self.holding.jobs[at]).forced = true;
        }
        self.take_steps(|_, _| true, |_| None);
        any
    }

    /// Lets jobs on hold take their next step, those that are `due`; `again` tells whether they are asked again.
    fn take_steps(&mut self, due: impl Fn(&Self, u32) -> bool, again: impl Fn(u32) -> Option<u32>) {
        // Two lists that both grow to the working size: nothing is allocated then.
        let (mut held, mut asked) = (std::mem::take(&mut self.holding.jobs), std::mem::take(&mut self.holding.asked));
        held.retain(|&slot| {
            let is_due = due(self, slot);
            if is_due {
                asked.push(slot);
                self.jobs.get_mut(slot).held = false;
            }
            !is_due
        });
        self.holding.jobs = held;
        self.holding.dies.fill(false);
        for &slot in &asked {
            if !self.jobs.get(slot).held {
                self.holding.again = again(slot);
                self.advance(slot);
                self.holding.again = None;
            }
        }
        asked.clear();
        self.holding.asked = asked;
    }
}
