//! A job with its words turned into numbers for one drive.

use crate::distribution::{Ranks, Zipf};
use crate::error::{option, WorkloadError};
use crate::job::{Bytes, JobOptions, RateProcess, Rw};
use crate::logexp::LogExp;
use crate::number::byte_count;
use crate::reader::units::LARGEST;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Op, Time};

/// Regions begin and end at multiples of this many bytes, unless the drive itself ends elsewhere.
const REGION: u64 = 4096;
const SECTOR: u64 = 512;

/// What a job does, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct JobPlan {
    pub name: String,
    pub random: bool,
    /// The operation of all requests, or of those that the mix does not make reads.
    pub op: Op,
    /// Percentage of reads.
    pub read_percent: u64,
    /// Sizes of reads and of all others.
    pub bs: [u32; 2],
    pub align: [u64; 2],
    pub start_byte: u64,
    pub region: u64,
    /// Bytes and requests to do; `u64::MAX` without a limit.
    pub bytes: u64,
    pub requests: u64,
    pub start: Time,
    pub end: Option<Time>,
    pub iodepth: u32,
    pub rate_iops: Option<f64>,
    pub poisson: bool,
    pub fua: bool,
    pub fsync: u32,
    pub seed: u64,
    distribution: Distribution,
    norandommap: bool,
    pub scatter: bool,
}

#[derive(Clone, Copy, Debug)]
enum Distribution {
    Random,
    Zipf(f64),
    Pareto(f64),
    Normal(f64),
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

/// Block sizes of reads and of all else.
fn pair(key: &str, value: &Bytes, limit: u64) -> Result<[u64; 2], WorkloadError> {
    let parts: Vec<_> = value.0.split(',').map(|part| Bytes(part.trim().to_owned())).collect();
    let (read, other) = match &parts[..] {
        [both] => (both, both),
        [read, other] => (read, other),
        _ => return Err(option(key, value, "must be one number of bytes or a pair for reads and writes, \"4k,128k\"")),
    };
    let mut sizes = [0; 2];
    for (size, text) in sizes.iter_mut().zip([read, other]) {
        *size = byte_count(&text.0).unwrap_or(0);
        if *size == 0 || *size % SECTOR != 0 || *size > limit {
            let wanted = "must be a multiple of 512 bytes such as 4096 or \"4k\", up to";
            return Err(option(key, value, format!("{wanted} {limit}")));
        }
    }
    Ok(sizes)
}

fn distribution(key: &str, text: &str) -> Result<Distribution, WorkloadError> {
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
                           and 1, or \"normal:dev\" with dev above 0 up to 100";
            Err(option(key, format!("{text:?}"), problem))
        }
    }
}

