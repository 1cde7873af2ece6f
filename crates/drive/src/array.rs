//! An array of drives that a workload runs on as on one drive.
//!
//! Path of a request: [`Array::submit`] takes a slot and splits it into pieces of members; each goes to its drive, or waits for a slot
//! there; when the last piece is done, the request is. With parity, work in a stripe is a *job*: it claims the bytes that it touches,
//! reads, then writes ([`plan`]). Each member has its own events: the one with the earliest steps next, of several the first.
//!
//! The array itself takes no time: no link, processor or cache of stripes. A write hole is not modelled.

pub mod config;
pub mod layout;
pub mod load;
pub mod result;

mod claims;
mod jobs;
mod member;
mod plan;
mod rebuild;

use crate::device::{Device, Watcher, Written};
use crate::drive::{Completion, Drive, SubmitError, SECTOR};
use crate::metrics::{Measured, Metrics};
use crate::observe::Observation;
use crate::progress::Progress;
use crate::run::{run_on, Ended, RunError};
use crate::streams::Streams;
use claims::Claims;
use config::ArrayConfig;
use jobs::Jobs;
use layout::{Layout, Piece};
use member::{For, Member};
use plan::StripePlan;
use rebuild::{Failure, Rebuild};
use serde_json::Value;
use wordline_base::{EventQueue, Op, Request, Time};
use wordline_firmware::Fault;
use wordline_workload::Load;

pub use jobs::ParityCounts;

/// The event of a request that no member has to do anything for.
const FINISH: u8 = 0;

/// A request of the host.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    request: Request,
    submitted: Time,
    /// Pieces and jobs that are not done.
    parts: u32,
    gc_affected: bool,
}

/// Those who look at the members; a copy of an array has none.
#[derive(Debug, Default)]
struct Watching(Vec<Observation>);

