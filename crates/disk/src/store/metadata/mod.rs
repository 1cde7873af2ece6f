//! Metadata in memory, and nothing else: a large disk with a file system in little memory. What file systems write about themselves
//! reads back exactly; file data read as zeros.
//!
//! Source: L.-P. Chang, "Design and Implementation of a Virtual Platform for Solid-State Disks", report NSC 99-2220-E-009-047, 2011
//! (chang11), III.B. Faithful: rules for each file system tell metadata from data by the contents of what is written, from the head of
//! the volume on. Different: the report compares numbers of inodes with bitmaps to find directories, we follow the trees of inodes; and
//! what is written before what explains it waits in a bounded cache, of which the report says nothing.
//!
//! Each range of the disk has a role ([`role`]), or none. A range whose contents say something about others is examined whenever they
//! change: what they said before and say no more is given up, what they say now is claimed. Contents of a range without a role, and of
//! file data, wait in the cache ([`late`]): their role may change with the next write. Data that wait are read as what they are while
//! their range has no role, and as zeros once it is known to be a file's.

mod bytes;
mod ext;
mod late;
mod likely;
mod ntfs;
mod partitions;
mod ranges;
mod role;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::Rules;

use super::memory::MemoryStore;
use super::{Sorted, Store, Syncer, PAGE};
use crate::protocol::Extent;
use late::Late;
use ranges::{Piece, Ranges};
use role::{Claim, Part, Role};
use std::collections::BTreeMap;
use std::io;

/// What the books of a range with a role take, in bytes.
const RANGE: u64 = 128;
const BYTES: u64 = PAGE as u64;

/// A disk of which only metadata are kept.
pub struct MetadataStore {
    data: MemoryStore,
    bytes: u64,
    ranges: Ranges,
    late: Late,
    /// What is on each volume, by its first byte.
    volumes: BTreeMap<u64, Volume>,
    /// Ranges of the user.
    user: Vec<Claim>,
    patterns: Vec<rules::Ready>,
    /// What is still to be done after a write, last first.
    work: Vec<Work>,
    dropped: u64,
    evicted: u64,
}

/// What is on a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Volume {
    /// A partition table, with what it says.
    Table(Vec<Claim>),
    Ext(ext::Geometry),
    Ntfs(ntfs::Geometry),
}

/// A change of roles.
enum Work {
    Claim(Claim),
    Give(Claim),
}

impl MetadataStore {
    /// An empty disk.
    #[must_use]
    pub fn new(bytes: u64, rules: &Rules) -> Self {
        let mut store = Self {
            data: MemoryStore::new(bytes),
            bytes,
            ranges: Ranges::default(),
            late: Late::new(rules.late_bytes),
            volumes: BTreeMap::new(),
            user: rules.claims(),
            patterns: rules.patterns(),
            work: Vec::new(),
            dropped: 0,
            evicted: 0,
        };
        store.restore(0, bytes);
        let start = partitions::volume(0);
        store.ranges.take(Claim { end: start.end.min(bytes), ..start });
        store
    }

    /// Writes `data`, or zeros of its length, piece by piece: after each, all roles follow from what the disk holds.
    fn change(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset + data.len() as u64;
        let mut at = offset;
        while at < end {
            let piece = self.ranges.at(at, end);
            let stop = match piece.role {
                Some(role) if role.is_watched() => {
                    let (_, last) = self.granule(role, at);
                    piece.end.min(last)
                }
                _ => piece.end,
            };
            let new = &data[(at - offset) as usize..(stop - offset) as usize];
            match piece.role {
                Some(role) if role.is_watched() => self.change_watched(role, at, new)?,
                role => self.change_plain(role, at, new)?,
            }
            at = stop;
        }
        Ok(())
    }

