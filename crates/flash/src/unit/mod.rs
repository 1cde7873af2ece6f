//! A single package and a host: the logical unit of jung13 (sections 2.6 and 2.8.8).
//!
//! Requests become page transactions, a scheduler distributes them over dies and planes, and each die forms commands
//! from its waiting transactions. There is no firmware: pages are written in order and never moved.

mod drawing;
mod host;
mod outcome;
mod plant;
mod script;

pub use drawing::Drawing;
pub use outcome::{Latencies, Outcome, StageTimes};

use crate::geometry::{Geometry, GeometryConfig, GeometryError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_nand::bus::Turns;
use wordline_nand::energy::EnergyError;
use wordline_nand::reliability::ReliabilityError;
use wordline_nand::timing::TimingError;
use wordline_nand::{NandConfig, Violation, MAX_PLANES};

/// Geometry of the package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PackageConfig {
    /// Dies in the package, on one I/O bus.
    pub dies: u32,
    /// Planes in each die, 1 to 8.
    pub planes: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes in each page, a power of two of at least 1,024.
    pub page_bytes: u32,
}

impl Default for PackageConfig {
    fn default() -> Self {
        Self { dies: 1, planes: 2, blocks_per_plane: 4096, pages_per_block: 128, page_bytes: 2048 }
    }
}

/// Distribution of arriving pages over dies and planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Striped over the dies first; a die starts with the pages it has.
    #[default]
    DieFirst,
    /// Collected into multi-plane commands, then striped over the dies (jung13, section 2.8.8).
    PlaneFirst,
}

/// Addresses of written pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addressing {
    /// In order of arrival, over all dies and planes.
    #[default]
    Log,
    /// The logical address determines die and plane; the data go to the next page of that plane.
    Static,
}

/// The host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostConfig {
    /// Planes per command: 1, or a divisor of the planes of a die.
    pub planes_per_command: u32,
    /// Cache mode, if another command of the kind waits.
    pub cache: bool,
    /// Distribution of pages over dies and planes.
    pub scheduler: Scheduler,
    /// Addresses of written pages.
    pub addressing: Addressing,
    /// Arbitration of the bus between the dies.
    pub bus: Turns,
    /// Outstanding requests of the host.
    pub queue_depth: u32,
    /// Time between the arrivals of two requests, in microseconds; 0 for a new request at each completion.
    pub arrival_us: f64,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            planes_per_command: 1,
            cache: false,
            scheduler: Scheduler::DieFirst,
            addressing: Addressing::Log,
            bus: Turns::CommandsFirst,
            queue_depth: 32,
            arrival_us: 0.0,
        }
    }
}

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// Method of block migration (jung13, section 2.8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Migration {
    /// Page by page: read, then program.
    #[serde(rename = "legacy")]
    Legacy,
    /// Runs of pages in cache mode.
    #[serde(rename = "cache")]
    Cache,
    /// Internal data move.
    #[serde(rename = "internal")]
    Internal,
    /// Multi-plane reads and programs.
    #[serde(rename = "2x")]
    Multi,
    /// Both.
    #[serde(rename = "2x-cache")]
    MultiCache,
    /// Multi-plane internal data move.
    #[serde(rename = "2x-internal")]
    MultiInternal,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Load {
    /// Consecutive requests of one kind and size: `swr` and `srd` of jung13.
    Stream {
        /// Reads or writes.
        op: Direction,
        /// Bytes of each request.
        request_bytes: u32,
        /// Number of requests.
        requests: u64,
    },
    /// Reads and writes at random pages, with sizes uniform between half and one and a half of their means.
    Mix {
        /// Writes, in per cent of the requests.
        write_percent: f64,
        /// Mean size of a write.
        write_bytes: u32,
        /// Mean size of a read.
        read_bytes: u32,
        /// Number of requests.
        requests: u64,
        /// Footprint in pages, filled before the start.
        footprint_pages: u32,
    },
    /// Block migration: destinations are erased, pages copied, sources erased.
    Migrate {
        /// Method.
        mode: Migration,
        /// Number of blocks.
        blocks: u32,
    },
}

/// A package, a host and a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The package.
    #[serde(default)]
    pub package: PackageConfig,
    /// Its timing, as in the `[nand]` section of a drive file.
    #[serde(default)]
    pub nand: NandConfig,
    /// The host.
    #[serde(default)]
    pub host: HostConfig,
    /// The workload.
    pub load: Load,
    /// Seed of sizes and addresses.
    #[serde(default)]
    pub seed: u64,
    /// True if the result lists every stage of every die.
    #[serde(default)]
    pub stage_log: bool,
    /// True if the result lists the latency of every request.
    #[serde(default)]
    pub latencies: bool,
}

