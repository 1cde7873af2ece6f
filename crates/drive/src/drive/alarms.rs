//! What follows from the coming and leaving of requests, and times outside the event queue at which the firmware is woken: for its
//! control of shares while operations are under way, when a bus is free for which one waits, and when the host has rested for a while. The latter only if more requests are to come: a drive comes to rest after the last one without it.

use super::Drive;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};
use wordline_firmware::Fault;

impl Drive {
    /// True if some task, or GC, waits for the host to rest.
    #[inline]
    #[must_use]
    pub fn waits_for_rest(&self) -> bool {
        self.waits_for_rest
    }

    /// Tells when the next request comes, the end of time if that is not known; none if no more are to come. It is a preview: the
    /// request itself is submitted at its time.
    #[inline]
    pub fn announce(&mut self, next: Option<Time>) {
        let more = next.is_some();
        self.kernel.announce(next);
        if more && self.waits_for_rest && !self.expects_more {
            // A rest before the first request begins here.
            self.note_rest();
        }
        self.expects_more = more && self.waits_for_rest;
    }

    /// True if it is of use to show the next request before it comes.
    #[must_use]
    pub fn previews(&self) -> bool {
        self.kernel.previews()
    }

    /// Shows the next request before it comes, if it is known: what a host tells a device-level queue.
    pub fn preview(&mut self, request: Option<&Request>) {
        let unit = u64::from(self.kernel.plan().unit_bytes);
        let written = request.filter(|request| request.op == Op::Write && request.bytes > 0);
        let units = written.and_then(|request| {
            let end = request.offset.saturating_add(u64::from(request.bytes)).div_ceil(unit);
            // A request beyond the end is refused when it comes.
            let end = u32::try_from(end).ok().filter(|&end| end <= self.kernel.plan().logical_units)?;
            Some((request.offset / unit) as u32..end)
        });
        self.kernel.preview(units);
    }

    /// A request has got a slot: tasks that wait for rests hear of it, and the firmware learns its deadline.
    #[cold]
    pub(super) fn note_coming(&mut self, slot: u32) {
        if self.waits_for_rest {
            self.note_rest();
        }
        self.kernel.expect_by_deadline(slot, &self.slots[slot as usize].request);
    }

    /// A request has given its slot back: tasks that wait for rests hear of it, and if it comes after its deadline, that counts.
    #[cold]
    pub(super) fn note_leaving(&mut self, slot: u32) {
        if self.waits_for_rest {
            self.note_rest();
        }
        if let Some(late) = &mut self.late {
            let request = &self.slots[slot as usize].request;
            late.count(request, self.now - request.arrival);
        }
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

    /// The time of the next event in the queue, or of the firmware's alarm if it comes first: that of a bus also when the queue is empty.
    #[inline]
    pub(super) fn event_or_alarm(&self) -> Option<Time> {
        match self.queue.next_time() {
            Some(next) => Some(next.min(self.kernel.alarm())),
            None => Some(self.kernel.lone_alarm()).filter(|&alarm| alarm < END_OF_TIME),
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

    /// Until when, up to `until`, events may be handled without a look at when shares are controlled: that is known long before, and it only
    /// grows later. It may be too early where that is not the only reason to wake the firmware, or while nothing is under way.
    #[inline(always)]
    pub(super) fn limited(&self, until: Time) -> Time {
        // The end of time where shares are not controlled.
        until.min(self.kernel.control_due())
    }

    /// Goes on where no event was found up to what [`Drive::limited`] told: wakes the firmware, or takes an event that comes later, but not after
    /// `until`. Tells how many steps that were.
    #[inline]
    pub(super) fn step_beyond(&mut self, until: Time) -> Result<u32, Fault> {
        if !self.minds_shares_alone {
            return Ok(0);
        }
        self.steps(until, 1)
    }

    /// The first time at which the firmware may have to be woken.
    #[inline]
    pub(super) fn next_alarm(&self) -> Time {
        if self.minds_shares_alone {
            return self.kernel.share_alarm();
        }
        if self.has_alarms {
            return self.next_of_alarms();
        }
        Time::MAX
    }

    /// The same where it may be for several reasons.
    #[inline]
    pub(super) fn next_of_alarms(&self) -> Time {
        let alarm = self.kernel.alarm();
        if self.expects_more {
            return alarm.min(self.kernel.rest_alarm());
        }
        alarm
    }

    /// Wakes the firmware if it asked for a time that comes before the next event and is not after `until`.
    #[cold]
    pub(super) fn wake_before(&mut self, until: Time) -> Result<bool, Fault> {
        if !self.has_alarms && !self.minds_shares_alone {
            return Ok(false);
        }
        if self.expects_more && self.end_rest(until)? {
            return Ok(true);
        }
        // An alarm comes after the events of its instant.
        let Some(time) = self.event_or_alarm().filter(|&time| time <= until && self.queue.next_time() != Some(time))
        else {
            return Ok(false);
        };
        if time >= self.look_due {
            self.look(time);
        }
        self.now = time;
        self.kernel.on_alarm(time, &mut self.queue)?;
        self.settle()?;
        Ok(true)
    }

    /// Asks the tasks that wait for the host to rest, if it has before the next event and not after `until`; true if it has.
    #[cold]
    fn end_rest(&mut self, until: Time) -> Result<bool, Fault> {
        let due = self.kernel.rest_alarm();
        if due == END_OF_TIME || due > until || self.event_or_alarm().is_some_and(|next| next <= due) {
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
