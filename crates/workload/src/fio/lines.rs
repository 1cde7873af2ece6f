//! The lines of a job file: sections and options, each with its place, without interpretation.

use super::Wrong;
use crate::error::Place;

/// An option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub name: String,
    /// Text after the equals sign, if there is one.
    pub value: Option<String>,
    /// True if a blank is behind the equals sign, which makes fio misread some values.
    pub gap: bool,
    pub place: Place,
}

/// A section with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub name: String,
    pub line: usize,
    pub options: Vec<Written>,
}

/// Splits a job file into its sections.
pub(crate) fn sections(text: &str) -> Result<Vec<Section>, Wrong> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        // As in fio, a comment may begin anywhere.
        let line = whole.split([';', '#']).next().unwrap_or_default();
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        let column = line.chars().take_while(|c| c.is_whitespace()).count() + 1;
        let place = Place::Line(index + 1, column);
        if let Some(rest) = trimmed.strip_prefix('[') {
            sections.push(section(rest, index + 1, place)?);
            continue;
        }
        let written = written(trimmed, place);
        if written.value.is_none() && written.name.split_whitespace().next() == Some("include") {
            return Err(Wrong::new(
                written.place,
                trimmed,
                "job files are not included; put all options into one file",
            ));
        }
        match sections.last_mut() {
            Some(section) => section.options.push(written),
            None => {
                let problem = "is before the first section; start with [global], or with a [name] for a job";
                return Err(Wrong::new(written.place, trimmed, problem));
            }
        }
    }
    Ok(sections)
}

fn section(rest: &str, line: usize, place: Place) -> Result<Section, Wrong> {
    let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty() && !name.contains(['[', ']']));
    match name {
        None => Err(Wrong::new(place, &format!("[{rest}"), "must be the name of a job in brackets, or [global]")),
        Some(name) if name != "global" && name.starts_with("global") => {
            let problem =
                "fio takes every section whose name begins with `global` for [global]; write [global], or choose \
                           another name for the job";
            Err(Wrong::new(place, &format!("[{name}]"), problem))
        }
        Some(name) => Ok(Section { name: name.to_owned(), line, options: Vec::new() }),
    }
}

/// `name=value` or `name`.
pub(crate) fn written(text: &str, place: Place) -> Written {
    match text.split_once('=') {
        Some((name, value)) => Written {
            name: name.trim().to_owned(),
            value: Some(value.trim().to_owned()),
            gap: value.starts_with(char::is_whitespace),
            place,
        },
        None => Written { name: text.to_owned(), value: None, gap: false, place },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_spaces_are_fios() {
        let text = "; head\n[global]\n  bs = 4k ; tail\n\n[a b]\r\nstonewall\nname=x=y # tail\n";
        let got = sections(text).unwrap();
        assert_eq!(got.iter().map(|s| (&s.name[..], s.line)).collect::<Vec<_>>(), [("global", 2), ("a b", 5)]);
        let bs = Written { name: "bs".into(), value: Some("4k".into()), gap: true, place: Place::Line(3, 3) };
        assert_eq!(got[0].options, [bs]);
        assert_eq!((&got[1].options[0].name[..], &got[1].options[0].value), ("stonewall", &None));
        assert_eq!(got[1].options[1].value.as_deref(), Some("x=y"));
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, line, wanted) in [
            ("bs=4k\n[a]\n", 1, "before the first section"),
            ("[a]\n[b\n", 2, "must be the name of a job in brackets"),
            ("[]\n", 1, "must be the name of a job in brackets"),
            ("\n[globals]\n", 2, "write [global]"),
            ("[a]\ninclude other.fio\n", 2, "not included"),
        ] {
            let wrong = sections(text).unwrap_err();
            assert!(matches!(wrong.place, Place::Line(at, _) if at == line), "{wrong:?}");
            assert!(wrong.problem.contains(wanted), "{wrong:?}");
        }
    }
}
