//! Numbers from bytes: whole numbers, exact decimal times and byte counts with fio's suffixes.
//!
//! Times never pass through floating point: a decimal is read as an integer and scaled by a power of ten, so `26.214000`
//! milliseconds are 26,214,000,000 ps and a FILETIME keeps all its ticks.

/// Reason why bytes are not a number of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotNumber {
    /// Nothing there.
    Missing,
    /// A minus sign in front of a number.
    Negative,
    /// `nan`, `inf` and their relatives.
    NotFinite,
    /// A decimal point or exponent where a whole number belongs.
    Fraction,
    /// Anything else than a number.
    Other,
    /// A number beyond the range.
    TooLarge,
}

impl NotNumber {
    /// Message for the user, given the expected kind.
    #[cold]
    pub fn explain(self, wanted: &str) -> String {
        match self {
            NotNumber::Missing => format!("empty; expected {wanted}"),
            NotNumber::Negative => format!("must not be negative; expected {wanted}"),
            NotNumber::NotFinite => format!("not a finite number; expected {wanted}"),
            NotNumber::Fraction => format!("has a fraction; expected {wanted}"),
            NotNumber::Other => format!("not a number; expected {wanted}"),
            NotNumber::TooLarge => format!("too large; expected {wanted}"),
        }
    }
}

/// Finds out why a number failed to parse; only called on the way to an error.
#[cold]
fn diagnose(text: &[u8]) -> NotNumber {
    let body = text.strip_prefix(b"-").unwrap_or(text);
    let lower = body.to_ascii_lowercase();
    if text.is_empty() {
        NotNumber::Missing
    } else if lower.starts_with(b"nan") || lower.starts_with(b"inf") {
        NotNumber::NotFinite
    } else if body.len() < text.len() && body.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
        NotNumber::Negative
    } else if body.iter().all(u8::is_ascii_digit) && !body.is_empty() {
        NotNumber::TooLarge
    } else if std::str::from_utf8(body).is_ok_and(|s| s.parse::<f64>().is_ok()) {
        NotNumber::Fraction
    } else {
        NotNumber::Other
    }
}

/// A whole number.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Result<u64, NotNumber> {
    // Up to 19 digits cannot overflow.
    if text.is_empty() || text.len() > 19 {
        return long_whole(text);
    }
    digits(text).ok_or_else(|| diagnose(text))
}

/// The value of at most 19 bytes that are all digits.
#[inline]
fn digits(text: &[u8]) -> Option<u64> {
    let (eights, mut rest) = text.as_chunks::<8>();
    let mut value = 0;
    for eight in eights {
        value = value * 100_000_000 + eight_digits(u64::from_le_bytes(*eight))?;
    }
    if let Some((four, others)) = rest.split_first_chunk::<4>() {
        // Four zeros come before them.
        value = value * 10_000 + eight_digits(u64::from(u32::from_le_bytes(*four)) << 32 | 0x3030_3030)?;
        rest = others;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// The value of eight bytes that are all digits; the lowest byte is the first digit.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const UPPER: u64 = u64::from_le_bytes([0xf0; 8]);
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    // A byte is a digit if its upper half is 3, and remains so when 6 is added. A carry needs a byte whose upper half is not 3.
    let above = word.wrapping_add(u64::from_le_bytes([6; 8]));
    if word & UPPER != ZEROS || above & UPPER != ZEROS {
        return None;
    }
    Some(joined(word - ZEROS))
}

/// The number of eight digits, each of them a byte from 0 to 9; the lowest byte is the first digit.
#[inline]
pub(crate) fn joined(digits: u64) -> u64 {
    // Neighbours are joined three times: to numbers of two digits, of four and of eight. What is above 64 bits is not used.
    let twos = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

#[cold]
fn long_whole(text: &[u8]) -> Result<u64, NotNumber> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(diagnose(text));
    }
    std::str::from_utf8(text).ok().and_then(|s| s.parse().ok()).ok_or(NotNumber::TooLarge)
}

/// The powers of ten.
pub(crate) const POWERS: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut n = 1;
    while n < 20 {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};

/// Times are refused from here on: far beyond any clock, and sums of them still fit 128 bits.
const LARGEST_PS: u128 = 1 << 110;

