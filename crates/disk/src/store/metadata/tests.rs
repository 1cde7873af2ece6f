//! The store under whole file systems: images of the tools, written block by block in any order.

use super::super::tests::{Dice, Folder};
use super::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Runs a tool; what it prints, or none if it is not installed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let done = Command::new(name).args(arguments).env("PATH", path).output().ok()?;
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
    let kinds: [(&str, &[&str], u64); 9] = [
        ("ext2", &["-t", "ext2"], 64),
        ("ext2, 1 KiB", &["-t", "ext2", "-b", "1024", "-O", "none"], 40),
        ("ext3", &["-t", "ext3"], 64),
        ("ext4", &["-t", "ext4"], 64),
        ("ext4, 1 KiB", &["-t", "ext4", "-b", "1024"], 64),
        ("ext4, 64 bits", &["-t", "ext4", "-O", "64bit,metadata_csum"], 64),
        ("ext4, no journal", &["-t", "ext4", "-O", "^has_journal,^flex_bg"], 64),
        ("ext4, meta groups", &["-t", "ext4", "-b", "1024", "-O", "meta_bg,^resize_inode"], 300),
        ("ext4, inline data, few copies", &["-t", "ext4", "-O", "inline_data,sparse_super2", "-I", "512"], 64),
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
