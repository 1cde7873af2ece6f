//! Reads around busy dies: the data of a page are rebuilt from the other pages of its row.
//!
//! Each of the other pages is read by an operation of its own, a *part*. The read itself waits beside the queues until all
//! parts have ended. If its data move before all parts have been issued, the rest of them are dropped, and the read
//! follows its data. Of a row that is not whole yet the controller's memory holds the parity of the pages that are there.

use super::account::Accounts;
use super::Kernel;
use crate::ops::{FlashOp, Role};
use crate::policy::redundancy::AroundView;
use crate::task::Class;
use wordline_base::Time;

/// A read that is rebuilt.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    /// The read.
    slot: u32,
    /// The read as it was when it was to go to its die.
    read: FlashOp,
    /// Its parts that have not ended.
    left: u32,
    /// True if its data have moved.
    moved: bool,
    /// True if a part waited for a die that GC held.
    gc_affected: bool,
}

/// The reads that are being rebuilt.
#[derive(Clone, Debug, Default)]
pub(super) struct Arounds {
    list: Vec<Around>,
    free: Vec<u32>,
    /// Planes with the other pages of a row.
    row: Vec<u32>,
}

impl Arounds {
    fn start(&mut self, slot: u32, read: FlashOp, left: u32) -> u32 {
        let around = Around { slot, read, left, ..Around::default() };
        match self.free.pop() {
            Some(at) => {
                self.list[at as usize] = around;
                at
            }
            None => {
                self.list.push(around);
                self.list.len() as u32 - 1
            }
        }
    }
}

impl Kernel {
    /// How long the die of a plane still works, by the nominal time of the cells, and at least a moment; none if it is idle. What
    /// waits there counts if a commit stage has sent it: first come, first served it goes before a read that comes now.
    fn works_for(&self, plane: u32) -> Option<Time> {
        let number = self.planes_per_die.quotient(plane);
        let die = &self.dies[number as usize];
        let left = || (die.since + self.nominal[die.class.action() as usize]).saturating_sub(self.now).max(1);
        let running = die.busy.then(left);
        let sent = self.stage.as_ref().map_or(0, |stage| stage.backlog(number, &self.nominal));
        (running.is_some() || sent > 0).then_some(running.unwrap_or(0) + sent)
    }

    /// The same if it works for a background task, now or with what was sent to it.
    fn works_in_background(&self, plane: u32) -> Option<Time> {
        let number = self.planes_per_die.quotient(plane);
        let die = &self.dies[number as usize];
        let background = die.busy && !die.class.is_host();
        let has_more = || self.stage.as_ref().is_some_and(|stage| stage.has_background(number));
        (background || has_more()).then(|| self.works_for(plane)).flatten()
    }

    /// Rebuilds a read of the host whose die works for a background task; false if it goes there all the same.
    #[cold]
    pub(super) fn goes_around(&mut self, slot: u32) -> bool {
        let op = *self.slab.get(slot);
        let Some(wait) = self.works_in_background(self.plane_of(op.source)).filter(|_| self.timed) else {
            return false;
        };
        let Some(mut arounds) = self.arounds.take() else { return false };
        self.list_row(&op, &mut arounds.row);
        let parts = arounds.row.len() as u32;
        let others = arounds.row.iter().filter_map(|&plane| self.works_for(plane));
        let view = AroundView { wait, wait_of_others: others.max().unwrap_or(0) };
        let goes = parts > 0 && self.redundancy.goes_around(&view);
        if goes {
            let around = arounds.start(slot, op, parts);
            let number = self.blocks.number_of(self.units_per_block.quotient(op.source));
            let offset = self.units_per_block.remainder(op.source);
            for &plane in &arounds.row {
                let source = self.blocks.block_at(plane, number) * self.plan.units_per_block + offset;
                let part = FlashOp { source, role: Role::Part, ordinal: around.into(), buffered: false, ..op };
                let part = self.slab.insert(part);
                if let Some(accounts) = self.accounts() {
                    accounts.continue_from(slot, part);
                }
                self.enqueue(part);
            }
        }
        self.arounds = Some(arounds);
        goes
    }

    /// Lists the planes with the other pages of a read's row that have been written.
    fn list_row(&self, op: &FlashOp, row: &mut Vec<u32>) {
        row.clear();
        let own = self.plane_of(op.source);
        let (number, page) = (self.blocks.number_of(self.units_per_block.quotient(op.source)), self.page_of(op.source));
        let planes = self.blocks.planes_beside(own);
        let at = planes.iter().position(|&plane| plane == own).expect("a plane is in its group");
        let dies = self.plan.stripe.map_or(1, |stripe| stripe.dies) as usize;
        let written = |plane: &u32| {
            self.blocks.get(self.blocks.block_at(*plane, number)).write_point * self.pages_per_program > page
        };
        row.extend(planes[at / dies * dies..][..dies].iter().copied().filter(|&plane| plane != own && written(&plane)));
    }

    /// True if the data that a part helps to rebuild still lie where they are expected.
    #[cold]
    pub(super) fn part_is_current(&self, op: &FlashOp) -> bool {
        let around = self.arounds.as_ref().and_then(|arounds| arounds.list.get(op.ordinal as usize));
        around.is_some_and(|around| !around.moved && self.is_current(&around.read))
    }

    fn accounts(&mut self) -> Option<&mut Accounts> {
        self.notes.as_mut()?.accounts.as_mut()
    }

    /// A part is dropped, since the data have moved.
    #[cold]
    pub(super) fn drop_part(&mut self, slot: u32, op: &FlashOp) {
        if let Some(arounds) = &mut self.arounds {
            arounds.list[op.ordinal as usize].moved = true;
        }
        self.end_part(slot, op, false);
    }

    /// A part was read.
    #[cold]
    pub(super) fn part_read(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        self.counters.part_reads += 1;
        if self.notes.is_some() {
            self.witness_end(slot, op, false, gc_affected);
        }
        self.end_part(slot, op, gc_affected);
    }

    /// A part has ended. With the last one the read has its data, or follows them.
    fn end_part(&mut self, part: u32, op: &FlashOp, gc_affected: bool) {
        self.slab.remove(part);
        let Some(arounds) = &mut self.arounds else { return };
        let around = &mut arounds.list[op.ordinal as usize];
        around.left -= 1;
        around.gc_affected |= gc_affected;
        if around.left > 0 {
            return;
        }
        let Around { slot, moved, gc_affected, .. } = *around;
        arounds.free.push(op.ordinal as u32);
        let read = self.slab.get_mut(slot);
        read.delayed |= gc_affected;
        let read = *read;
        if moved {
            self.reroute(slot);
            return;
        }
        self.counters.rebuilt_reads += 1;
        self.host_read_done(slot, &read, gc_affected);
        if let Some(accounts) = self.accounts().filter(|_| read.role == Role::Merge) {
            accounts.rebuilt_by(part, slot);
        }
    }

    /// A read of the host has its data.
    #[inline]
    pub(super) fn host_read_done(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        match op.role {
            Role::Map => self.map_read(slot, op, gc_affected),
            Role::Merge => self.merged(slot, gc_affected),
            _ => self.host_done(slot, op, op.delayed || gc_affected),
        }
    }

    /// True if an operation that is queued may go around busy dies.
    #[inline]
    pub(super) fn may_go_around(&self, op: &FlashOp) -> bool {
        self.arounds.is_some() && op.class == Class::HOST_READ && op.role != Role::Part
    }
}
