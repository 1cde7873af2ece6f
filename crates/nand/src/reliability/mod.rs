//! Failures of a package: bits, reads, programs, erases and blocks.
//!
//! All here is pure: the state of a block comes from the caller, random numbers come from a stream that the caller
//! keeps, and nothing allocates after construction. Bit errors follow [`rber`], their correction [`ecc`].
//! Simplified: the read retries of one page share its fate. One draw decides how good the page is, and a retry helps as
//! far as it lowers the error rate; the probability of failing up to any number of retries is the exact one for the
//! rate at that retry.

pub mod config;
pub mod ecc;
pub mod rber;

pub use config::{Coefficients, ErrorModel, ReliabilityConfig, ReliabilityError};
pub use ecc::{Code, FailureTable};
pub use rber::{PowerLaw, ReadsPer, MAX_RBER};

use crate::geometry::PackageGeometry;
use serde::{Deserialize, Serialize};
use wordline_base::Stream;

/// Most page classes with a factor of their own (bits a cell).
pub const MAX_CLASSES: usize = config::MAX_CLASSES;

/// How far ahead an [`Outlook`] is drawn: relative, and at least so many reads and hours.
const AHEAD: f64 = 1.25;
const READS_AHEAD: u64 = 64;
const HOURS_AHEAD: f64 = 1.0;
/// Keeps a bound a bound where a logarithm rounds.
const ROUNDING: f64 = 1.0 + 1e-9;

/// What wears on a page at the moment of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stress {
    /// Program/erase cycles of the block.
    pub cycles: u32,
    /// Hours since the page was programmed.
    pub hours: f64,
    /// Reads of the block since its erase.
    pub reads: u64,
}

/// A bound on what can go wrong with the reads of a block for some time to come, so that most reads cost a comparison.
///
/// The caller keeps one for each block (the default knows nothing) and hands it to every [`Reliability::read`] of that
/// block. It saves time and never changes a result, so it need not be reset at an erase, nor be part of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// Holds up to these reads.
    reads: u64,
    /// Holds up to this age.
    hours: f64,
    /// Highest failure probability of a page of any class until then.
    failure: f64,
    /// Holds for these cycles, plus one; 0 for never.
    cycles_plus_one: u64,
}

impl Outlook {
    fn covers(&self, stress: &Stress) -> bool {
        self.cycles_plus_one == u64::from(stress.cycles) + 1 && stress.reads <= self.reads && stress.hours <= self.hours
    }
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadOutcome {
    /// The data came, after so many retries; 0 for none.
    Corrected {
        /// Retries it took.
        retries: u32,
    },
    /// All retries that are allowed failed; the page is lost.
    Uncorrectable {
        /// Retries spent.
        retries: u32,
    },
}

impl ReadOutcome {
    /// Retries that took time, whatever came of them.
    #[must_use]
    pub fn retries(self) -> u32 {
        match self {
            Self::Corrected { retries } | Self::Uncorrectable { retries } => retries,
        }
    }
}

/// Bit errors and their correction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Errors {
    law: PowerLaw,
    table: FailureTable,
    pages_per_block: u32,
    class_factors: [f64; MAX_CLASSES],
    worst_factor: f64,
    ln_retry_factor: f64,
}

impl Errors {
    fn new(config: &ReliabilityConfig, law: PowerLaw, code: &Code, pages_per_block: u32) -> Self {
        let mut class_factors = [1.0; MAX_CLASSES];
        for (factor, &given) in class_factors.iter_mut().zip(&config.page_class_factors) {
            *factor = given;
        }
        Self {
            law,
            table: FailureTable::new(code),
            pages_per_block,
            class_factors,
            worst_factor: class_factors.iter().copied().fold(0.0, f64::max),
            ln_retry_factor: libm::log(config.retry_rber_factor),
        }
    }

    fn rber(&self, stress: &Stress, factor: f64) -> f64 {
        (self.law.rber(stress.cycles, stress.hours, stress.reads, self.pages_per_block) * factor).min(MAX_RBER)
    }

