//! A drive file: all sections, their checks, and the derived figures.

use crate::policy::buffer::{BufferConfig, BufferPolicy};
use crate::policy::link::{LinkConfig, LinkCosts, LinkPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::event::MAX_INDEX;
use wordline_base::Time;
use wordline_firmware::policy::carry::Carrier;
use wordline_firmware::policy::keep::Keeper;
use wordline_firmware::policy::{Build, Guests};
use wordline_firmware::{ConfigError, FirmwareConfig, Plan, ZonePlan};
use wordline_flash::{
    EnergyConfig, Geometry, GeometryConfig, NandConfig, Reliability, ReliabilityConfig, Segment, Timing,
};

/// A drive, as a file describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriveConfig {
    /// Short name of the drive.
    pub name: String,
    /// Description of the drive, in one line.
    pub title: String,
    /// Source of its figures.
    pub source: String,
    /// Shape of the flash.
    pub geometry: GeometryConfig,
    /// Timing of the NAND packages.
    pub nand: NandConfig,
    /// The firmware's sections.
    #[serde(flatten)]
    pub firmware: FirmwareConfig,
    /// Host interface.
    pub link: LinkConfig,
    /// Queues between host and drive.
    pub queue: QueueConfig,
    /// Write buffer.
    pub buffer: BufferConfig,
    /// Preconditioning of the drive before a run.
    pub precondition: PreconditionConfig,
    /// Checks that cost memory and time.
    pub verify: VerifyConfig,
}

/// Queues between host and drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QueueConfig {
    /// Number of queues; jobs and trace streams are assigned to queues round-robin. SATA has one.
    pub queues: u32,
    /// Depth of each queue, in commands. Absent: 32 for SATA, 1024 for NVMe; a policy in Python says its own.
    pub depth: Option<u32>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self { queues: 1, depth: None }
    }
}

/// Preconditioning of a new drive before a run, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreconditionConfig {
    /// Write the whole capacity once, in order.
    pub fill: bool,
    /// Then random writes of this many times the capacity (SNIA PTS: 2), in whole logical pages (mapping units).
    pub overwrites: f64,
    /// Then continue in rounds of a quarter of the capacity until write amplification (timed: throughput) is in steady
    /// state by SNIA PTS: over five rounds, its range is at most 20 % of the mean and the best linear fit changes by at
    /// most 10 % of it. At most 100 rounds.
    pub steady_state: bool,
    /// At last, each block with data gets a random number of earlier page reads below this one: reads of the past, which
    /// count for read disturb and read scrubbing. 0: none.
    pub block_reads: u32,
    /// Preconditioning takes simulated time. Without it, preconditioning is faster and leaves the same state if no
    /// policy depends on time.
    pub timed: bool,
}

/// Checks that cost memory and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyConfig {
    /// Keep a shadow disk: every read and every moved page is compared with the expected data, and all counters are
    /// recounted at the end of the run. Costs 12 bytes per mapping unit and some time.
    pub shadow: bool,
}

/// Parts of a drive, fixed once a configuration has been checked.
#[derive(Clone, Debug)]
pub struct Parts {
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) reliability: ReliabilityConfig,
    pub(crate) energy: EnergyConfig,
    pub(crate) plan: Plan,
    pub(crate) link: LinkCosts,
    pub(crate) queues: u32,
    pub(crate) depth: u32,
    pub(crate) buffer_units: u32,
}

impl Parts {
    /// The plan of the firmware.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl DriveConfig {
    /// Looks up the external policies that the sections name.
    pub(crate) fn seat(&mut self, guests: &Guests) {
        self.firmware.seat(guests);
        let own = [("link", self.link.guest_mut()), ("buffer", self.buffer.guest_mut())];
        own.into_iter().for_each(|(family, section)| section.into_iter().for_each(|it| it.seat(family, guests)));
    }

    /// True if an external policy is named.
    #[must_use]
    pub fn has_guests(&self) -> bool {
        let own = matches!(self.link, LinkConfig::Guest(_)) || matches!(self.buffer, BufferConfig::Guest(_));
        own || self.firmware.has_guests()
    }

    /// The external policy that chooses what the write buffer keeps, if there is one.
    pub(crate) fn keeper(&self, geometry: &Geometry, plan: &Plan, seed: u64) -> Result<Option<Keeper>, ConfigError> {
        if !matches!(self.buffer, BufferConfig::Guest(_)) {
            return Ok(None);
        }
        Ok(match self.buffer.build(&self.build(geometry, plan, seed))? {
            BufferPolicy::Guest(guest) => guest.into_keeper(),
            _ => None,
        })
    }

