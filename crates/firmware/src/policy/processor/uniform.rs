//! Computing times drawn evenly between two limits.
//!
//! Source: kim18 (4.2): a look-up in the mapping table takes 0.5 to 1 us, generating a flash operation 1 to 2 us for the
//! host and 1 to 3 us for GC and read scrubbing, all evenly distributed.
//! Faithful: these times, each from a random stream of its own. Ours, since the paper does not say: each task has a
//! processor of its own that works in the order of coming (the paper's tasks run independently); a request pays a look-up
//! for each page that it reads, and for each page's worth of logical pages that it writes; as many logical pages as fill a
//! page pay for one program. Simplified: data in the write buffer and TRIM cost nothing; parity and writes of the mapping table are free.

use super::{Processor, Work};
use crate::policy::{About, Build};
use crate::task::{ByTask, Task, TASKS};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Stream, Time};

pub(crate) const ABOUT: About = About {
    summary: "look-ups and operations take times drawn evenly between two limits; each task has a processor of its own",
    source: "kim18 4.2",
    note: "in the order of coming by task; the units of a page pay for its program together; parity and writes of the mapping \
        table are free",
};

/// Options of evenly drawn computing times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Least and longest time of a look-up in the mapping table, in microseconds; 0 to 10,000.
    pub lookup_us: [f64; 2],
    /// Least and longest time to generate an operation of the host, in microseconds; 0 to 10,000.
    pub host_us: [f64; 2],
    /// Least and longest time to generate an operation of GC or another background task, in microseconds; 0 to 10,000.
    pub background_us: [f64; 2],
}

impl Default for Options {
    fn default() -> Self {
        Self { lookup_us: [0.5, 1.0], host_us: [1.0, 2.0], background_us: [1.0, 3.0] }
    }
}

/// A time between two limits, with its random numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Between {
    least: Time,
    range: Time,
    random: Stream,
}

impl Between {
    #[inline]
    fn draw(&mut self) -> Time {
        self.least + self.random.below(self.range + 1)
    }
}

/// Evenly drawn computing times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Uniform {
    lookup: Between,
    generate: Box<ByTask<Between>>,
}

impl Uniform {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let between = |key: &str, [least, most]: [f64; 2], instance: usize| {
            let fits = |time: f64| (0.0..=10_000.0).contains(&time);
            if !fits(least) || !fits(most) || least > most {
                let problem = "must be two times from 0 to 10000 us, the least first";
                return Err(ConfigError::new(format!("processor.{key}"), format!("[{least}, {most}]"), problem));
            }
            let (least, most) = (ps_from_us(least), ps_from_us(most));
            let random = Stream::new(build.seed, "processor", instance as u64);
            Ok(Between { least, range: most - least, random })
        };
        let host = between("host_us", options.host_us, 1)?;
        let background = between("background_us", options.background_us, 2)?;
        let mut tasks = Task::all();
        let generate = Box::new([(); TASKS].map(|()| {
            let task = tasks.next().unwrap_or(Task::HOST);
            let random = Stream::new(build.seed, "processor", 1 + task.index() as u64);
            Between { random, ..if task == Task::HOST { host.clone() } else { background.clone() } }
        }));
        Ok(Self { lookup: between("lookup_us", options.lookup_us, 0)?, generate })
    }

    /// Takes over the random numbers to come.
    pub(super) fn restore(&mut self, saved: Self) {
        self.lookup.random = saved.lookup.random;
        for (own, saved) in self.generate.iter_mut().zip(*saved.generate) {
            own.random = saved.random;
        }
    }
}

impl Processor for Uniform {
    fn takes_time(&self) -> bool {
        true
    }

    #[inline]
    fn time(&mut self, work: Work) -> Time {
        match work {
            Work::LookUp => self.lookup.draw(),
            Work::Generate(task) => self.generate[task.index()].draw(),
        }
    }
}
