//! Page mapping with a map cache: the mapping table lies in flash, and memory holds the map units used last.
//!
//! Source: kim18 (4.2), after DFTL (Gupta et al., ASPLOS 2009).
//! Faithful: units of the table have the size of a mapping unit (4 KB with units of 4 KB); they are read when an entry
//! is needed that memory lacks, leave in order of last use, and are written only if an entry has changed. Where the
//! map units lie is always known in memory (second level). The task that needs a map unit reads it, and writes the one
//! that leaves for it.
//! Simplified: an entry that changes while its map unit is not in memory is kept beside the cache until that has been
//! read, so that no write waits for the table after it has its page. Programs of the table gather until they fill a page. A map unit
//! that left with changes can be used until its write has a page: the size of the cache does not bound those on their way out.

use super::{page, Evicted, Mapping};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::prefetch;

pub(crate) const ABOUT: About = About {
    summary: "page mapping whose table lies in flash: memory holds the map units (of unit_kib) that were used last",
    source: "kim18 4.2; DFTL (Gupta et al., ASPLOS 2009)",
    note: "a changed entry waits beside the cache until its map unit has been read, and a changed map unit until its write has a page; \
           the second level takes no memory of the cache",
};

/// Bytes of an entry of the mapping table: as many as a place has.
const ENTRY_BYTES: u32 = 4;

/// Options of page mapping with a map cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Size of a logical page (mapping unit) in KiB: the page size or a power-of-two fraction of it. Absent: the page
    /// size. A smaller write reads the rest of the mapping unit first.
    pub unit_kib: Option<u32>,
    /// Memory for map units in KiB, at least one of them. A map unit has the size of a logical page, and an entry of 4 bytes for
    /// each. The table itself takes 1 MiB for each GiB with logical pages of 4 KiB.
    pub cache_kib: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { unit_kib: None, cache_kib: 128 * 1024 }
    }
}

const NONE: u32 = u32::MAX;

/// A place of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    map_unit: u32,
    /// Used next after it, and before it.
    newer: u32,
    older: u32,
    changed: bool,
}

/// Page mapping with a map cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Cached {
    unit_bytes: u32,
    capacity: u32,
    lines: Vec<Line>,
    /// By map unit, its line plus one; 0 if it is not in memory.
    line_of: Vec<u32>,
    newest: u32,
    oldest: u32,
}

/// A cache as it is saved: its map units from the one whose use is the longest ago, and whether they have changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    unit_bytes: u32,
    capacity: u32,
    held: Vec<(u32, bool)>,
}

impl From<Cached> for Saved {
    fn from(cache: Cached) -> Self {
        let held = cache.in_order().map(|line| (line.map_unit, line.changed)).collect();
        Self { unit_bytes: cache.unit_bytes, capacity: cache.capacity, held }
    }
}

/// It knows no drive yet: [`Cached::restore`] takes its lines over.
impl From<Saved> for Cached {
    fn from(saved: Saved) -> Self {
        let Saved { unit_bytes, capacity, held } = saved;
        let mut cache = Self { unit_bytes, capacity, lines: Vec::new(), line_of: Vec::new(), newest: NONE, oldest: NONE };
        for (map_unit, changed) in held {
            cache.lines.push(Line { map_unit, newer: NONE, older: NONE, changed });
            cache.link(cache.lines.len() as u32 - 1);
        }
        cache
    }
}

