//! Activity of channels, dies and planes in each interval.
//!
//! The flash reports a use of bus or array when it ends, so an interval stays open until all commands that started in
//! it have ended.

use super::Wanted;
use crate::drive::Drive;
use crate::rows::{ChannelTimes, DieTimes, PlaneTimes, Sink, UnitRow};
use std::collections::VecDeque;
use wordline_base::Time;
use wordline_firmware::task::{Action, Class, CLASSES};
use wordline_firmware::{Noted, Passage};
use wordline_flash::log::{Stage, What};
use wordline_flash::{Geometry, Kind, Logged};

/// Commands of a lane that the flash may still tell of: in cache mode, the current, the one before, and the one that has just ended.
const KEPT: usize = 4;

/// Whose a command is.
#[derive(Clone, Copy, Debug)]
struct Known {
    command: u64,
    class: Class,
    /// Planes that work for another class, as bits, and that class.
    others: (u8, Class),
}

/// An interval that is not written yet.
#[derive(Clone, Debug, Default)]
struct Open {
    start: Time,
    end: Time,
    dies: Vec<DieTimes>,
    planes: Vec<PlaneTimes>,
    channels: Vec<ChannelTimes>,
}

impl Open {
    /// Operations of a class began in such planes of a die, whose first plane is given.
    fn count(&mut self, die: u32, first: u32, class: Class, planes: u8) {
        self.dies[die as usize].ops[class.index()] += u64::from(planes.count_ones());
        for plane in (0..u8::BITS).filter(|plane| planes >> plane & 1 == 1) {
            self.planes[(first + plane) as usize].ops[class.index()] += 1;
        }
    }
}

/// The units of the flash.
#[derive(Clone, Debug)]
pub(super) struct Units {
    wanted: Wanted,
    geometry: Geometry,
    origin: Time,
    /// From where on intervals are of full length: the origin, or the last cut.
    base: Time,
    open: VecDeque<Open>,
    /// Emptied, to be used again.
    spare: Vec<Open>,
    /// By lane: the latest commands, newest first.
    classes: Vec<[Known; KEPT]>,
    /// By die: when the oldest of its commands that run began, and the newest.
    running: Vec<Option<(Time, Time)>>,
    /// By die: how long it was taken up to the end of the last interval.
    occupied: Vec<[Time; CLASSES]>,
}

impl Units {
    pub fn new(drive: &Drive, wanted: Wanted) -> Self {
        let geometry = *drive.kernel().flash().geometry();
        let now = drive.now();
        let nobody = Known { command: 0, class: Class::HOST_READ, others: (0, Class::HOST_READ) };
        Self {
            wanted,
            geometry,
            origin: now,
            base: now,
            open: VecDeque::new(),
            spare: Vec::new(),
            classes: vec![[nobody; KEPT]; 2 * geometry.dies() as usize],
            running: vec![None; geometry.dies() as usize],
            occupied: (0..geometry.dies()).map(|die| drive.kernel().occupied(die, now).into_owned()).collect(),
        }
    }

    /// The open interval of a time, opened if need be.
    fn at(&mut self, time: Time) -> usize {
        let length = self.wanted.interval;
        loop {
            let start = match self.open.back() {
                Some(last) if time < last.end => return self.open.partition_point(|open| open.end <= time),
                Some(last) => last.end,
                None => {
                    let base = self.edges().into_iter().filter(|&edge| edge <= time).fold(self.base, Time::max);
                    base + time.saturating_sub(base) / length * length
                }
            };
            let mut open = self.spare.pop().unwrap_or_default();
            (open.start, open.end) = (start, self.end_of(start));
            let Geometry { channels, .. } = self.geometry;
            open.dies.resize(self.geometry.dies() as usize, DieTimes::default());
            open.planes.resize(self.geometry.planes() as usize, PlaneTimes::default());
            open.channels.resize(channels as usize, ChannelTimes::default());
            self.open.push_back(open);
        }
    }

    /// Ends an interval at `at`, which is now, and begins the next one there.
    pub fn cut(&mut self, at: Time) {
        self.base = at;
        let end = self.end_of(at);
        match self.open.back_mut() {
            Some(last) if last.start < at => last.end = last.end.min(at),
            // It has just begun.
            Some(last) => last.end = end,
            None => {}
        }
    }

    /// The edges of the window. An interval does not reach over one.
    fn edges(&self) -> [Time; 2] {
        let (from, to) = self.wanted.window;
        [self.origin.saturating_add(from), self.origin.saturating_add(to)]
    }

    /// When an interval ends that starts at `start`.
    fn end_of(&self, start: Time) -> Time {
        let edge = self.edges().into_iter().find(|&edge| start < edge).unwrap_or(Time::MAX);
        edge.min(start + self.wanted.interval)
    }

    /// Divides a span of time among its intervals.
    fn spread(&mut self, start: Time, end: Time, mut add: impl FnMut(&mut Open, Time)) {
        let mut from = start;
        while from < end {
            let index = self.at(from);
            let until = end.min(self.open[index].end);
            add(&mut self.open[index], until - from);
            from = until;
        }
    }

