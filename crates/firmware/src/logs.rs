//! Log blocks, where logical blocks have data blocks and are updated in blocks beside them.
//!
//! Logical blocks that share log blocks form a *group*. Pages of a group go to its newest log block in the order of their
//! coming. Some mappings also keep one *sequential* log block, which takes the pages of one logical block from its first on.
//! A group, and the sequential log block, each have a *tail*: the place where writes wait for the next page.
//!
//! A *merge* brings the newest pages of logical blocks back into data blocks, so that log blocks can be erased. A domain
//! merges one group at a time, and its logical blocks one after another.

use crate::blocks::{Blocks, Status};
use crate::ops::{Fifo, Slab, NONE};
use crate::policy::mapping::{LogRule, Priority};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Time;

/// The map zone of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// By number; all have the first one if the drive is not cut into zones.
    Numbered(u32),
    /// It holds tables of zones.
    OfTables,
}

/// Where a logical block belongs: it shares log blocks with others of the same domain and zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LotSeat {
    /// Its domain.
    pub domain: u32,
    /// Its map zone.
    pub zone: Zone,
}

/// Where writes wait for the next page of a log block.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tail {
    /// Writes that wait.
    #[serde(skip)]
    pub waiting: Fifo,
    /// The write that is on its way to the die.
    #[serde(skip)]
    pub sent: Option<u32>,
    /// The log block that takes pages.
    pub open: Option<u32>,
    #[serde(skip)]
    due: bool,
    #[serde(skip)]
    wants_block: bool,
}

/// The log blocks of logical blocks that share them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Group {
    /// From the oldest on.
    logs: Vec<u32>,
    /// Neighbours in the order of priority of its domain.
    previous: Option<u32>,
    next: Option<u32>,
    /// True if it is in the list of delayed merges, and in that of full ones.
    is_delayed: bool,
    is_listed_full: bool,
    #[serde(skip)]
    merging: bool,
}

/// The sequential log block of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequential {
    /// The logical block whose pages it takes, and the page that it takes next.
    pub next: Option<(u32, u32)>,
}

/// What is being merged in a domain.
#[derive(Clone, Debug, Default)]
pub struct Merge {
    /// True if something is.
    pub runs: bool,
    /// The group; none if it is the sequential log block.
    group: Option<u32>,
    /// Log blocks to be erased at its end.
    pub logs: Vec<u32>,
    /// Logical blocks that are still to be merged, the next one last.
    pub lots: Vec<u32>,
    /// The logical block that is merged, or waits for its turn.
    pub lot: Option<u32>,
    /// When it began.
    pub since: Time,
}

/// Groups of a domain that are to be merged in idle periods, each at most once in a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lists {
    /// Those whose merges were delayed.
    delayed: VecDeque<u32>,
    /// Those whose log blocks are full.
    full: VecDeque<u32>,
}

/// The log blocks of a domain.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Domain {
    /// Log blocks, with those that are being erased.
    in_use: u32,
    /// Of these, the ones that are being erased.
    #[serde(skip)]
    erasing: u32,
    #[serde(skip)]
    most: u32,
    /// The same with those that stand in for merges that were delayed.
    #[serde(skip)]
    most_with_delayed: u32,
    lists: Lists,
    /// Its groups with log blocks, by priority.
    first: Option<u32>,
    last: Option<u32>,
    sequential: Sequential,
    #[serde(skip)]
    merge: Merge,
    /// Sequential log blocks that are to be merged, with their logical blocks.
    #[serde(skip)]
    retired: VecDeque<(u32, u32)>,
    /// Log blocks that were merged, and that a background task still reads: they are erased when it is done.
    #[serde(skip)]
    held: Vec<u32>,
    /// Tails that wait for a log block.
    #[serde(skip)]
    wanting: VecDeque<u32>,
    /// Logical blocks whose writes wait for the sequential log block.
    #[serde(skip)]
    behind: VecDeque<u32>,
}

impl Domain {
    /// Writes of a logical block wait until the sequential log block can take them, or has taken those before.
    fn stay_behind(&mut self, lot: u32) {
        if !self.behind.contains(&lot) {
            self.behind.push_back(lot);
        }
    }
}

