//! Superblocks: blocks of several dies with the same number in their planes, opened, closed, taken and freed together.
//!
//! The first block of a superblock, its *leader*, stands for it in the list of free blocks of its plane, in the list of
//! closed blocks, and in the ranking, which counts the valid units of all its blocks.

use super::{Blocks, Opening, Status};
use crate::policy::free_block::FreeBlockPolicy;
use crate::policy::redundancy::Stripe;
use serde::{Deserialize, Serialize};
use wordline_flash::Geometry;

/// The superblocks of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Supers {
    /// By plane, its group: the planes whose blocks form superblocks together.
    group: Vec<u32>,
    /// By group, its planes; the first has the leaders.
    planes: Vec<Vec<u32>>,
    /// By group, then number of the superblock: valid units of a closed one.
    #[serde(skip)]
    valid: Vec<u32>,
    /// By group, then number: blocks of a victim that are erased.
    #[serde(skip)]
    erased: Vec<u32>,
    /// All of these.
    #[serde(skip)]
    half_free: u32,
    /// Units of data that a superblock holds.
    pub(super) data_units: u32,
    /// Units that a victim must gain: a page for each of its blocks, which may all leave one partly empty.
    pub(super) least_gain: u32,
}

impl Supers {
    /// The planes of each group of dies: of those given, or else so that neighbours of a group are on different channels. Planes of one
    /// number in their dies follow each other.
    fn planes_of_groups(stripe: Stripe, groups: Option<&[Vec<u32>]>, geometry: &Geometry) -> Vec<Vec<u32>> {
        let (channels, ways) = (geometry.channels, geometry.dies_per_channel());
        let in_turn: Vec<u32> = match groups {
            Some(groups) => groups.concat(),
            None => (0..ways).flat_map(|way| (0..channels).map(move |channel| channel * ways + way)).collect(),
        };
        let plane_of = |plane: u32, die: &u32| die * stripe.planes_per_die + plane;
        in_turn
            .chunks(stripe.dies as usize)
            .map(|dies| {
                (0..stripe.planes_per_die).flat_map(|plane| dies.iter().map(move |die| plane_of(plane, die))).collect()
            })
            .collect()
    }

    fn new(stripe: Stripe, groups: Option<&[Vec<u32>]>, geometry: &Geometry, units_per_program: u32) -> Self {
        let planes = Self::planes_of_groups(stripe, groups, geometry);
        let mut group = vec![0; geometry.planes() as usize];
        for (at, planes) in (0..).zip(&planes) {
            planes.iter().for_each(|&plane| group[plane as usize] = at);
        }
        let all = planes.len() * geometry.blocks_per_plane as usize;
        Self {
            group,
            planes,
            valid: vec![0; all],
            erased: vec![0; all],
            half_free: 0,
            data_units: stripe.data_pages(geometry.programs_per_block()) * units_per_program,
            least_gain: stripe.blocks() * units_per_program,
        }
    }

    /// True if these are the superblocks of a drive of the same shape.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let sizes = |supers: &Self| (supers.data_units, supers.least_gain);
        self.group == other.group && self.planes == other.planes && sizes(self) == sizes(other)
    }

    /// Blocks of a superblock.
    pub(super) fn size(&self) -> u32 {
        self.planes[0].len() as u32
    }
}

impl Blocks {
    /// Blocks form superblocks from now on, of these groups of dies if they are given. All are free.
    pub(crate) fn form_superblocks(&mut self, stripe: Stripe, groups: Option<&[Vec<u32>]>, geometry: &Geometry) {
        let supers = Supers::new(stripe, groups, geometry, self.units_per_program);
        if self.ranked {
            let lists = (self.units_per_block * supers.size()) as usize + 1;
            for domain in &mut self.domains {
                domain.ranking.resize(lists, domain.ranking[0]);
                domain.least = lists as u32;
            }
        }
        for planes in &supers.planes {
            planes[1..].iter().for_each(|&plane| self.free[plane as usize].heap.clear());
        }
        self.supers = Some(Box::new(supers));
    }

