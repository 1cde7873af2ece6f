//! Guest: an external free-block policy.
//!
//! Source: whoever wrote it.
//! Faithful: the blocks of a plane are opened by the ranks that it gave them, of equal ones the block with the lowest number; or it is
//! asked for each block that is opened, and the free block of the plane that it names is opened.

use super::{FreeBlock, FreeView};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external free-block policy.
pub trait GuestFreeBlock: Tells + std::fmt::Debug + Send {
    /// As [`FreeBlock::rank`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn rank(&mut self, erases: u32, order: u32) -> Result<u64, Refusal>;

    /// As [`FreeBlock::chooses`]; asked once.
    fn chooses(&self) -> bool {
        false
    }

    /// As [`FreeBlock::choose`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn choose(&mut self, _: &FreeView<'_>) -> Result<Option<u32>, Refusal> {
        Ok(None)
    }

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestFreeBlock>;
}

impl Clone for Box<dyn GuestFreeBlock> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// The external policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest {
    seat: Seat<Box<dyn GuestFreeBlock>>,
    #[serde(skip)]
    chooses: bool,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("free_block")?.free_block(&options.options, build);
        let object = object.map_err(|problem| options.error("free_block", problem))?;
        let chooses = object.chooses();
        Ok(Self { seat: Seat::new(&options.policy, object), chooses })
    }
}

impl FreeBlock for Guest {
    fn rank(&mut self, erases: u32, order: u32) -> u64 {
        // Without an answer the run ends: what stands in for it decides no result.
        self.seat.ask(|guest| guest.rank(erases, order)).unwrap_or(u64::MAX)
    }

    fn chooses(&self) -> bool {
        self.chooses
    }

    fn choose(&mut self, view: &FreeView<'_>) -> Option<u32> {
        let block = self.seat.ask(|guest| guest.choose(view))??;
        if view.free.iter().all(|entry| entry.block != block) {
            self.seat.refuse(format!("it chose block {block}, which is no free block of plane {}", view.plane));
            return None;
        }
        Some(block)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
