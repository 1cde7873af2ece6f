//! Meaning of every key of a result. `docs/results.md` is generated from this list.
//!
//! Serialised structs are described by the doc comments of their fields.

mod array;
mod drive;
mod flash;
mod key;
mod live;
mod parts;
mod replay;
mod requests;
mod run;

pub use key::{Holds, ResultKey};

use requests::{jobs, latency, map, over_time, steady_state, time_of};
use serde::Serialize;
use wordline_firmware::task::Task;

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
    let mut sections = of_runs();
    sections.iter_mut().flat_map(|section| &mut section.keys).for_each(|key| key.in_replays = replay::shares(&key.key));
    sections.push(Section { title: "Replays", about: REPLAYS, keys: replay::replay(), null: &["replay.end_of_life"] });
    sections
}

fn of_runs() -> Vec<Section> {
    vec![
        Section { title: "The run", about: "", keys: run::run(), null: &[] },
        Section {
            title: "Inputs of the run",
            about: "",
            keys: run::inputs(),
            null: &["changes", "workload.trace.left_out"],
        },
        Section {
            title: "The drive",
            about: "Figures derived from the configuration, as in `wordline check --json`.",
            keys: drive::drive(),
            null: &[],
        },
        Section {
            title: "Preconditioning",
            about: "Preconditioning of the drive before the run; `precondition` is `null` without any.",
            keys: drive::preconditioning(),
            null: &["precondition"],
        },
        Section { title: "State of the drive", about: STATE, keys: drive::state(), null: &["at_start", "written"] },
        Section { title: "Requests and latency", about: LATENCY, keys: latency(), null: &[] },
        Section { title: "Jobs and streams", about: JOBS, keys: jobs(), null: &["jobs"] },
        Section {
            title: "Flash, collection, wear, energy",
            about: FLASH,
            keys: flash::flash(),
            null: &["wear.histogram"],
        },
        Section { title: "Members of an array", about: ARRAY, keys: array::array(), null: &["array", "array.parity"] },
        Section {
            title: "After the last completion",
            about: AFTERWARDS,
            keys: drive::afterwards(),
            null: &["afterwards"],
        },
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
        Section { title: "Repeats", about: REPEATS, keys: run::repeats(), null: &["repeats"] },
        Section {
            title: "Live disk",
            about: LIVE,
            keys: live::live(),
            null: &["live", "live.recorded", "live.metadata", "live.state"],
        },
        Section { title: "Files that the run wrote", about: FILES, keys: run::files(), null: &[] },
    ]
}

/// Names of tasks, as alternatives of a key.
fn names(tasks: impl Iterator<Item = Task>) -> String {
    tasks.map(|task| task.about().name).collect::<Vec<_>>().join(",")
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
     requests it when it writes a result or a report, and `wordline.run` unless `time_of=False`. The run then takes \
     about twice the CPU time (`read-asked` and `mix-asked` of `make bench`).";

const STEADY: &str =
    "A list with an element for each job that ends in steady state (`steadystate`); absent if none does.";

const REPLAYS: &str =
    "In results of [`wordline replay`](replay.md), which have no times. `digest` and `outcome` then cover how much was carried \
     out in place of completions.";

const FILES: &str = "In Python only, and only if files were requested. The command writes files where its options say.";

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
    fn a_replay_has_what_needs_no_time() {
        let sections = sections();
        let keys = sections.iter().flat_map(|section| &section.keys);
        let of = |name: &str| keys.clone().find(|key| key.key == name).map(|key| (key.in_runs, key.in_replays));
        assert_eq!(of("write_amplification"), Some((true, true)));
        assert_eq!(of("flash.erases"), Some((true, true)));
        assert_eq!(of("drive.dies"), Some((true, true)));
        assert_eq!(of("requests"), Some((true, false)));
        assert_eq!(of("flash.suspensions"), Some((true, false)));
        assert_eq!(of("replay.times"), Some((false, true)));
    }

    #[test]
    fn structs_are_told_by_their_fields() {
        let keys = drive::drive();
        let of = |name: &str| keys.iter().find(|key| key.key == name).map(|key| key.meaning.as_str());
        assert_eq!(of("drive.dies"), Some("Total dies."));
        assert_eq!(of("drive.peak_mib_s.link_in"), Some("Host interface, data to the drive."));
        assert_eq!(of("drive.peak_mib_s"), None);
    }
}
