//! A record of the master file table: its attributes, and the runs of clusters of those that do not fit into it.

use super::super::bytes::{has, u16_at, u32_at, u64_at};
use super::super::role::{Claim, Part, Role};
use super::Geometry;

/// Records below this are files of the volume itself, or kept for such.
const OWN: u64 = 24;
/// The directory of further files of the volume itself.
const EXTEND: u64 = 11;
/// In use; and one of the files in `$Extend`.
const USED: u16 = 1;
const IN_EXTEND: u16 = 4;

const NAME: u32 = 0x30;
const DATA: u32 = 0x80;
const END: u32 = u32::MAX;
/// A reference has 48 bits of a record's number, and 16 that tell its uses apart.
const NUMBER: u64 = (1 << 48) - 1;

/// The record with the last two bytes of each 512 where they belong; none if it was not written whole.
fn whole(record: &[u8]) -> Option<Vec<u8>> {
    if !has(record, 0, b"FILE") {
        return None;
    }
    let (at, count) = (usize::from(u16_at(record, 4)), usize::from(u16_at(record, 6)));
    let saved = record.get(at..at + 2 * count)?;
    if count != record.len() / 512 + 1 {
        return None;
    }
    let mut whole = record.to_vec();
    for (block, bytes) in whole.chunks_exact_mut(512).zip(saved[2..].chunks_exact(2)) {
        if block[510..] != saved[..2] {
            return None;
        }
        block[510..].copy_from_slice(bytes);
    }
    Some(whole)
}

/// The attributes of a record: type, and bytes.
fn attributes(record: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut at = usize::from(u16_at(record, 20));
    std::iter::from_fn(move || {
        let (kind, length) = (u32_at(record, at), u32_at(record, at + 4) as usize);
        let bytes = record.get(at..at.checked_add(length)?)?;
        at += length;
        (kind != END && kind != 0 && length >= 24).then_some((kind, bytes))
    })
}

/// The runs of an attribute that lies in clusters: first cluster of the attribute, first cluster of the volume, clusters.
fn runs(attribute: &[u8]) -> Vec<(u64, u64, u64)> {
    let number = |bytes: &[u8]| {
        let mut wide = [0_u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    let signed = |bytes: &[u8]| {
        let unused = 64 - 8 * bytes.len() as u32;
        ((number(bytes) << unused) as i64) >> unused
    };
    let mut found = Vec::new();
    let mut rest = attribute.get(usize::from(u16_at(attribute, 32))..).unwrap_or_default();
    let (mut at, mut place) = (u64_at(attribute, 16), 0_i64);
    while let [head, more @ ..] = rest {
        let (sizes, offsets) = (usize::from(head & 15), usize::from(head >> 4));
        if *head == 0 || !(1..=8).contains(&sizes) || offsets > 8 || more.len() < sizes + offsets {
            break;
        }
        let count = number(&more[..sizes]);
        // Without a place it is a hole.
        if offsets > 0 {
            place = place.wrapping_add(signed(&more[sizes..sizes + offsets]));
            found.push((at, place as u64, count));
        }
        at = at.saturating_add(count);
        rest = &more[sizes + offsets..];
    }
    found
}

/// True if a name says that the file is in `$Extend`.
fn is_extension(kind: u32, attribute: &[u8]) -> bool {
    let value = usize::from(u16_at(attribute, 20));
    kind == NAME && attribute[8] == 0 && u64_at(attribute, value) & NUMBER == EXTEND
}

/// What a record says.
pub fn claims(geometry: &Geometry, volume: u64, number: u64, record: &[u8]) -> Vec<Claim> {
    let Some(record) = whole(record) else { return Vec::new() };
    let flags = u16_at(&record, 22);
    if flags & USED == 0 {
        return Vec::new();
    }
    // A record that continues another has attributes of that one.
    let file = match u64_at(&record, 32) {
        0 => number,
        base => base & NUMBER,
    };
    let own = file < OWN
        || flags & IN_EXTEND != 0
        || attributes(&record).any(|(kind, attribute)| is_extension(kind, attribute));
    let mut claims = Vec::new();
    for (kind, attribute) in attributes(&record).filter(|(_, attribute)| attribute[8] != 0) {
        let is_table = file == 0 && kind == DATA && attribute[9] == 0;
        for (at, place, count) in runs(attribute) {
            let end = place.checked_add(count).filter(|end| *end <= geometry.clusters);
            let Some(end) = end.filter(|_| count > 0) else { continue };
            let (start, end) = (volume + place * geometry.cluster, volume + end * geometry.cluster);
            let role = if is_table {
                let Some(offset) = at.checked_mul(geometry.cluster) else { continue };
                let first = offset / geometry.record;
                Role::fixed(volume, Part::MftRecords { start, first })
            } else {
                let part = if kind == DATA && !own { Part::Data } else { Part::Kept };
                Role::owned(volume, file, part)
            };
            claims.push(Claim { start, end, role });
        }
    }
    claims
}
