//! An export: a drive that says when each request is done, and a store with its data.
//!
//! A command changes the store, or its data are read from there, when it arrives; its reply waits until the drive has completed it. So a
//! command sees all that was acknowledged before it came, and commands in flight together may take effect in the order of their arrival,
//! as NBD allows.
//!
//! A request's arrival is set back by the time that it and its reply are on the way (`Asker::way`): so the client, not the server,
//! sees the delay of the drive. The drive takes it then, or, if it has gone on meanwhile, at once.

mod parts;
mod swap;

use crate::client::recycle;
use crate::clock::Clock;
use crate::protocol::{Command, Extent, Kind, NbdError, Replies, To};
use crate::record::Recorder;
use crate::stats::{Answered, Stats};
use crate::store::{Sorted, Store};
use crate::sync::{Syncing, Waker};
use parts::parts;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;
use swap::Swap;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Request, Time};
use wordline_drive::{Drive, Fault};

/// Most extents in a reply.
const MOST_EXTENTS: usize = 1024;
const NONE: u32 = u32::MAX;

/// Who waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its place among the connections.
    pub place: usize,
    /// Its number, which tells it from later ones in that place.
    pub number: u64,
    /// The form of its replies.
    pub replies: Replies,
    /// Bytes of data that its reply will have.
    pub promised: usize,
    /// What the command and its reply take on their way, in simulated picoseconds.
    pub way: Time,
}

/// A reply that may go out.
#[derive(Debug)]
pub struct Reply {
    /// To whom.
    pub asker: Asker,
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its times, if the drive had part in it; `sent` is to be filled in.
    pub timed: Option<Answered>,
}

/// A command in progress.
#[derive(Debug)]
struct Ticket {
    asker: Asker,
    kind: Kind,
    to: To,
    error: Option<NbdError>,
    /// Parts of it that are not done: requests of the drive, and a sync.
    left: u32,
    /// The reply, where it has data.
    reply: Vec<u8>,
    times: Answered,
}

/// An export at work.
pub struct Export {
    /// The drive.
    pub drive: Drive,
    store: Box<dyn Store>,
    syncing: Option<Syncing>,
    /// Its figures.
    pub stats: Stats,
    /// The trace of what was asked of it.
    pub recorder: Option<Recorder>,
    /// Why the drive serves no more.
    pub fault: Option<Fault>,
    /// The last requests, if they are kept.
    pub answered: Option<Vec<Answered>>,
    /// The drive's time when its clock began.
    base: Time,
    tickets: Vec<Option<Ticket>>,
    free: Vec<u32>,
    /// The ticket in each slot of the drive.
    slots: Vec<u32>,
    /// Requests that wait for a slot, for each queue of the drive.
    waiting: Vec<VecDeque<(u32, Request)>>,
    rests: bool,
    /// The drive that takes the place of this one, once it is drained. Requests wait meanwhile.
    swap: Option<Box<Swap>>,
}

impl Export {
    /// Puts a drive to work at the start of the clock.
    ///
    /// # Errors
    /// When the store cannot be made durable.
    pub fn new(mut drive: Drive, store: Box<dyn Store>, recorder: Option<Recorder>, waker: &Waker) -> io::Result<Self> {
        let syncing = store.syncer()?.map(|syncer| Syncing::start(syncer, waker.clone())).transpose()?;
        drive.start_measuring();
        let (queues, depth) = drive.queues();
        let rests = drive.waits_for_rest();
        if rests {
            // Requests come, nobody knows when.
            drive.announce(Some(END_OF_TIME));
        }
        Ok(Self {
            base: drive.now(),
            store,
            syncing,
            stats: Stats::default(),
            recorder,
            fault: None,
            answered: None,
            tickets: Vec::new(),
            free: Vec::new(),
            slots: vec![NONE; (queues * depth) as usize],
            waiting: (0..queues).map(|_| VecDeque::new()).collect(),
            rests,
            swap: None,
            drive,
        })
    }

