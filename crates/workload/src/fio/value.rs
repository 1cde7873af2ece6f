//! Values of options as fio reads them: numbers with suffixes, times, percentages, lists.
//!
//! Checked against fio 3.33. Where its documentation and its code disagree (`4ki`), or where it silently cuts off a
//! fraction or a suffix (`1.5g` is 1 there, `4 k` is 4, `0x4k` is 4), the value is refused with what to write instead.

/// Factor of a suffix of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// `k` is 1024 and `kib` is 1000: fio's default.
    Old,
    /// `k` is 1000 and `kib` is 1024: `kb_base=1000`.
    Si,
}

/// Digits, decimal or hexadecimal, and the suffix behind them. A blank counts where it stands, so the text is to be as written.
fn digits(whole: &str) -> Result<(u64, &str), String> {
    let text = whole.trim();
    let (body, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(body) => (body, 16),
        None => (text, 10),
    };
    let end = body.find(|c: char| !c.is_digit(radix)).unwrap_or(body.len());
    if let Some(word) = ["$pagesize", "$mb_memory", "$ncpus"].iter().find(|word| text.contains(**word)) {
        return Err(format!("`{word}` depends on this machine; write the number"));
    }
    if text.starts_with('(') {
        return Err("sums in parentheses are not computed; write the number".to_owned());
    }
    if text.starts_with('-') {
        return Err("must not be negative".to_owned());
    }
    if end == 0 {
        return Err("must be a number".to_owned());
    }
    if body[end..].starts_with('.') {
        return Err("has a fraction, which fio would cut off; write a whole number with a smaller unit".to_owned());
    }
    let number = u64::from_str_radix(&body[..end], radix).map_err(|_| "is too large".to_owned())?;
    let (rest, suffix) = (&body[end..], body[end..].trim());
    if suffix.is_empty() {
        return Ok((number, suffix));
    }
    let without = |what: &str, instead: &str| {
        Err(format!("{what}, and fio then ignores the suffix `{suffix}` and uses {number}; write {instead}"))
    };
    if rest.starts_with(char::is_whitespace) {
        return without(&format!("has a blank before `{suffix}`"), &format!("`{number}{suffix}`"));
    }
    if whole.starts_with(char::is_whitespace) {
        return without("has a blank in front", &format!("`{text}` without it"));
    }
    if radix == 16 {
        return without("is hexadecimal", "the number with all its digits");
    }
    Ok((number, suffix))
}

/// A number with an optional suffix of bytes; counts take the same suffixes.
pub(crate) fn number(text: &str, base: Base) -> Result<u64, String> {
    let (number, suffix) = digits(text)?;
    let suffix = suffix.to_ascii_lowercase();
    let (prefix, unit) = suffix.split_at(usize::from(suffix.starts_with(['k', 'm', 'g', 't', 'p'])));
    let power = match prefix {
        "" => 0,
        one => "kmgtp".find(one).map_or(0, |at| at as u32 + 1),
    };
    let (old, si) = (1024_u64.checked_pow(power), 1000_u64.checked_pow(power));
    let factor = match (unit, base) {
        ("" | "b", Base::Old) => old,
        ("" | "b", Base::Si) => si,
        ("ib", Base::Old) if power > 0 => si,
        ("ib", Base::Si) if power > 0 => old,
        ("i", _) if power > 0 => {
            return Err(format!(
                "fio's documentation and fio itself take `{prefix}i` for different numbers; write `{prefix}`, or all digits"
            ))
        }
        _ => return Err(format!("`{suffix}` is no suffix of a number; they are k, m, g, t and p, with or without b")),
    };
    factor.and_then(|factor| number.checked_mul(factor)).ok_or_else(|| "is too large".to_owned())
}

/// A time in microseconds; without a suffix it is in `default` microseconds.
pub(crate) fn time_us(text: &str, default: u64) -> Result<u64, String> {
    let (number, suffix) = digits(text)?;
    let unit = match &suffix.to_ascii_lowercase()[..] {
        "" => default,
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "s" | "sec" => 1_000_000,
        "m" => 60 * 1_000_000,
        "h" => 3_600 * 1_000_000,
        "d" => 86_400 * 1_000_000,
        other => return Err(format!("`{other}` is no unit of time; they are d, h, m, s, ms and us")),
    };
    number.checked_mul(unit).ok_or_else(|| "is too large".to_owned())
}

/// Bytes as a plain number, or a percentage from 1 to 100 as it is.
pub(crate) fn bytes_or_percent(text: &str, base: Base) -> Result<String, String> {
    match text.trim().strip_suffix('%') {
        None => number(text, base).map(|bytes| bytes.to_string()),
        Some(percent) if percent.trim() != percent || text.starts_with(char::is_whitespace) => {
            let percent = percent.trim();
            Err(format!("has a blank, so fio reads it as {percent} bytes; write `{percent}%` without one"))
        }
        Some(percent) => match percent.trim().parse::<u32>() {
            Ok(percent @ 1..=100) => Ok(format!("{percent}%")),
            _ => Err("must be a percentage from 1% to 100%, in whole numbers".to_owned()),
        },
    }
}

