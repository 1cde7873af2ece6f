//! The ranking of closed blocks: one linked list for each number of valid units, in the order in which the blocks reached it.

use super::{Blocks, Domain, Ends, NONE};

impl Domain {
    /// Moves a block of the ranking from one number of valid units to a lower one, if nothing else has as many units, before or after: else
    /// false, and nothing has happened. What was written in order is overwritten in order, so mostly it is alone.
    #[inline(always)]
    pub(super) fn lower_alone(&mut self, block: u32, (from, to): (u32, u32)) -> bool {
        const NOBODY: Ends = Ends { first: NONE, last: NONE };
        let alone = Ends { first: block, last: block };
        let Self { ranking, least, .. } = self;
        if ranking[from as usize] != alone || ranking[to as usize] != NOBODY {
            return false;
        }
        (ranking[from as usize], ranking[to as usize]) = (NOBODY, alone);
        *least = (*least).min(to);
        true
    }
}

impl Blocks {
    /// A block comes last in the list of those with so many valid units.
    #[inline]
    pub(super) fn link(&mut self, domain: u32, block: u32, valid: u32) {
        let domain = &mut self.domains[domain as usize];
        domain.least = domain.least.min(valid);
        let ends = &mut domain.ranking[valid as usize];
        let last = std::mem::replace(&mut ends.last, block);
        if last == NONE {
            ends.first = block;
        } else {
            self.records[last as usize].next = block;
        }
        let record = &mut self.records[block as usize];
        record.previous = last;
        record.next = NONE;
    }

    /// A block leaves the list of those with so many.
    #[inline]
    pub(super) fn unlink(&mut self, domain: u32, block: u32, valid: u32) {
        let record = &self.records[block as usize];
        let (previous, next) = (record.previous, record.next);
        let ends = &mut self.domains[domain as usize].ranking[valid as usize];
        if previous == NONE {
            ends.first = next;
        }
        if next == NONE {
            ends.last = previous;
        }
        if previous != NONE {
            self.records[previous as usize].next = next;
        }
        if next != NONE {
            self.records[next as usize].previous = previous;
        }
    }

    /// Moves a block of the ranking from one number of valid units to a lower one.
    #[inline(always)]
    pub(super) fn lower(&mut self, domain: u32, block: u32, (from, to): (u32, u32)) {
        if !self.domains[domain as usize].lower_alone(block, (from, to)) {
            self.relink(domain, block, (from, to));
        }
    }

    /// The same where others have as many units.
    #[inline(always)]
    pub(super) fn relink(&mut self, domain: u32, block: u32, (from, to): (u32, u32)) {
        self.unlink(domain, block, from);
        self.link(domain, block, to);
    }

    /// Moves the lower bound of the ranking up to the first list that holds a block.
    pub(crate) fn settle(&mut self, domain: u32) {
        let domain = &mut self.domains[domain as usize];
        while (domain.least as usize) < domain.ranking.len() && domain.ranking[domain.least as usize].first == NONE {
            domain.least += 1;
        }
    }
}
