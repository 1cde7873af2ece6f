//! A package at its pins: a host drives every command, address and data cycle itself, and every cycle is checked.
//!
//! This is the low-level command interface of jung13 (section 2.6.1). The other interface is the transaction engine of
//! [`crate::package`]; both agree in time and in the resulting array state. The host chooses the time of each cycle and
//! gets the time of its end. The package has a command register, an address register, and for each plane a cache
//! register and a data register with real bytes; pages store what is programmed.
//!
//! **Rejected cycles.** A cycle that comes too early, has no place in its sequence, or breaks a rule of the array is
//! rejected with a [`CycleError`], has no effect, and ends its sequence. The die concerned (the one in its address,
//! else the last addressed one) has FAIL in its status register and accepts only READ STATUS, READ STATUS ENHANCED and
//! RESET, until RESET. Array work in progress continues. FAILC means that the previous command was rejected, too.
//! Unwritten pages are rejected as in the transaction engine; a real package returns FFh.
//!
//! **Time.** A cycle that makes a die busy is followed by tWB, in which the whole bus is idle; then R/B_n is low. RESET
//! takes 5 microseconds when idle or during a read, 10 during a program, 500 during an erase.
//!
//! **Differences from real packages.** Pages have no spare area. A package powers up as after RESET, with the interface
//! and timing mode of its configuration, and RESET changes neither. Single bytes on double-data-rate interfaces
//! (status, identifiers, features) are not doubled. 05h takes two column cycles (ONFI) or a whole page address (as in
//! [`crate::chain`]). Wear and bit errors are not modelled here.

mod cycles;
mod decode;
mod die;
mod error;
mod execute;
pub mod identity;
mod latch;
mod layout;
mod registers;
pub mod status;
mod store;

pub use decode::{Accepted, Condition, Mode, COMMANDS};
pub use error::{CycleError, PinsError, Reason, Right, Wait, What};
pub use layout::{Layout, COLUMN_CYCLES};
pub use status::Lines;

use crate::cells::{Cells, Rules};
use crate::config::NandConfig;
use crate::geometry::{PackageGeometry, PageAddress};
use crate::interface;
use crate::timing::{bus_mode, Timing, TimingError};
use die::Die;
use error::Wait as W;
use identity::Features;
use latch::{Front, Output};
use store::Store;
use wordline_base::Time;

/// A package at its pins: several dies and their planes on one I/O bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Pins {
    geometry: PackageGeometry,
    config: NandConfig,
    layout: Layout,
    timing: Timing,
    mode: interface::Mode,
    cells: Cells,
    store: Store,
    dies: Vec<Die>,
    features: Features,
    /// The register for the parameter page and features.
    special: Vec<u8>,
    front: Front,
    output: Output,
    /// The wait before data out, and its end.
    output_from: (Wait, Time),
    /// The last addressed die.
    selected: u32,
    now: Time,
    bus_free: Time,
    quiet_until: Time,
    cycles: u64,
    write_protected: bool,
}

impl Pins {
    /// Creates an erased package, ready at time 0.
    ///
    /// # Errors
    /// The geometry does not fit the configured address cycles, or the timing is invalid.
    pub fn new(geometry: PackageGeometry, config: &NandConfig) -> Result<Self, PinsError> {
        let layout = Layout::new(&geometry, config)?;
        let (timing, mode) = priced(config, geometry.pages)?;
        let mut cells = Cells::new(geometry);
        cells.set_rules(Rules {
            partial_programs: config.reliability.nop.min(255) as u8,
            endurance: config.reliability.endurance,
        });
        Ok(Self {
            geometry,
            layout,
            timing,
            mode,
            cells,
            store: Store::new(geometry),
            dies: vec![Die::new(&geometry); geometry.dies as usize],
            features: Features::new(config),
            special: Vec::new(),
            front: Front::Free,
            output: Output::Nothing,
            output_from: (W::Trr, 0),
            selected: 0,
            now: 0,
            bus_free: 0,
            quiet_until: 0,
            cycles: 0,
            write_protected: false,
            config: config.clone(),
        })
    }

    /// Geometry of the package.
    #[must_use]
    pub fn geometry(&self) -> &PackageGeometry {
        &self.geometry
    }

    /// Layout of its address cycles.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Times of the current timing mode.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The current timing mode.
    #[must_use]
    pub fn interface_mode(&self) -> &interface::Mode {
        &self.mode
    }

    /// The array, for inspection.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The array, to set its rules or to mark blocks bad.
    pub fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// Contents of a page; `None` if it is not written, does not exist, or was aborted by RESET.
    #[must_use]
    pub fn page(&self, die: u32, at: PageAddress) -> Option<&[u8]> {
        if self.exists(die, at) {
            self.store.get(die, at)
        } else {
            None
        }
    }

    /// R/B_n and ARDY of a die; `None` for a die that does not exist.
    #[must_use]
    pub fn ready(&self, die: u32, now: Time) -> Option<Lines> {
        Some(self.dies.get(die as usize)?.lines(now))
    }

    /// When R/B_n and ARDY of a die become true, if they are not; `None` for a die that does not exist.
    #[must_use]
    pub fn ready_at(&self, die: u32) -> Option<(Time, Time)> {
        let die = self.dies.get(die as usize)?;
        Some((die.ready_at, die.array_at.max(die.ready_at)))
    }

    /// The earliest time of the next cycle: after the last one, and tWB if one follows.
    #[must_use]
    pub fn earliest(&self) -> Time {
        self.now.max(self.bus_free).max(self.quiet_until)
    }

    /// Number of cycles, including rejected ones; a rejected data transfer counts as one.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Lowers or raises WP_n. While it is low no program or erase can begin.
    pub fn set_write_protected(&mut self, protected: bool) {
        self.write_protected = protected;
    }

    fn exists(&self, die: u32, at: PageAddress) -> bool {
        let PackageGeometry { dies, planes, blocks, pages, .. } = self.geometry;
        die < dies && at.plane < planes && at.block < blocks && at.page < pages
    }
}

/// The times of a configuration, with its timing mode.
fn priced(config: &NandConfig, pages: u32) -> Result<(Timing, interface::Mode), TimingError> {
    let timing = Timing::new(config, pages)?;
    let mode = bus_mode(config)?;
    Ok((timing, mode))
}
