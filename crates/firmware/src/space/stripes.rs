//! Superblocks that are being written, and the pages of theirs that are due to hold parity.
//!
//! Each group of planes has up to two open superblocks for the host and two for moved data: a plane that has filled its block
//! of the older one goes on with the newer, and no further. Of a row (the pages of one offset in one plane of each die)
//! the page that is written last is parity: as soon as one page of the row is left, it is due, and its plane takes no
//! data before it is written. So no plane waits for a certain other one, and a row has its parity as soon as it is whole.

use super::{BoundPage, Space, Stream, STREAMS};
use crate::blocks::{Blocks, Opening};
use crate::policy::free_block::FreeBlockPolicy;
use crate::policy::redundancy::Stripe;
use crate::task::Task;
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

/// Pages of a newer superblock come after so many of the older one: more than a block has.
const NEWER: u32 = 1 << 20;

/// A page that is to hold the parity of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueParity {
    /// Its plane.
    pub plane: u32,
    /// Whose data it protects.
    pub stream: Stream,
    /// Its block.
    pub block: u32,
}

/// The superblocks that are being written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stripes {
    stripe: Stripe,
    programs_per_block: u32,
    /// By group, then stream: the numbers of the older and the newer open superblock.
    open: Vec<[u32; 2]>,
    /// By plane, then stream: the page that is due to hold parity, counted over all blocks.
    due: Vec<u32>,
    /// Pages that fell due since they were asked for.
    fresh: Vec<DueParity>,
    /// Pages for data that are left in open superblocks of the host. Not saved: the blocks say it.
    #[serde(skip)]
    host_room: u32,
}

impl Stripes {
    /// No superblock is open.
    pub fn new(stripe: Stripe, planes: u32, programs_per_block: u32) -> Self {
        let groups = (planes / stripe.blocks()) as usize;
        Self {
            stripe,
            programs_per_block,
            open: vec![[NONE; 2]; groups * STREAMS],
            due: vec![NONE; planes as usize * STREAMS],
            fresh: Vec::with_capacity(2),
            host_room: 0,
        }
    }

    /// Pages for data that are left in open superblocks of the host.
    #[inline]
    pub fn host_room(&self) -> u32 {
        self.host_room
    }

    fn pair(&self, blocks: &Blocks, plane: u32, stream: Stream) -> [u32; 2] {
        self.open[blocks.group_of(plane) as usize * STREAMS + stream as usize]
    }

    /// The block that a plane writes to, and whether it belongs to the newer superblock; none if it has filled all that are
    /// open.
    fn current(&self, blocks: &Blocks, plane: u32, stream: Stream) -> Option<(u32, bool)> {
        let mut open = self.pair(blocks, plane, stream).into_iter().zip([false, true]);
        let blocks_open = open.by_ref().filter(|&(number, _)| number != NONE);
        blocks_open
            .map(|(number, newer)| (blocks.block_at(plane, number), newer))
            .find(|&(block, _)| blocks.get(block).write_point < blocks.programs_of(block))
    }

    /// Finds out which pages of a plane's rows are due to hold parity.
    fn see_due(&mut self, blocks: &Blocks, plane: u32, stream: Stream) {
        if !self.stripe.parity {
            return;
        }
        // The planes of a row follow each other in their group.
        let all = blocks.planes_beside(plane);
        let at = all.iter().position(|&other| other == plane).expect("a plane is in its group");
        let dies = self.stripe.dies as usize;
        let row = &all[at / dies * dies..][..dies];
        let mut due = [None; 2];
        for (number, due) in
            self.pair(blocks, plane, stream).into_iter().zip(&mut due).filter(|&(number, _)| number != NONE)
        {
            let point = |&plane: &u32| blocks.get(blocks.block_at(plane, number)).write_point;
            let lowest = row.iter().map(point).min().unwrap_or(0);
            let mut behind = row.iter().filter(|plane| point(plane) == lowest);
            if let (Some(&last), None, true) = (behind.next(), behind.next(), lowest < self.programs_per_block) {
                let block = blocks.block_at(last, number);
                let writes_it = self.current(blocks, last, stream).is_some_and(|(current, _)| current == block);
                *due = writes_it.then_some((last, block, lowest));
            }
        }
        for &plane in row {
            let slot = plane as usize * STREAMS + stream as usize;
            let own = due.iter().flatten().find(|&&(last, ..)| last == plane);
            let number = |&(_, block, page): &(u32, u32, u32)| block * self.programs_per_block + page;
            let before = std::mem::replace(&mut self.due[slot], own.map_or(NONE, number));
            if let Some(&(_, block, _)) = own.filter(|own| number(own) != before) {
                self.fresh.push(DueParity { plane, stream, block });
            }
        }
    }
}

