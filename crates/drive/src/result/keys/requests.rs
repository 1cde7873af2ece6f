//! Keys of requests: their latencies, their jobs, where their time went, and all of it over time.

use super::key::{key, stable, ResultKey};
use super::names;
use crate::parts::{About, Part};
use wordline_firmware::task::{Task, Tasks};

pub(super) fn latency() -> Vec<ResultKey> {
    vec![
        stable("requests", "requests", "Requests completed, of all operations."),
        stable("iops", "requests/s", "`requests` / `simulated_s`."),
        stable("bandwidth_mib_s", "MiB/s", "Bytes read and written / `simulated_s`."),
        key("by_op.{read,write,trim,flush}.requests", "requests", "Requests completed."),
        key("by_op.{read,write,trim,flush}.bytes", "bytes", "Their bytes."),
        stable("latency_us.{all,read,write,trim}.count", "requests", "Requests in the sample."),
        stable("latency_us.{all,read,write,trim}.{mean,min,max}", "µs", "Mean, minimum and maximum latency.").or_null(),
        stable(
            "latency_us.{all,read,write,trim}.{p50,p90,p99,p99_9,p99_99,p99_999,p99_9999}",
            "µs",
            "Percentiles; `p99_9` is 99.9 %. Above the true value by at most `percentile_error`, and never below it.",
        ).or_null(),
        key(
            "latency_us.{all,read,write,trim}.{p99_99999,p99_999999,p99_9999999}",
            "µs",
            "The same, up to nine nines, which take ten billion requests.",
        ).or_null(),
        key(
            "latency_us.flush.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,p99_9999999,max}",
            "µs",
            "The same for flushes.",
        ).or_null(),
        key(
            "latency_by_size_us.{read,write}.{up_to_64k,above_64k}.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,p99_9999999,max}",
            "µs",
            "The same for small requests, of at most 64 KiB, and for larger ones.",
        )
        .or_null(),
        key("percentile_error", "0 to 1", "A percentile is above the true value by at most this share of it."),
        key("waiting_us.{mean,max}", "µs", "Waiting: the part of the latency before a queue slot was free."),
        key(
            "gc_affected_requests",
            "requests",
            "Requests delayed by GC: an operation waited for a die that garbage collection held, or the request waited \
             for the write buffer while garbage collection held a die that the buffered data needed.",
        ),
        key(
            "gc_affected_us.{read,write}.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,p99_9999999,max}",
            "µs",
            "Latency of these requests, as under `latency_us`.",
        )
        .or_null(),
        key(
            "cdf.{read,write,trim,flush}",
            "list of pairs",
            "Cumulative distribution of latency: a latency in µs, and the share of requests that took at most as long.",
        ),
        key(
            "deadlines.{read,write,flush}.deadline_us",
            "µs",
            "Deadline of requests of this kind, from their arrival at the host queue. This part is there if `dispatch.policy` is \
             `deadline`.",
        ),
        key(
            "deadlines.{read,write,flush}.requests",
            "requests",
            "Requests completed that had this deadline: all of the kind but those of the streams below.",
        ),
        key("deadlines.{read,write,flush}.missed", "requests", "Of these, the ones that took longer."),
        key(
            "deadlines.{read,write,flush}.most_late_us",
            "µs",
            "The longest time from a deadline to the completion after it; `null` if none was missed.",
        )
        .or_null(),
        key("deadlines.streams[].stream", "", "A stream with a deadline of its own (`dispatch.stream_deadline_us`); absent if there is none."),
        key("deadlines.streams[].deadline_us", "µs", "Deadline of its reads, writes and flushes."),
        key("deadlines.streams[].requests", "requests", "These requests."),
        key("deadlines.streams[].missed", "requests", "Of these, the ones that took longer."),
        key(
            "deadlines.streams[].most_late_us",
            "µs",
            "The longest time from a deadline to the completion after it; `null` if none was missed.",
        )
        .or_null(),
    ]
}

