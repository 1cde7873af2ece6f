//! Garbage collection (GC): victims are chosen, their pages read a window at a time, their valid units written
//! elsewhere, the block erased.
//!
//! Units that do not fill a page wait for units of the next victim. Their block is not erased meanwhile, so it does not
//! count as soon free, and GC takes the next victim as if it had not been chosen. They get a page of their own only if
//! no more units will come: the policy wants another victim, but there is none; or writes have no space and nothing
//! moves; or the drive becomes idle. A victim on hold (`hold_jobs`) with pages to read counts as one whose units will come.

use super::ready::Ready;
use super::{Fault, Kernel, Reason, Waits};
use crate::blocks::{Block, Status};
use crate::map::Place;
use crate::mover::Job;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::collect::{CandidateView, Copyback, SpaceView};
use crate::policy::guest::failed;
use crate::policy::placement::Constraint;
use crate::policy::Trouble;
use crate::task::{Action, Class, Task, Tasks, CLASSES};
use wordline_base::Time;

impl Kernel {
    /// Starts victim blocks while the policy wants them.
    pub(super) fn collect(&mut self, domain: u32) {
        self.ask_about_size(domain);
        // A block may have been opened that it chose.
        self.heed(failed(self.free_block.trouble()));
        if !self.condemned.is_empty() {
            self.evacuate(domain);
        }
        if self.logs.is_some() {
            self.collect_logs(domain);
            return;
        }
        loop {
            let free = self.space.free_for_gc(&self.blocks, domain);
            let jobs = self.jobs.running(self.jobs.group(Task::GC, domain)) - self.held_back(Task::GC, domain);
            let jobs = jobs - self.lots.as_ref().map_or(0, |lots| lots.copying(domain));
            let running = jobs + self.blocks.half_free();
            let rested = self.rests.is_long_enough(Task::GC);
            if running >= self.collect.most() || !self.collect.wants(&SpaceView { domain, free, running, rested }) {
                self.heed(failed(self.collect.trouble()));
                return;
            }
            if self.turns.is_some() && !self.has_turn(domain) {
                return;
            }
            self.blocks.settle(domain);
            if self.victim.wants_reads() {
                self.list_reads_beside(domain);
            }
            let view = self.blocks.view_beside(domain, &self.busy_dies, &self.map, &self.reads_beside);
            let Some(block) = self.victim.choose(&view).filter(|&block| view.suits(block)) else {
                // Where dies are busy, the end of a victim there lets it try again.
                self.starved[domain as usize] = !self.has_busy_die(domain);
                self.heed(failed(self.victim.trouble()));
                self.go_alone(Task::GC, domain);
                return;
            };
            assert_eq!(self.blocks.get(block).status, Status::Closed, "only closed blocks are collected");
            if self.collect.weighs() && !self.is_taken(domain, block) {
                return;
            }
            if !self.start_job(Task::GC, domain, block) {
                self.go_alone(Task::GC, domain);
                return;
            }
            if self.hold_below > 0 && self.parity.is_some() {
                self.look_around(domain);
            }
        }
    }

    /// Whether the policy collects the block that was chosen.
    #[cold]
    fn is_taken(&mut self, domain: u32, block: u32) -> bool {
        let view = CandidateView {
            domain,
            free: self.space.free_for_gc(&self.blocks, domain),
            rested: self.rests.is_long_enough(Task::GC),
            until_next: self.rests.until_next(self.now),
            time: self.nominal_time(block),
        };
        let taken = self.collect.takes(&view);
        self.heed(failed(self.collect.trouble()));
        taken
    }

    /// Time in the array of moving a block's data, with those of its superblock, and erasing it, one operation after the other.
    fn nominal_time(&self, block: u32) -> Time {
        let [read, program, erase] = self.nominal;
        let of_block = |block: u32| {
            let (start, units) = (block * self.plan.units_per_block, self.plan.units_per_page);
            let pages = (start..start + self.plan.units_per_block).step_by(units as usize);
            let reads = pages.filter(|&page| self.map.next_valid(page, page + units).is_some()).count() as Time;
            let programs =
                self.units_per_program.quotient(self.blocks.get(block).valid + self.plan.units_per_program - 1);
            reads * read + Time::from(programs) * program + erase
        };
        if self.blocks.has_superblocks() {
            self.blocks.together(block).map(of_block).sum()
        } else {
            of_block(block)
        }
    }

