//! One NAND flash package, usable without any drive: its geometry, the ONFI command chains and their timing on every data
//! interface, one state machine a die, and the rules of the cells (pages in order, programmed once, read only when
//! written). Knows nothing of channels, drives or logical addresses.
#![forbid(unsafe_code)]

pub mod bus;
pub mod cells;
pub mod chain;
pub mod command;
pub mod config;
mod die;
pub mod energy;
pub mod geometry;
pub mod interface;
pub mod log;
pub mod package;
pub mod pins;
pub mod reliability;
pub mod step;
pub mod times;
pub mod timing;
pub mod wear;

pub use bus::{Bus, OwnBus, Port, SharedBus};
pub use cells::{Cells, Violation};
pub use chain::Segment;
pub use command::{Command, Kind};
pub use config::NandConfig;
pub use geometry::{PackageGeometry, PageAddress, MAX_PLANES};
pub use package::Package;
pub use step::{Around, Lane, Step};
pub use times::DieTimes;
pub use timing::Timing;
