//! The rows of the tables, as plain data. Times are in picoseconds, points in time since the start of the run.

use crate::metrics::QUANTILES;
use crate::parts::PARTS;
use wordline_base::{Op, Time};
use wordline_firmware::task::{CLASSES, TASKS};
use wordline_firmware::Standing;

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRow {
    /// Its number in the order of getting a slot, from 0 on.
    pub number: u64,
    /// The stream.
    pub stream: u16,
    /// What it did.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// When it arrived at the host's queue.
    pub arrival: Time,
    /// When it got its slot.
    pub submitted: Time,
    /// When a die first began a command for it, if one did before it was done.
    pub flash_start: Option<Time>,
    /// When it was done.
    pub completion: Time,
    /// True if delayed by GC: one of its operations waited for a die held by GC, or the request waited for the write
    /// buffer while GC held a die that a unit in it waited for.
    pub gc_affected: bool,
    /// The parts of its latency, by [`Part`](crate::parts::Part); they add up to it.
    pub parts: [Time; PARTS],
}

/// A row for all of the drive in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// Requests completed, by operation.
    pub requests: [u64; 4],
    /// Their bytes, by operation.
    pub bytes: [u64; 4],
    /// Mean latency by operation.
    pub mean: [Option<f64>; 4],
    /// Largest latency by operation.
    pub max: [Option<Time>; 4],
    /// Latency of all, of reads and of writes that a share does not exceed, at most 1/256 too large.
    pub quantiles: [[Option<Time>; QUANTILES.len()]; 3],
    /// Requests in slots, on average over time.
    pub queue_mean: f64,
    /// Requests in slots, at most.
    pub queue_max: u32,
    /// Free blocks at the end.
    pub free_blocks: u32,
    /// Mean and standard deviation of the P/E cycles of all blocks at the end.
    pub wear: (f64, f64),
    /// Blocks in SLC mode at the end.
    pub slc_blocks: u32,
    /// Pages read or programmed and blocks erased, by class, as their commands began.
    pub ops: [u64; CLASSES],
    /// Pages programmed over pages that the host wrote.
    pub write_amplification: Option<f64>,
    /// Units that GC moved.
    pub moved_units: u64,
    /// How long operations whose commands began had waited, by task: the mean in picoseconds, if any began.
    pub waited: [Option<f64>; TASKS],
    /// Busy share of the dies: taken by a command.
    pub dies_busy: f64,
    /// Busy planes over all planes of dies during GC, of commands that ended; none without any.
    pub plane_utilisation: Option<f64>,
    /// Busy share of the channels.
    pub channels_busy: f64,
    /// Busy share of the link to the drive, and to the host.
    pub link_busy: [f64; 2],
    /// Of the mapping table, where it lies in flash: share of lookups whose entry was in memory, map units read, written.
    pub map: (Option<f64>, u64, u64),
    /// How tasks stand at the commit stage at the end, if there is one.
    pub standing: Option<Standing>,
    /// Page reads of the most-read block with data, on a drive with a commit stage and a task that looks at reads.
    pub most_reads: Option<u32>,
}

/// A die in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieTimes {
    /// Its cells are read.
    pub read: Time,
    /// Its cells are programmed.
    pub program: Time,
    /// A block is erased.
    pub erase: Time,
    /// It is busy otherwise: registers, the address of a plane, a feature, coming to rest.
    pub other: Time,
    /// Its commands are on the bus.
    pub bus: Time,
    /// Its commands wait for the bus.
    pub wait_bus: Time,
    /// Occupied by commands of each class, from start to end.
    pub occupied: [Time; CLASSES],
    /// Pages or blocks of each class, as their commands began.
    pub ops: [u64; CLASSES],
}

/// A plane in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneTimes {
    /// Its cells are read.
    pub read: Time,
    /// Its cells are programmed.
    pub program: Time,
    /// A block is erased.
    pub erase: Time,
    /// Pages or blocks of each class, as their commands began.
    pub ops: [u64; CLASSES],
}

/// The bus of a channel in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelTimes {
    /// It carries data, with the command and address before them.
    pub data: Time,
    /// It carries commands and addresses alone.
    pub command: Time,
    /// Of all of it, for each task.
    pub by_task: [Time; TASKS],
    /// Commands and addresses that waited for it, and data.
    pub wait: Time,
    /// Uses.
    pub uses: u64,
}

/// A unit of the flash in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRow<T> {
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// Its number in the drive.
    pub unit: u32,
    /// What it did.
    pub times: T,
}

/// A block at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Its number in the drive.
    pub block: u32,
    /// Its plane in the drive.
    pub plane: u32,
    /// Its die in the drive.
    pub die: u32,
    /// Its channel.
    pub channel: u32,
    /// Where it is in its life.
    pub state: &'static str,
    /// Erases.
    pub erases: u32,
    /// Valid units.
    pub valid_units: u32,
    /// Page reads since its last erase.
    pub reads: u32,
    /// Pages programmed.
    pub write_point: u32,
    /// True if it is bad.
    pub bad: bool,
}

/// Receives the rows. It keeps a write error until it is queried.
pub trait Sink: Send {
    /// A request is done.
    fn request(&mut self, row: &RequestRow);
    /// An interval has ended.
    fn interval(&mut self, row: &IntervalRow);
    /// Activity of a channel.
    fn channel(&mut self, row: &UnitRow<ChannelTimes>);
    /// Activity of a die.
    fn die(&mut self, row: &UnitRow<DieTimes>);
    /// Activity of a plane.
    fn plane(&mut self, row: &UnitRow<PlaneTimes>);
    /// State of a block at the end.
    fn block(&mut self, row: &BlockRow);
}
