//! What an inode says of the disk, and what the blocks of its tree do: extents or pointers, whose leaves are file data or, for
//! directories, long symbolic links, journal and quotas, metadata.

use super::super::bytes::{u16_at, u32_at};
use super::super::role::{Claim, Leaf, Part, Role, SHARED};
use super::Geometry;

/// The place of the 60 bytes with the tree's root, or with a short symbolic link.
const ROOT: usize = 40;
/// The head of a block of extents, and each entry.
const EXTENT: usize = 12;
const DEEPEST: u16 = 5;
/// Extents of more blocks than this are allocated and not written.
const LONGEST: u16 = 0x8000;

const USES_EXTENTS: u32 = 0x8_0000;
const HOLDS_ATTRIBUTES: u32 = 0x20_0000;
const INLINE: u32 = 0x1000_0000;

/// The inode through which the file system grows: its tree lies in blocks that the superblock reserves.
const RESIZE: u64 = 7;

/// The claims of a file, while they are gathered.
struct Claims<'a> {
    geometry: &'a Geometry,
    volume: u64,
    owner: u64,
    found: Vec<Claim>,
}

impl Claims<'_> {
    /// Claims blocks of the file system; others are a mistake of whoever wrote them.
    fn add(&mut self, first: u64, count: u64, part: Part) {
        let end = first.saturating_add(count);
        if first == 0 || count == 0 || end > self.geometry.blocks {
            return;
        }
        let claim = self.geometry.claim(self.volume, first, count, Role::owned(self.volume, self.owner, part));
        match self.found.last_mut() {
            Some(last) if last.end == claim.start && last.role == claim.role && !claim.role.is_watched() => {
                last.end = claim.end;
            }
            _ => self.found.push(claim),
        }
    }

    fn extents(&mut self, block: &[u8], depth: Option<u8>, leaf: Leaf) {
        let (magic, count, found) = (u16_at(block, 0), u16_at(block, 2), u16_at(block, 6));
        if magic != 0xF30A || found > DEEPEST || depth.is_some_and(|depth| u16::from(depth) != found) {
            return;
        }
        for entry in block[EXTENT..].chunks_exact(EXTENT).take(count.into()) {
            if found == 0 {
                let (length, high) = (u16_at(entry, 4), u64::from(u16_at(entry, 6)));
                let length = if length > LONGEST { length - LONGEST } else { length };
                self.add(high << 32 | u64::from(u32_at(entry, 8)), length.into(), Part::of(leaf));
            } else {
                let place = u64::from(u16_at(entry, 8)) << 32 | u64::from(u32_at(entry, 4));
                self.add(place, 1, Part::ExtExtents { depth: found as u8 - 1, leaf });
            }
        }
    }

    /// Pointers of a level: 0 point to blocks of the file, others to blocks of pointers.
    fn pointers(&mut self, block: &[u8], level: u8, leaf: Leaf) {
        let part = if level == 0 { Part::of(leaf) } else { Part::ExtPointers { level, leaf } };
        for entry in block.chunks_exact(4) {
            self.add(u32_at(entry, 0).into(), 1, part);
        }
    }
}

impl Geometry {
    /// What an inode says, given its number.
    pub fn inode_claims(&self, volume: u64, number: u64, inode: &[u8]) -> Vec<Claim> {
        let (mode, links, flags) = (u16_at(inode, 0), u16_at(inode, 26), u32_at(inode, 32));
        let mut claims = Claims { geometry: self, volume, owner: SHARED, found: Vec::new() };
        if links == 0 || mode == 0 {
            return claims.found;
        }
        // Attributes may be those of many files, so this one does not give them up.
        let attributes = u64::from(u32_at(inode, 104)) | u64::from(u16_at(inode, 118)) << 32;
        claims.add(attributes, 1, Part::Kept);
        claims.owner = number;
        let own = self.own_files.iter().any(|file| *file != 0 && u64::from(*file) == number);
        let leaf = match mode & 0xF000 {
            0x4000 | 0xA000 => Leaf::Kept,
            0x8000 if own || number == RESIZE || flags & HOLDS_ATTRIBUTES != 0 => Leaf::Kept,
            0x8000 => Leaf::Data,
            _ => return claims.found,
        };
        let root = &inode[ROOT..ROOT + 60];
        let short_link = mode & 0xF000 == 0xA000 && flags & USES_EXTENTS == 0 && u32_at(inode, 4) < 60;
        if flags & INLINE != 0 || short_link {
            return claims.found;
        }
        if number == RESIZE {
            claims.add(u32_at(root, 52).into(), 1, Part::Kept);
        } else if flags & USES_EXTENTS != 0 {
            claims.extents(root, None, leaf);
        } else {
            claims.pointers(&root[..48], 0, leaf);
            for level in 1..=3 {
                claims.pointers(&root[44 + 4 * usize::from(level)..][..4], level, leaf);
            }
        }
        claims.found
    }

    /// What a block of an extent tree says.
    pub fn extent_claims(&self, volume: u64, owner: u64, block: &[u8], depth: u8, leaf: Leaf) -> Vec<Claim> {
        let mut claims = Claims { geometry: self, volume, owner, found: Vec::new() };
        claims.extents(block, Some(depth), leaf);
        claims.found
    }

    /// What a block of pointers says.
    pub fn pointer_claims(&self, volume: u64, owner: u64, block: &[u8], level: u8, leaf: Leaf) -> Vec<Claim> {
        let mut claims = Claims { geometry: self, volume, owner, found: Vec::new() };
        claims.pointers(block, level - 1, leaf);
        claims.found
    }

    /// What the inodes in a piece of a table say, as far as they differ from those in `other`. `first` is the number of the first.
    pub fn table_claims(&self, volume: u64, first: u64, piece: &[u8], other: &[u8]) -> Vec<Claim> {
        let pairs = piece.chunks_exact(self.inode).zip(other.chunks_exact(self.inode));
        let changed = (first..).zip(pairs).filter(|(_, (now, before))| now != before);
        changed.flat_map(|(number, (now, _))| self.inode_claims(volume, number, now)).collect()
    }

    /// The number of the inode at byte `at` of the table of `group`, which begins at `start`.
    pub fn inode_at(&self, at: u64, start: u64, group: u32) -> u64 {
        u64::from(group) * self.group_inodes + at.saturating_sub(start) / self.inode as u64 + 1
    }
}