    /// The planes of a plane's group. Those with the same number in their dies follow each other.
    pub(crate) fn planes_beside(&self, plane: u32) -> &[u32] {
        let supers = self.supers.as_ref().expect("blocks form superblocks");
        &supers.planes[supers.group[plane as usize] as usize]
    }

    /// The planes of a group by its number.
    pub(crate) fn planes_of_group(&self, group: usize) -> &[u32] {
        self.supers.as_ref().map_or(&[], |supers| &supers.planes[group])
    }

    /// The number of a plane's group.
    pub(crate) fn group_of(&self, plane: u32) -> u32 {
        self.supers.as_ref().map_or(0, |supers| supers.group[plane as usize])
    }

    /// True if blocks form superblocks.
    #[inline]
    pub(crate) fn has_superblocks(&self) -> bool {
        self.supers.is_some()
    }

    /// The block of a plane that belongs to a superblock.
    #[inline]
    pub(crate) fn block_at(&self, plane: u32, number: u32) -> u32 {
        plane * self.blocks_per_plane.get() + number
    }

    /// The number of a block in its plane.
    #[inline]
    pub(crate) fn number_of(&self, block: u32) -> u32 {
        self.blocks_per_plane.remainder(block)
    }

    /// All blocks that belong to the superblock of a block: it alone where it is none.
    pub(crate) fn together(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        let number = self.number_of(block);
        let planes = if self.has_superblocks() { self.planes_beside(self.plane_of(block)) } else { &[] };
        let alone = planes.is_empty().then_some(block);
        alone.into_iter().chain(planes.iter().map(move |&plane| self.block_at(plane, number)))
    }

    /// The block that stands for the superblock of a block in the lists.
    pub(crate) fn leader(&self, block: u32) -> u32 {
        self.together(block).next().unwrap_or(block)
    }

    /// Where the superblock of a block is in lists by superblock.
    fn index_of(&self, block: u32) -> usize {
        let group = self.group_of(self.plane_of(block));
        (group * self.blocks_per_plane.get() + self.number_of(block)) as usize
    }

    fn supers_mut(&mut self) -> &mut Supers {
        self.supers.as_mut().expect("blocks form superblocks")
    }

    /// As [`Self::weight`], of all blocks of a superblock.
    fn weight_together(&self, block: u32) -> u32 {
        self.weight(block) * self.supers.as_ref().map_or(1, |supers| supers.size())
    }

    /// Where a closed superblock is in the ranking.
    pub(super) fn rank_together(&self, block: u32) -> u32 {
        self.valid_together(block) + self.weight_together(block)
    }

    /// Valid units of a closed superblock.
    fn valid_together(&self, block: u32) -> u32 {
        let index = self.index_of(block);
        self.supers.as_ref().map_or_else(|| self.get(block).valid, |supers| supers.valid[index])
    }

    /// Opens the free superblock in a plane's group that the policy puts first, or the most worn one: its number.
    pub(crate) fn open_superblock(
        &mut self,
        plane: u32,
        how: Opening,
        free_block: &mut FreeBlockPolicy,
    ) -> Option<u32> {
        let leader = self.planes_beside(plane)[0];
        let first = self.take_free(leader, how, free_block)?;
        let slc = how.slc;
        let size = self.supers_mut().size();
        let domain = self.domain_of_plane(plane);
        self.count_free(domain, -(size as i32));
        self.domains[domain as usize].slc += if slc { size } else { 0 };
        let all: Vec<u32> = self.together(first).collect();
        for block in all {
            let record = &mut self.records[block as usize];
            assert_eq!(record.status, Status::Free);
            record.status = Status::Open;
            record.slc = slc;
        }
        Some(self.number_of(first))
    }

