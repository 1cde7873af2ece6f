//! A whole workload: the streams of a workload file, opened for one drive.

use crate::ahead::Replay;
use crate::error::{option, WorkloadError};
use crate::job::JobOptions;
use crate::members::Space;
use crate::options::{Pace, TraceOptions};
use crate::plan::{option_ps, JobPlan};
use crate::progress::Reading;
use crate::rates::Rates;
use crate::reader::LeftOut;
use crate::replay::TraceStream;
use crate::steady::{steady, Steady};
use crate::synth::JobStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use wordline_base::{Request, Time};

/// A workload file: a trace, jobs, or both side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoadFile {
    /// A trace to replay.
    pub trace: Option<TraceOptions>,
    /// Synthetic jobs, side by side.
    pub job: Vec<JobOptions>,
    /// Time limit of the run in seconds: no request is sent after it, even if trace or jobs are not finished.
    pub runtime_s: Option<f64>,
}

/// Send times of the requests of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Each at its arrival.
    Timestamps,
    /// One after another as soon as the drive's queue has room, and at most `iodepth` in flight if given.
    AsFast {
        /// Most requests in flight.
        iodepth: Option<u32>,
    },
    /// `iodepth` requests in flight: each completion sends the next.
    Closed {
        /// Requests in flight.
        iodepth: u32,
    },
    /// Each at its arrival by the rate, with at most `iodepth` in flight.
    Rate {
        /// Requests per second.
        iops: f64,
        /// Most requests in flight.
        iodepth: u32,
    },
}

enum Source {
    Trace(Box<Replay>),
    Job(Box<JobStream>),
}

/// A stream of requests in send order.
pub struct LoadStream {
    /// Name of the job or file name of the trace.
    pub name: String,
    /// When to send.
    pub pacing: Pacing,
    /// Start, in ps since the start of the run.
    pub start: Time,
    /// End of sending. A stream with arrivals (`Timestamps`, `Rate`) gives no request from then on; the caller checks
    /// requests that are sent later than they arrive.
    pub end: Option<Time>,
    /// True if it ended at that time.
    pub timed_out: bool,
    /// Job of the workload that this is a clone of; `None` for a trace.
    pub job: Option<usize>,
    /// Data for the run loop besides the requests.
    pub manner: Manner,
    source: Source,
}

impl LoadStream {
    /// The next request; `None` at the end of the stream.
    ///
    /// Its arrival is the time to send it under `Timestamps` and `Rate`; under `AsFast` and `Closed` it is the start of the
    /// stream and the caller decides.
    ///
    /// # Errors
    /// On a bad line of a trace, a request beyond the drive, or an arrival beyond the end of simulated time. Do not use
    /// the stream after an error.
    #[allow(
        clippy::should_implement_trait,
        reason = "fallible; an iterator of results would suggest continuing after an error"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = match &mut self.source {
            Source::Trace(trace) => trace.next()?,
            Source::Job(job) => {
                let request = job.next()?;
                self.timed_out |= request.is_none() && job.timed_out();
                request
            }
        };
        if let (Some(request), Some(end), Pacing::Timestamps | Pacing::Rate { .. }) = (&request, self.end, self.pacing)
        {
            if request.arrival >= end {
                self.timed_out = true;
                return Ok(None);
            }
        }
        Ok(request)
    }

    /// The next request of a stream whose next one is known without a look at anything else; `None` says nothing: then
    /// [`LoadStream::next`] has it.
    #[inline]
    pub fn next_at_once(&mut self) -> Option<Request> {
        match &mut self.source {
            // A stream that has an end compares each arrival with it.
            Source::Trace(trace) if self.end.is_none() => trace.next_at_once(),
            Source::Trace(_) => None,
            Source::Job(job) => job.next_at_once(),
        }
    }

    /// Number of stacked devices of a trace; 1 for any other stream.
    #[must_use]
    pub fn devices(&self) -> usize {
        match &self.source {
            Source::Trace(trace) => trace.stacked().max(1),
            Source::Job(_) => 1,
        }
    }

    /// The device of the last request, as an index into [`LoadStream::device_names`]; 0 for a job.
    #[inline]
    #[must_use]
    pub fn device(&self) -> u32 {
        match &self.source {
            Source::Trace(trace) => trace.device(),
            Source::Job(_) => 0,
        }
    }

    /// Names of the devices of a trace that have been read so far, in order of first appearance.
    #[must_use]
    pub fn device_names(&self) -> &[String] {
        match &self.source {
            Source::Trace(trace) => trace.device_names(),
            Source::Job(_) => &[],
        }
    }

    /// Share of the stream already returned, 0 to 1; `None` for a stream limited only by time.
    #[must_use]
    pub fn progress(&self) -> Option<f64> {
        match &self.source {
            Source::Trace(trace) => trace.progress(),
            Source::Job(job) => job.progress(),
        }
    }

    /// Requests of a trace left out or changed while reading, in its last loop; `None` for a job.
    #[must_use]
    pub fn left_out(&self) -> Option<LeftOut> {
        match &self.source {
            Source::Trace(trace) => Some(trace.left_out()),
            Source::Job(_) => None,
        }
    }
}