    /// Writes into one granule of a range whose contents say something.
    fn change_watched(&mut self, role: Role, at: u64, new: &[u8]) -> io::Result<()> {
        let (first, last) = self.granule(role, at);
        let mut before = vec![0; (last - first) as usize];
        self.data.read(first, &mut before)?;
        self.data.write(at, new)?;
        let mut after = before.clone();
        after[(at - first) as usize..][..new.len()].copy_from_slice(new);
        if before != after {
            self.examine(role, first, &before, &after);
            self.settle()?;
        }
        Ok(())
    }

    /// Writes into a range whose contents say nothing of others.
    fn change_plain(&mut self, role: Option<Role>, at: u64, new: &[u8]) -> io::Result<()> {
        let end = at + new.len() as u64;
        self.data.write(at, new)?;
        match role.map(|role| role.part) {
            None => self.wait(at, end),
            Some(Part::Data) => {
                self.dropped += if new.iter().any(|byte| *byte != 0) { new.len() as u64 } else { 0 };
                self.wait(at, end);
            }
            Some(_) => {}
        }
        if matches!(role.map(|role| role.part), None | Some(Part::Pattern(_))) && !self.patterns.is_empty() {
            self.compare(at, end)?;
        }
        Ok(())
    }

    /// The piece of a range that is examined at once: its first byte, and the first behind it.
    fn granule(&self, role: Role, at: u64) -> (u64, u64) {
        let (start, size) = match (role.part, self.volumes.get(&role.volume)) {
            (Part::Start, _) => (role.owner, partitions::START),
            (Part::MftRecords { start, .. }, Some(Volume::Ntfs(geometry))) => (start, geometry.record),
            (Part::GptEntries { sector, .. }, _) => (0, sector.into()),
            (_, Some(Volume::Ext(geometry))) => (role.volume, geometry.block),
            _ => (0, partitions::SECTOR),
        };
        let first = start + (at - start) / size * size;
        (first, (first + size).min(self.bytes))
    }

    /// The contents of a granule changed: replaces what they said by what they say.
    fn examine(&mut self, role: Role, first: u64, before: &[u8], after: &[u8]) {
        if role.part == Part::Start {
            self.recognise(role.owner, after);
        } else {
            let (old, new) = (self.said(role, first, before, after), self.said(role, first, after, before));
            self.replace(old, new);
        }
    }

    /// What a granule says of others, at least as far as it differs from `other`.
    fn said(&self, role: Role, first: u64, block: &[u8], other: &[u8]) -> Vec<Claim> {
        let Role { volume, owner, part, .. } = role;
        match (part, self.volumes.get(&volume)) {
            (Part::Ebr { extended, left }, _) => partitions::chained(block, first, extended, left),
            (Part::GptHeader { sector }, _) => partitions::gpt_header(block, sector),
            (Part::GptEntries { sector, each }, _) => partitions::gpt_entries(block, sector, each),
            (Part::ExtDescriptors { start, group }, Some(Volume::Ext(ext))) => {
                ext.described(volume, ext.group_at(first, start, group), block, other)
            }
            (Part::ExtInodes { start, group }, Some(Volume::Ext(ext))) => {
                ext.table_claims(volume, ext.inode_at(first, start, group), block, other)
            }
            (Part::ExtExtents { depth, leaf }, Some(Volume::Ext(ext))) => {
                ext.extent_claims(volume, owner, block, depth, leaf)
            }
            (Part::ExtPointers { level, leaf }, Some(Volume::Ext(ext))) => {
                ext.pointer_claims(volume, owner, block, level, leaf)
            }
            (Part::MftRecords { start, first: record }, Some(Volume::Ntfs(ntfs))) => {
                ntfs.record_claims(volume, record + (first - start) / ntfs.record, block)
            }
            _ => Vec::new(),
        }
    }

