//! A job resolved to numbers for one drive.

use crate::distribution::{Ranks, Zipf, Zone};
use crate::error::{option, WorkloadError};
use crate::job::{Bytes, JobOptions, RateProcess, Rw, Sequencer};
use crate::logexp::LogExp;
use crate::number::byte_count;
use crate::rates::{rates, Rates};
use crate::sizes::{directions, sizes, Sizes};
use crate::zones::{zones, ZoneSpec};
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Time};

/// Regions start and end at multiples of this many bytes, unless the drive itself ends elsewhere.
const REGION: u64 = 4096;
const SECTOR: u64 = 512;

/// A resolved job.
#[derive(Clone, Debug)]
pub(crate) struct JobPlan {
    pub name: String,
    pub random: bool,
    /// The operation of all requests, or of the non-reads of a mix.
    pub op: Op,
    /// Percentage of reads.
    pub read_percent: u64,
    /// Each request trims a block, and the next writes it.
    pub trim_first: bool,
    /// Sizes of reads and of all others.
    pub sizes: [Sizes; 2],
    pub align: [u64; 2],
    /// Random: requests per offset. Sequential: bytes skipped after each request.
    pub modifier: u64,
    pub identical: bool,
    pub start_byte: u64,
    pub region: u64,
    /// Limits of bytes and requests; `u64::MAX` without a limit. A trim with its write counts once.
    pub bytes: u64,
    pub requests: u64,
    pub start: Time,
    /// Unmeasured ramp after its start.
    pub ramp: Time,
    pub end: Option<Time>,
    pub iodepth: u32,
    pub rates: Option<Rates>,
    pub poisson: bool,
    pub fua: bool,
    pub fsync: u32,
    pub seed: u64,
    distribution: Distribution,
    norandommap: bool,
    pub scatter: bool,
}

#[derive(Clone, Debug)]
enum Distribution {
    Random,
    Zipf(f64),
    Pareto(f64),
    Normal(f64),
    /// For reads and for all others.
    Zoned([Vec<ZoneSpec>; 2]),
}

/// Seconds of an option as picoseconds.
pub(crate) fn option_ps(key: &str, seconds: f64) -> Result<Time, WorkloadError> {
    let ps = seconds * 1e12;
    if ps >= 0.0 && ps <= END_OF_TIME as f64 {
        Ok(ps.round() as Time)
    } else {
        Err(option(key, seconds, "must be 0 to 9223372 seconds (106 days)"))
    }
}

/// Bytes or, against `whole`, a percentage.
fn bytes_of(key: &str, value: &Bytes, whole: Option<u64>) -> Result<u64, WorkloadError> {
    if let (Some(percent), Some(whole)) = (value.0.trim().strip_suffix('%'), whole) {
        return match percent.trim().parse::<f64>() {
            Ok(p) if (0.0..=1e6).contains(&p) => Ok((whole as f64 * (p / 100.0)) as u64),
            _ => Err(option(key, value, "must be a percentage such as \"50%\"")),
        };
    }
    byte_count(&value.0).ok_or_else(|| {
        let or = if whole.is_some() { ", or a percentage such as \"50%\"" } else { "" };
        option(key, value, format!("must be a number of bytes such as 4096, \"4k\" or \"2g\"{or}"))
    })
}

/// Alignments of reads, writes and trims; by default the smallest size.
fn alignments(key: &str, value: &Bytes, sizes: &[Sizes; 3]) -> Result<[u64; 3], WorkloadError> {
    let wrong = |problem: &str| option(key, value, problem);
    let parts =
        directions(&value.0).ok_or_else(|| wrong("must be one number of bytes, or up to three, \"4k,128k\""))?;
    let mut align = [0; 3];
    for ((align, part), sizes) in align.iter_mut().zip(parts).zip(sizes) {
        *align = match part {
            None => u64::from(sizes.least()),
            Some(text) => byte_count(text).unwrap_or(0),
        };
        if *align == 0 || !align.is_multiple_of(SECTOR) || *align > 1 << 40 {
            return Err(wrong("must be a multiple of 512 bytes such as 4096 or \"4k\", up to 1099511627776"));
        }
    }
    Ok(align)
}

