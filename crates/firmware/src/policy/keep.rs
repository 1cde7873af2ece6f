//! What an external policy of the write buffer decides during a run: which logical pages stay in the buffer, also of those that were
//! read, and which leave.
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
    /// Number of the write or read with which it came. Counted are all writes of units to the buffer and, if the policy keeps what was
    /// read, the reads of what it keeps.
    pub came: u64,
    /// Number of the last write of it; 0 if it was only read.
    pub written: u64,
    /// Number of the last read of it; 0 if there was none, or reads are not counted.
    pub read: u64,
    /// True if all its bytes are there; otherwise its old data are read when it leaves.
    pub whole: bool,
    /// True if it is in flash as it is here, so that it leaves at once.
    pub clean: bool,
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
    /// A unit that was read, and that is kept if this makes room for it at once.
    pub comes: Option<u32>,
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

    /// True if it is asked about units that were read. Asked once.
    fn minds_reads(&self) -> bool {
        false
    }

    /// True if the buffer keeps a whole unit that a read of the host has brought from flash.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn keeps_read(&mut self, _unit: u32) -> Result<bool, Refusal> {
        Ok(false)
    }

    /// How long the host rests until it is asked once more in this rest, if at all. Asked once.
    fn rest(&self) -> Option<Time> {
        None
    }

    /// The kept units that leave now, in this order. Those that are clean have left then; the others are on their way.
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
pub struct Keeper {
    seat: Seat<Box<dyn GuestBuffer>>,
    #[serde(skip)]
    rest: Option<Time>,
    #[serde(skip)]
    minds_reads: bool,
}

impl Keeper {
    /// A policy with its name.
    #[must_use]
    pub fn new(name: &str, object: Box<dyn GuestBuffer>) -> Self {
        let (rest, minds_reads) = (object.rest(), object.minds_reads());
        Self { seat: Seat::new(name, object), rest, minds_reads }
    }

    /// How long it waits for the host to rest, if it does.
    pub(crate) fn rest(&self) -> Option<Time> {
        self.rest
    }

    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.seat
    }

    /// Without an answer the run ends.
    pub(crate) fn keeps(&mut self, unit: u32) -> bool {
        self.seat.ask(|guest| guest.keeps(unit)).unwrap_or(false)
    }

    /// True if it is asked about units that were read.
    pub(crate) fn minds_reads(&self) -> bool {
        self.minds_reads
    }

    /// Without an answer the run ends.
    pub(crate) fn keeps_read(&mut self, unit: u32) -> bool {
        self.seat.ask(|guest| guest.keeps_read(unit)).unwrap_or(false)
    }

    /// What leaves; nothing without an answer.
    pub(crate) fn evict(&mut self, view: &BufferView<'_>) -> Vec<u32> {
        let chosen = self.seat.ask(|guest| guest.evict(view)).unwrap_or_default();
        let is_stuck = view.waits && view.room == 0 && view.leaving == 0;
        if chosen.is_empty() && is_stuck && self.seat.trouble().is_none() {
            let pages = view.kept.len();
            self.seat.refuse(format!("it named no logical page that leaves, though a write waits and the buffer is full of the {pages} that it keeps"));
        }
        chosen
    }

    /// It chose a unit that is not kept.
    pub(crate) fn refuse_unit(&mut self, unit: u32) {
        self.seat
            .refuse(format!("it chose logical page {unit}, which the buffer does not keep, or which it named twice"));
    }

    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
