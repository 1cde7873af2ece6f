//! When a job counts as steady: fio's `steadystate`.

use crate::error::{option, WorkloadError};
use crate::job::JobOptions;
use crate::plan::option_ps;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Most values in a window.
const MOST: u64 = 1 << 20;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyKind {
    /// Each value of requests per second against their mean.
    Iops,
    /// The slope of a line fitted to requests per second.
    IopsSlope,
    /// Each value of bytes per second against their mean.
    Bw,
    /// The slope of a line fitted to bytes per second.
    BwSlope,
}

impl SteadyKind {
    /// fio's word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SteadyKind::Iops => "iops",
            SteadyKind::IopsSlope => "iops_slope",
            SteadyKind::Bw => "bw",
            SteadyKind::BwSlope => "bw_slope",
        }
    }
}

/// When a job counts as steady.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// What is looked at.
    pub kind: SteadyKind,
    /// The deviation or slope that it stays below.
    pub limit: f64,
    /// True if that is in percent of the mean.
    pub percent: bool,
    /// Values in the window, 1 or more.
    pub window: usize,
    /// Length of a value, in ps.
    pub interval: Time,
    /// No value is taken so long after the job's start, in ps.
    pub ramp: Time,
}

impl Steady {
    /// How far a full window is from steady: the largest deviation from the mean or the slope of the line fitted to it, a value an
    /// interval; in percent of the mean where the limit is.
    #[must_use]
    pub fn measure(&self, values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let far = match self.kind {
            SteadyKind::Iops | SteadyKind::Bw => values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max),
            SteadyKind::IopsSlope | SteadyKind::BwSlope => slope(values, mean).abs(),
        };
        match (self.percent, mean > 0.0) {
            (true, true) => far / mean * 100.0,
            (true, false) => f64::INFINITY,
            (false, _) => far,
        }
    }
}

/// Slope of the line of least squares, in values an interval.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let at = |index: usize| index as f64 - middle;
    let across: f64 = (0..values.len()).map(|index| at(index) * at(index)).sum();
    let along: f64 = values.iter().enumerate().map(|(index, value)| at(index) * (value - mean)).sum();
    if across > 0.0 {
        along / across
    } else {
        0.0
    }
}

/// The criterion of `job`, if it has one.
pub(crate) fn steady(job: &JobOptions, name: &str) -> Result<Option<Steady>, WorkloadError> {
    let key = |key: &str| format!("job.{name}.{key}");
    let Some(text) = &job.steadystate else { return Ok(None) };
    let wrong = || {
        let problem =
            "must be iops, iops_slope, bw or bw_slope with a limit above 0, such as \"iops:2%\" or \"bw_slope:0.1%\"";
        option(&key("steadystate"), format!("{text:?}"), problem)
    };
    let (kind, limit) = text.split_once(':').ok_or_else(wrong)?;
    let kind = match kind.trim() {
        "iops" => SteadyKind::Iops,
        "iops_slope" => SteadyKind::IopsSlope,
        "bw" => SteadyKind::Bw,
        "bw_slope" => SteadyKind::BwSlope,
        _ => return Err(wrong()),
    };
    let (number, percent) = limit.trim().strip_suffix('%').map_or((limit.trim(), false), |number| (number, true));
    let limit =
        number.trim().parse::<f64>().ok().filter(|limit| *limit > 0.0 && limit.is_finite()).ok_or_else(wrong)?;
    let interval = option_ps(&key("ss_interval_s"), job.ss_interval_s)?;
    if interval == 0 {
        return Err(option(&key("ss_interval_s"), job.ss_interval_s, "must be above 0"));
    }
    let window = option_ps(&key("ss_dur_s"), job.ss_dur_s)? / interval;
    if !(1..=MOST).contains(&window) {
        let problem = format!("must hold 1 to {MOST} intervals of {} s; steadystate needs it", job.ss_interval_s);
        return Err(option(&key("ss_dur_s"), job.ss_dur_s, problem));
    }
    let ramp = option_ps(&key("ss_ramp_s"), job.ss_ramp_s)?;
    Ok(Some(Steady { kind, limit, percent, window: window as usize, interval, ramp }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: SteadyKind, percent: bool) -> Steady {
        Steady { kind, limit: 1.0, percent, window: 4, interval: 1, ramp: 0 }
    }

    #[test]
    fn deviations_and_slopes() {
        let values = [90.0, 100.0, 110.0, 100.0];
        assert_eq!(of(SteadyKind::Iops, true).measure(&values), 10.0);
        assert_eq!(of(SteadyKind::Bw, false).measure(&values), 10.0);
        // Hand: x = -1.5, -0.5, 0.5, 1.5; sum of x * (y - 100) = 15 + 0 + 5 + 0; sum of x * x = 5.
        assert_eq!(of(SteadyKind::IopsSlope, false).measure(&values), 4.0);
        assert_eq!(of(SteadyKind::BwSlope, true).measure(&[10.0, 20.0, 30.0, 40.0]), 40.0);
        assert_eq!(of(SteadyKind::Iops, true).measure(&[0.0; 4]), f64::INFINITY, "nothing done is not steady");
        assert_eq!(of(SteadyKind::IopsSlope, false).measure(&[5.0]), 0.0);
    }

    #[test]
    fn criteria_are_read_as_fio_writes_them() {
        let job = |text: &str, dur| JobOptions {
            steadystate: Some(text.to_owned()),
            ss_dur_s: dur,
            ss_interval_s: 0.1,
            ..JobOptions::default()
        };
        let read = steady(&job("iops_slope:0.1%", 2.0), "a").unwrap().unwrap();
        assert_eq!((read.kind, read.limit, read.percent, read.window), (SteadyKind::IopsSlope, 0.1, true, 20));
        assert!(!steady(&job("bw:100", 2.0), "a").unwrap().unwrap().percent);
        for (text, dur, wanted) in [
            ("lat:1%", 1.0, "must be iops, iops_slope"),
            ("iops", 1.0, "must be iops, iops_slope"),
            ("iops:-1", 1.0, "must be iops, iops_slope"),
            ("iops:1", 0.0, "job.a.ss_dur_s = 0: must hold 1 to"),
        ] {
            let error = steady(&job(text, dur), "a").unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
