//! The units of a trace's columns, and the fields they turn into picoseconds and bytes.

use crate::error::{option, Problem, WorkloadError};
use crate::format_options::FormatOptions;
use crate::number::{time_ps, whole};
use crate::scan::Scan;

/// Most digits of a hexadecimal number of 64 bits.
const HEX_DIGITS: usize = 16;

/// A hexadecimal number behind `0x`.
pub(crate) fn hexadecimal(field: &'static str, text: &[u8]) -> Result<u64, Box<Problem>> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or_default();
    let value = if digits.len() <= HEX_DIGITS { std::str::from_utf8(digits).ok() } else { None };
    // `from_str_radix` would take a sign.
    let value = value.filter(|digits| !digits.starts_with('+'));
    value
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| Problem::new(field, text, "must be a hexadecimal number, as in 0x00001000"))
}

/// Largest request, in bytes.
pub(crate) const LARGEST: u64 = 1 << 30;

/// Units of time, address and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// Power of ten from the unit of time to picoseconds.
    pub time: u32,
    /// Bytes of one unit of address.
    pub address: u64,
    /// Bytes of one unit of size.
    pub size: u64,
}

impl Units {
    /// These units with what the options say instead.
    pub fn with(self, options: &FormatOptions) -> Result<Self, WorkloadError> {
        let block = |key: &str, value: Option<u64>, own: u64| match value {
            Some(bytes) if bytes == 0 || bytes > 1 << 20 => Err(option(key, bytes, "must be 1 to 1048576 bytes")),
            Some(bytes) => Ok(bytes),
            None => Ok(own),
        };
        Ok(Self {
            time: options.time_unit.map_or(self.time, |unit| unit.power()),
            address: block("trace.address_block_bytes", options.address_block_bytes, self.address)?,
            size: block("trace.size_block_bytes", options.size_block_bytes, self.size)?,
        })
    }

    /// A time stamp in picoseconds.
    #[inline]
    pub fn time_ps(self, field: &'static str, text: &[u8]) -> Result<u128, Box<Problem>> {
        time_ps(text, self.time).map_err(|e| Problem::new(field, text, e.explain("a time")))
    }

    /// An address in bytes.
    #[inline]
    pub fn offset(self, field: &'static str, text: &[u8]) -> Result<u64, Box<Problem>> {
        let value = whole(text).map_err(|e| Problem::new(field, text, e.explain("a whole number")))?;
        self.offset_of(field, text, value)
    }

    /// An address in bytes that a line of the usual kind has next.
    #[inline(always)]
    pub fn next_offset(self, scan: &mut Scan) -> Option<u64> {
        scan.number()?.checked_mul(self.address)
    }

    /// A size in bytes that a line of the usual kind has next.
    #[inline(always)]
    pub fn next_size(self, scan: &mut Scan) -> Option<u64> {
        scan.number()?.checked_mul(self.size).filter(|bytes| *bytes <= LARGEST)
    }

    /// A binary time stamp in picoseconds.
    #[inline]
    pub fn time_of(self, value: u64) -> u128 {
        u128::from(value) * 10_u128.pow(self.time)
    }

    /// An address that has been read already, in bytes.
    #[inline]
    pub fn offset_of(self, field: &'static str, text: &[u8], value: u64) -> Result<u64, Box<Problem>> {
        value.checked_mul(self.address).ok_or_else(|| {
            Problem::new(field, text, format!("in units of {} bytes this exceeds 2^64 bytes", self.address))
        })
    }

    /// A size in bytes, at most [`LARGEST`].
    #[inline]
    pub fn size(self, field: &'static str, text: &[u8]) -> Result<u64, Box<Problem>> {
        let value = whole(text).map_err(|e| Problem::new(field, text, e.explain("a whole number")))?;
        self.size_of(field, text, value)
    }

    /// A size that has been read already, in bytes, at most [`LARGEST`].
    #[inline]
    pub fn size_of(self, field: &'static str, text: &[u8], value: u64) -> Result<u64, Box<Problem>> {
        match value.checked_mul(self.size) {
            Some(bytes) if bytes <= LARGEST => Ok(bytes),
            _ => {
                let unit = if self.size == 1 { String::new() } else { format!(" in units of {} bytes", self.size) };
                let problem = format!(
                    "a request of this size{unit} is over 1 GiB; check the format, or whether a field is missing on this line"
                );
                Err(Problem::new(field, text, problem))
            }
        }
    }
}
