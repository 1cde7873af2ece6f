//! The flash of a drive: packages on channels, the buses between them and the controller, timed or untimed. Takes
//! commands for dies and says when they end. Knows nothing of logical addresses.
#![forbid(unsafe_code)]

mod array;
mod charges;
mod geometry;
mod parts;
mod recorder;
mod spending;
pub mod timeline;
pub mod unit;

pub use array::{Agenda, ChannelTimes, Flash, FlashError, Progress};
pub use charges::{Payers, Share, Shares, PAYERS};
pub use geometry::{Geometry, GeometryConfig, GeometryError};
pub use recorder::Logged;
pub use spending::{Spent, Tally};
pub use wordline_nand::energy::{Activity, Energy, EnergyConfig};
pub use wordline_nand::interface::Interface;
pub use wordline_nand::reliability::{Reliability, ReliabilityConfig};
pub use wordline_nand::wear::WearCounts;
pub use wordline_nand::{config, log, Command, Kind, NandConfig, PageAddress, Segment, Timing, Violation, MAX_PLANES};
