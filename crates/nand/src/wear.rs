//! The reliability model of one package: factory bad blocks, read retries, and failures.

use crate::cells::{BlockRecord, Cells, Rules};
use crate::geometry::{PackageGeometry, PageAddress};
use crate::reliability::{Outlook, ReadOutcome, Reliability, ReliabilityConfig, ReliabilityError, Stress};
use serde::{Deserialize, Serialize};
use wordline_base::{Stream, Time};

const PS_PER_HOUR: f64 = 3_600.0 * 1e12;
/// Maximum of a count in a snapshot, so that additions cannot overflow.
const MOST_COUNTED: u64 = 1 << 60;

/// Retries and failures of a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WearCounts {
    /// Read retries.
    pub retries: u64,
    /// Pages that no retry could correct.
    pub uncorrectable: u64,
    /// Programs that failed.
    pub program_fails: u64,
    /// Erases that failed; their blocks are bad.
    pub erase_fails: u64,
}

impl WearCounts {
    /// The difference to an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            retries: self.retries - before.retries,
            uncorrectable: self.uncorrectable - before.uncorrectable,
            program_fails: self.program_fails - before.program_fails,
            erase_fails: self.erase_fails - before.erase_fails,
        }
    }
}

/// The reliability of one package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    model: Reliability,
    /// True if programs and erases may fail.
    fails: bool,
    stream: Stream,
    geometry: PackageGeometry,
    /// Class of each page of a block.
    classes: Vec<u8>,
    /// Precomputed bounds; computed again after a snapshot.
    #[serde(skip)]
    outlooks: Vec<Outlook>,
    /// Time of the first program of each block; data from before the run also have the retention of the configuration.
    written: Vec<Option<Time>>,
    counts: WearCounts,
}

impl Wear {
    /// Creates the wear of package `instance`, with the class of each page of a block, and marks its factory bad
    /// blocks. `None` if the configuration enables only rules of the array, which are then set.
    ///
    /// # Errors
    /// Names the key with an invalid value.
    pub fn new(
        config: &ReliabilityConfig,
        cells: &mut Cells,
        geometry: PackageGeometry,
        classes: Vec<u8>,
        seed: u64,
        instance: u64,
    ) -> Result<Option<Self>, ReliabilityError> {
        let model = Reliability::new(config, &geometry, geometry.pages, seed, instance)?;
        cells.set_rules(Rules { partial_programs: config.nop as u8, endurance: config.endurance });
        for die in 0..geometry.dies {
            for plane in 0..geometry.planes {
                for block in 0..geometry.blocks {
                    if config.factory_bad_percent > 0.0 && model.factory_bad(die, plane, block) {
                        cells.mark_bad(die, plane, block);
                    }
                }
            }
        }
        let fails = config.program_fail > 0.0 || config.erase_fail > 0.0;
        if !model.has_errors() && !fails {
            return Ok(None);
        }
        let blocks = geometry.total_blocks() as usize;
        Ok(Some(Self {
            stream: model.stream(),
            model,
            fails,
            geometry,
            classes,
            outlooks: vec![Outlook::default(); blocks],
            written: vec![None; blocks],
            counts: WearCounts::default(),
        }))
    }

    /// Restores the saved wear of the same package, at `now`.
    ///
    /// # Errors
    /// Describes an impossible state.
    pub(crate) fn restore(&mut self, saved: Self, now: Time) -> Result<(), String> {
        if saved.written.len() != self.written.len() || saved.written.iter().flatten().any(|&time| time > now) {
            return Err("the times at which blocks were written are impossible".into());
        }
        let WearCounts { retries, uncorrectable, program_fails, erase_fails } = saved.counts;
        if [retries, uncorrectable, program_fails, erase_fails].into_iter().any(|count| count > MOST_COUNTED) {
            return Err("the counts of failures are impossible".into());
        }
        (self.stream, self.written, self.counts) = (saved.stream, saved.written, saved.counts);
        Ok(())
    }

    /// True if programs and erases may fail.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.fails
    }

    /// True if programs may fail.
    #[must_use]
    pub fn fails_programs(&self) -> bool {
        self.model.program_failure(u32::MAX) > 0.0
    }

    /// Counts so far.
    #[must_use]
    pub fn counts(&self) -> WearCounts {
        self.counts
    }

    fn index(&self, die: u32, at: PageAddress) -> usize {
        ((die * self.geometry.planes + at.plane) * self.geometry.blocks + at.block) as usize
    }

    /// Records a read; returns its number of retries.
    pub(crate) fn read(&mut self, now: Time, die: u32, at: PageAddress, record: BlockRecord) -> u32 {
        if !self.model.has_errors() {
            return 0;
        }
        let index = self.index(die, at);
        let hours = match self.written[index] {
            Some(since) => now.saturating_sub(since) as f64 / PS_PER_HOUR,
            None => self.model.retention_hours() + now as f64 / PS_PER_HOUR,
        };
        let stress = Stress { cycles: record.erases, hours, reads: u64::from(record.reads) };
        let class = usize::from(self.classes[at.page as usize]);
        let outcome = self.model.read(&mut self.stream, &mut self.outlooks[index], &stress, class);
        self.counts.retries += u64::from(outcome.retries());
        self.counts.uncorrectable += u64::from(matches!(outcome, ReadOutcome::Uncorrectable { .. }));
        outcome.retries()
    }

    /// Records a program; true if it fails.
    pub(crate) fn program(&mut self, now: Time, die: u32, at: PageAddress, record: BlockRecord) -> bool {
        if at.page == 0 {
            let index = self.index(die, at);
            self.written[index] = Some(now);
        }
        let fails = self.model.program_fails(&mut self.stream, record.erases);
        self.counts.program_fails += u64::from(fails);
        fails
    }

    /// Records an erase; true if it fails.
    pub(crate) fn erase(&mut self, record: BlockRecord) -> bool {
        let fails = self.model.erase_fails(&mut self.stream, record.erases);
        self.counts.erase_fails += u64::from(fails);
        fails
    }
}
