//! The live disk: a modelled drive as a disk that programs use, with the delays that the drive would have.
//!
//! A client speaks NBD to the server over a socket. `protocol` is that language as a state machine over bytes; `store` keeps the data;
//! `export` joins a drive with a store; `server` is the event loop; `tls` seals what goes over a network; `state` keeps a drive from one server to the next. Time is the clock on the wall, which only this crate reads: the
//! drive is advanced with it, so a request that comes later slows down earlier ones as it would in a device.
#![forbid(unsafe_code)]

mod address;
mod calls;
mod client;
mod clock;
mod control;
mod export;
pub mod floor;
mod protocol;
mod record;
mod scheduling;
mod server;
mod state;
mod stats;
pub mod store;
mod sync;
mod tls;
mod transport;

pub use address::{Address, Listener};
pub use clock::Pace;
pub use control::{Refused, Swapped, View};
pub use protocol::Entry;
pub use record::Recorder;
pub use scheduling::Scheduling;
pub use server::{Closed, Control, Offer, Options, Server, Status};
pub use state::State;
pub use stats::Answered;
pub use tls::Keys;
