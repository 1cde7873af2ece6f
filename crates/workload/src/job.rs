//! `[[job]]`: a synthetic workload in fio's terms. The field comments are the user's documentation.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A number of bytes as fio writes it: `4096`, `"4k"`, `"1g"`; where stated, also a percentage, `"50%"`, or up to three
/// values for reads, writes and trims, `"4k,128k"`. k, m, g and t are powers of 1024, with or without `b` or `ib`
/// behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub String);

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Bytes(text.to_owned())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<u64>() {
            Ok(number) => serializer.serialize_u64(number),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, such as 4096 or \"4k\"")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Bytes, E> {
                Ok(Bytes(value.to_string()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Bytes, E> {
                u64::try_from(value)
                    .map_err(|_| E::custom("a number of bytes cannot be negative"))
                    .map(|v| Bytes(v.to_string()))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Bytes, E> {
                Ok(Bytes(value.to_owned()))
            }
        }
        deserializer.deserialize_any(BytesVisitor)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0 })
    }
}

/// Kind of a job's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    #[default]
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes, mixed; each has its own position.
    #[serde(alias = "readwrite")]
    Rw,
    /// Random reads and writes, mixed.
    RandRw,
    /// Sequential trims.
    Trim,
    /// Random trims.
    RandTrim,
    /// Each block in turn is trimmed and then written.
    TrimWrite,
    /// As `trimwrite`, at random offsets.
    RandTrimWrite,
}

/// Offsets of requests between two new offsets, if `rw_modifier` gives a random job several requests per offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sequencer {
    /// Each continues at the end of the previous one.
    #[default]
    Sequential,
    /// Each repeats the previous offset.
    Identical,
}

/// Spacing of the requests of a job with a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// Exponentially distributed gaps (a Poisson process).
    Poisson,
}