impl Clone for Watching {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An array of drives.
#[derive(Clone, Debug)]
pub struct Array {
    layout: Layout,
    /// The members, and behind them a spare.
    drives: Vec<Member>,
    /// By member of the layout: its drive.
    roles: Vec<u32>,
    /// By drive: the time of its next event; the end of time if there is none.
    next: Vec<Time>,
    /// Events of the array itself.
    own: EventQueue,
    now: Time,
    slots: Vec<Slot>,
    free_slots: Vec<Vec<u32>>,
    depth: u32,
    completions: Vec<Completion>,
    metrics: Metrics,
    /// How the erases of all blocks lay when the figures ended, if they have.
    ended: Option<Box<Value>>,
    waits_for_rest: bool,
    unit_bytes: u64,
    units_per_page: u32,
    /// With parity: mapping units that the host wrote to the array.
    host_units: u64,
    jobs: Jobs,
    claims: Claims,
    failure: Option<Failure>,
    rebuild: Option<Rebuild>,
    /// Rate in bytes a second, and stripes at a time.
    rebuild_pace: (Option<f64>, u32),
    watching: Watching,
    /// A rule that broke while a request was taken: the next step tells of it.
    fault: Option<Fault>,
    // Kept so that a request allocates nothing.
    pieces: Vec<Piece>,
    plan: StripePlan,
    begins: Vec<u32>,
}

impl Array {
    /// An array of drives that `config` and `layout` fit; with `spare`, the last one is none of its members.
    ///
    /// # Panics
    /// Without drives.
    #[must_use]
    pub fn new(config: &ArrayConfig, layout: Layout, drives: Vec<Drive>) -> Self {
        let members = drives.len() - usize::from(config.spare);
        let queues = drives[0].queues().0;
        let together: u32 = drives[..members].iter().map(|drive| drive.queues().0 * drive.queues().1).sum();
        let depth = config.queue_depth.unwrap_or_else(|| together.div_ceil(queues));
        let plan = drives[0].kernel().plan();
        let failure = config.fail_member.map(|member| Failure {
            member,
            after: (config.fail_at_s.unwrap_or(0.0) * 1e12).round() as Time,
            at: None,
            failed: false,
        });
        Self {
            layout,
            roles: (0..members as u32).collect(),
            next: vec![Time::MAX; drives.len()],
            own: EventQueue::default(),
            now: 0,
            slots: vec![Slot::default(); (queues * depth) as usize],
            free_slots: (0..queues).map(|queue| (queue * depth..(queue + 1) * depth).rev().collect()).collect(),
            depth,
            completions: Vec::new(),
            metrics: Metrics::new(0),
            ended: None,
            waits_for_rest: drives.iter().any(Drive::waits_for_rest),
            unit_bytes: u64::from(plan.unit_bytes),
            units_per_page: plan.units_per_page,
            host_units: 0,
            jobs: Jobs::default(),
            claims: Claims::default(),
            failure,
            rebuild: None,
            rebuild_pace: (config.rebuild_mib_s.map(|rate| rate * 1_048_576.0), config.at_a_time()),
            watching: Watching::default(),
            fault: None,
            pieces: Vec::new(),
            plan: StripePlan::default(),
            begins: Vec::new(),
            drives: drives.into_iter().map(Member::new).collect(),
        }
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// Where its addresses lie.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its drives: the members, and behind them a spare.
    pub fn drives(&self) -> impl ExactSizeIterator<Item = &Drive> + Clone {
        self.drives.iter().map(|member| &member.drive)
    }

    /// The same, to precondition them or to observe them; nothing may be in flight.
    pub fn drives_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Drive> {
        self.drives.iter_mut().map(|member| &mut member.drive)
    }

    /// A drive of it.
    ///
    /// # Panics
    /// If it has no such drive.
    pub fn drive_mut(&mut self, at: usize) -> &mut Drive {
        &mut self.drives[at].drive
    }

    /// How many of its drives are members of the layout.
    #[must_use]
    pub fn members(&self) -> usize {
        self.roles.len()
    }

    /// Its queues and the slots of each.
    #[must_use]
    pub fn queues(&self) -> (u32, u32) {
        (self.free_slots.len() as u32, self.depth)
    }

    /// What parity took since measuring began, if there is parity.
    #[must_use]
    pub fn parity_counts(&self) -> Option<&ParityCounts> {
        matches!(self.layout, Layout::Parity(_)).then(|| self.jobs.counts())
    }

    /// The failed member and when it failed.
    #[must_use]
    pub fn failed(&self) -> Option<(u32, Time)> {
        self.failure.filter(|failure| failure.failed).map(|failure| (failure.member, failure.at.unwrap_or(0)))
    }

    /// Start and end of a rebuild, and the stripes that it has done.
    #[must_use]
    pub fn rebuilt(&self) -> Option<(Time, Option<Time>, u64)> {
        self.rebuild.as_ref().map(|rebuild| (rebuild.begun, rebuild.ended, rebuild.stripes_done()))
    }

    /// Has the observers of all its drives look on, one each in their order.
    pub fn watch(&mut self, observations: Vec<Observation>) {
        assert!(observations.is_empty() || observations.len() == self.drives.len(), "one for each drive");
        self.watching = Watching(observations);
    }

    /// Gives the observers back, who then finish.
    pub fn unwatch(&mut self) {
        for (observation, member) in std::mem::take(&mut self.watching.0).into_iter().zip(&mut self.drives) {
            observation.finish(&mut member.drive);
        }
    }

    /// How the erases since the drives were new lie over their blocks and planes: when the figures ended, or now if they have not.
    #[must_use]
    pub fn wear(&self) -> Value {
        self.ended.as_deref().cloned().unwrap_or_else(|| self.wear_now())
    }

    fn wear_now(&self) -> Value {
        let erases = || self.drives().flat_map(|drive| drive.kernel().blocks().records()).map(|block| block.erases);
        crate::wear::of(erases, self.drives().flat_map(|drive| crate::wear::planes(drive.kernel())).collect())
    }

    /// The first failure of a policy from outside, if one has failed.
    #[must_use]
    pub fn complaint(&self) -> Option<Fault> {
        self.drives().find_map(|drive| drive.kernel().complaint())
    }

    fn note_next(&mut self, drive: u32) {
        self.next[drive as usize] = self.drives[drive as usize].drive.next_event().unwrap_or(Time::MAX);
    }

    /// The time of the next event of a drive or of the array's own.
    fn next_strong(&self) -> Option<Time> {
        let drives = self.next.iter().copied().min().unwrap_or(Time::MAX);
        let next = self.own.next_time().map_or(drives, |own| own.min(drives));
        (next != Time::MAX).then_some(next)
    }

    /// The time of a failure or of the next stripe of a rebuild: it comes only while something else is to come.
    fn next_weak(&self) -> Option<Time> {
        let failure = self.failure.as_ref().filter(|failure| !failure.failed).and_then(|failure| failure.at);
        let rebuild = self.rebuild.as_ref().and_then(Rebuild::due);
        failure.into_iter().chain(rebuild).min()
    }

    /// Sends a piece of a request, or of a job, to the drive in a role.
    fn send(&mut self, piece: Piece, op: Op, owner: For, of: &Request) -> Result<(), Fault> {
        let drive = self.roles[piece.member as usize];
        let bytes = u32::try_from(piece.bytes).expect("no more than the request");
        let request = Request { offset: piece.offset, bytes, op, ..*of };
        let watch = self.watching.0.get_mut(drive as usize);
        self.drives[drive as usize].send(self.now, request, owner, watch)?;
        self.note_next(drive);
        Ok(())
    }

    /// Splits a request that has a slot.
    fn serve(&mut self, slot: u32) -> Result<(), Fault> {
        let request = self.slots[slot as usize].request;
        if request.op == Op::Flush {
            // Before anything is sent, so that the first to end is not the last.
            let drives = (0..self.roles.len() as u32).filter(|&role| self.is_live(role));
            let drives: u64 = drives.fold(0, |set, role| set | 1 << role);
            self.slots[slot as usize].parts = drives.count_ones();
            for member in (0..self.roles.len() as u32).filter(|role| drives & 1 << role != 0) {
                let piece = Piece { member, offset: 0, bytes: 0 };
                self.send(piece, Op::Flush, For::Host(slot), &request)?;
            }
            return Ok(());
        }
        match self.layout {
            Layout::Parity(parity) if request.op != Op::Read || self.failed().is_some() => {
                self.serve_stripes(parity, slot)?;
            }
            _ => self.serve_pieces(slot)?,
        }
        if self.slots[slot as usize].parts == 0 {
            self.own.push(self.now, FINISH, slot);
        }
        Ok(())
    }

    fn serve_pieces(&mut self, slot: u32) -> Result<(), Fault> {
        let request = self.slots[slot as usize].request;
        let mut pieces = std::mem::take(&mut self.pieces);
        self.layout.pieces(request.offset, u64::from(request.bytes), &mut pieces);
        self.slots[slot as usize].parts += pieces.len() as u32;
        for &piece in &pieces {
            self.send(piece, request.op, For::Host(slot), &request)?;
        }
        self.pieces = pieces;
        Ok(())
    }

    /// True if the drive in a role can be used for anything.
    fn is_live(&self, role: u32) -> bool {
        self.rebuild.is_some() || self.failed().is_none_or(|(failed, _)| failed != role)
    }

    /// A piece of a request is done.
    fn part_done(&mut self, slot: u32, gc_affected: bool) {
        let state = &mut self.slots[slot as usize];
        state.gc_affected |= gc_affected;
        state.parts -= 1;
        if state.parts == 0 {
            self.finish(slot);
        }
    }

    /// All of a request is done: its slot is free.
    fn finish(&mut self, slot: u32) {
        let Slot { request, submitted, gc_affected, .. } = self.slots[slot as usize];
        let queue = usize::from(request.stream) % self.free_slots.len();
        self.free_slots[queue].push(slot);
        if request.op == Op::Write {
            let end = (request.offset + u64::from(request.bytes)).div_ceil(self.unit_bytes);
            self.host_units += end - request.offset / self.unit_bytes;
        }
        let measured = Measured {
            op: request.op,
            bytes: request.bytes,
            offset: request.offset,
            latency: self.now - request.arrival,
            waiting: submitted - request.arrival,
            gc_affected,
        };
        let Written { programs, host_units } = self.written();
        let free = self.free_blocks();
        self.metrics.record(self.now, &measured, programs, host_units, free);
        self.completions.push(Completion { request, time: self.now, submitted, slot, gc_affected });
    }

    /// Keeps a fault for the next step.
    fn heed(&mut self, done: Result<(), Fault>) {
        if let Err(fault) = done {
            self.fault.get_or_insert(fault);
        }
    }

    /// Handles the next thing that happens, if it is not after `until`; returns how many events that were.
    fn step(&mut self, until: Time, most: u32) -> Result<u32, Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let strong = self.next_strong();
        if let Some(weak) = self.next_weak() {
            // Where nothing else is to come, `until` is the next request.
            let limit = strong.unwrap_or(Time::MAX).min(until);
            if weak <= limit && limit < Time::MAX {
                self.now = self.now.max(weak);
                self.wake()?;
                return Ok(1);
            }
        }
        let Some(time) = strong.filter(|&time| time <= until) else { return Ok(0) };
        if self.own.next_time().is_some_and(|own| own <= time) {
            let event = self.own.pop().expect("it has one");
            self.now = event.time;
            self.finish(event.index);
            return Ok(1);
        }
        self.step_drive(time, until, most)
    }

