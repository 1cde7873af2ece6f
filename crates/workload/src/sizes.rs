//! How large the requests of a job are: one size, a range, or a split.

use crate::error::{option, WorkloadError};
use crate::job::JobOptions;
use crate::number::byte_count;
use crate::reader::units::LARGEST;
use wordline_base::Stream;

const SECTOR: u64 = 512;
/// Size of reads, writes or trims for which nothing is said, as in fio.
const DEFAULT: u32 = 4096;
/// Most sizes in a split, as in fio.
const MOST_SPLITS: usize = 64;

/// Sizes of the requests of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    Fixed(u32),
    /// `least`, twice that, and so on: `count` sizes, all alike likely.
    Range {
        least: u32,
        count: u32,
    },
    /// Sizes, each with the sum of its percentage and all before it; the last sum is 100.
    Split(Vec<(u32, u32)>),
}

impl Sizes {
    /// The smallest size.
    pub fn least(&self) -> u32 {
        match self {
            Sizes::Fixed(size) | Sizes::Range { least: size, .. } => *size,
            Sizes::Split(list) => list.iter().map(|(size, _)| *size).min().unwrap_or(DEFAULT),
        }
    }

    /// A size of at most `room` bytes, which the smallest size must not exceed.
    #[inline]
    pub fn draw(&self, random: &mut Stream, room: u64) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Range { least, count } => {
                let fitting = (room / u64::from(*least)).min(u64::from(*count));
                least * (random.below(fitting) + 1) as u32
            }
            Sizes::Split(list) => loop {
                let draw = random.below(100) as u32;
                let (size, _) = list[list.partition_point(|&(_, sum)| sum <= draw)];
                if u64::from(size) <= room {
                    break size;
                }
            },
        }
    }

    /// Words for the description of a run.
    pub fn describe(&self) -> serde_json::Value {
        match self {
            Sizes::Fixed(size) => (*size).into(),
            Sizes::Range { least, count } => format!("{least}-{}", u64::from(*least) * u64::from(*count)).into(),
            Sizes::Split(list) => {
                let mut before = 0;
                let parts = list.iter().map(|&(size, sum)| {
                    let share = sum - std::mem::replace(&mut before, sum);
                    format!("{size}/{share}")
                });
                parts.collect::<Vec<_>>().join(":").into()
            }
        }
    }
}

/// Splits `text` at its commas into reads, writes and trims, as fio does: a missing end repeats what is before it, and nothing
/// between two commas is `None`.
///
/// `None` when there are more than three.
pub(crate) fn directions(text: &str) -> Option<[Option<&str>; 3]> {
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    let given = |at: usize| Some(parts[at.min(parts.len() - 1)]).filter(|part| !part.is_empty());
    (parts.len() <= 3).then(|| [given(0), given(1), given(2)])
}

/// How the sizes of one direction are written.
type Parse = fn(&str) -> Result<Sizes, String>;

/// The sizes of reads, writes and trims of `job`; `key` makes the full name of an option.
pub(crate) fn sizes(job: &JobOptions, key: &dyn Fn(&str) -> String) -> Result<[Sizes; 3], WorkloadError> {
    let (name, text, one): (_, _, Parse) = match (&job.bssplit, &job.bsrange) {
        (Some(_), Some(range)) => {
            return Err(option(&key("bsrange"), format!("{range:?}"), "there is a bssplit as well; give one of them"))
        }
        (Some(text), None) => ("bssplit", text, split),
        (None, Some(text)) => ("bsrange", text, range),
        (None, None) => ("bs", &job.bs.0, fixed),
    };
    let wrong = |problem: String| option(&key(name), format!("{text:?}"), problem);
    let parts = directions(text)
        .ok_or_else(|| wrong("must be one for all, or up to three for reads, writes and trims, \"4k,128k\"".into()))?;
    let mut sizes = [const { Sizes::Fixed(DEFAULT) }; 3];
    for (size, part) in sizes.iter_mut().zip(parts) {
        if let Some(part) = part {
            *size = one(part).map_err(&wrong)?;
        }
    }
    if text.trim().is_empty() {
        return Err(wrong("is empty; give a number of bytes such as 4096 or \"4k\"".into()));
    }
    Ok(sizes)
}

/// One size.
fn bytes(text: &str) -> Result<u32, String> {
    let size = byte_count(text).unwrap_or(0);
    if size == 0 || !size.is_multiple_of(SECTOR) || size > LARGEST {
        return Err(format!("must be a multiple of 512 bytes such as 4096 or \"4k\", up to {LARGEST}"));
    }
    Ok(size as u32)
}

fn fixed(text: &str) -> Result<Sizes, String> {
    bytes(text).map(Sizes::Fixed)
}

fn range(text: &str) -> Result<Sizes, String> {
    let (from, to) = text.split_once(['-', ':']).ok_or("must be two sizes, \"4k-64k\"")?;
    let (from, to) = (bytes(from)?, bytes(to)?);
    let (least, most) = (from.min(to), from.max(to));
    Ok(Sizes::Range { least, count: most / least })
}

