//! Guest: an external size of the write buffer, and what it keeps.
//!
//! Source: whoever wrote it.
//! Faithful: the size that it gives, asked for once, when the drive is built; and, if it chooses, which logical pages stay in the buffer
//! and which leave it. Simplified: what leaves goes as with `fifo`; without choices all is as with `fifo`, or, with a size of 0, as with
//! `none`. While a drive is filled nothing is kept.

use super::{capacity_problem, units_of, Buffer};
use serde::{Deserialize, Serialize};
use wordline_firmware::policy::{Build, GuestBuffer, GuestOptions, Keeper};
use wordline_firmware::ConfigError;

/// The section of a guest.
pub type Options = GuestOptions;

/// What an external write buffer says when it is built.
#[derive(Debug)]
pub struct Figures {
    /// Its size in KiB; 0 for no buffer.
    pub capacity_kib: u32,
    /// Who chooses what it keeps, if anybody does.
    pub keeper: Option<Box<dyn GuestBuffer>>,
}

/// An external write buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    capacity_kib: u32,
    #[serde(skip)]
    keeper: Option<Keeper>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let error = |problem: String| options.error("buffer", problem);
        let figures = options.maker("buffer")?.figures(&options.options, build).map_err(error)?;
        let figures = figures.downcast::<Figures>().map_err(|_| error("it gives no size of a buffer".into()))?;
        let Figures { capacity_kib, keeper } = *figures;
        if let Some(problem) = capacity_problem(capacity_kib, build).filter(|_| capacity_kib > 0) {
            return Err(error(format!("its capacity of {capacity_kib} KiB {problem}, or be 0 for no buffer")));
        }
        if keeper.is_some() && capacity_kib == 0 {
            return Err(error("it chooses what the buffer keeps, but has none: its capacity is 0 KiB".into()));
        }
        Ok(Self { capacity_kib, keeper: keeper.map(|keeper| Keeper::new(&options.policy, keeper)) })
    }

    /// Who chooses what the buffer keeps, if anybody does.
    pub(crate) fn into_keeper(self) -> Option<Keeper> {
        self.keeper
    }
}

impl Buffer for Guest {
    fn units(&self, unit_bytes: u32) -> u32 {
        units_of(self.capacity_kib, unit_bytes)
    }
}
