//! Garbage collection on demand: start below one number of free blocks, stop at another.
//!
//! Source: kim18 (4.2): "active when the number of free blocks drops below a threshold, and stops once it exceeds
//! another", after the cleaning of Rosenblum and Ousterhout (SOSP 1991). The reserve follows Agrawal et al. (USENIX
//! ATC 2008).
//! A held die: choi18 (5, "stops servicing I/O requests to either planes of a die"), with a threshold after the preemptive GC
//! of Lee et al. (ISPASS 2011). Open blocks for host and GC: choi18 (2.2, one a plane; 4.2, a second one). GC without
//! time: choi18 (3.1, Ideal-No-GC).
//! Copyback: the internal data move of jung13 (2.3) and ONFI 4.2 (COPYBACK READ, COPYBACK PROGRAM).
//! Moved data that stay in the victim's channel or die: ours, wider than the data move of jung13, which stays in a plane.
//! Faithful: both thresholds, whole blocks, a reserve that the host cannot take. Simplified: the choice of
//! victims takes no time.

use super::{Collect, Copyback, Destination, MoveView, MovesTo, Scope, SpaceView, Target};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "starts when the free blocks of the drive or plane fall below start_blocks, stops at stop_blocks",
    source: "kim18 4.2; Rosenblum and Ousterhout, SOSP 1991",
    note: "whole blocks; the choice of victims takes no time",
};

/// Options of garbage collection on demand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Domain of garbage collection (GC): free blocks are counted and victims chosen over the whole drive or in each
    /// plane.
    pub scope: Scope,
    /// GC starts when a domain (the drive or a plane) has fewer free blocks. Absent: reserve_blocks + 1 in a plane,
    /// reserve_blocks + one for every two planes in a drive, reserve_blocks and a superblock where blocks form any.
    pub start_blocks: Option<u32>,
    /// GC stops when a domain has this many free blocks. Absent: start_blocks.
    pub stop_blocks: Option<u32>,
    /// Free blocks of a domain reserved for GC. With pacing the host may take of them what GC in progress will give back. Absent:
    /// 1 in a plane; 2 or one for every four planes in a drive; a superblock where blocks form any.
    pub reserve_blocks: Option<u32>,
    /// Outstanding page moves per victim block, 1 to 65,535. Absent: 8; with the policy "preemptive", as many as a program writes.
    pub window_pages: Option<u32>,
    /// Victim blocks in progress at a time in a domain. Absent: 1 in a plane, one for each die in a drive; one superblock where
    /// blocks form any. No superblock starts while as many blocks as this are in progress.
    pub blocks_at_a_time: Option<u32>,
    /// Victim blocks in progress at a time in a die, at least 1: spreads GC over the dies of a drive. Absent: no limit.
    pub blocks_per_die: Option<u32>,
    /// While GC runs and a domain has fewer free blocks than start_blocks, the host writes only as many pages as GC has
    /// gained: a victim with v valid units of n lets it write n - v of them, each move its part, and each page costs all
    /// its units. So the host waits for page moves instead of whole blocks. GC then works on stop_blocks minus free
    /// blocks at a time: stop_blocks above start_blocks keeps more dies busy with it. With superblocks what is left of open ones counts
    /// as free.
    pub pacing: bool,
    /// Method of moving a fully valid page whose plane has room: read and program over the bus ("off"), copyback within
    /// its plane ("internal"), or copyback with data out for ECC ("checked"). Other pages are read and programmed. The
    /// arbiter treats a copyback as a GC read.
    pub copyback: Copyback,
    /// Open blocks that GC writes to: its own ("own-block"), the one of the plane that host data go to ("shared-block"), or a
    /// second one that each plane of the die opens at the start of a victim, for host and GC side by side ("paired-blocks").
    pub into: Destination,
    /// Dies that moved data are written to: any idle one ("any-die"), those of the victim's channel ("same-channel"), so that GC
    /// does not load other channels with them, or the victim's own ("same-die"). Pages without room there, and what is left of a
    /// victim and fills no page, go to any die. The latter two need scope = "drive".
    pub moves_to: MovesTo,
    /// While a domain has fewer free blocks, a die with a victim of it serves GC alone until the victim is erased.
    /// stop_blocks or more: always. Absent: never; the arbiter decides.
    pub hold_below_blocks: Option<u32>,
    /// The operations of GC take no time: an ideal to compare with.
    pub instant: bool,
}

impl Options {
    /// The same for collections that stop between operations (`what`): one page moves at a time.
    pub(super) fn by_steps(&self, what: &str, build: &Build<'_>) -> Result<OnDemand, ConfigError> {
        let window = self.window_pages.unwrap_or(1);
        if window != 1 {
            let problem = "must be 1: a collection makes way for the host after each operation; leave it out";
            return Err(ConfigError::new("collect.window_pages", window, problem));
        }
        if self.instant {
            let problem = format!("does not go with {what}: they would take no time; use false");
            return Err(ConfigError::new("collect.instant", true, problem));
        }
        OnDemand::new(&Self { window_pages: Some(1), ..self.clone() }, build)
    }
}

