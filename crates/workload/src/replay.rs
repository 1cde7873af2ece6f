//! The requests of a replayed trace: paced, looped and mapped to the drive.

use crate::address::{AddressMap, NoPlace, Piece};
use crate::compress::is_pipe;
use crate::error::{option, WorkloadError};
use crate::files;
use crate::look::explained;
use crate::members::{members_of, Space};
use crate::number::seconds;
use crate::options::{Devices, Pace, PastEnd, TraceOptions};
use crate::progress::{Reading, Watch, REPORTED};
use crate::reader::detect::Detected;
use crate::reader::{LeftOut, Record, TraceReader};
use std::path::{Path, PathBuf};
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Request, Time};

/// Range of the replay speed.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// What a stream says of itself beside its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Requests left out or changed so far, in this loop.
    pub left_out: LeftOut,
    /// Devices seen so far, in this loop.
    pub devices: usize,
    /// Finished loops.
    loops: u32,
    /// How far the reading of the files has come.
    place: (usize, u64),
    finished: bool,
}

/// Replays a trace.
pub(crate) struct TraceStream {
    path: PathBuf,
    options: TraceOptions,
    reader: TraceReader,
    map: AddressMap,
    stream: u16,
    /// True if the trace is a pipe.
    once: bool,
    /// Second half of a request that was split at the end of the drive.
    rest: Option<(Piece, Request)>,
    /// Finished loops.
    loops: u32,
    /// Traced time at which this loop started, and of the last request in this loop.
    begin: u128,
    last: u128,
    /// Requests of this loop, and of all.
    in_loop: u64,
    done: u64,
    finished: bool,
    /// Device of the last request.
    device: u32,
}

impl TraceStream {
    /// Opens the trace for these addresses.
    pub fn open(path: &Path, options: &TraceOptions, space: &Space, stream: u16) -> Result<Self, WorkloadError> {
        check_speed(options.speed)?;
        if options.loops == 0 {
            return Err(option("trace.loops", 0, "must be at least 1"));
        }
        if options.iodepth == Some(0) {
            return Err(option("trace.iodepth", 0, "must be at least 1"));
        }
        if options.extent_bytes == Some(0) {
            return Err(option("trace.extent_bytes", 0, "must be the size of the traced device in bytes"));
        }
        let stack = options.devices == Devices::Stack;
        let members = options.devices == Devices::Members;
        if members && space.members() == 0 {
            let problem =
                "needs an array of joined drives (array.kind = \"join\"); on anything else use \"merge\" or \"stack\"";
            return Err(option("trace.devices", "\"members\"", problem));
        }
        if !members && !options.member_devices.is_empty() {
            let given = format!("{:?}", options.member_devices);
            return Err(option(
                "trace.member_devices",
                given,
                "goes with `devices = \"members\"`, and without effect otherwise",
            ));
        }
        let scale = options.past_end == PastEnd::Scale;
        if let Some(bytes) = options.extent_bytes.filter(|_| !scale) {
            let problem = "is used only by `past_end = \"scale\"`, to scale addresses from; leave it out";
            return Err(option("trace.extent_bytes", bytes, problem));
        }
        if let Some(bytes) = options.extent_bytes.filter(|_| members) {
            let problem = "is the size of one device, and each of several has its own; leave it out";
            return Err(option("trace.extent_bytes", bytes, problem));
        }
        let scan = stack || members || (scale && options.extent_bytes.is_none());
        let pipe = files::expand(path, options).ok().filter(|_| options.table.is_none());
        if pipe.is_some_and(|files| files.iter().any(|file| is_pipe(file))) {
            let through = "the trace is a pipe, which can be read only once; write it to a file first";
            if options.loops > 1 {
                return Err(option("trace.loops", options.loops, through));
            }
            if scan && scale {
                let problem = format!("{through}, or give `extent_bytes`, the size of the traced device");
                return Err(option("trace.past_end", "\"scale\"", problem));
            }
            if scan {
                let devices = if stack { "\"stack\"" } else { "\"members\"" };
                return Err(option("trace.devices", devices, through));
            }
        }
        let (extents, names) = match scan {
            true => extents(path, options)?,
            false => (Vec::new(), Vec::new()),
        };
        let map = if members {
            let member_of = members_of(&names, options, space.members())?;
            AddressMap::on_members(options.past_end, &space.starts, &extents, &member_of)
        } else {
            AddressMap::new(options.past_end, space.bytes, &extents, stack, options.extent_bytes)
        };
        let reader = TraceReader::open(path, options)?;
        check_pace(options, reader.timed())?;
        Ok(Self {
            path: path.to_owned(),
            options: options.clone(),
            once: reader.is_once(),
            reader,
            map,
            stream,
            rest: None,
            loops: 0,
            begin: 0,
            last: 0,
            in_loop: 0,
            done: 0,
            finished: false,
            device: 0,
        })
    }

