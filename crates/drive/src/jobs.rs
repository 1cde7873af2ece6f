//! Figures of each job or stream of a workload, in addition to the totals.
//!
//! A workload with one stream has none and pays nothing for them. The rows are allocated when a run starts and never
//! grow in number.

use crate::drive::Completion;
use crate::result::latency;
use serde_json::{json, Map, Value};
use wordline_base::{Histogram, Op, Time};
use wordline_workload::Load;

/// Most rows: with more streams the clones of a job share one, and with more jobs or devices the last row is of all that are left.
pub const MOST_ROWS: usize = 64;

/// The figures of one row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the job, of its clone, of the trace, or of a device in the trace.
    pub name: String,
    /// The first of its streams.
    pub stream: usize,
    /// How many streams it is of.
    pub streams: usize,
    /// Which device of a trace it is of, in the order in which they appear.
    pub device: Option<u32>,
    /// How many jobs or devices it is of.
    of: usize,
    /// When its requests begin to be measured, in picoseconds; `Time::MAX` if it did not come so far.
    pub start: Time,
    /// Its last completion, or the end of its time if it lasted until then.
    pub end: Time,
    /// Latency by operation, in picoseconds.
    pub latency: [Histogram; 4],
    /// Bytes by operation.
    pub bytes: [u64; 4],
    /// Requests delayed by GC: an operation waited for a die that GC held.
    pub gc_affected: u64,
    waiting_sum: u128,
    waiting_max: Time,
}

impl Row {
    fn new(name: &str, stream: usize) -> Self {
        Self {
            name: name.to_owned(),
            stream,
            streams: 0,
            device: None,
            of: 1,
            start: Time::MAX,
            end: 0,
            latency: Default::default(),
            bytes: [0; 4],
            gc_affected: 0,
            waiting_sum: 0,
            waiting_max: 0,
        }
    }

    /// Completed requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.latency.iter().map(Histogram::count).sum()
    }

    #[inline]
    fn record(&mut self, done: &Completion) {
        let (op, waiting) = (done.request.op as usize, done.submitted - done.request.arrival);
        self.latency[op].record(done.time - done.request.arrival);
        self.bytes[op] += u64::from(done.request.bytes);
        self.gc_affected += u64::from(done.gc_affected);
        self.waiting_sum += u128::from(waiting);
        self.waiting_max = self.waiting_max.max(waiting);
        self.end = done.time;
    }

    /// What was measured until now is none of the figures.
    fn restart(&mut self, from: Time) {
        // One that has not begun yet begins later.
        let (start, end) =
            if self.start < Time::MAX { (self.start.max(from), self.start.max(from)) } else { (Time::MAX, 0) };
        let fresh = Self::new(&self.name, self.stream);
        *self = Self { streams: self.streams, device: self.device, of: self.of, start, end, ..fresh };
    }

    fn document(&self, origin: Time) -> Value {
        let began = self.start < Time::MAX;
        let seconds = if began { self.end.saturating_sub(self.start) as f64 / 1e12 } else { 0.0 };
        let per_second = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
        let at = |time: Time| began.then(|| time.saturating_sub(origin) as f64 / 1e12);
        let requests = self.requests();
        let mut all = Histogram::default();
        self.latency.iter().for_each(|histogram| all.merge(histogram));
        let (mut latencies, mut by_op) = (Map::new(), Map::new());
        latencies.insert("all".into(), latency(&all));
        for op in Op::ALL {
            let histogram = &self.latency[op as usize];
            if histogram.count() > 0 {
                latencies.insert(op.name().into(), latency(histogram));
                by_op
                    .insert(op.name().into(), json!({"requests": histogram.count(), "bytes": self.bytes[op as usize]}));
            }
        }
        let moved = self.bytes[Op::Read as usize] + self.bytes[Op::Write as usize];
        json!({
            "name": self.name,
            "stream": self.stream,
            "streams": self.streams,
            "device": self.device,
            "start_s": at(self.start),
            "end_s": at(self.end),
            "requests": requests,
            "iops": per_second(requests as f64),
            "bandwidth_mib_s": per_second(moved as f64) / 1_048_576.0,
            "by_op": by_op,
            "latency_us": latencies,
            "waiting_us": {
                "mean": if requests > 0 { self.waiting_sum as f64 / requests as f64 / 1e6 } else { 0.0 },
                "max": self.waiting_max as f64 / 1e6,
            },
            "gc_affected_requests": self.gc_affected,
        })
    }
}

