//! The commit stage: queues of operations that wait to be sent to a die, and the load of the dies.
//!
//! Used by the dispatch policies that give dies a depth; the others send operations to their dies at once. An operation
//! waits in the queue of its class and place: any die, a channel, a die, a plane. The load of a die is counted from what
//! waits there and what runs, so that operations that are dropped or looked up again free their room by themselves.
//! Of a device queue (`tags`), only operations of some classes are held until their die has room; writes of the others
//! wait here for a page alone.

mod room;
mod rows;

pub(super) use rows::{First, Row, Ways, NO_FIRST};

use super::tags::TagQueue;
use crate::ops::{Fifo, FlashOp, Slab, Taken, NONE};
use crate::policy::dispatch::TagRules;
use crate::policy::placement::Constraint;
use crate::task::{ByTask, Class, Task, Tasks, CLASSES, TASKS};
use rows::Dies;
use wordline_base::{Divisor, Time};
use wordline_flash::Geometry;

/// A queue of the stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub class: Class,
    pub place: Constraint,
    pub fifo: Fifo,
    /// The die of its place; [`NONE`] if it is none.
    die: u32,
    /// The die at whose room its operations wait; [`NONE`] if it is none.
    awaits: u32,
    /// What is said of it in its row.
    rest: u64,
    /// True if it is among those that are looked at: it is not empty, and its writes do not just wait for others to fill their page.
    pub is_listed: bool,
}

/// Operations at a die.
#[derive(Clone, Debug, Default)]
struct Load {
    /// Waiting there: reads and erases, and units of writes, by class.
    waiting: [u32; CLASSES],
    /// Of all tasks: operations that wait, pages of writes that wait, pages and blocks of the command that runs.
    all: u32,
    /// Of these, the ones of classes that are held until there is room.
    held: u32,
    /// Classes of writes of which a page waits that lacks units.
    partial: u32,
    /// True if the die may have room.
    open: bool,
    /// By task, queues that are listed whose operations wait for it.
    rows: ByTask<Row>,
}

/// What may go from the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    Nothing,
    /// Operations of one queue.
    Queue(u32),
    /// Operations of several queues of a task.
    Task(Task),
    Several,
}

/// The commit stage of a drive whose dispatch policy gives dies a depth.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    depth: u32,
    /// Classes that are held until there is room, a bit each.
    holds: u32,
    /// The device queue, if the dispatch policy works on one.
    pub tags: Option<Box<TagQueue>>,
    units_per_program: Divisor,
    channels: u32,
    queues: Vec<Queue>,
    /// Where the queues of the planes begin, which are in the order of those of the dies.
    first_of_planes: usize,
    /// Queues that are listed: of writes that may go to several dies, or that are not held.
    roaming: Vec<u32>,
    /// True if operations of such a queue may go as soon as a die has room.
    pub roams: bool,
    /// How many others are listed.
    bound_count: u32,
    loads: Vec<Load>,
    /// Dies that may have room, and those that operations wait for.
    dies: Vec<Dies>,
    /// By task, operations at all dies.
    pub outstanding: ByTask<u32>,
    /// By task, how many there may be at most.
    limits: ByTask<u32>,
    /// Operations in the stage, by task.
    pub waiting: [u32; TASKS],
    /// The tasks that have some.
    tasks: Tasks,
    /// Something may have become possible, besides what room gives.
    pub dirty: bool,
    /// Writes came that can only wait for others to fill their page.
    came: bool,
    /// Reads of the command that is put together that still count as waiting.
    pub starting: u32,
    /// Operations that the dies have more than after the last look: less than 0 means that there is new room.
    balance: i32,
}