/// All log blocks of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Logs {
    rule: LogRule,
    /// By logical block.
    #[serde(skip)]
    group_of: Vec<u32>,
    /// By group.
    #[serde(skip)]
    domain_of: Vec<u32>,
    /// The first logical block that holds tables of zones.
    #[serde(skip)]
    first_of_tables: u32,
    groups: Vec<Group>,
    /// Those of the groups, then the sequential ones of the domains.
    tails: Vec<Tail>,
    domains: Vec<Domain>,
    /// By block: true if it is a log block, or one that is being erased.
    #[serde(skip)]
    is_log: Vec<bool>,
    /// By logical block: writes that wait in a tail or are on their way to a log block, and of these, those of the sequential one.
    #[serde(skip)]
    coming: Vec<(u32, u32)>,
    #[serde(skip)]
    due: VecDeque<u32>,
}

impl Logs {
    /// No log blocks yet for logical blocks that belong where given, those with tables of zones last, in a drive with so many blocks.
    /// `most` has the log blocks of each domain, without and with those that may stand in for delayed merges.
    pub fn new(rule: LogRule, lots: impl Iterator<Item = LotSeat>, blocks: u32, most: &[(u32, u32)]) -> Self {
        let (mut group_of, mut domain_of) = (Vec::new(), Vec::new());
        let mut first_of_tables = 0;
        // By domain: its newest group, how many logical blocks that has, and their zone.
        let mut newest: Vec<Option<(u32, u32, Zone)>> = vec![None; most.len()];
        for LotSeat { domain, zone } in lots {
            let (group, size) = match newest[domain as usize] {
                Some((group, size, of)) if of == zone && rule.logical_blocks.is_none_or(|most| size < most) => {
                    (group, size + 1)
                }
                _ => {
                    domain_of.push(domain);
                    (domain_of.len() as u32 - 1, 1)
                }
            };
            newest[domain as usize] = Some((group, size, zone));
            group_of.push(group);
            if zone != Zone::OfTables {
                first_of_tables = group_of.len() as u32;
            }
        }
        let groups = domain_of.len();
        let of_domain =
            |&(most, most_with_delayed): &(u32, u32)| Domain { most, most_with_delayed, ..Domain::default() };
        let domains = most.iter().map(of_domain);
        Self {
            rule,
            coming: vec![(0, 0); group_of.len()],
            group_of,
            domain_of,
            first_of_tables,
            groups: vec![Group::default(); groups],
            tails: vec![Tail::default(); groups + most.len()],
            domains: domains.collect(),
            is_log: vec![false; blocks as usize],
            due: VecDeque::new(),
        }
    }

    /// The group of a logical block, which is the number of its tail, too.
    pub fn group(&self, lot: u32) -> u32 {
        self.group_of[lot as usize]
    }

    /// The domain of a logical block.
    pub fn domain(&self, lot: u32) -> u32 {
        self.domain_of[self.group(lot) as usize]
    }

    /// The domain of a tail.
    pub fn domain_of_tail(&self, tail: u32) -> u32 {
        let groups = self.groups.len() as u32;
        self.domain_of.get(tail as usize).copied().unwrap_or_else(|| tail - groups)
    }

    /// The tail of the sequential log block of a domain.
    fn sequential_tail(&self, domain: u32) -> u32 {
        self.groups.len() as u32 + domain
    }

    /// A tail.
    pub fn tail(&self, tail: u32) -> &Tail {
        &self.tails[tail as usize]
    }

    /// The tails that writes of a logical block may be in: of its group, and of its domain's sequential log block.
    pub fn tails_of(&self, lot: u32) -> [u32; 2] {
        [self.group(lot), self.sequential_tail(self.domain(lot))]
    }

    /// The tail whose write is in a slot on its way to a log block, if it is one of a logical block.
    pub fn tail_of(&self, lot: u32, slot: u32) -> Option<u32> {
        if self.coming[lot as usize].0 == 0 {
            return None;
        }
        self.tails_of(lot).into_iter().find(|&tail| self.tail(tail).sent == Some(slot))
    }

    /// True if writes of a logical block are on their way to log blocks.
    pub fn is_coming(&self, lot: u32) -> bool {
        self.coming[lot as usize].0 > 0
    }

    /// True if a logical block is being merged or is to be, or is the one that the sequential log block takes.
    pub fn needs(&self, lot: u32) -> bool {
        let Domain { merge, retired, sequential, .. } = &self.domains[self.domain(lot) as usize];
        merge.lot == Some(lot)
            || merge.lots.contains(&lot)
            || retired.iter().any(|&(other, _)| other == lot)
            || sequential.next.is_some_and(|(other, _)| other == lot)
    }

