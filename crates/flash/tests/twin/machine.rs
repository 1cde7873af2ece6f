//! The twin: dies on one bus, simulated tick by tick.
//!
//! A tick has four parts, in this order. Everything that runs (the bus transfer, the arrays, the busy times of the
//! dies) advances by a tick. A transfer whose last cycle is over leaves the bus. Each lane, in order of number, does
//! everything that takes no time, which may end with a bus request. Last, a free bus goes to one of the requests:
//! commands and addresses before data, and the data of a die's planes one after the other before any other data. While
//! a die takes the addresses of several planes, it holds the bus.
//!
//! A command is a list of acts that its lane executes one after the other: a command has no other state.

use super::acts::{carry, places, Act, Chains, Row, Tag};
use super::host::Host;
use super::table::{carries_data, carries_in, cycles, ticks, Durations, Pins, Tick};
use super::trace::{Line, Seen, Sums, Trace};
use std::collections::VecDeque;
use wordline_flash::{Command, Kind, Segment};
use wordline_nand::log::{Stage, What};

/// State of a lane.
#[derive(Clone, Copy)]
enum Doing<'a> {
    /// It executes its acts.
    Acts,
    /// It waits in the arbiter or is on the bus.
    Bus,
    /// It is busy until the count is zero.
    Rests { tag: Tag<'a>, stage: Stage, since: Tick, left: Tick },
    /// It waits for its array.
    Cells,
}

/// The registers of a lane, by plane: the number of the command whose data they have. A lane beside a suspended command
/// has its own, since the data of a suspended program stay in the die.
#[derive(Clone, Default)]
struct Registers {
    data: Vec<Option<u64>>,
    cache: Vec<Option<u64>>,
}

/// The array, when busy.
#[derive(Clone, Copy)]
struct Work<'a> {
    tag: Tag<'a>,
    lane: usize,
    stage: Stage,
    since: Tick,
    /// Remaining ticks of a resumption.
    back: Tick,
    /// Remaining ticks of work.
    left: Tick,
}

#[derive(Clone, Default)]
struct Die<'a> {
    cells: Option<Work<'a>>,
    suspended: Option<Work<'a>>,
    sums: Sums,
}

struct Lane<'a> {
    acts: VecDeque<Act<'a>>,
    doing: Doing<'a>,
    registers: Registers,
    /// True if its command follows another in cache mode.
    sequence: bool,
    /// Its commands that have ended and whose end the host has not seen.
    over: u32,
}

/// A bus request of a lane, waiting or served.
struct Asking<'a> {
    lane: usize,
    tag: Tag<'a>,
    segment: Segment,
    plane: u32,
    bytes: u32,
    row: Row,
    ready: Tick,
}

/// The transfer on the bus.
struct Transfer<'a> {
    of: Asking<'a>,
    since: Tick,
    cycles: Vec<Pins>,
    /// The current cycle, and its remaining ticks.
    cycle: usize,
    left: Tick,
}

#[derive(Default)]
struct Wires<'a> {
    /// Waiting requests, FCFS: commands and addresses only, and with data.
    commands: VecDeque<Asking<'a>>,
    data: VecDeque<Asking<'a>>,
    now: Option<Transfer<'a>>,
    /// The lane that holds the bus between two transfers.
    kept: Option<usize>,
    busy: Tick,
}

/// The dies, the bus and the hosts.
pub struct Twin<'a> {
    durations: &'a Durations,
    /// True if the bus is FCFS for everything.
    first_come: bool,
    now: Tick,
    dies: Vec<Die<'a>>,
    lanes: Vec<Lane<'a>>,
    hosts: Vec<Host<'a>>,
    wires: Wires<'a>,
    started: u64,
    /// Suspensions that were not sent.
    held_back: u64,
    lines: Vec<Line>,
    seen: Vec<Seen>,
}

