//! Family `dispatch`: when queued requests are served, and when the operations of all tasks are sent to the dies.
//!
//! Most members send operations to their dies at once, where the arbiter orders them (`direct`). The others let them
//! wait in the commit stage, in queues by task, until they choose one for a die that has room. Of these, some look at
//! the host's requests alone, as a device queue does ([`TagRules`]): operations of other tasks go to their dies at once.

use crate::policies;
use crate::policy::Trouble;
use crate::task::{ByTask, Class, Task, Tasks, TASKS};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wordline_base::{Op, Request, Time};

pub use in_order::{Commits, Unit};
pub use one_request::Order;

/// The oldest operation of a queue of the commit stage that can go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Its task and kind.
    pub class: Class,
    /// Its number in the order of becoming ready.
    pub sequence: u64,
    /// The die that it goes to; none while no die can take it.
    pub die: Option<u32>,
}

/// How urgent the first operation of a queue of the commit stage is, where the dispatch policy has deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Time left until its deadline, in picoseconds; less than 0 from then on.
    pub left: i64,
    /// Page reads, page programs or erases that its queue has for its die, it included.
    pub operations: u32,
}

/// Deadlines, in picoseconds from the arrival of a request at the host queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// By kind of request ([`Op`]); none of a kind without deadline.
    pub by_kind: [Option<Time>; Op::ALL.len()],
    /// Of some streams: that of all their requests whose kind has one.
    pub by_stream: BTreeMap<u16, Time>,
    /// Of operations of background tasks, from when they could begin.
    pub background: Time,
    /// Writes that may go to several dies go around those that collect.
    pub avoids_gc: bool,
}

impl Limits {
    /// How long after its arrival a request should be complete, if it has a deadline.
    #[must_use]
    pub fn of(&self, request: &Request) -> Option<Time> {
        let by_kind = self.by_kind[request.op as usize]?;
        Some(self.by_stream.get(&request.stream).copied().unwrap_or(by_kind))
    }
}

/// Operations that wait in the commit stage, and the load of dies and tasks.
#[derive(Clone, Copy, Debug)]
pub struct StageView<'a> {
    /// Oldest operations, in no order: what [`Dispatch::sees`] asks for.
    pub staged: &'a [Staged],
    /// How urgent each is; nothing where the policy has no deadlines, or where there is no choice.
    pub dues: &'a [Due],
    /// By task: pages and blocks committed that have not ended.
    pub outstanding: &'a ByTask<u32>,
    /// Nominal times of a page read, a page program and an erase in the array, in picoseconds.
    pub times: &'a [Time; 3],
}

/// Operations of the commit stage that a policy has to see: the fewer, the faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The oldest operation of each eligible task that a die has room for.
    Oldest,
    /// The oldest operation of each queue of eligible tasks, if a die has room for it.
    Open,
    /// The oldest operation of each queue.
    All,
}

/// What a waiting read of the host has to share with others that wait: each level includes those before it.
///
/// Source: jung13 6.4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conflict {
    /// Nothing: no other read waits for its channel.
    None,
    /// Others wait for its channel, in other packages.
    Domain,
    /// Others wait for its package, in other dies.
    Cluster,
    /// Others wait for its die.
    Node,
}

/// A read of the host that waits in the device queue, and can go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// What it has to share with others that wait.
    pub conflict: Conflict,
    /// It has waited for longer than [`TagRules::bound`].
    pub overdue: bool,
}

/// What a request of the host has for a die that serves one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// The request, as the drive numbers those in service.
    pub request: u32,
    /// True if it writes.
    pub writes: bool,
    /// Its operations that wait there.
    pub operations: u32,
    /// Number of the oldest of them in the order of becoming ready.
    pub sequence: u64,
    /// How long that has waited.
    pub waited: Time,
}

/// A package or die for which transactions of the host wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingTransaction {
    /// Its number.
    pub place: u32,
    /// True if no transaction is under way there.
    pub is_free: bool,
    /// How long its bus is in use, if transactions wait for that.
    pub bus: Time,
    /// True if the oldest operation, which leads the next transaction, is a write.
    pub writes: bool,
    /// Operations that wait for it.
    pub operations: u32,
    /// Number of the oldest of them in the order of becoming ready.
    pub sequence: u64,
    /// How long that has waited.
    pub waited: Time,
}

impl WaitingTransaction {
    /// True if a transaction can be committed there now.
    #[must_use]
    pub fn can_go(&self) -> bool {
        self.is_free && self.bus == 0
    }
}

/// An operation of the host that waits for its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingOperation {
    /// True if it writes.
    pub writes: bool,
    /// Its plane.
    pub plane: u32,
    /// The page of a block that it reads, or that a write of its plane would get now; none for a write without room.
    pub page: Option<u32>,
    /// Its request, as the drive numbers those in service; none if it belongs to none.
    pub request: Option<u32>,
    /// Operations of its kind that wait for its plane and came before it.
    pub before: u32,
    /// Its number in the order of becoming ready.
    pub sequence: u64,
    /// How long it has waited.
    pub waited: Time,
}

