//! Stand-ins: traces generated from published statistics, if the trace itself is not available.
//!
//! Modelled, each part independent of the others:
//! - reads and writes are mixed at random;
//! - sizes follow a list of shares, or the maximum-entropy distribution of multiples of `align` with the given mean;
//! - a request continues at the end of the previous one, or (`random_percent`) starts at a uniformly random offset;
//! - offsets are in a region sized such that random runs cover `footprint` of it: a share of 1 - exp(-T / R) of a region
//!   of R bytes after T bytes of runs;
//! - gaps follow a log-normal law, bursts, or an exponential law, depending on the given statistics. Gaps above the median are
//!   scaled by one factor, so that the mean of this trace is exact.
//!
//! Not modelled: hot and cold data, correlation of sizes, offsets and times, trends over the day. Every display of a
//! result from a stand-in says so.

mod laws;
mod make;
pub(crate) mod mark;

use crate::error::{option, WorkloadError};
use crate::job::Bytes;
use crate::number::byte_count;
use laws::{GapLaw, SizeLaw};
pub use make::{synthesise, Synthesised};
pub use mark::mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PAGE: f64 = 4096.0;
const SECTOR: u32 = 512;
/// Largest request of a stand-in.
const LARGEST: u64 = 16 << 20;
/// Most requests: generating them takes hours.
const MOST_REQUESTS: u64 = 10_000_000_000;
/// The region is at most this many times as large as the bytes of its requests.
const SPARSE: f64 = 64.0;

/// Statistics of a trace: the keys of a file for `wordline trace synth`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StandIn {
    /// Source of the figures; kept with the trace.
    pub source: Option<String>,
    /// Number of requests; or give `duration_s`.
    pub requests: Option<u64>,
    /// Duration in seconds, at the mean gap.
    pub duration_s: Option<f64>,
    /// Percentage of writes among the requests (0 to 100).
    pub write_percent: Option<f64>,
    /// Sizes of reads: the mean, such as `"7.4k"`, or sizes with their shares, `"4k:60, 64k:40"`. k is 1024 bytes.
    pub read_size: Option<Bytes>,
    /// Sizes of writes, in the same way.
    pub write_size: Option<Bytes>,
    /// Alignment in bytes of random offsets, and of sizes given by their mean (512 to 1 MiB).
    pub align: Bytes,
    /// Largest size if only the mean is given (up to 16 MiB).
    pub largest: Bytes,
    /// Percentage of requests that do not start at the end of the previous one (0 to 100).
    pub random_percent: Option<f64>,
    /// Bytes of the distinct 4 KiB pages that are touched; or give `extent`.
    pub footprint: Option<Bytes>,
    /// Size of the region over which requests are spread, touched or not.
    pub extent: Option<Bytes>,
    /// Mean time between two requests in µs (above 0).
    pub gap_mean_us: Option<f64>,
    /// Median time between two requests in µs. With it, gaps are log-normal; without it, exponential.
    pub gap_median_us: Option<f64>,
    /// Mean requests per burst (above 2): gaps then have two exponential parts, inside bursts and between them, fitted
    /// to mean and median.
    pub burst_requests: Option<f64>,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for StandIn {
    fn default() -> Self {
        Self {
            source: None,
            requests: None,
            duration_s: None,
            write_percent: None,
            read_size: None,
            write_size: None,
            align: "4k".into(),
            largest: "1m".into(),
            random_percent: None,
            footprint: None,
            extent: None,
            gap_mean_us: None,
            gap_median_us: None,
            burst_requests: None,
            seed: 1,
        }
    }
}

/// A stand-in with its laws fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Requests that will be made.
    pub requests: u64,
    /// Bytes of the region that the requests are spread over.
    pub region: u64,
    writes: f64,
    sizes: [SizeLaw; 2],
    random: f64,
    align: u64,
    gaps: GapLaw,
    /// Mean gap, and the gap above which gaps are adjusted, in ps.
    mean_gap: f64,
    median_gap: f64,
    seed: u64,
}

fn missing(key: &str, what: &str) -> WorkloadError {
    option(key, "nothing", format!("is needed: {what}"))
}