impl Stage {
    /// The stage of a drive.
    pub fn new(depth: u32, tags: Option<TagRules>, units_per_program: u32, geometry: &Geometry) -> Self {
        let (channels, dies) = (geometry.channels, geometry.dies());
        let places = std::iter::once(Constraint::Any)
            .chain((0..channels).map(Constraint::Channel))
            .chain((0..dies).map(Constraint::Die))
            .chain((0..geometry.planes()).map(Constraint::Plane));
        let holds = match tags {
            None => u32::MAX,
            Some(TagRules { in_order: true, .. }) => 1 << Class::HOST_READ.index() | 1 << Class::HOST_WRITE.index(),
            Some(_) => 1 << Class::HOST_READ.index(),
        };
        let queues = places.enumerate().flat_map(|(at, place)| {
            let die = match place {
                Constraint::Die(die) => die,
                Constraint::Plane(plane) => plane / geometry.planes_per_die,
                Constraint::Any | Constraint::Channel(_) => NONE,
            };
            let plane = match place {
                Constraint::Plane(plane) => Some(plane % geometry.planes_per_die),
                _ => None,
            };
            (0..CLASSES as u8).map(Class::numbered).map(move |class| {
                let awaits = if holds >> class.index() & 1 == 1 { die } else { NONE };
                let queue = at * CLASSES + class.index();
                let rest = First::rest(queue, class, plane, super::stream_of(class));
                Queue { class, place, fifo: Fifo::default(), die, awaits, rest, is_listed: false }
            })
        });
        // Of each class, one of the die and one of each plane.
        let most = CLASSES / TASKS * (geometry.planes_per_die as usize + 1);
        let load = Load { open: true, rows: std::array::from_fn(|_| Row::new(most)), ..Load::default() };
        Self {
            depth,
            holds,
            tags: tags.map(|rules| Box::new(TagQueue::new(rules, geometry))),
            units_per_program: Divisor::new(units_per_program),
            channels,
            queues: queues.collect(),
            first_of_planes: (1 + channels + dies) as usize * CLASSES,
            roaming: Vec::new(),
            roams: false,
            bound_count: 0,
            loads: vec![load; dies as usize],
            dies: vec![Dies { open: u64::MAX, awaited: [0; TASKS] }; dies.div_ceil(64) as usize],
            outstanding: [0; TASKS],
            limits: [u32::MAX; TASKS],
            waiting: [0; TASKS],
            tasks: Tasks::default(),
            dirty: false,
            came: false,
            starting: 0,
            balance: 0,
        }
    }

    /// The dispatch policy limits from now on what tasks may have outstanding, or does not.
    pub fn limit(&mut self, limits: Option<ByTask<u32>>) {
        self.limits = limits.unwrap_or([u32::MAX; TASKS]);
    }

    /// True if a task may have another operation outstanding.
    #[inline(always)]
    pub fn lets(&self, task: Task) -> bool {
        self.outstanding[task.index()] < self.limits[task.index()]
    }

    /// True if a task may have one more operation outstanding, and no second one.
    #[inline(always)]
    pub fn lets_one(&self, task: Task) -> bool {
        self.outstanding[task.index()].saturating_add(1) == self.limits[task.index()]
    }

    /// Of some tasks those that may have another operation outstanding.
    #[inline(always)]
    pub fn below(&self, tasks: Tasks) -> Tasks {
        tasks.and(Tasks::that(|task| self.outstanding[task] < self.limits[task]))
    }

    /// The queue for a class and a place.
    pub fn at(&self, class: Class, place: Constraint) -> usize {
        let channels = self.channels as usize;
        let at = match place {
            Constraint::Any => 0,
            Constraint::Channel(channel) => 1 + channel as usize,
            Constraint::Die(die) => 1 + channels + die as usize,
            Constraint::Plane(plane) => return self.first_of_planes + plane as usize * CLASSES + class.index(),
        };
        at * CLASSES + class.index()
    }

    /// The queue of a plane at its die to which the operations of a queue of that plane go: its index.
    #[inline(always)]
    pub fn at_die(&self, first: First) -> usize {
        debug_assert!(first.waits_for_plane(), "any plane of its die will do");
        first.at() as usize - self.first_of_planes
    }

    /// A queue.
    pub fn queue(&self, at: usize) -> &Queue {
        &self.queues[at]
    }

