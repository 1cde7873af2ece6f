//! Counts of what the firmware did.

use crate::task::{Action, Class, Task, CLASSES, TASKS};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Flash operations by task. Units and pages, not bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Pages read, programmed or blocks erased, by class of operation.
    pub ops: [u64; CLASSES],
    /// Of these, the ones in a command for several planes.
    pub multi_plane: [u64; CLASSES],
    /// Of these, the ones in a command that an operation of another task, GC, leads.
    pub joined: [u64; CLASSES],
    /// Page reads for writes of less than a unit.
    pub merge_reads: u64,
    /// Units written by the host.
    pub host_units: u64,
    /// Units moved, by task.
    pub moved: [u64; TASKS],
    /// Pages programmed in SLC mode.
    pub slc_pages: u64,
    /// Units of programmed pages that stayed empty.
    pub padded_units: u64,
    /// Units written by the host that never reached flash: replaced or given back while they waited in the write buffer.
    pub absorbed_units: u64,
    /// Blocks whose data were moved, by task: of GC, victim blocks.
    pub jobs: [u64; TASKS],
    /// Units looked up in the mapping table by the host, and of these, those whose entries were in memory at once. Counted
    /// where the table may lie in flash.
    pub map_lookups: u64,
    /// See above.
    pub map_hits: u64,
    /// Steps of GC, page reads and erases, that were put on hold.
    pub holds: u64,
    /// Map units read from flash, by task.
    pub map_reads: [u64; TASKS],
    /// Map units written to flash, by task.
    pub map_writes: [u64; TASKS],
    /// Tables of map zones that memory got from flash, and those that were sent there. Without zones, map units.
    pub map_loads: u64,
    /// See above.
    pub map_stores: u64,
    /// Flash commands.
    pub commands: u64,
    /// Pages that GC moved inside their plane; each also counts as a page read and a page programmed.
    pub copybacks: u64,
    /// Pages of parity programmed; each also counts as a page of its task.
    pub parity_pages: u64,
    /// Units of parity of logical pages that were programmed.
    pub parity_units: u64,
    /// Pages read for such parity: data that were overwritten, old parity, and data that memory lacked.
    pub parity_reads: u64,
    /// Reads of the host that were rebuilt from other dies.
    pub rebuilt_reads: u64,
    /// Pages read for them; each also counts as a page read for the host.
    pub part_reads: u64,
    /// Programs and erases that were suspended for reads, each as often as it was.
    pub suspensions: u64,
    /// Logical blocks merged with their log blocks, by kind: switch, partial and full merges.
    pub merges: [u64; 3],
    /// Merges of log blocks; each merges all logical blocks that have pages there.
    pub log_merges: u64,
    /// Time that they took, in picoseconds.
    pub log_merge_time: Time,
    /// Merges by why they started: on demand, ahead of a request, since log blocks were full, those that had been delayed, and in steps.
    /// Counted where the collect policy schedules them.
    pub merges_by_cause: [u64; 5],
    /// Times that such a merge was interrupted by the host.
    pub interruptions: u64,
    /// Merges of them that went on since a write waited.
    pub pressed_merges: u64,
    /// Log blocks that stood in for a merge, which was delayed.
    pub delay_blocks: u64,
    /// Pages programmed for any reason since the counters began in this program, without those of a snapshot. [`Counters::programs`] adds up;
    /// this is kept for what asks often.
    #[serde(skip)]
    pub programmed: u64,
}

impl Counters {
    /// So many pages, or blocks, are the work of a class.
    #[inline(always)]
    pub(super) fn count(&mut self, class: Class, pages: u64) {
        self.ops[class.index()] += pages;
        if class.action() == Action::Program {
            self.programmed += pages;
        }
    }

    #[inline]
    fn of(&self, action: Action) -> u64 {
        Task::all().map(|task| self.ops[Class::new(task, action).index()]).sum()
    }

    /// Since earlier counts: the hit rate of lookups in the mapping table, map units read and map units written.
    #[must_use]
    pub fn map_since(&self, earlier: &Self) -> (Option<f64>, u64, u64) {
        let grown = |of: fn(&Self) -> u64| of(self) - of(earlier);
        let (lookups, hits) = (grown(|c| c.map_lookups), grown(|c| c.map_hits));
        let rate = (lookups > 0).then(|| hits as f64 / lookups as f64);
        (rate, grown(|c| c.map_reads.iter().sum()), grown(|c| c.map_writes.iter().sum()))
    }

    /// Victim blocks of GC.
    #[must_use]
    pub fn collections(&self) -> u64 {
        self.jobs[Task::GC.index()]
    }

    /// Units moved by GC.
    #[must_use]
    pub fn moved_units(&self) -> u64 {
        self.moved[Task::GC.index()]
    }

    /// Units written and pages read for the host: they grow while it does anything that takes operations.
    pub(super) fn by_host(&self) -> (u64, u64) {
        (self.host_units, self.ops[Class::HOST_READ.index()])
    }

    /// Pages read for any reason.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.of(Action::Read)
    }

    /// Pages programmed for any reason.
    #[inline]
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.of(Action::Program)
    }

    /// Blocks erased.
    #[must_use]
    pub fn erases(&self) -> u64 {
        self.of(Action::Erase)
    }
}

/// How the planes of dies were used while GC was under way there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaneUse {
    /// Time that dies spent so, from the first command of GC in a die to the end of its last erase there, in picoseconds.
    pub dies: Time,
    /// Time that planes were busy in it, summed over the planes.
    pub planes: Time,
}

impl PlaneUse {
    /// Counts such times more.
    #[inline]
    pub(super) fn add(&mut self, dies: Time, planes: Time) {
        self.dies += dies;
        self.planes += planes;
    }

    /// What has come since.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { dies: self.dies - before.dies, planes: self.planes - before.planes }
    }

    /// Busy planes over all planes of these dies; none without GC.
    #[must_use]
    pub fn share(&self, planes_per_die: u32) -> Option<f64> {
        let all = self.dies as f64 * f64::from(planes_per_die);
        (self.dies > 0).then(|| self.planes as f64 / all)
    }
}
