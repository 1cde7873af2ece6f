//! Space for writes: the open block of every plane and stream, and the guarantee that GC never runs out of space.
//!
//! GC starts a victim block only if the domain has space for all its valid units, and the host opens a block only if
//! the reserve and all promised space remain covered. So every victim block that is started finishes, and gains at
//! least a page. Promised space is counted in units without a new place yet: they fill pages together, from any victim
//! block, and each job may leave one page partly empty.
//!
//! The host may take of the reserve what collections in progress will give back, if it is paced (`pacing`): it then takes no
//! more than they gain.
//!
//! Blocks may form superblocks (`stripes`): then free space comes in superblocks, of which parity takes its part.
//!
//! Host and GC may also write to the same blocks (`pairs`). Then each page that the host takes must leave enough for all
//! promises.

mod opened;
mod pacing;
mod pairs;
mod saved;
mod slc;
mod stripes;

use crate::blocks::{Blocks, Opening};
use crate::policy::collect::Destination;
use crate::policy::free_block::FreeBlockPolicy;
use crate::task::{Task, Tasks};
use crate::Plan;
use opened::Opened;
use serde::{Deserialize, Serialize};
use stripes::Stripes;
use wordline_base::Divisor;

use slc::SlcRoom;
pub use stripes::DueParity;

const NONE: u32 = u32::MAX;

/// Whose data an open block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Written by the host.
    Host,
    /// Moved by GC.
    Collector,
}

impl Stream {
    /// The stream with a number.
    #[must_use]
    pub fn numbered(number: u32) -> Self {
        if number == Self::Host as u32 {
            Self::Host
        } else {
            Self::Collector
        }
    }
}

const STREAMS: usize = 2;

/// Promised space in a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tally {
    /// Units that running jobs may still have to move.
    owed: u32,
    /// Running jobs.
    jobs: u32,
    /// Running jobs of GC. Counted if the host is paced.
    collections: u32,
    /// Pages left in open blocks that GC may write to.
    collector_room: u32,
    /// Units that running jobs will gain, and that no move has been credited with yet. Counted if the host is paced.
    to_gain: u32,
    /// Units that have moved since the host was last credited.
    uncredited: u32,
    /// Units that the host may write while it is held back. Counted if the host is paced.
    allowance: u32,
    /// Units gained that are too few for a step of the host, and join its allowance with the next. At rest there are none.
    #[serde(skip)]
    saved_up: u32,
}

/// Open blocks and promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// By plane, then stream, or place of a pair.
    open: Vec<u32>,
    /// Of these, which there are.
    #[serde(skip)]
    opened: Opened,
    /// By plane, the place of the open block that takes pages, where host and GC write to the same blocks. Empty elsewhere.
    turns: Vec<u8>,
    /// True if each collection begins with new blocks of all planes of its die.
    pairs: bool,
    domains: Vec<Tally>,
    reserve: u32,
    /// Free blocks of a domain below which the host is paced; 0 if it never is.
    pace_below: u32,
    /// With superblocks, pages left for data, free and in open blocks, below which the host is paced. Not saved: the configuration
    /// says it.
    #[serde(skip)]
    pace_room: u32,
    /// Units by which the allowance of a paced host grows. Not saved: the configuration says it.
    #[serde(skip)]
    pace_step: u32,
    programs_per_block: u32,
    /// Blocks that are opened together, and their pages for data: one, but for superblocks.
    blocks_together: u32,
    pages_together: u32,
    units_per_program: Divisor,
    /// Superblocks that are being written, if blocks form any; `open` is not used then.
    stripes: Option<Box<Stripes>>,
    /// True if each stream has an open block of its own in each plane, of the one mode that there is.
    plain: bool,
    /// True if each write has its page in the block of its logical block; nothing of this is used then but what jobs owe.
    fixes_pages: bool,
    /// Tasks whose moved data open the most worn free block of a plane.
    open_worn: Tasks,
    /// The SLC cache, if the drive has one.
    slc: Option<SlcRoom>,
    /// By domain, blocks in SLC mode beyond which the host opens none in this mode, if a policy says so during the run. Not saved: it is
    /// asked anew.
    #[serde(skip)]
    slc_limits: Vec<u32>,
    /// By plane, true if the host's blocks there may be in SLC mode, if a policy says so during the run. Not saved, either.
    #[serde(skip)]
    slc_planes: Vec<bool>,
}

