//! Commands with operations of several tasks: one of them leads, and takes operations of others along that fit.
//!
//! Source: choi18 (Algorithm 2): multi-plane commands of a GC operation and operations of the host.
//! Time and counts go to each task by its pages.

use super::{stream_of, Fault, Kernel, Waits};
use crate::ops::NONE;
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
        let window = self.pack.window();
        for other in self.guests_of(lead) {
            for partner in self.planes_left(die) {
                if let Some(slot) = self.take_read(partner, other, window, |kernel, op| kernel.joins(op, page)) {
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
            self.counters.ops[class.counted().index()] += pages;
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
