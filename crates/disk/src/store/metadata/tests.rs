//! The store under whole file systems: images of the tools, written block by block in any order.

use super::super::tests::{Dice, Folder};
use super::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MIB: u64 = 1 << 20;

/// Runs a tool; none if it is not installed.
fn run(name: &str, arguments: &[&str]) -> Option<Output> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    Command::new(name).args(arguments).env("PATH", path).output().ok()
}

/// Runs a tool, which succeeds; what it prints, or none if it is not installed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let done = run(name, arguments)?;
    let (out, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{name} {arguments:?}: {out}{errors}");
    Some(out.into_owned())
}

/// A tree of files: small ones, a large one, a directory of several blocks, long and short links.
fn tree(root: &Path) {
    for index in 0..3 {
        let folder = root.join(format!("folder{index}/inner"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..(if index == 1 { 400 } else { 20 }) {
            fs::write(
                folder.join(format!("a file with a rather long name {file}")),
                format!("secret {file} ").repeat(200),
            )
            .unwrap();
        }
    }
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 3) as u8 | 1).collect();
    fs::write(root.join("large"), large).unwrap();
    std::os::unix::fs::symlink("large", root.join("short")).unwrap();
    std::os::unix::fs::symlink(format!("folder1/{}", "x".repeat(200)), root.join("long")).unwrap();
}

/// Writes what an image holds in pieces of `piece` bytes, in an order of the dice.
fn write_all(store: &mut MetadataStore, image: &[u8], at: u64, piece: usize, dice: &mut Dice) {
    let mut order: Vec<usize> = (0..image.len().div_ceil(piece)).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, dice.below(last as u64 + 1) as usize);
    }
    for index in order {
        let data = &image[index * piece..image.len().min((index + 1) * piece)];
        if data.iter().any(|byte| *byte != 0) {
            store.write(at + (index * piece) as u64, data).unwrap();
        }
    }
}

fn read_all(store: &mut MetadataStore, at: u64, bytes: usize) -> Vec<u8> {
    let mut image = vec![1; bytes];
    store.read(at, &mut image).unwrap();
    image
}

/// An image of the tree by mke2fs; none if it is not installed.
fn ext(folder: &Folder, options: &[&str], mib: u64) -> Option<PathBuf> {
    let (root, image) = (folder.0.join("tree"), folder.0.join("made.img"));
    if !root.exists() {
        tree(&root);
    }
    let _ = fs::remove_file(&image);
    let size = format!("{mib}M");
    let fixed = ["-q", "-F", "-d", root.to_str().unwrap()];
    tool("mke2fs", &[&fixed[..], options, &[image.to_str().unwrap(), &size]].concat())?;
    // It counts quotas before it writes the files.
    run("e2fsck", &["-f", "-y", image.to_str().unwrap()])?;
    Some(image)
}

/// Checks what the store gives back of an ext: clean for e2fsck, the same list of files, and zeros in files.
fn check_ext(folder: &Folder, made: &Path, found: &[u8], name: &str) {
    let back = folder.0.join("back.img");
    fs::write(&back, found).unwrap();
    let back = back.to_str().unwrap();
    let checked = tool("e2fsck", &["-f", "-n", back]).unwrap();
    assert!(!checked.contains("Fix"), "{name}: {checked}");
    for command in
        ["ls -l /folder1/inner", "ls -l /", "stat long", "stat large", "stat folder1/inner", "htree /folder1/inner"]
    {
        let list = |image: &str| tool("debugfs", &["-R", command, image]).unwrap();
        assert_eq!(list(back), list(made.to_str().unwrap()), "{name}: {command}");
    }
    for file in ["large", "folder0/inner/a file with a rather long name 7"] {
        let copy = folder.0.join("copy");
        let command = format!("dump \"{file}\" {}", copy.display());
        tool("debugfs", &["-R", &command, back]).unwrap();
        let data = fs::read(&copy).unwrap();
        assert!(data.len() > 1000 && data.iter().all(|byte| *byte == 0), "{name}: {file} is no row of zeros");
    }
    let original = fs::read(made).unwrap();
    let differ = original.iter().zip(found).position(|(one, other)| one != other && *other != 0);
    assert_eq!(differ, None, "{name}: a byte that was never written");
}

