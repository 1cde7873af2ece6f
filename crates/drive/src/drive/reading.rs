//! State of the flash in a result, taken when the figures of a run end; the drive then continues until it is idle.

use super::Drive;
use crate::activity::{channels, dies, held_and_waited as held};
use crate::wear;
use serde_json::{json, Map, Value};
use wordline_base::Time;
use wordline_firmware::policy::upkeep::Leveling;
use wordline_firmware::task::ByTask;
use wordline_firmware::{BankCounts, Counters, PlaneUse, TransactionCounts, Waited};
use wordline_flash::{Energy, WearCounts};

/// Counters and times of the flash from when measuring began. A command counts, with its energy, when it begins.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The instant, in picoseconds.
    pub at: Time,
    /// What the flash did for whom.
    pub counters: Counters,
    /// How planes were used during GC.
    pub plane_use: PlaneUse,
    /// Energy of the flash.
    pub energy: Energy,
    /// Retries and failures.
    pub wear_counts: WearCounts,
    /// How long flash operations of each task waited, while the latency breakdown is requested.
    pub waited: Option<ByTask<Waited>>,
    /// Energy that operations of each task took in cells and on buses, in joules, in the same case.
    pub charged: Option<ByTask<f64>>,
    /// How the erases since the drive was new lie over blocks and planes.
    pub wear: Value,
    /// What wear leveling tells of its sessions, if it counts any.
    pub leveling: Option<Leveling>,
    /// Figures that external policies tell of themselves, by family.
    pub of_guests: Map<String, Value>,
    /// Blocks that have gone bad since the drive was new, or were from the factory.
    pub bad_blocks: u64,
    /// Erased blocks.
    pub free_blocks: u32,
    /// Blocks in SLC mode.
    pub slc_blocks: u32,
    /// How long each channel was in use.
    pub channels: Vec<Time>,
    /// How long the cells and registers of each die worked.
    pub dies: Vec<Time>,
    /// How long commands held dies, and how long they waited for the bus meanwhile, summed over dies.
    pub dies_held: (Time, Time),
    /// What transactions of the host did, if there are any.
    pub transactions: Option<TransactionCounts>,
    /// What dies did for requests that wait for each other there, if they do.
    pub banks: Option<BankCounts>,
    /// How long the link was in use, towards the drive and towards the host.
    pub link: [Time; 2],
    /// How busy channels and dies were over time.
    pub activity: Value,
    /// The blocks over time.
    pub map: Value,
}

impl Reading {
    /// As the drive stands now.
    #[must_use]
    pub fn of(drive: &Drive) -> Self {
        let (at, kernel) = (drive.now(), drive.kernel());
        let flash = kernel.flash();
        let (channels_before, dies_before) = drive.busy_before();
        // What was under way when measuring began may be told a little late in cache mode.
        let since = |(now, before): (Time, &Time)| now.saturating_sub(*before);
        let [to_drive, to_host] = drive.wires().map(|wire| wire.used(at));
        Self {
            at,
            counters: *kernel.counters(),
            plane_use: kernel.plane_use(),
            energy: drive.energy(),
            wear_counts: drive.wear_counts(),
            waited: kernel.waited().copied(),
            charged: drive.energy_by_task(),
            wear: wear::document(kernel),
            leveling: kernel.leveling().cloned(),
            of_guests: drive.of_guests().clone(),
            bad_blocks: (0..flash.geometry().blocks()).filter(|&block| flash.block_record(block).bad).count() as u64,
            free_blocks: kernel.blocks().free_blocks(),
            slc_blocks: kernel.blocks().slc_blocks(),
            channels: channels(kernel, at).zip(channels_before).map(since).collect(),
            dies: dies(kernel, at).zip(dies_before).map(since).collect(),
            dies_held: {
                let ((held, waited), before) = (held(kernel, at), drive.held_before());
                (held.saturating_sub(before.0), waited.saturating_sub(before.1))
            },
            transactions: kernel.transactions(),
            banks: kernel.banks(),
            link: [to_drive, if drive.is_half_duplex() { to_drive } else { to_host }],
            activity: json!(drive.activity().map(|activity| activity.document(
                kernel,
                &drive.wires(),
                drive.is_half_duplex(),
                at
            ))),
            map: json!(drive.block_map().map(|map| map.document(kernel, at))),
        }
    }

    /// What the drive did from this instant until now, as a result has it.
    #[must_use]
    pub fn afterwards(&self, drive: &Drive) -> Value {
        let (now, before) = (drive.kernel().counters(), &self.counters);
        let moved_units = now.moved_units() - before.moved_units();
        json!({
            "simulated_s": (drive.now() - self.at) as f64 / 1e12,
            "reads": now.reads() - before.reads(),
            "programs": now.programs() - before.programs(),
            "erases": now.erases() - before.erases(),
            "commands": now.commands - before.commands,
            "collections": now.collections() - before.collections(),
            "moved_pages": moved_units as f64 / f64::from(drive.kernel().plan().units_per_page),
            "energy_j": drive.energy().since(&self.energy).total(),
        })
    }
}
