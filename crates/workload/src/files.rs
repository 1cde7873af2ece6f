//! Files of a trace: one, a list, a directory, or all that match a pattern.

use crate::error::{option, WorkloadError};
use crate::options::TraceOptions;
use std::io;
use std::path::{Path, PathBuf};

/// Where standard input is found.
const STANDARD: &str = "/dev/stdin";

/// Most files of one trace: as many stay open at once.
const MOST: usize = 900;

/// The files of the trace at `path`, or of the files that the options name, counted from the folder `path`.
///
/// # Errors
/// When there is none, or the options name a file and files besides.
pub(crate) fn expand(path: &Path, options: &TraceOptions) -> Result<Vec<PathBuf>, WorkloadError> {
    if options.files.is_empty() {
        return one(path);
    }
    if !options.file.as_os_str().is_empty() {
        let both = "names a trace besides `file`; give one of the two";
        return Err(option("trace.files", format!("{:?}", options.files), both));
    }
    let mut files = Vec::new();
    for file in &options.files {
        files.append(&mut one(&path.join(file))?);
    }
    few_enough(path, files)
}

fn few_enough(path: &Path, files: Vec<PathBuf>) -> Result<Vec<PathBuf>, WorkloadError> {
    if files.len() > MOST {
        let what = format!("{} files in one trace; at most {MOST} can be read as one", files.len());
        return Err(broken(path, what));
    }
    Ok(files)
}

#[cold]
fn broken(path: &Path, what: String) -> WorkloadError {
    WorkloadError::Io { file: path.to_owned(), source: io::Error::other(what) }
}

/// The files of one name.
fn one(path: &Path) -> Result<Vec<PathBuf>, WorkloadError> {
    if path.as_os_str() == "-" && !path.exists() {
        return Ok(vec![PathBuf::from(STANDARD)]);
    }
    if path.is_dir() {
        return few_enough(path, directory(path)?);
    }
    let text = path.to_string_lossy();
    // A file may well be called `a[1]`: the name itself comes first.
    if !text.contains(['*', '?', '[']) || path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let paths = glob::glob(&text).map_err(|error| broken(path, format!("not a pattern of file names: {error}")))?;
    let mut files: Vec<PathBuf> = paths.filter_map(Result::ok).filter(|path| path.is_file()).collect();
    files.sort();
    if files.is_empty() {
        return Err(broken(path, "no file matches this pattern".to_owned()));
    }
    few_enough(path, files)
}

/// The files of a directory by name; those that begin with a dot are hidden.
fn directory(path: &Path) -> Result<Vec<PathBuf>, WorkloadError> {
    let io = |source| WorkloadError::Io { file: path.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?;
        if entry.path().is_file() && !entry.file_name().to_string_lossy().starts_with('.') {
            files.push(entry.path());
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(broken(path, "this directory holds no file to read as a trace".to_owned()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn directories_patterns_and_lists() {
        let scratch = Scratch::new(b"");
        let folder = scratch.path().with_extension("d");
        std::fs::create_dir(&folder).unwrap();
        let none = expand(&folder, &TraceOptions::default()).unwrap_err().to_string();
        assert!(none.contains("this directory holds no file"), "{none}");
        for name in ["b.1", "b.0", ".hidden", "c", "a[1]"] {
            std::fs::write(folder.join(name), "x").unwrap();
        }
        let names = |path: &Path, options: &TraceOptions| -> Vec<String> {
            let files = expand(path, options).unwrap();
            files.iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        let plain = TraceOptions::default();
        assert_eq!(names(&folder, &plain), ["a[1]", "b.0", "b.1", "c"]);
        assert_eq!(names(&folder.join("b.*"), &plain), ["b.0", "b.1"]);
        assert_eq!(names(&folder.join("a[1]"), &plain), ["a[1]"]);
        let listed = TraceOptions { files: vec!["c".into(), "b.?".into()], ..TraceOptions::default() };
        assert_eq!(names(&folder, &listed), ["c", "b.0", "b.1"]);
        let error = expand(&folder.join("z*"), &plain).unwrap_err().to_string();
        assert!(error.contains("no file matches this pattern"), "{error}");
        assert_eq!(expand(Path::new("-"), &plain).unwrap(), [PathBuf::from(STANDARD)]);
        let both = TraceOptions { file: "c".into(), ..listed };
        let error = expand(&folder, &both).unwrap_err().to_string();
        assert!(error.contains("give one of the two"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
