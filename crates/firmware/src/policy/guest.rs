//! Guests: external policies, selected by name.
//!
//! A family takes guests if its list has a `guest` line and its folder a file of that name, which turns the answers of a foreign
//! object into those of the family and lets nothing pass that would break the kernel. The firmware knows only the traits
//! here; who implements them (the Python binding does) is not its business.

use super::arbiter::guest::GuestArbiter;
use super::collect::guest::GuestCollect;
use super::dispatch::guest::GuestDispatch;
use super::free_block::guest::GuestFreeBlock;
use super::mapping::guest::GuestMapping;
use super::pack::guest::GuestPack;
use super::placement::guest::GuestPlacement;
use super::processor::guest::GuestProcessor;
use super::redundancy::guest::GuestRedundancy;
use super::shares::guest::GuestShares;
use super::slc::guest::GuestSlc;
use super::slc::SlcSize;
use super::suspend::guest::GuestSuspend;
use super::trim::guest::GuestTrim;
use super::upkeep::guest::GuestUpkeep;
use super::victim::guest::GuestVictim;
use super::Build;
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Generates the methods of a maker, one for each family that takes guests.
macro_rules! makes {
    ($( $what:literal: fn $method:ident -> $Made:ty; )+) => {
        $(
            #[doc = concat!("Makes ", $what, " from its options, all of them given.")]
            ///
            /// # Errors
            /// Says why it cannot be made.
            fn $method(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<$Made, String> {
                Err(format!("it belongs to the family {}", self.family()))
            }
        )+
    };
}

/// Generates the guest of a family from the trait of its object: section, copies and seat.
macro_rules! seated {
    ($family:ident, $Object:ident) => {
        /// The section of a guest.
        pub type Options = $crate::policy::GuestOptions;

        impl Clone for Box<dyn $Object> {
            fn clone(&self) -> Self {
                (**self).fork()
            }
        }

        /// The external policy, and its trouble.
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct Guest($crate::policy::Seat<Box<dyn $Object>>);

        impl Guest {
            /// Its seat, whatever its family.
            pub(crate) fn seat_mut(&mut self) -> &mut dyn $crate::policy::Telling {
                &mut self.0
            }

            pub(super) fn new(
                options: &Options,
                build: &$crate::policy::Build<'_>,
            ) -> Result<Self, $crate::ConfigError> {
                let family = stringify!($family);
                let object = options.maker(family)?.$family(&options.options, build);
                let object = object.map_err(|problem| options.error(family, problem))?;
                Ok(Self($crate::policy::Seat::new(&options.policy, object)))
            }
        }
    };
}
pub(crate) use seated;

/// Makes the policies of one name. A family that takes guests has a method here.
pub trait Maker: fmt::Debug + Send + Sync {
    /// The family that it makes policies of.
    fn family(&self) -> &str;
    /// The name that a drive file uses.
    fn name(&self) -> &str;
    /// Its behaviour, in a sentence.
    fn summary(&self) -> &str;
    /// Its options by their keys, each as a JSON schema; an option without a default is required.
    fn options(&self) -> &Map<String, Value>;

    makes! {
        "an arbiter": fn arbiter -> Box<dyn GuestArbiter>;
        "a collect policy": fn collect -> Box<dyn GuestCollect>;
        "a dispatch policy": fn dispatch -> Box<dyn GuestDispatch>;
        "a free-block policy": fn free_block -> Box<dyn GuestFreeBlock>;
        "a choice of the map unit that leaves the map cache": fn mapping -> Box<dyn GuestMapping>;
        "a packer": fn pack -> Box<dyn GuestPack>;
        "a placement policy": fn placement -> Box<dyn GuestPlacement>;
        "a model of computing time": fn processor -> Box<dyn GuestProcessor>;
        "a redundancy": fn redundancy -> Box<dyn GuestRedundancy>;
        "a control of shares": fn shares -> Box<dyn GuestShares>;
        "the size of an SLC cache, if there is one, and what limits it,": fn slc -> (Option<SlcSize>, Box<dyn GuestSlc>);
        "a choice of the commands that reads suspend": fn suspend -> Box<dyn GuestSuspend>;
        "a policy of deallocations": fn trim -> Box<dyn GuestTrim>;
        "a policy that chooses blocks to move for a background task": fn upkeep -> Box<dyn GuestUpkeep>;
        "a victim policy": fn victim -> Box<dyn GuestVictim>;
        "the figures of a family outside the firmware, of the type that its guest expects,": fn figures -> Box<dyn Any>;
    }
}

/// What an external policy of any family may do besides deciding.
pub trait Tells {
    /// Measuring starts: its figures count from now on.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn begin_measuring(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Figures of its own for the result, by name.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn figures(&mut self) -> Result<Map<String, Value>, Refusal> {
        Ok(Map::new())
    }
}

/// The guests of a run.
pub type Guests = [Arc<dyn Maker>];

/// Member of a family whose options a guest takes besides its own.
#[must_use]
pub fn built_on(family: &str) -> Option<&'static str> {
    match family {
        "collect" => Some("on-demand"),
        "mapping" => Some("cached"),
        _ => None,
    }
}