impl Cached {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let unit_bytes = page::unit_bytes(options.unit_kib, build)?;
        let capacity = (u64::from(options.cache_kib) * 1024 / u64::from(unit_bytes)) as u32;
        if capacity == 0 {
            let problem = format!("must hold a map unit: at least {}", unit_bytes / 1024);
            return Err(ConfigError::new("mapping.cache_kib", options.cache_kib, problem));
        }
        let units = build.geometry.pages() * u64::from(build.geometry.page_bytes / unit_bytes);
        let map_units = units.div_ceil(u64::from(unit_bytes / ENTRY_BYTES)) as u32;
        Ok(Self::of_units(unit_bytes, capacity, map_units))
    }

    /// An empty cache for so many of the map units.
    pub(super) fn of_units(unit_bytes: u32, capacity: u32, map_units: u32) -> Self {
        let line_of = vec![0; map_units as usize];
        Self { unit_bytes, capacity, lines: Vec::new(), line_of, newest: NONE, oldest: NONE }
    }

    /// Map units that it holds at most.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    fn line(&self, map_unit: u32) -> Option<u32> {
        self.line_of[map_unit as usize].checked_sub(1)
    }

    /// The same for a hint, which may be of a map unit that there is not.
    fn hinted(&self, map_unit: u32) -> Option<u32> {
        self.line_of.get(map_unit as usize)?.checked_sub(1)
    }

    fn line_mut(&mut self, at: u32) -> &mut Line {
        &mut self.lines[at as usize]
    }

    /// Takes a line out of the order of use.
    fn unlink(&mut self, at: u32) {
        let Line { newer, older, .. } = self.lines[at as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.line_mut(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.line_mut(older).newer = newer,
        }
    }

    /// Makes a line the one that was used last.
    fn link(&mut self, at: u32) {
        let newest = self.newest;
        let line = self.line_mut(at);
        (line.newer, line.older) = (NONE, newest);
        match newest {
            NONE => self.oldest = at,
            newest => self.line_mut(newest).newer = at,
        }
        self.newest = at;
    }

    /// The line of a map unit, which is the one that was used last from now on; none if memory lacks it.
    #[inline]
    fn make_newest(&mut self, map_unit: u32) -> Option<&mut Line> {
        let at = self.line(map_unit)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        Some(self.line_mut(at))
    }

    /// Lines from the one whose use is the longest ago to the newest.
    fn in_order(&self) -> impl Iterator<Item = &Line> {
        let get = |at: u32| self.lines.get(at as usize);
        std::iter::successors(get(self.oldest), move |line| get(line.newer))
    }

    /// The drive has so many map units, of the most that its flash has room for.
    pub(super) fn has_map_units(&mut self, count: u32) {
        self.line_of.truncate(count as usize);
    }

    /// Takes over what a saved cache holds.
    pub(super) fn restore(&mut self, saved: &Self) -> Result<(), String> {
        let mut units: Vec<u32> = saved.in_order().map(|line| line.map_unit).collect();
        units.sort_unstable();
        let distinct = units.windows(2).all(|pair| pair[0] < pair[1]);
        let exist = units.last().is_none_or(|&last| (last as usize) < self.line_of.len());
        if units.len() > self.capacity as usize || !distinct || !exist {
            return Err("the map cache is of another drive".into());
        }
        self.adopt(saved);
        Ok(())
    }

    /// True if it holds a map unit.
    pub(super) fn holds(&self, map_unit: u32) -> bool {
        self.line_of.get(map_unit as usize).is_some_and(|&line| line > 0)
    }

    /// True if a map unit has to leave for the next.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() as u32 == self.capacity
    }

    /// Its map units, from the one whose use is the longest ago to the newest, and whether they have changed.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.in_order().map(|line| (line.map_unit, line.changed))
    }

    /// As [`Mapping::admit`], with the map unit that leaves if it is full.
    pub(super) fn replace(&mut self, leaves: u32, map_unit: u32, changed: bool) -> Option<Evicted> {
        let at = self.line(leaves)?;
        // The one that leaves is the one used the longest ago.
        if self.oldest != at {
            self.unlink(at);
            self.link_as_oldest(at);
        }
        self.admit(map_unit, changed)
    }

    /// Makes a line the one whose use is the longest ago.
    fn link_as_oldest(&mut self, at: u32) {
        let oldest = self.oldest;
        let line = self.line_mut(at);
        (line.newer, line.older) = (oldest, NONE);
        match oldest {
            NONE => self.newest = at,
            oldest => self.line_mut(oldest).older = at,
        }
        self.oldest = at;
    }

    /// Takes over what the cache of another drive holds, as far as there is room.
    pub(super) fn adopt(&mut self, other: &Self) {
        self.lines.clear();
        self.line_of.fill(0);
        (self.newest, self.oldest) = (NONE, NONE);
        for line in other.in_order() {
            // A saved cache may hold what no drive can have.
            let exists = (line.map_unit as usize) < self.line_of.len();
            if exists && !self.holds(line.map_unit) {
                self.admit(line.map_unit, line.changed);
            }
        }
    }
}

impl Mapping for Cached {
    #[inline]
    fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    fn entries(&self) -> Option<u32> {
        Some(self.unit_bytes / ENTRY_BYTES)
    }

    fn expect_entry(&self, map_unit: u32) {
        prefetch(&self.line_of, map_unit as usize);
    }

    fn expect_entry_soon(&self, map_unit: u32) {
        if let Some(at) = self.hinted(map_unit) {
            prefetch(&self.lines, at as usize);
        }
    }

    fn expect_neighbours(&self, map_unit: u32) {
        if let Some(at) = self.hinted(map_unit) {
            let Line { newer, older, .. } = self.lines[at as usize];
            prefetch(&self.lines, newer as usize);
            prefetch(&self.lines, older as usize);
        }
    }

    fn leaves_next(&self) -> Option<u32> {
        let line = self.lines.get(self.oldest as usize)?;
        // When this one leaves, that becomes the oldest.
        prefetch(&self.lines, line.newer as usize);
        Some(line.map_unit)
    }

