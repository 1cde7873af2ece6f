//! ext2, ext3 and ext4: from the superblock to the group descriptors, and from these to bitmaps and inode tables.
//!
//! Source: the layout as the Linux kernel documents it (`Documentation/filesystems/ext4`). `inode` has what inodes and the blocks of
//! their trees say.

pub mod inode;

use super::bytes::{u16_at, u32_at, u64_at};
use super::role::{Claim, Part, Role};

/// The superblock begins here, from the start of the volume.
const SUPER: usize = 1024;
/// Most groups: more than the largest file system of mke2fs has.
const MOST_GROUPS: u64 = 1 << 23;

const SPARSE_SUPER2: u32 = 0x200;
const RESIZE_INODE: u32 = 0x10;
const JOURNAL_DEVICE: u32 = 0x8;
const META_BG: u32 = 0x10;
const WIDE: u32 = 0x80;
const MULTIPLE_MOUNT: u32 = 0x100;
const SPARSE_SUPER: u32 = 0x1;

/// The geometry of a file system: all of its superblock that says where metadata are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks of the file system.
    pub blocks: u64,
    /// Inodes of a group.
    pub group_inodes: u64,
    /// Bytes of an inode.
    pub inode: usize,
    /// Inodes whose contents are metadata though they are files: journal, quotas, orphans.
    pub own_files: [u32; 5],
    first_data_block: u64,
    group_blocks: u64,
    descriptor: usize,
    reserved: u64,
    /// Groups of descriptors before those that have a place of their own; none if all are in one table.
    first_meta_group: Option<u64>,
    sparse: Sparse,
    /// The block against mounting twice, if there is one.
    multiple_mount: Option<u64>,
    journal_device: bool,
}

/// Which groups have a copy of the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sparse {
    All,
    Powers,
    Two([u32; 2]),
}

impl Geometry {
    /// The geometry, if the first 2 KiB of a volume of at most `room` bytes hold a superblock that makes sense.
    pub fn of(head: &[u8], room: u64) -> Option<Self> {
        let sb = head.get(SUPER..)?;
        if u16_at(sb, 56) != 0xEF53 {
            return None;
        }
        let (compatible, incompatible, read_only) = (u32_at(sb, 92), u32_at(sb, 96), u32_at(sb, 100));
        // The first revision has none of the fields from 84 on.
        let dynamic = u32_at(sb, 76) > 0;
        let has = |features: u32, bit: u32| dynamic && features & bit != 0;
        let wide = has(incompatible, WIDE);
        let order = u32_at(sb, 24);
        let geometry = Self {
            block: 1024_u64.checked_shl(order).filter(|_| order <= 6)?,
            blocks: u64::from(u32_at(sb, 4)) | if wide { u64::from(u32_at(sb, 336)) << 32 } else { 0 },
            group_inodes: u32_at(sb, 40).into(),
            inode: if dynamic { u16_at(sb, 88).into() } else { 128 },
            // The journal, user, group and project quotas, orphans.
            own_files: if dynamic { [224, 576, 580, 620, 640].map(|at| u32_at(sb, at)) } else { [0; 5] },
            first_data_block: u32_at(sb, 20).into(),
            group_blocks: u32_at(sb, 32).into(),
            descriptor: if wide { u16_at(sb, 254).into() } else { 32 },
            reserved: if has(compatible, RESIZE_INODE) { u16_at(sb, 206).into() } else { 0 },
            first_meta_group: has(incompatible, META_BG).then(|| u32_at(sb, 260).into()),
            sparse: match (has(compatible, SPARSE_SUPER2), has(read_only, SPARSE_SUPER)) {
                (true, _) => Sparse::Two([u32_at(sb, 588), u32_at(sb, 592)]),
                (_, true) => Sparse::Powers,
                _ => Sparse::All,
            },
            multiple_mount: has(incompatible, MULTIPLE_MOUNT).then(|| u64_at(sb, 360)),
            journal_device: has(incompatible, JOURNAL_DEVICE),
        };
        geometry.makes_sense(room).then_some(geometry)
    }

    fn makes_sense(&self, room: u64) -> bool {
        let fits = self.blocks > 0 && self.blocks.checked_mul(self.block).is_some_and(|bytes| bytes <= room);
        let sizes = |bytes: usize, least| bytes.is_power_of_two() && bytes >= least && bytes as u64 <= self.block;
        fits && (self.journal_device
            || (sizes(self.inode, 128)
                && sizes(self.descriptor, 32)
                && self.group_blocks >= 8
                && (1..=1 << 20).contains(&self.group_inodes)
                && self.first_data_block < self.blocks
                && self.groups() <= MOST_GROUPS))
    }