    /// Looks at the head of a volume. One that says something else than before is another volume.
    fn recognise(&mut self, start: u64, head: &[u8]) {
        let room = self.bytes - start;
        let table = || partitions::table(head, self.bytes).filter(|_| start == 0).map(Volume::Table);
        let ntfs = || ntfs::Geometry::of(head, room).map(Volume::Ntfs);
        let found = table().or_else(ntfs).or_else(|| ext::Geometry::of(head, room).map(Volume::Ext));
        if self.volumes.get(&start) == found.as_ref() {
            return;
        }
        let mut new = match &found {
            Some(Volume::Table(claims)) => claims.clone(),
            Some(Volume::Ext(geometry)) => geometry.claims(start),
            Some(Volume::Ntfs(geometry)) => geometry.claims(start),
            None => Vec::new(),
        };
        if !matches!(found, Some(Volume::Table(_))) {
            // A partition table that was here may have had a part of it.
            new.push(partitions::volume(start));
        }
        self.become_volume(start, found, new);
    }

    /// Replaces what is on a volume by something else, or by nothing, with its claims.
    fn become_volume(&mut self, start: u64, found: Option<Volume>, new: Vec<Claim>) {
        let before = match found {
            Some(volume) => self.volumes.insert(start, volume),
            None => self.volumes.remove(&start),
        };
        match before {
            Some(Volume::Table(old)) => self.replace(old, new),
            Some(_) => {
                // Its contents wait; what the new volume claims of them is kept before anything has to go.
                for (first, end) in self.ranges.give_volume(start) {
                    self.restore(first, end);
                    self.wait(first, end);
                }
                self.replace(Vec::new(), new);
            }
            None => self.replace(Vec::new(), new),
        }
    }

    /// Gives a range that has no role what the user wants of it.
    fn restore(&mut self, start: u64, end: u64) {
        for claim in &self.user {
            let claim = Claim { start: claim.start.max(start), end: claim.end.min(end), ..*claim };
            if claim.start < claim.end {
                self.ranges.take(claim);
            }
        }
    }

    /// Plans the change from old claims to new ones: what is given up comes first.
    fn replace(&mut self, old: Vec<Claim>, new: Vec<Claim>) {
        let given = without(old, &new);
        self.work.extend(new.into_iter().rev().map(Work::Claim));
        self.work.extend(given.into_iter().rev().map(Work::Give));
    }

    /// Does all that is planned.
    fn settle(&mut self) -> io::Result<()> {
        while let Some(work) = self.work.pop() {
            match work {
                Work::Claim(claim) => self.claim(claim)?,
                Work::Give(claim) => self.give(claim)?,
            }
        }
        Ok(())
    }

    fn claim(&mut self, claim: Claim) -> io::Result<()> {
        let claim = Claim { end: claim.end.min(self.bytes), ..claim };
        if claim.start >= claim.end {
            return Ok(());
        }
        let taken = self.ranges.take(claim);
        if claim.role.is_watched() {
            for piece in &taken {
                self.learn(claim.role, piece.start, piece.end)?;
            }
        }
        for piece in taken {
            // A volume is still there when a partition table takes a part of its head.
            if let Some(before) = piece.role.filter(|role| role.is_watched() && role.part != Part::Start) {
                self.forget(before, piece.start, piece.end)?;
            }
            if claim.role.part == Part::Data {
                self.drop_data(&piece)?;
            }
            self.wait_no_more(piece.start, piece.end)?;
        }
        Ok(())
    }

    fn give(&mut self, claim: Claim) -> io::Result<()> {
        // Nobody knows who else shares it.
        if claim.role.owner == role::SHARED {
            return Ok(());
        }
        for (start, end) in self.ranges.give(claim) {
            if claim.role.is_watched() {
                self.forget(claim.role, start, end)?;
            }
            self.restore(start, end);
            self.wait(start, end);
        }
        Ok(())
    }

    /// Plans what the contents of a range say, now that it has its role.
    fn learn(&mut self, role: Role, start: u64, end: u64) -> io::Result<()> {
        for (first, block) in self.granules(role, start, end)? {
            self.examine(role, first, &vec![0; block.len()], &block);
        }
        Ok(())
    }

