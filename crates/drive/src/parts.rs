//! What the latency of a request is made of.
//!
//! It is cut along one path: slot, link, dispatch, and then the operation of the request that ended last, from when it came to wait
//! through its command to its end, and back over the link. Everything is cut to the request's own times, one after the other, so that
//! the parts add up to the latency; what cannot be told is [`Part::Other`].

use crate::policy::link::LinkCosts;
use wordline_base::{Op, Request, Time};
use wordline_firmware::Way;

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
    /// For room in the write buffer; a flush, for the buffer to be in flash.
    WaitBuffer,
    /// For a die that is taken by reads of the host.
    WaitDieRead,
    /// For a die that is taken by writes of the host.
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
pub const PARTS: usize = 15;

impl Part {
    /// All parts, in their order, each with the name that results and tables give it, and what it means.
    pub const ALL: [(Self, &'static str, &'static str); PARTS] = [
        (Self::Waiting, "waiting", "before a queue slot"),
        (Self::WaitLink, "wait_link", "waiting for the host's link, in both directions"),
        (Self::Link, "link", "on the host's link: command, data, completion, and the latency of the link itself"),
        (Self::WaitDispatch, "wait_dispatch", "in the drive, before dispatch took it up"),
        (
            Self::WaitBuffer,
            "wait_buffer",
            "waiting for room in the write buffer; of a flush, until the buffer was in flash",
        ),
        (Self::WaitDieRead, "wait_die_read", "waiting for a die while reads of the host held it"),
        (Self::WaitDieWrite, "wait_die_write", "waiting for a die while writes of the host held it"),
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
        let patient = matches!(request.op, Op::Write | Op::Flush);
        let gap = if patient { Part::WaitBuffer } else { Part::Other } as usize;
        let bytes = match &way.last {
            Some(account) => {
                let [reads, writes, collector] = account.die;
                let told = [
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
                parts[gap] += account.start - served + (done - account.end);
                // A read that was overtaken by its data left its parts behind.
                parts[Part::Other as usize] += account.end - account.start - account.sum();
                account.bytes
            }
            None => {
                parts[gap] += done - served;
                if request.op == Op::Read {
                    request.bytes
                } else {
                    0
                }
            }
        };
        let data_out = if bytes > 0 { link.data_out.time(bytes) } else { 0 };
        let outward = (data_out + link.completion).min(completion - done);
        parts[Part::Link as usize] += outward;
        parts[Part::WaitLink as usize] += completion - done - outward;
        parts
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
