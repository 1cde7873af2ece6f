//! The `[nand.reliability]` section of a drive file.

use super::ecc::Code;
use super::rber::{PowerLaw, ReadsPer};
use crate::geometry::PackageGeometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most page classes (bits a cell).
pub(super) const MAX_CLASSES: usize = 4;
/// Upper limit of programs of one page before an erase.
const MAX_NOP: u32 = 16;
/// Upper limit of read retries.
const MAX_RETRIES: u32 = 255;
const BITS_PER_BYTE: u32 = 8;
/// Retention beyond a thousand years is a mistake in the unit.
const MAX_HOURS: f64 = 1_000.0 * 365.25 * 24.0;

/// Model of bit errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorModel {
    /// No bit errors.
    #[default]
    None,
    /// Power laws of P/E cycles, retention time and reads, by Kim, Choi and Min (FAST 2019).
    PowerLaw,
}

/// A set of coefficients for the power-law model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coefficients {
    /// 72-layer TLC of Kim, Choi and Min (FAST 2019), as other simulators quote it.
    #[default]
    #[serde(rename = "tlc-72l")]
    Tlc72l,
    /// 2y-nm MLC of the same table, as other simulators quote it.
    #[serde(rename = "mlc-2y")]
    Mlc2y,
    /// All nine coefficients are given by their keys.
    Custom,
}

/// Wear, bit errors, ECC and bad blocks of the packages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReliabilityConfig {
    /// Model of bit errors. Endurance, bad blocks and failing programs and erases, also off by default, do not depend
    /// on it.
    pub model: ErrorModel,
    /// Coefficients of the power-law model: RBER = epsilon + alpha cycles^k + beta cycles^m days^n + gamma cycles^p
    /// reads^q.
    pub coefficients: Coefficients,
    /// Error rate of a fresh page; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Weight of wear; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Exponent of the P/E cycles in wear; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Weight of retention loss; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Exponent of the P/E cycles in retention loss; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<f64>,
    /// Exponent of the days since the program in retention loss; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<f64>,
    /// Weight of read disturb; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Exponent of the P/E cycles in read disturb; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Exponent of the reads in read disturb; replaces the value of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<f64>,
    /// Unit of the read count in read disturb; replaces the value of the set; 'page' for custom coefficients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_per: Option<ReadsPer>,
    /// Factors on the error rate, one for each page class, the fastest class first; empty for 1 each.
    pub page_class_factors: Vec<f64>,
    /// Endurance of a block in P/E cycles, by its data sheet; 0 for no limit.
    pub endurance: u32,
    /// NOP: programs of one page before its block must be erased, by the data sheet; 1 for MLC and denser.
    pub nop: u32,
    /// Retention time of the data in the drive at the start, in hours.
    pub retention_hours: f64,
    /// Bit errors that the ECC corrects in a codeword. Assumed: 72 in 1,024 bytes, as is usual for TLC.
    pub ecc_bits: u32,
    /// User data in a codeword, in bytes; divides the page. Parity bits are assumed free of errors.
    pub ecc_codeword_bytes: u32,
    /// Maximum read retries with shifted reference voltages before a page is uncorrectable. Assumed.
    pub read_retries: u32,
    /// Factor on the error rate for each retry, above 0 and at most 1. Assumed.
    pub retry_rber_factor: f64,
    /// Factory bad blocks, in percent, spread at random; never the first block of a die, which data sheets guarantee.
    /// Data sheets allow about 2.
    pub factory_bad_percent: f64,
    /// Probability that a program fails at the end of `endurance`. Assumed.
    pub program_fail: f64,
    /// Probability that an erase fails at the end of `endurance`. Assumed.
    pub erase_fail: f64,
    /// Growth of these two probabilities: probability x (cycles / endurance)^fail_exponent. Assumed.
    pub fail_exponent: f64,
}

impl Default for ReliabilityConfig {
    fn default() -> Self {
        Self {
            model: ErrorModel::None,
            coefficients: Coefficients::Tlc72l,
            epsilon: None,
            alpha: None,
            k: None,
            beta: None,
            m: None,
            n: None,
            gamma: None,
            p: None,
            q: None,
            reads_per: None,
            page_class_factors: Vec::new(),
            endurance: 0,
            nop: 1,
            retention_hours: 0.0,
            ecc_bits: 72,
            ecc_codeword_bytes: 1_024,
            read_retries: 5,
            retry_rber_factor: 0.7,
            factory_bad_percent: 0.0,
            program_fail: 0.0,
            erase_fail: 0.0,
            fail_exponent: 3.0,
        }
    }
}

/// Why a `[nand.reliability]` section cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {problem}")]
pub struct ReliabilityError {
    /// Key within the section.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl ReliabilityError {
    fn new(key: &'static str, value: impl ToString, problem: impl Into<String>) -> Self {
        Self { key, value: value.to_string(), problem: problem.into() }
    }
}

/// Refuses a number outside a range, or NaN.
fn within(key: &'static str, value: f64, least: f64, most: f64) -> Result<(), ReliabilityError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ReliabilityError::new(key, value, format!("must lie between {least} and {most}")))
}

