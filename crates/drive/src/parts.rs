//! Breakdown of a request's latency.
//!
//! It follows one path: slot, host interface, dispatch, the operation of the request that ended last (from the start of
//! its wait to the end of its command), and back over the host interface. Parts follow each other without overlap, so
//! they add up to the latency; unexplained time is [`Part::Other`]. A wait for the write buffer is divided as the units
//! in the buffer spent that time.

use crate::policy::link::LinkTimes;
use std::sync::LazyLock;
use wordline_base::{Op, Request, Time};
use wordline_firmware::task::{Task, Tasks, TASKS};
use wordline_firmware::{divide, Plan, Way, DRAINS};

/// A part of a request's latency. Parts within the flash are of the operation that ended last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part(u8);

/// Tasks besides the host's. Waits for a die, and for the write buffer, have a part for each.
const BACKGROUND: usize = TASKS - 1;

/// Number of parts.
pub const PARTS: usize = 20 + 2 * BACKGROUND;

/// The parts in the order of a request's path, with their numbers: a part of each background task takes several.
macro_rules! parts {
    ($number:expr;) => {};
    ($number:expr; $PART:ident by $task:ident; $($rest:tt)*) => {
        const $PART: u8 = $number;
        parts! { $number + BACKGROUND as u8; $($rest)* }
    };
    ($number:expr; $(#[$doc:meta])* $PART:ident; $($rest:tt)*) => {
        $(#[$doc])*
        pub const $PART: Self = Self($number);
        parts! { $number + 1; $($rest)* }
    };
}

impl Part {
    parts! { 0;
        /// Before a queue slot.
        WAITING;
        /// For the host interface, in both directions.
        WAIT_LINK;
        /// On the host interface: command, data, completion.
        LINK;
        /// In the drive, until dispatch takes it up.
        WAIT_DISPATCH;
        FIRST_WAIT_BUFFER by task;
        /// For the write buffer, while its units waited for dies held by host reads, or for their old data.
        WAIT_BUFFER_READ;
        /// For the write buffer, while host writes were on the bus or waited for it.
        WAIT_BUFFER_BUS;
        /// For the write buffer, while host writes were programmed.
        WAIT_BUFFER_PROGRAM;
        /// For the write buffer, while its units waited for allocation at idle dies: for a page, for more data, or for
        /// their turn.
        WAIT_BUFFER_SPACE;
        /// For the firmware's processor.
        PROCESSOR;
        /// For entries of the mapping table that were read from flash.
        WAIT_MAP;
        /// For a die held by other operations of the same request.
        WAIT_DIE_OWN;
        /// For a die held by reads of other requests.
        WAIT_DIE_READ;
        /// For a die held by writes of other requests.
        WAIT_DIE_WRITE;
        FIRST_WAIT_DIE by task;
        /// For allocation at an idle die: for a free page, for more data to fill a page, or for its turn.
        WAIT_SPACE;
        /// The command waits for the bus of the channel.
        WAIT_BUS;
        /// The command is on the bus.
        BUS;
        /// Array read (tR).
        ARRAY_READ;
        /// Array program (tPROG).
        ARRAY_PROGRAM;
        /// The die is busy otherwise: registers, another plane's address, the previous page in cache mode, a suspension.
        DIE_OTHER;
        /// The remainder: mostly, the data had moved and were looked up again.
        OTHER;
    }

    /// For the write buffer (room in it; for a flush, until it is in flash), while its units waited for dies held by a
    /// background task.
    ///
    /// # Panics
    /// For the host's task, whose reads and writes have parts of their own.
    #[must_use]
    pub const fn wait_buffer(task: Task) -> Self {
        Self(Self::FIRST_WAIT_BUFFER + task.index() as u8 - 1)
    }

    /// For a die held by a background task.
    ///
    /// # Panics
    /// For the host's task, whose reads and writes have parts of their own.
    #[must_use]
    pub const fn wait_die(task: Task) -> Self {
        Self(Self::FIRST_WAIT_DIE + task.index() as u8 - 1)
    }

    /// Its number, in the order of a request's path.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Description of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The part.
    pub part: Part,
    /// Its name in results and tables.
    pub name: String,
    /// Its meaning.
    pub meaning: String,
    /// The background task that it belongs to, if it does.
    pub task: Option<Task>,
    /// What the drive must have for it to occur, beside its tasks.
    needs: Features,
}

/// What some drives have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// A mapping table in flash.
    pub map: bool,
    /// Computing time.
    pub processor: bool,
}

impl Features {
    /// All of them.
    pub const ALL: Self = Self { map: true, processor: true };

    /// Those of a drive.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self { map: plan.has_map(), processor: plan.has_processor }
    }

    /// True if all that is needed is there.
    fn cover(self, needs: Self) -> bool {
        (self.map || !needs.map) && (self.processor || !needs.processor)
    }
}

