//! The lifetime curve: wear and bad blocks of a drive over the bytes that its host has written.

use crate::drive::Drive;
use crate::wear;
use serde::Serialize;
use serde_json::Value;
use wordline_firmware::blocks::Status;

/// Most points; every second one is dropped when there are more, and from then on they lie twice as far apart.
const MOST_POINTS: usize = 256;
/// Points of the first drive capacity that is written.
const FIRST_POINTS: u64 = 16;
/// Most bars of the histogram of a point.
const BARS: u32 = 24;

/// A drive at one point of its life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Bytes that the host had written.
    pub host_bytes: u64,
    /// Pages programmed since the curve began.
    pub programs: u64,
    /// Blocks erased since the curve began.
    pub erases: u64,
    /// Erases of a block since the drive was new: mean over all blocks.
    pub mean: f64,
    /// Their standard deviation.
    pub stddev: f64,
    /// The least erases of a block.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Bad blocks, with those from the factory.
    pub bad_blocks: u32,
    /// Blocks held back to replace bad ones.
    pub spare_blocks: u32,
    /// Blocks by their erases: bars of equal width.
    pub histogram: Value,
}

impl Point {
    fn of(drive: &Drive, host_bytes: u64) -> Self {
        let kernel = drive.kernel();
        let records = kernel.blocks().records();
        let erases = || records.iter().map(|block| block.erases);
        let (mut sum, mut least, mut most) = (0_u64, u32::MAX, 0);
        for count in erases() {
            sum += u64::from(count);
            (least, most) = (least.min(count), most.max(count));
        }
        let mean = sum as f64 / records.len() as f64;
        let variance = erases().map(|count| (f64::from(count) - mean).powi(2)).sum::<f64>() / records.len() as f64;
        let in_state = |status: Status| records.iter().filter(|block| block.status == status).count() as u32;
        Self {
            host_bytes,
            programs: kernel.counters().programs(),
            erases: kernel.counters().erases(),
            mean,
            stddev: variance.sqrt(),
            least,
            most,
            bad_blocks: in_state(Status::Bad),
            spare_blocks: in_state(Status::Spare),
            histogram: wear::histogram(erases(), BARS),
        }
    }
}

/// The curve of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<Point>,
    /// Bytes between two points.
    step: u64,
    /// Where the next one lies.
    due: u64,
}

impl Curve {
    pub(super) fn new(drive: &Drive) -> Self {
        let step = (drive.logical_bytes() / FIRST_POINTS).max(1);
        Self { points: vec![Point::of(drive, 0)], step, due: step }
    }

    /// The host has written so many bytes.
    #[inline]
    pub(super) fn look(&mut self, drive: &Drive, host_bytes: u64) {
        if host_bytes >= self.due {
            self.add(drive, host_bytes);
        }
    }

    #[cold]
    fn add(&mut self, drive: &Drive, host_bytes: u64) {
        self.points.push(Point::of(drive, host_bytes));
        if self.points.len() > MOST_POINTS {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step = self.step.saturating_mul(2);
        }
        self.due = (host_bytes / self.step + 1) * self.step;
    }

    /// The last point.
    pub(super) fn end(&mut self, drive: &Drive, host_bytes: u64) {
        if self.points.len() > 1 && self.points.last().is_some_and(|last| last.host_bytes == host_bytes) {
            self.points.pop();
        }
        self.points.push(Point::of(drive, host_bytes));
    }

    /// Its points, from the state before the first write to the last.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}