    /// A queue, to change; [`Self::fill`], [`Self::drain`] and [`Self::first_changes`] say how.
    pub fn queue_mut(&mut self, at: usize) -> &mut Queue {
        &mut self.queues[at]
    }

    /// True if operations of a class are held until their die has room.
    #[inline]
    pub fn holds(&self, class: Class) -> bool {
        self.holds >> class.index() & 1 == 1
    }

    /// An operation joins those that wait in a queue of the stage, or, if negative, leaves them.
    #[inline]
    pub fn count_staged(&mut self, at: usize, change: i32) {
        let queue = &self.queues[at];
        let task = queue.class.task();
        let waiting = &mut self.waiting[task.index()];
        *waiting = waiting.checked_add_signed(change).expect("an operation leaves a stage that it is in");
        self.tasks = if *waiting == 0 { self.tasks.without(task) } else { self.tasks.with(task) };
        if let Some(tags) = &mut self.tags {
            if queue.awaits != NONE {
                tags.count_waiting(queue.awaits, change);
            }
        }
    }

    /// An operation comes to a queue of a class, behind the others that wait there, if any, as what `change` makes of it; so a look may find it.
    #[inline(always)]
    pub fn push(&mut self, slab: &mut Slab, slot: u32, (at, class): (usize, Class), change: impl FnOnce(&mut FlashOp)) {
        self.queues[at].fifo.push_changed(slab, slot, change);
        self.has_joined(at, class);
    }

    /// The same of a new one; gives its slot.
    #[inline(always)]
    pub fn push_new(&mut self, slab: &mut Slab, op: FlashOp, (at, class): (usize, Class)) -> u32 {
        let (slot, _) = self.queues[at].fifo.push_new(slab, op);
        self.has_joined(at, class);
        slot
    }

    /// An operation has come to a queue of a class.
    #[inline(always)]
    fn has_joined(&mut self, at: usize, class: Class) {
        debug_assert!(self.tags.is_none(), "a device queue counts what waits, and has other rooms");
        debug_assert!(self.units_per_program.get() == 1 || !class.is_write(), "it may lack company");
        let queue = &mut self.queues[at];
        debug_assert_eq!(queue.class, class, "it is the queue of another class");
        self.waiting[class.task().index()] += 1;
        self.tasks = self.tasks.with(class.task());
        let (die, is_listed, first) = (queue.die, queue.is_listed, queue.first());
        // No die has the number that stands for none.
        let Some(load) = self.loads.get_mut(die as usize) else {
            if !is_listed {
                self.fill(at);
            }
            self.dirty = true;
            return;
        };
        if !is_listed {
            debug_assert_eq!(queue.awaits, die, "without a device queue all classes are held");
            queue.is_listed = true;
            load.rows[class.task().index()].add(first);
            self.bound_count += 1;
            self.dies[die as usize / 64].awaited[class.task().index()] |= 1 << (die % 64);
        }
        // What waits at a die never lacks company.
        self.dirty |= load.held < self.depth;
    }

    /// So many units have come together that moved; they may be `lonely`: wait for others to fill their page.
    #[inline]
    pub fn come_together(&mut self, at: usize, count: u32, lonely: bool) {
        debug_assert!(self.tags.is_none(), "a device queue counts what waits, and has other rooms");
        let Queue { class, is_listed, .. } = self.queues[at];
        self.waiting[class.task().index()] += count;
        self.tasks = self.tasks.with(class.task());
        if lonely {
            return self.has_come(at);
        }
        if !is_listed {
            self.fill(at);
        }
        self.wake(at);
    }

