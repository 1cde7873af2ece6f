//! Base of all layers of Wordline: simulated time, the event queue, seeded random streams, host requests and streaming
//! statistics. It knows nothing of flash or drives and never reads the wall clock.

mod divisor;
pub mod event;
pub mod histogram;
mod memory;
pub mod random;
pub mod request;
mod shared;
pub mod time;

pub use divisor::Divisor;
pub use event::{Event, EventQueue};
pub use histogram::Histogram;
pub use memory::{copy_in_large_pages, prefetch, use_large_pages};
pub use random::Stream;
pub use request::{Op, Request};
pub use shared::{SharedVec, Zero};
pub use time::{ps_from_ns, ps_from_us, Time};
