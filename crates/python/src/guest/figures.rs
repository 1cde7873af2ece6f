//! Policies in Python that are asked for figures once, when the drive is built: SLC cache, write buffer, host interface.

use super::times::number;
use super::{odd, truth, whole};
use pyo3::prelude::*;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{LinkCosts, SlcSize, Transfer};

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

/// A number of blocks, or None.
fn blocks(size: &Bound<'_, PyAny>, key: &str) -> Read<Option<u32>> {
    let answer = size.getattr(key)?;
    if answer.is_none() {
        return Ok(Ok(None));
    }
    let blocks = whole(&answer).map(Some);
    Ok(blocks.ok_or_else(|| format!("its {key} is of no use: {}", odd(&answer, "a number of blocks, or None"))))
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
