//! Block accounting: one fixed record per block, free blocks by rank, closed blocks by valid units.
//!
//! A block is free, open, closed, or a victim. Closed blocks are in two indexes of their domain (the drive or a plane):
//! a plain list to draw from, and, if the victim policy needs it, a ranking: one linked list for each number of valid
//! units, in the order in which the blocks reached that number.

mod bad;
mod free;
mod ranking;
mod saved;
mod slc;
mod supers;
mod view;

use crate::map::Map;
use crate::policy::free_block::FreeBlockPolicy;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use supers::Supers;
use wordline_base::{prefetch, Divisor};

pub(crate) use free::Opening;
pub use view::VictimView;

const NONE: u32 = u32::MAX;

/// Where a block is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Erased.
    Free,
    /// Being written.
    Open,
    /// Takes no more data; may become a victim.
    Closed,
    /// Victim of garbage collection.
    Victim,
    /// Bad: never used again.
    Bad,
    /// Erased, and held back to replace one that goes bad.
    Spare,
    /// Fully written; no victim before another block replaces it.
    Kept,
}

/// The record of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Valid units.
    pub valid: u32,
    /// Programs so far: pages programmed, where a program writes one.
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
    /// In SLC mode: it was opened for the SLC cache.
    pub slc: bool,
}

impl Block {
    /// The next page, which is given, is programmed with a unit; true if it is the last of so many.
    #[inline(always)]
    fn fills(&mut self, page: u32, pages: u32) -> bool {
        debug_assert_eq!(page, self.write_point, "it is the next one");
        self.valid += 1;
        self.write_point = page + 1;
        page + 1 == pages
    }
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
    /// Blocks whose replacement may be needed for their data: a program of theirs has failed, and they have not been emptied.
    doomed: u32,
    /// Pages programmed, modulo 2^32.
    clock: u32,
    /// Blocks in SLC mode.
    slc: u32,
    /// Counted anew, not saved.
    #[serde(skip)]
    wear: Wear,
}

/// P/E cycles of blocks: their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wear {
    sum: u64,
    squares: u128,
}

impl Wear {
    /// A block has as many cycles.
    fn add(&mut self, cycles: u32) {
        self.sum += u64::from(cycles);
        self.squares += u128::from(cycles).pow(2);
    }

    /// A block has one cycle more, and so many now.
    fn count(&mut self, cycles: u32) {
        self.sum += 1;
        self.squares += 2 * u128::from(cycles) - 1;
    }
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
    /// Free blocks of all domains.
    free_blocks: u32,
    /// Valid units of each plane.
    valid: Vec<u32>,
    blocks_per_plane: Divisor,
    units_per_block: u32,
    units_per_page: u32,
    units_per_program: u32,
    programs_per_block: u32,
    /// Programs that fill a block in SLC mode, each of a page.
    slc_programs: u32,
    /// Units that a block in SLC mode counts more than its valid ones where victims are chosen.
    slc_weight: u32,
    /// All ones if planes are domains; 0 if there is one domain.
    domain_bits: u32,
    ranked: bool,
    /// Superblocks, if blocks form any.
    supers: Option<Box<Supers>>,
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
    /// Programs that fill a block.
    pub programs_per_block: u32,
    /// Units that a program writes.
    pub units_per_program: u32,
    /// Units in a page.
    pub units_per_page: u32,
    /// Programs that fill a block in SLC mode, each of a page.
    pub slc_programs: u32,
}

