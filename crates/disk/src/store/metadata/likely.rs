//! Contents that look like metadata, for those of which nothing else is known yet: they stay when room has to be made. A guess decides
//! only how long contents wait, never what they are. Not told from data are bitmaps,
//! long symbolic links, and blocks of pointers that go back and forth.

use super::bytes::{has, u16_at, u32_at};

/// Sizes of blocks, in bytes. Larger ones begin like these.
const BLOCKS: [usize; 3] = [1024, 2048, 4096];

/// True if any block of a page looks like metadata of ext or NTFS.
pub fn is_likely(page: &[u8]) -> bool {
    page.chunks(512).any(is_record)
        || BLOCKS.iter().any(|size| page.chunks_exact(*size).any(|block| is_directory(block) || is_tree(block)))
        || page.chunks_exact(1024).any(|block| is_signed(block) || is_inodes(block) || is_pointers(block))
}

/// A record or an index of NTFS, or a page of its log.
fn is_record(block: &[u8]) -> bool {
    let named = [b"FILE", b"INDX", b"RSTR", b"RCRD"].iter().any(|name| has(block, 0, *name));
    named && (40..128).contains(&u16_at(block, 4)) && (2..=129).contains(&u16_at(block, 6))
}

/// The head of a journal of ext, or a block of extended attributes.
fn is_signed(block: &[u8]) -> bool {
    has(block, 0, &[0xC0, 0x3B, 0x39, 0x98]) || u32_at(block, 0) == 0xEA02_0000
}

/// A block of an extent tree that has just as many places as fit.
fn is_tree(block: &[u8]) -> bool {
    let (count, places) = (u16_at(block, 2), u16_at(block, 4));
    u16_at(block, 0) == 0xF30A && usize::from(places) == (block.len() - 12) / 12 && count <= places
}

/// A block of a directory of ext: its entries lead from one to the next, and to the end.
fn is_directory(block: &[u8]) -> bool {
    let mut at = 0;
    while at < block.len() {
        let (length, name) = (usize::from(u16_at(block, at + 4)), usize::from(u16_at(block, at + 6) & 0xFF));
        if length < 12 || length % 4 != 0 || at + length > block.len() || name + 8 > length {
            return false;
        }
        at += length;
    }
    true
}

/// A piece of an inode table: files of known kinds, with trees where they should be, and inodes that are free.
fn is_inodes(block: &[u8]) -> bool {
    let is_free = |inode: &&[u8]| u16_at(inode, 26) == 0 && (u16_at(inode, 0) == 0 || u32_at(inode, 20) != 0);
    let is_used = |inode: &[u8]| {
        let (mode, extents) = (u16_at(inode, 0), u32_at(inode, 32) & 0x8_0000 != 0);
        let known = matches!(mode >> 12, 1 | 2 | 4 | 6 | 8 | 10 | 12) && u16_at(inode, 26) > 0;
        // No time of deletion, and nothing in two fields that were never used.
        let unused = u32_at(inode, 20) == 0 && u32_at(inode, 112) == 0 && u16_at(inode, 126) == 0;
        known && unused && (!extents || u16_at(inode, 40) == 0xF30A)
    };
    let of = |size: usize| {
        let mut used = block.chunks_exact(size).filter(|inode| !is_free(inode)).peekable();
        used.peek().is_some() && used.all(is_used)
    };
    [128, 256, 512].into_iter().any(of)
}

/// A block of pointers to ever later blocks, and to nothing else.
fn is_pointers(block: &[u8]) -> bool {
    let mut found = block.chunks_exact(4).map(|entry| u32_at(entry, 0)).filter(|pointer| *pointer != 0);
    let (mut last, mut count) = (0, 0);
    found.all(|pointer| {
        let later = pointer > last;
        last = pointer;
        count += 1;
        later
    }) && count > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_look_like_it_and_data_do_not() {
        let page = |at: usize, bytes: &[u8]| {
            let mut page = vec![0; 4096];
            page[at..at + bytes.len()].copy_from_slice(bytes);
            page
        };
        assert!(is_likely(&page(0, b"INDX\x28\0\x09\0")));
        assert!(!is_likely(&page(0, b"INDX is a word")));
        assert!(is_likely(&page(2048, &[0xC0, 0x3B, 0x39, 0x98])));
        assert!(is_likely(&page(0, &[0x0A, 0xF3, 3, 0, 0x54, 1])), "340 places in 4 KiB");
        assert!(!is_likely(&page(0, &[0x0A, 0xF3, 3, 0, 0x55, 1])));
        let mut directory = page(0, &[2, 0, 0, 0, 12, 0, 1, 2, b'.', 0, 0, 0]);
        directory[12..20].copy_from_slice(&[2, 0, 0, 0, 0xF4, 0x0F, 2, 2]);
        assert!(is_likely(&directory));
        directory[16] = 0xF0;
        assert!(!is_likely(&directory), "the last entry ends before the block");
        let pointers: Vec<u8> = [500_u32, 501, 0, 32_768].iter().flat_map(|block| block.to_le_bytes()).collect();
        assert!(is_likely(&page(1024, &pointers)));
        let mut inode = page(256, &[0xA4, 0x81]);
        inode[256 + 26] = 1;
        assert!(is_likely(&inode));
        inode[256 + 34] = 8;
        inode.copy_within(256..512, 512);
        assert!(!is_likely(&inode), "it should have extents");
        for text in [vec![0x41; 4096], (0..4096_u32).map(|at| (at * 7) as u8).collect(), vec![0; 4096]] {
            assert!(!is_likely(&text));
        }
    }
}
