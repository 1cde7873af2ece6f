//! Where the time of a die went.

use crate::chain::SEGMENTS;
use crate::geometry::MAX_PLANES;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// How long and how often a segment was on the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentUse {
    /// In picoseconds.
    pub time: Time,
    /// How often.
    pub count: u64,
}

/// Where the time of a die went, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieTimes {
    /// TON, TIN and BER, by the number of planes that took part, less one.
    pub cells: [[Time; MAX_PLANES]; 3],
    /// tDBSY.
    pub dummy: Time,
    /// Moves between the registers (tRCBSY and tCBSY without waiting for the cells), and of a suspended array.
    pub register: Time,
    /// On the bus, by segment.
    pub bus: [SegmentUse; SEGMENTS],
    /// Ready, and waiting for the bus (contention).
    pub contention: Time,
}

impl Default for DieTimes {
    fn default() -> Self {
        Self {
            cells: [[0; MAX_PLANES]; 3],
            dummy: 0,
            register: 0,
            bus: [SegmentUse::default(); SEGMENTS],
            contention: 0,
        }
    }
}

impl DieTimes {
    /// True if an idle die can have worked so: it does one thing at a time in its cells, and one on the bus.
    ///
    /// # Errors
    /// Says that it cannot.
    pub fn check_saved(&self, now: Time) -> Result<(), String> {
        let sum = |times: &mut dyn Iterator<Item = Time>| times.map(u128::from).sum::<u128>();
        let cells = sum(&mut self.cells.iter().flatten().copied().chain([self.dummy, self.register]));
        let bus = sum(&mut self.bus.iter().map(|segment| segment.time));
        if cells.max(bus).max(self.contention.into()) > now.into() {
            return Err(format!("a die has worked longer than the {now} ps that the drive has lived"));
        }
        Ok(())
    }

    /// TON, TIN and BER.
    #[inline]
    #[must_use]
    pub fn stages(&self) -> [Time; 3] {
        self.cells.map(|by_planes| by_planes.iter().sum())
    }

    /// TON, TIN and BER, each times the planes that took part: what the cells consume.
    #[must_use]
    pub fn plane_stages(&self) -> [Time; 3] {
        self.cells.map(|by_planes| by_planes.iter().zip(1..).map(|(time, planes): (_, Time)| time * planes).sum())
    }

    /// In the die: TON, TIN, BER, tDBSY, and the moves between registers. In cache mode the bus works at the same time.
    #[inline]
    #[must_use]
    pub fn array(&self) -> Time {
        self.stages().iter().sum::<Time>() + self.dummy + self.register
    }
}
