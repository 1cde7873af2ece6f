//! The event loop: one thread that listens, reads commands, advances the drives with the clock, and sends replies when they are due.
//!
//! Between two events of a drive it sleeps, and spins for the last part of the way, since the system wakes a thread too late. In the
//! low-CPU mode it never spins.

mod asked;

use crate::address::Listener;
use crate::calls::Calls;
use crate::client::{recycle, Client, Heard, TURN};
use crate::clock::{Clock, Pace};
use crate::control::{Asked, Refused, Swapped, View};
use crate::export::{forget, Asker, Export, Reply};
use crate::protocol::{Entry, Kind, Step};
use crate::record::Recorder;
use crate::scheduling::Scheduling;
use crate::stats::Answered;
use crate::store::Store;
use crate::sync::Waker;
use crate::tls::Keys;
use crate::transport::Transport;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use serde_json::json;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wordline_base::Time;
use wordline_drive::{Drive, Fault};
use wordline_workload::{WriteError, Written};

/// Connections at once. More are turned away.
const MOST_CLIENTS: usize = 256;
/// A connection that has chosen no export after so long is closed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Before an event the loop spins for so long.
const SPIN: Duration = Duration::from_micros(50);
/// After a command or a reply it stays awake for so long: the next command often follows at once. Longer would keep a client waiting
/// that the system put on the same core.
const AWAKE: Duration = Duration::from_micros(20);
/// In the low-CPU mode it sleeps at least so long.
const NAP: Duration = Duration::from_micros(50);
/// Commands of a client that are handled before the others have their turn.
const AT_ONCE: u32 = 4;
/// When the server stops, requests in progress have so long to end,
const LAST_ORDERS: Duration = Duration::from_secs(5);
/// and clients to read their replies.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Between two updates of the status.
const TELL: Duration = Duration::from_millis(100);

/// An export to be served.
pub struct Offer {
    /// How clients see it; its size is that of the drive.
    pub entry: Entry,
    /// The drive, at rest.
    pub drive: Drive,
    /// Its data.
    pub store: Box<dyn Store>,
    /// A trace of what is asked of it.
    pub recorder: Option<Recorder>,
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// The course of the drives' time.
    pub pace: Pace,
    /// Never spin.
    pub low_cpu: bool,
    /// Keep the times of all requests, for a benchmark.
    pub keep_requests: bool,
    /// Serve over TLS only, and who has one of these keys.
    pub keys: Option<Keys>,
}

/// How the server does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Connections with an open export.
    pub clients: usize,
    /// Commands so far.
    pub requests: u64,
    /// Commands answered by an error.
    pub errors: u64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Replies sent after the modelled completion: median and 99th percentile, in microseconds, of the worst export.
    pub late_us: (Option<f64>, Option<f64>),
    /// The most that a drive's time was behind its clock, in microseconds.
    pub lag_us: f64,
    /// True once a drive has failed.
    pub failed: bool,
}

/// Asks a server that runs elsewhere.
#[derive(Clone, Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    waker: Waker,
    status: Arc<Mutex<Status>>,
    asked: Asked,
}

