//! Guest: an external dispatch policy.
//!
//! Source: whoever wrote it.
//! Faithful: the operation that it chooses goes to its die, or the run ends with the reason: the operation must have a die with
//! room. It may give requests deadlines, limit how many are in service, or have a device queue in place of its choice: then it ranks
//! the reads there. Or its operations go to their dies at once, alone, in transactions or by request, of which it may choose the next:
//! one that can go, or the run ends. Of transactions it may choose what leads, and what joins of all that can. Simplified: requests are served in the order of arrival; one is served whenever none is.

use super::in_order::Commits;
use super::one_request::Order;
use super::{Addressed, Choices, DepthOptions, Dispatch, Limits, Sight, StageView, TagRules};
use super::{WaitingOperation, WaitingRequest, WaitingTransaction};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::task::{ByTask, TASKS};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// How operations reach their dies at once, without a commit stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// Each by itself.
    Alone,
    /// In transactions.
    Transactions(Commits),
    /// By request, one at a time in each die.
    Requests(Order),
}

/// An external dispatch policy.
pub trait GuestDispatch: Tells + std::fmt::Debug + Send {
    /// True if it has to see the oldest operation of each queue, not only of those that a die may have room for; asked once.
    fn sees_all(&self) -> bool;

    /// As [`Dispatch::takes_shares`]; asked once.
    fn takes_shares(&self) -> bool;

    /// As [`Dispatch::tags`]; asked once. With a device queue, [`Self::next`] is not asked.
    fn tags(&self) -> Option<TagRules> {
        None
    }

    /// How operations reach their dies without a commit stage, if they do; asked once. [`Self::next`] is not asked then.
    fn at_once(&self) -> Option<AtOnce> {
        None
    }

    /// What it chooses among transactions, or requests of a die: [`Self::next_transaction`], [`Self::leads`], [`Self::joins`] or
    /// [`Self::next_request`] is asked then. Asked once.
    fn choices(&self) -> Choices {
        Choices::default()
    }

    /// As [`Dispatch::next_request`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn next_request(&mut self, _die: u32, _waiting: &[WaitingRequest]) -> Result<usize, Refusal> {
        Ok(0)
    }

    /// As [`Dispatch::next_transaction`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn next_transaction(&mut self, _waiting: &[WaitingTransaction]) -> Result<Option<usize>, Refusal> {
        Ok(None)
    }

    /// As [`Dispatch::leads`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn leads(&mut self, _place: u32, _waiting: &[WaitingOperation]) -> Result<usize, Refusal> {
        Ok(0)
    }

    /// As [`Dispatch::joins`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn joins(&mut self, _chosen: &[WaitingOperation], _waiting: &[WaitingOperation]) -> Result<Option<usize>, Refusal> {
        Ok(None)
    }

    /// As [`Dispatch::rank`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn rank(&mut self, _read: &Addressed) -> Result<u8, Refusal> {
        Ok(0)
    }

    /// As [`Dispatch::deadlines`]; asked once.
    fn deadlines(&self) -> Option<Limits> {
        None
    }

    /// True if it limits the requests in service: [`Self::admits`] is asked then. Asked once.
    fn limits_requests(&self) -> bool {
        false
    }

    /// As [`Dispatch::admits`], with at least one request in service.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn admits(&mut self, _in_service: u32) -> Result<bool, Refusal> {
        Ok(true)
    }

    /// As [`Dispatch::next`], with the shares of tasks, in percent.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn next(&mut self, view: &StageView<'_>, shares: &ByTask<f64>) -> Result<Option<usize>, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestDispatch>;
}

impl Clone for Box<dyn GuestDispatch> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}


/// An external dispatch policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    seat: Seat<Box<dyn GuestDispatch>>,
    depth: u32,
    sees_all: bool,
    takes_shares: bool,
    shares: ByTask<f64>,
    #[serde(skip)]
    tags: Option<TagRules>,
    #[serde(skip)]
    at_once: Option<AtOnce>,
    #[serde(skip)]
    choices: Choices,
    #[serde(skip)]
    deadlines: Option<Limits>,
    #[serde(skip)]
    limits_requests: bool,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let depth = match options.options.get("depth") {
            None => DepthOptions::default(),
            Some(given) => match given.as_u64().and_then(|depth| u32::try_from(depth).ok()) {
                Some(depth) => DepthOptions { depth },
                None => return Err(ConfigError::new("dispatch.depth", given, "must be 1 to 65,535")),
            },
        };
        let depth = depth.checked()?;
        let maker = options.maker("dispatch")?;
        let object = maker.dispatch(&options.options, build);
        let object = object.map_err(|problem| options.error("dispatch", problem))?;
        let (sees_all, takes_shares) = (object.sees_all(), object.takes_shares());
        let (tags, deadlines, limits_requests) = (object.tags(), object.deadlines(), object.limits_requests());
        let (at_once, choices) = (object.at_once(), object.choices());
        // What has no effect where operations are not chosen one by one.
        let given = [("deadlines", deadlines.is_some()), ("sees_all", sees_all), ("takes_shares", takes_shares)];
        let given = given.into_iter().find(|(_, given)| *given).map(|(what, _)| what);
        let (why, has) = match (tags.is_some(), at_once.is_some()) {
            (true, true) => {
                return Err(options.error("dispatch", "it has both 'device_queue' and 'at_once'; leave one of them out"));
            }
            (true, false) => (
                "operations of its device queue are not chosen one by one",
                "has a device queue, of which a die has one command at a time",
            ),
            (false, true) => ("its operations go to their dies at once", "sends operations to their dies at once"),
            (false, false) => ("", ""),
        };
        if !why.is_empty() {
            if let Some(what) = given {
                return Err(options.error("dispatch", format!("its {what} has no effect: {why}")));
            }
            let usual = maker.options().get("depth").and_then(|option| option.get("default"));
            if usual.is_some() && options.options.get("depth").is_some_and(|depth| Some(depth) != usual) {
                let problem = format!("has no effect: dispatch.policy = \"{}\" {has}; leave it out", options.policy);
                return Err(ConfigError::new("dispatch.depth", depth, problem));
            }
        }
        let depth = if tags.is_some() { 1 } else { depth };
        let (seat, shares) = (Seat::new(&options.policy, object), [0.0; TASKS]);
        let state = State { seat, depth, sees_all, takes_shares, shares, tags, at_once, choices, deadlines, limits_requests };
        Ok(Self(Box::new(state)))
    }
}

