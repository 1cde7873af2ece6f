//! The columns of each table.

use crate::column::Column;
use wordline_base::{Op, Time};
use wordline_drive::metrics::QUANTILES;
use wordline_drive::observe::{BlockRow, ChannelTimes, DieTimes, IntervalRow, PlaneTimes, RequestRow, UnitRow};
use wordline_drive::parts::{About, Features, Part};
use wordline_firmware::task::{Action, Class, Task, Tasks, CLASSES};
use wordline_firmware::Standing;

/// Version of the tables: it increases when a column is renamed, redefined or removed.
pub const SCHEMA: u32 = 2;

fn us(time: Time) -> f64 {
    time as f64 / 1e6
}

fn s(time: Time) -> f64 {
    time as f64 / 1e12
}

pub(crate) fn requests(tasks: Tasks, features: Features) -> Vec<Column<RequestRow>> {
    let mut columns = vec![
        Column::u64("number", "number in the order of getting a slot, from 0", |r: &RequestRow| r.number).varied(),
        Column::u32("stream", "stream of the workload, from 0", |r| u32::from(r.stream)),
        Column::text("op", "read, write, trim or flush", |r| r.op.name()),
        Column::u64("offset_bytes", "first byte on the drive", |r: &RequestRow| r.offset).varied(),
        Column::u32("size_bytes", "length; 0 for a flush", |r| r.bytes),
        Column::f64("arrival_s", "arrival at the host queue", |r: &RequestRow| s(r.arrival)).varied(),
        Column::f64("submit_s", "when it got its slot in the drive's queue", |r: &RequestRow| s(r.submitted)).varied(),
        Column::maybe(
            "flash_start_s",
            "first start of a flash command for it; missing if it needed none",
            |r: &RequestRow| r.flash_start.map(s),
        )
        .varied(),
        Column::f64("completion_s", "completion at the host", |r: &RequestRow| s(r.completion)).varied(),
        Column::bool(
            "gc_affected",
            "delayed by GC: an operation waited for a die that garbage collection held, or the request waited for the \
             write buffer while garbage collection held a die that the buffered data needed",
            |r| r.gc_affected,
        ),
        Column::f64("latency_us", "from arrival to completion; the sum of waiting and service", |r: &RequestRow| {
            us(r.completion - r.arrival)
        })
        .varied(),
        Column::f64("waiting_us", "part of the latency before a queue slot", |r: &RequestRow| {
            us(r.parts[Part::WAITING.index()])
        }),
        Column::f64(
            "service_us",
            "part of the latency from the slot on; the sum of all following columns",
            |r: &RequestRow| us(r.completion - r.submitted),
        )
        .varied(),
    ];
    // All but the wait for a slot, which comes before the service.
    for About { part, name, meaning, .. } in Part::of(tasks, features).skip(1) {
        let time = move |r: &RequestRow| us(r.parts[part.index()]);
        columns.push(Column::f64(format!("{name}_us"), meaning.clone(), time));
    }
    columns
}

