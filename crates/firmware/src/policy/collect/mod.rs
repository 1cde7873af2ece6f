//! Family `collect`: start, stop and steps of garbage collection.

#[macro_use]
pub mod schedule;

use crate::policies;
use crate::policy::Trouble;
use schedule::{IdleView, IdleWork, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Blocks over which space is counted and victims are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All blocks of the drive; moved data go to any idle die, unless moves_to says otherwise.
    Drive,
    /// Each plane on its own; moved data stay in their plane.
    #[default]
    Plane,
}

/// Use of NAND copyback commands to move pages of a victim within their plane instead of over the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copyback {
    /// Each page is read out and written back in.
    #[default]
    Off,
    /// The page stays in the plane's register: bit errors are copied with it.
    Internal,
    /// The page is read out for ECC, but not transferred back in.
    Checked,
}

impl Copyback {
    /// Its name in a drive file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Internal => "internal",
            Self::Checked => "checked",
        }
    }
}

/// Blocks that moved data are written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// Each plane has an open block for moved data beside that for host data.
    #[default]
    OwnBlock,
    /// Each plane has one open block, which takes both.
    SharedBlock,
    /// The same, but at the start of a victim each plane of its die opens a second one, so that host and moved data can be
    /// programmed at the same page offset. Afterwards both blocks take data until they are full. The second one counts as
    /// free for start_blocks, stop_blocks and hold_below_blocks until one of the two is full.
    PairedBlocks,
}

impl Destination {
    /// Its name in a drive file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnBlock => "own-block",
            Self::SharedBlock => "shared-block",
            Self::PairedBlocks => "paired-blocks",
        }
    }
}

/// Dies that moved data are written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MovesTo {
    /// Any idle die of the domain.
    #[default]
    AnyDie,
    /// Dies of the victim's channel, while one has room: GC does not load other channels with them.
    SameChannel,
    /// The victim's die, while it has room.
    SameDie,
}

impl MovesTo {
    /// Its name in a drive file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnyDie => "any-die",
            Self::SameChannel => "same-channel",
            Self::SameDie => "same-die",
        }
    }
}

/// State of a GC domain (the drive or a plane) that the policy sees.
#[derive(Clone, Copy, Debug)]
pub struct SpaceView {
    /// The domain.
    pub domain: u32,
    /// Its free blocks.
    pub free: u32,
    /// Victim blocks in progress; each becomes free. Blocks whose last units wait to fill a page do not count.
    pub running: u32,
    /// True if the host has had no request in the drive for as long as [`Collect::rest`] says.
    pub rested: bool,
}

/// A victim block that was chosen, before its collection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateView {
    /// The GC domain: the drive or a plane.
    pub domain: u32,
    /// Free blocks of the domain, as in [`SpaceView`].
    pub free: u32,
    /// As in [`SpaceView`].
    pub rested: bool,
    /// Time until the next request of the host, in picoseconds, while the host rests and the workload tells it.
    pub until_next: Option<Time>,
    /// Time of its page reads, its programs and its erase in the array, one after the other, in picoseconds.
    pub time: Time,
}

/// State of a victim block and its die that the policy sees before a step of the collection: a page read, or the erase.
///
/// Mapping units are logical pages. Operations of the host are reads, each of a page, and writes, each of a mapping unit or of a page
/// of the mapping table or parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepView {
    /// The GC domain: the drive or a plane.
    pub domain: u32,
    /// The die of the victim block.
    pub die: u32,
    /// Free blocks of the domain, as in [`SpaceView`].
    pub free: u32,
    /// Victim blocks in progress in the domain, this one and those on hold included.
    pub running: u32,
    /// True if the next step is the erase; otherwise it is a page read.
    pub erases: bool,
    /// Valid mapping units of the victim block that are still to be read.
    pub unread: u32,
    /// Mapping units of the victim block that are being read, wait to be written, or are being written.
    pub on_the_way: u32,
    /// Reads of the host that wait for the die: behind a commit stage, those that were sent to it.
    pub host_reads: u32,
    /// Writes of the host that wait for the die, or for any die, and that it could serve now; behind a commit stage, as above.
    pub host_writes: u32,
    /// True while the die runs a command.
    pub die_works: bool,
    /// True while that command is of the host.
    pub die_serves_host: bool,
    /// False if no write of the host finds a page in the domain until GC makes room, or in a plane whose die waits for the turn of this one.
    pub host_has_room: bool,
    /// True if the host has no request in the drive.
    pub host_rests: bool,
    /// True if commands of GC take operations of the host along, and the next step is no erase.
    pub takes_along: bool,
    /// Of the reads of the host: those that the next move could take along, since they wait for another plane of the die at the offset of
    /// the page that it reads. None if nothing is taken along.
    pub joining_reads: u32,
    /// Of the writes of the host: those that the next move could take along, since they can go to another plane of the die whose next page
    /// is that of GC. None if nothing is taken along, or the domain is the drive, where moved data go to any die.
    pub joining_writes: u32,
}

