//! Rests of the host: background tasks may work in them. Only while more requests are to come: a drive comes to rest after the last
//! one without them.

use super::Drive;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_firmware::Fault;

impl Drive {
    /// True if some task waits for the host to rest.
    #[inline]
    #[must_use]
    pub fn waits_for_rest(&self) -> bool {
        self.waits_for_rest
    }

    /// Tells whether more requests are to come.
    #[inline]
    pub fn expect_more(&mut self, more: bool) {
        self.expects_more = more && self.waits_for_rest;
    }

    /// The host has no request in the drive, or has one again.
    #[cold]
    pub(super) fn note_rest(&mut self) {
        if self.in_flight() == 0 {
            self.kernel.host_leaves(self.now);
        } else {
            self.kernel.host_comes();
        }
    }

    /// The time of the next event (none if nothing is in flight), or the end of the host's rest, whichever comes first.
    #[cold]
    pub(super) fn event_or_rest(&self, event: Option<Time>) -> Option<Time> {
        let due = self.kernel.rest_alarm();
        if due == END_OF_TIME {
            return event;
        }
        Some(event.map_or(due, |event| event.min(due)))
    }

    /// Asks the tasks that wait for the host to rest, if it has before the next event and not after `until`; true if it has.
    #[cold]
    pub(super) fn end_rest(&mut self, until: Time) -> Result<bool, Fault> {
        let (due, next) = (self.kernel.rest_alarm(), self.queue.next_time());
        if due == END_OF_TIME || due > until || next.is_some_and(|next| next.min(self.kernel.alarm()) <= due) {
            return Ok(false);
        }
        if due >= self.look_due {
            self.look(due);
        }
        self.now = due;
        self.kernel.on_rest(due, &mut self.queue)?;
        self.settle()?;
        Ok(true)
    }
}