fn percent(key: &str, value: Option<f64>, what: &str) -> Result<f64, WorkloadError> {
    match value {
        Some(value) if (0.0..=100.0).contains(&value) => Ok(value / 100.0),
        Some(value) => Err(option(key, value, "must be a percentage, 0 to 100")),
        None => Err(missing(key, what)),
    }
}

fn bytes(key: &str, value: &Bytes, least: u64, most: u64) -> Result<u64, WorkloadError> {
    match byte_count(&value.0) {
        Some(bytes) if (least..=most).contains(&bytes) && bytes % u64::from(SECTOR) == 0 => Ok(bytes),
        _ => Err(option(key, value, format!("must be a multiple of 512 bytes such as \"4k\", {least} to {most}"))),
    }
}

/// A number of bytes that may have a fraction: `7.4k`.
fn mean_bytes(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..digits].parse::<f64>().ok()?;
    Some(number * byte_count(&format!("1{}", text[digits..].trim()))? as f64)
}

/// The law that `value` describes.
fn sizes(key: &str, value: &Bytes, align: u32, largest: u32) -> Result<SizeLaw, WorkloadError> {
    let wanted = "must be a mean such as \"7.4k\", or sizes with their shares such as \"4k:60, 64k:40\"";
    if !value.0.contains(':') {
        let Some(mean) = mean_bytes(&value.0) else { return Err(option(key, value, wanted)) };
        if mean < f64::from(align) || mean > f64::from(largest) {
            let range = format!("a mean must lie between `align` ({align} bytes) and `largest` ({largest} bytes)");
            return Err(option(key, value, format!("{range}; change one of them, or list the sizes")));
        }
        return Ok(SizeLaw::geometric(mean, align, largest));
    }
    let mut list: Vec<(u32, f64)> = Vec::new();
    for part in value.0.split(',') {
        let refuse = || {
            let most = LARGEST >> 20;
            option(
                key,
                value,
                format!("`{}`: {wanted}; sizes are multiples of 512 bytes up to {most} MiB", part.trim()),
            )
        };
        let (size, share) = part.split_once(':').ok_or_else(refuse)?;
        let size = byte_count(size.trim()).filter(|&size| size > 0 && size <= LARGEST && size % u64::from(SECTOR) == 0);
        let share = share.trim().trim_end_matches('%').trim().parse::<f64>().ok();
        match (size, share.filter(|&share| share > 0.0 && share.is_finite())) {
            (Some(size), Some(share)) if list.iter().all(|(other, _)| u64::from(*other) != size) => {
                list.push((size as u32, share));
            }
            _ => return Err(refuse()),
        }
    }
    list.sort_unstable_by_key(|(size, _)| *size);
    Ok(SizeLaw::listed(&list))
}

impl StandIn {
    /// Fits the laws.
    ///
    /// # Errors
    /// When a figure is missing, makes no sense, or contradicts another.
    pub fn model(&self) -> Result<Model, WorkloadError> {
        let align = bytes("align", &self.align, u64::from(SECTOR), 1 << 20)?;
        let largest = bytes("largest", &self.largest, align, LARGEST)?;
        let writes = percent("write_percent", self.write_percent, "the percentage of writes")?;
        let law = |key: &str, value: &Option<Bytes>, used: bool| match value {
            Some(value) => sizes(key, value, align as u32, largest as u32),
            None if used => Err(missing(key, "a mean such as \"7.4k\", or sizes with their shares, \"4k:60, 64k:40\"")),
            None => Ok(SizeLaw::listed(&[(align as u32, 1.0)])),
        };
        let sizes =
            [law("read_size", &self.read_size, writes < 1.0)?, law("write_size", &self.write_size, writes > 0.0)?];
        let random = percent("random_percent", self.random_percent, "the percentage of requests to random offsets")?;
        let (gaps, mean_gap, median_gap) = self.gaps()?;
        let requests = self.count(mean_gap)?;
        let mut model =
            Model { requests, region: 0, writes, sizes, random, align, gaps, mean_gap, median_gap, seed: self.seed };
        model.region = self.region(&model)?;
        Ok(model)
    }