impl Part {
    /// All parts in order.
    pub fn all() -> &'static [About] {
        static ALL: LazyLock<Vec<About>> = LazyLock::new(described);
        &ALL
    }

    /// The parts that occur on a drive with such tasks and features.
    pub fn of(tasks: Tasks, features: Features) -> impl Iterator<Item = &'static About> {
        let occurs = move |about: &&About| about.task.is_none_or(|task| tasks.has(task)) && features.cover(about.needs);
        Self::all().iter().filter(occurs)
    }
}

fn described() -> Vec<About> {
    let one = |part: Part, name: &str, meaning: &str| {
        let needs = Features { map: part == Part::WAIT_MAP, processor: part == Part::PROCESSOR };
        vec![About { part, name: name.to_owned(), meaning: meaning.to_owned(), task: None, needs }]
    };
    let by_task = |part: fn(Task) -> Part, name: &str, meaning: &dyn Fn(Task) -> String| -> Vec<About> {
        let tasks = Task::all().filter(|&task| task != Task::HOST);
        let about = |task: Task| About {
            part: part(task),
            name: format!("{name}_{}", task.about().name),
            meaning: meaning(task),
            task: Some(task),
            needs: Features::default(),
        };
        tasks.map(about).collect()
    };
    [
        one(Part::WAITING, "waiting", "before a queue slot"),
        one(Part::WAIT_LINK, "wait_link", "waiting for the host interface, in both directions"),
        one(Part::LINK, "link", "on the host interface: command, data, completion, and its latency"),
        one(Part::WAIT_DISPATCH, "wait_dispatch", "in the drive, before dispatch"),
        by_task(Part::wait_buffer, "wait_buffer", &|task| {
            format!(
                "waiting for room in the write buffer (for a flush, until the buffer was in flash) while {} held the \
                 dies that the buffered data needed",
                task.about().title
            )
        }),
        one(
            Part::WAIT_BUFFER_READ,
            "wait_buffer_read",
            "the same, while host reads held these dies or old data of partial writes were read",
        ),
        one(
            Part::WAIT_BUFFER_BUS,
            "wait_buffer_bus",
            "the same, while host writes were on the bus of a channel or waited for it",
        ),
        one(Part::WAIT_BUFFER_PROGRAM, "wait_buffer_program", "the same, while the dies programmed host writes"),
        one(
            Part::WAIT_BUFFER_SPACE,
            "wait_buffer_space",
            "the same, while these dies were idle: the buffered data waited for allocation (a free page, more data to \
             fill a page, or their turn)",
        ),
        one(Part::PROCESSOR, "processor", "computing time of the firmware, for the request or for those before it"),
        one(Part::WAIT_MAP, "wait_map", "waiting for entries of the mapping table that were read from flash"),
        one(Part::WAIT_DIE_OWN, "wait_die_own", "waiting for a die while other pages of the same request held it"),
        one(Part::WAIT_DIE_READ, "wait_die_read", "waiting for a die while reads of other requests held it"),
        one(Part::WAIT_DIE_WRITE, "wait_die_write", "waiting for a die while writes of other requests held it"),
        by_task(Part::wait_die, "wait_die", &|task| format!("waiting for a die while {} held it", task.about().title)),
        one(
            Part::WAIT_SPACE,
            "wait_space",
            "waiting for allocation while its die was idle: for a free page, for more data to fill a page, or for its \
             turn",
        ),
        one(Part::WAIT_BUS, "wait_bus", "its command was ready and waited for the bus of the channel (contention)"),
        one(Part::BUS, "bus", "its command, addresses and data on the bus of the channel"),
        one(Part::ARRAY_READ, "array_read", "array busy with the read (tR)"),
        one(Part::ARRAY_PROGRAM, "array_program", "array busy with the program (tPROG)"),
        one(
            Part::DIE_OTHER,
            "die_other",
            "its command held the die, with neither bus nor array busy: registers, the address of another plane, the \
             previous page in cache mode, a suspension",
        ),
        one(
            Part::OTHER,
            "other",
            "the remainder: mostly, the data had moved while it waited, and the wait started again",
        ),
    ]
    .concat()
}

/// The parts of a wait for the write buffer, in the order in which the firmware reports them.
const DRAINED: [Part; DRAINS] = {
    let mut parts = [Part::WAIT_BUFFER_SPACE; DRAINS];
    let mut at = 0;
    while at < DRAINS {
        parts[at] = Part(Part::FIRST_WAIT_BUFFER + at as u8);
        at += 1;
    }
    parts
};

/// The moments of a request that is done at the host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    /// It got its slot.
    pub submitted: Time,
    /// All of it was in the drive.
    pub queued: Time,
    /// It was taken up.
    pub served: Time,
    /// All of it was done in the drive.
    pub done: Time,
}

