//! Transactions of the host, committed in the order in which their oldest operations came (`policy/dispatch/in_order.rs`).
//!
//! An operation of the host waits in the queue of its package, or of its die if transactions take only that. The oldest of all leads the next
//! transaction. It is committed when nothing of the host waits or runs in its package; those that can join go with it. Then
//! they are at their dies like others, and share a command if the packer wants it.
//!
//! A dispatch policy may choose the package in place of that order, and what a transaction has (`joining.rs`). Otherwise the order of all is
//! a list of places in the order of coming. An operation that joined before its turn leaves its entry behind, which is dropped when it
//! comes first.

use super::joining::Joining;
use super::Kernel;
use crate::ops::{Fifo, FlashOp, Slab, NONE};
use crate::policy::dispatch::{Choices, Commits, Unit, WaitingTransaction};
use crate::policy::placement::Constraint;
use crate::task::Class;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_flash::Geometry;

/// Transactions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds {
    /// Transactions: of one page, of several planes of a die, of single planes of several dies, of several planes and dies.
    pub count: [u64; 4],
    /// Their pages.
    pub pages: [u64; 4],
    /// Transactions that were committed while another channel had one under way.
    pub beside_channels: u64,
    /// Transactions that were committed while another package of their channel had one under way.
    pub beside_ways: u64,
    /// Time from the coming of an operation to its commitment, summed over operations, in picoseconds.
    pub waited: Time,
}

/// Transactions of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionCounts {
    /// Reads, then programs.
    pub of: [Kinds; 2],
    /// Time in which the oldest operation waited for its package, in picoseconds.
    pub package_taken: Time,
    /// The same for its bus, when its package was free.
    pub bus_taken: Time,
}

/// What the oldest operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Package,
    Bus,
}

/// Operations that wait for their transaction, and what is under way.
#[derive(Clone, Debug)]
pub(super) struct Transactions {
    commits: Commits,
    /// What the dispatch policy chooses: which place is next, in place of the order of coming, what leads and what joins.
    choices: Choices,
    dies_per_unit: u32,
    units_per_channel: u32,
    /// By package, or by die.
    waiting: Vec<Fifo>,
    /// By package, or by die: true from the commitment of a transaction to its end.
    open: Vec<bool>,
    /// By channel: how many are open.
    open_in_channel: Vec<u32>,
    /// In all.
    open_count: u32,
    /// The number of each operation in the order of coming, and where it waits.
    order: VecDeque<(u64, u32)>,
    /// Since when the oldest operation waits for what.
    obstacle: Option<(Obstacle, Time)>,
    /// When the bus for which the oldest operation waits is free; the end of time if it waits for none.
    pub bus_due: Time,
    /// Something may have become possible.
    pub due: bool,
    /// Only the coming of operations, or a bus, has made it so: what the oldest one waits for has not ended.
    only_came: bool,
    pub counts: TransactionCounts,
    joining: Joining,
}