impl Stripes {
    /// True if the planes of a row's blocks in the open superblocks can be where they are in a drive at rest.
    fn check_row(&self, blocks: &Blocks, row: &[u32], [older, newer]: [u32; 2]) -> Result<(), String> {
        let point = |plane: u32, number: u32| blocks.get(blocks.block_at(plane, number)).write_point;
        for &plane in row.iter().filter(|_| newer != NONE) {
            if point(plane, older) < blocks.programs_of(blocks.block_at(plane, older)) && point(plane, newer) > 0 {
                return Err(format!("plane {plane} writes to a newer superblock before the older one is full there"));
            }
        }
        for number in [older, newer].into_iter().filter(|&number| number != NONE && self.stripe.parity) {
            let lowest = row.iter().map(|&plane| point(plane, number)).min().unwrap_or(0);
            let mut behind = row.iter().filter(|&&plane| point(plane, number) == lowest);
            let (last, next) = (behind.next(), behind.next());
            let waits_elsewhere = |plane: u32| number == newer && point(plane, older) < self.programs_per_block;
            if let (Some(&last), None, true) = (last, next, lowest < self.programs_per_block) {
                if !waits_elsewhere(last) {
                    return Err(format!("a page of plane {last} is due to hold parity, though nothing is under way"));
                }
            }
        }
        Ok(())
    }
}

impl Space {
    fn stripes(&self) -> &Stripes {
        self.stripes.as_ref().expect("blocks form superblocks")
    }

    /// As [`Space::next_page`]. Pages of a newer superblock come after those of the older one.
    #[cold]
    pub(super) fn next_page_in_stripe(&self, blocks: &Blocks, plane: u32, stream: Stream) -> u32 {
        let stripes = self.stripes();
        match stripes.current(blocks, plane, stream) {
            Some((block, newer)) => {
                let page = blocks.get(block).write_point + if newer { NEWER } else { 0 };
                self.page_and_mode(page, blocks.get(block).slc)
            }
            None => {
                let slc = self.opens_slc(blocks, plane, stream);
                let is_first = stripes.pair(blocks, plane, stream)[0] == NONE;
                self.page_and_mode(if is_first { 0 } else { NEWER }, slc)
            }
        }
    }

    /// The page of its block alone, of what [`Self::next_page`] tells.
    pub fn page_alone(&self, page: u32) -> u32 {
        (if self.slc.is_some() { page / 2 } else { page }) & !NEWER
    }

    /// True if a page of a plane can be bound for data of a stream.
    #[cold]
    pub(super) fn has_room_in_stripe(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        let stripes = self.stripes();
        if stripes.current(blocks, plane, stream).is_some() {
            stripes.due[plane as usize * STREAMS + stream as usize] == NONE
        } else {
            stripes.pair(blocks, plane, stream)[1] == NONE && self.may_open(blocks, plane, stream)
        }
    }

    /// True if a plane has a page of an open superblock for the host, or gets one whatever the host writes to others: it may open a
    /// superblock, or GC, if it `collects`, makes room for that. Parity that is due there is written first.
    pub fn gets_page_in_stripe(&self, blocks: &Blocks, plane: u32, collects: bool) -> bool {
        let stripes = self.stripes();
        stripes.current(blocks, plane, Stream::Host).is_some()
            || (stripes.pair(blocks, plane, Stream::Host)[1] == NONE
                && (collects || self.may_open(blocks, plane, Stream::Host)))
    }

