//! Log blocks, where logical blocks have data blocks and are updated in blocks beside them.
//!
//! Logical blocks that share log blocks form a *group*. Pages of a group go to its newest log block in the order of their
//! coming. Some mappings also keep one *sequential* log block, which takes the pages of one logical block from its first on.
//! A group, and the sequential log block, each have a *tail*: the place where writes wait for the next page.
//!
//! A *merge* brings the newest pages of logical blocks back into data blocks, so that log blocks can be erased. A domain
//! merges one group at a time, and its logical blocks one after another.

mod books;
mod merges;

use crate::blocks::Blocks;
use crate::ops::{Fifo, Slab, NONE};
use crate::policy::mapping::{LogRule, Priority};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Time;

pub use merges::Mergeable;

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

    /// Where a write of a page of a logical block waits for its log block; none if it cannot be told yet. `starts` says whether a first page
    /// takes the sequential log block of its domain from the logical block that has it.
    pub fn tail_for(
        &mut self,
        lot: u32,
        page: u32,
        starts: impl FnOnce(u32, Option<(u32, u32)>) -> bool,
    ) -> Option<u32> {
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
        if page == 0 && may_join && starts(domain, state.sequential.next) {
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
