//! Dynamic allocation in turn: pages go to the planes in one of the 24 orders, as they are written.
//!
//! Source: jung13 (3.3): the order of allocation decides in which order coalesced pages are written to physical pages, and so
//! the order in which they are read, even where the translation layer maps addresses anew.
//! Faithful: the orders are those of `static`; what counts is the number of the write, not the logical page, so that consecutive
//! pages of a request go to consecutive planes and all planes fill at the same pace. Assumed: reads of old data and GC do not
//! count; units of a request that fill a program stay together; a plane that holds more valid data than its spare blocks allow is passed over until it holds less.

use super::fixed::planes_in_order;
use super::{Constraint, Places, Placement};
use crate::policy::{About, Build};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

pub use super::fixed::Options;

pub(crate) const ABOUT: About = About {
    summary: "dynamic allocation in turn: each page that is written goes to the next plane, in one of 24 orders of Channel, Way, \
        Die, Plane",
    source: "jung13 3.3",
    note: "a plane with more valid data than its spare blocks allow is passed over",
};

/// Placement in turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InTurn(Box<Turns>);

/// Its state, in a box: other policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Turns {
    planes: Vec<u32>,
    /// Programs that were placed, modulo the planes.
    turn: u32,
    /// Units that fill a program.
    units: u32,
    /// Units that the last program lacks, and the logical page of the last of its units.
    #[serde(skip)]
    open: (u32, u32),
    /// By operation, its place.
    #[serde(skip)]
    places: Places,
}

impl InTurn {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let planes = planes_in_order(options, build)?;
        if !build.plane_local {
            return Err(ConfigError::new(
                "placement.policy",
                "in-turn",
                "needs garbage collection per plane, so that each plane keeps blocks free: write collect.scope = \"plane\", or \
                 placement.policy = \"least-busy\"",
            ));
        }
        let units = build.units_per_program;
        Ok(Self(Box::new(Turns { planes, turn: 0, units, open: (0, 0), places: Places::default() })))
    }

    /// Goes on where a drive that was saved stood.
    pub(super) fn restore(&mut self, saved: &Self) {
        self.0.turn = saved.0.turn % self.0.planes.len() as u32;
    }
}

impl Placement for InTurn {
    fn at(&self, _: u32) -> Constraint {
        Constraint::Any
    }

    fn place(&mut self, page: u32, operation: u32, _: u32) -> Constraint {
        let Turns { planes, turn, units, open, places } = &mut *self.0;
        let (lacking, last) = *open;
        if lacking > 0 && page.wrapping_sub(last) <= 1 {
            *open = (lacking - 1, page);
        } else {
            *turn = (*turn + 1) % planes.len() as u32;
            *open = (*units - 1, page);
        }
        let plane = planes[(*turn as usize + planes.len() - 1) % planes.len()];
        places.note(operation, plane)
    }

    fn placed(&self, _: u32, operation: u32) -> Constraint {
        self.0.places.of(operation)
    }

    fn fixed(&self) -> bool {
        false
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn pass_over(&mut self) {
        self.0.open.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    #[test]
    fn what_is_written_goes_to_the_next_plane_whatever_its_address() {
        let config = GeometryConfig { channels: 2, packages_per_channel: 2, ..GeometryConfig::default() };
        let geometry = Geometry::new(&config).unwrap();
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: true,
            domains: 16,
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 0,
        };
        let mut placement = InTurn::new(&Options { order: "CWDP".into() }, &build).unwrap();
        // 2 channels, 2 ways, 2 dies, 2 planes: a channel is 8 planes apart, a way 4, a die 2, a plane 1.
        let places = [7, 7, 0, 3].map(|page| placement.place(page, page, 0));
        assert_eq!(places, [0, 8, 4, 12].map(Constraint::Plane));
        assert_eq!(placement.placed(7, 7), Constraint::Plane(8));
        let mut other = InTurn::new(&Options { order: "PDWC".into() }, &build).unwrap();
        other.restore(&placement);
        assert_eq!(other.place(0, 0, 0), Constraint::Plane(4));
        // Two units fill a program, if they follow each other.
        let mut paired = InTurn::new(&Options { order: "CWDP".into() }, &Build { units_per_program: 2, ..build }).unwrap();
        let places = [3, 3, 9, 4, 5, 6].map(|page| paired.place(page, page, 0));
        assert_eq!(places, [0, 0, 8, 4, 4, 12].map(Constraint::Plane));
        paired.pass_over();
        assert_eq!(paired.place(6, 6, 0), Constraint::Plane(2));
    }
}
