//! The 24 static allocation orders of channel, way (package), die and plane.
//!
//! Source: jung13, chapter 3, figure 3.3 (Jung and Kandemir, HotStorage 2012). The first letter varies fastest: in
//! CWDP, consecutive logical pages go to consecutive channels, then ways, then dies, then planes.
//! Faithful: all 24 orders, by logical page. Simplified: nothing.

use super::{Constraint, Placement};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use wordline_flash::Geometry;

pub(crate) const ABOUT: About = About {
    summary: "static allocation: a fixed plane for every logical page, striped in one of 24 orders of Channel, Way, \
        Die, Plane",
    source: "jung13 chapter 3, figure 3.3",
    note: "all 24 orders, as published",
};

/// Options of static placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Striping order of consecutive logical pages: the letters C (channel), W (way, a package on its channel), D (die)
    /// and P (plane), each once, the fastest-changing first.
    pub order: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { order: "CWDP".into() }
    }
}

/// Static placement: the planes in the order in which logical pages visit them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fixed {
    #[serde(deserialize_with = "some")]
    planes: Vec<u32>,
}

/// The planes of a policy from a snapshot: a drive has at least one.
fn some<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u32>, D::Error> {
    let planes = Vec::deserialize(source)?;
    if planes.is_empty() {
        return Err(D::Error::custom("a placement without planes"));
    }
    Ok(planes)
}

/// The planes in the order in which consecutive logical pages visit them.
pub(super) fn visit(order: &[u8], geometry: &Geometry) -> Vec<u32> {
    let size = |letter| match letter {
        b'C' => geometry.channels,
        b'W' => geometry.packages,
        b'D' => geometry.dies_per_package,
        _ => geometry.planes_per_die,
    };
    (0..geometry.planes())
        .map(|page| {
            let mut rest = page;
            let mut place = [0_u32; 256];
            for &letter in order {
                place[usize::from(letter)] = rest % size(letter);
                rest /= size(letter);
            }
            let at = |letter: u8| place[usize::from(letter)];
            geometry.plane_at(at(b'C'), at(b'W'), at(b'D'), at(b'P'))
        })
        .collect()
}

/// The planes in the order of the options, for the policy of that name.
pub(super) fn planes_in_order(options: &Options, build: &Build<'_>) -> Result<Vec<u32>, ConfigError> {
    let order = options.order.to_uppercase().into_bytes();
    let mut letters = order.clone();
    letters.sort_unstable();
    if letters != b"CDPW" {
        return Err(ConfigError::new(
            "placement.order",
            &options.order,
            "must hold each of the letters C, W, D, P once, such as CWDP or PDWC",
        ));
    }
    Ok(visit(&order, build.geometry))
}

impl Fixed {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let planes = planes_in_order(options, build)?;
        if !build.plane_local {
            return Err(ConfigError::new(
                "placement.policy",
                "static",
                "a fixed plane for every page needs garbage collection per plane: write collect.scope = \"plane\", or \
                 placement.policy = \"least-busy\"",
            ));
        }
        Ok(Self { planes })
    }
}

impl Placement for Fixed {
    #[inline]
    fn at(&self, page: u32) -> Constraint {
        Constraint::Plane(self.planes[page as usize % self.planes.len()])
    }

    fn fixed(&self) -> bool {
        true
    }

    #[inline]
    fn round(&self) -> &[u32] {
        &self.planes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_flash::GeometryConfig;

    fn geometry() -> Geometry {
        Geometry::new(&GeometryConfig { channels: 2, packages_per_channel: 2, ..GeometryConfig::default() }).unwrap()
    }

    #[test]
    fn the_first_letter_varies_fastest() {
        let geometry = geometry();
        let cwdp = visit(b"CWDP", &geometry);
        // 2 channels, 2 ways, 2 dies, 2 planes: a channel is 8 planes apart, a way 4, a die 2, a plane 1.
        assert_eq!(cwdp[..8], [0, 8, 4, 12, 2, 10, 6, 14]);
        let pdwc = visit(b"PDWC", &geometry);
        assert_eq!(pdwc, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_visits_every_plane_once() {
        let geometry = geometry();
        let letters = *b"CWDP";
        let mut orders = 0;
        for a in 0..4 {
            for b in (0..4).filter(|&b| b != a) {
                for c in (0..4).filter(|&c| c != a && c != b) {
                    let d = 6 - a - b - c;
                    let mut planes = visit(&[letters[a], letters[b], letters[c], letters[d]], &geometry);
                    planes.sort_unstable();
                    assert_eq!(planes, (0..16).collect::<Vec<_>>());
                    orders += 1;
                }
            }
        }
        assert_eq!(orders, 24);
    }
}