impl StepView {
    /// True if the host needs the die, and does not wait for the room that GC is about to make. What GC can take along waits for GC,
    /// also while the die serves another operation of the host: what has ended cannot be joined.
    #[must_use]
    pub fn is_in_the_way(&self) -> bool {
        let waits = self.host_reads > self.joining_reads || self.host_writes > self.joining_writes;
        (waits || self.die_serves_host && !self.takes_along) && self.host_has_room
    }
}

/// What a collection does at its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It takes the step.
    Go,
    /// It is put on hold. It is asked again when the view may have changed.
    Hold,
}

/// A logical page (mapping unit) that was read from a victim block, as the policy sees it before it waits to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveView {
    /// The GC domain: the drive.
    pub domain: u32,
    /// The logical page. Those behind the host's are of the mapping table.
    pub unit: u32,
    /// The victim block.
    pub block: u32,
    /// Its die.
    pub die: u32,
    /// The channel of the die.
    pub channel: u32,
    /// Valid mapping units that the block still has, this one included.
    pub valid: u32,
    /// Its P/E cycles.
    pub erases: u32,
    /// Free blocks of the domain, as in [`SpaceView`].
    pub free: u32,
    /// True if the unit is one of the mapping table.
    pub of_table: bool,
}

/// Where a moved unit is to be written. Without room there it goes to any die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any die of the domain, as without a policy that says it.
    Any,
    /// A die of a channel.
    Channel(u32),
    /// A die.
    Die(u32),
}

