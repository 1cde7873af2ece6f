//! Pages that a trace touches: footprint, rewrites, life span and life cycle.
//!
//! Addresses are tracked in chunks of 16 pages of 4 KiB, by sectors of 512 bytes. Up to 262,144 chunks are kept: a
//! whole footprint of 1 GiB at least, and of 16 GiB if addresses are close together; memory stays below 100 MB. A trace
//! that touches more is sampled: only chunks whose hash starts with a zero bit are kept, then with two, and so on, so
//! that at least 131,072 remain. Sums over the kept chunks, times the power of two, estimate the whole without bias;
//! the spread among the chunks gives the standard error.

use super::share;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Op;

/// Bytes per page.
pub(crate) const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
const SECTORS: u64 = PAGE / SECTOR;
/// Pages per chunk.
const PAGES: usize = 16;
const CHUNK: u64 = PAGE * PAGES as u64;
/// Maximum number of kept chunks.
const MOST: usize = 1 << 18;
/// A key has the device above the chunk number.
const DEVICE_SHIFT: u32 = 48;

/// Distinct pages of 4 KiB that a trace touches, over all devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintInfo {
    /// Pages read, written or trimmed.
    pub pages: u64,
    /// Pages read.
    pub read_pages: u64,
    /// Pages written.
    pub written_pages: u64,
    /// Pages both read and written.
    pub both_pages: u64,
    /// Standard error of `pages`, as a share of it: 0 for an exact count. A footprint is counted exactly up to 1 GiB at
    /// least, and up to 16 GiB if addresses are close together.
    pub standard_error: f64,
}

/// Share of writes that rewrite earlier data, by 512-byte sectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RewriteInfo {
    /// Bytes written to sectors that the trace wrote before.
    pub bytes: u64,
    /// Their share of all written bytes, 0 to 1 (the rewrite ratio of `chang11`).
    pub share: f64,
    /// Standard error of `share`; 0 for an exact count.
    pub standard_error: f64,
}

/// Life span and life cycle of written pages of 4 KiB, defined as in `chang11` (IWSSPS 2009, section 4) for a sector.
///
/// Time is counted in write requests. The life span of a page is the number of the last write that rewrote any of its
/// sectors less the number of the first write to it; its life cycle is that span over the number of its writes. A write
/// that only fills other sectors of the page counts as part of the earlier one. Both are 0 without a rewrite, so the
/// figures are those of rewritten pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifeInfo {
    /// Share of the written pages that were rewritten, 0 to 1.
    pub rewritten_share: f64,
    /// Mean number of writes of a written page.
    pub writes_per_page: f64,
    /// Life span of rewritten pages; none without rewrites.
    pub span: Option<LifeSpread>,
    /// Life cycle of rewritten pages; none without rewrites.
    pub cycle: Option<LifeSpread>,
}

/// Distribution over pages of a number of write requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifeSpread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Maximum.
    pub max: f64,
}

impl LifeSpread {
    fn of(mut values: Vec<f32>) -> Option<Self> {
        values.sort_unstable_by(f32::total_cmp);
        let at = |percent: usize| f64::from(values[(values.len() * percent).div_ceil(100).max(1) - 1]);
        (!values.is_empty()).then(|| Self {
            mean: values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64,
            p50: at(50),
            p90: at(90),
            max: at(100),
        })
    }
}

#[derive(Clone, Debug, Default)]
struct Chunk {
    /// Pages touched and read, one bit each.
    touched: u16,
    read: u16,
    /// Sectors written, one byte per page.
    written: [u8; PAGES],
    /// First write, last rewrite, and writes of each page.
    first: [u32; PAGES],
    last: [u32; PAGES],
    writes: [u32; PAGES],
}

impl Chunk {
    #[inline]
    fn write(&mut self, page: usize, sectors: u8, number: u32) {
        let before = self.written[page];
        self.written[page] = before | sectors;
        if before & sectors != 0 {
            self.last[page] = number;
            self.writes[page] += 1;
        } else if before == 0 {
            (self.first[page], self.last[page], self.writes[page]) = (number, number, 1);
        }
    }

    fn written_pages(&self) -> u16 {
        (0..PAGES).filter(|&page| self.written[page] != 0).fold(0, |pages, page| pages | 1 << page)
    }

    fn written_sectors(&self) -> u64 {
        self.written.iter().map(|sectors| u64::from(sectors.count_ones())).sum()
    }
}

