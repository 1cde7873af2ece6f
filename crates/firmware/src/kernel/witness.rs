//! Purpose of commands, for observers: the timeline of the flash, the tables of its units, and the latency breakdown of
//! requests.

use super::account::Accounts;
use super::history::Served;
use super::Kernel;
use crate::ops::{FlashOp, Slab, NONE};
use crate::policy::placement::Constraint;
use crate::task::{Class, Task, CLASSES};
use std::borrow::Cow;
use wordline_base::Time;
use wordline_flash::{Kind, Logged, Payers, Share, Tally, MAX_PLANES, PAYERS};

/// A command that has begun, and a request that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The lane of the flash that runs it.
    pub lane: u32,
    /// Its number, in the order of the starts.
    pub command: u64,
    /// Whose command it is.
    pub class: Class,
    /// The request, as the drive numbered it; none for GC's, and for data that were acknowledged before.
    pub request: Option<u32>,
}

/// A step in the life of commands, in the order of happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// A lane has begun a command.
    Begun {
        /// The lane of the flash.
        lane: u32,
        /// The number of the command.
        command: u64,
        /// Whose command it is.
        class: Class,
        /// Its operations: a copyback counts as a read and a program.
        kind: Kind,
        /// The planes that take part for it, as bits.
        planes: u8,
    },
    /// Other planes of that command work for another class.
    Joined {
        /// The lane of the flash.
        lane: u32,
        /// Whose pages they are.
        class: Class,
        /// The planes, as bits.
        planes: u8,
    },
    /// A die has nothing more to do.
    Idle {
        /// The die.
        die: u32,
    },
}

/// Records for observers.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    wants: Noting,
    services: Vec<Service>,
    passages: Vec<Passage>,
    pub accounts: Option<Accounts>,
}

/// Selection of the flash events to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noting {
    /// Whom each command serves, and what the flash does.
    pub services: bool,
    /// Every step of commands, and what the flash does.
    pub passages: bool,
    /// The accounts of so many requests at a time; 0 keeps none.
    pub accounts: u32,
}

/// Records since the last read.
#[derive(Debug)]
pub struct Noted<'a> {
    /// Whom the commands serve that have begun.
    pub services: &'a mut Vec<Service>,
    /// The steps of commands.
    pub passages: &'a mut Vec<Passage>,
    /// Activity of the dies. A command comes before its entries.
    pub entries: &'a mut Vec<Logged>,
}

/// The requests that the operations of a command serve.
fn served_by(slab: &Slab, class: Class, pages: &[u32]) -> Served {
    let (Some(&first), Some(&last), true) = (pages.first(), pages.last(), class.is_host()) else {
        return Served::NOBODY;
    };
    let mut last = slab.get(last);
    while last.next != NONE {
        last = slab.get(last.next);
    }
    Served { first: slab.get(first).owner, last: last.owner }
}

/// When the last of the data of a page came, or a read or erase was ready.
fn ready_since(slab: &Slab, page: u32) -> Time {
    let mut op = slab.get(page);
    let mut ready = op.ready;
    while op.next != NONE {
        op = slab.get(op.next);
        ready = ready.max(op.ready);
    }
    ready
}

impl Kernel {
    /// Starts or stops recording flash activity with its purpose.
    pub fn record(&mut self, wants: Noting) {
        self.flash.record(wants.services || wants.passages, wants.accounts > 0);
        if wants == Noting::default() {
            self.notes = None;
            self.find_ways();
            return;
        }
        let geometry = self.flash.geometry();
        let notes = self.notes.get_or_insert_with(Box::default);
        // A drive at rest has nothing under way whose account would be lost.
        if wants.accounts != notes.wants.accounts || self.slab.live() == 0 {
            let waited = notes.accounts.take().map(|accounts| accounts.waited);
            notes.accounts = (wants.accounts > 0).then(|| Accounts::new(wants.accounts as usize, geometry, self.now));
            // What was counted stays counted.
            notes.accounts.iter_mut().for_each(|accounts| accounts.waited = waited.unwrap_or_default());
        }
        notes.wants = wants;
        self.find_ways();
    }

    /// True if accounts of requests are kept, and nothing else is noted.
    pub(super) fn keeps_accounts_only(&self) -> bool {
        let wants = self.noting();
        wants.accounts > 0 && !wants.services && !wants.passages
    }

