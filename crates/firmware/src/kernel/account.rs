//! Accounts: latency breakdown of host operations.
//!
//! Kept on request. The wait of an operation for a die is divided by the die's activity in that time; the flash adds up
//! the time of its command. For each request, the operation that ended last is kept: it determines the latency. A
//! request that waits for the write buffer has no such operation; [`Drain`](super::drain::Drain) divides its wait.

use super::drain::{Drain, DRAINS};
use super::history::{History, Served, HOLDERS};
use super::waits::{Wait, Waited};
use super::{HostDone, Kernel};
use crate::ops::{FlashOp, NONE};
use crate::task::{ByTask, Class, TASKS};
use wordline_base::Time;
use wordline_flash::{Geometry, Spent, Tally};

/// Breakdown of the time of a flash operation, in picoseconds: from the start of its wait, but not before its request
/// was dispatched, to its end. The parts add up to the time in between, but for an operation that began to wait anew
/// because its data had moved: they may then be less. A partial write's read of old data is part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Since when it waited.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Bytes that it read for the host.
    pub bytes: u32,
    /// The firmware computed, for it or for operations of its task before it.
    pub processor: Time,
    /// Its entries of the mapping table were being read from flash.
    pub map: Time,
    /// It waited while the die was taken by other operations of its request.
    pub own: Time,
    /// It waited while the die was taken by other reads of the host, by its other writes, by GC.
    pub die: [Time; HOLDERS],
    /// It waited for a die that was free: it had no page to give, the page waited for company, or a turn.
    pub space: Time,
    /// Its command waited for the bus.
    pub wait_bus: Time,
    /// Its command was on the bus.
    pub bus: Time,
    /// Cells were read.
    pub read: Time,
    /// Cells were programmed.
    pub program: Time,
    /// Its command ran otherwise: registers, another plane's address, the page before in cache mode, a suspension.
    pub other: Time,
}

impl Account {
    /// All parts together.
    #[must_use]
    pub fn sum(&self) -> Time {
        let Self { processor, map, own, die, space, wait_bus, bus, read, program, other, .. } = self;
        processor + map + own + die.iter().sum::<Time>() + space + wait_bus + bus + read + program + other
    }

    /// Adds what its command did, which has left at `now`.
    fn serve(&mut self, spent: &Spent, now: Time) {
        let mut left = now - spent.begun;
        // In cache mode bus and cells may work for one command at the same time: such time is the bus's.
        let told = [
            (&mut self.bus, spent.bus),
            (&mut self.read, spent.read),
            (&mut self.program, spent.program),
            (&mut self.wait_bus, spent.wait_bus),
        ];
        for (part, time) in told {
            let time = time.min(left);
            *part += time;
            left -= time;
        }
        self.other += left;
    }
}

/// The way of a request through the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    served: Time,
    /// When a command first began for it, if one did.
    pub flash_start: Option<Time>,
    /// True if delayed by GC: one of its operations waited for a die held by GC, or the request waited for the write
    /// buffer while GC held up the units there.
    pub gc_affected: bool,
    /// How long it waited for the write buffer, by what held up the units there: see [`DRAINS`].
    pub room: [Time; DRAINS],
    /// True if one of its operations was carried by a command and has ended.
    is_carried: bool,
    /// The last of these, if there is one.
    last: Account,
}

impl Way {
    /// It begins anew; cheaper than another in its place.
    #[inline]
    fn restart(&mut self, now: Time) {
        (self.served, self.flash_start, self.gc_affected, self.room) = (now, None, false, [0; DRAINS]);
        self.is_carried = false;
    }

    /// Its operation that ended last, if one was carried by a command.
    #[inline]
    #[must_use]
    pub fn last(&self) -> Option<&Account> {
        self.is_carried.then_some(&self.last)
    }

    /// A way that ended with such an operation.
    #[must_use]
    pub fn of(last: Account) -> Self {
        Self { is_carried: true, last, ..Self::default() }
    }
}

/// An operation in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Trail {
    /// True if it has read old data, or its entries of the mapping table, and continues.
    goes_on: bool,
    /// Of its command; none before it is issued.
    tally: Tally,
    account: Account,
}

