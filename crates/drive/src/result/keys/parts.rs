//! Keys of what only some drives have, by the policies that give it to them.

use super::key::{key, ResultKey};

/// Requests at the dies of a drive whose dies serve one at a time.
pub(super) fn banks() -> Vec<ResultKey> {
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
pub(super) fn transactions() -> Vec<ResultKey> {
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
pub(super) fn log_blocks() -> Vec<ResultKey> {
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
pub(super) fn leveling() -> Vec<ResultKey> {
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
pub(super) fn scheduled_merges() -> Vec<ResultKey> {
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
pub(super) fn superblocks() -> Vec<ResultKey> {
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
pub(super) fn parity() -> Vec<ResultKey> {
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
pub(super) fn slc_cache() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("slc.{what}"), unit, meaning);
    vec![
        of("pages", "pages", "Pages programmed in SLC mode. This part is there if `slc` gives the drive a cache."),
        of("blocks", "blocks", "Blocks in SLC mode at the last completion."),
    ]
}

/// The mapping table, of a drive that keeps it in flash.
pub(super) fn mapping_table() -> Vec<ResultKey> {
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

/// What policies of the user tell of themselves.
pub(super) fn policy_figures() -> ResultKey {
    key(
        "policy_figures",
        "object",
        "Figures of [policies in Python](my-policy.md), by family and name: what their method `figures` gives when measuring ends. \
         This part is there if a policy gives some; an array of drives has them with each of its members.",
    )
}