    /// Binds the next page of a plane for data of a stream.
    #[cold]
    pub(super) fn bind_in_stripe(
        &mut self,
        blocks: &mut Blocks,
        plane: u32,
        (stream, task): (Stream, Task),
        free_block: &mut FreeBlockPolicy,
    ) -> BoundPage {
        let opened = self.stripes().current(blocks, plane, stream).is_none();
        let domain = blocks.domain_of_plane(plane) as usize;
        let pages_together = self.pages_together;
        if opened {
            let slc = self.opens_slc(blocks, plane, stream);
            let worn = self.takes_worn(stream, task);
            let how = Opening { task, worn, slc };
            let number = blocks.open_superblock(plane, how, free_block).expect("room was asked for");
            let group = blocks.group_of(plane) as usize;
            let stripes = self.stripes.as_mut().expect("blocks form superblocks");
            let pair = &mut stripes.open[group * STREAMS + stream as usize];
            let free = pair.iter_mut().find(|open| **open == NONE).expect("room was asked for");
            *free = number;
            match stream {
                Stream::Collector => self.domains[domain].collector_room += pages_together,
                Stream::Host => {
                    let block = blocks.block_at(plane, number);
                    stripes.host_room += stripes.stripe.data_pages(blocks.programs_of(block));
                }
            }
        }
        let (block, _) = self.stripes().current(blocks, plane, stream).expect("one was opened");
        match stream {
            Stream::Collector => self.domains[domain].collector_room -= 1,
            Stream::Host => self.stripes.as_mut().expect("blocks form superblocks").host_room -= 1,
        }
        if stream == Stream::Host && self.pace_below > 0 {
            let cost = self.cost_of_program(blocks.get(block).slc);
            self.pay(blocks, domain as u32, cost);
        }
        self.fill_in_stripe(blocks, DueParity { plane, stream, block }, opened)
    }

    /// Binds the next page of a block for the parity of its row, which is due there.
    pub fn bind_parity(&mut self, blocks: &mut Blocks, due: DueParity) -> BoundPage {
        self.fill_in_stripe(blocks, due, false)
    }

    /// Fills the next page of a block in an open superblock.
    fn fill_in_stripe(&mut self, blocks: &mut Blocks, at: DueParity, opened: bool) -> BoundPage {
        let DueParity { plane, stream, block } = at;
        let page = blocks.get(block).write_point;
        let group = blocks.group_of(plane) as usize;
        let stripes = self.stripes.as_mut().expect("blocks form superblocks");
        let mut closed = blocks.programmed_in_mode(block);
        if closed {
            closed = blocks.together(block).all(|block| blocks.get(block).write_point == blocks.programs_of(block));
        }
        if closed {
            // Planes fill the older one first, so it is the first to be full.
            let pair = &mut stripes.open[group * STREAMS + stream as usize];
            assert_eq!(pair[0], blocks.number_of(block), "superblocks are filled in the order of opening");
            *pair = [pair[1], NONE];
        }
        stripes.see_due(blocks, plane, stream);
        BoundPage { block, page, opened, closed, slc: blocks.get(block).slc }
    }

    /// A page that has fallen due to hold parity and was not told yet.
    #[inline]
    pub fn next_due(&mut self) -> Option<DueParity> {
        self.stripes.as_mut()?.fresh.pop()
    }

    /// True if blocks form superblocks.
    #[inline]
    pub fn has_superblocks(&self) -> bool {
        self.stripes.is_some()
    }

