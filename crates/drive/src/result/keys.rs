//! What every key of a result means: the one list that `docs/results.md` is printed from.
//!
//! Parts of a result that are serialised structs are told by the comments of their fields.

use crate::config::Derived;
use crate::parts::Part;
use crate::precondition::Preconditioned;
use schemars::JsonSchema;
use serde::Serialize;
use wordline_flash::Energy;
use wordline_settings::keys as fields_of;
use wordline_workload::LeftOut;

/// A key, or several alike: `by_op.{read,write}.bytes` is two, and `changes[].key` is one of each element of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultKey {
    /// The dotted key.
    pub key: String,
    /// What it means.
    pub meaning: String,
    /// Its unit; empty where it has none, or where the meaning says it. `object` is a part whose keys are told elsewhere.
    pub unit: &'static str,
    /// Whether it keeps its name and meaning in later versions.
    pub stable: bool,
    /// What its value is.
    pub holds: Holds,
    /// Whether it is in every result of this layout that has the object it belongs to; what joined later, or only some runs have,
    /// is not needed.
    pub needed: bool,
}

/// What a value is, for who reads a result that another program may have touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// A `number`, a `text`, a `boolean`, an `object`, or `any` of them.
    pub of: &'static str,
    /// How deep it lies in lists: 0 for the value itself, 1 for a list of such values, 2 for a list of lists.
    pub depth: u8,
    /// Whether `null` may stand in its place; in a list, in place of an element.
    pub null: bool,
}

impl Holds {
    /// What the unit gives away: only what has none may be other than numbers.
    fn of_unit(unit: &str) -> Self {
        let (of, depth) = match unit.split(", ").next().unwrap_or_default() {
            "object" => ("object", 0),
            "list" if unit == "list" => ("text", 1),
            "list" | "lists" => ("number", 1),
            "list of lists" | "list of pairs" => ("number", 2),
            _ => ("number", 0),
        };
        Self { of, depth, null: false }
    }

    /// The same of a field's kind in words.
    fn of_kind(kind: &str) -> Self {
        let (inner, depth) = kind.strip_prefix("array of ").map_or((kind, 0), |inner| (inner, 1));
        let of = match inner.split(' ').next().unwrap_or_default() {
            "integer" | "number" => "number",
            "boolean" => "boolean",
            "string" => "text",
            _ => "any",
        };
        Self { of, depth, null: false }
    }
}

impl ResultKey {
    fn text(self) -> Self {
        Self { holds: Holds { of: "text", ..self.holds }, ..self }
    }

    fn number(self) -> Self {
        Self { holds: Holds { of: "number", ..self.holds }, ..self }
    }

    fn boolean(self) -> Self {
        Self { holds: Holds { of: "boolean", ..self.holds }, ..self }
    }

    fn any(self) -> Self {
        Self { holds: Holds { of: "any", ..self.holds }, ..self }
    }

    fn needed(self) -> Self {
        Self { needed: true, ..self }
    }

    fn or_null(self) -> Self {
        Self { holds: Holds { null: true, ..self.holds }, ..self }
    }
}

/// Keys that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// A heading.
    pub title: &'static str,
    /// What holds for all of them; may be empty.
    pub about: &'static str,
    /// The keys, in the order of the document.
    pub keys: Vec<ResultKey>,
    /// Objects among them that may be `null` or missing as a whole.
    pub null: &'static [&'static str],
}

fn key(key: &str, unit: &'static str, meaning: &str) -> ResultKey {
    ResultKey {
        key: key.to_owned(),
        meaning: meaning.to_owned(),
        unit,
        stable: false,
        holds: Holds::of_unit(unit),
        needed: false,
    }
}

fn stable(name: &str, unit: &'static str, meaning: &str) -> ResultKey {
    ResultKey { stable: true, needed: true, ..key(name, unit, meaning) }
}

