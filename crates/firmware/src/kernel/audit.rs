//! Whole-state functions: taking over the state of another drive, recounting everything, hashing it.

use super::{Fault, Kernel};
use crate::blocks::Status;
use crate::logs::Logs;
use crate::lots::Lots;
use crate::policy::guest::failed;
use crate::policy::placement::PlacementPolicy;
use crate::policy::redundancy::Stripe;
use crate::{ConfigError, Plan};

impl Kernel {
    /// True if this drive can take over data, maps and wear of another one: geometry and unit size are the same.
    ///
    /// # Errors
    /// Names the first figure in which the drives differ.
    pub fn fits(&self, other: &Kernel) -> Result<(), ConfigError> {
        if self.flash.geometry() != other.flash.geometry() {
            let shape = |kernel: &Self| {
                let g = kernel.flash.geometry();
                format!(
                    "{} x {} x {} x {} planes of {} blocks of {} pages of {} KiB, {} a program, {} in SLC mode",
                    g.channels,
                    g.packages,
                    g.dies_per_package,
                    g.planes_per_die,
                    g.blocks_per_plane,
                    g.pages_per_block,
                    g.page_bytes / 1024,
                    g.pages_per_program,
                    g.slc_pages_per_block
                )
            };
            let problem = format!("the saved state has {}; give the drive the same", shape(other));
            return Err(ConfigError::new("geometry", shape(self), problem));
        }
        if self.plan.fixes_pages != other.plan.fixes_pages || self.plan.logs.is_some() != other.plan.logs.is_some() {
            let policy = |plan: &Plan| match (plan.fixes_pages, plan.logs) {
                (_, Some(_)) => "bast, sast, fast or pftl",
                (true, None) => "block",
                (false, None) => "page or cached",
            };
            let problem = format!("the saved state was made with {}; give the drive the same", policy(&other.plan));
            return Err(ConfigError::new("mapping.policy", policy(&self.plan), problem));
        }
        if self.plan.logs != other.plan.logs {
            let problem = "the saved state was made with other rules for log blocks; give the drive the same";
            return Err(ConfigError::new("mapping", format!("{:?}", self.plan.logs), problem));
        }
        let unit_kib = |kernel: &Self| kernel.plan.unit_bytes / 1024;
        if unit_kib(self) != unit_kib(other) {
            let problem = format!("the saved state was made with {}; give the drive the same", unit_kib(other));
            return Err(ConfigError::new("mapping.unit_kib", unit_kib(self), problem));
        }
        if self.plan.logical_units != other.plan.logical_units {
            let ratio = |plan: &Plan| format!("{:.6}", f64::from(plan.raw_units) / f64::from(plan.logical_units));
            let problem = format!("the saved state was made with {}; give the drive the same", ratio(&other.plan));
            return Err(ConfigError::new("capacity.raw_over_logical", ratio(&self.plan), problem));
        }
        if self.plan.map_units != other.plan.map_units {
            let lies = |plan: &Plan| match plan.map_units {
                0 => "in memory".to_owned(),
                _ if self.plan.has_map() && other.plan.has_map() => format!("in flash, with {} pages", plan.map_units),
                _ => "in flash".to_owned(),
            };
            let problem =
                format!("the saved state has its mapping table {}; give the drive the same", lies(&other.plan));
            return Err(ConfigError::new("mapping.policy", lies(&self.plan), problem));
        }
        if self.plan.stripe != other.plan.stripe {
            let stripe = |plan: &Plan| match plan.stripe {
                None => "single blocks".to_owned(),
                Some(Stripe { dies, parity, .. }) => {
                    format!("superblocks of {dies} dies {} parity", if parity { "with" } else { "without" })
                }
            };
            let problem = format!("the saved state has {}; give the drive the same", stripe(&other.plan));
            return Err(ConfigError::new("redundancy.policy", stripe(&self.plan), problem));
        }
        let dies = |plan: &Plan| plan.raid.map(|raid| raid.dies);
        if dies(&self.plan) != dies(&other.plan) {
            let raid = |plan: &Plan| match dies(plan) {
                None => "no parity of logical pages".to_owned(),
                Some(dies) => format!("parity of {} logical pages each", dies - 1),
            };
            let problem = format!("the saved state has {}; give the drive the same", raid(&other.plan));
            return Err(ConfigError::new("redundancy.dies", raid(&self.plan), problem));
        }
        if let Some(error) = self.beyond_slc(other) {
            return Err(error);
        }
        if self.plan.domains != other.plan.domains {
            let scope = |domains: u32| if domains == 1 { "drive" } else { "plane" };
            let problem = format!("the saved state was made with \"{}\"; give it the same", scope(other.plan.domains));
            return Err(ConfigError::new("collect.scope", scope(self.plan.domains), problem));
        }
        let pages = self.placement.round().len().max(other.placement.round().len()) as u32;
        let same_planes = |page| self.placement.at(page) == other.placement.at(page);
        // Of an external policy that was saved only its name is known: see `keeps_planes`.
        let is_known = !matches!(other.placement, PlacementPolicy::Guest(_)) || other.placement.fixed();
        if self.placement.fixed() && is_known && !(0..pages).all(same_planes) {
            return Err(other_planes());
        }
        if self.replacements != other.replacements {
            let problem = format!("the saved state reserves {}; give the drive the same", other.replacements);
            return Err(ConfigError::new("capacity.replacement_blocks", self.replacements, problem));
        }
        Ok(())
    }

