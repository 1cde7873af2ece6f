//! The loop of steps: the events of a drive one after the other, up to a time or a number of them.
//!
//! Where the firmware may ask to be woken, it looks for that before each event ([`Drive::steps_strictly`]); else not, which most steps of most runs
//! need not. Events that are the next of all when they become known do not go through the queue ([`super::passing`]).

use super::passing::{After, Coming};
use super::{Drive, ARRIVE, DATA, DIE, FINISH};
use wordline_base::event::LATEST;
use wordline_base::{Event, Op, Time};
use wordline_firmware::{Fault, PROCESSOR_EVENT};

impl Drive {
    /// Handles the next event; false when nothing is in flight.
    ///
    /// # Errors
    /// When the firmware broke a rule: a defect of the model.
    #[inline]
    pub fn step(&mut self) -> Result<bool, Fault> {
        Ok(self.steps(Time::MAX, 1)? > 0)
    }

    /// Handles events before `until`, and the first at that time, but not more than `most`, and none after one that completes
    /// requests; returns how many.
    ///
    /// # Errors
    /// As [`Drive::step`].
    #[inline]
    pub(crate) fn steps(&mut self, until: Time, most: u32) -> Result<u32, Fault> {
        self.steps_strictly(Coming::NONE, until, most)
    }

    /// The same after a request was admitted, whose command comes: a part of the loop that takes most steps. There may be fewer while some are
    /// left.
    ///
    /// # Errors
    /// As [`Drive::step`].
    #[inline(always)]
    pub(crate) fn steps_from(&mut self, coming: Coming, until: Time, most: u32) -> Result<u32, Fault> {
        // What comes before the loop, or an event in it, makes no more steps than that.
        const AT_ONCE: u32 = 2;
        if self.has_alarms || most <= 2 * AT_ONCE {
            return self.steps_strictly(coming, until, most);
        }
        self.steps_of::<false>(coming, until, most - AT_ONCE)
    }

    #[inline(never)]
    fn steps_strictly(&mut self, coming: Coming, until: Time, most: u32) -> Result<u32, Fault> {
        self.steps_of::<true>(coming, until, most)
    }

    /// Both: `STRICT` says that `most` is kept, and that alarms are looked for before each event. Else the last event may make a step more.
    #[inline(always)]
    fn steps_of<const STRICT: bool>(&mut self, coming: Coming, until: Time, most: u32) -> Result<u32, Fault> {
        let until = until.min(LATEST);
        let unless_controlled = self.limited(until);
        let mut taken = self.comes_first::<STRICT>(coming, unless_controlled, most)?;
        while taken < most {
            // An alarm comes after the events of its instant.
            let limit = if STRICT { until.min(self.next_alarm()) } else { unless_controlled };
            let Some(event) = self.queue.pop_until(limit) else {
                if !STRICT {
                    return Ok(taken + self.step_beyond(until)?);
                }
                if !self.wake_before(until)? {
                    break;
                }
                taken += 1;
                if self.now >= until {
                    break;
                }
                continue;
            };
            taken += 1;
            let Event { time, kind, index } = event;
            self.pass_to(time);
            // Most events are of dies, and most others ends of requests.
            let after = match kind {
                DIE => self.handle_die::<STRICT>(time, index, self.until_after::<STRICT>(time, limit, taken < most))?,
                FINISH => After::end(index),
                _ => {
                    let until = self.until_after::<STRICT>(time, limit, taken < most);
                    taken += u32::from(self.handle_other(kind, index, until)?);
                    After::NOTHING
                }
            };
            if let Some(slot) = after.ended() {
                taken += u32::from(kind != FINISH);
                self.finish(slot)?;
                break;
            }
            if self.now >= until {
                break;
            }
        }
        Ok(taken)
    }

    /// Until when what follows from an event at `time` alone may be done with it, where alarms allow events up to `limit`.
    #[inline(always)]
    fn until_after<const STRICT: bool>(&self, time: Time, limit: Time, more: bool) -> Time {
        match STRICT {
            true if more => self.limited(limit),
            true => time,
            false => limit,
        }
    }

    /// Something happens at `time`.
    #[inline(always)]
    pub(super) fn pass_to(&mut self, time: Time) {
        if time >= self.look_due {
            self.look(time);
        }
        self.now = time;
    }

    /// Handles an event of a die, but for the end of a request: it tells whose. What follows from the event alone may be done at once, if it is
    /// before `until`.
    #[inline(always)]
    fn handle_die<const STRICT: bool>(&mut self, time: Time, lane: u32, until: Time) -> Result<After, Fault> {
        if self.kernel.on_die(time, lane, &mut self.queue)? {
            return self.settle_with::<STRICT>(self.kernel.only(), until);
        }
        self.settle_until::<STRICT>(until)
    }

    /// Handles an event of now that is none of a die, and no end of a request; true if the data of a write have come with it, as
    /// [`Drive::arrive`] tells.
    #[inline(never)]
    fn handle_other(&mut self, kind: u8, index: u32, until: Time) -> Result<bool, Fault> {
        match kind {
            ARRIVE => return self.arrive(index, until),
            DATA => self.enqueue(index)?,
            PROCESSOR_EVENT => {
                let until = until.min(self.look_due);
                self.now = self.kernel.on_processor(self.now, index, until, &mut self.queue)?;
                self.settle()?;
            }
            _ => unreachable!("no event is of kind {kind}"),
        }
        Ok(false)
    }

    /// Handles all events up to and including `time`, and sets the drive's time to it.
    ///
    /// # Errors
    /// As [`Drive::step`].
    pub fn advance_to(&mut self, time: Time) -> Result<(), Fault> {
        let before = std::mem::replace(&mut self.expects_more, self.waits_for_rest);
        while self.steps(time, u32::MAX)? > 0 {}
        self.expects_more = before;
        self.now = self.now.max(time);
        Ok(())
    }

    /// Its time becomes `time`, if that is later; nothing of it happens before.
    pub(crate) fn pass_time(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// A command is in the drive: a write's data follow, other requests are queued. True if the data were the next event, before `until`, and
    /// have come, too.
    #[inline(always)]
    pub(super) fn arrive(&mut self, slot: u32, until: Time) -> Result<bool, Fault> {
        let request = &self.slots[slot as usize].request;
        if request.op != Op::Write {
            self.enqueue(slot)?;
            return Ok(false);
        }
        self.bring(slot, until)
    }

    /// The data of a write are on their way, or have come at once, as [`Drive::arrive`] tells.
    #[inline(never)]
    fn bring(&mut self, slot: u32, until: Time) -> Result<bool, Fault> {
        let time = self.time_in(self.slots[slot as usize].request.bytes);
        let time = self.wires[0].carry(self.now, time);
        let comes = self.is_next::<true>(time, until);
        if comes {
            self.pass_to(time);
            self.enqueue(slot)?;
        } else {
            self.queue.push_in_row(time, DATA, slot);
        }
        Ok(comes)
    }
}
