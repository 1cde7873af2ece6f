//! The shadow disk: the actual data of every place and the expected data of every unit, to verify a run.
//!
//! Each write of a unit gets a version. The version travels with the data through pages, merges and moves; every read
//! and every move is compared with what the unit should hold.

use crate::map::Place;
use serde::{Deserialize, Serialize};

/// Data found where others should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unit {unit} should hold version {expected}, but place {place} holds version {found} of unit {found_unit}")]
pub struct Misplaced {
    /// The logical unit.
    pub unit: u32,
    /// Version that it should hold.
    pub expected: u32,
    /// Where it was looked for.
    pub place: Place,
    /// Unit found there.
    pub found_unit: u32,
    /// Version found there.
    pub found: u32,
}

/// The shadow disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    /// (unit, version) by place.
    contents: Vec<(u32, u32)>,
    /// Version bound last, by unit; 0 for none.
    expected: Vec<u32>,
    versions: u32,
}

impl Shadow {
    /// A shadow of an empty drive.
    pub fn new(logical_units: u32, raw_units: u32) -> Self {
        Self { contents: vec![(0, 0); raw_units as usize], expected: vec![0; logical_units as usize], versions: 0 }
    }

    /// True if a shadow that was saved has the size of one like this, and versions can still be counted.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn check_saved(&self, like: &Self) -> Result<(), String> {
        let sizes = |shadow: &Self| (shadow.contents.len(), shadow.expected.len());
        let newest = self.expected.iter().copied().max().unwrap_or(0);
        if sizes(self) != sizes(like) || newest > self.versions || self.versions > u32::MAX / 2 {
            return Err("the shadow disk is of another drive".into());
        }
        Ok(())
    }

    /// A new version.
    pub fn version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    /// So many new versions; gives the first.
    pub fn versions(&mut self, count: u32) -> u32 {
        self.versions += count;
        self.versions - count + 1
    }

    /// The version at a place, if it is the one that the unit should hold.
    pub fn check(&self, unit: u32, place: Place) -> Result<u32, Misplaced> {
        let (found_unit, found) = self.contents[place as usize];
        let expected = self.expected[unit as usize];
        if (found_unit, found) == (unit, expected) {
            return Ok(found);
        }
        Err(Misplaced { unit, expected, place, found_unit, found })
    }

    /// The version at a place.
    pub fn at(&self, place: Place) -> u32 {
        self.contents[place as usize].1
    }

    /// The versions that consecutive units should hold, as one number that is not 0.
    pub fn versions_of(&self, unit: u32, units: u32) -> u32 {
        let all = unit as usize..(unit + units) as usize;
        self.expected[all].iter().fold(1, |all: u32, &version| all.wrapping_mul(0x9E37_79B1).wrapping_add(version)) | 1
    }

    /// The host's data reach a place.
    pub fn write(&mut self, unit: u32, place: Place, version: u32) {
        self.contents[place as usize] = (unit, version);
        self.expected[unit as usize] = version;
    }

    /// Moved data reach a place: they must still be what the unit should hold.
    pub fn moved(&mut self, unit: u32, place: Place, version: u32) -> Result<(), Misplaced> {
        self.contents[place as usize] = (unit, version);
        self.check(unit, place).map(drop)
    }

    /// The host gave a unit back.
    pub fn forget(&mut self, unit: u32) {
        self.expected[unit as usize] = 0;
    }

    /// The version that a unit should hold; 0 for none.
    pub fn expected(&self, unit: u32) -> u32 {
        self.expected[unit as usize]
    }
}
