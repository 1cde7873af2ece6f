//! Arrival times of a job with a rate.

use crate::error::{option, WorkloadError};
use crate::job::JobOptions;
use crate::number::byte_count;
use crate::sizes::{directions, Sizes};
use wordline_base::time::{END_OF_TIME, S};
use wordline_base::{Op, Stream, Time};

/// The rates of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rates {
    /// Requests per second of all directions together.
    Together(f64),
    /// Of reads and of all else, each by itself.
    Each([Option<Rate>; 2]),
}

/// The rate of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Requests per second; with `by_bytes` those of the smallest size.
    pub iops: f64,
    /// Picoseconds a byte for a rate of bytes.
    pub by_bytes: Option<f64>,
}

impl Rates {
    /// True if all rates are of requests, not of bytes.
    pub fn is_by_requests(&self) -> bool {
        match self {
            Rates::Together(_) => true,
            Rates::Each(rates) => rates.iter().flatten().all(|rate| rate.by_bytes.is_none()),
        }
    }

    /// Requests per second in all, at the smallest size.
    pub fn iops(&self) -> f64 {
        match self {
            Rates::Together(iops) => *iops,
            Rates::Each(rates) => rates.iter().flatten().map(|rate| rate.iops).sum(),
        }
    }
}

/// The rates of `job`, whose requests are reads (`read_percent`) and `other`.
pub(crate) fn rates(
    job: &JobOptions,
    key: &dyn Fn(&str) -> String,
    read_percent: u64,
    other: Op,
    sizes: &[Sizes; 2],
) -> Result<Option<Rates>, WorkloadError> {
    let given: Vec<_> = [
        ("rate_iops", job.rate_iops.map(|rate| rate.to_string())),
        ("rate_iops_each", job.rate_iops_each.clone()),
        ("rate", job.rate.as_ref().map(|rate| rate.0.clone())),
    ]
    .into_iter()
    .filter_map(|(name, text)| Some((name, text?)))
    .collect();
    let (name, text) = match &given[..] {
        [] => return Ok(None),
        [one] => one,
        [first, second, ..] => {
            return Err(option(&key(second.0), &second.1, format!("there is {} as well; give one of them", first.0)))
        }
    };
    let wrong = |problem: &str| option(&key(name), text, problem);
    if let Some(iops) = job.rate_iops {
        let possible = (1e-6..=1e12).contains(&iops);
        return match possible {
            true => Ok(Some(Rates::Together(iops))),
            false => Err(wrong("must be 0.000001 to 1e12 requests per second")),
        };
    }
    let [read, write, trim] = directions(text).ok_or_else(|| wrong("must be up to three numbers, \"1000,500\""))?;
    let lanes = [read, if other == Op::Trim { trim } else { write }];
    let used = [read_percent > 0, read_percent < 100];
    let mut each = [None; 2];
    for lane in (0..2).filter(|&lane| used[lane]) {
        let Some(number) = lanes[lane] else { continue };
        each[lane] = match *name {
            "rate" => byte_count(number).filter(|&bytes| bytes > 0).map(|bytes| Rate {
                iops: bytes as f64 / f64::from(sizes[lane].least()),
                by_bytes: Some(S as f64 / bytes as f64),
            }),
            _ => number
                .parse()
                .ok()
                .filter(|iops| (1e-6..=1e12).contains(iops))
                .map(|iops| Rate { iops, by_bytes: None }),
        };
        if each[lane].is_none() {
            let unit = if *name == "rate" {
                "bytes per second such as \"10m\""
            } else {
                "requests per second, above 0 to 1e12"
            };
            return Err(wrong(&format!("`{number}` must be {unit}")));
        }
    }
    match (each, used) {
        ([None, None], _) => Err(wrong("has no rate for what this job does")),
        ([Some(_), None] | [None, Some(_)], [true, true]) => Err(wrong(
            "limits one direction only of a mixed job; give a rate for reads and writes each, or use two jobs",
        )),
        _ => Ok(Some(Rates::Each(each))),
    }
}

/// Arrivals of a job with a rate.
pub(crate) struct Schedule {
    rates: Rates,
    /// Random gaps instead of even ones.
    poisson: Option<Stream>,
    start: Time,
    /// Requests so far.
    count: u64,
    /// Time from the start to the next request, in ps; of all, or of both directions apart.
    next: [f64; 2],
}

impl Schedule {
    /// A schedule that begins at `start`.
    pub fn new(rates: Rates, poisson: Option<Stream>, start: Time) -> Self {
        let mut schedule = Self { rates, poisson, start, count: 0, next: [0.0; 2] };
        // A Poisson process begins with a gap.
        let gaps = match &schedule.rates {
            Rates::Together(iops) => [S as f64 / iops; 2],
            Rates::Each(rates) => rates.map(|rate| rate.map_or(0.0, |rate| S as f64 / rate.iops)),
        };
        if let Some(random) = &mut schedule.poisson {
            schedule.next[0] = exponential(random, gaps[0]);
            if matches!(schedule.rates, Rates::Each(_)) {
                schedule.next[1] = exponential(random, gaps[1]);
            }
        }
        schedule
    }

    /// The direction whose turn it is (0 = reads, 1 = all else), if rates decide that.
    #[inline]
    pub fn direction(&self) -> Option<usize> {
        match &self.rates {
            Rates::Each([Some(_), Some(_)]) if self.next[0] != self.next[1] => {
                Some(usize::from(self.next[1] < self.next[0]))
            }
            _ => None,
        }
    }

    /// Arrival of the next request, of `bytes` bytes in `direction`; `None` beyond the end of time.
    #[inline]
    pub fn arrival(&mut self, direction: usize, bytes: u32) -> Option<Time> {
        self.count += 1;
        let (lane, gap) = match &self.rates {
            Rates::Together(iops) => (0, S as f64 / iops),
            Rates::Each(rates) => {
                let rate = rates[direction].expect("a used direction has a rate");
                let gap = match rate.by_bytes {
                    Some(per_byte) if self.poisson.is_none() => per_byte * f64::from(bytes),
                    _ => S as f64 / rate.iops,
                };
                (direction, gap)
            }
        };
        let after = self.next[lane];
        self.next[lane] = match (&mut self.poisson, &self.rates) {
            (Some(random), _) => after + exponential(random, gap),
            // A product has no error that adds up.
            (None, Rates::Together(_)) => self.count as f64 * gap,
            (None, Rates::Each(_)) => after + gap,
        };
        // Both are far below 2^64, so the sum cannot overflow.
        (after < END_OF_TIME as f64).then(|| self.start + after as Time).filter(|&arrival| arrival <= END_OF_TIME)
    }
}

#[inline]
fn exponential(random: &mut Stream, mean: f64) -> f64 {
    -libm::log(1.0 - random.unit()) * mean
}