    /// Where a write of a page of a logical block waits for its log block; none if it cannot be told yet.
    pub fn tail_for(&mut self, lot: u32, page: u32) -> Option<u32> {
        let group = self.group(lot);
        if !self.rule.sequential || lot >= self.first_of_tables {
            return Some(group);
        }
        let domain = self.domain(lot);
        let tail = self.sequential_tail(domain);
        let (all, in_order) = self.coming[lot as usize];
        let state = &mut self.domains[domain as usize];
        let continues = state.sequential.next == Some((lot, page)) && page > 0;
        // Of two writes of a page, the second must not come first.
        let may_join = all == in_order;
        if continues && may_join {
            state.sequential.next = Some((lot, page + 1));
            return Some(tail);
        }
        if page == 0 && may_join {
            let idle = self.tails[tail as usize].waiting.head == NONE && self.tails[tail as usize].sent.is_none();
            if !idle {
                state.stay_behind(lot);
                return None;
            }
            if let (Some(block), Some((lot, _))) = (self.tails[tail as usize].open.take(), state.sequential.next) {
                state.retired.push_back((lot, block));
            }
            state.sequential.next = Some((lot, 1));
            return Some(tail);
        }
        if in_order > 0 {
            state.stay_behind(lot);
            return None;
        }
        Some(group)
    }

    /// A write of a logical block waits in a tail.
    pub fn wait(&mut self, slab: &mut Slab, tail: u32, lot: u32, slot: u32) {
        let in_order = u32::from(tail >= self.groups.len() as u32);
        let (all, of_sequential) = &mut self.coming[lot as usize];
        *all += 1;
        *of_sequential += in_order;
        self.tails[tail as usize].waiting.push(slab, slot);
        self.mark(tail);
    }

    /// The next write of a tail goes to its die.
    pub fn send(&mut self, slab: &Slab, tail: u32) -> Option<u32> {
        let tail = &mut self.tails[tail as usize];
        tail.sent = tail.waiting.pop(slab);
        tail.sent
    }

    /// The write of a logical block that a tail has sent is bound, or not needed any more.
    pub fn came(&mut self, tail: u32, lot: u32) {
        self.tails[tail as usize].sent = None;
        let in_order = u32::from(tail >= self.groups.len() as u32);
        let (all, of_sequential) = &mut self.coming[lot as usize];
        *all -= 1;
        *of_sequential -= in_order;
        self.mark(tail);
    }

    /// A logical block whose writes waited for the sequential log block of a domain, to look at again.
    pub fn next_behind(&mut self, domain: u32) -> Option<u32> {
        self.domains[domain as usize].behind.pop_front()
    }

    /// A tail is to be looked at.
    pub fn mark(&mut self, tail: u32) {
        let state = &mut self.tails[tail as usize];
        if !state.due {
            state.due = true;
            self.due.push_back(tail);
        }
    }

    /// The next tail to look at.
    pub fn next_due(&mut self) -> Option<u32> {
        let tail = self.due.pop_front()?;
        self.tails[tail as usize].due = false;
        Some(tail)
    }

    /// True if some tail is to be looked at.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// True if a tail may get another log block now, as far as their number goes.
    pub fn may_open(&self, tail: u32) -> bool {
        let most = self.domains[self.domain_of_tail(tail) as usize].most;
        self.with_another(tail) <= most && !self.is_full(tail)
    }

    /// True if a tail may get a log block that stands in for a merge, which is delayed.
    pub fn may_stand_in(&self, tail: u32) -> bool {
        self.with_another(tail) <= self.domains[self.domain_of_tail(tail) as usize].most_with_delayed
    }

    /// Log blocks of a domain if a tail got another one.
    fn with_another(&self, tail: u32) -> u32 {
        let domain = self.domain_of_tail(tail);
        let in_order = self.sequential_tail(domain);
        // The sequential one has a block of its own.
        let kept = self.rule.sequential && tail != in_order && self.tails[in_order as usize].open.is_none();
        self.domains[domain as usize].in_use + u32::from(kept) + 1
    }

    /// True if the group of a tail has all its log blocks, or is being merged.
    pub fn is_full(&self, tail: u32) -> bool {
        let Some(group) = self.groups.get(tail as usize) else { return false };
        let merge = &self.domains[self.domain_of_tail(tail) as usize].merge;
        let merged = if merge.runs && merge.group == Some(tail) { merge.logs.len() } else { 0 };
        group.merging || self.rule.log_blocks.is_some_and(|most| (group.logs.len() + merged) as u32 >= most)
    }

