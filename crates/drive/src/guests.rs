//! External policies as choices of a drive file.

pub use wordline_firmware::blocks::VictimView;
pub use wordline_firmware::policy::arbiter::guest::GuestArbiter;
pub use wordline_firmware::policy::arbiter::Waiting;
pub use wordline_firmware::policy::collect::guest::GuestCollect;
pub use wordline_firmware::policy::collect::{MoveView, SpaceView, StepView, Target};
pub use wordline_firmware::policy::dispatch::guest::GuestDispatch;
pub use wordline_firmware::policy::dispatch::{StageView, Staged};
pub use wordline_firmware::policy::free_block::guest::GuestFreeBlock;
pub use wordline_firmware::policy::guest::built_on;
pub use wordline_firmware::policy::mapping::guest::{CacheView, GuestMapping};
pub use wordline_firmware::policy::placement::guest::GuestPlacement;
pub use wordline_firmware::policy::placement::Constraint;
pub use wordline_firmware::policy::processor::guest::GuestProcessor;
pub use wordline_firmware::policy::processor::Work;
pub use wordline_firmware::policy::shares::guest::GuestShares;
pub use wordline_firmware::policy::suspend::guest::GuestSuspend;
pub use wordline_firmware::policy::suspend::Running;
pub use wordline_firmware::policy::upkeep::guest::GuestUpkeep;
pub use wordline_firmware::policy::upkeep::{Occasion, UpkeepView};
pub use wordline_firmware::policy::victim::guest::GuestVictim;
pub use wordline_firmware::policy::{Build, Cause, Guests, Maker, Refusal};
pub use wordline_firmware::task::{ByTask, Task, Tasks};