impl Blocks {
    /// All blocks free.
    #[must_use]
    pub fn new(sizes: Sizes, ranked: bool, free_block: &mut FreeBlockPolicy) -> Self {
        let units_per_block = sizes.programs_per_block * sizes.units_per_program;
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
            slc: false,
        };
        let lists = if ranked { units_per_block as usize + 1 } else { 0 };
        let domain = Domain {
            closed: Vec::new(),
            ranking: vec![Ends { first: NONE, last: NONE }; lists],
            least: units_per_block + 1,
            free: sizes.blocks_per_plane * sizes.planes_per_domain,
            bad: 0,
            doomed: 0,
            clock: 0,
            slc: 0,
            wear: Wear::default(),
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
            free_blocks: sizes.blocks_per_plane * sizes.planes,
            blocks_per_plane: Divisor::new(sizes.blocks_per_plane),
            units_per_block,
            units_per_page: sizes.units_per_page,
            units_per_program: sizes.units_per_program,
            programs_per_block: sizes.programs_per_block,
            slc_programs: sizes.slc_programs,
            slc_weight: 0,
            domain_bits: if sizes.planes_per_domain == sizes.planes { 0 } else { u32::MAX },
            ranked,
            supers: None,
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
        plane & self.domain_bits
    }

    #[inline]
    fn domain_of(&self, block: u32) -> u32 {
        if self.domains.len() == 1 {
            0
        } else {
            self.plane_of(block)
        }
    }

    /// Free blocks of a plane; where they form superblocks, of the group's first plane.
    #[inline]
    #[must_use]
    pub fn free_in_plane(&self, plane: u32) -> u32 {
        let listed = if self.has_superblocks() { self.planes_beside(plane)[0] } else { plane };
        self.free[listed as usize].heap.len() as u32
    }

    /// Free blocks of a domain.
    #[inline]
    #[must_use]
    pub fn free_in_domain(&self, domain: u32) -> u32 {
        self.domains[domain as usize].free
    }

    /// Free blocks of the drive.
    #[inline]
    #[must_use]
    pub fn free_blocks(&self) -> u32 {
        self.free_blocks
    }

    /// A domain has so many free blocks more, or less.
    fn count_free(&mut self, domain: u32, change: i32) {
        let free = &mut self.domains[domain as usize].free;
        *free = free.checked_add_signed(change).expect("a domain has the free blocks that it counts");
        self.free_blocks = self.free_blocks.wrapping_add_signed(change);
    }

