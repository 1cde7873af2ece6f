//! The sixteen operation modes, cycle by cycle: their data, and their times by hand and in the transaction engine.

use crate::player::{noise, page, sdr, Engine, Host, Job};
use wordline_base::time::NS;
use wordline_base::{Stream, Time};
use wordline_nand::chain::OPERATIONS;
use wordline_nand::geometry::PageAddress;
use wordline_nand::PackageGeometry;

const GEOMETRY: PackageGeometry = PackageGeometry { dies: 2, planes: 2, blocks: 4, pages: 8, page_bytes: 2048 };

/// Nanoseconds of each mode, with two planes in multi-plane modes and two pages in a sequence.
///
/// From the figures of SDR mode 5 (a cycle 20, tWB 100, tADL 70, tRR 20, tCCS 200) and of the default cells (tR 50,000, tPROG
/// 500,000, tBERS 3,000,000, tDBSY 500, tRCBSY and tCBSY 3,000). 2,048 bytes take 40,960. So 00h-30h and all sequences of two
/// commands and five address cycles with tWB take 240; data out 20 + 40,960 = 40,980; with 06h-E0h 140 + 200 + 40,960 = 41,300;
/// 31h and 3Fh 120; 80h-10h with data 120 + 70 + 40,960 + 20 + 100 = 41,270; 60h-D0h 200.
const BY_HAND: [(Time, &str); 16] = [
    (91_220, "240 + 50,000 + 40,980"),
    (133_580, "240 + 500 + 240 + 50,000 + 2 x 41,300"),
    (147_340, "50,240; 31h until 53,360, the cells until 103,360; data until 94,340; 3Fh waits for the cells: 106,360; 40,980"),
    (222_420, "50,980; 31h until 54,100; data until 136,700; 3Fh until 139,820; 82,600"),
    (147_460, "50,240; 00h-31h until 53,480, the cells until 103,480; 3Fh waits for them: 106,480; 40,980"),
    (223_280, "50,980; 740; 00h-31h until 54,960; data until 137,560; 3Fh until 140,680; 82,600"),
    (541_270, "41,270 + 500,000"),
    (583_040, "41,270 + 500 + 41,270 + 500,000"),
    (1_044_270, "41,270 + 3,000, the cells until 544,270; the second page waits for them; 500,000"),
    (1_086_040, "41,770 + 41,270 + 3,000, the cells until 586,040; the second pages wait for them; 500,000"),
    (550_480, "240 + 50,000 + 240 + 500,000"),
    (551_960, "240 + 500 + 240 + 50,000 + 240 + 500 + 240 + 500,000"),
    (591_460, "50,240 + 40,980 + 240 + 500,000"),
    (634_560, "50,980 + 82,600 + 740 + 240 + 500,000"),
    (3_000_200, "200 + 3,000,000"),
    (3_000_900, "200 + 500 + 200 + 3,000,000"),
];

/// The job of a mode on die 1: reads, copybacks and erases at block 0 of plane 0 and block 1 of plane 1, programs two
/// blocks further.
fn job(mode: usize, stream: &mut Stream) -> Job {
    let planes = if matches!(mode, 1 | 3 | 5 | 7 | 9 | 11 | 13 | 15) { 2 } else { 1 };
    let all = |block: u32, number: u32| (0..planes).map(|plane| page(plane, block + plane, number)).collect::<Vec<_>>();
    let steps = match mode {
        2 | 3 => vec![all(0, 0), all(0, 1)],
        4 | 5 => vec![all(0, 2), all(0, 0)],
        8 | 9 => vec![all(2, 0), all(2, 1)],
        6 | 7 => vec![all(2, 0)],
        _ => vec![all(0, 0)],
    };
    let data = steps.iter().flatten().map(|_| noise(stream, 2048)).collect();
    Job { mode, die: 1, steps, targets: all(2, 0), data, bytes: 2048 }
}

/// Writes pages 0 to 2 of blocks 0 and 1 of both planes, on the pins and in the engine, and returns their data.
fn fill(host: &mut Host, engine: &mut Engine, stream: &mut Stream) -> Vec<(PageAddress, Vec<u8>)> {
    let mut held = Vec::new();
    for block in 0..2 {
        for number in 0..3 {
            for plane in 0..2 {
                let (at, data) = (page(plane, block, number), noise(stream, 2048));
                let write = Job {
                    mode: 6,
                    die: 1,
                    steps: vec![vec![at]],
                    targets: vec![],
                    data: vec![data.clone()],
                    bytes: 2048,
                };
                write.run(host);
                engine.run(host.now, &write);
                held.push((at, data));
            }
        }
    }
    held
}

#[test]
fn all_modes_take_their_time_and_move_their_data() {
    for (mode, (by_hand, sum)) in BY_HAND.into_iter().enumerate() {
        let name = OPERATIONS[mode].name;
        let mut stream = Stream::new(1, "modes", mode as u64);
        let (mut host, mut engine) = (Host::new(GEOMETRY, &sdr()), Engine::new(GEOMETRY, &sdr()));
        let mut held = fill(&mut host, &mut engine, &mut stream);
        // A round time after all work of the engine.
        host.now = 100_000_000 * NS;
        let (start, job) = (host.now, job(mode, &mut stream));
        let out = job.run(&mut host);
        assert_eq!(host.now - start, by_hand * NS, "{name}: by hand {sum}");
        assert_eq!(engine.run(start, &job) - start, by_hand * NS, "{name}: in the transaction engine");

        let of = |at: &PageAddress, held: &[(PageAddress, Vec<u8>)]| {
            held.iter().find(|(other, _)| other == at).map(|(_, data)| data.clone())
        };
        let pages: Vec<_> = job.steps.iter().flatten().copied().collect();
        let expected: Vec<_> = match mode {
            0..=5 | 12 | 13 => pages.iter().map(|at| of(at, &held).unwrap()).collect(),
            _ => Vec::new(),
        };
        assert_eq!(out, expected, "{name}: what came out");
        match mode {
            6..=9 => held.extend(pages.iter().copied().zip(job.data.clone())),
            10..=13 => {
                let moved: Vec<_> = pages.iter().map(|at| of(at, &held).unwrap()).collect();
                held.extend(job.targets.iter().copied().zip(moved));
            }
            14 | 15 => held.retain(|(at, _)| !pages.iter().any(|p| (p.plane, p.block) == (at.plane, at.block))),
            _ => {}
        }
        for plane in 0..2 {
            for block in 0..4 {
                for number in 0..8 {
                    let at = page(plane, block, number);
                    assert_eq!(host.pins.page(1, at).map(<[u8]>::to_vec), of(&at, &held), "{name}: {at:?}");
                    assert_eq!(host.pins.page(0, at), None);
                }
                let records =
                    (host.pins.cells().record(1, plane, block), engine.package.cells().record(1, plane, block));
                assert_eq!(records.0, records.1, "{name}: block {block} of plane {plane}");
            }
        }
    }
}

#[test]
fn the_chains_played_are_those_of_the_table() {
    for (mode, operation) in OPERATIONS.iter().enumerate() {
        let job = job(mode, &mut Stream::new(2, "modes", 0));
        let mut played: Vec<_> = job.parts().into_iter().map(|(segment, _, _)| segment).collect();
        // With two planes and two pages every repetition is next to its original.
        played.dedup();
        let table: Vec<_> = operation.chain.iter().map(|&(segment, _)| segment).collect();
        assert_eq!(played, table, "{}", operation.name);
    }
}
