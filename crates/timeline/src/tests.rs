//! Written traces, decoded again and compared with the format.

use std::io::{self, Write};

use prost::Message;

use crate::wire::{DebugAnnotation, InternedName, Trace, TracePacket, TrackDescriptor, TrackEvent};
use crate::{Arg, Event, Flow, Timeline, TimelineError};

const BEGIN: Option<i32> = Some(1);
const END: Option<i32> = Some(2);
const INSTANT: Option<i32> = Some(3);
const COUNTER: Option<i32> = Some(4);

fn started() -> Timeline<Vec<u8>> {
    Timeline::new(Vec::new()).unwrap()
}

/// The packets after the first, which only resets the state.
fn packets(timeline: Timeline<Vec<u8>>) -> Vec<TracePacket> {
    let mut packets = Trace::decode(timeline.finish().unwrap().as_slice()).unwrap().packet;
    assert!(packets.iter().all(|packet| packet.trusted_packet_sequence_id == Some(1)));
    let first = packets.remove(0);
    assert_eq!(first.sequence_flags, Some(3));
    assert_eq!((first.track_event, first.track_descriptor), (None, None));
    packets
}

fn events(timeline: Timeline<Vec<u8>>) -> Vec<(u64, TrackEvent)> {
    let packets = packets(timeline).into_iter();
    packets.filter_map(|packet| Some((packet.timestamp?, packet.track_event?))).collect()
}

fn named(name: &str) -> Event<'_> {
    Event { name, ..Event::default() }
}

fn interned(iid: u64, name: &str) -> InternedName {
    InternedName { iid: Some(iid), name: Some(name.to_owned()) }
}

fn uint(name: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: Some(name), uint_value: Some(value), ..DebugAnnotation::default() }
}

#[test]
fn tracks_say_where_they_stand() {
    let mut timeline = started();
    let drive = timeline.track(None, "drive").unwrap();
    let bus = timeline.track(Some(drive), "bus").unwrap();
    timeline.counter(Some(drive), "depth", "requests").unwrap();
    timeline.track(Some(bus), "die").unwrap();
    timeline.track(None, "host").unwrap();
    let packets = packets(timeline);
    let written: Vec<TrackDescriptor> = packets.into_iter().map(|p| p.track_descriptor.unwrap()).collect();
    let places: Vec<_> =
        written.iter().map(|t| (t.uuid(), t.name(), t.parent_uuid, t.sibling_order_rank.unwrap())).collect();
    let expected = [
        (1, "drive", None, 0),
        (2, "bus", Some(1), 0),
        (3, "depth", Some(1), 1),
        (4, "die", Some(2), 0),
        (5, "host", None, 1),
    ];
    assert_eq!(places, expected);
    // Explicit order, and no merging of tracks of the same name.
    assert!(written.iter().all(|t| t.child_ordering == Some(3) && t.sibling_merge_behavior == Some(2)));
    let units: Vec<_> = written.iter().map(|t| t.counter.as_ref().map(|c| c.unit_name())).collect();
    assert_eq!(units, [None, None, Some("requests"), None, None]);
}

