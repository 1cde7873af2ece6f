//! Distribution of erases over blocks and planes.

use serde_json::{json, Value};
use wordline_firmware::Kernel;

/// Most bars of the histogram.
const MOST_BARS: u32 = 64;

/// Erases of the blocks since the drive was new: mean, largest and standard deviation, a histogram, and the mean of each plane.
#[must_use]
pub fn document(kernel: &Kernel) -> Value {
    of(|| kernel.blocks().records().iter().map(|block| block.erases), planes(kernel))
}

/// Mean erases of the blocks of each plane.
pub(crate) fn planes(kernel: &Kernel) -> Vec<f64> {
    let per_plane = kernel.flash().geometry().blocks_per_plane as usize;
    kernel
        .blocks()
        .records()
        .chunks(per_plane)
        .map(|plane| plane.iter().map(|block| f64::from(block.erases)).sum::<f64>() / plane.len() as f64)
        .map(|mean| (mean * 1e3).round() / 1e3)
        .collect()
}

/// The same of any blocks, given by their erases.
pub(crate) fn of<I: Iterator<Item = u32> + Clone>(erases: impl Fn() -> I, planes: Vec<f64>) -> Value {
    let count = erases().count() as f64;
    let mean = erases().map(f64::from).sum::<f64>() / count;
    let variance = erases().map(|n| (f64::from(n) - mean).powi(2)).sum::<f64>() / count;
    json!({
        "mean": mean,
        "max": erases().max(),
        "stddev": variance.sqrt(),
        "histogram": histogram(erases(), MOST_BARS),
        "planes": planes,
    })
}

/// Bars of equal width from the smallest value on, so many at most.
pub(crate) fn histogram(values: impl Iterator<Item = u32> + Clone, most_bars: u32) -> Value {
    let (least, most) = values.clone().fold((u32::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    if least > most {
        return Value::Null;
    }
    let width = (most - least) / most_bars + 1;
    let mut bars = vec![0_u64; ((most - least) / width + 1) as usize];
    values.for_each(|n| bars[((n - least) / width) as usize] += 1);
    json!({"first": least, "width": width, "blocks": bars})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_every_block() {
        let of = |values: &[u32]| histogram(values.iter().copied(), MOST_BARS);
        assert_eq!(of(&[3, 3, 5]), json!({"first": 3, "width": 1, "blocks": [2, 0, 1]}));
        let ends = [[1].as_slice(), &[0; 62], &[1]].concat();
        assert_eq!(of(&[0, 63]), json!({"first": 0, "width": 1, "blocks": ends}));
        let wide = of(&[10, 11, 12, 138]);
        assert_eq!((&wide["first"], &wide["width"]), (&json!(10), &json!(3)));
        assert_eq!(wide["blocks"].as_array().unwrap().len(), 43);
        assert_eq!((&wide["blocks"][0], &wide["blocks"][42]), (&json!(3), &json!(1)));
        assert_eq!(of(&[]), Value::Null);
    }
}