    /// P/E cycles of each domain, from its blocks.
    fn counted_wear(&self) -> impl Iterator<Item = Wear> + '_ {
        let of_domain = self.records.len() / self.domains.len();
        self.records.chunks(of_domain).map(|records| {
            let mut wear = Wear::default();
            records.iter().for_each(|record| wear.add(record.erases));
            wear
        })
    }

    /// Counts the erases of all domains anew, after records were taken over.
    fn recount_erases(&mut self) {
        let counted: Vec<Wear> = self.counted_wear().collect();
        self.domains.iter_mut().zip(counted).for_each(|(domain, wear)| domain.wear = wear);
    }

    /// The first domain whose erases are not counted as its blocks have them.
    pub(crate) fn miscounts_erases(&self) -> Option<u32> {
        let wrong = |(_, (domain, wear)): &(u32, (&Domain, Wear))| domain.wear != *wear;
        (0..).zip(self.domains.iter().zip(self.counted_wear())).find(wrong).map(|(domain, _)| domain)
    }

    /// Erases of all blocks of a domain, and how many blocks these are.
    #[must_use]
    pub fn erases_in_domain(&self, domain: u32) -> (u64, u32) {
        (self.domains[domain as usize].wear.sum, (self.records.len() / self.domains.len()) as u32)
    }

    /// Mean and standard deviation of the P/E cycles of all blocks.
    #[must_use]
    pub fn wear(&self) -> (f64, f64) {
        let count = self.records.len() as u128;
        let (sum, squares) = self
            .domains
            .iter()
            .fold((0, 0), |(sum, squares), it| (sum + u128::from(it.wear.sum), squares + it.wear.squares));
        // Of whole numbers, since the difference may be small.
        let variance = (count * squares - sum * sum) as f64 / (count * count) as f64;
        (sum as f64 / count as f64, variance.sqrt())
    }

    /// Counts the free blocks of all domains anew.
    fn recount_free(&mut self) {
        self.free_blocks = self.domains.iter().map(|domain| domain.free).sum();
    }

    /// Number of domains.
    #[must_use]
    pub fn domains(&self) -> u32 {
        self.domains.len() as u32
    }

    /// Takes note of a page programmed with `units` valid units; true when it was the last of its block.
    #[inline(always)]
    pub(crate) fn programmed(&mut self, block: u32) -> bool {
        let domain = self.domain_of(block);
        let clock = &mut self.domains[domain as usize].clock;
        *clock = clock.wrapping_add(1);
        let record = &mut self.records[block as usize];
        record.write_point += 1;
        record.write_point == self.programs_per_block
    }

    /// The same for a block of a plane, outside of SLC mode; gives the page, too.
    #[inline(always)]
    pub(crate) fn program_next(&mut self, block: u32, plane: u32) -> (u32, bool) {
        let domain = self.domain_of_plane(plane);
        let clock = &mut self.domains[domain as usize].clock;
        *clock = clock.wrapping_add(1);
        let record = &mut self.records[block as usize];
        let page = record.write_point;
        record.write_point = page + 1;
        (page, page + 1 == self.programs_per_block)
    }

    /// The same for a page of one unit, which becomes valid there; true when it was the last of its block.
    #[inline(always)]
    pub(crate) fn fill_next(&mut self, block: u32, plane: u32) -> bool {
        self.valid[plane as usize] += 1;
        self.records[block as usize].valid += 1;
        self.program_next(block, plane).1
    }

    /// The same of the next page of the block, which is given, where the unit becomes invalid in a block of the plane: as
    /// [`Blocks::program_next`], [`Blocks::lose`] and [`Blocks::gain`]. Not for superblocks.
    #[inline(always)]
    pub(crate) fn replace_next(&mut self, (block, page): (u32, u32), plane: u32, old: u32) -> bool {
        debug_assert!(self.plane_of(old) == plane && !self.has_superblocks(), "it is in the plane, and stands alone");
        let number = self.domain_of_plane(plane);
        let domain = &mut self.domains[number as usize];
        domain.clock = domain.clock.wrapping_add(1);
        let closed = self.records[block as usize].fills(page, self.programs_per_block);
        let record = &mut self.records[old as usize];
        record.touched = domain.clock;
        record.valid -= 1;
        if self.ranked && record.status == Status::Closed {
            let rank = record.valid + if record.slc { self.slc_weight } else { 0 };
            if !domain.lower_alone(old, (rank + 1, rank)) {
                self.relink(number, old, (rank + 1, rank));
            }
        }
        closed
    }

    /// Valid units of a plane.
    #[inline]
    #[must_use]
    pub fn valid_in_plane(&self, plane: u32) -> u32 {
        self.valid[plane as usize]
    }

    /// A unit became valid in an open block of a plane.
    #[inline(always)]
    pub(crate) fn gain(&mut self, block: u32, plane: u32) {
        self.valid[plane as usize] += 1;
        self.records[block as usize].valid += 1;
    }

    /// Asks for what is needed when a unit of a block becomes invalid.
    #[inline]
    pub(crate) fn expect(&self, block: u32) {
        prefetch(&self.records, block as usize);
    }

    /// Asks for its neighbours in the ranking, too, when its own record is at hand.
    #[inline]
    pub(crate) fn expect_neighbours(&self, block: u32) {
        let record = &self.records[block as usize];
        if self.ranked && record.status == Status::Closed {
            prefetch(&self.records, record.previous as usize);
            prefetch(&self.records, record.next as usize);
            let lists = &self.domains[self.domain_of(block) as usize].ranking;
            prefetch(lists, record.valid as usize);
        }
    }

    /// A unit of a block became invalid; gives the domain of the block. A block that takes part in no ranking, as a victim, takes no call.
    #[inline(always)]
    pub(crate) fn lose(&mut self, block: u32) -> u32 {
        let plane = self.plane_of(block);
        self.valid[plane as usize] -= 1;
        let domain = self.domain_of_plane(plane);
        let clock = self.domains[domain as usize].clock;
        let record = &mut self.records[block as usize];
        record.touched = clock;
        let valid = record.valid;
        record.valid = valid - 1;
        let closed = record.status == Status::Closed;
        if self.has_superblocks() {
            self.lose_together(domain, block);
        } else if self.ranked && closed {
            let rank = valid + self.weight(block);
            self.lower_apart(domain, block, (rank, rank - 1));
        }
        domain
    }

    #[inline(never)]
    fn lower_apart(&mut self, domain: u32, block: u32, ranks: (u32, u32)) {
        self.lower(domain, block, ranks);
    }

    /// Pages programmed in a domain, modulo 2^32.
    #[inline]
    pub(crate) fn clock(&self, domain: u32) -> u32 {
        self.domains[domain as usize].clock
    }

    /// Takes note of so many pages programmed in a block, one after the other; true when it is full then.
    pub(crate) fn programmed_several(&mut self, block: u32, count: u32) -> bool {
        let domain = self.domain_of(block);
        let clock = &mut self.domains[domain as usize].clock;
        *clock = clock.wrapping_add(count);
        let record = &mut self.records[block as usize];
        record.write_point += count;
        record.write_point == self.programs_per_block
    }

    /// So many units became valid in an open block of a plane.
    #[inline]
    pub(crate) fn gain_several(&mut self, block: u32, plane: u32, units: u32) {
        self.valid[plane as usize] += units;
        self.records[block as usize].valid += units;
    }

    /// So many units of a block became invalid one after the other, the last when its domain's clock was as given. Not for
    /// superblocks.
    #[inline]
    pub(crate) fn lose_several(&mut self, block: u32, units: u32, clock: u32) {
        if units == 0 {
            return;
        }
        let plane = self.plane_of(block);
        self.valid[plane as usize] -= units;
        let record = &mut self.records[block as usize];
        record.touched = clock;
        let valid = record.valid;
        record.valid = valid - units;
        if self.ranked && record.status == Status::Closed {
            let domain = self.domain_of_plane(plane);
            let rank = valid + self.weight(block);
            self.lower(domain, block, (rank, rank - units));
        }
    }

    /// A unit of a victim has moved to an open block of its plane.
    #[inline]
    pub(crate) fn moved(&mut self, from: u32, to: u32, domain: u32) {
        let clock = self.domains[domain as usize].clock;
        let record = &mut self.records[from as usize];
        debug_assert_eq!(record.status, Status::Victim);
        record.touched = clock;
        record.valid -= 1;
        self.records[to as usize].valid += 1;
    }

    /// The same, and takes note of the program of its page, the next one, which it fills: as [`Blocks::program_next`] before. True when it was
    /// the last of its block. Each plane is a domain.
    #[inline(always)]
    pub(crate) fn move_next(&mut self, from: u32, (to, page): (u32, u32), plane: u32) -> bool {
        let domain = plane;
        debug_assert_eq!(domain, self.domain_of_plane(plane), "each plane is a domain");
        let clock = &mut self.domains[domain as usize].clock;
        *clock = clock.wrapping_add(1);
        let record = &mut self.records[from as usize];
        debug_assert_eq!(record.status, Status::Victim);
        record.touched = *clock;
        record.valid -= 1;
        self.records[to as usize].fills(page, self.programs_per_block)
    }

    /// An open block is full, and stays until it is replaced.
    pub(crate) fn keep(&mut self, block: u32) {
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Open);
        record.status = Status::Kept;
    }

    /// An open block takes no more data, nor do the others of its superblock; or a block was replaced.
    pub(crate) fn close(&mut self, block: u32) {
        if self.has_superblocks() {
            return self.close_together(block);
        }
        let domain = self.domain_of(block);
        let list = &mut self.domains[domain as usize];
        let position = list.closed.len() as u32;
        list.closed.push(block);
        let clock = list.clock;
        let record = &mut self.records[block as usize];
        assert!(matches!(record.status, Status::Open | Status::Kept), "a block is closed as {:?}", record.status);
        record.status = Status::Closed;
        record.position = position;
        record.touched = clock;
        let rank = record.valid + self.weight(block);
        if self.ranked {
            self.link(domain, block, rank);
        }
    }

    /// A closed block becomes a victim, with the others of its superblock.
    pub(crate) fn take(&mut self, block: u32) {
        if self.has_superblocks() {
            return self.take_together(block);
        }
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Closed);
        record.status = Status::Victim;
        let rank = record.valid + self.weight(block);
        self.unlist(block, rank);
    }

    /// A block with such a place in the ranking leaves the closed ones.
    fn unlist(&mut self, block: u32, rank: u32) {
        let domain = self.domain_of(block);
        let position = self.records[block as usize].position;
        let closed = &mut self.domains[domain as usize].closed;
        closed.swap_remove(position as usize);
        if let Some(&moved) = closed.get(position as usize) {
            self.records[moved as usize].position = position;
        }
        if self.ranked {
            self.unlink(domain, block, rank);
        }
    }

    /// A victim block was erased.
    pub(crate) fn erased(&mut self, block: u32, free_block: &mut FreeBlockPolicy) {
        let domain = self.domain_of(block);
        let record = &mut self.records[block as usize];
        assert!(record.status == Status::Victim && record.valid == 0, "block {block} is erased as {record:?}");
        record.write_point = 0;
        record.erases += 1;
        self.domains[domain as usize].wear.count(record.erases);
        self.domains[domain as usize].slc -= u32::from(std::mem::take(&mut record.slc));
        if self.has_superblocks() {
            return self.erased_together(block, free_block);
        }
        self.records[block as usize].status = Status::Free;
        self.list_free(block, free_block);
        self.count_free(domain, 1);
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
            (domain.slc, domain.doomed) = (0, 0);
        }
        blocks.free_blocks = 0;
        blocks.recount_erases();
        // The clocks of the other drive's domains go on in the largest of them: ages keep their order.
        let clock = other.domains.iter().map(|domain| domain.clock).max().unwrap_or(0);
        blocks.domains.iter_mut().for_each(|domain| domain.clock = clock);
        let mut order: Vec<u32> = (0..blocks.records.len() as u32).collect();
        order.sort_by_key(|&block| (blocks.records[block as usize].touched, block));
        blocks.recount_together();
        for block in order {
            let domain = blocks.domain_of(block);
            let leads = blocks.leader(block) == block;
            let record = &blocks.records[block as usize];
            if record.doomed || record.status == Status::Bad {
                blocks.domains[domain as usize].bad += 1;
            }
            blocks.domains[domain as usize].doomed += u32::from(record.doomed);
            blocks.domains[domain as usize].slc += u32::from(record.slc);
            match record.status {
                Status::Free => {
                    if leads {
                        blocks.list_free(block, free_block);
                    }
                    blocks.count_free(domain, 1);
                }
                Status::Closed if leads => {
                    let touched = record.touched;
                    let all: Vec<u32> = blocks.together(block).collect();
                    all.iter().for_each(|&block| blocks.records[block as usize].status = Status::Open);
                    blocks.close(block);
                    blocks.records[block as usize].touched = touched;
                }
                Status::Spare => {
                    let plane = blocks.plane_of(block);
                    blocks.free[plane as usize].spare.push(block);
                }
                Status::Closed | Status::Open | Status::Victim | Status::Bad | Status::Kept => {}
            }
        }
        blocks
    }

    /// View of a domain for a victim policy.
    #[must_use]
    pub fn view(&self, domain: u32) -> VictimView<'_> {
        VictimView::new(self, domain)
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
        VictimView::beside(self, domain, busy, map, reads)
    }

    /// Units in a block.
    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.units_per_block
    }
}