pub(crate) fn intervals(tasks: Tasks, [has_map, has_stage, has_slc]: [bool; 3]) -> Vec<Column<IntervalRow>> {
    let length = |r: &IntervalRow| s(r.end - r.start).max(1e-12);
    let mut columns = vec![
        Column::f64("start_s", "start of the interval", |r: &IntervalRow| s(r.start)),
        Column::f64("end_s", "end of the interval", |r: &IntervalRow| s(r.end)),
        Column::f64("iops", "requests completed per second", move |r: &IntervalRow| {
            r.requests.iter().sum::<u64>() as f64 / length(r)
        }),
        Column::f64("read_mib_s", "data read, in MiB per second", move |r: &IntervalRow| {
            r.bytes[Op::Read as usize] as f64 / 1_048_576.0 / length(r)
        }),
        Column::f64("write_mib_s", "data written, in MiB per second", move |r: &IntervalRow| {
            r.bytes[Op::Write as usize] as f64 / 1_048_576.0 / length(r)
        }),
        Column::u64("reads", "reads completed", |r: &IntervalRow| r.requests[Op::Read as usize]),
        Column::u64("writes", "writes completed", |r: &IntervalRow| r.requests[Op::Write as usize]),
        Column::u64("trims", "trims completed", |r: &IntervalRow| r.requests[Op::Trim as usize]),
        Column::u64("flushes", "flushes completed", |r: &IntervalRow| r.requests[Op::Flush as usize]),
    ];
    for op in Op::ALL {
        let name = op.name();
        columns.push(Column::maybe(
            format!("{name}_mean_us"),
            format!("mean latency of a {name}"),
            move |r: &IntervalRow| r.mean[op as usize].map(|time| time / 1e6),
        ));
        columns.push(Column::maybe(
            format!("{name}_max_us"),
            format!("largest latency of a {name}"),
            move |r: &IntervalRow| r.max[op as usize].map(us),
        ));
    }
    for (which, name) in ["all", "read", "write"].into_iter().enumerate() {
        for (at, (quantile, _)) in QUANTILES.into_iter().enumerate() {
            let what = if which == 0 { "of all requests".to_owned() } else { format!("of a {name}") };
            let percent = quantile[1..].replace('_', ".");
            columns.push(Column::maybe(
                format!("{name}_{quantile}_us"),
                format!("latency {what} that {percent} % do not exceed; missing if the interval has too few requests"),
                move |r: &IntervalRow| r.quantiles[which][at].map(us),
            ));
        }
    }
    columns.extend([
        Column::f64("queue_mean", "requests in slots, time average", |r: &IntervalRow| r.queue_mean),
        Column::u32("queue_max", "requests in slots, maximum", |r| r.queue_max),
        Column::u32("free_blocks", "free blocks at the end", |r| r.free_blocks),
        Column::f64("wear_mean", "P/E cycles of all blocks at the end, mean", |r: &IntervalRow| r.wear.0),
        Column::f64("wear_stddev", "P/E cycles of all blocks at the end, standard deviation", |r: &IntervalRow| {
            r.wear.1
        }),
        Column::maybe(
            "write_amplification",
            "pages programmed / pages written by the host; missing if it wrote none",
            |r: &IntervalRow| r.write_amplification,
        ),
    ]);
    columns.extend(operations(tasks, |r: &IntervalRow| &r.ops));
    columns.extend(tasks.iter().map(|task| {
        let about = task.about();
        let doc = format!(
            "how long page operations and erases for {} whose commands began had waited from being ready, on average; missing \
             if none began",
            about.title
        );
        Column::maybe(format!("{}_op_wait_us", about.name), doc, move |r: &IntervalRow| r.waited[task.index()].map(|time| time / 1e6))
    }));
    columns.extend([
        Column::u64("moved_units", "mapping units that garbage collection moved", |r: &IntervalRow| r.moved_units),
        Column::f64("dies_busy", "share of the time in which a command held the dies", |r: &IntervalRow| r.dies_busy),
        Column::maybe(
            "plane_utilisation",
            "busy planes over all planes of the dies while GC worked in them, by commands that ended in the interval; missing \
             without GC",
            |r: &IntervalRow| r.plane_utilisation,
        ),
        Column::f64("channels_busy", "share of the time in which the channel buses were in use", |r: &IntervalRow| {
            r.channels_busy
        }),
        Column::f64(
            "link_in_busy",
            "share of the time in which the host interface towards the drive was in use",
            |r: &IntervalRow| r.link_busy[0],
        ),
        Column::f64(
            "link_out_busy",
            "share of the time in which the host interface towards the host was in use",
            |r: &IntervalRow| r.link_busy[1],
        ),
    ]);
    if has_map {
        columns.extend([
            Column::maybe(
                "map_hit_rate",
                "share of units looked up by the host whose entry of the mapping table was in memory; missing without lookups",
                |r: &IntervalRow| r.map.0,
            ),
            Column::u64("map_reads", "map units read from flash", |r: &IntervalRow| r.map.1),
            Column::u64("map_writes", "map units written to flash", |r: &IntervalRow| r.map.2),
        ]);
    }
    if has_slc {
        columns.push(Column::u32("slc_blocks", "blocks in SLC mode at the end", |r| r.slc_blocks));
    }
    if has_stage {
        columns.extend(standing(tasks));
    }
    columns
}

