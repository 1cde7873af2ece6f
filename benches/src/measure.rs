//! Measuring a piece of work in this process.

use cpu_time::ProcessTime;
use serde_json::{json, Value};
use wordline_drive::Drive;

/// Runs `work` and gives its CPU seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = ProcessTime::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Peak resident memory of this process in MiB; 0 where the system does not say.
pub fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// What a case hands to its parent.
pub fn report(work: f64, cpu_s: f64, rate: f64, extra: Value) -> Value {
    json!({"work": work, "cpu_s": cpu_s, "rate": rate, "peak_mib": peak_mib(), "extra": extra})
}

/// The same of a case that counts the events of a drive, those of preconditioning included.
pub fn report_of(drive: &Drive, work: f64, cpu_s: f64, rate: f64, extra: Value) -> Value {
    let mut report = report(work, cpu_s, rate, extra);
    report["events"] = drive.events().into();
    report
}

/// A number with its thousands set apart.
pub fn grouped(number: f64) -> String {
    if number < 100.0 {
        return format!("{number:.2}");
    }
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
