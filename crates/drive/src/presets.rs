//! The presets of `drives/`, embedded in the program.

use include_dir::{include_dir, Dir};

static DRIVES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../drives");

/// Names of all presets, sorted.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = DRIVES
        .files()
        .filter(|file| file.path().extension().is_some_and(|ext| ext == "toml"))
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The preset of a name: its file name for messages, and its text.
#[must_use]
pub fn text(name: &str) -> Option<(String, String)> {
    let file = DRIVES.get_file(format!("{name}.toml"))?;
    Some((format!("drives/{name}.toml"), file.contents_utf8()?.to_owned()))
}