/// The accounts of the host's operations.
#[derive(Clone, Debug)]
pub(super) struct Accounts {
    /// By operation.
    trails: Vec<Trail>,
    /// By die.
    histories: Vec<History>,
    /// By request.
    ways: Vec<Way>,
    /// Causes of waits of the units in the write buffer.
    pub drain: Drain,
    /// Waits of operations.
    pub waited: ByTask<Waited>,
}

impl Accounts {
    /// Of a drive at rest, from `now` on.
    pub fn new(requests: usize, geometry: &Geometry, now: Time) -> Self {
        Self {
            trails: Vec::new(),
            histories: vec![History::new(now); geometry.dies() as usize],
            ways: vec![Way::default(); requests],
            drain: Drain::new(requests, geometry.channels, geometry.dies_per_channel()),
            waited: [Waited::default(); TASKS],
        }
    }

    pub fn way_mut(&mut self, request: u32) -> Option<&mut Way> {
        self.ways.get_mut(request as usize)
    }

    /// A lane has begun a command for such requests.
    pub fn begin(&mut self, lane: u32, class: Class, served: Served, now: Time) {
        if let Some(history) = self.histories.get_mut(lane as usize) {
            history.take(now, class, served);
            self.drain.take(lane, class, now);
        }
    }

    /// A die that was idle has begun a command of a class with one operation. Gives its wait.
    #[inline(always)]
    pub fn begin_lone(&mut self, die: u32, class: Class, op: &FlashOp, now: Time) -> Wait {
        let Self { histories, waited, drain, .. } = self;
        let history = &mut histories[die as usize];
        let wait = waited[class.task().index()].add(history, op.ready, now);
        let owner = if class.is_host() { op.owner } else { NONE };
        history.take(now, class, Served { first: owner, last: owner });
        drain.take(die, class, now);
        wait
    }

    /// A command that a lane has just begun carries an operation of a class that was ready at `ready`.
    pub fn wait(&mut self, lane: u32, class: Class, ready: Time, now: Time) -> Wait {
        let history = &self.histories[self.die_of(lane)];
        self.waited[class.task().index()].add(history, ready, now)
    }

    /// The die of a lane. Those beside suspended commands come after the others.
    #[inline]
    fn die_of(&self, lane: u32) -> usize {
        let (lane, dies) = (lane as usize, self.histories.len());
        if lane < dies {
            lane
        } else {
            lane - dies
        }
    }

    /// The causes of waits for the write buffer, of which a unit is about to wait.
    pub fn drain_of_waiting(&mut self, now: Time) -> &mut Drain {
        let held = self.histories.iter().zip(0..).filter_map(|(history, die)| Some((die, history.holder()?)));
        self.drain.watch(held, now);
        &mut self.drain
    }

    /// A die has nothing more to do.
    pub fn leave(&mut self, die: u32, now: Time) {
        self.histories[die as usize].leave(now);
        self.drain.idle(die, now);
    }

    /// An operation of a request goes on that waited for its entries of the mapping table.
    pub fn looked_up(&mut self, operation: u32, request: u32, since: Time, now: Time) {
        let Some(way) = self.ways.get(request as usize) else { return };
        let start = since.max(way.served);
        let account = Account { start, map: now - start, ..Account::default() };
        *self.trail_mut(operation) = Trail { goes_on: true, account, ..Trail::default() };
    }

    /// An operation of a request goes on that waited for the processor.
    pub fn processed(&mut self, operation: u32, op: &FlashOp, now: Time) {
        let Some(way) = self.ways.get(op.owner as usize) else { return };
        let served = way.served;
        let start = op.ready.max(served);
        let trail = self.trail_mut(operation);
        if trail.goes_on && trail.account.start >= served {
            trail.account.processor += now - start;
        } else {
            let account = Account { start, processor: now - start, ..Account::default() };
            *trail = Trail { goes_on: true, account, ..Trail::default() };
        }
    }

    /// An operation goes on where another stands.
    pub fn continue_from(&mut self, other: u32, operation: u32) {
        let Trail { goes_on, account, .. } = *self.trail_mut(other);
        *self.trail_mut(operation) = Trail { goes_on, account, ..Trail::default() };
    }

    /// An operation goes on that had its data from another, whose command has ended.
    pub fn rebuilt_by(&mut self, other: u32, operation: u32) {
        let account = self.trail_mut(other).account;
        *self.trail_mut(operation) = Trail { goes_on: true, account, ..Trail::default() };
    }