    /// Checks that the pages of a saved drive with an external placement lie where this drive has them.
    ///
    /// # Errors
    /// They do not.
    pub fn keeps_planes(&self, saved: &Kernel) -> Result<(), ConfigError> {
        let is_external = matches!(saved.placement, PlacementPolicy::Guest(_));
        if is_external && self.check_places(saved).is_err() {
            return Err(other_planes());
        }
        Ok(())
    }

    /// Takes over the data, maps and wear of another drive that it [fits](Kernel::fits), keeping its own policies.
    ///
    /// # Errors
    /// Names the first figure in which the drives differ.
    ///
    /// # Panics
    /// While operations of either are queued or run.
    pub fn adopt(&mut self, other: &Kernel) -> Result<(), ConfigError> {
        self.adopt_all_but_the_map(other)?;
        self.map = other.map.clone();
        Ok(())
    }

    /// As [`Kernel::adopt`], from a drive that is no longer used.
    ///
    /// # Errors
    /// As [`Kernel::adopt`].
    ///
    /// # Panics
    /// As [`Kernel::adopt`].
    pub fn adopt_last(&mut self, mut other: Kernel) -> Result<(), ConfigError> {
        self.adopt_all_but_the_map(&other)?;
        self.map = std::mem::take(&mut other.map);
        Ok(())
    }

    fn adopt_all_but_the_map(&mut self, other: &Kernel) -> Result<(), ConfigError> {
        assert!(self.slab.live() == 0 && other.slab.live() == 0, "state is taken over while operations run");
        self.fits(other)?;
        self.flash.adopt_cells(&other.flash);
        self.mapping.adopt(&other.mapping);
        self.placement.restore(&other.placement);
        self.blocks = self.blocks.with_records_of(&other.blocks, &mut self.free_block);
        self.space = self.space.with_open_blocks_of(&other.space, &self.blocks);
        self.adopt_lots(other.lots.clone(), other.logs.clone());
        if let (Some(parity), Some(other)) = (&mut self.parity, &other.parity) {
            parity.adopt(other);
        }
        for domain in 0..self.blocks.domains() {
            let view = self.blocks.view(domain);
            (0..view.closed_count()).for_each(|at| self.victim.closed(&view, view.closed_at(at)));
        }
        self.ask_about_sizes();
        self.heed(failed(self.free_block.trouble()) || failed(self.victim.trouble()));
        self.heed(failed(self.mapping.trouble()));
        if self.shadow.is_some() {
            self.shadow = other.shadow.clone();
        }
        Ok(())
    }

    /// Goes on with the logical blocks of another drive, whose blocks are taken over.
    pub(super) fn adopt_lots(&mut self, other: Option<Box<Lots>>, other_logs: Option<Box<Logs>>) {
        if let (Some(lots), Some(other)) = (&mut self.lots, other) {
            lots.restore(*other);
        }
        if let (Some(logs), Some(other)) = (&mut self.logs, other_logs) {
            logs.restore(*other);
        }
    }

    /// Counts everything again and compares: blocks, pages, valid units, and the NAND's own books.
    ///
    /// # Errors
    /// Says what does not balance.
    pub fn audit(&self) -> Result<(), Fault> {
        for place in (0..self.map.places()).filter(|&place| self.map.is_valid(place)) {
            let unit = self.map.unit_at(place);
            if !self.map.lies_at(unit, place) {
                return Err(Fault::books(format!("place {place} is valid but unit {unit} lies elsewhere")));
            }
        }
        let mapped = (0..self.map.logical_units()).filter(|&unit| self.map.place(unit).is_some()).count() as u64;
        let valid = u64::from(self.map.count_valid(0, self.map.places()));
        if mapped != valid {
            return Err(Fault::books(format!("{mapped} units have a place but {valid} places are valid")));
        }
        // Not saved, but counted anew.
        if let Some(domain) = self.blocks.miscounts_erases() {
            return Err(Fault::books(format!("the erases of domain {domain} are not those of its blocks")));
        }
        if self.space.miscounts_host_room(&self.blocks) {
            return Err(Fault::books("the pages left to the host are not those of its open superblocks".into()));
        }
        self.audit_books()
    }