impl Moments {
    /// Cuts the latency of a request that was done at the host at `completion`.
    pub fn cut(&self, request: &Request, way: &Way, link: &mut LinkTimes, completion: Time) -> [Time; PARTS] {
        let Self { submitted, queued, served, done, .. } = *self;
        let mut parts = [0; PARTS];
        parts[Part::WAITING.index()] = submitted - request.arrival;
        let data_in = if request.op == Op::Write { link.data_in(request.bytes) } else { 0 };
        let inward = (link.command() + data_in).min(queued - submitted);
        parts[Part::LINK.index()] = inward;
        parts[Part::WAIT_LINK.index()] = queued - submitted - inward;
        parts[Part::WAIT_DISPATCH.index()] = served - queued;
        let mut gap = 0;
        let bytes = match way.last() {
            Some(account) => {
                let [reads, writes, background @ ..] = account.die;
                let told = [
                    (Part::PROCESSOR, account.processor),
                    (Part::WAIT_MAP, account.map),
                    (Part::WAIT_DIE_OWN, account.own),
                    (Part::WAIT_DIE_READ, reads),
                    (Part::WAIT_DIE_WRITE, writes),
                    (Part::WAIT_SPACE, account.space),
                    (Part::WAIT_BUS, account.wait_bus),
                    (Part::BUS, account.bus),
                    (Part::ARRAY_READ, account.read),
                    (Part::ARRAY_PROGRAM, account.program),
                    (Part::DIE_OTHER, account.other),
                ];
                told.into_iter().for_each(|(part, time)| parts[part.index()] = time);
                parts[Part::FIRST_WAIT_DIE as usize..][..BACKGROUND].copy_from_slice(&background);
                gap += account.start - served + (done - account.end);
                // A read that was overtaken by its data left its parts behind.
                parts[Part::OTHER.index()] += account.end - account.start - account.sum();
                account.bytes
            }
            None => {
                gap += done - served;
                if request.op == Op::Read {
                    request.bytes
                } else {
                    0
                }
            }
        };
        if matches!(request.op, Op::Write | Op::Flush) {
            // Of a write that is forced through, room for its last unit may have come after the one that ended last had its own.
            if way.room == [0; DRAINS] {
                parts[DRAINED[DRAINS - 1].index()] = gap;
            } else {
                divide_room(gap, way, &mut parts);
            }
        } else {
            parts[Part::OTHER.index()] += gap;
        }
        let data_out = if bytes > 0 { link.data_out(bytes) } else { 0 };
        let outward = (data_out + link.completion()).min(completion - done);
        parts[Part::LINK.index()] += outward;
        parts[Part::WAIT_LINK.index()] += completion - done - outward;
        parts
    }
}

/// Divides the time that a write spent elsewhere by what it waited for room.
#[inline(never)]
fn divide_room(gap: Time, way: &Way, parts: &mut [Time; PARTS]) {
    let told = divide(gap, way.room.map(u128::from), DRAINS - 1);
    DRAINED.into_iter().zip(told).for_each(|(part, time)| parts[part.index()] = time);
}

/// A time of a request on its way, and its parts, which fill it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    pub start: Time,
    pub end: Time,
    pub parts: [Time; PARTS],
}

/// Phases of a request.
pub(crate) const PHASES: usize = 7;

impl Moments {
    /// The parts of a request in the order of time: before a slot, inward, to be taken up, for the buffer, for a die, in a command, outward.
    pub fn phases(&self, arrival: Time, parts: &[Time; PARTS], completion: Time) -> [Phase; PHASES] {
        let Self { submitted, queued, served, done } = *self;
        let of = |(first, last): (Part, Part)| {
            let mut some = [0; PARTS];
            let wanted = first.index()..=last.index();
            some[wanted.clone()].copy_from_slice(&parts[wanted]);
            some
        };
        let (inward, outward) = (queued - submitted, completion - done);
        let mut links = [[0; PARTS]; 2];
        for part in [Part::LINK, Part::WAIT_LINK] {
            let [there, back] = divide(parts[part.index()], [inward, outward].map(u128::from), 0);
            (links[0][part.index()], links[1][part.index()]) = (there, back);
        }
        let command = of((Part::WAIT_BUS, Part::DIE_OTHER));
        let die = of((Part::PROCESSOR, Part::WAIT_SPACE));
        let mut buffer = of((Part(Part::FIRST_WAIT_BUFFER), Part::WAIT_BUFFER_SPACE));
        buffer[Part::OTHER.index()] = parts[Part::OTHER.index()];
        let bound = done - command.iter().sum::<Time>();
        let waits = bound - die.iter().sum::<Time>();
        [
            Phase { start: arrival, end: submitted, parts: of((Part::WAITING, Part::WAITING)) },
            Phase { start: submitted, end: queued, parts: links[0] },
            Phase { start: queued, end: served, parts: of((Part::WAIT_DISPATCH, Part::WAIT_DISPATCH)) },
            Phase { start: served, end: waits, parts: buffer },
            Phase { start: waits, end: bound, parts: die },
            Phase { start: bound, end: done, parts: command },
            Phase { start: done, end: completion, parts: links[1] },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_parts() {
        assert!(Part::all().iter().enumerate().all(|(at, about)| about.part.index() == at));
        assert_eq!(Part::all().len(), PARTS);
    }
}