impl JobPlan {
    /// The plan of `job`, the `index`th of its file, on a drive of `drive` bytes in a run with `seed`.
    pub fn new(job: &JobOptions, index: usize, drive: u64, seed: u64) -> Result<Self, WorkloadError> {
        let name = job.name.clone().unwrap_or_else(|| format!("job{index}"));
        let key = |key: &str| format!("job.{name}.{key}");
        let (random, op, read_percent) = match job.rw {
            Rw::Read => (false, Op::Read, 100),
            Rw::Write => (false, Op::Write, 0),
            Rw::RandRead => (true, Op::Read, 100),
            Rw::RandWrite => (true, Op::Write, 0),
            Rw::Rw => (false, Op::Write, u64::from(job.rwmixread)),
            Rw::RandRw => (true, Op::Write, u64::from(job.rwmixread)),
            Rw::Trim => (false, Op::Trim, 0),
            Rw::RandTrim => (true, Op::Trim, 0),
        };
        if job.rwmixread > 100 {
            return Err(option(&key("rwmixread"), job.rwmixread, "must be a percentage, 0 to 100"));
        }
        for (name, value) in [("iodepth", job.iodepth), ("numjobs", job.numjobs)] {
            if !(1..=65_536).contains(&value) {
                return Err(option(&key(name), value, "must be 1 to 65536"));
            }
        }
        if let Some(iops) = job.rate_iops {
            if !(1e-6..=1e12).contains(&iops) {
                return Err(option(&key("rate_iops"), iops, "must be 0.000001 to 1e12 requests per second"));
            }
        }
        let bs = pair(&key("bs"), &job.bs, LARGEST)?;
        let align = job.blockalign.as_ref().map_or(Ok(bs), |align| pair(&key("blockalign"), align, 1 << 40))?;
        let round = |bytes: u64| if bytes >= drive { bytes } else { bytes / REGION * REGION };
        let start_byte = round(bytes_of(&key("offset"), &job.offset, Some(drive))?);
        let left = drive.saturating_sub(start_byte) / SECTOR * SECTOR;
        if left == 0 {
            let problem = format!("lies beyond the drive, which has {drive} bytes");
            return Err(option(&key("offset"), &job.offset, problem));
        }
        let region = match &job.size {
            None => left,
            Some(size) => {
                let bytes = round(bytes_of(&key("size"), size, Some(drive))?);
                if bytes > left {
                    let problem = format!(
                        "{bytes} bytes from offset {start_byte} reach beyond the drive, which has {drive} bytes; at most \
                         {left} fit, or give a percentage"
                    );
                    return Err(option(&key("size"), size, problem));
                }
                bytes
            }
        };
        let largest = u64::from(read_percent > 0) * bs[0];
        let largest = largest.max(u64::from(read_percent < 100) * bs[1]);
        if region < largest {
            let problem =
                format!("the region of {region} bytes (job.{name}.size, or the drive) cannot hold one such block");
            return Err(option(&key("bs"), &job.bs, problem));
        }
        let io_size = job.io_size.as_ref().map(|size| bytes_of(&key("io_size"), size, Some(region))).transpose()?;
        if job.time_based && job.runtime_s.is_none() {
            return Err(option(&key("time_based"), true, "needs `runtime_s`: without it the job would never end"));
        }
        let limited = !job.time_based;
        let bytes = io_size.or(job.number_ios.is_none().then_some(region)).filter(|_| limited).unwrap_or(u64::MAX);
        let start = option_ps(&key("start_delay_s"), job.start_delay_s)?;
        let runtime = job.runtime_s.map(|seconds| option_ps(&key("runtime_s"), seconds)).transpose()?;
        Ok(Self {
            random,
            op,
            read_percent,
            bs: bs.map(|size| size as u32),
            align,
            start_byte,
            region,
            bytes,
            requests: job.number_ios.filter(|_| limited).unwrap_or(u64::MAX),
            start,
            end: runtime.map(|runtime| (start + runtime).min(END_OF_TIME)),
            iodepth: job.iodepth,
            rate_iops: job.rate_iops,
            poisson: job.rate_process == RateProcess::Poisson,
            fua: job.fua,
            fsync: job.fsync,
            seed: job.randseed.unwrap_or(seed),
            distribution: distribution(&key("random_distribution"), &job.random_distribution)?,
            norandommap: job.norandommap,
            scatter: job.scatter,
            name,
        })
    }

    /// Number of places for requests of one direction (0 = reads, 1 = all else).
    pub fn blocks(&self, direction: usize) -> u64 {
        match self.region.checked_sub(u64::from(self.bs[direction])) {
            Some(room) => room / self.align[direction] + 1,
            None => 1,
        }
    }

    /// How blocks are drawn among `n`.
    pub fn ranks(&self, n: u64) -> Ranks {
        match self.distribution {
            Distribution::Random if self.norandommap => Ranks::Uniform,
            Distribution::Random => Ranks::Permutation { next: 0 },
            Distribution::Zipf(theta) => Ranks::Zipf(Zipf::new(n, theta)),
            Distribution::Pareto(h) => Ranks::Pareto { power: libm::log(h) / libm::log(1.0 - h), math: LogExp::new() },
            Distribution::Normal(dev) => Ranks::Normal { deviation: n as f64 * dev / 100.0, spare: None },
        }
    }

    /// What the plan comes to, for the description of a run.
    pub fn describe(&self) -> serde_json::Value {
        let limit = |n: u64| (n < u64::MAX).then_some(n);
        serde_json::json!({
            "name": self.name,
            "random": self.random,
            "read_percent": self.read_percent,
            "other": self.op.name(),
            "block_bytes": self.bs,
            "offset_bytes": self.start_byte,
            "region_bytes": self.region,
            "io_bytes": limit(self.bytes),
            "requests": limit(self.requests),
            "iodepth": self.iodepth,
            "rate_iops": self.rate_iops,
            "seed": self.seed,
        })
    }
}
