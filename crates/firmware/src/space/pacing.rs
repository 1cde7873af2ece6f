//! Pacing: while free blocks are short and GC runs, the host writes only what GC has gained.
//!
//! A block with v valid units of n gains n - v once all v have moved. Each move is credited with its part of what the
//! running jobs of the domain still have to gain, so the host can write long before the block is erased. A page costs
//! the host all its units, however few it puts into it. Moves of background tasks gain space too and are credited, but
//! only GC makes the host wait: another task may have nothing to gain, and GC no victim until the host overwrites data.
//!
//! Pacing never makes room. It only decides how much of the room that the promises leave the host may use now. What it
//! leaves out is therefore harmless. It ignores the padding of moved pages: then free blocks fall to the reserve, and
//! the host waits for blocks as it would without pacing. It counts units that were overwritten before they were moved
//! as moved: then free blocks rise to the threshold, where nobody is held back.
//!
//! Unpaced, the host may take the last blocks but the reserve at once, so these stay free for the next collection. A paced host takes
//! no more than each collection gains, so it may open a block of the reserve while those in progress have all the room
//! that they need and will give back as many: else it would stand still until a whole block is erased, whenever its open
//! block is full before that.
//!
//! Where moved pages gather for programs of all planes of a die, the allowance grows by such programs. Else the host would take each page as soon as
//! it is gained, and program plane by plane, which takes a die as long as all planes at once.
//!
//! Where blocks form superblocks, an open one may be a large part of all room. So the threshold is counted in pages there, free and in open
//! superblocks, for moved data and for the host: below it the host needs neither superblock before a victim is erased, and above it spare space
//! would lie idle. A collection that begins gives the host less than it gains if what will be left is below the threshold.
//!
//! A host that writes little saves its allowance, up to a block for each running job and one more. What earlier jobs
//! gained shows as free blocks, and above the threshold nobody is held back. When the last job of a domain has ended
//! and no other follows, the allowance is dropped: the next collection starts with nothing gained.

use super::{Space, Stream, Tally};
use crate::blocks::Blocks;
use crate::task::Task;

impl Tally {
    /// Jobs of a task will gain so many units; if they have none to move they have gained them at once.
    pub(super) fn expect(&mut self, task: Task, gain: u32, (block, jobs): (u32, u32)) {
        self.collections += if task == Task::GC { jobs } else { 0 };
        self.to_gain += gain;
        if self.owed == 0 {
            self.allowance += std::mem::take(&mut self.to_gain);
            self.uncredited = 0;
            self.limit(block);
        }
    }

    /// The host has bound a page.
    #[inline]
    pub(super) fn spend(&mut self, units: u32) {
        // Nobody is held back above the threshold: there a page may cost more than the allowance.
        self.allowance = self.allowance.saturating_sub(units);
    }

    /// Blocks that collections in progress will have erased when they end; 0 if the host is not paced.
    #[inline]
    pub(super) fn comes_back(&self) -> u32 {
        self.collections
    }

    /// Keeps the allowance to a `block` for each running job, and one for the last that ended.
    #[inline]
    fn limit(&mut self, block: u32) {
        self.allowance = self.allowance.min((self.jobs + 1) * block);
    }
}

impl Space {
    /// True if the host is paced at all.
    #[inline]
    pub fn paces(&self) -> bool {
        self.pace_below > 0
    }

    /// A job has ended, and others have started if any will: without jobs the domain is at rest.
    #[inline]
    pub fn rest(&mut self, domain: u32) {
        if self.paces() && self.domains[domain as usize].jobs == 0 {
            let tally = &mut self.domains[domain as usize];
            (tally.allowance, tally.uncredited, tally.saved_up) = (0, 0, 0);
        }
    }

    /// Units in a block.
    #[inline]
    pub(super) fn units_per_block(&self) -> u32 {
        self.programs_per_block * self.units_per_program.get()
    }

    /// True if pacing lets a stream write so many pages to the domain of a plane now.
    #[inline]
    pub fn lets_write(&self, blocks: &Blocks, plane: u32, stream: Stream, pages: u32) -> bool {
        self.pace_below == 0 || stream == Stream::Collector || self.is_allowed(blocks, plane, pages)
    }

    fn is_allowed(&self, blocks: &Blocks, plane: u32, pages: u32) -> bool {
        let domain = blocks.domain_of_plane(plane);
        let tally = &self.domains[domain as usize];
        tally.allowance >= pages * self.units_per_program.get()
            || tally.collections == 0
            || self.has_enough(blocks, domain)
    }

