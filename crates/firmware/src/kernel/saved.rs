//! A kernel from a snapshot. It omits state that an idle drive does not need, and derived data are never read from it;
//! everything else is checked before use.

use super::{Counters, Kernel};
use crate::blocks::Status;
use crate::map::Map;
use crate::policy::placement::Constraint;
use wordline_base::Time;

/// No count in a snapshot is larger, so that it can be added to.
const MOST_COUNTED: u64 = 1 << 60;

impl Kernel {
    /// The map, to save it.
    #[must_use]
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// A map for the data of `saved`, a drive that this one [fits](Kernel::fits): nothing has a place in it yet.
    #[must_use]
    pub fn map_for(&self, saved: &Kernel) -> Map {
        let mut map = Map::new(self.map.logical_units(), self.map.places());
        // What a file says of its plan is checked later.
        if saved.units_written() > u64::from(self.plan.units() / 2) {
            map.expect_filling();
        }
        map
    }

    /// Gives a drive from a snapshot its map.
    pub fn set_map(&mut self, map: Map) {
        self.map = map;
    }

    /// True if data, maps and wear that were saved hold together, and fit a drive like this: what [`Kernel::adopt`] takes over.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn check_saved(&self, like: &Kernel) -> Result<(), String> {
        let shape = |kernel: &Self| {
            let plan = &kernel.plan;
            let units = (plan.unit_bytes, plan.units_per_page, (plan.units_per_program, plan.units_per_block));
            (
                units,
                (plan.logical_units, plan.map_units, plan.parity_units),
                plan.raw_units,
                plan.domains,
                (plan.blocks_per_domain, plan.stripe, plan.fixes_pages, plan.raid, plan.logs),
            )
        };
        if shape(self) != shape(like) {
            return Err("its figures belong to another drive".into());
        }
        self.flash.check_saved(&like.flash)?;
        if !self.map.has_size_of(&like.map) {
            return Err("the map has another size".into());
        }
        self.blocks.check_saved(&like.blocks, like.plan.fixes_pages)?;
        self.space.check_saved(&like.space, &self.blocks)?;
        if like.plan.slc.is_none() && self.blocks.slc_blocks() > 0 {
            return Err("it has blocks in SLC mode, which this drive has not".into());
        }
        let alike = match (&self.lots, &like.lots) {
            (Some(lots), Some(like)) => lots.has_size_of(like),
            (lots, like) => lots.is_none() && like.is_none(),
        };
        if !alike {
            return Err("its logical blocks are those of another drive".into());
        }
        let alike = match (&self.logs, &like.logs) {
            (Some(logs), Some(like)) => like.fits(logs),
            (logs, like) => logs.is_none() && like.is_none(),
        };
        if !alike {
            return Err("its log blocks are those of another drive".into());
        }
        if let Some(shadow) = &self.shadow {
            shadow.check_saved(&crate::shadow::Shadow::new(like.plan.units(), like.plan.raw_units))?;
        }
        self.audit_books().map_err(|fault| fault.to_string())?;
        let units = self.plan.units_per_block;
        for (block, record) in (0..).zip(self.blocks.records()) {
            let programmed = self.blocks.units_of_program(block);
            let (written, end) = (block * units + record.write_point * programmed, (block + 1) * units);
            if let Some(place) = self.map.next_valid(written, end) {
                return Err(format!("place {place} is valid but was never written"));
            }
            if self.flash.block_record(block).bad != (record.status == Status::Bad) {
                return Err(format!("block {block} is {:?}, on which the NAND does not agree", record.status));
            }
        }
        let replacements = like.replacements;
        if (0..self.flash.geometry().planes()).any(|plane| self.blocks.spare(plane) > replacements) {
            return Err(format!("a plane holds back more than {replacements} blocks"));
        }
        like.check_places(self)
    }

    /// Where each page has its plane, `saved` data lie there: a plane beyond its share would fill up.
    pub(super) fn check_places(&self, saved: &Kernel) -> Result<(), String> {
        if !self.placement.fixed() {
            return Ok(());
        }
        for unit in 0..self.plan.units() {
            let Some(place) = saved.map.place(unit) else { continue };
            let plane = self.blocks.plane_of(self.units_per_block.quotient(place));
            if self.placement.at(self.page_number(unit)) != Constraint::Plane(plane) {
                return Err(format!("unit {unit} lies in plane {plane}, where its placement does not put it"));
            }
        }
        Ok(())
    }

    /// Prepares for copies that share the maps as they are now.
    pub fn share(&mut self) {
        self.map.share();
    }

    /// Takes the maps for itself again, as far as no copy shares them any more.
    pub fn unshare(&mut self) {
        self.map.unshare();
    }

    /// Units that are written, and so have a place in the map.
    fn units_written(&self) -> u64 {
        self.blocks.records().iter().map(|record| u64::from(record.valid)).sum()
    }

    /// Goes on where a kernel of the same configuration was saved, at `now` and at rest. [`Kernel::check_saved`] comes before.
    ///
    /// # Errors
    /// Says what cannot have been.
    pub fn restore(&mut self, saved: Kernel, now: Time) -> Result<(), String> {
        let dies = self.flash.geometry().dies_per_channel();
        let turns = |turns: &[u32]| turns.len() == self.die_turn.len() && turns.iter().all(|&turn| turn < dies);
        if saved.stage_turn >= self.flash.geometry().dies()
            || saved.channel_turn as usize >= self.die_turn.len()
            || !turns(&saved.die_turn)
        {
            return Err("the turn is that of a die that does not exist".into());
        }
        if saved.now > now {
            return Err("the firmware is ahead of its drive".into());
        }
        let condemned = |&block: &u32| {
            let record = saved.blocks.records().get(block as usize);
            record.is_some_and(|record| record.status != Status::Closed || record.doomed)
        };
        if saved.starved.len() != self.starved.len() || !saved.condemned.iter().all(condemned) {
            return Err("a victim block does not exist".into());
        }
        if !saved.counters.can_go_on() {
            return Err("the counts of flash operations are impossible".into());
        }
        self.victim.restore(saved.victim, &saved.blocks)?;
        self.placement.restore(&saved.placement);
        self.mapping.restore(saved.mapping)?;
        self.dispatch.restore(saved.dispatch)?;
        self.shares.restore(saved.shares)?;
        self.take_shares();
        if let Some(interval) = self.shares.interval() {
            // Steps at rest are taken when operations come again.
            if saved.control_due > now + interval || !saved.control_due.is_multiple_of(interval) {
                return Err("the next step of its share control is at an impossible time".into());
            }
            self.control_due = saved.control_due;
        }
        self.collect.restore(saved.collect)?;
        self.upkeep.restore(saved.upkeep);
        self.processor.restore(saved.processor);
        self.flash.restore(saved.flash, now)?;
        self.blocks.restore(saved.blocks);
        self.space.restore(saved.space, &self.blocks);
        self.adopt_lots(saved.lots, saved.logs);
        match (&mut self.parity, saved.parity) {
            (Some(parity), Some(open)) => parity.restore(&open, &saved.map)?,
            (None, None) => {}
            _ => return Err("its parity is that of another drive".into()),
        }
        (self.map, self.now, self.counters) = (saved.map, saved.now, saved.counters);
        (self.channel_turn, self.die_turn, self.stage_turn) = (saved.channel_turn, saved.die_turn, saved.stage_turn);
        (self.condemned, self.stalled, self.starved) = (saved.condemned, saved.stalled, saved.starved);
        if self.shadow.is_some() && saved.shadow.is_some() {
            self.shadow = saved.shadow;
        }
        Ok(())
    }
}

