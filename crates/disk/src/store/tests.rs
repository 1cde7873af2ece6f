//! Stores against a plain array, which is what a disk is.

use super::*;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

const BYTES: u64 = 5 * 1024 * 1024 + 512;

/// A small generator of test data: the sequence of Marsaglia's xorshift.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wordline-store-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("disk.img")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn range(dice: &mut Dice) -> (u64, u64) {
    let aligned = dice.below(2) == 0;
    let unit = if aligned { PAGE as u64 } else { 1 };
    let offset = dice.below(BYTES / unit) * unit;
    let most = if dice.below(8) == 0 { 3 << 20 } else { 20_000 };
    let bytes = (1 + dice.below(most / unit)) * unit;
    (offset, bytes.min(BYTES - offset))
}

pub fn agrees_with_an_array(store: &mut dyn Store, steps: u32) {
    let mut array = vec![0_u8; BYTES as usize];
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for step in 0..steps {
        let (offset, bytes) = range(&mut dice);
        let part = offset as usize..(offset + bytes) as usize;
        match dice.below(6) {
            0 | 1 => {
                let data: Vec<u8> = part.clone().map(|at| (at as u64 * 31 + u64::from(step)) as u8).collect();
                array[part].copy_from_slice(&data);
                store.write(offset, &data).unwrap();
            }
            2 => {
                let byte = dice.below(3) as u8 * 77;
                array[part.clone()].fill(byte);
                store.write(offset, &array[part]).unwrap();
            }
            3 => {
                array[part].fill(0);
                store.zero(offset, bytes).unwrap();
            }
            4 => {
                let mut got = vec![1; bytes as usize];
                store.read(offset, &mut got).unwrap();
                assert!(got == array[part], "step {step}: a read of {bytes} bytes at {offset}");
            }
            _ => {
                let extent = store.extent(offset, offset + bytes).unwrap();
                assert!(extent.bytes > 0 && extent.bytes <= bytes, "step {step}: {extent:?} of {bytes}");
                let part = offset as usize..(offset + extent.bytes) as usize;
                assert!(!extent.hole || array[part].iter().all(|byte| *byte == 0), "step {step}: a hole with data");
            }
        }
    }
    let mut got = vec![1; BYTES as usize];
    store.read(0, &mut got).unwrap();
    assert!(got == array);
}

#[test]
fn memory_agrees_with_an_array() {
    agrees_with_an_array(&mut MemoryStore::new(BYTES), 4_000);
}

#[test]
fn a_file_agrees_with_an_array() {
    let folder = Folder::new("array");
    agrees_with_an_array(&mut FileStore::open(&folder.file(), BYTES).unwrap(), 1_500);
}

#[test]
fn a_file_without_holes_agrees_with_an_array() {
    let folder = Folder::new("solid");
    let mut store = FileStore::open(&folder.file(), BYTES).unwrap();
    store.refuse_holes();
    agrees_with_an_array(&mut store, 300);
}

#[test]
fn zero_and_uniform_pages_take_no_memory_and_zeroing_frees() {
    let mut store = MemoryStore::new(64 << 30);
    let empty = store.held_bytes();
    assert_eq!(empty, (64 << 30) / (2 << 20) * 8);
    store.write(1 << 30, &[0xA5; 1 << 20]).unwrap();
    assert_eq!(store.held_bytes(), empty + 2048, "a table for 2 MiB, and no data");
    let data: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 7) as u8).collect();
    store.write(1 << 30, &data).unwrap();
    assert_eq!(store.held_bytes(), empty + 2048 + (1 << 20));
    store.zero(1 << 30, 1 << 20).unwrap();
    assert_eq!(store.held_bytes(), empty + 2048);
    assert_eq!(store.extent(0, 64 << 30).unwrap(), Extent { bytes: 64 << 30, hole: true });
}

#[test]
fn extents_end_where_the_state_changes() {
    let mut store = MemoryStore::new(BYTES);
    store.write(3 * PAGE as u64, &[1; 2 * PAGE]).unwrap();
    let page = PAGE as u64;
    assert_eq!(store.extent(0, BYTES).unwrap(), Extent { bytes: 3 * page, hole: true });
    assert_eq!(store.extent(3 * page + 5, BYTES).unwrap(), Extent { bytes: 2 * page - 5, hole: false });
    assert_eq!(store.extent(5 * page, BYTES).unwrap(), Extent { bytes: BYTES - 5 * page, hole: true });
}

/// Opens a file that this test has closed. A program that another test starts at this moment has it open until it runs.
fn once_closed(path: &Path, bytes: u64) -> Result<FileStore, String> {
    for _ in 0..500 {
        match FileStore::open(path, bytes) {
            Err(told) if told.ends_with("another server uses this file") => thread::sleep(Duration::from_millis(10)),
            opened => return opened,
        }
    }
    FileStore::open(path, bytes)
}

#[test]
fn a_file_keeps_its_data_has_one_server_and_one_size() {
    let folder = Folder::new("keeps");
    let path = folder.file();
    let mut store = FileStore::open(&path, BYTES).unwrap();
    store.write(4000, b"kept").unwrap();
    let told = FileStore::open(&path, BYTES).map(drop).unwrap_err();
    assert!(told.ends_with("another server uses this file"), "{told}");
    drop(store);
    let told = once_closed(&path, BYTES * 2).map(drop).unwrap_err();
    assert!(told.contains(&format!("has {BYTES} bytes, and the drive {}", BYTES * 2)), "{told}");
    let mut again = once_closed(&path, BYTES).unwrap();
    let mut got = [0; 4];
    again.read(4000, &mut got).unwrap();
    assert_eq!(&got, b"kept");
    let told = FileStore::open(&folder.0, BYTES).map(drop).unwrap_err();
    assert!(told.contains("cannot use this file as the store"), "{told}");
}

#[test]
fn a_kind_is_named_as_the_user_does() {
    assert_eq!(Kind::parse("memory"), Ok(Kind::Memory));
    assert_eq!(Kind::parse("file:a:b.img"), Ok(Kind::File("a:b.img".into())));
    assert_eq!(Kind::parse("metadata"), Ok(Kind::Metadata(None)));
    assert_eq!(Kind::parse("metadata:my.toml"), Ok(Kind::Metadata(Some("my.toml".into()))));
    for wrong in ["", "memroy", "file:", "file", "disk:a", "metadata:"] {
        assert!(Kind::parse(wrong).unwrap_err().starts_with(&format!("--store {wrong}: ")));
    }
}
