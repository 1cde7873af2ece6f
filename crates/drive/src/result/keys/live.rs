//! Keys of a live disk.

use super::key::{key, ResultKey};

/// How a drive was served as a disk, by `wordline serve`.
pub(super) fn live() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("live.{what}"), unit, meaning);
    vec![
        key("workload.live", "", "The name of the export whose clients were the workload; empty for the default one.").text(),
        of("export", "", "The same.").text(),
        of("connections", "", "Connections to the server, for all its exports."),
        of("turned_away", "", "Connections beyond the 256 that it takes at once."),
        of("wall_s", "s", "Time that it served."),
        of("pace", "", "Simulated seconds in a second; `null` without delays.").or_null(),
        of("low_cpu", "", "Whether it never spun.").boolean(),
        of("scheduling", "", "The priority that the system granted: `real-time`, `raised` or `normal`.").text(),
        of(
            "transport_us.{asleep,dozing,awake}",
            "µs",
            "What a command and its reply take on their way between client and server, measured at the start: with a client that sleeps \
             until the reply, as one with a single request in progress does, with one that waits for a reply every 30 µs, and with one \
             that never waits. Requests count as having arrived earlier by that much.",
        ),
        of(
            "commands.{read,write,flush,trim,cache,write_zeroes,block_status}",
            "commands",
            "Commands of clients by kind, except those that were refused.",
        ),
        of("errors", "commands", "Commands that drive or store answered by an error."),
        of("read_bytes", "bytes", "Bytes read."),
        of("written_bytes", "bytes", "Bytes written."),
        of("syncs", "commands", "Flushes, and writes with force unit access, that waited for the file of the store."),
        of(
            "reply_late_us.{count,mean,p50,p99,max}",
            "µs",
            "How much later than the modelled completion replies were sent. A percentile is `null` where the sample does not allow it.",
        )
        .or_null(),
        of(
            "taken_late_us.{count,mean,p50,p99,max}",
            "µs",
            "How much later than they arrived the drive took requests, because it had gone on before the server heard of them.",
        )
        .or_null(),
        of(
            "reply_error_percent.{count,mean,p50,p99,max}",
            "%",
            "How late or early replies were, as part of the modelled latency, for latencies from 100 µs on.",
        )
        .or_null(),
        of(
            "delay_error_percent.{count,mean,p50,p99,max}",
            "%",
            "The sum of that and `taken_late_us`, as part of the modelled latency, for latencies from 100 µs on.",
        )
        .or_null(),
        of("lag_us", "µs", "The most that the drive's time was behind the clock."),
        of("store", "", "Where the data were: `memory`, `file` or `metadata`.").text(),
        of("store_path", "", "The file with the data, or with the rules of a store of metadata; `null` if there is none.")
            .text()
            .or_null(),
        of("store_bytes", "bytes", "Bytes that the data took at the end."),
        of(
            "metadata.known_bytes",
            "bytes",
            "The part of the disk that a store of metadata knew to be such at the end, written or not; without such a store, `metadata` \
             is `null`.",
        ),
        of(
            "metadata.kept_bytes",
            "bytes",
            "Data that it kept of that at the end, in pages of 4 KiB. Pages of one repeated byte have none.",
        ),
        of("metadata.waiting_bytes", "bytes", "The same of pages that waited until it would be known what they are."),
        of("metadata.dropped_bytes", "bytes", "Written to what was known to be file data, or found to be that later."),
        of(
            "metadata.evicted_bytes",
            "bytes",
            "Dropped for want of room before it was known what they are. If metadata were among them, the file system is damaged.",
        ),
        of("swaps[].at_s", "s", "Time of the disk's clock at which a running drive was swapped for one with other settings, by `wordline ctl`. All other \
             figures of the result but those of `live` begin with the last swap."),
        of("swaps[].drained_s", "s", "Simulated time that the old drive took to end its work before."),
        of("swaps[].changed[].key", "", "A key that changed.").text(),
        of("swaps[].changed[].from", "", "Its value before; `null` if it had none.").any().or_null(),
        of("swaps[].changed[].to", "", "Its value afterwards; `null` if it has none.").any().or_null(),
        of("swaps[].before.simulated_s", "s", "How long the settings before were measured: from the start or the last swap on."),
        of("swaps[].before.requests", "requests", "Requests with these."),
        of("swaps[].before.iops", "requests/s", "Their rate.").or_null(),
        of("swaps[].before.bandwidth_mib_s", "MiB/s", "Their throughput.").or_null(),
        of("swaps[].before.latency_us", "µs", "Their latency, as in `latency_us` of a result.").any(),
        of("swaps[].before.write_amplification", "", "Write amplification with these; `null` if the host wrote nothing.").or_null(),
        of("fault", "", "Why the drive served no more; `null` if it did to the end.").text().or_null(),
        of("unsaved", "", "Why the last data may not be on the disk; `null` if they are.").text().or_null(),
        of("state.path", "", "The file of `--state`, which keeps the drive's state; without one, `state` is `null`.").text(),
        of("state.loaded", "", "True if the drive went on from the state in it.").boolean(),
        of("state.behind", "", "True if the server before this one was killed, or did not save what it did to the drive.")
            .boolean(),
        of("state.saved_bytes", "bytes", "Size of the state that was saved at the end; `null` if it was not.").or_null(),
        of("state.error", "", "Why it was not; `null` if it was.").text().or_null(),
        of("recorded.requests", "requests", "Requests in the trace of `--record`; without one, `recorded` is `null`.")
            .or_null(),
        of("recorded.error", "", "Why there is no trace.").text().or_null(),
    ]
}