    /// The external policy that says how long transfers of the host interface take, if there is one.
    pub(crate) fn carrier(&self, geometry: &Geometry, plan: &Plan, seed: u64) -> Result<Option<Carrier>, ConfigError> {
        if !matches!(self.link, LinkConfig::Guest(_)) {
            return Ok(None);
        }
        Ok(match self.link.build(&self.build(geometry, plan, seed))? {
            LinkPolicy::Guest(guest) => guest.into_carrier(),
            _ => None,
        })
    }

    /// Checks that the cells can take programs of several pages.
    fn check_programs(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let pages = geometry.pages_per_program;
        let wrong = |key: &str, value: String, problem: &str| {
            let problem = format!("does not go with geometry.pages_per_program = {pages}: {problem}");
            Err(ConfigError::new(key, value, problem))
        };
        let times = self.nand.program_us.values();
        if pages > 1 && times.len() > 1 {
            return wrong("nand.program_us", format!("{times:?}"), "give one value, the time of all these pages");
        }
        let again = self.nand.reliability.nop;
        if pages > 1 && again > 1 {
            return wrong("nand.reliability.nop", again.to_string(), "such pages are programmed once; use 1");
        }
        Ok(())
    }

    /// Checks that the times of blocks in SLC mode are given where there are any.
    fn check_slc(&self, plan: &Plan) -> Result<(), ConfigError> {
        let times = [("nand.slc_read_us", self.nand.slc_read_us), ("nand.slc_program_us", self.nand.slc_program_us)];
        let missing = times.iter().find(|(_, time)| time.is_none());
        let Some((key, _)) = missing.filter(|_| plan.slc.is_some()) else { return Ok(()) };
        let problem = format!("needs {key}, the time of a page in SLC mode");
        Err(ConfigError::new("slc.policy", self.firmware.slc.name(), problem))
    }

    /// Checks that a drive can be built, and derives its parts.
    ///
    /// # Errors
    /// Names the first key that cannot be used, its value, and what would be right.
    pub fn parts(&self) -> Result<Parts, ConfigError> {
        let geometry = Geometry::new(&self.geometry)
            .map_err(|e| ConfigError::new(format!("geometry.{}", e.key), e.value, e.problem))?;
        let timing = Timing::new(&self.nand, geometry.pages_per_block)
            .map_err(|e| ConfigError::new(format!("nand.{}", e.key), e.value, e.problem))?;
        self.check_programs(&geometry)?;
        Reliability::new(&self.nand.reliability, &geometry.package(), geometry.pages_per_block, 0, 0)
            .map_err(|e| ConfigError::new(format!("nand.reliability.{}", e.key), e.value, e.problem))?;
        self.nand.energy.check().map_err(|e| ConfigError::new(format!("nand.energy.{}", e.key), e.value, e.problem))?;
        let reliability = self.nand.reliability.of_gang(geometry.gang);
        let energy = self.nand.energy.of_gang(geometry.gang);
        Reliability::new(&reliability, &geometry.package(), geometry.pages_per_block, 0, 0).map_err(|error| {
            let problem = format!("makes nand.reliability.{} = {}, which {}", error.key, error.value, error.problem);
            ConfigError::new("geometry.gang", geometry.gang, problem)
        })?;
        let plan = self.firmware.plan(&geometry)?;
        self.check_slc(&plan)?;
        let build = self.build(&geometry, &plan, 0);
        let link = self.link.build(&build)?.costs();
        let buffer_units = self.buffer.build(&build)?.units(plan.unit_bytes);
        if plan.places_requests && buffer_units > 0 {
            let problem =
                "does not go with a write buffer, whose writes belong to no request; use buffer.policy = \"none\"";
            return Err(ConfigError::new("placement.policy", self.firmware.placement.name(), problem));
        }
        if (plan.has_transactions || plan.has_banks) && buffer_units > 0 {
            let problem = "does not go with a write buffer, whose writes wait in flash queues for company; use buffer.policy = \"none\"";
            return Err(ConfigError::new("dispatch.policy", self.firmware.dispatch.name(), problem));
        }
        let (queues, depth) = self.queues(&link)?;
        self.precondition.check()?;
        self.check_names()?;
        Ok(Parts { geometry, timing, reliability, energy, plan, link, queues, depth, buffer_units })
    }

