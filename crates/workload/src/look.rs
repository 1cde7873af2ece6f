//! A first pass over a trace: finds errors of a replay before a drive is preconditioned for it.

use crate::error::WorkloadError;
use crate::number::seconds;
use crate::options::TraceOptions;
use crate::progress::Watch;
use crate::reader::window::{needed, Disorder};
use crate::reader::TraceReader;
use std::path::Path;

/// Adds to the error of a reader whose trace runs backwards what would put that trace in order; other errors stay as they are.
/// Nothing when the one who waits said no.
pub(crate) fn explained(
    error: WorkloadError,
    reader: &TraceReader,
    path: &Path,
    options: &TraceOptions,
    watch: Watch<'_>,
) -> Option<WorkloadError> {
    let Some(back) = reader.ran_backwards().filter(|_| !reader.is_once()) else { return Some(error) };
    let WorkloadError::Line(mut line) = error else { return Some(error) };
    // A file that has just been read is read again; whatever keeps that from succeeding, the first error still holds.
    let Ok(found) = needed(path, options, watch) else { return Some(WorkloadError::Line(line)) };
    line.problem = problem(back, found?);
    Some(WorkloadError::Line(line))
}

fn problem(back: u128, disorder: Disorder) -> String {
    let seconds = seconds(back);
    let clamp = "`backwards = \"clamp\"` (--load-set trace.backwards=clamp) lets such requests arrive with the \
        previous request";
    let sort = |n: u32| format!("`sort_window = {n}` (--load-set trace.sort_window={n})");
    let join = "`join = \"time\"` (--load-set trace.join=time)";
    let remedy = match disorder {
        Disorder { window: None, .. } => {
            "no `sort_window` is large enough for this trace: a request lies more than 16,777,216 places behind its turn; sort the \
             file by time"
                .to_owned()
        }
        Disorder { window: Some(0), across: true } => format!("{join} merges the files by their time stamps"),
        Disorder { window: Some(n), across: true } => {
            format!("{join} merges the files by their time stamps, together with {}, which sorts each of them", sort(n))
        }
        Disorder { window: Some(n), across: false } => format!("{} puts the whole trace in order", sort(n)),
    };
    format!("runs backwards: {seconds} s before the previous request; {remedy}, or {clamp}")
}