    /// Current selection of records.
    #[must_use]
    pub fn noting(&self) -> Noting {
        self.notes.as_ref().map_or(Noting::default(), |notes| notes.wants)
    }

    /// Records since the last call, if any; the caller drains them.
    pub fn noted(&mut self) -> Option<Noted<'_>> {
        let notes = self.notes.as_mut().filter(|notes| notes.wants.services || notes.wants.passages)?;
        let entries = self.flash.recorded()?;
        Some(Noted { services: &mut notes.services, passages: &mut notes.passages, entries })
    }

    /// Whose command a die runs now; none if it is idle. Of a command with operations of several classes, the one that leads it.
    #[must_use]
    pub fn runs(&self, die: u32) -> Option<Class> {
        let state = &self.dies[die as usize];
        state.busy.then(|| state.class.counted())
    }

    /// Jobs of a task that run: blocks that it is emptying.
    #[must_use]
    pub fn running_jobs(&self, task: Task) -> u32 {
        self.jobs.of_task(task)
    }

    /// How long a die has been taken by commands of each class up to `at`, which is neither before its last event nor after its next:
    /// from the start of a command to its end, waiting for the bus included. Reads beside a suspended command count as that command.
    #[inline]
    #[must_use]
    pub fn occupied(&self, die: u32, at: Time) -> Cow<'_, [Time; CLASSES]> {
        let state = &self.dies[die as usize];
        let mut times = Cow::Borrowed(&state.occupied);
        if state.busy && self.timed {
            let times = times.to_mut();
            if state.mixed {
                self.parts_of(die, at - state.since).for_each(|(class, part)| times[class.index()] += part);
            } else {
                times[state.class.counted().index()] += at - state.since;
            }
        }
        times
    }

    /// True if dies use cache mode.
    #[must_use]
    pub fn caches(&self) -> bool {
        self.pack.cache().is_some()
    }

    /// A command is about to start: the time of host commands is summed, and the energy of all is charged. `shared_at` is its die if it
    /// may hold operations of several tasks.
    #[inline]
    pub(super) fn foresee(&mut self, class: Class, shared_at: Option<u32>) {
        if self.notes.is_some() {
            self.foresee_noted(class, shared_at);
        }
    }

    #[inline(never)]
    fn foresee_noted(&mut self, class: Class, shared_at: Option<u32>) {
        let mixed = shared_at.filter(|&die| self.dies[die as usize].mixed);
        if class.is_host() || mixed.is_some() {
            self.flash.add_up_next();
        }
        if self.notes.as_ref().is_some_and(|notes| notes.accounts.is_some()) {
            let payers = mixed.map_or(Payers::One(class.task().index() as u8), |die| self.payers(die));
            self.flash.charge_next(payers);
        }
    }

    /// The tasks that share the command of a die.
    fn payers(&self, die: u32) -> Payers {
        let state = &self.dies[die as usize];
        let mut shares = [Share::default(); PAYERS];
        for (&page, &bytes) in state.pages[..usize::from(state.count)].iter().zip(self.command.bytes()) {
            let share = &mut shares[self.slab.get(page).class.task().index()];
            share.planes += 1;
            share.bytes += bytes;
        }
        Payers::Some(shares)
    }

    /// A die is about to start a command of one class, which only accounts look at.
    #[inline(always)]
    pub(super) fn hear_next(&mut self, class: Class) {
        self.flash.hear_next(class.is_host(), class.task().index() as u8);
    }

    /// As [`Kernel::witness`] for the command of a class that a die has just begun, where only accounts look at it.
    #[inline(never)]
    pub(super) fn witness_begun(&mut self, die: u32, class: Class) {
        debug_assert!(self.keeps_accounts_only(), "nothing else is noted");
        let state = &self.dies[die as usize];
        let (slot, op) = (state.pages[0], self.slab.get(state.pages[0]));
        if state.count > 1 || op.next != NONE {
            return self.witness(die, class, (state.count, state.pages));
        }
        let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) else { return };
        let wait = accounts.begin_lone(die, class, op, self.now);
        if class.is_host() {
            accounts.bind((die, self.flash.tally(die)), slot, op, &wait, self.now);
            if op.buffered {
                accounts.drain_of_waiting(self.now).bind(slot, class, self.now);
            }
        }
    }

    /// Notes whom the command serves that a lane has just begun with the operations `pages`; once if for no request.
    #[inline(never)]
    pub(super) fn witness(&mut self, lane: u32, class: Class, (count, pages): (u8, [u32; MAX_PLANES])) {
        let class = class.counted();
        let command = self.flash.command_number(lane);
        let Some(notes) = &mut self.notes else { return };
        let first = notes.services.len();
        if notes.wants.services {
            notes.services.push(Service { lane, command, class, request: None });
        }
        let mixed = self.dies.get(lane as usize).is_some_and(|die| die.mixed);
        if notes.wants.passages {
            let whose = |at: usize| if mixed { self.slab.get(pages[at]).class.counted() } else { class };
            let bits = |wanted: Class| {
                let of_wanted = self.command.pages().iter().enumerate().filter(|&(at, _)| whose(at) == wanted);
                of_wanted.fold(0, |planes, (_, page)| planes | 1 << page.plane)
            };
            notes.passages.push(Passage::Begun { lane, command, class, kind: self.command.kind, planes: bits(class) });
            if mixed {
                let others = self.plan.tasks.iter().map(|task| Class::new(task, class.action()));
                for class in others.filter(|&other| other != class) {
                    let planes = bits(class);
                    if planes != 0 {
                        notes.passages.push(Passage::Joined { lane, class, planes });
                    }
                }
            }
        }
        let mut tally = Tally::NONE;
        if let Some(accounts) = &mut notes.accounts {
            accounts.begin(lane, class, served_by(&self.slab, class, &pages[..usize::from(count)]), self.now);
            tally = self.flash.tally(lane);
        }
        for &page in pages.iter().take(usize::from(count)) {
            let class = if mixed { self.slab.get(page).class.counted() } else { class };
            let accounts = notes.accounts.as_mut();
            let wait = accounts.map(|accounts| accounts.wait(lane, class, ready_since(&self.slab, page), self.now));
            if !class.is_host() {
                continue;
            }
            let mut operation = page;
            while operation != NONE {
                let op = self.slab.get(operation);
                let request = (op.owner != NONE).then_some(op.owner);
                let served = Service { lane, command, class, request };
                if notes.wants.services && request.is_some() && !notes.services[first..].contains(&served) {
                    notes.services.push(served);
                }
                if let (Some(accounts), Some(wait)) = (&mut notes.accounts, &wait) {
                    accounts.bind((lane, tally), operation, op, wait, self.now);
                    if op.buffered {
                        accounts.drain_of_waiting(self.now).bind(operation, class, self.now);
                    }
                }
                operation = op.next;
            }
        }
    }

    /// Notes that an operation of the host has left its command.
    #[inline(never)]
    pub(super) fn witness_end(&mut self, operation: u32, op: &FlashOp, goes_on: bool, gc_affected: bool) {
        self.close_account(operation, op, goes_on, gc_affected);
        if op.buffered && !goes_on {
            if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
                accounts.drain.leave(operation, self.now);
            }
        }
    }

    /// Records that an operation of the host waited for its entries of the mapping table, since the time given, and goes
    /// on.
    #[inline(never)]
    pub(super) fn witness_lookup(&mut self, operation: u32, since: Time) {
        let (owner, now) = (self.slab.get(operation).owner, self.now);
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.looked_up(operation, owner, since, now);
        }
    }

    /// Records that an operation of the host waited for the processor, and goes on.
    pub(super) fn witness_processed(&mut self, operation: u32, op: &FlashOp) {
        let now = self.now;
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            if op.class.is_host() {
                accounts.processed(operation, op, now);
            }
        }
    }

    /// Records that a buffered unit has started to wait.
    #[inline(never)]
    pub(super) fn witness_wait(&mut self, operation: u32, constraint: Constraint) {
        let planes = self.flash.geometry().planes_per_die;
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.drain_of_waiting(self.now).wait(operation, constraint, planes, self.now);
        }
    }

    /// The same where only accounts look at it.
    #[inline(always)]
    pub(super) fn leave_history(&mut self, die: u32) {
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.leave(die, self.now);
        }
    }

    /// Notes that a die has nothing more to do.
    #[inline(never)]
    pub(super) fn witness_idle(&mut self, die: u32) {
        let Some(notes) = &mut self.notes else { return };
        if notes.wants.passages {
            notes.passages.push(Passage::Idle { die });
        }
        if let Some(accounts) = &mut notes.accounts {
            accounts.leave(die, self.now);
        }
    }
}