/// The fields of a struct that stands in the result under `prefix`.
fn fields<T: JsonSchema + Serialize>(prefix: &str, unit: &'static str) -> impl Iterator<Item = ResultKey> + use<T> {
    let prefix = prefix.to_owned();
    let leaves = fields_of::<T>().into_iter().filter(|field| field.kind != "table");
    leaves.map(move |field| ResultKey {
        holds: Holds::of_kind(&field.kind),
        ..key(&format!("{prefix}.{}", field.key), unit, &field.doc)
    })
}

/// All keys, section by section.
#[must_use]
pub fn sections() -> Vec<Section> {
    vec![
        Section { title: "The run", about: "", keys: run(), null: &[] },
        Section { title: "What was run", about: "", keys: inputs(), null: &["changes", "workload.trace.left_out"] },
        Section {
            title: "The drive",
            about: "Figures that follow from the configuration, as `wordline check --json` has them.",
            keys: drive(),
            null: &[],
        },
        Section {
            title: "Preconditioning",
            about: "What was done to the drive before the run; `precondition` is `null` if nothing was.",
            keys: preconditioning(),
            null: &["precondition"],
        },
        Section { title: "State of the drive", about: STATE, keys: state(), null: &["at_start", "written"] },
        Section { title: "Requests and latency", about: LATENCY, keys: latency(), null: &[] },
        Section { title: "Jobs and streams", about: JOBS, keys: jobs(), null: &["jobs"] },
        Section { title: "Flash, collection, wear, energy", about: FLASH, keys: flash(), null: &["wear.histogram"] },
        Section { title: "After the last completion", about: AFTERWARDS, keys: afterwards(), null: &["afterwards"] },
        Section {
            title: "Where the time of requests went",
            about: TIME_OF,
            keys: time_of(),
            null: &["time_of", "time_of.series"],
        },
        Section {
            title: "Over time",
            about: "",
            keys: over_time(),
            null: &["activity", "activity.saturated", "series", "latency_over_time"],
        },
        Section { title: "Map of the blocks", about: MAP, keys: map(), null: &["map"] },
        Section { title: "Steady states of jobs", about: STEADY, keys: steady_state(), null: &[] },
        Section { title: "Repeats", about: REPEATS, keys: repeats(), null: &["repeats"] },
        Section { title: "Files that the run wrote", about: FILES, keys: files(), null: &[] },
    ]
}

const LATENCY: &str =
    "Latency is from a request's arrival at the host queue to its completion at the host. Mean, least and \
    largest are exact. A percentile is told if at least ten requests of the sample lie beyond it (p99 takes 1,000 requests, p99.9 \
    10,000), and is `null` otherwise: a few largest values say more of chance than of the drive.";

const MAP: &str =
    "The state of all blocks at up to 64 moments of the run: of that time before anything happens then; the last one is of after the \
    last completion. A cell is a block, or some neighbouring blocks of a plane where a drive has many: cells are numbered plane by plane as \
    the drive numbers them (channel by channel, package, die, plane), in a plane by block, and each plane begins a new one. A *map* is base64 of zlib data with a byte \
    for each cell of each moment, its growth since the moment before modulo 256, in the first moment the value itself. Shares are in 255ths: \
    0 only for none, 255 only for all. `null` for a drive with more than 4,096 planes.";

const STATE: &str =
    "How far the run wore the drive in. A round is a fifth of the capacity, written by the host. The run ended in steady state if it \
    wrote at least five rounds, blocks were erased in each of the last five, and their write amplification passes the test of \
    the SNIA specification: range at most 20 % of the mean, and its linear fit rises or falls by at most 10 % of it.";

const REPEATS: &str =
    "With `--repeat N` only: the same run under N seeds. All other keys are those of the first of them. Each figure is given for \
    all that every run has; the interval is Student's, and holds the mean over all seeds with 95 % confidence if seeds scatter \
    normally.";

const JOBS: &str =
    "A list with an element for each job of a load that has several: for each of its clones (`numjobs`), or for all of them \
    together with `group_reporting`. A trace beside jobs is one more, and so is each device of a trace with `devices = \"stack\"`. \
    Absent if there is only one. There are at most 64: with more streams the clones of a job are told together, and the last \
    element is of all that are left. Their requests add up to those of the run: as there, what completed after the first \
    `ramp_time` counts.";

