//! Commands with operations of several tasks: one of them leads, and takes operations of others along that fit.
//!
//! Source: choi18 (Algorithm 2): multi-plane commands of a GC operation and operations of the host.
//! Time and counts go to each task by its pages.

use super::{stream_of, Fault, Kernel, Waits};
use crate::mover::Job;
use crate::ops::{FlashOp, NONE};
use crate::task::{Class, Task, Tasks, CLASSES};
use wordline_base::Time;

impl Kernel {
    /// Classes of other tasks whose operations may share a command that a class leads.
    pub(super) fn guests_of(&mut self, lead: Class) -> impl Iterator<Item = Class> {
        let class_of = move |task: Task| Class::new(task, lead.action());
        let joins = |&task: &Task| class_of(task) != lead && self.pack.joins(lead, class_of(task));
        let joining = self.plan.tasks.iter().filter(joins).fold(Tasks::default(), Tasks::with);
        joining.iter().map(class_of)
    }

    /// The planes of a die of which the command that is put together has no page.
    pub(super) fn planes_left(&self, die: u32) -> impl Iterator<Item = u32> {
        let planes = self.flash.geometry().planes_per_die;
        let taken = self.command.pages().iter().fold(0_u32, |taken, page| taken | 1 << page.plane);
        (0..planes).filter(move |plane| taken >> plane & 1 == 0).map(move |plane| die * planes + plane)
    }

    /// Takes reads of other tasks along that wait for pages of this offset.
    #[cold]
    pub(super) fn join_reads(&mut self, die: u32, lead: Class, page: u32) -> Result<(), Fault> {
        let (window, from) = (self.pack.window(), self.first_of_page(page));
        for other in self.guests_of(lead) {
            for partner in self.planes_left(die) {
                let fits = |kernel: &Self, op: &FlashOp| {
                    kernel.joins(op, from) && kernel.is_of_request(kernel.pages_so_far(die), op)
                };
                if let Some(slot) = self.take_beside(die, (partner, other), window, fits) {
                    self.add_read(die, slot)?;
                    self.dies[die as usize].mixed = true;
                }
            }
        }
        Ok(())
    }

    /// Takes writes of other tasks along where the next page of their plane has this offset.
    #[cold]
    pub(super) fn join_writes(&mut self, die: u32, lead: Class, page: u32) -> Result<(), Fault> {
        for other in self.guests_of(lead) {
            let stream = stream_of(other);
            for partner in self.planes_left(die) {
                if self.space.next_page(&self.blocks, partner, stream) != page
                    || !self.space.has_room(&self.blocks, partner, stream)
                {
                    continue;
                }
                let Some(place) = self.write_for(die, partner, other) else { continue };
                let head = match place {
                    Waits::Plane(plane) => self.queues[plane as usize * CLASSES + other.index()].head,
                    Waits::Shared(index, _) => self.shared[index].head,
                };
                let shares = self.is_of_request(self.pages_so_far(die), self.slab.get(head));
                if !shares || !self.agrees_on_write(die, head, partner) {
                    continue;
                }
                let before = self.dies[die as usize].count;
                self.bind_page(die, partner, other, place)?;
                self.dies[die as usize].mixed |= self.dies[die as usize].count > before;
            }
        }
        Ok(())
    }

    /// Where the oldest write of a class waits that may go to a plane.
    fn write_for(&self, die: u32, plane: u32, class: Class) -> Option<Waits> {
        let own = self.queues[plane as usize * CLASSES + class.index()];
        if own.head != NONE && self.may_go(&own, class, self.blocks.domain_of_plane(plane)) {
            return Some(Waits::Plane(plane));
        }
        let shared = self.shared_of(die, class).into_iter();
        let mut ready = shared.filter(|&index| self.shared[index].head != NONE && self.row_may_go(index, class));
        ready.next().map(|index| Waits::Shared(index, plane))
    }

    /// Reads and writes of the host that wait for other planes of a die than that of a job, and that the next move of the job could
    /// take along.
    #[cold]
    pub(super) fn could_join(&mut self, job: &Job, die: u32) -> (u32, u32) {
        if self.pack.window() == 0 {
            return (0, 0);
        }
        let mut joins = |class: Class| {
            let lead = Class::new(job.task, class.action());
            self.guests_of(lead).any(|other| other == class)
        };
        let (takes_reads, takes_writes) = (joins(Class::HOST_READ), joins(Class::HOST_WRITE));
        let reads = if takes_reads { self.reads_of_next_offset(job, die) } else { 0 };
        // Moved data of a drive-wide domain may go to another die.
        let stays = self.blocks.planes_of_domain(job.domain).len() == 1;
        (reads, if takes_writes && stays { self.writes_at_same_page(job, die) } else { 0 })
    }

