//! Stripes of logical pages with parity: which units belong together, and what memory knows of those that have changed.
//!
//! A *stripe* is the units of one position in so many consecutive logical pages, and a unit of parity behind all units of
//! the host. The stripes of the same pages lie side by side in the flash. A stripe is *open* while memory holds changes
//! that its parity in flash lacks: memory has the data that were written meanwhile, and either the change of the parity in
//! flash, or what is computed anew from all units of the stripe.

use crate::map::Map;
use crate::ops::NONE;
use crate::policy::placement::{Constraint, PlacementPolicy};
use crate::policy::redundancy::Raid;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use wordline_base::Divisor;
use wordline_flash::Geometry;

/// An open stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Which one.
    pub stripe: u32,
    /// Units of the host whose data memory has, by position: written since it was opened.
    pub known: u64,
    /// True if its parity is computed anew; else memory has the change of the one in flash.
    pub anew: bool,
    /// True if it is leaving memory: its parity is being written, or what it needs is being read.
    pub leaving: bool,
    /// A unit changed meanwhile in a way that the parity on its way lacks.
    pub missed: bool,
    /// Reads under way for its parity.
    pub reads: u32,
    before: u32,
    after: u32,
}

/// A stripe as a snapshot has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    stripe: u32,
    known: u64,
    anew: bool,
}

/// The parity of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<Saved>", into = "Vec<Saved>")]
pub struct Parity {
    raid: Raid,
    /// Pages of a stripe that hold data.
    data: Divisor,
    units_per_page: Divisor,
    /// Stripes of pages that have a page in each plane together.
    sweep: Divisor,
    dies: Divisor,
    first: u32,
    /// By stripe: where it is listed as open.
    listed: Vec<u32>,
    open: Vec<Open>,
    free: Vec<u32>,
    /// Open stripes that are not leaving: the last used, the least recently used, and their number.
    newest: u32,
    oldest: u32,
    count: u32,
    leaving: u32,
    /// Units that the request in service overwrites.
    pub covered: Range<u32>,
    saved: Vec<Saved>,
}

impl From<Vec<Saved>> for Parity {
    fn from(saved: Vec<Saved>) -> Self {
        Self { saved, ..Self::new(Raid { dies: 2, open: 1 }, 0, 0, (1, 2)) }
    }
}

impl From<Parity> for Vec<Saved> {
    fn from(parity: Parity) -> Self {
        parity.by_age().map(|open| Saved { stripe: open.stripe, known: open.known, anew: open.anew }).collect()
    }
}

impl Parity {
    /// Parity of a drive with so many units of the host and of parity, with so many units a page and planes.
    pub fn new(raid: Raid, units: u32, parity_units: u32, (units_per_page, planes): (u32, u32)) -> Self {
        Self {
            raid,
            data: Divisor::new(raid.dies - 1),
            units_per_page: Divisor::new(units_per_page),
            sweep: Divisor::new((planes / raid.dies).max(1)),
            dies: Divisor::new(raid.dies),
            first: units,
            listed: vec![NONE; parity_units as usize],
            open: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            count: 0,
            leaving: 0,
            covered: 0..0,
            saved: Vec::new(),
        }
    }

    /// Units of parity that so many units of the host need.
    pub fn units_for(raid: Raid, units: u32, units_per_page: u32) -> u32 {
        units.div_ceil(units_per_page).div_ceil(raid.dies - 1) * units_per_page
    }

    /// The stripe of a unit, and its position there: that of parity is behind the others.
    pub fn stripe_of(&self, unit: u32) -> (u32, u32) {
        let Some(stripe) = unit.checked_sub(self.first) else {
            let (page, within) = (self.units_per_page.quotient(unit), self.units_per_page.remainder(unit));
            let (pages, position) = (self.data.quotient(page), self.data.remainder(page));
            return (pages * self.units_per_page.get() + within, position);
        };
        (stripe, self.data.get())
    }

    /// Positions of units of the host in a stripe.
    pub fn positions(&self) -> u32 {
        self.data.get()
    }

    /// The unit of a position of a stripe; none behind the end of the drive.
    pub fn unit(&self, stripe: u32, position: u32) -> Option<u32> {
        if position == self.data.get() {
            return Some(self.first + stripe);
        }
        let (pages, within) = (self.units_per_page.quotient(stripe), self.units_per_page.remainder(stripe));
        let unit = (pages * self.data.get() + position) * self.units_per_page.get() + within;
        (unit < self.first).then_some(unit)
    }

    /// The units of the host in a stripe that have a place.
    pub fn placed<'a>(&'a self, stripe: u32, map: &'a Map) -> impl Iterator<Item = (u32, u32)> + 'a {
        let units = (0..self.data.get()).filter_map(move |position| Some((position, self.unit(stripe, position)?)));
        units.filter(|&(_, unit)| map.place(unit).is_some())
    }

