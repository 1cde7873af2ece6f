//! What will be needed soon, asked for in time: map entries, and the records that they lead to.
//!
//! The tables of a large drive lie in no cache that is near, and what leads to what is only known when the first has come. So a request
//! asks for its map entries when it is known to come, and for the records behind them when it is submitted. Nothing changes by that
//! but the time a run takes.

use super::Kernel;
use crate::map::Place;

/// Units of a request that are asked for, at most.
const MOST: u32 = 64;

impl Kernel {
    /// Tells that a unit will soon be read or written, so that its map entry is at hand then, and what is kept about its map unit.
    #[inline]
    pub fn expect(&self, unit: u32) {
        self.map.expect(unit);
        if let Some(table) = &self.table {
            table.expect(unit, &self.mapping);
            self.map.expect(table.unit_of_map(unit));
        }
    }

    /// The same for all units from the first to the last.
    #[inline(always)]
    pub fn expect_all(&self, first: u32, last: u32) {
        if first == last {
            self.map.expect(first);
        } else {
            self.map.expect_all(first..=last.min(first.saturating_add(MOST - 1)));
        }
        if let Some(table) = &self.table {
            table.expect(first, &self.mapping);
            self.map.expect(table.unit_of_map(first));
        }
    }

    /// True if the mapping keeps its table in flash, so that each request looks for map units.
    #[inline(always)]
    pub fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// Tells that a unit will soon move.
    #[inline]
    pub(super) fn expect_moved(&self, unit: u32) {
        self.map.expect(unit);
        if let Some(table) = &self.table {
            table.expect(unit, &self.mapping);
        }
    }

    /// The same a little later, when what was asked for then is at hand.
    #[inline]
    pub(super) fn expect_moved_soon(&self, unit: u32) {
        // Map units move, too, and have no entries.
        if let Some(table) = self.table.as_ref().filter(|table| table.has_entry(unit)) {
            table.expect_soon(unit, &self.mapping);
        }
    }

    /// Tells that the units from the first to the last will soon be read or overwritten, when their map entries are at hand.
    #[inline(always)]
    pub fn expect_access(&self, first: u32, last: u32, overwrites: bool) {
        if first == last {
            // Mostly it is one.
            if overwrites {
                self.expect_overwrite(first);
            } else {
                self.expect_read(first);
            }
        } else {
            self.expect_accesses(first, last.min(first.saturating_add(MOST - 1)), overwrites);
        }
        if let Some(table) = &self.table {
            table.expect_soon(first, &self.mapping);
        }
    }

    fn expect_accesses(&self, first: u32, last: u32, overwrites: bool) {
        // What lies behind the unit before it is read with it, mostly.
        let mut behind = None;
        for unit in first..last + 1 {
            if overwrites {
                self.expect_overwrite(unit);
                continue;
            }
            let place = self.map.place(unit);
            if let Some(place) = place.filter(|_| place != behind) {
                self.expect_read_at(place);
            }
            behind = place.map(|place| place + 1);
        }
    }

    /// Tells that a unit will soon be read, when its map entry is at hand.
    #[inline]
    fn expect_read(&self, unit: u32) {
        if let Some(place) = self.map.place(unit) {
            self.expect_read_at(place);
        }
    }

    #[inline(always)]
    fn expect_read_at(&self, place: Place) {
        let block = self.units_per_block.quotient(place);
        let plane = self.blocks_per_plane.quotient(block);
        let die = self.planes_per_die.quotient(plane);
        self.flash.expect(die, plane - die * self.planes_per_die.get(), block - plane * self.blocks_per_plane.get());
    }

    /// Tells that a unit will soon be overwritten, when its map entry is at hand.
    #[inline]
    pub fn expect_overwrite(&self, unit: u32) {
        if let Some(place) = self.map.place(unit) {
            self.map.expect_overwrite(place);
            self.blocks.expect(self.units_per_block.quotient(place));
        }
    }

    /// Tells that a unit will soon be written, when its map entry is at hand.
    #[inline]
    pub fn expect_write(&self, unit: u32) {
        self.expect_overwrite(unit);
        if let Some(table) = &self.table {
            table.expect_soon(unit, &self.mapping);
        }
    }

    /// The same a little later, when what was asked for then is at hand.
    #[inline]
    pub fn expect_write_soon(&self, unit: u32) {
        if let Some(place) = self.map.place(unit) {
            self.blocks.expect_neighbours(self.units_per_block.quotient(place));
        }
        if let Some(table) = &self.table {
            table.expect_neighbours(unit, &self.mapping);
        }
    }

    /// Tells that all units will be written.
    pub fn expect_filling(&mut self) {
        self.map.expect_filling();
    }
}