/// The jobs, streams and devices of a run, each by itself.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// When the run began.
    origin: Time,
    rows: Vec<Row>,
    /// By stream: its row, or that of its first device.
    row_of: Vec<usize>,
    /// By slot: the device of the request in it; empty unless a trace tells its devices apart.
    device_in: Vec<u32>,
    /// Rows of devices.
    device_rows: usize,
}

impl Jobs {
    /// For a workload that starts at `origin`; none if it is of one stream alone.
    pub(crate) fn new(load: &Load, origin: Time) -> Option<Self> {
        let devices = load.streams.iter().map(|stream| stream.devices()).max().unwrap_or(0);
        if load.streams.len() < 2 && devices < 2 {
            return None;
        }
        let mut jobs = Self { origin, ..Self::default() };
        // The trace comes first, and takes no more than half of the rows.
        jobs.device_rows = if devices > 1 { devices.min(MOST_ROWS / 2) } else { 0 };
        let by_clone = jobs.device_rows + load.streams.len() <= MOST_ROWS;
        let mut last_job = None;
        for (index, stream) in load.streams.iter().enumerate() {
            if stream.devices() > 1 {
                jobs.row_of.push(0);
                for device in 0..jobs.device_rows {
                    jobs.rows.push(Row { device: Some(device as u32), streams: 1, ..Row::new(&stream.name, index) });
                }
                jobs.rows[jobs.device_rows - 1].of = devices + 1 - jobs.device_rows;
                continue;
            }
            let clone = stream.job.is_some() && stream.job == last_job;
            if clone && (!by_clone || stream.manner.together) {
                // It joins the clone before it.
            } else if jobs.rows.len() == MOST_ROWS {
                jobs.rows[MOST_ROWS - 1].of += 1;
            } else {
                let shared = !by_clone || stream.manner.together;
                let job = stream.job.filter(|_| shared).map(|job| &load.description["jobs"][job]["name"]);
                let name = job.and_then(Value::as_str).unwrap_or(&stream.name);
                jobs.rows.push(Row::new(name, index));
            }
            last_job = stream.job;
            jobs.row_of.push(jobs.rows.len() - 1);
            jobs.rows.last_mut().expect("a row was made").streams += 1;
        }
        Some(jobs)
    }

    /// The rows, in the order of the workload.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn rows_of(&mut self, stream: usize) -> &mut [Row] {
        let first = self.row_of[stream];
        let count = if self.rows[first].device.is_some() { self.device_rows } else { 1 };
        &mut self.rows[first..first + count]
    }

    /// A stream starts.
    pub(crate) fn started(&mut self, stream: usize, at: Time) {
        for row in self.rows_of(stream) {
            row.start = row.start.min(at);
            row.end = row.end.max(row.start);
        }
    }

    /// A request of a stream got a slot.
    #[inline]
    pub(crate) fn submitted(&mut self, slot: u32, device: u32) {
        if self.device_rows > 0 {
            let slot = slot as usize;
            // It grows with the slots in use, and no further.
            if slot >= self.device_in.len() {
                self.device_in.resize(slot + 1, 0);
            }
            self.device_in[slot] = device;
        }
    }

    /// A request is done.
    #[inline]
    pub(crate) fn completed(&mut self, done: &Completion) {
        let mut at = self.row_of[usize::from(done.request.stream)];
        if self.rows[at].device.is_some() {
            at += (self.device_in[done.slot as usize] as usize).min(self.device_rows - 1);
        }
        self.rows[at].record(done);
    }

    /// The time of a stream is over.
    #[cold]
    pub(crate) fn ended(&mut self, stream: usize, end: Time) {
        for row in self.rows_of(stream) {
            row.end = row.end.max(end);
        }
    }

    /// All figures begin at `from`.
    pub(crate) fn restart(&mut self, from: Time) {
        self.rows.iter_mut().for_each(|row| row.restart(from));
    }

    /// Names the devices of a trace, which are known when it has been read, and the row of what is left.
    pub(crate) fn name(&mut self, devices: &[String]) {
        for row in &mut self.rows {
            if let Some(name) = row.device.and_then(|device| devices.get(device as usize)) {
                name.clone_into(&mut row.name);
            }
            if row.of > 1 {
                row.name = format!("{} and {} more", row.name, row.of - 1);
            }
        }
    }

    /// As the result has them.
    #[must_use]
    pub fn document(&self) -> Value {
        self.rows.iter().map(|row| row.document(self.origin)).collect()
    }
}