/// Start, grouping and measurement of a stream beside the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manner {
    /// It starts when all streams before it have ended.
    pub stonewall: bool,
    /// Unmeasured ramp after its start, in ps.
    pub ramp: Time,
    /// Requests between two think times, and picoseconds of a think time, which starts when they have completed.
    pub think: Option<(u32, Time)>,
    /// Reporting group, from 0.
    pub group: u32,
    /// True if it is reported and judged together with its group.
    pub together: bool,
    /// Criterion of steady state, which ends it.
    pub steady: Option<Steady>,
}

/// All streams of a workload file.
pub struct Load {
    /// The trace first, then the jobs in order, each repeated `numjobs` times. A request's `stream` is its stream's
    /// index here.
    pub streams: Vec<LoadStream>,
    /// The opened workload, resolved: file name, format and how it was recognised, regions and sizes in bytes. Part of
    /// a run's results and digest, so it contains nothing about the machine.
    pub description: Value,
}

impl Load {
    /// Opens `spec` for a drive of `drive_bytes` bytes. Relative file names start at `base_dir`; `seed` is the run's.
    ///
    /// # Errors
    /// An option is invalid or does not fit the drive, or a trace cannot be opened.
    pub fn open(spec: &LoadFile, base_dir: &Path, drive_bytes: u64, seed: u64) -> Result<Load, WorkloadError> {
        Self::open_on(spec, base_dir, &Space::whole(drive_bytes), seed)
    }

    /// As [`Load::open`], for the addresses of a drive or an array.
    ///
    /// # Errors
    /// As there.
    pub fn open_on(spec: &LoadFile, base_dir: &Path, space: &Space, seed: u64) -> Result<Load, WorkloadError> {
        let drive_bytes = space.bytes;
        if spec.trace.is_none() && spec.job.is_empty() {
            return Err(option("workload", "empty", "give a [trace], one or more [[job]], or both"));
        }
        let total_end = spec.runtime_s.map(|seconds| option_ps("runtime_s", seconds)).transpose()?;
        let mut streams = Vec::new();
        let mut description = serde_json::Map::new();
        if let Some(options) = &spec.trace {
            let (stream, text) = open_trace(options, base_dir, space)?;
            streams.push(stream);
            description.insert("trace".to_owned(), text);
        }
        let mut jobs = Vec::new();
        let mut plans = Vec::new();
        let mut group = 0;
        for (index, job) in spec.job.iter().enumerate() {
            let plan = JobPlan::new(job, index, 0, drive_bytes, seed)?;
            if jobs.iter().any(|other: &Value| other["name"] == plan.name.as_str()) {
                return Err(option("job.name", format!("{:?}", plan.name), "two jobs have this name"));
            }
            if streams.len() + job.numjobs as usize > usize::from(u16::MAX) {
                return Err(option("job.numjobs", job.numjobs, "at most 65535 streams are possible in total"));
            }
            jobs.push(plan.describe());
            plans.push(plan.clone());
            group += u32::from((job.stonewall || job.new_group) && !streams.is_empty());
            let steady = steady(job, &plan.name)?;
            for clone in 0..job.numjobs {
                // Only the offset may differ from clone to clone.
                let plan = match (clone, &job.offset_increment) {
                    (0, _) | (_, None) => plan.clone(),
                    _ => JobPlan::new(job, index, clone, drive_bytes, seed)?,
                };
                let manner = Manner {
                    stonewall: job.stonewall && clone == 0,
                    ramp: plan.ramp,
                    think: (job.thinktime_us > 0.0)
                        .then_some((job.thinktime_blocks, (job.thinktime_us * 1e6).round() as Time)),
                    group,
                    together: job.group_reporting,
                    steady: steady.clone(),
                };
                streams.push(LoadStream { job: Some(index), manner, ..open_job(plan, job, clone, streams.len()) });
            }
        }
        check_ramps(spec, &plans, total_end)?;
        if !jobs.is_empty() {
            description.insert("jobs".to_owned(), Value::Array(jobs));
        }
        for stream in &mut streams {
            stream.end = stream.end.into_iter().chain(total_end).min();
        }
        let mut options = serde_json::to_value(spec).unwrap_or(Value::Null);
        if let (Some(trace), Some(told)) = (&spec.trace, options.get_mut("trace")) {
            told["file"] = name_of(&trace.file).into();
            told["files"] = trace.files.iter().map(|file| name_of(file)).collect();
        }
        description.insert("options".to_owned(), options);
        Ok(Load { streams, description: Value::Object(description) })
    }
}