    pub fn detected(&self) -> &Detected {
        self.reader.detected()
    }

    /// True if the trace has time stamps.
    pub fn timed(&self) -> bool {
        self.reader.timed()
    }

    /// The trace's files.
    pub fn files(&self) -> &[PathBuf] {
        self.reader.files()
    }

    /// Number of stacked devices; 0 if they share their addresses.
    pub fn stacked(&self) -> usize {
        self.map.stacked()
    }

    /// Device of the last request.
    #[inline]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Names of the devices seen so far.
    pub fn device_names(&self) -> &[String] {
        self.reader.devices()
    }

    /// Requests left out or changed so far, in this loop.
    pub fn left_out(&self) -> LeftOut {
        self.reader.left_out()
    }

    /// Size of the traced device when addresses are scaled.
    pub fn extent(&self) -> Option<u64> {
        (self.options.past_end == PastEnd::Scale).then(|| self.map.extent())
    }

    /// The next requests, `most` at most, as long as they are as most are: of lines of the usual kind, in one piece on the drive. With them
    /// changes nothing of what the stream says of itself. They are given one by one, with their devices. If there is none, that says
    /// nothing: then [`TraceStream::next_otherwise`] has the next one.
    #[inline]
    pub fn give_at_once(&mut self, most: usize, mut give: impl FnMut(Request, u32)) {
        if self.rest.is_some() {
            return;
        }
        let most = self.options.limit.map_or(most, |limit| (most as u64).min(limit.saturating_sub(self.done)) as usize);
        let Some((lines, base, mut last)) = self.reader.usual() else { return };
        let mut count = 0;
        for line in lines.iter().take(most) {
            let Some(record) = Record::of_usual(line, base, last) else { break };
            let Ok(arrival) = arrival(&self.options, self.begin + record.time_ps) else { break };
            let Some((offset, bytes)) = self.map.piece(record.device, record.offset, record.bytes) else { break };
            give(
                Request { arrival, offset, bytes, op: record.op, fua: record.fua, stream: self.stream },
                record.device,
            );
            self.device = record.device;
            last = line.parsed.time;
            count += 1;
        }
        if count > 0 {
            self.reader.take(count, last);
            self.last = last - base;
            self.in_loop += count as u64;
            self.done += count as u64;
        }
    }

