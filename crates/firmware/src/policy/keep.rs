//! What an external policy of the write buffer decides during a run: which logical pages stay in the buffer, and which leave.
//!
//! The family `buffer` belongs to the drive; what is kept belongs to the firmware (`kernel/keep.rs`).

use super::{Refusal, Seat, Telling, Tells, Trouble};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// A mapping unit that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptUnit {
    /// The unit.
    pub unit: u32,
    /// Number of the write with which it came, counted over all writes of units to the buffer.
    pub came: u64,
    /// Number of the last write of it.
    pub written: u64,
    /// True if all its bytes are there; otherwise its old data are read when it leaves.
    pub whole: bool,
}

/// The write buffer, as the policy sees it that chooses what leaves. Sizes are in mapping units.
#[derive(Clone, Copy, Debug)]
pub struct BufferView<'a> {
    /// The units that it keeps, in the order of their coming.
    pub kept: &'a [KeptUnit],
    /// How many it has room for.
    pub room: u32,
    /// How many are on their way to flash, and take room until they are there.
    pub leaving: u32,
    /// True if a write waits for room.
    pub waits: bool,
    /// True if the host has rested as long as [`GuestBuffer::rest`] says.
    pub rested: bool,
    /// Simulated time.
    pub now: Time,
}

/// An external choice of what the write buffer keeps.
pub trait GuestBuffer: Tells + std::fmt::Debug + Send {
    /// True if the buffer keeps a unit that the host writes until it is chosen to leave; false if it goes to its die at once.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn keeps(&mut self, unit: u32) -> Result<bool, Refusal>;

    /// How long the host rests until it is asked once more in this rest, if at all. Asked once.
    fn rest(&self) -> Option<Time> {
        None
    }

    /// The kept units that leave now, in this order.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn evict(&mut self, view: &BufferView<'_>) -> Result<Vec<u32>, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestBuffer>;
}

impl Clone for Box<dyn GuestBuffer> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// The external policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Keeper(Seat<Box<dyn GuestBuffer>>, #[serde(skip)] Option<Time>);

impl Keeper {
    /// A policy with its name.
    #[must_use]
    pub fn new(name: &str, object: Box<dyn GuestBuffer>) -> Self {
        let rest = object.rest();
        Self(Seat::new(name, object), rest)
    }

    /// How long it waits for the host to rest, if it does.
    pub(crate) fn rest(&self) -> Option<Time> {
        self.1
    }

    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0
    }

    /// Without an answer the run ends.
    pub(crate) fn keeps(&mut self, unit: u32) -> bool {
        self.0.ask(|guest| guest.keeps(unit)).unwrap_or(false)
    }

    /// What leaves; nothing without an answer.
    pub(crate) fn evict(&mut self, view: &BufferView<'_>) -> Vec<u32> {
        let chosen = self.0.ask(|guest| guest.evict(view)).unwrap_or_default();
        let is_stuck = view.waits && view.room == 0 && view.leaving == 0;
        if chosen.is_empty() && is_stuck && self.0.trouble().is_none() {
            let pages = view.kept.len();
            self.0.refuse(format!("it named no logical page that leaves, though a write waits and the buffer is full of the {pages} that it keeps"));
        }
        chosen
    }

    /// It chose a unit that is not kept.
    pub(crate) fn refuse_unit(&mut self, unit: u32) {
        self.0.refuse(format!("it chose logical page {unit}, which the buffer does not keep, or which it named twice"));
    }

    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.0.trouble()
    }
}
