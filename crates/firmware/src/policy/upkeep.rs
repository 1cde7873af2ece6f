//! Background tasks that move the data of blocks: one family for each, from the list in [`crate::task`].
//!
//! Their policies choose blocks; the kernel moves the valid data with the page mover and erases the block, as it does for
//! garbage collection, with operations of the task.

pub mod guest;

use crate::blocks::{Block, Blocks, Status};
use crate::policy::{Build, GuestOptions, Member, Telling, Trouble};
use crate::space::Space;
use crate::stays::Stays;
use crate::task::{upkeep_tasks, Task, Tasks};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Time;
use wordline_flash::Flash;

/// When a background task looks for work, besides the end of its job and the moment a block becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Occasion {
    /// Never: the drive does not have the task.
    Never,
    /// With every read of a block that has had this many page reads since its erase.
    Reads(u32),
    /// With every erase of a block.
    Erase,
    /// With every block of the SLC cache that is full, and after this time without a request of the host, in picoseconds.
    Cache {
        /// The time without a request.
        idle: Time,
    },
}

/// A block that was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The block.
    pub block: u32,
    /// The task that it was erased for.
    pub task: Task,
}

/// What wear leveling that counts its sessions tells of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leveling {
    /// The difference in P/E cycles that it allows now.
    pub delta: f64,
    /// Erases of GC since the drive was new.
    pub gc_erases: u64,
    /// Erases for wear leveling since the drive was new.
    pub wear_erases: u64,
    /// Its sessions that are over.
    pub sessions: Vec<Session>,
}

/// A session: a time in which wear leveling caused so many erases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The difference in P/E cycles that it allowed.
    pub delta: f64,
    /// Its erases for wear leveling over those of GC.
    pub overhead: f64,
    /// Standard deviation of the P/E cycles of all blocks at its end.
    pub deviation: f64,
}

/// Blocks, as a background task sees them.
#[derive(Clone, Copy)]
pub struct UpkeepView<'a> {
    blocks: &'a Blocks,
    flash: &'a Flash,
    host_units: u64,
    host_reads: u64,
    space: &'a Space,
    stays: Stays<'a>,
    idle: bool,
}

impl<'a> UpkeepView<'a> {
    /// `host_units` the host has written, and `host_reads` pages were read for it; `idle` if it has rested long enough.
    pub(crate) fn new(
        (blocks, space, stays): (&'a Blocks, &'a Space, Stays<'a>),
        flash: &'a Flash,
        (host_units, host_reads): (u64, u64),
        idle: bool,
    ) -> Self {
        Self { blocks, flash, host_units, host_reads, space, stays, idle }
    }

    /// True if the host has had no request in the drive for the time of the task's occasion.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// The domains: the drive, or its planes.
    pub fn domains(&self) -> impl Iterator<Item = u32> {
        0..self.blocks.domains()
    }

    /// Blocks of a domain that the host may still open in SLC mode.
    #[must_use]
    pub fn slc_left(&self, domain: u32) -> u32 {
        self.space.slc_room(self.blocks, domain)
    }

    /// Full blocks of the SLC cache that no task is moving, by number; where blocks form superblocks, the first of each.
    pub fn cached(&self) -> impl Iterator<Item = u32> + 'a {
        let blocks = self.blocks;
        let records = (0..).zip(blocks.records());
        let full = records.filter(|(_, record)| record.slc && record.status == Status::Closed).map(|(block, _)| block);
        full.filter(move |&block| blocks.leader(block) == block)
    }

    /// Pages programmed in the domain of a full block since a unit of it was last invalidated, or since it was full.
    #[must_use]
    pub fn age(&self, block: u32) -> u32 {
        self.blocks.view(self.domain(block)).age(block)
    }

    /// Mapping units that the host has written. The count begins anew when measuring starts.
    #[must_use]
    pub fn host_units(&self) -> u64 {
        self.host_units
    }

    /// Pages that were read for the host. The count begins anew when measuring starts.
    #[must_use]
    pub fn host_reads(&self) -> u64 {
        self.host_reads
    }

