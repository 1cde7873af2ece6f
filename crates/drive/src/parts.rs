//! What the latency of a request is made of.
//!
//! It is cut along one path: slot, link, dispatch, and then the operation of the request that ended last, from when it came to wait
//! through its command to its end, and back over the link. Everything is cut to the request's own times, one after the other, so that
//! the parts add up to the latency; what cannot be told is [`Part::Other`]. A wait for the write buffer is cut as the units in the buffer
//! spent that time.

use crate::policy::link::LinkCosts;
use wordline_base::{Op, Request, Time};
use wordline_firmware::{divide, Way, DRAINS};

/// A part of a request's latency. The parts follow its way; those within the flash are of the operation that ended last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Before a queue slot.
    Waiting,
    /// For the link, in both directions.
    WaitLink,
    /// On the link: command, data, completion.
    Link,
    /// In the drive, until dispatch takes it up.
    WaitDispatch,
    /// For the write buffer (room in it; a flush, that it is in flash), whose units waited for dies that the collector held.
    WaitBufferGc,
    /// For the write buffer, whose units waited for dies that reads of the host held, or for their old data.
    WaitBufferRead,
    /// For the write buffer, while writes of the host were on the bus or waited for it.
    WaitBufferBus,
    /// For the write buffer, while writes of the host were in the dies.
    WaitBufferProgram,
    /// For the write buffer, whose units waited for dies that were free: for a page, company or a turn.
    WaitBufferSpace,
    /// For a die that is taken by other operations of the same request.
    WaitDieOwn,
    /// For a die that is taken by reads of other requests.
    WaitDieRead,
    /// For a die that is taken by writes of other requests.
    WaitDieWrite,
    /// For a die that is taken by the collector.
    WaitDieGc,
    /// For a die that is free: it has no page to give, the page waits for company, or a turn.
    WaitSpace,
    /// The command waits for the bus of the channel.
    WaitBus,
    /// The command is on the bus.
    Bus,
    /// The cells are read.
    ArrayRead,
    /// The cells are programmed.
    ArrayProgram,
    /// The die is at something else: registers, another plane's address, the page before in cache mode, a suspension.
    DieOther,
    /// What is left: mostly, the data had moved and were looked for anew.
    Other,
}

/// How many parts there are.
pub const PARTS: usize = 20;

impl Part {
    /// All parts, in their order, each with the name that results and tables give it, and what it means.
    pub const ALL: [(Self, &'static str, &'static str); PARTS] = [
        (Self::Waiting, "waiting", "before a queue slot"),
        (Self::WaitLink, "wait_link", "waiting for the host's link, in both directions"),
        (Self::Link, "link", "on the host's link: command, data, completion, and the latency of the link itself"),
        (Self::WaitDispatch, "wait_dispatch", "in the drive, before dispatch took it up"),
        (
            Self::WaitBufferGc,
            "wait_buffer_gc",
            "waiting for room in the write buffer (of a flush, until the buffer was in flash), while garbage collection held the dies \
             that its data waited for",
        ),
        (
            Self::WaitBufferRead,
            "wait_buffer_read",
            "the same, while reads of the host held these dies, or old data of partial writes were read",
        ),
        (
            Self::WaitBufferBus,
            "wait_buffer_bus",
            "the same, while writes of the host were on the bus of a channel or waited for it",
        ),
        (Self::WaitBufferProgram, "wait_buffer_program", "the same, while the dies programmed writes of the host"),
        (
            Self::WaitBufferSpace,
            "wait_buffer_space",
            "the same, while these dies were idle: its data waited for a free page, for company to fill a page, or for their turn",
        ),
        (Self::WaitDieOwn, "wait_die_own", "waiting for a die while other pages of the same request held it"),
        (Self::WaitDieRead, "wait_die_read", "waiting for a die while reads of other requests held it"),
        (Self::WaitDieWrite, "wait_die_write", "waiting for a die while writes of other requests held it"),
        (Self::WaitDieGc, "wait_die_gc", "waiting for a die while garbage collection held it"),
        (
            Self::WaitSpace,
            "wait_space",
            "waiting while the die that then took it was idle: for a free page, for company to fill a page, or for its turn",
        ),
        (Self::WaitBus, "wait_bus", "its command was ready and waited for the bus of the channel (contention)"),
        (Self::Bus, "bus", "its command, addresses and data on the bus of the channel"),
        (Self::ArrayRead, "array_read", "the cells were read"),
        (Self::ArrayProgram, "array_program", "the cells were programmed"),
        (
            Self::DieOther,
            "die_other",
            "its command was in the die, but neither on the bus nor in the cells: registers, the address of another plane, the \
             page before in cache mode, a suspension",
        ),
        (Self::Other, "other", "the rest: above all, the data had moved while it waited, and it began to wait anew"),
    ];
}

