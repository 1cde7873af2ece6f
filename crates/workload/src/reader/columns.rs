//! Columns found by their names, in files and in tables: each field has one column, or the user names it.

/// A kind of column that would do.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// The key of `columns` that names such a column.
    pub key: &'a str,
    /// The name that the user gave for it.
    pub given: Option<&'a str>,
    /// The names under which it is looked for otherwise.
    pub usual: &'a [&'a str],
}

/// Why there is no telling which column is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// No column has the name that the user gave for this key.
    Missing {
        /// The key.
        key: String,
        /// The name.
        name: String,
    },
    /// Several columns would do; what is wrong, as a sentence.
    Several(String),
}

/// The one column of any of `kinds`: which kind, and its place among `names`; a kind for which the user gave a name comes before
/// all usual names. `what` says what is looked for.
///
/// # Errors
/// When a name that was given is not there, or several columns would do.
pub fn column(names: &[&str], what: &str, kinds: &[Kind]) -> Result<Option<(usize, usize)>, Unclear> {
    let mut given = kinds.iter().enumerate().filter_map(|(at, kind)| Some((at, kind.key, kind.given?)));
    if let Some((kind, key, name)) = given.next() {
        if let Some((_, other, _)) = given.next() {
            let both =
                format!("`columns.{key}` and `columns.{other}` both name a column with {what}; give one of the two");
            return Err(Unclear::Several(both));
        }
        return match places(names, name)[..] {
            [] => Err(Unclear::Missing { key: key.to_owned(), name: name.to_owned() }),
            [place] => Ok(Some((kind, place))),
            [first, second, ..] => Err(several(names, what, [first, second], kinds)),
        };
    }
    let usual = kinds.iter().enumerate().flat_map(|(at, kind)| kind.usual.iter().map(move |name| (at, *name)));
    let found: Vec<_> =
        usual.flat_map(|(kind, name)| places(names, name).into_iter().map(move |place| (kind, place))).collect();
    match found[..] {
        [(_, first), (_, second), ..] => Err(several(names, what, [first, second], kinds)),
        _ => Ok(found.first().copied()),
    }
}

/// Position of a name, ignoring case; an exact match comes first.
fn places(names: &[&str], wanted: &str) -> Vec<usize> {
    let all = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, name)| fits(name)).map(|(at, _)| at).collect()
    };
    let exact = all(&|name| name == wanted);
    if exact.is_empty() {
        all(&|name| name.eq_ignore_ascii_case(wanted))
    } else {
        exact
    }
}

#[cold]
fn several(names: &[&str], what: &str, [first, second]: [usize; 2], kinds: &[Kind]) -> Unclear {
    let (one, other) = (names[first], names[second]);
    Unclear::Several(if one == other {
        format!("columns {} and {} are both called {one}; give {what} a name of its own", first + 1, second + 1)
    } else {
        let keys: Vec<_> = kinds.iter().map(|kind| format!("`columns.{}`", kind.key)).collect();
        format!("{one} and {other} could both be {what}; say which column it is by {}", keys.join(" or "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["time", "lba", "Op", "op", "x", "x"];

    fn find(kinds: &[Kind]) -> Result<Option<(usize, usize)>, Unclear> {
        column(&NAMES, "the address", kinds)
    }

    fn kind<'a>(key: &'a str, given: Option<&'a str>, usual: &'a [&'a str]) -> Kind<'a> {
        Kind { key, given, usual }
    }

    #[test]
    fn one_column_is_found_and_two_are_told() {
        let offset = kind("offset", None, &["offset"]);
        assert_eq!(find(&[offset]), Ok(None));
        assert_eq!(find(&[offset, kind("lba", None, &["LBA"])]), Ok(Some((1, 1))));
        assert_eq!(find(&[kind("op", None, &["op"])]), Ok(Some((0, 3))), "as it is written");
        assert_eq!(find(&[kind("offset", Some("time"), &[]), kind("lba", None, &["lba"])]), Ok(Some((0, 0))));
        let missing = Unclear::Missing { key: "a".to_owned(), name: "z".to_owned() };
        assert_eq!(find(&[kind("a", Some("z"), &[])]), Err(missing));
        for (kinds, wanted) in [
            ([kind("time", None, &["time"]), kind("lba", None, &["lba"])], "time and lba could both be the address"),
            ([kind("a", Some("time"), &[]), kind("b", Some("lba"), &[])], "`columns.a` and `columns.b` both name"),
            ([kind("a", Some("x"), &[]), offset], "columns 5 and 6 are both called x"),
            ([kind("a", Some("OP"), &[]), offset], "Op and op could both be"),
        ] {
            let Err(Unclear::Several(text)) = find(&kinds) else { panic!("{kinds:?}") };
            assert!(text.contains(wanted), "{text}");
        }
    }
}