    /// The number of a unit's page among those of data and parity, by which the placement finds its plane. Stripes take one plane
    /// after the other, and parity goes round its dies.
    pub fn page_number(&self, unit: u32) -> u32 {
        let (stripe, position) = self.stripe_of(unit);
        let pages = self.units_per_page.quotient(stripe);
        pages * self.raid.dies + self.dies.remainder(position + self.sweep.quotient(pages))
    }

    /// The open stripe, if it is.
    pub fn open(&self, stripe: u32) -> Option<&Open> {
        self.open.get(self.listed[stripe as usize] as usize)
    }

    /// The same, to change.
    pub fn open_mut(&mut self, stripe: u32) -> Option<&mut Open> {
        self.open.get_mut(self.listed[stripe as usize] as usize)
    }

    /// Opens a stripe that is not.
    pub fn add(&mut self, stripe: u32, anew: bool) {
        let open = Open { stripe, known: 0, anew, leaving: false, missed: false, reads: 0, before: NONE, after: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                self.open[at as usize] = open;
                at
            }
            None => {
                self.open.push(open);
                self.open.len() as u32 - 1
            }
        };
        self.listed[stripe as usize] = at;
        self.link(at);
    }

    /// A stripe was used: others leave memory before it.
    pub fn touch(&mut self, stripe: u32) {
        let at = self.listed[stripe as usize];
        if at != self.newest && !self.open[at as usize].leaving {
            self.unlink(at);
            self.link(at);
        }
    }

    /// The least recently used open stripe, if there are too many.
    pub fn surplus(&self) -> Option<u32> {
        (self.count > self.raid.open).then(|| self.open[self.oldest as usize].stripe)
    }

    /// An open stripe begins to leave memory.
    pub fn leave(&mut self, stripe: u32) {
        let at = self.listed[stripe as usize];
        self.unlink(at);
        self.open[at as usize].leaving = true;
        self.leaving += 1;
    }

    /// A stripe that was leaving has left memory.
    pub fn close(&mut self, stripe: u32) {
        let at = std::mem::replace(&mut self.listed[stripe as usize], NONE);
        self.leaving -= 1;
        self.free.push(at);
    }

    /// True if no stripe is on its way to flash.
    pub fn is_at_rest(&self) -> bool {
        self.leaving == 0
    }

    /// True if the request in service writes all units of a stripe that have a place.
    pub fn covers(&self, stripe: u32, map: &Map) -> bool {
        !self.covered.is_empty() && self.placed(stripe, map).all(|(_, unit)| self.covered.contains(&unit))
    }

    /// True if memory has the data of all units of an open stripe.
    pub fn is_full(&self, open: &Open) -> bool {
        let units = (0..self.data.get()).filter(|&position| self.unit(open.stripe, position).is_some());
        units.into_iter().all(|position| open.known >> position & 1 == 1)
    }

    /// The first unit of parity.
    pub fn first(&self) -> u32 {
        self.first
    }

    fn link(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        let open = &mut self.open[at as usize];
        (open.before, open.after) = (before, NONE);
        match self.open.get_mut(before as usize) {
            Some(before) => before.after = at,
            None => self.oldest = at,
        }
        self.count += 1;
    }

    fn unlink(&mut self, at: u32) {
        let Open { before, after, .. } = self.open[at as usize];
        match self.open.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.oldest = after,
        }
        match self.open.get_mut(after as usize) {
            Some(after) => after.before = before,
            None => self.newest = before,
        }
        self.count -= 1;
    }

    /// Open stripes, the least recently used first.
    fn by_age(&self) -> impl Iterator<Item = &Open> {
        std::iter::successors(self.open.get(self.oldest as usize), |open| self.open.get(open.after as usize))
    }

    /// Goes on with the open stripes of another drive with the same stripes, at rest.
    pub fn adopt(&mut self, other: &Self) {
        debug_assert!(other.is_at_rest(), "stripes are taken over at rest");
        let saved: Vec<Saved> = other.clone().into();
        self.take(&saved);
    }

    /// Goes on with the open stripes of a snapshot.
    ///
    /// # Errors
    /// Says what cannot have been.
    pub fn restore(&mut self, saved: &Self, map: &Map) -> Result<(), String> {
        let mut seen = vec![false; self.listed.len()];
        for open in &saved.saved {
            match seen.get_mut(open.stripe as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(format!("stripe {} is open twice, or does not exist", open.stripe)),
            }
            if !open.anew && map.place(self.first + open.stripe).is_none() {
                return Err(format!("stripe {} has changed, but has no parity", open.stripe));
            }
            if self.data.get() < 64 && open.known >> self.data.get() != 0 {
                return Err(format!("stripe {} has too many units", open.stripe));
            }
        }
        self.take(&saved.saved);
        self.check(map)
    }

    fn take(&mut self, saved: &[Saved]) {
        self.open.clear();
        self.free.clear();
        self.listed.fill(NONE);
        (self.newest, self.oldest, self.count, self.leaving) = (NONE, NONE, 0, 0);
        for &Saved { stripe, known, anew } in saved {
            self.add(stripe, anew);
            self.open.last_mut().expect("it was added").known = known;
        }
    }

    /// Checks that every unit in flash is protected: its stripe has a page of parity, or memory has what it lacks.
    ///
    /// # Errors
    /// Names a unit that is not.
    pub fn check(&self, map: &Map) -> Result<(), String> {
        for stripe in 0..self.listed.len() as u32 {
            let has_parity = map.place(self.first + stripe).is_some();
            let open = self.open(stripe);
            if open.is_some_and(|open| !open.anew && !has_parity) {
                return Err(format!("stripe {stripe} has changed, but has no parity"));
            }
            if let Some((_, unit)) = self.placed(stripe, map).next().filter(|_| !has_parity && open.is_none()) {
                return Err(format!("unit {unit} lies in flash without parity"));
            }
        }
        Ok(())
    }
}

