//! The host's side: a track for each queue slot, and the requests in them.

use super::pen::Pen;
use super::Frame;
use wordline_base::{Op, Request, Time};
use wordline_timeline::{Arg, Event, Flow, TimelineError, TrackId};

/// Bytes that a logical block address counts.
const BLOCK: u64 = 512;

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Open {
    /// Its number, in the order of the starts.
    pub id: u64,
    /// When it got its slot.
    pub start: Time,
    /// The flows to its commands.
    pub flows: Vec<u64>,
    request: Request,
}

/// The queues. A slot gets its track when it is first used, with those before it.
#[derive(Debug)]
pub(super) struct Slots {
    queues: Vec<(TrackId, Vec<TrackId>)>,
    depth: u32,
    open: Vec<Option<Open>>,
    requests: u64,
}

impl Slots {
    /// The tracks of the queues.
    pub fn new(pen: &mut Pen, root: TrackId, frame: &Frame) -> Result<Self, TimelineError> {
        let mut queues = Vec::new();
        if frame.queues > 0 {
            let host = pen.track(root, "host")?;
            for queue in 0..frame.queues {
                let parent = if frame.queues == 1 { host } else { pen.track(host, &format!("queue {queue}"))? };
                queues.push((parent, Vec::new()));
            }
        }
        Ok(Self { queues, depth: frame.depth, open: Vec::new(), requests: 0 })
    }

    /// The request in a slot.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Open> {
        self.open.get_mut(slot as usize)?.as_mut()
    }

    /// True if the request in a slot is still this one, and begins in the nanosecond given.
    pub fn begins_in(&self, pen: &Pen, (slot, id): (u32, u64), nanosecond: Time) -> bool {
        let open = self.open.get(slot as usize).and_then(Option::as_ref);
        open.is_some_and(|open| open.id == id && pen.nanosecond(open.start) == nanosecond)
    }

    pub fn begin(&mut self, slot: u32, now: Time, request: &Request) {
        self.requests += 1;
        let at = slot as usize;
        if self.open.len() <= at {
            self.open.resize_with(at + 1, || None);
        }
        self.open[at] = Some(Open { id: self.requests, start: now, flows: Vec::new(), request: *request });
    }

    pub fn end(&mut self, pen: &mut Pen, slot: u32, now: Time) {
        if let Some(open) = self.open.get_mut(slot as usize).and_then(Option::take) {
            self.draw(pen, slot, &open, now, true);
        }
    }

    /// Draws what is under way at the end.
    pub fn finish(&mut self, pen: &mut Pen, now: Time) {
        for slot in 0..self.open.len() {
            if let Some(open) = self.open[slot].take() {
                self.draw(pen, slot as u32, &open, now, false);
            }
        }
    }

    fn draw(&mut self, pen: &mut Pen, slot: u32, open: &Open, end: Time, done: bool) {
        let Some(track) = self.track(pen, slot) else { return };
        let Open { id, start, flows, request } = open;
        let flows: Vec<Flow> = flows.iter().map(|&flow| Flow::Through(flow)).collect();
        let mut args = vec![("request", Arg::Uint(*id)), ("stream", Arg::Uint(u64::from(request.stream)))];
        if request.op != Op::Flush {
            args.push(("offset_bytes", Arg::Uint(request.offset)));
            args.push(("lba", Arg::Uint(request.offset / BLOCK)));
            args.push(("bytes", Arg::Uint(u64::from(request.bytes))));
        }
        args.push(("waited_ps", Arg::Uint(start - request.arrival)));
        if request.fua {
            args.push(("fua", Arg::Bool(true)));
        }
        if !done {
            args.push(("done", Arg::Bool(false)));
        }
        pen.slice(track, *start, end, &Event { name: request.op.name(), flows: &flows, args: &args, group: None });
    }

    fn track(&mut self, pen: &mut Pen, slot: u32) -> Option<TrackId> {
        let (queue, at) = ((slot / self.depth) as usize, (slot % self.depth) as usize);
        let (parent, tracks) = self.queues.get_mut(queue)?;
        while tracks.len() <= at {
            let added = pen.track(*parent, &format!("slot {}", tracks.len()));
            tracks.push(pen.note(added)?);
        }
        Some(tracks[at])
    }
}