    /// True if a domain has so much room left that nobody is held back.
    fn has_enough(&self, blocks: &Blocks, domain: u32) -> bool {
        match &self.stripes {
            Some(_) => self.room(blocks, domain, 0) >= self.pace_room,
            None => blocks.free_in_domain(domain) >= self.pace_below,
        }
    }

    /// Pages for data in superblocks: free, open, and `more` blocks that will be free.
    fn room(&self, blocks: &Blocks, domain: u32, more: u32) -> u32 {
        let free = (blocks.free_in_domain(domain) + more) / self.blocks_together * self.pages_together;
        let of_host = self.stripes.as_ref().map_or(0, |stripes| stripes.host_room());
        free + self.domains[domain as usize].collector_room + of_host
    }

    /// What of the `gain` of a collection that begins the host may have: less if the room at its end would be too little. A collection may gain
    /// a little less than it counts, so room would shrink.
    pub(super) fn for_host(&self, blocks: &Blocks, domain: u32, gain: u32) -> u32 {
        if self.stripes.is_none() {
            return gain;
        }
        let tally = &self.domains[domain as usize];
        let left = self.room(blocks, domain, tally.jobs).saturating_sub(self.credit(tally.owed, tally.jobs));
        let lacking = self.pace_room.saturating_sub(left).saturating_mul(self.units_per_program.get());
        gain - lacking.min(gain / 2)
    }

    /// The host has bound a page in a superblock, which costs so many units.
    pub(super) fn pay(&mut self, blocks: &Blocks, domain: u32, cost: u32) {
        let free = self.has_enough(blocks, domain);
        let tally = &mut self.domains[domain as usize];
        if free {
            // What was gained is part of the room that lets it write. It must not have it again below the threshold.
            tally.allowance = 0;
        } else {
            tally.spend(cost);
        }
    }