/// Why an experiment cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnitError {
    /// The geometry is invalid.
    #[error("package.{0}")]
    Geometry(#[from] GeometryError),
    /// The timing is invalid.
    #[error("nand.{0}")]
    Timing(#[from] TimingError),
    /// The reliability section is invalid.
    #[error("nand.reliability.{0}")]
    Reliability(#[from] ReliabilityError),
    /// The currents are invalid.
    #[error("nand.energy.{0}")]
    Energy(#[from] EnergyError),
    /// A value is invalid.
    #[error("{key} = {value}: {problem}")]
    Value {
        /// Dotted key.
        key: &'static str,
        /// The value given.
        value: String,
        /// The problem, and the valid values.
        problem: String,
    },
    /// The host broke a rule of the array: a defect of the model.
    #[error("illegal command: {0}")]
    Illegal(#[from] Violation),
    /// The caller stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl UnitError {
    fn value(key: &'static str, value: impl ToString, problem: impl Into<String>) -> Self {
        Self::Value { key, value: value.to_string(), problem: problem.into() }
    }
}

impl Experiment {
    fn geometry(&self) -> Result<Geometry, UnitError> {
        let package = &self.package;
        if !package.page_bytes.is_power_of_two() || package.page_bytes < 1024 {
            let problem = "must be a power of two of at least 1,024";
            return Err(UnitError::value("package.page_bytes", package.page_bytes, problem));
        }
        let geometry = Geometry::new(&GeometryConfig {
            channels: 1,
            packages_per_channel: 1,
            gang: 1,
            dies_per_package: package.dies,
            planes_per_die: package.planes,
            blocks_per_plane: package.blocks_per_plane,
            pages_per_block: package.pages_per_block,
            page_kib: package.page_bytes / 1024,
            pages_per_program: 1,
            slc_pages_per_block: None,
        });
        // The error names the keys of a drive.
        geometry.map_err(|error| {
            let key = match error.key {
                "dies_per_package" | "channels" => "dies",
                "planes_per_die" => "planes",
                "page_kib" => "page_bytes",
                key => key,
            };
            GeometryError { key, ..error }.into()
        })
    }

    fn check(&self) -> Result<(), UnitError> {
        self.nand.energy.check()?;
        let (planes, most) = (self.host.planes_per_command, MAX_PLANES as u32);
        if planes == 0 || planes > most || !self.package.planes.is_multiple_of(planes) {
            let problem = format!("must divide the planes of a die, which are {}", self.package.planes);
            return Err(UnitError::value("host.planes_per_command", planes, problem));
        }
        if !(1..=1 << 20).contains(&self.host.queue_depth) {
            return Err(UnitError::value(
                "host.queue_depth",
                self.host.queue_depth,
                "must lie between 1 and 1,048,576",
            ));
        }
        if !(0.0..=1e9).contains(&self.host.arrival_us) {
            return Err(UnitError::value("host.arrival_us", self.host.arrival_us, "must lie between 0 and 1e9"));
        }
        let most_bytes = 1 << 26;
        let sizes: &[(&'static str, u32)] = match &self.load {
            Load::Stream { request_bytes, .. } => &[("load.request_bytes", *request_bytes)],
            Load::Mix { write_bytes, read_bytes, .. } => {
                &[("load.write_bytes", *write_bytes), ("load.read_bytes", *read_bytes)]
            }
            Load::Migrate { .. } => &[],
        };
        if let Some((key, value)) = sizes.iter().find(|(_, bytes)| !(1..=most_bytes).contains(bytes)) {
            return Err(UnitError::value(key, value, "must lie between 1 byte and 64 MiB"));
        }
        if let Load::Mix { write_percent, footprint_pages, .. } = self.load {
            if !(0.0..=100.0).contains(&write_percent) {
                return Err(UnitError::value("load.write_percent", write_percent, "must lie between 0 and 100"));
            }
            if footprint_pages == 0 {
                return Err(UnitError::value("load.footprint_pages", 0, "must be at least 1"));
            }
        }
        Ok(())
    }
}

/// Runs an experiment. `progress` gets the completed fraction at intervals and stops the run by returning false.
///
/// # Errors
/// Names the invalid key; or the workload needs more pages than the package has.
pub fn run(experiment: &Experiment, progress: impl FnMut(f64) -> bool) -> Result<Outcome, UnitError> {
    run_drawn(experiment, None, progress)
}

/// As [`run`], and draws a timeline; afterwards the drawing has its summary, even if the experiment failed.
///
/// # Errors
/// As [`run`].
pub fn run_drawn(
    experiment: &Experiment,
    drawing: Option<&mut Drawing>,
    mut progress: impl FnMut(f64) -> bool,
) -> Result<Outcome, UnitError> {
    experiment.check()?;
    match experiment.load {
        Load::Migrate { mode, blocks } => script::migrate(experiment, mode, blocks, drawing, &mut progress),
        _ => host::serve(experiment, drawing, &mut progress),
    }
}
