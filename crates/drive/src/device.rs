//! What a workload runs on: a drive, or an array of drives.
//!
//! The run loop is compiled once for each of them, so a drive pays nothing for arrays.

use crate::drive::{Completion, Drive, SubmitError};
use crate::metrics::Metrics;
use wordline_base::{Request, Time};
use wordline_firmware::Fault;

/// What was written so far, for the progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Pages programmed for any reason.
    pub programs: u64,
    /// Mapping units that the host wrote.
    pub host_units: u64,
}

/// A device that a caller's clock drives.
pub trait Device {
    /// Its time, in picoseconds.
    fn now(&self) -> Time;
    /// Time of its next event, if anything is in flight.
    fn next_event(&self) -> Option<Time>;
    /// True if the queue of a stream has a free slot.
    fn has_slot(&self, stream: u16) -> bool;
    /// Requests in it.
    fn in_flight(&self) -> u32;
    /// Submits a request at time `at`, not before its time; gives its slot.
    ///
    /// # Errors
    /// When the queue is full or the request does not fit; the device is then as it was.
    fn submit(&mut self, at: Time, request: Request) -> Result<u32, SubmitError>;
    /// Tells that a request will be submitted, mostly the next of its stream: what it needs of memory is asked for.
    fn expect(&self, _request: &Request) {}
    /// Handles events up to `until`, but not more than `most`, and none after one that completes requests; returns how many.
    ///
    /// # Errors
    /// When the firmware broke a rule.
    fn steps(&mut self, until: Time, most: u32) -> Result<u32, Fault>;
    /// Handles all events up to and including `time`, and sets its time to it.
    ///
    /// # Errors
    /// As [`Device::steps`].
    fn advance_to(&mut self, time: Time) -> Result<(), Fault>;
    /// The requests that are done since the last call; the caller drains them.
    fn completions(&mut self) -> &mut Vec<Completion>;
    /// Ends everything in flight, buffered writes included.
    ///
    /// # Errors
    /// As [`Device::steps`], and when requests are in flight but nothing will ever happen.
    fn drain(&mut self) -> Result<(), Fault>;
    /// Confirms that nothing is left when no event is pending.
    ///
    /// # Errors
    /// With the story of what hangs.
    fn check_idle(&self) -> Result<(), Fault>;
    /// True if something in it waits for the host to rest.
    fn waits_for_rest(&self) -> bool;
    /// Tells when the next request comes; none if no more are to come.
    fn announce(&mut self, next: Option<Time>);
    /// A drive by itself: nothing happens in it up to a time once [`Device::steps`] has found nothing up to it.
    fn plain(&mut self) -> Option<&mut Drive> {
        None
    }
    /// True if something happens at this very time that has not been handled yet.
    fn has_event_now(&self) -> bool {
        self.next_event().is_some_and(|next| next <= self.now())
    }
    /// True if it is of use to show the next request before it comes.
    fn previews(&self) -> bool {
        false
    }
    /// Shows the next request before it comes, if it is known.
    fn preview(&mut self, _: Option<&Request>) {}
    /// Takes its maps for itself if nobody else shares them, before a run.
    fn unshare(&mut self);
    /// Starts all measurements anew.
    fn start_measuring(&mut self);
    /// Ends all figures now.
    ///
    /// # Errors
    /// An external policy failed to tell its figures, or the user ended the run meanwhile.
    fn end_measuring(&mut self) -> Result<(), Fault>;
    /// Measurements since the last [`Device::start_measuring`].
    fn metrics(&self) -> &Metrics;
    /// The same, to change.
    fn metrics_mut(&mut self) -> &mut Metrics;
    /// What was written since measuring began.
    fn written(&self) -> Written;
    /// Mapping units of a page.
    fn units_per_page(&self) -> u32;
    /// Erased blocks.
    fn free_blocks(&self) -> u32;
}

/// Those who look at a device while it runs.
pub(crate) trait Watcher<D> {
    /// True if anybody does.
    fn is_needed(&self) -> bool;
    /// The device's time is about to become `next`.
    fn before(&mut self, device: &D, next: Time);
    /// A request got a slot.
    fn submitted(&mut self, device: &mut D, slot: u32, now: Time, request: &Request);
    /// All figures begin at `from`, the next instant; nothing happens before.
    fn measure(&mut self, device: &mut D, from: Time);
    /// All figures have ended now.
    fn measured(&mut self, device: &D);
    /// The device has made a step.
    fn after(&mut self, device: &mut D);
    /// True once one of them has ended the run.
    #[inline]
    fn has_stopped(&self) -> bool {
        false
    }
    /// As [`Device::drain`].
    ///
    /// # Errors
    /// As there.
    fn drain(&mut self, device: &mut D) -> Result<(), Fault>;
}

impl Device for Drive {
    #[inline]
    fn has_event_now(&self) -> bool {
        self.is_due()
    }

    #[inline(always)]
    fn now(&self) -> Time {
        self.now()
    }

    #[inline(always)]
    fn next_event(&self) -> Option<Time> {
        self.next_event()
    }

    #[inline(always)]
    fn has_slot(&self, stream: u16) -> bool {
        self.has_slot(stream)
    }

    #[inline(always)]
    fn in_flight(&self) -> u32 {
        self.in_flight()
    }

    #[inline(always)]
    fn expect(&self, request: &Request) {
        self.expect(request);
    }

    #[inline(always)]
    fn submit(&mut self, at: Time, request: Request) -> Result<u32, SubmitError> {
        self.submit(at, request)
    }

    #[inline(always)]
    fn steps(&mut self, until: Time, most: u32) -> Result<u32, Fault> {
        self.steps(until, most)
    }

    #[inline(always)]
    fn advance_to(&mut self, time: Time) -> Result<(), Fault> {
        self.advance_to(time)
    }

    #[inline(always)]
    fn completions(&mut self) -> &mut Vec<Completion> {
        self.completions()
    }

    fn drain(&mut self) -> Result<(), Fault> {
        self.drain()
    }

    fn check_idle(&self) -> Result<(), Fault> {
        self.check_idle()
    }

    #[inline(always)]
    fn waits_for_rest(&self) -> bool {
        self.waits_for_rest()
    }

    #[inline(always)]
    fn announce(&mut self, next: Option<Time>) {
        self.announce(next);
    }

    #[inline(always)]
    fn plain(&mut self) -> Option<&mut Drive> {
        Some(self)
    }

    fn previews(&self) -> bool {
        self.previews()
    }

    fn preview(&mut self, request: Option<&Request>) {
        self.preview(request);
    }

    fn unshare(&mut self) {
        self.kernel_mut().0.unshare();
    }

    fn start_measuring(&mut self) {
        self.start_measuring();
    }

    fn end_measuring(&mut self) -> Result<(), Fault> {
        self.end_measuring()
    }

    #[inline(always)]
    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    #[inline(always)]
    fn metrics_mut(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn written(&self) -> Written {
        let counters = self.kernel().counters();
        Written { programs: counters.programs(), host_units: counters.host_units }
    }

    fn units_per_page(&self) -> u32 {
        self.kernel().plan().units_per_page
    }

    fn free_blocks(&self) -> u32 {
        self.kernel().blocks().free_blocks()
    }
}