impl Counters {
    /// True if all of them can be added to.
    fn can_go_on(&self) -> bool {
        let Self { ops, multi_plane, merge_reads, host_units, moved, padded_units, absorbed_units, .. } = self;
        let Self {
            joined, jobs, commands, copybacks, suspensions, map_lookups, map_hits, map_reads, map_writes, ..
        } = self;
        let Self { parity_pages, parity_units, parity_reads, rebuilt_reads, part_reads, slc_pages, holds, .. } = self;
        let Self { merges, log_merges, log_merge_time, map_loads, map_stores, .. } = self;
        let Self { merges_by_cause, interruptions, pressed_merges, delay_blocks, .. } = self;
        let of_rows = [parity_pages, parity_units, parity_reads, rebuilt_reads, part_reads, slc_pages, holds];
        let rest = [merge_reads, host_units, padded_units, absorbed_units, commands, copybacks, suspensions];
        let of_map = map_reads.iter().chain(map_writes).chain([map_lookups, map_hits, map_loads, map_stores]);
        let mut all = ops
            .iter()
            .chain(multi_plane)
            .chain(moved)
            .chain(jobs)
            .chain(rest)
            .chain(of_map)
            .chain(of_rows)
            .chain(joined)
            .chain(merges)
            .chain(merges_by_cause)
            .chain([log_merges, log_merge_time, interruptions, pressed_merges, delay_blocks]);
        all.all(|&count| count <= MOST_COUNTED)
    }
}
