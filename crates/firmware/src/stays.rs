//! Data that stay: where wear leveling looks for them, and which of them it may move.
//!
//! With log blocks it looks at logical blocks: one without a page in a log block was not updated lately, and its data block can
//! be replaced. With block mapping it looks at blocks: a full data block in which all is valid was not updated since it was
//! written.

use crate::blocks::{Blocks, Status};
use crate::logs::Logs;
use crate::lots::Lots;
use crate::map::Map;
use crate::ops::NONE;

/// The places where data may stay.
#[derive(Clone, Copy)]
pub struct Stays<'a> {
    blocks: &'a Blocks,
    map: &'a Map,
    lots: Option<&'a Lots>,
    logs: Option<&'a Logs>,
}

impl<'a> Stays<'a> {
    /// The places of a drive; `lots` and `logs` if its mapping has logical blocks and log blocks.
    pub fn new(blocks: &'a Blocks, map: &'a Map, lots: Option<&'a Lots>, logs: Option<&'a Logs>) -> Self {
        Self { blocks, map, lots, logs }
    }

    /// True if the mapping has log blocks.
    pub fn has_logs(&self) -> bool {
        self.logs.is_some()
    }

    /// How many places there are: logical blocks with log blocks, else blocks.
    pub fn count(&self) -> u32 {
        match (self.lots, self.logs) {
            (Some(lots), Some(_)) => lots.count(),
            _ => self.blocks.records().len() as u32,
        }
    }

    /// The block whose data can be moved from a place and were not updated lately; none if the place has no such data.
    pub fn at(&self, place: u32) -> Option<u32> {
        match (self.lots, self.logs) {
            (Some(lots), Some(logs)) => {
                let block = lots.data(place).filter(|&block| self.blocks.get(block).valid > 0)?;
                let elsewhere = |&unit: &u32| {
                    self.map.place(unit).is_some_and(|place| place / self.blocks.units_per_block() != block)
                };
                let mut units = lots.units_of(place, self.map.logical_units());
                (may_move(lots, logs, place) && !units.any(|unit| elsewhere(&unit))).then_some(block)
            }
            _ => {
                let record = self.blocks.get(place);
                let is_full = matches!(record.status, Status::Closed | Status::Kept) && !record.slc;
                let is_replaced = self.lots.is_some_and(|lots| {
                    lots.owner(place).is_none_or(|lot| lots.data(lot) != Some(place) || lots.replaced(lot).is_some())
                });
                (is_full && !is_replaced && record.valid == self.blocks.units_per_block()).then_some(place)
            }
        }
    }

    /// True if the data of a written block can be moved as far as log blocks go: they are no log blocks, and nothing is under
    /// way for the logical block whose data block it is.
    pub fn may_move(&self, block: u32) -> bool {
        let (Some(lots), Some(logs)) = (self.lots, self.logs) else { return true };
        lots.owner(block).is_some_and(|lot| lots.data(lot) == Some(block) && may_move(lots, logs, lot))
    }
}

/// True if nothing is under way for a logical block with a data block, nor for its pages in log blocks.
fn may_move(lots: &Lots, logs: &Logs, lot: u32) -> bool {
    let work = lots.work(lot);
    let is_idle = work.job == NONE && !work.sent && work.waiting.head == NONE && !logs.is_coming(lot);
    is_idle && lots.data(lot).is_some() && lots.replaced(lot).is_none() && !logs.needs(lot)
}
