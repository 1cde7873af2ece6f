//! Collection: victims are chosen, their pages read a window at a time, their valid units written elsewhere, the block erased.

use super::{Fault, Kernel};
use crate::blocks::Status;
use crate::ops::FlashOp;
use crate::policy::arbiter::Class;
use crate::policy::collect::{Copyback, SpaceView};
use crate::policy::guest::failed;
use crate::policy::Trouble;

impl Kernel {
    /// Starts collections while the policy wants them.
    pub(super) fn collect(&mut self, domain: u32) {
        if !self.condemned.is_empty() {
            self.evacuate(domain);
        }
        loop {
            let (free, running) = (self.blocks.free_in_domain(domain), self.jobs.running(domain));
            if running >= self.collect.most() || !self.collect.wants(&SpaceView { domain, free, running }) {
                self.heed(failed(self.collect.trouble()));
                return;
            }
            self.blocks.settle(domain);
            let view = self.blocks.view(domain);
            let Some(block) = self.victim.choose(&view).filter(|&block| view.gains(block)) else {
                self.starved[domain as usize] = true;
                self.heed(failed(self.victim.trouble()));
                return;
            };
            assert_eq!(self.blocks.get(block).status, Status::Closed, "only closed blocks are collected");
            if !self.start_job(domain, block) {
                return;
            }
        }
    }

    /// Ends the run if a policy from outside the program has failed; what asked it cannot.
    #[inline]
    pub(super) fn heed(&mut self, failed: bool) {
        if failed && self.fault.is_none() {
            self.fault = self.complaint().map(Box::new);
        }
    }

    /// What is wrong with a policy from outside the program, if one is used and something is.
    #[must_use]
    pub fn complaint(&self) -> Option<Fault> {
        let of = |family, trouble: &Trouble| Fault::Policy { time: self.now, family, trouble: trouble.clone() };
        let all = [
            ("victim", self.victim.trouble()),
            ("collect", self.collect.trouble()),
            ("free_block", self.free_block.trouble()),
        ];
        let worst = all.into_iter().filter_map(|(family, trouble)| Some((family, trouble?)));
        worst.max_by_key(|(_, trouble)| trouble.gravity).map(|(family, trouble)| of(family, trouble))
    }

    /// Starts emptying a closed block; false if its domain has no room for its data now.
    pub(super) fn start_job(&mut self, domain: u32, block: u32) -> bool {
        let pages = self.blocks.get(block).valid.div_ceil(self.plan.units_per_page) + 1;
        if !self.space.can_promise(&self.blocks, domain, pages) {
            return false;
        }
        self.space.promise(domain, pages);
        self.blocks.take(block);
        self.counters.collections += 1;
        let start = block * self.plan.units_per_block;
        let job = self.jobs.start(block, domain, start, start + self.plan.units_per_block);
        self.advance(job);
        true
    }

    /// Queues the next page reads of a job, up to its window; erases its block when nothing is left.
    #[inline]
    pub(super) fn advance(&mut self, slot: u32) {
        let units_per_page = self.plan.units_per_page;
        let window = self.jobs.window * units_per_page;
        loop {
            let job = *self.jobs.get(slot);
            if job.cursor >= job.end || job.on_the_way >= window {
                break;
            }
            let Some(place) = self.map.next_valid(job.cursor, job.end) else {
                self.jobs.get_mut(slot).cursor = job.end;
                break;
            };
            let page = place - self.units_per_page.remainder(place);
            let units = if units_per_page == 1 { 1 } else { self.map.count_valid(page, page + units_per_page) };
            let state = self.jobs.get_mut(slot);
            state.cursor = page + units_per_page;
            state.on_the_way += units;
            self.jobs.read_queued(job.domain);
            // The units move in a moment.
            (page..page + units_per_page).for_each(|place| self.map.expect(self.map.unit_at(place)));
            let op = FlashOp {
                class: Class::GcRead,
                source: place,
                units: units as u16,
                owner: slot,
                bytes: units * self.plan.unit_bytes,
                copy: units == units_per_page && self.collect.copyback() != Copyback::Off,
                ..FlashOp::default()
            };
            let op = self.slab.insert(op);
            self.enqueue(op);
        }
        let job = self.jobs.get(slot);
        if job.cursor >= job.end && job.on_the_way == 0 && !job.erasing {
            let (block, op) = (job.block, FlashOp { class: Class::GcErase, owner: slot, ..FlashOp::default() });
            self.jobs.get_mut(slot).erasing = true;
            let op = self.slab.insert(FlashOp { source: block, ..op });
            self.enqueue(op);
        }
    }

    /// A page of a job was read: each unit that is still valid waits to be written.
    #[inline]
    pub(super) fn moved_out(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        let units_per_page = self.plan.units_per_page;
        let page = op.source - self.units_per_page.remainder(op.source);
        let mut found = 0;
        let mut at = page;
        while let Some(place) = self.map.next_valid(at, page + units_per_page) {
            let stamp = self.shadow.as_ref().map_or(0, |shadow| shadow.at(place));
            let write = FlashOp {
                class: Class::GcWrite,
                unit: self.map.unit_at(place),
                source: place,
                owner: op.owner,
                stamp,
                ..FlashOp::default()
            };
            let write = self.slab.insert(write);
            self.enqueue(write);
            found += 1;
            at = place + 1;
        }
        self.read_ended(op, u32::from(op.units) - found);
    }

    /// A page of a job was moved inside its plane.
    #[cold]
    pub(super) fn copied(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        self.counters.moved_units += u64::from(op.units);
        self.read_ended(op, u32::from(op.units));
    }

    /// The command that read a page of a job has ended; `units` of the page need nothing more.
    #[inline]
    fn read_ended(&mut self, op: &FlashOp, units: u32) {
        let domain = self.jobs.get(op.owner).domain;
        self.jobs.read_ended(domain);
        self.arrived(op.owner, units);
        if self.jobs.reading(domain) == 0 {
            // Writes that waited for company get none: the dies that hold them look again.
            let die = self.planes_per_die.quotient(self.plane_of(op.source));
            self.mark(die);
            self.shared_dirty |= self.shared_waiting[1] > 0;
        }
    }

    /// Units of a job have reached their new places, or need none any more.
    #[inline]
    pub(super) fn arrived(&mut self, job: u32, units: u32) {
        self.jobs.get_mut(job).on_the_way -= units;
        self.advance(job);
    }

    /// The block of a job is erased.
    pub(super) fn emptied(&mut self, slot: u32, op: &FlashOp) -> Result<(), Fault> {
        self.slab.remove(slot);
        let domain = self.jobs.get(op.owner).domain;
        self.jobs.end(op.owner);
        if self.blocks.get(op.source).valid != 0 {
            return Err(Fault::Books(format!("block {} is erased with valid units", op.source)));
        }
        if op.failed || self.blocks.get(op.source).doomed {
            self.give_up(op.source)?;
        } else {
            self.blocks.erased(op.source, &mut self.free_block);
            self.heed(failed(self.free_block.trouble()));
        }
        if self.jobs.running(domain) == 0 {
            self.space.settle(domain);
        }
        self.collect(domain);
        self.wake_stalled();
        Ok(())
    }

    /// There is room again: writes that found none look again.
    pub(super) fn wake_stalled(&mut self) {
        if self.stalled {
            self.stalled = false;
            self.shared_dirty = true;
            for die in 0..self.dies.len() as u32 {
                if self.waiting[die as usize] != 0 {
                    self.mark(die);
                }
            }
        }
    }
}