    /// The outlook from here; out of line, because few reads need it.
    #[cold]
    fn look_ahead(&self, stress: &Stress) -> Outlook {
        let reads = ((stress.reads as f64 * AHEAD) as u64).saturating_add(READS_AHEAD);
        let hours = stress.hours * AHEAD + HOURS_AHEAD;
        let rber = self.rber(&Stress { cycles: stress.cycles, hours, reads }, self.worst_factor);
        let failure = libm::exp(self.table.ln_failure(libm::log(rber))) * ROUNDING;
        Outlook { reads, hours, failure, cycles_plus_one: u64::from(stress.cycles) + 1 }
    }

    /// The retries of a page so bad that only a share `fate` of all pages is worse.
    fn retries(&self, fate: f64, stress: &Stress, class: usize, limit: u32) -> ReadOutcome {
        let (ln_fate, mut ln_rber) = (libm::log(fate), libm::log(self.rber(stress, self.class_factors[class])));
        for retries in 0..=limit {
            if ln_fate >= self.table.ln_failure(ln_rber) {
                return ReadOutcome::Corrected { retries };
            }
            ln_rber += self.ln_retry_factor;
        }
        ReadOutcome::Uncorrectable { retries: limit }
    }
}

/// The reliability of one package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    errors: Option<Errors>,
    read_retries: u32,
    endurance: u32,
    nop: u32,
    retention_hours: f64,
    factory_bad: f64,
    program_fail: f64,
    erase_fail: f64,
    fail_exponent: f64,
    seed: u64,
    instance: u64,
    planes: u32,
    blocks: u32,
    blocks_of_package: u64,
}

impl Reliability {
    /// The reliability of the package number `instance` of a drive, whose blocks have `pages_per_block` pages, in a run
    /// with `seed`.
    ///
    /// # Errors
    /// Names the key, its value and what would be right when the section cannot be used with this package.
    ///
    /// # Panics
    /// When a block has no pages.
    pub fn new(
        config: &ReliabilityConfig,
        geometry: &PackageGeometry,
        pages_per_block: u32,
        seed: u64,
        instance: u64,
    ) -> Result<Self, ReliabilityError> {
        assert!(pages_per_block > 0, "a block without pages");
        config.check()?;
        let errors = match (config.power_law()?, config.code(geometry)?) {
            (Some(law), Some(code)) => Some(Errors::new(config, law, &code, pages_per_block)),
            _ => None,
        };
        Ok(Self {
            errors,
            read_retries: config.read_retries,
            endurance: config.endurance,
            nop: config.nop,
            retention_hours: config.retention_hours,
            factory_bad: config.factory_bad_percent / 100.0,
            program_fail: config.program_fail,
            erase_fail: config.erase_fail,
            fail_exponent: config.fail_exponent,
            seed,
            instance,
            planes: geometry.planes,
            blocks: geometry.blocks,
            blocks_of_package: geometry.total_blocks(),
        })
    }

