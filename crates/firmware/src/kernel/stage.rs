//! The commit stage: queues of operations that wait to be sent to a die, and the load of the dies.
//!
//! Used by the dispatch policies that give dies a depth; the others send operations to their dies at once. An operation
//! waits in the queue of its class and place: any die, a channel, a die, a plane. The load of a die is counted from what
//! waits there and what runs, so that operations that are dropped or looked up again free their room by themselves.
//! Of a device queue (`tags`), only operations of some classes are held until their die has room; writes of the others
//! wait here for a page alone.

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
    /// True if nothing goes to a die past the stage unseen: then what a task may not send yet need not be looked at before something has ended.
    pub sees_all: bool,
    /// Something came now that its task may not send yet.
    aside: bool,
    /// Pages that wait at dies and lack units, which others may join.
    partials: u32,
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
            sees_all: false,
            aside: false,
            partials: 0,
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
        self.has_joined::<false>(at, class);
    }

    /// The same, unless its task may send nothing more, so that no look would find it.
    #[inline(always)]
    pub fn push_within_limits(&mut self, slab: &mut Slab, slot: u32, (at, class): (usize, Class)) {
        self.queues[at].fifo.push(slab, slot);
        self.has_joined::<true>(at, class);
    }

    /// The same of a new one; gives its slot.
    #[inline(always)]
    pub fn push_new(&mut self, slab: &mut Slab, op: FlashOp, (at, class): (usize, Class)) -> u32 {
        let (slot, _) = self.queues[at].fifo.push_new(slab, op);
        self.has_joined::<false>(at, class);
        slot
    }

    /// An operation has come to a queue of a class. `LIMITS` says that what its task may send is looked at.
    #[inline(always)]
    fn has_joined<const LIMITS: bool>(&mut self, at: usize, class: Class) {
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
            self.wake(at);
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
        let has_room = load.held < self.depth;
        if !LIMITS {
            self.dirty |= has_room;
        } else if has_room {
            self.has_come_for_room(class.task());
        }
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

    /// Operations of a queue may go now, unless their die is full, or their task has as many outstanding as it may: then they are looked at when
    /// one of these has ended, or when the limits of tasks have changed.
    pub fn wake(&mut self, at: usize) {
        if self.is_open(at) {
            let Queue { class, awaits, .. } = self.queues[at];
            self.has_come_for_room(class.task());
            self.roams |= awaits == NONE && !self.dirty;
        }
    }

    /// Operations of a task came that a die may have room for.
    #[inline(always)]
    fn has_come_for_room(&mut self, task: Task) {
        if self.lets(task) || !self.sees_all || self.partials > 0 {
            self.dirty = true;
        } else {
            self.aside = true;
        }
    }

    /// Nothing may go, and no look was due.
    #[inline(always)]
    pub fn has_passed(&mut self) {
        self.aside = false;
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

    /// True if no task has more outstanding than after the last look, unless the stage knows of it.
    pub fn has_seen_all(&self) -> bool {
        !self.sees_all || self.balance <= 0
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
        (self.dirty, self.came, self.aside, self.balance) = (false, false, false, 0);
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

    /// True if operations of background tasks wait at a die.
    pub fn has_background(&self, die: u32) -> bool {
        let waiting = &self.loads[die as usize].waiting;
        (0..CLASSES as u8).map(Class::numbered).any(|class| !class.is_host() && waiting[class.index()] > 0)
    }

    /// True if a die has room for another operation of a class, or for units of the page that waits there.
    #[inline]
    pub fn has_room(&self, die: u32, class: Class) -> bool {
        let load = &self.loads[die as usize];
        load.held < self.depth || (class.is_write() && self.lacking(die, class) > 0) || !self.holds(class)
    }

    /// True if a die of a drive whose writes each fill a page has room for one operation.
    #[inline(always)]
    pub fn has_one_place(&self, die: u32) -> bool {
        self.loads[die as usize].all + 1 == self.depth
    }

    /// True if a die has room for another program, whatever waits there for company.
    #[inline]
    pub fn has_room_for_program(&self, die: u32, class: Class) -> bool {
        self.loads[die as usize].held < self.depth || !self.holds(class)
    }

    /// Units that the page of a class lacks that waits at a die.
    #[inline]
    pub fn lacking(&self, die: u32, class: Class) -> u32 {
        let over = self.units_per_program.remainder(self.loads[die as usize].waiting[class.index()]);
        if over == 0 {
            0
        } else {
            self.units_per_program.get() - over
        }
    }

    /// The programs of so many units, and whether the last of them lacks some.
    #[inline]
    fn pages(&self, units: u32) -> (u32, bool) {
        let whole = self.units_per_program.quotient(units);
        let partial = whole * self.units_per_program.get() < units;
        (whole + u32::from(partial), partial)
    }

    /// Operations of a class wait for a die from now on, or, if negative, no longer.
    #[inline(always)]
    pub fn count_waiting(&mut self, die: u32, class: Class, change: i32) {
        if class.is_write() {
            return self.count_units(die, class, change);
        }
        let waiting = &mut self.loads[die as usize].waiting[class.index()];
        *waiting = waiting.checked_add_signed(change).expect("an operation leaves a die that it waits for");
        self.shift(die, class, change);
    }

    /// The same of units of writes.
    fn count_units(&mut self, die: u32, class: Class, change: i32) {
        let waiting = &mut self.loads[die as usize].waiting[class.index()];
        let before = *waiting;
        let after = before.checked_add_signed(change).expect("an operation leaves a die that it waits for");
        *waiting = after;
        let (programs, partial) = self.grown(before, after, change);
        if programs == 0 && partial == 0 {
            return;
        }
        let load = &mut self.loads[die as usize];
        load.partial = load.partial.wrapping_add_signed(partial);
        if partial != 0 {
            self.partials = self.partials.wrapping_add_signed(partial);
            // There is room for other units.
            self.dirty |= self.aside && partial > 0;
        }
        self.shift(die, class, programs);
    }

    /// Programs more, and programs more that lack units, when units that wait for a die become more or less. A unit mostly comes or
    /// goes alone.
    #[inline]
    fn grown(&self, before: u32, after: u32, change: i32) -> (i32, i32) {
        let each = self.units_per_program.get();
        if each == 1 {
            return (change, 0);
        }
        if change.abs() == 1 {
            // With more units it is the one before the first of a page that counts, with fewer the first.
            let over = self.units_per_program.remainder(before.min(after));
            let (first, last) = (i32::from(over == 0), i32::from(over + 1 == each));
            return (change * first, change * (first - last));
        }
        let ((before, partly), (after, partial)) = (self.pages(before), self.pages(after));
        (after as i32 - before as i32, i32::from(partial) - i32::from(partly))
    }

    /// A command with so many pages of a class runs from now on. Those of its reads that still count as waiting take their own places.
    #[inline]
    pub fn count_start(&mut self, die: u32, class: Class, pages: i32) {
        let starting = std::mem::take(&mut self.starting);
        if starting > 0 {
            let waiting = &mut self.loads[die as usize].waiting[class.index()];
            *waiting = waiting.checked_sub(starting).expect("an operation leaves a die that it waits for");
        }
        let more = pages - starting as i32;
        if more != 0 {
            self.shift(die, class, more);
        }
    }

    /// A command with so many pages of a task runs from now on, or, if negative, has ended.
    pub fn count_running(&mut self, die: u32, class: Class, change: i32) {
        self.shift(die, class, change);
    }

    #[inline(always)]
    fn shift(&mut self, die: u32, class: Class, change: i32) {
        let (load, task) = (&mut self.loads[die as usize], &mut self.outstanding[class.task().index()]);
        load.all = load.all.checked_add_signed(change).expect("a die gives back what it has");
        *task = task.checked_add_signed(change).expect("a task has what its dies have");
        if self.tags.is_some() {
            return self.shift_held(die, class, change);
        }
        load.held = load.all;
        self.balance += change;
        self.open_if(die, true);
    }

    /// Counts what a die has of a device queue, of which only some classes are held.
    #[inline(never)]
    fn shift_held(&mut self, die: u32, class: Class, change: i32) {
        if self.holds(class) {
            let load = &mut self.loads[die as usize];
            load.held = load.held.checked_add_signed(change).expect("a die gives back what it was sent");
            self.balance += change;
            if let Some(tags) = self.tags.as_mut().filter(|tags| tags.rules.by_package) {
                // Dies of a package that was taken before and after have no more and no less room.
                if let Some((dies, is_free)) = tags.count_sent(die, change) {
                    dies.for_each(|die| self.open_if(die, is_free));
                }
                return;
            }
        } else if change < 0 {
            // A page may have become free for a write.
            self.dirty |= !self.has_nothing();
        }
        self.weigh(die);
    }

    /// True if nothing waits, and no die has anything: so it must be at rest.
    pub fn is_empty(&self) -> bool {
        let idle = |load: &Load| load.all == 0 && load.partial == 0 && load.waiting == [0; CLASSES];
        self.has_nothing() && self.outstanding == [0; TASKS] && self.loads.iter().all(idle)
    }

    /// Notes whether a die of a device queue may have room.
    fn weigh(&mut self, die: u32) {
        self.open_if(die, self.tags.as_ref().is_none_or(|tags| tags.is_free(die)));
    }

    /// The same of any die, if it is known whether its package is free.
    #[inline]
    fn open_if(&mut self, die: u32, free: bool) {
        let load = &mut self.loads[die as usize];
        let open = (load.held < self.depth && free) || load.partial > 0;
        if load.open != open {
            load.open = open;
            self.dies[die as usize / 64].open ^= 1 << (die % 64);
        }
    }
}