/// A decimal in a unit of `10^unit` ps, in whole picoseconds; what is finer is rounded to the nearest.
///
/// Accepts digits, an optional fraction and an optional exponent.
#[inline]
pub(crate) fn time_ps(text: &[u8], unit: u32) -> Result<u128, NotNumber> {
    let mut value = 0_u64;
    let mut at = 0;
    for eight in text.as_chunks::<8>().0.iter().take(2) {
        let Some(more) = eight_digits(u64::from_le_bytes(*eight)) else { break };
        value = value * 100_000_000 + more;
        at += 8;
    }
    while at < text.len() && at < 19 {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
    }
    if at == 0 {
        return slow_time_ps(text, unit);
    }
    if at == text.len() {
        return Ok(u128::from(value) * u128::from(POWERS[unit as usize]));
    }
    let fraction = &text[at + 1..];
    if text[at] != b'.' || fraction.len() > unit as usize {
        return slow_time_ps(text, unit);
    }
    let Some(part) = digits(fraction) else { return slow_time_ps(text, unit) };
    let part = part * POWERS[unit as usize - fraction.len()];
    Ok(u128::from(value) * u128::from(POWERS[unit as usize]) + u128::from(part))
}

/// The general case: any number of digits, and an exponent.
#[cold]
fn slow_time_ps(text: &[u8], unit: u32) -> Result<u128, NotNumber> {
    let mut mantissa = 0_u128;
    let mut exponent = i64::from(unit);
    let mut digits = 0;
    let mut point = false;
    let mut at = 0;
    // The first digit that no longer fits rounds the number; all further ones only shift it.
    let mut dropped = None;
    while at < text.len() {
        match text[at] {
            byte @ b'0'..=b'9' => {
                digits += 1;
                if mantissa < LARGEST_PS {
                    mantissa = mantissa * 10 + u128::from(byte - b'0');
                    exponent -= i64::from(point);
                } else {
                    dropped = dropped.or(Some(byte));
                    exponent += i64::from(!point);
                }
            }
            b'.' if !point => point = true,
            _ => break,
        }
        at += 1;
    }
    if digits == 0 {
        return Err(diagnose(text));
    }
    if at < text.len() {
        if !matches!(text[at], b'e' | b'E') {
            return Err(diagnose(text));
        }
        let power = std::str::from_utf8(&text[at + 1..]).ok().and_then(|s| s.parse::<i64>().ok());
        exponent = exponent.saturating_add(power.ok_or_else(|| diagnose(text))?);
    }
    if dropped.is_some_and(|byte| byte >= b'5') {
        mantissa += 1;
    }
    if mantissa == 0 {
        return Ok(0);
    }
    if exponent < 0 {
        let mut rest = exponent.unsigned_abs();
        if rest > 40 {
            return Ok(0);
        }
        while rest > 1 {
            mantissa /= 10;
            rest -= 1;
        }
        return Ok((mantissa + 5) / 10);
    }
    for _ in 0..exponent.min(64) {
        mantissa = mantissa.checked_mul(10).ok_or(NotNumber::TooLarge)?;
    }
    if mantissa < LARGEST_PS && exponent <= 64 {
        Ok(mantissa)
    } else {
        Err(NotNumber::TooLarge)
    }
}

/// A byte count with an optional suffix in fio's 1024 base: `4k`, `128K`, `1m`, `2g`, `1t`, also `4kb` and `4kib`.
pub(crate) fn byte_count(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let shift = match lower[split..].trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" | "ki" => 10,
        "m" | "mb" | "mib" | "mi" => 20,
        "g" | "gb" | "gib" | "gi" => 30,
        "t" | "tb" | "tib" | "ti" => 40,
        "p" | "pb" | "pib" | "pi" => 50,
        _ => return None,
    };
    whole(&lower.as_bytes()[..split]).ok()?.checked_mul(1 << shift)
}

