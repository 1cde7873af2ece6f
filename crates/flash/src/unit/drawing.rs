//! A timeline of an experiment.

use super::plant::Plant;
use super::{Experiment, Load, Migration, UnitError};
use crate::timeline::{Cut, Frame, Picture, Summary, TimelineError, MOST_SLICES};
use std::fmt;
use std::io::Write;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;

/// Destination and limits of a timeline; after the experiment, its summary.
pub struct Drawing {
    /// First and last time drawn, in picoseconds.
    pub window: (Time, Time),
    /// The timeline ends at this number of slices.
    pub most_slices: u64,
    /// Its summary, or why it could not be written; none if the experiment did not begin.
    pub came_to: Option<Result<Summary, TimelineError>>,
    writer: Option<Box<dyn Write>>,
}

impl Drawing {
    /// A timeline of a whole experiment, up to the limit of slices.
    #[must_use]
    pub fn new(writer: Box<dyn Write>) -> Self {
        Self { window: (0, END_OF_TIME), most_slices: MOST_SLICES, came_to: None, writer: Some(writer) }
    }

    /// Starts the timeline for a host of the given queue depth.
    pub(super) fn begin(&mut self, plant: &mut Plant, experiment: &Experiment, depth: Option<u32>) {
        let Some(writer) = self.writer.take() else { return };
        let migrates_in_cache_mode =
            matches!(experiment.load, Load::Migrate { mode: Migration::Cache | Migration::MultiCache, .. });
        let frame = Frame {
            title: "package".to_owned(),
            window: self.window,
            origin: 0,
            most_slices: self.most_slices,
            queues: u32::from(depth.is_some()),
            depth: depth.unwrap_or(1),
            caches: experiment.host.cache || migrates_in_cache_mode,
        };
        match Picture::new(writer, plant.flash(), &frame) {
            Ok(picture) => plant.draw(picture),
            Err(error) => self.came_to = Some(Err(error)),
        }
    }

    /// Ends it.
    pub(super) fn end<T>(&mut self, plant: &mut Plant, ran: &Result<T, UnitError>) {
        let cut = match ran {
            Ok(_) => None,
            Err(UnitError::Interrupted) => Some(Cut::Interrupted),
            Err(error) => Some(Cut::Failed(error.to_string())),
        };
        if let Some(picture) = plant.drawn() {
            self.came_to = Some(picture.finish(plant.now, cut));
        }
    }
}

impl fmt::Debug for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drawing").field("window", &self.window).field("came_to", &self.came_to).finish_non_exhaustive()
    }
}