/// A page just bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundPage {
    /// Block in the drive.
    pub block: u32,
    /// Page in the block.
    pub page: u32,
    /// True if a free block was opened for it.
    pub opened: bool,
    /// True if it was the last page of its block.
    pub closed: bool,
    /// True if its block is in SLC mode.
    pub slc: bool,
}

impl Space {
    /// No block is open.
    pub fn new((planes, planes_per_die): (u32, u32), plan: &Plan) -> Self {
        let programs_per_block = plan.programs_per_block();
        let (blocks_together, pages_together) = match plan.stripe {
            Some(stripe) => (stripe.blocks(), stripe.data_pages(programs_per_block)),
            None => (1, programs_per_block),
        };
        Self {
            open: vec![NONE; planes as usize * STREAMS],
            opened: Opened::new(planes, planes_per_die),
            turns: if plan.destination == Destination::OwnBlock { Vec::new() } else { vec![0; planes as usize] },
            pairs: plan.destination == Destination::PairedBlocks,
            domains: vec![Tally::default(); plan.domains as usize],
            reserve: plan.reserve_blocks,
            pace_below: if plan.paced { plan.start_blocks } else { 0 },
            // Each block of a victim may leave a page partly empty.
            pace_room: plan.start_blocks / blocks_together * pages_together + blocks_together,
            pace_step: match plan.paced_programs.min(programs_per_block) {
                1 => 1,
                programs => programs * plan.units_per_program,
            },
            programs_per_block,
            blocks_together,
            pages_together,
            units_per_program: Divisor::new(plan.units_per_program),
            plain: plan.destination == Destination::OwnBlock
                && plan.stripe.is_none()
                && plan.slc.is_none()
                && !plan.fixes_pages,
            fixes_pages: plan.fixes_pages,
            open_worn: plan.open_worn,
            slc: SlcRoom::of(plan),
            slc_limits: Vec::new(),
            slc_planes: Vec::new(),
            stripes: plan.stripe.map(|stripe| Box::new(Stripes::new(stripe, planes, programs_per_block))),
        }
    }

    /// Pages that jobs may need for so many units.
    #[inline]
    fn credit(&self, units: u32, jobs: u32) -> u32 {
        self.units_per_program.quotient(units + self.units_per_program.get() - 1) + jobs
    }

    /// The next page of a stream in a plane: 0 where a new block would be opened. Pages of blocks in different modes differ.
    #[inline]
    pub fn next_page(&self, blocks: &Blocks, plane: u32, stream: Stream) -> u32 {
        if !self.plain {
            return self.next_page_apart(blocks, plane, stream);
        }
        match self.open[plane as usize * STREAMS + stream as usize] {
            NONE => 0,
            block => blocks.get(block).write_point,
        }
    }

    /// The same where [`Space::is_plain`].
    #[inline(always)]
    pub fn next_page_of_open(&self, blocks: &Blocks, plane: u32, stream: Stream) -> u32 {
        self.open_page(blocks, plane, stream).map_or(0, |(_, page)| page)
    }

    /// As [`Space::next_page`], where there is more to it than the open block of the stream.
    #[cold]
    fn next_page_apart(&self, blocks: &Blocks, plane: u32, stream: Stream) -> u32 {
        if self.stripes.is_some() {
            return self.next_page_in_stripe(blocks, plane, stream);
        }
        match self.open[self.slot(blocks, plane, stream)] {
            NONE => self.page_and_mode(0, self.opens_slc(blocks, plane, stream)),
            block => self.page_and_mode(blocks.get(block).write_point, blocks.get(block).slc),
        }
    }

    /// True if a page of a plane can be bound for a stream now.
    #[inline]
    pub fn has_room(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        self.is_open(plane, stream) || self.finds_room(blocks, plane, stream)
    }

    /// True if a plane has an open block for a stream and nothing else decides whether a page of it can be bound.
    #[inline(always)]
    pub fn is_open(&self, plane: u32, stream: Stream) -> bool {
        self.plain && self.pace_below == 0 && self.open[plane as usize * STREAMS + stream as usize] != NONE
    }