const FLASH: &str =
    "All of it from the start of measuring to the end of the figures, at the last completion; what the drive did by itself after \
    that is told under `afterwards`. A command counts, with its pages and its energy, when it begins.";

const AFTERWARDS: &str =
    "What the drive did by itself from the last completion until it was idle: the write buffer was written out, and what garbage \
    collection had begun came to its end. None of it is in the other figures. `null` if the run was interrupted.";

const TIME_OF: &str =
    "The parts of an operation add up to its latencies. `time_of` is `null` if it was not asked for; a run by \
    the command asks if it writes a result or a report.";

const STEADY: &str =
    "A list with an element for each job that looks for a steady state (`steadystate`); absent if none does.";

const FILES: &str =
    "In Python only, and only if they were asked for: what the command writes is where its options say.";

fn run() -> Vec<ResultKey> {
    vec![
        stable("schema", "", "Version of this layout."),
        stable("version", "", "Version of Wordline.").text(),
        stable("seed", "", "Seed of all random numbers."),
        stable(
            "digest",
            "",
            "Hash of version, configuration, load, seed, every completion and the final state of the blocks. The same inputs \
             give the same digest on every machine.",
        ).text(),
        key(
            "outcome",
            "",
            "Hash of every completion and the final state of the blocks alone: equal where two configurations do the very same.",
        ).text(),
        stable("partial", "", "True if the run was interrupted: the figures cover what was done until then.").boolean(),
        stable("simulated_s", "s", "Simulated time that the figures are of: to the last completion, or to the end of a job's `runtime`."),
        key(
            "measured_from_s",
            "s",
            "When the figures begin, from the start of the run: 0, or the end of the first job's `ramp_time`. The requests counted are \
             those that completed from then on.",
        ),
        key(
            "measured_to_s",
            "s",
            "When all figures end, from the start of the run: at the last completion, at the end of a job's `runtime` if that is \
             later, or where the run was interrupted.",
        ),
        stable("cpu_s", "s", "CPU time of the run.").or_null(),
        key("precondition_cpu_s", "s", "CPU time to age the drive or to read the snapshot; absent for a drive kept in Python."),
        key("earlier_runs", "runs", "How many runs the drive did before, for a drive that is kept in Python; absent elsewhere."),
    ]
}

fn inputs() -> Vec<ResultKey> {
    let mut keys = vec![
        stable(
            "config",
            "object",
            "The drive's configuration with every default written out; its keys are those of [the reference](reference.md).",
        ),
        key("changes[].key", "", "A key that the user set beyond what a preset says.").needed().text(),
        key("changes[].value", "", "Its value.").needed().any().or_null(),
        key("changes[].origin", "", "The place where it was set.").needed().text(),
        key("snapshot", "", "The snapshot that the run began from; `null` without one.").text().or_null(),
        stable("workload", "object", "The load as it was opened."),
        key("workload.options", "object", "The load as it was given, with every default written out; keys of [the reference](reference.md)."),
        key("workload.trace.file", "", "Name of the trace, without its folder.").text(),
        key("workload.trace.files", "list", "Names of its files, if there are several."),
        key("workload.trace.path", "", "Where it lies; `null` for a table in memory.").text().or_null(),
        key("workload.trace.format", "", "Its format, one of [those of traces](traces.md).").text(),
        key("workload.trace.compression", "", "How it was packed: `plain`, `gzip` or `zstd`.").text(),
        key("workload.trace.reason", "", "Why it was taken for that.").text(),
        key("workload.trace.stand_in", "", "What tells that it was made from statistics; `null` of a recorded trace.").text().or_null(),
        key("workload.trace.timed", "", "Whether it has time stamps; without, requests follow each other as fast as they can.").boolean(),
        key("workload.trace.scaled_from_bytes", "bytes", "End of its highest request, if addresses were scaled to the drive.").or_null(),
    ];
    keys.extend(fields::<LeftOut>("workload.trace.left_out", ""));
    keys.extend([
        key("workload.jobs[].name", "", "Name of a job.").text(),
        key("workload.jobs[].random", "", "Whether its places are random.").boolean(),
        key("workload.jobs[].read_percent", "%", "Share of reads."),
        key("workload.jobs[].other", "", "What its other requests are.").any().or_null(),
        key(
            "workload.jobs[].block_bytes",
            "bytes",
            "Sizes of its reads, and of its other requests: one, a range, or sizes with shares.",
        )
        .any()
        .or_null(),
        key("workload.jobs[].offset_bytes", "bytes", "Start of its region."),
        key("workload.jobs[].region_bytes", "bytes", "Size of its region."),
        key("workload.jobs[].io_bytes", "bytes", "Most bytes that it moves; `null` without a limit.").or_null(),
        key("workload.jobs[].requests", "requests", "Most requests that it sends; `null` without a limit.").or_null(),
        key("workload.jobs[].iodepth", "requests", "Most requests that it keeps in flight."),
        key("workload.jobs[].rate_iops", "requests/s", "Its rate; `null` if it goes as fast as it can.").or_null(),
        key("workload.jobs[].seed", "", "Seed of its random numbers."),
    ]);
    keys
}