impl Load {
    /// Says whether a thread of its own reads the trace while its first requests are used, and not how many processors there
    /// are. It makes no difference but to the time that a run takes. A trace that is a pipe or a table never has such a thread.
    pub fn read_ahead(&mut self, ahead: bool) {
        for stream in &mut self.streams {
            if let Source::Trace(trace) = &mut stream.source {
                trace.read_ahead(ahead);
            }
        }
    }

    /// Reads its trace once, if it has one, to find errors of a replay before the drive is preconditioned. `watch` gets
    /// the progress; returns `false` if it stops the reading.
    ///
    /// # Errors
    /// As [`LoadStream::next`]; an error of time running backwards names the option that sorts the trace.
    pub fn look(&self, watch: &mut dyn FnMut(Reading) -> bool) -> Result<bool, WorkloadError> {
        for stream in &self.streams {
            if let Source::Trace(trace) = &stream.source {
                if !trace.look(stream.end, watch)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Refuses a workload whose rates and times end it before any of its jobs is measured.
fn check_ramps(spec: &LoadFile, plans: &[JobPlan], total_end: Option<Time>) -> Result<(), WorkloadError> {
    let walls = spec.job.iter().skip(1).any(|job| job.stonewall) || spec.job.first().is_some_and(|job| job.stonewall);
    let Some(first) = plans.iter().min_by_key(|plan| plan.start + plan.ramp) else { return Ok(()) };
    let from = first.start + first.ramp;
    // Beside a trace all is measured, and behind a wall there is no telling when a job begins.
    if spec.trace.is_some() || walls || first.ramp == 0 {
        return Ok(());
    }
    let seconds = |ps: f64| ps / 1e12;
    let refuse = |why: String| {
        let key = format!("job.{}.ramp_time_s", first.name);
        Err(option(&key, seconds(first.ramp as f64), format!("{why}; give the job more to do, or a shorter ramp_time")))
    };
    if let Some(end) = total_end.filter(|&end| end <= from) {
        return refuse(format!(
            "the workload ends after runtime_s = {}, before any job is measured",
            seconds(end as f64)
        ));
    }
    let ends: Option<Vec<f64>> = plans.iter().map(JobPlan::last_arrival).collect();
    let Some(end) = ends.and_then(|ends| ends.into_iter().reduce(f64::max)).filter(|&end| end < from as f64) else {
        return Ok(());
    };
    refuse(format!(
        "at its rate, the workload sends its last request after {:.6} s, before any job is measured",
        seconds(end)
    ))
}

/// A file's name without its folder: the same on every machine.
fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a trace of these files.
fn trace_name(path: &Path, files: &[PathBuf]) -> String {
    match files {
        [file] => name_of(file),
        [file, more @ ..] => format!("{} and {} more", name_of(file), more.len()),
        // A table has the name that its owner gave it.
        [] => name_of(path),
    }
}

fn open_trace(options: &TraceOptions, base: &Path, space: &Space) -> Result<(LoadStream, Value), WorkloadError> {
    if options.file.as_os_str().is_empty() && options.files.is_empty() {
        return Err(option("trace.file", "\"\"", "name the trace to replay"));
    }
    let path = base.join(&options.file);
    let trace = TraceStream::open(&path, options, space, 0)?;
    let detected = trace.detected().clone();
    let name = trace_name(&path, trace.files());
    let mut text = json!({
        "file": name,
        "format": detected.format.name(),
        "compression": detected.compression.name(),
        "reason": detected.reason,
        "stand_in": detected.stand_in,
        "timed": trace.timed(),
        "scaled_from_bytes": trace.extent(),
    });
    if trace.files().len() > 1 {
        text["files"] = trace.files().iter().map(|file| name_of(file)).collect();
    }
    let stream = LoadStream {
        name,
        pacing: match options.pace {
            Pace::Timestamps if trace.timed() => Pacing::Timestamps,
            // Without time stamps there is nothing else to go by.
            _ => Pacing::AsFast { iodepth: options.iodepth },
        },
        start: 0,
        end: None,
        timed_out: false,
        job: None,
        manner: Manner::default(),
        source: Source::Trace(Box::new(Replay::new(trace))),
    };
    Ok((stream, text))
}

fn open_job(plan: JobPlan, job: &JobOptions, clone: u32, at: usize) -> LoadStream {
    LoadStream {
        name: if job.numjobs > 1 { format!("{}.{clone}", plan.name) } else { plan.name.clone() },
        pacing: match plan.rates.as_ref().map(Rates::iops) {
            Some(iops) => Pacing::Rate { iops, iodepth: plan.iodepth },
            None => Pacing::Closed { iodepth: plan.iodepth },
        },
        start: plan.start,
        end: plan.end,
        timed_out: false,
        job: None,
        manner: Manner::default(),
        source: Source::Job(Box::new(JobStream::new(plan, clone, at as u16))),
    }
}
