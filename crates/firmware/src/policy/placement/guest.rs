//! Guest: an external placement policy.
//!
//! Source: whoever wrote it.
//! Faithful: it says where each write of the host may go: anywhere, a channel, a die or a plane; or it gives a pattern of planes, which
//! pages keep for good, also when the drive moves them. Simplified: without such a pattern, data that the drive itself moves
//! are not its business: they stay in their domain, and go where there is room. Where blocks form superblocks, its answers are wishes.

use super::{Constraint, Placement, NO_REQUEST};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external placement policy.
pub trait GuestPlacement: Tells + std::fmt::Debug + Send {
    /// The planes that consecutive pages visit in turn, if pages are fixed so; asked once.
    fn pattern(&self) -> Option<Vec<u32>> {
        None
    }

    /// As [`Placement::needs_requests`]; asked once.
    fn needs_requests(&self) -> bool {
        false
    }

    /// As [`Placement::takes_turns`]; asked once.
    fn takes_turns(&self) -> bool {
        false
    }

    /// As [`Placement::place`], without the number of the operation. The request is given to a policy that needs it.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn place(&mut self, page: u32, request: Option<u32>) -> Result<Constraint, Refusal>;

    /// As [`Placement::begin`], for a policy that needs requests.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn begin(&mut self, request: u32) -> Result<(), Refusal> {
        let _ = request;
        Ok(())
    }

    /// As [`Placement::pass_over`], for a policy whose planes take turns.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn pass_over(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

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
    /// The planes that consecutive pages visit in turn; none if pages are not fixed.
    #[serde(skip)]
    pattern: Vec<u32>,
    #[serde(skip)]
    needs_requests: bool,
    #[serde(skip)]
    takes_turns: bool,
    /// True if its answers are wishes, which cannot stop the drive.
    #[serde(skip)]
    wishes: bool,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("placement")?.placement(&options.options, build);
        let object = object.map_err(|problem| options.error("placement", problem))?;
        let geometry = build.geometry;
        let places = Places { channels: geometry.channels, dies: geometry.dies(), planes: geometry.planes() };
        let (pattern, takes_turns) = (object.pattern(), object.takes_turns());
        let wishes = build.blocks_together > 1;
        if (pattern.is_some() || takes_turns) && wishes {
            let method = if takes_turns { "passed_over" } else { "pattern" };
            let problem = format!(
                "its method '{method}' ties data to planes, but those of superblocks may have to go elsewhere: leave it to its method \
                 'place', or use redundancy.policy = \"none\""
            );
            return Err(options.error("placement", problem));
        }
        if (pattern.is_some() || takes_turns) && !build.plane_local {
            let problem = "it ties data to planes, each of which must keep blocks free: write collect.scope = \"plane\"";
            return Err(options.error("placement", problem));
        }
        if let Some(problem) = pattern.as_ref().and_then(|pattern| odd_pattern(pattern, places.planes)) {
            return Err(options.error("placement", problem));
        }
        Ok(Self(Box::new(State {
            needs_requests: object.needs_requests(),
            seat: Seat::new(&options.policy, object),
            places,
            answers: Vec::new(),
            pattern: pattern.unwrap_or_default(),
            takes_turns,
            wishes,
        })))
    }

    /// What is wrong with an answer, if anything.
    fn objection(&self, page: u32, answer: Constraint) -> Option<String> {
        let Places { channels, dies, planes } = self.0.places;
        if self.0.takes_turns && !matches!(answer, Constraint::Plane(_)) {
            return Some(format!("it placed page {page} in no plane; with a method 'passed_over' it must name one"));
        }
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

/// What is wrong with a pattern of planes, if anything.
fn odd_pattern(pattern: &[u32], planes: u32) -> Option<String> {
    let mut visits = vec![0_u32; planes as usize];
    let are_planes = pattern.iter().all(|&plane| visits.get_mut(plane as usize).map(|visits| *visits += 1).is_some());
    let fits = are_planes && visits[0] > 0 && visits.iter().all(|&of_plane| of_plane == visits[0]);
    (!fits || u32::try_from(pattern.len()).is_err()).then(|| {
        let last = planes - 1;
        format!("its pattern has {} entries; it must have each of the planes 0 to {last} once, or each as often", pattern.len())
    })
}

impl Placement for Guest {
    fn at(&self, page: u32) -> Constraint {
        let pattern = &self.0.pattern;
        if pattern.is_empty() {
            Constraint::Any
        } else {
            Constraint::Plane(pattern[page as usize % pattern.len()])
        }
    }

    #[cold]
    fn place(&mut self, page: u32, operation: u32, request: u32) -> Constraint {
        let request = (self.0.needs_requests && request != NO_REQUEST).then_some(request);
        let mut answer = self.0.seat.ask(|guest| guest.place(page, request)).unwrap_or(Constraint::Any);
        if let Some(objection) = self.objection(page, answer) {
            self.0.seat.refuse(objection);
            answer = Constraint::Any;
        }
        if answer != Constraint::Any && !self.0.takes_turns && !self.0.wishes && self.0.seat.trouble().is_none() {
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

    fn begin(&mut self, request: u32) {
        if self.0.needs_requests {
            self.0.seat.ask(|guest| guest.begin(request));
        }
    }

    fn needs_requests(&self) -> bool {
        self.0.needs_requests
    }

    #[cold]
    fn placed(&self, page: u32, operation: u32) -> Constraint {
        if self.fixed() {
            return self.at(page);
        }
        self.0.answers.get(operation as usize).copied().unwrap_or(Constraint::Any)
    }

    fn give_up(&mut self, operation: u32) {
        if let Some(answer) = self.0.answers.get_mut(operation as usize) {
            *answer = Constraint::Any;
        }
    }

    fn fixed(&self) -> bool {
        !self.0.pattern.is_empty()
    }

    fn round(&self) -> &[u32] {
        &self.0.pattern
    }

    fn takes_turns(&self) -> bool {
        self.0.takes_turns
    }

    fn pass_over(&mut self) {
        self.0.seat.ask(|guest| guest.pass_over());
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
