//! Meaning of every key of a result. `docs/results.md` is generated from this list.
//!
//! Serialised structs are described by the doc comments of their fields.

mod array;
mod key;
mod live;
mod requests;

pub use key::{Holds, ResultKey};

use crate::config::Derived;
use crate::precondition::Preconditioned;
use key::{fields, key, stable};
use requests::{jobs, latency, map, over_time, steady_state, time_of};
use serde::Serialize;
use wordline_firmware::task::{Task, Tasks};
use wordline_flash::Energy;
use wordline_workload::LeftOut;

/// Keys that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// A heading.
    pub title: &'static str,
    /// Text that applies to all of them; may be empty.
    pub about: &'static str,
    /// The keys, in the order of the document.
    pub keys: Vec<ResultKey>,
    /// Objects among them that may be `null` or missing as a whole.
    pub null: &'static [&'static str],
}

/// All keys, section by section.
#[must_use]
pub fn sections() -> Vec<Section> {
    vec![
        Section { title: "The run", about: "", keys: run(), null: &[] },
        Section {
            title: "Inputs of the run",
            about: "",
            keys: inputs(),
            null: &["changes", "workload.trace.left_out"],
        },
        Section {
            title: "The drive",
            about: "Figures derived from the configuration, as in `wordline check --json`.",
            keys: drive(),
            null: &[],
        },
        Section {
            title: "Preconditioning",
            about: "Preconditioning of the drive before the run; `precondition` is `null` without any.",
            keys: preconditioning(),
            null: &["precondition"],
        },
        Section { title: "State of the drive", about: STATE, keys: state(), null: &["at_start", "written"] },
        Section { title: "Requests and latency", about: LATENCY, keys: latency(), null: &[] },
        Section { title: "Jobs and streams", about: JOBS, keys: jobs(), null: &["jobs"] },
        Section { title: "Flash, collection, wear, energy", about: FLASH, keys: flash(), null: &["wear.histogram"] },
        Section { title: "Members of an array", about: ARRAY, keys: array::array(), null: &["array", "array.parity"] },
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
        Section {
            title: "Live disk",
            about: LIVE,
            keys: live::live(),
            null: &["live", "live.recorded", "live.metadata", "live.state"],
        },
        Section { title: "Files that the run wrote", about: FILES, keys: files(), null: &[] },
    ]
}

/// Names of tasks, as alternatives of a key.
fn names(tasks: impl Iterator<Item = Task>) -> String {
    tasks.map(|task| task.about().name).collect::<Vec<_>>().join(",")
}

/// Flash operations of each task.
fn tasks() -> [ResultKey; 9] {
    let all = names(Task::all());
    let background = names(Tasks::ALL.background());
    let of = |tasks: &str, what: &str, unit, meaning: &str| key(&format!("tasks.{{{tasks}}}.{what}"), unit, meaning);
    [
        of(&all, "reads", "pages", "Pages read for each task of the drive."),
        of(&all, "programs", "pages", "Pages programmed for it."),
        of(&all, "multi_plane_reads", "pages", "Of the pages read, the ones that shared a multi-plane command."),
        of(
            &all,
            "multi_plane_programs",
            "pages",
            "Of the pages programmed, the ones that shared a multi-plane command.",
        ),
        of(&background, "erases", "blocks", "Blocks erased for it."),
        of(&background, "blocks", "blocks", "Blocks that it started to empty."),
        of(&background, "moved_pages", "pages", "Valid data that it moved; a fraction as above."),
        of(&all, "map_reads", "map units", "Units of the mapping table read from flash for it, if the table is there."),
        of(
            &all,
            "map_writes",
            "map units",
            "Units of the mapping table written to flash for it, if the table is there.",
        ),
    ]
}

/// Requests at the dies of a drive whose dies serve one at a time.
fn banks() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("banks.{{read,write}}.{what}"), unit, meaning);
    vec![
        of(
            "parts",
            "parts",
            "Parts of requests that dies served, one for each die in which a request has pages. This part is there if \
             `dispatch.policy` is `one-request`.",
        ),
        of(
            "waited_us",
            "µs",
            "Mean time that they waited for their die to be done with other requests; `null` without any.",
        )
        .number()
        .or_null(),
        of("ahead", "parts", "Those that went before an older one of the other kind (`dispatch.order`)."),
    ]
}

