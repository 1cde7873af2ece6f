//! External policies as choices of a drive file.

pub use crate::policy::buffer::guest::Figures as BufferFigures;
pub use crate::policy::link::guest::Figures as LinkFigures;
pub use crate::policy::link::{LinkCosts, Transfer};
pub use wordline_firmware::blocks::VictimView;
pub use wordline_firmware::policy::arbiter::guest::GuestArbiter;
pub use wordline_firmware::policy::arbiter::Waiting;
pub use wordline_firmware::policy::carry::{Carried, CarryView, GuestLink};
pub use wordline_firmware::policy::collect::guest::GuestCollect;
pub use wordline_firmware::policy::collect::schedule::{Compacts, IdleView, IdleWork, Rule, Steps};
pub use wordline_firmware::policy::collect::{CandidateView, MoveView, SpaceView, StepView, Target};
pub use wordline_firmware::policy::dispatch::guest::{AtOnce, GuestDispatch};
pub use wordline_firmware::policy::dispatch::in_order::{Commits, Unit};
pub use wordline_firmware::policy::dispatch::one_request::Order;
pub use wordline_firmware::policy::dispatch::{
    Addressed, Choices, Conflict, Limits, StageView, Staged, TagRules, WaitingOperation, WaitingRequest,
    WaitingTransaction,
};
pub use wordline_firmware::policy::free_block::guest::GuestFreeBlock;
pub use wordline_firmware::policy::free_block::{FreeEntry, FreeView};
pub use wordline_firmware::policy::guest::built_on;
pub use wordline_firmware::policy::keep::{BufferView, GuestBuffer, KeptUnit};
pub use wordline_firmware::policy::mapping::guest::{CacheView, GuestMapping, Scheme};
pub use wordline_firmware::policy::mapping::{LogRule, MergeEntry, MergeView, Priority, SequenceView};
pub use wordline_firmware::policy::pack::guest::GuestPack;
pub use wordline_firmware::policy::pack::{Follower, PackedOperation};
pub use wordline_firmware::policy::placement::guest::GuestPlacement;
pub use wordline_firmware::policy::placement::Constraint;
pub use wordline_firmware::policy::processor::guest::GuestProcessor;
pub use wordline_firmware::policy::processor::Work;
pub use wordline_firmware::policy::redundancy::guest::{Figures, GuestRedundancy};
pub use wordline_firmware::policy::redundancy::{AroundView, Raid};
pub use wordline_firmware::policy::shares::guest::GuestShares;
pub use wordline_firmware::policy::slc::guest::GuestSlc;
pub use wordline_firmware::policy::slc::{SlcSize, SlcView};
pub use wordline_firmware::policy::suspend::guest::GuestSuspend;
pub use wordline_firmware::policy::suspend::Running;
pub use wordline_firmware::policy::trim::guest::GuestTrim;
pub use wordline_firmware::policy::upkeep::guest::GuestUpkeep;
pub use wordline_firmware::policy::upkeep::{Erased, Occasion, UpkeepView};
pub use wordline_firmware::policy::victim::guest::GuestVictim;
pub use wordline_firmware::policy::{Build, Cause, Guests, Maker, Refusal, Tells};
pub use wordline_firmware::task::{ByTask, Class, Task, Tasks};
