//! Blocks made by hand, with what they say.

use super::super::role::{Leaf, SHARED};
use super::*;

const KIB: u64 = 1024;

/// The first 2 KiB of an ext2 with 1 KiB blocks: 20,000 blocks in groups of 8,192, of 128 inodes each.
fn head() -> Vec<u8> {
    let mut head = vec![0; 2048];
    put(&mut head, 1024 + 4, &20_000_u32.to_le_bytes());
    put(&mut head, 1024 + 20, &1_u32.to_le_bytes());
    put(&mut head, 1024 + 32, &8192_u32.to_le_bytes());
    put(&mut head, 1024 + 40, &128_u32.to_le_bytes());
    put(&mut head, 1024 + 56, &0xEF53_u16.to_le_bytes());
    put(&mut head, 1024 + 76, &1_u32.to_le_bytes());
    put(&mut head, 1024 + 88, &128_u16.to_le_bytes());
    put(&mut head, 1024 + 100, &1_u32.to_le_bytes());
    put(&mut head, 1024 + 224, &8_u32.to_le_bytes());
    head
}

fn put(data: &mut [u8], at: usize, what: &[u8]) {
    data[at..at + what.len()].copy_from_slice(what);
}

fn geometry() -> Geometry {
    Geometry::of(&head(), 1 << 30).unwrap()
}

/// First and last block with the part, of claims on a volume at byte 0.
fn blocks(claims: &[Claim]) -> Vec<(u64, u64, Part)> {
    claims.iter().map(|claim| (claim.start / KIB, claim.end / KIB - 1, claim.role.part)).collect()
}

#[test]
fn a_superblock_tells_where_descriptors_and_copies_are() {
    let descriptors = Part::ExtDescriptors { start: 2048, group: 0 };
    assert_eq!(
        blocks(&geometry().claims(0)),
        [(0, 1, Part::Kept), (1, 2, Part::Kept), (8193, 8194, Part::Kept), (2, 2, descriptors)],
        "groups 0 and 1 have copies, group 2 has none"
    );
}

#[test]
fn a_superblock_that_makes_no_sense_is_none() {
    let room = 20_000 * KIB;
    assert!(Geometry::of(&head(), room).is_some());
    assert!(Geometry::of(&head(), room - 1).is_none(), "larger than the volume");
    let other = [(56, 0), (24, 7), (32, 0), (40, 0), (88, 100), (88, 2048), (4, 0)];
    for (at, value) in other {
        let mut head = head();
        put(&mut head, 1024 + at, &(value as u16).to_le_bytes());
        put(&mut head, 1024 + 96, &0_u32.to_le_bytes());
        assert!(Geometry::of(&head, room).is_none(), "{value} at {at}");
    }
}

#[test]
fn copies_are_in_the_first_groups_and_in_powers_of_3_5_and_7() {
    let mut sparse = geometry();
    let with: Vec<u64> = (0..130).filter(|group| sparse.has_copy(*group)).collect();
    assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    sparse.sparse = Sparse::Two([1, 8]);
    assert_eq!((0..20).filter(|group| sparse.has_copy(*group)).collect::<Vec<_>>(), [0, 1, 8]);
    sparse.sparse = Sparse::All;
    assert!(sparse.has_copy(6));
}

#[test]
fn meta_groups_have_their_descriptors_in_their_first_second_and_last_group() {
    let mut meta = geometry();
    meta.first_meta_group = Some(0);
    meta.blocks = 40 * 8192;
    let found = blocks(&meta.claims(0));
    let at = |group: u64| 1 + group * 8192 + u64::from(meta.has_copy(group));
    let descriptors = |group: u64| Part::ExtDescriptors { start: at(group) * KIB, group: group as u32 };
    // 32 descriptors in a block: one block for groups 0 to 31, and one for 32 to 39.
    for (place, part) in [(0, descriptors(0)), (1, Part::Kept), (31, Part::Kept), (32, descriptors(32))] {
        assert!(found.contains(&(at(place), at(place), part)), "group {place} of {found:?}");
    }
}

#[test]
fn a_descriptor_tells_of_bitmaps_and_inodes() {
    let mut block = vec![0; 1024];
    put(&mut block, 32, &[&100_u32.to_le_bytes()[..], &101_u32.to_le_bytes(), &102_u32.to_le_bytes()].concat());
    let inodes = Part::ExtInodes { start: 102 * KIB, group: 1 };
    let found = geometry().described(0, 0, &block, &[0; 1024]);
    assert_eq!(blocks(&found), [(100, 100, Part::Kept), (101, 101, Part::Kept), (102, 117, inodes)]);
    assert_eq!(geometry().inode_at(104 * KIB, 102 * KIB, 1), 128 + 16 + 1);
}

