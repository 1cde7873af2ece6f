//! Merges of log blocks: the newest pages of their logical blocks are brought together in data blocks, and what they leave is
//! erased.
//!
//! A logical block whose pages lie in one log block from the first on, in order, needs no other data block: that log block
//! becomes it. If nothing else of it is left elsewhere, this is a *switch merge*, else what is left is copied behind it, a *partial
//! merge*. In a *full merge* all its pages are copied to a free block.

use super::schedule::Cause;
use super::Kernel;
use crate::logs::Mergeable;
use crate::mover::Job;
use crate::ops::{FlashOp, Role, NONE};
use crate::policy::collect::SpaceView;
use crate::policy::guest::failed;
use crate::policy::mapping::{MergeEntry, MergeView};
use crate::task::{Action, Class, Task};

/// How a logical block was merged: the places of its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Partial,
    Full,
}

impl Kernel {
    /// Merges log blocks of a domain if the policy wants its free blocks.
    #[cold]
    pub(super) fn collect_logs(&mut self, domain: u32) {
        let Some(logs) = &self.logs else { return };
        let delays = self.delays_merges();
        if !delays
            && (logs.merge(domain).runs && self.schedule.is_none() || self.schedule.is_some() && self.rests.rests())
        {
            return;
        }
        // What a background task moves frees a block, too.
        let moving = |task| self.jobs.running(self.jobs.group(task, domain));
        let moved: u32 = self.plan.tasks.background().filter(|&task| task != Task::GC).map(moving).sum();
        let running = logs.erasing(domain) + moved + if delays { logs.delayed(domain) } else { 0 };
        let (free, rested) = (self.blocks.free_in_domain(domain), self.rests.is_long_enough(Task::GC));
        let mut view = SpaceView { domain, free, running, rested };
        while self.collect.wants(&view) {
            if !delays {
                self.start_log_merge(domain, None);
                break;
            }
            if !self.logs.as_mut().is_some_and(|logs| logs.delay_first(domain)) {
                break;
            }
            view.running += 1;
        }
        self.heed(failed(self.collect.trouble()));
    }

    /// Merges a sequential log block that was given up, if any.
    pub(super) fn merge_retired(&mut self, domain: u32) {
        if !self.delays_merges() && self.logs.as_ref().is_some_and(|logs| logs.has_retired(domain)) {
            self.start_log_merge(domain, None);
        }
    }

    /// Starts a merge in a domain, unless one runs: of a sequential log block that was given up, or of the group given, or of the
    /// first one by priority. One that runs and was interrupted goes on.
    pub(super) fn start_log_merge(&mut self, domain: u32, group: Option<u32>) {
        self.press_merge(domain);
        let Some(logs) = &self.logs else { return };
        let what = match group {
            Some(group) => Some((group, 0)).filter(|&(group, _)| logs.may_begin(group, &self.blocks)),
            None if self.mapping.chooses_merges() => self.chosen_merge(domain),
            None => logs.by_priority(domain).find(|&group| logs.may_begin(group, &self.blocks)).map(|group| (group, 0)),
        };
        self.begin_merge(domain, what, Cause::OnDemand);
    }

