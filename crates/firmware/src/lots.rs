//! Logical blocks, where the mapping fixes the page of each unit in its block.
//!
//! A logical block has a *data block*: its pages are written in order, each with the logical page of its own offset. A page
//! that was written already can only be written again in another block. So the data block becomes the *replaced block*,
//! and another one the data block, until the data that are still valid in the replaced block have been copied.
//!
//! Writes wait here for the page before theirs. At most one write of a logical block is on its way to its die, so that no
//! arbiter can change their order.

use crate::blocks::{Blocks, Status};
use crate::map::Map;
use crate::ops::{Fifo, Slab, NONE};
use crate::task::Tasks;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::Divisor;

/// What is under way for a logical block.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Writes that wait for their page.
    pub waiting: Fifo,
    /// The job that copies from its replaced block, if any.
    pub job: u32,
    /// True if a write is on its way to the die.
    pub sent: bool,
    /// True if it is to be looked at.
    due: bool,
    /// True if it waits for a free block.
    wants_block: bool,
    /// Background tasks that wait until its data block can be replaced.
    pub asked: Tasks,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            waiting: Fifo::default(),
            job: NONE,
            sent: false,
            due: false,
            wants_block: false,
            asked: Tasks::default(),
        }
    }
}

/// The logical blocks of a drive whose mapping fixes the page of each unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lots {
    /// By logical block: its data block.
    data: Vec<u32>,
    /// By logical block: its replaced block.
    replaced: Vec<u32>,
    /// By block: the logical block whose data or replaced block it is.
    #[serde(skip)]
    owners: Vec<u32>,
    #[serde(skip)]
    works: Vec<Work>,
    #[serde(skip)]
    due: VecDeque<u32>,
    /// By domain: jobs that copy from a replaced block without emptying it.
    #[serde(skip)]
    copying: Vec<u32>,
    /// Logical blocks that wait for a free block.
    #[serde(skip)]
    wanting: VecDeque<u32>,
    units_per_block: Divisor,
}

impl Lots {
    /// Logical blocks without data for so many units, in a drive with so many blocks and domains.
    pub fn new(units: u32, units_per_block: u32, (blocks, domains): (u32, u32)) -> Self {
        let count = units.div_ceil(units_per_block) as usize;
        Self {
            data: vec![NONE; count],
            replaced: vec![NONE; count],
            owners: vec![NONE; blocks as usize],
            works: vec![Work::default(); count],
            due: VecDeque::new(),
            wanting: VecDeque::new(),
            copying: vec![0; domains as usize],
            units_per_block: Divisor::new(units_per_block),
        }
    }

    /// The logical block of a unit.
    pub fn of_unit(&self, unit: u32) -> u32 {
        self.units_per_block.quotient(unit)
    }

    /// The page that a unit must have in its block.
    pub fn page_of(&self, unit: u32) -> u32 {
        self.units_per_block.remainder(unit)
    }

    /// How many logical blocks there are.
    pub fn count(&self) -> u32 {
        self.data.len() as u32
    }

    /// The unit of a page of a logical block.
    pub fn unit_at(&self, lot: u32, page: u32) -> u32 {
        lot * self.units_per_block.get() + page
    }

    /// The units of a logical block, in a drive with so many units.
    pub fn units_of(&self, lot: u32, units: u32) -> std::ops::Range<u32> {
        let first = self.unit_at(lot, 0);
        first..units.min(first.saturating_add(self.units_per_block.get()))
    }

    /// The data block of a logical block.
    pub fn data(&self, lot: u32) -> Option<u32> {
        known(self.data[lot as usize])
    }

    /// The replaced block of a logical block.
    pub fn replaced(&self, lot: u32) -> Option<u32> {
        known(self.replaced[lot as usize])
    }

    /// The logical block that a block belongs to.
    pub fn owner(&self, block: u32) -> Option<u32> {
        known(self.owners[block as usize])
    }

    /// What is under way for a logical block.
    pub fn work(&self, lot: u32) -> &Work {
        &self.works[lot as usize]
    }

    /// What is under way for a logical block.
    pub fn work_mut(&mut self, lot: u32) -> &mut Work {
        &mut self.works[lot as usize]
    }

    /// A logical block gets another data block; the one before becomes the replaced block.
    ///
    /// # Panics
    /// If it has a replaced block.
    pub fn replace(&mut self, lot: u32, block: u32) {
        let at = lot as usize;
        assert_eq!(self.replaced[at], NONE, "a logical block has one replaced block at most");
        self.replaced[at] = std::mem::replace(&mut self.data[at], block);
        self.owners[block as usize] = lot;
    }

    /// The replaced block of a logical block holds no data any more.
    pub fn forget_replaced(&mut self, lot: u32) {
        forget(&mut self.replaced[lot as usize], &mut self.owners);
    }

    /// The data block of a logical block holds no data any more.
    pub fn forget_data(&mut self, lot: u32) {
        forget(&mut self.data[lot as usize], &mut self.owners);
    }