fn inode(mode: u16, flags: u32) -> Vec<u8> {
    let mut inode = vec![0; 128];
    put(&mut inode, 0, &mode.to_le_bytes());
    put(&mut inode, 26, &1_u16.to_le_bytes());
    put(&mut inode, 32, &flags.to_le_bytes());
    inode
}

#[test]
fn a_directory_with_pointers_is_kept_and_a_file_is_not() {
    for (mode, leaf) in [(0x41ED, Leaf::Kept), (0x81A4, Leaf::Data)] {
        let mut inode = inode(mode, 0);
        for (index, block) in [500_u32, 501, 502, 0, 700].into_iter().enumerate() {
            put(&mut inode, 40 + 4 * index, &block.to_le_bytes());
        }
        for (index, block) in [800_u32, 801, 19_999].into_iter().enumerate() {
            put(&mut inode, 88 + 4 * index, &block.to_le_bytes());
        }
        let pointers = |level| Part::ExtPointers { level, leaf };
        let found = geometry().inode_claims(0, 12, &inode);
        let own = Part::of(leaf);
        let trees = [(800, 800, pointers(1)), (801, 801, pointers(2)), (19_999, 19_999, pointers(3))];
        assert_eq!(blocks(&found), [&[(500, 502, own), (700, 700, own)], &trees[..]].concat());
        assert!(found.iter().all(|claim| claim.role.owner == 12));
    }
}

#[test]
fn the_journal_is_kept_and_so_are_shared_attributes() {
    let mut journal = inode(0x8180, 0);
    put(&mut journal, 40, &900_u32.to_le_bytes());
    assert_eq!(blocks(&geometry().inode_claims(0, 8, &journal)), [(900, 900, Part::Kept)]);
    let mut file = inode(0x8180, 0);
    put(&mut file, 104, &77_u32.to_le_bytes());
    let found = geometry().inode_claims(0, 13, &file);
    assert_eq!((blocks(&found), found[0].role.owner), (vec![(77, 77, Part::Kept)], SHARED));
    put(&mut file, 26, &[0, 0]);
    assert_eq!(geometry().inode_claims(0, 13, &file), [], "a file that is deleted");
}

/// A head of extents with entries of 12 bytes.
fn tree(depth: u16, entries: &[[u8; 12]]) -> Vec<u8> {
    let mut tree = vec![0; 12];
    put(&mut tree, 0, &0xF30A_u16.to_le_bytes());
    put(&mut tree, 2, &(entries.len() as u16).to_le_bytes());
    put(&mut tree, 6, &depth.to_le_bytes());
    tree.extend(entries.concat());
    tree
}

fn extent(length: u16, start: u32) -> [u8; 12] {
    let mut entry = [0; 12];
    put(&mut entry, 4, &length.to_le_bytes());
    put(&mut entry, 8, &start.to_le_bytes());
    entry
}

#[test]
fn extents_are_followed_down_the_tree() {
    let mut index = [0; 12];
    put(&mut index, 4, &600_u32.to_le_bytes());
    let mut file = inode(0x81A4, 0x8_0000);
    put(&mut file, 40, &tree(1, &[index]));
    let below = Part::ExtExtents { depth: 0, leaf: Leaf::Data };
    assert_eq!(blocks(&geometry().inode_claims(0, 20, &file)), [(600, 600, below)]);
    let block = tree(0, &[extent(10, 1000), extent(0x8000 + 4, 1010), extent(3, 3000), extent(9, 19_995)]);
    let of = |depth| blocks(&geometry().extent_claims(0, 20, &block, depth, Leaf::Data));
    assert_eq!(of(0), [(1000, 1013, Part::Data), (3000, 3002, Part::Data)], "written or not; none beyond the end");
    assert_eq!(of(1), [], "another depth than its parent says");
}

#[test]
fn a_short_link_and_inline_data_have_no_blocks() {
    let mut link = inode(0xA1FF, 0);
    put(&mut link, 4, &20_u32.to_le_bytes());
    put(&mut link, 40, b"where/it/points/to..");
    assert_eq!(geometry().inode_claims(0, 30, &link), []);
    let mut long = inode(0xA1FF, 0);
    put(&mut long, 4, &80_u32.to_le_bytes());
    put(&mut long, 40, &500_u32.to_le_bytes());
    assert_eq!(blocks(&geometry().inode_claims(0, 30, &long)), [(500, 500, Part::Kept)]);
    let mut inline = inode(0x81A4, 0x1000_0000);
    put(&mut inline, 40, &500_u32.to_le_bytes());
    assert_eq!(geometry().inode_claims(0, 31, &inline), []);
}
