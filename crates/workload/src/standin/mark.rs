//! The mark that distinguishes a stand-in from a recorded trace.
//!
//! A CSV trace has it in its first comments, a Parquet table in its metadata; every other format has a file of JSON beside it.

use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Start of a mark.
const SIGN: &str = "stand-in:";
/// The longest mark.
const LONGEST: u64 = 64 << 10;

/// A mark: lines of text.
#[must_use]
pub fn mark(version: &str, asked: &Value, arrivals: &str) -> String {
    format!(
        "{SIGN} made by wordline {version} from published statistics; not a recorded trace\nasked for: {asked}\narrivals: {arrivals}"
    )
}

/// The file that marks a trace whose format cannot.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".stand-in.json");
    name.into()
}

/// The mark of the trace at `path`, which begins with `bytes`, or is a table with `note`; none of a recorded one.
pub(crate) fn of(path: &Path, bytes: &[u8], note: Option<&str>) -> Option<String> {
    let own = note.map(str::to_owned).or_else(|| Some(comments(bytes)));
    own.filter(|mark| mark.starts_with(SIGN)).or_else(|| {
        let mut text = String::new();
        File::open(beside(path)).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        let told: Value = serde_json::from_str(&text).ok()?;
        Some(told.get("mark")?.as_str()?.to_owned())
    })
}

/// The comments that a text begins with, without their signs.
pub(crate) fn comments(bytes: &[u8]) -> String {
    let lines = bytes.split(|&byte| byte == b'\n').map_while(|line| line.strip_prefix(b"# "));
    let lines: Vec<_> = lines.map(String::from_utf8_lossy).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_comments_and_in_notes_and_nothing_else_is_one() {
        let mark = mark("1.0", &Value::from(1), "even");
        let text: String = mark.lines().map(|line| format!("# {line}\n")).collect::<String>() + "time,op\n# later\n";
        let nowhere = Path::new("no-such-trace.csv");
        assert_eq!(of(nowhere, text.as_bytes(), None).as_deref(), Some(mark.as_str()));
        assert_eq!(of(nowhere, b"PAR1", Some(&mark)).as_deref(), Some(mark.as_str()));
        assert_eq!(of(nowhere, b"# a comment\n0,1\n", None), None);
        assert_eq!(of(nowhere, b"PAR1", Some("something else")), None);
        assert_eq!(of(nowhere, b"", None), None);
    }
}
