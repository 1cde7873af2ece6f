//! The assembled drive: host interface and queues, dispatch, write buffer, firmware and flash, driven by its caller's
//! clock. Also configuration, run loop, preconditioning, snapshots, metrics and results.
#![forbid(unsafe_code)]

pub mod activity;
mod block_map;
pub mod config;
mod drive;
pub mod fio_json;
pub mod guests;
pub mod jobs;
pub mod metrics;
pub mod observe;
pub mod parts;
pub mod policy;
pub mod precondition;
pub mod presets;
mod progress;
pub mod reading;
pub mod result;
mod rounds;
pub mod run;
pub mod snapshot;
pub mod split;
mod steady;
pub mod streams;
pub mod timeline;
mod watch;
pub mod wear;

pub use config::{load, Derived, DriveConfig};
pub use drive::{Completion, Drive, SubmitError};
pub use progress::Progress;
pub use steady::Judged;
pub use wordline_firmware::{ConfigError, Fault};
