//! The columns of each table.

use crate::column::Column;
use wordline_base::{Op, Time};
use wordline_drive::observe::{BlockRow, ChannelTimes, DieTimes, IntervalRow, PlaneTimes, RequestRow, UnitRow};
use wordline_drive::parts::Part;
use wordline_drive::result::QUANTILES;
use wordline_firmware::policy::arbiter::{Class, CLASSES};

/// Version of the tables: it grows when a column changes its name or meaning, or goes.
pub const SCHEMA: u32 = 2;

fn us(time: Time) -> f64 {
    time as f64 / 1e6
}

fn s(time: Time) -> f64 {
    time as f64 / 1e12
}

pub(crate) fn requests() -> Vec<Column<RequestRow>> {
    let mut columns = vec![
        Column::u64("number", "in the order of getting a slot, from 0 on", |r: &RequestRow| r.number).varied(),
        Column::u32("stream", "which stream of the load, from 0 on", |r| u32::from(r.stream)),
        Column::text("op", "read, write, trim or flush", |r| r.op.name()),
        Column::u64("offset_bytes", "first byte on the drive", |r: &RequestRow| r.offset).varied(),
        Column::u32("size_bytes", "length; 0 of a flush", |r| r.bytes),
        Column::f64("arrival_s", "when it arrived at the host's queue", |r: &RequestRow| s(r.arrival)).varied(),
        Column::f64("submit_s", "when it got its slot in the drive's queue", |r: &RequestRow| s(r.submitted)).varied(),
        Column::maybe(
            "flash_start_s",
            "when a die first began a command for it; missing where it was done without one",
            |r: &RequestRow| r.flash_start.map(s),
        )
        .varied(),
        Column::f64("completion_s", "when the host had its completion", |r: &RequestRow| s(r.completion)).varied(),
        Column::bool(
            "gc_affected",
            "one of its operations waited for a die while garbage collection held it, or it for the write buffer while garbage \
             collection held a die that the data there waited for",
            |r| r.gc_affected,
        ),
        Column::f64("latency_us", "from arrival to completion; the sum of waiting and service", |r: &RequestRow| {
            us(r.completion - r.arrival)
        })
        .varied(),
        Column::f64("waiting_us", "of the latency, before a queue slot", |r: &RequestRow| {
            us(r.parts[Part::Waiting as usize])
        }),
        Column::f64(
            "service_us",
            "of the latency, from the slot on; the sum of all columns that follow",
            |r: &RequestRow| us(r.completion - r.submitted),
        )
        .varied(),
    ];
    // All but the waiting for a slot, which is before the service.
    for (part, name, doc) in Part::ALL.into_iter().skip(1) {
        let time = move |r: &RequestRow| us(r.parts[part as usize]);
        columns.push(Column::f64(format!("{name}_us"), doc, time));
    }
    columns
}

pub(crate) fn intervals() -> Vec<Column<IntervalRow>> {
    let length = |r: &IntervalRow| s(r.end - r.start).max(1e-12);
    let mut columns = vec![
        Column::f64("start_s", "from when", |r: &IntervalRow| s(r.start)),
        Column::f64("end_s", "until when", |r: &IntervalRow| s(r.end)),
        Column::f64("iops", "requests completed a second", move |r: &IntervalRow| {
            r.requests.iter().sum::<u64>() as f64 / length(r)
        }),
        Column::f64("read_mib_s", "data read, in MiB a second", move |r: &IntervalRow| {
            r.bytes[Op::Read as usize] as f64 / 1_048_576.0 / length(r)
        }),
        Column::f64("write_mib_s", "data written, in MiB a second", move |r: &IntervalRow| {
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
                format!("latency {what} that {percent} % do not exceed; missing where the interval has too few"),
                move |r: &IntervalRow| r.quantiles[which][at].map(us),
            ));
        }
    }
    columns.extend([
        Column::f64("queue_mean", "requests in slots, on average over the time", |r: &IntervalRow| r.queue_mean),
        Column::u32("queue_max", "requests in slots, at most", |r| r.queue_max),
        Column::u32("free_blocks", "free blocks at the end", |r| r.free_blocks),
        Column::maybe(
            "write_amplification",
            "pages programmed over pages that the host wrote; missing where it wrote none",
            |r: &IntervalRow| r.write_amplification,
        ),
    ]);
    columns.extend(operations(|r: &IntervalRow| &r.ops));
    columns.extend([
        Column::u64("moved_units", "mapping units that garbage collection moved", |r: &IntervalRow| r.moved_units),
        Column::f64("dies_busy", "share of the time in which the dies were taken by a command", |r: &IntervalRow| {
            r.dies_busy
        }),
        Column::f64(
            "channels_busy",
            "share of the time in which the buses of the channels were in use",
            |r: &IntervalRow| r.channels_busy,
        ),
        Column::f64(
            "link_in_busy",
            "share of the time in which the link to the drive was in use",
            |r: &IntervalRow| r.link_busy[0],
        ),
        Column::f64(
            "link_out_busy",
            "share of the time in which the link to the host was in use",
            |r: &IntervalRow| r.link_busy[1],
        ),
    ]);
    columns
}

