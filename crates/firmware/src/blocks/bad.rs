//! Bad blocks, and those that are held back to replace them.

use super::{Blocks, Status};
use crate::policy::free_block::FreeBlockPolicy;
use std::cmp::Reverse;

impl Blocks {
    /// Bad blocks of a domain, with those that are to become bad.
    #[must_use]
    pub fn bad(&self, domain: u32) -> u32 {
        self.domains[domain as usize].bad
    }

    /// Blocks of a domain with a failed program whose data are still to be moved.
    #[inline]
    pub(crate) fn doomed(&self, domain: u32) -> u32 {
        self.domains[domain as usize].doomed
    }

    /// A free block came bad.
    pub(crate) fn spoil(&mut self, block: u32) {
        let (plane, domain) = (self.plane_of(block), self.domain_of(block));
        let record = &mut self.records[block as usize];
        assert_eq!(record.status, Status::Free);
        record.status = Status::Bad;
        self.free[plane as usize].heap.retain(|Reverse((_, other))| *other != block);
        self.count_free(domain, -1);
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
                self.count_free(domain, -1);
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
        self.count_free(domain, 1);
        true
    }

    /// A program of a block failed.
    pub(crate) fn doom(&mut self, block: u32) {
        let domain = self.domain_of(block);
        self.records[block as usize].doomed = true;
        self.domains[domain as usize].bad += 1;
        self.domains[domain as usize].doomed += 1;
    }

    /// A victim block was erased, or its erase failed, and it is not used again.
    pub(crate) fn retired(&mut self, block: u32) {
        let domain = self.domain_of(block);
        let record = &mut self.records[block as usize];
        assert!(record.status == Status::Victim && record.valid == 0, "block {block} is given up as {record:?}");
        record.status = Status::Bad;
        record.write_point = 0;
        record.erases += 1;
        self.domains[domain as usize].wear.count(record.erases);
        self.domains[domain as usize].slc -= u32::from(std::mem::take(&mut record.slc));
        if std::mem::take(&mut record.doomed) {
            self.domains[domain as usize].doomed -= 1;
        } else {
            self.domains[domain as usize].bad += 1;
        }
    }
}