/// Runs the hosts to their ends.
pub fn run<'a>(durations: &'a Durations, first_come: bool, planes: u32, hosts: Vec<Host<'a>>) -> Trace {
    let registers = Registers { data: vec![None; planes as usize], cache: vec![None; planes as usize] };
    let lane =
        |_| Lane { acts: VecDeque::new(), doing: Doing::Acts, registers: registers.clone(), sequence: false, over: 0 };
    let dies = hosts.len();
    let mut twin = Twin {
        durations,
        first_come,
        now: 0,
        dies: vec![Die::default(); dies],
        lanes: (0..2 * dies).map(lane).collect(),
        hosts,
        wires: Wires::default(),
        started: 0,
        held_back: 0,
        lines: Vec::new(),
        seen: Vec::new(),
    };
    loop {
        twin.carry_on();
        if twin.at_rest() {
            break;
        }
        twin.now += 1;
        twin.grow_older();
    }
    let sums = twin.dies.into_iter().map(|die| die.sums).collect();
    Trace { lines: twin.lines, seen: twin.seen, sums, busy: twin.wires.busy, held_back: twin.held_back }
}

// ------------------------------------------------------------------------------------------------------- a tick passes

impl<'a> Twin<'a> {
    fn grow_older(&mut self) {
        for waits in self.wires.commands.iter().chain(&self.wires.data) {
            self.dies[waits.lane % self.hosts.len()].sums.contention += 1;
        }
        self.transfer_ages();
        (0..self.dies.len()).for_each(|die| self.cells_age(die));
        (0..self.lanes.len()).for_each(|lane| self.rest_ages(lane));
    }

    fn transfer_ages(&mut self) {
        let Some(transfer) = &mut self.wires.now else { return };
        self.wires.busy += 1;
        let sums = &mut self.dies[transfer.of.lane % self.hosts.len()].sums;
        sums.bus[transfer.of.segment as usize] += 1;
        transfer.left -= 1;
        if transfer.left > 0 {
            return;
        }
        transfer.cycle += 1;
        if let Some(&next) = transfer.cycles.get(transfer.cycle) {
            transfer.left = ticks(next);
            return;
        }
        let Transfer { of, since, .. } = self.wires.now.take().expect("it is on the bus");
        sums.uses[of.segment as usize] += 1;
        self.wires.kept = (of.row == Row::Keeps).then_some(of.lane);
        self.arrived(&of);
        let bytes = if carries_data(of.segment) { of.bytes } else { 0 };
        self.tell(of.lane, of.tag, What::Bus(of.segment), bytes, [of.ready, since, self.now]);
        self.lanes[of.lane].doing = Doing::Acts;
    }

    /// Effect of a transfer on the registers.
    fn arrived(&mut self, of: &Asking<'a>) {
        let cache = &mut self.lanes[of.lane].registers.cache[of.plane as usize];
        if carries_in(of.segment) {
            assert_eq!(*cache, None, "data come into a register that is in use");
            *cache = Some(of.tag.number);
        } else if carries_data(of.segment) {
            assert_eq!(*cache, Some(of.tag.number), "data came out that are not there");
            if of.tag.command.kind == Kind::Read {
                *cache = None;
            }
        }
    }

    fn cells_age(&mut self, die: usize) {
        let Die { cells, sums, .. } = &mut self.dies[die];
        let Some(work) = cells else { return };
        if work.back > 0 {
            work.back -= 1;
            sums.register += 1;
            if work.back == 0 {
                let (lane, tag, since) = (work.lane, work.tag, work.since);
                work.since = self.now;
                self.tell(lane, tag, What::Array(Stage::Resume), 0, [since, since, self.now]);
                return;
            }
        } else {
            work.left -= 1;
            let stage = [Stage::Ton, Stage::Tin, Stage::Ber].iter().position(|&stage| stage == work.stage);
            sums.cells[stage.expect("the cells do nothing else")][work.tag.command.planes() - 1] += 1;
        }
        if work.back + work.left > 0 {
            return;
        }
        let Work { tag, lane, stage, since, .. } = cells.take().expect("they work");
        for at in places(tag.command, stage) {
            let data = &mut self.lanes[lane].registers.data[at.plane as usize];
            match stage {
                Stage::Ton => *data = Some(tag.number),
                Stage::Tin => *data = None,
                _ => {}
            }
        }
        self.tell(lane, tag, What::Array(stage), 0, [since, since, self.now]);
        self.drop_suspension(die);
    }

