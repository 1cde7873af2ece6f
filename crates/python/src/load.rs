//! A LOAD of the command line: a workload file, or a trace with options.

use crate::work::Failure;
use std::path::{Path, PathBuf};
use wordline_workload::LoadFile;

/// Reads a LOAD.
pub fn file(load: &str, sets: &[String]) -> Result<LoadFile, Failure> {
    let no_presets = |_: &str| None;
    let loaded = if load.ends_with(".toml") {
        wordline_settings::load_file::<LoadFile>(Path::new(load), sets, &no_presets, &[])
    } else {
        let text = format!("[trace]\nfile = {}\n", toml::Value::String(load.to_owned()));
        wordline_settings::load_text::<LoadFile>("the command line", &text, None, sets, &no_presets, &[])
    };
    // Overrides of the load have an option of their own.
    loaded.map(|loaded| loaded.value).map_err(|e| Failure::Input(e.to_string().replace("--set ", "--load-set ")))
}

/// The folder from which a workload file names its traces.
pub fn base(load: &str) -> PathBuf {
    let parent = if load.ends_with(".toml") { Path::new(load).parent() } else { None };
    parent.map_or_else(PathBuf::new, Path::to_path_buf)
}