fn distribution(key: &str, text: &str, region: u64) -> Result<Distribution, WorkloadError> {
    let zoned = |text: &str, absolute| {
        let zones = zones(text, absolute, region).map_err(|problem| option(key, format!("{text:?}"), problem))?;
        Ok(Distribution::Zoned(zones))
    };
    // fio's own example of the latter has an equals sign.
    if let Some(list) = text.strip_prefix("zoned_abs:").or_else(|| text.strip_prefix("zoned_abs=")) {
        return zoned(list, true);
    }
    if let Some(list) = text.strip_prefix("zoned:") {
        return zoned(list, false);
    }
    let (name, parameter) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
    let number = parameter.and_then(|number| number.trim().parse::<f64>().ok());
    match (name.trim(), parameter.is_some(), number) {
        ("random", false, _) => Ok(Distribution::Random),
        ("zipf", _, Some(theta)) if theta > 0.0 && theta <= 10.0 => Ok(Distribution::Zipf(theta)),
        ("pareto", _, Some(h)) if h > 0.0 && h < 1.0 => Ok(Distribution::Pareto(h)),
        ("normal", _, Some(dev)) if dev > 0.0 && dev <= 100.0 => Ok(Distribution::Normal(dev)),
        _ => {
            let problem =
                "must be \"random\", \"zipf:theta\" with theta above 0 up to 10, \"pareto:h\" with h between 0 \
                           and 1, \"normal:dev\" with dev above 0 up to 100, or \"zoned:60/10:40/90\"";
            Err(option(key, format!("{text:?}"), problem))
        }
    }
}

impl JobPlan {
    /// The plan of the `clone`th clone of `job`, the `index`th of its file, on a drive of `drive` bytes in a run with `seed`.
    pub fn new(job: &JobOptions, index: usize, clone: u32, drive: u64, seed: u64) -> Result<Self, WorkloadError> {
        let name = job.name.clone().unwrap_or_else(|| format!("job{index}"));
        let key = |key: &str| format!("job.{name}.{key}");
        if name.chars().any(char::is_control) {
            let problem = "holds a control character, which no terminal and no report can show; leave it out";
            return Err(option(&format!("job.{index}.name"), format!("{name:?}"), problem));
        }
        check_numbers(job, &key)?;
        let (random, op, read_percent) = mode(job);
        let trim_first = matches!(job.rw, Rw::TrimWrite | Rw::RandTrimWrite);
        let lane = |triple: [u64; 3]| [triple[0], triple[if op == Op::Trim { 2 } else { 1 }]];
        let all_sizes = sizes(job, &key)?;
        let align = match &job.blockalign {
            None => all_sizes.each_ref().map(|sizes| u64::from(sizes.least())),
            Some(align) => alignments(&key("blockalign"), align, &all_sizes)?,
        };
        let [read, write, trim] = all_sizes;
        let size_key = if job.bssplit.is_some() { "bssplit" } else { job.bsrange.as_ref().map_or("bs", |_| "bsrange") };
        if trim_first && write != trim {
            return Err(option(
                &key(size_key),
                &job.bs,
                "trimwrite writes what it trimmed; give writes and trims the same",
            ));
        }
        let sizes = [read, if op == Op::Trim { trim } else { write }];
        let (start_byte, region) = region(job, clone, drive, &key)?;
        for (used, sizes) in [read_percent > 0, read_percent < 100].into_iter().zip(&sizes) {
            if used && region < u64::from(sizes.least()) {
                let problem =
                    format!("the region of {region} bytes (job.{name}.size, or the drive) cannot hold one such block");
                return Err(option(&key(size_key), &job.bs, problem));
            }
        }
        let rates = rates(job, &key, read_percent, op, &sizes)?;
        let modifier = match &job.rw_modifier {
            None => u64::from(random),
            Some(modifier) => bytes_of(&key("rw_modifier"), modifier, None)?,
        };
        if random && modifier == 0 || !random && !modifier.is_multiple_of(SECTOR) {
            let problem = "must be requests an offset, 1 or more, of a random job, and bytes to leave out, a multiple of 512, of a \
                           sequential one";
            return Err(option(&key("rw_modifier"), modifier, problem));
        }
        let io_size = job.io_size.as_ref().map(|size| bytes_of(&key("io_size"), size, Some(region))).transpose()?;
        if io_size == Some(0) {
            return Err(option(&key("io_size"), 0, "must be above 0; leave it out to cover `size` once"));
        }
        if job.time_based && job.runtime_s.is_none() {
            return Err(option(&key("time_based"), true, "needs `runtime_s`: without it the job would never end"));
        }
        let limited = !job.time_based;
        let loops = u64::from(job.loops);
        let bytes = io_size.or(job.number_ios.is_none().then_some(region)).filter(|_| limited);
        let start = option_ps(&key("start_delay_s"), job.start_delay_s)?;
        let ramp = option_ps(&key("ramp_time_s"), job.ramp_time_s)?;
        let runtime = job.runtime_s.map(|seconds| option_ps(&key("runtime_s"), seconds)).transpose()?;
        Ok(Self {
            random,
            op,
            read_percent,
            trim_first,
            sizes,
            align: lane(align),
            modifier,
            identical: job.rw_sequencer == Sequencer::Identical,
            start_byte,
            region,
            bytes: bytes.map_or(u64::MAX, |bytes| bytes.saturating_mul(loops)),
            requests: job.number_ios.filter(|_| limited).map_or(u64::MAX, |number| number.saturating_mul(loops)),
            start,
            ramp,
            end: runtime.map(|runtime| (start + ramp).saturating_add(runtime).min(END_OF_TIME)),
            iodepth: job.iodepth,
            rates,
            poisson: job.rate_process == RateProcess::Poisson,
            fua: job.fua,
            fsync: job.fsync,
            seed: job.randseed.unwrap_or(seed),
            distribution: distribution(&key("random_distribution"), &job.random_distribution, region)?,
            norandommap: job.norandommap,
            scatter: job.scatter,
            name,
        })
    }