    fn rest_ages(&mut self, lane: usize) {
        let Doing::Rests { tag, stage, since, left } = &mut self.lanes[lane].doing else { return };
        *left -= 1;
        let sums = &mut self.dies[lane % self.hosts.len()].sums;
        match stage {
            Stage::Dummy => sums.dummy += 1,
            _ => sums.register += 1,
        }
        if *left == 0 {
            let (tag, stage, since) = (*tag, *stage, *since);
            self.lanes[lane].doing = Doing::Acts;
            self.tell(lane, tag, What::Array(stage), 0, [since, since, self.now]);
        }
    }

    fn tell(&mut self, lane: usize, tag: Tag<'a>, what: What, bytes: u32, [ready, start, end]: [Tick; 3]) {
        let Tag { command, number, held } = tag;
        let die = lane % self.hosts.len();
        let (page, planes) = (command.pages()[0], command.planes());
        let kind = command.kind;
        self.lines.push(Line { die, command: number, kind, held, what, page, planes, bytes, ready, start, end });
    }

    fn at_rest(&self) -> bool {
        let rest = self.hosts.iter().all(Host::at_rest) && (0..self.lanes.len()).all(|lane| self.is_idle(lane));
        if rest {
            let idle = |die: &Die| die.cells.is_none() && die.suspended.is_none();
            assert!(self.dies.iter().all(idle) && self.wires.now.is_none(), "something still runs");
        }
        rest
    }
}

// ----------------------------------------------------------------------------------------------------- no time passes

impl<'a> Twin<'a> {
    fn carry_on(&mut self) {
        let dies = self.hosts.len();
        for lane in 0..dies {
            self.act(lane);
            // The follower of an ended command starts at once, if it is time.
            while self.is_idle(lane) && self.start(lane) {
                self.act(lane);
            }
        }
        for lane in dies..2 * dies {
            self.act(lane);
            if self.hosts[lane - dies].polls() == Some(self.now) {
                self.suspend(lane);
                self.act(lane);
            }
        }
        self.grant();
    }