    /// Requests in progress.
    pub fn in_progress(&self) -> usize {
        self.tickets.len() - self.free.len()
    }

    /// Bytes that the store takes.
    pub fn held_bytes(&self) -> u64 {
        self.store.held_bytes()
    }

    /// What the store kept, if it does not keep all.
    pub fn sorted(&self) -> Option<Sorted> {
        self.store.sorted()
    }

    /// When the drive has to be advanced next, since the start of its clock.
    pub fn next_event(&self) -> Option<Time> {
        if self.fault.is_some() {
            return None;
        }
        self.drive.next_event().filter(|time| *time < END_OF_TIME).map(|time| time.saturating_sub(self.base))
    }

    /// Handles a command that came at `wall`; replies that need no time go to `out`.
    pub fn command(
        &mut self,
        asker: Asker,
        command: &Command<'_>,
        clock: &Clock,
        wall: Instant,
        pool: &mut Vec<Vec<u8>>,
        out: &mut Vec<Reply>,
    ) {
        self.stats.command(command.kind);
        let mut reply = pool.pop().unwrap_or_default();
        let stored = match &self.fault {
            Some(_) => Err(NbdError::Io),
            None => self.stored(asker.replies, command, &mut reply),
        };
        let arrival = if clock.jumps() {
            self.drive.now()
        } else {
            // While the clock stands still, nothing is on its way either.
            self.base + clock.at(wall).saturating_sub(if clock.runs() { asker.way } else { 0 })
        };
        if arrival > self.drive.now() {
            if let Err(fault) = self.step_to(arrival, out) {
                self.fail(fault, out);
            }
        }
        // The drive may have gone on: it takes the request now.
        let taken = arrival.max(self.drive.now());
        let times = Answered { cookie: command.to.cookie, arrival, taken, completed: 0, sent: 0 };
        let Command { kind, to, .. } = *command;
        let ticket = Ticket { asker, kind, to, error: stored.err(), left: 1, reply, times };
        let ticket = self.issue(ticket);
        if stored.is_ok() && self.fault.is_none() {
            if self.needs_sync(command) {
                self.hold(ticket).left += 1;
                if !self.syncing.as_ref().is_some_and(|syncing| syncing.ask(ticket)) {
                    self.part_done(ticket, Err(NbdError::Io), out);
                }
            }
            let unit = u64::from(self.drive.kernel().plan().unit_bytes);
            for mut request in parts(command, unit) {
                request.stream = asker.place as u16;
                request.arrival = taken;
                self.hold(ticket).left += 1;
                self.submit(ticket, request, out);
            }
        }
        // All parts are under way.
        self.part_done(ticket, Ok(()), out);
    }

    fn needs_sync(&self, command: &Command<'_>) -> bool {
        let changes = matches!(command.kind, Kind::Write | Kind::WriteZeroes | Kind::Trim);
        self.syncing.is_some() && (command.kind == Kind::Flush || (command.fua && changes))
    }

    /// Does to the store what a command asks for; data and extents go into `reply`.
    fn stored(&mut self, replies: Replies, command: &Command<'_>, reply: &mut Vec<u8>) -> Result<(), NbdError> {
        let Command { kind, to, offset, bytes, .. } = *command;
        let done = match kind {
            Kind::Read => {
                self.stats.bytes[0] += bytes;
                // A read has 32 MiB at most.
                let length = bytes as u32;
                if replies.in_chunks() && !command.whole && self.is_hole(offset, bytes) {
                    replies.hole(reply, to, length);
                    return Ok(());
                }
                replies.data(reply, to, length);
                let head = reply.len();
                reply.resize(head + length as usize, 0);
                self.store.read(offset, &mut reply[head..])
            }
            Kind::Write => {
                self.stats.bytes[1] += bytes;
                self.store.write(offset, command.data)
            }
            Kind::Trim | Kind::WriteZeroes => self.store.zero(offset, bytes),
            Kind::BlockStatus => self.extents(command).map(|extents| replies.extents(reply, to, &extents)),
            Kind::Flush | Kind::Cache => Ok(()),
        };
        done.map_err(|error| if error.kind() == io::ErrorKind::StorageFull { NbdError::NoSpace } else { NbdError::Io })
    }