    /// The group to merge in a domain, and the place of the first log block, as the mapping chooses; none if a merge runs or is due, or
    /// there is nothing to merge.
    #[cold]
    fn chosen_merge(&mut self, domain: u32) -> Option<(u32, usize)> {
        let logs = self.logs.as_ref()?;
        if logs.merge(domain).runs || logs.has_retired(domain) {
            return None;
        }
        let all: Vec<_> = logs.mergeable(domain, &self.blocks).collect();
        let entry = |what: &Mergeable<'_>| {
            let mut lots = Vec::new();
            self.list_lots(what.logs, &mut lots);
            MergeEntry {
                block: what.logs[0],
                blocks: what.logs.len() as u32,
                valid: what.logs.iter().map(|&log| self.blocks.get(log).valid).sum(),
                lots: lots.len() as u32,
            }
        };
        let entries: Vec<MergeEntry> = all.iter().map(entry).collect();
        let places: Vec<(u32, usize)> = all.iter().map(|what| (what.group, what.first)).collect();
        let first = *places.first()?;
        let chosen = self.mapping.merge(&MergeView { domain, merges: &entries });
        self.heed(failed(self.mapping.trouble()));
        let at = chosen.and_then(|block| entries.iter().position(|entry| entry.block == block));
        Some(at.map_or(first, |at| places[at]))
    }

    /// Begins a merge in a domain, unless one runs: of a sequential log block that was given up, or of the group given, from the log block
    /// at a place on.
    pub(super) fn begin_merge(&mut self, domain: u32, group: Option<(u32, usize)>, cause: Cause) {
        let stands_in = self.delays_merges();
        let Some(logs) = &mut self.logs else { return };
        if logs.merge(domain).runs {
            return;
        }
        let of_group = cause == Cause::LookAhead || cause == Cause::Proactive;
        if of_group || !logs.begin_retired(domain, self.now) {
            let Some(group) = group else { return };
            logs.begin(group, &self.blocks, self.now, stands_in);
            self.list_lots_to_merge(domain);
        }
        self.begin_next_lot(domain, cause);
    }

    /// The merge of a domain, which has just begun for a cause, goes to its first logical block.
    pub(super) fn begin_next_lot(&mut self, domain: u32, cause: Cause) {
        self.note_cause(domain, cause);
        self.next_lot(domain);
    }

    /// The logical blocks with valid pages in the log blocks that are merged in a domain.
    fn list_lots_to_merge(&mut self, domain: u32) {
        let Some(logs) = &mut self.logs else { return };
        let mut lots = std::mem::take(&mut logs.merge_mut(domain).lots);
        if let Some(logs) = &self.logs {
            self.list_lots(&logs.merge(domain).logs, &mut lots);
        }
        if let Some(logs) = &mut self.logs {
            logs.merge_mut(domain).lots = lots;
        }
    }

    /// Lists the logical blocks with valid pages in some log blocks, the last first.
    fn list_lots(&self, logs: &[u32], into: &mut Vec<u32>) {
        let Some(lots) = &self.lots else { return };
        let units = self.plan.units_per_block;
        for &block in logs {
            let (mut at, end) = (block * units, (block + 1) * units);
            while let Some(place) = self.map.next_valid(at, end) {
                let lot = lots.of_unit(self.map.unit_at(place));
                if into.last() != Some(&lot) {
                    into.push(lot);
                }
                at = place + 1;
            }
        }
        into.sort_unstable_by(|one, other| other.cmp(one));
        into.dedup();
    }

    /// Goes on to the next logical block of the merge of a domain, or ends it.
    fn next_lot(&mut self, domain: u32) {
        let (Some(lots), Some(logs)) = (&mut self.lots, &mut self.logs) else { return };
        let merge = logs.merge_mut(domain);
        merge.lot = merge.lots.pop();
        match merge.lot {
            Some(lot) => lots.mark(lot),
            None => self.end_log_merge(domain),
        }
    }

    /// True if a logical block is the next to be merged.
    pub(super) fn waits_to_merge(&self, lot: u32) -> bool {
        self.logs.as_ref().is_some_and(|logs| logs.merge(logs.domain(lot)).lot == Some(lot))
    }

    /// Begins to bring the pages of a logical block together; false if it has to wait for a free block.
    pub(super) fn begin_lot(&mut self, lot: u32) -> bool {
        let Some(logs) = &self.logs else { return false };
        let domain = logs.domain(lot);
        let may_stay = |log: u32| !self.blocks.get(log).doomed && self.is_in_order(log, lot);
        let in_order = logs.merge(domain).logs.iter().filter(|&&log| may_stay(log));
        let base = in_order.copied().max_by_key(|&log| (self.blocks.get(log).write_point, log));
        let Some(block) = base.or_else(|| self.open_block_near(lot, Task::GC)) else {
            if let Some(lots) = &mut self.lots {
                lots.want_block(lot);
            }
            self.press_merge(domain);
            return false;
        };
        if let (Some(_), Some(logs)) = (base, &mut self.logs) {
            logs.becomes_data(domain, block);
        }
        let left = self.gather_lot(Task::GC, lot, block);
        let kind = match base {
            Some(_) if left == 0 => Kind::Switch,
            Some(_) => Kind::Partial,
            None => Kind::Full,
        };
        self.counters.merges[kind as usize] += 1;
        true
    }

    /// A background task moves the data of a block to a free one: the one given, or one that it opens. False if it cannot: the block
    /// is no data block, or something is under way for its logical block, or no block is free.
    pub(super) fn move_lot(&mut self, task: Task, from: u32, into: Option<u32>) -> bool {
        let Some(lot) = self.lots.as_ref().and_then(|lots| lots.owner(from)) else { return false };
        if !self.stays().may_move(from) {
            return false;
        }
        if let Some(block) = into {
            self.blocks.open_free(block);
        }
        let Some(block) = into.or_else(|| self.open_block_near(lot, task)) else { return false };
        self.gather_lot(task, lot, block);
        true
    }

    /// A task begins to bring the pages of a logical block together in an open block, which becomes its data block. Gives how many are
    /// to be copied.
    fn gather_lot(&mut self, task: Task, lot: u32, block: u32) -> u32 {
        let domain = self.blocks.domain_of_plane(self.blocks.plane_of(block));
        let Some(lots) = &mut self.lots else { return 0 };
        let before = lots.data(lot);
        lots.replace(lot, block);
        let start = self.blocks.get(block).write_point;
        let units = lots.units_of(lot, self.plan.units());
        let end = units.len() as u32;
        let left = units.skip(start as usize).filter(|&unit| self.map.place(unit).is_some()).count() as u32;
        if let Some(before) = before {
            self.close_block(before);
        }
        let window = self.window_of(task);
        let job = self.jobs.start((task, window), (before.unwrap_or(block), domain), left, (start.min(end), end));
        self.jobs.get_mut(job).lot = lot;
        self.space.owe(domain, left, 1);
        if let Some(lots) = &mut self.lots {
            lots.work_mut(lot).job = job;
        }
        self.begin_copying(job);
        left
    }

    /// True if a log block holds the pages of a logical block from the first on, each at its own offset, and nothing else.
    pub(super) fn is_in_order(&self, log: u32, lot: u32) -> bool {
        let Some(lots) = &self.lots else { return false };
        let start = log * self.plan.units_per_block;
        let written = self.blocks.get(log).write_point;
        let is_own =
            |page: u32| self.map.is_valid(start + page) && self.map.unit_at(start + page) == lots.unit_at(lot, page);
        written > 0 && self.blocks.get(log).valid == written && (0..written).all(is_own)
    }

    /// Queues the next page reads of a logical block that is merged, up to the window of its job.
    #[cold]
    pub(super) fn advance_lot_merge(&mut self, slot: u32) {
        loop {
            let job = *self.jobs.get(slot);
            if job.cursor >= job.end || job.on_the_way >= job.window {
                break;
            }
            let Some(lots) = &self.lots else { return };
            let (unit, data) = (lots.unit_at(job.lot, job.cursor), lots.data(job.lot));
            let elsewhere = |&place: &u32| Some(self.units_per_block.quotient(place)) != data;
            // What lies elsewhere of a page that the data block has passed is newer: the host has written it to a log block since.
            let is_passed = data.is_some_and(|data| self.blocks.get(data).write_point > job.cursor);
            let place = self.map.place(unit).filter(|place| !is_passed && elsewhere(place));
            if place.is_some() && job.task == Task::GC && !self.takes_step(job.domain) {
                return;
            }
            let state = self.jobs.get_mut(slot);
            state.cursor += 1;
            let Some(place) = place else { continue };
            state.on_the_way += 1;
            if state.unread > 0 {
                state.unread -= 1;
            } else {
                // The host has written it since the merge began.
                self.space.owe(job.domain, 1, 0);
            }
            self.jobs.read_queued(slot);
            let op = self.slab.insert(FlashOp {
                class: Class::new(job.task, Action::Read),
                source: place,
                owner: slot,
                bytes: self.plan.unit_bytes,
                role: Role::Plain,
                ..FlashOp::default()
            });
            self.enqueue(op);
        }
        let job = *self.jobs.get(slot);
        if job.cursor >= job.end && !job.queued {
            self.settle_units(job.domain, job.unread);
            self.jobs.all_queued(slot);
        }
        if job.cursor >= job.end && job.on_the_way == 0 {
            self.end_lot_merge(slot, &job);
        }
    }

    /// All pages of a logical block have come together: its old data block is erased.
    pub(super) fn end_lot_merge(&mut self, slot: u32, job: &Job) {
        self.jobs.end(slot);
        self.end_copying(slot);
        self.space.end_job(job.task, job.domain);
        let (Some(lots), Some(logs)) = (&mut self.lots, &mut self.logs) else { return };
        lots.work_mut(job.lot).job = NONE;
        lots.mark(job.lot);
        let before = lots.replaced(job.lot);
        let is_merge = job.task == Task::GC;
        if is_merge {
            logs.merge_mut(job.domain).lot = None;
        }
        if let Some(before) = before {
            assert_eq!(self.blocks.get(before).valid, 0, "a merge leaves nothing behind");
            lots.forget_replaced(job.lot);
            if is_merge {
                self.erase_after_merge(job.domain, before);
            } else {
                self.erase_unowned(job.task, before);
            }
        }
        if is_merge {
            self.next_lot(job.domain);
        } else {
            self.erase_held(job.domain);
        }
    }

    /// All logical blocks of a merge have their pages in data blocks: its log blocks are erased.
    fn end_log_merge(&mut self, domain: u32) {
        while let Some(block) = self.logs.as_mut().and_then(|logs| logs.merge_mut(domain).logs.pop()) {
            assert_eq!(self.blocks.get(block).valid, 0, "a merge leaves nothing in its log blocks");
            if let Some(logs) = &mut self.logs {
                logs.erases(domain);
            }
            self.close_block(block);
            self.erase_unless_read(domain, block);
        }
        let Some(logs) = &mut self.logs else { return };
        self.counters.log_merges += 1;
        self.counters.log_merge_time += logs.end(domain, self.now);
        logs.offer_block(domain);
        self.merge_retired(domain);
        self.collect(domain);
    }

    /// Erases a log block that was merged, or later, if a background task has not done yet with what it began to copy from there. The host
    /// may have overwritten all of that, so the merge did not wait for it.
    fn erase_unless_read(&mut self, domain: u32, block: u32) {
        if !self.is_read_in_background(domain, block) {
            self.erase_after_merge(domain, block);
        } else if let Some(logs) = &mut self.logs {
            logs.hold(domain, block);
        }
    }

    /// True if a background task other than GC reads a page of a block, or has read it to write it elsewhere.
    fn is_read_in_background(&self, domain: u32, block: u32) -> bool {
        let moves = |task: Task| task != Task::GC && self.jobs.running(self.jobs.group(task, domain)) > 0;
        if !self.plan.tasks.background().any(moves) {
            return false;
        }
        let is_of_job = |op: &FlashOp| {
            let class = op.class;
            // Map units are read where they are when it is their turn.
            !class.is_host() && class.task() != Task::GC && class.action() != Action::Erase && op.role != Role::Map
        };
        let start = block * self.plan.units_per_block;
        let pages = start..start + self.plan.units_per_block;
        self.slab.all().any(|op| is_of_job(op) && pages.contains(&op.source))
    }

    /// A background task is done with a logical block of a domain: log blocks that waited for it are erased.
    fn erase_held(&mut self, domain: u32) {
        let held = self.logs.as_mut().map(|logs| logs.take_held(domain)).unwrap_or_default();
        held.into_iter().for_each(|block| self.erase_unless_read(domain, block));
    }

    /// A block of a domain was erased: those that wait for a free one, or for a log block, look again.
    #[cold]
    pub(super) fn offer_log_block(&mut self, domain: u32, block: u32) {
        if let Some(logs) = &mut self.logs {
            logs.erased(domain, block);
            logs.offer_block(domain);
        }
    }
}