    fn chains(&self) -> Chains<'a> {
        Chains(self.durations)
    }

    fn is_idle(&self, lane: usize) -> bool {
        self.lanes[lane].acts.is_empty() && matches!(self.lanes[lane].doing, Doing::Acts)
    }

    /// The host of an idle die starts its next command, if it is time.
    fn start(&mut self, die: usize) -> bool {
        let Some(command) = self.hosts[die].begin(self.now) else { return false };
        let tag = self.tag(command);
        self.lanes[die].sequence = false;
        let acts = self.chains().begun(tag);
        self.lanes[die].acts.extend(acts);
        true
    }

    /// The host tries to suspend the command of a die.
    fn suspend(&mut self, lane: usize) {
        let die = lane % self.hosts.len();
        let Die { cells, suspended, .. } = &self.dies[die];
        // Only single programs and erases: not the background work of a sequence, nor a command that is already
        // suspended.
        let alone = |work: &&Work| {
            let Command { kind, cache, .. } = work.tag.command;
            matches!(kind, Kind::Program | Kind::Erase) && !cache && !self.lanes[die].sequence && suspended.is_none()
        };
        let running = cells.as_ref().filter(alone).map(|work| work.tag);
        if self.hosts[die].suspends(self.now, running.is_some()) {
            let tag = running.expect("it runs");
            let erase = tag.command.kind == Kind::Erase;
            let segment = if erase { Segment::EraseSuspend } else { Segment::ProgramSuspend };
            let rest = Act::Rest { tag, stage: Stage::Suspend, ticks: self.durations.suspend };
            self.lanes[lane].acts.extend([carry(tag, segment), Act::Cut(tag.number), rest, Act::Beside]);
        }
    }

    fn tag(&mut self, command: &'a Command) -> Tag<'a> {
        self.started += 1;
        Tag { command, number: self.started, held: false }
    }

    /// Executes the acts of a lane until one takes time.
    fn act(&mut self, lane: usize) {
        while matches!(self.lanes[lane].doing, Doing::Acts | Doing::Cells) {
            if matches!(self.lanes[lane].doing, Doing::Cells) {
                if self.needs_cells(lane) {
                    return;
                }
                self.lanes[lane].doing = Doing::Acts;
            }
            let Some(act) = self.lanes[lane].acts.pop_front() else { return };
            self.one_act(lane, act);
        }
    }

    /// True if the array is busy for a lane, or will be resumed for it.
    fn needs_cells(&self, lane: usize) -> bool {
        let Die { cells, suspended, .. } = &self.dies[lane % self.hosts.len()];
        cells.iter().chain(suspended).any(|work| work.lane == lane)
    }

    fn one_act(&mut self, lane: usize, act: Act<'a>) {
        let (now, die) = (self.now, lane % self.hosts.len());
        match act {
            Act::Carry { tag, segment, plane, bytes, row } => {
                let asking = Asking { lane, tag, segment, plane, bytes, row, ready: now };
                let data = carries_data(segment) && !self.first_come;
                let line = if data { &mut self.wires.data } else { &mut self.wires.commands };
                if row == Row::Follows || self.wires.kept == Some(lane) {
                    line.push_front(asking);
                } else {
                    line.push_back(asking);
                }
                self.lanes[lane].doing = Doing::Bus;
            }
            Act::Rest { tag, stage, ticks } => {
                self.lanes[lane].doing = Doing::Rests { tag, stage, since: now, left: ticks };
            }
            Act::Work { tag, stage, ticks } => {
                for at in places(tag.command, stage) {
                    let data = self.lanes[lane].registers.data[at.plane as usize];
                    let needs = (stage == Stage::Tin).then_some(tag.number);
                    assert_eq!(data, needs, "{stage:?} of command {} finds another's data", tag.number);
                }
                let work = Work { tag, lane, stage, since: now, back: 0, left: ticks };
                let before = self.dies[die].cells.replace(work);
                assert!(before.is_none(), "the cells of die {die} do two things at once");
            }
            Act::AwaitCells => self.lanes[lane].doing = Doing::Cells,
            Act::ToBus(tag) => {
                let Registers { data, cache } = &mut self.lanes[lane].registers;
                hand_over(tag, data, cache);
            }
            Act::ToCells(tag) => {
                let Registers { data, cache } = &mut self.lanes[lane].registers;
                hand_over(tag, cache, data);
            }
            Act::Over if lane >= self.hosts.len() => {}
            Act::Over => {
                self.lanes[lane].over += 1;
                if self.lanes[lane].acts.is_empty() {
                    self.lanes[lane].over = 0;
                    self.seen.push(Seen { time: now, lane, done: true, ended: true });
                    self.hosts[lane].done();
                }
            }
            Act::Ask(tag) => self.ask(lane, tag),
            Act::Cut(number) => self.cut(lane, number),
            Act::Beside => self.beside(lane),
            Act::Restart => {
                let work = self.dies[die].suspended.take().expect("it was suspended");
                let work = Work { since: now, back: work.back + self.durations.resume, ..work };
                let before = self.dies[die].cells.replace(work);
                assert!(before.is_none(), "a resumed command finds the cells of die {die} at work");
            }
        }
    }

    /// The bus goes to the first in the queue, those without data before those with.
    fn grant(&mut self) {
        let mut asking = self.wires.commands.iter();
        if self.wires.now.is_some() || self.wires.kept.is_some_and(|lane| asking.all(|of| of.lane != lane)) {
            return;
        }
        self.wires.kept = None;
        while let Some(of) = self.wires.commands.pop_front().or_else(|| self.wires.data.pop_front()) {
            let cycles = cycles(of.segment, of.bytes);
            if is_suspension(of.segment) && cycles.iter().map(|&pins| ticks(pins)).sum::<Tick>() >= self.left(of.lane) {
                self.hold_back(&of);
                continue;
            }
            let left = ticks(cycles[0]);
            self.wires.now = Some(Transfer { of, since: self.now, cycles, cycle: 0, left });
            return;
        }
    }

    /// Remaining array ticks of the command to suspend.
    fn left(&self, lane: usize) -> Tick {
        self.dies[lane % self.hosts.len()].cells.as_ref().map_or(0, |work| work.back + work.left)
    }

    /// A suspension is not sent, since the die would be ready first. Nothing waited for it.
    fn hold_back(&mut self, of: &Asking<'a>) {
        self.dies[of.lane % self.hosts.len()].sums.contention -= self.now - of.ready;
        let lane = &mut self.lanes[of.lane];
        lane.acts.clear();
        lane.doing = Doing::Acts;
        self.held_back += 1;
    }

    /// Suspensions of a finished die are dropped.
    fn drop_suspension(&mut self, die: usize) {
        let lane = die + self.hosts.len();
        let waits = |of: &Asking| of.lane == lane && is_suspension(of.segment);
        if let Some(at) = self.wires.commands.iter().position(waits) {
            let of = self.wires.commands.remove(at).expect("it is there");
            self.hold_back(&of);
        }
    }

    /// A sequence may continue.
    fn ask(&mut self, lane: usize, tag: Tag<'a>) {
        let over = std::mem::take(&mut self.lanes[lane].over);
        assert!(over <= 1, "the host misses the end of a command");
        self.seen.push(Seen { time: self.now, lane, done: false, ended: over == 1 });
        let acts = match self.hosts[lane].answer() {
            Some(command) => {
                let next = self.tag(command);
                let acts = self.chains().followed(tag, next);
                self.lanes[lane].sequence = true;
                acts
            }
            None => self.chains().finished(tag, self.lanes[lane].sequence),
        };
        self.lanes[lane].acts.extend(acts);
    }

    /// A suspension stops the array.
    fn cut(&mut self, lane: usize, number: u64) {
        let die = lane % self.hosts.len();
        let work = self.dies[die].cells.take_if(|work| work.tag.number == number);
        let work = work.expect("no suspension is sent that comes too late");
        let stage = if work.back > 0 { Stage::Resume } else { work.stage };
        if self.now > work.since {
            self.tell(work.lane, work.tag, What::Array(stage), 0, [work.since, work.since, self.now]);
        }
        let before = self.dies[die].suspended.replace(work);
        assert!(before.is_none(), "die {die} is suspended twice");
    }

    /// The die accepts reads beside its suspended command.
    fn beside(&mut self, lane: usize) {
        let die = lane % self.hosts.len();
        self.seen.push(Seen { time: self.now, lane, done: false, ended: false });
        let acts = match self.hosts[die].beside(self.now) {
            Some(command) => {
                let tag = self.tag(command);
                let mut acts = self.chains().begun(tag);
                acts.push(Act::Beside);
                acts
            }
            None => {
                let tag = self.dies[die].suspended.expect("it is suspended").tag;
                let erase = tag.command.kind == Kind::Erase;
                let segment = if erase { Segment::EraseResume } else { Segment::ProgramResume };
                vec![carry(tag, segment), Act::Restart]
            }
        };
        self.lanes[lane].acts.extend(acts);
    }
}

fn is_suspension(segment: Segment) -> bool {
    matches!(segment, Segment::ProgramSuspend | Segment::EraseSuspend)
}

fn hand_over(tag: Tag, from: &mut [Option<u64>], to: &mut [Option<u64>]) {
    for at in tag.command.pages() {
        let plane = at.plane as usize;
        assert_eq!(from[plane], Some(tag.number), "a register of plane {plane} has other data to hand over");
        assert_eq!(to[plane], None, "a register of plane {plane} is in use");
        to[plane] = from[plane].take();
    }
}