    /// The same where [`Space::is_plain`].
    #[inline(always)]
    pub fn has_open(&self, plane: u32, stream: Stream) -> bool {
        debug_assert!(self.is_plain(), "something else may decide");
        self.open[plane as usize * STREAMS + stream as usize] != NONE
    }

    /// The writes to planes of a die for which there is an open block, as bits (see [`Stream::first_bit`]), where [`Space::is_plain`].
    #[inline(always)]
    pub fn open_of_die(&self, die: u32) -> u64 {
        debug_assert!(self.is_plain(), "something else may decide");
        self.opened.of_die(die)
    }

    /// The open block of a plane for a stream, and its next page, if there is one, where [`Space::is_plain`].
    #[inline(always)]
    pub fn open_page(&self, blocks: &Blocks, plane: u32, stream: Stream) -> Option<(u32, u32)> {
        debug_assert!(self.is_plain(), "there is more to it than the open block of the stream");
        let block = self.open[plane as usize * STREAMS + stream as usize];
        // No block has the number that stands for none.
        blocks.records().get(block as usize).map(|record| (block, record.write_point))
    }

    /// True if each stream has an open block of its own in each plane, and nothing paces the host.
    pub fn is_plain(&self) -> bool {
        self.plain && self.pace_below == 0
    }

    /// The same where it takes more than a look at the open block.
    #[inline(never)]
    fn finds_room(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        self.lets_write(blocks, plane, stream, 1)
            && if self.plain {
                self.open[plane as usize * STREAMS + stream as usize] != NONE || self.may_open(blocks, plane, stream)
            } else {
                self.has_room_apart(blocks, plane, stream)
            }
    }

    /// The same where there is more to it than the open block of the stream.
    #[cold]
    fn has_room_apart(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        if self.stripes.is_some() {
            self.has_room_in_stripe(blocks, plane, stream)
        } else if self.fixes_pages {
            true
        } else if self.turns.is_empty() {
            self.open[plane as usize * STREAMS + stream as usize] != NONE || self.may_open(blocks, plane, stream)
        } else {
            self.has_room_in_pair(blocks, plane, stream)
        }
    }

    /// The open block of a plane that takes the next page of a stream: its index.
    #[inline]
    fn slot(&self, blocks: &Blocks, plane: u32, stream: Stream) -> usize {
        if self.turns.is_empty() {
            plane as usize * STREAMS + stream as usize
        } else {
            self.slot_of_pair(blocks, plane, stream)
        }
    }

    /// True if a block of a plane may be opened for a stream.
    #[inline]
    pub fn may_open(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        if blocks.free_in_plane(plane) == 0 {
            return false;
        }
        if stream == Stream::Collector {
            return true;
        }
        let domain = blocks.domain_of_plane(plane);
        // What a block with a failed program still holds takes a block and frees none.
        let kept = self.blocks_together + blocks.doomed(domain);
        let free = blocks.free_in_domain(domain);
        let tally = &self.domains[domain as usize];
        let comes_back = tally.comes_back();
        if free + comes_back < kept + self.reserve {
            return false;
        }
        let promised = self.blocks_together
            * self.credit(tally.owed, tally.jobs).saturating_sub(tally.collector_room).div_ceil(self.pages_together);
        free >= kept + promised && (free >= kept + self.reserve || free + comes_back >= kept + promised + self.reserve)
    }