    /// A unit of a block became invalid that belongs to a superblock: a closed one has its place in the ranking.
    #[cold]
    pub(super) fn lose_together(&mut self, domain: u32, block: u32) {
        if self.get(block).status != Status::Closed {
            return;
        }
        let (leader, index) = (self.leader(block), self.index_of(block));
        let valid = self.supers_mut().valid[index];
        self.supers_mut().valid[index] = valid - 1;
        let rank = valid + self.weight_together(leader);
        self.records[leader as usize].touched = self.records[block as usize].touched;
        if self.ranked {
            self.unlink(domain, leader, rank);
            self.link(domain, leader, rank - 1);
        }
    }

    /// All pages of all blocks of an open superblock are programmed.
    #[cold]
    pub(super) fn close_together(&mut self, block: u32) {
        let (leader, index, domain) = (self.leader(block), self.index_of(block), self.domain_of(block));
        let clock = self.domains[domain as usize].clock;
        let all: Vec<u32> = self.together(block).collect();
        let mut valid = 0;
        for block in all {
            let record = &mut self.records[block as usize];
            assert_eq!(record.status, Status::Open);
            record.status = Status::Closed;
            record.touched = clock;
            valid += record.valid;
        }
        self.supers_mut().valid[index] = valid;
        let closed = &mut self.domains[domain as usize].closed;
        self.records[leader as usize].position = closed.len() as u32;
        closed.push(leader);
        if self.ranked {
            self.link(domain, leader, valid + self.weight_together(leader));
        }
    }

    /// A closed superblock becomes a victim.
    #[cold]
    pub(super) fn take_together(&mut self, block: u32) {
        let (leader, index) = (self.leader(block), self.index_of(block));
        let all: Vec<u32> = self.together(block).collect();
        for block in all {
            let record = &mut self.records[block as usize];
            assert_eq!(record.status, Status::Closed);
            record.status = Status::Victim;
        }
        let supers = self.supers_mut();
        supers.erased[index] = 0;
        let rank = supers.valid[index] + self.weight_together(leader);
        self.unlist(leader, rank);
    }

    /// A block of a victim was erased. With the last one of its superblock all are free.
    #[cold]
    pub(super) fn erased_together(&mut self, block: u32, free_block: &mut FreeBlockPolicy) {
        let index = self.index_of(block);
        let supers = self.supers_mut();
        supers.erased[index] += 1;
        supers.half_free += 1;
        if supers.erased[index] < supers.size() {
            return;
        }
        let leader = self.leader(block);
        let size = self.supers_mut().size();
        self.supers_mut().half_free -= size;
        let all: Vec<u32> = self.together(block).collect();
        all.iter().for_each(|&block| self.records[block as usize].status = Status::Free);
        self.list_free(leader, free_block);
        let domain = self.domain_of(block);
        self.count_free(domain, size as i32);
    }

    /// Blocks that are erased, but not free before the rest of their superblock is erased, too.
    pub(crate) fn half_free(&self) -> u32 {
        self.supers.as_ref().map_or(0, |supers| supers.half_free)
    }

    /// Counts the valid units of closed superblocks anew, after records were taken over.
    pub(super) fn recount_together(&mut self) {
        let Some(mut supers) = self.supers.take() else { return };
        supers.erased.fill(0);
        supers.half_free = 0;
        let blocks = self.blocks_per_plane.get();
        for (group, planes) in (0..).zip(&supers.planes) {
            for number in 0..blocks {
                let valid = planes.iter().map(|&plane| self.get(self.block_at(plane, number)).valid).sum();
                supers.valid[(group * blocks + number) as usize] = valid;
            }
        }
        self.supers = Some(supers);
    }

    /// True if all blocks of each superblock are in the same state, as far as a drive at rest may tell.
    ///
    /// # Errors
    /// Names a block that is not.
    pub(super) fn check_together(&self) -> Result<(), String> {
        for block in 0..self.records.len() as u32 {
            let leader = self.leader(block);
            let (own, first) = (self.get(block), self.get(leader));
            if own.status != first.status || own.erases != first.erases || own.slc != first.slc {
                return Err(format!(
                    "block {block} is {own:?}, but the first of its superblock, {leader}, is {first:?}"
                ));
            }
        }
        Ok(())
    }
}
