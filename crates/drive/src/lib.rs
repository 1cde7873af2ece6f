//! The assembled drive: host interface and queues, dispatch, write buffer, firmware and flash, driven by its caller's
//! clock. Also configuration, run loop, preconditioning, snapshots, metrics and results.
#![forbid(unsafe_code)]

pub mod activity;
pub mod array;
mod block_map;
pub mod config;
mod device;
mod drive;
pub mod fio_json;
mod gauges;
pub mod guests;
pub mod jobs;
mod late;
pub mod load;
pub mod metrics;
pub mod observe;
pub mod parts;
pub mod policy;
pub mod precondition;
pub mod presets;
pub mod probe;
mod progress;
pub mod result;
mod rounds;
mod rows;
pub mod run;
pub mod snapshot;
pub mod split;
mod steady;
pub mod streams;
pub mod timeline;
pub mod untimed;
mod watch;
pub mod wear;
mod wire;

pub use config::{Derived, DriveConfig};
pub use device::Device;
pub use drive::{Completion, Drive, Queueing, SubmitError};
pub use load::load;
pub use progress::Progress;
pub use steady::Judged;
pub use wordline_firmware::task::{Task, Tasks};
pub use wordline_firmware::{ConfigError, Fault, Plan, Reason};
