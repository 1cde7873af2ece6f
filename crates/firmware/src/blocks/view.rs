//! What a victim policy sees of the closed blocks of a domain. Where blocks form superblocks, the first block of each stands for
//! it.

use super::{Blocks, Domain, Status, NONE};
use crate::map::Map;

/// A read-only view of the closed blocks of a domain.
#[derive(Clone, Copy, Debug)]
pub struct VictimView<'a> {
    blocks: &'a Blocks,
    domain: u32,
    /// By die: true if its blocks may not be chosen now. Empty if all may.
    busy: &'a [bool],
    map: Option<&'a Map>,
    reads: &'a [u32],
}

impl<'a> VictimView<'a> {
    /// Of all closed blocks of a domain.
    pub(super) fn new(blocks: &'a Blocks, domain: u32) -> Self {
        Self { blocks, domain, busy: &[], map: None, reads: &[] }
    }

    /// The same without the blocks of some dies, with the page offsets of reads that wait for other planes of the die.
    pub(super) fn beside(blocks: &'a Blocks, domain: u32, busy: &'a [bool], map: &'a Map, reads: &'a [u32]) -> Self {
        Self { blocks, domain, busy, map: Some(map), reads }
    }
}

impl VictimView<'_> {
    fn list(&self) -> &Domain {
        &self.blocks.domains[self.domain as usize]
    }

    /// The domain looked at.
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.domain
    }

    /// Units of data that a block can hold; where blocks form superblocks, a superblock.
    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.blocks.supers.as_ref().map_or(self.blocks.units_per_block, |supers| supers.data_units)
    }

    /// Valid units of a block; where blocks form superblocks, of all blocks of a closed one. A block of an SLC cache of fixed size
    /// counts the units that it lacks for a full block, too: erasing it makes room in the cache alone.
    #[must_use]
    pub fn valid(&self, block: u32) -> u32 {
        if self.blocks.has_superblocks() {
            self.blocks.rank_together(block)
        } else {
            self.blocks.get(block).valid + self.blocks.weight(block)
        }
    }

    /// Erases of a block.
    #[must_use]
    pub fn erases(&self, block: u32) -> u32 {
        self.blocks.get(block).erases
    }

    /// True if a block is closed, so that it may be chosen.
    #[must_use]
    pub fn is_closed(&self, block: u32) -> bool {
        self.blocks.get(block).status == Status::Closed
    }

    /// Blocks of the drive, in all domains.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks.records.len() as u32
    }

    /// True if a block is outside the domain of this view.
    pub(crate) fn is_elsewhere(&self, block: u32) -> bool {
        self.blocks.domain_of(block) != self.domain
    }

    /// True if collecting the block gains at least one page; of a superblock, a page for each of its blocks.
    #[must_use]
    pub fn gains(&self, block: u32) -> bool {
        self.valid(block) + self.least_gain() <= self.units_per_block()
    }

    /// Units that a block must gain: those of a program; of a superblock those of one for each of its blocks.
    #[must_use]
    pub fn least_gain(&self) -> u32 {
        self.blocks.supers.as_ref().map_or(self.blocks.units_per_program, |supers| supers.least_gain)
    }

    /// True if the die of the block may have no further victim now.
    #[must_use]
    pub fn is_on_busy_die(&self, block: u32) -> bool {
        if self.busy.is_empty() {
            return false;
        }
        let planes_per_die = self.blocks.valid.len() / self.busy.len();
        self.busy[self.blocks.plane_of(block) as usize / planes_per_die]
    }

    /// True if collecting the block gains at least one page, and its die may have another victim.
    #[must_use]
    pub fn suits(&self, block: u32) -> bool {
        self.gains(block) && !self.is_on_busy_die(block)
    }

    /// Pages of a block with valid units at whose offset a read of the host waits for another plane of the die. Known where
    /// [`crate::policy::victim::Victim::wants_reads`].
    #[must_use]
    pub fn aligned_reads(&self, block: u32) -> u32 {
        let Some(map) = self.map else { return 0 };
        let (start, units) = (block * self.blocks.units_per_block, self.blocks.units_per_page);
        let valid = |&&page: &&u32| map.next_valid(start + page * units, start + (page + 1) * units).is_some();
        self.reads.iter().filter(valid).count() as u32
    }

    /// The blocks with the fewest valid units that gain a page and may be chosen; the one that has had that many longest
    /// first. Needs the ranking.
    pub fn all_least_valid(&self) -> impl Iterator<Item = u32> + '_ {
        let least = self.least_valid();
        let valid = least.map_or(0, |block| self.valid(block));
        let of_same =
            std::iter::successors(least, |&block| Some(self.blocks.get(block).next).filter(|&next| next != NONE));
        of_same.filter(move |&block| self.suits(block) && self.valid(block) == valid)
    }

    /// Pages programmed in the domain since a unit of the block was last invalidated (or the block was closed).
    #[must_use]
    pub fn age(&self, block: u32) -> u32 {
        self.list().clock.wrapping_sub(self.blocks.get(block).touched)
    }

    /// Reason why a block may not be chosen, as the end of a sentence; none if it may.
    #[must_use]
    pub fn objection(&self, block: u32) -> Option<String> {
        let all = self.blocks.records.len();
        if block as usize >= all {
            return Some(format!("does not exist: the drive has blocks 0 to {}", all - 1));
        }
        let (domain, status) = (self.blocks.domain_of(block), self.blocks.get(block).status);
        if domain != self.domain {
            return Some(format!("is in domain {domain}; expected a block of domain {}", self.domain));
        }
        if status != Status::Closed {
            return Some(format!("is not closed: its state is {}", format!("{status:?}").to_lowercase()));
        }
        if self.blocks.leader(block) != block {
            return Some(format!("is not the first of its superblock, which is block {}", self.blocks.leader(block)));
        }
        if self.is_on_busy_die(block) {
            return Some("lies on a die that has as many victims as collect.blocks_per_die allows".to_owned());
        }
        let (valid, full) = (self.valid(block), self.units_per_block());
        (!self.gains(block)).then(|| format!("gains no page: {valid} of its {full} units are valid"))
    }

    /// Number of closed blocks.
    #[must_use]
    pub fn closed_count(&self) -> u32 {
        self.list().closed.len() as u32
    }

    /// The closed block at a position below [`Self::closed_count`]; the order means nothing, but is always the same.
    #[must_use]
    pub fn closed_at(&self, position: u32) -> u32 {
        self.list().closed[position as usize]
    }

    /// The block with the fewest valid units of those on dies that may have another victim; of equals the one that has had
    /// that many longest. Needs the ranking.
    #[must_use]
    pub fn least_valid(&self) -> Option<u32> {
        self.oldest_by_valid().next().map(|(_, block)| block)
    }

    /// The closed blocks that may be chosen, those on dies that may have another victim, in the order of the ranking: fewest valid
    /// units first; of equals, the one that has had that many longest. Needs the ranking.
    pub fn by_rank(&self) -> impl Iterator<Item = u32> + '_ {
        let list = self.list();
        let lists = list.ranking.iter().skip(list.least as usize).map(|ends| ends.first);
        let all = lists.filter(|&first| first != NONE).flat_map(|first| {
            std::iter::successors(Some(first), |&block| Some(self.blocks.get(block).next).filter(|&next| next != NONE))
        });
        all.filter(|&block| !self.is_on_busy_die(block))
    }

    /// Number of blocks that [`Self::by_rank`] gives.
    #[must_use]
    pub fn ranked_count(&self) -> u32 {
        if self.busy.is_empty() {
            self.closed_count()
        } else {
            self.by_rank().count() as u32
        }
    }

    /// For each number of valid units that occurs, from the smallest: that number and the block invalidated longest ago,
    /// of those on dies that may have another victim. Needs the ranking.
    pub fn oldest_by_valid(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let list = self.list();
        (list.least..).zip(list.ranking.iter().skip(list.least as usize)).filter_map(|(valid, ends)| {
            let mut block = ends.first;
            while block != NONE && self.is_on_busy_die(block) {
                block = self.blocks.get(block).next;
            }
            (block != NONE).then_some((valid, block))
        })
    }
}