/// The parts of a wait for the write buffer, in the order in which the firmware tells them.
const DRAINED: [Part; DRAINS] =
    [Part::WaitBufferGc, Part::WaitBufferRead, Part::WaitBufferBus, Part::WaitBufferProgram, Part::WaitBufferSpace];

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
    pub fn cut(&self, request: &Request, way: &Way, link: &LinkCosts, completion: Time) -> [Time; PARTS] {
        let Self { submitted, queued, served, done, .. } = *self;
        let mut parts = [0; PARTS];
        parts[Part::Waiting as usize] = submitted - request.arrival;
        let data_in = if request.op == Op::Write { link.data_in.time(request.bytes) } else { 0 };
        let inward = (link.command + link.latency + data_in).min(queued - submitted);
        parts[Part::Link as usize] = inward;
        parts[Part::WaitLink as usize] = queued - submitted - inward;
        parts[Part::WaitDispatch as usize] = served - queued;
        let mut gap = 0;
        let bytes = match &way.last {
            Some(account) => {
                let [reads, writes, collector] = account.die;
                let told = [
                    (Part::WaitDieOwn, account.own),
                    (Part::WaitDieRead, reads),
                    (Part::WaitDieWrite, writes),
                    (Part::WaitDieGc, collector),
                    (Part::WaitSpace, account.space),
                    (Part::WaitBus, account.wait_bus),
                    (Part::Bus, account.bus),
                    (Part::ArrayRead, account.read),
                    (Part::ArrayProgram, account.program),
                    (Part::DieOther, account.other),
                ];
                told.into_iter().for_each(|(part, time)| parts[part as usize] = time);
                gap += account.start - served + (done - account.end);
                // A read that was overtaken by its data left its parts behind.
                parts[Part::Other as usize] += account.end - account.start - account.sum();
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
            let told = divide(gap, way.room.map(u128::from), DRAINS - 1);
            DRAINED.into_iter().zip(told).for_each(|(part, time)| parts[part as usize] = time);
        } else {
            parts[Part::Other as usize] += gap;
        }
        let data_out = if bytes > 0 { link.data_out.time(bytes) } else { 0 };
        let outward = (data_out + link.completion).min(completion - done);
        parts[Part::Link as usize] += outward;
        parts[Part::WaitLink as usize] += completion - done - outward;
        parts
    }
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
        use Part::*;
        let Self { submitted, queued, served, done } = *self;
        let of = |wanted: &[Part]| {
            let mut some = [0; PARTS];
            wanted.iter().for_each(|&part| some[part as usize] = parts[part as usize]);
            some
        };
        let (inward, outward) = (queued - submitted, completion - done);
        let mut links = [of(&[Link, WaitLink]); 2];
        for part in [Link, WaitLink] {
            let [there, back] = divide(parts[part as usize], [inward, outward].map(u128::from), 0);
            (links[0][part as usize], links[1][part as usize]) = (there, back);
        }
        let command = of(&[WaitBus, Bus, ArrayRead, ArrayProgram, DieOther]);
        let die = of(&[WaitDieOwn, WaitDieRead, WaitDieWrite, WaitDieGc, WaitSpace]);
        let bound = done - command.iter().sum::<Time>();
        let waits = bound - die.iter().sum::<Time>();
        [
            Phase { start: arrival, end: submitted, parts: of(&[Waiting]) },
            Phase { start: submitted, end: queued, parts: links[0] },
            Phase { start: queued, end: served, parts: of(&[WaitDispatch]) },
            Phase {
                start: served,
                end: waits,
                parts: of(&[WaitBufferGc, WaitBufferRead, WaitBufferBus, WaitBufferProgram, WaitBufferSpace, Other]),
            },
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
        assert!(Part::ALL.iter().enumerate().all(|(at, &(part, ..))| part as usize == at));
    }
}
