//! Guest: an external victim policy.
//!
//! Source: whoever wrote it.
//! Faithful: its answer is used, or the run ends with the reason: the block must be closed, be in the domain, gain a page, and lie
//! on a die that may have another victim (`collect.blocks_per_die`); it sees only blocks of such dies. Where blocks form superblocks, it sees the first block of each, with the figures of all its blocks.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external victim policy.
pub trait GuestVictim: Tells + std::fmt::Debug + Send {
    /// As [`Victim::choose`]; the view is ranked.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn choose(&mut self, view: &VictimView<'_>) -> Result<Option<u32>, Refusal>;

    /// As [`Victim::wants_reads`]; asked once.
    fn wants_reads(&self) -> bool {
        false
    }

    /// As [`Victim::closed`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn closed(&mut self, view: &VictimView<'_>, block: u32) -> Result<(), Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestVictim>;
}

impl Clone for Box<dyn GuestVictim> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external victim policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small. Saved is the name alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct State {
    seat: Seat<Box<dyn GuestVictim>>,
    #[serde(skip)]
    wants_reads: bool,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("victim")?.victim(&options.options, build);
        let object = object.map_err(|problem| options.error("victim", problem))?;
        let wants_reads = object.wants_reads();
        Ok(Self(Box::new(State { seat: Seat::new(&options.policy, object), wants_reads })))
    }
}

impl Victim for Guest {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        let Some(block) = self.0.seat.ask(|guest| guest.choose(view))? else {
            if view.least_valid().is_some_and(|least| view.gains(least)) {
                let story = format!("it chose no block, though {} are closed and some gain space", view.ranked_count());
                self.0.seat.hinder(story);
            }
            return None;
        };
        match view.objection(block) {
            None => {
                self.0.seat.forgive();
                Some(block)
            }
            Some(objection) => {
                self.0.seat.refuse(format!("it chose block {block}, which {objection}"));
                None
            }
        }
    }

    fn closed(&mut self, view: &VictimView<'_>, block: u32) {
        self.0.seat.ask(|guest| guest.closed(view, block));
    }

    fn ranked(&self) -> bool {
        true
    }

    fn wants_reads(&self) -> bool {
        self.0.wants_reads
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