    /// Steps the first drive with an event at `time`, until another may come first.
    fn step_drive(&mut self, time: Time, until: Time, most: u32) -> Result<u32, Fault> {
        let at = self.next.iter().position(|&next| next == time).expect("a drive has this event");
        let mut bound = until.min(self.next_weak().map_or(Time::MAX, |weak| weak.saturating_sub(1).max(time)));
        bound = bound.min(self.own.next_time().map_or(Time::MAX, |own| own.saturating_sub(1).max(time)));
        for (other, &next) in self.next.iter().enumerate() {
            if other != at {
                bound = bound.min(if at < other { next } else { next.saturating_sub(1) }.max(time));
            }
        }
        let member = &mut self.drives[at];
        let taken = member.steps(bound, most, self.watching.0.get_mut(at))?;
        self.now = self.now.max(member.drive.now());
        self.settle(at as u32)?;
        self.note_next(at as u32);
        Ok(taken)
    }

    /// Takes what a drive has completed.
    fn settle(&mut self, drive: u32) -> Result<(), Fault> {
        let at = drive as usize;
        if self.drives[at].drive.completions().is_empty() {
            return Ok(());
        }
        let mut completions = std::mem::take(self.drives[at].drive.completions());
        for done in &completions {
            match self.drives[at].done(self.now, done, self.watching.0.get_mut(at))? {
                For::Host(slot) => self.part_done(slot, done.gc_affected),
                For::Job(job) => self.job_part_done(job, done.gc_affected)?,
            }
        }
        completions.clear();
        *self.drives[at].drive.completions() = completions;
        Ok(())
    }

