//! Accounts: for how long the collector held a die, and where the time of a host operation went.
//!
//! The first is always kept, at the price of an addition for each command of the collector. The second is kept on request, and only
//! the last operation of each request is remembered: it is the one that the request waited for.

use super::{Die, Kernel};
use crate::ops::FlashOp;
use crate::policy::placement::Constraint;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Where the time of a flash operation went, all in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// When it came to wait.
    pub ready: Time,
    /// When its command began.
    pub started: Time,
    /// Of the time in between, how long the collector held the die. A write that may go to several dies waits for all of them: the time
    /// counts by the share of the drive's dies that the collector held.
    pub collector: Time,
    /// Of the command, the time in the cells and registers.
    pub cells: Time,
    /// Of the command, the time in which it waited for the bus.
    pub bus_wait: Time,
    /// Whether it writes what a read of old data completed.
    pub merged: bool,
    /// Whether commands of its die may overlap, so that only the whole time is known.
    pub overlaps: bool,
}

/// How a die was when its command began.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    cells: Time,
    bus_wait: Time,
    /// As [`Holdings::mean`].
    held_of_all: Time,
}

/// How things were when an operation came to wait.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// How long the collector had held its die, or the dies on average.
    held: Time,
    /// Whether it waits for any of several dies.
    anywhere: bool,
}

/// The accounts of host operations.
#[derive(Clone, Debug)]
pub(super) struct Accounts {
    /// By operation.
    opens: Vec<Open>,
    /// By die.
    begins: Vec<Begin>,
    /// By request.
    last: Vec<Option<Account>>,
}

/// How long the collector held the dies of the drive.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Holdings {
    dies: u32,
    since: Time,
    /// Dies times time.
    sum: u128,
}

impl Holdings {
    /// A die joins those that the collector holds, or leaves them.
    #[inline]
    pub(super) fn change(&mut self, now: Time, joins: bool) {
        self.sum += u128::from(self.dies) * u128::from(now - self.since);
        self.since = now;
        self.dies = if joins { self.dies + 1 } else { self.dies - 1 };
    }

    /// The time up to `now`, on average over all dies.
    fn mean(&self, now: Time, dies: usize) -> Time {
        ((self.sum + u128::from(self.dies) * u128::from(now - self.since)) / dies as u128) as Time
    }
}

impl Die {
    /// How long the collector has held it up to `now`.
    fn held(&self, now: Time) -> Time {
        let current = if self.busy && !self.class.is_host() { now - self.since } else { 0 };
        self.held + current
    }
}

impl Kernel {
    /// For how long the collector's commands have held a die up to `now`, in picoseconds, suspensions included.
    #[must_use]
    pub fn held_by_collector(&self, die: u32, now: Time) -> Time {
        self.dies[die as usize].held(now)
    }

    /// Keeps the accounts of host operations, for `requests` requests at a time; 0 ends that.
    pub fn keep_accounts(&mut self, requests: usize) {
        let begins = vec![Begin::default(); self.dies.len()];
        self.accounts =
            (requests > 0).then(|| Box::new(Accounts { opens: Vec::new(), begins, last: vec![None; requests] }));
    }

    /// The account of the operation of a request that ended last, since the last call.
    #[inline]
    pub fn take_account(&mut self, request: u32) -> Option<Account> {
        self.accounts.as_mut()?.last[request as usize].take()
    }

    /// An operation comes to wait where `constraint` says.
    pub(super) fn open_account(&mut self, slot: u32, constraint: Constraint) {
        let held = match constraint {
            Constraint::Plane(plane) => self.dies[self.planes_per_die.quotient(plane) as usize].held(self.now),
            _ => self.holdings.mean(self.now, self.dies.len()),
        };
        let Some(accounts) = &mut self.accounts else { return };
        // It grows with the slab of operations, and no further.
        if accounts.opens.len() <= slot as usize {
            accounts.opens.resize(slot as usize + 1, Open::default());
        }
        accounts.opens[slot as usize] = Open { held, anywhere: !matches!(constraint, Constraint::Plane(_)) };
    }

    /// A command begins on a die.
    pub(super) fn begin_account(&mut self, die: u32) {
        let held_of_all = self.holdings.mean(self.now, self.dies.len());
        let (cells, bus_wait) = self.flash.die_progress(die);
        if let Some(accounts) = &mut self.accounts {
            accounts.begins[die as usize] = Begin { cells, bus_wait, held_of_all };
        }
    }

    /// A command of a die has ended that did `op` for the host. The times booked for a command end with it.
    pub(super) fn close_account(&mut self, die: u32, slot: u32, op: &FlashOp) {
        let (cells, bus_wait) = self.flash.die_progress(die);
        let state = &self.dies[die as usize];
        let Some(accounts) = &mut self.accounts else { return };
        let Some(last) = accounts.last.get_mut(op.owner as usize) else { return };
        let (begin, open) = (accounts.begins[die as usize], accounts.opens[slot as usize]);
        let held = if open.anywhere { begin.held_of_all } else { state.held };
        *last = Some(Account {
            ready: op.ready,
            started: state.since,
            collector: held.saturating_sub(open.held),
            cells: cells - begin.cells,
            bus_wait: bus_wait - begin.bus_wait,
            merged: op.merge,
            overlaps: self.attentive,
        });
    }
}
