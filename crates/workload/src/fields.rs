//! Splitting a line into its fields without copying.

/// Most fields of a line that are kept; further ones are only counted.
pub(crate) const MOST: usize = 32;

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One byte between two fields; fields may be empty.
    Byte(u8),
    /// Any run of blanks and tabs; there are no empty fields.
    Blanks,
}

impl Separator {
    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Separator::Byte(b'\t') => "tabs",
            Separator::Byte(b';') => "semicolons",
            Separator::Byte(_) => "commas",
            Separator::Blanks => "blanks",
        }
    }
}

/// Splits `line` into `fields`, at most as many as there is room for; returns how many the line really has.
///
/// Blanks around fields are cut off.
#[inline]
pub(crate) fn split<'a>(line: &'a [u8], separator: Separator, fields: &mut [&'a [u8]]) -> usize {
    let mut count = 0;
    let mut keep = |field: &'a [u8]| {
        if let Some(place) = fields.get_mut(count) {
            *place = field;
        }
        count += 1;
    };
    match separator {
        Separator::Byte(byte) => {
            let mut from = 0;
            each_of([byte; 2], line, |at| {
                keep(trim(&line[from..at]));
                from = at + 1;
            });
            keep(trim(&line[from..]));
        }
        Separator::Blanks => {
            let mut from = 0;
            each_of([b' ', b'\t'], line, |at| {
                if at > from {
                    keep(&line[from..at]);
                }
                from = at + 1;
            });
            if from < line.len() {
                keep(&line[from..]);
            }
        }
    }
    count
}

/// Gives the places of two bytes, which may be the same one.
///
/// Fields are short: a search for the next separator would cost more to begin than to do, so eight bytes are compared at once.
#[inline]
fn each_of([one, other]: [u8; 2], line: &[u8], mut found: impl FnMut(usize)) {
    let (words, rest) = line.as_chunks::<8>();
    let (ones, others) = (u64::from_le_bytes([one; 8]), u64::from_le_bytes([other; 8]));
    for (n, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let mut hits = zeros(word ^ ones);
        if one != other {
            hits |= zeros(word ^ others);
        }
        while hits != 0 {
            found(n * 8 + hits.trailing_zeros() as usize / 8);
            hits &= hits - 1;
        }
    }
    for (n, byte) in rest.iter().enumerate() {
        if *byte == one || *byte == other {
            found(words.len() * 8 + n);
        }
    }
}

/// The highest bit of each byte that is zero.
#[inline]
fn zeros(word: u64) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    !(((word & LOW) + LOW) | word | LOW)
}

/// Cuts off blanks; the common case has none.
#[inline]
fn trim(field: &[u8]) -> &[u8] {
    match field {
        [only] if *only > b' ' => field,
        [first, .., last] if *first > b' ' && *last > b' ' => field,
        _ => field.trim_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str, separator: Separator) -> (Vec<String>, usize) {
        let mut fields = [&b""[..]; 4];
        let count = split(line.as_bytes(), separator, &mut fields);
        let text = |f: &&[u8]| String::from_utf8(f.to_vec()).unwrap();
        (fields[..count.min(4)].iter().map(text).collect(), count)
    }

    #[test]
    fn both_kinds_of_separators() {
        let comma = Separator::Byte(b',');
        assert_eq!(parts("a, b ,,d", comma), (vec!["a".into(), "b".into(), String::new(), "d".into()], 4));
        assert_eq!(parts("", comma), (vec![String::new()], 1));
        assert_eq!(parts("1,2,3,4,5,6", comma).1, 6);
        assert_eq!(parts("  a \t b  c ", Separator::Blanks), (vec!["a".into(), "b".into(), "c".into()], 3));
        assert_eq!(parts("", Separator::Blanks), (vec![], 0));
    }

    #[test]
    fn separators_are_found_wherever_they_are() {
        let mut random = wordline_base::Stream::new(1, "fields-test", 0);
        for _ in 0..20_000 {
            let length = random.below(40) as usize;
            let near = [b',', b' ', b'\t', b',' + 1, b',' - 1, b',' ^ 0x80, 0, 0xff, 0x80];
            let line: Vec<u8> = (0..length).map(|_| near[random.below(9) as usize]).collect();
            for pair in [[b','; 2], [b' ', b'\t']] {
                let mut places = Vec::new();
                each_of(pair, &line, |at| places.push(at));
                let expected: Vec<usize> = (0..length).filter(|&at| pair.contains(&line[at])).collect();
                assert_eq!(places, expected, "{line:?}");
            }
        }
    }
}
