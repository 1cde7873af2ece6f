//! The writer: tracks, and their events.

use std::io::Write;

use prost::Message;
use wordline_base::{time::NS, Time};

use crate::names::Names;
use crate::wire::{self, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName};
use crate::wire::{Trace, TracePacket, TrackDescriptor, TrackEvent};
use crate::{Arg, Event, Flow, TimelineError};

/// All packets are from one writer; Perfetto requires a number other than 0.
const SEQUENCE: u32 = 1;

/// Size of the write buffer, in bytes.
const BUFFER: usize = 64 << 10;

/// Larger whole numbers are not exact in the processor's counters, which are floating-point numbers.
const EXACT: f64 = (1_u64 << 53) as f64;

type Result<T> = std::result::Result<T, TimelineError>;

/// A track of the timeline that created it; other timelines do not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Counter,
}

#[derive(Debug)]
struct Track {
    /// Its name after those of its ancestors, for errors.
    path: String,
    kind: Kind,
    children: i32,
    /// End of the last slice, or time of the counter's last value.
    written_until: Time,
}

impl Track {
    /// Rejects an event of a kind that the track cannot show.
    fn check_kind(&self, wanted: Kind, given: &'static str) -> Result<()> {
        if self.kind == wanted {
            return Ok(());
        }
        let is = if self.kind == Kind::Counter { "a counter" } else { "no counter" };
        Err(TimelineError::WrongTrack { track: self.path.clone(), is, given })
    }

    /// Rejects a slice that would cover another.
    fn check_slice(&self, start: Time, end: Time, name: &str) -> Result<()> {
        let (track, name) = (|| self.path.clone(), || name.to_owned());
        if end < start {
            return Err(TimelineError::EndsBeforeStart { track: track(), name: name(), start, end });
        }
        let busy_until = self.written_until;
        if start < busy_until {
            return Err(TimelineError::Overlap { track: track(), name: name(), start, busy_until });
        }
        Ok(())
    }
}

/// A trace being written to `writer`. The crate's page has the rules for times and names.
///
/// Events of different tracks may come in any order; on one track, slices come in order of time and do not overlap, and
/// so do the values of a counter. [`Timeline::finish`] writes the rest of the buffer: without it, the trace lacks its
/// end.
#[derive(Debug)]
pub struct Timeline<W: Write> {
    writer: W,
    buffer: Vec<u8>,
    /// Buffer of the current packet.
    trace: Trace,
    tracks: Vec<Track>,
    roots: i32,
    event_names: Names,
    arg_names: Names,
    groups: Names,
}

