//! A timeline of a run: the drive's events for [`Picture`], which draws it.

use crate::drive::Drive;
use std::io::Write;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Request, Time};
use wordline_firmware::{Noted, Noting};
pub use wordline_flash::timeline::{Cut, Summary, TimelineError, MOST_SLICES};
use wordline_flash::timeline::{Frame, Picture};
use wordline_flash::Logged;

/// What of a run a timeline shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The name over all of it.
    pub title: String,
    /// From when to when, in picoseconds since the start of the run.
    pub window: (Time, Time),
    /// The timeline is cut at the time at which it holds so many slices.
    pub most_slices: u64,
}

impl View {
    /// All of a run, as far as it has room.
    #[must_use]
    pub fn whole(title: &str) -> Self {
        Self { title: title.to_owned(), window: (0, END_OF_TIME), most_slices: MOST_SLICES }
    }
}

/// A timeline of a run that is under way.
#[derive(Debug)]
pub struct Recording {
    picture: Picture,
    /// All that can be seen is drawn.
    over: bool,
    entries: Vec<Logged>,
}

impl Recording {
    /// Starts a timeline of an idle drive, whose time now is its origin, and has the drive record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(writer: Box<dyn Write>, drive: &mut Drive, view: &View) -> Result<Self, TimelineError> {
        let (queues, depth) = drive.queues();
        let frame = Frame {
            title: view.title.clone(),
            window: view.window,
            origin: drive.now(),
            most_slices: view.most_slices,
            queues,
            depth,
            caches: drive.kernel().caches(),
        };
        let picture = Picture::new(writer, drive.kernel().flash(), &frame)?;
        note_services(drive, true);
        Ok(Self { picture, over: false, entries: Vec::new() })
    }

    /// A request got a slot.
    #[cold]
    pub(crate) fn submitted(&mut self, slot: u32, now: Time, request: &Request) {
        if !self.over {
            self.picture.begin(slot, now, request);
        }
    }

    /// Takes what the drive did in its last step, before the next one. Constant memory: the drive keeps nothing of it.
    #[cold]
    pub fn observe(&mut self, drive: &mut Drive) {
        let now = drive.now();
        let (kernel, ..) = drive.kernel_mut();
        if let Some(Noted { services, entries, .. }) = kernel.noted().filter(|_| !self.over) {
            for service in services.drain(..) {
                let task = service.class.task().about().name;
                self.picture.serve(service.lane, service.command, task, service.request);
            }
            self.entries.append(entries);
            self.picture.take(now, &mut self.entries);
            if self.picture.is_over(now) {
                self.over = true;
                note_services(drive, false);
            }
        }
        for completion in drive.completions().iter() {
            self.picture.end(completion.slot, completion.time);
        }
    }

    /// Ends the timeline, and the drive's recording. `cut` says why the run did not come to its end.
    ///
    /// # Errors
    /// The first error that came up while it was written.
    pub fn finish(mut self, drive: &mut Drive, cut: Option<Cut>) -> Result<Summary, TimelineError> {
        self.observe(drive);
        note_services(drive, false);
        self.picture.finish(drive.now(), cut)
    }
}

/// Has the firmware note, or not, whom its commands serve; what others want noted stays.
fn note_services(drive: &mut Drive, services: bool) {
    let kernel = drive.kernel_mut().0;
    let noting = kernel.noting();
    kernel.record(Noting { services, ..noting });
}