    /// Credits the host of a domain with what moving `units` gains; true if it may write a page now and could not before.
    pub(super) fn earn(&mut self, domain: u32, units: u32) -> bool {
        let (page, block) = (self.units_per_program.get(), self.units_per_block());
        let tally = &mut self.domains[domain as usize];
        let before = tally.allowance;
        // A page of units may gain less than one: they count on with the next. The last units of all jobs get the rest.
        let (moved, all) = (tally.uncredited + units, tally.owed + tally.uncredited);
        let gained = (u64::from(tally.to_gain) * u64::from(moved) / u64::from(all)) as u32;
        tally.uncredited = if gained > 0 { 0 } else { moved };
        tally.to_gain -= gained;
        tally.saved_up += gained;
        // What all jobs have gained in the end is no less for being no whole step.
        if tally.saved_up >= self.pace_step || tally.owed == units {
            let rest = if tally.owed == units { 0 } else { tally.saved_up % self.pace_step };
            tally.allowance += tally.saved_up - rest;
            tally.saved_up = rest;
        }
        tally.limit(block);
        before < page && tally.allowance >= page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CapacityConfig;
    use crate::policy::collect::CollectConfig;
    use crate::FirmwareConfig;
    use wordline_flash::{Geometry, GeometryConfig};

    /// Units in a page, and in a block.
    const PAGE: u32 = 4;
    const BLOCK: u32 = 16;

    /// So many dies of one plane of 20 blocks of four pages, each on a channel of its own.
    fn dies(count: u32) -> Geometry {
        Geometry::new(&GeometryConfig {
            channels: count,
            packages_per_channel: 1,
            gang: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 20,
            pages_per_block: 4,
            page_kib: 16,
            pages_per_program: 1,
            slc_pages_per_block: None,
        })
        .unwrap()
    }

    /// The sizes of their blocks, all in one domain.
    fn sizes(planes: u32) -> crate::blocks::Sizes {
        crate::blocks::Sizes {
            planes,
            planes_per_domain: planes,
            blocks_per_plane: 20,
            programs_per_block: 4,
            units_per_program: PAGE,
            units_per_page: PAGE,
            slc_programs: 1,
        }
    }

    /// A plane of 20 blocks of four pages, of which fewer than three are free: GC starts below three.
    fn short_of_blocks(pacing: bool) -> (Space, Blocks) {
        let geometry = dies(1);
        let mut config = FirmwareConfig {
            capacity: CapacityConfig { raw_over_logical: 3.0, ..CapacityConfig::default() },
            ..FirmwareConfig::default()
        };
        config.mapping = serde_json::from_str(r#"{ "policy": "page", "unit_kib": 4 }"#).unwrap();
        let CollectConfig::OnDemand(options) = &mut config.collect else { unreachable!("it is the default") };
        (options.start_blocks, options.pacing) = (Some(3), pacing);
        let plan = config.plan(&geometry).unwrap();
        let build = config.build(&geometry, PAGE, 1);
        let mut blocks = Blocks::new(sizes(1), true, &mut config.free_block.build(&build).unwrap());
        (0..18).for_each(|_| assert!(blocks.open_first(0).is_some()));
        (Space::new((1, 1), &plan), blocks)
    }

    /// Starts a job of a task on a full block with so many valid units.
    fn start(space: &mut Space, blocks: &Blocks, task: Task, valid: u32) {
        assert!(space.promise(blocks, task, 0, (valid, BLOCK - valid)), "two free blocks are enough");
    }

    fn allowance(space: &Space) -> u32 {
        space.domains[0].allowance
    }

    /// The allowance after each move of so many units.
    fn after_moves(space: &mut Space, moves: &[u32]) -> Vec<u32> {
        let after = |&units: &u32| {
            space.settle(0, units);
            allowance(space)
        };
        moves.iter().map(after).collect()
    }

    #[test]
    fn moves_that_gain_less_than_a_unit_count_on() {
        let (mut space, blocks) = short_of_blocks(true);
        start(&mut space, &blocks, Task::GC, 14);
        // Two units for fourteen moves: one after the seventh, though each by itself would gain nothing.
        assert_eq!(after_moves(&mut space, &[1; 7]), [0, 0, 0, 0, 0, 0, 1]);
        // Another victim of the same kind starts before this one ends: 1 + 2 units for the 7 + 14 moves that are left.
        start(&mut space, &blocks, Task::GC, 14);
        assert_eq!(after_moves(&mut space, &[1; 7])[6], 2);
    }

    #[test]
    fn each_move_lets_the_host_write_its_part_of_the_gain() {
        // By hand: valid units, moves, the allowance after each of them.
        let cases: [(u32, &[u32], &[u32]); 6] = [
            // 10 to gain by 6 units: 4 of 6 of 10, then the rest.
            (6, &[4, 2], &[6, 10]),
            // 9 by 7, one by one: 9/7, 8/6, 7/5, 6/4, 5/3, 4/2, 2/1, each rounded down.
            (7, &[1, 1, 1, 1, 1, 1, 1], &[1, 2, 3, 4, 5, 7, 9]),
            // 8 by 8, page by page.
            (8, &[4, 4], &[4, 8]),
            // 4 by 12, page by page: 4/3, 3/2, 2/1.
            (12, &[4, 4, 4], &[1, 2, 4]),
            // 1 by 15: nothing before the last.
            (15, &[4, 4, 4, 3], &[0, 0, 0, 1]),
            // 15 by 1.
            (1, &[1], &[15]),
        ];
        for (valid, moves, expected) in cases {
            let (mut space, blocks) = short_of_blocks(true);
            start(&mut space, &blocks, Task::GC, valid);
            assert_eq!(allowance(&space), 0, "nothing has moved");
            assert_eq!(after_moves(&mut space, moves), expected, "{valid} valid units");
            assert_eq!(space.domains[0].to_gain, 0);
        }
    }

    #[test]
    fn an_allowance_of_whole_commands_grows_by_them() {
        let (mut space, blocks) = short_of_blocks(true);
        space.pace_step = 2 * PAGE;
        start(&mut space, &blocks, Task::GC, 4);
        // 12 to gain by 4 units: 3 each, so that 8 are there after the third; the last gives what is left.
        assert_eq!(after_moves(&mut space, &[1; 4]), [0, 0, 8, 12]);
        assert_eq!(space.domains[0].saved_up, 0);
        // While another job runs, what is left waits for more.
        start(&mut space, &blocks, Task::GC, 8);
        start(&mut space, &blocks, Task::GC, 8);
        assert_eq!(after_moves(&mut space, &[6]), [12]);
        assert_eq!(space.domains[0].saved_up, 6);
        assert_eq!(after_moves(&mut space, &[2, 8]), [20, 28]);
        space.end_job(Task::GC, 0);
        assert_eq!(space.domains[0].saved_up, 0);
    }

    #[test]
    fn every_victim_gives_the_host_all_that_it_gains() {
        for valid in 0..=BLOCK {
            for step in 1..=BLOCK {
                let (mut space, blocks) = short_of_blocks(true);
                start(&mut space, &blocks, Task::GC, valid);
                let mut left = valid;
                while left > 0 {
                    let units = left.min(step);
                    space.settle(0, units);
                    left -= units;
                    let fair = (BLOCK - valid) * (valid - left) / valid;
                    assert!(allowance(&space) <= fair, "{valid} valid units, {step} at a time");
                }
                assert_eq!(allowance(&space), BLOCK - valid);
                space.end_job(Task::GC, 0);
                assert_eq!(allowance(&space), BLOCK - valid, "the next victim may start at once");
                space.rest(0);
                assert_eq!(space.domains[0], Tally::default(), "nothing is left at rest");
            }
        }
    }

    #[test]
    fn a_page_costs_all_its_units_and_is_bound_only_when_they_are_there() {
        let (mut space, mut blocks) = short_of_blocks(true);
        let may = |space: &Space, blocks: &Blocks, pages| space.lets_write(blocks, 0, Stream::Host, pages);
        // The host has a block open, so that only pacing can hold it back.
        space.bind_first(&mut blocks, 0, Stream::Host, Task::HOST);
        assert!(space.has_room(&blocks, 0, Stream::Host), "GC does not run yet");
        start(&mut space, &blocks, Task::GC, 6);
        assert!(!space.has_room(&blocks, 0, Stream::Host));
        assert!(space.has_room(&blocks, 0, Stream::Collector), "GC is never held back");
        assert!(space.settle(0, 4), "6 units are a page, and the host may go on");
        assert!(may(&space, &blocks, 1) && !may(&space, &blocks, 2));
        space.bind_first(&mut blocks, 0, Stream::Host, Task::HOST);
        assert_eq!(allowance(&space), 2);
        assert!(!space.has_room(&blocks, 0, Stream::Host), "2 units are no page");
        assert!(space.settle(0, 1), "2 and 4 / 2 are a page");
        assert!(!space.settle(0, 1), "it could go on before");
        assert_eq!(allowance(&space), 6);
        space.bind_first(&mut blocks, 0, Stream::Host, Task::HOST);
        assert!(!space.has_room(&blocks, 0, Stream::Host));
        space.end_job(Task::GC, 0);
        assert!(space.has_room(&blocks, 0, Stream::Host), "nobody waits for GC that does not run");
    }

    #[test]
    fn a_block_without_valid_units_gives_all_of_it_at_once() {
        let (mut space, blocks) = short_of_blocks(true);
        start(&mut space, &blocks, Task::GC, 0);
        assert_eq!(allowance(&space), BLOCK);
        start(&mut space, &blocks, Task::GC, 8);
        assert_eq!(allowance(&space), BLOCK, "the units of the second block have still to move");
    }

    #[test]
    fn a_paced_host_opens_a_block_of_the_reserve_that_collections_will_give_back() {
        // By hand: valid units of the victim; whether the host may open the last free block after the first move of four.
        // GC has opened the other one, with room for twelve more: one page for a job that ends with a part of a page, so
        // that eight more may be owed.
        for (valid, paced) in [(4, true), (8, true), (12, true), (13, false), (16, false)] {
            for pacing in [true, false] {
                let (mut space, mut blocks) = short_of_blocks(pacing);
                assert_eq!((space.reserve, blocks.free_in_domain(0)), (1, 2));
                start(&mut space, &blocks, Task::GC, valid);
                space.bind_first(&mut blocks, 0, Stream::Collector, Task::GC);
                space.settle(0, 4);
                assert_eq!(space.may_open(&blocks, 0, Stream::Host), pacing && paced, "{valid} valid units, {pacing}");
                // Without a collection nothing will be given back.
                space.settle(0, valid - 4);
                space.end_job(Task::GC, 0);
                assert!(!space.may_open(&blocks, 0, Stream::Host));
            }
        }
    }

    #[test]
    fn other_tasks_gain_space_but_hold_nobody_back() {
        let (mut space, blocks) = short_of_blocks(true);
        let other = Task::all().last().expect("GC is not the last");
        start(&mut space, &blocks, other, BLOCK);
        assert!(space.lets_write(&blocks, 0, Stream::Host, 1));
        start(&mut space, &blocks, Task::GC, 8);
        assert!(!space.lets_write(&blocks, 0, Stream::Host, 1));
        // Eight to gain by 24 units, whosever they are.
        assert_eq!(after_moves(&mut space, &[12, 12]), [4, 8]);
        space.end_job(Task::GC, 0);
        space.rest(0);
        assert_eq!(allowance(&space), 8, "a job runs");
        space.end_job(other, 0);
        space.rest(0);
        assert_eq!(space.domains[0], Tally::default());
    }

    #[test]
    fn a_host_that_does_not_write_saves_a_block_for_each_job_and_one_more() {
        let (mut space, blocks) = short_of_blocks(true);
        // Two jobs run, and each that ends is followed by another; each gains 15 units.
        (0..2).for_each(|_| start(&mut space, &blocks, Task::GC, 1));
        let mut saved = Vec::new();
        for _ in 0..5 {
            space.settle(0, 1);
            saved.push(allowance(&space));
            space.end_job(Task::GC, 0);
            start(&mut space, &blocks, Task::GC, 1);
            space.rest(0);
        }
        assert_eq!(saved, [15, 30, 45, 3 * BLOCK, 3 * BLOCK]);
    }

    #[test]
    fn enough_free_blocks_or_no_pacing_hold_nobody_back() {
        let (mut space, blocks) = short_of_blocks(false);
        for _ in 0..3 {
            start(&mut space, &blocks, Task::GC, 6);
            assert!(space.lets_write(&blocks, 0, Stream::Host, 4));
            assert!(!space.settle(0, 6));
        }
        assert_eq!((space.domains[0].to_gain, allowance(&space)), (0, 0), "nothing is counted");

        let (mut space, mut blocks) = short_of_blocks(true);
        start(&mut space, &blocks, Task::GC, 6);
        assert!(!space.lets_write(&blocks, 0, Stream::Host, 1));
        space.pace_below = blocks.free_in_domain(0);
        assert!(space.lets_write(&blocks, 0, Stream::Host, 4), "there are enough");
        blocks.open_first(0);
        assert!(!space.lets_write(&blocks, 0, Stream::Host, 1));
    }

    /// Two dies of one plane whose blocks of four pages form superblocks of eight pages; two of them are free, and pacing begins below
    /// two of them and a page for each block.
    fn short_of_superblocks() -> (Space, Blocks) {
        let geometry = dies(2);
        let section = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let config: FirmwareConfig = serde_json::from_value(section(
            r#"{
                "capacity": { "raw_over_logical": 3.0 },
                "mapping": { "policy": "page", "unit_kib": 4 },
                "placement": { "policy": "least-busy" },
                "collect": { "policy": "on-demand", "scope": "drive", "start_blocks": 4, "pacing": true },
                "redundancy": { "policy": "superblock" }
            }"#,
        ))
        .unwrap();
        let plan = config.plan(&geometry).unwrap();
        let build = config.build(&geometry, PAGE, 1);
        let mut blocks = Blocks::new(sizes(2), true, &mut config.free_block.build(&build).unwrap());
        blocks.form_superblocks(plan.stripe.unwrap(), None, &geometry);
        (0..18).for_each(|_| assert!(blocks.open_first_superblock(0).is_some()));
        let space = Space::new((2, 1), &plan);
        assert_eq!((blocks.free_in_domain(0), space.pace_room), (4, 2 * 8 + 2));
        (space, blocks)
    }

    #[test]
    fn superblocks_are_counted_with_what_is_left_of_the_open_ones() {
        let (mut space, mut blocks) = short_of_superblocks();
        let may = |space: &Space, blocks: &Blocks| space.lets_write(blocks, 0, Stream::Host, 1);
        assert!(may(&space, &blocks), "GC does not run yet");
        // Sixteen pages are free, and two are lacking: eight units, of 24 to gain.
        assert!(space.promise(&blocks, Task::GC, 0, (40, 24)));
        assert_eq!((space.domains[0].to_gain, space.domains[0].jobs), (24 - 8, 2));
        assert!(!may(&space, &blocks));
        // 12 of 40 units are moved: 3/10 of what it may have, a page and not two.
        space.settle(0, 12);
        assert_eq!(allowance(&space), 4);
        assert!(may(&space, &blocks) && !space.lets_write(&blocks, 0, Stream::Host, 2));
        for plane in [0, 1] {
            space.bind_first(&mut blocks, plane, Stream::Host, Task::HOST);
        }
        assert_eq!((allowance(&space), space.room(&blocks, 0, 0)), (0, 8 + 6));
        assert!(!may(&space, &blocks));
        // With enough room nobody is held back; what was gained is part of it, and not there twice.
        space.settle(0, 28);
        assert_eq!(allowance(&space), 12);
        let free_again = space.pace_room;
        space.pace_room = space.room(&blocks, 0, 0);
        assert!(space.lets_write(&blocks, 0, Stream::Host, 9));
        space.bind_first(&mut blocks, 0, Stream::Host, Task::HOST);
        assert_eq!(allowance(&space), 12 - 4, "the page went below the threshold");
        space.pace_room -= 2;
        space.bind_first(&mut blocks, 1, Stream::Host, Task::HOST);
        assert_eq!(allowance(&space), 0);
        space.pace_room = free_again;
        // A drive that goes on with these blocks counts the same.
        let mut again = space.clone();
        again.count_host_room(&blocks);
        assert_eq!(again, space);
    }
}
