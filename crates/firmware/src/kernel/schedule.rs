//! Merges of log blocks in idle periods of the host, for a collect policy that schedules them (`policy/collect/schedule.rs`).
//!
//! A merge that starts in an idle period is *interruptible*: before each page read, each program and each erase it looks whether the
//! host has come, and if so it is interrupted until the host rests again. What it leaves is what any merge leaves between two
//! operations: every page is where the map has it. Its erases follow one by one, so a domain may have merged blocks that are
//! still to be erased.
//!
//! A *partial* merge goes in steps instead, beside the host: each page read with its program, and each erase, is one. Pages that the host
//! writes to log blocks pay for them; without credit it stops as if it were interrupted.
//!
//! An interruption costs no progress: if a write needs a block, or another merge, the interrupted merge goes on at once (it is *pressed*);
//! so it does when nothing else moves, and when the drive comes to rest.

use super::Kernel;
use crate::logs::Logs;
use crate::ops::NONE;
use crate::policy::collect::schedule::{collection_time, Compacts, IdleView, IdleWork, Rule};
use crate::policy::guest::failed;
use crate::task::Task;
use std::collections::VecDeque;
use std::ops::Range;
use wordline_base::Time;

/// Why a merge started: the places of its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cause {
    /// A write, or the free blocks of its domain, could not wait.
    #[default]
    OnDemand,
    /// The next request would need it.
    LookAhead,
    /// The host rested for long, and its log blocks were full or came first.
    Proactive,
    /// It had been delayed.
    Retroactive,
    /// Free blocks were few, and it goes in steps.
    Partial,
}

/// The merge of a domain, and what earlier ones have left to erase.
#[derive(Clone, Debug, Default, PartialEq)]
struct Work {
    cause: Cause,
    interrupted: bool,
    pressed: bool,
    /// Blocks without valid data that are erased one by one.
    to_erase: VecDeque<u32>,
    /// The one that is being erased.
    erasing: Option<u32>,
    /// Steps that are paid for, and true if more were paid since it was looked at.
    credit: u64,
    paid: bool,
}

impl Work {
    /// True if it stops between operations.
    fn is_interruptible(&self) -> bool {
        self.cause != Cause::OnDemand && !self.pressed
    }

    /// True if blocks are being erased or are to be.
    fn erases(&self) -> bool {
        !self.to_erase.is_empty() || self.erasing.is_some()
    }
}

/// Merges that are scheduled over idle periods.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    rule: Rule,
    /// By domain.
    works: Vec<Work>,
}

impl Schedule {
    /// Nothing is under way.
    pub(super) fn new(rule: Rule, domains: u32) -> Self {
        Self { rule, works: vec![Work::default(); domains as usize] }
    }

    /// True if nothing is left to erase.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.works.iter().any(Work::erases)
    }

    /// What was paid and not used is gone.
    pub(super) fn forget_credit(&mut self) {
        self.works.iter_mut().for_each(|work| (work.credit, work.paid) = (0, false));
    }
}

/// A write of the host that is known before it comes: its units.
pub type Preview = Range<u32>;

impl Kernel {
    /// True if merges that are wanted now wait for an idle period, while there are free blocks. Preconditioning is not delayed, since it
    /// has no idle periods.
    pub(super) fn delays_merges(&self) -> bool {
        self.timed && !self.closing && self.schedule.as_ref().is_some_and(|schedule| schedule.rule.delayed)
    }

    /// A merge of a domain has begun.
    pub(super) fn note_cause(&mut self, domain: u32, cause: Cause) {
        if let Some(schedule) = &mut self.schedule {
            let work = &mut schedule.works[domain as usize];
            (work.cause, work.interrupted, work.pressed) = (cause, false, false);
            self.counters.merges_by_cause[cause as usize] += 1;
        }
    }

