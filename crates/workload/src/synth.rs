//! The requests of a synthetic job.

use crate::distribution::Picker;
use crate::error::{option, WorkloadError};
use crate::plan::JobPlan;
use crate::rates::{Rates, Schedule};
use crate::sizes::Sizes;
use wordline_base::{Op, Request, Stream, Time};

/// Generates the requests of one clone of a job.
pub(crate) struct JobStream {
    plan: JobPlan,
    stream: u16,
    /// Decides between read and write.
    mix: Stream,
    /// Draws sizes.
    split: Stream,
    /// Reads and all else share the first picker when their blocks are alike.
    pickers: [Option<Picker>; 2],
    /// Behind the last request of reads and of all else; and where it began.
    position: [u64; 2],
    last: [u64; 2],
    /// Requests that a random job still does before it draws a new offset.
    until_draw: u64,
    bytes: u64,
    requests: u64,
    /// Writes since the last flush.
    writes: u32,
    /// Pending requests before any new one.
    due: Due,
    schedule: Option<Schedule>,
    arrival: Time,
}

/// A request that follows another.
enum Due {
    Nothing,
    Flush,
    /// The write of what was just trimmed.
    Write(Request),
}

impl JobStream {
    /// The `clone`th of a job's streams.
    pub fn new(plan: JobPlan, clone: u32, stream: u16) -> Self {
        let random = |what| Stream::new(plan.seed, &format!("workload/{}/{what}", plan.name), u64::from(clone));
        let picker = |direction: usize| {
            let blocks = plan.blocks(direction);
            let ranks = plan.ranks(direction, blocks);
            Picker::new(blocks, ranks, plan.scatter, random(["reads", "others"][direction]))
        };
        let pickers = match plan.random {
            false => [None, None],
            true => [Some(picker(0)), (!plan.alike()).then(|| picker(1))],
        };
        let poisson = || plan.poisson.then(|| random("gaps"));
        let schedule = plan.rates.clone().map(|rates| Schedule::new(rates, poisson(), plan.start));
        Self {
            stream,
            mix: random("mix"),
            split: random("sizes"),
            pickers,
            position: [0; 2],
            last: [0; 2],
            until_draw: 0,
            bytes: 0,
            requests: 0,
            writes: 0,
            due: Due::Nothing,
            schedule,
            arrival: plan.start,
            plan,
        }
    }

    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if !matches!(self.due, Due::Nothing) {
            return Ok(self.follow());
        }
        if self.bytes >= self.plan.bytes || self.requests >= self.plan.requests {
            return Ok(None);
        }
        let direction = self.direction();
        let op = if direction == 0 { Op::Read } else { self.plan.op };
        let within = self.place(direction);
        let Some(bytes) = self.size(direction, within) else { return Ok(None) };
        if let Some(schedule) = &mut self.schedule {
            match schedule.arrival(direction, bytes) {
                Some(arrival) => self.arrival = arrival,
                None => return Err(too_late(&self.plan)),
            }
            if self.plan.end.is_some_and(|end| self.arrival >= end) {
                // Later calls find the job at its end too.
                self.requests = u64::MAX;
                return Ok(None);
            }
        }
        let plan = &self.plan;
        self.last[direction] = within;
        self.position[direction] = within + u64::from(bytes) + if plan.random { 0 } else { plan.modifier };
        self.bytes += u64::from(bytes);
        self.requests += 1;
        let fua = plan.fua && op == Op::Write;
        let offset = plan.start_byte + within;
        let request = Request { arrival: self.arrival, offset, bytes, op, fua, stream: self.stream };
        if plan.trim_first {
            self.due = Due::Write(Request { op: Op::Write, fua: plan.fua, ..request });
        } else {
            self.count_write(op);
        }
        Ok(Some(request))
    }

    /// What is due.
    fn follow(&mut self) -> Option<Request> {
        match std::mem::replace(&mut self.due, Due::Nothing) {
            Due::Nothing => None,
            Due::Flush => {
                let (arrival, stream) = (self.arrival, self.stream);
                Some(Request { arrival, offset: 0, bytes: 0, op: Op::Flush, fua: false, stream })
            }
            Due::Write(write) => {
                self.count_write(Op::Write);
                Some(write)
            }
        }
    }

    /// 0 for a read, 1 for all else.
    #[inline]
    fn direction(&mut self) -> usize {
        match self.plan.read_percent {
            0 => 1,
            100 => 0,
            percent => match self.schedule.as_ref().and_then(Schedule::direction) {
                Some(direction) => direction,
                None => usize::from(self.mix.below(100) >= percent),
            },
        }
    }

    /// Offset in the region of the next request of a direction.
    #[inline]
    fn place(&mut self, direction: usize) -> u64 {
        let plan = &self.plan;
        if !plan.random || self.until_draw > 0 {
            let at = self.position[direction];
            let fits = at + u64::from(plan.sizes[direction].least()) <= plan.region;
            if !plan.random {
                return if fits { at } else { 0 };
            }
            self.until_draw -= 1;
            if plan.identical {
                return self.last[direction];
            }
            if fits {
                return at;
            }
            // At the end of the region, a run continues elsewhere.
        } else {
            self.until_draw = plan.modifier - 1;
        }
        let which = usize::from(self.pickers[direction].is_some()) * direction;
        let picker = self.pickers[which].as_mut().expect("a random job has a picker");
        picker.next() * plan.align[direction]
    }

    /// The size of the next request; `None` if the remainder is smaller than any size.
    #[inline]
    fn size(&mut self, direction: usize, within: u64) -> Option<u32> {
        let plan = &self.plan;
        let left = plan.bytes - self.bytes;
        if let Sizes::Fixed(bytes) = plan.sizes[direction] {
            // A job does not do more than it should, and yet something.
            return (u64::from(bytes) <= left || self.requests == 0).then_some(bytes);
        }
        let least = u64::from(plan.sizes[direction].least());
        if least > left && self.requests > 0 {
            return None;
        }
        let room = (plan.region - within).min(left.max(least));
        Some(plan.sizes[direction].draw(&mut self.split, room))
    }

    /// After every `fsync` writes comes a flush.
    #[inline]
    fn count_write(&mut self, op: Op) {
        if op == Op::Write && self.plan.fsync > 0 {
            self.writes += 1;
            if self.writes == self.plan.fsync {
                self.writes = 0;
                self.due = Due::Flush;
            }
        }
    }

    /// True if it ended since its next request would have come too late.
    pub fn timed_out(&self) -> bool {
        self.schedule.is_some() && self.requests == u64::MAX
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
    option(&format!("job.{}.rate_iops", plan.name), plan.rates.as_ref().map_or(0.0, Rates::iops), problem)
}
