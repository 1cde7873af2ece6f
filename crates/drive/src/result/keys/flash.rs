//! Keys of work in the flash: operations, collection, tasks, wear, energy, and how busy its parts were.

use super::key::{fields, key, stable, ResultKey};
use super::{names, parts};
use wordline_firmware::task::{Task, Tasks};
use wordline_flash::Energy;

pub(super) fn flash() -> Vec<ResultKey> {
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
        stable("gc.collections", "blocks", "Victim blocks that garbage collection began to empty; the last of them may not be erased yet."),
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
    keys.extend(parts::transactions());
    keys.extend(parts::banks());
    keys.extend(parts::mapping_table());
    keys.extend(parts::log_blocks());
    keys.extend(parts::leveling());
    keys.extend(parts::scheduled_merges());
    keys.extend(parts::superblocks());
    keys.extend(parts::parity());
    keys.extend(parts::slc_cache());
    keys.push(parts::policy_figures());
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
