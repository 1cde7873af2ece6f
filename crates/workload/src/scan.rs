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
    /// The same of a time of 16 digits or more.
    long: Long,
}

/// All but the last eight digits of a long number.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    /// Its last eight digits.
    last: [u8; 8],
    /// Where these begin.
    from: u8,
    value: u64,
}

/// Most digits of a number whose beginning is kept.
const MOST_DIGITS: usize = 19;

impl<'a> Scan<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, eight: ([b'0'; 8], 0), long: Long::default() }
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

    /// These bytes, eight at most, if they are next; no if the end of what has been read is near.
    #[inline(always)]
    pub fn word<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        const { assert!(N > 0 && N <= 8, "they are compared as one number") };
        let unused = 64 - 8 * N as u32;
        let wanted = word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        match self.rest.first_chunk() {
            Some(next) if u64::from_le_bytes(*next) << unused == wanted << unused => {
                self.rest = &self.rest[N..];
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
            if let Some(value) = self.long_number() {
                return Some(value);
            }
            let before = self.rest;
            self.rest = &self.rest[8..];
            let value = self.more(self.eight.1)?;
            let count = before.len() - self.rest.len();
            if count >= 16 {
                self.long = long_beginning(&before[..count], value);
            }
            return Some(value);
        }
        // It may be part of what a long number began with.
        self.long = Long::default();
        let (value, count) = self.digits()?;
        if count < 8 {
            return (count > 0).then_some(value);
        }
        self.eight = (*bytes, value);
        self.more(value)
    }

    /// A long number, if all but its last eight digits are as they were before; its first eight are.
    #[inline(always)]
    fn long_number(&mut self) -> Option<u64> {
        const ROOM: usize = MOST_DIGITS + 5;
        let bytes = self.rest.first_chunk::<ROOM>()?;
        let from = usize::from(self.long.from & 3);
        let word = u64::from_le_bytes(*bytes[from + 8..].first_chunk()?) ^ ZEROS;
        if bytes[from..from + 8] != self.long.last || others(word) != 0 || bytes[from + 16].is_ascii_digit() {
            return None;
        }
        self.rest = &self.rest[from + 16..];
        Some(self.long.value + joined(word))
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

/// How a number of these digits, 16 or more, begins. It gets no scan, as below.
#[inline(never)]
fn long_beginning(digits: &[u8], value: u64) -> Long {
    match (digits.len(), digits[digits.len() - 16..].first_chunk()) {
        (16..=MOST_DIGITS, Some(last)) => {
            Long { last: *last, from: (digits.len() - 16) as u8, value: value - value % POWERS[8] }
        }
        _ => Long::default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_begin_as_others_did_are_read_as_any() {
        let mut random = wordline_base::Stream::new(1, "scan-test", 0);
        let mut numbers = vec![128_166_372_003_061_629_u64];
        for _ in 0..20_000 {
            let last = numbers[numbers.len() - 1];
            // Mostly a little later; else other digits in the middle or in front, or another length.
            let next = match random.below(16) {
                0 => last ^ 1 << random.below(60),
                1 => last / 10_u64.pow(random.below(19) as u32),
                2 => last % 10_u64.pow(random.below(19) as u32),
                3 => last.saturating_mul(10),
                4 => random.below(u64::MAX),
                _ => last.wrapping_add(random.below(20_000)),
            };
            // Numbers of 20 digits go the general way.
            numbers.push(next % 10_u64.pow(19));
        }
        let mut text = numbers.iter().fold(String::new(), |text, number| text + &number.to_string() + ",");
        text += "a line that is long enough to look at";
        let mut scan = Scan::new(text.as_bytes());
        for number in numbers {
            assert_eq!(scan.time(0), Some(u128::from(number)));
            assert_eq!(scan.expect(b','), Some(()));
        }
    }

    #[test]
    fn words_are_what_is_next() {
        let mut scan = Scan::new(b"Read,Write,28,12345678");
        assert!(!scan.word(b"Write,") && scan.word(b"Read,"));
        assert!(!scan.word(b"Read,") && scan.word(b"Write,"));
        assert!(!scan.word(b"2a,") && scan.word(b"28,"));
        assert!(scan.word(b"12345678") && scan.len() == 0);
    }
}
