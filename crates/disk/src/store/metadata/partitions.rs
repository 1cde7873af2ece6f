//! Partition tables: the MBR with its chain of logical partitions, and the GUID partition table (UEFI specification 2.10, chapter 5).
//!
//! What a table says is where volumes start. Their ends do not matter: a file system says itself how large it is.

use super::bytes::{has, u32_at, u64_at};
use super::role::{Claim, Part, Role};

/// Bytes of the first range of a volume, which tell what it is.
pub const START: u64 = 2048;
/// Bytes of a sector of an MBR.
pub const SECTOR: u64 = 512;
/// Bytes of a sector of a GUID partition table: it does not say itself.
const GPT_SECTORS: [u32; 2] = [512, 4096];
/// Most logical partitions.
const MOST_LOGICAL: u8 = 128;
/// Most entries of a GUID partition table that are looked at; tools write 128.
const MOST_ENTRIES: u32 = 1024;

/// The start of a volume.
pub fn volume(start: u64) -> Claim {
    Claim { start, end: start.saturating_add(START), role: Role { owner: start, ..Role::table(Part::Start) } }
}

/// An entry of an MBR: type, first byte, bytes.
fn entries(sector: &[u8]) -> Option<[(u8, u64, u64); 4]> {
    if !has(sector, 510, &[0x55, 0xAA]) {
        return None;
    }
    let mut found = [(0, 0, 0); 4];
    for (index, place) in found.iter_mut().enumerate() {
        let entry = &sector[446 + 16 * index..][..16];
        let of = |at| u64::from(u32_at(entry, at)) * SECTOR;
        *place = (entry[4], of(8), of(12));
        let used = entry[4] != 0 && place.1 > 0 && place.2 > 0;
        if entry[0] & 0x7F != 0 || (!used && entry.iter().any(|byte| *byte != 0)) {
            return None;
        }
    }
    Some(found)
}

fn is_extended(kind: u8) -> bool {
    matches!(kind, 0x05 | 0x0F | 0x85)
}

/// What the first sector of the disk says, if it is an MBR that has a partition; the code in the boot sector of a file system is none.
pub fn table(sector: &[u8], bytes: u64) -> Option<Vec<Claim>> {
    let boots_a_volume = has(sector, 3, b"NTFS    ") || has(sector, 54, b"FAT") || has(sector, 82, b"FAT");
    let found = entries(sector).filter(|_| !boots_a_volume)?;
    if found.iter().any(|(kind, start, size)| *kind != 0 && start + size.min(&SECTOR) > bytes) {
        return None;
    }
    let mut claims = Vec::new();
    for (kind, start, _) in found.into_iter().filter(|(kind, ..)| *kind != 0) {
        if kind == 0xEE {
            claims.extend(GPT_SECTORS.map(|sector| header(u64::from(sector), sector)));
        } else if is_extended(kind) {
            claims.push(logical(start, start, MOST_LOGICAL));
        } else {
            claims.push(volume(start));
        }
    }
    (!claims.is_empty()).then_some(claims)
}

fn logical(at: u64, extended: u64, left: u8) -> Claim {
    Claim { start: at, end: at + SECTOR, role: Role::table(Part::Ebr { extended, left }) }
}

/// What a sector of the chain of logical partitions says: one volume, and the next sector.
pub fn chained(sector: &[u8], at: u64, extended: u64, left: u8) -> Vec<Claim> {
    let Some([first, next, ..]) = entries(sector) else { return Vec::new() };
    let mut claims = Vec::new();
    if first.0 != 0 && !is_extended(first.0) {
        claims.push(volume(at + first.1));
    }
    if is_extended(next.0) && left > 0 {
        claims.push(logical(extended + next.1, extended, left - 1));
    }
    claims
}

fn header(at: u64, sector: u32) -> Claim {
    Claim { start: at, end: at.saturating_add(SECTOR), role: Role::table(Part::GptHeader { sector }) }
}

