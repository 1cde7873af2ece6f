//! Free blocks of a plane: which is opened next, by the rank that it got when it became free, by its P/E cycles, or by a choice.

use super::{Blocks, Status};
#[cfg(test)]
use crate::policy::free_block::fifo::Fifo;
use crate::policy::free_block::{FreeBlockPolicy, FreeEntry, FreeView};
use crate::task::Task;
use std::cmp::Reverse;

/// How a block is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// The task whose data it takes first.
    pub task: Task,
    /// True if it is the most worn one.
    pub worn: bool,
    /// True if it is in SLC mode.
    pub slc: bool,
}

impl Blocks {
    /// Opens the free block of a plane that the policy puts first, or the most worn one.
    pub(crate) fn open(&mut self, plane: u32, how: Opening, free_block: &mut FreeBlockPolicy) -> Option<u32> {
        let block = self.take_free(plane, how, free_block)?;
        let slc = how.slc;
        let domain = self.domain_of_plane(plane);
        self.count_free(domain, -1);
        self.domains[domain as usize].slc += u32::from(slc);
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Free);
        record.status = Status::Open;
        record.slc = slc;
        Some(block)
    }

    /// Opens a certain free block.
    ///
    /// # Panics
    /// If it is not free.
    pub(crate) fn open_free(&mut self, block: u32) {
        let (plane, domain) = (self.plane_of(block), self.domain_of(block));
        assert_eq!(self.records[block as usize].status, Status::Free, "block {block} is opened");
        self.free[plane as usize].heap.retain(|Reverse((_, other))| *other != block);
        self.count_free(domain, -1);
        self.records[block as usize].status = Status::Open;
    }

    /// Takes from the list of a plane the free block that the policy chooses, or else that of lowest rank; or the one with the most P/E
    /// cycles, of equal ones that of lowest rank.
    pub(super) fn take_free(&mut self, plane: u32, how: Opening, free_block: &mut FreeBlockPolicy) -> Option<u32> {
        if !how.worn && free_block.chooses() {
            return self.take_chosen(plane, how, free_block);
        }
        let heap = &mut self.free[plane as usize].heap;
        if !how.worn {
            return heap.pop().map(|Reverse((_, block))| block);
        }
        let erases = |&Reverse((_, block)): &Reverse<(u64, u32)>| self.records[block as usize].erases;
        let most = heap.iter().copied().max_by_key(|entry| (erases(entry), *entry))?;
        heap.retain(|entry| *entry != most);
        Some(most.0 .1)
    }

    /// Takes the free block that the policy chooses when it is opened; that of lowest rank if it chooses none.
    #[cold]
    fn take_chosen(&mut self, plane: u32, how: Opening, free_block: &mut FreeBlockPolicy) -> Option<u32> {
        let mut free: Vec<FreeEntry> = self.free[plane as usize]
            .heap
            .iter()
            .map(|&Reverse((rank, block))| FreeEntry { block, erases: self.records[block as usize].erases, rank })
            .collect();
        free.sort_unstable_by_key(|entry| (entry.rank, entry.block));
        let first = free.first()?.block;
        let chosen = free_block.choose(&FreeView { plane, task: how.task, slc: how.slc, free: &free }).unwrap_or(first);
        self.free[plane as usize].heap.retain(|Reverse((_, block))| *block != chosen);
        Some(chosen)
    }

    /// A block that was freed joins the free blocks of its plane.
    pub(super) fn list_free(&mut self, block: u32, free_block: &mut FreeBlockPolicy) {
        let (plane, erases) = (self.plane_of(block), self.records[block as usize].erases);
        let list = &mut self.free[plane as usize];
        list.heap.push(Reverse((free_block.rank(erases, list.freed), block)));
        list.freed = list.freed.wrapping_add(1);
    }
}

#[cfg(test)]
impl Blocks {
    /// As [`Blocks::open`], for the host, of the block of lowest rank.
    pub(crate) fn open_first(&mut self, plane: u32) -> Option<u32> {
        let how = Opening { task: Task::HOST, worn: false, slc: false };
        self.open(plane, how, &mut FreeBlockPolicy::Fifo(Fifo))
    }

    /// The same of a superblock.
    pub(crate) fn open_first_superblock(&mut self, plane: u32) -> Option<u32> {
        let how = Opening { task: Task::HOST, worn: false, slc: false };
        self.open_superblock(plane, how, &mut FreeBlockPolicy::Fifo(Fifo))
    }
}