    /// Reads what the firmware noted. Commands are known before what they did, and that before what has come of them.
    pub fn read(&mut self, noted: &Noted<'_>, now: Time) {
        for passage in noted.passages.iter() {
            match *passage {
                Passage::Begun { lane, command, class, .. } => {
                    let known = &mut self.classes[lane as usize];
                    known.rotate_right(1);
                    known[0] = Known { command, class, others: (0, class) };
                }
                Passage::Joined { lane, class, planes } => {
                    self.classes[lane as usize][0].others = (planes, class);
                }
                Passage::Idle { .. } => {}
            }
        }
        for logged in noted.entries.iter() {
            let (die, dies) = (logged.die as usize, self.running.len());
            let mut known = self.classes[die].iter().chain(&self.classes[dies + die]);
            if let Some(&known) = known.find(|known| known.command == logged.command) {
                self.add(logged, known);
            }
        }
        noted.passages.iter().for_each(|passage| self.pass(passage, now));
    }

    /// A step of a command.
    fn pass(&mut self, passage: &Passage, now: Time) {
        match *passage {
            Passage::Begun { lane, class, kind, planes, .. } => {
                let dies = self.geometry.dies();
                let die = lane % dies;
                if lane < dies {
                    let oldest = self.running[die as usize].map_or(now, |(_, newest)| newest);
                    self.running[die as usize] = Some((oldest, now));
                }
                let (index, first) = (self.at(now), die * self.geometry.planes_per_die);
                let open = &mut self.open[index];
                let copied = kind == Kind::Copyback;
                for class in std::iter::once(class).chain(copied.then(|| Class::new(class.task(), Action::Program))) {
                    open.count(die, first, class, planes);
                }
            }
            Passage::Joined { lane, class, planes } => {
                let die = lane % self.geometry.dies();
                let (index, first) = (self.at(now), die * self.geometry.planes_per_die);
                self.open[index].count(die, first, class, planes);
            }
            Passage::Idle { die } => self.running[die as usize] = None,
        }
    }

    /// A use of bus or cells is over.
    fn add(&mut self, logged: &Logged, whose: Known) {
        let (die, entry) = (logged.die as usize, &logged.entry);
        let channel = die / self.geometry.dies_per_channel() as usize;
        match entry.what {
            What::Bus(segment) => {
                self.spread(entry.ready, entry.start, |open, time| {
                    open.dies[die].wait_bus += time;
                    open.channels[channel].wait += time;
                });
                self.spread(entry.start, entry.end, |open, time| {
                    open.dies[die].bus += time;
                    let bus = &mut open.channels[channel];
                    *(if segment.moves_data() { &mut bus.data } else { &mut bus.command }) += time;
                    let (planes, other) = whose.others;
                    // Each task pays for its pages.
                    let of_other = time * u64::from(planes.count_ones()) / u64::from(entry.planes.max(1));
                    bus.by_task[other.task().index()] += of_other;
                    bus.by_task[whose.class.task().index()] += time - of_other;
                });
                let index = self.at(entry.start);
                self.open[index].channels[channel].uses += 1;
            }
            What::Array(stage) => {
                let first = die * self.geometry.planes_per_die as usize;
                let mask = entry.plane_mask;
                self.spread(entry.start, entry.end, |open, time| {
                    let times = &mut open.dies[die];
                    match stage {
                        Stage::Ton => times.read += time,
                        Stage::Tin => times.program += time,
                        Stage::Ber => times.erase += time,
                        _ => times.other += time,
                    }
                    for plane in (0..u8::BITS as usize).filter(|plane| mask >> plane & 1 == 1) {
                        let times = &mut open.planes[first + plane];
                        match stage {
                            Stage::Ton => times.read += time,
                            Stage::Tin => times.program += time,
                            Stage::Ber => times.erase += time,
                            _ => {}
                        }
                    }
                });
            }
        }
    }

    /// The interval from `start` to `end` is over; writes those of which nothing more can come.
    pub fn close(&mut self, drive: &Drive, (start, end): (Time, Time), sink: &mut dyn Sink) {
        for die in 0..self.geometry.dies() {
            let sums = drive.kernel().occupied(die, end).into_owned();
            let before = std::mem::replace(&mut self.occupied[die as usize], sums);
            if before != sums {
                let index = self.at(start);
                let taken = std::array::from_fn(|class| sums[class] - before[class]);
                self.open[index].dies[die as usize].occupied = taken;
            }
        }
        let oldest = self.running.iter().flatten().map(|&(oldest, _)| oldest).min().unwrap_or(Time::MAX);
        while self.open.front().is_some_and(|open| open.end <= oldest.min(end)) {
            self.write(end, sink);
        }
    }

    /// Writes all that is left; the run is over at `now`.
    pub fn finish(&mut self, now: Time, sink: &mut dyn Sink) {
        while self.open.front().is_some_and(|open| open.start < now) {
            self.write(now, sink);
        }
    }

    fn write(&mut self, now: Time, sink: &mut dyn Sink) {
        let Some(mut open) = self.open.pop_front() else { return };
        let start = open.start - self.origin;
        let end = open.end.min(now) - self.origin;
        let (from, to) = self.wanted.window;
        let shown = (from..to).contains(&start);
        rows(shown && self.wanted.channels, start, end, &mut open.channels, |row| sink.channel(row));
        rows(shown && self.wanted.dies, start, end, &mut open.dies, |row| sink.die(row));
        rows(shown && self.wanted.planes, start, end, &mut open.planes, |row| sink.plane(row));
        self.spare.push(open);
    }
}

/// Writes the units that did something, and clears all.
fn rows<T: Copy + Default + PartialEq>(
    wanted: bool,
    start: Time,
    end: Time,
    units: &mut Vec<T>,
    mut write: impl FnMut(&UnitRow<T>),
) {
    for (unit, &times) in units.iter().enumerate().filter(|(_, times)| wanted && **times != T::default()) {
        write(&UnitRow { start, end, unit: unit as u32, times });
    }
    units.clear();
}