/// What the header of a GUID partition table says: where the entries are, and the other header.
pub fn gpt_header(block: &[u8], sector: u32) -> Vec<Claim> {
    let each = u32_at(block, 84);
    if !has(block, 0, b"EFI PART") || !(128..=sector).contains(&each) || !each.is_power_of_two() {
        return Vec::new();
    }
    let size = u64::from(sector);
    let Some(start) = u64_at(block, 72).checked_mul(size) else { return Vec::new() };
    let count = u64::from(u32_at(block, 80).min(MOST_ENTRIES));
    let end = start.saturating_add((count * u64::from(each)).next_multiple_of(size));
    let mut claims = vec![Claim { start, end, role: Role::table(Part::GptEntries { sector, each }) }];
    claims.extend(u64_at(block, 32).checked_mul(size).map(|other| header(other, sector)));
    claims
}

/// What a sector of entries says: the starts of volumes.
pub fn gpt_entries(block: &[u8], sector: u32, each: u32) -> Vec<Claim> {
    let used = block.chunks_exact(each as usize).filter(|entry| entry[..16].iter().any(|byte| *byte != 0));
    used.filter_map(|entry| u64_at(entry, 32).checked_mul(u64::from(sector)).map(volume)).collect()
}

/// An MBR for tests: type, first sector and sectors of each partition.
#[cfg(test)]
pub fn mbr(partitions: &[(u8, u32, u32)]) -> Vec<u8> {
    let mut sector = vec![0; 512];
    for (index, (kind, start, size)) in partitions.iter().enumerate() {
        let entry = &mut sector[446 + 16 * index..][..16];
        entry[4] = *kind;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&size.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: u64 = 1 << 30;

    #[test]
    fn an_mbr_tells_where_volumes_start() {
        let found = table(&mbr(&[(0x83, 2048, 1000), (0x05, 4096, 9000)]), DISK).unwrap();
        assert_eq!(found, [volume(1 << 20), logical(2 << 20, 2 << 20, MOST_LOGICAL)]);
        assert_eq!(table(&[0; 512], DISK), None);
        assert_eq!(table(&mbr(&[]), DISK), None, "no partition");
        assert_eq!(table(&mbr(&[(0x83, 3 << 20, 8)]), DISK), None, "beyond the disk");
        let mut code = mbr(&[(0x83, 2048, 1000)]);
        code[3..11].copy_from_slice(b"NTFS    ");
        assert_eq!(table(&code, DISK), None, "a boot sector of NTFS");
    }

    #[test]
    fn logical_partitions_are_a_bounded_chain() {
        let sector = mbr(&[(0x83, 63, 1000), (0x05, 2000, 1063)]);
        assert_eq!(chained(&sector, 5120, 1024, 3), [volume(5120 + 63 * 512), logical(1024 + 2000 * 512, 1024, 2)]);
        assert_eq!(chained(&sector, 5120, 1024, 0), [volume(5120 + 63 * 512)]);
    }

    #[test]
    fn a_guid_table_is_followed_from_either_header() {
        let mut head = vec![0; 512];
        head[..8].copy_from_slice(b"EFI PART");
        head[32..40].copy_from_slice(&999_u64.to_le_bytes());
        head[72..80].copy_from_slice(&2_u64.to_le_bytes());
        head[80..84].copy_from_slice(&128_u32.to_le_bytes());
        head[84..88].copy_from_slice(&128_u32.to_le_bytes());
        let entries = Role::table(Part::GptEntries { sector: 512, each: 128 });
        let place = Claim { start: 1024, end: 1024 + 16384, role: entries };
        assert_eq!(gpt_header(&head, 512), [place, header(999 * 512, 512)]);
        let mut block = vec![0; 512];
        block[128] = 9;
        block[160..168].copy_from_slice(&2048_u64.to_le_bytes());
        assert_eq!(gpt_entries(&block, 512, 128), [volume(1 << 20)]);
        head[84] = 3;
        assert_eq!(gpt_header(&head, 512), []);
    }
}