/// Garbage collection on demand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OnDemand {
    reserve: u32,
    start: u32,
    stop: u32,
    window: u32,
    most: u32,
    most_of_die: Option<u32>,
    paces: bool,
    copyback: Copyback,
    destination: Destination,
    moves_to: MovesTo,
    hold_below: u32,
    instant: bool,
    active: Vec<bool>,
}

impl OnDemand {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let (planes, dies) = (build.geometry.planes(), build.geometry.dies());
        // Superblocks need one domain, which is checked elsewhere.
        let together = if build.plane_local { 1 } else { build.blocks_together };
        let (least, ahead, most) = match together {
            _ if build.plane_local => (1, 1, 1),
            1 => ((planes / 4).max(2), planes.div_ceil(2), dies),
            // In whole superblocks.
            size => (size, size, size),
        };
        let reserve = options.reserve_blocks.unwrap_or(least);
        let start = options.start_blocks.unwrap_or(reserve.saturating_add(ahead));
        let stop = options.stop_blocks.unwrap_or(start);
        let window = options.window_pages.unwrap_or(8);
        let most = options.blocks_at_a_time.unwrap_or(most);
        if reserve == 0 {
            let problem = "must be at least 1, or garbage collection could find no block to move pages to";
            return Err(ConfigError::new("collect.reserve_blocks", reserve, problem));
        }
        if reserve < together {
            let problem = format!("must be at least {together}, the blocks of a superblock");
            return Err(ConfigError::new("collect.reserve_blocks", reserve, problem));
        }
        if together > 1 && start < reserve + together {
            let problem = format!(
                "must be at least {}: reserve_blocks = {reserve} and a superblock of {together} blocks, or host writes would \
                 stall before garbage collection starts",
                reserve + together
            );
            return Err(ConfigError::new("collect.start_blocks", start, problem));
        }
        if start <= reserve {
            let derived = if options.reserve_blocks.is_some() { "" } else { " (derived from the number of planes)" };
            let problem = format!("must be more than reserve_blocks = {reserve}{derived}, or host writes would stall \
                before garbage collection starts");
            let from = format!("reserve_blocks + {ahead}");
            return Err(ConfigError::new("collect.start_blocks", start, problem).derived(options.start_blocks.is_some(), from));
        }
        if stop < start {
            let derived = if options.start_blocks.is_some() { "" } else { " (derived from reserve_blocks and the number of planes)" };
            let problem = format!("must not be below start_blocks = {start}{derived}: the thresholds are crossed");
            return Err(ConfigError::new("collect.stop_blocks", stop, problem));
        }
        if !(1..=65_535).contains(&window) {
            return Err(ConfigError::new("collect.window_pages", window, "must lie between 1 and 65535"));
        }
        if most == 0 {
            return Err(ConfigError::new("collect.blocks_at_a_time", most, "must be at least 1"));
        }
        if options.blocks_per_die == Some(0) {
            return Err(ConfigError::new("collect.blocks_per_die", 0, "must be at least 1"));
        }
        let active = vec![false; build.domains as usize];
        let Options { blocks_per_die: most_of_die, pacing: paces, copyback, into: destination, moves_to, instant, .. } =
            *options;
        if options.hold_below_blocks == Some(0) {
            let problem = "must be at least 1; leave it out if GC holds no die";
            return Err(ConfigError::new("collect.hold_below_blocks", 0, problem));
        }
        let hold_below = options.hold_below_blocks.unwrap_or(0);
        Ok(Self {
            reserve,
            start,
            stop,
            window,
            most,
            most_of_die,
            paces,
            copyback,
            destination,
            moves_to,
            hold_below,
            instant,
            active,
        })
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        if saved.active.len() != self.active.len() {
            return Err("garbage collection is active in domains that do not exist".into());
        }
        self.active = saved.active;
        Ok(())
    }
}

impl Collect for OnDemand {
    #[inline]
    fn wants(&mut self, view: &SpaceView) -> bool {
        let active = &mut self.active[view.domain as usize];
        if view.free < self.start {
            *active = true;
        } else if view.free >= self.stop {
            *active = false;
        }
        *active && view.free + view.running < self.stop
    }

    fn places(&self) -> bool {
        self.moves_to != MovesTo::AnyDie
    }

    fn place(&mut self, view: &MoveView) -> Target {
        match self.moves_to {
            MovesTo::AnyDie => Target::Any,
            MovesTo::SameChannel => Target::Channel(view.channel),
            MovesTo::SameDie => Target::Die(view.die),
        }
    }

    fn reserve(&self) -> u32 {
        self.reserve
    }

    fn start(&self) -> u32 {
        self.start
    }

    fn stop(&self) -> u32 {
        self.stop
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn most(&self) -> u32 {
        self.most
    }

    fn most_of_die(&self) -> Option<u32> {
        self.most_of_die
    }

    fn paces(&self) -> bool {
        self.paces
    }

    fn copyback(&self) -> Copyback {
        self.copyback
    }

    fn destination(&self) -> Destination {
        self.destination
    }

    fn hold_below(&self) -> u32 {
        self.hold_below
    }

    fn is_instant(&self) -> bool {
        self.instant
    }
}