/// How tasks stand at the commit stage at the end of the interval.
fn standing(tasks: Tasks) -> impl Iterator<Item = Column<IntervalRow>> {
    let most = Column::maybe(
        "most_reads",
        "page reads of the most-read block with data at the end; missing if no task looks at reads",
        |r: &IntervalRow| r.most_reads.map(f64::from),
    );
    let of_task = |task: Task| {
        let (at, about) = (task.index(), task.about());
        let column = |name: &str, doc: &str, of: fn(&Standing, usize) -> Option<f64>| {
            let doc = format!("{doc} {} at the end", about.title);
            let value = move |r: &IntervalRow| r.standing.and_then(|standing| of(&standing, at));
            Column::maybe(format!("{}_{name}", about.name), doc, value)
        };
        [
            column("share", "share in percent of", |s, at| s.shares.map(|shares| shares[at])),
            column("limit", "the most outstanding operations for", |s, at| {
                s.limits.map(|limits| f64::from(limits[at]))
            }),
            column("outstanding", "operations sent to dies and not ended, for", |s, at| {
                Some(f64::from(s.outstanding[at]))
            }),
            column("staged", "operations that wait to be sent to dies (of writes the units), for", |s, at| {
                Some(f64::from(s.waiting[at]))
            }),
        ]
    };
    std::iter::once(most).chain(tasks.iter().flat_map(of_task))
}

/// Counts of flash operations by class, read from the row by `of`.
fn operations<R: 'static>(tasks: Tasks, of: fn(&R) -> &[u64; CLASSES]) -> impl Iterator<Item = Column<R>> {
    tasks.iter().flat_map(Task::classes).map(move |class| {
        let task = class.task().about();
        let (what, doc) = match class.action() {
            Action::Read => ("reads", "pages read"),
            Action::Program => ("programs", "pages programmed"),
            Action::Erase => ("erases", "blocks erased"),
        };
        let name = format!("{}_{what}", task.name);
        Column::u64(name, format!("{doc} for {}", task.title), move |r| of(r)[class.index()])
    })
}

/// Parts of the busy time, by background task.
fn by_task<T: 'static>(tasks: Tasks, of: fn(&T, Task) -> Time) -> impl Iterator<Item = Column<UnitRow<T>>> {
    tasks.background().map(move |task| {
        let about = task.about();
        let doc = format!("part of the busy time, for {}", about.title);
        Column::f64(format!("{}_us", about.name), doc, move |r: &UnitRow<T>| us(of(&r.times, task)))
    })
}

fn span<T: 'static>(what: &str, doc: &str) -> Vec<Column<UnitRow<T>>> {
    vec![
        Column::f64("start_s", "start of the interval", |r: &UnitRow<T>| s(r.start)),
        Column::f64("end_s", "end of the interval", |r: &UnitRow<T>| s(r.end)),
        Column::u32(what, doc, |r| r.unit),
    ]
}

fn time<T: 'static>(name: &str, doc: &str, of: fn(&T) -> Time) -> Column<UnitRow<T>> {
    Column::f64(name, doc, move |r: &UnitRow<T>| us(of(&r.times)))
}