    /// Mapping units that a block holds.
    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.blocks.units_per_block()
    }

    /// Blocks with data that no task is moving, by number. A block that is being written takes no more pages when it is
    /// moved; where blocks form superblocks, it is not listed before all of its superblock are full.
    pub fn written(&self) -> impl Iterator<Item = u32> + 'a {
        let open = self.status_while_written();
        let written = move |record: &Block| Self::has_data(record.status, open);
        (0..).zip(self.blocks.records()).filter(move |(_, record)| written(record)).map(|(block, _)| block)
    }

    /// The same with the page reads of each since its erase.
    pub fn reads_of_written(&self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let open = self.status_while_written();
        let both = self.blocks.records().iter().zip(self.flash.block_records());
        (0..).zip(both).filter_map(move |(block, (record, cells))| {
            Self::has_data(record.status, open).then_some((block, cells.reads))
        })
    }

    /// The status of a block that is being written, if its data may be moved; that of a full one, if not.
    fn status_while_written(&self) -> Status {
        if self.blocks.has_superblocks() {
            Status::Closed
        } else {
            Status::Open
        }
    }

    fn has_data(status: Status, open: Status) -> bool {
        matches!(status, Status::Closed | Status::Kept) || status == open
    }

    /// True if a block is one of [`Self::written`].
    #[must_use]
    pub fn is_written(&self, block: u32) -> bool {
        Self::has_data(self.blocks.get(block).status, self.status_while_written())
    }

    /// Why a block cannot be moved, as the end of a sentence; none if it can.
    #[must_use]
    pub fn objection(&self, block: u32) -> Option<String> {
        let count = self.blocks.records().len() as u32;
        if block >= count {
            return Some(format!("does not exist: the drive has blocks 0 to {}", count - 1));
        }
        let status = self.blocks.get(block).status;
        if !self.is_written(block) {
            return Some(format!("cannot be moved: its state is {status:?}"));
        }
        let stays = self.has_logs() && !self.is_full(block);
        stays.then(|| {
            "cannot be moved: it is no full data block of a logical block for which nothing is under way".to_owned()
        })
    }

    /// All blocks but bad ones and those that are held back to replace them, by number.
    pub fn in_use(&self) -> impl Iterator<Item = u32> + Clone + 'a {
        let records = (0..).zip(self.blocks.records());
        records.filter(|(_, record)| Self::is_used(record.status)).map(|(block, _)| block)
    }

    /// True if a block is neither bad nor held back to replace one that is.
    #[must_use]
    pub fn is_in_use(&self, block: u32) -> bool {
        Self::is_used(self.blocks.get(block).status)
    }

    fn is_used(status: Status) -> bool {
        !matches!(status, Status::Bad | Status::Spare)
    }

    /// True if a block is free.
    #[must_use]
    pub fn is_free(&self, block: u32) -> bool {
        self.blocks.get(block).status == Status::Free
    }

    /// True if a block is full, and no task is moving its data. Where the mapping has log blocks, it is the data block of a logical
    /// block for which nothing is under way.
    #[must_use]
    pub fn is_full(&self, block: u32) -> bool {
        matches!(self.blocks.get(block).status, Status::Closed | Status::Kept) && self.stays.may_move(block)
    }

    /// True if the mapping has log blocks.
    #[must_use]
    pub fn has_logs(&self) -> bool {
        self.stays.has_logs()
    }

    /// Places where data may stay: logical blocks where the mapping has log blocks, else blocks.
    #[must_use]
    pub fn places(&self) -> u32 {
        self.stays.count()
    }

    /// The block whose data were not updated lately and can be moved, at a place: with log blocks the data block of a logical
    /// block without pages in log blocks; else a full block in which all is valid. None if there are no such data.
    #[must_use]
    pub fn staying(&self, place: u32) -> Option<u32> {
        self.stays.at(place)
    }

    /// Erases of all blocks of a domain since the drive was new, and how many blocks these are.
    #[must_use]
    pub fn erases_in(&self, domain: u32) -> (u64, u32) {
        self.blocks.erases_in_domain(domain)
    }

    /// Standard deviation of the P/E cycles of all blocks.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.blocks.wear().1
    }

    /// The domain of a block, in which its data stay: the drive, or its plane.
    #[must_use]
    pub fn domain(&self, block: u32) -> u32 {
        self.blocks.domain_of_plane(self.blocks.plane_of(block))
    }

    /// Page reads of a block since its erase.
    #[must_use]
    pub fn reads(&self, block: u32) -> u32 {
        self.flash.block_record(block).reads
    }

    /// P/E cycles of a block.
    #[must_use]
    pub fn erases(&self, block: u32) -> u32 {
        self.blocks.get(block).erases
    }

    /// Page reads of the block that was read most since its erase, of those with data. One that is being moved counts until its erase: it
    /// is read as before.
    #[must_use]
    pub fn most_reads(&self) -> u32 {
        let open = self.status_while_written();
        let both = self.blocks.records().iter().zip(self.flash.block_records());
        let counts = |status| status == Status::Victim || Self::has_data(status, open);
        both.filter(|(record, _)| counts(record.status)).map(|(_, cells)| cells.reads).max().unwrap_or(0)
    }

    /// Valid mapping units of a block.
    #[must_use]
    pub fn valid(&self, block: u32) -> u32 {
        self.blocks.get(block).valid
    }
}

