//! What flash operations took, by task: times of cells and buses, from which comes their energy, and their waiting, from an
//! operation's being ready to the start of the command that carries it.
//!
//! Source: kim18, figure 8, which tells it apart from the response time of requests. It is summed where accounts are kept, for
//! all tasks, from the same histories of the dies.

use super::history::{History, HOLDERS};
use super::Kernel;
use crate::task::{ByTask, TASKS};
use wordline_base::Time;
use wordline_flash::{Activity, PAYERS};

const _: () = assert!(TASKS <= PAYERS);

/// Waits of the operations of a task whose commands have begun. An operation is a page read, a page program or a block erase;
/// a program waits from when the last of its data came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Operations.
    pub operations: u64,
    /// How long commands held their dies meanwhile, by whom they served, in picoseconds. Many operations wait at a time.
    pub held: [u128; HOLDERS],
    /// How long their dies were free meanwhile.
    pub free: u128,
}

/// A wait for a die that has just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// When it began.
    pub from: Time,
    /// For how long each held the die.
    pub held: [Time; HOLDERS],
}

impl Waited {
    /// The waits together.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.held.iter().sum::<u128>() + self.free
    }

    /// The mean wait of the operations that have come since, in picoseconds; none if none have.
    #[must_use]
    pub fn mean_since(&self, before: &Self) -> Option<f64> {
        let operations = self.operations - before.operations;
        (operations > 0).then(|| (self.sum() - before.sum()) as f64 / operations as f64)
    }

    /// An operation goes at `now` that was ready at `ready`, to a die with such a past. Gives for how long each held the die meanwhile.
    #[inline(always)]
    pub(super) fn add(&mut self, history: &History, ready: Time, now: Time) -> Wait {
        self.operations += 1;
        let ready = ready.max(history.start());
        if ready >= now {
            return Wait { from: ready, held: [0; HOLDERS] };
        }
        let held = history.between_here(ready, now);
        self.free += u128::from(now - ready - held.iter().sum::<Time>());
        for (sum, &time) in self.held.iter_mut().zip(&held) {
            *sum += u128::from(time);
        }
        Wait { from: ready, held }
    }
}

impl Kernel {
    /// How long operations of each task have waited since counting began; none while no accounts are kept.
    #[must_use]
    pub fn waited(&self) -> Option<&ByTask<Waited>> {
        Some(&self.notes.as_ref()?.accounts.as_ref()?.waited)
    }

    /// Times of cells and buses that each task has been charged with since counting began, as far as they have ended; none while no
    /// accounts are kept. Of a command that tasks share, the cells of a plane are charged to the task that has the plane, command and
    /// address cycles by planes, and data by bytes.
    #[must_use]
    pub fn charged(&self) -> Option<ByTask<Activity>> {
        self.waited()?;
        let charged = self.flash.charged()?;
        Some(std::array::from_fn(|task| charged[task]))
    }

    /// Counts waits and charges anew.
    pub(super) fn reset_waited(&mut self) {
        self.flash.reset_charges();
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.waited = [Waited::default(); TASKS];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::Served;
    use super::*;
    use crate::task::{Action, Class, Task};

    #[test]
    fn a_wait_is_divided_by_who_held_the_die() {
        let mut history = History::new(100);
        history.take(110, Class::HOST_READ, Served::NOBODY);
        history.leave(130);
        history.take(150, Class::new(Task::GC, Action::Erase), Served::NOBODY);
        history.leave(200);
        let mut waited = Waited::default();
        // Ready while the read had 5 left; then the die was free for 20, held by GC for 50, and free for 10.
        waited.add(&history, 125, 210);
        // Not at all.
        waited.add(&history, 210, 210);
        let mut held = [0; HOLDERS];
        (held[0], held[1 + Task::GC.index()]) = (5, 50);
        assert_eq!(waited, Waited { operations: 2, held, free: 30 });
        assert_eq!(waited.sum(), 85);
        // What was before the history is not of it: free for 10, held for 20, free for 20, held for 50, free for 10.
        let before = waited;
        waited.add(&history, 40, 210);
        assert_eq!((waited.held[0], waited.free), (25, 70));
        assert_eq!(waited.mean_since(&before), Some(110.0));
        assert_eq!(waited.mean_since(&waited), None);
    }
}
