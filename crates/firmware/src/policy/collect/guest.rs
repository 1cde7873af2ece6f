//! Guest: an external collect policy.
//!
//! Source: whoever wrote it.
//! Faithful: it decides when GC starts another victim block, in rests of the host, too. If it wants to be asked, it decides whether the
//! block that was chosen is collected, before each step of one whether it goes on, where each moved mapping unit is to be written, and
//! which merges of log blocks leave busy periods. The rest follows the options of garbage collection on demand, which it takes besides
//! its own.

use super::on_demand::{OnDemand, Options as Steps};
use super::schedule::{IdleView, IdleWork, Rule};
use super::{CandidateView, Collect, MoveView, MovesTo, Scope, SpaceView, Step, StepView, Target};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// The section of a guest.
pub type Options = GuestOptions;

/// An external collect policy.
pub trait GuestCollect: Tells + std::fmt::Debug + Send {
    /// As [`Collect::wants`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn wants(&mut self, view: &SpaceView) -> Result<bool, Refusal>;

    /// As [`Collect::rest`], asked once.
    fn rest(&self) -> Option<Time> {
        None
    }

    /// As [`Collect::weighs`], asked once.
    fn weighs(&self) -> bool {
        false
    }

    /// As [`Collect::takes`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn takes(&mut self, _: &CandidateView) -> Result<bool, Refusal> {
        Ok(true)
    }

    /// As [`Collect::schedule`], asked once.
    fn schedule(&self) -> Option<Rule> {
        None
    }

    /// As [`Collect::idle_work`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn idle_work(&mut self, _: &IdleView) -> Result<IdleWork, Refusal> {
        Ok(IdleWork::Nothing)
    }

    /// As [`Collect::steps`], asked once.
    fn steps(&self) -> bool {
        false
    }

    /// As [`Collect::step`]: true to go on, false to hold.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn step(&mut self, _: &StepView) -> Result<bool, Refusal> {
        Ok(true)
    }

    /// As [`Collect::places`], asked once.
    fn places(&self) -> bool {
        false
    }

    /// As [`Collect::place`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn place(&mut self, _: &MoveView) -> Result<Target, Refusal> {
        Ok(Target::Any)
    }

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestCollect>;
}

impl Clone for Box<dyn GuestCollect> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external collect policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    seat: Seat<Box<dyn GuestCollect>>,
    steps: OnDemand,
    rest: Option<Time>,
    is_asked: bool,
    says_where: bool,
    channels: u32,
    dies: u32,
    #[serde(skip)]
    weighs: bool,
    /// In a box: built-in policies stay small.
    #[serde(skip)]
    schedule: Option<Box<Rule>>,
}

/// The options of the section that belong to garbage collection on demand.
fn steps(options: &Options) -> Result<Steps, ConfigError> {
    let json = |error: serde_json::Error| options.error("collect", error.to_string());
    let known = serde_json::to_value(Steps::default()).map_err(json)?;
    let mut own = options.options.clone();
    own.retain(|key, _| known.get(key).is_some());
    serde_json::from_value(own.into()).map_err(json)
}

/// The scope set in the section.
pub(super) fn scope(options: &Options) -> Scope {
    steps(options).map(|steps| steps.scope).unwrap_or_default()
}