fn drive() -> Vec<ResultKey> {
    let mut keys = vec![
        key("drive.name", "", "The preset's name, or that in the drive's file.").text(),
        key("drive.title", "", "The same in words.").text(),
    ];
    keys.extend(fields::<Derived>("drive", "").map(|key| {
        let joined_later = key.key.starts_with("drive.peak_mib_s.") || key.key.starts_with("drive.state_bytes");
        ResultKey { needed: !joined_later, ..key }
    }));
    keys
}

fn preconditioning() -> Vec<ResultKey> {
    let amplification = "precondition.write_amplification";
    fields::<Preconditioned>("precondition", "")
        .map(|key| if key.key == amplification { key.or_null() } else { key })
        .map(|key| if key.key == "precondition.interrupted" { key } else { key.needed() })
        .collect()
}

fn latency() -> Vec<ResultKey> {
    vec![
        stable("requests", "requests", "Requests completed, of all operations."),
        stable("iops", "requests/s", "`requests` / `simulated_s`."),
        stable("bandwidth_mib_s", "MiB/s", "Bytes read and written / `simulated_s`."),
        key("by_op.{read,write,trim,flush}.requests", "requests", "Requests completed."),
        key("by_op.{read,write,trim,flush}.bytes", "bytes", "Their bytes."),
        stable("latency_us.{all,read,write,trim}.count", "requests", "Requests in the sample."),
        stable("latency_us.{all,read,write,trim}.{mean,min,max}", "µs", "Mean, least and largest latency.").or_null(),
        stable(
            "latency_us.{all,read,write,trim}.{p50,p90,p99,p99_9,p99_99,p99_999,p99_9999}",
            "µs",
            "Percentiles; `p99_9` is 99.9 %. Above the true value by at most `percentile_error`, and never below it.",
        ).or_null(),
        key(
            "latency_us.{all,read,write,trim}.{p99_99999,p99_999999,p99_9999999}",
            "µs",
            "The same up to the ninth nine, which takes ten billion requests.",
        ).or_null(),
        key(
            "latency_us.flush.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,p99_9999999,max}",
            "µs",
            "The same of flushes.",
        ).or_null(),
        key("percentile_error", "0 to 1", "A percentile is above the true value by at most this share of it."),
        key("waiting_us.{mean,max}", "µs", "Waiting: of the latency, the time before a queue slot was free."),
        key(
            "gc_affected_requests",
            "requests",
            "Requests one of whose operations waited for a die while garbage collection held it, or that waited for the write buffer \
             while garbage collection held a die that its data waited for.",
        ),
        key(
            "cdf.{read,write,trim,flush}",
            "list of pairs",
            "The distribution of latency: a latency in µs, and the share of requests that were as fast or faster.",
        ),
    ]
}

