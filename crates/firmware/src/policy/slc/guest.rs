//! Guest: an external size of the SLC cache.
//!
//! Source: whoever wrote it.
//! Faithful: the size that it gives, and its limits and planes during a run, if it has any. Simplified: the size is asked for once, when the drive
//! is built; a block gets its mode when the host opens it, as with `static` (blocks that are set aside) or `dynamic`.

use super::{blocks_problem, SlcCache, SlcSize, SlcView};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external limit of the SLC cache.
pub trait GuestSlc: Tells + std::fmt::Debug + Send {
    /// True if it is asked for limits at all; asked once.
    fn limits(&self) -> bool;

    /// True if it is asked for planes; asked once.
    fn chooses_planes(&self) -> bool {
        false
    }

    /// As [`SlcCache::planes`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn planes(&mut self, _: &SlcView) -> Result<Option<Vec<u32>>, Refusal> {
        Ok(None)
    }

    /// As [`SlcCache::limit`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn limit(&mut self, view: &SlcView) -> Result<Option<u32>, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestSlc>;
}

impl Clone for Box<dyn GuestSlc> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external SLC cache: its size, and who limits it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    size: Option<SlcSize>,
    #[serde(skip)]
    limits: bool,
    #[serde(skip)]
    chooses_planes: bool,
    #[serde(skip)]
    planes_per_domain: u32,
    seat: Box<Seat<Box<dyn GuestSlc>>>,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut *self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let made = options.maker("slc")?.slc(&options.options, build);
        let (size, object) = made.map_err(|problem| options.error("slc", problem))?;
        match size.and_then(|size| Self::problem(&size, build)) {
            Some(problem) => Err(options.error("slc", problem)),
            None => {
                let (limits, chooses_planes) = (object.limits(), object.chooses_planes());
                if chooses_planes && build.blocks_together > 1 {
                    let problem = "it chooses planes, but those of a superblock open their blocks together: use redundancy without superblocks";
                    return Err(options.error("slc", problem));
                }
                let planes_per_domain = build.geometry.planes() / build.domains;
                let seat = Box::new(Seat::new(&options.policy, object));
                Ok(Self { size, limits, chooses_planes, planes_per_domain, seat })
            }
        }
    }

    /// What is wrong with a size, if anything.
    fn problem(size: &SlcSize, build: &Build<'_>) -> Option<String> {
        if let Some((most, problem)) = size.most.and_then(|most| Some((most, blocks_problem(most, build)?))) {
            return Some(format!("its most_blocks is {most}: {problem}"));
        }
        if size.fixed && size.most.is_none() {
            return Some("it sets blocks aside, but does not say how many: its most_blocks is None".into());
        }
        let all = build.geometry.blocks() / build.domains;
        // Those that are opened together must be left for the cache.
        let most = all.saturating_sub(build.blocks_together);
        let free = size.spare.filter(|&free| free > most)?;
        Some(format!("its free_blocks is {free}: more than {most} leave no block for the cache"))
    }
}

impl SlcCache for Guest {
    fn size(&self) -> Option<SlcSize> {
        self.size
    }

    fn limits(&self) -> bool {
        self.limits || self.chooses_planes
    }

    fn limit(&mut self, view: &SlcView) -> Option<u32> {
        if !self.limits {
            return None;
        }
        self.seat.ask(|guest| guest.limit(view))?
    }

    fn planes(&mut self, view: &SlcView) -> Option<Vec<u32>> {
        if !self.chooses_planes {
            return None;
        }
        let planes = self.seat.ask(|guest| guest.planes(view))??;
        let first = view.domain * self.planes_per_domain;
        let of_domain = first..first + self.planes_per_domain;
        if let Some(plane) = planes.iter().find(|plane| !of_domain.contains(plane)) {
            let (domain, last) = (view.domain, of_domain.end - 1);
            self.seat.refuse(format!("it chose plane {plane} for domain {domain}, which has planes {first} to {last}"));
            return None;
        }
        Some(planes)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