    /// True if a range reads as zeros because nothing is there.
    fn is_hole(&mut self, offset: u64, bytes: u64) -> bool {
        self.store.extent(offset, offset + bytes).is_ok_and(|extent| extent.hole && extent.bytes == bytes)
    }

    fn extents(&mut self, command: &Command<'_>) -> io::Result<Vec<Extent>> {
        let end = command.offset + command.bytes;
        let most = if command.one { 1 } else { MOST_EXTENTS };
        let (mut at, mut extents) = (command.offset, Vec::new());
        while at < end && extents.len() < most {
            let extent = self.store.extent(at, end)?;
            at += extent.bytes;
            extents.push(extent);
        }
        Ok(extents)
    }

    fn issue(&mut self, ticket: Ticket) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.tickets.push(None);
            self.tickets.len() as u32 - 1
        });
        self.tickets[place as usize] = Some(ticket);
        place
    }

    fn hold(&mut self, ticket: u32) -> &mut Ticket {
        self.tickets[ticket as usize].as_mut().expect("a ticket in progress")
    }

    /// Gives a request to the drive, or to the queue before it.
    fn submit(&mut self, ticket: u32, request: Request, out: &mut Vec<Reply>) {
        let queue = usize::from(request.stream) % self.waiting.len();
        if let Some(recorder) = &mut self.recorder {
            recorder.write(request.arrival, &request);
        }
        if self.swap.is_none() && self.waiting[queue].is_empty() && self.drive.has_slot(request.stream) {
            self.give(ticket, request, out);
        } else {
            self.waiting[queue].push_back((ticket, request));
        }
    }

    /// Gives a request to the drive, which has a slot.
    fn give(&mut self, ticket: u32, request: Request, out: &mut Vec<Reply>) {
        let at = self.drive.now().max(request.arrival);
        if at >= END_OF_TIME {
            self.part_done(ticket, Err(NbdError::Shutdown), out);
            return;
        }
        match self.drive.submit(at, request) {
            Ok(slot) => {
                self.slots[slot as usize] = ticket;
                if self.rests {
                    self.drive.announce(Some(END_OF_TIME));
                }
            }
            // It has a slot, lies within the drive and has its time; should that be wrong, the client is told.
            Err(_) => self.part_done(ticket, Err(NbdError::Io), out),
        }
    }

    /// Advances the drive to a time of its clock; a drive that jumps goes on until all requests are done.
    pub fn advance(&mut self, time: Option<Time>, out: &mut Vec<Reply>) {
        if self.fault.is_some() {
            return;
        }
        let limit = match time {
            Some(time) => {
                if let Some(next) = self.next_event() {
                    self.stats.lag = self.stats.lag.max(time.saturating_sub(next));
                }
                self.base.saturating_add(time)
            }
            None => END_OF_TIME,
        };
        let stepped = match time {
            None => self.run_out(out),
            Some(_) => self.step_to(limit, out),
        };
        if let Err(fault) = stepped {
            self.fail(fault, out);
        }
    }

    /// Advances the drive a little beyond the clock, to `time`, for replies that are nearly due.
    pub fn look_ahead(&mut self, time: Time, out: &mut Vec<Reply>) {
        if self.next_event().is_some_and(|next| next <= time) {
            if let Err(fault) = self.step_to(self.base.saturating_add(time), out) {
                self.fail(fault, out);
            }
        }
    }

    fn run_out(&mut self, out: &mut Vec<Reply>) -> Result<(), Fault> {
        if self.swap.is_some() {
            return self.step_to(END_OF_TIME, out);
        }
        while self.drive.in_flight() > 0 && self.drive.step()? {
            self.gather(out);
        }
        // What follows comes after all that happens at this time.
        self.step_to(self.drive.now(), out)
    }

    /// Handles all events up to `time`, and at it.
    fn step_to(&mut self, time: Time, out: &mut Vec<Reply>) -> Result<(), Fault> {
        loop {
            while self.drive.next_event().is_some_and(|next| next <= time) && self.drive.step()? {
                self.gather(out);
            }
            if self.swap.is_none() || !self.go_on_swapping(out)? {
                return Ok(());
            }
        }
    }

    /// Takes completions of the drive, and fills its free slots.
    #[inline]
    fn gather(&mut self, out: &mut Vec<Reply>) {
        if self.drive.completions().is_empty() {
            return;
        }
        let mut done = std::mem::take(self.drive.completions());
        for completion in done.drain(..) {
            let ticket = std::mem::replace(&mut self.slots[completion.slot as usize], NONE);
            self.hold(ticket).times.completed = completion.time;
            self.part_done(ticket, Ok(()), out);
        }
        // The memory of the list is used again.
        *self.drive.completions() = done;
        if self.swap.is_none() {
            self.fill_slots(out);
        }
    }

    /// Gives requests that wait to the drive, as far as it has slots.
    fn fill_slots(&mut self, out: &mut Vec<Reply>) {
        for queue in 0..self.waiting.len() {
            while let Some(&(ticket, request)) = self.waiting[queue].front() {
                if !self.drive.has_slot(request.stream) {
                    break;
                }
                self.waiting[queue].pop_front();
                self.give(ticket, request, out);
            }
        }
    }

    /// Takes the syncs that are done.
    pub fn synced(&mut self, out: &mut Vec<Reply>) {
        while let Some((ticket, result)) = self.syncing.as_ref().and_then(Syncing::done) {
            self.stats.syncs += 1;
            self.part_done(ticket, result.map_err(|_| NbdError::Io), out);
        }
    }

    /// A part of a command is done; with the last one goes its reply.
    fn part_done(&mut self, ticket: u32, result: Result<(), NbdError>, out: &mut Vec<Reply>) {
        let place = &mut self.tickets[ticket as usize];
        // Once the drive has failed, a sync may end whose command is answered already.
        let Some(held) = place.as_mut() else { return };
        held.error = held.error.or(result.err());
        held.left -= 1;
        if held.left > 0 {
            return;
        }
        let Some(Ticket { asker, kind, to, error, mut reply, mut times, .. }) = place.take() else { return };
        self.free.push(ticket);
        if let Some(error) = error {
            self.stats.errors += 1;
            reply.clear();
            asker.replies.error(&mut reply, to, Some(kind), error);
        } else if !matches!(kind, Kind::Read | Kind::BlockStatus) {
            asker.replies.done(&mut reply, to);
        }
        let timed = times.completed > 0 && error.is_none();
        times.arrival = times.arrival.saturating_sub(self.base);
        times.taken = times.taken.saturating_sub(self.base);
        times.completed = times.completed.saturating_sub(self.base);
        out.push(Reply { asker, bytes: reply, timed: timed.then_some(times) });
    }

    /// The drive serves no more: all that it has is answered by an error.
    fn fail(&mut self, fault: Fault, out: &mut Vec<Reply>) {
        self.fault.get_or_insert(fault);
        self.swap = None;
        self.slots.fill(NONE);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        for ticket in 0..self.tickets.len() as u32 {
            if let Some(held) = &mut self.tickets[ticket as usize] {
                held.left = 1;
                self.part_done(ticket, Err(NbdError::Io), out);
            }
        }
    }

    /// Makes all data durable, after the last command.
    ///
    /// # Errors
    /// When the medium fails.
    pub fn finish(&mut self) -> io::Result<()> {
        self.syncing = None;
        self.drive.end_measuring().map_err(io::Error::other)?;
        self.store.syncer()?.map_or(Ok(()), |mut sync| sync())
    }
}

/// A reply that nobody waits for any more.
pub fn forget(pool: &mut Vec<Vec<u8>>, reply: Reply) {
    recycle(pool, reply.bytes);
}