/// A synthetic workload: one `[[job]]` of a workload file, in fio's words.
///
/// A job ends when it has done `io_size` bytes or `number_ios` requests, or `runtime_s` is over, whichever comes first;
/// `time_based` leaves only the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobOptions {
    /// Name in results, unique; `job0`, `job1` and so on by default. With `numjobs` above 1, `.0`, `.1` and so on is
    /// appended.
    pub name: Option<String>,
    /// `read`, `write`, `randread`, `randwrite`, `rw` (`readwrite`), `randrw`, `trim`, `randtrim`, `trimwrite` or
    /// `randtrimwrite`.
    pub rw: Rw,
    /// The number after the colon in fio's `rw=randread:8`. A random job draws a new offset only every this many
    /// requests; a sequential job skips this many bytes after each request.
    pub rw_modifier: Option<Bytes>,
    /// Offsets of a random job with `rw_modifier` between two new offsets: `sequential` or `identical`.
    pub rw_sequencer: Sequencer,
    /// Request size in bytes, a multiple of 512 up to 1 GiB. `"4k,128k"` sets reads and writes (with trims) separately,
    /// `"4k,8k,1m"` also trims; an empty value means 4k.
    pub bs: Bytes,
    /// Instead of `bs`: sizes drawn uniformly from the multiples of the smallest, `"4k-64k"`; up to three as in `bs`.
    pub bsrange: Option<String>,
    /// Instead of `bs`: sizes with their percentages, `"4k/60:64k/40"`; blank percentages share the remainder. Up to
    /// three as in `bs`.
    pub bssplit: Option<String>,
    /// Offsets of random requests are multiples of this many bytes, counted from `offset`; `bs` by default.
    pub blockalign: Option<Bytes>,
    /// Percentage of reads in `rw` and `randrw` (0 to 100).
    pub rwmixread: u32,
    /// Queue depth: most requests in flight.
    pub iodepth: u32,
    /// Number of identical jobs side by side in the same region, each with its own random numbers.
    pub numjobs: u32,
    /// Requests per second. Open loop: arrivals follow this schedule independently of the drive. Without it, a job
    /// keeps `iodepth` requests in flight.
    pub rate_iops: Option<f64>,
    /// Requests per second for reads, writes and trims separately, `"1000,500"`, as in fio: a single number applies to
    /// each of them, and the rates set the mix.
    pub rate_iops_each: Option<String>,
    /// Bytes per second for reads, writes and trims separately, as in fio: `"10m"`, `"10m,1m"`.
    pub rate: Option<Bytes>,
    /// Arrival process under a rate: `linear` or `poisson`.
    pub rate_process: RateProcess,
    /// Think time in microseconds after every `thinktime_blocks` requests, once all of them have completed.
    pub thinktime_us: f64,
    /// Requests between two think times of `thinktime_us`.
    pub thinktime_blocks: u32,
    /// Distribution of random offsets: `random`, `zipf:theta` (above 0), `pareto:h` (between 0 and 1: a share of 1 - h
    /// of the requests goes to a share of h of the blocks), `normal:dev` (standard deviation in percent of the region,
    /// above 0 to 100), `zoned:60/10:40/90` (60 % of the requests go to the first 10 % of the region, 40 % to the next
    /// 90 %) or `zoned_abs:60/1g:40/9g` (the same in bytes). Zones for other operations than reads may follow after a
    /// comma.
    pub random_distribution: String,
    /// Draw every random block independently. By default, as in fio, `random` visits each block of the region once
    /// before any repeats (fio's random map); mathematical results on uniform random writes assume independent draws.
    /// The other distributions always draw independently.
    pub norandommap: bool,
    /// Spread the hot blocks of `zipf`, `pareto` and `normal` over the whole region, as fio does; otherwise they are
    /// contiguous at its start (for `normal`: in its middle).
    pub scatter: bool,
    /// First byte of the region: bytes or a percentage of the drive, rounded down to 4 KiB.
    pub offset: Bytes,
    /// Added to `offset` once for each clone of `numjobs` before this one: bytes or a percentage of the drive.
    pub offset_increment: Option<Bytes>,
    /// Size of the region: bytes or a percentage of the drive, rounded down to 4 KiB; by default everything after
    /// `offset`.
    pub size: Option<Bytes>,
    /// Limit of the total bytes: bytes or a percentage of the region (`"200%"` covers it twice); by default the
    /// region's size. `trimwrite` trims and writes this many each.
    pub io_size: Option<Bytes>,
    /// Number of repetitions of `io_size` and `number_ios`.
    pub loops: u32,
    /// Total requests, without flushes. Without `io_size`, this is the only limit.
    pub number_ios: Option<u64>,
    /// Time limit of the job, in seconds from its start.
    pub runtime_s: Option<f64>,
    /// Run until `runtime_s`, without a limit of bytes.
    pub time_based: bool,
    /// Seconds before the job starts.
    pub start_delay_s: f64,
    /// Seconds from its start in which the job runs unmeasured, before `runtime_s`. The figures of the run start when
    /// the first job's ramp ends.
    pub ramp_time_s: f64,
    /// Start only after all jobs before this one have ended.
    pub stonewall: bool,
    /// Start a new reporting group; `stonewall` does too.
    pub new_group: bool,
    /// Report the jobs of a group together, and judge their steady state together.
    pub group_reporting: bool,
    /// End the job in steady state: `iops:2%`, `iops_slope:0.1%`, `bw:2%` or `bw_slope:0.1%`. All values in a window of
    /// `ss_dur_s` must be within this limit of their mean, or the slope of their linear fit below it; without `%`, the
    /// limit is absolute. A job that ends earlier for another reason is reported as not steady.
    pub steadystate: Option<String>,
    /// Window of `steadystate`, in seconds.
    pub ss_dur_s: f64,
    /// Seconds from the job's start before that window may start.
    pub ss_ramp_s: f64,
    /// Interval of one value in that window, in seconds.
    pub ss_interval_s: f64,
    /// Writes complete only when they are in flash (force unit access).
    pub fua: bool,
    /// Flush after every this many writes; 0 for none.
    pub fsync: u32,
    /// Seed of this job's random numbers instead of the run's.
    pub randseed: Option<u64>,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            name: None,
            rw: Rw::Read,
            rw_modifier: None,
            rw_sequencer: Sequencer::Sequential,
            bs: "4k".into(),
            bsrange: None,
            bssplit: None,
            blockalign: None,
            rwmixread: 50,
            iodepth: 1,
            numjobs: 1,
            rate_iops: None,
            rate_iops_each: None,
            rate: None,
            rate_process: RateProcess::Linear,
            thinktime_us: 0.0,
            thinktime_blocks: 1,
            random_distribution: "random".to_owned(),
            norandommap: false,
            scatter: true,
            offset: "0".into(),
            offset_increment: None,
            size: None,
            io_size: None,
            loops: 1,
            number_ios: None,
            runtime_s: None,
            time_based: false,
            start_delay_s: 0.0,
            ramp_time_s: 0.0,
            stonewall: false,
            new_group: false,
            group_reporting: false,
            steadystate: None,
            ss_dur_s: 0.0,
            ss_ramp_s: 0.0,
            ss_interval_s: 1.0,
            fua: false,
            fsync: 0,
            randseed: None,
        }
    }
}
