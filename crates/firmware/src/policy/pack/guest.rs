//! Guest: an external packer.
//!
//! Source: whoever wrote it.
//! Faithful: its figures, the tasks whose operations it lets into a command of another task, the operations that it refuses, and those
//! that follow a command in cache mode, reads of another task, too, if it lets them.
//! Simplified: what it does not refuse fits together by the rule of `planes` (one kind, one page offset, different planes of a die), and
//! the oldest of these join. Classes of one task are no question: its data never share a command with its mapping table.

use super::{checked_passes, CacheMode, Follower, Pack, PackedOperation};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::task::Class;
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external packer.
pub trait GuestPack: Tells + std::fmt::Debug + Send {
    /// As [`Pack::mixes`], asked once.
    fn mixes(&self) -> bool;

    /// As [`Pack::joins`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn joins(&mut self, lead: Class, other: Class) -> Result<bool, Refusal>;

    /// As [`Pack::refuses`], asked once.
    fn refuses(&self) -> bool {
        false
    }

    /// As [`Pack::fits`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn fits(&mut self, _command: &[PackedOperation], _other: &PackedOperation) -> Result<bool, Refusal> {
        Ok(true)
    }

    /// As [`Pack::chooses_followers`], asked once.
    fn chooses_followers(&self) -> bool {
        false
    }

    /// As [`Pack::follows`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn follows(&mut self, _command: &[PackedOperation], _waiting: &[Follower]) -> Result<Option<usize>, Refusal> {
        Ok(Some(0))
    }

    /// As [`Pack::has_crossings`], asked once.
    fn has_crossings(&self) -> bool {
        false
    }

    /// As [`Pack::crosses`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn crosses(&mut self, _before: Class, _next: Class) -> Result<bool, Refusal> {
        Ok(false)
    }

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestPack>;
}

impl Clone for Box<dyn GuestPack> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external packer, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    seat: Box<Seat<Box<dyn GuestPack>>>,
    window: u32,
    gather: bool,
    mixes: bool,
    refuses: bool,
    chooses_followers: bool,
    #[serde(skip)]
    has_crossings: bool,
    cache: Option<CacheMode>,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut *self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("pack")?.pack(&options.options, build);
        let object = object.map_err(|problem| options.error("pack", problem))?;
        let window = options.whole("pack", "window", 0..=64)?;
        let (gather, cache) = (options.truth("pack", "gather")?, options.truth("pack", "cache")?);
        let passes = checked_passes(options.whole("pack", "passes", 0..=65_535)?)?;
        let (mixes, refuses) = (object.mixes(), object.refuses());
        let (chooses_followers, has_crossings) = (object.chooses_followers(), object.has_crossings());
        if gather && window == 0 {
            let problem = "has no effect with pack.window = 0, which packs nothing; remove one of them";
            return Err(ConfigError::new("pack.gather", true, problem));
        }
        let method = if mixes { "joins" } else { "fits" };
        if (mixes || refuses) && window == 0 {
            let problem = format!("packs nothing, so that the method '{method}' has no effect; use 1 to 64");
            return Err(ConfigError::new("pack.window", 0, problem));
        }
        if (chooses_followers || has_crossings) && !cache {
            let method = if chooses_followers { "follows" } else { "crosses" };
            let problem = format!("lets no command follow another, so that the method '{method}' has no effect; use true");
            return Err(ConfigError::new("pack.cache", false, problem));
        }
        let seat = Box::new(Seat::new(&options.policy, object));
        let cache = cache.then_some(CacheMode { passes });
        Ok(Self { seat, window, gather, mixes, refuses, chooses_followers, has_crossings, cache })
    }
}

impl Pack for Guest {
    #[inline]
    fn window(&self) -> u32 {
        self.window
    }

    fn gathers(&self) -> bool {
        self.gather
    }

    fn mixes(&self) -> bool {
        self.mixes
    }

    fn joins(&mut self, lead: Class, other: Class) -> bool {
        // Without an answer the run ends.
        lead.task() != other.task() && self.seat.ask(|guest| guest.joins(lead, other)).unwrap_or(false)
    }

    fn refuses(&self) -> bool {
        self.refuses
    }

    fn fits(&mut self, command: &[PackedOperation], other: &PackedOperation) -> bool {
        // Without an answer the run ends.
        self.seat.ask(|guest| guest.fits(command, other)).unwrap_or(false)
    }

    fn chooses_followers(&self) -> bool {
        self.chooses_followers
    }

    fn follows(&mut self, command: &[PackedOperation], waiting: &[Follower]) -> Option<usize> {
        let next = self.seat.ask(|guest| guest.follows(command, waiting))??;
        if next < waiting.len() {
            return Some(next);
        }
        let last = waiting.len() - 1;
        let problem = format!("which does not exist: operations 0 to {last} can follow");
        self.seat.refuse(format!("it chose operation {next} to follow a command, {problem}"));
        None
    }

    fn has_crossings(&self) -> bool {
        self.has_crossings
    }

    fn crosses(&mut self, before: Class, next: Class) -> bool {
        // Without an answer the run ends.
        self.seat.ask(|guest| guest.crosses(before, next)).unwrap_or(false)
    }

    #[inline]
    fn cache(&self) -> Option<CacheMode> {
        self.cache
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
