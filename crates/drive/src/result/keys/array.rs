//! Keys of an array of drives: its layout, its members, and what parity took.

use super::key::{key, ResultKey};

pub(super) fn array() -> Vec<ResultKey> {
    let of = |what: &str, unit, meaning: &str| key(&format!("array.{what}"), unit, meaning);
    let member = |what: &str, unit, meaning: &str| key(&format!("array.drives[].{what}"), unit, meaning);
    let mut keys = vec![
        of("kind", "", "`raid0`, `join` or `raid5`.").text().needed(),
        of("members", "parts", "Members of the layout, without a spare.").needed(),
        of("stripe_bytes", "bytes", "Bytes of a stripe on each member; `null` where members are joined.").or_null(),
        of("stripes", "", "Whole stripes; `null` where members are joined.").or_null(),
        member("member", "", "Number of the member, from 0; a spare comes last.").needed(),
        member("role", "", "`member`, `failed` or `spare`.").text().needed(),
        member("drive", "", "Its preset or file, as the array file names it.").text().needed(),
        member("logical_bytes", "bytes", "Its capacity.").needed(),
        member(
            "share",
            "0 to 1",
            "Its share of the bytes that all drives read and wrote for the host, for parity and for a rebuild.",
        ),
        member(
            "{requests,iops,bandwidth_mib_s,gc_affected_requests}",
            "",
            "Figures of its own requests, as those of the same names of a drive: pieces of the host's requests, and reads and writes \
             for parity and for a rebuild.",
        ),
        member("by_op.{read,write,trim,flush}.{requests,bytes}", "", "The same by operation."),
        member("latency_us.{all,read,write,trim,flush}.count", "requests", "Requests in the sample."),
        member(
            "latency_us.{all,read,write,trim,flush}.{mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,p99_9999999,max}",
            "µs",
            "Latency of its requests, as under `latency_us`: of a piece of a request, from the arrival of the request at the array; of \
             what follows reads of parity, from the end of these reads.",
        )
        .or_null(),
        member("waiting_us.{mean,max}", "µs", "The part of it before a slot of its queue was free."),
        member("write_amplification", "", "Bytes that it programmed / bytes written to it; `null` without writes.").or_null(),
        member("energy_j", "J", "Energy of its NAND packages.").or_null(),
        member("flash.{reads,programs}", "pages", "Pages that it read and programmed."),
        member("flash.erases", "blocks", "Blocks that it erased."),
        member("gc.collections", "blocks", "Victim blocks that its garbage collection began to empty."),
        member("gc.moved_pages", "pages", "Valid data that its garbage collection moved."),
        member("wear.{mean,max,stddev}", "erases", "P/E cycles of its blocks."),
        member("{channels,dies}", "parts", "Its channels and dies: so many of the lists in `utilisation` are its own, in the order of the drives."),
        member("policy_figures", "object", "Figures of policies in Python, as those of a drive, if they give some."),
        member("{channels_busy,dies_busy}", "0 to 1", "Mean share of simulated time in which these were busy."),
    ];
    let parity = |what: &str, unit, meaning: &str| of(&format!("parity.{what}"), unit, meaning);
    keys.extend([
        parity("full_writes", "operations", "Writes in a stripe that took no read, since all its data were new."),
        parity("modify_writes", "operations", "Those with bytes whose parity was made from old data and old parity."),
        parity("reconstruct_writes", "operations", "Those with bytes whose parity was made from the data that stay."),
        parity("reads_for_writes", "requests", "Reads of members that these took."),
        parity("parity_read_bytes", "bytes", "Old parity read, for writes or in place of a missing member."),
        parity("parity_written_bytes", "bytes", "Parity written."),
        parity(
            "degraded_reads",
            "reads",
            "Parts of host reads in a stripe that made data of a missing member from the others.",
        ),
        parity("degraded_bytes", "bytes", "Data so made."),
        parity(
            "untrimmed_bytes",
            "bytes",
            "Trims of parts of stripes, which go to no member: parity covers these data.",
        ),
        parity("waits", "operations", "Work in stripes that waited for other work with the same bytes of the stripe."),
        parity("failed_member", "", "The member that failed; `null` if none did.").number().or_null(),
        parity("failed_at_s", "s", "When, from the start of the figures; 0 if before.").or_null(),
        parity("rebuilt_bytes", "bytes", "Bytes written to the spare for its rebuild."),
        parity("rebuild_begun_s", "s", "Start of the rebuild; `null` without one.").or_null(),
        parity(
            "rebuild_ended_s",
            "s",
            "Its end; `null` if it was not done when the workload ended, which also ends it.",
        )
        .or_null(),
        parity("rebuilt_share", "0 to 1", "Share of the stripes that it has done.").or_null(),
    ]);
    keys
}