    /// The first operation of a queue, which fills a page alone, is sent to its die: gives it. The look that sends it settles the stage.
    #[inline(always)]
    pub fn send_first(&mut self, first: First, die: u32, slab: &mut Slab) -> u32 {
        debug_assert!(
            self.tags.is_none() && self.units_per_program.get() == 1,
            "it counts as one that waits at its die"
        );
        let (at, class) = (first.at() as usize, first.class());
        let (task, word, bit) = (class.task(), die as usize / 64, 1 << (die % 64));
        let load = &mut self.loads[die as usize];
        load.waiting[class.index()] += 1;
        load.all += 1;
        load.held = load.all;
        if load.held == self.depth {
            load.open = false;
            self.dies[word].open &= !bit;
        }
        let row = &mut load.rows[task.index()];
        self.outstanding[task.index()] += 1;
        let waiting = &mut self.waiting[task.index()];
        *waiting = waiting.checked_sub(1).expect("an operation leaves a stage that it is in");
        if *waiting == 0 {
            self.tasks = self.tasks.without(task);
        }
        let queue = &mut self.queues[at];
        let Taken { slot, last, .. } = queue.fifo.lead_of(slab).expect("it waits there").take();
        if last {
            queue.is_listed = false;
            self.bound_count -= 1;
            if row.remove(at) {
                self.dies[word].awaited[task.index()] &= !bit;
            }
        } else {
            row.renumber(at, queue.fifo.number());
        }
        slot
    }

    /// So many operations of a task leave the stage.
    #[inline(always)]
    fn count_leaving(&mut self, task: Task, count: u32) {
        let waiting = &mut self.waiting[task.index()];
        *waiting = waiting.checked_sub(count).expect("an operation leaves a stage that it is in");
        if *waiting == 0 {
            self.tasks = self.tasks.without(task);
        }
    }

    /// So many first operations of a queue are sent to their die, units of a page or one other; the next has the number given, the highest if
    /// there is none that may go.
    #[inline(always)]
    pub fn send_together(&mut self, at: usize, die: u32, count: u32, next: u64) {
        debug_assert!(self.tags.is_none(), "a device queue counts what waits");
        let class = self.leave_queue(at, die, count, next);
        self.count_waiting(die, class, count as i32);
    }

    /// So many first operations of a queue leave the stage for their die; gives their class.
    #[inline(always)]
    fn leave_queue(&mut self, at: usize, die: u32, count: u32, next: u64) -> Class {
        let queue = &mut self.queues[at];
        let (class, leads) = (queue.class, next != u64::MAX);
        queue.is_listed = leads;
        self.count_leaving(class.task(), count);
        if leads {
            self.loads[die as usize].rows[class.task().index()].renumber(at, next);
        } else {
            self.leave_row(at, class.task(), die);
        }
        class
    }

    /// A command of so many pages ends at a die.
    #[inline(always)]
    pub fn end_pages(&mut self, die: u32, class: Class, count: u32) {
        debug_assert!(self.tags.is_none(), "a device queue has other rooms");
        let (load, task) = (&mut self.loads[die as usize], &mut self.outstanding[class.task().index()]);
        *task = task.checked_sub(count).expect("a task has what its dies have");
        load.all = load.all.checked_sub(count).expect("a die gives back what it has");
        load.held = load.all;
        if !load.open && load.held < self.depth {
            load.open = true;
            self.dies[die as usize / 64].open |= 1 << (die % 64);
        }
        self.balance -= count as i32;
    }

    /// A command of one page ends at a die, where one unit fills a page.
    #[inline(always)]
    pub fn end_page(&mut self, die: u32, class: Class) {
        debug_assert!(self.tags.is_none() && self.units_per_program.get() == 1, "no page lacks units");
        let (load, task) = (&mut self.loads[die as usize], &mut self.outstanding[class.task().index()]);
        *task = task.checked_sub(1).expect("a task has what its dies have");
        if load.all == self.depth {
            load.open = true;
            self.dies[die as usize / 64].open |= 1 << (die % 64);
        }
        load.all = load.all.checked_sub(1).expect("a die gives back what it has");
        load.held = load.all;
        self.balance -= 1;
    }

    /// An operation that waits at its die starts, and takes its own place.
    #[inline(always)]
    pub fn start_page(&mut self, die: u32, class: Class) {
        debug_assert!(self.starting == 0, "it is alone in its command");
        let waiting = &mut self.loads[die as usize].waiting[class.index()];
        *waiting = waiting.checked_sub(1).expect("an operation leaves a die that it waits for");
    }