/// The dies for moved data set in the section.
pub(super) fn moves_to(options: &Options) -> MovesTo {
    steps(options).map(|steps| steps.moves_to).unwrap_or_default()
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("collect")?.collect(&options.options, build);
        let object = object.map_err(|problem| options.error("collect", problem))?;
        let schedule = object.schedule();
        let steps = match &schedule {
            None => OnDemand::new(&steps(options)?, build)?,
            Some(rule) => {
                let what = "collections that are scheduled over idle periods, or go in steps";
                let on_demand = steps(options)?.by_steps(what, build)?;
                let (start, given) = (on_demand.start(), rule.steps.filter(|given| given.below <= on_demand.start()));
                if let Some(given) = given {
                    let problem = format!(
                        "its steps_below is {}: must be more than start_blocks = {start}, below which merges are not divided into steps",
                        given.below
                    );
                    return Err(options.error("collect", problem));
                }
                on_demand
            }
        };
        let (rest, is_asked, says_where) = (object.rest(), object.steps(), object.places());
        if says_where && steps.places() {
            let problem = format!(
                "has no effect: the method 'place' of \"{}\" says where moved data go; leave it out",
                options.policy
            );
            return Err(ConfigError::new("collect.moves_to", moves_to(options).name(), problem));
        }
        let (channels, dies) = (build.geometry.channels, build.geometry.dies());
        let weighs = object.weighs();
        let seat = Seat::new(&options.policy, object);
        let schedule = schedule.map(Box::new);
        Ok(Self { seat, steps, rest, is_asked, says_where, channels, dies, weighs, schedule })
    }

    /// What is wrong with an answer, if anything.
    fn objection(&self, unit: u32, answer: Target) -> Option<String> {
        let (what, number, count) = match answer {
            Target::Any => return None,
            Target::Channel(channel) => ("channel", channel, self.channels),
            Target::Die(die) => ("die", die, self.dies),
        };
        (number >= count).then(|| {
            let last = count - 1;
            format!("it moved logical page {unit} to {what} {number}, which does not exist: the drive has {what}s 0 to {last}")
        })
    }
}

impl Collect for Guest {
    fn wants(&mut self, view: &SpaceView) -> bool {
        let Some(wanted) = self.seat.ask(|guest| guest.wants(view)) else { return false };
        if wanted {
            self.seat.forgive();
        } else if view.free < self.steps.start() {
            let SpaceView { domain, free, running, .. } = view;
            let story = format!("it did not start garbage collection in domain {domain} with {free} blocks free, \
                {running} in progress");
            self.seat.hinder(story);
        }
        wanted
    }

    fn rest(&self) -> Option<Time> {
        self.rest
    }

    fn weighs(&self) -> bool {
        self.weighs
    }

    fn takes(&mut self, view: &CandidateView) -> bool {
        // Without an answer the run ends.
        let taken = self.seat.ask(|guest| guest.takes(view)).unwrap_or(true);
        if !taken {
            let CandidateView { domain, free, .. } = view;
            let story = format!("it did not take the block that was chosen in domain {domain} with {free} blocks free");
            self.seat.hinder(story);
        }
        taken
    }

    fn schedule(&self) -> Option<Rule> {
        self.schedule.as_deref().copied()
    }

    fn idle_work(&mut self, view: &IdleView) -> IdleWork {
        // Without an answer the run ends.
        let work = self.seat.ask(|guest| guest.idle_work(view)).unwrap_or(IdleWork::Nothing);
        let (there_is, what) = match work {
            IdleWork::Nothing => return work,
            IdleWork::Retroactive => (view.has_delayed, "that was delayed"),
            IdleWork::LookAhead => (view.needed.is_some(), "that the next request will need"),
            IdleWork::Proactive => (view.has_full, "of full log blocks"),
        };
        if there_is {
            return work;
        }
        self.seat.refuse(format!("it chose a merge {what} in domain {}, which has none", view.domain));
        IdleWork::Nothing
    }

    fn steps(&self) -> bool {
        self.is_asked
    }

    fn step(&mut self, view: &StepView) -> Step {
        match self.seat.ask(|guest| guest.step(view)) {
            Some(false) => Step::Hold,
            // Without an answer the run ends.
            Some(true) | None => Step::Go,
        }
    }

    fn places(&self) -> bool {
        self.says_where || self.steps.places()
    }

    fn place(&mut self, view: &MoveView) -> Target {
        if !self.says_where {
            return self.steps.place(view);
        }
        // Without an answer the run ends.
        let answer = self.seat.ask(|guest| guest.place(view)).unwrap_or(Target::Any);
        match self.objection(view.unit, answer) {
            None => answer,
            Some(objection) => {
                self.seat.refuse(objection);
                Target::Any
            }
        }
    }

    figures_of!(steps);

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
