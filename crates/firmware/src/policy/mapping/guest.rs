//! Guest: an external choice of the map unit that leaves the map cache, or an external scheme of block mapping.
//!
//! Source: whoever wrote it.
//! Faithful: the map unit that it names leaves, or the run ends with the reason: memory must hold it. All else is page mapping
//! with a map cache, whose options it takes besides its own. A guest that describes a scheme is asked for it once: logical blocks
//! have data blocks, and log blocks and map zones as the scheme says.

use super::cached::{Cached, Options as Cache};
use super::zones::Zones;
use super::{Evicted, LogRule, Mapping, MergeView, SequenceView};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// Block mapping as a guest describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The log blocks beside the data blocks; none if what is written again goes to a replacement block.
    pub logs: Option<LogRule>,
    /// Logical blocks of a map zone, those of its log blocks too; none if the drive is not cut into zones.
    pub zone_blocks: Option<u32>,
    /// Tables of zones that memory holds; none if the drive is not cut into zones.
    pub zone_tables: Option<u32>,
}

/// An external choice of the map unit that leaves, or an external scheme.
pub trait GuestMapping: Tells + std::fmt::Debug + Send {
    /// The scheme of block mapping that it describes; none if pages are mapped, with a cache. Asked once.
    fn scheme(&self) -> Option<Scheme> {
        None
    }

    /// True if it chooses the map unit that leaves, where its scheme has map zones: the table of a zone is a map unit. Asked once.
    fn evicts_tables(&self) -> bool {
        false
    }

    /// The map unit that leaves.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn evict(&mut self, view: &CacheView<'_>) -> Result<u32, Refusal>;

    /// True if it chooses what is merged, where its scheme has log blocks. Asked once.
    fn chooses_merges(&self) -> bool {
        false
    }

    /// As [`Mapping::merge`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn merge(&mut self, _: &MergeView<'_>) -> Result<Option<u32>, Refusal> {
        Ok(None)
    }

    /// As [`Mapping::starts_sequence`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn starts_sequence(&mut self, _: &SequenceView) -> Result<bool, Refusal> {
        Ok(true)
    }

    /// An entry of a map unit that memory holds is used, or memory gets the map unit. Told only if it chooses which one leaves.
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

/// What the table has entries of.
#[derive(Clone, Debug)]
enum Table {
    /// Pages; memory holds a part of it, and the guest chooses which.
    Pages(Cached),
    /// Logical blocks, by a scheme of the guest.
    Blocks { page_bytes: u32, logs: Option<LogRule>, zones: Option<Zones> },
}

impl Table {
    /// What memory holds of a table in flash.
    fn cache(&self) -> Option<&Cached> {
        match self {
            Self::Pages(cache) => Some(cache),
            Self::Blocks { zones, .. } => zones.as_ref().map(Zones::cache),
        }
    }

    fn cache_mut(&mut self) -> Option<&mut Cached> {
        match self {
            Self::Pages(cache) => Some(cache),
            Self::Blocks { zones, .. } => zones.as_mut().map(Zones::cache_mut),
        }
    }
}

/// The mapping of a guest, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Guest(Box<State>);

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug)]
struct State {
    seat: Seat<Box<dyn GuestMapping>>,
    table: Table,
    shown: u32,
    oldest: Vec<(u32, bool)>,
    /// True if it chooses which map unit leaves, and which log blocks are merged.
    evicts: bool,
    chooses_merges: bool,
}

/// A state as it is saved: by the name of the guest, with what memory holds of a table in flash.
#[derive(Serialize, Deserialize)]
struct Saved<S, C> {
    seat: S,
    cache: C,
    shown: u32,
}