    pub(crate) fn build<'a>(&self, geometry: &'a Geometry, plan: &Plan, seed: u64) -> Build<'a> {
        Build {
            geometry,
            units_per_program: plan.units_per_program,
            plane_local: plan.domains > 1,
            domains: plan.domains,
            blocks_together: plan.stripe.map_or(1, |stripe| stripe.blocks()),
            tasks: plan.tasks,
            seed,
        }
    }

    fn queues(&self, link: &LinkCosts) -> Result<(u32, u32), ConfigError> {
        let (queues, depth) = (self.queue.queues, self.queue.depth.unwrap_or(link.usual_depth));
        let name = self.link.name();
        if queues == 0 || queues > link.most_queues {
            let problem = format!("{name} has 1 to {} queues", link.most_queues);
            return Err(ConfigError::new("queue.queues", queues, problem));
        }
        if depth == 0 || depth > link.most_depth {
            let problem = format!("a queue of {name} holds 1 to {} commands", link.most_depth);
            return Err(ConfigError::new("queue.depth", depth, problem));
        }
        if u64::from(queues) * u64::from(depth) > u64::from(MAX_INDEX) {
            let problem = format!("queues x depth must be at most {MAX_INDEX}");
            return Err(ConfigError::new("queue.queues", queues, problem));
        }
        Ok((queues, depth))
    }

    /// Names go to terminals and into reports.
    fn check_names(&self) -> Result<(), ConfigError> {
        for (key, text) in [("name", &self.name), ("title", &self.title), ("source", &self.source)] {
            if text.chars().any(char::is_control) {
                let problem = "holds a control character, which no terminal and no report can show; leave it out";
                return Err(ConfigError::new(key, format!("{text:?}"), problem));
            }
        }
        Ok(())
    }
}

impl PreconditionConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(0.0..=1_000.0).contains(&self.overwrites) {
            let value = if self.overwrites.abs() < 1e15 {
                self.overwrites.to_string()
            } else {
                format!("{:e}", self.overwrites)
            };
            return Err(ConfigError::new("precondition.overwrites", value, "must lie between 0 and 1000"));
        }
        if self.block_reads > 0 && !self.writes() {
            let problem = "has no effect on an empty drive: set precondition.fill, overwrites or steady_state as well";
            return Err(ConfigError::new("precondition.block_reads", self.block_reads, problem));
        }
        Ok(())
    }

    /// True if anything is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.fill || self.overwrites > 0.0 || self.steady_state
    }
}

/// Figures derived from a configuration, for `wordline check` and results.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Derived {
    /// Number of channels.
    pub channels: u32,
    /// Total packages, those of gangs each for itself.
    pub packages: u32,
    /// Total dies.
    pub dies: u32,
    /// Total planes.
    pub planes: u32,
    /// Total blocks.
    pub blocks: u32,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Size of a logical page (mapping unit) in bytes.
    pub unit_bytes: u32,
    /// Raw capacity: bytes of all pages.
    pub raw_bytes: u64,
    /// Bytes that the host sees.
    pub logical_bytes: u64,
    /// Raw minus logical capacity.
    pub spare_bytes: u64,
    /// Of that, taken by parity of logical pages; 0 without such parity.
    pub parity_bytes: u64,
    /// Raw / logical capacity, after rounding to whole mapping units.
    pub raw_over_logical: f64,
    /// GC domains: 1 for the drive, else one per plane.
    pub collection_domains: u32,
    /// Blocks of a domain beyond its logical capacity.
    pub spare_blocks_per_domain: u32,
    /// Free blocks of a domain reserved for GC.
    pub reserve_blocks: u32,
    /// Free blocks of a domain below which GC starts.
    pub start_blocks: u32,
    /// Free blocks of a domain at which GC stops.
    pub stop_blocks: u32,
    /// Log blocks of a domain at most; 0 if the mapping has none.
    pub log_blocks_per_domain: u32,
    /// Bytes of the mapping table that the drive keeps in memory, with entries of four bytes.
    pub table_bytes: u64,
    /// Map zones, of a drive that is cut into some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub map_zones: Option<ZonePlan>,
    /// Total depth of all queues, in commands.
    pub queue_slots: u32,
    /// Size of the write buffer in bytes.
    pub buffer_bytes: u64,
    /// Data that the SLC cache of an empty drive holds, in bytes; 0 without a cache.
    pub slc_bytes: u64,
    /// The same when all of the capacity holds data.
    pub slc_bytes_when_full: u64,
    /// Peak rates in MiB per second.
    pub peak_mib_s: Peaks,
    /// Memory of the drive's state in bytes.
    pub state_bytes: u64,
    /// The same per mapping unit that the host sees.
    pub state_bytes_per_unit: f64,
}