impl ReliabilityConfig {
    /// The power law, if the model is one.
    ///
    /// # Errors
    /// Names the coefficient that is missing or out of range.
    pub fn power_law(&self) -> Result<Option<PowerLaw>, ReliabilityError> {
        if self.model == ErrorModel::None {
            return Ok(None);
        }
        let set = match self.coefficients {
            Coefficients::Tlc72l => Some(PowerLaw::TLC_72L),
            Coefficients::Mlc2y => Some(PowerLaw::MLC_2Y),
            Coefficients::Custom => None,
        };
        let choose = |key, given: Option<f64>, of_set: fn(&PowerLaw) -> f64, most| {
            let value = given
                .or_else(|| set.as_ref().map(of_set))
                .ok_or_else(|| ReliabilityError::new(key, "nothing", "has to be given when coefficients = 'custom'"))?;
            within(key, value, 0.0, most).map(|()| value)
        };
        Ok(Some(PowerLaw {
            epsilon: choose("epsilon", self.epsilon, |s| s.epsilon, 0.5)?,
            alpha: choose("alpha", self.alpha, |s| s.alpha, 1.0)?,
            k: choose("k", self.k, |s| s.k, 10.0)?,
            beta: choose("beta", self.beta, |s| s.beta, 1.0)?,
            m: choose("m", self.m, |s| s.m, 10.0)?,
            n: choose("n", self.n, |s| s.n, 10.0)?,
            gamma: choose("gamma", self.gamma, |s| s.gamma, 1.0)?,
            p: choose("p", self.p, |s| s.p, 10.0)?,
            q: choose("q", self.q, |s| s.q, 10.0)?,
            reads_per: self.reads_per.or(set.map(|s| s.reads_per)).unwrap_or_default(),
        }))
    }

    /// The ECC of a page, if the model has errors.
    ///
    /// # Errors
    /// Names the key that does not fit the page or the codeword.
    pub fn code(&self, geometry: &PackageGeometry) -> Result<Option<Code>, ReliabilityError> {
        if self.model == ErrorModel::None {
            return Ok(None);
        }
        let (bytes, page) = (self.ecc_codeword_bytes, geometry.page_bytes);
        if bytes == 0 || bytes > page || page % bytes != 0 {
            let problem = format!("must divide the page of {page} bytes");
            return Err(ReliabilityError::new("ecc_codeword_bytes", bytes, problem));
        }
        let Some(bits) = bytes.checked_mul(BITS_PER_BYTE) else {
            return Err(ReliabilityError::new("ecc_codeword_bytes", bytes, "must be below 512 MiB"));
        };
        if self.ecc_bits >= bits / 2 {
            let problem = format!("must be below {}, half of the {bits} bits of a codeword", bits / 2);
            return Err(ReliabilityError::new("ecc_bits", self.ecc_bits, problem));
        }
        Ok(Some(Code { bits, correctable: self.ecc_bits, codewords: page / bytes }))
    }

    /// The section of so many packages in lockstep, where a block is bad, or fails, if that of any member does: none of them does
    /// with the probability of one to the power of their number. Failures of programs and erases have it at the end of endurance, and
    /// grow towards it as those of one package.
    #[must_use]
    pub fn of_gang(&self, members: u32) -> Self {
        if members == 1 {
            return self.clone();
        }
        let any = |of_one: f64| 1.0 - (0..members).fold(1.0, |none, _| none * (1.0 - of_one));
        Self {
            factory_bad_percent: 100.0 * any(self.factory_bad_percent / 100.0),
            program_fail: any(self.program_fail),
            erase_fail: any(self.erase_fail),
            ..self.clone()
        }
    }

    /// Checks everything that does not depend on the package.
    ///
    /// # Errors
    /// Names the key, its value and what to write instead.
    pub fn check(&self) -> Result<(), ReliabilityError> {
        self.power_law()?;
        if self.page_class_factors.len() > MAX_CLASSES {
            let (value, problem) = (format!("{:?}", self.page_class_factors), "has more than the 4 classes of QLC");
            return Err(ReliabilityError::new("page_class_factors", value, problem));
        }
        for &factor in &self.page_class_factors {
            within("page_class_factors", factor, 0.0, 1_000.0)?;
        }
        within("nop", self.nop.into(), 1.0, MAX_NOP.into())?;
        within("retention_hours", self.retention_hours, 0.0, MAX_HOURS)?;
        within("read_retries", self.read_retries.into(), 0.0, MAX_RETRIES.into())?;
        if self.retry_rber_factor == 0.0 {
            let problem = "must be above 0: a retry does not remove all errors";
            return Err(ReliabilityError::new("retry_rber_factor", 0, problem));
        }
        within("retry_rber_factor", self.retry_rber_factor, 0.0, 1.0)?;
        within("factory_bad_percent", self.factory_bad_percent, 0.0, 50.0)?;
        within("fail_exponent", self.fail_exponent, 0.0, 100.0)?;
        for (key, value) in [("program_fail", self.program_fail), ("erase_fail", self.erase_fail)] {
            within(key, value, 0.0, 1.0)?;
            if value > 0.0 && self.endurance == 0 {
                let problem = "is the probability at the end of endurance: give endurance, in program/erase cycles";
                return Err(ReliabilityError::new(key, value, problem));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_block_spoils_those_of_the_gang() {
        let one = ReliabilityConfig { factory_bad_percent: 2.0, erase_fail: 0.5, ..ReliabilityConfig::default() };
        let four = one.of_gang(4);
        // 1 - 0.98^4 = 0.07763184, and 1 - 0.5^4.
        assert!((four.factory_bad_percent - 7.763_184).abs() < 1e-9, "{}", four.factory_bad_percent);
        assert_eq!((four.erase_fail, four.program_fail), (0.9375, 0.0));
        assert_eq!(one.of_gang(1), one);
    }
}