impl Serialize for State {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let nothing;
        let cache = match &self.table {
            Table::Pages(cache) => cache,
            Table::Blocks { zones: Some(zones), .. } => zones.cache(),
            Table::Blocks { page_bytes, .. } => {
                nothing = Cached::of_units(*page_bytes, 1, 1);
                &nothing
            }
        };
        Saved { seat: &self.seat, cache, shown: self.shown }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Saved { seat, cache, shown } = Saved::deserialize(deserializer)?;
        Ok(Self { seat, table: Table::Pages(cache), shown, oldest: Vec::new(), evicts: true, chooses_merges: false })
    }
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.0.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let shown = match options.options.get("shown_units") {
            None => SHOWN,
            Some(given) => match given.as_u64().and_then(|shown| u32::try_from(shown).ok()).filter(|&shown| shown > 0) {
                Some(shown) => shown,
                None => return Err(ConfigError::new("mapping.shown_units", given, "must be 1 to 4,294,967,295")),
            },
        };
        let object = options.maker("mapping")?.mapping(&options.options, build);
        let object = object.map_err(|problem| options.error("mapping", problem))?;
        let (table, evicts) = match object.scheme() {
            None => (Table::Pages(Cached::new(&cache(options)?, build)?), true),
            Some(scheme) => {
                let evicts = object.evicts_tables() && scheme.zone_tables.is_some();
                (blocks(options, scheme, evicts, build)?, evicts)
            }
        };
        let chooses_merges = object.chooses_merges();
        let seat = Seat::new(&options.policy, object);
        Ok(Self(Box::new(State { seat, table, shown, oldest: Vec::new(), evicts, chooses_merges })))
    }

    /// What memory holds of a table in flash.
    pub(super) fn cache(&self) -> Option<&Cached> {
        self.0.table.cache()
    }

    fn cache_mut(&mut self) -> Option<&mut Cached> {
        self.0.table.cache_mut()
    }

    /// As of the built-in cache.
    pub(super) fn has_map_units(&mut self, count: u32) {
        if let Some(cache) = self.cache_mut() {
            cache.has_map_units(count);
        }
    }

    /// Takes over what the cache of another drive holds; the guest learns of each map unit as of one that memory gets.
    pub(super) fn adopt(&mut self, other: &Cached) {
        if let Some(cache) = self.cache_mut() {
            cache.adopt(other);
        }
        let State { seat, table, evicts, .. } = &mut *self.0;
        let Some(cache) = table.cache().filter(|_| *evicts) else { return };
        cache.held().for_each(|(map_unit, _)| {
            seat.ask(|guest| guest.used(map_unit));
        });
    }

    /// Tells the guest that a map unit is used, if it chooses which one leaves.
    fn used(&mut self, map_unit: u32) {
        if self.0.evicts {
            self.0.seat.ask(|guest| guest.used(map_unit));
        }
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

/// The table of a scheme, if the drive can have it.
fn blocks(options: &Options, scheme: Scheme, evicts: bool, build: &Build<'_>) -> Result<Table, ConfigError> {
    let mut usual = serde_json::to_value(Cache::default())
        .map_err(|error| options.error("mapping", error.to_string()))?
        .as_object()
        .cloned()
        .unwrap_or_default();
    let shown = options.maker("mapping")?.options().get("shown_units").filter(|_| !evicts);
    usual.extend(shown.and_then(|option| option.get("default")).map(|shown| ("shown_units".to_owned(), shown.clone())));
    if let Some((key, value)) = options.options.iter().find(|(key, value)| usual.get(*key).is_some_and(|usual| usual != *value)) {
        let problem = format!(
            "has no effect: mapping.policy = \"{}\" is a scheme of block mapping, whose logical pages are flash pages; leave it out, or \
             set mapping.{key} = absent",
            options.policy
        );
        return Err(ConfigError::new(format!("mapping.{key}"), value, problem));
    }
    let Scheme { logs, zone_blocks, zone_tables } = scheme;
    if let Some(rule) = logs {
        let counts = [("group_blocks", rule.logical_blocks), ("group_log_blocks", rule.log_blocks)];
        if let Some((key, _)) = counts.into_iter().find(|&(_, count)| count == Some(0)) {
            return Err(options.error("mapping", format!("its {key} is 0: must be at least 1, or None")));
        }
    }
    let zones = Zones::new(zone_blocks, zone_tables, build)?;
    let logs = logs.map(|rule| LogRule { zone_blocks, ..rule });
    Ok(Table::Blocks { page_bytes: build.geometry.page_bytes, logs, zones })
}

impl Mapping for Guest {
    #[cold]
    fn unit_bytes(&self) -> u32 {
        match &self.0.table {
            Table::Pages(cache) => cache.unit_bytes(),
            Table::Blocks { page_bytes, .. } => *page_bytes,
        }
    }

    #[cold]
    fn entries(&self) -> Option<u32> {
        match &self.0.table {
            Table::Pages(cache) => cache.entries(),
            Table::Blocks { zones, .. } => zones.as_ref().map(Zones::entries),
        }
    }

    #[cold]
    fn use_entry(&mut self, map_unit: u32) -> bool {
        let found = self.cache_mut().is_none_or(|cache| cache.use_entry(map_unit));
        if found {
            self.used(map_unit);
        }
        found
    }

    #[cold]
    fn change_entry(&mut self, map_unit: u32) -> bool {
        let found = self.cache_mut().is_none_or(|cache| cache.change_entry(map_unit));
        if found {
            self.used(map_unit);
        }
        found
    }

    #[cold]
    fn admit(&mut self, map_unit: u32, changed: bool) -> Option<Evicted> {
        let State { seat, table, shown, oldest, evicts, .. } = &mut *self.0;
        let cache = table.cache_mut()?;
        let evicted = if cache.is_full() && *evicts {
            oldest.clear();
            oldest.extend(cache.held().take(*shown as usize));
            let view = CacheView { oldest, coming: map_unit };
            let mut leaves = seat.ask(|guest| guest.evict(&view));
            if let Some(chosen) = leaves.filter(|&chosen| !cache.holds(chosen)) {
                seat.refuse(format!("it chose map unit {chosen}, which memory does not hold"));
                leaves = None;
            }
            // Without an answer the run ends: what stands in for it decides no result.
            match leaves {
                Some(leaves) => cache.replace(leaves, map_unit, changed),
                None => cache.admit(map_unit, changed),
            }
        } else {
            cache.admit(map_unit, changed)
        };
        self.used(map_unit);
        evicted
    }

    #[cold]
    fn written(&mut self, map_unit: u32) {
        if let Some(cache) = self.cache_mut() {
            cache.written(map_unit);
        }
    }

    fn fixes_pages(&self) -> bool {
        matches!(self.0.table, Table::Blocks { .. })
    }

    fn logs(&self) -> Option<LogRule> {
        match &self.0.table {
            Table::Pages(_) => None,
            Table::Blocks { logs, .. } => *logs,
        }
    }

    fn chooses_merges(&self) -> bool {
        self.0.chooses_merges
    }

    fn merge(&mut self, view: &MergeView<'_>) -> Option<u32> {
        let chosen = self.0.seat.ask(|guest| guest.merge(view))??;
        if view.merges.iter().all(|entry| entry.block != chosen) {
            let what = format!("it chose to merge log block {chosen}, which is none of those that can be merged in domain {}", view.domain);
            self.0.seat.refuse(what);
            return None;
        }
        Some(chosen)
    }

    #[cold]
    fn starts_sequence(&mut self, view: &SequenceView) -> bool {
        self.0.seat.ask(|guest| guest.starts_sequence(view)).unwrap_or(true)
    }

    fn zones(&self) -> Option<&Zones> {
        match &self.0.table {
            Table::Pages(_) => None,
            Table::Blocks { zones, .. } => zones.as_ref(),
        }
    }

    fn zones_mut(&mut self) -> Option<&mut Zones> {
        match &mut self.0.table {
            Table::Pages(_) => None,
            Table::Blocks { zones, .. } => zones.as_mut(),
        }
    }

    #[cold]
    fn trouble(&self) -> Option<&Trouble> {
        self.0.seat.trouble()
    }
}