/// Decides when garbage collection runs.
pub trait Collect {
    /// True if GC should start another victim block now.
    fn wants(&mut self, view: &SpaceView) -> bool;
    /// Time without a request of the host, in picoseconds, after which it is asked, and told so; none if rests mean nothing to it.
    fn rest(&self) -> Option<Time> {
        None
    }
    /// True if it is asked whether to collect the block that the victim policy has chosen.
    fn weighs(&self) -> bool {
        false
    }
    /// Whether to collect that block now.
    fn takes(&mut self, _: &CandidateView) -> bool {
        true
    }
    /// True if it is asked about the steps of each victim block. Not while commands take no time.
    fn steps(&self) -> bool {
        false
    }
    /// Whether a victim block takes its next step now.
    fn step(&mut self, _: &StepView) -> Step {
        Step::Go
    }
    /// Which merges of log blocks leave busy periods, or go in steps; none if they start when they are wanted and go on to their end.
    fn schedule(&self) -> Option<Rule> {
        None
    }
    /// What to collect next in an idle period.
    fn idle_work(&mut self, _: &IdleView) -> IdleWork {
        IdleWork::Nothing
    }
    /// True if it is asked where moved units are to be written.
    fn places(&self) -> bool {
        false
    }
    /// Where a moved unit is to be written.
    fn place(&mut self, _: &MoveView) -> Target {
        Target::Any
    }
    /// Free blocks reserved for GC, in each domain.
    fn reserve(&self) -> u32;
    /// Free blocks below which GC starts, in each domain.
    fn start(&self) -> u32;
    /// Free blocks at which GC stops, in each domain.
    fn stop(&self) -> u32;
    /// Outstanding page moves per victim block.
    fn window(&self) -> u32;
    /// Victim blocks in progress at a time in each domain.
    fn most(&self) -> u32;
    /// Victim blocks in progress at a time in each die, if they are limited.
    fn most_of_die(&self) -> Option<u32> {
        None
    }
    /// True if the host writes no faster than GC gains space, while it runs.
    fn paces(&self) -> bool {
        false
    }
    /// Method of moving fully valid pages.
    fn copyback(&self) -> Copyback;
    /// Blocks that moved data are written to.
    fn destination(&self) -> Destination {
        Destination::OwnBlock
    }
    /// Free blocks of a domain below which a die with a victim serves GC alone; 0 if it never does.
    fn hold_below(&self) -> u32 {
        0
    }
    /// True if the operations of GC take no time.
    fn is_instant(&self) -> bool {
        false
    }
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

/// The figures of a policy that are those of garbage collection on demand, which it has in a field.
macro_rules! figures_of {
    ($field:ident) => {
        fn reserve(&self) -> u32 {
            self.$field.reserve()
        }

        fn start(&self) -> u32 {
            self.$field.start()
        }

        fn stop(&self) -> u32 {
            self.$field.stop()
        }

        fn window(&self) -> u32 {
            self.$field.window()
        }

        fn most(&self) -> u32 {
            self.$field.most()
        }

        fn most_of_die(&self) -> Option<u32> {
            self.$field.most_of_die()
        }

        fn paces(&self) -> bool {
            self.$field.paces()
        }

        fn copyback(&self) -> super::Copyback {
            self.$field.copyback()
        }

        fn destination(&self) -> super::Destination {
            self.$field.destination()
        }

        fn hold_below(&self) -> u32 {
            self.$field.hold_below()
        }

        fn is_instant(&self) -> bool {
            self.$field.is_instant()
        }
    };
}

policies! {
    family "collect" decides "when garbage collection (GC) starts and stops, its steps, and where moved data go";
    trait Collect, config CollectConfig, policy CollectPolicy;
    members {
        /// When free blocks run low.
        "on-demand" => on_demand::OnDemand,
        /// The same, on hold while the host needs the die.
        "preemptive" => preemptive::Preemptive,
        /// The same as on demand, and ahead of it while the host rests.
        "background" => background::Background,
        /// On demand, and merges of log blocks ahead in idle periods.
        "agc" => agc::Agc,
        /// Merges of log blocks delayed to idle periods.
        "dgc" => dgc::Dgc,
        /// Both.
        "agc-dgc" => agc_dgc::AgcDgc,
        /// Merges of log blocks in steps that writes pay for.
        "partial" => partial::Partial,
    }
    guest guest::Guest;
    methods {
        fn wants(self: &mut Self, view: &SpaceView) -> bool;
        fn rest(self: &Self) -> Option<Time>;
        fn weighs(self: &Self) -> bool;
        fn takes(self: &mut Self, view: &CandidateView) -> bool;
        fn steps(self: &Self) -> bool;
        fn step(self: &mut Self, view: &StepView) -> Step;
        fn schedule(self: &Self) -> Option<Rule>;
        fn idle_work(self: &mut Self, view: &IdleView) -> IdleWork;
        fn places(self: &Self) -> bool;
        fn place(self: &mut Self, view: &MoveView) -> Target;
        fn reserve(self: &Self) -> u32;
        fn start(self: &Self) -> u32;
        fn stop(self: &Self) -> u32;
        fn window(self: &Self) -> u32;
        fn most(self: &Self) -> u32;
        fn most_of_die(self: &Self) -> Option<u32>;
        fn paces(self: &Self) -> bool;
        fn copyback(self: &Self) -> Copyback;
        fn destination(self: &Self) -> Destination;
        fn hold_below(self: &Self) -> u32;
        fn is_instant(self: &Self) -> bool;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl CollectConfig {
    /// True if the drive file sets the number of free blocks at which GC stops.
    pub(crate) fn says_stop(&self) -> bool {
        match self {
            Self::OnDemand(options) => options.stop_blocks.is_some(),
            Self::Preemptive(options) => options.on_demand.stop_blocks.is_some(),
            Self::Background(options) => options.on_demand.stop_blocks.is_some(),
            Self::Agc(options) | Self::AgcDgc(options) => options.on_demand.stop_blocks.is_some(),
            Self::Dgc(options) => options.on_demand.stop_blocks.is_some(),
            Self::Partial(options) => options.on_demand.stop_blocks.is_some(),
            Self::Guest(_) => true,
        }
    }

    /// The chosen scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Self::OnDemand(options) => options.scope,
            Self::Preemptive(options) => options.on_demand.scope,
            Self::Background(options) => options.on_demand.scope,
            Self::Agc(options) | Self::AgcDgc(options) => options.on_demand.scope,
            Self::Dgc(options) => options.on_demand.scope,
            Self::Partial(options) => options.on_demand.scope,
            Self::Guest(options) => guest::scope(options),
        }
    }

    /// The chosen dies for moved data.
    pub(crate) fn moves_to(&self) -> MovesTo {
        match self {
            Self::OnDemand(options) => options.moves_to,
            Self::Preemptive(options) => options.on_demand.moves_to,
            Self::Background(options) => options.on_demand.moves_to,
            Self::Agc(options) | Self::AgcDgc(options) => options.on_demand.moves_to,
            Self::Dgc(options) => options.on_demand.moves_to,
            Self::Partial(options) => options.on_demand.moves_to,
            Self::Guest(options) => guest::moves_to(options),
        }
    }
}

impl CollectPolicy {
    /// Continues from the saved state of the same policy. External policies start fresh.
    ///
    /// # Errors
    /// Says what it cannot have remembered.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), String> {
        match (self, saved) {
            (Self::OnDemand(own), Self::OnDemand(saved)) => own.restore(saved),
            (Self::Preemptive(own), Self::Preemptive(saved)) => own.restore(saved),
            (Self::Background(own), Self::Background(saved)) => own.restore(saved),
            (Self::Agc(own), Self::Agc(saved)) => own.restore(saved),
            (Self::Dgc(own), Self::Dgc(saved)) => own.restore(saved),
            (Self::AgcDgc(own), Self::AgcDgc(saved)) => own.restore(saved),
            (Self::Partial(own), Self::Partial(saved)) => own.restore(saved),
            _ => Ok(()),
        }
    }
}
