//! The run loop for one stream of a drive that nobody looks at: most runs are such.
//!
//! It does what the general loop does for such a stream, and leaves to that whatever is anything else.

use super::{Feed, RunError, STEPS};
use crate::device::Device;
use crate::drive::{Coming, Drive};
use crate::streams::Streams;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Request, Time};

impl Feed {
    /// True if it never rests, and no time limit ends it.
    fn is_plain(&self) -> bool {
        self.until_rest == u32::MAX && self.stream.end.is_none()
    }

    /// The next request as it is sent at `ready`.
    #[inline]
    fn request(&self, head: &Request, ready: Time) -> Request {
        let arrival = if self.closed { ready } else { head.arrival.max(self.not_before) };
        Request { arrival, stream: 0, ..*head }
    }
}

/// True if the streams are one that this loop is for, on such a drive.
pub(super) fn is_possible<D: Device>(drive: &mut D, feeds: &[Feed], streams: &Streams) -> bool {
    // Its slots say what it has in flight, so all that is there must be its own.
    let in_flight = drive.in_flight();
    let alone = matches!(feeds, [feed] if feed.is_plain() && feed.in_flight == in_flight);
    alone && drive.plain().is_some() && !drive.waits_for_rest() && !streams.measure()
}

/// When the next request will be submitted, if there is one; the end of time if only events of the drive can tell. With no more than `kept` slots
/// left it has all in flight that it may.
#[inline(always)]
fn next(feed: &Feed, drive: &Drive, kept: i64) -> Option<Time> {
    let head = feed.head.as_ref()?;
    let free = drive.free_slots();
    if free <= kept {
        return Some(Time::MAX);
    }
    let ready = if feed.closed { feed.not_before } else { head.arrival.max(feed.not_before) };
    let at = ready.max(drive.now());
    let waits = at == drive.now() && free == 0;
    Some(if waits { Time::MAX } else { at })
}

/// Feeds a stream to a drive until [`STEPS`] are made, nothing is left to send, or something else is to be done.
pub(super) fn feed(drive: &mut Drive, feed: &mut Feed, steps: &mut u32) -> Result<(), RunError> {
    // Nobody looks at single completions.
    feed.in_flight -= drive.completions().drain(..).len() as u32;
    drive.tell_completions(false);
    // All that the drive has in flight is of this stream.
    let slots = drive.free_slots() + i64::from(feed.in_flight);
    let fed = feed_untold(drive, feed, slots - i64::from(feed.limit), steps);
    feed.in_flight = (slots - drive.free_slots()) as u32;
    drive.tell_completions(true);
    fed
}

/// The same where completions are not told: its slots say how many requests it has in flight.
#[inline(never)]
fn feed_untold(drive: &mut Drive, feed: &mut Feed, kept: i64, steps: &mut u32) -> Result<(), RunError> {
    let mut coming = Coming::NONE;
    while *steps < STEPS {
        let Some(at) = next(feed, drive, kept) else { break };
        if at > drive.now() || (!feed.closed && feed.comes_now(drive)) {
            // Events up to the next request come first; at the same time, too, all of them: completions free slots.
            let taken = drive.steps_from(std::mem::replace(&mut coming, Coming::NONE), at, STEPS - *steps)?;
            if taken > 0 {
                *steps += taken;
                continue;
            }
            if at >= END_OF_TIME || *steps + 1 == STEPS {
                break;
            }
            *steps += 1;
            if !drive.has_slot(0) {
                drive.advance_to(at)?;
                continue;
            }
        }
        let Some(head) = &feed.head else { break };
        let request = feed.request(head, at);
        if drive.fits(&request).is_err() {
            break;
        }
        drive.come(coming);
        coming = Coming::NONE;
        let Ok(admitted) = drive.admit(at, request) else { break };
        coming = admitted;
        if let Err(error) = feed.advance_for(drive) {
            drive.come(coming);
            return Err(error);
        }
    }
    drive.come(coming);
    Ok(())
}
