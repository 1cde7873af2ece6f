//! The assembled drive: host link and queues, dispatch, write buffer, firmware and flash, driven by its caller's clock; and
//! what surrounds it: configuration, run loop, preconditioning, snapshots, metrics and results.
#![forbid(unsafe_code)]

pub mod config;
mod drive;
pub mod guests;
pub mod metrics;
pub mod policy;
pub mod precondition;
pub mod presets;
pub mod result;
pub mod run;
pub mod snapshot;
pub mod timeline;

pub use config::{load, Derived, DriveConfig};
pub use drive::{Completion, Drive, SubmitError};
pub use wordline_firmware::{ConfigError, Fault};
