//! Writes a small made-up timeline: reads of a drive with two channels of two dies.
//!
//! `cargo run -p wordline-timeline --example sample -- sample.pftrace`; ui.perfetto.dev shows the file.

use std::error::Error;
use std::fs::File;

use wordline_base::Time;
use wordline_timeline::{Arg, Event, Flow, Timeline};

const REQUESTS: u64 = 60;
/// A request arrives every 5 µs and half a nanosecond.
const BETWEEN: Time = 5_000_500;
const READ: Time = 12_345_678;
const TRANSFER: Time = 2_000_777;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file to write")?;
    let mut timeline = Timeline::new(File::create(path)?)?;
    let drive = timeline.track(None, "drive")?;
    let host = timeline.track(Some(drive), "host")?;
    let depth = timeline.counter(Some(drive), "requests under way", "requests")?;
    let mut channels = Vec::new();
    for channel in 0..2 {
        let track = timeline.track(Some(drive), &format!("channel {channel}"))?;
        let bus = timeline.track(Some(track), "bus")?;
        let dies = [timeline.track(Some(track), "array 0")?, timeline.track(Some(track), "array 1")?];
        channels.push((bus, dies));
    }

    let mut changes = Vec::new();
    for request in 0..REQUESTS {
        let (bus, dies) = channels[request as usize % 2];
        let die = dies[request as usize / 2 % 2];
        let arrival = request * BETWEEN;
        let ready = arrival + READ;
        let done = ready + TRANSFER;
        let (through, end) = ([Flow::Through(request + 1)], [Flow::End(request + 1)]);
        let args = [("page", Arg::Uint(request)), ("kind", Arg::Text(["LSB", "MSB"][request as usize / 4 % 2]))];
        timeline.slice(
            die,
            arrival,
            ready,
            &Event { name: "read", flows: &through, args: &args, ..Event::default() },
        )?;
        // Touches the read, often within the same nanosecond.
        timeline.slice(die, ready, done, &Event { name: "send", ..Event::default() })?;
        timeline.slice(
            bus,
            ready,
            done,
            &Event { name: "transfer", flows: &through, args: &args[..1], ..Event::default() },
        )?;
        timeline.instant(host, done, &Event { name: "complete", flows: &end, ..Event::default() })?;
        changes.extend([(arrival, 1.0), (done, -1.0)]);
    }

    changes.sort_by_key(|&(at, _)| at);
    let mut under_way = 0.0;
    for (at, change) in changes {
        under_way += change;
        timeline.count(depth, at, under_way)?;
    }
    timeline.finish()?;
    Ok(())
}