/// The section of a drive file that names a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestOptions {
    /// Its name.
    pub policy: String,
    /// The other keys of the section.
    #[serde(flatten)]
    pub options: Map<String, Value>,
    /// Its maker; absent until [`crate::FirmwareConfig::seat`] has found it.
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
    pub fn seat(&mut self, family: &str, guests: &Guests) {
        self.maker = guests.iter().find(|maker| maker.family() == family && maker.name() == self.policy).cloned();
    }

    /// The maker of the guest.
    ///
    /// # Errors
    /// It was not given with the drive.
    pub fn maker(&self, family: &str) -> Result<&dyn Maker, ConfigError> {
        self.maker.as_deref().ok_or_else(|| self.error(family, "this external policy was not given with the drive"))
    }

    /// A whole number among its options that the engine reads.
    pub(crate) fn whole(&self, family: &str, key: &str, range: RangeInclusive<u32>) -> Result<u32, ConfigError> {
        let given = self.options.get(key).unwrap_or(&Value::Null);
        let whole = given.as_u64().and_then(|whole| u32::try_from(whole).ok()).filter(|whole| range.contains(whole));
        whole.ok_or_else(|| {
            let problem = format!("must lie between {} and {}", range.start(), range.end());
            ConfigError::new(format!("{family}.{key}"), given, problem)
        })
    }

    /// A truth value among its options that the engine reads.
    pub(crate) fn truth(&self, family: &str, key: &str) -> Result<bool, ConfigError> {
        let given = self.options.get(key).unwrap_or(&Value::Null);
        given.as_bool().ok_or_else(|| ConfigError::new(format!("{family}.{key}"), given, "must be true or false"))
    }

    /// An error about the guest.
    #[must_use]
    pub fn error(&self, family: &str, problem: impl Into<String>) -> ConfigError {
        ConfigError::new(format!("{family}.policy"), &self.policy, problem)
    }
}

/// Cause of a refusal, such as an exception. The firmware passes it on; only the maker of the guest knows its type.
#[derive(Clone)]
pub struct Cause(Arc<dyn Any + Send + Sync>);

impl Cause {
    /// Wraps it.
    pub fn new(cause: impl Any + Send + Sync) -> Self {
        Self(Arc::new(cause))
    }

    /// The cause, if it is of this type.
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

/// Reason why a guest gives no answer. The run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What happened.
    pub story: String,
    /// True if the user ended the run while the guest was deciding: the guest is not at fault.
    pub interrupted: bool,
    /// Its cause, if there is one.
    pub cause: Option<Cause>,
}

impl<S: Into<String>> From<S> for Refusal {
    fn from(story: S) -> Self {
        Self { story: story.into(), interrupted: false, cause: None }
    }
}

/// Severity of the trouble with a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Possible reason if the drive deadlocks.
    Hindrance,
    /// The user ended the run while it was deciding.
    Interrupt,
    /// It failed, and the run must end.
    Failure,
}

/// Trouble with the answers of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its name.
    pub policy: String,
    /// Its severity.
    pub gravity: Gravity,
    /// What happened.
    pub story: String,
    /// Its cause, if there is one.
    pub cause: Option<Cause>,
}

/// True if a policy can no longer decide, so the run must end.
#[inline]
pub(crate) fn failed(trouble: Option<&Trouble>) -> bool {
    trouble.is_some_and(|trouble| trouble.gravity > Gravity::Hindrance)
}

/// A foreign object and its trouble. A saved drive keeps only the name as a record, which decides nothing (see the
/// snapshots of the drive).
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

    /// Calls the object, unless it has failed before; a failure is kept as trouble.
    pub(crate) fn ask<A>(&mut self, question: impl FnOnce(&mut O) -> Result<A, Refusal>) -> Option<A> {
        if failed(self.trouble()) {
            return None;
        }
        let answer = match &mut self.object {
            Some(object) => question(object),
            None => Err("only its name was saved".into()),
        };
        answer.map_err(|refusal| self.refuse(refusal)).ok()
    }

    /// Keeps the reason of a missing or unusable answer.
    pub(crate) fn refuse(&mut self, refusal: impl Into<Refusal>) {
        self.trouble = Some(self.trouble_of(refusal.into()));
    }

    fn trouble_of(&self, refusal: Refusal) -> Trouble {
        let Refusal { story, interrupted, cause } = refusal;
        let gravity = if interrupted { Gravity::Interrupt } else { Gravity::Failure };
        Trouble { policy: self.name.clone(), gravity, story, cause }
    }

    /// Keeps the reason of a missing answer, and gives it.
    fn troubled_by(&mut self, refusal: Refusal) -> Trouble {
        let trouble = self.trouble_of(refusal);
        self.trouble = Some(trouble.clone());
        trouble
    }

    /// Keeps a possible reason for a deadlock.
    pub(crate) fn hinder(&mut self, story: String) {
        self.trouble = Some(Trouble { policy: self.name.clone(), gravity: Gravity::Hindrance, story, cause: None });
    }

    /// Clears that reason once it no longer applies.
    #[inline]
    pub(crate) fn forgive(&mut self) {
        self.trouble = None;
    }

    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }
}

/// A seat, whatever the family of who sits there.
pub trait Telling {
    /// As [`Tells::begin_measuring`]; a failure is kept as trouble.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn begin_measuring(&mut self) -> Result<(), Trouble>;

    /// As [`Tells::figures`], also of a policy whose decision the user has interrupted; none of one that has failed before.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn figures(&mut self) -> Result<Map<String, Value>, Trouble>;
}

impl<O: Tells + ?Sized> Telling for Seat<Box<O>> {
    fn begin_measuring(&mut self) -> Result<(), Trouble> {
        let Some(guest) = self.object.as_mut().filter(|_| !failed(self.trouble.as_ref())) else { return Ok(()) };
        guest.begin_measuring().map_err(|refusal| self.troubled_by(refusal))
    }

    fn figures(&mut self) -> Result<Map<String, Value>, Trouble> {
        let has_failed = self.trouble.as_ref().is_some_and(|trouble| trouble.gravity == Gravity::Failure);
        let Some(guest) = self.object.as_mut().filter(|_| !has_failed) else { return Ok(Map::new()) };
        guest.figures().map_err(|refusal| self.troubled_by(refusal))
    }
}