    /// A write waits for its page.
    pub fn wait(&mut self, slab: &mut Slab, slot: u32) {
        let lot = self.of_unit(slab.get(slot).unit);
        self.works[lot as usize].waiting.push(slab, slot);
        self.mark(lot);
    }

    /// A logical block is to be looked at.
    pub fn mark(&mut self, lot: u32) {
        let work = &mut self.works[lot as usize];
        if !work.due {
            work.due = true;
            self.due.push_back(lot);
        }
    }

    /// The next logical block to look at.
    pub fn next_due(&mut self) -> Option<u32> {
        let lot = self.due.pop_front()?;
        self.works[lot as usize].due = false;
        Some(lot)
    }

    /// True if some logical block other than the one given is to be looked at.
    pub fn is_due_beside(&self, lot: u32) -> bool {
        self.due.iter().any(|&other| other != lot)
    }

    /// True if some logical block is to be looked at.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Jobs of a domain that copy from a replaced block without emptying it: they free none.
    pub fn copying(&self, domain: u32) -> u32 {
        self.copying[domain as usize]
    }

    /// A domain has one such job more, or one less.
    pub fn count_copying(&mut self, domain: u32, change: i32) {
        let count = &mut self.copying[domain as usize];
        *count = count.checked_add_signed(change).expect("a job ends that was counted");
    }

    /// A logical block waits for a free block.
    pub fn want_block(&mut self, lot: u32) {
        let work = &mut self.works[lot as usize];
        if !work.wants_block {
            work.wants_block = true;
            self.wanting.push_back(lot);
        }
    }

    /// There may be a free block for those that wait for one.
    pub fn offer_block(&mut self) {
        while let Some(lot) = self.wanting.pop_front() {
            self.works[lot as usize].wants_block = false;
            self.mark(lot);
        }
    }

    /// Data blocks that are being written.
    pub fn open_blocks<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = u32> + 'a {
        let data = self.data.iter().copied().filter(|&block| block != NONE);
        data.filter(|&block| blocks.get(block).status == Status::Open)
    }

    /// Goes on with the blocks of other logical blocks, which were checked.
    pub fn restore(&mut self, saved: Self) {
        (self.data, self.replaced) = (saved.data, saved.replaced);
        self.owners.fill(NONE);
        for list in [&self.data, &self.replaced] {
            for (lot, &block) in (0..).zip(list).filter(|(_, &block)| block != NONE) {
                self.owners[block as usize] = lot;
            }
        }
    }

    /// True if there are as many logical blocks as in others.
    pub fn has_size_of(&self, other: &Self) -> bool {
        let size = |lots: &Self| (lots.data.len(), lots.replaced.len(), lots.units_per_block);
        size(self) == size(other)
    }

    /// Checks, of a drive at rest or at work, that each block with data belongs to one logical block and holds its units at
    /// their own pages, but for log blocks.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self, blocks: &Blocks, map: &Map, is_log: &[bool]) -> Result<(), String> {
        let mut owners = vec![NONE; blocks.records().len()];
        for (list, replaced) in [(&self.data, false), (&self.replaced, true)] {
            for (lot, &block) in (0..).zip(list).filter(|(_, &block)| block != NONE) {
                let Some(record) = blocks.records().get(block as usize) else {
                    return Err(format!("logical block {lot} has block {block}, which does not exist"));
                };
                let fits = match record.status {
                    Status::Open | Status::Kept => !replaced,
                    Status::Closed | Status::Victim => replaced,
                    Status::Free | Status::Bad | Status::Spare => false,
                };
                if !fits || std::mem::replace(&mut owners[block as usize], lot) != NONE {
                    let status = record.status;
                    return Err(format!("logical block {lot} has block {block}, which is {status:?}, or has it twice"));
                }
            }
        }
        let units = self.units_per_block.get();
        for (block, record) in (0..).zip(blocks.records()) {
            let lot = owners[block as usize];
            if is_log.get(block as usize).is_some_and(|&is_log| is_log) {
                if lot != NONE {
                    return Err(format!("log block {block} belongs to logical block {lot}"));
                }
                continue;
            }
            if lot == NONE && (record.valid > 0 || matches!(record.status, Status::Open | Status::Kept)) {
                return Err(format!("block {block} is {:?}, but belongs to no logical block", record.status));
            }
            let mut at = block * units;
            while let Some(place) = map.next_valid(at, (block + 1) * units) {
                if map.unit_at(place) != self.unit_at(lot, place - block * units) {
                    let unit = map.unit_at(place);
                    return Err(format!("block {block} of logical block {lot} holds unit {unit}, or elsewhere"));
                }
                at = place + 1;
            }
        }
        Ok(())
    }
}

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

fn forget(place: &mut u32, owners: &mut [u32]) {
    if let Some(block) = known(std::mem::replace(place, NONE)) {
        owners[block as usize] = NONE;
    }
}
