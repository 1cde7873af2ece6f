//! Guests: policies that are written outside the program and decide in it by name.
//!
//! A family takes guests if its list has a `guest` line and its folder a file of that name, which turns the answers of a foreign
//! object into those of the family and lets nothing pass that would break the kernel. The firmware knows only the traits
//! here; who implements them (the Python binding does) is not its business.

use super::collect::guest::GuestCollect;
use super::free_block::guest::GuestFreeBlock;
use super::victim::guest::GuestVictim;
use super::Build;
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Makes the policies of one name. A family that takes guests has a method here.
pub trait Maker: fmt::Debug + Send + Sync {
    /// The family that it makes policies of.
    fn family(&self) -> &str;
    /// The name that a drive file uses.
    fn name(&self) -> &str;
    /// What it does, in a sentence.
    fn summary(&self) -> &str;
    /// Its options by their keys, each as a JSON schema; one without a default has to be given.
    fn options(&self) -> &Map<String, Value>;

    /// Makes a victim policy from its options, all of them given.
    ///
    /// # Errors
    /// Says why there is none.
    fn victim(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestVictim>, String> {
        Err(format!("it is a policy of the family {}", self.family()))
    }

    /// Makes a collect policy from its options, all of them given.
    ///
    /// # Errors
    /// Says why there is none.
    fn collect(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestCollect>, String> {
        Err(format!("it is a policy of the family {}", self.family()))
    }

    /// Makes a free-block policy from its options, all of them given.
    ///
    /// # Errors
    /// Says why there is none.
    fn free_block(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestFreeBlock>, String> {
        Err(format!("it is a policy of the family {}", self.family()))
    }
}

/// The guests of a run.
pub type Guests = [Arc<dyn Maker>];

/// The member of a family whose options a guest takes besides its own.
#[must_use]
pub fn built_on(family: &str) -> Option<&'static str> {
    (family == "collect").then_some("on-demand")
}

/// The section of a drive file that names a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestOptions {
    /// Its name.
    pub policy: String,
    /// The other keys of the section.
    #[serde(flatten)]
    pub options: Map<String, Value>,
    /// Who makes it; absent until [`crate::FirmwareConfig::seat`] has found it.
    #[serde(skip)]
    maker: Option<Arc<dyn Maker>>,
}

impl PartialEq for GuestOptions {
    fn eq(&self, other: &Self) -> bool {
        self.policy == other.policy && self.options == other.options
    }
}

impl GuestOptions {
    /// Finds the maker of the guest.
    pub(crate) fn seat(&mut self, family: &str, guests: &Guests) {
        self.maker = guests.iter().find(|maker| maker.family() == family && maker.name() == self.policy).cloned();
    }

    /// Who makes the guest.
    pub(crate) fn maker(&self, family: &str) -> Result<&dyn Maker, ConfigError> {
        self.maker.as_deref().ok_or_else(|| {
            self.error(family, "this policy is written outside the program, and was not given with the drive")
        })
    }

    /// An error about the guest.
    pub(crate) fn error(&self, family: &str, problem: impl Into<String>) -> ConfigError {
        ConfigError::new(format!("{family}.policy"), &self.policy, problem)
    }
}

/// What lies behind a refusal. The firmware hands it on, and only who made the guest knows what it is: an exception, for example.
#[derive(Clone)]
pub struct Cause(Arc<dyn Any + Send + Sync>);

impl Cause {
    /// Wraps it.
    pub fn new(cause: impl Any + Send + Sync) -> Self {
        Self(Arc::new(cause))
    }

    /// What it is, if it is of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cause").finish_non_exhaustive()
    }
}

/// Why a guest gives no answer. The run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What happened.
    pub story: String,
    /// Whether the user ended the run while the guest was deciding, so that nothing is wrong with it.
    pub interrupted: bool,
    /// What lies behind it, if anything does.
    pub cause: Option<Cause>,
}

impl<S: Into<String>> From<S> for Refusal {
    fn from(story: S) -> Self {
        Self { story: story.into(), interrupted: false, cause: None }
    }
}

/// How bad the trouble with a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// It is why the drive has come to a stop, should it do so.
    Hindrance,
    /// The user ended the run while it was deciding.
    Interrupt,
    /// It failed, and the run must end.
    Failure,
}

/// What is wrong with the answers of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its name.
    pub policy: String,
    /// How bad it is.
    pub gravity: Gravity,
    /// What happened.
    pub story: String,
    /// What lies behind it, if anything does.
    pub cause: Option<Cause>,
}

/// Whether a policy can decide no more, so that the run must end.
#[inline]
pub(crate) fn failed(trouble: Option<&Trouble>) -> bool {
    trouble.is_some_and(|trouble| trouble.gravity > Gravity::Hindrance)
}

/// A foreign object and what is wrong with it. A saved drive keeps the name alone: it is then a record of what was, and decides
/// nothing (see the snapshots of the drive).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Seat<O> {
    name: String,
    #[serde(skip)]
    object: Option<O>,
    #[serde(skip)]
    trouble: Option<Trouble>,
}

impl<O> Seat<O> {
    pub(crate) fn new(name: &str, object: O) -> Self {
        Self { name: name.to_owned(), object: Some(object), trouble: None }
    }

    /// Asks the object, unless it has failed before; a failure is kept as trouble.
    pub(crate) fn ask<A>(&mut self, question: impl FnOnce(&mut O) -> Result<A, Refusal>) -> Option<A> {
        if failed(self.trouble()) {
            return None;
        }
        let answer = match &mut self.object {
            Some(object) => question(object),
            None => Err("it was saved by its name only".into()),
        };
        answer.map_err(|refusal| self.refuse(refusal)).ok()
    }

    /// Keeps why there is no answer, or none of use.
    pub(crate) fn refuse(&mut self, refusal: impl Into<Refusal>) {
        let Refusal { story, interrupted, cause } = refusal.into();
        let gravity = if interrupted { Gravity::Interrupt } else { Gravity::Failure };
        self.trouble = Some(Trouble { policy: self.name.clone(), gravity, story, cause });
    }

    /// Keeps what may become the reason of a stop.
    pub(crate) fn hinder(&mut self, story: String) {
        self.trouble = Some(Trouble { policy: self.name.clone(), gravity: Gravity::Hindrance, story, cause: None });
    }

    /// Forgets what hindered, since it does no more.
    #[inline]
    pub(crate) fn forgive(&mut self) {
        self.trouble = None;
    }

    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }
}