/// Transactions of the host, of a drive that commits its operations together.
fn transactions() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("transactions.{what}"), unit, meaning);
    vec![
        of(
            "{read,write}.count.{single,planes,dies,dies_and_planes}",
            "transactions",
            "Transactions of the host: of one page, of several planes of a die, of one plane in each of several dies, of several \
             dies with several planes in some. This part is there if `dispatch.policy` is `in-order`.",
        ),
        of(
            "{read,write}.pages.{single,planes,dies,dies_and_planes}",
            "pages",
            "Their pages. Flash-level parallelism is the share of pages that are not in the first kind.",
        ),
        of(
            "{read,write}.beside_channels",
            "transactions",
            "Transactions that were committed while another channel had one of the host under way.",
        ),
        of(
            "{read,write}.beside_ways",
            "transactions",
            "Transactions that were committed while another package (or die, with `dispatch.unit`) of their channel had one under way.",
        ),
        of(
            "{read,write}.waited_us",
            "µs",
            "Mean time of their operations from coming to being committed; `null` without any.",
        )
        .number()
        .or_null(),
        of(
            "package_taken",
            "0 to 1",
            "Share of simulated time in which the oldest operation waited for an earlier transaction in its package (or die).",
        ),
        of("bus_taken", "0 to 1", "The same for the bus of its channel, when its package was free (`dispatch.wait_for_bus`)."),
    ]
}

/// Merges, of a drive whose mapping has log blocks.
fn log_blocks() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("log_blocks.{what}"), unit, meaning);
    vec![
        of(
            "merges",
            "merges",
            "Times that log blocks were emptied and erased, each with all logical blocks that had pages there. This part is there \
             if `mapping` has log blocks.",
        ),
        of("mean_us", "µs", "Mean time of one, until its last page was copied; `null` without any.").number().or_null(),
        of(
            "switch_merges",
            "logical blocks",
            "Logical blocks of them whose log block became their data block, with nothing left to copy.",
        ),
        of("partial_merges", "logical blocks", "Those where the rest was copied behind what the log block held in order."),
        of("full_merges", "logical blocks", "Those whose pages were all copied to a free block."),
    ]
}

/// Threshold and sessions, of a drive with lazy wear leveling.
fn leveling() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("wear_leveling.{what}"), unit, meaning);
    vec![
        of(
            "delta",
            "erases",
            "Threshold of lazy wear leveling now: a block that GC erases takes data that stay if it has more P/E cycles than this above \
             the average. This part is there if `wear.policy` is `lazy`; its counts are since the drive was new, with preconditioning.",
        )
        .number(),
        of("gc_erases", "blocks", "Erases of GC that it was told of."),
        of("wear_erases", "blocks", "Erases by wear leveling: each of a block whose data were moved to a worn one."),
        of("overhead", "0 to 1", "Erases by wear leveling over those of GC; `null` without any of GC.").number().or_null(),
        of(
            "sessions.delta",
            "list, erases",
            "Threshold of each session that is over: a time with `wear.session_erases` erases by wear leveling.",
        ),
        of("sessions.overhead", "list, 0 to 1", "Erases by wear leveling over those of GC in each."),
        of("sessions.stddev", "list, erases", "Standard deviation of the P/E cycles of all blocks at the end of each."),
    ]
}

/// Merges, of a drive whose collect policy schedules them over idle periods, or divides them into steps.
fn scheduled_merges() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("scheduled_merges.{what}"), unit, meaning);
    vec![
        of(
            "on_demand",
            "merges",
            "Merges of log blocks that started because a write, or the free blocks of its domain, could not wait. This part is there if \
             `collect` schedules merges (`agc`, `dgc`, `agc-dgc`, `partial`).",
        ),
        of("look_ahead", "merges", "Those that started in a short idle period, since the next request would need them."),
        of("proactive", "merges", "Those that started in a long idle period, since their log blocks were full and free blocks few."),
        of("retroactive", "merges", "Those that had been delayed and started in an idle period."),
        of("partial", "merges", "Those that started since free blocks were few, to go in steps that writes pay for."),
        of("interruptions", "interruptions", "Times that a merge of an idle period stopped between two operations, since the host came."),
        of("pressed", "merges", "Merges of idle periods, or in steps, that went on to their end since a write waited for them."),
        of("delay_blocks", "blocks", "Free blocks that became log blocks in place of a merge, which was delayed (update block replacement)."),
    ]
}

/// Superblocks, of a drive whose blocks form any.
fn superblocks() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("superblocks.{what}"), unit, meaning);
    vec![
        of(
            "blocks",
            "blocks",
            "Blocks of a superblock: each is opened, collected and erased with the others. This part is there if `redundancy` \
             forms superblocks.",
        ),
        of(
            "parity_pages",
            "pages",
            "Pages of parity programmed; they also count as pages of the task whose data made them due.",
        ),
        of("rebuilt_reads", "reads", "Flash reads of the host that were rebuilt from other dies, since background tasks used theirs."),
        of("rebuilding_reads", "pages", "Pages read to rebuild them; they also count as pages read for the host."),
    ]
}

