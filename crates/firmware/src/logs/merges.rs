//! Merges of log blocks: which may begin, in which order, and which are put off.

use super::{Group, Logs, Merge, Tail};
use crate::blocks::Blocks;
use crate::ops::NONE;
use wordline_base::Time;

/// What can be merged now.
#[derive(Clone, Copy, Debug)]
pub struct Mergeable<'a> {
    /// Whose log blocks they are.
    pub group: u32,
    /// Place of the first among the log blocks of the group.
    pub first: usize,
    /// The log blocks that are emptied together.
    pub logs: &'a [u32],
}

impl Logs {
    /// What is merged in a domain.
    pub fn merge(&self, domain: u32) -> &Merge {
        &self.domains[domain as usize].merge
    }

    /// What is merged in a domain.
    pub fn merge_mut(&mut self, domain: u32) -> &mut Merge {
        &mut self.domains[domain as usize].merge
    }

    /// True if a sequential log block of a domain is to be merged.
    pub fn has_retired(&self, domain: u32) -> bool {
        !self.domains[domain as usize].retired.is_empty()
    }

    /// Begins to merge the sequential log block that was given up first; its logical block is to be merged.
    pub fn begin_retired(&mut self, domain: u32, now: Time) -> bool {
        let state = &mut self.domains[domain as usize];
        let Some((lot, block)) = state.retired.pop_front() else { return false };
        let merge = &mut state.merge;
        (merge.runs, merge.group, merge.since) = (true, None, now);
        merge.logs.push(block);
        merge.lots.push(lot);
        true
    }

    /// Begins to merge a logical block alone: no log block is emptied for it.
    pub fn begin_alone(&mut self, domain: u32, lot: u32, now: Time) {
        let merge = &mut self.domains[domain as usize].merge;
        (merge.runs, merge.group, merge.since) = (true, None, now);
        merge.lots.push(lot);
    }

    /// True if a block is a log block, or one that is being erased.
    pub fn is_log(&self, block: u32) -> bool {
        self.is_log[block as usize]
    }

    /// The tail whose open log block a block is, if that can take no more pages from now on: nothing is on its way there, and writes
    /// that wait can go elsewhere. Those that wait for the sequential one follow its pages.
    pub fn tail_to_give_up(&self, block: u32) -> Option<u32> {
        let (tail, state) = (0..).zip(&self.tails).find(|(_, tail)| tail.open == Some(block))?;
        let may_go = tail < self.groups.len() as u32 || state.waiting.head == NONE;
        (state.sent.is_none() && may_go).then_some(tail)
    }

    /// How many of the oldest log blocks of a group are merged together. An open one without pages would gain nothing.
    pub(super) fn merged_together(&self, group: u32, blocks: &Blocks) -> usize {
        let logs = &self.groups[group as usize].logs;
        let is_empty = logs.last().is_some_and(|&newest| blocks.get(newest).write_point == 0);
        let with_pages = logs.len() - usize::from(is_empty);
        if self.rule.one_by_one {
            with_pages.min(1)
        } else {
            with_pages
        }
    }

    /// True if a group has log blocks that can be merged: it is not being merged, and no write is on its way to them.
    pub fn may_begin(&self, group: u32, blocks: &Blocks) -> bool {
        let Tail { open, sent, .. } = self.tails[group as usize];
        let (state, count) = (&self.groups[group as usize], self.merged_together(group, blocks));
        let is_written = sent.is_some() && open.is_some_and(|open| state.logs[..count].contains(&open));
        count > 0 && !state.merging && !is_written
    }

    /// Log blocks of a group that are merged together.
    pub fn to_merge(&self, group: u32, blocks: &Blocks) -> &[u32] {
        &self.groups[group as usize].logs[..self.merged_together(group, blocks)]
    }

