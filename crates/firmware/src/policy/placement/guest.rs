//! Guest: an external placement policy.
//!
//! Source: whoever wrote it.
//! Faithful: it says where each write of the host may go: anywhere, a channel, a die or a plane. Simplified: it fixes no
//! page, so data that the drive itself moves are not its business: they stay in their domain, and go where there is room.

use super::{Constraint, Placement};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external placement policy.
pub trait GuestPlacement: std::fmt::Debug + Send {
    /// As [`Placement::place`], without the number of the operation.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn place(&mut self, page: u32) -> Result<Constraint, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestPlacement>;
}

impl Clone for Box<dyn GuestPlacement> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// Places of a kind that a drive has.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Places {
    channels: u32,
    dies: u32,
    planes: u32,
}


/// An external placement policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    seat: Seat<Box<dyn GuestPlacement>>,
    places: Places,
    /// By operation, its last answer: it may answer otherwise when it is asked again.
    #[serde(skip)]
    answers: Vec<Constraint>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("placement")?.placement(&options.options, build);
        let object = object.map_err(|problem| options.error("placement", problem))?;
        let geometry = build.geometry;
        let places = Places { channels: geometry.channels, dies: geometry.dies(), planes: geometry.planes() };
        Ok(Self(Box::new(State { seat: Seat::new(&options.policy, object), places, answers: Vec::new() })))
    }

    /// What is wrong with an answer, if anything.
    fn objection(&self, page: u32, answer: Constraint) -> Option<String> {
        let Places { channels, dies, planes } = self.0.places;
        let (what, number, count): (&str, u32, u32) = match answer {
            Constraint::Any => return None,
            Constraint::Channel(channel) => ("channel", channel, channels),
            Constraint::Die(die) => ("die", die, dies),
            Constraint::Plane(plane) => ("plane", plane, planes),
        };
        (number >= count).then(|| {
            let last = count - 1;
            format!("it placed page {page} in {what} {number}, which does not exist: the drive has {what}s 0 to {last}")
        })
    }
}

impl Placement for Guest {
    fn at(&self, _: u32) -> Constraint {
        Constraint::Any
    }

    #[cold]
    fn place(&mut self, page: u32, operation: u32, _: u32) -> Constraint {
        let mut answer = self.0.seat.ask(|guest| guest.place(page)).unwrap_or(Constraint::Any);
        if let Some(objection) = self.objection(page, answer) {
            self.0.seat.refuse(objection);
            answer = Constraint::Any;
        }
        if answer != Constraint::Any && self.0.seat.trouble().is_none() {
            let story = "writes wait for room in places that it chose; spread the pages evenly, use collect.scope = \
                \"plane\" so that each plane keeps blocks free, or let more writes go anywhere";
            self.0.seat.hinder(story.to_owned());
        }
        let at = operation as usize;
        // It grows with the slab of operations, and no further.
        if at >= self.0.answers.len() {
            self.0.answers.resize(at + 1, Constraint::Any);
        }
        self.0.answers[at] = answer;
        answer
    }

    #[cold]
    fn placed(&self, _: u32, operation: u32) -> Constraint {
        self.0.answers.get(operation as usize).copied().unwrap_or(Constraint::Any)
    }

    fn fixed(&self) -> bool {
        false
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