    /// A checkpoint: true if the merge of a domain takes no further step, since the host is there.
    pub(super) fn is_interrupted(&mut self, domain: u32) -> bool {
        let Some(schedule) = &mut self.schedule else { return false };
        let work = &mut schedule.works[domain as usize];
        let waits = work.is_interruptible() && work.cause != Cause::Partial;
        if !waits || self.rests.rests() || !self.timed || self.closing {
            return false;
        }
        if !std::mem::replace(&mut work.interrupted, true) {
            self.counters.interruptions += 1;
        }
        true
    }

    /// A checkpoint before a step: true if the merge of a domain takes it, which is paid for if it goes in steps.
    pub(super) fn takes_step(&mut self, domain: u32) -> bool {
        let Some(schedule) = &mut self.schedule else { return true };
        let work = &mut schedule.works[domain as usize];
        if work.cause != Cause::Partial || work.pressed || !self.timed || self.closing {
            return !self.is_interrupted(domain);
        }
        work.interrupted = work.credit == 0;
        work.credit = work.credit.saturating_sub(1);
        !work.interrupted
    }

    /// A page of the host went to a log block of a domain: it pays for steps.
    #[cold]
    pub(super) fn pay_for_steps(&mut self, domain: u32) {
        let Some(schedule) = &mut self.schedule else { return };
        let Some(steps) = schedule.rule.steps.filter(|_| self.timed && !self.closing) else { return };
        let work = &mut schedule.works[domain as usize];
        (work.credit, work.paid) = (work.credit + u64::from(steps.per_page), true);
    }

    /// Merges of domains whose steps were paid for take them; where free blocks are few, full log blocks begin to be merged.
    #[cold]
    pub(super) fn take_paid_steps(&mut self) {
        for domain in 0..self.plan.domains {
            let Some(schedule) = &mut self.schedule else { return };
            let Some(steps) = schedule.rule.steps else { return };
            let work = &mut schedule.works[domain as usize];
            if !std::mem::take(&mut work.paid) {
                continue;
            }
            let Some(logs) = &mut self.logs else { return };
            if logs.merge(domain).runs || work.erases() {
                self.resume_merge(domain);
                continue;
            }
            let is_short = self.blocks.free_in_domain(domain) < steps.below;
            match logs.first_full(domain, &self.blocks).filter(|_| is_short) {
                Some(group) => self.begin_merge(domain, Some((group, 0)), Cause::Partial),
                None => work.credit = 0,
            }
        }
    }

    /// True if a merge is interrupted, or that of a sequential log block waits for an idle period: a drive at rest has done these.
    pub(super) fn has_merges_left(&self) -> bool {
        let waits = |logs: &Logs| (0..self.plan.domains).any(|domain| logs.has_retired(domain));
        self.schedule.is_some() && (self.has_interrupted() || self.logs.as_deref().is_some_and(waits))
    }

    /// True if some merge is interrupted.
    fn has_interrupted(&self) -> bool {
        self.schedule.as_ref().is_some_and(|schedule| schedule.works.iter().any(|work| work.interrupted))
    }

    /// A write needs what the interrupted merge of a domain will free: it goes on to its end.
    pub(super) fn press_merge(&mut self, domain: u32) {
        let Some(schedule) = &mut self.schedule else { return };
        let runs = self.logs.as_ref().is_some_and(|logs| logs.merge(domain).runs);
        let work = &mut schedule.works[domain as usize];
        let is_under_way = runs || work.erases();
        if !is_under_way || !work.is_interruptible() {
            return;
        }
        work.pressed = true;
        self.counters.pressed_merges += 1;
        self.resume_merge(domain);
    }

    /// Nothing moves, or the drive comes to rest: interrupted merges go on; false if there are none.
    pub(super) fn press_all_merges(&mut self) -> bool {
        let any = self.has_interrupted();
        if any {
            (0..self.plan.domains).for_each(|domain| self.press_merge(domain));
        }
        any
    }