#[test]
fn ext_of_all_kinds_comes_back_without_its_data_in_any_order() {
    let folder = Folder::new("ext");
    let kinds: [(&str, &[&str], u64); 11] = [
        ("ext4, clusters", &["-t", "ext4", "-O", "bigalloc", "-C", "16384"], 40),
        ("ext4, quotas and orphans", &["-t", "ext4", "-O", "quota,project,orphan_file", "-I", "256"], 24),
        ("ext2", &["-t", "ext2"], 20),
        ("ext2, 1 KiB", &["-t", "ext2", "-b", "1024", "-O", "none"], 20),
        ("ext3", &["-t", "ext3"], 20),
        ("ext4", &["-t", "ext4"], 20),
        ("ext4, 1 KiB", &["-t", "ext4", "-b", "1024"], 20),
        ("ext4, 64 bits", &["-t", "ext4", "-O", "64bit,metadata_csum"], 20),
        ("ext4, no journal", &["-t", "ext4", "-O", "^has_journal,^flex_bg"], 20),
        ("ext4, meta groups", &["-t", "ext4", "-b", "1024", "-O", "meta_bg,^resize_inode"], 40),
        ("ext4, inline data, few copies", &["-t", "ext4", "-O", "inline_data,sparse_super2", "-I", "512"], 24),
    ];
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for (name, options, mib) in kinds {
        let Some(made) = ext(&folder, options, mib) else { return };
        let image = fs::read(&made).unwrap();
        let piece = [1024, 4096, 32_768][dice.below(3) as usize];
        let mut store = MetadataStore::new(image.len() as u64, &Rules::default());
        write_all(&mut store, &image, 0, piece, &mut dice);
        let found = read_all(&mut store, 0, image.len());
        check_ext(&folder, &made, &found, name);
        let sorted = store.sorted().unwrap();
        assert!(sorted.dropped > 3_000_000 && sorted.evicted == 0, "{name}: {sorted:?}");
        assert!(sorted.kept < 2_000_000, "{name}: {sorted:?}");
    }
}

#[test]
fn from_one_state_to_the_next_blocks_may_come_in_any_order() {
    let folder = Folder::new("next");
    let mut dice = Dice(0xD1B5_4A32_D192_ED03);
    for kind in [&["-t", "ext4", "-b", "1024"][..], &["-t", "ext2", "-b", "1024"]] {
        let Some(made) = ext(&folder, kind, 20) else { return };
        let before = fs::read(&made).unwrap();
        // Blocks of deleted files become those of directories and links, and the other way round.
        let mut script = String::from("rm large\n");
        for file in 0..400 {
            script += &format!("rm \"folder1/inner/a file with a rather long name {file}\"\n");
        }
        script += "rmdir folder1/inner\nrmdir folder1\nmkdir folder1\nmkdir folder1/inner\n";
        for file in 0..120 {
            let long = "far/away/".repeat(20);
            script += &format!("symlink \"folder1/inner/{}{file}\" {long}{file}\n", "name".repeat(20));
        }
        let source = folder.0.join("source");
        fs::write(&source, vec![0xEE; 700_000]).unwrap();
        script += &format!("write {} large\nrm long\nsymlink long {}\n", source.display(), "else/".repeat(20));
        let commands = folder.0.join("commands");
        fs::write(&commands, script).unwrap();
        tool("debugfs", &["-w", "-f", commands.to_str().unwrap(), made.to_str().unwrap()]).unwrap();
        let after = fs::read(&made).unwrap();
        let mut fresh = MetadataStore::new(after.len() as u64, &Rules::default());
        write_all(&mut fresh, &after, 0, 4096, &mut dice);
        let expected = read_all(&mut fresh, 0, after.len());
        for _ in 0..3 {
            let mut store = MetadataStore::new(after.len() as u64, &Rules::default());
            write_all(&mut store, &before, 0, 4096, &mut dice);
            let mut changed: Vec<usize> =
                (0..after.len() / 1024).filter(|n| before[n * 1024..][..1024] != after[n * 1024..][..1024]).collect();
            assert!(changed.len() > 800, "{} blocks", changed.len());
            while !changed.is_empty() {
                let block = changed.swap_remove(dice.below(changed.len() as u64) as usize) * 1024;
                store.write(block as u64, &after[block..][..1024]).unwrap();
            }
            let found = read_all(&mut store, 0, after.len());
            check_ext(&folder, &made, &found, "the next state");
            // What belongs to no file now may be left, or not.
            let role = |piece: Piece| (piece.start, piece.end, piece.role.map(|role| (role.part, role.owner)));
            let of = |store: &MetadataStore| store.ranges.pieces(0, after.len() as u64).map(role).collect::<Vec<_>>();
            assert_eq!(of(&store), of(&fresh));
            for piece in fresh.ranges.pieces(0, after.len() as u64).filter(|piece| piece.role.is_some()) {
                let part = piece.start as usize..piece.end as usize;
                assert!(found[part.clone()] == expected[part], "{piece:?}");
            }
        }
    }
}