fn jobs() -> Vec<ResultKey> {
    vec![
        key(
            "jobs[].name",
            "",
            "Name of the job, with the number of the clone behind it if it has several; of a trace, its file or its device.",
        )
        .needed()
        .text(),
        key("jobs[].stream", "", "Number of its stream, as the table of requests has it; of several, the first.").needed(),
        key("jobs[].streams", "streams", "How many streams it is of."),
        key("jobs[].device", "", "Number of the device of a trace, in the order in which they appear; `null` of a job.").or_null(),
        key(
            "jobs[].start_s",
            "s",
            "When it began, or when the figures began if that was later, from the start of the run; `null` if it did not come so far.",
        )
        .or_null(),
        key("jobs[].end_s", "s", "Its last completion, or the end of its `runtime`.").or_null(),
        key("jobs[].requests", "requests", "Requests completed, of all operations.").needed(),
        key("jobs[].iops", "requests/s", "`requests` / the time from `start_s` to `end_s`.").needed(),
        key("jobs[].bandwidth_mib_s", "MiB/s", "Bytes read and written / the same time.").needed(),
        key("jobs[].by_op.{read,write,trim,flush}.requests", "requests", "Requests completed, of the operations that it has."),
        key("jobs[].by_op.{read,write,trim,flush}.bytes", "bytes", "Their bytes."),
        key("jobs[].latency_us.{all,read,write,trim,flush}.count", "requests", "Requests in the sample, of the operations that it has."),
        key(
            "jobs[].latency_us.{all,read,write,trim,flush}.{mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,\
             p99_9999999,max}",
            "µs",
            "Latency, as under `latency_us`.",
        )
        .or_null(),
        key("jobs[].waiting_us.{mean,max}", "µs", "Waiting: of the latency, the time before a queue slot was free."),
        key("jobs[].gc_affected_requests", "requests", "Requests one of whose operations waited for a die while garbage collection held it."),
    ]
}

fn afterwards() -> Vec<ResultKey> {
    vec![
        key("afterwards.simulated_s", "s", "Simulated time from the last completion until the drive was idle.")
            .needed(),
        key("afterwards.{reads,programs}", "pages", "Pages read and programmed, for any reason.").needed(),
        key("afterwards.erases", "blocks", "Blocks erased.").needed(),
        key("afterwards.commands", "commands", "Flash commands."),
        key("afterwards.collections", "blocks", "Blocks collected.").needed(),
        key("afterwards.moved_pages", "pages", "Valid data that collection moved.").needed(),
        key("afterwards.energy_j", "J", "Energy of the NAND packages.").needed(),
    ]
}

fn state() -> Vec<ResultKey> {
    vec![
        key(
            "at_start.filled",
            "0 to 1",
            "Share of the capacity that held data when measuring began: 0 for an empty drive.",
        ),
        key(
            "at_start.erases",
            "erases",
            "Erases of all blocks by then, since the drive was new: 0 where garbage collection had not begun.",
        ),
        key("written.of_capacity", "", "Bytes that the host wrote / capacity: 1 is the capacity written once."),
        key("written.steady", "", "Whether the run ended in steady state; `null` if it wrote nothing.")
            .boolean()
            .or_null(),
        key("written.rounds", "list", "Write amplification of the last rounds, five at most.").number(),
    ]
}

fn repeats() -> Vec<ResultKey> {
    vec![
        key("repeats.asked", "runs", "Runs that were asked for.").needed(),
        key("repeats.n", "runs", "Runs that were done; fewer if they were interrupted, and then `partial` is true.")
            .needed(),
        key("repeats.seeds", "lists", "Their seeds, ascending.").needed(),
        key("repeats.digests", "list", "Their digests.").needed(),
        key("repeats.distinct", "runs", "How many of them differ in their outcome; 1 if nothing depended on the seed.")
            .needed(),
        key(
            "repeats.figures[].key",
            "",
            "The key of a figure; of a list in `utilisation` or `activity`, the mean of its values.",
        )
        .needed()
        .text(),
        key(
            "repeats.figures[].{mean,min,max}",
            "",
            "Mean, least and largest over the runs, in the unit of the figure.",
        )
        .needed(),
        key(
            "repeats.figures[].ci95",
            "",
            "Half of the 95 % confidence interval of the mean: mean ± ci95. `null` of a single run.",
        )
        .needed()
        .or_null(),
        key("repeats.figures[].values", "lists", "The values, in the order of the seeds.").needed(),
    ]
}