impl Control {
    /// Asks it to stop, after the requests in progress.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// How it did, a tenth of a second ago at most while it is busy.
    #[must_use]
    pub fn status(&self) -> Status {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How an export is now, and its drive; with the state of its blocks, if `cells`. None if the server has ended.
    #[must_use]
    pub fn view(&self, export: usize, cells: bool) -> Option<View> {
        self.asked.view(&self.waker, export, cells)
    }

    /// Lets the time of all drives stand still, or run again.
    pub fn pause(&self, paused: bool) {
        self.asked.pause(&self.waker, paused);
    }

    /// Sets the pace of all drives: simulated seconds in a second, more than 0.
    ///
    /// # Errors
    /// When their time jumps, or the server has ended.
    pub fn set_pace(&self, pace: f64) -> Result<(), Refused> {
        self.asked.set_pace(&self.waker, pace)
    }

    /// Puts another drive, new and empty, in the place of an export's, with its data, maps and wear; gives the old one back, whose
    /// figures have ended. The old one is drained before, while requests wait.
    ///
    /// # Errors
    /// When the new drive cannot take over the state of the old one, which then goes on, or the server is paused or has ended.
    pub fn swap(&self, export: usize, drive: Box<Drive>) -> Result<Swapped, Refused> {
        self.asked.swap(&self.waker, export, drive)
    }

    /// Tells that the old drive of a swap is gone: the new one then shares nothing with it any more.
    pub fn settle(&self, export: usize) {
        self.asked.settle(&self.waker, export);
    }
}

/// An export after the server's end.
pub struct Closed {
    /// The drive, at rest unless it failed; its figures end with the last request.
    pub drive: Drive,
    /// How it was served, as JSON.
    pub live: serde_json::Value,
    /// The trace.
    pub recorded: Option<Result<Written, WriteError>>,
    /// Why the drive served no more.
    pub fault: Option<Fault>,
    /// Why the last data may not be durable.
    pub unsaved: Option<io::Error>,
    /// All requests with their times, if they were kept.
    pub requests: Vec<Answered>,
}

/// A server.
pub struct Server {
    listener: Listener,
    entries: Vec<Entry>,
    exports: Vec<Export>,
    clients: Vec<Option<Client>>,
    control: Control,
    options: Options,
    clock: Clock,
    connections: u64,
    turned_away: u64,
    transport: Transport,
    /// How the system schedules the loop.
    scheduling: Scheduling,
    /// When the last command came, or the last reply went.
    active: Instant,
    /// Commands of a client that are handled before replies that are due meanwhile are sent.
    at_once: u32,
    calls: Calls,
    told: Instant,
    /// What was read last.
    heard: Vec<u8>,
    pool: Vec<Vec<u8>>,
    replies: Vec<Reply>,
    /// Times of replies that clients have yet to be sent.
    sent: Vec<(usize, Answered)>,
}

impl Server {
    /// Connects each drive to its store, behind a socket. Clients that came before wait there.
    ///
    /// # Errors
    /// When the system has no more threads or descriptors.
    pub fn new(listener: Listener, exports: Vec<Offer>, options: Options) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the server cannot start: {error}");
        let waker = Waker::new().map_err(failed)?;
        let (mut entries, mut served) = (Vec::new(), Vec::new());
        for Offer { entry, drive, store, recorder } in exports {
            entries.push(Entry { bytes: drive.logical_bytes(), ..entry });
            let mut export = Export::new(drive, store, recorder, &waker).map_err(failed)?;
            export.answered = options.keep_requests.then(Vec::new);
            served.push(export);
        }
        let control = Control { stop: Arc::default(), waker, status: Arc::default(), asked: Asked::default() };
        let now = Instant::now();
        Ok(Self {
            listener,
            entries,
            exports: served,
            clients: Vec::new(),
            control,
            clock: Clock::new(options.pace),
            at_once: if options.pace == Pace::Jump { u32::MAX } else { AT_ONCE },
            options,
            connections: 0,
            turned_away: 0,
            transport: Transport::default(),
            scheduling: Scheduling::Normal,
            active: now,
            calls: Calls::default(),
            told: now,
            heard: vec![0; TURN],
            pool: Vec::new(),
            replies: Vec::new(),
            sent: Vec::new(),
        })
    }

    /// A handle to ask it from elsewhere.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Serves until it is stopped.
    pub fn run(mut self) -> Vec<Closed> {
        self.prepare();
        let mut ending: Option<Instant> = None;
        loop {
            let now = Instant::now();
            self.advance(now);
            self.tell(now);
            if ending.is_none() && self.control.stop.load(Ordering::Relaxed) {
                ending = Some(now + LAST_ORDERS);
                // Requests in progress have to end.
                self.clock.run(now, true);
            }
            if let Some(end) = ending {
                let idle = self.exports.iter().all(|export| export.in_progress() == 0);
                let unread = self.clients.iter().flatten().any(Client::has_output);
                if (idle && (!unread || now + LAST_ORDERS >= end + LAST_WORDS)) || now >= end {
                    break;
                }
            }
            if self.sent.is_empty() {
                self.wait(now, ending);
            }
        }
        self.tell(Instant::now() + TELL);
        self.control.asked.close();
        self.close()
    }

    /// Readies the thread, measures what a command and its reply take on their way, and starts the clock.
    fn prepare(&mut self) {
        if self.clock.jumps() {
            // Nothing has to be in time.
        } else {
            let mut scheduling = Scheduling::Normal;
            let measured = Transport::measure(self.options.low_cpu, || scheduling = Scheduling::raise());
            self.transport = measured.unwrap_or_default();
            self.scheduling = scheduling;
        }
        self.clock = Clock::new(self.options.pace);
    }

