//! Where the requests in a drive are.

use super::Drive;

/// Requests in a drive, by where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// Slots of all queues.
    pub slots: u32,
    /// Slots that are taken: requests in the drive.
    pub in_flight: u32,
    /// Of these, those that wait for the dispatch policy to take them up.
    pub queued: u32,
    /// Those that wait for room in the write buffer.
    pub await_room: u32,
    /// Flushes that wait for buffered data to be in flash.
    pub flushing: u32,
    /// Operations of the flash that wait or run, for whomever.
    pub operations: u32,
}

impl Drive {
    /// Where its requests are now.
    #[must_use]
    pub fn queueing(&self) -> Queueing {
        Queueing {
            slots: self.slots.len() as u32,
            in_flight: self.in_flight(),
            queued: self.queued.len() as u32,
            await_room: self.blocked.len() as u32,
            flushing: self.flushing.len() as u32,
            operations: self.kernel.operations(),
        }
    }
}
