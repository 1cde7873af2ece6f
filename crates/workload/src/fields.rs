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
            for at in memchr::memchr_iter(byte, line) {
                keep(trim(&line[from..at]));
                from = at + 1;
            }
            keep(trim(&line[from..]));
        }
        Separator::Blanks => {
            let mut from = 0;
            for at in memchr::memchr2_iter(b' ', b'\t', line) {
                if at > from {
                    keep(&line[from..at]);
                }
                from = at + 1;
            }
            if from < line.len() {
                keep(&line[from..]);
            }
        }
    }
    count
}

/// Cuts off blanks; the common case has none.
#[inline]
fn trim(field: &[u8]) -> &[u8] {
    match field {
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
}
