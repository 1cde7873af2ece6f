//! Policies in Python that are asked for figures once, when the drive is built: SLC cache, write buffer, host interface,
//! schemes of block mapping.

use super::times::number;
use super::{odd, truth, whole};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use wordline_base::time::END_OF_TIME;
use wordline_base::Op;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{
    AtOnce, Commits, Compacts, Limits, LinkCosts, LogRule, Order, Priority, Rule, Scheme, SlcSize, Steps, TagRules,
    Transfer, Unit,
};

/// An answer, or why it is of no use.
type Read<A> = PyResult<Result<A, String>>;

/// Passes the reason on why an answer is of no use.
macro_rules! usable {
    ($read:expr) => {
        match $read? {
            Ok(value) => value,
            Err(problem) => return Ok(Err(problem)),
        }
    };
}

/// A number of blocks, or of what is named, or None.
fn few(of: &Bound<'_, PyAny>, key: &str, what: &str) -> Read<Option<u32>> {
    let answer = of.getattr(key)?;
    if answer.is_none() {
        return Ok(Ok(None));
    }
    let count = whole(&answer).map(Some);
    Ok(count
        .ok_or_else(|| format!("its {key} is of no use: {}", odd(&answer, &format!("a number of {what}, or None")))))
}

/// A number of blocks, or None.
fn blocks(size: &Bound<'_, PyAny>, key: &str) -> Read<Option<u32>> {
    few(size, key, "blocks")
}

/// True if an answer has these attributes, as the class has that is expected.
fn has_all(answer: &Bound<'_, PyAny>, keys: &[&str]) -> PyResult<bool> {
    keys.iter().try_fold(true, |all, key| Ok(all && answer.hasattr(*key)?))
}

/// The size of an SLC cache.
pub(super) fn cache_size(answer: &Bound<'_, PyAny>) -> Read<Option<SlcSize>> {
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &["most_blocks", "free_blocks", "set_aside"])? {
        return Ok(Err(format!("its method 'size' is of no use: {}", odd(answer, "an SlcSize, or None"))));
    }
    let (most, spare) = (usable!(blocks(answer, "most_blocks")), usable!(blocks(answer, "free_blocks")));
    let fixed = usable!(flag(answer, "set_aside"));
    Ok(Ok(Some(SlcSize { most, spare, fixed })))
}

/// The size of a write buffer in KiB.
pub(super) fn capacity(answer: &Bound<'_, PyAny>) -> Read<u32> {
    let wanted = || odd(answer, "a whole number of KiB, or 0 for no buffer");
    Ok(whole(answer).ok_or_else(|| format!("its method 'capacity_kib' is of no use: {}", wanted())))
}

/// A truth value.
fn flag(of: &Bound<'_, PyAny>, key: &str) -> Read<bool> {
    let answer = of.getattr(key)?;
    Ok(truth(&answer)?.map_err(|problem| format!("its {key} is of no use: {problem}")))
}

/// A time in microseconds.
fn time(of: &Bound<'_, PyAny>, key: &str) -> Read<Time> {
    const WANTED: &str = "a number of microseconds from 0 to 1,000,000";
    let answer = of.getattr(key)?;
    let us = number(&answer).filter(|us| (0.0..=1e6).contains(us));
    Ok(us.map(ps_from_us).ok_or_else(|| format!("its {key} is of no use: {}", odd(&answer, WANTED))))
}

/// A whole number.
fn count(of: &Bound<'_, PyAny>, key: &str) -> Read<u32> {
    let answer = of.getattr(key)?;
    Ok(whole(&answer).ok_or_else(|| format!("its {key} is of no use: {}", odd(&answer, "a whole number"))))
}