    /// A tail gets a log block.
    pub fn open(&mut self, tail: u32, block: u32) {
        let domain = self.domain_of_tail(tail);
        self.domains[domain as usize].in_use += 1;
        self.is_log[block as usize] = true;
        self.tails[tail as usize].open = Some(block);
        if tail < self.groups.len() as u32 {
            if self.groups[tail as usize].logs.is_empty() {
                self.link_last(domain, tail);
            }
            self.groups[tail as usize].logs.push(block);
        }
    }

    /// Takes an open log block back that has no pages, since the write that it was opened for was not needed any more.
    pub fn take_back(&mut self, domain: u32, blocks: &Blocks) -> Option<u32> {
        let is_idle = |tail: &Tail| {
            tail.sent.is_none()
                && tail.waiting.head == NONE
                && tail.open.is_some_and(|open| blocks.get(open).write_point == 0)
        };
        let in_order = self.sequential_tail(domain);
        let tail = self.by_priority(domain).chain([in_order]).find(|&tail| is_idle(self.tail(tail)))?;
        let block = self.tails[tail as usize].open.take();
        if tail == in_order {
            self.domains[domain as usize].sequential.next = None;
        } else {
            self.groups[tail as usize].logs.pop();
            if self.groups[tail as usize].logs.is_empty() {
                self.unlink(domain, tail);
            }
        }
        self.domains[domain as usize].in_use -= 1;
        block
    }

    /// The log block of a tail is full.
    pub fn filled(&mut self, tail: u32) {
        let domain = self.domain_of_tail(tail);
        let open = self.tails[tail as usize].open.take();
        if let (true, Some(block)) = (tail >= self.groups.len() as u32, open) {
            let state = &mut self.domains[domain as usize];
            if let Some((lot, _)) = state.sequential.next.take() {
                state.retired.push_back((lot, block));
            }
        }
    }

    /// A page of a group was written.
    pub fn written(&mut self, tail: u32) {
        let linked = self.groups.get(tail as usize).is_some_and(|group| !group.logs.is_empty());
        if self.rule.priority == Priority::LeastRecentlyWritten && linked {
            let domain = self.domain_of_tail(tail);
            self.unlink(domain, tail);
            self.link_last(domain, tail);
        }
    }

    /// A tail waits for a log block.
    pub fn want_block(&mut self, tail: u32) {
        let domain = self.domain_of_tail(tail);
        let state = &mut self.tails[tail as usize];
        if !state.wants_block {
            state.wants_block = true;
            self.domains[domain as usize].wanting.push_back(tail);
        }
    }

    /// There may be a log block for the tails of a domain that wait for one.
    pub fn offer_block(&mut self, domain: u32) {
        while let Some(tail) = self.domains[domain as usize].wanting.pop_front() {
            self.tails[tail as usize].wants_block = false;
            self.mark(tail);
        }
    }

    /// True if a tail of a domain waits for a log block.
    pub fn lacks_block(&self, domain: u32) -> bool {
        !self.domains[domain as usize].wanting.is_empty()
    }

    /// Writes that wait in tails for a log block.
    pub fn without_block(&self) -> u32 {
        let waiting = |&tail: &u32| self.tails[tail as usize].waiting.len;
        self.domains.iter().flat_map(|domain| &domain.wanting).map(waiting).sum()
    }

    /// The log block that takes so many consecutive pages of a logical block, from the one given on, and its tail, while nothing is
    /// under way for it; none if it has to be opened first, or would not take all.
    pub fn takes(&self, lot: u32, page: u32, count: u32, blocks: &Blocks) -> Option<(u32, u32)> {
        let domain = self.domain(lot);
        let tail = match self.domains[domain as usize].sequential.next {
            _ if !self.rule.sequential => self.group(lot),
            // Another one begins.
            _ if page == 0 => return None,
            Some(next) if next == (lot, page) => self.sequential_tail(domain),
            _ => self.group(lot),
        };
        let Tail { open, sent, waiting, .. } = self.tails[tail as usize];
        let block = open.filter(|_| sent.is_none() && waiting.head == NONE)?;
        (blocks.units_per_block() - blocks.get(block).write_point >= count).then_some((tail, block))
    }