    /// The merge of a domain takes its next step.
    fn resume_merge(&mut self, domain: u32) {
        let Some(schedule) = &mut self.schedule else { return };
        let work = &mut schedule.works[domain as usize];
        if !std::mem::take(&mut work.interrupted) {
            return;
        }
        if let (Some(lots), Some(logs)) = (&mut self.lots, &self.logs) {
            if let Some(lot) = logs.merge(domain).lot {
                lots.mark(lot);
                let job = lots.work(lot).job;
                if job != NONE {
                    self.advance(job);
                }
            }
        }
        self.erase_merged(domain);
    }

    /// The host rests: interrupted merges go on, and the policy says what else is merged.
    #[cold]
    pub(super) fn use_idle_period(&mut self) {
        if self.schedule.is_some() {
            (0..self.plan.domains).for_each(|domain| self.use_idle_period_in(domain));
        }
    }

    fn use_idle_period_in(&mut self, domain: u32) {
        let Some(schedule) = &self.schedule else { return };
        if !schedule.rule.uses_rests() || !self.rests.rests() || !self.timed || self.closing {
            return;
        }
        let work = &schedule.works[domain as usize];
        if work.interrupted {
            self.resume_merge(domain);
            return;
        }
        let runs = self.logs.as_ref().is_some_and(|logs| logs.merge(domain).runs);
        if runs || work.erases() {
            return;
        }
        let needed = if schedule.rule.advanced { self.needed_next(domain) } else { None };
        let (free, compacts) = (self.blocks.free_in_domain(domain), schedule.rule.compacts);
        let Some(logs) = &mut self.logs else { return };
        let delayed = logs.first_delayed(domain, &self.blocks);
        let full = match compacts {
            Compacts::Full => logs.first_full(domain, &self.blocks),
            Compacts::Any => logs.by_priority(domain).find(|&group| logs.may_begin(group, &self.blocks)),
        };
        let has_delayed = delayed.is_some() || logs.has_retired(domain);
        let time = needed.map(|group| self.time_of_merge(group));
        let view = IdleView {
            domain,
            free,
            rested: self.rests.is_long_enough(Task::GC),
            period: self.rests.period(),
            left: self.rests.until_next(self.now),
            has_delayed,
            needed: time,
            has_full: full.is_some(),
        };
        let work = self.collect.idle_work(&view);
        self.heed(failed(self.collect.trouble()));
        // Of log blocks that are merged one by one, the oldest.
        let whole = |group: Option<u32>| group.map(|group| (group, 0));
        match work {
            IdleWork::Nothing => {}
            IdleWork::Retroactive => self.begin_merge(domain, whole(delayed), Cause::Retroactive),
            IdleWork::LookAhead => self.begin_merge(domain, whole(needed), Cause::LookAhead),
            IdleWork::Proactive => self.begin_merge(domain, whole(full), Cause::Proactive),
        }
    }

    /// The group that has to be merged before the next request can be written, if it is known and lies in a domain.
    fn needed_next(&self, domain: u32) -> Option<u32> {
        let (lots, logs) = (self.lots.as_ref()?, self.logs.as_ref()?);
        let units = self.rests.preview()?;
        let mut at = units.start;
        let (mut group, mut room) = (NONE, 0_u64);
        while at < units.end {
            let lot = lots.of_unit(at);
            let end = lots.units_of(lot, self.plan.units()).end.min(units.end);
            if logs.domain(lot) == domain {
                if group != logs.group(lot) {
                    group = logs.group(lot);
                    room = self.free_pages_of(group);
                }
                let (mut pages, next) = (u64::from(end - at), self.next_page_of(lot));
                if lots.page_of(at) == next {
                    // They go on with the data block.
                    pages = 0;
                }
                if pages > room {
                    let candidate = if logs.has_left(group) || logs.left_of_group(group) == 0 {
                        Some(group)
                    } else {
                        logs.by_priority(domain).next()
                    };
                    return candidate.filter(|&group| logs.may_begin(group, &self.blocks));
                }
                room -= pages;
            }
            at = end;
        }
        None
    }

