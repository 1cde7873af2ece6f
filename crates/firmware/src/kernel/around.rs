//! Reads around busy dies: the data of a page are rebuilt from the other pages of its row, or of its stripe of logical pages.
//!
//! Each of the other pages is read by an operation of its own, a *part*. The read itself waits beside the queues until all
//! parts have ended. If its data move before all parts have been issued, the rest of them are dropped, and the read
//! follows its data. Of a row that is not whole yet the controller's memory holds the parity of the pages that are there. The data of a
//! logical page may move meanwhile, but none of its stripe may change.

use super::account::Accounts;
use super::Kernel;
use crate::map::Place;
use crate::ops::{FlashOp, Role};
use crate::policy::placement::Constraint;
use crate::policy::redundancy::AroundView;
use crate::task::{Class, CLASSES};
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
    /// True if its data have moved, or its stripe has changed.
    moved: bool,
    /// True if a part waited for a die that GC held.
    gc_affected: bool,
}

/// Units in a page that help to rebuild a read.
#[derive(Clone, Copy, Debug)]
struct Part {
    unit: u32,
    units: u16,
    source: Place,
    bytes: u32,
}

/// The reads that are being rebuilt.
#[derive(Clone, Debug, Default)]
pub(super) struct Arounds {
    list: Vec<Around>,
    free: Vec<u32>,
    /// Those of the read that is looked at.
    parts: Vec<Part>,
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
        let plane = self.plane_of(op.source);
        let held = self.parity.is_some() && self.is_held(self.planes_per_die.quotient(plane));
        let wait = match self.works_in_background(plane) {
            _ if !self.timed => return false,
            Some(wait) => wait,
            // It may end a command of the host, or be idle for a moment.
            None if held => self.works_for(plane).unwrap_or(0),
            None => return false,
        };
        let Some(mut arounds) = self.arounds.take() else { return false };
        let has_all = if self.parity.is_some() {
            self.list_stripe(&op, &mut arounds.parts)
        } else {
            self.list_row(&op, &mut arounds.parts);
            true
        };
        let count = arounds.parts.len() as u32;
        let others = arounds.parts.iter().filter_map(|part| self.works_for(self.plane_of(part.source)));
        let view = AroundView { wait, wait_of_others: others.max().unwrap_or(0), held };
        let goes = has_all && count > 0 && self.redundancy.goes_around(&view);
        if goes {
            let around = arounds.start(slot, op, count);
            for &Part { unit, units, source, bytes } in &arounds.parts {
                let (role, ordinal) = (Role::Part, around.into());
                let part = FlashOp { unit, units, source, bytes, role, ordinal, buffered: false, ..op };
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

    /// Lists the other pages of a read's row that have been written.
    fn list_row(&self, op: &FlashOp, parts: &mut Vec<Part>) {
        parts.clear();
        let own = self.plane_of(op.source);
        let (number, page) = (self.blocks.number_of(self.units_per_block.quotient(op.source)), self.page_of(op.source));
        let offset = self.units_per_block.remainder(op.source);
        let planes = self.blocks.planes_beside(own);
        let at = planes.iter().position(|&plane| plane == own).expect("a plane is in its group");
        let dies = self.plan.stripe.map_or(1, |stripe| stripe.dies) as usize;
        let others = planes[at / dies * dies..][..dies].iter().filter(|&&plane| plane != own);
        let blocks = others.map(|&plane| self.blocks.block_at(plane, number));
        let written = blocks.filter(|&block| self.blocks.get(block).write_point * self.pages_per_program > page);
        parts.extend(written.map(|block| Part {
            unit: op.unit,
            units: op.units,
            source: block * self.plan.units_per_block + offset,
            bytes: op.bytes,
        }));
    }

    /// Lists the other units of the stripes of a read; false if its data cannot be computed from them.
    fn list_stripe(&self, op: &FlashOp, parts: &mut Vec<Part>) -> bool {
        parts.clear();
        let Some(parity) = &self.parity else { return false };
        for read in op.unit..op.unit + u32::from(op.units) {
            let Some(reads_parity) = self.computes_from(read) else { return false };
            let (stripe, own) = parity.stripe_of(read);
            let positions = (0..parity.positions() + u32::from(reads_parity)).filter(|&position| position != own);
            for unit in positions.filter_map(|position| parity.unit(stripe, position)) {
                let Some(source) = self.map.place(unit) else { continue };
                self.add_part(unit, source, parts);
            }
        }
        true
    }

    /// A unit is read with the one before it, if they lie in one page.
    fn add_part(&self, unit: u32, source: Place, parts: &mut Vec<Part>) {
        let page = |place| self.units_per_page.quotient(place);
        let goes_along =
            |part: &&mut Part| part.unit + u32::from(part.units) == unit && page(part.source) == page(source);
        let bytes = self.plan.unit_bytes;
        match parts.iter_mut().find(goes_along) {
            Some(part) => {
                part.units += 1;
                part.bytes += bytes;
            }
            None => parts.push(Part { unit, units: 1, source, bytes }),
        }
    }

    /// GC begins to hold a die, perhaps: reads that wait there may go around it.
    #[cold]
    pub(super) fn look_around(&mut self, domain: u32) {
        let planes = self.planes_per_die.get();
        let die = self.planes_per_die.quotient(domain);
        if self.arounds.is_none() || !self.timed || !self.is_held(die) {
            return;
        }
        for plane in die * planes..(die + 1) * planes {
            let index = plane as usize * CLASSES + Class::HOST_READ.index();
            // Those that cannot go around come back behind the others.
            for _ in 0..self.queues[index].len {
                let Some(slot) = self.pop(plane, Class::HOST_READ) else { break };
                if !self.may_go_around(self.slab.get(slot))
                    || !self.is_current(self.slab.get(slot))
                    || !self.goes_around(slot)
                {
                    self.commit(slot, Class::HOST_READ, Constraint::Plane(plane));
                    if let Some(stage) = &mut self.stage {
                        stage.count_waiting(die, Class::HOST_READ, 1);
                    }
                }
            }
        }
    }

    /// A unit of a stripe gets other data: reads that are being rebuilt from it go to their dies instead.
    pub(super) fn spoil(&mut self, stripe: u32) {
        let (Some(arounds), Some(parity)) = (&mut self.arounds, &self.parity) else { return };
        for around in arounds.list.iter_mut().filter(|around| around.left > 0) {
            let units = around.read.unit..around.read.unit + u32::from(around.read.units);
            around.moved |= units.into_iter().any(|unit| parity.stripe_of(unit).0 == stripe);
        }
    }

    /// True if the data that a part helps to rebuild still lie where they are expected.
    #[cold]
    pub(super) fn part_is_current(&self, op: &FlashOp) -> bool {
        let around = self.arounds.as_ref().and_then(|arounds| arounds.list.get(op.ordinal as usize));
        let Some(around) = around.filter(|around| !around.moved) else { return false };
        if self.parity.is_some() {
            self.lies_together(op)
        } else {
            self.is_current(&around.read)
        }
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
        let place = self.map.place(self.slab.get(slot).unit).filter(|_| self.parity.is_some());
        let read = self.slab.get_mut(slot);
        read.delayed |= gc_affected;
        if let Some(place) = place {
            // They may have moved, but have not changed.
            read.source = place;
        }
        let read = *read;
        if moved {
            self.reroute(slot);
            return;
        }
        self.counters.rebuilt_reads += 1;
        self.host_read_done(slot, &read, gc_affected);
        if let Some(accounts) = self.accounts().filter(|_| read.is_of_overwriting()) {
            accounts.rebuilt_by(part, slot);
        }
    }

    /// A read of the host has its data.
    #[inline]
    pub(super) fn host_read_done(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        match op.role {
            Role::Map => self.map_read(slot, op, gc_affected),
            Role::Merge | Role::Change => self.merged(slot, gc_affected),
            _ => self.host_done(slot, op, op.delayed || gc_affected),
        }
    }

    /// True if an operation that is queued may go around busy dies.
    #[inline]
    pub(super) fn may_go_around(&self, op: &FlashOp) -> bool {
        self.arounds.is_some() && op.class == Class::HOST_READ && !matches!(op.role, Role::Part | Role::Old)
    }
}