    /// Latest arrival of the last request, in ps from the start of the run, for a job with a rate that ends by its
    /// requests. Random gaps get six standard deviations.
    pub fn last_arrival(&self) -> Option<f64> {
        let rates =
            self.rates.as_ref().filter(|rates| rates.is_by_requests() || matches!(self.sizes[0], Sizes::Fixed(_)))?;
        let by_bytes = match (&self.sizes, self.trim_first) {
            ([Sizes::Fixed(one), Sizes::Fixed(other)], false) if self.bytes < u64::MAX => {
                self.bytes.div_ceil(u64::from(*one.min(other)))
            }
            _ => u64::MAX,
        };
        let requests = self.requests.min(by_bytes);
        if requests == u64::MAX || self.trim_first {
            return None;
        }
        let spread = if self.poisson { 6.0 * (requests as f64).sqrt() } else { 0.0 };
        Some(self.start as f64 + (requests as f64 + spread) / rates.iops() * 1e12)
    }

    /// Number of offsets for requests of one direction (0 = reads, 1 = all other operations).
    pub fn blocks(&self, direction: usize) -> u64 {
        match self.region.checked_sub(u64::from(self.sizes[direction].least())) {
            Some(room) => room / self.align[direction] + 1,
            None => 1,
        }
    }

    /// Distribution over `n` blocks, for one direction.
    pub fn ranks(&self, direction: usize, n: u64) -> Ranks {
        match &self.distribution {
            Distribution::Random if self.norandommap => Ranks::Uniform,
            Distribution::Random => Ranks::Permutation { next: 0 },
            Distribution::Zipf(theta) => Ranks::Zipf(Zipf::new(n, *theta)),
            Distribution::Pareto(h) => Ranks::Pareto { power: libm::log(*h) / libm::log(1.0 - h), math: LogExp::new() },
            Distribution::Normal(dev) => Ranks::Normal { deviation: n as f64 * dev / 100.0, spare: None },
            Distribution::Zoned(zones) => Ranks::Zoned(blocks_of(&zones[direction], self.align[direction], n)),
        }
    }

    /// True if both directions have the same distribution and share one order of blocks.
    pub fn alike(&self) -> bool {
        let zones = match &self.distribution {
            Distribution::Zoned([reads, others]) => reads == others,
            _ => true,
        };
        zones && self.align[0] == self.align[1] && self.sizes[0].least() == self.sizes[1].least()
    }