/// Chooses the blocks that a background task moves.
pub trait Upkeep {
    /// When it looks for work.
    fn occasion(&self) -> Occasion;
    /// How far the state that it keeps is from its target, as a part of the target, for the control of shares. If reads are
    /// its occasion, it is only asked while some block may have as many as an occasion names.
    fn error(&mut self, _view: &UpkeepView<'_>) -> f64 {
        0.0
    }
    /// True if it is asked for that at each step of the control, whatever its occasion.
    fn tells_error(&self) -> bool {
        false
    }
    /// The written block to move next, if any.
    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32>;
    /// Outstanding page moves per block.
    fn window(&self) -> u32;
    /// Blocks moved at a time.
    fn most(&self) -> u32;
    /// True if data that it moves open the free block of a plane that has the most P/E cycles, instead of the one that
    /// `free_block` ranks first.
    fn opens_worn(&self) -> bool {
        false
    }
    /// True if the blocks that it chooses can be moved where the mapping has log blocks.
    fn goes_with_logs(&self) -> bool {
        false
    }
    /// True if it takes a mapping that moves data block by block.
    fn needs_whole_blocks(&self) -> bool {
        false
    }
    /// True if it is told of each block that is erased.
    fn follows_erases(&self) -> bool {
        false
    }
    /// A block was erased, and is free. Gives the written block whose data are to move there, if any; with block mapping they go where
    /// `opens_worn` says.
    fn erased(&mut self, _view: &UpkeepView<'_>, _erased: Erased) -> Option<u32> {
        None
    }
    /// What it tells of its sessions, if it has any.
    fn leveling(&self) -> Option<&Leveling> {
        None
    }
    /// The last problem with an external policy, if any.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

/// Generates the family of a background task from the list of its members: see [`crate::policies!`].
macro_rules! upkeep_policies {
    (
        family $family:literal decides $decides:literal;
        config $Config:ident, policy $Policy:ident;
        members { $($members:tt)* }
    ) => {
        $crate::policies! {
            family $family decides $decides;
            trait Upkeep, config $Config, policy $Policy;
            members { $($members)* }
            guest guest::Guest;
            methods {
                fn occasion(self: &Self) -> Occasion;
                fn error(self: &mut Self, view: &UpkeepView<'_>) -> f64;
                fn tells_error(self: &Self) -> bool;
                fn next(self: &mut Self, view: &UpkeepView<'_>) -> Option<u32>;
                fn window(self: &Self) -> u32;
                fn most(self: &Self) -> u32;
                fn opens_worn(self: &Self) -> bool;
                fn goes_with_logs(self: &Self) -> bool;
                fn needs_whole_blocks(self: &Self) -> bool;
                fn follows_erases(self: &Self) -> bool;
                fn erased(self: &mut Self, view: &UpkeepView<'_>, erased: Erased) -> Option<u32>;
                fn leveling(self: &Self) -> Option<&Leveling>;
                fn trouble(self: &Self) -> Option<&Trouble>;
            }
        }
    };
}
pub(crate) use upkeep_policies;

macro_rules! families {
    ($( $(#[$doc:meta])* $TASK:ident $name:literal $title:literal $module:ident $Config:ident $Policy:ident; )*) => {
        $( use crate::policy::$module::{$Config, $Policy}; )*

        /// Sections of the background tasks.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct UpkeepConfig {
            $( $(#[$doc])* pub $module: $Config, )*
        }

        /// Built policies of the background tasks.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub struct UpkeepPolicies {
            $( $module: $Policy, )*
        }

        impl UpkeepConfig {
            /// Builds the chosen policies.
            ///
            /// # Errors
            /// Names the option that cannot be used with this drive.
            pub fn build(&self, build: &Build<'_>) -> Result<UpkeepPolicies, ConfigError> {
                Ok(UpkeepPolicies { $( $module: self.$module.build(build)?, )* })
            }

            /// The sections of external policies, each with its family.
            pub(crate) fn guests_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut GuestOptions)> {
                let all = [$( ($name, self.$module.guest_mut()) ),*];
                all.into_iter().filter_map(|(family, section)| Some((family, section?)))
            }

            /// All members of these families.
            #[must_use]
            pub fn members() -> Vec<Member> {
                [$( $Config::members() ),*].concat()
            }
        }

        impl UpkeepPolicies {
            /// When a task looks for work.
            #[must_use]
            pub fn occasion(&self, task: Task) -> Occasion {
                match task {
                    $( Task::$TASK => self.$module.occasion(), )*
                    _ => Occasion::Never,
                }
            }

            /// How far the state that a task keeps is from its target.
            #[must_use]
            pub fn error(&mut self, task: Task, view: &UpkeepView<'_>) -> f64 {
                match task {
                    $( Task::$TASK => self.$module.error(view), )*
                    _ => 0.0,
                }
            }

            /// True if a task is asked for that at each step of the control.
            #[must_use]
            pub fn tells_error(&self, task: Task) -> bool {
                match task {
                    $( Task::$TASK => self.$module.tells_error(), )*
                    _ => false,
                }
            }

            /// The block that a task moves next, if any.
            pub fn next(&mut self, task: Task, view: &UpkeepView<'_>) -> Option<u32> {
                match task {
                    $( Task::$TASK => self.$module.next(view), )*
                    _ => None,
                }
            }

            /// Outstanding page moves per block of a task.
            #[must_use]
            pub fn window(&self, task: Task) -> u32 {
                match task {
                    $( Task::$TASK => self.$module.window(), )*
                    _ => 0,
                }
            }

            /// Blocks that a task moves at a time.
            #[must_use]
            pub fn most(&self, task: Task) -> u32 {
                match task {
                    $( Task::$TASK => self.$module.most(), )*
                    _ => 0,
                }
            }

            /// True if data that a task moves open the most worn free block of a plane.
            #[must_use]
            pub fn opens_worn(&self, task: Task) -> bool {
                match task {
                    $( Task::$TASK => self.$module.opens_worn(), )*
                    _ => false,
                }
            }

            /// True if the blocks that a task chooses can be moved where the mapping has log blocks.
            #[must_use]
            pub fn goes_with_logs(&self, task: Task) -> bool {
                match task {
                    $( Task::$TASK => self.$module.goes_with_logs(), )*
                    _ => true,
                }
            }

            /// True if a task takes a mapping that moves data block by block.
            #[must_use]
            pub fn needs_whole_blocks(&self, task: Task) -> bool {
                match task {
                    $( Task::$TASK => self.$module.needs_whole_blocks(), )*
                    _ => false,
                }
            }

            /// The tasks that are told of each block that is erased.
            #[must_use]
            pub fn follow_erases(&self) -> Tasks {
                let tasks = Tasks::default();
                $( let tasks = if self.$module.follows_erases() { tasks.with(Task::$TASK) } else { tasks }; )*
                tasks
            }

            /// Tells a task of a block that was erased; gives the block whose data are to move there, if any.
            pub fn erased(&mut self, task: Task, view: &UpkeepView<'_>, erased: Erased) -> Option<u32> {
                match task {
                    $( Task::$TASK => self.$module.erased(view, erased), )*
                    _ => None,
                }
            }

            /// What a task tells of its sessions of wear leveling, if one has any.
            #[must_use]
            pub fn leveling(&self) -> Option<&Leveling> {
                [$( self.$module.leveling() ),*].into_iter().flatten().next()
            }

            /// Problems with external policies, each with its family.
            pub(crate) fn troubles(&self) -> impl Iterator<Item = (&'static str, Option<&Trouble>)> {
                [$( ($name, self.$module.trouble()) ),*].into_iter()
            }

            /// External policies, each with its family.
            pub(crate) fn seats_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut dyn Telling)> {
                let all = [$( ($name, self.$module.guest_mut().map(|guest| guest.seat_mut())) ),*];
                all.into_iter().filter_map(|(family, seat)| Some((family, seat?)))
            }

            /// Takes over the state of the same policies from a snapshot.
            pub(crate) fn restore(&mut self, saved: Self) {
                $( self.$module.restore(saved.$module); )*
            }

            /// The tasks that a drive with these policies has.
            #[must_use]
            pub fn tasks(&self) -> Tasks {
                let used = Task::all().filter(|&task| self.occasion(task) != Occasion::Never);
                used.fold(Tasks::BASIC, Tasks::with)
            }
        }
    };
}

upkeep_tasks! { families }