    /// The next request, likewise.
    #[inline]
    pub fn next_at_once(&mut self) -> Option<Request> {
        let mut next = None;
        self.give_at_once(1, |request, _| next = Some(request));
        next
    }

    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        match self.next_at_once() {
            Some(request) => Ok(Some(request)),
            None => self.next_otherwise(),
        }
    }

    /// The next request, whatever it is.
    #[inline(never)]
    pub fn next_otherwise(&mut self) -> Result<Option<Request>, WorkloadError> {
        if let Some(((offset, bytes), request)) = self.rest.take() {
            return Ok(Some(Request { offset, bytes, ..request }));
        }
        if self.finished || self.options.limit.is_some_and(|limit| self.done >= limit) {
            return Ok(None);
        }
        loop {
            if let Some(record) = self.reader.next_record()? {
                return self.request(record).map(Some);
            }
            if !self.rewind()? {
                self.finished = true;
                return Ok(None);
            }
        }
    }

    #[inline]
    fn request(&mut self, record: Record) -> Result<Request, WorkloadError> {
        self.count(record);
        let arrival = arrival(&self.options, self.begin + record.time_ps).map_err(|arrival| self.too_late(arrival))?;
        let mut request = Request { arrival, offset: 0, bytes: 0, op: record.op, fua: record.fua, stream: self.stream };
        if record.op != Op::Flush {
            match self.map.place(record.device, record.offset, record.bytes) {
                Ok(((offset, bytes), rest)) => {
                    (request.offset, request.bytes) = (offset, bytes);
                    self.rest = rest.map(|piece| (piece, request));
                }
                Err(no_place) => return Err(self.no_place(record, no_place)),
            }
        }
        Ok(request)
    }

    #[inline]
    fn count(&mut self, record: Record) {
        self.last = record.time_ps;
        self.device = record.device;
        self.in_loop += 1;
        self.done += 1;
    }

    #[cold]
    fn too_late(&self, arrival: u128) -> WorkloadError {
        self.reader.bad(
            "time",
            format!(
                "this request would arrive {} s after the first; simulated time ends at 9223372 s (106 days). Check \
                 the unit of time, raise `speed`, or end earlier by `limit` or `loops`",
                seconds(arrival)
            ),
        )
    }

    #[cold]
    fn no_place(&self, record: Record, no_place: NoPlace) -> WorkloadError {
        let drive = self.map.drive(record.device);
        let problem = match no_place {
            NoPlace::PastEnd { .. } if self.options.past_end == PastEnd::Scale => format!(
                "{} + {} bytes lies beyond extent_bytes = {}, the traced device's size to scale from; leave `extent_bytes` \
                 out to take the highest byte of the trace",
                record.offset,
                record.bytes,
                self.map.extent()
            ),
            NoPlace::PastEnd { end } => format!(
                "{} + {} bytes ends at byte {end} and the drive has {drive} bytes. There are three ways to take this, given as \
                 --past-end or as `past_end` in [trace] of a workload file:\n  error  refuse it (the default)\n  wrap   take \
                 addresses modulo the drive's size\n  scale  shrink or stretch all addresses by drive size / trace size",
                record.offset, record.bytes
            ),
            NoPlace::TooLarge => format!("a request of {} bytes is larger than the drive of {drive} bytes", record.bytes),
        };
        self.reader.bad("offset", problem)
    }

    /// Reads the trace once like a replay, up to the request that arrives at `end`, and reports its errors. Returns
    /// `false` if `watch` stopped the reading.
    ///
    /// # Errors
    /// As for a replay, but an error of time running backwards names the option that sorts the trace.
    pub fn look(&self, end: Option<Time>, watch: Watch<'_>) -> Result<bool, WorkloadError> {
        if self.reader.is_once() {
            return Ok(true);
        }
        let (path, options) = (&self.path, TraceOptions { loops: 1, ..self.options.clone() });
        let stamps = options.pace == Pace::Timestamps && self.timed();
        let mut once = Self {
            path: path.clone(),
            reader: TraceReader::open(path, &options)?,
            options,
            map: self.map.clone(),
            stream: self.stream,
            device: self.device,
            once: false,
            rest: None,
            loops: 0,
            begin: 0,
            last: 0,
            in_loop: 0,
            done: 0,
            finished: false,
        };
        loop {
            let request = match once.next() {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(error) => {
                    return explained(error, &once.reader, path, &once.options, watch).map_or(Ok(false), Err);
                }
            };
            if stamps && end.is_some_and(|end| request.arrival >= end) {
                return Ok(true);
            }
            if once.done.is_multiple_of(REPORTED)
                && !watch(Reading { fraction: once.progress().unwrap_or(0.0), requests: once.done })
            {
                return Ok(false);
            }
        }
        if stamps && once.finished && end.is_none() {
            self.check_loops(&once)?;
        }
        Ok(true)
    }

    /// Checks that all loops of a trace that has been read `once` end before the end of simulated time.
    fn check_loops(&self, once: &Self) -> Result<(), WorkloadError> {
        let limit = self.options.limit.map_or(u64::MAX, |limit| limit.div_ceil(once.in_loop.max(1)));
        let loops = u128::from(limit.min(self.options.loops.into()));
        let length = once.last + once.last / u128::from(once.in_loop.saturating_sub(1)).max(1);
        // How far a limit reaches into its last loop is not known.
        let last = if self.options.limit.is_none() { once.last } else { 0 };
        let end = (loops - 1).saturating_mul(length).saturating_add(last) as f64 / self.options.speed;
        if end <= END_OF_TIME as f64 {
            return Ok(());
        }
        let most = (END_OF_TIME as f64 * self.options.speed - last as f64) / length as f64 + 1.0;
        let most = most as u64;
        let problem = format!(
            "one loop takes {} s, and simulated time ends at 9223372 s (106 days); give {most} at most, or raise `speed`",
            seconds((length as f64 / self.options.speed) as u128)
        );
        Err(option("trace.loops", self.options.loops, problem))
    }

    /// Goes back to the start of the trace for the next loop; `false` when all loops are done.
    #[cold]
    fn rewind(&mut self) -> Result<bool, WorkloadError> {
        self.loops += 1;
        if self.loops >= self.options.loops {
            return Ok(false);
        }
        let gaps = u128::from(self.in_loop - 1).max(1);
        self.begin = self.begin.saturating_add(self.last + self.last / gaps);
        self.in_loop = 0;
        self.last = 0;
        self.reader = TraceReader::open(&self.path, &self.options)?;
        Ok(true)
    }

    /// Lets all lines go the general way, to compare both.
    #[cfg(test)]
    pub fn read_slowly(&mut self) {
        self.reader.read_slowly();
    }

    /// True if a thread of its own can read it: it comes from files, which never let their reader wait for a writer.
    pub fn may_be_ahead(&self) -> bool {
        self.options.table.is_none() && !self.once
    }

    /// True if the next request is the second half of the last one.
    #[inline]
    pub fn is_split(&self) -> bool {
        self.rest.is_some()
    }

    /// The most requests that it gives.
    pub fn limit(&self) -> Option<u64> {
        self.options.limit
    }

    /// Requests so far; both halves of a request are one.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// What it says of itself at this moment.
    #[inline]
    pub fn standing(&self) -> Standing {
        Standing {
            left_out: self.reader.left_out(),
            devices: self.reader.devices().len(),
            loops: self.loops,
            place: self.reader.place(),
            finished: self.finished,
        }
    }

    /// Share of all loops already read, by bytes of the file; it changes only with [`TraceStream::standing`].
    pub fn read(&self) -> f64 {
        if self.finished {
            return 1.0;
        }
        (f64::from(self.loops) + self.reader.progress()) / f64::from(self.options.loops)
    }

    /// Share of the trace already read, by bytes of the file or by `limit`, whichever is larger.
    pub fn progress(&self) -> Option<f64> {
        if self.finished {
            return Some(1.0);
        }
        if self.once {
            return self.options.limit.map(|limit| (self.done as f64 / limit.max(1) as f64).min(1.0));
        }
        Some(share(self.read(), self.done, self.options.limit))
    }
}