    /// Advances the drives to `now`, and sends what is due.
    fn advance(&mut self, now: Instant) {
        let time = self.step(now);
        if let Some(time) = time.filter(|_| !self.sent.is_empty() && self.clock.runs() && !self.options.low_cpu) {
            self.look_ahead(time);
        }
        self.send_all();
        // Messages that were left: replies that were due went before them, or too much of their client was in progress.
        for place in 0..self.clients.len() {
            if self.clients[place].as_ref().is_some_and(Client::has_work) {
                self.take_messages(place);
            }
        }
    }

    /// Advances the drives to `now`, and hands out what is due. Gives the time of the drives, unless it jumps.
    fn step(&mut self, now: Instant) -> Option<Time> {
        let time = (!self.clock.jumps()).then(|| self.clock.at(now));
        for index in 0..self.exports.len() {
            if time.is_some() || self.clock.runs() {
                self.exports[index].advance(time, &mut self.replies);
            }
            self.exports[index].synced(&mut self.replies);
            self.hand_out(index);
        }
        time
    }

    /// True if a reply has fallen due while commands are handled, which take a microsecond or more each.
    fn is_overdue(&mut self) -> bool {
        if !self.clock.jumps() {
            self.step(Instant::now());
        }
        !self.clock.jumps() && !self.sent.is_empty()
    }

    /// Lets replies go with others that are sent at `time`, if they are due within half a call: they are early by less than they would be late if
    /// they had to wait for the call.
    fn look_ahead(&mut self, time: Time) {
        let ahead = time + self.clock.span(self.calls.half());
        for index in 0..self.exports.len() {
            self.exports[index].look_ahead(ahead, &mut self.replies);
            self.hand_out(index);
        }
    }

    /// Hands an export's replies to their clients.
    fn hand_out(&mut self, export: usize) {
        for reply in self.replies.drain(..) {
            let place = self.clients.get_mut(reply.asker.place).and_then(Option::as_mut);
            let Some(client) = place.filter(|client| client.number == reply.asker.number) else {
                forget(&mut self.pool, reply);
                continue;
            };
            client.commands -= 1;
            client.reply_bytes = client.reply_bytes - reply.asker.promised + reply.bytes.len();
            if let Some(times) = reply.timed {
                self.sent.push((export, times));
            }
            client.send_later(reply.bytes);
        }
    }

    /// Sends what clients are ready to take.
    fn send_all(&mut self) {
        // A client may have its reply before the call that sends it returns.
        let start = Instant::now();
        let sent = self.clock.at(start);
        for place in 0..self.clients.len() {
            let Some(client) = &mut self.clients[place] else { continue };
            let failed = client.has_output() && {
                client.hears_at(start);
                client.send(&mut self.pool).is_err()
            };
            if failed || client.is_done() {
                self.clients[place] = None;
            }
        }
        if !self.sent.is_empty() {
            self.active = Instant::now();
            self.calls.took(self.active - start);
        }
        for (export, times) in self.sent.drain(..) {
            let export = &mut self.exports[export];
            let times = Answered { sent, ..times };
            if !self.clock.jumps() {
                export.stats.answered(&times);
            }
            if let Some(kept) = &mut export.answered {
                kept.push(times);
            }
        }
    }

    /// How long the loop may sleep; zero to spin.
    fn sleep(&self, now: Instant) -> Option<Duration> {
        if self.clients.iter().flatten().any(Client::has_work) {
            return Some(Duration::ZERO);
        }
        if !self.options.low_cpu && now.saturating_duration_since(self.active) < AWAKE {
            return Some(Duration::ZERO);
        }
        if self.clock.jumps() {
            // Messages that were left are taken after the drives were advanced. The socket may have room for all replies before, and
            // the client be held back, so that nothing from outside would wake the loop.
            let goes_on = |export: &Export| export.in_progress() > 0 && export.next_event().is_some();
            return (self.clock.runs() && self.exports.iter().any(goes_on)).then_some(Duration::ZERO);
        }
        let next = self.exports.iter().filter_map(Export::next_event).min()?;
        let left = self.clock.wall(next).saturating_duration_since(now);
        Some(if self.options.low_cpu { left.max(NAP) } else { left.saturating_sub(SPIN) })
    }

