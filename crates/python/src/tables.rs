//! Tables: their files, and their entries in a result.

use crate::failure::Failure;
use serde_json::{json, Value};
use std::path::Path;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Histogram, Time};
use wordline_drive::observe::{Observation, Wanted};
use wordline_drive::{Drive, Plan};
use wordline_tables::{names, wanted, Facts, TableError, Tables, Written, SCHEMA};

/// Names of tables, their directory, the sampling, the length of an interval in picoseconds, and from when to when rows are written.
pub type Asked = (Vec<String>, String, Option<u64>, Option<Time>, Option<(Time, Time)>);

/// Tables with their files open.
pub struct Opened {
    directory: String,
    wanted: Wanted,
    tables: Tables,
}

impl Opened {
    /// Opens the files, for a drive with such a plan.
    pub fn new((list, directory, sample, interval, window): &Asked, plan: &Plan) -> Result<Self, Failure> {
        if directory.is_empty() {
            return Err(Failure::Input("the name of the directory for the tables is empty; give one".into()));
        }
        let wanted = wanted(list, *sample, *interval, *window).map_err(Failure::input)?;
        let tables = Tables::open(Path::new(directory), &wanted, plan).map_err(Failure::input)?;
        Ok(Self { directory: directory.clone(), wanted, tables })
    }

    /// Starts to look at a run.
    pub fn start(&mut self, drive: &mut Drive) -> Observation {
        Observation::new(drive, self.wanted, self.tables.sink())
    }

    /// Closes the files of a run, and returns their entry in the result. `facts` are those of the run.
    pub fn finish(self, mut facts: Facts) -> Value {
        let Wanted { sample, interval, window: (from, to), .. } = self.wanted;
        facts.extend([
            ("schema", SCHEMA.to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("sample", format!("1/{sample}")),
            ("interval_s", (interval as f64 / 1e12).to_string()),
            ("percentile_error", Histogram::ERROR.to_string()),
        ]);
        if (from, to) != Wanted::NOTHING.window {
            let end = if to < END_OF_TIME { (to as f64 / 1e12).to_string() } else { String::new() };
            facts.push(("window_s", format!("{}..{end}", from as f64 / 1e12)));
        }
        facts.sort_unstable();
        let ended = self.tables.finish(&facts);
        let errors: Vec<String> = ended.iter().filter_map(|table| table.as_ref().err()).map(words).collect();
        let file = |table: &Written| {
            let path = table.path.display().to_string();
            json!({"name": table.name, "path": path, "rows": table.rows, "bytes": table.bytes})
        };
        json!({
            "directory": self.directory,
            "wanted": names(&self.wanted),
            "sample": sample,
            "interval_s": interval as f64 / 1e12,
            "files": ended.iter().filter_map(|table| table.as_ref().ok()).map(file).collect::<Vec<_>>(),
            "errors": errors,
        })
    }
}

fn words(error: &TableError) -> String {
    error.to_string()
}