impl<W: Write> Timeline<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// `Io` if it cannot be written.
    pub fn new(writer: W) -> Result<Self> {
        let mut timeline = Self {
            writer,
            buffer: Vec::with_capacity(BUFFER),
            trace: Trace { packet: vec![TracePacket::default()] },
            tracks: Vec::new(),
            roots: 0,
            event_names: Names::default(),
            arg_names: Names::default(),
            groups: Names::default(),
        };
        timeline.put(TracePacket {
            sequence_flags: Some(wire::INCREMENTAL_STATE_CLEARED | wire::NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        })?;
        Ok(timeline)
    }

    /// Adds a track for slices and instants, or only for the tracks below it.
    ///
    /// Tracks below one parent are shown in the order of adding. Perfetto sorts those without a parent by name.
    ///
    /// # Errors
    /// `Io` if it cannot be written.
    ///
    /// # Panics
    /// If `parent` is of another timeline.
    pub fn track(&mut self, parent: Option<TrackId>, name: &str) -> Result<TrackId> {
        self.add(parent, name, None)
    }

    /// Adds a track for a number over time; `unit` is drawn beside it.
    ///
    /// # Errors
    /// `Io` if it cannot be written.
    ///
    /// # Panics
    /// If `parent` is of another timeline.
    pub fn counter(&mut self, parent: Option<TrackId>, name: &str, unit: &str) -> Result<TrackId> {
        self.add(parent, name, Some(CounterDescriptor { unit_name: Some(unit.to_owned()) }))
    }

    /// Writes a slice, from `start` to `end`, which may be equal.
    ///
    /// # Errors
    /// `Overlap` if it begins before the end of the track's last slice, `EndsBeforeStart`, `WrongTrack` if the track is
    /// a counter, and `Io`.
    ///
    /// # Panics
    /// If `track` is of another timeline.
    pub fn slice(&mut self, track: TrackId, start: Time, end: Time, event: &Event) -> Result<()> {
        let state = &mut self.tracks[track.0 as usize];
        state.check_kind(Kind::Events, "slice")?;
        state.check_slice(start, end, event.name)?;
        state.written_until = end;
        let exact = [("start_ps", Arg::Uint(start)), ("duration_ps", Arg::Uint(end - start))];
        self.put_event(track, EventType::SliceBegin, start, event, &exact)?;
        self.put(packet(track, end, EventType::SliceEnd, TrackEvent::default()))
    }

    /// Writes an instant. It may be inside a slice of its track, and comes in any order.
    ///
    /// # Errors
    /// `WrongTrack` if the track is a counter, and `Io`.
    ///
    /// # Panics
    /// If `track` is of another timeline.
    pub fn instant(&mut self, track: TrackId, time: Time, event: &Event) -> Result<()> {
        self.tracks[track.0 as usize].check_kind(Kind::Events, "instant")?;
        self.put_event(track, EventType::Moment, time, event, &[("time_ps", Arg::Uint(time))])
    }

    /// Writes the value that a counter has from `time` on.
    ///
    /// # Errors
    /// `CounterGoesBack` if `time` is before that of its last value, `WrongTrack` if the track is no counter, and `Io`.
    ///
    /// # Panics
    /// If `track` is of another timeline.
    pub fn count(&mut self, track: TrackId, time: Time, value: f64) -> Result<()> {
        let state = &mut self.tracks[track.0 as usize];
        state.check_kind(Kind::Counter, "value")?;
        let last = state.written_until;
        if time < last {
            return Err(TimelineError::CounterGoesBack { track: state.path.clone(), time, last });
        }
        state.written_until = time;
        // A whole number takes a byte or two; the processor treats both alike.
        let whole = value.fract() == 0.0 && value.abs() <= EXACT;
        let event = TrackEvent {
            counter_value: whole.then_some(value as i64),
            double_counter_value: (!whole).then_some(value),
            ..TrackEvent::default()
        };
        self.put(packet(track, time, EventType::Counter, event))
    }

    /// Writes the rest and returns the writer, flushed.
    ///
    /// # Errors
    /// `Io` if it cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.writer.write_all(&self.buffer)?;
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn add(&mut self, parent: Option<TrackId>, name: &str, counter: Option<CounterDescriptor>) -> Result<TrackId> {
        let id = TrackId(u32::try_from(self.tracks.len()).expect("fewer than 2^32 tracks"));
        let (siblings, path) = match parent {
            Some(TrackId(at)) => {
                let parent = &mut self.tracks[at as usize];
                (&mut parent.children, format!("{} / {name}", parent.path))
            }
            None => (&mut self.roots, name.to_owned()),
        };
        let rank = *siblings;
        *siblings += 1;
        let kind = if counter.is_some() { Kind::Counter } else { Kind::Events };
        self.tracks.push(Track { path, kind, children: 0, written_until: 0 });
        let descriptor = TrackDescriptor {
            uuid: Some(uuid(id)),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(uuid),
            counter,
            child_ordering: Some(wire::ChildOrdering::Explicit as i32),
            sibling_order_rank: Some(rank),
            sibling_merge_behavior: Some(wire::SiblingMerge::None as i32),
        };
        self.put(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })?;
        Ok(id)
    }

    /// Writes the packet of an event with a name; `exact` comes before its own annotations.
    fn put_event(
        &mut self,
        track: TrackId,
        kind: EventType,
        time: Time,
        event: &Event,
        exact: &[(&str, Arg)],
    ) -> Result<()> {
        let mut new = InternedData::default();
        let name_iid = Some(intern(&mut self.event_names, event.name, &mut new.event_names));
        let args = exact.iter().chain(event.args);
        let debug_annotations = args
            .map(|&(name, value)| annotation(intern(&mut self.arg_names, name, &mut new.debug_annotation_names), value))
            .collect();
        let correlation_id_str_iid =
            event.group.map(|group| intern(&mut self.groups, group, &mut new.correlation_id_str));
        let mut written = TrackEvent { name_iid, debug_annotations, correlation_id_str_iid, ..TrackEvent::default() };
        for flow in event.flows {
            match *flow {
                Flow::Through(id) => written.flow_ids.push(id),
                Flow::End(id) => written.terminating_flow_ids.push(id),
            }
        }
        let interned_data = (new != InternedData::default()).then_some(new);
        self.put(TracePacket {
            interned_data,
            sequence_flags: Some(wire::NEEDS_INCREMENTAL_STATE),
            ..packet(track, time, kind, written)
        })
    }

    /// Appends a packet. A trace is a sequence of packets, each encoded independently.
    fn put(&mut self, packet: TracePacket) -> Result<()> {
        self.trace.packet[0] = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.trace.encode(&mut self.buffer).expect("a vector grows");
        if self.buffer.len() >= BUFFER {
            self.writer.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Perfetto's number of a track: any but 0, which is the whole trace.
fn uuid(track: TrackId) -> u64 {
    u64::from(track.0) + 1
}

/// The packet of an event, `time` rounded down to a nanosecond.
fn packet(track: TrackId, time: Time, kind: EventType, event: TrackEvent) -> TracePacket {
    TracePacket {
        timestamp: Some(time / NS),
        track_event: Some(TrackEvent { r#type: Some(kind as i32), track_uuid: Some(uuid(track)), ..event }),
        ..TracePacket::default()
    }
}

/// The number of `name`; if it is new, its definition goes to `defined`.
fn intern(names: &mut Names, name: &str, defined: &mut Vec<InternedName>) -> u64 {
    let (number, new) = names.number(name);
    if new {
        defined.push(InternedName { iid: Some(number), name: Some(name.to_owned()) });
    }
    number
}

fn annotation(name: u64, value: Arg) -> DebugAnnotation {
    let mut written = DebugAnnotation { name_iid: Some(name), ..DebugAnnotation::default() };
    match value {
        Arg::Uint(number) => written.uint_value = Some(number),
        Arg::Int(number) => written.int_value = Some(number),
        Arg::Real(number) => written.double_value = Some(number),
        Arg::Bool(yes) => written.bool_value = Some(yes),
        Arg::Text(text) => written.string_value = Some(text.to_owned()),
    }
    written
}
