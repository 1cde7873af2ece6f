//! Keys of a replay without time, and which keys of a run it has as well.

use super::key::{key, ResultKey};

/// What a replay has of a run: keys, and all that is below them.
const SHARED: [&str; 27] = [
    "schema",
    "version",
    "seed",
    "digest",
    "outcome",
    "partial",
    "cpu_s",
    "precondition_cpu_s",
    "earlier_runs",
    "config",
    "changes",
    "snapshot",
    "workload",
    "drive",
    "precondition",
    "write_amplification",
    "flash",
    "gc",
    "tasks",
    "wear",
    "reliability",
    "free_blocks",
    "mapping_table",
    "log_blocks",
    "wear_leveling",
    "scheduled_merges",
    "superblocks",
];

/// The same, of policies that few drives have.
const SHARED_BY_FEW: [&str; 3] = ["parity", "slc", "policy_figures"];

/// Keys below these that need time.
const TIMED: [&str; 5] =
    ["flash.suspensions", "gc.holds", "gc.joined_reads", "gc.joined_writes", "gc.plane_utilisation"];

/// True if a replay has a key of a run, with the same meaning.
pub(super) fn shares(key: &str) -> bool {
    let head = key.split(['.', '[']).next().unwrap_or_default();
    (SHARED.contains(&head) || SHARED_BY_FEW.contains(&head)) && !TIMED.contains(&key)
}

/// The keys that only a replay has.
pub(super) fn replay() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("replay.{what}"), unit, meaning).needed();
    let end = |what: &str, unit, meaning: &str| key(&format!("replay.end_of_life.{what}"), unit, meaning);
    let point = |what: &str, unit, meaning: &str| key(&format!("lifetime[].{what}"), unit, meaning).needed();
    let keys = [
        of("times_asked", "", "Times that the whole workload was to be carried out; `null` for until the end of life.").or_null(),
        of("times", "", "Times that it was carried out to its end."),
        of("ending", "", "`done`, `end-of-life` or `interrupted`.").text(),
        end("cause", "", "What ended the life of the drive: `worn-out` or `no-spare`. `replay.end_of_life` is `null` if it lives on.")
            .needed()
            .text(),
        end("{channel,package,die}", "", "Place of the worn block, each number from 0: its channel, package of it, die of that."),
        end("plane", "", "Plane of the worn block, from 0 in its die; with `no-spare` the plane without a replacement block, from 0 in the drive."),
        end("block", "", "The worn block, from 0 in its plane."),
        end("erases", "erases", "Erases that it has had: those that `nand.reliability.endurance` allows."),
        end("bad_blocks", "blocks", "With `no-spare`, bad blocks of the drive, or of the plane with `collect.scope = \"plane\"`."),
        end("replacement_blocks", "blocks", "Blocks that the plane had to replace bad ones, with `no-spare`."),
        of("host_bytes", "bytes", "Bytes that the host wrote."),
        of("drive_writes", "", "The same over the capacity: 1 is one drive write."),
        key("requests.{read,write,trim,flush}.count", "requests", "Requests carried out, by operation.").needed(),
        key("requests.{read,write,trim,flush}.bytes", "bytes", "Their bytes.").needed(),
        point("host_bytes", "bytes", "A point of the lifetime curve: bytes that the host had written since the start of the replay. At most 257 points, from the state before the first write to the last."),
        point("programs", "pages", "Pages programmed until then, since the start of the replay."),
        point("erases", "blocks", "Blocks erased until then, since the start of the replay."),
        point("mean", "erases", "Erases of a block since the drive was new: mean over all blocks."),
        point("stddev", "erases", "Their standard deviation."),
        point("least", "erases", "The least erases of a block."),
        point("most", "erases", "The most."),
        point("bad_blocks", "blocks", "Bad blocks, with those from the factory."),
        point("spare_blocks", "blocks", "Blocks held back to replace bad ones."),
        point("histogram.first", "erases", "Histogram of blocks by erases, at most 24 bars: lowest erase count of the first bar."),
        point("histogram.width", "erases", "Width of a bar."),
        point("histogram.blocks", "list, blocks", "Blocks in each bar."),
    ];
    keys.into_iter().map(|key| ResultKey { in_runs: false, in_replays: true, ..key }).collect()
}
