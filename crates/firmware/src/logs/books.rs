//! What must hold of log blocks: in a snapshot that is taken over, and at any time in a running drive.

use super::{Domain, Group, Lists, Logs};
use crate::blocks::{Blocks, Status};
use crate::ops::NONE;
use std::collections::VecDeque;

impl Logs {
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
                    .all(|group| self.domain_of.get(group as usize) == Some(&domain))
        };
        size(self) == size(saved)
            && (0..).zip(&saved.domains).all(in_place)
            && saved.lists_fit(|group| self.domain_of.get(group as usize).copied())
    }

    /// True if the lists of later merges hold groups of their domains, as they are flagged, each once.
    pub(super) fn lists_fit(&self, domain_of: impl Fn(u32) -> Option<u32>) -> bool {
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
    pub(super) fn check_order(&self, domain: u32, blocks: &Blocks) -> Result<usize, String> {
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
    pub(super) fn check_sequential(&self, domain: u32, blocks: &Blocks) -> Result<(), String> {
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
}