pub(super) fn jobs() -> Vec<ResultKey> {
    vec![
        key(
            "jobs[].name",
            "",
            "Name of the job, followed by the number of the clone if it has several; for a trace, its file or its \
             device.",
        )
        .needed()
        .text(),
        key(
            "jobs[].stream",
            "",
            "Number of its stream, as in the table of requests; the first if it has several.",
        ).needed(),
        key("jobs[].streams", "streams", "Number of its streams."),
        key(
            "jobs[].device",
            "",
            "Number of the device of a trace, in order of first appearance; `null` for a job.",
        ).or_null(),
        key(
            "jobs[].start_s",
            "s",
            "Its start, or the start of the figures if that is later, from the start of the run; `null` if it never \
             started.",
        )
        .or_null(),
        key("jobs[].end_s", "s", "Its last completion, or the end of its `runtime`.").or_null(),
        key("jobs[].requests", "requests", "Requests completed, of all operations.").needed(),
        key("jobs[].iops", "requests/s", "`requests` / time from `start_s` to `end_s`.").needed(),
        key("jobs[].bandwidth_mib_s", "MiB/s", "Bytes read and written / the same time.").needed(),
        key(
            "jobs[].by_op.{read,write,trim,flush}.requests",
            "requests",
            "Requests completed, for each operation that it has.",
        ),
        key("jobs[].by_op.{read,write,trim,flush}.bytes", "bytes", "Their bytes."),
        key(
            "jobs[].latency_us.{all,read,write,trim,flush}.count",
            "requests",
            "Requests in the sample, for each operation that it has.",
        ),
        key(
            "jobs[].latency_us.{all,read,write,trim,flush}.{mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,p99_99999,p99_999999,\
             p99_9999999,max}",
            "µs",
            "Latency, as under `latency_us`.",
        )
        .or_null(),
        key("jobs[].waiting_us.{mean,max}", "µs", "Waiting: the part of the latency before a queue slot was free."),
        key(
            "jobs[].gc_affected_requests",
            "requests",
            "Requests delayed by GC: an operation waited for a die that garbage collection held.",
        ),
    ]
}

pub(super) fn time_of() -> Vec<ResultKey> {
    let mut keys: Vec<ResultKey> = Part::all()
        .iter()
        .map(|About { name, meaning, .. }| {
            let mut meaning = meaning.clone();
            meaning[..1].make_ascii_uppercase();
            key(&format!("time_of.{{read,write}}.{name}"), "s", &format!("{meaning}."))
        })
        .collect();
    keys.push(
        key("time_of.series.interval_s", "s", "Length of the intervals of the lists below, at most 128.").needed(),
    );
    let names = Part::all().iter().map(|about| &*about.name).collect::<Vec<_>>().join(",");
    let meaning =
        "For each part that occurs, the time that completed requests spent on it in each interval, including \
        requests that completed in a later interval.";
    keys.push(key(&format!("time_of.series.{{read,write}}.{{{names}}}"), "lists, s", meaning));
    keys.extend([
        key(
            "time_of.by_latency.{read,write}.up_to_us",
            "list, µs",
            "Latency classes that occur, in quarter octaves: upper end of each.",
        )
        .needed(),
        key("time_of.by_latency.{read,write}.requests", "list, requests", "Requests of each class.").needed(),
        key(
            &format!("time_of.by_latency.{{read,write}}.{{{names}}}"),
            "lists, s",
            "For each part that occurs, the time that the requests of each class spent on it.",
        ),
    ]);
    keys.extend(waits());
    keys
}