    /// A failure is due, or the next stripe of a rebuild.
    fn wake(&mut self) -> Result<(), Fault> {
        let now = self.now;
        if let Some(failure) = self.failure.as_mut().filter(|it| !it.failed && it.at.is_some_and(|at| at <= now)) {
            failure.failed = true;
            self.begin_rebuild();
        }
        self.rebuild_on()
    }

    /// Begins to measure; a failure that is to come is so from the first run on.
    fn measure(&mut self, each: impl Fn(&mut Member, Option<&mut Observation>)) {
        let now = self.drives().map(Drive::now).max().unwrap_or(0).max(self.now);
        self.now = now;
        self.metrics = Metrics::new(now);
        self.host_units = 0;
        self.ended = None;
        self.jobs.reset_counts();
        for (at, member) in self.drives.iter_mut().enumerate() {
            member.drive.pass_time(now);
            each(member, self.watching.0.get_mut(at));
        }
        let after = self.failure.as_mut().filter(|failure| failure.at.is_none());
        let fails_now = after.is_some_and(|failure| {
            failure.at = Some(now + failure.after);
            failure.after == 0
        });
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.resume(now);
        }
        if fails_now {
            let woken = self.wake();
            self.heed(woken);
        }
    }

    /// Runs a workload on it, as [`crate::run::run_measured`] on a drive.
    ///
    /// # Errors
    /// As there.
    pub fn run(
        &mut self,
        load: Load,
        report: &mut dyn FnMut(Progress) -> bool,
        streams: &mut Streams,
    ) -> Result<Ended, RunError> {
        let watched = !self.watching.0.is_empty();
        run_on(self, load, report, Within { watched }, streams)
    }
}