    /// The resolved plan, for the description of a run.
    pub fn describe(&self) -> serde_json::Value {
        let limit = |n: u64| (n < u64::MAX).then_some(n);
        serde_json::json!({
            "name": self.name,
            "random": self.random,
            "read_percent": self.read_percent,
            "other": if self.trim_first { "trim and write" } else { self.op.name() },
            "block_bytes": self.sizes.each_ref().map(Sizes::describe),
            "offset_bytes": self.start_byte,
            "region_bytes": self.region,
            "io_bytes": limit(self.bytes),
            "requests": limit(self.requests),
            "iodepth": self.iodepth,
            "rate_iops": self.rates.as_ref().map(Rates::iops),
            "seed": self.seed,
        })
    }
}

/// Random or sequential, the operation of non-reads, and the percentage of reads.
fn mode(job: &JobOptions) -> (bool, Op, u64) {
    match job.rw {
        Rw::Read => (false, Op::Read, 100),
        Rw::Write => (false, Op::Write, 0),
        Rw::RandRead => (true, Op::Read, 100),
        Rw::RandWrite => (true, Op::Write, 0),
        Rw::Rw => (false, Op::Write, u64::from(job.rwmixread)),
        Rw::RandRw => (true, Op::Write, u64::from(job.rwmixread)),
        Rw::Trim | Rw::TrimWrite => (false, Op::Trim, 0),
        Rw::RandTrim | Rw::RandTrimWrite => (true, Op::Trim, 0),
    }
}

fn check_numbers(job: &JobOptions, key: &dyn Fn(&str) -> String) -> Result<(), WorkloadError> {
    if job.rwmixread > 100 {
        return Err(option(&key("rwmixread"), job.rwmixread, "must be a percentage, 0 to 100"));
    }
    for (name, value) in [("iodepth", job.iodepth), ("numjobs", job.numjobs)] {
        if !(1..=65_536).contains(&value) {
            return Err(option(&key(name), value, "must be 1 to 65536"));
        }
    }
    let counts = [("loops", job.loops.into()), ("thinktime_blocks", job.thinktime_blocks.into())];
    for (name, value) in counts.into_iter().chain(job.number_ios.map(|number| ("number_ios", number))) {
        if value == 0 {
            return Err(option(&key(name), value, "must be 1 or more"));
        }
    }
    option_ps(&key("thinktime_us"), job.thinktime_us / 1e6).map(drop)
}

/// First byte and size of the region of a clone.
fn region(job: &JobOptions, clone: u32, drive: u64, key: &dyn Fn(&str) -> String) -> Result<(u64, u64), WorkloadError> {
    let round = |bytes: u64| if bytes >= drive { bytes } else { bytes / REGION * REGION };
    let increment = match &job.offset_increment {
        None => 0,
        Some(increment) => round(bytes_of(&key("offset_increment"), increment, Some(drive))?),
    };
    let first = round(bytes_of(&key("offset"), &job.offset, Some(drive))?);
    let start_byte = first.saturating_add(increment.saturating_mul(u64::from(clone)));
    let left = drive.saturating_sub(start_byte) / SECTOR * SECTOR;
    if left == 0 {
        let problem = format!("lies beyond the drive, which has {drive} bytes");
        return Err(match &job.offset_increment {
            Some(increment) if clone > 0 => {
                option(&key("offset_increment"), increment, format!("clone {clone} {problem}"))
            }
            _ => option(&key("offset"), &job.offset, problem),
        });
    }
    let Some(size) = &job.size else { return Ok((start_byte, left)) };
    let bytes = round(bytes_of(&key("size"), size, Some(drive))?);
    if bytes > left {
        let problem = format!(
            "{bytes} bytes from offset {start_byte} reach beyond the drive, which has {drive} bytes; at most {left} fit, or \
             give a percentage"
        );
        return Err(option(&key("size"), size, problem));
    }
    Ok((start_byte, bytes))
}

/// Zones in blocks of `align` bytes, of which there are `n`. A zone smaller than a block gets the block in which it
/// starts.
fn blocks_of(zones: &[ZoneSpec], align: u64, n: u64) -> Vec<Zone> {
    let mut begin = 0;
    let zones = zones.iter().filter_map(|zone| {
        let first = (begin / align).min(n - 1);
        let end = (zone.end / align).min(n).max(first + 1);
        begin = zone.end;
        (zone.share > 0).then_some((zone.share, first, end - first))
    });
    let mut sum = 0;
    zones
        .map(|(share, first, blocks)| {
            sum += share;
            Zone { sum, first, blocks }
        })
        .collect()
}
