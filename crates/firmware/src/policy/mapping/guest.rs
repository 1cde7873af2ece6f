//! Guest: an external choice of the map unit that leaves the map cache.
//!
//! Source: whoever wrote it.
//! Faithful: the map unit that it names leaves, or the run ends with the reason: memory must hold it. All else is page mapping
//! with a map cache, whose options it takes besides its own.

use super::cached::{Cached, Options as Cache};
use super::{Evicted, Mapping};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// What a guest sees when a map unit has to leave.
#[derive(Clone, Copy, Debug)]
pub struct CacheView<'a> {
    /// Map units that were used the longest ago, from the oldest use on, and whether they have changed.
    pub oldest: &'a [(u32, bool)],
    /// The map unit that comes.
    pub coming: u32,
}

/// An external choice of the map unit that leaves.
pub trait GuestMapping: std::fmt::Debug + Send {
    /// The map unit that leaves.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn evict(&mut self, view: &CacheView<'_>) -> Result<u32, Refusal>;

    /// An entry of a map unit that memory holds is used, or memory gets the map unit.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn used(&mut self, map_unit: u32) -> Result<(), Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestMapping>;
}

impl Clone for Box<dyn GuestMapping> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// Map units that a guest sees unless its section says otherwise.
const SHOWN: u32 = 64;


/// Page mapping with a map cache, an external choice of what leaves it, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    seat: Seat<Box<dyn GuestMapping>>,
    cache: Cached,
    shown: u32,
    #[serde(skip)]
    oldest: Vec<(u32, bool)>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let cache = Cached::new(&cache(options)?, build)?;
        let shown = match options.options.get("shown_units") {
            None => SHOWN,
            Some(given) => match given.as_u64().and_then(|shown| u32::try_from(shown).ok()).filter(|&shown| shown > 0) {
                Some(shown) => shown,
                None => return Err(ConfigError::new("mapping.shown_units", given, "must be 1 to 4,294,967,295")),
            },
        };
        let object = options.maker("mapping")?.mapping(&options.options, build);
        let object = object.map_err(|problem| options.error("mapping", problem))?;
        Ok(Self(Box::new(State { seat: Seat::new(&options.policy, object), cache, shown, oldest: Vec::new() })))
    }

    /// What memory holds.
    pub(super) fn cache(&self) -> &Cached {
        &self.0.cache
    }

    /// As of the built-in cache.
    pub(super) fn has_map_units(&mut self, count: u32) {
        self.0.cache.has_map_units(count);
    }

    /// Takes over what the cache of another drive holds; the guest learns of each map unit as of one that memory gets.
    pub(super) fn adopt(&mut self, other: &Cached) {
        self.0.cache.adopt(other);
        let State { seat, cache, .. } = &mut *self.0;
        cache.held().for_each(|(map_unit, _)| {
            seat.ask(|guest| guest.used(map_unit));
        });
    }

    fn used(&mut self, map_unit: u32) {
        self.0.seat.ask(|guest| guest.used(map_unit));
    }
}

/// The options of the section that belong to the map cache.
fn cache(options: &Options) -> Result<Cache, ConfigError> {
    let json = |error: serde_json::Error| options.error("mapping", error.to_string());
    let known = serde_json::to_value(Cache::default()).map_err(json)?;
    let mut own = options.options.clone();
    own.retain(|key, _| known.get(key).is_some());
    serde_json::from_value(own.into()).map_err(json)
}

impl Mapping for Guest {
    #[cold]
    fn unit_bytes(&self) -> u32 {
        self.0.cache.unit_bytes()
    }

    #[cold]
    fn entries(&self) -> Option<u32> {
        self.0.cache.entries()
    }

    #[cold]
    fn use_entry(&mut self, map_unit: u32) -> bool {
        let found = self.0.cache.use_entry(map_unit);
        if found {
            self.used(map_unit);
        }
        found
    }

    #[cold]
    fn change_entry(&mut self, map_unit: u32) -> bool {
        let found = self.0.cache.change_entry(map_unit);
        if found {
            self.used(map_unit);
        }
        found
    }

    #[cold]
    fn admit(&mut self, map_unit: u32, changed: bool) -> Option<Evicted> {
        let evicted = if self.0.cache.is_full() {
            self.0.oldest.clear();
            self.0.oldest.extend(self.0.cache.held().take(self.0.shown as usize));
            let view = CacheView { oldest: &self.0.oldest, coming: map_unit };
            let mut leaves = self.0.seat.ask(|guest| guest.evict(&view));
            if let Some(chosen) = leaves.filter(|&chosen| !self.0.cache.holds(chosen)) {
                self.0.seat.refuse(format!("it chose map unit {chosen}, which memory does not hold"));
                leaves = None;
            }
            // Without an answer the run ends: what stands in for it decides no result.
            match leaves {
                Some(leaves) => self.0.cache.replace(leaves, map_unit, changed),
                None => self.0.cache.admit(map_unit, changed),
            }
        } else {
            self.0.cache.admit(map_unit, changed)
        };
        self.used(map_unit);
        evicted
    }

    #[cold]
    fn written(&mut self, map_unit: u32) {
        self.0.cache.written(map_unit);
    }

    #[cold]
    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
