//! Records made by hand, with what they say.

use super::*;

fn put(data: &mut [u8], at: usize, what: &[u8]) {
    data[at..at + what.len()].copy_from_slice(what);
}

/// A boot sector: clusters of 4 KiB, 1,000 of them, records of 1 KiB, the table at cluster 4, its copy at 500.
fn boot() -> Vec<u8> {
    let mut boot = vec![0; 2048];
    put(&mut boot, 3, b"NTFS    ");
    put(&mut boot, 11, &512_u16.to_le_bytes());
    boot[13] = 8;
    put(&mut boot, 40, &8000_u64.to_le_bytes());
    put(&mut boot, 48, &4_u64.to_le_bytes());
    put(&mut boot, 56, &500_u64.to_le_bytes());
    boot[64] = 0xF6;
    put(&mut boot, 510, &[0x55, 0xAA]);
    boot
}

fn geometry() -> Geometry {
    Geometry::of(&boot(), 1 << 30).unwrap()
}

/// An attribute in clusters.
fn attribute(kind: u32, first: u64, runs: &[u8]) -> Vec<u8> {
    let mut attribute = vec![0; 64];
    put(&mut attribute, 0, &kind.to_le_bytes());
    attribute[8] = 1;
    put(&mut attribute, 16, &first.to_le_bytes());
    put(&mut attribute, 32, &64_u16.to_le_bytes());
    attribute.extend(runs);
    attribute.resize(attribute.len().next_multiple_of(8), 0);
    let length = attribute.len() as u32;
    put(&mut attribute, 4, &length.to_le_bytes());
    attribute
}

/// A record as it is on the disk, with the last bytes of each 512 replaced.
fn record(flags: u16, base: u64, attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut record = vec![0; 1024];
    put(&mut record, 0, b"FILE");
    put(&mut record, 4, &48_u16.to_le_bytes());
    put(&mut record, 6, &3_u16.to_le_bytes());
    put(&mut record, 20, &56_u16.to_le_bytes());
    put(&mut record, 22, &flags.to_le_bytes());
    put(&mut record, 32, &base.to_le_bytes());
    let mut all = attributes.concat();
    all.extend(u32::MAX.to_le_bytes());
    put(&mut record, 56, &all);
    for (saved, last) in [(50, 510), (52, 1022)] {
        let bytes = [record[last], record[last + 1]];
        put(&mut record, saved, &bytes);
        put(&mut record, last, &[7, 0]);
    }
    put(&mut record, 48, &[7, 0]);
    record
}

/// First and last cluster with the part.
fn clusters(claims: &[Claim]) -> Vec<(u64, u64, Part)> {
    claims.iter().map(|claim| (claim.start / 4096, claim.end / 4096 - 1, claim.role.part)).collect()
}

#[test]
fn a_boot_sector_tells_where_the_table_is() {
    let bytes: Vec<_> = geometry().claims(1 << 20).iter().map(|c| (c.start - (1 << 20), c.end - c.start)).collect();
    assert_eq!(bytes, [(0, 8192), (8000 * 512, 512), (500 * 4096, 4096), (4 * 4096, 1024)]);
}

#[test]
fn a_boot_sector_that_makes_no_sense_is_none() {
    assert!(Geometry::of(&boot(), 8000 * 512).is_some());
    assert!(Geometry::of(&boot(), 8000 * 512 - 1).is_none());
    for (at, value) in [(3, 0), (510, 0), (11, 3), (13, 0), (13, 3), (48, 0), (49, 0xFF), (64, 0), (64, 0x80), (64, 3)]
    {
        let mut boot = boot();
        boot[at] = value;
        assert!(Geometry::of(&boot, 1 << 30).is_none(), "{value} at {at}");
    }
}

#[test]
fn runs_go_back_and_forth_and_have_holes() {
    // 10 clusters at 300, a hole of 5, 2 clusters 100 before the first run.
    let runs = [0x21, 10, 44, 1, 0x01, 5, 0x11, 2, 0x9C, 0];
    let found = geometry().record_claims(0, 40, &record(1, 0, &[attribute(0x80, 0, &runs)]));
    assert_eq!(clusters(&found), [(300, 309, Part::Data), (200, 201, Part::Data)]);
    let beyond = geometry().record_claims(0, 40, &record(1, 0, &[attribute(0x80, 0, &[0x21, 10, 0xE0, 3, 0])]));
    assert_eq!(clusters(&beyond), [], "992 and 10 clusters go beyond the volume");
}

#[test]
fn what_is_not_data_of_an_ordinary_file_is_kept() {
    let runs = [0x21, 1, 44, 1, 0];
    let part = |number, flags, base, kind| {
        let found = geometry().record_claims(0, number, &record(flags, base, &[attribute(kind, 0, &runs)]));
        found.first().map(|claim| claim.role.part)
    };
    assert_eq!(part(40, 1, 0, 0x80), Some(Part::Data));
    assert_eq!(part(40, 0, 0, 0x80), None, "not in use");
    assert_eq!(part(2, 1, 0, 0x80), Some(Part::Kept), "$LogFile");
    assert_eq!(part(40, 5, 0, 0x80), Some(Part::Kept), "a file in $Extend");
    assert_eq!(part(40, 1, 6 | 1 << 48, 0x80), Some(Part::Kept), "$Bitmap goes on");
    assert_eq!(part(40, 1, 50 | 1 << 48, 0x80), Some(Part::Data), "a file goes on");
    for kind in [0x20, 0xA0, 0xB0, 0xC0, 0xE0] {
        assert_eq!(part(40, 3, 0, kind), Some(Part::Kept), "{kind:#x}");
    }
}

#[test]
fn a_file_in_extend_is_known_by_its_name_too() {
    let mut name = vec![0; 32];
    put(&mut name, 0, &0x30_u32.to_le_bytes());
    put(&mut name, 4, &32_u32.to_le_bytes());
    put(&mut name, 20, &24_u16.to_le_bytes());
    put(&mut name, 24, &(11_u64 | 11 << 48).to_le_bytes());
    let found = geometry().record_claims(0, 30, &record(1, 0, &[name, attribute(0x80, 0, &[0x21, 1, 44, 1, 0])]));
    assert_eq!(clusters(&found), [(300, 300, Part::Kept)]);
}

#[test]
fn the_table_tells_of_its_own_runs() {
    let runs = [0x11, 4, 4, 0x21, 8, 44, 1, 0];
    let found = geometry().record_claims(0, 0, &record(1, 0, &[attribute(0x80, 0, &runs), attribute(0xB0, 0, &runs)]));
    let table = |cluster: u64, first| Part::MftRecords { start: cluster * 4096, first };
    assert_eq!(
        clusters(&found),
        [(4, 7, table(4, 0)), (304, 311, table(304, 16)), (4, 7, Part::Kept), (304, 311, Part::Kept)]
    );
    // A record that goes on with the table, from its cluster 12 on: 48 records.
    let more = geometry().record_claims(0, 15, &record(1, 1 << 48, &[attribute(0x80, 12, &[0x11, 1, 90, 0])]));
    assert_eq!(clusters(&more), [(90, 90, table(90, 48))]);
}

#[test]
fn a_record_that_was_not_written_whole_says_nothing() {
    let mut torn = record(1, 0, &[attribute(0x80, 0, &[0x21, 1, 44, 1, 0])]);
    assert_eq!(geometry().record_claims(0, 40, &torn).len(), 1);
    torn[1022] = 8;
    assert_eq!(geometry().record_claims(0, 40, &torn), []);
}
