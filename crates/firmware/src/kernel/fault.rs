//! Reasons to end a run.

use crate::policy::{Gravity, Trouble};
use crate::shadow::Misplaced;
use wordline_base::Time;
use wordline_flash::{FlashError, Violation};

/// The run cannot go on: the firmware broke a rule, which is a defect of the model and never a result, or the flash is worn out.
///
/// Every step of the kernel may end with one, so it is no larger than a pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Fault(Box<Reason>);

/// Why the run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The flash refused a command.
    #[error(transparent)]
    Flash(FlashError),
    /// The flash has had all erases that it endures.
    #[error(
        "the drive is worn out after {:.6} s: block {block} of plane {plane}, die {die}, on channel {channel}, package {package} \
         has reached the {erases} P/E cycles of nand.reliability.endurance",
        *time as f64 / 1e12
    )]
    WornOut {
        /// When, in picoseconds.
        time: Time,
        /// Channel of the package.
        channel: u32,
        /// Package on the channel.
        package: u32,
        /// Die within the package.
        die: u32,
        /// Plane within the die.
        plane: u32,
        /// Block within the plane.
        block: u32,
        /// Its erases.
        erases: u32,
    },
    /// A plane has no replacement left for a bad block.
    #[error(
        "the drive failed after {:.6} s: plane {plane} has used up its replacement blocks ({replacements}), {bad} \
         blocks are bad",
        *time as f64 / 1e12
    )]
    NoSpare {
        /// When, in picoseconds.
        time: Time,
        /// The plane.
        plane: u32,
        /// Bad blocks of its domain.
        bad: u32,
        /// Initial replacement blocks of each plane.
        replacements: u32,
    },
    /// Data were lost or misplaced.
    #[error(transparent)]
    Misplaced(Misplaced),
    /// An external policy failed, or blocks the drive.
    #[error("the policy '{}' ({family}), at {:.6} s: {}", .trouble.policy, *time as f64 / 1e12, .trouble.story)]
    Policy {
        /// When, in picoseconds.
        time: Time,
        /// Its family.
        family: &'static str,
        /// Its name, and what happened.
        trouble: Trouble,
    },
    /// The books do not balance.
    #[error("block accounting: {0}")]
    Books(String),
}

impl Fault {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.0
    }

    /// The books do not balance.
    #[cold]
    #[must_use]
    pub fn books(story: String) -> Self {
        Reason::Books(story).into()
    }

    /// True if the user ended the run while an external policy was deciding: nothing has failed then.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self.reason(), Reason::Policy { trouble, .. } if trouble.gravity == Gravity::Interrupt)
    }
}

impl From<Reason> for Fault {
    #[cold]
    fn from(reason: Reason) -> Self {
        Self(Box::new(reason))
    }
}

impl From<Misplaced> for Fault {
    #[cold]
    fn from(misplaced: Misplaced) -> Self {
        Reason::Misplaced(misplaced).into()
    }
}

impl From<FlashError> for Fault {
    #[cold]
    fn from(error: FlashError) -> Self {
        let FlashError { time, channel, package, violation } = error;
        match violation {
            Violation::WornOut { die, plane, block, erases } => {
                Reason::WornOut { time, channel, package, die, plane, block, erases }
            }
            _ => Reason::Flash(error),
        }
        .into()
    }
}