    /// Binds the next page of a plane for data of a stream that a task writes. If that takes a free block, the policy chooses it.
    ///
    /// # Panics
    /// Without room: callers ask first.
    #[inline(always)]
    pub fn bind(
        &mut self,
        blocks: &mut Blocks,
        plane: u32,
        (stream, task): (Stream, Task),
        free_block: &mut FreeBlockPolicy,
    ) -> BoundPage {
        if !self.plain && self.stripes.is_some() {
            return self.bind_in_stripe(blocks, plane, (stream, task), free_block);
        }
        let slot = self.slot(blocks, plane, stream);
        let domain = blocks.domain_of_plane(plane) as usize;
        let (opened, for_collector) = (self.open[slot] == NONE, stream == Stream::Collector || !self.turns.is_empty());
        if opened {
            let slc = !self.plain && self.opens_slc(blocks, plane, stream);
            let how = Opening { task, worn: self.takes_worn(stream, task), slc };
            self.open[slot] = blocks.open(plane, how, free_block).expect("room was asked for");
            self.opened.set(slot, true);
            if for_collector {
                self.domains[domain].collector_room += self.programs_per_block;
            }
        }
        let block = self.open[slot];
        let page = blocks.get(block).write_point;
        let closed = if self.plain { blocks.programmed(block) } else { blocks.programmed_in_mode(block) };
        if closed {
            self.close_slot(slot);
        }
        if for_collector {
            self.domains[domain].collector_room -= 1;
        }
        let slc = !self.plain && blocks.get(block).slc;
        if stream == Stream::Host && self.pace_below > 0 {
            let cost = self.cost_of_program(slc);
            self.domains[domain].spend(cost);
        }
        BoundPage { block, page, opened, closed, slc }
    }

    /// As [`Space::bind`] where [`Space::is_open`] says that there is an open block.
    #[inline(always)]
    pub fn bind_open(&mut self, blocks: &mut Blocks, plane: u32, stream: Stream) -> BoundPage {
        let slot = plane as usize * STREAMS + stream as usize;
        let block = self.open[slot];
        let (page, closed) = blocks.program_next(block, plane);
        if closed {
            self.close_slot(slot);
        }
        if stream == Stream::Collector {
            self.domains[blocks.domain_of_plane(plane) as usize].collector_room -= 1;
        }
        BoundPage { block, page, opened: false, closed, slc: false }
    }

    /// The same for the block and page that [`Space::open_page`] gave for a stream other than the collector's; true if the page was the
    /// last of its block.
    #[inline(always)]
    pub fn fill_open_page(&mut self, blocks: &mut Blocks, plane: u32, stream: Stream, block: u32) -> bool {
        debug_assert!(stream != Stream::Collector, "it has promises to keep");
        let (_, closed) = blocks.program_next(block, plane);
        if closed {
            self.close_slot(plane as usize * STREAMS + stream as usize);
        }
        closed
    }

    /// The same for a page of one unit of the host, which becomes valid there and, if it has an old place, invalid in a block of the plane.
    #[inline(always)]
    pub fn fill_open_page_of_host(
        &mut self,
        blocks: &mut Blocks,
        plane: u32,
        (block, page): (u32, u32),
        old: Option<u32>,
    ) -> bool {
        let closed = match old {
            Some(old) => blocks.replace_next((block, page), plane, old),
            None => blocks.fill_next(block, plane),
        };
        if closed {
            self.close_slot(plane as usize * STREAMS + Stream::Host as usize);
        }
        closed
    }

    /// The same for a page of one unit of a victim, which moves there from a block of the plane: its promise is kept.
    #[inline(always)]
    pub fn move_to_open_page(&mut self, blocks: &mut Blocks, plane: u32, from: u32, page: (u32, u32)) -> bool {
        debug_assert!(self.is_plain(), "nothing is earned by it");
        let tally = &mut self.domains[blocks.domain_of_plane(plane) as usize];
        tally.collector_room -= 1;
        tally.owed -= 1;
        let closed = blocks.move_next(from, page, plane);
        if closed {
            self.close_slot(plane as usize * STREAMS + Stream::Collector as usize);
        }
        closed
    }

    /// True if data of a stream open the most worn free block when a task writes them.
    fn takes_worn(&self, stream: Stream, task: Task) -> bool {
        stream == Stream::Collector && self.open_worn.has(task)
    }

    /// An open block takes no more pages, though it has some left.
    pub fn close_early(&mut self, blocks: &Blocks, block: u32) {
        let Some(slot) = self.open.iter().position(|&open| open == block) else { return };
        self.close_slot(slot);
        if self.is_for_collector(slot) {
            let domain = blocks.domain_of_plane(blocks.plane_of(block)) as usize;
            self.domains[domain].collector_room -= self.programs_per_block - blocks.get(block).write_point;
        }
    }