#[test]
fn a_slice_is_two_packets_with_its_exact_times_beside() {
    let mut timeline = started();
    let die = timeline.track(None, "die").unwrap();
    let flows = [Flow::Through(7), Flow::End(9), Flow::Through(8)];
    let args = [
        ("page", Arg::Uint(5)),
        ("shift", Arg::Int(-2)),
        ("share", Arg::Real(0.5)),
        ("cached", Arg::Bool(false)),
        ("kind", Arg::Text("LSB")),
    ];
    timeline.slice(die, 1_999, 52_001, &Event { name: "tR", flows: &flows, args: &args, ..Event::default() }).unwrap();
    let packets = packets(timeline);
    assert_eq!(packets.len(), 3);

    let begin = packets[1].track_event.as_ref().unwrap();
    assert_eq!((packets[1].timestamp, begin.r#type, begin.track_uuid), (Some(1), BEGIN, Some(1)));
    assert_eq!(packets[1].sequence_flags, Some(2));
    let names = packets[1].interned_data.as_ref().unwrap();
    assert_eq!(names.event_names, [interned(1, "tR")]);
    let arg_names = ["start_ps", "duration_ps", "page", "shift", "share", "cached", "kind"];
    let arg_names: Vec<_> = (1..).zip(arg_names).map(|(n, name)| interned(n, name)).collect();
    assert_eq!(names.debug_annotation_names, arg_names);
    assert_eq!(begin.name_iid, Some(1));
    assert_eq!((&begin.flow_ids[..], &begin.terminating_flow_ids[..]), (&[7, 8][..], &[9][..]));
    let args = &begin.debug_annotations;
    assert_eq!(args[..3], [uint(1, 1_999), uint(2, 50_002), uint(3, 5)]);
    assert_eq!(args[3..].iter().map(|a| a.name_iid()).collect::<Vec<_>>(), [4, 5, 6, 7]);
    assert_eq!((args[3].int_value, args[4].double_value), (Some(-2), Some(0.5)));
    assert_eq!((args[5].bool_value, args[6].string_value()), (Some(false), "LSB"));

    let end = packets[2].track_event.as_ref().unwrap();
    assert_eq!((packets[2].timestamp, end.r#type, end.track_uuid), (Some(52), END, Some(1)));
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let mut timeline = started();
    let track = timeline.track(None, "t").unwrap();
    timeline
        .slice(track, 1_000, 2_000, &Event { name: "s", flows: &[Flow::Through(3)], args: &[], ..Event::default() })
        .unwrap();
    let written = timeline.finish().unwrap();
    // By hand from the format: each field is its number times 8 plus its wire type, then a value or length and bytes.
    let expected = [
        // A packet of 4 bytes: sequence 1, flags 3.
        &b"\x0a\x04\x50\x01\x68\x03"[..],
        // Of 16: sequence 1; field 60 of 11: track 1, "t", explicit order, rank 0, not merged.
        b"\x0a\x10\x50\x01\xe2\x03\x0b\x08\x01\x12\x01t\x58\x03\x60\x00\x78\x02",
        // Of 78: at 1 ns, sequence 1;
        b"\x0a\x4e\x40\x01\x50\x01",
        // an event of 30: name 1 is 1000, name 2 is 1000; a begin, name 1, track 1; field 47, eight bytes: flow 3;
        b"\x5a\x1e\x22\x05\x08\x01\x18\xe8\x07\x22\x05\x08\x02\x18\xe8\x07",
        b"\x48\x01\x50\x01\x58\x01\xf9\x02\x03\0\0\0\0\0\0\0",
        // names of 38: 1 is "s"; 1 is "start_ps", 2 is "duration_ps"; flags 2.
        b"\x62\x26\x12\x05\x08\x01\x12\x01s",
        b"\x1a\x0c\x08\x01\x12\x08start_ps\x1a\x0f\x08\x02\x12\x0bduration_ps\x68\x02",
        // Of 10: at 2 ns, sequence 1; an event of 4: an end, track 1.
        b"\x0a\x0a\x40\x02\x50\x01\x5a\x04\x48\x02\x58\x01",
    ];
    assert_eq!(written, expected.concat());
}

#[test]
fn slices_of_a_group_have_one_number_whatever_their_names() {
    let mut timeline = started();
    let track = timeline.track(None, "die").unwrap();
    let groups = [("gc read", Some("gc")), ("read", Some("host")), ("TON", None), ("gc program", Some("gc"))];
    for (n, (name, group)) in groups.into_iter().enumerate() {
        let at = n as u64 * 10_000;
        timeline.slice(track, at, at + 5_000, &Event { name, group, ..Event::default() }).unwrap();
    }
    let written = packets(timeline);
    let defined: Vec<_> = written
        .iter()
        .filter_map(|p| p.interned_data.as_ref())
        .flat_map(|new| new.correlation_id_str.clone())
        .collect();
    assert_eq!(defined, [interned(1, "gc"), interned(2, "host")]);
    let begun = written.iter().filter_map(|p| p.track_event.as_ref()).filter(|event| event.r#type == BEGIN);
    let numbers: Vec<_> = begun.map(|event| event.correlation_id_str_iid).collect();
    assert_eq!(numbers, [Some(1), Some(2), None, Some(1)]);
}

#[test]
fn names_are_written_once() {
    let mut timeline = started();
    let track = timeline.track(None, "die").unwrap();
    for (n, name) in ["tR", "tPROG", "tR"].into_iter().enumerate() {
        let at = n as u64 * 10_000;
        timeline.slice(track, at, at + 5_000, &named(name)).unwrap();
    }
    let packets = packets(timeline);
    let defined: Vec<_> = packets.iter().filter_map(|p| p.interned_data.as_ref()).collect();
    assert_eq!(defined.len(), 2);
    assert_eq!(defined[0].event_names, [interned(1, "tR")]);
    assert_eq!(defined[1].event_names, [interned(2, "tPROG")]);
    assert!(defined[1].debug_annotation_names.is_empty());
    let used: Vec<_> = packets.iter().filter_map(|p| p.track_event.as_ref()?.name_iid).collect();
    assert_eq!(used, [1, 2, 1]);
}

#[test]
fn slices_that_touch_within_a_nanosecond_stay_apart() {
    let mut timeline = started();
    let die = timeline.track(None, "die").unwrap();
    for (start, end) in [(0, 1_700), (1_700, 1_900), (1_900, 1_900), (1_900, 3_000)] {
        timeline.slice(die, start, end, &named("x")).unwrap();
    }
    let order: Vec<_> = events(timeline).into_iter().map(|(ns, event)| (ns, event.r#type)).collect();
    // Perfetto keeps the order of packets of the same time: each slice ends before the next begins.
    let expected = [(0, BEGIN), (1, END), (1, BEGIN), (1, END), (1, BEGIN), (1, END), (1, BEGIN), (3, END)];
    assert_eq!(order, expected);
}

#[test]
fn instants_and_counters() {
    let mut timeline = started();
    let host = timeline.track(None, "host").unwrap();
    let depth = timeline.counter(None, "depth", "requests").unwrap();
    timeline
        .instant(host, 12_345, &Event { name: "done", flows: &[Flow::End(3)], args: &[], ..Event::default() })
        .unwrap();
    for (at, value) in [(1_000, 3.0), (2_000, -1.0), (2_000, 1.25), (3_000, 1e300)] {
        timeline.count(depth, at, value).unwrap();
    }
    let events = events(timeline);
    let (at, instant) = &events[0];
    assert_eq!((*at, instant.r#type, &instant.terminating_flow_ids[..]), (12, INSTANT, &[3][..]));
    assert_eq!(instant.debug_annotations, [uint(1, 12_345)]);
    let values: Vec<_> =
        events[1..].iter().map(|(at, e)| (*at, e.r#type, e.counter_value, e.double_counter_value)).collect();
    let expected = [
        (1, COUNTER, Some(3), None),
        (2, COUNTER, Some(-1), None),
        (2, COUNTER, None, Some(1.25)),
        (3, COUNTER, None, Some(1e300)),
    ];
    assert_eq!(values, expected);
}

#[test]
fn an_overlap_is_refused_and_leaves_no_trace() {
    let mut timeline = started();
    let channel = timeline.track(None, "channel 1").unwrap();
    let die = timeline.track(Some(channel), "die 0").unwrap();
    let other = timeline.track(Some(channel), "die 1").unwrap();
    timeline.slice(die, 5_000, 9_001, &named("tR")).unwrap();
    // Another track is free; a picosecond too early on this one is too early.
    timeline.slice(other, 5_500, 6_000, &named("tR")).unwrap();
    let error = timeline.slice(die, 9_000, 12_000, &named("tPROG")).unwrap_err();
    let said = "slice 'tPROG' on track 'channel 1 / die 0' starts at 9000 ps, but the previous one ends at 9001 ps";
    assert_eq!(error.to_string(), said);
    assert!(matches!(error, TimelineError::Overlap { start: 9_000, busy_until: 9_001, .. }));
    timeline.slice(die, 9_001, 12_000, &named("tPROG")).unwrap();
    assert_eq!(events(timeline).len(), 6);
}

#[test]
fn times_and_tracks_that_do_not_fit_are_refused() {
    let mut timeline = started();
    let die = timeline.track(None, "die").unwrap();
    let depth = timeline.counter(None, "depth", "requests").unwrap();
    let error = timeline.slice(die, 5, 4, &named("tR")).unwrap_err();
    assert!(matches!(error, TimelineError::EndsBeforeStart { start: 5, end: 4, .. }), "{error}");
    timeline.count(depth, 10, 1.0).unwrap();
    let error = timeline.count(depth, 9, 1.0).unwrap_err();
    assert!(matches!(error, TimelineError::CounterGoesBack { time: 9, last: 10, .. }), "{error}");
    let errors = [
        timeline.slice(depth, 20, 30, &named("tR")).unwrap_err(),
        timeline.instant(depth, 20, &named("done")).unwrap_err(),
        timeline.count(die, 20, 1.0).unwrap_err(),
    ];
    let expected = [
        "track 'depth' is a counter, and takes no slice",
        "track 'depth' is a counter, and takes no instant",
        "track 'die' is no counter, and takes no value",
    ];
    assert_eq!(errors.map(|error| error.to_string()), expected);
}

/// A thousand slices on two tracks, into `writer`.
fn thousand<W: Write>(writer: W) -> Result<W, TimelineError> {
    let mut timeline = Timeline::new(writer)?;
    let dies = [timeline.track(None, "die 0")?, timeline.track(None, "die 1")?];
    for n in 0..1_000_u64 {
        let flows = [Flow::Through(n + 1)];
        let args = [("page", Arg::Uint(n)), ("kind", Arg::Text("LSB"))];
        let event = Event { name: "tR", flows: &flows, args: &args, ..Event::default() };
        timeline.slice(dies[n as usize % 2], n * 50_000_300, n * 50_000_300 + 40_000_700, &event)?;
    }
    timeline.finish()
}

#[test]
fn the_same_events_give_the_same_bytes() {
    let (one, two) = (thousand(Vec::new()).unwrap(), thousand(Vec::new()).unwrap());
    assert!(one == two);
    // Small: a slice with two annotations and a flow in less than 90 bytes.
    assert!(one.len() < 90_000, "{}", one.len());
    assert_eq!(Trace::decode(one.as_slice()).unwrap().packet.len(), 1 + 2 + 2_000);
}

/// Accepts this number of writes and then is full.
struct Disk {
    writes: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes = self.writes.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_written_leaves_memory_and_a_full_disk_is_an_error() {
    let rest = thousand(Disk { writes: 3 }).unwrap().writes;
    assert_eq!(rest, 1, "about 80 kB through a buffer of 64 KiB");
    for writes in 0..2 {
        let error = thousand(Disk { writes }).err().unwrap();
        let TimelineError::Io(cause) = &error else { panic!("{error}") };
        assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
    }
}
