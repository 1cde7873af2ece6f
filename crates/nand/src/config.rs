//! The `[nand]` section of a drive file.

use crate::interface::Interface;
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

/// Which page offsets of a block belong to which page class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// Page n is of class n modulo the number of classes.
    #[default]
    Cyclic,
    /// The alpha set of jung13, section 2.7.2: the first and last two pages are LSB, then single pages alternate with distance
    /// lambda - 1.
    Alpha,
    /// The beta set of jung13, section 2.7.2: the first and last lambda pages are LSB, then pairs of pages alternate.
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
    /// Which pages of a block are of which class.
    pub page_order: PageOrder,
    /// Address cycles of a page address (column and row).
    pub page_address_cycles: u32,
    /// Address cycles of a block address (row only).
    pub block_address_cycles: u32,
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
            page_order: PageOrder::Cyclic,
            page_address_cycles: 5,
            block_address_cycles: 3,
        }
    }
}
