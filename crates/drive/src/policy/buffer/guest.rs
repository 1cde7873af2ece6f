//! Guest: an external size of the write buffer.
//!
//! Source: whoever wrote it.
//! Faithful: the size that it gives, asked for once, when the drive is built. Simplified: what the buffer does is as with `fifo`, or, with
//! a size of 0, as with `none`.

use super::{capacity_problem, units_of, Buffer};
use serde::{Deserialize, Serialize};
use wordline_firmware::policy::{Build, GuestOptions};
use wordline_firmware::ConfigError;

/// The section of a guest.
pub type Options = GuestOptions;

/// An external size of the write buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    capacity_kib: u32,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let error = |problem: String| options.error("buffer", problem);
        let figures = options.maker("buffer")?.figures(&options.options, build).map_err(error)?;
        let capacity = figures.downcast::<u32>().map_err(|_| error("it gives no size of a buffer".into()))?;
        let capacity_kib = *capacity;
        match capacity_problem(capacity_kib, build).filter(|_| capacity_kib > 0) {
            Some(problem) => Err(error(format!("its capacity of {capacity_kib} KiB {problem}, or be 0 for no buffer"))),
            None => Ok(Self { capacity_kib }),
        }
    }
}

impl Buffer for Guest {
    fn units(&self, unit_bytes: u32) -> u32 {
        units_of(self.capacity_kib, unit_bytes)
    }
}
