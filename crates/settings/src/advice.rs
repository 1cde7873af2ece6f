//! Suggestions: the nearest word, and keys with a missing or different unit.

/// A unit as it ends a key, and as it is spoken.
pub(crate) struct Unit {
    pub suffix: &'static str,
    pub name: &'static str,
}

macro_rules! units {
    ($($suffix:literal $name:literal),* $(,)?) => { &[$(Unit { suffix: $suffix, name: $name }),*] };
}

/// Every unit that a key may end with.
const UNITS: &[Unit] = units![
    "ps" "picoseconds", "ns" "nanoseconds", "us" "microseconds", "ms" "milliseconds", "s" "seconds", "min" "minutes",
    "hours" "hours", "h" "hours", "days" "days", "years" "years", "cycles" "cycles",
    "bytes" "bytes", "kib" "KiB", "mib" "MiB", "gib" "GiB", "tib" "TiB", "pib" "PiB",
    "kb" "kB", "mb" "MB", "gb" "GB", "tb" "TB", "pb" "PB", "bits" "bits", "sectors" "sectors", "pages" "pages",
    "blocks" "blocks", "units" "units", "mt_s" "MT/s", "gt_s" "GT/s", "b_s" "bytes per second", "kb_s" "kB/s",
    "mb_s" "MB/s", "gb_s" "GB/s", "kib_s" "KiB/s", "mib_s" "MiB/s", "gib_s" "GiB/s", "gbit_s" "Gbit/s",
    "mbit_s" "Mbit/s", "iops" "requests per second", "hz" "Hz", "khz" "kHz", "mhz" "MHz", "ghz" "GHz",
    "v" "volts", "mv" "millivolts", "a" "amperes", "ma" "milliamperes", "ua" "microamperes", "w" "watts",
    "mw" "milliwatts", "uw" "microwatts", "j" "joules", "mj" "millijoules", "uj" "microjoules", "nj" "nanojoules",
    "pj" "picojoules", "pct" "percent", "percent" "percent", "ppm" "parts per million", "c" "degrees Celsius",
    "ev" "electronvolts",
];

/// The unit of this suffix, whatever its case.
pub(crate) fn unit(suffix: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|u| u.suffix.eq_ignore_ascii_case(suffix))
}

/// Splits a key into its stem and its unit; the longest unit wins, so that `rate_mt_s` is not in seconds.
pub(crate) fn split_unit(key: &str) -> Option<(&str, &'static Unit)> {
    let stem = |u: &Unit| key.strip_suffix(u.suffix)?.strip_suffix('_').filter(|stem| !stem.is_empty());
    UNITS.iter().filter_map(|u| Some((stem(u)?, u))).min_by_key(|(stem, _)| stem.len())
}

/// What to write instead of a key that lacks its unit or has another one.
pub(crate) fn unit_advice(word: &str, valid: &[&str]) -> Option<String> {
    let with_unit = valid.iter().find(|v| split_unit(v).is_some_and(|(stem, _)| stem == word));
    if let Some(right) = with_unit {
        return Some(format!("write '{right}' (the unit is part of the name)"));
    }
    let (stem, written) = split_unit(word)?;
    let (right, unit) = valid.iter().find_map(|v| split_unit(v).filter(|(s, _)| *s == stem).map(|(_, u)| (v, u)))?;
    let (from, to) = (written.name, unit.name);
    Some(format!("write '{right}': this key is in {to} ({}), so convert the value from {from}", unit.suffix))
}

/// The choice most like the word, if any is like it at all: `greddy` finds `greedy`, `Cost-Benefit` finds
/// `cost_benefit`. Of equals the first wins.
pub fn nearest<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    let word = normal(word);
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let mut best: Option<(f64, &str)> = None;
    for choice in choices.into_iter().filter(|c| c.len() <= LONGEST) {
        let likeness = likeness(&word, &normal(choice));
        if likeness > best.map_or(0.0, |(l, _)| l) {
            best = Some((likeness, choice));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Case and the kind of dash are not what people mean to say.
fn normal(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}

/// From 0, not alike, to 1, the same.
fn likeness(a: &str, b: &str) -> f64 {
    let longest = a.chars().count().max(b.chars().count());
    let edits = strsim::osa_distance(a, b);
    let similar = strsim::jaro_winkler(a, b);
    // A third of the letters may be wrong; Jaro-Winkler adds words with the same beginning, such as a plural.
    if edits * 3 <= longest || similar >= 0.9 {
        similar
    } else {
        0.0
    }
}

/// `did you mean 'x'? The presets are: a, b`, or as much of it as there is to say.
pub(crate) fn nearest_of(what: &str, word: &str, choices: &[String]) -> String {
    if choices.is_empty() {
        return format!("there are no {what}");
    }
    let list = format!("the {what} are: {}", choices.join(", "));
    match nearest(word, choices.iter().map(String::as_str)) {
        Some(near) => format!("did you mean '{near}'? {}{}", list[..1].to_uppercase(), &list[1..]),
        None => list,
    }
}