/// Parity of logical pages, of a drive that has some.
fn parity() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("parity.{what}"), unit, meaning);
    vec![
        of(
            "stripe_pages",
            "pages",
            "Logical pages that share a page of parity, and that page. This part is there if `redundancy.policy` is `ttflash`.",
        ),
        of(
            "programmed_pages",
            "pages",
            "Pages of parity programmed; they also count as pages of the host. A fraction if a page holds several mapping units.",
        ),
        of("reads", "pages", "Pages read for it: data that were overwritten, old parity, and data that memory lacked; they also count as pages read for the host."),
        of("rebuilt_reads", "reads", "Flash reads of the host that were rebuilt from other dies, since background tasks used theirs."),
        of("rebuilding_reads", "pages", "Pages read to rebuild them; they also count as pages read for the host."),
    ]
}

/// The SLC cache, of a drive that has one.
fn slc_cache() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("slc.{what}"), unit, meaning);
    vec![
        of("pages", "pages", "Pages programmed in SLC mode. This part is there if `slc` gives the drive a cache."),
        of("blocks", "blocks", "Blocks in SLC mode at the last completion."),
    ]
}

/// The mapping table, of a drive that keeps it in flash.
fn mapping_table() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("mapping_table.{what}"), unit, meaning);
    vec![
        of(
            "map_units",
            "map units",
            "Size of the mapping table in flash. This part is there if `mapping` keeps it there.",
        ),
        of("lookups", "mapping units", "Mapping units that the host's requests looked up."),
        of(
            "hits",
            "mapping units",
            "Of these, the ones whose entry was in memory at once, or had never been written to flash.",
        ),
        of("hit_rate", "", "Share of them; `null` without lookups.").number().or_null(),
        of("reads", "map units", "Map units read from flash, for all tasks."),
        of(
            "writes",
            "map units",
            "Map units that left memory with changed entries and were written to flash, for all tasks.",
        ),
        of(
            "zone_loads",
            "tables",
            "Tables of map zones that memory got from flash. Only with map zones, where map units are pages of tables.",
        ),
        of("zone_stores", "tables", "Tables of map zones that left memory with changed entries. Only with map zones."),
    ]
}

const ARRAY: &str =
    "In results of [arrays](arrays.md) only. All other keys then are of the array: requests and latency as its host sees them, and \
     sums over its drives, a spare included, so parity and a rebuild count in `write_amplification` (`utilisation` lists the channels and dies of one after the other, and has the mean of \
     the links). What only a single drive has is `null` or absent: `activity`, `map`, `time_of` and the parts of some policies.";

const LATENCY: &str =
    "Latency is from a request's arrival at the host queue to its completion at the host. Mean, minimum and maximum \
     are exact. A percentile needs at least ten requests of the sample beyond it (p99 takes 1,000 requests, p99.9 \
     10,000) and is `null` otherwise: fewer would measure chance, not the drive.";

const MAP: &str =
    "The state of all blocks at up to 64 moments of the run. A moment shows the state before any event at that time; \
     the last one is after the last completion. A cell is one block, or several neighbouring blocks of a plane in a \
     large drive. Cells are numbered plane by plane in the drive's order (channel, package, die, plane) and by block \
     within a plane; each plane starts a new cell. A *map* is base64 of zlib data with a byte for each cell of each \
     moment: the value itself in the first moment, then the difference from the moment before, modulo 256. Shares are \
     in 255ths: 0 only for none, 255 only for all. `null` for a drive with more than 4,096 planes.";

const STATE: &str =
    "Progress of the drive towards steady state. A round is host writes of a fifth of the capacity. The run ended in \
     steady state if it wrote at least five rounds, blocks were erased in each of the last five, and their write \
     amplification passes the test of the SNIA specification: range at most 20 % of the mean, and linear fit rising or \
     falling by at most 10 % of the mean.";

const LIVE: &str = "How the drive was served as a disk, in results of `wordline serve`.";

const REPEATS: &str =
    "With `--repeat N` only: the same run under N seeds. All other keys are from the first of these runs. A figure is \
     listed if every run has it. The interval is Student's: it contains the mean over all seeds with 95 % confidence \
     if the values are normally distributed over seeds.";