#[test]
fn file_systems_in_partitions_come_back() {
    let folder = Folder::new("parts");
    let Some(made) = ext(&folder, &["-t", "ext4", "-b", "1024"], 20) else { return };
    let image = fs::read(&made).unwrap();
    let size = image.len() as u64;
    let mut dice = Dice(5);
    // A first partition, and one in the chain of an extended one, at an odd sector.
    let (first, second) = (MIB, 64 * MIB + 63 * 512);
    let sectors = |bytes: u64| (bytes / 512) as u32;
    let table = partitions::mbr(&[(0x83, 2048, sectors(size)), (0x05, sectors(64 * MIB), sectors(60 * MIB))]);
    let chain = partitions::mbr(&[(0x83, 63, sectors(size))]);
    let mut store = MetadataStore::new(128 * MIB, &Rules::default());
    store.write(64 * MIB, &chain).unwrap();
    write_all(&mut store, &image, second, 4096, &mut dice);
    store.write(0, &table).unwrap();
    write_all(&mut store, &image, first, 4096, &mut dice);
    for at in [first, second] {
        let found = read_all(&mut store, at, image.len());
        check_ext(&folder, &made, &found, &format!("partition at {at}"));
    }
    assert_eq!(read_all(&mut store, 0, 512), table);
    assert_eq!(read_all(&mut store, 64 * MIB, 512), chain);
    let files = store.ranges.len();
    store.write(0, &partitions::mbr(&[(0x83, 2048, sectors(size))])).unwrap();
    assert!(store.ranges.len() < files / 2 + 20, "the second partition is no more");
    store.zero(0, 128 * MIB).unwrap();
    assert_eq!((store.ranges.len(), store.volumes.len()), (1, 0), "only the start of the disk");
    assert_eq!((store.late.len(), store.data.data_bytes()), (0, 0));
}

