//! The `[nand]` section of a drive file.

use crate::energy::EnergyConfig;
use crate::interface::Interface;
use crate::reliability::ReliabilityConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One time for all pages, or one for each page class (SLC: one; MLC: LSB, MSB; TLC: lower, middle, upper; QLC: four).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ByClass {
    /// The same for all pages.
    One(f64),
    /// One for each class, the class of the fastest pages first.
    Each(Vec<f64>),
}

impl ByClass {
    /// The values as a list.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        match self {
            ByClass::One(value) => vec![*value],
            ByClass::Each(values) => values.clone(),
        }
    }
}

/// Time of a page within its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyModel {
    /// Each page takes the time of its class: jung13's variation-aware model (section 2.7.2).
    #[default]
    Variation,
    /// Every page takes the typical time, as in single-constant models (jung13, section 2.8.1).
    Typical,
    /// Every page takes the time of the slowest class.
    Worst,
}

/// Page class of each page offset of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// Page n has class n modulo the number of classes.
    #[default]
    Cyclic,
    /// The alpha set of jung13, section 2.7.2: the first and last two pages are LSB, between them single pages alternate. With
    /// three and four bits a cell: the first and last three or four pages are of the fastest class, between them the classes take
    /// turns page by page (ours, by analogy).
    Alpha,
    /// The beta set of jung13, section 2.7.2: the first and last lambda pages are LSB, between them pairs of pages alternate. With
    /// three and four bits a cell the classes take turns pair by pair (ours, by analogy).
    Beta,
}

/// Timing of the NAND packages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NandConfig {
    /// Data interface of the packages, by its ONFI name.
    pub interface: Interface,
    /// Transfers per microsecond on the data bus (bytes, if it has 8 bits); one of the interface's timing modes.
    pub rate_mt_s: u32,
    /// Data lines of the bus: 8, or with `sdr` also 16 or 32. A wider bus moves more bytes in a data cycle; commands, addresses and
    /// waits take as long (dirik09, section 3).
    pub bus_bits: u32,
    /// Length of all cycles of an `sdr` bus, in nanoseconds, where it is not that of a timing mode: 40 for 25 MHz. Absent: as in the
    /// mode `rate_mt_s`, whose waits (such as tADL and tWB) hold in either case.
    pub cycle_ns: Option<f64>,
    /// tR: array read, in microseconds; one value, or one per page class.
    pub read_us: ByClass,
    /// tPROG: page program, in microseconds; one value, or one per page class.
    pub program_us: ByClass,
    /// tR of a page in SLC mode (pSLC: one bit a cell, where the other blocks have more), in microseconds. Absent: as `read_us` of the
    /// first page of a block; needed for `slc.policy`.
    pub slc_read_us: Option<f64>,
    /// tPROG of a page in SLC mode, in microseconds. Absent: as `program_us` of the first page of a block; needed for `slc.policy`.
    pub slc_program_us: Option<f64>,
    /// tBERS: block erase, in microseconds.
    pub erase_us: f64,
    /// tDBSY: busy time between the planes of a multi-plane command, in microseconds.
    pub dummy_busy_us: f64,
    /// tRCBSY: minimum busy time of a cache read, for the transfer of a page to the cache register, in microseconds.
    pub cache_read_busy_us: f64,
    /// tCBSY: minimum busy time of a cache program, for the transfer of a page to the data register, in microseconds.
    pub cache_program_busy_us: f64,
    /// Time to suspend a program or erase after the suspend command, in microseconds. ONFI has no such command.
    pub suspend_us: f64,
    /// Time to resume a suspended program or erase, in microseconds.
    pub resume_us: f64,
    /// Assignment of the pages of a block to page classes.
    pub page_order: PageOrder,
    /// Distance lambda of the alpha and beta page sets, a multiple of the number of page classes. Absent: the number of
    /// classes (alpha) or twice that (beta), which is 2 and 4 for MLC as in jung13, section 2.7.2.
    pub page_lambda: Option<u32>,
    /// Latency of a page within its class.
    pub latency_model: LatencyModel,
    /// tR of the typical latency model, in microseconds. Absent: the mean over the pages of a block.
    pub typical_read_us: Option<f64>,
    /// tPROG of the typical latency model, in microseconds. Absent: the mean over the pages of a block.
    pub typical_program_us: Option<f64>,
    /// Spread of tPROG within a page class, in percent: each page of the package has its own fixed factor, uniformly
    /// distributed over plus or minus this range.
    pub spread_percent: f64,
    /// A program that has not data for the whole page loads the rest, too. If false, it loads its data alone, as ONFI allows: what is
    /// not loaded is as erased.
    pub load_whole_pages: bool,
    /// Address cycles of a page address (column and row).
    pub page_address_cycles: u32,
    /// Address cycles of a block address (row only).
    pub block_address_cycles: u32,
    /// Wear, bit errors, ECC and bad blocks.
    pub reliability: ReliabilityConfig,
    /// Supplies and currents.
    pub energy: EnergyConfig,
}

impl Default for NandConfig {
    fn default() -> Self {
        Self {
            interface: Interface::NvDdr3,
            rate_mt_s: 800,
            bus_bits: 8,
            cycle_ns: None,
            read_us: ByClass::One(50.0),
            program_us: ByClass::One(500.0),
            slc_read_us: None,
            slc_program_us: None,
            erase_us: 3_000.0,
            dummy_busy_us: 0.5,
            cache_read_busy_us: 3.0,
            cache_program_busy_us: 3.0,
            suspend_us: 30.0,
            resume_us: 5.0,
            page_order: PageOrder::Cyclic,
            page_lambda: None,
            latency_model: LatencyModel::Variation,
            typical_read_us: None,
            typical_program_us: None,
            spread_percent: 0.0,
            load_whole_pages: true,
            page_address_cycles: 5,
            block_address_cycles: 3,
            reliability: ReliabilityConfig::default(),
            energy: EnergyConfig::default(),
        }
    }
}
