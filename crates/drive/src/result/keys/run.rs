//! Keys of the run itself: what identifies it, its inputs, repeats, and the files that it wrote.

use super::key::{fields, key, stable, ResultKey};
use wordline_workload::LeftOut;

pub(super) fn run() -> Vec<ResultKey> {
    vec![
        stable("schema", "", "Version of this layout."),
        stable("version", "", "Version of Wordline.").text(),
        stable("seed", "", "Seed of all random numbers."),
        stable(
            "digest",
            "",
            "Hash of version, configuration, workload, seed, every completion and the final state of the blocks. The \
             same inputs give the same digest on every machine.",
        )
        .text(),
        key(
            "outcome",
            "",
            "Hash of every completion and the final state of the blocks alone: equal if two configurations behave \
             identically.",
        )
        .text(),
        stable("partial", "", "True if the run was interrupted: the figures cover the run until then.").boolean(),
        stable(
            "simulated_s",
            "s",
            "Simulated time covered by the figures: to the last completion, or to the end of a job's `runtime`.",
        ),
        key(
            "measured_from_s",
            "s",
            "Start of the figures, from the start of the run: 0, or the end of the first job's `ramp_time`. Requests \
             count if they completed from then on.",
        ),
        key(
            "measured_to_s",
            "s",
            "End of all figures, from the start of the run: at the last completion, at the end of a job's `runtime` \
             if that is later, or where the run was interrupted.",
        ),
        stable("cpu_s", "s", "CPU time of the run, without that of a thread that reads its trace.").or_null(),
        key(
            "precondition_cpu_s",
            "s",
            "CPU time to precondition the drive or to read the snapshot; absent for a drive kept in Python.",
        ),
        key("earlier_runs", "runs", "Number of earlier runs of a drive that is kept in Python; absent elsewhere."),
    ]
}

pub(super) fn inputs() -> Vec<ResultKey> {
    let mut keys = vec![
        stable(
            "config",
            "object",
            "The drive's configuration with every default written out; its keys are those of [the \
             reference](reference.md).",
        ),
        key("changes[].key", "", "A key that the user set on top of the preset.").needed().text(),
        key("changes[].value", "", "Its value.").needed().any().or_null(),
        key("changes[].origin", "", "The place where it was set.").needed().text(),
        key("snapshot", "", "The snapshot that the run started from; `null` without one.").text().or_null(),
        stable("workload", "object", "The workload as it was opened."),
        key(
            "workload.options",
            "object",
            "The workload as it was given, with every default written out; keys of [the reference](reference.md).",
        ),
        key("workload.trace.file", "", "Name of the trace, without its folder.").text(),
        key("workload.trace.files", "list", "Names of its files, if there are several."),
        key("workload.trace.path", "", "Its path; `null` for a table in memory.").text().or_null(),
        key("workload.trace.format", "", "Its format, one of the [trace formats](traces.md).").text(),
        key("workload.trace.compression", "", "Its compression: `plain`, `gzip` or `zstd`.").text(),
        key("workload.trace.reason", "", "How the format was recognised.").text(),
        key(
            "workload.trace.stand_in",
            "",
            "Evidence that it was generated from statistics; `null` for a recorded trace.",
        )
        .text()
        .or_null(),
        key(
            "workload.trace.timed",
            "",
            "True if it has time stamps; without them, requests follow each other as fast as possible.",
        )
        .boolean(),
        key(
            "workload.trace.scaled_from_bytes",
            "bytes",
            "End of its highest request, if addresses were scaled to the drive.",
        )
        .or_null(),
    ];
    keys.extend(fields::<LeftOut>("workload.trace.left_out", ""));
    keys.extend([
        key("workload.jobs[].name", "", "Name of a job.").text(),
        key("workload.jobs[].random", "", "True if its offsets are random.").boolean(),
        key("workload.jobs[].read_percent", "%", "Share of reads."),
        key("workload.jobs[].other", "", "Type of its other requests.").any().or_null(),
        key(
            "workload.jobs[].block_bytes",
            "bytes",
            "Sizes of its reads and of its other requests: one size, a range, or sizes with shares.",
        )
        .any()
        .or_null(),
        key("workload.jobs[].offset_bytes", "bytes", "Start of its region."),
        key("workload.jobs[].region_bytes", "bytes", "Size of its region."),
        key("workload.jobs[].io_bytes", "bytes", "Limit of its bytes; `null` without one.").or_null(),
        key("workload.jobs[].requests", "requests", "Limit of its requests; `null` without one.").or_null(),
        key("workload.jobs[].iodepth", "requests", "Its queue depth: most requests in flight."),
        key("workload.jobs[].rate_iops", "requests/s", "Its rate; `null` if it runs as fast as possible.").or_null(),
        key("workload.jobs[].seed", "", "Seed of its random numbers."),
    ]);
    keys
}

pub(super) fn repeats() -> Vec<ResultKey> {
    vec![
        key("repeats.asked", "runs", "Runs requested.").needed(),
        key("repeats.n", "runs", "Runs completed; fewer if interrupted, and then `partial` is true.").needed(),
        key("repeats.seeds", "lists", "Their seeds, ascending.").needed(),
        key("repeats.digests", "list", "Their digests.").needed(),
        key("repeats.distinct", "runs", "Number of different outcomes; 1 if nothing depended on the seed.").needed(),
        key(
            "repeats.figures[].key",
            "",
            "The key of a figure; a list in `utilisation` or `activity` is given by the mean of its values.",
        )
        .needed()
        .text(),
        key(
            "repeats.figures[].{mean,min,max}",
            "",
            "Mean, minimum and maximum over the runs, in the unit of the figure.",
        )
        .needed(),
        key(
            "repeats.figures[].ci95",
            "",
            "Half of the 95 % confidence interval of the mean: mean ± ci95. `null` for a single run.",
        )
        .needed()
        .or_null(),
        key("repeats.figures[].values", "lists", "The values, in the order of the seeds.").needed(),
    ]
}

pub(super) fn files() -> Vec<ResultKey> {
    vec![
        key("timeline.slices", "slices", "Slices in the timeline."),
        key("timeline.cut_s", "s", "Time at which it was cut off; `null` if it is complete.").or_null(),
        key("timeline.cut", "", "Reason of the cut: `full`, `interrupted` or `failed`.").text().or_null(),
        key(
            "timeline.error",
            "",
            "Always `null` in a returned result: a timeline that cannot be written raises an error.",
        )
        .text()
        .or_null(),
        key("tables.directory", "", "Directory of [the tables](tables.md).").text(),
        key("tables.wanted", "list", "Names of the tables requested."),
        key("tables.sample", "requests", "Sampling of the table of requests: one request in this many."),
        key("tables.interval_s", "s", "Length of the intervals."),
        key("tables.files[].name", "", "Name of a table.").text(),
        key("tables.files[].path", "", "Its file.").text(),
        key("tables.files[].rows", "rows", "Its rows."),
        key("tables.files[].bytes", "bytes", "Its size."),
        key("tables.errors", "list", "Always empty in a returned result, for the same reason."),
    ]
}