    /// Plans to give up what the contents of a range say, now that it has lost its role.
    fn forget(&mut self, role: Role, start: u64, end: u64) -> io::Result<()> {
        if role.part == Part::Start {
            self.become_volume(role.owner, None, Vec::new());
            return Ok(());
        }
        for (first, block) in self.granules(role, start, end)? {
            let old = self.said(role, first, &block, &vec![0; block.len()]);
            self.replace(old, Vec::new());
        }
        Ok(())
    }

    /// The granules of a range that hold anything, with their contents.
    fn granules(&mut self, role: Role, start: u64, end: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let mut found = Vec::new();
        let mut at = start;
        while at < end {
            let extent = self.data.extent(at, end)?;
            let stop = at + extent.bytes;
            while at < stop && !extent.hole {
                let (first, last) = self.granule(role, at);
                let mut block = vec![0; (last - first) as usize];
                self.data.read(first, &mut block)?;
                found.push((first, block));
                at = last;
            }
            at = at.max(stop);
        }
        Ok(found)
    }

    /// Drops contents that turn out to be file data.
    fn drop_data(&mut self, piece: &Piece) -> io::Result<()> {
        let known = piece.role.is_some_and(|role| role.part == Part::Data);
        let mut at = piece.start;
        while at < piece.end && !known {
            let extent = self.data.extent(at, piece.end)?;
            self.dropped += if extent.hole { 0 } else { extent.bytes };
            at += extent.bytes;
        }
        self.data.zero(piece.start, piece.end - piece.start)
    }

    /// Contents of a range may turn out to be metadata: their pages wait.
    /// This holds for file data too: a file may have given a block to a directory that is written before the inodes of both.
    fn wait(&mut self, start: u64, end: u64) {
        let (mut page, last) = (start / BYTES, end.div_ceil(BYTES));
        for page in self.late.between(page, last) {
            self.late.remove(page);
        }
        while page < last {
            match self.data.data_of(page) {
                Some(bytes) => self.late.touch(page, bytes, false),
                None => {
                    page = self.data.next_held(page, last);
                    continue;
                }
            }
            page += 1;
        }
    }

    /// Contents of a range have a role that they keep: pages of which nothing else waits are off the books.
    fn wait_no_more(&mut self, start: u64, end: u64) -> io::Result<()> {
        for page in self.late.between(start / BYTES, end.div_ceil(BYTES)) {
            if self.waiting_in(page)?.is_empty() {
                self.late.remove(page);
            }
        }
        Ok(())
    }

    /// The pieces of a page that are not kept, and hold anything.
    fn waiting_in(&mut self, page: u64) -> io::Result<Vec<Piece>> {
        let (first, last) = (page * BYTES, ((page + 1) * BYTES).min(self.bytes));
        let mut contents = [0; PAGE];
        self.data.read(first, &mut contents[..(last - first) as usize])?;
        let waits = |piece: &Piece| {
            let part = &contents[(piece.start - first) as usize..(piece.end - first) as usize];
            !piece.role.is_some_and(Role::is_kept) && part.iter().any(|byte| *byte != 0)
        };
        Ok(self.ranges.pieces(first, last).filter(waits).collect())
    }

    /// True if a page looks like metadata.
    fn is_likely(&mut self, page: u64) -> io::Result<bool> {
        let first = page * BYTES;
        let mut contents = [0; PAGE];
        let length = BYTES.min(self.bytes - first) as usize;
        self.data.read(first, &mut contents[..length])?;
        Ok(likely::is_likely(&contents))
    }

    /// Drops what waited longest, until the rest has room.
    fn evict(&mut self) -> io::Result<()> {
        while let Some((page, likely)) = self.late.excess() {
            // It is looked at when its turn comes, so that what gets a role before costs nothing.
            if !likely && self.is_likely(page)? {
                let bytes = self.data.data_of(page).unwrap_or_default();
                self.late.touch(page, bytes, true);
                continue;
            }
            for piece in self.waiting_in(page)? {
                if piece.role.is_none() {
                    self.evicted += piece.end - piece.start;
                }
                self.data.zero(piece.start, piece.end - piece.start)?;
            }
        }
        Ok(())
    }

