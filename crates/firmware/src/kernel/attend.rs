//! Attention: steps between the start and the end of a command, for cache mode and read suspension.

use super::{Fault, Kernel};
use crate::ops::NONE;
use crate::task::Class;
use serde::{Deserialize, Serialize};
use wordline_base::EventQueue;
use wordline_flash::{Kind, Progress, MAX_PLANES};

/// The operations of a command, one or a chain of them for each page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) count: u8,
    pub(super) pages: [u32; MAX_PLANES],
}

impl Default for Batch {
    fn default() -> Self {
        Self { count: 0, pages: [NONE; MAX_PLANES] }
    }
}

impl Kernel {
    /// Makes a bound command ready for a die that needs attention while it runs.
    #[cold]
    pub(super) fn prepare(&mut self, die: u32, class: Class) {
        let caches = self.pack.cache().is_some();
        if caches {
            self.sequences[die as usize].passed = 0;
            self.command.cache = match self.command.kind {
                Kind::Read => true,
                // A program without a follower would pay tCBSY for nothing.
                Kind::Program => self.is_followed(die, class),
                Kind::Erase | Kind::Copyback => false,
            };
        }
        self.running[die as usize] = self.command;
        if self.suspend.interrupts() {
            self.watch(die);
        }
    }

    /// Handles an event of a die, or of what it does beside a suspended command.
    #[cold]
    pub(super) fn attend(&mut self, lane: u32, progress: Progress, queue: &mut EventQueue) -> Result<(), Fault> {
        let (die, beside) = self.flash.die_of(lane);
        match progress {
            Progress::Busy => self.look_again(die, beside, queue)?,
            Progress::Ready { .. } if beside => self.opened(die, queue)?,
            Progress::Ready { ended } => self.go_on(die, ended, queue)?,
            Progress::Done if beside => self.read_beside(die, queue)?,
            Progress::Done => {
                self.end_held(die)?;
                self.complete(die)?;
            }
        }
        self.pump(queue)
    }
}