    /// A fresh stream for the draws of this package. The caller keeps it, and hands it to every draw.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, "nand-reliability", self.instance)
    }

    /// True if bits can be wrong. If not, [`Self::read`] neither draws nor looks at its arguments.
    #[inline]
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Program/erase cycles a block endures; `None` for no limit.
    #[must_use]
    pub fn endurance(&self) -> Option<u32> {
        (self.endurance > 0).then_some(self.endurance)
    }

    /// True if a block with so many cycles must not be erased and programmed once more.
    #[inline]
    #[must_use]
    pub fn is_worn_out(&self, cycles: u32) -> bool {
        self.endurance > 0 && cycles >= self.endurance
    }

    /// Programs of one page before its block must be erased.
    #[inline]
    #[must_use]
    pub fn nop(&self) -> u32 {
        self.nop
    }

    /// Most retries of a read.
    #[inline]
    #[must_use]
    pub fn read_retries(&self) -> u32 {
        self.read_retries
    }

    /// Age of the data in the drive at the start, in hours.
    #[must_use]
    pub fn retention_hours(&self) -> f64 {
        self.retention_hours
    }

    /// The raw bit error rate of a page of a class (0 the fastest); 0 without errors.
    ///
    /// # Panics
    /// When `class` is not below [`MAX_CLASSES`].
    #[must_use]
    pub fn rber(&self, stress: &Stress, class: usize) -> f64 {
        self.errors.as_ref().map_or(0.0, |errors| errors.rber(stress, errors.class_factors[class]))
    }

    /// The probability that a page of a class cannot be corrected after `retries` retries, within 0.1 %; 0 where it is
    /// below [`ecc::NEGLIGIBLE`].
    ///
    /// # Panics
    /// When `class` is not below [`MAX_CLASSES`].
    #[must_use]
    pub fn page_failure(&self, stress: &Stress, class: usize, retries: u32) -> f64 {
        self.errors.as_ref().map_or(0.0, |errors| {
            let ln_rber = libm::log(errors.rber(stress, errors.class_factors[class]));
            libm::exp(errors.table.ln_failure(ln_rber + f64::from(retries) * errors.ln_retry_factor))
        })
    }

    /// Reads a page of a class (0 the fastest). Draws once if there can be errors at all.
    ///
    /// # Panics
    /// When `class` is not below [`MAX_CLASSES`] and the page is not good at first sight.
    #[inline]
    pub fn read(&self, stream: &mut Stream, outlook: &mut Outlook, stress: &Stress, class: usize) -> ReadOutcome {
        const GOOD: ReadOutcome = ReadOutcome::Corrected { retries: 0 };
        let Some(errors) = &self.errors else { return GOOD };
        if !outlook.covers(stress) {
            *outlook = errors.look_ahead(stress);
        }
        // Drawn even where failure is out of question, so that the draws do not hang on where an outlook was made.
        let fate = stream.unit();
        if fate >= outlook.failure {
            return GOOD;
        }
        errors.retries(fate, stress, class, self.read_retries)
    }

    /// True if a block was bad when it left the factory. The same for every run with the same seed; never for the first
    /// block of a die.
    #[must_use]
    pub fn factory_bad(&self, die: u32, plane: u32, block: u32) -> bool {
        if self.factory_bad == 0.0 || (plane == 0 && block == 0) {
            return false;
        }
        let in_package = (u64::from(die) * u64::from(self.planes) + u64::from(plane)) * u64::from(self.blocks);
        let number = self.instance.wrapping_mul(self.blocks_of_package).wrapping_add(in_package + u64::from(block));
        Stream::new(self.seed, "factory-bad", number).unit() < self.factory_bad
    }

    /// True if a program fails in a block with so many cycles. Draws unless programs never fail.
    #[inline]
    pub fn program_fails(&self, stream: &mut Stream, cycles: u32) -> bool {
        self.fails(stream, self.program_fail, cycles)
    }

    /// True if an erase fails in a block with so many cycles. Draws unless erases never fail.
    #[inline]
    pub fn erase_fails(&self, stream: &mut Stream, cycles: u32) -> bool {
        self.fails(stream, self.erase_fail, cycles)
    }

    /// The probability that a program fails in a block with so many cycles.
    #[must_use]
    pub fn program_failure(&self, cycles: u32) -> f64 {
        self.grown(self.program_fail, cycles)
    }

    /// The probability that an erase fails in a block with so many cycles.
    #[must_use]
    pub fn erase_failure(&self, cycles: u32) -> f64 {
        self.grown(self.erase_fail, cycles)
    }

    /// Assumed: no source gives the law of growth. A power of the share of life used up makes young blocks fail next to
    /// never and goes on beyond the end of life.
    fn grown(&self, at_end: f64, cycles: u32) -> f64 {
        if at_end == 0.0 {
            return 0.0;
        }
        (at_end * libm::pow(f64::from(cycles) / f64::from(self.endurance), self.fail_exponent)).min(1.0)
    }

    #[inline]
    fn fails(&self, stream: &mut Stream, at_end: f64, cycles: u32) -> bool {
        if at_end == 0.0 {
            return false;
        }
        let draw = stream.unit();
        // Before the end of life the probability at the end bounds it, and spares the power.
        (draw < at_end || cycles > self.endurance) && draw < self.grown(at_end, cycles)
    }
}
