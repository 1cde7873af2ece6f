//! Block accounting: one fixed record per block, free blocks by rank, closed blocks by valid units.
//!
//! A block is free, open, closed, or a victim. Closed blocks are in two indexes of their domain (the drive or a plane):
//! a plain list to draw from, and, if the victim policy needs it, a ranking: one linked list for each number of valid
//! units, in the order in which the blocks reached that number.

mod saved;

use crate::map::Map;
use crate::policy::free_block::FreeBlockPolicy;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wordline_base::Divisor;

const NONE: u32 = u32::MAX;

/// Where a block is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Erased.
    Free,
    /// Being written.
    Open,
    /// Fully written; may become a victim.
    Closed,
    /// Victim of garbage collection.
    Victim,
    /// Bad: never used again.
    Bad,
    /// Erased, and held back to replace one that goes bad.
    Spare,
}

/// The record of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Valid units.
    pub valid: u32,
    /// Pages programmed.
    pub write_point: u32,
    /// Erases.
    pub erases: u32,
    /// The domain's clock at the last invalidation, or at closing.
    touched: u32,
    /// Neighbours in the ranking.
    previous: u32,
    next: u32,
    /// Position in the list of closed blocks.
    position: u32,
    /// Where it is in its life.
    pub status: Status,
    /// A program failed: it is not used again after its erase.
    pub doomed: bool,
}

/// First and last block of a list of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ends {
    first: u32,
    last: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Domain {
    closed: Vec<u32>,
    ranking: Vec<Ends>,
    /// No list below this one holds a block.
    least: u32,
    free: u32,
    /// Bad blocks, and doomed ones.
    bad: u32,
    /// Pages programmed, modulo 2^32.
    clock: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FreeList {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    freed: u32,
    /// Held back to replace blocks that go bad.
    spare: Vec<u32>,
}

/// All blocks of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blocks {
    records: Vec<Block>,
    free: Vec<FreeList>,
    domains: Vec<Domain>,
    /// Valid units of each plane.
    valid: Vec<u32>,
    blocks_per_plane: Divisor,
    units_per_block: u32,
    units_per_page: u32,
    pages_per_block: u32,
    ranked: bool,
}

/// The sizes that the accounting needs.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Planes in the drive.
    pub planes: u32,
    /// Planes in a domain.
    pub planes_per_domain: u32,
    /// Blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Units in a page.
    pub units_per_page: u32,
}

impl Blocks {
    /// All blocks free.
    #[must_use]
    pub fn new(sizes: Sizes, ranked: bool, free_block: &mut FreeBlockPolicy) -> Self {
        let units_per_block = sizes.pages_per_block * sizes.units_per_page;
        let record = Block {
            valid: 0,
            write_point: 0,
            erases: 0,
            touched: 0,
            previous: NONE,
            next: NONE,
            position: NONE,
            status: Status::Free,
            doomed: false,
        };
        let lists = if ranked { units_per_block as usize + 1 } else { 0 };
        let domain = Domain {
            closed: Vec::new(),
            ranking: vec![Ends { first: NONE, last: NONE }; lists],
            least: units_per_block + 1,
            free: sizes.blocks_per_plane * sizes.planes_per_domain,
            bad: 0,
            clock: 0,
        };
        let free = (0..sizes.planes)
            .map(|plane| {
                let first = plane * sizes.blocks_per_plane;
                let entry = |i| Reverse((free_block.rank(0, i), first + i));
                let heap = (0..sizes.blocks_per_plane).map(entry).collect();
                FreeList { heap, freed: sizes.blocks_per_plane, spare: Vec::new() }
            })
            .collect();
        Self {
            records: vec![record; (sizes.planes * sizes.blocks_per_plane) as usize],
            free,
            valid: vec![0; sizes.planes as usize],
            domains: vec![domain; (sizes.planes / sizes.planes_per_domain) as usize],
            blocks_per_plane: Divisor::new(sizes.blocks_per_plane),
            units_per_block,
            units_per_page: sizes.units_per_page,
            pages_per_block: sizes.pages_per_block,
            ranked,
        }
    }

    /// The record of a block.
    #[inline]
    #[must_use]
    pub fn get(&self, block: u32) -> &Block {
        &self.records[block as usize]
    }