#[test]
fn a_guid_table_gives_way_to_a_file_system_on_the_whole_disk() {
    let folder = Folder::new("guid");
    let Some(made) = ext(&folder, &["-t", "ext2"], 20) else { return };
    let image = fs::read(&made).unwrap();
    let mut head = vec![0; 512];
    head[..8].copy_from_slice(b"EFI PART");
    for (at, value) in [(32, (64 * MIB / 512 - 1) as u32), (72, 2), (80, 128), (84, 128)] {
        head[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let mut entries = vec![0; 16_384];
    entries[128] = 0xAF;
    entries[160..164].copy_from_slice(&4096_u32.to_le_bytes());
    let mut store = MetadataStore::new(64 * MIB, &Rules::default());
    let mut dice = Dice(9);
    write_all(&mut store, &image, 2 * MIB, 4096, &mut dice);
    store.write(1024, &entries).unwrap();
    store.write(512, &head).unwrap();
    store.write(64 * MIB - 512, &head).unwrap();
    assert!(store.volumes.is_empty());
    store.write(0, &partitions::mbr(&[(0xEE, 1, (64 * MIB / 512 - 1) as u32)])).unwrap();
    let found = read_all(&mut store, 2 * MIB, image.len());
    check_ext(&folder, &made, &found, "in a GPT");
    assert_eq!(
        store.ranges.at(64 * MIB - 512, 64 * MIB).role.map(|role| role.part),
        Some(Part::GptHeader { sector: 512 })
    );
    // Tools that format the whole disk wipe its first sectors.
    store.write(0, &[0; 4096]).unwrap();
    assert!(store.volumes.is_empty());
    write_all(&mut store, &image, 0, 4096, &mut dice);
    let found = read_all(&mut store, 0, image.len());
    assert!(matches!(store.volumes.get(&0), Some(Volume::Ext(_))));
    fs::write(folder.0.join("back.img"), &found).unwrap();
    let data = tool("debugfs", &["-R", "cat large", folder.0.join("back.img").to_str().unwrap()]).unwrap();
    assert!(data.len() == 3_000_000 && data.bytes().all(|byte| byte == 0));
}

/// An NTFS with two large files and a small one; none if its tools are not installed.
fn ntfs(folder: &Folder) -> Option<PathBuf> {
    let path = folder.0.join("ntfs.img");
    let made = path.to_str().unwrap();
    fs::File::create(&path).unwrap().set_len(24 * MIB).unwrap();
    tool("mkntfs", &["-q", "-Q", "-F", made])?;
    let (large, small) = (folder.0.join("large"), folder.0.join("small"));
    fs::write(&large, vec![0x5A; 1_000_000]).unwrap();
    fs::write(&small, "a small file, in its record").unwrap();
    for (name, file) in [("large", &large), ("other", &large), ("small", &small)] {
        tool("ntfscp", &["-f", made, file.to_str().unwrap(), name]).unwrap();
    }
    Some(path)
}

#[test]
fn ntfs_comes_back_without_its_data_in_any_order() {
    let folder = Folder::new("ntfs");
    let Some(path) = ntfs(&folder) else { return };
    let made = path.to_str().unwrap();
    let image = fs::read(&path).unwrap();
    for piece in [512, 4096, 65_536] {
        let mut store = MetadataStore::new(24 * MIB, &Rules::default());
        write_all(&mut store, &image, 0, piece, &mut Dice(77 + piece as u64));
        let found = read_all(&mut store, 0, image.len());
        let back = folder.0.join("back.img");
        fs::write(&back, &found).unwrap();
        let back = back.to_str().unwrap();
        tool("ntfsfix", &["-n", back]).unwrap();
        assert_eq!(tool("ntfsls", &["-l", "-s", back]), tool("ntfsls", &["-l", "-s", made]));
        assert_eq!(tool("ntfscat", &["-f", back, "small"]).unwrap(), "a small file, in its record");
        let data = tool("ntfscat", &["-f", back, "large"]).unwrap();
        assert!(data.len() == 1_000_000 && data.bytes().all(|byte| byte == 0));
        let differ = image.iter().zip(&found).filter(|(one, other)| one != other).count();
        assert_eq!(differ, 2_000_000, "the data of two files, and nothing else");
        let sorted = store.sorted().unwrap();
        assert!(sorted.dropped >= 2_000_000 && sorted.kept < 1_000_000 && sorted.evicted == 0, "{sorted:?}");
    }
}

#[test]
fn what_looks_like_metadata_outlives_much_data_before_the_superblock() {
    let folder = Folder::new("likely");
    tree(&folder.0.join("tree"));
    // The block of a long link looks like a text.
    fs::remove_file(folder.0.join("tree/long")).unwrap();
    let Some(made) = ext(&folder, &["-t", "ext4"], 20) else { return };
    let image = fs::read(&made).unwrap();
    let mut store = MetadataStore::new(64 * MIB, &Rules { late_bytes: 2 * MIB, ..Rules::default() });
    // All but the first block, which has the superblock; data behind the file system; the tables that tools write last.
    write_all(&mut store, &image[8192..], 8192, 4096, &mut Dice(3));
    for at in (30 * MIB..60 * MIB).step_by(4096) {
        store.write(at, &[&at.to_le_bytes()[..], &[7; 4088]].concat()).unwrap();
    }
    store.write(0, &image[..8192]).unwrap();
    let bitmaps: Vec<(u64, u64)> = store
        .ranges
        .pieces(0, 20 * MIB)
        .filter(|p| p.role.is_some_and(|r| r.part == Part::Kept && r.rank == role::Rank::Fixed))
        .map(|p| (p.start, p.end))
        .collect();
    for (start, end) in bitmaps {
        store.write(start, &image[start as usize..end as usize]).unwrap();
    }
    let found = read_all(&mut store, 0, image.len());
    check_ext(&folder, &made, &found, "late superblock");
    assert!(store.sorted().unwrap().evicted > 30 * MIB);
}

#[test]
fn without_a_file_system_all_waits_until_there_is_no_room() {
    let bytes = 5 * MIB + 512;
    let rules = Rules { late_bytes: 6 * MIB, ..Rules::default() };
    super::super::tests::agrees_with_an_array(&mut MetadataStore::new(bytes, &rules), 2_000);
    let mut store = MetadataStore::new(64 * MIB, &rules);
    let page: Vec<u8> = (0..4096_u32).map(|at| at as u8).collect();
    for at in (MIB..9 * MIB).step_by(4096) {
        store.write(at, &page).unwrap();
    }
    let sorted = store.sorted().unwrap();
    assert_eq!(sorted.waiting + sorted.evicted, 8 * MIB);
    assert!(sorted.waiting > 5 * MIB && sorted.waiting <= 6 * MIB && sorted.kept == 0);
    assert_eq!(read_all(&mut store, MIB, 4096), [0; 4096], "the oldest is gone");
    assert_eq!(read_all(&mut store, 9 * MIB - 4096, 4096), page, "the newest is not");
    assert_eq!(store.extent(0, 64 * MIB).unwrap().bytes, MIB + sorted.evicted);
}

#[test]
fn rules_keep_ranges_and_blocks_and_drop_others() {
    let mut rules = Rules { late_bytes: 0, ..Rules::default() };
    rules.keep.push(rules::Range { from_byte: 8192, to_byte: 9000 });
    rules.drop.push(rules::Range { from_byte: 40_960, to_byte: 49_152 });
    rules.pattern.push(rules::Pattern { block_bytes: 512, at_byte: 4, hex: "4142".into() });
    let mut store = MetadataStore::new(MIB, &rules);
    let mut data: Vec<u8> = (0..65_536_u32).map(|at| (at % 251) as u8 | 1).collect();
    data[20_480 + 4..][..2].copy_from_slice(b"AB");
    data[45_056 + 4..][..2].copy_from_slice(b"AB");
    store.write(0, &data).unwrap();
    let mut left = vec![0; data.len()];
    // The start of the disk, the range, the block with the pattern that is not dropped.
    for part in [0..2048, 8192..9000, 20_480..20_992] {
        left[part.clone()].copy_from_slice(&data[part]);
    }
    assert!(read_all(&mut store, 0, data.len()) == left);
    store.write(20_480, &[1; 512]).unwrap();
    assert_eq!(read_all(&mut store, 20_480, 512), [0; 512], "the pattern is gone");
}

/// A disk with an ext2 of 1 KiB blocks made by hand: inodes in block 5, of a group of 8,192 blocks.
fn small_ext() -> MetadataStore {
    let mut store = MetadataStore::new(8 * MIB, &Rules::default());
    let mut head = vec![0; 1024];
    let mut put = |at: usize, value: u32| head[at..at + 4].copy_from_slice(&value.to_le_bytes());
    for (at, value) in [(4, 8192), (20, 1), (32, 8192), (40, 16), (56, 0xEF53), (76, 1), (88, 128)] {
        put(at, value);
    }
    store.write(1024, &head).unwrap();
    let descriptor: Vec<u8> = [3_u32, 4, 5].iter().flat_map(|block| block.to_le_bytes()).collect();
    store.write(2048, &descriptor).unwrap();
    store
}

/// Inode `number` of it, with one block.
fn write_inode(store: &mut MetadataStore, number: u64, mode: u16, block: u32) {
    let mut inode = [0; 128];
    inode[..2].copy_from_slice(&mode.to_le_bytes());
    inode[26] = u8::from(mode != 0);
    inode[40..44].copy_from_slice(&block.to_le_bytes());
    store.write(5 * 1024 + 128 * (number - 1), &inode).unwrap();
}

const FILE: u16 = 0x81A4;
const DIRECTORY: u16 = 0x41ED;

#[test]
fn a_block_that_goes_from_a_file_to_a_directory_is_kept_in_whatever_order_it_is_written() {
    let block = |store: &mut MetadataStore| read_all(store, 600 * 1024, 1024);
    for early in [true, false] {
        let mut store = small_ext();
        write_inode(&mut store, 12, FILE, 600);
        store.write(600 * 1024, &[1; 1024]).unwrap();
        assert_eq!(block(&mut store), [0; 1024], "data of a file");
        if early {
            // The directory's block comes before its inode, while the block still belongs to the file.
            store.write(600 * 1024, &[2; 1024]).unwrap();
            assert_eq!(block(&mut store), [0; 1024]);
        }
        write_inode(&mut store, 13, DIRECTORY, 600);
        write_inode(&mut store, 12, 0, 0);
        if !early {
            store.write(600 * 1024, &[2; 1024]).unwrap();
        }
        assert_eq!(block(&mut store), [2; 1024]);
        let sorted = store.sorted().unwrap();
        assert_eq!(sorted.waiting, 0, "{sorted:?}");
        // And back.
        write_inode(&mut store, 14, FILE, 600);
        assert_eq!(block(&mut store), [0; 1024]);
    }
}

#[test]
fn a_deleted_directory_may_go() {
    let mut store = small_ext();
    write_inode(&mut store, 12, DIRECTORY, 600);
    store.write(600 * 1024, &[2; 1024]).unwrap();
    let kept = store.ranges.len();
    write_inode(&mut store, 12, 0, 0);
    assert_eq!(store.ranges.len(), kept - 1);
    assert_eq!((store.sorted().unwrap().waiting, store.late.len()), (4096, 1));
}

#[test]
fn a_new_file_system_forgets_the_old_one() {
    let mut store = small_ext();
    write_inode(&mut store, 12, FILE, 600);
    store.write(1024, &[0; 1024]).unwrap();
    assert_eq!((store.ranges.len(), store.volumes.len()), (1, 0));
    store.write(600 * 1024, &[3; 1024]).unwrap();
    assert_eq!(read_all(&mut store, 600 * 1024, 1024), [3; 1024], "nobody says that it is data");
}

/// Changes a few bytes of what the store itself reads, again and again, so that most of it still makes sense.
fn spoil(image: &[u8], dice: &mut Dice) {
    let bytes = image.len() as u64;
    let mut store = MetadataStore::new(bytes, &Rules { late_bytes: MIB, ..Rules::default() });
    write_all(&mut store, image, 0, 4096, dice);
    let is_watched = |piece: &Piece| piece.role.is_some_and(Role::is_watched);
    let watched: Vec<Piece> = store.ranges.pieces(0, bytes).filter(is_watched).collect();
    for _ in 0..10_000 {
        let piece = watched[dice.below(watched.len() as u64) as usize];
        // Where something is, mostly: the first bytes of a table.
        let at = piece.start + dice.below(piece.end - piece.start).min(1 + dice.below(100_000));
        let values: Vec<u8> =
            (0..1 + dice.below(8)).map(|_| [0, 1, 255, dice.below(256) as u8][dice.below(4) as usize]).collect();
        store.write(at.min(bytes - values.len() as u64), &values).unwrap();
        assert!(store.late.bytes() <= MIB);
    }
}

#[test]
fn contents_that_make_no_sense_do_no_harm() {
    let mut dice = Dice(0x5DEE_CE66_D1CE_4E5B);
    let folder = Folder::new("harm");
    for kind in [&["-t", "ext4", "-b", "1024", "-O", "^has_journal"][..], &["-t", "ext2"]] {
        if let Some(made) = ext(&folder, kind, 16) {
            spoil(&fs::read(made).unwrap(), &mut dice);
        }
    }
    if let Some(made) = ntfs(&folder) {
        spoil(&fs::read(made).unwrap(), &mut dice);
    }
    let mut table = partitions::mbr(&[(0x83, 8, 100), (0x05, 200, 2000), (0xEE, 1, 1)]);
    table.resize(16 << 20, 0);
    spoil(&table, &mut dice);
}