/// Peak rates of the parts of a drive, each on its own, in MiB per second.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Peaks {
    /// Host interface, data to the drive.
    pub link_in: f64,
    /// Host interface, data to the host.
    pub link_out: f64,
    /// All channels, data out.
    pub channels_read: f64,
    /// All channels, data in.
    pub channels_write: f64,
    /// All dies, all planes reading.
    pub dies_read: f64,
    /// All dies, all planes programming.
    pub dies_program: f64,
}

impl Parts {
    /// The derived figures.
    #[must_use]
    pub fn derived(&self) -> Derived {
        let Parts { geometry, timing, plan, link, .. } = self;
        const MIB: f64 = 1_048_576.0;
        let page = geometry.page_bytes;
        let channels = f64::from(geometry.channels);
        let rate = |bytes: f64, time: Time| bytes / (time as f64 / 1e12) / MIB;
        let planes = f64::from(geometry.planes());
        let units = u64::from(plan.raw_units);
        let state = 4 * u64::from(plan.units()) + 4 * units + units / 8 + u64::from(geometry.blocks()) * (36 + 12 + 16);
        Derived {
            channels: geometry.channels,
            packages: geometry.channels * geometry.packages * geometry.gang,
            dies: geometry.dies(),
            planes: geometry.planes(),
            blocks: geometry.blocks(),
            page_bytes: page,
            unit_bytes: plan.unit_bytes,
            raw_bytes: geometry.raw_bytes(),
            logical_bytes: plan.logical_bytes(),
            spare_bytes: geometry.raw_bytes() - plan.logical_bytes(),
            parity_bytes: u64::from(plan.parity_units) * u64::from(plan.unit_bytes),
            raw_over_logical: geometry.raw_bytes() as f64 / plan.logical_bytes() as f64,
            collection_domains: plan.domains,
            spare_blocks_per_domain: plan.spare_blocks,
            reserve_blocks: plan.reserve_blocks,
            start_blocks: plan.start_blocks,
            stop_blocks: plan.stop_blocks,
            log_blocks_per_domain: plan.log_blocks(),
            table_bytes: plan.table_bytes,
            map_zones: plan.zones,
            queue_slots: self.queues * self.depth,
            buffer_bytes: u64::from(self.buffer_units) * u64::from(plan.unit_bytes),
            slc_bytes: self.slc_bytes(plan.blocks_per_domain),
            slc_bytes_when_full: self.slc_bytes(plan.spare_blocks + plan.slc_set_aside()),
            peak_mib_s: Peaks {
                link_in: link.data_in.bandwidth() / MIB,
                link_out: link.data_out.bandwidth() / MIB,
                channels_read: channels
                    * rate(f64::from(page), timing.on_bus(Segment::Read, 0) + timing.on_bus(Segment::ReadOut, page)),
                channels_write: channels * rate(f64::from(page), timing.on_bus(Segment::Program, page)),
                dies_read: planes * f64::from(page) / (timing.mean_t_r() / 1e12) / MIB,
                dies_program: planes * f64::from(geometry.program_bytes()) / (timing.mean_t_prog() / 1e12) / MIB,
            },
            state_bytes: state,
            state_bytes_per_unit: state as f64 / f64::from(plan.logical_units),
        }
    }

    /// Data that the SLC cache can hold if so many blocks of each domain are free.
    fn slc_bytes(&self, free: u32) -> u64 {
        let Some(slc) = self.plan.slc else { return 0 };
        let together = self.plan.stripe.map_or(1, |stripe| stripe.blocks());
        let blocks = slc.most.min(free.saturating_sub(slc.spare));
        let blocks = (blocks - blocks % together) * self.plan.domains;
        u64::from(blocks) * u64::from(slc.programs) * u64::from(self.geometry.page_bytes)
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.plan.logical_bytes()
    }
}