pub(crate) fn channels(tasks: Tasks) -> Vec<Column<UnitRow<ChannelTimes>>> {
    let mut columns = span("channel", "number of the channel");
    columns.extend([
        time("busy_us", "the bus was in use; the sum of data and command", |t: &ChannelTimes| t.data + t.command),
        time("data_us", "it carried data, with their command and address cycles", |t| t.data),
        time("command_us", "it carried commands and addresses without data", |t| t.command),
        time("host_us", "part of the busy time, for the host", |t| t.by_task[Task::HOST.index()]),
    ]);
    columns.extend(by_task(tasks, |t: &ChannelTimes, task| t.by_task[task.index()]));
    columns.extend([
        Column::f64("idle_us", "nothing was on the bus", |r: &UnitRow<ChannelTimes>| {
            us((r.end - r.start).saturating_sub(r.times.data + r.times.command))
        }),
        time("wait_us", "total time that ready commands waited for it (contention)", |t| t.wait),
        Column::u64(
            "uses",
            "number of uses, counted in the interval in which the use started",
            |r: &UnitRow<ChannelTimes>| r.times.uses,
        ),
    ]);
    columns
}

pub(crate) fn dies(tasks: Tasks) -> Vec<Column<UnitRow<DieTimes>>> {
    let taken = |t: &DieTimes| t.occupied.iter().sum::<Time>();
    let mut columns = span("die", "number of the die in the drive");
    columns.extend([
        Column::f64("busy_us", "a command held the die, from its start to its end", move |r: &UnitRow<DieTimes>| {
            us(taken(&r.times))
        }),
        time("host_read_us", "part of the busy time, for host reads", |t| t.occupied[Class::HOST_READ.index()]),
        time("host_write_us", "part of the busy time, for host writes", |t| t.occupied[Class::HOST_WRITE.index()]),
    ]);
    columns.extend(by_task(tasks, |t: &DieTimes, task| task.classes().map(|class| t.occupied[class.index()]).sum()));
    columns.extend([
        Column::f64("idle_us", "no command held the die", move |r: &UnitRow<DieTimes>| {
            us((r.end - r.start).saturating_sub(taken(&r.times)))
        }),
        time("read_us", "array busy with a read (tR)", |t| t.read),
        time("program_us", "array busy with a program (tPROG)", |t| t.program),
        time("erase_us", "array busy with an erase (tBERS)", |t| t.erase),
        time(
            "other_us",
            "the die was busy otherwise: registers, the address of a plane, suspending and resuming",
            |t| t.other,
        ),
        time("bus_us", "its commands, addresses and data were on the bus", |t| t.bus),
        time("wait_bus_us", "its commands were ready and waited for the bus (contention)", |t| t.wait_bus),
    ]);
    columns.extend(operations(tasks, |r: &UnitRow<DieTimes>| &r.times.ops));
    columns
}

pub(crate) fn planes(tasks: Tasks) -> Vec<Column<UnitRow<PlaneTimes>>> {
    let mut columns = span("plane", "number of the plane in the drive");
    columns.extend([
        time("read_us", "array of the plane busy with a read (tR)", |t: &PlaneTimes| t.read),
        time("program_us", "array of the plane busy with a program (tPROG)", |t| t.program),
        time("erase_us", "array of the plane busy with an erase (tBERS)", |t| t.erase),
    ]);
    columns.extend(operations(tasks, |r: &UnitRow<PlaneTimes>| &r.times.ops));
    columns
}

pub(crate) fn blocks() -> Vec<Column<BlockRow>> {
    vec![
        Column::u32("block", "number of the block in the drive", |r: &BlockRow| r.block).varied(),
        Column::u32("plane", "number of its plane in the drive", |r| r.plane),
        Column::u32("die", "number of its die in the drive", |r| r.die),
        Column::u32("channel", "number of its channel", |r| r.channel),
        Column::text(
            "state",
            "free (erased), open (being written), closed (fully written), victim (being collected), spare (held back to \
             replace one that goes bad) or bad",
            |r| r.state,
        ),
        Column::u32("erases", "P/E cycles so far, including those before the run", |r| r.erases),
        Column::u32("valid_units", "mapping units whose data are valid", |r| r.valid_units),
        Column::u32("reads", "page reads since the last erase", |r| r.reads),
        Column::u32("write_point", "pages programmed since the last erase", |r| r.write_point),
        Column::bool("bad", "bad from the factory, or gone bad since", |r| r.bad),
    ]
}