    /// The page that the data block of a logical block takes next; that behind its last if it takes none.
    fn next_page_of(&self, lot: u32) -> u32 {
        let data = self.lots.as_ref().and_then(|lots| lots.data(lot));
        data.map_or(0, |data| self.blocks.get(data).write_point)
    }

    /// Pages that a group can still write without a merge.
    fn free_pages_of(&self, group: u32) -> u64 {
        let Some(logs) = &self.logs else { return 0 };
        let per_block = u64::from(self.plan.units_per_block);
        let of_open = logs.tail(group).open.map_or(0, |open| per_block - u64::from(self.blocks.get(open).write_point));
        let others = if logs.has_left(group) { u64::from(logs.left_of_group(group)) } else { 0 };
        of_open + others * per_block
    }

    /// Time that the merge of a group would take (equation 7.2).
    fn time_of_merge(&self, group: u32) -> Time {
        let (Some(lots), Some(logs)) = (&self.lots, &self.logs) else { return 0 };
        let merged = logs.to_merge(group, &self.blocks);
        let mut found = Vec::new();
        for &log in merged {
            let (mut at, end) = (log * self.plan.units_per_block, (log + 1) * self.plan.units_per_block);
            while let Some(place) = self.map.next_valid(at, end) {
                found.push(lots.of_unit(self.map.unit_at(place)));
                at = place + 1;
            }
        }
        found.sort_unstable();
        found.dedup();
        let (mut pages, mut blocks) = (0, merged.len() as u32);
        for lot in found {
            let in_order = merged.iter().filter(|&&log| self.is_in_order(log, lot));
            let start = in_order.map(|&log| self.blocks.get(log).write_point).max().unwrap_or(0);
            let units = lots.units_of(lot, self.plan.units()).skip(start as usize);
            pages += units.filter(|&unit| self.map.place(unit).is_some()).count() as u32;
            blocks += u32::from(lots.data(lot).is_some());
            blocks -= u32::from(start > 0);
        }
        collection_time(self.nominal, pages, blocks)
    }

    /// A block that a merge has emptied is erased: at once, or in its turn if the merge makes way for the host.
    pub(super) fn erase_after_merge(&mut self, domain: u32, block: u32) {
        let interruptible = |schedule: &Schedule| schedule.works[domain as usize].is_interruptible();
        if !self.schedule.as_deref().is_some_and(interruptible) || !self.timed || self.closing {
            self.erase_unowned(Task::GC, block);
            return;
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.works[domain as usize].to_erase.push_back(block);
        }
        self.erase_merged(domain);
    }

    /// Erases the next block that merges of a domain have left, if the host is not there; all of them if they are pressed.
    fn erase_merged(&mut self, domain: u32) {
        loop {
            let Some(schedule) = &self.schedule else { return };
            let work = &schedule.works[domain as usize];
            if work.to_erase.is_empty() || (work.erasing.is_some() && work.is_interruptible()) {
                return;
            }
            if !self.takes_step(domain) {
                return;
            }
            let Some(schedule) = &mut self.schedule else { return };
            let work = &mut schedule.works[domain as usize];
            let Some(block) = work.to_erase.pop_front() else { return };
            work.erasing = Some(block);
            self.erase_unowned(Task::GC, block);
        }
    }

    /// A block of a domain was erased: the next one follows, or another merge while the host rests.
    #[cold]
    pub(super) fn go_on_after_erase(&mut self, domain: u32, block: u32) {
        let Some(schedule) = &mut self.schedule else { return };
        let work = &mut schedule.works[domain as usize];
        if work.erasing == Some(block) {
            work.erasing = None;
        }
        self.erase_merged(domain);
        self.use_idle_period_in(domain);
    }
}