fn split(text: &str) -> Result<Sizes, String> {
    let shares = shares(text)?;
    if shares.len() > MOST_SPLITS {
        return Err(format!("has {} sizes; at most {MOST_SPLITS} can be given", shares.len()));
    }
    let mut list = Vec::new();
    let mut sum = 0;
    for (size, percent) in shares {
        if size.is_empty() {
            return Err("has a part without a size; write a size before each `/` and none after the last, \
                \"4k/60:64k/40\""
                .into());
        }
        let size = bytes(size)?;
        if percent > 0 {
            sum += percent;
            list.push((size, sum));
        }
    }
    Ok(Sizes::Split(list))
}

/// Parts with percentages, `a/60:b/:c/`: those left blank share evenly what is left, the last of them also what does not divide.
pub(crate) fn shares(text: &str) -> Result<Vec<(&str, u32)>, String> {
    let mut parts = Vec::new();
    for part in text.split(':').map(str::trim) {
        let (what, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim() {
            "" => None,
            number => match number.strip_suffix('%').unwrap_or(number).parse::<u32>() {
                Ok(percent) if percent <= 100 => Some(percent),
                _ => return Err(format!("`{number}` must be a percentage, 0 to 100, in whole numbers")),
            },
        };
        parts.push((what.trim(), percent));
    }
    let filled = fill(&parts.iter().map(|(_, percent)| *percent).collect::<Vec<_>>())?;
    Ok(parts.iter().map(|(what, _)| *what).zip(filled).collect())
}

/// Fills blank percentages up to a sum of 100.
pub(crate) fn fill(percents: &[Option<u32>]) -> Result<Vec<u32>, String> {
    let given: u32 = percents.iter().flatten().sum();
    let blanks = percents.iter().filter(|percent| percent.is_none()).count() as u32;
    if given > 100 || (blanks == 0 && given < 100) {
        return Err(format!("the percentages add up to {given}; they must add up to 100"));
    }
    let mut left = (100 - given, blanks);
    let mut next = || {
        let share = left.0 / left.1;
        left = (left.0 - share, left.1 - 1);
        share
    };
    Ok(percents.iter().map(|percent| percent.unwrap_or_else(&mut next)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_repeat_what_is_before_them() {
        assert_eq!(directions("4k"), Some([Some("4k"); 3]));
        assert_eq!(directions("4k,8k"), Some([Some("4k"), Some("8k"), Some("8k")]));
        assert_eq!(directions("8k,32k,"), Some([Some("8k"), Some("32k"), None]));
        assert_eq!(directions(",8k"), Some([None, Some("8k"), Some("8k")]));
        assert_eq!(directions("1,2,3,4"), None);
    }

    #[test]
    fn blank_percentages_share_the_rest() {
        assert_eq!(split("4k/50:1k/:32k/"), Ok(Sizes::Split(vec![(4096, 50), (1024, 75), (32_768, 100)])));
        assert_eq!(shares("a:b:c"), Ok(vec![("a", 33), ("b", 33), ("c", 34)]));
        assert_eq!(split("4k/0:8k/100"), Ok(Sizes::Split(vec![(8192, 100)])));
        assert!(split("4k/50:8k/60").unwrap_err().contains("add up to 110"));
        assert!(split("4k/50:8k/30").unwrap_err().contains("add up to 80"));
        assert!(split("4k/x").unwrap_err().contains("`x` must be a percentage"));
    }

    #[test]
    fn ranges_may_be_turned_round() {
        assert_eq!(range("16k-4k"), Ok(Sizes::Range { least: 4096, count: 4 }));
        assert_eq!(range("1k:4k"), Ok(Sizes::Range { least: 1024, count: 4 }));
        assert!(range("4k").is_err() && range("4k-1").is_err());
    }

    #[test]
    fn draws_fit_and_follow_their_shares() {
        let mut random = Stream::new(1, "sizes-test", 0);
        let sizes = split("4k/60:8k/30:64k/10").unwrap();
        let draws: Vec<_> = (0..100_000).map(|_| sizes.draw(&mut random, 1 << 30)).collect();
        for (size, share) in [(4096, 0.6), (8192, 0.3), (65_536, 0.1)] {
            let seen = draws.iter().filter(|&&draw| draw == size).count() as f64 / 1e5;
            assert!((seen - share).abs() < 0.01, "{size}: {seen}");
        }
        assert!((0..1000).all(|_| sizes.draw(&mut random, 8192) <= 8192));
        let range = range("4k-64k").unwrap();
        let mean = (0..100_000).map(|_| f64::from(range.draw(&mut random, 1 << 30))).sum::<f64>() / 1e5;
        assert!((mean / (4096.0 * 8.5) - 1.0).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| range.draw(&mut random, 9000) <= 8192));
    }
}