/// A switch: 1 or 0; by its name alone it is on.
pub(crate) fn switch(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(_) => Err("must be 0 or 1".to_owned()),
    }
}

/// Every number of `text` between the given separators as plain bytes; empty places stay empty.
pub(crate) fn plain(text: &str, separators: &[char], base: Base) -> Result<String, String> {
    let mut out = String::new();
    for piece in text.split_inclusive(separators) {
        let (body, end) = match piece.strip_suffix(separators) {
            Some(body) => (body, &piece[body.len()..]),
            None => (piece, ""),
        };
        if !body.trim().is_empty() {
            out.push_str(&number(body, base).map_err(|problem| format!("`{}` {problem}", body.trim()))?.to_string());
        }
        out.push_str(end);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_fios() {
        for (text, old, si) in [
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4kib", 4000, 4096),
            (" 4096 ", 4096, 4096),
            ("4k ", 4096, 4000),
            ("1m", 1 << 20, 1_000_000),
            ("1MiB", 1_000_000, 1 << 20),
            ("2g", 2 << 30, 2_000_000_000),
            ("1T", 1 << 40, 1_000_000_000_000),
            ("1p", 1 << 50, 1_000_000_000_000_000),
            ("0x1000", 4096, 4096),
            ("0X1000", 4096, 4096),
        ] {
            assert_eq!((number(text, Base::Old), number(text, Base::Si)), (Ok(old), Ok(si)), "{text}");
        }
        for (text, wanted) in [
            ("", "must be a number"),
            ("k", "must be a number"),
            ("-4k", "must not be negative"),
            ("1.5g", "has a fraction"),
            ("4x", "`x` is no suffix"),
            ("4kk", "`kk` is no suffix"),
            ("4ib", "`ib` is no suffix"),
            ("4ki", "different numbers"),
            ("4 k", "has a blank before `k`, and fio then ignores the suffix `k` and uses 4; write `4k`"),
            ("4 kiB", "has a blank before `kiB`"),
            (" 4k", "has a blank in front, and fio then ignores the suffix `k` and uses 4; write `4k` without it"),
            ("0x10k", "is hexadecimal, and fio then ignores the suffix `k` and uses 16"),
            ("99999999999p", "too large"),
            ("99999999999999999999", "too large"),
            ("8*$mb_memory", "this machine"),
            ("(4*1024)", "parentheses"),
        ] {
            let problem = number(text, Base::Old).unwrap_err();
            assert!(problem.contains(wanted), "{text}: {problem}");
        }
    }

    #[test]
    fn times_have_a_default_unit() {
        let times =
            [("5", 5_000_000), ("5s", 5_000_000), ("1m", 60_000_000), ("2H", 7_200_000_000), ("1d", 86_400_000_000)];
        for (text, us) in times {
            assert_eq!(time_us(text, 1_000_000), Ok(us), "{text}");
        }
        assert_eq!((time_us("7", 1), time_us("7ms", 1), time_us("7usec", 1)), (Ok(7), Ok(7_000), Ok(7)));
        assert!(time_us("1.5", 1).unwrap_err().contains("fraction"));
        assert!(time_us("1 m", 1).unwrap_err().contains("fio then ignores the suffix `m`"));
        assert!(time_us("5min", 1).unwrap_err().contains("`min` is no unit"));
        assert!(time_us("999999999999999d", 1).unwrap_err().contains("too large"));
    }

    #[test]
    fn lists_become_plain_numbers() {
        assert_eq!(plain("4k-16k,32k", &['-', ':', ','], Base::Old), Ok("4096-16384,32768".to_owned()));
        assert_eq!(plain(",8k,", &[','], Base::Si), Ok(",8000,".to_owned()));
        assert_eq!(plain("4k/50:1k/:32k/", &['/', ':'], Base::Old), Ok("4096/50:1024/:32768/".to_owned()));
        assert_eq!(bytes_or_percent("20%", Base::Old), Ok("20%".to_owned()));
        assert!(bytes_or_percent("110%", Base::Old).is_err() && bytes_or_percent("0%", Base::Old).is_err());
        for text in ["20 %", " 20%"] {
            assert!(bytes_or_percent(text, Base::Old).unwrap_err().contains("fio reads it as 20 bytes"), "{text}");
        }
        assert!(plain("4k, 8k", &[','], Base::Old).unwrap_err().contains("`8k` has a blank in front"));
    }
}