/// How long flash operations waited, and the energy that they took.
fn waits() -> [ResultKey; 5] {
    let (all, background) = (names(Task::all()), names(Tasks::ALL.background()));
    [
        key(
            &format!("time_of.operations.{{{all}}}.count"),
            "operations",
            "Page reads, page programs and block erases of each task whose commands began; a copyback counts once. Operations \
             that read or write the mapping table or parity count for their task.",
        ),
        key(
            &format!("time_of.operations.{{{all}}}.wait_us"),
            "µs",
            "How long these operations waited on average, from being ready (a program: from the arrival of the last of its data) \
             to the start of their command; `null` without any. It is the sum of the keys below. Waiting for the bus comes after \
             that start, and computing time and reads of the mapping table before it. Unlike the parts of a request's latency, it covers all \
             operations of the task.",
        )
        .or_null(),
        key(
            &format!("time_of.operations.{{{all}}}.wait_die_{{read,write,{background}}}_us"),
            "µs",
            "The part of it in which a command for host reads, host writes or a background task held their die.",
        )
        .or_null(),
        key(
            &format!("time_of.operations.{{{all}}}.wait_free_us"),
            "µs",
            "The part of it in which no command held their die: they waited for a page, for more data, for their turn, or for \
             the commit stage to send them.",
        )
        .or_null(),
        key(
            &format!("time_of.operations.{{{all}}}.energy_j"),
            "J",
            "Energy that these operations took in cells and on buses, by stages that ended in the measured time. Of a command that \
             tasks share, the cells of a plane are charged to the task that has the plane, command and address cycles by planes, and \
             data by bytes. The sum over tasks is `energy_j` without standby, less stages under way at the end.",
        ),
    ]
}

pub(super) fn over_time() -> Vec<ResultKey> {
    let (all, background) = (names(Task::all()), names(Tasks::ALL.background()));
    vec![
        key("series.interval_s", "s", "Length of the intervals of the lists below.").needed(),
        key("series.start_s", "list, s", "Start of each interval."),
        key("series.{read_iops,write_iops}", "list, requests/s", "Requests completed."),
        key("series.{read_mib_s,write_mib_s}", "list, MiB/s", "Bytes completed."),
        key(
            "series.{latency_mean_us,latency_p99_us,latency_max_us}",
            "list, µs",
            "Latency of the requests completed in the interval; `null` without any. The percentile is up to a quarter \
             octave too large, and `null` if the interval has fewer than 1,000 requests.",
        )
        .or_null(),
        key(
            "series.{read,write,trim,flush}_latency_{mean,p99,max}_us",
            "list, µs",
            "The same for each operation that the run had.",
        )
        .or_null(),
        key(
            "series.outstanding",
            "list, requests",
            "Outstanding requests (arrived, not complete), averaged over the interval. A stalled request counts in \
             every interval in which it waited.",
        ),
        key(
            "series.age_max_us",
            "list, µs",
            "Largest age of a request, at its completion in the interval or at the end of the interval: it rises \
             while requests stall.",
        ),
        key("series.free_blocks", "list, blocks", "Erased blocks.").or_null(),
        key(
            "series.write_amplification",
            "list",
            "Pages programmed / pages written by the host in the interval. A program may fall into a later interval \
             than its write, so a value below 1 is possible.",
        )
        .number()
        .or_null(),
        key("latency_over_time.interval_s", "s", "Length of the intervals of the lists below, at most 128.").needed(),
        key(
            "latency_over_time.up_to_us",
            "list, µs",
            "Upper end of each latency class, in quarter octaves; the last class includes all slower requests.",
        )
        .needed(),
        key(
            "latency_over_time.{read,write,trim,flush}",
            "list of lists, requests",
            "For each operation that the run had: the requests completed in each interval by latency class, up to the \
             highest class that occurs in the interval.",
        ),
        key(
            "activity.interval_s",
            "s",
            "Length of the intervals of the lists below: at most 256 intervals, fewer for many dies.",
        )
        .needed(),
        key("activity.end_s", "s", "End of the last interval: the end of the figures."),
        key(
            "activity.channels",
            "list of lists, 0 to 1",
            "For each channel, the share of each interval in which its bus was in use.",
        ),
        key(
            "activity.dies",
            "list of lists, 0 to 1",
            "For each die, the share in which its array or registers were busy.",
        ),
        key(
            &format!("activity.dies_{{{background}}}"),
            "list of lists, 0 to 1",
            "For each background task of the drive and each die, the share in which its commands held the die.",
        ),
        key(
            &format!("activity.stage.shares.{{{all}}}"),
            "list, %",
            "Shares of the tasks at the end of each interval, if `dispatch` takes shares. There is no `activity.stage` if \
             operations go to their dies at once.",
        ),
        key(
            &format!("activity.stage.limits.{{{all}}}"),
            "list, operations",
            "The most operations that each task may have outstanding, if `dispatch` limits them.",
        ),
        key(
            &format!("activity.stage.outstanding.{{{all}}}"),
            "list, operations",
            "Operations of each task that were sent to their dies and have not ended.",
        ),
        key(
            &format!("activity.stage.waiting.{{{all}}}"),
            "list, operations",
            "Operations of each task that wait to be sent; of writes the mapping units.",
        ),
        key("activity.stage.free_blocks", "list, blocks", "Erased blocks."),
        key(
            "activity.stage.most_reads",
            "list, reads",
            "Page reads of the block that was read most since its erase, of those with data or being moved, if a task looks at reads.",
        ),
        key(
            "activity.saturated.interval_s",
            "s",
            "Length of the intervals of saturation: at most 64 intervals, none shorter than 8 ms. A part is saturated \
             in an interval if it was busy for at least 90 % of it; a die is busy while a command holds it and does \
             not wait for the bus.",
        ),
        key(
            "activity.saturated.intervals",
            "intervals",
            "Number of intervals; a last one of less than half the length is left out.",
        ),
        key(
            &format!("activity.saturated.dies_by.{{read,write,{background}}}"),
            "list, intervals",
            "For each die, the intervals in which it was saturated and host reads, host writes, or garbage collection \
             held it longest.",
        ),
        key(
            "activity.saturated.channels",
            "list, intervals",
            "For each channel, the intervals in which its bus was saturated.",
        ),
        key(
            "activity.saturated.{link_in,link_out}",
            "intervals",
            "The intervals in which the host interface was saturated, in each direction.",
        ),
    ]
}