    /// Operations of a queue may go now, unless their die is full.
    pub fn wake(&mut self, at: usize) {
        self.dirty |= self.is_open(at);
    }

    /// True if the die of a queue has room, or it may go to several.
    fn is_open(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        let free = |die| self.tags.as_ref().is_none_or(|tags| tags.is_free(die) || !self.holds(queue.class));
        queue.die == NONE || (self.has_room(queue.die, queue.class) && free(queue.die))
    }

    /// A write came that can only wait for others to fill its page. Whatever lets it go alone lists its queue, and wakes the stage.
    #[inline]
    pub fn has_come(&mut self, at: usize) {
        self.came |= self.is_open(at);
    }

    /// True if the dispatch policy should look.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.balance < 0 || self.dirty || self.came
    }

    /// True if nothing waits.
    #[inline]
    pub fn has_nothing(&self) -> bool {
        self.tasks == Tasks::default()
    }

    /// The tasks of which something waits.
    #[inline]
    pub fn tasks(&self) -> Tasks {
        self.tasks
    }

    /// True if something that waits could go now: not if only room was gained, and all lacks company.
    #[inline]
    pub fn may_gain(&self) -> bool {
        self.dirty || self.bound_count > 0 || self.roams || (self.came && !self.roaming.is_empty())
    }

    /// True if queues of writes that may go to several dies are to be looked at, whatever else may go.
    #[inline]
    pub fn shows_roaming(&self) -> bool {
        self.roams || self.dirty || self.came
    }

    /// True if something of some tasks may go: in a queue of writes that may go to several dies, if company or a page may have come to
    /// them, or at a die that may have room.
    #[inline]
    pub fn offers(&self, tasks: Tasks) -> bool {
        let roams = self.dirty || self.roams;
        if roams && self.roaming.iter().any(|&at| tasks.has(self.queues[at as usize].class.task())) {
            return true;
        }
        self.offers_bound(tasks)
    }

    /// True if something of some tasks waits for a die that may have room.
    #[inline]
    pub fn offers_bound(&self, tasks: Tasks) -> bool {
        self.offered(tasks) != Tasks::default()
    }

    /// True if nothing of a device queue out of order can go: no read waits for a die that may have room, and no write for a page.
    #[inline]
    pub fn has_no_way(&self) -> bool {
        self.tags.as_ref().is_some_and(|tags| !tags.rules.in_order)
            && self.roaming.is_empty()
            && self.open_for(Task::HOST).all(|dies| dies == 0)
    }

    /// The dispatch policy has looked.
    pub fn settle(&mut self) {
        (self.dirty, self.came, self.balance) = (false, false, 0);
    }

    /// The same where no queue of writes may send to several dies.
    #[inline(always)]
    pub fn settle_bound(&mut self) {
        (self.roams, self.dirty, self.came, self.balance) = (false, false, false, 0);
    }

    /// The same, when a command with one page is about to start that has not been counted as waiting.
    #[inline]
    pub fn settle_before_start(&mut self) {
        (self.dirty, self.came, self.balance) = (false, false, -1);
    }

    /// Operations that a die has.
    #[inline]
    pub fn load(&self, die: u32) -> u32 {
        self.loads[die as usize].all
    }

    /// True if all that a die has are operations of a class that wait there, or none.
    #[inline]
    pub fn has_only(&self, die: u32, class: Class) -> bool {
        let load = &self.loads[die as usize];
        load.all == load.waiting[class.index()]
    }

    /// Nominal time in the array of all that waits at a die; units of one page count as a page.
    pub fn backlog(&self, die: u32, times: &[Time; 3]) -> Time {
        let of = |class: Class| {
            let waiting = self.loads[die as usize].waiting[class.index()];
            let operations = if class.is_write() { self.pages(waiting).0 } else { waiting };
            Time::from(operations) * times[class.action() as usize]
        };
        (0..CLASSES as u8).map(|class| of(Class::numbered(class))).sum()
    }
}
