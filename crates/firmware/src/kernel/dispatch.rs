//! Dispatch: surveys the operations that wait for an idle die, lets the arbiter choose, and starts the bound command.

use super::{stream_of, Fault, Kernel, Waits};
use crate::ops::{Fifo, NONE};
use crate::policy::arbiter::{Class, Waiting, CLASSES};
use crate::space::Stream;
use wordline_base::{EventQueue, Time};
use wordline_flash::MAX_PLANES;

impl Kernel {
    /// Gives shared writes to idle dies while any takes one.
    pub(super) fn serve_shared(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        let row_length = self.shared.len() / 2;
        for (row, class) in [(0, Class::HostWrite), (1, Class::GcWrite)] {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            for at in 0..row_length {
                let index = row * row_length + at;
                while self.shared[index].head != NONE && self.may_go(&self.shared[index], class, 0) {
                    let Some(die) = self.idle_die(at, stream_of(class)) else {
                        self.stalled = true;
                        break;
                    };
                    if !self.dispatch(die, queue)? {
                        break;
                    }
                }
                if self.shared_waiting[row] == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The idle die, among those that a shared queue serves, that can start a write first: the one whose bus is free first; of
    /// equals the next in turn.
    pub(super) fn idle_die(&mut self, at: usize, stream: Stream) -> Option<u32> {
        let geometry = *self.flash.geometry();
        let (channels, dies) = (geometry.channels, geometry.dies_per_channel());
        let only_channel = (at > 0 && at <= channels as usize).then(|| at as u32 - 1);
        if at > channels as usize {
            let die = (at - 1) as u32 - channels;
            return (!self.dies[die as usize].busy && self.best_plane(die, stream).is_some()).then_some(die);
        }
        let mut best: Option<(Time, u32, u32)> = None;
        for step in 0..channels {
            let channel = (self.channel_turn + step) % channels;
            if self.idle_in_channel[channel as usize] == 0 || only_channel.is_some_and(|only| only != channel) {
                continue;
            }
            let free_at = self.flash.bus_free_at(channel).max(self.now);
            if best.is_some_and(|(time, ..)| time <= free_at) {
                continue;
            }
            let turn = self.die_turn[channel as usize];
            let found = (0..dies)
                .map(|step| channel * dies + (turn + step) % dies)
                .find(|&die| !self.dies[die as usize].busy && self.best_plane(die, stream).is_some());
            if let Some(die) = found {
                best = Some((free_at, channel, die));
                if free_at == self.now {
                    break;
                }
            }
        }
        let (_, channel, die) = best?;
        self.channel_turn = (channel + 1) % channels;
        self.die_turn[channel as usize] = (die % dies + 1) % dies;
        Some(die)
    }

    /// The plane of a die that a write without a plane should take: the one with the lowest write point, so that planes stay
    /// side by side; of equals the one with the fewest valid units, then the first. Where each plane collects for itself, a plane
    /// that holds a block's worth more than another comes after it, or its garbage would not suffice.
    #[inline]
    pub(super) fn best_plane(&self, die: u32, stream: Stream) -> Option<u32> {
        let planes = self.flash.geometry().planes_per_die;
        (die * planes..(die + 1) * planes).filter(|&plane| self.space.has_room(&self.blocks, plane, stream)).min_by_key(
            |&plane| {
                let valid = self.blocks.valid_in_plane(plane);
                let ahead = if self.plan.domains > 1 { valid / self.plan.units_per_block } else { 0 };
                (ahead, self.space.next_page(&self.blocks, plane, stream), valid)
            },
        )
    }

    /// True if the oldest write of a queue may go now, or waits for company to fill its page.
    #[inline]
    pub(super) fn may_go(&self, fifo: &Fifo, class: Class, domain: u32) -> bool {
        if fifo.len >= self.plan.units_per_page {
            return true;
        }
        if class == Class::GcWrite {
            return self.jobs.is_released(domain) && !self.jobs.expects(domain);
        }
        // A partial write whose old data had to be read stands behind newer ones, so the head alone does not tell.
        fifo.iter(&self.slab).any(|op| !op.buffered || self.buffer.must_go(op.ordinal))
    }

    /// Gives an idle die a command, if something waits for it that can go.
    #[inline]
    pub(super) fn dispatch(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        if self.dies[die as usize].busy {
            return Ok(false);
        }
        loop {
            let (waiting, places) = self.survey(die);
            if waiting.0.iter().all(|&sequence| sequence == Waiting::NONE) {
                return Ok(false);
            }
            let class = self.arbiter.choose(&waiting);
            let place = places[class as usize];
            match class {
                Class::HostRead | Class::GcRead => self.issue_read(die, class, place)?,
                Class::HostWrite | Class::GcWrite => self.issue_write(die, class, place)?,
                Class::GcErase => self.issue_erase(die, place),
            }
            // Without pages the operations had become void; another look finds what is left.
            if !self.command.pages().is_empty() {
                self.start(die, class, queue)?;
                return Ok(true);
            }
        }
    }

    /// What waits for a die and can go: for each class the oldest operation and where it waits.
    #[inline]
    pub(super) fn survey(&mut self, die: u32) -> (Waiting, [Waits; CLASSES]) {
        let mut waiting = Waiting([Waiting::NONE; CLASSES]);
        let mut places = [Waits::Plane(0); CLASSES];
        let planes = self.flash.geometry().planes_per_die;
        let mut mask = self.waiting[die as usize];
        while mask != 0 {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            let class = Class::ALL[(bit / MAX_PLANES as u32) as usize];
            let plane = die * planes + bit % MAX_PLANES as u32;
            let fifo = self.queues[plane as usize * CLASSES + class as usize];
            let sequence = self.slab.get(fifo.head).sequence;
            if sequence >= waiting.0[class as usize] {
                continue;
            }
            if class.is_write() {
                let domain = self.blocks.domain_of_plane(plane);
                if !self.may_go(&fifo, class, domain) {
                    continue;
                }
                if !self.space.has_room(&self.blocks, plane, stream_of(class)) {
                    self.stalled = true;
                    continue;
                }
            }
            waiting.0[class as usize] = sequence;
            places[class as usize] = Waits::Plane(plane);
        }
        if self.shared_waiting != [0; 2] {
            self.survey_shared(die, &mut waiting, &mut places);
        }
        (waiting, places)
    }

    pub(super) fn survey_shared(&mut self, die: u32, waiting: &mut Waiting, places: &mut [Waits; CLASSES]) {
        for (row, class) in [(0, Class::HostWrite), (1, Class::GcWrite)] {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            for index in self.shared_of(die, row) {
                let fifo = self.shared[index];
                if fifo.head == NONE || !self.may_go(&fifo, class, 0) {
                    continue;
                }
                let sequence = self.slab.get(fifo.head).sequence;
                if sequence >= waiting.0[class as usize] {
                    continue;
                }
                match self.best_plane(die, stream_of(class)) {
                    Some(plane) => {
                        waiting.0[class as usize] = sequence;
                        places[class as usize] = Waits::Shared(index, plane);
                    }
                    None => self.stalled = true,
                }
            }
        }
    }

    /// The shared queues that a die serves, for a class's row.
    pub(super) fn shared_of(&self, die: u32, row: usize) -> [usize; 3] {
        let channels = self.flash.geometry().channels as usize;
        let at = [0, 1 + self.flash.channel_of(die) as usize, 1 + channels + die as usize];
        at.map(|at| row * (self.shared.len() / 2) + at)
    }

    /// Counts the command that was put together.
    #[inline]
    pub(super) fn count_command(&mut self, class: Class) {
        let pages = self.command.pages().len() as u64;
        self.counters.commands += 1;
        self.counters.ops[class as usize] += pages;
        if pages > 1 {
            self.counters.multi_plane[class as usize] += pages;
        }
    }

    /// Sends a bound command to its die.
    #[inline]
    pub(super) fn start(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        self.count_command(class);
        let channel = self.flash.channel_of(die);
        self.idle_in_channel[channel as usize] -= 1;
        self.busy += 1;
        let state = &mut self.dies[die as usize];
        state.busy = true;
        state.class = class;
        state.since = self.now;
        if self.timed {
            if self.attentive {
                self.prepare(die, class);
            }
            self.foresee(class);
            self.flash.begin(self.now, die, &self.command, queue)?;
            if self.notes.is_some() {
                let state = &self.dies[die as usize];
                self.witness(die, class, (state.count, state.pages));
            }
        } else {
            self.flash.commit(self.now, die, &self.command)?;
            self.ended.push_back(die);
        }
        if self.fails {
            self.note_failures(die)?;
        }
        Ok(())
    }
}