pub(super) fn map() -> Vec<ResultKey> {
    vec![
        key("map.{channels,dies_per_channel,planes_per_die,blocks_per_plane}", "", "The shape of the drive.").needed(),
        key("map.blocks_per_cell", "blocks", "Blocks of a cell; the last cell of a plane may have fewer.").needed(),
        key("map.at_s", "list, s", "The moments, from the start of measuring.").needed(),
        key("map.valid", "", "Map: valid mapping units / mapping units of the cell.").text().needed(),
        key("map.erases.least", "erases", "The lowest mean of the erases of a cell's blocks.").needed(),
        key("map.erases.step", "erases", "Erases per step of the map above that.").needed(),
        key("map.erases.data", "", "Map: steps of a cell above the lowest.").text().needed(),
        key(
            "map.states.{free,open,victim,spare,bad}",
            "",
            "Map: blocks of the cell in a state, as in the table of blocks; only for states that occur. The remaining \
             blocks are closed.",
        )
        .text(),
    ]
}

pub(super) fn steady_state() -> Vec<ResultKey> {
    vec![
        key("steady_state[].job", "", "The job.").text(),
        key(
            "steady_state[].criterion",
            "",
            "Its criterion: `iops`, `bw`, or the slope of one, `iops_slope`, `bw_slope`.",
        )
        .text(),
        key("steady_state[].limit", "", "Allowed deviation of the values in the window."),
        key("steady_state[].limit_in_percent", "", "True if the limit is a percentage of their mean.").boolean(),
        key("steady_state[].window_s", "s", "Length of the window."),
        key("steady_state[].attained", "", "True if the job reached steady state, which ends it.").boolean(),
        key("steady_state[].at_s", "s", "Time at which it was reached; `null` if it was not.").or_null(),
        key(
            "steady_state[].measured",
            "",
            "Deviation of the values in the last window, in the limit's unit; `null` if no window was full.",
        )
        .or_null(),
        key("steady_state[].iops", "list, requests/s", "The values of the last window: requests completed."),
        key("steady_state[].bytes_per_s", "list, bytes/s", "The same: bytes completed."),
    ]
}
