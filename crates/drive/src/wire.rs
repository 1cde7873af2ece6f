//! One direction of the host interface, and how long it was in use.

use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// One direction of the host interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    pub(crate) free_at: Time,
    /// Time in which it was used.
    pub busy: Time,
}

impl Wire {
    /// How long it was used up to `at`, which is not before the last transfer was asked for: what is asked for waits in a row.
    #[must_use]
    pub fn used(&self, at: Time) -> Time {
        self.busy.saturating_sub(self.free_at.saturating_sub(at))
    }

    #[inline]
    pub(crate) fn carry(&mut self, now: Time, time: Time) -> Time {
        let end = self.free_at.max(now) + time;
        self.free_at = end;
        self.busy += time;
        end
    }
}