/// The groups of dies of a fixed placement, where each stripe has one page in each die of a group; none if some stripe has two
/// pages in a die, or two groups share some of their dies.
pub fn groups(raid: Raid, placement: &PlacementPolicy, geometry: &Geometry) -> Option<Vec<Vec<u32>>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for stripe in 0..placement.round().len() as u32 / raid.dies {
        let die = |page| match placement.at(page) {
            Constraint::Plane(plane) => Some(plane / geometry.planes_per_die),
            _ => None,
        };
        let mut dies: Vec<u32> = (stripe * raid.dies..(stripe + 1) * raid.dies).map(die).collect::<Option<_>>()?;
        dies.sort_unstable();
        if dies.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        if groups.contains(&dies) {
            continue;
        }
        if groups.iter().flatten().any(|die| dies.contains(die)) {
            return None;
        }
        groups.push(dies);
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four planes, three pages of data a stripe, two units a page: 14 units make seven pages, three stripes of pages.
    fn parity() -> Parity {
        let raid = Raid { dies: 4, open: 2 };
        let parity_units = Parity::units_for(raid, 14, 2);
        assert_eq!(parity_units, 6);
        Parity::new(raid, 14, parity_units, (2, 4))
    }

    #[test]
    fn units_have_their_stripes_and_numbers() {
        let parity = parity();
        // Unit 9 is the second of page 4, the second page of the second stripe of pages.
        assert_eq!(parity.stripe_of(9), (3, 1));
        assert_eq!((parity.unit(3, 0), parity.unit(3, 1), parity.unit(3, 2)), (Some(7), Some(9), Some(11)));
        assert_eq!(parity.unit(3, 3), Some(17), "its parity is behind the 14 units of the host");
        assert_eq!(parity.stripe_of(17), (3, 3));
        assert_eq!(parity.unit(5, 1), None, "the last stripe of pages has one page");
        // Each stripe of pages takes all four planes, and begins a plane later than the one before.
        let numbers = |units: [u32; 4]| units.map(|unit| parity.page_number(unit));
        assert_eq!(numbers([0, 2, 4, 14]), [0, 1, 2, 3]);
        assert_eq!(numbers([6, 8, 10, 16]), [5, 6, 7, 4]);
        assert_eq!(parity.page_number(1), parity.page_number(0), "units of a page go to one plane");
    }

    #[test]
    fn the_least_recently_used_stripe_leaves_first() {
        let mut parity = parity();
        parity.add(0, true);
        parity.add(1, false);
        parity.touch(0);
        assert_eq!(parity.surplus(), None);
        parity.add(2, false);
        assert_eq!(parity.surplus(), Some(1));
        parity.leave(1);
        assert_eq!((parity.surplus(), parity.is_at_rest()), (None, false));
        parity.close(1);
        assert!(parity.is_at_rest() && parity.open(1).is_none());
        assert_eq!(parity.by_age().map(|open| open.stripe).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn what_is_known_and_covered_decides_what_is_read() {
        let mut parity = parity();
        let mut map = Map::new(20, 40);
        for unit in [0, 2] {
            map.bind(unit, unit);
        }
        parity.add(0, true);
        parity.open_mut(0).unwrap().known = 0b011;
        assert!(!parity.is_full(parity.open(0).unwrap()));
        parity.open_mut(0).unwrap().known = 0b111;
        assert!(parity.is_full(parity.open(0).unwrap()));
        assert_eq!(parity.placed(0, &map).collect::<Vec<_>>(), [(0, 0), (1, 2)], "unit 4 was never written");
        assert!(!parity.covers(0, &map));
        parity.covered = 0..3;
        assert!(parity.covers(0, &map));
        assert!(parity.check(&map).is_ok());
        parity.leave(0);
        parity.close(0);
        assert!(parity.check(&map).is_err(), "unit 0 has no parity now");
    }
}