    /// The trail of an operation. The list grows with the slab of operations, and no further.
    fn trail_mut(&mut self, operation: u32) -> &mut Trail {
        let at = operation as usize;
        if at >= self.trails.len() {
            self.grow_trails(at + 1);
        }
        &mut self.trails[at]
    }

    #[cold]
    fn grow_trails(&mut self, count: usize) {
        self.trails.resize(count, Trail::default());
    }

    /// A command that a lane has just begun carries an operation.
    /// `wait` is that of its page.
    #[inline(always)]
    pub fn bind(&mut self, (lane, tally): (u32, Tally), operation: u32, op: &FlashOp, wait: &Wait, now: Time) {
        self.trail_mut(operation);
        let trail = &mut self.trails[operation as usize];
        let Some(way) = self.ways.get_mut(op.owner as usize) else {
            // A buffered unit: the state of its command is the cause of waits for the buffer.
            *trail = Trail { tally, ..Trail::default() };
            return;
        };
        let is_first = way.flash_start.is_none();
        way.flash_start.get_or_insert(now);
        let from = op.ready.max(way.served);
        // A write that another was put into was there before this request: what it had done is not of this way.
        if !trail.goes_on || trail.account.start < way.served {
            *trail = Trail { account: Account { start: from, ..Account::default() }, ..Trail::default() };
        }
        trail.tally = tally;
        let at = self.die_of(lane);
        let (history, account) = (&self.histories[at], &mut self.trails[operation as usize].account);
        if from >= now {
            return;
        }
        let held = if from == wait.from { wait.held } else { history.between(from, now) };
        account.space += now - from - held.iter().sum::<Time>();
        for (sum, time) in account.die.iter_mut().zip(&held) {
            *sum += time;
        }
        // Before its first command none of its own can have held a die.
        if !is_first {
            let own = history.own(op.owner, from, now);
            account.own += own.iter().sum::<Time>();
            account.die.iter_mut().zip(own).for_each(|(sum, own)| *sum -= own);
        }
    }
}

impl Kernel {
    /// A request is dispatched, with a unique number among those in service: its accounts start.
    #[inline]
    pub fn begin_way(&mut self, request: u32, now: Time) {
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.ways[request as usize].restart(now);
        }
    }

    /// The way of a request so far, while accounts are kept.
    #[inline]
    #[must_use]
    pub fn way(&self, request: u32) -> Option<&Way> {
        self.notes.as_ref()?.accounts.as_ref()?.ways.get(request as usize)
    }

    /// A die is idle again that has read one page for a request, of which that is done.
    #[inline(always)]
    pub(super) fn close_read(&mut self, die: u32, operation: u32, done: &HostDone) {
        let now = self.now;
        let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) else { return };
        accounts.leave(die, now);
        let Some(trail) = accounts.trails.get_mut(operation as usize) else { return };
        trail.goes_on = false;
        let spent = self.flash.spent(std::mem::take(&mut trail.tally));
        let Some(way) = accounts.ways.get_mut(done.request as usize) else { return };
        way.gc_affected |= done.gc_affected;
        if let Some(spent) = spent {
            trail.account.serve(spent, now);
            way.is_carried = true;
            way.last = trail.account;
            (way.last.end, way.last.bytes) = (now, done.bytes);
        }
    }

    /// An operation has left its command; a partial write may go on after its read, with the same number.
    pub(super) fn close_account(&mut self, operation: u32, op: &FlashOp, goes_on: bool, gc_affected: bool) {
        let now = self.now;
        let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) else { return };
        let Some(trail) = accounts.trails.get_mut(operation as usize) else { return };
        // Without a command of its own it left before one carried it.
        let spent = self.flash.spent(std::mem::take(&mut trail.tally));
        if let Some(spent) = spent {
            trail.account.serve(spent, now);
            if op.buffered && op.class == Class::HOST_WRITE {
                accounts.drain.ended(spent, now);
            }
        }
        trail.goes_on = goes_on && spent.is_some();
        let Some(way) = accounts.ways.get_mut(op.owner as usize) else { return };
        way.gc_affected |= gc_affected;
        if spent.is_some() && !goes_on {
            let bytes = if op.class == Class::HOST_READ { op.bytes } else { 0 };
            way.is_carried = true;
            way.last = trail.account;
            (way.last.end, way.last.bytes) = (now, bytes);
        }
    }
}
