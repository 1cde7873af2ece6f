//! The flash translation layer (FTL): tasks that share the flash, a kernel with all mechanisms, and policies that
//! decide.
//!
//! A write waits with a constraint (any die, a plane …) and gets its page only when it is issued to a die. The same
//! kernel runs on timed flash and on flash that completes at once.
#![forbid(unsafe_code)]

pub mod blocks;
mod buffer;
mod config;
mod kernel;
mod logs;
mod lots;
mod map;
mod mover;
mod ops;
pub mod policy;
mod raid;
mod shadow;
mod space;
mod stays;
pub mod task;

pub use config::{CapacityConfig, ConfigError, FirmwareConfig, Plan, ZonePlan};
pub use kernel::{
    divide, Account, BankCounts, BankUse, Counters, Fault, FromFlash, HostDone, Kernel, Kinds, Noted, Noting, Passage,
    PlaneUse, Reason, Service, Standing, TransactionCounts, Waited, Way, Wished, DRAINS, FACTORY_BAD, HOLDERS,
    PROCESSOR_EVENT,
};
pub use map::{Chunk, Map, MOST_CHUNK_BYTES};

/// Most mapping units that one page can hold.
pub const MAX_UNITS_PER_PAGE: u32 = 32;
