//! A die: its commands as slices that do not overlap, though commands do.

use super::pen::Pen;
use super::slots::Slots;
use crate::parts::operation;
use crate::recorder::Logged;
use std::collections::VecDeque;
use wordline_base::Time;
use wordline_nand::log::{Entry, What};
use wordline_timeline::{Arg, Event, Flow, TrackId};

/// Whom a command serves.
#[derive(Clone, Debug)]
pub(super) struct Service {
    command: u64,
    task: &'static str,
    /// Slots of the requests, with the numbers of the requests.
    pub requests: Vec<(u32, u64)>,
    /// The flows that lead from them.
    pub flows: Vec<u64>,
}

/// A command, or a part of it, as one slice.
#[derive(Debug)]
struct Piece {
    command: u64,
    /// Its first entry, for kind and address.
    entry: Entry,
    start: Time,
    end: Time,
    waited: Time,
    bytes: u64,
    service: Option<Service>,
}

impl Piece {
    fn new(logged: &Logged, start: Time) -> Self {
        let (entry, command) = (logged.entry, logged.command);
        Self { command, entry, start, end: start, waited: 0, bytes: 0, service: None }
    }

    fn add(&mut self, entry: &Entry) {
        self.end = self.end.max(entry.end);
        if let What::Bus(_) = entry.what {
            self.waited += entry.start - entry.ready;
            self.bytes += u64::from(entry.bytes);
        }
    }

    fn name(&self) -> String {
        let kind = operation(self.entry.kind);
        match &self.service {
            Some(service) if service.task != HOST => format!("{} {kind}", service.task),
            _ => kind.to_owned(),
        }
    }

    fn draw(&self, pen: &mut Pen, track: TrackId) {
        let page = &self.entry.page;
        let mut args = vec![("command", Arg::Uint(self.command))];
        args.extend(self.service.as_ref().map(|service| ("task", Arg::Text(service.task))));
        args.push(("planes", Arg::Uint(u64::from(self.entry.planes))));
        for (name, value) in [("plane", page.plane), ("block", page.block), ("page", page.page)] {
            args.push((name, Arg::Uint(u64::from(value))));
        }
        if self.bytes > 0 {
            args.push(("bytes", Arg::Uint(self.bytes)));
        }
        args.push(("waited_ps", Arg::Uint(self.waited)));
        let flows = self.service.iter().flat_map(|service| &service.flows);
        let flows: Vec<Flow> = flows.map(|&flow| Flow::Through(flow)).collect();
        let group = self.service.as_ref().map(|service| service.task);
        pen.slice(track, self.start, self.end, &Event { name: &self.name(), flows: &flows, args: &args, group });
    }
}

/// The task whose commands bear no name but their own.
pub(super) const HOST: &str = "host";

/// A track and the slices that wait to be drawn on it.
#[derive(Debug)]
struct Strip {
    track: TrackId,
    waiting: VecDeque<Piece>,
}

impl Strip {
    fn new(track: TrackId) -> Self {
        Self { track, waiting: VecDeque::new() }
    }

    /// Draws what can be drawn. Of two slices that begin in the same nanosecond, a flow leads from the one that was written first: a command
    /// waits for its requests.
    fn draw(&mut self, pen: &mut Pen, slots: &Slots) {
        while let Some(first) = self.waiting.front() {
            let begin = pen.nanosecond(first.start);
            let mut requests = first.service.iter().flat_map(|service| &service.requests);
            if requests.any(|&request| slots.begins_in(pen, request, begin)) {
                return;
            }
            first.draw(pen, self.track);
            self.waiting.pop_front();
        }
    }
}

/// A die.
#[derive(Debug)]
pub(super) struct Die {
    strip: Strip,
    before: Option<Strip>,
    /// The commands of its two lanes, as they were begun last.
    current: [u64; 2],
    services: Vec<Service>,
    /// The slice of the die that still grows, and that of the command before.
    open: Option<Piece>,
    held: Option<Piece>,
    /// The command that was drawn before the one that is now.
    previous: u64,
}

impl Die {
    pub fn new(track: TrackId, before: Option<TrackId>) -> Self {
        Self {
            strip: Strip::new(track),
            before: before.map(Strip::new),
            current: [0; 2],
            services: Vec::new(),
            open: None,
            held: None,
            previous: 0,
        }
    }

    /// Whom a command serves that a lane of the die has begun.
    pub fn service(&mut self, lane: usize, command: u64, task: &'static str) -> &mut Service {
        if self.current[lane] != command {
            self.current[lane] = command;
            self.services.push(Service { command, task, requests: Vec::new(), flows: Vec::new() });
        }
        self.services.last_mut().expect("it was added last")
    }

    fn service_of(&self, command: u64) -> Option<&Service> {
        self.services.iter().find(|service| service.command == command)
    }

    /// Whose command it is.
    pub fn task(&self, command: u64) -> Option<&'static str> {
        self.service_of(command).map(|service| service.task)
    }

    /// Takes an entry up.
    pub fn enter(&mut self, logged: &Logged) {
        let Logged { command, entry, .. } = logged;
        if entry.held && self.before.is_some() {
            self.hold(logged);
        } else if let Some(open) = self.open.as_mut().filter(|open| open.command == *command) {
            open.add(entry);
        } else {
            self.take_over(entry.ready);
            self.open = Some(Piece::new(logged, entry.ready));
            self.open.iter_mut().for_each(|open| open.add(entry));
            self.forget(*command);
        }
    }

    /// Another command takes the die: what is left of the one before goes to its own track.
    fn take_over(&mut self, now: Time) {
        let Some(mut open) = self.open.take() else { return };
        if open.end > now && self.before.is_some() {
            self.close_held();
            let mut rest = Piece { command: open.command, service: None, start: now, end: open.end, ..open };
            (rest.waited, rest.bytes) = (0, 0);
            open = Piece { end: now, service: None, ..open };
            self.held = Some(rest);
        }
        self.previous = open.command;
        open.service = self.service_of(open.command).cloned();
        self.strip.waiting.push_back(open);
    }

    /// Forgets whom commands served that are over, now that `command` is drawn: all older ones but the current ones of the lanes, one of
    /// which may be suspended, and in cache mode those that were begun just before.
    fn forget(&mut self, command: u64) {
        let held = self.held.as_ref().map_or(0, |held| held.command);
        let live = [self.current[0], self.current[1], self.previous, held];
        self.services.retain(|service| service.command >= command || live.contains(&service.command));
    }

    /// An entry of the command before the current one.
    fn hold(&mut self, logged: &Logged) {
        if self.held.as_ref().is_none_or(|held| held.command != logged.command) {
            self.close_held();
            // Since the current command took the die over.
            let since = self.open.as_ref().map_or(logged.entry.ready, |open| open.start);
            self.held = Some(Piece::new(logged, since.min(logged.entry.ready)));
        }
        self.held.iter_mut().for_each(|held| held.add(&logged.entry));
    }

    fn close_held(&mut self) {
        let Some(mut held) = self.held.take() else { return };
        held.service = self.service_of(held.command).cloned();
        if let Some(before) = &mut self.before {
            before.waiting.push_back(held);
        }
    }

    /// Nothing comes any more.
    pub fn close(&mut self) {
        self.take_over(Time::MAX);
        self.close_held();
    }

    /// Draws what is complete.
    pub fn draw(&mut self, pen: &mut Pen, slots: &Slots) {
        self.strip.draw(pen, slots);
        if let Some(before) = &mut self.before {
            before.draw(pen, slots);
        }
    }
}
