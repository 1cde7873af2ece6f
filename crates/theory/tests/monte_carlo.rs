//! The formulas against a page-by-page simulation, independent of the theory: an array for the map, an array for its
//! inverse, one append point for host and GC, one spare block as target of GC.

use wordline_theory::{best_of_d, best_of_d_steady_state, fifo, greedy, greedy_steady_state, random, spare_ratio};

const NONE: u32 = u32::MAX;

/// Splitmix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * bound as u128) >> 64) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Greedy,
    Fifo,
    Random,
    BestOf(u32),
}

struct Drive {
    policy: Policy,
    rng: Rng,
    block_pages: usize,
    /// Physical page of each logical page.
    map: Vec<u32>,
    /// Logical page in each physical page, or `NONE` if it is invalid or erased.
    owner: Vec<u32>,
    valid: Vec<u32>,
    /// The order in which blocks became frontiers, oldest first; for FIFO.
    log: std::collections::VecDeque<usize>,
    /// Full blocks by number of valid pages, and the position of each block in its list; for greedy.
    by_valid: Vec<Vec<u32>>,
    place: Vec<u32>,
    frontier: usize,
    next_page: usize,
    spare: usize,
    host_writes: u64,
    programs: u64,
}

impl Drive {
    /// A drive of `blocks` blocks and a spare one, filled once in sequence.
    fn new(policy: Policy, seed: u64, blocks: usize, block_pages: usize, logical: usize) -> Drive {
        let mut drive = Drive {
            policy,
            rng: Rng(seed),
            block_pages,
            map: vec![NONE; logical],
            owner: vec![NONE; (blocks + 1) * block_pages],
            valid: vec![0; blocks + 1],
            log: std::collections::VecDeque::new(),
            by_valid: vec![Vec::new(); block_pages + 1],
            place: vec![NONE; blocks + 1],
            frontier: 0,
            next_page: 0,
            spare: blocks,
            host_writes: 0,
            programs: 0,
        };
        // The blocks beyond the data start full of invalid pages; the first collections take them.
        let data_blocks = logical.div_ceil(block_pages);
        for page in 0..logical {
            drive.owner[page] = page as u32;
            drive.map[page] = page as u32;
            drive.valid[page / block_pages] += 1;
        }
        // Invalid blocks come first in the log, so FIFO starts with them.
        for block in (data_blocks..blocks).chain(0..data_blocks) {
            drive.close(block);
        }
        drive.frontier = drive.log.pop_back().unwrap();
        drive.unlist(drive.frontier);
        drive.next_page = block_pages;
        drive
    }

    fn close(&mut self, block: usize) {
        self.log.push_back(block);
        self.list(block);
    }

    fn list(&mut self, block: usize) {
        let list = &mut self.by_valid[self.valid[block] as usize];
        self.place[block] = list.len() as u32;
        list.push(block as u32);
    }

    fn unlist(&mut self, block: usize) {
        let list = &mut self.by_valid[self.valid[block] as usize];
        let at = self.place[block] as usize;
        list.swap_remove(at);
        if let Some(moved) = list.get(at) {
            self.place[*moved as usize] = at as u32;
        }
        self.place[block] = NONE;
    }

    /// Any block except the spare one. Called only when the frontier is full and has joined the others.
    fn draw(&mut self) -> usize {
        let block = self.rng.below(self.valid.len() - 1);
        if block == self.spare {
            self.valid.len() - 1
        } else {
            block
        }
    }

    fn victim(&mut self) -> usize {
        match self.policy {
            Policy::Greedy => self.by_valid.iter().find_map(|list| list.first()).copied().unwrap() as usize,
            Policy::Fifo => self.log[0],
            Policy::Random => self.draw(),
            Policy::BestOf(d) => {
                let mut best = self.draw();
                for _ in 1..d {
                    let other = self.draw();
                    if self.valid[other] < self.valid[best] {
                        best = other;
                    }
                }
                best
            }
        }
    }

    fn collect(&mut self) {
        self.close(self.frontier);
        let victim = self.victim();
        if self.policy == Policy::Fifo {
            self.log.pop_front();
        } else {
            self.log.clear();
        }
        self.unlist(victim);
        self.frontier = self.spare;
        self.next_page = 0;
        for page in victim * self.block_pages..(victim + 1) * self.block_pages {
            let logical = std::mem::replace(&mut self.owner[page], NONE);
            if logical != NONE {
                self.append(logical);
            }
        }
        self.valid[victim] = 0;
        self.spare = victim;
    }

    fn append(&mut self, logical: u32) {
        let page = self.frontier * self.block_pages + self.next_page;
        self.owner[page] = logical;
        self.map[logical as usize] = page as u32;
        self.valid[self.frontier] += 1;
        self.next_page += 1;
        self.programs += 1;
    }

