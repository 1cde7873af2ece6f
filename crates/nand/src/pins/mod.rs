//! The package at its pins: a host drives every command, address and data cycle itself, and every cycle is checked.
//!
//! This is the low-level command interface of jung13 (section 2.6.1); the transaction engine of [`crate::package`] is the other
//! one, and both agree in time and in what they leave in the cells. The host chooses the time of each cycle and gets the time
//! of its end. The package has a command register, an address register, and for each plane a cache register and a data register
//! with real bytes; pages keep what is programmed.
//!
//! **Refusals.** A cycle that comes too early, has no place in its sequence, or breaks a rule of the cells is refused with a
//! [`CycleError`], has no effect, and ends the sequence that it was part of. The die that it concerned (the one that its address
//! names, else the one that was addressed last) has FAIL in its status register and takes nothing but READ STATUS, READ STATUS
//! ENHANCED and RESET, until RESET. What the array has begun goes on. FAILC tells that the command before the last was refused, too.
//! A page that is not written is refused as in the transaction engine, where a real package returns FFh.
//!
//! **Time.** A cycle in which a die becomes busy is followed by tWB, in which the whole bus rests; then R/B_n is low. RESET takes 5,
//! 10 or 500 microseconds when it meets a read or nothing, a program, an erase.
//!
//! **What differs from a package of silicon.** Pages have no spare area. It powers up as after RESET, on the interface and timing
//! mode of its configuration, and RESET leaves both. Single bytes on double-data-rate interfaces (status, identifiers, features)
//! are not doubled. 05h takes two column cycles (ONFI) or a whole page address (as in [`crate::chain`]). Wear and bit errors are
//! not modelled here.

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
use crate::timing::{Timing, TimingError};
use die::Die;
use error::Wait as W;
use identity::Features;
use latch::{Front, Output};
use store::Store;
use wordline_base::Time;

/// One package at its pins: several dies and their planes on one I/O bus.
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
    /// The register of the parameter page and of features.
    special: Vec<u8>,
    front: Front,
    output: Output,
    /// What data out must wait for, and until when.
    output_from: (Wait, Time),
    /// The die that was addressed last.
    selected: u32,
    now: Time,
    bus_free: Time,
    quiet_until: Time,
    cycles: u64,
    write_protected: bool,
}

impl Pins {
    /// An erased package, ready at time 0.
    ///
    /// # Errors
    /// When the geometry cannot be addressed with the configured cycles, or the timing cannot be used.
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

    /// The shape of the package.
    #[must_use]
    pub fn geometry(&self) -> &PackageGeometry {
        &self.geometry
    }

    /// How its address cycles are laid out.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The times of the timing mode in use.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The timing mode in use.
    #[must_use]
    pub fn interface_mode(&self) -> &interface::Mode {
        &self.mode
    }

    /// The cells, to look at.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The cells, to set their rules or to mark blocks bad.
    pub fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// What a page holds; `None` for a page that is not written, does not exist, or was cut off by RESET.
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

    /// When R/B_n and ARDY of a die come, if they are not there yet; `None` for a die that does not exist.
    #[must_use]
    pub fn ready_at(&self, die: u32) -> Option<(Time, Time)> {
        let die = self.dies.get(die as usize)?;
        Some((die.ready_at, die.array_at.max(die.ready_at)))
    }

    /// The earliest time at which the bus takes another cycle: the last one is over, and tWB if one follows.
    #[must_use]
    pub fn earliest(&self) -> Time {
        self.now.max(self.bus_free).max(self.quiet_until)
    }

    /// How many cycles there were, refused ones included; a refused transfer of data counts as one.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Lowers or raises WP_n. While it is low no sequence that leads to a program or an erase can begin.
    pub fn set_write_protected(&mut self, protected: bool) {
        self.write_protected = protected;
    }

    fn exists(&self, die: u32, at: PageAddress) -> bool {
        let PackageGeometry { dies, planes, blocks, pages, .. } = self.geometry;
        die < dies && at.plane < planes && at.block < blocks && at.page < pages
    }
}

/// The times of a configuration, and its timing mode.
fn priced(config: &NandConfig, pages: u32) -> Result<(Timing, interface::Mode), TimingError> {
    let timing = Timing::new(config, pages)?;
    let mode = config.interface.mode(config.rate_mt_s).ok_or_else(|| TimingError {
        key: "rate_mt_s",
        value: config.rate_mt_s.to_string(),
        problem: format!("{} has no such rate", config.interface.name()),
    })?;
    Ok((timing, mode))
}
