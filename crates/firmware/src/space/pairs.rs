//! Open blocks that host and GC share: one in each plane, or two while they last.
//!
//! Source: choi18: one active block a plane (2.2), and a second one, opened in all planes of a die when a collection starts
//! there, so that host and GC can program them at the same page offset (4.2). After the collection both take data until
//! they are full; the fuller one first, so that the next collection finds a plane with one open block.
//! The second block of a plane counts as free until the first is full: opening it costs no space, so it must not call for more
//! GC (the paper does not say; it takes the cost of second blocks to be very small).
//! The paper does not say what happens if a plane still has two. Then no third is opened: the plane that collects goes on
//! with the emptier one, and the others with the one whose write point it reaches first.

use super::{Space, Stream, NONE, STREAMS};
use crate::blocks::Blocks;
use std::ops::Range;

impl Space {
    /// True if GC may write to the open block of a slot.
    #[inline]
    pub(super) fn is_for_collector(&self, slot: usize) -> bool {
        !self.turns.is_empty() || slot % STREAMS == Stream::Collector as usize
    }

    /// The slot of the block whose turn it is; of the other one if a block would have to be opened for it and none may be.
    #[cold]
    pub(super) fn slot_of_pair(&self, blocks: &Blocks, plane: u32, stream: Stream) -> usize {
        let slot = plane as usize * STREAMS + usize::from(self.turns[plane as usize]);
        let other = slot ^ 1;
        if self.open[slot] == NONE && self.open[other] != NONE && !self.may_open_in_pair(blocks, plane, stream) {
            other
        } else {
            slot
        }
    }

    /// True if a page of a plane can be bound for a stream.
    #[cold]
    pub(super) fn has_room_in_pair(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        if self.open[self.slot_of_pair(blocks, plane, stream)] == NONE {
            self.may_open_in_pair(blocks, plane, stream)
        } else {
            stream == Stream::Collector || self.keeps_promises(blocks, plane, false)
        }
    }

    /// True if a block may be opened for a stream.
    fn may_open_in_pair(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        let free = blocks.free_in_domain(blocks.domain_of_plane(plane));
        blocks.free_in_plane(plane) > 0
            && (stream == Stream::Collector || (free > self.reserve && self.keeps_promises(blocks, plane, true)))
    }

    /// True if all promises are kept when the host takes a page from an open block that it shares with GC, or from a new
    /// one. The reserve must be whole when all jobs have ended: GC may take it meanwhile, but each job gives a block back.
    fn keeps_promises(&self, blocks: &Blocks, plane: u32, opens: bool) -> bool {
        let domain = blocks.domain_of_plane(plane);
        let tally = &self.domains[domain as usize];
        let new = u32::from(opens);
        let free = blocks.free_in_domain(domain) - new;
        let room = tally.collector_room + new * self.programs_per_block - 1;
        let to_open = self.credit(tally.owed, tally.jobs).saturating_sub(room).div_ceil(self.programs_per_block);
        free >= to_open && (tally.jobs == 0 || free + tally.jobs >= to_open + self.reserve)
    }

    /// The block of a slot takes no more pages; another open one of the plane has the turn then.
    pub(super) fn close_slot(&mut self, slot: usize) {
        self.open[slot] = NONE;
        self.opened.set(slot, false);
        if let Some(turn) = self.turns.get_mut(slot / STREAMS) {
            if self.open[slot ^ 1] != NONE {
                *turn = (slot as u8 & 1) ^ 1;
            }
        }
    }

    /// True if planes may have two open blocks for host and GC together.
    #[inline]
    pub fn pairs(&self) -> bool {
        self.pairs
    }

    /// Blocks of a domain that count as free to decide on GC.
    #[inline]
    pub fn free_for_gc(&self, blocks: &Blocks, domain: u32) -> u32 {
        let free = blocks.free_in_domain(domain);
        if self.pairs {
            let both = |plane: &u32| self.open[*plane as usize * STREAMS..][..STREAMS].iter().all(|&open| open != NONE);
            free + blocks.planes_of_domain(domain).filter(both).count() as u32
        } else {
            free
        }
    }