    /// Waits for what comes first: an event of a drive, or something from outside, which is handled.
    fn wait(&mut self, now: Instant, ending: Option<Instant>) {
        let mut limit = self.sleep(now);
        let mut shorten = |at: Option<Instant>| {
            if let Some(at) = at {
                let left = at.saturating_duration_since(now);
                limit = Some(limit.map_or(left, |limit| limit.min(left)));
            }
        };
        shorten(ending.map(|_| now + LAST_WORDS));
        shorten(self.clients.iter().flatten().filter(|client| client.is_on_trial()).map(|c| c.since + PATIENCE).min());
        let timeout =
            limit.map(|limit| Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) });
        let mut ready = Vec::with_capacity(self.clients.len());
        let (mut comes, mut woken) = (false, false);
        {
            let mut fds = Vec::with_capacity(self.clients.len() + 2);
            let listens = if ending.is_none() { PollFlags::IN } else { PollFlags::empty() };
            fds.push(PollFd::new(&self.listener, listens));
            fds.push(PollFd::new(&self.control.waker, PollFlags::IN));
            let mut places = Vec::with_capacity(self.clients.len());
            for (place, client) in self.clients.iter().enumerate() {
                let Some(client) = client else { continue };
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, ending.is_none() && client.is_heard());
                flags.set(PollFlags::OUT, client.has_output());
                fds.push(PollFd::new(client.stream(), flags));
                places.push(place);
            }
            // Interrupted, it comes back soon.
            if poll(&mut fds, timeout.as_ref()).is_ok_and(|count| count > 0) {
                comes = !fds[0].revents().is_empty();
                woken = !fds[1].revents().is_empty();
                ready.extend(
                    places
                        .iter()
                        .zip(&fds[2..])
                        .filter(|(_, fd)| !fd.revents().is_empty())
                        .map(|(&p, fd)| (p, fd.revents())),
                );
            }
        }
        if woken {
            self.control.waker.clear();
            self.grant();
        }
        if comes {
            self.accept();
        }
        let now = Instant::now();
        for (place, flags) in ready {
            self.serve(place, flags, now, ending.is_some());
        }
        self.lose_patience(now);
    }

    fn accept(&mut self) {
        while let Ok(stream) = self.listener.accept() {
            if self.clients.iter().flatten().count() >= MOST_CLIENTS {
                self.turned_away += 1;
                continue;
            }
            let place = self.clients.iter().position(Option::is_none).unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            self.connections += 1;
            let secure = self.options.keys.is_some();
            self.clients[place] = Some(Client::new(stream, self.connections, Instant::now(), secure));
        }
    }

    /// Closes connections that do not get to the point.
    fn lose_patience(&mut self, now: Instant) {
        for place in &mut self.clients {
            if place.as_ref().is_some_and(|client| client.is_on_trial() && now >= client.since + PATIENCE) {
                *place = None;
            }
        }
    }

    /// Handles what a client sent.
    fn serve(&mut self, place: usize, flags: PollFlags, now: Instant, ending: bool) {
        let Some(client) = &mut self.clients[place] else { return };
        if !ending && client.is_heard() && flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            match client.hear(now, &mut self.heard) {
                Ok(Heard::Open) => self.take_messages(place),
                // A client that is gone waits for no replies; what it asked for is still done.
                Ok(Heard::Gone) | Err(_) => {
                    self.clients[place] = None;
                    return;
                }
            }
        } else if flags.intersects(PollFlags::HUP | PollFlags::ERR) && !flags.contains(PollFlags::IN) {
            self.clients[place] = None;
            return;
        }
        // Replies with times go with all that are due.
        let Some(client) = self.clients[place].as_mut().filter(|_| self.sent.is_empty()) else { return };
        if client.has_output() && client.send(&mut self.pool).is_err() {
            self.clients[place] = None;
        }
    }

    /// Handles the whole messages that a client has sent, as many as it may have in progress, until a reply is due.
    fn take_messages(&mut self, place: usize) {
        let Some(client) = &mut self.clients[place] else { return };
        if !client.has_message() {
            return;
        }
        let now = client.heard;
        self.active = self.active.max(now);
        let input = client.take_input();
        let (mut taken, mut needed, mut commands) = (0, 0, 0);
        let mut answers = self.pool.pop().unwrap_or_default();
        loop {
            if commands > 0 && self.is_overdue() {
                break;
            }
            let Some(client) = &mut self.clients[place] else { return };
            if !client.is_heard() || taken == input.len() || commands == self.at_once {
                break;
            }
            let (used, step) = client.session.next(&input[taken..], &self.entries, &mut answers);
            taken += used;
            match step {
                Step::More(bytes) => {
                    needed = bytes;
                    break;
                }
                Step::Handled => {}
                Step::Opened(export) => client.export = Some(export),
                Step::Secure => {
                    client.answer(|out| out.append(&mut answers));
                    if self.options.keys.as_ref().is_none_or(|keys| client.secure(keys).is_err()) {
                        client.leaving = true;
                        break;
                    }
                }
                Step::Command(command) => {
                    let Some(export) = client.export else { break };
                    let promised = if command.kind == Kind::Read { command.bytes as usize } else { 0 };
                    let way = self.clock.span(self.transport.way(client.commands == 0, client.gap));
                    let asker =
                        Asker { place, number: client.number, replies: client.session.replies(), promised, way };
                    commands += 1;
                    client.commands += 1;
                    client.reply_bytes += promised;
                    let clock = self.clock;
                    self.exports[export].command(asker, &command, &clock, now, &mut self.pool, &mut self.replies);
                }
                Step::Bye | Step::Broken(_) => {
                    client.leaving = true;
                    client.since = now;
                    break;
                }
            }
        }
        if let Some(client) = &mut self.clients[place] {
            client.give_back(input, taken, needed);
            if !answers.is_empty() {
                client.answer(|out| out.extend(&answers));
            }
        }
        recycle(&mut self.pool, answers);
        for export in 0..self.exports.len() {
            self.hand_out(export);
        }
    }

    /// Updates the status that others may ask for.
    fn tell(&mut self, now: Instant) {
        if now.saturating_duration_since(self.told) < TELL {
            return;
        }
        self.told = now;
        let mut status = Status {
            clients: self.clients.iter().flatten().filter(|client| client.export.is_some()).count(),
            ..Status::default()
        };
        for export in &self.exports {
            let stats = &export.stats;
            status.requests += stats.requests();
            status.errors += stats.errors;
            status.bytes = [0, 1].map(|way| status.bytes[way] + stats.bytes[way]);
            let late = stats.late_us();
            status.late_us = (larger(status.late_us.0, late.0), larger(status.late_us.1, late.1));
            status.lag_us = status.lag_us.max(stats.lag as f64 / 1e6);
            status.failed |= export.fault.is_some();
        }
        *self.control.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Ends all connections, makes all data durable, and gives the drives back.
    fn close(self) -> Vec<Closed> {
        let wall = self.clock.age(Instant::now());
        let server = json!({
            "connections": self.connections,
            "turned_away": self.turned_away,
            "wall_s": wall.as_secs_f64(),
            "pace": self.clock.pace(),
            "low_cpu": self.options.low_cpu,
            "scheduling": self.scheduling.name(),
            "transport_us": {
                "asleep": self.transport.asleep.as_nanos() as f64 / 1e3,
                "dozing": self.transport.dozing.as_nanos() as f64 / 1e3,
                "awake": self.transport.awake.as_nanos() as f64 / 1e3,
            },
        });
        drop((self.clients, self.listener));
        let closed = self.entries.into_iter().zip(self.exports).map(|(entry, mut export)| {
            let mut live = server.clone();
            live["export"] = entry.name.into();
            if let (Some(map), serde_json::Value::Object(figures)) = (live.as_object_mut(), export.stats.document()) {
                map.extend(figures);
            }
            live["store_bytes"] = export.held_bytes().into();
            live["metadata"] = export.sorted().map_or(serde_json::Value::Null, |sorted| {
                json!({
                    "known_bytes": sorted.known,
                    "kept_bytes": sorted.kept,
                    "waiting_bytes": sorted.waiting,
                    "dropped_bytes": sorted.dropped,
                    "evicted_bytes": sorted.evicted,
                })
            });
            let unsaved = export.finish().err();
            let recorded = export.recorder.take().map(Recorder::finish);
            let requests = export.answered.take().unwrap_or_default();
            let (mut drive, mut fault) = (export.drive, export.fault);
            drive.announce(None);
            if fault.is_none() {
                fault = drive.drain().err();
            }
            drive.completions().clear();
            Closed { drive, live, recorded, fault, unsaved, requests }
        });
        closed.collect()
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