fn flash() -> Vec<ResultKey> {
    let mut keys = vec![
        stable(
            "write_amplification",
            "",
            "Bytes of all pages programmed, for any reason / bytes written by the host, both until the last completion. `null` without \
             writes. With a write buffer, data that still wait there at that time count as written and are not programmed yet \
             (`afterwards.programs` has them), and data that waited when measuring began are programmed without having been \
             written in it. So it is too low in a run that writes little more than the buffer holds, down to 0 in one that fits into it.",
        ).or_null(),
        stable("flash.{reads,programs}", "pages", "Pages read and programmed, for any reason."),
        stable("flash.erases", "blocks", "Blocks erased."),
        key("flash.commands", "commands", "Flash commands; a multi-plane command is one."),
        key("flash.multi_plane_pages", "pages", "Pages that shared a multi-plane command."),
        key(
            "flash.copybacks",
            "pages",
            "Pages that collection moved inside their plane by copyback commands; each is also one page read and one programmed.",
        ),
        key("flash.suspensions", "suspensions", "Times that a program or an erase was suspended for host reads."),
        key("flash.merge_reads", "pages", "Pages read to complete a unit that the host wrote in part."),
        key("flash.padded_units", "mapping units", "Units of programmed pages that were left empty."),
        key(
            "flash.absorbed_units",
            "mapping units",
            "Units that the host wrote and that never reached the flash: replaced or given back while they waited in the write buffer.",
        ),
        stable("gc.collections", "blocks", "Blocks collected."),
        stable("gc.moved_pages", "pages", "Valid data that collection moved; a fraction where a page holds several units."),
        key("gc.moved_units", "mapping units", "The same in mapping units."),
        key("free_blocks", "blocks", "Erased blocks at the last completion."),
        stable("wear.{mean,max,stddev}", "erases", "Erases of a block since the drive was new until the last completion, over all blocks. An erase counts here when it is over."),
        key("wear.histogram.first", "erases", "Blocks by their erases, in at most 64 bars: fewest erases of the first bar.").needed(),
        key("wear.histogram.width", "erases", "Width of a bar.").needed(),
        key("wear.histogram.blocks", "list, blocks", "Blocks in each bar.").needed(),
        key("wear.planes", "list, erases", "Mean erases of the blocks of each plane."),
        stable("energy_j", "J", "Energy of the NAND packages, from the currents of `[nand.energy]`.").or_null(),
    ];
    keys.extend(fields::<Energy>("energy", "J"));
    keys.extend([
        key(
            "reliability.read_retries",
            "retries",
            "Retries of page reads whose bit errors the ECC could not correct; 0 unless `[nand.reliability]` has a model.",
        ),
        key("reliability.uncorrectable_pages", "pages", "Page reads that no retry could correct."),
        key("reliability.program_fails", "pages", "Programs whose status was FAIL."),
        key("reliability.erase_fails", "blocks", "Erases whose status was FAIL."),
        key("reliability.bad_blocks", "blocks", "Bad blocks at the last completion, from the factory or since."),
        key(
            "utilisation.{channels,dies}",
            "list, 0 to 1",
            "Share of simulated time in which each channel or die was at work, for the host or for itself.",
        ),
        key("utilisation.{link_in,link_out}", "0 to 1", "The same of the host link, towards the drive and towards the host."),
    ]);
    keys
}