    /// All blocks of open superblocks.
    pub(super) fn open_together<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = u32> + 'a {
        let open = self.stripes.iter().flat_map(|stripes| stripes.open.chunks(STREAMS).enumerate());
        open.flat_map(move |(group, streams)| {
            let numbers = streams.as_flattened().iter().filter(|&&number| number != NONE);
            let planes = blocks.planes_of_group(group);
            numbers.flat_map(move |&number| planes.iter().map(move |&plane| blocks.block_at(plane, number)))
        })
    }

    /// Pages for data that are left in open superblocks of a stream.
    pub(super) fn room_in_stripes(&self, blocks: &Blocks, stream: Stream) -> u32 {
        let Some(stripes) = &self.stripes else { return 0 };
        let of_stream = stripes.open.iter().skip(stream as usize).step_by(STREAMS);
        let mut room = 0;
        for (group, pair) in of_stream.enumerate() {
            let rows = blocks.planes_of_group(group).chunks(stripes.stripe.dies as usize);
            for (row, &number) in rows.flat_map(|row| pair.iter().map(move |number| (row, number))) {
                if number == NONE {
                    continue;
                }
                let left = |&plane: &u32| {
                    let block = blocks.block_at(plane, number);
                    blocks.programs_of(block) - blocks.get(block).write_point
                };
                let (all, rows_left) = (row.iter().map(left).sum::<u32>(), row.iter().map(left).max().unwrap_or(0));
                // Each row that is not whole has its parity to come.
                room += all - if stripes.stripe.parity { rows_left } else { 0 };
            }
        }
        room
    }

    /// True if what is counted as left for the host in superblocks is not what they have left.
    pub fn miscounts_host_room(&self, blocks: &Blocks) -> bool {
        let stripes = self.stripes.as_ref();
        stripes.is_some_and(|stripes| stripes.host_room != self.room_in_stripes(blocks, Stream::Host))
    }

    /// Counts what is left for the host in superblocks that were taken over.
    pub(super) fn count_host_room(&mut self, blocks: &Blocks) {
        let room = self.room_in_stripes(blocks, Stream::Host);
        if let Some(stripes) = &mut self.stripes {
            stripes.host_room = room;
        }
    }

    /// True if the open superblocks that were saved can be those of a drive at rest, and have the sizes of those here.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub(super) fn check_stripes(&self, like: &Self, blocks: &Blocks) -> Result<(), String> {
        let shape = |stripes: &Stripes| {
            (stripes.stripe, stripes.programs_per_block, stripes.open.len(), stripes.due.len(), stripes.fresh.len())
        };
        if self.stripes.as_deref().map(shape) != like.stripes.as_deref().map(shape) {
            return Err("the open superblocks are of another drive".into());
        }
        let Some(stripes) = &self.stripes else { return Ok(()) };
        if stripes.due.iter().any(|&page| page != NONE) {
            return Err("a page of parity is due, though nothing is under way".into());
        }
        let numbers = (blocks.records().len() * STREAMS / stripes.due.len()) as u32;
        if let Some(number) = stripes.open.as_flattened().iter().find(|&&open| open != NONE && open >= numbers) {
            return Err(format!("superblock {number} is written to, which does not exist"));
        }
        let mut listed: Vec<u32> = self.open_together(blocks).collect();
        listed.sort_unstable();
        let is_open = |&block: &u32| blocks.get(block).status == crate::blocks::Status::Open;
        if listed.windows(2).any(|pair| pair[0] == pair[1]) || !listed.iter().all(is_open) {
            return Err("a superblock is written to that is not open, or twice".into());
        }
        for (at, pair) in stripes.open.iter().enumerate() {
            if pair[0] == NONE && pair[1] != NONE {
                return Err("a newer superblock is written to without an older one".into());
            }
            for row in blocks.planes_of_group(at / STREAMS).chunks(stripes.stripe.dies as usize) {
                stripes.check_row(blocks, row, *pair)?;
            }
            let full = |number: u32| {
                let planes = blocks.planes_of_group(at / STREAMS).iter();
                let points = planes.map(|&plane| blocks.get(blocks.block_at(plane, number)).write_point);
                points.min()
                    == Some(blocks.programs_of(blocks.block_at(blocks.planes_of_group(at / STREAMS)[0], number)))
            };
            if let Some(number) = pair.iter().find(|&&number| number != NONE && full(number)) {
                return Err(format!("superblock {number} is full, but open"));
            }
        }
        Ok(())
    }
}