const JOBS: &str =
    "A list for a workload with several jobs, one element for each job: for each of its clones (`numjobs`), or for all \
     of them together with `group_reporting`. A trace beside jobs is one more element, and so is each device of a \
     trace with `devices = \"stack\"` or `\"members\"`. Absent if there is only one. There are at most 64: with more streams, the \
     clones of a job share an element, and the last element holds all remaining streams. Their requests add up to \
     those of the run: requests that completed after the first `ramp_time` count.";

const FLASH: &str =
    "All figures cover the time from the start of measuring to the end of the figures, at the last completion; \
     background work after that is under `afterwards`. A command counts, with its pages and its energy, when it \
     starts.";

const AFTERWARDS: &str =
    "Background work from the last completion until the drive was idle: the write buffer was flushed, and running \
     garbage collection finished. The other figures include none of it. `null` if the run was interrupted.";

const TIME_OF: &str =
    "The parts of an operation add up to its latencies. `time_of` is `null` if it was not requested; the command \
     requests it when it writes a result or a report.";

const STEADY: &str =
    "A list with an element for each job that ends in steady state (`steadystate`); absent if none does.";

const FILES: &str = "In Python only, and only if files were requested. The command writes files where its options say.";

fn run() -> Vec<ResultKey> {
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

fn inputs() -> Vec<ResultKey> {
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

fn drive() -> Vec<ResultKey> {
    let mut keys = vec![
        key("drive.name", "", "Name of the preset, or the name in the drive file.").text(),
        key("drive.title", "", "Its title.").text(),
    ];
    keys.extend(fields::<Derived>("drive", "").map(|key| {
        let joined_later = key.key.starts_with("drive.peak_mib_s.")
            || key.key.starts_with("drive.state_bytes")
            || key.key.starts_with("drive.slc_bytes")
            || key.key == "drive.parity_bytes";
        ResultKey { needed: !joined_later, ..key }
    }));
    let of_zones = |what: &str, unit, meaning: &str| key(&format!("drive.map_zones.{what}"), unit, meaning);
    keys.extend([
        of_zones("count", "zones", "Map zones. This part is there if `mapping` cuts the drive into some."),
        of_zones("tables", "tables", "Tables of zones that memory holds at most."),
        of_zones("table_bytes", "bytes", "Size of the table of a zone."),
        of_zones("table_units", "mapping units", "Mapping units that it takes in flash."),
    ]);
    keys
}

fn preconditioning() -> Vec<ResultKey> {
    let amplification = "precondition.write_amplification";
    // Added after the first results were saved.
    let later = ["precondition.interrupted", "precondition.read_blocks"];
    fields::<Preconditioned>("precondition", "")
        .map(|key| if key.key == amplification { key.or_null() } else { key })
        .map(|key| if later.contains(&&*key.key) { key } else { key.needed() })
        .collect()
}

fn afterwards() -> Vec<ResultKey> {
    vec![
        key("afterwards.simulated_s", "s", "Simulated time from the last completion until the drive was idle.")
            .needed(),
        key("afterwards.{reads,programs}", "pages", "Pages read and programmed, for any reason.").needed(),
        key("afterwards.erases", "blocks", "Blocks erased.").needed(),
        key("afterwards.commands", "commands", "Flash commands."),
        key("afterwards.collections", "blocks", "Victim blocks that garbage collection finished.").needed(),
        key("afterwards.moved_pages", "pages", "Valid data that garbage collection moved.").needed(),
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
            "Erases of all blocks up to then, since the drive was new: 0 if garbage collection had not started.",
        ),
        key("written.of_capacity", "", "Bytes written by the host / capacity: 1 is one drive write."),
        key("written.steady", "", "True if the run ended in steady state; `null` if it wrote nothing.")
            .boolean()
            .or_null(),
        key("written.rounds", "list", "Write amplification of the last rounds, at most five.").number(),
    ]
}

fn repeats() -> Vec<ResultKey> {
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

fn flash() -> Vec<ResultKey> {
    let mut keys =
        vec![
        stable(
            "write_amplification",
            "",
            "Write amplification (WAF): bytes of all pages programmed, for any reason / bytes written by the host, \
             both until the last completion. `null` without writes. With a write buffer, data still buffered at that \
             time count as written but not as programmed (`afterwards.programs` has them), and data buffered when \
             measuring began count as programmed but not as written. So it is too low in a run that writes little \
             more than the buffer holds, down to 0 in a run that fits into the buffer.",
        ).or_null(),
        stable("flash.{reads,programs}", "pages", "Pages read and programmed, for any reason."),
        stable("flash.erases", "blocks", "Blocks erased."),
        key("flash.commands", "commands", "Flash commands; a multi-plane command counts once."),
        key("flash.multi_plane_pages", "pages", "Pages that shared a multi-plane command."),
        key(
            "flash.copybacks",
            "pages",
            "Pages that garbage collection moved within their plane by copyback; each also counts as one read and one \
             program.",
        ),
        key("flash.suspensions", "suspensions", "Suspensions of programs and erases for host reads."),
        key(
            "flash.merge_reads",
            "pages",
            "Pages read to complete a logical page (mapping unit) that the host wrote in part.",
        ),
        key("flash.padded_units", "mapping units", "Mapping units of programmed pages that were filled with padding."),
        key(
            "flash.absorbed_units",
            "mapping units",
            "Logical pages (mapping units) that the host wrote and that never reached the flash: overwritten or \
             trimmed in the write buffer.",
        ),
        stable("gc.collections", "blocks", "Victim blocks that garbage collection finished."),
        stable(
            "gc.moved_pages",
            "pages",
            "Valid data that garbage collection moved; a fraction if a page holds several mapping units.",
        ),
        key("gc.moved_units", "mapping units", "The same in mapping units."),
        key("gc.holds", "operations", "Page reads and erases of garbage collection that `collect.policy` put on hold."),
        key("gc.joined_reads", "pages", "Pages read for the host in a command that a read of GC led (`pack.join_gc`)."),
        key("gc.joined_writes", "pages", "Pages programmed for the host in a command that a program of GC led."),
        key(
            "gc.plane_utilisation",
            "0 to 1",
            "Busy planes of dies with GC under way, over all their planes: from the first command of GC in a die to the end of its \
             last erase there, whoever the planes work for; `null` without GC. A plane is busy from the start of its \
             command, with its transfers.",
        )
        .number()
        .or_null(),
        key("free_blocks", "blocks", "Erased blocks at the last completion."),
        stable(
            "wear.{mean,max,stddev}",
            "erases",
            "P/E cycles: erases of each block since the drive was new until the last completion, over all \
             blocks. An erase counts here when it is complete.",
        ),
        key(
            "wear.histogram.first",
            "erases",
            "Histogram of blocks by erases, at most 64 bars: lowest erase count of the first bar.",
        ).needed(),
        key("wear.histogram.width", "erases", "Width of a bar.").needed(),
        key("wear.histogram.blocks", "list, blocks", "Blocks in each bar.").needed(),
        key("wear.planes", "list, erases", "Mean erases of the blocks of each plane."),
        stable("energy_j", "J", "Energy of the NAND packages, from the currents of `[nand.energy]`.").or_null(),
    ];
    keys.extend(tasks());
    keys.extend(transactions());
    keys.extend(banks());
    keys.extend(mapping_table());
    keys.extend(log_blocks());
    keys.extend(leveling());
    keys.extend(scheduled_merges());
    keys.extend(superblocks());
    keys.extend(parity());
    keys.extend(slc_cache());
    keys.extend(fields::<Energy>("energy", "J"));
    keys.extend([
        key(
            "reliability.read_retries",
            "retries",
            "Retries of page reads whose bit errors the ECC could not correct; 0 unless `[nand.reliability]` has a \
             model.",
        ),
        key("reliability.uncorrectable_pages", "pages", "Page reads that no retry could correct."),
        key("reliability.program_fails", "pages", "Programs whose status was FAIL."),
        key("reliability.erase_fails", "blocks", "Erases whose status was FAIL."),
        key("reliability.bad_blocks", "blocks", "Bad blocks at the last completion, from the factory or since."),
        key(
            "utilisation.{channels,dies}",
            "list, 0 to 1",
            "Share of simulated time in which each channel or die was busy, for the host or in the background.",
        ),
        key(
            "execution.cell",
            "0 to 1",
            "Where the time of the dies went, as shares of simulated time over all dies: cells and registers at work. The four shares \
             add up to 1 but in cache mode, where cells and bus work at the same time.",
        ),
        key("execution.bus", "0 to 1", "Commands, addresses and data of a die on the bus."),
        key("execution.contention", "0 to 1", "Commands in a die wait for the bus."),
        key("execution.idle", "0 to 1", "No command in the die."),
        key(
            "utilisation.{link_in,link_out}",
            "0 to 1",
            "The same for the host interface, towards the drive and towards the host.",
        ),
    ]);
    keys
}

fn files() -> Vec<ResultKey> {
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
        assert_eq!(of("drive.dies"), Some("Total dies."));
        assert_eq!(of("drive.peak_mib_s.link_in"), Some("Host interface, data to the drive."));
        assert_eq!(of("drive.peak_mib_s"), None);
    }
}
