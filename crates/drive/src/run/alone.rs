//! The run loop for one stream of a drive that nobody looks at: most runs are such.
//!
//! It does what the general loop does for such a stream, and leaves to that whatever is anything else.

use super::{Feed, RunError, STEPS};
use crate::device::Device;
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
pub(super) fn is_possible<D: Device>(drive: &D, feeds: &[Feed], streams: &Streams) -> bool {
    let alone = matches!(feeds, [feed] if feed.is_plain());
    alone && drive.is_plain() && !drive.waits_for_rest() && !streams.measure()
}

/// Feeds a stream to a drive until [`STEPS`] are made, nothing is left to send, or something else is to be done.
pub(super) fn feed<D: Device>(drive: &mut D, feed: &mut Feed, steps: &mut u32) -> Result<(), RunError> {
    while *steps < STEPS {
        let Some(head) = &feed.head else { break };
        let ready = if feed.closed { feed.not_before } else { head.arrival.max(feed.not_before) };
        let mut at = ready.max(drive.now());
        if feed.in_flight >= feed.limit || (at == drive.now() && !drive.has_slot(0)) {
            at = Time::MAX;
        }
        if at > drive.now() {
            // Events up to the next request come first; at the same time, too: completions free slots.
            let taken = drive.steps(at, STEPS - *steps)?;
            if taken > 0 {
                *steps += taken;
                let completions = drive.completions();
                feed.in_flight -= completions.len() as u32;
                completions.clear();
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
        let request = feed.request(head, at);
        if drive.submit(at, request).is_err() {
            break;
        }
        feed.in_flight += 1;
        feed.advance_for(drive)?;
    }
    Ok(())
}