    #[inline]
    fn use_entry(&mut self, map_unit: u32) -> bool {
        self.make_newest(map_unit).is_some()
    }

    #[inline]
    fn change_entry(&mut self, map_unit: u32) -> bool {
        let Some(line) = self.make_newest(map_unit) else { return false };
        line.changed = true;
        true
    }

    fn admit(&mut self, map_unit: u32, changed: bool) -> Option<Evicted> {
        let full = self.lines.len() as u32 == self.capacity;
        let (at, evicted) = if full {
            let at = self.oldest;
            let Line { map_unit, changed, .. } = self.lines[at as usize];
            self.unlink(at);
            self.line_of[map_unit as usize] = 0;
            (at, Some(Evicted { map_unit, changed }))
        } else {
            self.lines.push(Line { map_unit, newer: NONE, older: NONE, changed });
            (self.lines.len() as u32 - 1, None)
        };
        let line = self.line_mut(at);
        (line.map_unit, line.changed) = (map_unit, changed);
        self.line_of[map_unit as usize] = at + 1;
        self.link(at);
        evicted
    }

    fn written(&mut self, map_unit: u32) {
        if let Some(at) = self.line(map_unit) {
            self.line_mut(at).changed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn cache(cache_kib: u32) -> Result<Cached, ConfigError> {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = Build { geometry: &geometry, units_per_program: 1, plane_local: false, domains: 1, blocks_together: 1, tasks: Tasks::BASIC, seed: 1 };
        Cached::new(&Options { unit_kib: Some(4), cache_kib }, &build)
    }

    #[test]
    fn a_hint_about_a_map_unit_that_there_is_not_does_nothing() {
        let cache = cache(12).unwrap();
        for map_unit in [cache.line_of.len() as u32, u32::MAX] {
            cache.expect_entry(map_unit);
            cache.expect_entry_soon(map_unit);
            cache.expect_neighbours(map_unit);
        }
    }

    #[test]
    fn the_map_unit_leaves_whose_use_is_the_longest_ago() {
        let mut cache = cache(12).unwrap();
        assert_eq!(cache.entries(), Some(1024));
        for map_unit in [5, 7, 9] {
            assert!(!cache.use_entry(map_unit));
            assert_eq!(cache.admit(map_unit, false), None);
        }
        assert!(cache.use_entry(5));
        assert!(cache.change_entry(9));
        // 7 was used the longest ago, then 5, then 9.
        assert_eq!(cache.admit(11, false), Some(Evicted { map_unit: 7, changed: false }));
        assert_eq!(cache.admit(7, true), Some(Evicted { map_unit: 5, changed: false }));
        assert_eq!(cache.admit(5, false), Some(Evicted { map_unit: 9, changed: true }));
        assert_eq!(cache.admit(9, false), Some(Evicted { map_unit: 11, changed: false }));
        cache.written(7);
        assert_eq!(cache.admit(11, false), Some(Evicted { map_unit: 7, changed: false }));
    }

    #[test]
    fn a_cache_of_one_map_unit_works() {
        let mut cache = cache(7).unwrap();
        assert_eq!(cache.admit(3, true), None);
        assert_eq!(cache.admit(4, false), Some(Evicted { map_unit: 3, changed: true }));
        assert!(cache.use_entry(4) && !cache.use_entry(3));
    }

    #[test]
    fn a_smaller_cache_takes_over_the_newest() {
        let (mut large, mut small) = (cache(16).unwrap(), cache(8).unwrap());
        for map_unit in 0..4 {
            large.admit(map_unit, map_unit == 3);
        }
        small.adopt(&large);
        assert_eq!(small.in_order().map(|line| (line.map_unit, line.changed)).collect::<Vec<_>>(), [(2, false), (3, true)]);
        let saved = Saved { held: vec![(1 << 30, true), (3, true), (3, false)], ..Saved::from(small.clone()) };
        let mut other = small.clone();
        other.adopt(&Cached::from(saved));
        assert_eq!(other.held().collect::<Vec<_>>(), [(3, true)], "what no cache can hold is left out");
        let saved = Saved { held: vec![(3, true), (3, false)], ..Saved::from(small.clone()) };
        assert!(large.restore(&Cached::from(saved)).is_err(), "a map unit is there twice");
        let saved = Saved { held: vec![(1 << 30, true)], ..Saved::from(small.clone()) };
        assert!(large.restore(&Cached::from(saved)).is_err(), "a map unit does not exist");
        assert_eq!(small.restore(&large).unwrap_err(), "the map cache is of another drive");
    }

    #[test]
    fn a_cache_without_a_map_unit_is_refused() {
        let error = cache(3).unwrap_err().to_string();
        assert_eq!(error, "mapping.cache_kib = 3: must hold a map unit: at least 4");
    }
}