/// Picoseconds, and the bytes that take them, from a rate in MB/s.
fn rate(of: &Bound<'_, PyAny>) -> Read<(u64, u64)> {
    const WANTED: &str = "a number from 1 to 10,000,000";
    const US: u64 = 1_000_000;
    let answer = of.getattr("mb_per_s")?;
    let Some(mb_per_s) = number(&answer).filter(|rate| (1.0..=1e7).contains(rate)) else {
        return Ok(Err(format!("its mb_per_s is of no use: {}", odd(&answer, WANTED))));
    };
    // An exact fraction, or one so near that it differs by less than a picosecond in a thousand bytes.
    let fraction = answer.py().import("fractions")?.getattr("Fraction")?;
    let per_byte = fraction.call1((US,))?.call_method1("__truediv__", (fraction.call1((&answer,))?,))?;
    let most = (mb_per_s * 1_000.0).min(1e6) as u64;
    let nearest = per_byte.call_method1("limit_denominator", (most,))?;
    Ok(Ok((nearest.getattr("numerator")?.extract()?, nearest.getattr("denominator")?.extract()?)))
}

/// The times of data in one direction.
fn transfer(costs: &Bound<'_, PyAny>, key: &str) -> Read<Transfer> {
    let answer = costs.getattr(key)?;
    if !has_all(&answer, &["mb_per_s", "fixed_us", "packet_bytes", "packet_overhead"])? {
        return Ok(Err(format!("its {key} is of no use: {}", odd(&answer, "a Transfer"))));
    }
    let (picoseconds, per) = usable!(rate(&answer));
    let fixed = usable!(time(&answer, "fixed_us"));
    let (packet_bytes, packet_overhead) =
        (usable!(count(&answer, "packet_bytes")), usable!(count(&answer, "packet_overhead")));
    Ok(Ok(Transfer { fixed, packet_overhead, packet_bytes, picoseconds, per }))
}

/// The transfer times of a host interface.
pub(super) fn link_costs(answer: &Bound<'_, PyAny>) -> Read<LinkCosts> {
    const KEYS: [&str; 9] = [
        "command_us",
        "latency_us",
        "completion_us",
        "data_in",
        "data_out",
        "half_duplex",
        "most_depth",
        "most_queues",
        "usual_depth",
    ];
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'costs' is of no use: {}", odd(answer, "LinkCosts"))));
    }
    Ok(Ok(LinkCosts {
        command: usable!(time(answer, "command_us")),
        latency: usable!(time(answer, "latency_us")),
        completion: usable!(time(answer, "completion_us")),
        data_in: usable!(transfer(answer, "data_in")),
        data_out: usable!(transfer(answer, "data_out")),
        half_duplex: usable!(flag(answer, "half_duplex")),
        most_depth: usable!(count(answer, "most_depth")),
        most_queues: usable!(count(answer, "most_queues")),
        usual_depth: usable!(count(answer, "usual_depth")),
    }))
}

/// A scheme of block mapping.
pub(super) fn log_blocks(answer: &Bound<'_, PyAny>) -> Read<Option<Scheme>> {
    const KEYS: [&str; 8] = [
        "group_blocks",
        "group_log_blocks",
        "log_blocks",
        "sequential",
        "one_by_one",
        "merge_first",
        "zone_blocks",
        "zone_tables",
    ];
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'scheme' is of no use: {}", odd(answer, "LogBlocks, or None"))));
    }
    let rule = LogRule {
        logical_blocks: usable!(blocks(answer, "group_blocks")),
        log_blocks: usable!(blocks(answer, "group_log_blocks")),
        most: usable!(blocks(answer, "log_blocks")),
        zone_blocks: None,
        sequential: usable!(flag(answer, "sequential")),
        one_by_one: usable!(flag(answer, "one_by_one")),
        priority: usable!(priority(answer)),
    };
    let (zone_blocks, zone_tables) =
        (usable!(blocks(answer, "zone_blocks")), usable!(few(answer, "zone_tables", "tables")));
    if rule.most != Some(0) {
        return Ok(Ok(Some(Scheme { logs: Some(rule), zone_blocks, zone_tables })));
    }
    let given = [
        ("group_blocks", rule.logical_blocks.is_some()),
        ("group_log_blocks", rule.log_blocks.is_some()),
        ("sequential", rule.sequential),
        ("one_by_one", rule.one_by_one),
    ];
    Ok(match given.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(format!("its {key} has no effect: its log_blocks is 0, so there are none")),
        None => Ok(Some(Scheme { logs: None, zone_blocks, zone_tables })),
    })
}

