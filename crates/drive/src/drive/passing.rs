//! Events that are the next of all when they become known: they are handled at once, and do not go through the queue of events.
//!
//! They count as events, and as steps, and come when they would have come. So somebody who could do something before them has to say
//! until when nobody does: the caller, when it submits the next request, and the firmware, when it is to be woken.

use super::{Drive, ARRIVE, FINISH, NO_REQUEST};
use wordline_base::event::MAX_INDEX;
use wordline_base::Time;
use wordline_firmware::{Fault, HostDone};

/// A command on its way to the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    pub(super) slot: u32,
    pub(super) time: Time,
}

/// What an event has led to at once: a number, since it is asked for at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After(u32);

impl After {
    /// Nothing that counts.
    pub(super) const NOTHING: Self = Self(u32::MAX);

    /// It is time for the end of a request.
    #[inline(always)]
    pub(super) fn end(slot: u32) -> Self {
        debug_assert!(slot <= MAX_INDEX, "events name it");
        Self(slot)
    }

    /// The request whose time has come.
    #[inline(always)]
    pub(super) fn ended(self) -> Option<u32> {
        (self.0 <= MAX_INDEX).then_some(self.0)
    }
}

impl Coming {
    /// No command.
    pub(crate) const NONE: Self = Self { slot: NO_REQUEST, time: Time::MAX };
}

impl Drive {
    /// The command of a request that was admitted is on its way.
    #[inline(always)]
    pub(crate) fn come(&mut self, Coming { slot, time }: Coming) {
        if slot == NO_REQUEST {
            return;
        }
        self.queue.push_in_row(time, ARRIVE, slot);
    }

    /// Handles the arrival of a command if it is the next event and before `until`, else puts it into the queue; tells how many events it handled:
    /// the data of a write may come next.
    ///
    /// # Errors
    /// When the firmware broke a rule.
    #[inline(always)]
    pub(super) fn comes_first<const STRICT: bool>(
        &mut self,
        coming: Coming,
        until: Time,
        most: u32,
    ) -> Result<u32, Fault> {
        let Coming { slot, time } = coming;
        if slot == NO_REQUEST {
            return Ok(0);
        }
        if (!STRICT || most > 0) && self.is_next::<STRICT>(time, until) {
            self.pass_to(time);
            let data = self.arrive(slot, if !STRICT || most > 1 { until } else { time })?;
            return Ok(1 + u32::from(data));
        }
        self.queue.push_in_row(time, ARRIVE, slot);
        Ok(0)
    }

    /// True if an event at `time` comes next where nobody does anything before `until`, nor controls shares; it then counts as one that went through the queue.
    /// Without `STRICT` the firmware is not woken for anything else.
    #[inline(always)]
    pub(super) fn is_next<const STRICT: bool>(&mut self, time: Time, until: Time) -> bool {
        debug_assert!(STRICT || !self.has_alarms, "alarms are looked for");
        let comes_after_alarm = STRICT && self.has_alarms && time >= self.next_of_alarms();
        time < until && !comes_after_alarm && self.queue.pass(time)
    }

    /// Gathers what the firmware has done as [`Drive::settle`], after all else that an event does. If this ends a request whose completion is the
    /// next event, and before `until`, its time has come, and it is given.
    #[inline(always)]
    pub(super) fn settle_until<const STRICT: bool>(&mut self, until: Time) -> Result<After, Fault> {
        if self.kernel.done().is_empty() {
            return Ok(After::NOTHING);
        }
        let awaits_buffer = self.buffers && self.follows_in_firmware();
        // Pages of a command may belong to two requests.
        let last = match self.kernel.done()[..] {
            [only] if !awaits_buffer => only,
            [first, second] if !awaits_buffer => {
                self.deliver(first);
                second
            }
            _ => {
                self.gather()?;
                return Ok(After::NOTHING);
            }
        };
        self.kernel.done().clear();
        Ok(self.end_with::<STRICT>(last, until))
    }

    /// The same where something is done before all that the firmware has in its list; mostly that is empty.
    #[inline(always)]
    pub(super) fn settle_with<const STRICT: bool>(&mut self, done: HostDone, until: Time) -> Result<After, Fault> {
        if !self.kernel.done().is_empty() || self.buffers && self.follows_in_firmware() {
            return self.settle_first::<STRICT>(done, until);
        }
        Ok(self.end_with::<STRICT>(done, until))
    }

    #[inline(never)]
    fn settle_first<const STRICT: bool>(&mut self, done: HostDone, until: Time) -> Result<After, Fault> {
        self.kernel.done().insert(0, done);
        self.settle_until::<STRICT>(until)
    }

    /// Delivers what is the last that is done for now, and gives the request that it ends, if its completion is the next event, and before `until`.
    #[inline(always)]
    fn end_with<const STRICT: bool>(&mut self, last: HostDone, until: Time) -> After {
        if let Some(time) = self.deliver_to_end(last) {
            if self.is_next::<STRICT>(time, until) {
                self.pass_to(time);
                return After::end(last.request);
            }
            self.queue.push_in_row(time, FINISH, last.request);
        }
        After::NOTHING
    }
}
