//! Guest: an external redundancy.
//!
//! Source: whoever wrote it.
//! Faithful: its superblocks or its stripes of logical pages, and the reads that it rebuilds. What built-in ones are refused for
//! holds for it, too. Simplified: where parity lies, how it is kept up to date, and when a read can be rebuilt at all is not its
//! business; it has superblocks or stripes of logical pages, not both.

use super::{raid_problem, stripe_problem, AroundView, Raid, Redundancy, Stripe};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// Figures of an external redundancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Dies of a superblock, and whether its rows have parity, if blocks form superblocks.
    pub superblock: Option<(u32, bool)>,
    /// Parity of logical pages, if there is any.
    pub raid: Option<Raid>,
    /// As [`Redundancy::collects_in_turn`].
    pub collects_in_turn: bool,
    /// As [`Redundancy::erases_in_turn`].
    pub erases_in_turn: bool,
    /// As [`Redundancy::has_ways_around`].
    pub has_ways_around: bool,
}

impl Figures {
    /// What is wrong with them, if anything.
    fn problem(&self, build: &Build<'_>) -> Option<String> {
        let Self { superblock, raid, .. } = *self;
        let has_parity = raid.is_some() || superblock.is_some_and(|(_, parity)| parity);
        if superblock.is_some() && raid.is_some() {
            return Some("it has both superblocks and stripes of logical pages; let one of its methods return None".into());
        }
        if let Some((dies, problem)) = superblock.and_then(|(dies, _)| Some((dies, stripe_problem(dies, build)?))) {
            return Some(format!("its superblocks have {dies} dies: {problem}"));
        }
        if let Some((dies, problem)) = raid.and_then(|raid| Some((raid.dies, raid_problem(raid.dies, build)?))) {
            return Some(format!("its stripes have {dies} dies: {problem}"));
        }
        if raid.is_some_and(|raid| raid.open == 0) {
            return Some("its memory has room for the changes of 0 stripes: must be at least 1".into());
        }
        if self.has_ways_around && !has_parity {
            return Some("it rebuilds reads, but has no parity to rebuild them from".into());
        }
        if self.collects_in_turn && raid.is_none() {
            return Some("it collects dies in turn, but has no stripes of logical pages, whose dies take turns".into());
        }
        if self.erases_in_turn && superblock.is_none() {
            return Some("it erases dies in turn, but has no superblocks, whose dies take turns".into());
        }
        None
    }
}

/// What is wrong with groups of so many dies, if anything.
fn groups_problem(groups: &[Vec<u32>], dies: u32, build: &Build<'_>) -> Option<String> {
    let all = build.geometry.dies();
    if let Some(at) = groups.iter().position(|group| group.len() != dies as usize) {
        let count = groups[at].len();
        return Some(format!("group {at} of its superblocks has {count} dies: must be {dies}, the dies of a superblock"));
    }
    let mut taken = vec![false; all as usize];
    for &die in groups.iter().flatten() {
        let Some(taken) = taken.get_mut(die as usize) else {
            return Some(format!("its groups have die {die}, which does not exist: dies 0 to {} do", all - 1));
        };
        if std::mem::replace(taken, true) {
            return Some(format!("its groups have die {die} twice: must have each die once"));
        }
    }
    let missing = taken.iter().position(|taken| !taken)?;
    Some(format!("its groups lack die {missing}: must have each die once"))
}

/// An external redundancy.
pub trait GuestRedundancy: Tells + std::fmt::Debug + Send {
    /// Its figures, asked once.
    fn figures(&self) -> Figures;

    /// As [`Redundancy::groups`], asked once.
    fn groups(&self) -> Option<Vec<Vec<u32>>> {
        None
    }

    /// As [`Redundancy::goes_around`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn goes_around(&mut self, view: &AroundView) -> Result<bool, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestRedundancy>;
}

impl Clone for Box<dyn GuestRedundancy> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// An external redundancy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    seat: Box<Seat<Box<dyn GuestRedundancy>>>,
    figures: Figures,
    stripe: Option<Stripe>,
    #[serde(skip)]
    groups: Option<Vec<Vec<u32>>>,
}

impl Guest {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut *self.seat
    }

    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let object = options.maker("redundancy")?.redundancy(&options.options, build);
        let object = object.map_err(|problem| options.error("redundancy", problem))?;
        let figures = object.figures();
        if let Some(problem) = figures.problem(build) {
            return Err(options.error("redundancy", problem));
        }
        let groups = object.groups();
        let problem = groups.as_ref().zip(figures.superblock);
        if let Some(problem) = problem.and_then(|(groups, (dies, _))| groups_problem(groups, dies, build)) {
            return Err(options.error("redundancy", problem));
        }
        let planes_per_die = build.geometry.planes_per_die;
        let stripe = figures.superblock.map(|(dies, parity)| Stripe { dies, planes_per_die, parity });
        Ok(Self { seat: Box::new(Seat::new(&options.policy, object)), figures, stripe, groups })
    }
}

impl Redundancy for Guest {
    fn stripe(&self) -> Option<Stripe> {
        self.stripe
    }

    fn groups(&self) -> Option<&[Vec<u32>]> {
        self.groups.as_deref()
    }

    fn raid(&self) -> Option<Raid> {
        self.figures.raid
    }

    fn collects_in_turn(&self) -> bool {
        self.figures.collects_in_turn
    }

    fn erases_in_turn(&self) -> bool {
        self.figures.erases_in_turn
    }

    fn has_ways_around(&self) -> bool {
        self.figures.has_ways_around
    }

    fn goes_around(&mut self, view: &AroundView) -> bool {
        // Without an answer the run ends.
        self.seat.ask(|guest| guest.goes_around(view)).unwrap_or(false)
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
