//! A test configuration with every kind of key.
#![allow(missing_docs)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wordline_settings::{load_text, Loaded, SettingsError};

/// A drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Name of the drive.
    #[serde(default = "unnamed")]
    pub name: String,
    /// Geometry of the drive.
    #[serde(default)]
    pub geometry: Geometry,
    /// The package.
    pub nand: Option<Nand>,
    /// Which block to collect.
    #[serde(default)]
    pub victim: Victim,
    /// The load.
    #[serde(default)]
    pub job: Vec<Job>,
    /// Named parts of the drive.
    #[serde(default)]
    pub namespace: BTreeMap<String, Namespace>,
    /// When to start.
    #[serde(default)]
    pub start: Start,
    /// How data are linked.
    pub link: Option<Link>,
    /// Free notes.
    #[serde(default)]
    pub notes: serde_json::Value,
}

fn unnamed() -> String {
    "unnamed".to_string()
}

/// Channels and dies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Geometry {
    /// Number of channels.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Dies on a channel.
    pub dies: u8,
    /// Spare share of
    /// the capacity.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub spare: f64,
    /// Order of the address parts.
    pub order: [u8; 4],
    /// True if planes pair.
    pub paired: bool,
    /// Random seed.
    pub seed: u64,
}

impl Default for Geometry {
    fn default() -> Self {
        Geometry { channels: 8, dies: 4, spare: 0.07, order: [0, 1, 2, 3], paired: false, seed: 1 }
    }
}

/// Timings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nand {
    /// Time of a page read.
    pub read_us: f64,
    /// Rate of the bus.
    #[serde(default = "rate")]
    pub rate_mt_s: u16,
    /// Cells.
    #[serde(default)]
    pub cell: Cell,
}

fn rate() -> u16 {
    400
}

/// Bits in a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// One bit.
    Slc,
    /// Two bits.
    #[default]
    Mlc,
    Tlc,
}

/// Which block to collect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Victim {
    /// The block with the fewest valid units.
    #[default]
    Greedy,
    /// The best of some random blocks.
    BestOf {
        /// How many blocks to look at.
        #[serde(default = "four")]
        d: u32,
    },
    /// Weighs age against cost.
    CostBenefit(CostBenefit),
}

fn four() -> u32 {
    4
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostBenefit {
    /// Age that counts as old.
    pub age_ms: f64,
    /// Blocks to look at.
    pub window: Option<u32>,
}

/// One stream of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What it does.
    pub rw: Rw,
    /// Requests in flight.
    #[serde(default = "one")]
    pub depth: Depth,
}

fn one() -> Depth {
    Depth(1)
}

/// Rejects values that the schema allows, like a section's own check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
pub struct Depth(u32);

impl TryFrom<u32> for Depth {
    type Error = String;
    fn try_from(depth: u32) -> Result<Self, String> {
        if depth.is_power_of_two() {
            Ok(Depth(depth))
        } else {
            Err("the depth must be a power of two".to_string())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    Read,
    Write,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    pub size_gib: i32,
}

/// At once, after a time, or on a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Start {
    AfterS(u32),
    When { queue: u8 },
    Steps(Vec<u32>),
}

impl Default for Start {
    fn default() -> Self {
        Start::AfterS(0)
    }
}

/// Tagged outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    Ideal,
    Sata { gb_s: u8 },
    Pcie { lanes: u8 },
}

pub const PRESETS: &[(&str, &str)] = &[
    ("enterprise", "name = \"enterprise\"\n[geometry]\nchannels = 16\n[victim]\npolicy = \"best_of\"\nd = 10\n"),
    ("consumer", "extends = \"enterprise\"\n[geometry]\nchannels = 4\n"),
    ("loop_a", "extends = \"loop_b\"\n"),
    ("loop_b", "\nextends = \"loop_a\"\n"),
    ("jobs", "[[job]]\nrw = \"read\"\ndepth = 2\n[[job]]\nrw = \"write\"\n"),
    ("waiting", "[start]\nqueue = 3\n[link.sata]\ngb_s = 6\n"),
    ("halfway", "[victim]\nage_ms = 5\n"),
];

pub fn preset(name: &str) -> Option<(String, String)> {
    PRESETS.iter().find(|(n, _)| *n == name).map(|(n, text)| (format!("preset:{n}"), text.to_string()))
}

pub fn names() -> Vec<String> {
    PRESETS.iter().map(|(n, _)| n.to_string()).collect()
}

pub fn try_load(text: &str, sets: &[&str]) -> Result<Loaded<Drive>, SettingsError> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    load_text("my.toml", text, None, &sets, &preset, &names())
}

pub fn load(text: &str, sets: &[&str]) -> Loaded<Drive> {
    try_load(text, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// The message for a text that must not load.
pub fn message(text: &str, sets: &[&str]) -> String {
    match try_load(text, sets) {
        Ok(loaded) => panic!("loaded {:?}", loaded.value),
        Err(error) => error.to_string(),
    }
}