    /// The same without the agreement of forward and reverse map, which holds for a map that was just read.
    pub(super) fn audit_books(&self) -> Result<(), Fault> {
        let wrong = |what: String| Err(Fault::books(what));
        let units = self.plan.units_per_block;
        for (block, record) in self.blocks.records().iter().enumerate() {
            let start = block as u32 * units;
            let valid = self.map.count_valid(start, start + units);
            if valid != record.valid {
                return wrong(format!("block {block} counts {} valid units but holds {valid}", record.valid));
            }
            let nand = self.flash.block_record(block as u32);
            let pages = self.blocks.units_of_program(block as u32) / self.plan.units_per_page;
            let written = record.write_point * pages;
            // A block has its mode in the NAND from its first program on.
            let slc = record.slc && written > 0;
            if (nand.next_page, nand.erases, nand.slc) != (written, record.erases, slc) {
                return wrong(format!("block {block} is {record:?} here and {nand:?} in the NAND"));
            }
        }
        let mut is_log = Vec::new();
        if let Some(logs) = &self.logs {
            is_log = logs.check(&self.blocks).map_err(Fault::books)?;
            let erased = self.schedule.as_ref().is_none_or(|schedule| schedule.is_at_rest());
            if self.slab.live() == 0 && !self.has_merges_left() && !(logs.is_at_rest() && erased) {
                return wrong("nothing is under way, but log blocks are merged, or a write waits for one".into());
            }
        }
        if let Some(lots) = &self.lots {
            lots.check(&self.blocks, &self.map, &is_log).map_err(Fault::books)?;
            let has_data = |block: u32| lots.owner(block).is_some_and(|lot| lots.data(lot) == Some(block));
            let stays = self.logs.is_some() && self.condemned.iter().any(|&block| has_data(block));
            if stays && self.slab.live() == 0 && !self.has_merges_left() {
                return wrong(
                    "nothing is under way, but a data block with a failed program has not been emptied".into(),
                );
            }
        }
        let count = |status| self.blocks.records().iter().filter(|block| block.status == status).count();
        let (free, open) = (count(Status::Free), count(Status::Open));
        let in_lots = self.lots.as_ref().map_or(0, |lots| lots.open_blocks(&self.blocks).count());
        let is_open = |block: usize| self.blocks.records()[block].status == Status::Open;
        let in_logs = (0..is_log.len()).filter(|&block| is_log[block] && is_open(block)).count();
        let listed_open = self.space.open_blocks(&self.blocks).count() + in_lots + in_logs;
        let listed_free: u32 = (0..self.blocks.domains()).map(|domain| self.blocks.free_in_domain(domain)).sum();
        if free as u32 != listed_free || open != listed_open {
            return wrong(format!("{free} blocks are free and {open} open, which the lists deny"));
        }
        if let Some(stage) = self.stage.as_ref().filter(|stage| self.slab.live() == 0 && !stage.is_empty()) {
            return wrong(format!("nothing is under way, but the commit stage counts {:?}", stage.outstanding));
        }
        if self.transactions.as_ref().is_some_and(|transactions| self.slab.live() == 0 && !transactions.is_empty()) {
            return wrong("nothing is under way, but a transaction waits or has not ended".into());
        }
        if self.banks.as_ref().is_some_and(|banks| self.slab.live() == 0 && !banks.is_empty()) {
            return wrong("nothing is under way, but a bank serves a request, or one waits for it".into());
        }
        if self.slab.live() == 0 && self.table.as_ref().is_some_and(|table| !table.is_at_rest()) {
            return wrong("nothing is under way, but a map unit is being read or written".into());
        }
        if let Some(parity) = &self.parity {
            if self.slab.live() == 0 && !parity.is_at_rest() {
                return wrong("nothing is under way, but a stripe is on its way to flash".into());
            }
            parity.check(&self.map).map_err(Fault::books)?;
        }
        if let Some(shelf) = self.shelf.as_ref().filter(|_| self.slab.live() == 0) {
            shelf.check(&self.map, self.shadow.as_ref())?;
        }
        if let Some(shadow) = &self.shadow {
            for unit in 0..self.map.logical_units() {
                match self.map.place(unit) {
                    Some(place) => drop(shadow.check(unit, place)?),
                    None if shadow.expected(unit) != 0 => return wrong(format!("unit {unit} is lost")),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A hash of all state that outlives a request: map, blocks, wear.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |value: u32| hash = (hash.rotate_left(23) ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..self.map.logical_units()).for_each(|unit| mix(self.map.place(unit).map_or(0, |place| place + 1)));
        for block in self.blocks.records() {
            let mode = block.status as u32 | u32::from(block.slc) << 8;
            [block.valid, block.write_point, block.erases, mode].into_iter().for_each(&mut mix);
        }
        hash
    }
}

/// A saved state has pages in other planes.
fn other_planes() -> ConfigError {
    // Pages that lie elsewhere than they are written could fill a plane beyond its share.
    let problem = "a fixed plane for every page needs a saved state that was made with the same order";
    ConfigError::new("placement.policy", "static", problem)
}
