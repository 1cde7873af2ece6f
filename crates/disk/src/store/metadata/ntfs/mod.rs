//! NTFS: from the boot sector to the master file table, and from its records to what belongs to them.
//!
//! Source: the layout as ntfs-3g and the NTFS documentation of the Linux-NTFS project describe it. Kept are the table itself with all
//! that is in its records (also the data of small files, which have no clusters), indexes, bitmaps, attribute lists, security
//! descriptors, reparse points, extended attributes, and all data of the volume's own files. Dropped are the data of all other files. A
//! record that lies across the end of a run of the table is not read, which takes clusters smaller than records.

mod record;

use super::bytes::{has, u16_at, u64_at};
use super::role::{Claim, Part, Role};

/// The boot code takes so many bytes at most.
const BOOT: u64 = 8192;
/// Records of the table that have a copy.
const MIRRORED: u64 = 4;

/// The geometry of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a cluster.
    pub cluster: u64,
    /// Clusters of the volume.
    pub clusters: u64,
    /// Bytes of a record of the master file table.
    pub record: u64,
    /// Bytes of the volume, without the copy of the boot sector behind it.
    bytes: u64,
    sector: u64,
    table: u64,
    mirror: u64,
}

/// A size that is a count of clusters, or if negative a power of two of bytes.
fn size_of(code: u8, cluster: u64) -> Option<u64> {
    match code as i8 {
        count if count > 0 => Some(count as u64 * cluster),
        power if power > -32 => Some(1 << -power),
        _ => None,
    }
}

impl Geometry {
    /// The geometry, if the first bytes of a volume of at most `room` bytes are a boot sector that makes sense.
    pub fn of(head: &[u8], room: u64) -> Option<Self> {
        if !has(head, 3, b"NTFS    ") || !has(head, 510, &[0x55, 0xAA]) {
            return None;
        }
        let sector = u64::from(u16_at(head, 11));
        // Large clusters have a power of two, as sizes of records do.
        let sectors = match head[13] {
            count @ 1..=128 => u64::from(count),
            power @ 244..=255 => 1 << (256 - u32::from(power)),
            _ => return None,
        };
        if !(256..=4096).contains(&sector) || !sector.is_power_of_two() || !sectors.is_power_of_two() {
            return None;
        }
        let cluster = sector * sectors;
        let bytes = u64_at(head, 40).checked_mul(sector)?;
        let record = size_of(head[64], cluster)?;
        let geometry = Self {
            cluster,
            clusters: bytes / cluster,
            record,
            bytes,
            sector,
            table: u64_at(head, 48).checked_mul(cluster)?,
            mirror: u64_at(head, 56).checked_mul(cluster)?,
        };
        let inside = |at: u64| at > 0 && at.checked_add(record).is_some_and(|end| end <= bytes);
        let sizes = (512..=65_536).contains(&record) && record.is_power_of_two() && cluster <= 2 << 20;
        (sizes && bytes <= room && inside(geometry.table) && inside(geometry.mirror)).then_some(geometry)
    }

    /// What the boot sector says: where its copy, the table and the copy of its head are.
    pub fn claims(&self, volume: u64) -> Vec<Claim> {
        let kept = Role::fixed(volume, Part::Kept);
        let at = |start: u64, bytes: u64, role| Claim { start: volume + start, end: volume + start + bytes, role };
        let table = Part::MftRecords { start: volume + self.table, first: 0 };
        vec![
            at(0, BOOT.min(self.bytes), kept),
            at(self.bytes, self.sector, kept),
            at(self.mirror, (MIRRORED * self.record).min(self.bytes - self.mirror), kept),
            at(self.table, self.record, Role::fixed(volume, table)),
        ]
    }

    /// What a record of the table says, given its number.
    pub fn record_claims(&self, volume: u64, number: u64, record: &[u8]) -> Vec<Claim> {
        record::claims(self, volume, number, record)
    }
}

#[cfg(test)]
mod tests;