    /// The law of gaps, their mean, and the gap above which they are adjusted, in ps.
    fn gaps(&self) -> Result<(GapLaw, f64, f64), WorkloadError> {
        let ps = |key: &str, us: f64| match us {
            us if us > 0.0 && us <= 1e12 => Ok(us * 1e6),
            us => Err(option(key, us, "must be above 0, in microseconds, up to 1e12")),
        };
        let what = "the mean time between two requests in microseconds";
        let mean = ps("gap_mean_us", self.gap_mean_us.ok_or_else(|| missing("gap_mean_us", what))?)?;
        let median = self.gap_median_us.map(|us| ps("gap_median_us", us)).transpose()?;
        if let Some(requests) = self.burst_requests {
            if !(requests > 2.0 && requests <= 1e9) {
                return Err(option(
                    "burst_requests",
                    requests,
                    "must be above 2: the mean number of requests of a burst",
                ));
            }
            let median = median.ok_or_else(|| missing("gap_median_us", "bursts are fitted to mean and median"))?;
            let law = GapLaw::bursts(mean, median, requests).ok_or_else(|| {
                let problem = "does not fit such bursts: the median must be below 0.693 of the mean";
                option("gap_median_us", median / 1e6, problem)
            })?;
            return Ok((law, mean, median));
        }
        match median {
            None => Ok((GapLaw::Exponential { mean }, mean, 0.0)),
            Some(median) if median <= mean => Ok((GapLaw::log_normal(mean, median), mean, median)),
            Some(median) => {
                let problem = "is above the mean, which a log-normal law cannot be; leave it out for exponential gaps";
                Err(option("gap_median_us", median / 1e6, problem))
            }
        }
    }

    fn count(&self, mean_gap: f64) -> Result<u64, WorkloadError> {
        let within = |key: &str, value: f64, requests: f64| match requests {
            requests if (1.0..=MOST_REQUESTS as f64).contains(&requests) => Ok(requests as u64),
            _ => Err(option(key, value, format!("must give 1 to {MOST_REQUESTS} requests"))),
        };
        match (self.requests, self.duration_s) {
            (Some(requests), None) => within("requests", requests as f64, requests as f64),
            (None, Some(seconds)) => within("duration_s", seconds, (seconds * 1e12 / mean_gap).round() + 1.0),
            (None, None) => Err(missing("requests", "the number of requests, or `duration_s` instead")),
            (Some(_), Some(seconds)) => Err(option("duration_s", seconds, "give this or `requests`, not both")),
        }
    }