fn time_of() -> Vec<ResultKey> {
    let mut keys: Vec<ResultKey> = Part::ALL
        .iter()
        .map(|(_, name, meaning)| {
            let mut meaning = (*meaning).to_owned();
            meaning[..1].make_ascii_uppercase();
            key(&format!("time_of.{{read,write}}.{name}"), "s", &format!("{meaning}."))
        })
        .collect();
    keys.push(
        key("time_of.series.interval_s", "s", "Length of the intervals of the lists below, at most 128.").needed(),
    );
    let names = Part::ALL.map(|(_, name, _)| name).join(",");
    let meaning = "For each part that occurs, the time that completed requests spent on it in each interval, also where they ended later.";
    keys.push(key(&format!("time_of.series.{{read,write}}.{{{names}}}"), "lists, s", meaning));
    keys.extend([
        key(
            "time_of.by_latency.{read,write}.up_to_us",
            "list, µs",
            "Classes of latency that occur, quarter octaves: upper end of each.",
        )
        .needed(),
        key("time_of.by_latency.{read,write}.requests", "list, requests", "Requests of each class.").needed(),
        key(
            &format!("time_of.by_latency.{{read,write}}.{{{names}}}"),
            "lists, s",
            "For each part that occurs, the time that the requests of each class spent on it.",
        ),
    ]);
    keys
}

fn over_time() -> Vec<ResultKey> {
    vec![
        key("series.interval_s", "s", "Length of the intervals of the lists below.").needed(),
        key("series.start_s", "list, s", "Start of each interval."),
        key("series.{read_iops,write_iops}", "list, requests/s", "Requests completed."),
        key("series.{read_mib_s,write_mib_s}", "list, MiB/s", "Bytes completed."),
        key(
            "series.{latency_mean_us,latency_p99_us,latency_max_us}",
            "list, µs",
            "Latency of the requests completed in the interval; `null` without any. The percentile is up to a quarter octave too large, \
             and `null` where the interval has fewer than 1,000 requests.",
        ).or_null(),
        key(
            "series.{read,write,trim,flush}_latency_{mean,p99,max}_us",
            "list, µs",
            "The same of one operation, for each that the run had.",
        ).or_null(),
        key(
            "series.outstanding",
            "list, requests",
            "Requests that had arrived and were not complete, on average over the interval. A stalled request counts in all intervals \
             in which it waited.",
        ),
        key(
            "series.age_max_us",
            "list, µs",
            "The longest time that any request had been outstanding when it completed in the interval, or when the interval ended: it rises \
             while requests stall.",
        ),
        key("series.free_blocks", "list, blocks", "Erased blocks.").or_null(),
        key(
            "series.write_amplification",
            "list",
            "Pages programmed / pages that the host wrote in the interval. Programs may fall into a later interval than their \
             writes, so that a value below 1 is no mistake.",
        ).number().or_null(),
        key("latency_over_time.interval_s", "s", "Length of the intervals of the lists below, at most 128.").needed(),
        key("latency_over_time.up_to_us", "list, µs", "Upper end of each class of latency, quarter octaves; the last takes all that is slower.").needed(),
        key(
            "latency_over_time.{read,write,trim,flush}",
            "list of lists, requests",
            "For each interval, the requests that completed in it by class of latency, up to the highest class that occurs in it; for each \
             operation that the run had.",
        ),
        key(
            "activity.interval_s",
            "s",
            "Length of the intervals of the lists below: at most 256, and fewer if there are many dies.",
        ).needed(),
        key("activity.end_s", "s", "Where the last interval ends: with the figures."),
        key("activity.channels", "list of lists, 0 to 1", "For each channel, the share of each interval in which its bus was in use."),
        key("activity.dies", "list of lists, 0 to 1", "For each die, the share in which its cells and registers were at work."),
        key("activity.dies_gc", "list of lists, 0 to 1", "For each die, the share in which a command of garbage collection held it."),
        key(
            "activity.saturated.interval_s",
            "s",
            "Length of the intervals in which saturation is told: at most 64, and none shorter than 8 ms. A part is saturated in an interval \
             in which it was at work for 90 % of the time or more; a die, if commands held it that did not wait for the bus.",
        ),
        key("activity.saturated.intervals", "intervals", "How many there are; a last one of less than half the length is left out."),
        key(
            "activity.saturated.dies_by.{read,write,gc}",
            "list, intervals",
            "For each die, the intervals in which it was saturated and reads of the host, writes of the host, or garbage collection held it \
             longest.",
        ),
        key("activity.saturated.channels", "list, intervals", "For each channel, the intervals in which its bus was saturated."),
        key("activity.saturated.{link_in,link_out}", "intervals", "The intervals in which the host link was saturated, in each direction."),
    ]
}