/// Which log blocks are merged when they run out.
fn priority(scheme: &Bound<'_, PyAny>) -> Read<Priority> {
    const WANTED: &str = "\"oldest\" or \"least-recently-written\"";
    let answer = scheme.getattr("merge_first")?;
    Ok(match answer.extract::<&str>() {
        Ok("oldest") => Ok(Priority::Oldest),
        Ok("least-recently-written") => Ok(Priority::LeastRecentlyWritten),
        _ => Err(format!("its merge_first is of no use: {}", odd(&answer, WANTED))),
    })
}

/// Which merges of log blocks leave busy periods, by a collect policy.
pub(super) fn schedule(answer: &Bound<'_, PyAny>) -> Read<Option<Rule>> {
    const KEYS: [&str; 5] = ["ahead", "delayed", "compacts", "steps_below", "steps_per_page"];
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'schedule' is of no use: {}", odd(answer, "a Schedule, or None"))));
    }
    let (advanced, delayed) = (usable!(flag(answer, "ahead")), usable!(flag(answer, "delayed")));
    let given = answer.getattr("compacts")?;
    let compacts = match given.extract::<&str>() {
        Ok("full") => Compacts::Full,
        Ok("any") => Compacts::Any,
        _ => return Ok(Err(format!("its compacts is of no use: {}", odd(&given, "\"full\" or \"any\"")))),
    };
    let (below, per_page) = (usable!(blocks(answer, "steps_below")), usable!(count(answer, "steps_per_page")));
    if !(1..=1_000).contains(&per_page) {
        return Ok(Err(format!("its steps_per_page is {per_page}: must lie between 1 and 1000")));
    }
    let steps = below.map(|below| Steps { below, per_page });
    if !advanced && !delayed && steps.is_none() {
        let problem = "its schedule has no effect: give ahead, delayed or steps_below, or let its method return None";
        return Ok(Err(problem.to_owned()));
    }
    Ok(Ok(Some(Rule { advanced, compacts, delayed, steps })))
}

/// A time in microseconds in a range.
fn time_in(answer: &Bound<'_, PyAny>, what: &str, (least, most): (f64, f64), words: &str) -> Result<Time, String> {
    let us = number(answer).filter(|us| (least..=most).contains(us));
    us.map(ps_from_us).ok_or_else(|| format!("its {what} is of no use: {}", odd(answer, words)))
}

/// The device queue of a dispatch policy.
pub(super) fn device_queue(answer: &Bound<'_, PyAny>) -> Read<Option<TagRules>> {
    const KEYS: [&str; 5] = ["in_order", "by_package", "packs_across", "decision_us", "bound_us"];
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'device_queue' is of no use: {}", odd(answer, "a DeviceQueue, or None"))));
    }
    let (in_order, by_package) = (usable!(flag(answer, "in_order")), usable!(flag(answer, "by_package")));
    let packs_across = usable!(flag(answer, "packs_across"));
    let decision = answer.getattr("decision_us")?;
    let decision = time_in(&decision, "decision_us", (0.0, 1e3), "a number of microseconds from 0 to 1,000");
    let bound = answer.getattr("bound_us")?;
    let given = !bound.is_none();
    let bound = match given {
        true => time_in(&bound, "bound_us", (0.0, 1e7), "a number of microseconds from 0 to 10,000,000, or None"),
        false => Ok(END_OF_TIME),
    };
    if let Some((key, _)) =
        [("by_package", by_package), ("bound_us", given)].into_iter().find(|(_, on)| in_order && *on)
    {
        return Ok(Err(format!(
            "its {key} has no effect: operations go in the order of coming, since in_order is True"
        )));
    }
    Ok(decision.and_then(|decision| Ok(Some(TagRules { in_order, by_package, packs_across, decision, bound: bound? }))))
}

