//! Another drive in the place of an export's: change, try, change again.
//!
//! The old drive takes no more requests, ends those that it has, and then its buffered writes and the blocks that it is emptying, all in
//! the time that this takes it. Requests that come meanwhile wait as they would for a slot. Then the new drive takes over data, maps and
//! wear, has the time of the old one, and measures from there.

use super::{Export, Reply, NONE};
use crate::control::{Refused, Swapped};
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Request, Time};
use wordline_drive::{Drive, Fault};

/// A swap under way.
pub(super) struct Swap {
    next: Box<Drive>,
    tell: Sender<Result<Swapped, Refused>>,
    /// When it began.
    since: Time,
    /// True once the old drive has been told to finish.
    finishing: bool,
}

impl Export {
    /// The drive's time when its clock began.
    pub fn base(&self) -> Time {
        self.base
    }

    /// True while the drive is drained for a swap.
    pub fn is_swapping(&self) -> bool {
        self.swap.is_some()
    }

    /// How far the drive is behind its clock.
    pub fn behind(&self, clock: Time) -> Time {
        self.next_event().map_or(0, |next| clock.saturating_sub(next))
    }

    /// The instant of the drive at which it can be looked at: that of its clock, unless it is behind.
    pub fn instant(&self, clock: Option<Time>) -> Time {
        let clock = clock.map_or(0, |clock| self.base.saturating_add(clock));
        let next = self.drive.next_event().unwrap_or(END_OF_TIME);
        clock.min(next).max(self.drive.now())
    }

    /// Begins to put another drive in the place of this one, at a time of the clock; tells when that is done, or why it is not.
    pub fn swap(&mut self, clock: Option<Time>, next: Box<Drive>, tell: Sender<Result<Swapped, Refused>>) {
        let refused = if self.fault.is_some() {
            Some(Refused::Ended)
        } else if self.swap.is_some() {
            Some(Refused::Swapping)
        } else {
            next.kernel().fits(self.drive.kernel()).err().map(Refused::Misfit)
        };
        if let Some(refused) = refused {
            let _ = tell.send(Err(refused));
            return;
        }
        if self.rests {
            // No more requests come to this drive.
            self.drive.announce(None);
        }
        // A drive at rest has the time of its last event.
        let since = self.instant(clock);
        self.swap = Some(Box::new(Swap { next, tell, since, finishing: false }));
    }

    /// Takes the next step of a swap, if the drive has come to it; true if there is more to do at once.
    pub(super) fn go_on_swapping(&mut self, out: &mut Vec<Reply>) -> Result<bool, Fault> {
        let Some(swap) = &mut self.swap else { return Ok(false) };
        if self.drive.in_flight() > 0 {
            return Ok(false);
        }
        if !swap.finishing {
            swap.finishing = true;
            self.drive.push_out()?;
            return Ok(true);
        }
        if self.drive.next_event().is_some() {
            return Ok(false);
        }
        self.drive.reopen()?;
        self.finish_swap(out)?;
        Ok(true)
    }

    /// The old drive is at rest: the new one takes over.
    fn finish_swap(&mut self, out: &mut Vec<Reply>) -> Result<(), Fault> {
        let Some(swap) = self.swap.take() else { return Ok(()) };
        let Swap { mut next, tell, since, .. } = *swap;
        let now = self.drive.now().max(since);
        self.drive.share();
        match next.adopt(&self.drive) {
            Ok(()) => {
                next.advance_to(now)?;
                self.drive.end_measuring()?;
                next.start_measuring();
                let old = Box::new(std::mem::replace(&mut self.drive, *next));
                self.take_queues();
                let at = now.saturating_sub(self.base);
                let _ = tell.send(Ok(Swapped { old, at, drained: now.saturating_sub(since) }));
            }
            Err(error) => {
                self.drive.unshare();
                let _ = tell.send(Err(Refused::Misfit(error)));
            }
        }
        self.rests = self.drive.waits_for_rest();
        if self.rests {
            self.drive.announce(Some(END_OF_TIME));
        }
        self.fill_slots(out);
        Ok(())
    }

    /// The queues are those of the new drive. Requests that wait keep the order in which they came.
    fn take_queues(&mut self) {
        let (queues, depth) = self.drive.queues();
        let mut waiting: Vec<(u32, Request)> = self.waiting.drain(..).flatten().collect();
        waiting.sort_by_key(|(_, request)| request.arrival);
        self.waiting = (0..queues).map(|_| VecDeque::new()).collect();
        for (ticket, request) in waiting {
            self.waiting[usize::from(request.stream) % queues as usize].push_back((ticket, request));
        }
        self.slots = vec![NONE; (queues * depth) as usize];
    }
}
