//! The `[nand]` section of a drive file.

use crate::energy::EnergyConfig;
use crate::interface::Interface;
use crate::reliability::ReliabilityConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time for every page, or one for each page class (SLC: one; MLC: LSB, MSB; TLC: lower, middle, upper; QLC: four).
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

/// Which of the times of its class a page takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyModel {
    /// Each page the time of its class: jung13's variation-aware model (section 2.7.2).
    #[default]
    Variation,
    /// Every page the typical time, as in models of one constant (jung13, section 2.8.1).
    Typical,
    /// Every page the time of the slowest class.
    Worst,
}

/// Which page offsets of a block belong to which page class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// Page n is of class n modulo the number of classes.
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
    /// Transfers a microsecond on the data bus (bytes, the bus has 8 bits); one of the interface's timing modes.
    pub rate_mt_s: u32,
    /// tR: cells to register, in microseconds; one value or one a page class.
    pub read_us: ByClass,
    /// tPROG: register to cells, in microseconds; one value or one a page class.
    pub program_us: ByClass,
    /// tBERS: erase of a block, in microseconds.
    pub erase_us: f64,
    /// tDBSY: busy time between the planes of a multi-plane command, in microseconds.
    pub dummy_busy_us: f64,
    /// tRCBSY: the least busy time of a cache read, in which a page moves to the cache register, in microseconds.
    pub cache_read_busy_us: f64,
    /// tCBSY: the least busy time of a cache program, in which a page moves to the data register, in microseconds.
    pub cache_program_busy_us: f64,
    /// Time in which a program or an erase comes to rest after a suspend command, in microseconds. ONFI has no such command.
    pub suspend_us: f64,
    /// Time that the array needs to take up a suspended program or erase again, in microseconds.
    pub resume_us: f64,
    /// Which pages of a block are of which class.
    pub page_order: PageOrder,
    /// Distance lambda of the alpha and beta page sets, a multiple of the number of page classes. Without it: as many pages as there
    /// are classes (alpha), twice as many (beta), which is 2 and 4 for MLC as in jung13, section 2.7.2.
    pub page_lambda: Option<u32>,
    /// Which time of its class a page takes.
    pub latency_model: LatencyModel,
    /// tR of the typical latency model, in microseconds. Without it: the mean over the pages of a block.
    pub typical_read_us: Option<f64>,
    /// tPROG of the typical latency model, in microseconds. Without it: the mean over the pages of a block.
    pub typical_program_us: Option<f64>,
    /// Spread of tPROG within a page class, in percent of it: each page of the package has its own factor, even over this
    /// range above and below, the same at every program.
    pub spread_percent: f64,
    /// Address cycles of a page address (column and row).
    pub page_address_cycles: u32,
    /// Address cycles of a block address (row only).
    pub block_address_cycles: u32,
    /// Wear, bit errors, their correction and bad blocks.
    pub reliability: ReliabilityConfig,
    /// Supplies and currents.
    pub energy: EnergyConfig,
}

impl Default for NandConfig {
    fn default() -> Self {
        Self {
            interface: Interface::NvDdr3,
            rate_mt_s: 800,
            read_us: ByClass::One(50.0),
            program_us: ByClass::One(500.0),
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
            page_address_cycles: 5,
            block_address_cycles: 3,
            reliability: ReliabilityConfig::default(),
            energy: EnergyConfig::default(),
        }
    }
}