/// Picoseconds as seconds for a message, without trailing zeros.
pub(crate) fn seconds(ps: u128) -> String {
    let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!(whole(b"0"), Ok(0));
        assert_eq!(whole(b"128166385295514663"), Ok(128_166_385_295_514_663));
        assert_eq!(whole(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), Err(NotNumber::TooLarge));
        assert_eq!(whole(b"-5"), Err(NotNumber::Negative));
        assert_eq!(whole(b""), Err(NotNumber::Missing));
        assert_eq!(whole(b"NaN"), Err(NotNumber::NotFinite));
        assert_eq!(whole(b"8.5"), Err(NotNumber::Fraction));
        assert_eq!(whole(b"0x10"), Err(NotNumber::Other));
        assert_eq!(whole(b"+5"), Err(NotNumber::Fraction));
    }

    #[test]
    fn digits_are_read_several_at_once() {
        let mut random = wordline_base::Stream::new(1, "number-test", 0);
        let near = [b'0', b'9', b'0' - 1, b'9' + 1, 0, 0xff, 0xb0, 0x3f, 0xfa];
        for _ in 0..100_000 {
            let length = random.below(19) as usize + 1;
            let mut text: Vec<u8> = (0..length).map(|_| b'0' + random.below(10) as u8).collect();
            if random.below(2) == 0 {
                text[random.below(length as u64) as usize] = near[random.below(9) as usize];
            }
            let expected = text
                .iter()
                .try_fold(0_u64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')));
            assert_eq!(whole(&text).ok(), expected, "{text:?}");
            let time = expected.map(|value| u128::from(value) * 1000);
            if text.iter().all(|byte| *byte != b'.') {
                assert_eq!(time_ps(&text, 3).ok(), time, "{text:?}");
            }
            let fraction = [b"7.", &text[..]].concat();
            let places = 10_u128.pow(text.len() as u32);
            let time = expected.map(|value| 7 * 10_u128.pow(19) + u128::from(value) * (10_u128.pow(19) / places));
            if text.len() <= 12 {
                assert_eq!(time_ps(&fraction, 19).ok(), time, "{fraction:?}");
            }
        }
    }

    #[test]
    fn decimal_times_are_exact() {
        assert_eq!(time_ps(b"26.214000", 9), Ok(26_214_000_000));
        assert_eq!(time_ps(b"128166385295514663", 5), Ok(12_816_638_529_551_466_300_000));
        assert_eq!(time_ps(b"1398403999.646690157", 12), Ok(1_398_403_999_646_690_157_000));
        assert_eq!(time_ps(b".5", 12), Ok(500_000_000_000));
        assert_eq!(time_ps(b"5.", 3), Ok(5_000));
        assert_eq!(time_ps(b"1.5e+03", 3), Ok(1_500_000));
        assert_eq!(time_ps(b"15e-1", 12), Ok(1_500_000_000_000));
        assert_eq!(time_ps(b"0.12345678901249", 12), Ok(123_456_789_012));
        assert_eq!(time_ps(b"0.1234567890125", 12), Ok(123_456_789_013));
        assert_eq!(time_ps(b"0e99", 12), Ok(0));
        assert_eq!(time_ps(b"1e-99", 12), Ok(0));
        assert_eq!(time_ps(b"12345678901234567890123", 0), Ok(12_345_678_901_234_567_890_123));
    }

    #[test]
    fn times_that_are_none() {
        assert_eq!(time_ps(b"-1.0", 9), Err(NotNumber::Negative));
        assert_eq!(time_ps(b"nan", 9), Err(NotNumber::NotFinite));
        assert_eq!(time_ps(b"-inf", 9), Err(NotNumber::NotFinite));
        assert_eq!(time_ps(b"1e40", 9), Err(NotNumber::TooLarge));
        assert_eq!(time_ps(b"1e9999999999999999999", 9), Err(NotNumber::Fraction));
        assert_eq!(time_ps(b"1.2.3", 9), Err(NotNumber::Other));
        assert_eq!(time_ps(b"12:30", 9), Err(NotNumber::Other));
        assert_eq!(time_ps(b"", 9), Err(NotNumber::Missing));
        assert_eq!(time_ps(b".", 9), Err(NotNumber::Other));
    }

    #[test]
    fn byte_counts_have_fios_base() {
        assert_eq!(byte_count("4k"), Some(4096));
        assert_eq!(byte_count("128K"), Some(131_072));
        assert_eq!(byte_count("1 GiB"), Some(1 << 30));
        assert_eq!(byte_count("512"), Some(512));
        assert_eq!(byte_count("k"), None);
        assert_eq!(byte_count("4x"), None);
        assert_eq!(byte_count("99999999999p"), None);
    }
}