    /// The write point of a plane's open block; none if a block would be opened.
    fn point(&self, blocks: &Blocks, plane: u32, turn: u8) -> Option<u32> {
        let block = self.open[plane as usize * STREAMS + usize::from(turn)];
        (block != NONE).then(|| blocks.get(block).write_point)
    }

    /// A collection starts in a plane of a die: its planes write side by side, if blocks are paired.
    pub fn pair(&mut self, blocks: &Blocks, collecting: u32, planes: Range<u32>) {
        if !self.pairs {
            return;
        }
        let start = |turn: &u8| self.point(blocks, collecting, *turn).unwrap_or(0);
        let turn = (0..2).min_by_key(start).expect("a plane has two");
        let from = start(&turn);
        self.turns[collecting as usize] = turn;
        for plane in planes.filter(|&plane| plane != collecting) {
            let reached = |turn: &u8| match self.point(blocks, plane, *turn) {
                Some(point) => point >= from,
                None => from == 0,
            };
            let next = (0..2).filter(reached).min_by_key(|&turn| self.point(blocks, plane, turn));
            if let Some(turn) = next {
                self.turns[plane as usize] = turn;
            }
        }
    }

    /// No collection runs in these planes any more: the fuller open block of each takes what is written next.
    pub fn take_fuller_blocks(&mut self, blocks: &Blocks, planes: Range<u32>) {
        if self.turns.is_empty() {
            return;
        }
        for plane in planes {
            let point = |turn: &u8| self.point(blocks, plane, *turn);
            // Of equals the first, so that a plane does not go back and forth.
            let turn = if point(&1) > point(&0) { 1 } else { 0 };
            self.turns[plane as usize] = turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CapacityConfig;
    use crate::policy::collect::{CollectConfig, Destination};
    use crate::task::Task;
    use crate::FirmwareConfig;
    use wordline_flash::{Geometry, GeometryConfig};

    const PAGES: u32 = 16;
    const BOTH: Range<u32> = 0..2;

    /// Two planes of a die with 20 free blocks of 16 pages each.
    fn planes(destination: Destination) -> (Space, Blocks) {
        let geometry = Geometry::new(&GeometryConfig {
            channels: 1,
            packages_per_channel: 1,
            gang: 1,
            dies_per_package: 1,
            planes_per_die: 2,
            blocks_per_plane: 20,
            pages_per_block: PAGES,
            page_kib: 16,
            pages_per_program: 1,
            slc_pages_per_block: None,
        })
        .unwrap();
        let mut config = FirmwareConfig {
            capacity: CapacityConfig { raw_over_logical: 3.0, ..CapacityConfig::default() },
            ..FirmwareConfig::default()
        };
        let CollectConfig::OnDemand(options) = &mut config.collect else { unreachable!("it is the default") };
        options.into = destination;
        let plan = config.plan(&geometry).unwrap();
        let build = config.build(&geometry, 1, 1);
        let sizes = crate::blocks::Sizes {
            planes: 2,
            planes_per_domain: 1,
            blocks_per_plane: 20,
            programs_per_block: PAGES,
            units_per_program: 1,
            units_per_page: 1,
            slc_programs: 1,
        };
        let blocks = Blocks::new(sizes, true, &mut config.free_block.build(&build).unwrap());
        (Space::new((2, 1), &plan), blocks)
    }

    fn write(space: &mut Space, blocks: &mut Blocks, plane: u32, stream: Stream, pages: u32) {
        for _ in 0..pages {
            space.bind_first(blocks, plane, stream, Task::HOST);
        }
    }

    fn next(space: &Space, blocks: &Blocks) -> [u32; 2] {
        [0, 1].map(|plane| space.next_page(blocks, plane, Stream::Host))
    }

    fn open(space: &Space) -> usize {
        space.open.iter().filter(|&&block| block != NONE).count()
    }

    #[test]
    fn host_and_gc_fill_one_block_of_a_plane() {
        let (mut space, mut blocks) = planes(Destination::SharedBlock);
        write(&mut space, &mut blocks, 0, Stream::Host, 3);
        write(&mut space, &mut blocks, 0, Stream::Collector, 4);
        assert_eq!((next(&space, &blocks), open(&space)), ([7, 0], 1));
        space.pair(&blocks, 0, BOTH);
        assert_eq!(next(&space, &blocks), [7, 0], "no other block is opened");
        assert_eq!(space.domains[0].collector_room, PAGES - 7);
        write(&mut space, &mut blocks, 0, Stream::Host, PAGES - 7);
        assert_eq!((open(&space), space.domains[0].collector_room), (0, 0));
    }

    /// Figure 7a of choi18, and what follows.
    #[test]
    fn a_collection_begins_with_new_blocks_in_all_planes() {
        let (mut space, mut blocks) = planes(Destination::PairedBlocks);
        write(&mut space, &mut blocks, 0, Stream::Host, 9);
        write(&mut space, &mut blocks, 1, Stream::Host, 5);
        space.pair(&blocks, 0, BOTH);
        assert_eq!(next(&space, &blocks), [0, 0]);
        // GC moves six pages, with four of the host beside them.
        write(&mut space, &mut blocks, 0, Stream::Collector, 6);
        write(&mut space, &mut blocks, 1, Stream::Host, 4);
        assert_eq!(next(&space, &blocks), [6, 4]);
        let free = [0, 1].map(|plane| (blocks.free_in_plane(plane), space.free_for_gc(&blocks, plane)));
        assert_eq!(free, [(18, 19), (18, 19)], "second blocks count as free");
        space.take_fuller_blocks(&blocks, BOTH);
        assert_eq!((next(&space, &blocks), open(&space)), ([9, 5], 4), "the older ones are fuller");
        // The older block of plane 0 is filled, that of plane 1 nearly: the second one of plane 0 has its turn.
        write(&mut space, &mut blocks, 0, Stream::Host, PAGES - 9);
        write(&mut space, &mut blocks, 1, Stream::Host, 10);
        assert_eq!(next(&space, &blocks), [6, 15]);
        // Plane 1 collects: it has two blocks and goes on with the emptier one, and plane 0 with its only one, ahead of it.
        space.pair(&blocks, 1, BOTH);
        assert_eq!(next(&space, &blocks), [6, 4]);
        // Plane 0 collects, and has room for a new one; plane 1 has two.
        space.take_fuller_blocks(&blocks, BOTH);
        space.pair(&blocks, 0, BOTH);
        assert_eq!(next(&space, &blocks), [0, 4], "GC comes to page 4 before page 15");
    }

    #[test]
    fn the_host_leaves_what_was_promised() {
        let (mut space, mut blocks) = planes(Destination::SharedBlock);
        let has_room = |space: &Space, blocks: &Blocks, stream| space.has_room(blocks, 0, stream);
        // Two blocks are free and one is open with ten pages; one is the reserve.
        (0..17).for_each(|_| assert!(blocks.open_first(0).is_some()));
        write(&mut space, &mut blocks, 0, Stream::Host, 6);
        assert_eq!((blocks.free_in_plane(0), space.reserve), (2, 1));
        // 10 + 32 pages; a job needs one page beyond its units.
        assert!(space.promise(&blocks, Task::GC, 0, (40, 1)));
        assert!(has_room(&space, &blocks, Stream::Host), "42 pages are there, 41 promised");
        write(&mut space, &mut blocks, 0, Stream::Host, 1);
        assert!(!has_room(&space, &blocks, Stream::Host));
        assert!(has_room(&space, &blocks, Stream::Collector));
        write(&mut space, &mut blocks, 0, Stream::Collector, 1);
        space.settle(0, 1);
        assert!(!has_room(&space, &blocks, Stream::Host), "a move takes a page of what was promised for it");
        space.settle(0, 1);
        assert!(has_room(&space, &blocks, Stream::Host), "a page that was overwritten needs none");
    }
}