/// Counts of flash operations by class, from where a row has them.
fn operations<R: 'static>(of: fn(&R) -> &[u64; CLASSES]) -> [Column<R>; CLASSES] {
    let named = [
        (Class::HostRead, "host_reads", "pages read for the host"),
        (Class::HostWrite, "host_programs", "pages programmed for the host"),
        (Class::GcRead, "gc_reads", "pages read for garbage collection"),
        (Class::GcWrite, "gc_programs", "pages programmed for garbage collection"),
        (Class::GcErase, "gc_erases", "blocks erased"),
    ];
    named.map(|(class, name, doc)| Column::u64(name, doc, move |r| of(r)[class as usize]))
}

fn span<T: 'static>(what: &str, doc: &str) -> Vec<Column<UnitRow<T>>> {
    vec![
        Column::f64("start_s", "from when", |r: &UnitRow<T>| s(r.start)),
        Column::f64("end_s", "until when", |r: &UnitRow<T>| s(r.end)),
        Column::u32(what, doc, |r| r.unit),
    ]
}

fn time<T: 'static>(name: &str, doc: &str, of: fn(&T) -> Time) -> Column<UnitRow<T>> {
    Column::f64(name, doc, move |r: &UnitRow<T>| us(of(&r.times)))
}

pub(crate) fn channels() -> Vec<Column<UnitRow<ChannelTimes>>> {
    let mut columns = span("channel", "number of the channel");
    columns.extend([
        time("busy_us", "the bus was in use; the sum of data and command", |t: &ChannelTimes| t.data + t.command),
        time("data_us", "it carried data, with the command and address before them", |t| t.data),
        time("command_us", "it carried commands and addresses alone", |t| t.command),
        time("host_us", "of the busy time, for the host", |t| t.host),
        time("gc_us", "of the busy time, for garbage collection", |t| t.gc),
        Column::f64("idle_us", "nothing was on the bus", |r: &UnitRow<ChannelTimes>| {
            us((r.end - r.start).saturating_sub(r.times.data + r.times.command))
        }),
        time("wait_us", "the time that commands were ready and waited for it, added up (contention)", |t| t.wait),
        Column::u64("uses", "how often it was used, counted where the use began", |r: &UnitRow<ChannelTimes>| {
            r.times.uses
        }),
    ]);
    columns
}

pub(crate) fn dies() -> Vec<Column<UnitRow<DieTimes>>> {
    let taken = |t: &DieTimes| t.occupied.iter().sum::<Time>();
    let mut columns = span("die", "number of the die in the drive");
    columns.extend([
        Column::f64(
            "busy_us",
            "the die was taken by a command, from its start to its end",
            move |r: &UnitRow<DieTimes>| us(taken(&r.times)),
        ),
        time("host_read_us", "of the busy time, by reads of the host", |t| t.occupied[Class::HostRead as usize]),
        time("host_write_us", "of the busy time, by writes of the host", |t| t.occupied[Class::HostWrite as usize]),
        time("gc_us", "of the busy time, by garbage collection", |t| {
            [Class::GcRead, Class::GcWrite, Class::GcErase].iter().map(|&class| t.occupied[class as usize]).sum()
        }),
        Column::f64("idle_us", "the die served nothing", move |r: &UnitRow<DieTimes>| {
            us((r.end - r.start).saturating_sub(taken(&r.times)))
        }),
        time("read_us", "cells were read", |t| t.read),
        time("program_us", "cells were programmed", |t| t.program),
        time("erase_us", "a block was erased", |t| t.erase),
        time("other_us", "the die was busy otherwise: registers, the address of a plane, coming to rest", |t| t.other),
        time("bus_us", "its commands, addresses and data were on the bus", |t| t.bus),
        time("wait_bus_us", "its commands were ready and waited for the bus (contention)", |t| t.wait_bus),
    ]);
    columns.extend(operations(|r: &UnitRow<DieTimes>| &r.times.ops));
    columns
}

pub(crate) fn planes() -> Vec<Column<UnitRow<PlaneTimes>>> {
    let mut columns = span("plane", "number of the plane in the drive");
    columns.extend([
        time("read_us", "its cells were read", |t: &PlaneTimes| t.read),
        time("program_us", "its cells were programmed", |t| t.program),
        time("erase_us", "one of its blocks was erased", |t| t.erase),
    ]);
    columns.extend(operations(|r: &UnitRow<PlaneTimes>| &r.times.ops));
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
        Column::u32("erases", "erases so far, those before the run included", |r| r.erases),
        Column::u32("valid_units", "mapping units whose data are valid", |r| r.valid_units),
        Column::u32("reads", "page reads since the last erase", |r| r.reads),
        Column::u32("write_point", "pages programmed since the last erase", |r| r.write_point),
        Column::bool("bad", "it came bad, or went bad", |r| r.bad),
    ]
}