/// How the operations of a dispatch policy reach their dies at once.
pub(super) fn at_once(answer: &Bound<'_, PyAny>) -> Read<Option<AtOnce>> {
    const KEYS: [&str; 3] = ["transactions", "waits_for_bus", "requests"];
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'at_once' is of no use: {}", odd(answer, "AtOnce, or None"))));
    }
    let units = [("package", Unit::Package), ("die", Unit::Die)];
    // A policy that chooses is asked in place of an order.
    let orders = [("first-come", Order::FirstCome), ("reads-first", Order::ReadsFirst), ("chosen", Order::FirstCome)];
    let unit = usable!(one_of(answer, KEYS[0], units));
    let order = usable!(one_of(answer, KEYS[2], orders));
    let waits = answer.getattr(KEYS[1])?;
    let wait_for_bus = match (waits.is_none(), unit) {
        (true, _) => true,
        (false, Some(_)) => usable!(flag(answer, KEYS[1])),
        (false, None) => {
            return Ok(Err("its waits_for_bus has no effect without transactions; leave it out".to_owned()))
        }
    };
    Ok(match (unit, order) {
        (Some(_), Some(_)) => Err("it has both transactions and requests; leave one of them out".to_owned()),
        (Some(unit), None) => Ok(Some(AtOnce::Transactions(Commits { unit, wait_for_bus }))),
        (None, Some(order)) => Ok(Some(AtOnce::Requests(order))),
        (None, None) => Ok(Some(AtOnce::Alone)),
    })
}

/// One of some things by its name, or None.
fn one_of<A: Copy, const N: usize>(of: &Bound<'_, PyAny>, key: &str, all: [(&str, A); N]) -> Read<Option<A>> {
    let answer = of.getattr(key)?;
    if answer.is_none() {
        return Ok(Ok(None));
    }
    let name = answer.extract::<PyBackedStr>().ok();
    let found = name.and_then(|name| all.iter().find(|(one, _)| *one == &*name)).map(|&(_, found)| Some(found));
    Ok(found.ok_or_else(|| {
        let names = all.map(|(name, _)| format!("{name:?}")).join(", ");
        format!("its {key} is of no use: {}", odd(&answer, &format!("{names} or None")))
    }))
}

/// The deadlines of a dispatch policy.
pub(super) fn deadlines(answer: &Bound<'_, PyAny>) -> Read<Option<Limits>> {
    const KEYS: [&str; 6] = ["read_us", "write_us", "flush_us", "background_us", "by_stream_us", "avoids_gc"];
    const RANGE: (f64, f64) = (1.0, 6e7);
    const WANTED: &str = "a number of microseconds from 1 to 60,000,000";
    if answer.is_none() {
        return Ok(Ok(None));
    }
    if !has_all(answer, &KEYS)? {
        return Ok(Err(format!("its method 'deadlines' is of no use: {}", odd(answer, "Deadlines, or None"))));
    }
    let mut by_kind = [None; Op::ALL.len()];
    for (op, key) in [(Op::Read, KEYS[0]), (Op::Write, KEYS[1]), (Op::Flush, KEYS[2])] {
        let given = answer.getattr(key)?;
        if !given.is_none() {
            match time_in(&given, key, RANGE, &format!("{WANTED}, or None")) {
                Ok(time) => by_kind[op as usize] = Some(time),
                Err(problem) => return Ok(Err(problem)),
            }
        }
    }
    let background = answer.getattr("background_us")?;
    let background = match time_in(&background, "background_us", RANGE, WANTED) {
        Ok(background) => background,
        Err(problem) => return Ok(Err(problem)),
    };
    let streams = answer.getattr("by_stream_us")?;
    let wanted = "a dict of deadlines in microseconds, from 1 to 60,000,000, by the number of a stream, 0 to 65,535";
    let mut by_stream = std::collections::BTreeMap::new();
    for (stream, us) in streams.cast::<PyDict>().ok().into_iter().flatten() {
        match (whole::<u16>(&stream), time_in(&us, "by_stream_us", RANGE, wanted)) {
            (Some(stream), Ok(time)) => by_stream.insert(stream, time),
            _ => return Ok(Err(format!("its by_stream_us is of no use: {}", odd(&streams, wanted)))),
        };
    }
    if streams.cast::<PyDict>().is_err() {
        return Ok(Err(format!("its by_stream_us is of no use: {}", odd(&streams, wanted))));
    }
    let avoids_gc = usable!(flag(answer, "avoids_gc"));
    Ok(Ok(Some(Limits { by_kind, by_stream, background, avoids_gc })))
}
