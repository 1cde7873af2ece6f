//! Reading along a line without looking for its fields first: every step takes what most lines have there, or gives up.
//!
//! Whoever gives up has decided nothing: the line then goes the general way, which knows all spellings and says what is wrong.
//! So a step here may refuse what is right, but takes nothing that the general way would refuse or read otherwise.

use crate::device::DeviceTable;
use crate::number::{joined, POWERS};

const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
/// Added to a byte, it sets the highest bit of all that are above 9.
const ABOVE_NINE: u64 = u64::from_le_bytes([0x7f - 9; 8]);
const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);

/// The rest of what has been read of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    rest: &'a [u8],
    /// Eight digits that a time began with, and their value: the next ones mostly begin with the same.
    eight: ([u8; 8], u64),
}

impl<'a> Scan<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, eight: ([b'0'; 8], 0) }
    }

    /// Bytes that are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// The next byte, which is not taken.
    #[inline]
    pub fn first(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// This byte.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then_some(())
    }

    /// The end of the line.
    #[inline]
    pub fn end(&mut self) -> Option<()> {
        match self.byte()? {
            b'\n' => Some(()),
            b'\r' => self.expect(b'\n'),
            _ => None,
        }
    }

    /// These bytes, if they are next.
    #[inline]
    pub fn word<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        match self.rest.split_first_chunk() {
            Some((next, rest)) if next == word => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The value of the next digits, eight at most, and how many they are; there is none if the end of what has been read is near.
    #[inline(always)]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>()?;
        let word = u64::from_le_bytes(*bytes) ^ ZEROS;
        let others = others(word);
        if others == 0 {
            self.rest = rest;
            return Some((joined(word), 8));
        }
        let bits = others.trailing_zeros() & 56;
        let count = bits as usize / 8;
        self.rest = &self.rest[count..];
        // Zeros come before them; there may be eight.
        Some((joined(word << 8 << (56 - bits)), count))
    }

    /// A whole number. Most of a line is numbers, and a call would take longer than some of them.
    #[inline(always)]
    pub fn number(&mut self) -> Option<u64> {
        let (value, count) = self.digits()?;
        if count < 8 {
            return (count > 0).then_some(value);
        }
        self.more(value)
    }

    /// The rest of a number that began with eight digits.
    #[inline(always)]
    fn more(&mut self, first: u64) -> Option<u64> {
        let (second, count) = self.digits()?;
        let value = first * POWERS[count] + second;
        if count < 8 {
            return Some(value);
        }
        let (third, count) = self.digits()?;
        // Up to 19 digits cannot overflow.
        (count <= 3).then(|| value * POWERS[count] + third)
    }

    /// A whole number that mostly begins as the one before it.
    #[inline(always)]
    fn time_number(&mut self) -> Option<u64> {
        let bytes = self.rest.first_chunk::<8>()?;
        if *bytes == self.eight.0 {
            self.rest = &self.rest[8..];
            return self.more(self.eight.1);
        }
        let (value, count) = self.digits()?;
        if count < 8 {
            return (count > 0).then_some(value);
        }
        self.eight = (*bytes, value);
        self.more(value)
    }

    /// A time in a unit of `10^unit` ps, with a fraction or without.
    #[inline(always)]
    pub fn time(&mut self, unit: u32) -> Option<u128> {
        let whole = u128::from(self.time_number()?) * u128::from(POWERS[unit as usize]);
        if self.rest.first() != Some(&b'.') {
            return Some(whole);
        }
        self.rest = &self.rest[1..];
        let before = self.rest.len();
        let part = self.number()?;
        let finest = (unit as usize).checked_sub(before - self.rest.len())?;
        Some(whole + u128::from(part * POWERS[finest]))
    }

    /// A number whose value is not asked for: one digit or more.
    #[inline(always)]
    pub fn skip_number(&mut self) -> Option<()> {
        let mut count = self.skip_digits()?;
        if count == 0 {
            return None;
        }
        while count == 8 {
            count = self.skip_digits()?;
        }
        Some(())
    }

    /// The next digits, eight at most; gives how many they are.
    #[inline(always)]
    fn skip_digits(&mut self) -> Option<usize> {
        let word = u64::from_le_bytes(*self.rest.first_chunk::<8>()?) ^ ZEROS;
        let count = others(word).trailing_zeros() as usize / 8;
        self.rest = &self.rest[count..];
        Some(count)
    }

    /// The bytes up to this one, or up to the end of the line, neither of which is taken.
    #[inline]
    pub fn field(&mut self, separator: u8) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == separator || byte == b'\n')?;
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(field)
    }

    /// A device that an earlier line has named, in so many fields; what is between them, and behind them, is for the caller to know.
    #[inline]
    pub fn device(&mut self, devices: &mut DeviceTable, fields: usize) -> Option<u32> {
        let (number, length) = match devices.same(self.rest) {
            Some(same) if self.rest.get(same.1).is_some_and(|&byte| is_between(byte)) => same,
            _ => other_device(self.rest, devices, fields)?,
        };
        self.rest = &self.rest[length..];
        Some(number)
    }
}

/// A device that `rest` begins with and an earlier line has named, and the length of its name. A scan lent to a call would be kept in
/// memory rather than in registers, so this gets its bytes only.
#[inline(never)]
fn other_device(rest: &[u8], devices: &mut DeviceTable, fields: usize) -> Option<(u32, usize)> {
    let mut ends = rest.iter().enumerate().filter(|(_, byte)| is_between(**byte));
    let (end, _) = ends.nth(fields - 1)?;
    Some((devices.known(&rest[..end])?, end))
}

/// The highest bit of the first byte that is above 9, and maybe of some behind it.
#[inline]
fn others(word: u64) -> u64 {
    // A carry comes only from such bytes, and goes to those behind them.
    (word.wrapping_add(ABOVE_NINE) | word) & HIGHEST
}

/// True for what may be between two fields, or behind the last; no digit or letter is.
#[inline]
fn is_between(byte: u8) -> bool {
    byte <= b','
}
