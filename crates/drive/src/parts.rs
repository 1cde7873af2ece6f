//! Breakdown of a request's latency.
//!
//! It follows one path: slot, host interface, dispatch, the operation of the request that ended last (from the start of
//! its wait to the end of its command), and back over the host interface. Parts follow each other without overlap, so
//! they add up to the latency; unexplained time is [`Part::Other`]. A wait for the write buffer is divided as the units
//! in the buffer spent that time.

use crate::policy::link::LinkCosts;
use wordline_base::{Op, Request, Time};
use wordline_firmware::{divide, Way, DRAINS};

/// A part of a request's latency, in the order of its path. Parts within the flash are of the operation that ended
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Before a queue slot.
    Waiting,
    /// For the host interface, in both directions.
    WaitLink,
    /// On the host interface: command, data, completion.
    Link,
    /// In the drive, until dispatch takes it up.
    WaitDispatch,
    /// For the write buffer (room in it; for a flush, until it is in flash), while its units waited for dies held by
    /// GC.
    WaitBufferGc,
    /// For the write buffer, while its units waited for dies held by host reads, or for their old data.
    WaitBufferRead,
    /// For the write buffer, while host writes were on the bus or waited for it.
    WaitBufferBus,
    /// For the write buffer, while host writes were programmed.
    WaitBufferProgram,
    /// For the write buffer, while its units waited for allocation at idle dies: for a page, for more data, or for
    /// their turn.
    WaitBufferSpace,
    /// For a die held by other operations of the same request.
    WaitDieOwn,
    /// For a die held by reads of other requests.
    WaitDieRead,
    /// For a die held by writes of other requests.
    WaitDieWrite,
    /// For a die held by GC.
    WaitDieGc,
    /// For allocation at an idle die: for a free page, for more data to fill a page, or for its turn.
    WaitSpace,
    /// The command waits for the bus of the channel.
    WaitBus,
    /// The command is on the bus.
    Bus,
    /// Array read (tR).
    ArrayRead,
    /// Array program (tPROG).
    ArrayProgram,
    /// The die is busy otherwise: registers, another plane's address, the previous page in cache mode, a suspension.
    DieOther,
    /// The remainder: mostly, the data had moved and were looked up again.
    Other,
}

/// Number of parts.
pub const PARTS: usize = 20;

impl Part {
    /// All parts in order, each with its name in results and tables, and its meaning.
    pub const ALL: [(Self, &'static str, &'static str); PARTS] = [
        (Self::Waiting, "waiting", "before a queue slot"),
        (Self::WaitLink, "wait_link", "waiting for the host interface, in both directions"),
        (Self::Link, "link", "on the host interface: command, data, completion, and its latency"),
        (Self::WaitDispatch, "wait_dispatch", "in the drive, before dispatch"),
        (
            Self::WaitBufferGc,
            "wait_buffer_gc",
            "waiting for room in the write buffer (for a flush, until the buffer was in flash) while garbage \
             collection held the dies that the buffered data needed",
        ),
        (
            Self::WaitBufferRead,
            "wait_buffer_read",
            "the same, while host reads held these dies or old data of partial writes were read",
        ),
        (
            Self::WaitBufferBus,
            "wait_buffer_bus",
            "the same, while host writes were on the bus of a channel or waited for it",
        ),
        (Self::WaitBufferProgram, "wait_buffer_program", "the same, while the dies programmed host writes"),
        (
            Self::WaitBufferSpace,
            "wait_buffer_space",
            "the same, while these dies were idle: the buffered data waited for allocation (a free page, more data to \
             fill a page, or their turn)",
        ),
        (Self::WaitDieOwn, "wait_die_own", "waiting for a die while other pages of the same request held it"),
        (Self::WaitDieRead, "wait_die_read", "waiting for a die while reads of other requests held it"),
        (Self::WaitDieWrite, "wait_die_write", "waiting for a die while writes of other requests held it"),
        (Self::WaitDieGc, "wait_die_gc", "waiting for a die while garbage collection held it"),
        (
            Self::WaitSpace,
            "wait_space",
            "waiting for allocation while its die was idle: for a free page, for more data to fill a page, or for its \
             turn",
        ),
        (Self::WaitBus, "wait_bus", "its command was ready and waited for the bus of the channel (contention)"),
        (Self::Bus, "bus", "its command, addresses and data on the bus of the channel"),
        (Self::ArrayRead, "array_read", "array busy with the read (tR)"),
        (Self::ArrayProgram, "array_program", "array busy with the program (tPROG)"),
        (
            Self::DieOther,
            "die_other",
            "its command held the die, with neither bus nor array busy: registers, the address of another plane, the \
             previous page in cache mode, a suspension",
        ),
        (Self::Other, "other", "the remainder: mostly, the data had moved while it waited, and the wait started again"),
    ];
}

/// The parts of a wait for the write buffer, in the order in which the firmware reports them.
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