    /// True if all promises are kept when an open block takes no more pages.
    pub fn may_close_early(&self, blocks: &Blocks, block: u32) -> bool {
        let Some(slot) = self.open.iter().position(|&open| open == block) else { return false };
        if !self.is_for_collector(slot) {
            return true;
        }
        let domain = blocks.domain_of_plane(blocks.plane_of(block));
        let tally = self.domains[domain as usize];
        let left = self.programs_per_block - blocks.get(block).write_point;
        let room = u64::from(tally.collector_room - left)
            + u64::from(blocks.free_in_domain(domain)) * u64::from(self.programs_per_block);
        room >= u64::from(self.credit(tally.owed, tally.jobs))
    }

    /// Promises room to the jobs of a task that empty blocks together, which may have to move `units` and gain `gain`; false
    /// if their domain has too little.
    pub fn promise(&mut self, blocks: &Blocks, task: Task, domain: u32, (units, gain): (u32, u32)) -> bool {
        let tally = self.domains[domain as usize];
        let (jobs, free) = (self.blocks_together, blocks.free_in_domain(domain) / self.blocks_together);
        let room = u64::from(tally.collector_room) + u64::from(free) * u64::from(self.pages_together);
        if room < u64::from(self.credit(tally.owed + units, tally.jobs + jobs)) {
            return false;
        }
        let block = self.units_per_block();
        let gain = if self.pace_below > 0 { self.for_host(blocks, domain, gain) } else { gain };
        let tally = &mut self.domains[domain as usize];
        tally.owed += units;
        tally.jobs += jobs;
        if self.pace_below > 0 {
            tally.expect(task, gain, (block, jobs));
        }
        true
    }

    /// Jobs of a domain have so many units more to move, whose room is certain.
    pub fn owe(&mut self, domain: u32, units: u32, jobs: u32) {
        let tally = &mut self.domains[domain as usize];
        tally.owed += units;
        tally.jobs += jobs;
    }

    /// Units of a domain's jobs have their new places, or need none any more. True if a host that was held back may go
    /// on.
    #[inline(always)]
    pub fn settle(&mut self, domain: u32, units: u32) -> bool {
        let goes_on = self.pace_below > 0 && units > 0 && self.earn(domain, units);
        self.domains[domain as usize].owed -= units;
        goes_on
    }

    /// A job of a task has ended.
    ///
    /// # Panics
    /// If it was the last of its domain and units are still owed.
    pub fn end_job(&mut self, task: Task, domain: u32) {
        let paced = self.paces();
        let tally = &mut self.domains[domain as usize];
        tally.jobs -= 1;
        if paced {
            tally.collections -= u32::from(task == Task::GC);
        }
        assert!(tally.jobs > 0 || tally.owed == 0, "{} units are owed, but no job runs", tally.owed);
    }

    /// These promises (none given) with the open blocks of another drive, whose blocks are given in the domains of this.
    pub fn with_open_blocks_of(&self, other: &Self, blocks: &Blocks) -> Self {
        let mut space = Self { open: other.open.clone(), stripes: other.stripes.clone(), ..self.clone() };
        space.opened.take_over(&space.open);
        space.domains.iter_mut().for_each(|tally| *tally = Tally::default());
        for (slot, &block) in space.open.iter().enumerate().filter(|(_, &block)| block != NONE) {
            if space.is_for_collector(slot) {
                let domain = blocks.domain_of_plane(blocks.plane_of(block)) as usize;
                space.domains[domain].collector_room += space.programs_per_block - blocks.get(block).write_point;
            }
        }
        if space.stripes.is_some() {
            space.domains[0].collector_room = space.room_in_stripes(blocks, Stream::Collector);
            space.count_host_room(blocks);
        }
        space.take_fuller_blocks(blocks, 0..space.turns.len() as u32);
        space
    }

    /// The open blocks, with those of open superblocks that are full or empty.
    pub fn open_blocks<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = u32> + 'a {
        self.open.iter().copied().filter(|&block| block != NONE).chain(self.open_together(blocks))
    }
}

#[cfg(test)]
impl Space {
    /// As [`Space::bind`], where a new block is that of lowest rank.
    fn bind_first(&mut self, blocks: &mut Blocks, plane: u32, stream: Stream, task: Task) -> BoundPage {
        let mut by_rank = FreeBlockPolicy::Fifo(crate::policy::free_block::fifo::Fifo);
        self.bind(blocks, plane, (stream, task), &mut by_rank)
    }
}