    fn overwrite(&mut self) {
        while self.next_page == self.block_pages {
            self.collect();
        }
        let logical = self.rng.below(self.map.len());
        let old = self.map[logical] as usize;
        let block = old / self.block_pages;
        self.owner[old] = NONE;
        if self.place[block] == NONE {
            self.valid[block] -= 1;
        } else {
            self.unlist(block);
            self.valid[block] -= 1;
            self.list(block);
        }
        self.append(logical as u32);
        self.host_writes += 1;
    }

    /// WA over `measured` times as many host writes as there are logical pages, after `warm_up` times as many.
    fn run(&mut self, warm_up: usize, measured: usize) -> f64 {
        for _ in 0..warm_up * self.map.len() {
            self.overwrite();
        }
        (self.host_writes, self.programs) = (0, 0);
        for _ in 0..measured * self.map.len() {
            self.overwrite();
        }
        self.check();
        self.programs as f64 / self.host_writes as f64
    }

    /// Checks the simulation's own records: without this, agreement with theory would prove little.
    fn check(&self) {
        for (logical, page) in self.map.iter().enumerate() {
            assert_eq!(self.owner[*page as usize], logical as u32);
        }
        for (block, pages) in self.owner.chunks(self.block_pages).enumerate() {
            assert_eq!(pages.iter().filter(|owner| **owner != NONE).count(), self.valid[block] as usize);
        }
        assert_eq!(self.valid.iter().sum::<u32>() as usize, self.map.len());
    }
}

/// Runs a policy at every alpha and compares the result with the formula.
fn compare(policy: Policy, blocks: usize, block_pages: usize, formula: impl Fn(f64) -> f64) {
    for (i, nominal) in [1.075, 1.15, 1.28, 1.5].into_iter().enumerate() {
        let logical = ((blocks * block_pages) as f64 / nominal) as usize;
        let alpha = spare_ratio(blocks as u64 + 1, 1, block_pages as u32, logical as u64).unwrap();
        let measured = Drive::new(policy, 1 + i as u64, blocks, block_pages, logical).run(4, 4);
        let expected = formula(alpha);
        let deviation = measured / expected - 1.0;
        println!(
            "{policy:?}, b {block_pages}, alpha {alpha:.4}: {measured:.4}, formula {expected:.4}, off by {:+.2} %",
            100.0 * deviation
        );
        assert!(deviation.abs() < 0.02, "{policy:?} alpha {alpha}: measured {measured}, formula {expected}");
    }
}

#[test]
fn greedy_32() {
    compare(Policy::Greedy, 2000, 32, |alpha| greedy(alpha, 32).unwrap());
}

#[test]
fn greedy_64() {
    compare(Policy::Greedy, 2000, 64, |alpha| greedy(alpha, 64).unwrap());
}

#[test]
fn greedy_8() {
    compare(Policy::Greedy, 4000, 8, |alpha| greedy(alpha, 8).unwrap());
}

#[test]
fn fifo_32() {
    compare(Policy::Fifo, 2000, 32, |alpha| fifo(alpha).unwrap());
}

#[test]
fn random_32() {
    compare(Policy::Random, 2000, 32, |alpha| random(alpha).unwrap());
}

#[test]
fn best_of_10_32() {
    compare(Policy::BestOf(10), 2000, 32, |alpha| best_of_d(alpha, 32, 10).unwrap());
}

#[test]
fn best_of_10_64() {
    compare(Policy::BestOf(10), 2000, 64, |alpha| best_of_d(alpha, 64, 10).unwrap());
}

#[test]
fn best_of_2_32() {
    compare(Policy::BestOf(2), 2000, 32, |alpha| best_of_d(alpha, 32, 2).unwrap());
}

/// Not only the mean: the whole distribution of valid pages over blocks.
#[test]
fn distribution_of_valid_pages() {
    let (blocks, block_pages, logical) = (4000, 32, 100_000);
    let alpha = (blocks * block_pages) as f64 / logical as f64;
    for (policy, state) in [
        (Policy::Greedy, greedy_steady_state(alpha, 32).unwrap()),
        (Policy::BestOf(10), best_of_d_steady_state(alpha, 32, 10).unwrap()),
        (Policy::Random, best_of_d_steady_state(alpha, 32, 1).unwrap()),
    ] {
        let mut drive = Drive::new(policy, 7, blocks, block_pages, logical);
        drive.run(4, 1);
        let apart: f64 = state
            .blocks
            .iter()
            .zip(&drive.by_valid)
            .map(|(share, list)| (share - list.len() as f64 / blocks as f64).abs())
            .sum();
        // 4000 independent blocks over about 20 counts in use would be 0.06 apart by chance.
        println!("{policy:?}: {apart:.4}");
        assert!(apart < 0.1, "{policy:?}: distributions {apart} apart");
    }
}
