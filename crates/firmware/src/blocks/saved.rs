//! Block accounting from a snapshot: every record, list and link is checked before use.

use super::{Block, Blocks, Domain, Status, NONE};
use crate::policy::wear::MOST_ERASES;
use std::cmp::Reverse;

impl Blocks {
    /// True if accounting that was saved holds together, and has the sizes of accounting like this. Where the mapping fixes
    /// pages, blocks are replaced before they are full.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn check_saved(&self, like: &Self, fixes_pages: bool) -> Result<(), String> {
        let sizes = |blocks: &Self| {
            let lists = (blocks.records.len(), blocks.free.len(), blocks.domains.len(), blocks.valid.len());
            let of_block =
                (blocks.units_per_block, blocks.units_per_program, (blocks.programs_per_block, blocks.slc_programs));
            (lists, blocks.blocks_per_plane, of_block, blocks.domain_bits)
        };
        if sizes(self) != sizes(like) || self.slc_weight > self.units_per_block {
            return Err("the block accounting has another size".into());
        }
        for (block, record) in self.records.iter().enumerate() {
            if !self.is_possible(record, fixes_pages) {
                return Err(format!("block {block} cannot be {record:?}"));
            }
        }
        let alike = match (&self.supers, &like.supers) {
            (None, None) => true,
            (Some(own), Some(like)) => own.is_like(like),
            _ => false,
        };
        if !alike {
            return Err("its blocks form other superblocks than those of this drive".into());
        }
        if u64::from(self.free_blocks) != self.domains.iter().map(|domain| u64::from(domain.free)).sum::<u64>() {
            return Err(format!("{} blocks of the drive are said to be free", self.free_blocks));
        }
        self.check_together()?;
        self.check_planes()?;
        (0..self.domains()).try_for_each(|domain| self.check_domain(domain))
    }

    /// True if a block of an idle drive can be like this.
    fn is_possible(&self, record: &Block, fixes_pages: bool) -> bool {
        let (written, all) = (record.write_point, self.programs_in(record));
        let empty = written == 0 && !record.doomed && !record.slc;
        let fits = match record.status {
            Status::Free | Status::Spare | Status::Bad => empty,
            // Others of its superblock may not be full.
            Status::Open => {
                (written < all || (self.has_superblocks() && written == all)) && (fixes_pages || !record.doomed)
            }
            Status::Closed => written == all || ((record.doomed || fixes_pages) && written < all),
            Status::Kept => fixes_pages && (written == all || (record.doomed && written < all)),
            // At rest nothing is being collected.
            Status::Victim => false,
        };
        fits && u64::from(record.valid) <= u64::from(written) * u64::from(self.units_in(record))
            && record.erases < MOST_ERASES
    }

    /// The free blocks, those held back, and the valid units of each plane.
    fn check_planes(&self) -> Result<(), String> {
        let mut listed = vec![false; self.records.len()];
        for (plane, list) in (0..).zip(&self.free) {
            let free = list.heap.iter().map(|&Reverse((_, block))| (block, Status::Free));
            let spare = list.spare.iter().map(|&block| (block, Status::Spare));
            for (block, status) in free.chain(spare) {
                let there = self.records.get(block as usize).is_some_and(|record| record.status == status);
                if !there || self.plane_of(block) != plane || std::mem::replace(&mut listed[block as usize], true) {
                    return Err(format!("plane {plane} lists block {block}, which is not {status:?} there, or twice"));
                }
            }
        }
        let unlisted = |block: usize| match self.records[block].status {
            Status::Free => !listed[self.leader(block as u32) as usize],
            Status::Spare => !listed[block],
            _ => false,
        };
        if let Some(block) = (0..listed.len()).find(|&block| unlisted(block)) {
            return Err(format!("block {block} is {:?}, which no list says", self.records[block].status));
        }
        let blocks = self.blocks_per_plane.get() as usize;
        for (plane, records) in self.records.chunks(blocks).enumerate() {
            let valid: u64 = records.iter().map(|record| u64::from(record.valid)).sum();
            if valid != u64::from(self.valid[plane]) {
                return Err(format!("plane {plane} counts {} valid units, its blocks {valid}", self.valid[plane]));
            }
        }
        Ok(())
    }

    /// The counts, the list of closed blocks and the ranking of a domain.
    fn check_domain(&self, domain: u32) -> Result<(), String> {
        let list = &self.domains[domain as usize];
        let planes = self.free.len() / self.domains.len();
        let first = domain as usize * planes;
        let records = planes * self.blocks_per_plane.get() as usize;
        let own = &self.records[domain as usize * records..][..records];
        let count = |wanted: &dyn Fn(&Block) -> bool| own.iter().filter(|record| wanted(record)).count();
        let size = self.supers.as_ref().map_or(1, |supers| supers.size() as usize);
        let free = size * self.free[first..first + planes].iter().map(|list| list.heap.len()).sum::<usize>();
        let bad = count(&|record| record.doomed || record.status == Status::Bad);
        let closed = count(&|record| record.status == Status::Closed);
        if list.doomed as usize != count(&|record| record.doomed) {
            return Err(format!("domain {domain} counts {} blocks with failed programs, which is wrong", list.doomed));
        }
        if list.slc as usize != count(&|record| record.slc) {
            return Err(format!("domain {domain} counts {} blocks in SLC mode, which is wrong", list.slc));
        }
        if (list.free as usize, list.bad as usize, list.closed.len() * size) != (free, bad, closed) {
            return Err(format!(
                "domain {domain} counts {} free, {} bad and {} closed blocks, but there are {free}, {bad} and {closed}",
                list.free,
                list.bad,
                list.closed.len()
            ));
        }
        for (position, &block) in (0..).zip(&list.closed) {
            // Positions differ, so none is listed twice.
            let there = self.records.get(block as usize).filter(|_| self.domain_of(block) == domain);
            let leads = there.is_some() && self.leader(block) == block;
            if !there.is_some_and(|record| leads && record.status == Status::Closed && record.position == position) {
                return Err(format!("domain {domain} lists block {block} as closed, which it is not, or elsewhere"));
            }
        }
        if self.ranked {
            self.check_ranking(domain, list)
        } else if list.ranking.is_empty() {
            Ok(())
        } else {
            Err("there is a ranking, which nobody asked for".into())
        }
    }

    /// The linked lists of closed blocks, by their valid units.
    fn check_ranking(&self, domain: u32, list: &Domain) -> Result<(), String> {
        let size = self.supers.as_ref().map_or(1, |supers| supers.size());
        let lists = (self.units_per_block * size) as usize + 1;
        if list.ranking.len() != lists || list.least as usize > lists {
            return Err(format!("the ranking of domain {domain} has another size"));
        }
        let mut ranked = 0;
        for (valid, ends) in (0..).zip(&list.ranking) {
            let (mut before, mut block) = (NONE, ends.first);
            while block != NONE {
                let there = self.records.get(block as usize).filter(|_| self.domain_of(block) == domain);
                let linked = there.filter(|record| {
                    let all: u32 = self.together(block).map(|block| self.get(block).valid + self.weight(block)).sum();
                    record.status == Status::Closed && all == valid && record.previous == before
                });
                let Some(record) = linked.filter(|_| valid >= list.least) else {
                    return Err(format!("the ranking of domain {domain} names block {block} where it does not belong"));
                };
                (before, block) = (block, record.next);
                ranked += 1;
                if ranked > list.closed.len() {
                    return Err(format!("the ranking of domain {domain} has no end"));
                }
            }
            if ends.last != before {
                return Err(format!("the ranking of domain {domain} is torn at {valid} valid units"));
            }
        }
        if ranked != list.closed.len() {
            return Err(format!("the ranking of domain {domain} has {ranked} of {} closed blocks", list.closed.len()));
        }
        Ok(())
    }

    /// Goes on where accounting of the same configuration was saved; it was checked.
    pub(crate) fn restore(&mut self, saved: Self) {
        if self.ranked == saved.ranked && self.slc_weight == saved.slc_weight {
            (self.records, self.free) = (saved.records, saved.free);
            (self.domains, self.valid) = (saved.domains, saved.valid);
            self.recount_together();
            self.recount_free();
            self.recount_erases();
        }
    }
}