/// When a request arrives that has this time in all loops; an error with the arrival if that is beyond the end of simulated time.
#[inline]
fn arrival(options: &TraceOptions, traced: u128) -> Result<Time, u128> {
    if options.pace == Pace::Asap {
        return Ok(0);
    }
    // At the recorded speed times stay exact; otherwise they are exact to one part in 2^53, and in order.
    let arrival = if options.speed == 1.0 { traced } else { (traced as f64 / options.speed) as u128 };
    Time::try_from(arrival).ok().filter(|&arrival| arrival <= END_OF_TIME).ok_or(arrival)
}

/// Share of a trace already replayed, of which the share `read` has been read, after `done` requests.
pub(crate) fn share(read: f64, done: u64, limit: Option<u64>) -> f64 {
    let by_limit = limit.map_or(0.0, |limit| done as f64 / limit.max(1) as f64);
    read.max(by_limit).min(1.0)
}

/// Checks a factor of speed.
pub(crate) fn check_speed(speed: f64) -> Result<(), WorkloadError> {
    if SPEEDS.contains(&speed) {
        return Ok(());
    }
    Err(option(
        "trace.speed",
        short(speed),
        "must be above 0, from 0.000001 to 1000000; 2.0 makes all times half as long",
    ))
}

/// A number for a message, without hundreds of digits.
fn short(number: f64) -> String {
    let plain = number.to_string();
    if plain.len() > 20 {
        format!("{number:e}")
    } else {
        plain
    }
}

/// Checks that the options of pacing apply to this pace.
fn check_pace(options: &TraceOptions, timed: bool) -> Result<(), WorkloadError> {
    let stamps = options.pace == Pace::Timestamps && timed;
    if let Some(iodepth) = options.iodepth.filter(|_| stamps) {
        let problem = "has no effect at `pace = \"timestamps\"`, where requests are sent at their times; `pace = \
            \"asap\"` (--pace \
                       asap) sends them by the queue";
        return Err(option("trace.iodepth", iodepth, problem));
    }
    if options.speed != 1.0 && !stamps {
        let why =
            if timed { "at `pace = \"asap\"`, where times do not count" } else { "in a trace without time stamps" };
        return Err(option("trace.speed", options.speed, format!("has no effect {why}; leave it out")));
    }
    Ok(())
}

/// The end of the highest request of each device, found by reading the trace once.
fn extents(path: &Path, options: &TraceOptions) -> Result<(Vec<u64>, Vec<String>), WorkloadError> {
    let mut reader = TraceReader::open(path, options)?;
    let mut extents: Vec<u64> = Vec::new();
    while let Some(record) = reader.next_record()? {
        let device = record.device as usize;
        if device >= extents.len() {
            extents.resize(device + 1, 0);
        }
        extents[device] = extents[device].max(record.offset + u64::from(record.bytes));
    }
    // A trace may name devices that have no request.
    extents.resize(extents.len().max(reader.devices().len()), 0);
    Ok((extents, reader.devices().to_vec()))
}
