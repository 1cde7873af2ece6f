//! Keys of a job that have no effect beside its others: an error, not ignored.

use crate::error::{option, WorkloadError};
use crate::job::{JobOptions, Rw};
use crate::load::LoadFile;
use serde_json::Value;

/// Checks that every key which was given means something; `given` knows which were, such as `job.0.rwmixread`.
///
/// # Errors
/// On the first one that does not, with the key that leaves it without meaning.
pub fn check_meaning(load: &LoadFile, given: &dyn Fn(&str) -> bool) -> Result<(), WorkloadError> {
    for (index, job) in load.job.iter().enumerate() {
        let written = |key: &str| given(&format!("job.{index}.{key}"));
        let Some((key, why)) = idle(job).into_iter().find(|(key, _)| written(key)) else { continue };
        let value = serde_json::to_value(job).unwrap_or_default()[key].clone();
        let name = job.name.clone().unwrap_or_else(|| format!("job{index}"));
        return Err(option(&format!("job.{name}.{key}"), value, why));
    }
    Ok(())
}

/// The keys without meaning in a job, and why.
fn idle(job: &JobOptions) -> Vec<(&'static str, String)> {
    let rw = serde_json::to_value(job.rw).unwrap_or(Value::Null);
    let sequential = matches!(job.rw, Rw::Read | Rw::Write | Rw::Rw | Rw::Trim | Rw::TrimWrite);
    let mixed = matches!(job.rw, Rw::Rw | Rw::RandRw);
    let rated = job.rate.is_some() || job.rate_iops.is_some() || job.rate_iops_each.is_some();
    let steady = "is for `steadystate`, which is not given";
    let rules = [
        ("rwmixread", !mixed, format!("has no effect with rw = {rw}; it is for rw and randrw")),
        ("random_distribution", sequential, format!("has no effect with rw = {rw}, which is sequential")),
        ("bs", job.bssplit.is_some(), "there is `bssplit` as well; give one of them".to_owned()),
        ("bs", job.bsrange.is_some(), "there is `bsrange` as well; give one of them".to_owned()),
        ("ss_dur_s", job.steadystate.is_none(), steady.to_owned()),
        ("ss_ramp_s", job.steadystate.is_none(), steady.to_owned()),
        ("ss_interval_s", job.steadystate.is_none(), steady.to_owned()),
        ("thinktime_blocks", job.thinktime_us == 0.0, "is for `thinktime_us`, which is not given".to_owned()),
        ("rate_process", !rated, "is for `rate_iops`, `rate_iops_each` or `rate`; none is given".to_owned()),
    ];
    rules.into_iter().filter(|(_, idle, _)| *idle).map(|(key, _, why)| (key, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_meaning_name_what_leaves_them_without() {
        let told = |job: &JobOptions, key: &str| {
            let load = LoadFile { job: vec![JobOptions::default(), job.clone()], ..LoadFile::default() };
            let given = format!("job.1.{key}");
            check_meaning(&load, &|key| key == given).map_err(|error| error.to_string())
        };
        let plain = JobOptions { rw: Rw::Write, name: Some("a".to_owned()), ..JobOptions::default() };
        for (job, key, wanted) in [
            (plain.clone(), "rwmixread", "job.a.rwmixread = 50: has no effect with rw = \"write\""),
            (plain.clone(), "random_distribution", "has no effect with rw = \"write\", which is sequential"),
            (JobOptions { bssplit: Some("4k/100".into()), ..plain.clone() }, "bs", "there is `bssplit` as well"),
            (JobOptions { bsrange: Some("4k-8k".into()), ..plain.clone() }, "bs", "there is `bsrange` as well"),
            (plain.clone(), "ss_dur_s", "is for `steadystate`"),
            (plain.clone(), "ss_ramp_s", "is for `steadystate`"),
            (plain.clone(), "ss_interval_s", "is for `steadystate`"),
            (plain.clone(), "thinktime_blocks", "is for `thinktime_us`"),
            (plain.clone(), "rate_process", "is for `rate_iops`"),
        ] {
            let error = told(&job, key).expect_err(key);
            assert!(error.contains(wanted), "{error}");
        }
        let mixed = JobOptions {
            rw: Rw::RandRw,
            steadystate: Some("iops:2%".into()),
            thinktime_us: 1.0,
            rate_iops: Some(1.0),
            ..plain.clone()
        };
        let keys =
            ["rwmixread", "random_distribution", "bs", "ss_dur_s", "ss_interval_s", "thinktime_blocks", "rate_process"];
        for key in keys {
            assert_eq!(told(&mixed, key), Ok(()), "{key}");
        }
        assert_eq!(told(&plain, "iodepth"), Ok(()));
    }
}