    /// All records, in the order of the blocks' numbers.
    #[must_use]
    pub fn records(&self) -> &[Block] {
        &self.records
    }

    /// The plane of a block.
    #[inline]
    #[must_use]
    pub fn plane_of(&self, block: u32) -> u32 {
        self.blocks_per_plane.quotient(block)
    }

    /// The planes of a domain.
    #[inline]
    #[must_use]
    pub fn planes_of_domain(&self, domain: u32) -> std::ops::Range<u32> {
        if self.domains.len() == 1 {
            0..self.valid.len() as u32
        } else {
            domain..domain + 1
        }
    }

    /// The domain of a plane.
    #[inline]
    #[must_use]
    pub fn domain_of_plane(&self, plane: u32) -> u32 {
        // Either one domain or one a plane.
        if self.domains.len() == 1 {
            0
        } else {
            plane
        }
    }

    #[inline]
    fn domain_of(&self, block: u32) -> u32 {
        if self.domains.len() == 1 {
            0
        } else {
            self.plane_of(block)
        }
    }

    /// Free blocks of a plane.
    #[inline]
    #[must_use]
    pub fn free_in_plane(&self, plane: u32) -> u32 {
        self.free[plane as usize].heap.len() as u32
    }

    /// Free blocks of a domain.
    #[inline]
    #[must_use]
    pub fn free_in_domain(&self, domain: u32) -> u32 {
        self.domains[domain as usize].free
    }

    /// Free blocks of the drive.
    #[must_use]
    pub fn free_blocks(&self) -> u32 {
        self.domains.iter().map(|domain| domain.free).sum()
    }

    /// Number of domains.
    #[must_use]
    pub fn domains(&self) -> u32 {
        self.domains.len() as u32
    }