/// Collects page statistics of a trace.
pub(crate) struct Pages {
    /// Only keys whose hash begins with this many zero bits are kept.
    level: u32,
    most: usize,
    index: FxHashMap<u64, u32>,
    keys: Vec<u64>,
    chunks: Vec<Chunk>,
    /// Key and place of the last used chunk.
    last: Option<(u64, u32)>,
    /// Writes so far, and the sectors written.
    writes: u64,
    sectors: u64,
}

impl Default for Pages {
    fn default() -> Self {
        Self::with(MOST)
    }
}

/// Hash of a key (the finaliser of SplitMix64).
#[inline]
fn spread(key: u64) -> u64 {
    let x = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl Pages {
    fn with(most: usize) -> Self {
        Self {
            level: 0,
            most,
            index: FxHashMap::default(),
            keys: Vec::new(),
            chunks: Vec::new(),
            last: None,
            writes: 0,
            sectors: 0,
        }
    }

    #[inline]
    fn kept(level: u32, key: u64) -> bool {
        level == 0 || spread(key) >> (64 - level) == 0
    }

    /// Counts a request of `op` that moves bytes.
    #[inline]
    pub fn add(&mut self, device: u32, offset: u64, bytes: u32, op: Op) {
        let (first, end) = (offset / SECTOR, (offset + u64::from(bytes)).div_ceil(SECTOR));
        if op == Op::Write {
            self.writes += 1;
            self.sectors += end - first;
        }
        let number = self.writes as u32;
        let mut sector = first;
        while sector < end {
            let chunk = sector / (CHUNK / SECTOR);
            let stop = end.min((chunk + 1) * (CHUNK / SECTOR));
            if let Some(at) = self.place(u64::from(device) << DEVICE_SHIFT | chunk) {
                let chunk = &mut self.chunks[at as usize];
                let from = (sector / SECTORS) as usize % PAGES;
                let to = ((stop - 1) / SECTORS) as usize % PAGES;
                let pages = u16::MAX >> (PAGES - 1 - (to - from)) << from;
                chunk.touched |= pages;
                match op {
                    Op::Read => chunk.read |= pages,
                    Op::Write => {
                        for page in from..=to {
                            let low = if page == from { sector % SECTORS } else { 0 };
                            let high = if page == to { (stop - 1) % SECTORS } else { SECTORS - 1 };
                            chunk.write(page, (u8::MAX << low) & (u8::MAX >> (SECTORS - 1 - high)), number);
                        }
                    }
                    _ => {}
                }
            }
            sector = stop;
        }
    }

    /// Place of the chunk with this key, if it is kept.
    #[inline]
    fn place(&mut self, key: u64) -> Option<u32> {
        if let Some((last, at)) = self.last {
            if last == key {
                return Some(at);
            }
        }
        if !Self::kept(self.level, key) {
            return None;
        }
        let at = match self.index.get(&key) {
            Some(&at) => at,
            None => {
                if self.chunks.len() == self.most {
                    self.thin_out();
                    if !Self::kept(self.level, key) {
                        return None;
                    }
                }
                self.keys.push(key);
                self.chunks.push(Chunk::default());
                let at = self.chunks.len() as u32 - 1;
                self.index.insert(key, at);
                at
            }
        };
        self.last = Some((key, at));
        Some(at)
    }

    /// Keeps every second chunk, until there is room.
    #[cold]
    fn thin_out(&mut self) {
        while self.chunks.len() == self.most {
            self.level += 1;
            let mut kept = 0;
            for at in 0..self.keys.len() {
                if Self::kept(self.level, self.keys[at]) {
                    self.keys.swap(kept, at);
                    self.chunks.swap(kept, at);
                    kept += 1;
                }
            }
            self.keys.truncate(kept);
            self.chunks.truncate(kept);
        }
        self.index.clear();
        self.index.extend(self.keys.iter().zip(0..).map(|(&key, at)| (key, at)));
        self.last = None;
    }

    /// Sum of `value` over all chunks of the trace, and its standard error.
    fn estimate(&self, value: impl Fn(&Chunk) -> u64) -> (u64, f64) {
        let (mut sum, mut squares) = (0, 0.0);
        for chunk in &self.chunks {
            let value = value(chunk);
            sum += value;
            squares += value as f64 * value as f64;
        }
        let times = (1_u64 << self.level) as f64;
        // Each chunk is kept independently with probability 1 / times (the estimate of Horvitz and Thompson).
        (sum << self.level, (squares * (1.0 - 1.0 / times)).sqrt() * times)
    }

    /// The footprint.
    pub fn footprint(&self) -> FootprintInfo {
        let ones = |bits: u16| u64::from(bits.count_ones());
        let (pages, error) = self.estimate(|chunk| ones(chunk.touched));
        FootprintInfo {
            pages,
            read_pages: self.estimate(|chunk| ones(chunk.read)).0,
            written_pages: self.estimate(|chunk| ones(chunk.written_pages())).0,
            both_pages: self.estimate(|chunk| ones(chunk.read & chunk.written_pages())).0,
            standard_error: if pages == 0 { 0.0 } else { error / pages as f64 },
        }
    }

    /// The rewrites; none without writes.
    pub fn rewrites(&self) -> Option<RewriteInfo> {
        let (distinct, error) = self.estimate(Chunk::written_sectors);
        // The difference of two estimates may be negative.
        let rewritten = self.sectors.saturating_sub(distinct);
        Some(RewriteInfo {
            bytes: rewritten * SECTOR,
            share: share(rewritten, self.sectors)?,
            standard_error: error / self.sectors as f64,
        })
    }

    /// Life span and life cycle; none without writes to the kept pages, or with more than 2^32 writes.
    pub fn life(&self) -> Option<LifeInfo> {
        u32::try_from(self.writes).ok()?;
        let each = || {
            let pages = |chunk: &Chunk| (0..PAGES).map(|n| (chunk.first[n], chunk.last[n], chunk.writes[n])).collect();
            self.chunks.iter().flat_map(move |chunk| -> Vec<(u32, u32, u32)> { pages(chunk) })
        };
        let written = each().filter(|page| page.2 > 0).count() as u64;
        let rewritten = || each().filter(|page| page.2 > 1);
        let spans = rewritten().map(|(first, last, _)| (last - first) as f32).collect();
        let cycles = rewritten().map(|(first, last, writes)| (last - first) as f32 / writes as f32).collect();
        Some(LifeInfo {
            rewritten_share: share(rewritten().count() as u64, written)?,
            writes_per_page: share(each().map(|page| u64::from(page.2)).sum(), written)?,
            span: LifeSpread::of(spans),
            cycle: LifeSpread::of(cycles),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use wordline_base::Stream;

    #[test]
    fn footprint_rewrites_and_life_by_hand() {
        let mut pages = Pages::default();
        pages.add(0, 0, 8192, Op::Write); // write 1: pages 0 and 1
        pages.add(0, 4096, 4096, Op::Read);
        pages.add(0, 4096, 4096, Op::Write); // write 2: page 1 again
        pages.add(0, 1 << 30, 512, Op::Read); // one page, never written
        pages.add(1, 0, 4096, Op::Write); // write 3: page 0 of another device
        pages.add(0, 4096, 8192, Op::Write); // write 4: page 1 a third time, page 2
        pages.add(0, 1 << 20, 4096, Op::Trim);
        let found = pages.footprint();
        assert_eq!((found.pages, found.read_pages, found.written_pages, found.both_pages), (6, 2, 4, 1));
        assert_eq!(found.standard_error, 0.0);
        let rewrites = pages.rewrites().unwrap();
        assert_eq!((rewrites.bytes, rewrites.share), (8192, 8192.0 / 24_576.0));
        let life = pages.life().unwrap();
        assert_eq!((life.rewritten_share, life.writes_per_page), (0.25, 6.0 / 4.0));
        // Page 1: written first by write 1, last by write 4, three times.
        assert_eq!(life.span, Some(LifeSpread { mean: 3.0, p50: 3.0, p90: 3.0, max: 3.0 }));
        assert_eq!(life.cycle.unwrap().mean, 1.0);
    }

    #[test]
    fn neighbours_that_share_a_page_do_not_rewrite_it() {
        let mut pages = Pages::default();
        // A partition that begins at sector 63.
        for n in 0..100 {
            pages.add(0, 63 * 512 + n * 4096, 4096, Op::Write);
        }
        assert_eq!(pages.rewrites().unwrap().share, 0.0);
        assert_eq!(pages.life().unwrap().rewritten_share, 0.0);
        assert_eq!(pages.footprint().pages, 101);
        assert_eq!(Pages::default().rewrites(), None);
        assert_eq!(Pages::default().life(), None);
    }

    /// Contents of the table, in plain sets.
    #[derive(Default)]
    struct Plain {
        touched: BTreeSet<(u32, u64)>,
        read: BTreeSet<(u32, u64)>,
        sectors: BTreeSet<(u32, u64)>,
        rewritten: u64,
        all: u64,
        lives: BTreeMap<(u32, u64), (u64, u64, u64)>,
        writes: u64,
    }

    impl Plain {
        fn add(&mut self, device: u32, offset: u64, bytes: u32, op: Op) {
            self.writes += u64::from(op == Op::Write);
            let sectors = offset / 512..(offset + u64::from(bytes)).div_ceil(512);
            let mut again = BTreeSet::new();
            for sector in sectors.clone() {
                self.touched.insert((device, sector / 8));
                if op == Op::Read {
                    self.read.insert((device, sector / 8));
                }
                if op == Op::Write {
                    self.all += 1;
                    if !self.sectors.insert((device, sector)) {
                        self.rewritten += 1;
                        again.insert((device, sector / 8));
                    }
                }
            }
            if op == Op::Write {
                for page in sectors.map(|sector| (device, sector / 8)).collect::<BTreeSet<_>>() {
                    let life = self.lives.entry(page).or_insert((self.writes, self.writes, 1));
                    if again.contains(&page) {
                        (life.1, life.2) = (self.writes, life.2 + 1);
                    }
                }
            }
        }
    }

    fn random(seed: u64, requests: u32, space: u64) -> (Pages, Plain) {
        let mut random = Stream::new(seed, "pages-test", 0);
        let (mut pages, mut plain) = (Pages::default(), Plain::default());
        for _ in 0..requests {
            let device = random.below(3) as u32;
            let offset = random.below(space) / 512 * 512 + random.below(2) * random.below(512);
            let bytes = 1 + random.below(200_000) as u32;
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
            pages.add(device, offset, bytes, op);
            plain.add(device, offset, bytes, op);
        }
        (pages, plain)
    }

    #[test]
    fn random_requests_agree_with_plain_sets() {
        for seed in 0..8 {
            let (pages, plain) = random(seed, 1_500, 1 << (20 + seed));
            let found = pages.footprint();
            let written: BTreeSet<_> = plain.sectors.iter().map(|(device, sector)| (*device, sector / 8)).collect();
            assert_eq!(found.pages, plain.touched.len() as u64);
            assert_eq!(found.read_pages, plain.read.len() as u64);
            assert_eq!(found.written_pages, written.len() as u64);
            assert_eq!(found.both_pages, written.intersection(&plain.read).count() as u64);
            let rewrites = pages.rewrites().unwrap();
            assert_eq!(rewrites.bytes, plain.rewritten * 512);
            assert_eq!(rewrites.share, plain.rewritten as f64 / plain.all as f64);
            let life = pages.life().unwrap();
            let again: Vec<_> = plain.lives.values().filter(|life| life.2 > 1).collect();
            assert_eq!(life.rewritten_share, again.len() as f64 / plain.lives.len() as f64);
            let mut spans: Vec<_> = again.iter().map(|life| (life.1 - life.0) as f64).collect();
            spans.sort_by(f64::total_cmp);
            let span = life.span.unwrap();
            assert!((span.mean - spans.iter().sum::<f64>() / spans.len() as f64).abs() < 1e-6);
            assert_eq!(span.p50, spans[spans.len().div_ceil(2) - 1]);
            let cycles = again.iter().map(|life| (life.1 - life.0) as f64 / life.2 as f64);
            assert!((life.cycle.unwrap().mean - cycles.sum::<f64>() / spans.len() as f64).abs() < 1e-3);
        }
    }

    #[test]
    fn sampling_stays_within_its_stated_error() {
        let mut outliers = 0;
        for seed in 0..8 {
            let mut random = Stream::new(seed, "pages-test", 1);
            let (mut pages, mut exact) = (Pages::with(2048), Pages::default());
            for _ in 0..60_000 {
                // A hot tenth of the space gets half of the writes.
                let chunk = if random.below(2) == 0 { random.below(6_000) } else { random.below(60_000) };
                let (offset, bytes) = (chunk * CHUNK + random.below(15) * PAGE, 4096);
                for pages in [&mut pages, &mut exact] {
                    pages.add(0, offset, bytes, Op::Write);
                }
            }
            assert!(pages.level > 0 && pages.chunks.len() > 1000 && exact.level == 0);
            let (found, truth) = (pages.footprint(), exact.footprint());
            assert!(found.standard_error > 0.0 && found.standard_error < 0.05, "{found:?}");
            let off = (found.pages as f64 / truth.pages as f64 - 1.0).abs();
            outliers += u32::from(off > 2.0 * found.standard_error);
            let (found, truth) = (pages.rewrites().unwrap(), exact.rewrites().unwrap());
            outliers += u32::from((found.share - truth.share).abs() > 2.0 * found.standard_error);
            let mean = |pages: &Pages| pages.life().unwrap().span.unwrap().mean;
            assert!((mean(&pages) / mean(&exact) - 1.0).abs() < 0.15);
        }
        // One in twenty is expected outside two standard errors.
        assert!(outliers <= 3, "{outliers} of 16");
    }
}
