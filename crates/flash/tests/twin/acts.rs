//! The twin's chains: each command as a list of acts, in the order of execution by its lane.

use super::table::{Durations, Tick};
use wordline_flash::{Command, Kind, PageAddress, Segment};
use wordline_nand::log::Stage;

/// A command in progress, with its name in the log.
#[derive(Clone, Copy)]
pub struct Tag<'a> {
    pub command: &'a Command,
    pub number: u64,
    pub held: bool,
}

/// Relation of a transfer to others of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// It is independent.
    Alone,
    /// It follows data of the same command: no other data come between.
    Follows,
    /// The lane holds the bus until its next transfer.
    Keeps,
}

/// A step of a command.
#[derive(Clone, Copy)]
pub enum Act<'a> {
    /// A transfer, to or from a plane if it carries data.
    Carry { tag: Tag<'a>, segment: Segment, plane: u32, bytes: u32, row: Row },
    /// The die is busy, but not its array.
    Rest { tag: Tag<'a>, stage: Stage, ticks: Tick },
    /// The array starts, and the lane continues.
    Work { tag: Tag<'a>, stage: Stage, ticks: Tick },
    /// The lane waits for the array.
    AwaitCells,
    /// Data from the array: data register to cache register.
    ToBus(Tag<'a>),
    /// Data from the host: cache register to data register.
    ToCells(Tag<'a>),
    /// A command of a sequence has ended.
    Over,
    /// The host decides what follows.
    Ask(Tag<'a>),
    /// The suspension has reached the die.
    Cut(u64),
    /// The die accepts reads, or the resumption.
    Beside,
    /// The resumption has reached the die.
    Restart,
}

/// Pages that the array reads, programs or erases.
pub fn places(command: &Command, stage: Stage) -> &[PageAddress] {
    match (command.kind, stage) {
        (Kind::Copyback, Stage::Tin) => command.targets(),
        _ => command.pages(),
    }
}

/// The transfer of a command or of one address.
pub fn carry(tag: Tag, segment: Segment) -> Act {
    Act::Carry { tag, segment, plane: tag.command.pages()[0].plane, bytes: 0, row: Row::Alone }
}

/// The chains of all operations, with the durations of the dies.
#[derive(Clone, Copy)]
pub struct Chains<'d>(pub &'d Durations);

impl Chains<'_> {
    /// Addresses of all planes, the last with `last`, with a busy time between two; each with data, if the transfers
    /// have any.
    fn planes<'a>(&self, tag: Tag<'a>, others: Segment, last: Segment) -> Vec<Act<'a>> {
        let mut acts = Vec::new();
        let planes = tag.command.planes();
        for (at, (page, &bytes)) in tag.command.pages().iter().zip(tag.command.bytes()).enumerate() {
            let segment = if at + 1 < planes { others } else { last };
            let keeps = at + 1 < planes && matches!(others, Segment::ReadQueue | Segment::EraseQueue);
            let row = if keeps { Row::Keeps } else { Row::Alone };
            acts.push(Act::Carry { tag, segment, plane: page.plane, bytes, row });
            if at + 1 < planes {
                acts.push(Act::Rest { tag, stage: Stage::Dummy, ticks: self.0.dummy });
            }
        }
        acts
    }

    /// Data out of the cache register, plane by plane.
    fn out<'a>(&self, tag: Tag<'a>) -> Vec<Act<'a>> {
        let several = tag.command.planes() > 1;
        let segment = if several { Segment::ReadOutPlane } else { Segment::ReadOut };
        let pages = tag.command.pages().iter().zip(tag.command.bytes());
        // A read transfers something of every plane, a copyback only data to be checked.
        let wanted = pages.filter(|(_, &bytes)| bytes > 0 || tag.command.kind == Kind::Read);
        let carry = |(at, (page, &bytes)): (usize, (&PageAddress, &u32))| {
            let row = if at > 0 { Row::Follows } else { Row::Alone };
            Act::Carry { tag, segment, plane: page.plane, bytes, row }
        };
        wanted.enumerate().map(carry).collect()
    }

    fn sense<'a>(&self, tag: Tag<'a>) -> Act<'a> {
        Act::Work { tag, stage: Stage::Ton, ticks: self.0.t_r(tag.command.pages()[0].page) }
    }

    fn write<'a>(&self, tag: Tag<'a>) -> Act<'a> {
        let page = places(tag.command, Stage::Tin)[0].page;
        Act::Work { tag, stage: Stage::Tin, ticks: self.0.t_prog(page) }
    }

    /// The first or only command of a job, or a read beside another.
    pub fn begun<'a>(&self, tag: Tag<'a>) -> Vec<Act<'a>> {
        match (tag.command.kind, tag.command.cache) {
            (Kind::Read, false) => {
                let mut acts = self.planes(tag, Segment::ReadQueue, Segment::Read);
                acts.extend([self.sense(tag), Act::AwaitCells, Act::ToBus(tag)]);
                acts.extend(self.out(tag));
                acts.push(Act::Over);
                acts
            }
            (Kind::Read, true) => {
                let mut acts = self.planes(tag, Segment::ReadQueue, Segment::Read);
                acts.extend([self.sense(tag), Act::AwaitCells, Act::Ask(tag)]);
                acts
            }
            (Kind::Program, false) => {
                let mut acts = self.planes(tag, Segment::ProgramQueue, Segment::Program);
                acts.extend([Act::ToCells(tag), self.write(tag), Act::AwaitCells, Act::Over]);
                acts
            }
            (Kind::Program, true) => self.loaded(tag),
            (Kind::Erase, _) => {
                let mut acts = self.planes(tag, Segment::EraseQueue, Segment::Erase);
                let ber = Act::Work { tag, stage: Stage::Ber, ticks: self.0.erase };
                acts.extend([ber, Act::AwaitCells, Act::Over]);
                acts
            }
            (Kind::Copyback, _) => {
                let mut acts = self.planes(tag, Segment::ReadQueue, Segment::CopybackRead);
                acts.extend([self.sense(tag), Act::AwaitCells, Act::ToBus(tag)]);
                acts.extend(self.out(tag));
                acts.extend(self.planes(tag, Segment::CopybackProgramQueue, Segment::CopybackProgram));
                acts.extend([Act::ToCells(tag), self.write(tag), Act::AwaitCells, Act::Over]);
                acts
            }
        }
    }

    /// A cached program: its data wait in the cache register until the array has programmed the previous ones.
    fn loaded<'a>(&self, tag: Tag<'a>) -> Vec<Act<'a>> {
        let cache = tag.command.cache;
        let last = if cache { Segment::ProgramCache } else { Segment::Program };
        let mut acts = self.planes(tag, Segment::ProgramQueue, last);
        acts.push(Act::AwaitCells);
        if cache {
            acts.push(Act::Rest { tag, stage: Stage::Register, ticks: self.0.cache_program });
        }
        acts.extend([Act::ToCells(tag), self.write(tag)]);
        acts.extend(if cache { [Act::Ask(tag)].to_vec() } else { vec![Act::AwaitCells, Act::Over] });
        acts
    }

    /// The page moves from the data register to the cache register when it is read.
    fn turned<'a>(&self, by: Tag<'a>, page: Tag<'a>) -> [Act<'a>; 3] {
        let rest = Act::Rest { tag: by, stage: Stage::Register, ticks: self.0.cache_read };
        [Act::AwaitCells, rest, Act::ToBus(page)]
    }

    /// The next command of a sequence.
    pub fn followed<'a>(&self, before: Tag<'a>, tag: Tag<'a>) -> Vec<Act<'a>> {
        if tag.command.kind == Kind::Program {
            let mut acts = self.loaded(tag);
            let at = acts.iter().position(|act| matches!(act, Act::AwaitCells)).expect("it waits for the cells");
            acts.insert(at + 1, Act::Over);
            return acts;
        }
        let next_page = |(new, old): (&PageAddress, &PageAddress)| *new == PageAddress { page: old.page + 1, ..*old };
        let mut acts = if tag.command.pages().iter().zip(before.command.pages()).all(next_page) {
            vec![carry(tag, Segment::CacheSequential)]
        } else {
            self.planes(tag, Segment::ReadQueue, Segment::CacheRandom)
        };
        acts.extend(self.turned(tag, before));
        acts.push(self.sense(tag));
        acts.extend(self.out(Tag { held: true, ..before }));
        acts.extend([Act::Over, Act::Ask(tag)]);
        acts
    }

    /// The end of a sequence whose last command is `tag`.
    pub fn finished<'a>(&self, tag: Tag<'a>, sequence: bool) -> Vec<Act<'a>> {
        if tag.command.kind == Kind::Program {
            return vec![Act::AwaitCells, Act::Over];
        }
        let mut acts = Vec::new();
        if sequence {
            acts.push(carry(tag, Segment::CacheEnd));
            acts.extend(self.turned(tag, tag));
        } else {
            acts.push(Act::ToBus(tag));
        }
        acts.extend(self.out(tag));
        acts.push(Act::Over);
        acts
    }
}
