//! Zones of a region with their shares of the requests: fio's `zoned` and `zoned_abs`.

use crate::number::byte_count;
use crate::sizes::{directions, fill};

/// Most zones, as in fio.
const MOST: usize = 256;

/// A zone, which begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneSpec {
    /// Percentage of the requests.
    pub share: u32,
    /// First byte behind it, counted from the start of the region.
    pub end: u64,
}

/// The zones of reads and of all else in a region of `region` bytes: `60/10:40/90`, requests in percent and size in percent or
/// (`absolute`) in bytes.
pub(crate) fn zones(text: &str, absolute: bool, region: u64) -> Result<[Vec<ZoneSpec>; 2], String> {
    let [reads, others, trims] = directions(text).ok_or("has more than three sets of zones")?;
    if trims != others {
        return Err("has zones for trims alone; give one set for all, or one for reads and one for all else".into());
    }
    let parse = |set: Option<&str>| zones_of(set.ok_or("has a set without zones")?, absolute, region);
    Ok([parse(reads)?, parse(others)?])
}

fn zones_of(text: &str, absolute: bool, region: u64) -> Result<Vec<ZoneSpec>, String> {
    let mut shares = Vec::new();
    let mut sizes = Vec::new();
    for part in text.split(':').map(str::trim) {
        let (share, size) =
            part.split_once('/').ok_or_else(|| format!("`{part}` must be share/size, such as 60/10"))?;
        shares.push(percentage(share)?);
        sizes.push(size.trim());
    }
    if shares.len() > MOST {
        return Err(format!("has {} zones; at most {MOST} can be given", shares.len()));
    }
    let ends = if absolute { ends_in_bytes(&sizes, region)? } else { ends_in_percent(&sizes, region)? };
    Ok(fill(&shares)?.into_iter().zip(ends).map(|(share, end)| ZoneSpec { share, end }).collect())
}

/// A whole percentage; `None` where it is left blank.
fn percentage(text: &str) -> Result<Option<u32>, String> {
    let text = text.trim();
    match text.strip_suffix('%').unwrap_or(text).parse::<u32>() {
        Ok(percent) if percent <= 100 => Ok(Some(percent)),
        _ if text.is_empty() => Ok(None),
        _ => Err(format!("`{text}` must be a percentage, 0 to 100, in whole numbers")),
    }
}

fn ends_in_percent(sizes: &[&str], region: u64) -> Result<Vec<u64>, String> {
    let percents = sizes.iter().map(|size| percentage(size)).collect::<Result<Vec<_>, _>>()?;
    let mut sum = 0;
    let end = |percent| {
        sum += u64::from(percent);
        (u128::from(region) * u128::from(sum) / 100) as u64
    };
    Ok(fill(&percents).map_err(|problem| format!("sizes: {problem}"))?.into_iter().map(end).collect())
}

fn ends_in_bytes(sizes: &[&str], region: u64) -> Result<Vec<u64>, String> {
    let mut end = 0_u64;
    let mut ends = Vec::new();
    for size in sizes {
        let bytes = byte_count(size).filter(|&bytes| bytes > 0);
        let bytes = bytes.ok_or_else(|| format!("`{size}` must be a number of bytes such as \"1g\""))?;
        end = end.saturating_add(bytes);
        ends.push(end);
    }
    if end > region {
        return Err(format!("the zones have {end} bytes together, and the region has {region}"));
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(share: u32, end: u64) -> ZoneSpec {
        ZoneSpec { share, end }
    }

    #[test]
    fn zones_lie_one_behind_another() {
        let both = vec![spec(60, 100), spec(30, 300), spec(8, 600), spec(2, 1000)];
        assert_eq!(zones("60/10:30/20:8/30:2/40", false, 1000), Ok([both.clone(), both]));
        let bytes = vec![spec(50, 1024), spec(50, 5120)];
        assert_eq!(zones("50/1k:50/4k", true, 8192), Ok([bytes.clone(), bytes]));
        let apart = zones("100/100,50/5:30/15:20/", false, 200);
        assert_eq!(apart, Ok([vec![spec(100, 200)], vec![spec(50, 10), spec(30, 40), spec(20, 200)]]));
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        for (text, absolute, wanted) in [
            ("60/10:30/20", false, "add up to"),
            ("60/10:40/20", false, "sizes: the percentages add up to 30"),
            ("60", false, "must be share/size"),
            ("60/x:40/90", false, "`x` must be a percentage"),
            ("50/1k:50/8k", true, "9216 bytes together"),
            ("100/0", true, "must be a number of bytes"),
            ("100/100,100/100,50/50:50/50", false, "for trims alone"),
        ] {
            let problem = zones(text, absolute, 8192).unwrap_err();
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