/// What a policy chooses itself where operations go to their dies at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The request that a die serves next.
    pub requests: bool,
    /// The package or die whose transaction is committed next.
    pub places: bool,
    /// The operation that leads a transaction.
    pub leads: bool,
    /// What joins it.
    pub joins: bool,
}

impl Choices {
    /// True if it chooses anything: then operations may overtake each other.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

/// How operations of the host leave the device queue for their dies. One command of the host is under way at a die at a
/// time. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagRules {
    /// Reads and writes go in the order of coming, and one that cannot go holds up all behind it. Otherwise writes go at
    /// once, and reads when their die is free, in the order of [`Dispatch::rank`].
    pub in_order: bool,
    /// A package serves one read of the host at a time, not one for each of its dies.
    pub by_package: bool,
    /// Operations of any request share a multi-plane command, not only those of the one that leads it.
    pub packs_across: bool,
    /// Time that it takes to decide on a command.
    pub decision: Time,
    /// How long reads may wait before they are overdue; the end of time if they never are.
    pub bound: Time,
}

/// Decides when requests are served, and when operations are sent to the dies.
pub trait Dispatch {
    /// True if the oldest queued request may be served while `in_service` others are in service.
    fn admits(&mut self, _in_service: u32) -> bool {
        true
    }
    /// With fewer requests in service it may always be, whatever it is: then [`Dispatch::admits`] need not be asked. It is fixed for a drive.
    fn admits_below(&self) -> u32 {
        u32::MAX
    }
    /// How operations of the host are committed, if together as transactions of packages.
    fn commits(&self) -> Option<Commits> {
        None
    }
    /// In which order dies serve requests of the host, if each serves one at a time.
    fn banks(&self) -> Option<Order> {
        None
    }
    /// What it chooses among the transactions, or among the requests that wait for a die, in place of their orders.
    fn choices(&self) -> Choices {
        Choices::default()
    }
    /// The request that a die serves next, by index; they are in the order of becoming ready.
    fn next_request(&mut self, _die: u32, _waiting: &[WaitingRequest]) -> usize {
        0
    }
    /// The package or die whose transaction is committed next, by index, if any is; they are in the order of their oldest operations. Only one
    /// that can go may be chosen.
    fn next_transaction(&mut self, _waiting: &[WaitingTransaction]) -> Option<usize> {
        None
    }
    /// The operation that leads the transaction of a package or die, by index; they are in the order of becoming ready.
    fn leads(&mut self, _place: u32, _waiting: &[WaitingOperation]) -> usize {
        0
    }
    /// The operation that joins a transaction next, by index, if any does; all of `waiting` can. The first of `chosen` leads.
    fn joins(&mut self, _chosen: &[WaitingOperation], _waiting: &[WaitingOperation]) -> Option<usize> {
        None
    }
    /// Operations that a die holds at most, the running one included; none if operations go to their dies at once.
    fn depth(&self) -> Option<u32> {
        None
    }
    /// The operation to send to its die, by index, if any may go now. Only one with a die may be chosen.
    fn next(&mut self, _view: &StageView<'_>) -> Option<usize> {
        None
    }
    /// True if an operation that has nothing beside it may go now: as [`Self::limits`] and [`Self::next`] say of it.
    fn wants(&mut self, only: &Staged, outstanding: &ByTask<u32>, times: &[Time; 3]) -> bool {
        let task = only.class.task().index();
        let staged = std::slice::from_ref(only);
        self.limits().is_none_or(|limits| outstanding[task] < limits[task])
            && self.next(&StageView { staged, dues: &[], outstanding, times }).is_some()
    }
    /// Of several tasks that are eligible the one whose operation goes, if any may: as [`Self::next`] says of the oldest operation of each,
    /// with its number in the order of becoming ready. An eligible task that has no other beside it goes. Only policies that see no more
    /// than these operations are asked.
    fn next_of(&mut self, tasks: Tasks, numbers: &ByTask<u64>, _outstanding: &ByTask<u32>) -> Option<Task> {
        tasks.iter().min_by_key(|task| numbers[task.index()])
    }
    /// The same of two tasks, with the numbers of their oldest operations.
    fn of_two(&mut self, tasks: [Task; 2], oldest: [u64; 2], outstanding: &ByTask<u32>) -> Option<Task> {
        let (mut both, mut numbers) = (Tasks::default(), [0; TASKS]);
        for (task, number) in tasks.into_iter().zip(oldest) {
            both = both.with(task);
            numbers[task.index()] = number;
        }
        self.next_of(both, &numbers, outstanding)
    }
    /// What [`Self::next`] has to see.
    fn sees(&self) -> Sight {
        Sight::Open
    }
    /// True if it takes shares.
    fn takes_shares(&self) -> bool {
        false
    }
    /// Tasks have these shares from now on, in percent.
    fn share(&mut self, _shares: &ByTask<f64>) {}
    /// The most operations that each task may have outstanding, if there is a limit: operations of tasks below it are eligible. It changes
    /// only when the policy takes shares.
    fn limits(&self) -> Option<ByTask<u32>> {
        None
    }
    /// How operations of the host leave the device queue, if they wait there by physical address; [`Self::next`] is not
    /// asked then.
    fn tags(&self) -> Option<TagRules> {
        None
    }
    /// Of the reads of the device queue that can go, those with the least rank go first, of equals the oldest.
    fn rank(&mut self, _read: &Addressed) -> u8 {
        0
    }
    /// Deadlines of requests, if it has any: [`Self::next`] is told how urgent operations are then.
    fn deadlines(&self) -> Option<&Limits> {
        None
    }
    /// The last problem with an external policy, if any.
    #[inline]
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "dispatch" decides "when requests are served, and when operations are sent to the dies";
    trait Dispatch, config DispatchConfig, policy DispatchPolicy;
    members {
        /// Requests in the order of arrival; operations at once.
        "fifo" => fifo::Fifo,
        /// Transactions of packages, in order.
        "in-order" => in_order::InOrder,
        /// Dies that serve a request of the host at a time.
        "one-request" => one_request::OneRequest,
        /// One queue of operations for all tasks and dies.
        "one-queue" => one_queue::OneQueue,
        /// Fixed priorities of tasks.
        "priority" => priority::Priority,
        /// A limit of outstanding operations for each task.
        "debit" => debit::Debit,
        /// A virtual time for each task and die.
        "weighted-fair" => weighted_fair::WeightedFair,
        /// One queue of the host's operations, in order: virtually addressed queueing.
        "vaq" => vaq::Vaq,
        /// Physically addressed queueing.
        "paq" => paq::Paq,
        /// Reads of the host when their die is free.
        "out-of-order" => out_of_order::OutOfOrder,
        /// Earliest deadline first, with garbage collection in the slack of requests.
        "deadline" => deadline::Deadline,
    }
    guest guest::Guest;
    methods {
        fn admits(self: &mut Self, in_service: u32) -> bool;
        fn admits_below(self: &Self) -> u32;
        fn commits(self: &Self) -> Option<Commits>;
        fn banks(self: &Self) -> Option<Order>;
        fn choices(self: &Self) -> Choices;
        fn next_request(self: &mut Self, die: u32, waiting: &[WaitingRequest]) -> usize;
        fn next_transaction(self: &mut Self, waiting: &[WaitingTransaction]) -> Option<usize>;
        fn leads(self: &mut Self, place: u32, waiting: &[WaitingOperation]) -> usize;
        fn joins(self: &mut Self, chosen: &[WaitingOperation], waiting: &[WaitingOperation]) -> Option<usize>;
        fn depth(self: &Self) -> Option<u32>;
        fn next(self: &mut Self, view: &StageView<'_>) -> Option<usize>;
        fn wants(self: &mut Self, only: &Staged, outstanding: &ByTask<u32>, times: &[Time; 3]) -> bool;
        fn next_of(self: &mut Self, tasks: Tasks, numbers: &ByTask<u64>, outstanding: &ByTask<u32>) -> Option<Task>;
        fn of_two(self: &mut Self, tasks: [Task; 2], oldest: [u64; 2], outstanding: &ByTask<u32>) -> Option<Task>;
        fn sees(self: &Self) -> Sight;
        fn takes_shares(self: &Self) -> bool;
        fn share(self: &mut Self, shares: &ByTask<f64>) -> ();
        fn limits(self: &Self) -> Option<ByTask<u32>>;
        fn tags(self: &Self) -> Option<TagRules>;
        fn rank(self: &mut Self, read: &Addressed) -> u8;
        fn deadlines(self: &Self) -> Option<&Limits>;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

/// Options of the policies that give dies a depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DepthOptions {
    /// Operations that a die holds at most, the running one included, 1 to 65,535.
    pub depth: u32,
}

impl Default for DepthOptions {
    fn default() -> Self {
        // As in the controller of kim18 (4.1).
        Self { depth: 4 }
    }
}

impl DepthOptions {
    fn checked(&self) -> Result<u32, ConfigError> {
        match self.depth {
            depth @ 1..=65_535 => Ok(depth),
            depth => Err(ConfigError::new("dispatch.depth", depth, "must be 1 to 65,535")),
        }
    }
}

impl DispatchPolicy {
    /// Continues from the saved state of the same policy.
    ///
    /// # Errors
    /// Says what state is impossible.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), String> {
        match (self, saved) {
            (Self::Debit(own), Self::Debit(saved)) => own.restore(saved),
            (Self::WeightedFair(own), Self::WeightedFair(saved)) => return own.restore(saved),
            _ => {}
        }
        Ok(())
    }
}