    /// The planes of a die but that of a job.
    fn planes_beside(&self, job: &Job, die: u32) -> impl Iterator<Item = u32> + use<> {
        let (own, planes) = (self.blocks.plane_of(job.block), self.planes_per_die.get());
        (die * planes..(die + 1) * planes).filter(move |&plane| plane != own)
    }

    /// The page of its block that a job reads next.
    fn next_to_read(&self, job: &Job) -> Option<u32> {
        let (first, units) = (job.block * self.plan.units_per_block, self.plan.units_per_page);
        let from = self.units_per_page.quotient(job.cursor.checked_sub(first)?);
        (from..self.units_per_page.quotient(job.end - first + units - 1)).find(|page| {
            let place = first + page * units;
            let (from, end) = (place.max(job.cursor), (place + units).min(job.end));
            from < end && self.map.count_valid(from, end) > 0
        })
    }

    /// Reads of the host beside a job at the offset of the page that it reads next.
    fn reads_of_next_offset(&self, job: &Job, die: u32) -> u32 {
        let Some(next) = self.next_to_read(job) else { return 0 };
        let matches = |op: &FlashOp| self.units_per_page.quotient(self.units_per_block.remainder(op.source)) == next;
        let queue = |plane: u32| self.queues[plane as usize * CLASSES + Class::HOST_READ.index()];
        let count = |plane| queue(plane).iter(&self.slab).filter(|&op| matches(op)).count() as u32;
        self.planes_beside(job, die).map(count).sum()
    }

    /// Writes of the host beside a job in planes whose next page is that of GC.
    fn writes_at_same_page(&self, job: &Job, die: u32) -> u32 {
        let (class, next) = (Class::HOST_WRITE, |plane, stream| self.space.next_page(&self.blocks, plane, stream));
        let page = next(self.blocks.plane_of(job.block), stream_of(Class::new(job.task, class.action())));
        let (mut writes, mut any) = (0, false);
        for plane in self.planes_beside(job, die) {
            let stream = stream_of(class);
            if next(plane, stream) != page || !self.space.has_room(&self.blocks, plane, stream) {
                continue;
            }
            let fifo = self.queues[plane as usize * CLASSES + class.index()];
            if fifo.head != NONE && self.may_go(&fifo, class, self.blocks.domain_of_plane(plane)) {
                writes += fifo.len;
            }
            any = true;
        }
        if any && self.shared_count > 0 {
            let rows = self.shared_of(die, class).into_iter();
            let ready = rows.filter(|&index| self.shared[index].head != NONE && self.row_may_go(index, class));
            writes += ready.map(|index| self.shared[index].len).sum::<u32>();
        }
        writes
    }

    /// The class of a page of a die's command.
    fn class_of_page(&self, die: u32, at: usize) -> Class {
        self.slab.get(self.dies[die as usize].pages[at]).class
    }

    /// Counts the command that was put together, page by page.
    #[cold]
    pub(super) fn count_mixed(&mut self, die: u32, lead: Class) {
        self.counters.commands += 1;
        if let Some(stage) = &mut self.stage {
            // What still counts as waiting leaves; its pages are counted below.
            stage.count_start(die, lead, 0);
        }
        for at in 0..self.command.pages().len() {
            let class = self.class_of_page(die, at);
            if let Some(stage) = &mut self.stage {
                stage.count_running(die, class, 1);
            }
            let pages = self.pages_of(class);
            self.counters.count(class.counted(), pages);
            self.counters.multi_plane[class.counted().index()] += pages;
            if class != lead && lead.task() == Task::GC {
                self.counters.joined[class.counted().index()] += pages;
            }
        }
    }

    /// The time of a command of such pages so far, divided among them, with their classes. Each part only grows.
    fn parts<'a>(&'a self, pages: &'a [u32], time: Time) -> impl Iterator<Item = (Class, Time)> + 'a {
        let count = pages.len() as u64;
        (0..).zip(pages).map(move |(at, &page)| (self.slab.get(page).class.counted(), (time + at) / count))
    }

    /// The same of the command that a die runs.
    pub(super) fn parts_of(&self, die: u32, time: Time) -> impl Iterator<Item = (Class, Time)> + '_ {
        let state = &self.dies[die as usize];
        self.parts(&state.pages[..usize::from(state.count)], time)
    }

    /// Charges the tasks of a die's command with its time, which is over.
    #[cold]
    pub(super) fn divide_time(&mut self, die: u32, pages: &[u32], time: Time) {
        let mut times = self.dies[die as usize].occupied;
        self.parts(pages, time).for_each(|(class, part)| times[class.index()] += part);
        self.dies[die as usize].occupied = times;
    }
}