impl Transactions {
    /// The operations that wait at a die, or at the others of its package.
    pub fn waiting_at<'a>(&self, die: u32, slab: &'a Slab) -> impl Iterator<Item = u32> + 'a {
        self.waiting[(die / self.dies_per_unit) as usize].slots(slab)
    }

    /// Nothing waits.
    pub fn new(commits: Commits, choices: Choices, geometry: &Geometry) -> Self {
        let dies_per_unit = match commits.unit {
            Unit::Package => geometry.dies_per_package,
            Unit::Die => 1,
        };
        let units = (geometry.dies() / dies_per_unit) as usize;
        Self {
            commits,
            choices,
            dies_per_unit,
            units_per_channel: geometry.dies_per_channel() / dies_per_unit,
            waiting: vec![Fifo::default(); units],
            open: vec![false; units],
            open_in_channel: vec![0; geometry.channels as usize],
            open_count: 0,
            order: VecDeque::new(),
            obstacle: None,
            bus_due: END_OF_TIME,
            due: false,
            only_came: false,
            counts: TransactionCounts::default(),
            joining: Joining::default(),
        }
    }

    /// True if nothing waits or is under way.
    pub fn is_empty(&self) -> bool {
        self.open_count == 0 && self.waiting.iter().all(|fifo| fifo.head == NONE)
    }

    /// It is `now`: the bus that one waits for may be free.
    pub fn pass_to(&mut self, now: Time) {
        if now >= self.bus_due {
            // If the oldest one waits for its package, the bus is that of another.
            let is_due = std::mem::replace(&mut self.due, true);
            let of_oldest = matches!(self.obstacle, Some((Obstacle::Bus, _)));
            self.only_came = !of_oldest && (!is_due || self.only_came);
        }
    }

    fn channel_of(&self, unit: u32) -> usize {
        (unit / self.units_per_channel) as usize
    }

    fn set_open(&mut self, unit: u32, open: bool) {
        if std::mem::replace(&mut self.open[unit as usize], open) != open {
            let channel = self.channel_of(unit);
            let change = if open { 1 } else { -1 };
            self.open_in_channel[channel] =
                self.open_in_channel[channel].checked_add_signed(change).expect("what ends was open");
            self.open_count = self.open_count.checked_add_signed(change).expect("what ends was open");
        }
    }

    /// Counts how long the oldest operation has waited for something, up to `now`; from then on it waits for another thing, or no
    /// longer.
    fn waits_for(&mut self, obstacle: Option<Obstacle>, now: Time) {
        if let Some((before, since)) = self.obstacle {
            match before {
                Obstacle::Package => self.counts.package_taken += now - since,
                Obstacle::Bus => self.counts.bus_taken += now - since,
            }
        }
        self.obstacle = obstacle.map(|obstacle| (obstacle, now));
    }

    /// Starts the counters anew at `now`.
    pub fn reset(&mut self, now: Time) {
        self.counts = TransactionCounts::default();
        self.obstacle = self.obstacle.map(|(obstacle, _)| (obstacle, now));
    }

    /// The counters up to `now`.
    pub fn counted(&self, now: Time) -> TransactionCounts {
        let mut all = self.counts;
        match self.obstacle {
            Some((Obstacle::Package, since)) => all.package_taken += now - since,
            Some((Obstacle::Bus, since)) => all.bus_taken += now - since,
            None => {}
        }
        all
    }
}

impl Kernel {
    /// What transactions of the host did up to the last step; none if operations go to their dies one by one.
    #[must_use]
    pub fn transactions(&self) -> Option<TransactionCounts> {
        Some(self.transactions.as_ref()?.counted(self.now))
    }

    /// Lets an operation of the host wait for its transaction; false if it goes on at once.
    pub(super) fn waits_for_transaction(&mut self, slot: u32, class: Class, constraint: Constraint) -> bool {
        let wanted = self.timed && matches!(class, Class::HOST_READ | Class::HOST_WRITE);
        let Constraint::Plane(plane) = constraint else { return false };
        let Some(transactions) = self.transactions.as_mut().filter(|_| wanted) else { return false };
        let unit = self.planes_per_die.quotient(plane) / transactions.dies_per_unit;
        transactions.waiting[unit as usize].push(&mut self.slab, slot);
        if transactions.choices.places {
            let is_due = std::mem::replace(&mut transactions.due, true);
            transactions.only_came = transactions.obstacle.is_some() && (!is_due || transactions.only_came);
        } else {
            transactions.order.push_back((self.slab.get(slot).sequence, unit));
            transactions.due |= transactions.obstacle.is_none();
        }
        true
    }

    /// A command of a die has ended, perhaps the last of a transaction, or of the request that its bank serves.
    #[inline(never)]
    pub(super) fn may_be_free(&mut self, die: u32) {
        self.transaction_may_end(die);
        self.bank_may_be_free(die);
    }

    /// The same for a transaction.
    fn transaction_may_end(&mut self, die: u32) {
        let Some(mut transactions) = self.transactions.take() else { return };
        let unit = die / transactions.dies_per_unit;
        self.close_if_ended(&mut transactions, unit);
        self.transactions = Some(transactions);
    }

    fn close_if_ended(&self, transactions: &mut Transactions, unit: u32) {
        if transactions.open[unit as usize] && !self.serves_host(transactions, unit) {
            transactions.set_open(unit, false);
            (transactions.due, transactions.only_came) = (true, false);
        }
    }

    /// True if operations of the host wait or run in the dies of a transaction.
    fn serves_host(&self, transactions: &Transactions, unit: u32) -> bool {
        let dies = transactions.dies_per_unit;
        (unit * dies..(unit + 1) * dies).any(|die| self.die_serves_host(die))
    }