fn map() -> Vec<ResultKey> {
    vec![
        key("map.{channels,dies_per_channel,planes_per_die,blocks_per_plane}", "", "The shape of the drive.").needed(),
        key("map.blocks_per_cell", "blocks", "Blocks of a cell; the last cell of a plane may have fewer.").needed(),
        key("map.at_s", "list, s", "The moments, from the start of measuring.").needed(),
        key("map.valid", "", "Map: valid units / units of the cell.").text().needed(),
        key("map.erases.least", "erases", "The lowest mean of the erases of a cell's blocks.").needed(),
        key("map.erases.step", "erases", "What a step of the map is above that.").needed(),
        key("map.erases.data", "", "Map: steps of a cell above the least.").text().needed(),
        key(
            "map.states.{free,open,victim,spare,bad}",
            "",
            "Map: blocks of the cell in a state, as in the table of blocks; of those that occur. What is left is closed.",
        )
        .text(),
    ]
}

fn steady_state() -> Vec<ResultKey> {
    vec![
        key("steady_state[].job", "", "The job.").text(),
        key(
            "steady_state[].criterion",
            "",
            "What it looks at: `iops`, `bw`, or the slope of one, `iops_slope`, `bw_slope`.",
        )
        .text(),
        key("steady_state[].limit", "", "How much the values of the window may differ."),
        key("steady_state[].limit_in_percent", "", "Whether that is a percentage of their mean.").boolean(),
        key("steady_state[].window_s", "s", "Length of the window."),
        key("steady_state[].attained", "", "Whether the job came to a steady state, which ends it.").boolean(),
        key("steady_state[].at_s", "s", "When; `null` if it did not.").or_null(),
        key(
            "steady_state[].measured",
            "",
            "By how much the values of the last window differed, in the limit's unit; `null` if no window was full.",
        )
        .or_null(),
        key("steady_state[].iops", "list, requests/s", "The values of the last window: requests completed."),
        key("steady_state[].bytes_per_s", "list, bytes/s", "The same: bytes completed."),
    ]
}

fn files() -> Vec<ResultKey> {
    vec![
        key("timeline.slices", "slices", "Slices in the timeline."),
        key("timeline.cut_s", "s", "Where it was cut; `null` if it is whole.").or_null(),
        key("timeline.cut", "", "Why: `full`, `interrupted` or `failed`.").text().or_null(),
        key(
            "timeline.error",
            "",
            "Always `null` in a result that you hold: a timeline that cannot be written is an error.",
        )
        .text()
        .or_null(),
        key("tables.directory", "", "Where [the tables](tables.md) are.").text(),
        key("tables.wanted", "list", "Names of the tables that were asked for."),
        key("tables.sample", "requests", "One request in so many is in the table of requests."),
        key("tables.interval_s", "s", "Length of the intervals."),
        key("tables.files[].name", "", "Name of a table.").text(),
        key("tables.files[].path", "", "Its file.").text(),
        key("tables.files[].rows", "rows", "Its rows."),
        key("tables.files[].bytes", "bytes", "Its size."),
        key("tables.errors", "list", "Always empty in a result that you hold, for the same reason."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_told_once_and_means_something() {
        let sections = sections();
        let keys: Vec<&ResultKey> = sections.iter().flat_map(|section| &section.keys).collect();
        let mut names: Vec<&str> = keys.iter().map(|key| key.key.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(keys.iter().all(|key| key.meaning.len() > 5 && key.meaning.ends_with(['.', '`'])), "{keys:?}");
    }

    #[test]
    fn structs_are_told_by_their_fields() {
        let keys = drive();
        let of = |name: &str| keys.iter().find(|key| key.key == name).map(|key| key.meaning.as_str());
        assert_eq!(of("drive.dies"), Some("Dies in all."));
        assert_eq!(of("drive.peak_mib_s.link_in"), Some("Host link, data to the drive."));
        assert_eq!(of("drive.peak_mib_s"), None);
    }
}