    /// So many consecutive pages of a logical block were written to the log block of a tail, from the one given on. True if that
    /// is full.
    pub fn written_several(&mut self, tail: u32, lot: u32, end: u32, is_full: bool) {
        if tail >= self.groups.len() as u32 {
            let domain = self.domain_of_tail(tail);
            self.domains[domain as usize].sequential.next = Some((lot, end));
        }
        self.written(tail);
        if is_full {
            self.filled(tail);
        }
    }

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
    fn merged_together(&self, group: u32, blocks: &Blocks) -> usize {
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

    /// Begins to merge a group that may be; its logical blocks are to be told then. If merges are delayed (`stands_in`), other log
    /// blocks may serve the group meanwhile.
    pub fn begin(&mut self, group: u32, blocks: &Blocks, now: Time, stands_in: bool) {
        let domain = self.domain_of_tail(group);
        self.unlist(domain, group);
        let count = self.merged_together(group, blocks);
        let state = &mut self.groups[group as usize];
        let merge = &mut self.domains[domain as usize].merge;
        (merge.runs, merge.group, merge.since) = (true, Some(group), now);
        merge.logs.extend(state.logs.drain(..count));
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
    fn is_occupied(&self, group: u32) -> bool {
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
    fn unlist(&mut self, domain: u32, group: u32) {
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
    fn listed(&self) -> impl Iterator<Item = u32> + '_ {
        let groups = self.groups.iter().flat_map(|group| group.logs.iter().copied());
        let sequential = self.tails.iter().skip(self.groups.len()).filter_map(|tail| tail.open);
        let merged = self
            .domains
            .iter()
            .flat_map(|domain| domain.merge.logs.iter().copied().chain(domain.retired.iter().map(|&(_, block)| block)));
        groups.chain(sequential).chain(merged)
    }

    fn link_last(&mut self, domain: u32, group: u32) {
        let state = &mut self.domains[domain as usize];
        let before = state.last.replace(group);
        (self.groups[group as usize].previous, self.groups[group as usize].next) = (before, None);
        match before {
            Some(before) => self.groups[before as usize].next = Some(group),
            None => state.first = Some(group),
        }
    }

    fn unlink(&mut self, domain: u32, group: u32) {
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

    /// Goes on with the log blocks of other ones, which were checked. `most` stays its own.
    pub fn restore(&mut self, saved: Self) {
        self.is_log.fill(false);
        for block in saved.listed() {
            self.is_log[block as usize] = true;
        }
        (self.groups, self.tails) = (saved.groups, saved.tails);
        for (mine, saved) in self.domains.iter_mut().zip(saved.domains) {
            *mine = Domain { most: mine.most, most_with_delayed: mine.most_with_delayed, ..saved };
        }
    }

    /// True if saved log blocks are as many groups and domains of the same rule, and each lies in the domain where this has it.
    pub fn fits(&self, saved: &Self) -> bool {
        let size = |logs: &Self| (logs.rule, logs.groups.len(), logs.tails.len(), logs.domains.len());
        let in_place = |(domain, state): (u32, &Domain)| {
            let known = |&(lot, _): &(u32, u32)| (lot as usize) < self.group_of.len() && self.domain(lot) == domain;
            state.sequential.next.as_ref().is_none_or(known)
                && saved
                    .by_priority(domain)
                    .take(self.groups.len())
                    .all(|group| self.domain_of[group as usize] == domain)
        };
        size(self) == size(saved)
            && (0..).zip(&saved.domains).all(in_place)
            && saved.lists_fit(|group| self.domain_of.get(group as usize).copied())
    }

    /// True if the lists of later merges hold groups of their domains, as they are flagged, each once.
    fn lists_fit(&self, domain_of: impl Fn(u32) -> Option<u32>) -> bool {
        let fits = |of: fn(&Lists) -> &VecDeque<u32>, flag: fn(&Group) -> bool| {
            let mut listed = vec![false; self.groups.len()];
            for (domain, state) in (0..).zip(&self.domains) {
                for &group in of(&state.lists) {
                    if domain_of(group) != Some(domain) || std::mem::replace(&mut listed[group as usize], true) {
                        return false;
                    }
                }
            }
            self.groups.iter().map(flag).eq(listed)
        };
        fits(|lists| &lists.delayed, |group| group.is_delayed)
            && fits(|lists| &lists.full, |group| group.is_listed_full)
    }

    /// Checks, of a drive at rest or at work, that log blocks are counted and listed once; tells which blocks are log blocks.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self, blocks: &Blocks) -> Result<Vec<bool>, String> {
        let mut flags = vec![false; blocks.records().len()];
        let mut open = vec![false; blocks.records().len()];
        let mut of_domain = vec![0_u32; self.domains.len()];
        for tail in &self.tails {
            let Some(block) = tail.open else { continue };
            let is_new = open.get_mut(block as usize).is_some_and(|flag| !std::mem::replace(flag, true));
            if !is_new {
                return Err(format!("log block {block} does not exist, or is written from two sides"));
            }
        }
        for block in self.listed() {
            let Some(record) = blocks.records().get(block as usize) else {
                return Err(format!("log block {block} does not exist"));
            };
            let status = record.status;
            let fits = match status {
                Status::Open => open[block as usize] || !self.is_idle(),
                Status::Kept => !open[block as usize],
                _ => false,
            };
            if !fits || std::mem::replace(&mut flags[block as usize], true) {
                return Err(format!("log block {block} is {status:?}, or listed twice"));
            }
            of_domain[blocks.domain_of_plane(blocks.plane_of(block)) as usize] += 1;
        }
        for (group, (state, tail)) in self.groups.iter().zip(&self.tails).enumerate() {
            if tail.open.is_some() && state.logs.last() != tail.open.as_ref() {
                return Err(format!("group {group} writes to a block that is not its newest log block"));
            }
        }
        let mut grouped = 0;
        for (domain, (state, listed)) in (0..).zip(self.domains.iter().zip(of_domain)) {
            if listed.checked_add(state.erasing) != Some(state.in_use) {
                return Err(format!("domain {domain} counts {} log blocks and lists {listed}", state.in_use));
            }
            grouped += self.check_order(domain, blocks)?;
            self.check_sequential(domain, blocks)?;
        }
        let with_logs = self.groups.iter().filter(|group| !group.logs.is_empty()).count();
        if grouped != with_logs {
            return Err(format!("{with_logs} groups have log blocks, and {grouped} are listed"));
        }
        Ok(flags)
    }

    /// Checks the order of the groups of a domain; gives how many there are.
    fn check_order(&self, domain: u32, blocks: &Blocks) -> Result<usize, String> {
        let state = &self.domains[domain as usize];
        let (mut at, mut before, mut count) = (state.first, None, 0);
        while let Some(group) = at {
            let wrong = || Err(format!("the order of the groups of domain {domain} breaks at group {group}"));
            let Some(record) = self.groups.get(group as usize) else { return wrong() };
            let here = |&block: &u32| blocks.domain_of_plane(blocks.plane_of(block)) == domain;
            if record.previous != before
                || record.logs.is_empty()
                || count == self.groups.len()
                || !record.logs.iter().all(here)
            {
                return wrong();
            }
            count += 1;
            (before, at) = (at, record.next);
        }
        if before != state.last {
            return Err(format!("the order of the groups of domain {domain} has another end"));
        }
        Ok(count)
    }

    /// Checks the sequential log block of a domain.
    fn check_sequential(&self, domain: u32, blocks: &Blocks) -> Result<(), String> {
        let tail = self.tail(self.sequential_tail(domain));
        let next = self.domains[domain as usize].sequential.next;
        let waits = tail.waiting.head != NONE || tail.sent.is_some();
        let Some(block) = tail.open else {
            return if next.is_some() && !waits {
                Err(format!("domain {domain} goes on with no log block"))
            } else {
                Ok(())
            };
        };
        let written = blocks.get(block).write_point;
        let here = blocks.domain_of_plane(blocks.plane_of(block)) == domain;
        let fits = |(_, page): (u32, u32)| (written..=blocks.units_per_block()).contains(&page);
        if here && next.is_some_and(fits) {
            Ok(())
        } else {
            Err(format!("the sequential log block {block} of domain {domain} goes on at {next:?}"))
        }
    }

    /// True if nothing is merged: then every log block that is not full takes pages.
    fn is_idle(&self) -> bool {
        self.domains.iter().all(|domain| !domain.merge.runs && domain.retired.is_empty())
    }

    /// True if nothing waits, is on its way, is merged, or is held.
    pub fn is_at_rest(&self) -> bool {
        let idle = |tail: &Tail| tail.waiting.head == NONE && tail.sent.is_none();
        self.tails.iter().all(idle) && self.is_idle() && self.domains.iter().all(|domain| domain.held.is_empty())
    }
}