    /// Commits transactions while the oldest operation can go.
    pub(super) fn run_transactions(&mut self) {
        let Some(mut transactions) = self.transactions.take() else { return };
        (transactions.due, transactions.bus_due) = (false, END_OF_TIME);
        if transactions.choices.places {
            self.run_chosen(&mut transactions);
            self.transactions = Some(transactions);
            return;
        }
        loop {
            let Some(&(sequence, unit)) = transactions.order.front() else {
                transactions.waits_for(None, self.now);
                break;
            };
            let head = transactions.waiting[unit as usize].head;
            if head == NONE || self.slab.get(head).sequence != sequence {
                // It went with an earlier one.
                transactions.order.pop_front();
                continue;
            }
            self.close_if_ended(&mut transactions, unit);
            if transactions.open[unit as usize] {
                transactions.waits_for(Some(Obstacle::Package), self.now);
                break;
            }
            let free_at = self.flash.bus_free_at(transactions.channel_of(unit) as u32);
            if transactions.commits.wait_for_bus && free_at > self.now {
                transactions.bus_due = free_at;
                transactions.waits_for(Some(Obstacle::Bus), self.now);
                break;
            }
            transactions.waits_for(None, self.now);
            self.commit_transaction(&mut transactions, unit);
            // Its commands use the bus before others are looked at.
            if transactions.commits.wait_for_bus {
                transactions.due = true;
                break;
            }
        }
        self.transactions = Some(transactions);
    }

    /// Commits transactions as the dispatch policy chooses.
    #[cold]
    fn run_chosen(&mut self, transactions: &mut Transactions) {
        let mut looks = !std::mem::take(&mut transactions.only_came);
        loop {
            let mut waiting = self.waiting_transactions(transactions);
            if let Some(oldest) = waiting.first_mut().filter(|_| looks) {
                // As in order, it alone is looked at again.
                self.close_if_ended(transactions, oldest.place);
                oldest.is_free = !transactions.open[oldest.place as usize];
            }
            let buses = waiting.iter().filter(|one| one.is_free && one.bus > 0).map(|one| self.now + one.bus);
            transactions.bus_due = buses.min().unwrap_or(END_OF_TIME);
            let chosen = match waiting.iter().any(WaitingTransaction::can_go) {
                true => self.dispatch.next_transaction(&waiting),
                false => None,
            };
            let Some(chosen) = chosen else {
                let obstacle = waiting.first().and_then(|oldest| match oldest {
                    _ if !oldest.is_free => Some(Obstacle::Package),
                    _ if oldest.bus > 0 => Some(Obstacle::Bus),
                    _ => None,
                });
                return transactions.waits_for(obstacle, self.now);
            };
            transactions.waits_for(None, self.now);
            self.commit_transaction(transactions, waiting[chosen].place);
            looks = true;
            // Its commands use the bus before others are looked at.
            if transactions.commits.wait_for_bus {
                transactions.due = true;
                return;
            }
        }
    }

    /// The places for which transactions wait, in the order of their oldest operations.
    fn waiting_transactions(&self, transactions: &Transactions) -> Vec<WaitingTransaction> {
        let mut all = Vec::new();
        for place in 0..transactions.waiting.len() as u32 {
            let Fifo { head, len, .. } = transactions.waiting[place as usize];
            if head == NONE {
                continue;
            }
            let FlashOp { class, sequence, ready, .. } = *self.slab.get(head);
            let free_at = self.flash.bus_free_at(transactions.channel_of(place) as u32);
            all.push(WaitingTransaction {
                place,
                is_free: !transactions.open[place as usize],
                bus: if transactions.commits.wait_for_bus { free_at.saturating_sub(self.now) } else { 0 },
                writes: class.is_write(),
                operations: len,
                sequence,
                waited: self.now - ready,
            });
        }
        all.sort_by_key(|one| one.sequence);
        all
    }

    /// Commits the operation that leads in a package or die, with all that join it.
    fn commit_transaction(&mut self, transactions: &mut Transactions, unit: u32) {
        let mut joining = std::mem::take(&mut transactions.joining);
        joining.begin(unit, transactions.dies_per_unit * self.planes_per_die.get());
        self.put_together(&mut transactions.waiting[unit as usize], transactions.choices, &mut joining);
        let class = self.slab.get(joining.chosen[0].0).class;
        let kinds = &mut transactions.counts.of[usize::from(class.is_write())];
        kinds.waited += joining.chosen.iter().map(|&(slot, _)| self.now - self.slab.get(slot).ready).sum::<Time>();
        let kind = joining.kind(self.planes_per_die);
        kinds.count[kind] += 1;
        kinds.pages[kind] += joining.pages(self.plan.units_per_page);
        let in_channel = transactions.open_in_channel[(unit / transactions.units_per_channel) as usize];
        kinds.beside_ways += u64::from(in_channel > 0);
        kinds.beside_channels += u64::from(transactions.open_count > in_channel);
        transactions.set_open(unit, true);
        for &(slot, plane) in &joining.chosen {
            self.commit(slot, class, Constraint::Plane(plane));
        }
        transactions.joining = joining;
    }
}