impl Device for Array {
    fn now(&self) -> Time {
        self.now
    }

    fn next_event(&self) -> Option<Time> {
        let strong = self.next_strong()?;
        Some(self.next_weak().map_or(strong, |weak| weak.max(self.now).min(strong)))
    }

    fn has_slot(&self, stream: u16) -> bool {
        !self.free_slots[usize::from(stream) % self.free_slots.len()].is_empty()
    }

    fn in_flight(&self) -> u32 {
        self.slots.len() as u32 - self.free_slots.iter().map(Vec::len).sum::<usize>() as u32
    }

    fn submit(&mut self, at: Time, request: Request) -> Result<u32, SubmitError> {
        let Request { offset, bytes, op, arrival, .. } = request;
        let length = u64::from(bytes);
        if op != Op::Flush {
            if bytes == 0 || (offset | length) % SECTOR != 0 {
                return Err(SubmitError::Unaligned { offset, bytes });
            }
            let end = self.layout.bytes();
            if offset.checked_add(length).is_none_or(|last| last > end) {
                return Err(SubmitError::PastEnd { offset, bytes, end });
            }
        }
        if at < self.now || arrival > at {
            return Err(SubmitError::OutOfTime { arrival, at, now: self.now });
        }
        let queue = usize::from(request.stream) % self.free_slots.len();
        let slot = self.free_slots[queue].pop().ok_or(SubmitError::QueueFull)?;
        self.now = at;
        self.slots[slot as usize] = Slot { request, submitted: at, ..Slot::default() };
        let served = self.serve(slot);
        self.heed(served);
        Ok(slot)
    }

    fn steps(&mut self, until: Time, most: u32) -> Result<u32, Fault> {
        let mut taken = 0;
        while taken < most {
            let some = self.step(until, most - taken)?;
            if some == 0 {
                break;
            }
            taken += some;
            if !self.completions.is_empty() || self.now >= until {
                break;
            }
        }
        Ok(taken)
    }

    fn advance_to(&mut self, time: Time) -> Result<(), Fault> {
        while self.steps(time, u32::MAX)? > 0 {}
        self.now = self.now.max(time);
        Ok(())
    }

    fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }

    fn drain(&mut self) -> Result<(), Fault> {
        // A rebuild would go on for as long as the drives are large.
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.stop();
        }
        while self.steps(Time::MAX, u32::MAX)? > 0 {}
        for at in 0..self.drives.len() {
            self.drives[at].drive.push_out()?;
            if let Some(observation) = self.watching.0.get_mut(at) {
                observation.after(&mut self.drives[at].drive);
            }
            self.note_next(at as u32);
        }
        while self.steps(Time::MAX, u32::MAX)? > 0 {}
        for member in &mut self.drives {
            member.drive.reopen()?;
        }
        self.check_idle()
    }

    fn check_idle(&self) -> Result<(), Fault> {
        if let Some(fault) = self.drives().find_map(|drive| drive.check_idle().err()) {
            return Err(fault);
        }
        if self.in_flight() == 0 && self.claims.is_empty() {
            return Ok(());
        }
        Err(Fault::books(format!(
            "the array is deadlocked at {} ps with {} requests in flight",
            self.now,
            self.in_flight()
        )))
    }

    fn waits_for_rest(&self) -> bool {
        self.waits_for_rest
    }

    fn announce(&mut self, next: Option<Time>) {
        if !self.waits_for_rest {
            return;
        }
        for at in 0..self.drives.len() as u32 {
            let drive = &mut self.drives[at as usize].drive;
            // The rest of a drive is counted from its own time.
            drive.announce(next);
            self.note_next(at);
        }
    }

    fn previews(&self) -> bool {
        // With parity a write of the host is other requests of the members, which are not known before it comes.
        !matches!(self.layout, Layout::Parity(_)) && self.drives().any(Drive::previews)
    }

    fn preview(&mut self, request: Option<&Request>) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        // A request beyond the end is refused when it comes.
        let fits = |end: u64| end <= self.layout.bytes();
        let written =
            request.filter(|it| it.op == Op::Write && it.offset.checked_add(it.bytes.into()).is_some_and(fits));
        if let Some(request) = written {
            self.layout.pieces(request.offset, u64::from(request.bytes), &mut pieces);
        }
        for (role, &drive) in (0..).zip(&self.roles) {
            // Neighbours on a member are one piece, so a member has one at most.
            let piece = pieces.iter().find(|piece| piece.member == role);
            let of_member = piece.zip(written).map(|(piece, whole)| {
                let bytes = u32::try_from(piece.bytes).expect("no more than the request");
                Request { offset: piece.offset, bytes, ..*whole }
            });
            self.drives[drive as usize].drive.preview(of_member.as_ref());
        }
        self.pieces = pieces;
    }

    fn unshare(&mut self) {
        self.drives_mut().for_each(Device::unshare);
    }

    fn start_measuring(&mut self) {
        self.measure(|member, _| member.drive.start_measuring());
    }

    fn end_measuring(&mut self) -> Result<(), Fault> {
        if self.ended.is_some() {
            return Ok(());
        }
        self.ended = Some(Box::new(self.wear_now()));
        self.metrics.lasted(self.now);
        let end = self.metrics.end;
        for member in &mut self.drives {
            member.drive.metrics.lasted(end);
            member.drive.pass_time(end);
            member.drive.end_measuring()?;
        }
        Ok(())
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn metrics_mut(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn written(&self) -> Written {
        let sum = |sum: Written, drive: &Drive| {
            let Written { programs, host_units } = drive.written();
            Written { programs: sum.programs + programs, host_units: sum.host_units + host_units }
        };
        let all = self.drives().fold(Written::default(), sum);
        match self.layout {
            // Parity is none of what the host wrote.
            Layout::Parity(_) => Written { host_units: self.host_units, ..all },
            _ => all,
        }
    }

    fn units_per_page(&self) -> u32 {
        self.units_per_page
    }

    fn free_blocks(&self) -> u32 {
        self.drives().map(Device::free_blocks).sum()
    }
}

/// Observers of the members look from within the array; the run loop tells them of the start and end of the figures.
struct Within {
    watched: bool,
}

impl Watcher<Array> for Within {
    fn is_needed(&self) -> bool {
        self.watched
    }

    fn before(&mut self, _: &Array, _: Time) {}

    fn submitted(&mut self, _: &mut Array, _: u32, _: Time, _: &Request) {}

    fn measure(&mut self, array: &mut Array, from: Time) {
        array.measure(|member, watch| match watch {
            None => member.drive.start_measuring(),
            Some(observation) => observation.measure(&mut member.drive, from),
        });
    }

    fn measured(&mut self, _: &Array) {}

    fn after(&mut self, _: &mut Array) {}

    fn drain(&mut self, array: &mut Array) -> Result<(), Fault> {
        for at in 0..array.drives.len() {
            if let Some(observation) = array.watching.0.get_mut(at) {
                observation.measured(&array.drives[at].drive);
            }
        }
        Device::drain(array)
    }
}