    /// Opens the free block of lowest rank of a plane.
    pub(crate) fn open(&mut self, plane: u32) -> Option<u32> {
        let Reverse((_, block)) = self.free[plane as usize].heap.pop()?;
        let domain = self.domain_of_plane(plane);
        self.domains[domain as usize].free -= 1;
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Free);
        record.status = Status::Open;
        Some(block)
    }

    /// Takes note of a page programmed with `units` valid units; true when it was the last of its block.
    #[inline]
    pub(crate) fn programmed(&mut self, block: u32) -> bool {
        let domain = self.domain_of(block);
        let clock = &mut self.domains[domain as usize].clock;
        *clock = clock.wrapping_add(1);
        let record = &mut self.records[block as usize];
        record.write_point += 1;
        record.write_point == self.pages_per_block
    }

    /// Valid units of a plane.
    #[inline]
    #[must_use]
    pub fn valid_in_plane(&self, plane: u32) -> u32 {
        self.valid[plane as usize]
    }

    /// A unit became valid in an open block of a plane.
    #[inline]
    pub(crate) fn gain(&mut self, block: u32, plane: u32) {
        self.valid[plane as usize] += 1;
        self.records[block as usize].valid += 1;
    }

    /// A unit of a block became invalid; gives the domain of the block.
    #[inline]
    pub(crate) fn lose(&mut self, block: u32) -> u32 {
        let plane = self.plane_of(block);
        self.valid[plane as usize] -= 1;
        let domain = self.domain_of_plane(plane);
        let clock = self.domains[domain as usize].clock;
        let record = &mut self.records[block as usize];
        record.touched = clock;
        let valid = record.valid;
        record.valid = valid - 1;
        if self.ranked && record.status == Status::Closed {
            self.unlink(domain, block, valid);
            self.link(domain, block, valid - 1);
        }
        domain
    }

    /// All pages of an open block are programmed.
    pub(crate) fn close(&mut self, block: u32) {
        let domain = self.domain_of(block);
        let list = &mut self.domains[domain as usize];
        let position = list.closed.len() as u32;
        list.closed.push(block);
        let clock = list.clock;
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Open);
        record.status = Status::Closed;
        record.position = position;
        record.touched = clock;
        let valid = record.valid;
        if self.ranked {
            self.link(domain, block, valid);
        }
    }

    /// A closed block becomes a victim.
    pub(crate) fn take(&mut self, block: u32) {
        let domain = self.domain_of(block);
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Closed);
        record.status = Status::Victim;
        let (position, valid) = (record.position, record.valid);
        let closed = &mut self.domains[domain as usize].closed;
        closed.swap_remove(position as usize);
        if let Some(&moved) = closed.get(position as usize) {
            self.records[moved as usize].position = position;
        }
        if self.ranked {
            self.unlink(domain, block, valid);
        }
    }

    /// A victim block was erased.
    pub(crate) fn erased(&mut self, block: u32, free_block: &mut FreeBlockPolicy) {
        let (plane, domain) = (self.plane_of(block), self.domain_of(block));
        let record = &mut self.records[block as usize];
        assert!(record.status == Status::Victim && record.valid == 0, "block {block} is erased as {record:?}");
        record.status = Status::Free;
        record.write_point = 0;
        record.erases += 1;
        let list = &mut self.free[plane as usize];
        list.heap.push(Reverse((free_block.rank(record.erases, list.freed), block)));
        list.freed = list.freed.wrapping_add(1);
        self.domains[domain as usize].free += 1;
    }

    /// Bad blocks of a domain, with those that are to become bad.
    #[must_use]
    pub fn bad(&self, domain: u32) -> u32 {
        self.domains[domain as usize].bad
    }

    /// A free block came bad.
    pub(crate) fn spoil(&mut self, block: u32) {
        let (plane, domain) = (self.plane_of(block), self.domain_of(block));
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Free);
        record.status = Status::Bad;
        self.free[plane as usize].heap.retain(|Reverse((_, other))| *other != block);
        self.domains[domain as usize].free -= 1;
        self.domains[domain as usize].bad += 1;
    }

    /// Holds back free blocks of a plane, those with the highest numbers, until `count` are.
    pub(crate) fn set_aside(&mut self, plane: u32, count: u32) {
        let last = (plane + 1) * self.blocks_per_plane.get();
        for block in (plane * self.blocks_per_plane.get()..last).rev() {
            if self.free[plane as usize].spare.len() as u32 >= count {
                return;
            }
            if self.records[block as usize].status == Status::Free {
                self.records[block as usize].status = Status::Spare;
                let list = &mut self.free[plane as usize];
                list.heap.retain(|Reverse((_, other))| *other != block);
                list.spare.push(block);
                let domain = self.domain_of_plane(plane);
                self.domains[domain as usize].free -= 1;
            }
        }
    }

    /// Blocks of a plane that are held back.
    #[must_use]
    pub fn spare(&self, plane: u32) -> u32 {
        self.free[plane as usize].spare.len() as u32
    }

    /// A block that was held back takes the place of one of its plane that went bad; false if there is none.
    pub(crate) fn replace(&mut self, plane: u32, free_block: &mut FreeBlockPolicy) -> bool {
        let list = &mut self.free[plane as usize];
        let Some(block) = list.spare.pop() else { return false };
        let record = &mut self.records[block as usize];
        record.status = Status::Free;
        list.heap.push(Reverse((free_block.rank(record.erases, list.freed), block)));
        list.freed = list.freed.wrapping_add(1);
        let domain = self.domain_of_plane(plane);
        self.domains[domain as usize].free += 1;
        true
    }

    /// A program of a block failed.
    pub(crate) fn doom(&mut self, block: u32) {
        let domain = self.domain_of(block);
        self.records[block as usize].doomed = true;
        self.domains[domain as usize].bad += 1;
    }

    /// A victim block was erased, or its erase failed, and it is not used again.
    pub(crate) fn retired(&mut self, block: u32) {
        let domain = self.domain_of(block);
        let record = &mut self.records[block as usize];
        assert!(record.status == Status::Victim && record.valid == 0, "block {block} is given up as {record:?}");
        record.status = Status::Bad;
        record.write_point = 0;
        record.erases += 1;
        if !std::mem::take(&mut record.doomed) {
            self.domains[domain as usize].bad += 1;
        }
    }

    #[inline]
    fn link(&mut self, domain: u32, block: u32, valid: u32) {
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

    #[inline]
    fn unlink(&mut self, domain: u32, block: u32, valid: u32) {
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

    /// Moves the lower bound of the ranking up to the first list that holds a block.
    pub(crate) fn settle(&mut self, domain: u32) {
        let domain = &mut self.domains[domain as usize];
        while (domain.least as usize) < domain.ranking.len() && domain.ranking[domain.least as usize].first == NONE {
            domain.least += 1;
        }
    }

    /// The records of another drive, in these domains and with this ranking.
    pub(crate) fn with_records_of(&self, other: &Self, free_block: &mut FreeBlockPolicy) -> Self {
        let mut blocks = self.clone();
        blocks.records.clone_from(&other.records);
        blocks.valid.clone_from(&other.valid);
        for list in &mut blocks.free {
            *list = FreeList::default();
        }
        for domain in &mut blocks.domains {
            domain.closed.clear();
            domain.free = 0;
            domain.bad = 0;
            domain.clock = 0;
        }
        // The clocks of the other drive's domains go on in the largest of them: ages keep their order.
        let clock = other.domains.iter().map(|domain| domain.clock).max().unwrap_or(0);
        blocks.domains.iter_mut().for_each(|domain| domain.clock = clock);
        let mut order: Vec<u32> = (0..blocks.records.len() as u32).collect();
        order.sort_by_key(|&block| (blocks.records[block as usize].touched, block));
        for block in order {
            let domain = blocks.domain_of(block);
            let record = &blocks.records[block as usize];
            if record.doomed || record.status == Status::Bad {
                blocks.domains[domain as usize].bad += 1;
            }
            match record.status {
                Status::Free => {
                    let erases = record.erases;
                    let (plane, domain) = (blocks.plane_of(block), blocks.domain_of(block));
                    let list = &mut blocks.free[plane as usize];
                    list.heap.push(Reverse((free_block.rank(erases, list.freed), block)));
                    list.freed += 1;
                    blocks.domains[domain as usize].free += 1;
                }
                Status::Closed => {
                    let touched = record.touched;
                    blocks.records[block as usize].status = Status::Open;
                    blocks.close(block);
                    blocks.records[block as usize].touched = touched;
                }
                Status::Spare => {
                    let plane = blocks.plane_of(block);
                    blocks.free[plane as usize].spare.push(block);
                }
                Status::Open | Status::Victim | Status::Bad => {}
            }
        }
        blocks
    }

    /// View of a domain for a victim policy.
    #[must_use]
    pub fn view(&self, domain: u32) -> VictimView<'_> {
        VictimView { blocks: self, domain, busy: &[], map: None, reads: &[] }
    }

    /// The same without the blocks of some dies (a flag for each), with the page offsets of reads that wait for other planes of
    /// the die.
    pub(crate) fn view_beside<'a>(
        &'a self,
        domain: u32,
        busy: &'a [bool],
        map: &'a Map,
        reads: &'a [u32],
    ) -> VictimView<'a> {
        VictimView { blocks: self, domain, busy, map: Some(map), reads }
    }

    /// Units in a block.
    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.units_per_block
    }
}

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

impl VictimView<'_> {
    fn list(&self) -> &Domain {
        &self.blocks.domains[self.domain as usize]
    }

    /// The domain looked at.
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.domain
    }

    /// Units in a block.
    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.blocks.units_per_block
    }

    /// Valid units of a block.
    #[must_use]
    pub fn valid(&self, block: u32) -> u32 {
        self.blocks.get(block).valid
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

    /// True if collecting the block gains at least one page.
    #[must_use]
    pub fn gains(&self, block: u32) -> bool {
        self.valid(block) + self.blocks.units_per_page <= self.blocks.units_per_block
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

    /// All closed blocks in the order of the ranking: fewest valid units first; of equals, the one that has had that many longest.
    /// Needs the ranking.
    pub fn by_rank(&self) -> impl Iterator<Item = u32> + '_ {
        let list = self.list();
        let lists = list.ranking.iter().skip(list.least as usize).map(|ends| ends.first);
        lists.filter(|&first| first != NONE).flat_map(|first| {
            std::iter::successors(Some(first), |&block| Some(self.blocks.get(block).next).filter(|&next| next != NONE))
        })
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