    /// All that can be merged in a domain now, by priority of the groups: of each its log blocks, or any one of them, from the oldest on,
    /// if they are merged one by one.
    pub fn mergeable<'a>(&'a self, domain: u32, blocks: &'a Blocks) -> impl Iterator<Item = Mergeable<'a>> + 'a {
        let one_by_one = self.rule.one_by_one;
        self.by_priority(domain).flat_map(move |group| {
            let Tail { open, sent, .. } = self.tails[group as usize];
            let state = &self.groups[group as usize];
            let all = if self.may_begin(group, blocks) { self.to_merge(group, blocks) } else { &[] };
            let whole = (!one_by_one && !all.is_empty()).then_some(Mergeable { group, first: 0, logs: all });
            let each = state.logs.iter().enumerate().filter(move |&(_, &log)| {
                let is_written = sent.is_some() && open == Some(log);
                one_by_one && !state.merging && !is_written && blocks.get(log).write_point > 0
            });
            let each = each.map(move |(first, _)| Mergeable { group, first, logs: &state.logs[first..=first] });
            whole.into_iter().chain(each)
        })
    }

    /// Begins to merge a group that may be, or its log block at a place of those that are merged one by one; its logical blocks are to be
    /// told then. If merges are delayed (`stands_in`), other log blocks may serve the group meanwhile.
    pub fn begin(&mut self, (group, first): (u32, usize), blocks: &Blocks, now: Time, stands_in: bool) {
        let domain = self.domain_of_tail(group);
        self.unlist(domain, group);
        let count = self.merged_together(group, blocks);
        let state = &mut self.groups[group as usize];
        let merge = &mut self.domains[domain as usize].merge;
        (merge.runs, merge.group, merge.since) = (true, Some(group), now);
        merge.logs.extend(state.logs.drain(first..first + count));
        // Where log blocks are merged one by one, the others serve the group meanwhile.
        state.merging = !self.rule.one_by_one && !stands_in;
        let tail = &mut self.tails[group as usize];
        if tail.open.is_some_and(|open| merge.logs.contains(&open)) {
            tail.open = None;
        }
        if state.logs.is_empty() {
            self.unlink(domain, group);
        }
    }

    /// The groups of a domain that have log blocks, the first to be merged first.
    pub fn by_priority(&self, domain: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |&group: &u32| self.groups.get(group as usize).and_then(|state| state.next);
        std::iter::successors(self.domains[domain as usize].first, next)
    }

    /// A log block becomes the data block of a logical block.
    pub fn becomes_data(&mut self, domain: u32, block: u32) {
        self.is_log[block as usize] = false;
        let state = &mut self.domains[domain as usize];
        state.in_use -= 1;
        state.merge.logs.retain(|&log| log != block);
    }

    /// The merge of a domain is done; gives its time.
    pub fn end(&mut self, domain: u32, now: Time) -> Time {
        let merge = &mut self.domains[domain as usize].merge;
        let time = now - merge.since;
        merge.runs = false;
        let group = merge.group.take();
        if let Some(group) = group {
            self.groups[group as usize].merging = false;
            if self.rule.one_by_one && !self.groups[group as usize].logs.is_empty() {
                // It has more to merge.
                self.list_full(group);
            }
        }
        time
    }

    /// The merge of a group is delayed to an idle period.
    pub fn delay(&mut self, group: u32) {
        let domain = self.domain_of_tail(group);
        if !std::mem::replace(&mut self.groups[group as usize].is_delayed, true) {
            self.domains[domain as usize].lists.delayed.push_back(group);
        }
    }

    /// A tail has got a log block that stands in for a merge. What is to be merged for it later is listed: its group, if that has too many
    /// log blocks now, or the first by priority, if the domain has too many. A group that is being merged needs no other merge.
    pub fn delay_for(&mut self, tail: u32) {
        let state = &self.domains[self.domain_of_tail(tail) as usize];
        let (has_too_many, of_group) = (state.in_use > state.most, self.groups.get(tail as usize));
        if of_group.zip(self.rule.log_blocks).is_some_and(|(group, most)| group.logs.len() as u32 > most) {
            self.delay(tail);
        } else if has_too_many {
            self.delay_first(self.domain_of_tail(tail));
        }
    }

    /// Delays the merge of the group of a domain that is the first by priority and was not delayed; false if there is none.
    pub fn delay_first(&mut self, domain: u32) -> bool {
        let first = self.by_priority(domain).find(|&group| !self.groups[group as usize].is_delayed);
        first.map(|group| self.delay(group)).is_some()
    }

    /// Delayed merges of a domain.
    pub fn delayed(&self, domain: u32) -> u32 {
        self.domains[domain as usize].lists.delayed.len() as u32
    }

    /// The log blocks of a group are full: it is listed.
    pub fn list_full(&mut self, group: u32) {
        let domain = self.domain_of_tail(group);
        let Some(state) = self.groups.get_mut(group as usize) else { return };
        if !std::mem::replace(&mut state.is_listed_full, true) {
            self.domains[domain as usize].lists.full.push_back(group);
        }
    }

    /// The group whose merge was delayed first, of those that can be merged now.
    pub fn first_delayed(&mut self, domain: u32, blocks: &Blocks) -> Option<u32> {
        let mut list = std::mem::take(&mut self.domains[domain as usize].lists.delayed);
        while let Some(&group) = list.front().filter(|&&group| self.groups[group as usize].logs.is_empty()) {
            self.groups[group as usize].is_delayed = false;
            list.pop_front();
        }
        let first = list.iter().copied().find(|&group| self.may_begin(group, blocks));
        self.domains[domain as usize].lists.delayed = list;
        first
    }

    /// The group whose log blocks were full first, of those that still are and can be merged now.
    pub fn first_full(&mut self, domain: u32, blocks: &Blocks) -> Option<u32> {
        let mut list = std::mem::take(&mut self.domains[domain as usize].lists.full);
        let mut first = None;
        while let Some(&group) = list.front() {
            if self.is_occupied(group) && self.may_begin(group, blocks) {
                first = Some(group);
                break;
            }
            // It is listed again when its next log block is full.
            self.groups[group as usize].is_listed_full = false;
            list.pop_front();
        }
        self.domains[domain as usize].lists.full = list;
        first
    }

    /// True if what a merge of a group would empty is full.
    pub(super) fn is_occupied(&self, group: u32) -> bool {
        let (logs, open) = (&self.groups[group as usize].logs, self.tails[group as usize].open);
        let merged = if self.rule.one_by_one { logs.first() } else { logs.last() };
        merged.is_some() && merged.copied() != open
    }

    /// Log blocks that a group may still get.
    pub fn left_of_group(&self, group: u32) -> u32 {
        let most = self.rule.log_blocks.unwrap_or(u32::MAX);
        most.saturating_sub(self.groups[group as usize].logs.len() as u32)
    }

    /// True if a domain may have another log block without one that stands in for a merge.
    pub fn has_left(&self, group: u32) -> bool {
        self.with_another(group) <= self.domains[self.domain_of_tail(group) as usize].most
    }

    /// A group is not to be merged later any more.
    pub(super) fn unlist(&mut self, domain: u32, group: u32) {
        let lists = &mut self.domains[domain as usize].lists;
        let state = &mut self.groups[group as usize];
        for (flag, list) in [(&mut state.is_delayed, &mut lists.delayed), (&mut state.is_listed_full, &mut lists.full)]
        {
            if std::mem::take(flag) {
                list.retain(|&other| other != group);
            }
        }
    }

    /// A block of a domain was erased.
    pub fn erased(&mut self, domain: u32, block: u32) {
        let was_log = std::mem::take(&mut self.is_log[block as usize]);
        if was_log {
            let state = &mut self.domains[domain as usize];
            state.in_use -= 1;
            state.erasing -= 1;
        }
    }

    /// A log block that was merged is to be erased.
    pub fn erases(&mut self, domain: u32) {
        self.domains[domain as usize].erasing += 1;
    }

    /// A log block that was merged cannot be erased yet.
    pub fn hold(&mut self, domain: u32, block: u32) {
        self.domains[domain as usize].held.push(block);
    }

    /// Log blocks of a domain that were merged and could not be erased.
    pub fn take_held(&mut self, domain: u32) -> Vec<u32> {
        std::mem::take(&mut self.domains[domain as usize].held)
    }

    /// Log blocks of a domain that are being erased.
    pub fn erasing(&self, domain: u32) -> u32 {
        self.domains[domain as usize].erasing
    }

    /// All log blocks that hold data or take some, as they are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = u32> + '_ {
        let groups = self.groups.iter().flat_map(|group| group.logs.iter().copied());
        let sequential = self.tails.iter().skip(self.groups.len()).filter_map(|tail| tail.open);
        let merged = self
            .domains
            .iter()
            .flat_map(|domain| domain.merge.logs.iter().copied().chain(domain.retired.iter().map(|&(_, block)| block)));
        groups.chain(sequential).chain(merged)
    }

    pub(super) fn link_last(&mut self, domain: u32, group: u32) {
        let state = &mut self.domains[domain as usize];
        let before = state.last.replace(group);
        (self.groups[group as usize].previous, self.groups[group as usize].next) = (before, None);
        match before {
            Some(before) => self.groups[before as usize].next = Some(group),
            None => state.first = Some(group),
        }
    }

    pub(super) fn unlink(&mut self, domain: u32, group: u32) {
        let Group { previous, next, .. } = self.groups[group as usize];
        let state = &mut self.domains[domain as usize];
        match previous {
            Some(previous) => self.groups[previous as usize].next = next,
            None => state.first = next,
        }
        match next {
            Some(next) => self.groups[next as usize].previous = previous,
            None => state.last = previous,
        }
    }
}
