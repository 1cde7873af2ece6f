//! The requests of a synthetic job.

use crate::distribution::Picker;
use crate::error::{option, WorkloadError};
use crate::plan::JobPlan;
use wordline_base::time::{END_OF_TIME, S};
use wordline_base::{Op, Request, Stream, Time};

/// Generates the requests of one clone of a job.
pub(crate) struct JobStream {
    plan: JobPlan,
    stream: u16,
    /// Decides between read and write.
    mix: Stream,
    /// Reads and all else share the first picker when their blocks are alike.
    pickers: [Option<Picker>; 2],
    /// Sequential position of reads and of all else.
    position: [u64; 2],
    bytes: u64,
    requests: u64,
    /// Writes since the last flush.
    writes: u32,
    flush_due: bool,
    schedule: Option<Schedule>,
    arrival: Time,
}

/// Arrivals of a job with a rate.
struct Schedule {
    /// Picoseconds from one request to the next, in the mean.
    gap: f64,
    /// Random gaps, and the time they have come to.
    poisson: Option<(Stream, f64)>,
    start: Time,
}

impl Schedule {
    /// Arrival of the `n`th request, from 0.
    #[inline]
    fn arrival(&mut self, n: u64) -> Option<Time> {
        let after = match &mut self.poisson {
            None => n as f64 * self.gap,
            Some((random, sum)) => {
                *sum -= libm::log(1.0 - random.unit()) * self.gap;
                *sum
            }
        };
        // Both are far below 2^64, so the sum cannot overflow.
        (after < END_OF_TIME as f64).then(|| self.start + after as Time).filter(|&arrival| arrival <= END_OF_TIME)
    }
}

impl JobStream {
    /// The `clone`th of a job's streams.
    pub fn new(plan: JobPlan, clone: u32, stream: u16) -> Self {
        let random = |what| Stream::new(plan.seed, &format!("workload/{}/{what}", plan.name), u64::from(clone));
        let picker = |direction: usize| {
            let blocks = plan.blocks(direction);
            Picker::new(blocks, plan.ranks(blocks), plan.scatter, random(["reads", "others"][direction]))
        };
        let alike = plan.bs[0] == plan.bs[1] && plan.align[0] == plan.align[1];
        let pickers = match plan.random {
            false => [None, None],
            true => [Some(picker(0)), (!alike).then(|| picker(1))],
        };
        let schedule = plan.rate_iops.map(|iops| Schedule {
            gap: S as f64 / iops,
            poisson: plan.poisson.then(|| (random("gaps"), 0.0)),
            start: plan.start,
        });
        Self {
            stream,
            mix: random("mix"),
            pickers,
            position: [0; 2],
            bytes: 0,
            requests: 0,
            writes: 0,
            flush_due: false,
            schedule,
            arrival: plan.start,
            plan,
        }
    }

    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.flush_due {
            self.flush_due = false;
            let (arrival, stream) = (self.arrival, self.stream);
            return Ok(Some(Request { arrival, offset: 0, bytes: 0, op: Op::Flush, fua: false, stream }));
        }
        let plan = &self.plan;
        if self.bytes >= plan.bytes || self.requests >= plan.requests {
            return Ok(None);
        }
        let read = match plan.read_percent {
            0 => false,
            100 => true,
            percent => self.mix.below(100) < percent,
        };
        let direction = usize::from(!read);
        let op = if read { Op::Read } else { plan.op };
        let bytes = plan.bs[direction];
        if let Some(schedule) = &mut self.schedule {
            match schedule.arrival(self.requests) {
                Some(arrival) => self.arrival = arrival,
                None => return Err(too_late(plan)),
            }
            if plan.end.is_some_and(|end| self.arrival >= end) {
                // Later calls find the job at its end too.
                self.requests = u64::MAX;
                return Ok(None);
            }
        }
        let within = if plan.random {
            let which = usize::from(self.pickers[direction].is_some()) * direction;
            let picker = self.pickers[which].as_mut().expect("a random job has a picker");
            picker.next() * plan.align[direction]
        } else {
            let at = self.position[direction];
            let at = if at + u64::from(bytes) > plan.region { 0 } else { at };
            self.position[direction] = at + u64::from(bytes);
            at
        };
        self.bytes += u64::from(bytes);
        self.requests += 1;
        if op == Op::Write && plan.fsync > 0 {
            self.writes += 1;
            if self.writes == plan.fsync {
                self.writes = 0;
                self.flush_due = true;
            }
        }
        Ok(Some(Request {
            arrival: self.arrival,
            offset: plan.start_byte + within,
            bytes,
            op,
            fua: plan.fua && op == Op::Write,
            stream: self.stream,
        }))
    }

    /// Share of the bytes or requests that has been generated; `None` for a job that ends by time alone.
    pub fn progress(&self) -> Option<f64> {
        if self.requests == u64::MAX {
            return Some(1.0);
        }
        let share = |done: u64, all: u64| (all < u64::MAX).then(|| done as f64 / all.max(1) as f64);
        let by_limit = share(self.bytes, self.plan.bytes).into_iter().chain(share(self.requests, self.plan.requests));
        let by_time = self
            .schedule
            .as_ref()
            .and(self.plan.end)
            .map(|end| (self.arrival - self.plan.start) as f64 / (end - self.plan.start).max(1) as f64);
        by_limit
            .chain(by_time)
            .fold(None, |most: Option<f64>, share| Some(most.map_or(share, |m| m.max(share))))
            .map(|share| share.min(1.0))
    }
}

#[cold]
fn too_late(plan: &JobPlan) -> WorkloadError {
    let problem =
        "the job's last arrivals lie beyond 106 days, the end of simulated time; raise the rate, or limit the job \
                   by number_ios, io_size or runtime_s";
    option(&format!("job.{}.rate_iops", plan.name), plan.rate_iops.unwrap_or_default(), problem)
}