    /// True if a die of a domain may have no further victim now.
    fn has_busy_die(&self, domain: u32) -> bool {
        let busy = if self.plan.domains > 1 {
            self.busy_dies.get(self.planes_per_die.quotient(domain) as usize)
        } else {
            self.busy_dies.iter().find(|&&busy| busy)
        };
        busy.is_some_and(|&busy| busy)
    }

    /// The queues in which units of a task's jobs in a domain wait to be written.
    fn moved(&self, task: Task, domain: u32) -> impl Iterator<Item = Fifo> + '_ {
        // Units that may go anywhere in the drive wait in one queue.
        let anywhere = self.plan.domains == 1 && !self.placement.fixed();
        let planes = if anywhere { 0..0 } else { self.blocks.planes_of_domain(domain) };
        let class = Class::new(task, Action::Program);
        let own = planes.clone().map(move |plane| self.queues[plane as usize * CLASSES + class.index()]);
        let shared = anywhere.then(|| self.shared[self.shared_row(class)]).into_iter();
        shared.chain(own).chain(self.moved_on_stage(class, anywhere, planes))
    }

    /// True if units of a task's jobs in a domain wait that do not fill a page.
    fn left_over(&self, task: Task, domain: u32) -> bool {
        self.units_per_program.get() > 1
            && self.moved(task, domain).any(|fifo| self.units_per_program.remainder(fifo.len) > 0)
    }

    /// Blocks of a domain whose last units, at the ends of a task's queues, wait for units of another block.
    fn held_back(&mut self, task: Task, domain: u32) -> u32 {
        let group = self.jobs.group(task, domain);
        if self.jobs.running(group) == 0 || self.jobs.expects(group) || !self.left_over(task, domain) {
            return 0;
        }
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        for fifo in self.moved(task, domain) {
            let left = self.units_per_program.remainder(fifo.len);
            let waiting = fifo.iter(&self.slab).skip((fifo.len - left) as usize);
            for owner in waiting.map(|op| op.owner) {
                let owner = self.eldest(owner);
                if !owners.contains(&owner) {
                    owners.push(owner);
                }
            }
        }
        let blocks = owners.len() as u32 * self.plan.stripe.map_or(1, |stripe| stripe.blocks());
        self.owners = owners;
        blocks
    }

    /// Writes the waiting units of a task in a domain without filling their pages.
    fn go_alone(&mut self, task: Task, domain: u32) {
        if self.left_over(task, domain) {
            self.release_units(task, domain);
        }
    }

    /// The same of units that the commit stage has sent to a die, too, where others of their page were overwritten.
    fn release_units(&mut self, task: Task, domain: u32) {
        let group = self.jobs.group(task, domain);
        if self.jobs.expects(group) || self.jobs.is_released(group) {
            return;
        }
        if self.wishes.is_some() && task == Task::GC && self.wait_with_wishes() {
            // First these join the others, so that one page at most is not full; then this is called again.
            return;
        }
        self.jobs.release(group);
        if let Some(stage) = &mut self.stage {
            let class = Class::new(task, Action::Program);
            stage.list_roaming_alone(class);
            for plane in self.blocks.planes_of_domain(domain) {
                stage.list_alone(stage.at(class, Constraint::Plane(plane)));
            }
            stage.dirty = true;
        }
        self.shared_dirty |= self.shared_waiting[Class::new(task, Action::Program).row()] > 0;
        for plane in self.blocks.planes_of_domain(domain) {
            let die = self.planes_per_die.quotient(plane);
            if self.dies[die as usize].waiting != Ready::NOTHING {
                self.mark(die);
            }
        }
    }

    /// All dies are idle and writes lack space: no block becomes free unless pages that are not full are written.
    /// Neither does a host that pacing holds back get on without them. It waits for moves of jobs that run, and these
    /// wait for nothing of the host but such units, so it needs no escape of its own.
    #[cold]
    pub(super) fn unstick(&mut self) -> bool {
        if self.force_held() || self.press_all_merges() {
            return true;
        }
        let before = self.dirty.len();
        self.stalled = false;
        // A drive that took over another state may lack free blocks from the start.
        (0..self.plan.domains).for_each(|domain| self.collect(domain));
        for die in 0..self.dies.len() as u32 {
            self.survey(die);
        }
        self.run_stage();
        if self.stalled {
            self.all_go_alone();
        }
        self.dirty.len() > before || self.shared_dirty || self.stage.as_ref().is_some_and(|stage| stage.is_due())
    }

    /// No more units come: from now on until [`Kernel::reopen`], pages that are not full are written.
    pub fn close(&mut self) {
        self.closing = true;
        self.force_held();
        if let Some(schedule) = &mut self.schedule {
            schedule.forget_credit();
            self.press_all_merges();
            (0..self.plan.domains).for_each(|domain| self.merge_retired(domain));
        }
        self.all_go_alone();
        self.push_table_out();
    }

    fn all_go_alone(&mut self) {
        for task in Task::all().filter(|&task| task != Task::HOST) {
            (0..self.plan.domains).for_each(|domain| self.release_units(task, domain));
        }
    }

    /// Ends what [`Kernel::close`] began.
    pub fn reopen(&mut self) {
        self.closing = false;
        self.rest_processors();
    }

    /// Ends the run if an external policy has failed; its callers cannot return the error.
    #[inline]
    pub(super) fn heed(&mut self, failed: bool) {
        if failed && self.fault.is_none() {
            self.fault = self.complaint();
        }
    }

    /// The same of those that are asked about operations, all of them: after each step, since looking with each operation would
    /// cost runs without them more. Until then something harmless stands in for their answers.
    #[cold]
    pub(super) fn heed_all(&mut self) {
        let of_operations = [
            self.mapping.trouble(),
            self.placement.trouble(),
            self.dispatch.trouble(),
            self.arbiter.trouble(),
            self.shares.trouble(),
            self.suspend.trouble(),
            self.processor.trouble(),
            self.pack.trouble(),
            self.redundancy.trouble(),
            self.trim.trouble(),
        ];
        let has_failed = of_operations.into_iter().any(failed);
        self.heed(has_failed);
    }

    /// Trouble of an external policy, if any.
    #[must_use]
    pub fn complaint(&self) -> Option<Fault> {
        let of = |family, trouble: &Trouble| Reason::Policy { time: self.now, family, trouble: trouble.clone() }.into();
        // Of equally grave ones, the last is told: what hinders more surely comes later.
        let all = [
            ("arbiter", self.arbiter.trouble()),
            ("shares", self.shares.trouble()),
            ("suspend", self.suspend.trouble()),
            ("processor", self.processor.trouble()),
            ("pack", self.pack.trouble()),
            ("redundancy", self.redundancy.trouble()),
            ("trim", self.trim.trouble()),
            ("mapping", self.mapping.trouble()),
            ("placement", self.placement.trouble()),
            ("dispatch", self.dispatch.trouble()),
            ("victim", self.victim.trouble()),
            ("collect", self.collect.trouble()),
            ("free_block", self.free_block.trouble()),
            ("slc", self.slc.as_ref().and_then(|slc| slc.trouble())),
            ("buffer", self.shelf.as_ref().and_then(|shelf| shelf.policy.trouble())),
            ("link", self.carrier.as_ref().and_then(|carrier| carrier.trouble())),
        ];
        let worst = self.upkeep.troubles().chain(all).filter_map(|(family, trouble)| Some((family, trouble?)));
        worst.max_by_key(|(_, trouble)| trouble.gravity).map(|(family, trouble)| of(family, trouble))
    }

    /// A die has a victim of GC more, or one less, where their number is limited.
    fn count_victim(&mut self, block: u32, change: i32) {
        let Some(most) = self.collect.most_of_die() else { return };
        let die = self.planes_per_die.quotient(self.blocks.plane_of(block)) as usize;
        self.victims[die] = self.victims[die].wrapping_add_signed(change);
        self.busy_dies[die] = self.victims[die] >= most;
    }

    /// A task starts emptying a closed block, with all of its superblock; false if its domain has no room for its data now.
    pub(super) fn start_job(&mut self, task: Task, domain: u32, block: u32) -> bool {
        if self.logs.is_some() {
            return self.move_lot(task, block, None);
        }
        if self.lots.is_some() {
            return self.start_merge(task, block);
        }
        let (valid, gain) = self.to_move(block);
        if !self.space.promise(&self.blocks, task, domain, (valid, gain)) {
            return false;
        }
        if valid == 0 && self.space.paces() {
            // No move will wake a host that was held back.
            self.wake_stalled();
        }
        if self.blocks.has_superblocks() {
            self.start_together(task, domain, block);
        } else {
            self.blocks.take(block);
            let job = self.start_alone(task, domain, block, valid);
            self.advance(job);
        }
        true
    }

    /// Valid units of a block, or of its superblock, and what moving them gains.
    fn to_move(&self, block: u32) -> (u32, u32) {
        let Block { valid, write_point, slc, .. } = *self.blocks.get(block);
        match self.plan.stripe {
            // Pages that were never written, since the block was closed early, gain nothing.
            None if slc => (valid, self.plan.units_per_block - valid),
            None => (valid, write_point * self.plan.units_per_program - valid),
            Some(stripe) => {
                let valid = self.blocks.together(block).map(|block| self.blocks.get(block).valid).sum();
                let programs = stripe.data_pages(self.plan.programs_per_block());
                (valid, programs * self.plan.units_per_program - valid)
            }
        }
    }

    /// The job of a block that was promised room.
    pub(super) fn start_alone(&mut self, task: Task, domain: u32, block: u32, valid: u32) -> u32 {
        self.count_job(task, block);
        let start = block * self.plan.units_per_block;
        let (span, window) = ((start, start + self.plan.units_per_block), self.window_of(task));
        self.map.expect_first_valid(span, window / self.plan.units_per_page);
        self.jobs.start((task, window), (block, domain), valid, span)
    }

    /// A task begins to empty a block.
    pub(super) fn count_job(&mut self, task: Task, block: u32) {
        if task == Task::GC {
            self.count_victim(block, 1);
            self.collection_starts(block);
        }
        self.counters.jobs[task.index()] += 1;
    }

    /// Units of a job of a task that may be in progress at a time.
    pub(super) fn window_of(&self, task: Task) -> u32 {
        let pages = if task == Task::GC { self.collect.window() } else { self.upkeep.window(task) };
        pages * self.plan.units_per_page
    }

    /// A job goes on past the page of its next valid unit, which will be read; gives the page's valid units.
    #[inline]
    pub(super) fn take_page(&mut self, slot: u32, place: Place) -> u32 {
        let units_per_page = self.plan.units_per_page;
        let page = place - self.units_per_page.remainder(place);
        let units = if units_per_page == 1 { 1 } else { self.map.count_valid(page, page + units_per_page) };
        let state = self.jobs.get_mut(slot);
        state.cursor = page + units_per_page;
        state.on_the_way += units;
        state.unread -= units;
        let rest = state.cursor..state.end;
        self.jobs.read_queued(slot);
        // The units move in a moment, and those of the page that follows soon after them.
        if let Some(after) = self.map.next_valid(rest.start, rest.end) {
            self.map.expect_moved(after);
        }
        let mut next = Some(place);
        while let Some(place) = next {
            self.expect_moved(self.map.unit_at(place));
            next = self.map.next_valid(place + 1, page + units_per_page);
        }
        units
    }

    /// Queues the next page reads of a job, up to its window; erases its block when nothing is left.
    #[inline]
    pub(super) fn advance(&mut self, slot: u32) {
        let units_per_page = self.plan.units_per_page;
        loop {
            let job = *self.jobs.get(slot);
            if job.lot != NONE && self.logs.is_some() {
                self.advance_lot_merge(slot);
                return;
            }
            if job.cursor >= job.end || job.on_the_way >= job.window {
                break;
            }
            let Some(place) = self.map.next_valid(job.cursor, job.end) else {
                self.jobs.get_mut(slot).cursor = job.end;
                break;
            };
            if self.holding.asks && self.is_put_on_hold(slot, false) {
                return;
            }
            let units = self.take_page(slot, place);
            let op = FlashOp {
                class: Class::new(job.task, Action::Read),
                source: place,
                units: units as u16,
                owner: slot,
                bytes: units * self.plan.unit_bytes,
                role: if units == units_per_page && self.copies(job.task) { Role::Copy } else { Role::Plain },
                ..FlashOp::default()
            };
            let op = self.slab.insert(op);
            self.enqueue(op);
        }
        let job = *self.jobs.get(slot);
        if job.cursor >= job.end && !job.queued {
            // Units that were overwritten before they were read need no place.
            self.settle_units(job.domain, job.unread);
            self.jobs.all_queued(slot);
            self.wake_rows(job.group);
            self.gather(job.task, job.domain);
        }
        if job.cursor >= job.end && job.on_the_way == 0 && !job.empty {
            if job.lot != NONE {
                self.end_merge(slot);
                return;
            }
            if self.holding.asks && self.is_put_on_hold(slot, true) {
                return;
            }
            self.jobs.get_mut(slot).empty = true;
            if self.blocks.has_superblocks() {
                self.erase_together(slot);
            } else {
                self.erase(slot);
            }
        }
    }

    /// Queues the erase of a job's block.
    #[inline]
    pub(super) fn erase(&mut self, slot: u32) {
        self.jobs.get_mut(slot).erasing = true;
        let job = *self.jobs.get(slot);
        let class = Class::new(job.task, Action::Erase);
        let op = self.slab.insert(FlashOp { class, source: job.block, owner: slot, ..FlashOp::default() });
        self.enqueue(op);
    }

    /// True if a task moves whole pages by copyback. It would take bit errors along, which other tasks than GC are there
    /// to remove.
    #[inline]
    fn copies(&self, task: Task) -> bool {
        task == Task::GC && self.collect.copyback() != Copyback::Off
    }

    /// A page of a job was read: each unit that is still valid waits to be written.
    #[inline]
    pub(super) fn moved_out(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        let class = Class::new(op.class.task(), Action::Program);
        let found = if self.straight_by_stage {
            self.stage_moved(class, op.source, op.owner)
        } else {
            self.enqueue_moved(class, op)
        };
        self.read_ended(op, u32::from(op.units) - found);
    }

    /// The valid units of a page that a job read are queued; gives how many there are.
    #[inline]
    fn enqueue_moved(&mut self, class: Class, read: &FlashOp) -> u32 {
        let units_per_page = self.plan.units_per_page;
        let page = read.source - self.units_per_page.remainder(read.source);
        let (mut found, mut at) = (0, page);
        while let Some(place) = self.map.next_valid(at, page + units_per_page) {
            let stamp = self.shadow.as_ref().map_or(0, |shadow| shadow.at(place));
            let write = FlashOp {
                class,
                unit: self.map.unit_at(place),
                source: place,
                owner: read.owner,
                stamp,
                ..FlashOp::default()
            };
            let write = self.slab.insert(write);
            self.enqueue(write);
            (found, at) = (found + 1, place + 1);
        }
        found
    }

    /// Units of a domain's jobs have their new places, or need none: a paced host may go on.
    #[inline]
    pub(super) fn settle_units(&mut self, domain: u32, units: u32) {
        if self.space.settle(domain, units) {
            self.wake_stalled();
        }
    }

    /// A page of a job was moved inside its plane.
    #[cold]
    pub(super) fn copied(&mut self, slot: u32, op: &FlashOp) {
        self.slab.remove(slot);
        self.counters.moved[op.class.task().index()] += u64::from(op.units);
        let Job { task, domain, group, .. } = *self.jobs.get(op.owner);
        // Their places were settled when they were bound.
        self.jobs.read_ended(op.owner);
        self.wake_rows(group);
        self.arrived(op.owner, u32::from(op.units));
        self.gather(task, domain);
    }

    /// The command that read a page of a job has ended; `units` of the page were overwritten meanwhile.
    #[inline]
    fn read_ended(&mut self, op: &FlashOp, units: u32) {
        let Job { task, domain, group, .. } = *self.jobs.get(op.owner);
        self.jobs.read_ended(op.owner);
        self.wake_rows(group);
        self.settle_units(domain, units);
        self.arrived(op.owner, units);
        self.gather(task, domain);
    }

    /// Moved pages that wait to fill a program go now if no more are to come.
    #[inline]
    fn wake_rows(&mut self, group: u32) {
        if self.row_units > 0 && !self.jobs.expects(group) {
            self.shared_dirty = true;
        }
    }

    /// Asks the policy for another victim where units wait and the running jobs of their task cannot fill their page.
    #[inline]
    pub(super) fn gather(&mut self, task: Task, domain: u32) {
        self.look_at_wishes();
        if self.units_per_program.get() == 1 || self.jobs.expects(self.jobs.group(task, domain)) {
            return;
        }
        if self.closing {
            self.release_units(task, domain);
        }
        if !self.left_over(task, domain) {
            return;
        }
        if task == Task::GC {
            self.collect(domain);
        } else {
            self.ask(task);
        }
        if self.victims_end_alone(task) {
            self.go_alone(task, domain);
        }
    }

    /// Moved units came back from their die to wait for company, perhaps because others of their page were overwritten:
    /// they call for it.
    pub(super) fn miss_company(&mut self, class: Class, domain: u32) {
        if class.moves() {
            self.gather(class.task(), domain);
        }
    }

    /// Drops the units among the next page's worth of a queue that were overwritten while they waited; true if a page can be
    /// filled, or need not be.
    pub(super) fn fills_page(&mut self, plane: u32, class: Class, place: Waits) -> bool {
        let (most, mut dropped) = (self.plan.units_per_program, false);
        let whole = matches!(place, Waits::Shared(index, _) if self.is_wish(index, class));
        loop {
            let mut fifo = match place {
                Waits::Plane(plane) => self.queues[plane as usize * CLASSES + class.index()],
                Waits::Shared(index, _) => self.shared[index],
            };
            let overwritten = fifo.take_if(&mut self.slab, most, |op| !self.map.is_valid(op.source));
            let Some(slot) = overwritten else {
                let domain = self.blocks.domain_of_plane(plane);
                let goes = fifo.len >= most || !whole && self.jobs.is_released(self.jobs.group(class.task(), domain));
                if dropped {
                    // The units that are left of the page, or behind it, wait to fill a page from now on.
                    self.gather(class.task(), domain);
                }
                return goes;
            };
            dropped = true;
            match place {
                Waits::Plane(plane) => {
                    self.queues[plane as usize * CLASSES + class.index()] = fifo;
                    if fifo.head == NONE {
                        self.clear_waiting(plane, class);
                    }
                }
                Waits::Shared(index, _) => {
                    self.shared[index] = fifo;
                    self.count_shared(class, -1);
                }
            }
            self.leaves_queue(plane, class);
            self.drop_moved(slot);
        }
    }

    /// A unit was overwritten while it waited to be moved.
    #[inline]
    pub(super) fn drop_moved(&mut self, slot: u32) {
        let owner = self.slab.get(slot).owner;
        self.slab.remove(slot);
        let domain = self.jobs.get(owner).domain;
        self.settle_units(domain, 1);
        self.arrived(owner, 1);
    }

    /// Units of a job have reached their new places, or need none any more.
    #[inline]
    pub(super) fn arrived(&mut self, job: u32, units: u32) {
        let state = self.jobs.get_mut(job);
        state.on_the_way -= units;
        if state.lot != NONE {
            self.page_came(job);
        }
        self.advance(job);
    }

    /// The block of a job is erased.
    pub(super) fn emptied(&mut self, slot: u32, op: &FlashOp) -> Result<(), Fault> {
        self.slab.remove(slot);
        let Job { task, domain, .. } = *self.jobs.get(op.owner);
        self.jobs.end(op.owner);
        self.space.end_job(task, domain);
        if task == Task::GC {
            self.count_victim(op.source, -1);
            self.collection_ends(op.source);
            self.look_at_names();
        }
        if self.blocks.get(op.source).valid != 0 {
            return Err(Fault::books(format!("block {} is erased with valid units", op.source)));
        }
        if op.role == Role::Failed || self.blocks.get(op.source).doomed {
            self.give_up(op.source)?;
        } else {
            self.blocks.erased(op.source, &mut self.free_block);
            self.heed(failed(self.free_block.trouble()));
            if self.follow_erases != Tasks::default() {
                self.tell_erase(op.source, task);
            }
        }
        if self.redundancy.erases_in_turn() {
            self.erase_next(op.source);
        }
        if task == Task::GC {
            self.turn_ends(self.blocks.plane_of(op.source));
        }
        if self.plan.domains > 1 && !self.busy_dies.is_empty() {
            // Its die may have a victim of another plane instead.
            let (planes, plane) = (self.planes_per_die.get(), self.blocks.plane_of(op.source));
            let die = self.planes_per_die.quotient(plane);
            (die * planes..(die + 1) * planes).filter(|&other| other != plane).for_each(|other| self.collect(other));
        }
        self.collect(domain);
        self.holding.all_changed();
        self.ask_after_erase(task);
        if let Some(lots) = &mut self.lots {
            lots.offer_block();
            self.offer_log_block(domain, op.source);
            self.go_on_after_erase(domain, op.source);
        }
        self.space.rest(domain);
        self.wake_stalled();
        Ok(())
    }

    /// There is room again: writes that found none look again.
    pub(super) fn wake_stalled(&mut self) {
        if self.stalled {
            self.stalled = false;
            self.wake_all();
        }
    }

    /// All that waits for a die looks again.
    pub(super) fn wake_all(&mut self) {
        self.shared_dirty = true;
        if let Some(stage) = &mut self.stage {
            stage.dirty = true;
        }
        for die in 0..self.dies.len() as u32 {
            if self.dies[die as usize].waiting != Ready::NOTHING {
                self.mark(die);
            }
        }
    }
}