    /// Compares blocks that changed with the patterns of the user.
    fn compare(&mut self, start: u64, end: u64) -> io::Result<()> {
        for index in 0..self.patterns.len() {
            let size = self.patterns[index].block;
            let role = Role::owned(role::DISK, 0, Part::Pattern(index as u32));
            for first in (start / size * size..end).step_by(size as usize) {
                let last = (first + size).min(self.bytes);
                let mut block = vec![0; (last - first) as usize];
                self.data.read(first, &mut block)?;
                let (has, claim) = (self.patterns[index].matches(&block), Claim { start: first, end: last, role });
                match self.ranges.at(first, last).role {
                    None if has => self.work.push(Work::Claim(claim)),
                    Some(found) if found == role && !has => self.work.push(Work::Give(claim)),
                    _ => {}
                }
            }
        }
        self.settle()
    }
}

/// What is left of old claims without the new ones of the same role.
fn without(mut old: Vec<Claim>, new: &[Claim]) -> Vec<Claim> {
    if new.is_empty() {
        return old;
    }
    let mut sorted = new.to_vec();
    sorted.sort_unstable();
    old.retain(|claim| sorted.binary_search(claim).is_err());
    let mut left = Vec::new();
    for claim in old {
        let mut at = claim.start;
        for other in sorted.iter().filter(|other| other.role == claim.role && other.end > claim.start) {
            if other.start >= claim.end {
                break;
            }
            if other.start > at {
                left.push(Claim { start: at, end: other.start, ..claim });
            }
            at = at.max(other.end);
        }
        if at < claim.end {
            left.push(Claim { start: at, ..claim });
        }
    }
    left
}

impl Store for MetadataStore {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        for piece in self.ranges.pieces(offset, offset + into.len() as u64) {
            let place = &mut into[(piece.start - offset) as usize..(piece.end - offset) as usize];
            if piece.role.is_some_and(|role| role.part == Part::Data) {
                place.fill(0);
            } else {
                self.data.read(piece.start, place)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(offset, data)?;
        self.evict()
    }

    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        static ZEROS: [u8; 65_536] = [0; 65_536];
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let extent = self.data.extent(at, end)?;
            let stop = at + extent.bytes;
            while at < stop && !extent.hole {
                let length = (stop - at).min(ZEROS.len() as u64);
                self.change(at, &ZEROS[..length as usize])?;
                at += length;
            }
            at = stop;
        }
        self.evict()
    }

    fn extent(&mut self, offset: u64, end: u64) -> io::Result<Extent> {
        let mut at = offset;
        let mut hole = None;
        while at < end {
            let piece = self.ranges.at(at, end);
            let found = if piece.role.is_some_and(|role| role.part == Part::Data) {
                Extent { bytes: piece.end - at, hole: true }
            } else {
                self.data.extent(at, piece.end)?
            };
            if hole.is_some_and(|hole| hole != found.hole) {
                break;
            }
            hole = Some(found.hole);
            at += found.bytes;
        }
        Ok(Extent { bytes: at - offset, hole: hole.unwrap_or(true) })
    }

    fn syncer(&self) -> io::Result<Option<Syncer>> {
        Ok(None)
    }

    fn held_bytes(&self) -> u64 {
        self.data.held_bytes() + self.late.len() as u64 * late::ENTRY + self.ranges.len() as u64 * RANGE
    }

    fn sorted(&self) -> Option<Sorted> {
        let kept = |piece: &Piece| piece.role.is_some_and(Role::is_kept);
        let known = self.ranges.pieces(0, self.bytes).filter(kept).map(|piece| piece.end - piece.start).sum();
        let pages = self.late.between(0, self.bytes.div_ceil(BYTES));
        let waiting = pages.into_iter().filter_map(|page| self.data.data_of(page)).sum();
        Some(Sorted {
            known,
            kept: self.data.data_bytes() - waiting,
            waiting,
            dropped: self.dropped,
            evicted: self.evicted,
        })
    }
}