impl Dispatch for Guest {
    #[inline]
    fn admits(&mut self, in_service: u32) -> bool {
        let State { seat, limits_requests, .. } = &mut *self.0;
        if !*limits_requests || in_service == 0 {
            return true;
        }
        // Without an answer the run ends.
        seat.ask(|guest| guest.admits(in_service)).unwrap_or(true)
    }

    fn admits_below(&self) -> u32 {
        if self.0.limits_requests {
            0
        } else {
            u32::MAX
        }
    }

    fn tags(&self) -> Option<TagRules> {
        self.0.tags
    }

    #[cold]
    fn rank(&mut self, read: &Addressed) -> u8 {
        self.0.seat.ask(|guest| guest.rank(read)).unwrap_or(0)
    }

    fn deadlines(&self) -> Option<&Limits> {
        self.0.deadlines.as_ref()
    }

    fn commits(&self) -> Option<Commits> {
        match self.0.at_once? {
            AtOnce::Transactions(commits) => Some(commits),
            AtOnce::Alone | AtOnce::Requests(_) => None,
        }
    }

    fn banks(&self) -> Option<Order> {
        match self.0.at_once? {
            AtOnce::Requests(order) => Some(order),
            AtOnce::Alone | AtOnce::Transactions(_) => None,
        }
    }

    fn choices(&self) -> Choices {
        self.0.choices
    }

    #[cold]
    fn next_request(&mut self, die: u32, waiting: &[WaitingRequest]) -> usize {
        // The first stands in for an answer that is missing.
        let Some(chosen) = self.0.seat.ask(|guest| guest.next_request(die, waiting)) else { return 0 };
        if chosen < waiting.len() {
            return chosen;
        }
        let last = waiting.len() - 1;
        self.0.seat.refuse(format!("it chose request {chosen} of die {die}, which does not exist: requests 0 to {last} wait"));
        0
    }

    #[cold]
    fn next_transaction(&mut self, waiting: &[WaitingTransaction]) -> Option<usize> {
        let Some(chosen) = self.0.seat.ask(|guest| guest.next_transaction(waiting))? else {
            let ready = waiting.iter().filter(|one| one.can_go()).count();
            self.0.seat.hinder(format!("it chose none of the {ready} transactions that could go"));
            return None;
        };
        let problem = match waiting.get(chosen) {
            None => format!("does not exist: transactions 0 to {} wait", waiting.len() - 1),
            Some(one) if !one.is_free => format!("waits for another one in its place, {}", one.place),
            Some(one) if one.bus > 0 => format!("waits for the bus of its place, {}", one.place),
            Some(_) => {
                self.0.seat.forgive();
                return Some(chosen);
            }
        };
        self.0.seat.refuse(format!("it chose transaction {chosen}, which {problem}"));
        None
    }

    #[cold]
    fn leads(&mut self, place: u32, waiting: &[WaitingOperation]) -> usize {
        // The first stands in for an answer that is missing.
        let Some(chosen) = self.0.seat.ask(|guest| guest.leads(place, waiting)) else { return 0 };
        if chosen < waiting.len() {
            return chosen;
        }
        let last = waiting.len() - 1;
        let problem = format!("which does not exist: operations 0 to {last} wait");
        self.0.seat.refuse(format!("it chose operation {chosen} to lead the transaction of place {place}, {problem}"));
        0
    }

    #[cold]
    fn joins(&mut self, chosen: &[WaitingOperation], waiting: &[WaitingOperation]) -> Option<usize> {
        let next = self.0.seat.ask(|guest| guest.joins(chosen, waiting))??;
        if next < waiting.len() {
            return Some(next);
        }
        let last = waiting.len() - 1;
        let problem = format!("which does not exist: operations 0 to {last} can join");
        self.0.seat.refuse(format!("it chose operation {next} to join a transaction, {problem}"));
        None
    }

    fn depth(&self) -> Option<u32> {
        self.0.at_once.is_none().then_some(self.0.depth)
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let State { seat, shares, .. } = &mut *self.0;
        let Some(chosen) = seat.ask(|guest| guest.next(view, shares))? else {
            let ready = view.staged.iter().filter(|staged| staged.die.is_some()).count();
            if ready > 0 {
                self.0.seat.hinder(format!("it sent none of the {ready} operations whose dies have room for them"));
            }
            return None;
        };
        let problem = match view.staged.get(chosen) {
            None => format!("does not exist: operations 0 to {} are staged", view.staged.len() - 1),
            Some(staged) if staged.die.is_none() => "has no die with room for it".to_owned(),
            Some(_) => {
                self.0.seat.forgive();
                return Some(chosen);
            }
        };
        self.0.seat.refuse(format!("it chose operation {chosen}, which {problem}"));
        None
    }

    fn sees(&self) -> Sight {
        if self.0.sees_all {
            Sight::All
        } else {
            Sight::Open
        }
    }

    fn takes_shares(&self) -> bool {
        self.0.takes_shares
    }

    fn share(&mut self, shares: &ByTask<f64>) {
        self.0.shares = *shares;
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
