//! Generating the requests of a stand-in.

use super::Model;
use crate::convert::ConvertError;
use crate::info::{Measured, Measures};
use crate::progress::Reading;
use crate::reader::Record;
use crate::write::{TraceWriter, Written};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{Op, Stream};

/// Requests between two progress reports.
const REPORTED: u64 = 1 << 14;

/// A generated stand-in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Synthesised {
    /// Bytes of the region over which the requests are spread.
    pub region_bytes: u64,
    /// The arrival process.
    pub arrivals: String,
    /// Factor on the excess of gaps over the median that makes the mean of this trace exact.
    pub stretch: f64,
    /// The resulting statistics.
    pub measured: Measured,
    /// The written trace.
    pub written: Written,
}

/// The gaps of a model, one after another.
struct Gaps<'a> {
    model: &'a Model,
    random: Stream,
    spare: Option<f64>,
}

impl<'a> Gaps<'a> {
    fn new(model: &'a Model) -> Self {
        Self { model, random: Stream::new(model.seed, "stand-in/gaps", 0), spare: None }
    }

    #[inline]
    fn next(&mut self) -> f64 {
        self.model.gaps.draw(&mut self.random, &mut self.spare)
    }
}

/// The factor on the excess of gaps over the median that gives the requested mean; `None` if stopped.
fn stretch(model: &Model, watch: &mut dyn FnMut(Reading) -> bool) -> Option<f64> {
    let (count, middle) = (model.requests - 1, model.median_gap);
    let (mut below, mut above, mut excess) = (0.0, 0_u64, 0.0);
    let mut gaps = Gaps::new(model);
    for n in 0..count {
        let gap = gaps.next();
        if gap > middle {
            above += 1;
            excess += gap - middle;
        } else {
            below += gap;
        }
        if n.is_multiple_of(REPORTED) && !watch(Reading { fraction: 0.0, requests: 0 }) {
            return None;
        }
    }
    let factor = (count as f64 * model.mean_gap - below - above as f64 * middle) / excess;
    // A few gaps alone may lie below the median, or all above it.
    Some(if factor.is_finite() && factor > 0.0 { factor } else { 1.0 })
}

/// Makes the requests of `model` and writes them. `watch` is told how far it is and says whether to go on; nothing comes back
/// when it said no, and then the output is to be thrown away. The same model gives the same requests.
///
/// # Errors
/// When writing fails.
pub fn synthesise(
    model: &Model,
    mut writer: TraceWriter,
    watch: &mut dyn FnMut(Reading) -> bool,
) -> Result<Option<Synthesised>, ConvertError> {
    let Some(stretch) = stretch(model, watch) else { return Ok(None) };
    let random = |what: &str| Stream::new(model.seed, &format!("stand-in/{what}"), 0);
    let (mut mix, mut sizes, mut jumps, mut places) =
        (random("mix"), random("sizes"), random("jumps"), random("places"));
    let mut gaps = Gaps::new(model);
    let mut measures = Measures::default();
    let (mut time_ps, mut end) = (0_u128, None);
    for n in 0..model.requests {
        if n > 0 {
            let gap = gaps.next();
            let over = (gap - model.median_gap).max(0.0);
            time_ps += libm::round(gap + over * (stretch - 1.0)) as u128;
        }
        let write = mix.unit() < model.writes;
        let bytes = model.sizes[usize::from(write)].draw(&mut sizes);
        let room = model.region - u64::from(bytes);
        let jump = jumps.unit() < model.random;
        let offset = match end {
            Some(end) if !jump && end <= room => end,
            _ => places.below(room / model.align + 1) * model.align,
        };
        end = Some(offset + u64::from(bytes));
        let op = if write { Op::Write } else { Op::Read };
        let record = Record { time_ps, device: 0, offset, bytes, op, fua: false };
        measures.add(record);
        writer.write(&record, &[])?;
        let done = n + 1;
        let fraction = done as f64 / model.requests as f64;
        if done.is_multiple_of(REPORTED) && !watch(Reading { fraction, requests: done }) {
            return Ok(None);
        }
    }
    let written = writer.finish()?;
    Ok(Some(Synthesised {
        region_bytes: model.region,
        arrivals: model.arrivals(),
        stretch,
        measured: measures.measured(),
        written,
    }))
}