    fn groups(&self) -> u64 {
        (self.blocks - self.first_data_block).div_ceil(self.group_blocks)
    }

    /// The claim of some blocks, as far as the file system goes.
    pub fn claim(&self, volume: u64, first: u64, count: u64, role: Role) -> Claim {
        let (first, end) = (first.min(self.blocks), first.saturating_add(count).min(self.blocks));
        Claim { start: volume + first * self.block, end: volume + end * self.block, role }
    }

    fn has_copy(&self, group: u64) -> bool {
        let power_of = |base: u64| {
            let mut power = base;
            while power < group {
                power *= base;
            }
            power == group
        };
        match self.sparse {
            _ if group == 0 => true,
            Sparse::All => true,
            Sparse::Powers => group == 1 || power_of(3) || power_of(5) || power_of(7),
            Sparse::Two(groups) => groups.iter().any(|other| u64::from(*other) == group),
        }
    }

    /// The block of a group where a superblock is, if it has one.
    fn head_of(&self, group: u64) -> u64 {
        let first = self.first_data_block + group * self.group_blocks;
        // With clusters, blocks of 1 KiB begin at 0, and the superblock is still in the second.
        if first == 0 && self.block == 1024 {
            1
        } else {
            first
        }
    }

    /// What the superblock says: copies of it, and the descriptors.
    pub fn claims(&self, volume: u64) -> Vec<Claim> {
        let kept = Role::fixed(volume, Part::Kept);
        if self.journal_device {
            return vec![self.claim(volume, 0, self.blocks, kept)];
        }
        let of_block = (self.block as usize / self.descriptor) as u64;
        let all = self.groups().div_ceil(of_block);
        let in_table = self.first_meta_group.map_or(all, |first| first.min(all));
        let mut claims = vec![self.claim(volume, 0, self.head_of(0) + 1, kept)];
        for group in (0..self.groups()).filter(|group| self.has_copy(*group)) {
            let head = self.head_of(group);
            claims.push(self.claim(volume, head, 1 + in_table + self.reserved, kept));
        }
        let first = self.head_of(0) + 1;
        claims.push(self.claim(volume, first, in_table, self.descriptors(volume, first, 0)));
        for block in in_table..all {
            let group = block * of_block;
            for (copy, group) in [group, group + 1, group + of_block - 1].into_iter().enumerate() {
                if group < self.groups() {
                    let place = self.head_of(group) + u64::from(self.has_copy(group));
                    let role = if copy == 0 { self.descriptors(volume, place, group) } else { kept };
                    claims.push(self.claim(volume, place, 1, role));
                }
            }
        }
        claims.extend(self.multiple_mount.map(|block| self.claim(volume, block, 1, kept)));
        claims
    }

    fn descriptors(&self, volume: u64, block: u64, group: u64) -> Role {
        let start = volume + block * self.block;
        Role::fixed(volume, Part::ExtDescriptors { start, group: group as u32 })
    }

    /// What the group descriptors in a block say, as far as they differ from those in `other`. `group` is that of the first.
    pub fn described(&self, volume: u64, group: u64, block: &[u8], other: &[u8]) -> Vec<Claim> {
        let kept = Role::fixed(volume, Part::Kept);
        let each = self.descriptor;
        let mut claims = Vec::new();
        let changed = |(now, before): &(&[u8], &[u8])| now != before;
        let pairs = block.chunks_exact(each).zip(other.chunks_exact(each));
        for (group, (found, _)) in (group..self.groups()).zip(pairs).filter(|(_, pair)| changed(pair)) {
            let at = |low, high| {
                let high = if each >= 64 { u64::from(u32_at(found, high)) << 32 } else { 0 };
                u64::from(u32_at(found, low)) | high
            };
            for bitmap in [at(0, 32), at(4, 36)].into_iter().filter(|block| *block > 0) {
                claims.push(self.claim(volume, bitmap, 1, kept));
            }
            let table = at(8, 40);
            if table > 0 && table < self.blocks {
                let blocks = (self.group_inodes * self.inode as u64).div_ceil(self.block);
                let start = volume + table * self.block;
                let role = Role::fixed(volume, Part::ExtInodes { start, group: group as u32 });
                claims.push(self.claim(volume, table, blocks, role));
            }
        }
        claims
    }

    /// The group whose descriptor is at byte `at` of a table that begins at `start` with that of `group`.
    pub fn group_at(&self, at: u64, start: u64, group: u32) -> u64 {
        u64::from(group) + at.saturating_sub(start) / self.descriptor as u64
    }
}

#[cfg(test)]
mod tests;
