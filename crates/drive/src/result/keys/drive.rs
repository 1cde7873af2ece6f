//! Keys of the drive: its figures, preconditioning, its state before the run, and what it did after it.

use super::key::{fields, key, ResultKey};
use crate::config::Derived;
use crate::precondition::Preconditioned;

pub(super) fn drive() -> Vec<ResultKey> {
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

pub(super) fn preconditioning() -> Vec<ResultKey> {
    let amplification = "precondition.write_amplification";
    // Added after the first results were saved.
    let later = ["precondition.interrupted", "precondition.read_blocks"];
    fields::<Preconditioned>("precondition", "")
        .map(|key| if key.key == amplification { key.or_null() } else { key })
        .map(|key| if later.contains(&&*key.key) { key } else { key.needed() })
        .collect()
}

pub(super) fn state() -> Vec<ResultKey> {
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

pub(super) fn afterwards() -> Vec<ResultKey> {
    vec![
        key("afterwards.simulated_s", "s", "Simulated time from the last completion until the drive was idle.")
            .needed(),
        key("afterwards.{reads,programs}", "pages", "Pages read and programmed, for any reason.").needed(),
        key("afterwards.erases", "blocks", "Blocks erased.").needed(),
        key("afterwards.commands", "commands", "Flash commands."),
        key("afterwards.collections", "blocks", "Victim blocks that garbage collection began to empty.").needed(),
        key("afterwards.moved_pages", "pages", "Valid data that garbage collection moved.").needed(),
        key("afterwards.energy_j", "J", "Energy of the NAND packages.").needed(),
    ]
}
