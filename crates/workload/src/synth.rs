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
    /// Requests that it still gives at once: all of one size, at random or in sequence, and nothing comes between them.
    at_once: u64,
    size: u32,
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
            at_once: at_once(&plan),
            size: plan.sizes[0].least(),
            writes: 0,
            due: Due::Nothing,
            schedule,
            arrival: plan.start,
            plan,
        }
    }

    /// The next request of a job whose next one is known without a look at anything else; `None` says nothing of any other.
    #[inline]
    pub fn next_at_once(&mut self) -> Option<Request> {
        self.at_once = self.at_once.checked_sub(1)?;
        let plan = &self.plan;
        let reads = match plan.read_percent {
            0 => false,
            100 => true,
            percent => self.mix.below(100) < percent,
        };
        let op = if reads { Op::Read } else { plan.op };
        let size = u64::from(self.size);
        let within = match &mut self.pickers[0] {
            Some(picker) => picker.next() * plan.align[0],
            None => {
                let position = &mut self.position[usize::from(!reads)];
                let within = if *position + size <= plan.region { *position } else { 0 };
                *position = within + size + plan.modifier;
                within
            }
        };
        self.bytes += size;
        self.requests += 1;
        let (offset, fua) = (plan.start_byte + within, plan.fua && op == Op::Write);
        Some(Request { arrival: self.arrival, offset, bytes: self.size, op, fua, stream: self.stream })
    }

    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if let Some(request) = self.next_at_once() {
            return Ok(Some(request));
        }
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

/// Requests of a job that follow each other without a look at anything else.
fn at_once(plan: &JobPlan) -> u64 {
    let (Sizes::Fixed(reads), Sizes::Fixed(others)) = (&plan.sizes[0], &plan.sizes[1]) else { return 0 };
    let plain = plan.rates.is_none() && !plan.trim_first && plan.fsync == 0;
    let goes_on = !plan.random || plan.alike() && plan.modifier == 1;
    if reads == others && plain && goes_on {
        plan.requests.min(plan.bytes / u64::from(*reads))
    } else {
        0
    }
}

#[cold]
fn too_late(plan: &JobPlan) -> WorkloadError {
    let problem =
        "the job's last arrivals lie beyond 106 days, the end of simulated time; raise the rate, or limit the job \
                   by number_ios, io_size or runtime_s";
    option(&format!("job.{}.rate_iops", plan.name), plan.rates.as_ref().map_or(0.0, Rates::iops), problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobOptions, Rw};

    /// What a job gives at once is what it gives one by one.
    #[test]
    fn requests_at_once_are_those_of_any_job() {
        let mut counted = 0;
        for seed in 0..400 {
            let mut random = Stream::new(seed, "synth-test", 0);
            let mut pick = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
            let options = JobOptions {
                rw: [Rw::RandRead, Rw::RandWrite, Rw::RandRw, Rw::RandTrim, Rw::Read, Rw::Write, Rw::Rw]
                    [pick(&["0", "1", "2", "3", "4", "5", "6"]).parse::<usize>().expect("a number")],
                bs: pick(&["4k", "4k", "16k", "4k,8k"]).into(),
                size: Some(pick(&["1m", "3m"]).into()),
                io_size: Some(pick(&["100k", "2k", "2m", "50m"]).into()),
                number_ios: pick(&["0", "7", "300"]).parse().ok().filter(|&number: &u64| number > 0),
                norandommap: pick(&["", "yes"]) == "yes",
                rwmixread: pick(&["0", "30", "100"]).parse().expect("a number"),
                random_distribution: pick(&["random", "random", "zipf:1.2"]).into(),
                fsync: pick(&["0", "0", "3"]).parse().expect("a number"),
                ..JobOptions::default()
            };
            let Ok(plan) = JobPlan::new(&options, 0, 0, 64 << 20, seed) else { continue };
            let [mut fast, mut slow] = [(); 2].map(|()| JobStream::new(plan.clone(), 0, 3));
            slow.at_once = 0;
            counted += u32::from(fast.at_once > 0);
            for _ in 0..1_000 {
                let [one, other] = [&mut fast, &mut slow].map(|job| job.next().expect("it has no rate"));
                assert_eq!(one, other, "seed {seed}: {options:?}");
                assert_eq!(fast.progress(), slow.progress());
                if one.is_none() {
                    break;
                }
            }
        }
        assert!(counted > 50, "{counted} jobs give some at once");
    }
}