    /// The region that gives the footprint.
    fn region(&self, model: &Model) -> Result<u64, WorkloadError> {
        let least = u64::from(model.sizes.iter().map(SizeLaw::largest).max().unwrap_or(0)).max(model.align);
        let fits = |key: &str, value: &Bytes, region: u64| match region >= least {
            true => Ok(region.next_multiple_of(model.align)),
            false => Err(option(key, value, format!("cannot hold the largest request, {least} bytes"))),
        };
        match (&self.footprint, &self.extent) {
            (None, Some(extent)) => fits("extent", extent, bytes("extent", extent, 512, 1 << 60)?),
            (Some(_), Some(extent)) => Err(option("extent", extent, "give this or `footprint`, not both")),
            (None, None) => Err(missing("footprint", "the bytes touched, such as \"2g\", or `extent` instead")),
            (Some(text), None) => {
                let footprint = bytes("footprint", text, 512, 1 << 60)? as f64;
                let reach = model.reach();
                if footprint > 0.99 * reach {
                    let problem = format!(
                        "the {} requests reach at most {:.0} bytes; give more requests, or a smaller footprint",
                        model.requests, reach
                    );
                    return Err(option("footprint", text, problem));
                }
                // The covered part of a region grows with the region.
                let (mut low, mut high) = (footprint, SPARSE * reach);
                for _ in 0..200 {
                    let middle = (low + high) / 2.0;
                    let covered = -libm::expm1(-reach / middle) * middle;
                    if covered < footprint {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                fits("footprint", text, high as u64)
            }
        }
    }
}

impl Model {
    /// Bytes of pages that the requests would touch if no two runs overlapped.
    fn reach(&self) -> f64 {
        let mean = self.writes * self.sizes[1].mean() + (1.0 - self.writes) * self.sizes[0].mean();
        let requests = self.requests as f64;
        let whole = self.align.is_multiple_of(4096) && self.sizes.iter().all(|law| law.in_multiples_of(4096));
        // A run that begins and ends anywhere touches a part of a page at its ends.
        let edges = if whole { 0.0 } else { PAGE - f64::from(SECTOR) };
        requests * mean + (requests * self.random).max(1.0) * edges
    }

    /// Description of the arrival process.
    #[must_use]
    pub fn arrivals(&self) -> String {
        self.gaps.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> StandIn {
        StandIn {
            requests: Some(10_000),
            write_percent: Some(60.0),
            read_size: Some("11.1k".into()),
            write_size: Some("4k:60, 16k:40".into()),
            random_percent: Some(90.0),
            footprint: Some("20m".into()),
            gap_mean_us: Some(100.0),
            ..StandIn::default()
        }
    }

    #[test]
    fn figures_that_are_missing_or_contradict_each_other_are_named() {
        assert!(known().model().is_ok());
        let check = |change: &dyn Fn(&mut StandIn), words: &[&str]| {
            let mut spec = known();
            change(&mut spec);
            let message = spec.model().unwrap_err().to_string();
            words.iter().for_each(|word| assert!(message.contains(word), "`{word}` is not in: {message}"));
        };
        check(&|s| s.requests = None, &["requests", "duration_s"]);
        check(&|s| s.duration_s = Some(1.0), &["duration_s", "not both"]);
        check(&|s| s.write_percent = Some(101.0), &["write_percent = 101", "0 to 100"]);
        check(&|s| s.write_percent = None, &["write_percent", "is needed"]);
        check(&|s| s.read_size = None, &["read_size", "is needed"]);
        check(&|s| s.read_size = Some("2k".into()), &["read_size = \"2k\"", "4096"]);
        check(&|s| s.read_size = Some("4k:60, x:40".into()), &["read_size", "`x:40`"]);
        check(&|s| s.read_size = Some("4k:60, 4k:40".into()), &["`4k:40`"]);
        check(&|s| s.read_size = Some("big".into()), &["read_size", "must be a mean"]);
        check(&|s| s.footprint = None, &["footprint", "extent"]);
        check(&|s| s.footprint = Some("2g".into()), &["footprint = \"2g\"", "10000 requests reach"]);
        check(&|s| s.footprint = Some("4k".into()), &["largest request"]);
        check(&|s| s.extent = Some("2g".into()), &["not both"]);
        check(&|s| s.gap_mean_us = None, &["gap_mean_us"]);
        check(&|s| s.gap_mean_us = Some(0.0), &["gap_mean_us = 0"]);
        check(&|s| s.gap_median_us = Some(101.0), &["gap_median_us = 101", "above the mean"]);
        check(&|s| s.burst_requests = Some(8.0), &["gap_median_us"]);
        check(&|s| (s.burst_requests, s.gap_median_us) = (Some(8.0), Some(80.0)), &["gap_median_us = 80", "0.693"]);
        check(&|s| s.align = "1000".into(), &["align = \"1000\""]);
    }

    #[test]
    fn means_may_have_a_fraction() {
        assert_eq!(mean_bytes("7.5k"), Some(7680.0));
        assert_eq!(mean_bytes(" 4096 "), Some(4096.0));
        assert_eq!(mean_bytes("1.5m"), Some(1_572_864.0));
        assert_eq!(mean_bytes("k"), None);
        assert_eq!(mean_bytes("1.2.3k"), None);
        assert_eq!(mean_bytes("7x"), None);
    }

    #[test]
    fn a_read_only_trace_needs_no_size_of_writes() {
        let spec = StandIn { write_percent: Some(0.0), write_size: None, ..known() };
        assert!(spec.model().is_ok());
    }
}
