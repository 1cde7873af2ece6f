//! Timelines: their files, and their entries in a result.

use crate::failure::Failure;
use serde_json::{json, Value};
use std::fs::File;
use std::io;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_drive::run::{Ended, RunError};
use wordline_drive::timeline::{Cut, Recording, Summary, TimelineError, View, MOST_SLICES};
use wordline_drive::Drive;
use wordline_flash::unit::{self, Experiment, Outcome, UnitError};

/// A requested timeline.
pub struct Wanted<'a> {
    /// The file to write.
    pub path: &'a str,
    /// First and last time drawn, in picoseconds.
    pub window: Option<(Time, Time)>,
    /// Maximum slices, if not the default.
    pub limit: Option<u64>,
}

/// A timeline with its file open.
pub struct Opened {
    file: File,
    window: (Time, Time),
    limit: u64,
}

/// Result of a timeline, or the reason why it could not be written.
pub type Drawn = Result<Summary, TimelineError>;

impl Wanted<'_> {
    /// Opens the file.
    pub fn open(&self) -> Result<Opened, Failure> {
        let file = File::create(self.path)
            .map_err(|error| Failure::Input(format!("{}: cannot write there: {}", self.path, plain(&error))))?;
        Ok(Opened { file, window: self.window.unwrap_or((0, END_OF_TIME)), limit: self.limit.unwrap_or(MOST_SLICES) })
    }
}

impl Opened {
    /// Starts the timeline of a run.
    pub fn start(self, drive: &mut Drive, title: &str) -> Result<Recording, TimelineError> {
        let view = View { title: title.to_owned(), window: self.window, most_slices: self.limit };
        Recording::new(Box::new(self.file), drive, &view)
    }

    /// Runs an experiment and draws it.
    pub fn run(
        self,
        experiment: &Experiment,
        progress: impl FnMut(f64) -> bool,
    ) -> (Result<Outcome, UnitError>, Option<Drawn>) {
        let mut drawing = unit::Drawing::new(Box::new(self.file));
        drawing.window = self.window;
        drawing.most_slices = self.limit;
        let outcome = unit::run_drawn(experiment, Some(&mut drawing), progress);
        (outcome, drawing.came_to)
    }
}

/// Reason why a run was not completed, if so.
pub fn cut_of(ran: &Result<Ended, RunError>) -> Option<Cut> {
    match ran {
        Ok(ended) => ended.interrupted.then_some(Cut::Interrupted),
        Err(error) => Some(Cut::Failed(error.to_string())),
    }
}

/// The entry of a timeline in the result.
pub fn told(drawn: &Drawn) -> Value {
    match drawn {
        Ok(Summary { slices, cut }) => json!({
            "slices": slices,
            "cut_s": cut.as_ref().map(|(time, _)| *time as f64 / 1e12),
            "cut": cut.as_ref().map(|(_, cut)| reason(cut)),
            "error": null,
        }),
        Err(error) => json!({"slices": null, "cut_s": null, "cut": null, "error": words(error)}),
    }
}

fn reason(cut: &Cut) -> &str {
    match cut {
        Cut::Full(_) => "full",
        Cut::Interrupted => "interrupted",
        Cut::Failed(_) => "failed",
    }
}

fn words(error: &TimelineError) -> String {
    match error {
        TimelineError::Io(error) => plain(error),
        other => format!("the timeline is inconsistent, which is a defect of Wordline: {other}"),
    }
}

/// Error of the system, without its number.
fn plain(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}
