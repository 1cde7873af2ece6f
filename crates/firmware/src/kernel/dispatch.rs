//! Dispatch: surveys the operations that wait for an idle die, lets the arbiter choose, and starts the bound command.

use super::ready::{Ready, NEXT_QUEUES};
use super::{stream_of, Fault, Kernel, Waits};
use crate::ops::{Fifo, NONE};
use crate::policy::arbiter::Waiting;
use crate::space::Stream;
use crate::task::{Action, Class, Task, CLASSES, ROWS};
use wordline_base::{EventQueue, Time};

/// Operations that a die could start now, at most one of a class, and where they wait.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    list: [Waiting; CLASSES],
    places: [Waits; CLASSES],
    count: usize,
}

/// Classes of writes that may wait for any die, and that are served by their age.
pub(super) const SHARED_WRITES: [Class; 2] = [Class::HOST_WRITE, Class::new(Task::GC, Action::Program)];

/// The same with programs of the mapping table.
const ALL_SHARED_WRITES: [Class; 4] = [
    Class::HOST_WRITE,
    Class::map_write(Task::HOST),
    Class::new(Task::GC, Action::Program),
    Class::map_write(Task::GC),
];

impl Default for Candidates {
    fn default() -> Self {
        let nothing = Waiting { class: Class::HOST_READ, sequence: 0 };
        Self { list: [nothing; CLASSES], places: [Waits::Plane(0); CLASSES], count: 0 }
    }
}

impl Candidates {
    /// Puts an operation in a place of the list, or at its end.
    #[inline]
    fn set(&mut self, at: usize, operation: Waiting, place: Waits) {
        (self.list[at], self.places[at]) = (operation, place);
        self.count = self.count.max(at + 1);
    }

    #[inline]
    fn find(&self, class: Class) -> Option<usize> {
        self.list[..self.count].iter().position(|operation| operation.class == class)
    }
}

impl Kernel {
    /// Gives shared writes to idle dies while any takes one.
    pub(super) fn serve_shared(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        let row_length = self.shared.len() / ROWS;
        for row in 0..ROWS {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            let class = Class::of_row(row);
            let mut place = Some(0);
            while let Some(at) = place {
                let index = row * row_length + at;
                while self.shared[index].head != NONE && self.row_may_go(index, class) {
                    let Some(die) = self.idle_die(at, stream_of(class)) else {
                        self.stalled |= !self.is_wish(index, class);
                        break;
                    };
                    if !self.dispatch(die, queue)? {
                        break;
                    }
                }
                // Mostly all wait in the first queue.
                let all_here = at == 0 && self.shared[index].len == self.shared_waiting[row];
                if all_here || self.shared_waiting[row] == 0 {
                    break;
                }
                place = self.next_shared(row, at);
            }
        }
        Ok(())
    }

    /// The next shared queue of a row after one, counted in the row, in which writes wait.
    #[inline]
    fn next_shared(&mut self, row: usize, after: usize) -> Option<usize> {
        let (row_length, words) = (self.shared.len() / ROWS, self.shared_places.len() / ROWS);
        let (mut word, mut beyond) = ((after + 1) / 64, u64::MAX << ((after + 1) % 64));
        while word < words {
            let places = &mut self.shared_places[row * words + word];
            let bits = *places & beyond;
            if bits == 0 {
                (word, beyond) = (word + 1, u64::MAX);
                continue;
            }
            let bit = bits.trailing_zeros();
            let at = word * 64 + bit as usize;
            if self.shared[row * row_length + at].head != NONE {
                debug_assert!((after + 1..at).all(|at| self.shared[row * row_length + at].head == NONE));
                return Some(at);
            }
            *places &= !(1 << bit);
        }
        debug_assert!((after + 1..row_length).all(|at| self.shared[row * row_length + at].head == NONE));
        None
    }

    /// The idle die, among those that a shared queue serves, that can start a write first: the one whose bus is free first; of
    /// equals the next in turn.
    pub(super) fn idle_die(&mut self, at: usize, stream: Stream) -> Option<u32> {
        let geometry = *self.flash.geometry();
        let (channels, dies) = (geometry.channels, geometry.dies_per_channel());
        let only_channel = (at > 0 && at <= channels as usize).then(|| at as u32 - 1);
        if at > channels as usize {
            let die = (at - 1) as u32 - channels;
            return (self.may_take(die, stream) && self.takes(die, stream)).then_some(die);
        }
        if self.busy == geometry.dies() {
            return None;
        }
        let mut best: Option<(Time, u32, u32)> = None;
        for step in 0..channels {
            let channel = (self.channel_turn + step) % channels;
            if only_channel.is_some_and(|only| only != channel) {
                continue;
            }
            let free_at = self.flash.bus_free_at(channel).max(self.now);
            if best.is_some_and(|(time, ..)| time <= free_at) {
                continue;
            }
            let turn = self.die_turn[channel as usize];
            let found = (0..dies)
                .map(|step| channel * dies + (turn + step) % dies)
                .find(|&die| self.may_take(die, stream) && self.takes(die, stream));
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

    /// True if a die is idle, and may serve a stream now.
    #[inline]
    fn may_take(&self, die: u32, stream: Stream) -> bool {
        !self.dies[die as usize].busy && (stream == Stream::Collector || !self.is_held(die))
    }

    /// True if a plane of a die has a page for a write of a stream.
    #[inline]
    pub(super) fn takes(&self, die: u32, stream: Stream) -> bool {
        let planes = self.planes_per_die.get();
        (die * planes..(die + 1) * planes).any(|plane| self.space.has_room(&self.blocks, plane, stream))
    }

    /// The plane of a die that a write without a plane should take: the one with the lowest write point, so that planes stay
    /// side by side; of equals the one with the fewest valid units, then the first. Where each plane collects for itself, a plane
    /// that holds a block's worth more than another comes after it, or its garbage would not suffice.
    #[inline]
    pub(super) fn best_plane(&self, die: u32, stream: Stream) -> Option<u32> {
        let planes = self.planes_per_die.get();
        let mut best: Option<(u128, u32)> = None;
        for plane in die * planes..(die + 1) * planes {
            if !self.space.has_room(&self.blocks, plane, stream) {
                continue;
            }
            let valid = self.blocks.valid_in_plane(plane);
            let ahead = if self.plan.domains > 1 { self.units_per_block.quotient(valid) } else { 0 };
            // One number, which takes one comparison.
            let by_page = u128::from(self.space.next_page(&self.blocks, plane, stream)) << 32 | u128::from(valid);
            let key = u128::from(ahead) << 64 | by_page;
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, plane));
            }
        }
        best.map(|(_, plane)| plane)
    }

    /// True if the oldest write of a queue may go now, or waits for company to fill its page.
    #[inline]
    pub(super) fn may_go(&self, fifo: &Fifo, class: Class, domain: u32) -> bool {
        fifo.len >= self.plan.units_per_program || self.may_go_alone(fifo, class, domain)
    }

    /// The same for a queue that cannot fill a page.
    #[inline(never)]
    pub(super) fn may_go_alone(&self, fifo: &Fifo, class: Class, domain: u32) -> bool {
        if class.is_map_write() {
            // Nothing waits for them but memory.
            return self.closing;
        }
        if !class.is_host() {
            let group = self.jobs.group(class.task(), domain);
            return self.jobs.is_released(group) && !self.jobs.expects(group);
        }
        // A partial write whose old data had to be read stands behind newer ones, so the head alone does not tell.
        fifo.iter(&self.slab).any(|op| !op.buffered || self.buffer.must_go(op.ordinal))
    }

    /// The same for a queue of writes that may go to several dies: moved pages may wait to fill a program of all planes.
    #[inline]
    pub(super) fn row_may_go(&self, index: usize, class: Class) -> bool {
        let fifo = &self.shared[index];
        if fifo.len < self.row_units && class.moves() && self.jobs.expects(self.jobs.group(class.task(), 0)) {
            return false;
        }
        self.shared_may_go(index, class)
    }

    /// As [`Self::may_go`], for a queue of writes that may go to several dies. Units with a wish fill whole programs.
    #[inline]
    pub(super) fn shared_may_go(&self, index: usize, class: Class) -> bool {
        let fifo = &self.shared[index];
        fifo.len >= self.plan.units_per_program || (!self.is_wish(index, class) && self.may_go_alone(fifo, class, 0))
    }

    /// Gives an idle die a command, if something waits for it that can go.
    #[inline]
    pub(super) fn dispatch(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        if self.dies[die as usize].busy {
            return Ok(false);
        }
        loop {
            let Some((class, place)) = self.chosen(die) else { return Ok(false) };
            match class.action() {
                Action::Read => self.issue_read(die, class, place)?,
                Action::Program => self.issue_write(die, class, place)?,
                Action::Erase => self.issue_erase(die, class, place),
            }
            // Without pages the operations had become void; another look finds what is left.
            if !self.command.pages().is_empty() {
                self.start(die, class, queue)?;
                return Ok(true);
            }
        }
    }

    /// The class that the arbiter chooses for a die, and where its oldest operation waits; none if nothing can go.
    #[inline]
    pub(super) fn chosen(&mut self, die: u32) -> Option<(Class, Waits)> {
        let waiting = self.dies[die as usize].waiting;
        if self.straight_by_stage {
            if let Some(chosen) = self.oldest_sent(die, waiting) {
                return chosen;
            }
        } else if self.shared_count > 0 {
            if let Some(waiting) = waiting.of_host_and_gc().filter(|&waiting| self.may_take_from_all(die, waiting)) {
                return self.oldest_of_all(die, waiting);
            }
        } else {
            if let Some(waiting) = waiting.of_host_and_gc().filter(|&waiting| self.may_take_oldest(die, waiting)) {
                return self.oldest(die, waiting);
            }
            if waiting == Ready::NOTHING {
                return None;
            }
        }
        self.chosen_by_arbiter(die)
    }

    /// True if a die serves the oldest operation whatever its class. A commit stage takes writes back that cannot go, which a
    /// survey finds.
    #[inline]
    fn may_take_oldest(&self, die: u32, waiting: u64) -> bool {
        self.takes_oldest && !self.is_held(die) && (self.stage.is_none() || self.all_go(die, waiting))
    }

    /// True if all writes of host and GC that wait for planes of a die can go at once.
    #[inline]
    pub(super) fn all_go(&self, die: u32, waiting: u64) -> bool {
        let first = die * self.flash.geometry().planes_per_die;
        let mut writes = waiting & Ready::WRITES;
        while writes != 0 {
            let (class, plane) = Ready::of_bit(writes.trailing_zeros());
            if !self.goes_at_once(class, first + plane) {
                return false;
            }
            writes &= writes - 1;
        }
        true
    }

    /// True if a die serves the oldest operation whatever its class, where writes of host and GC wait, some of them for any die.
    #[inline]
    fn may_take_from_all(&self, die: u32, waiting: u64) -> bool {
        let for_any: u32 = ALL_SHARED_WRITES.iter().map(|&class| self.shared[self.shared_row(class)].len).sum();
        let plain = self.takes_oldest && !self.avoids_short && self.stage.is_none() && self.wishes.is_none();
        plain && !self.is_held(die) && waiting & Ready::MAP_WRITES == 0 && for_any == self.shared_count
    }

    /// The oldest operation that can go on such a die: as in [`Self::survey`], but without a list.
    fn oldest_of_all(&mut self, die: u32, waiting: u64) -> Option<(Class, Waits)> {
        let (mut oldest, mut found) = (u64::MAX, None);
        let first = die * self.flash.geometry().planes_per_die;
        let others = waiting & !Ready::WRITES;
        if others != 0 {
            let (class, plane) = Ready::of_bit(self.oldest_bit(first, others));
            (oldest, found) = (self.oldest_in(class, first + plane), Some((class, Waits::Plane(first + plane))));
        }
        for class in ALL_SHARED_WRITES {
            let mut known = u64::MAX;
            let mut planes = Ready::planes_of(waiting, class);
            while planes != 0 {
                let plane = first + planes.trailing_zeros();
                planes &= planes - 1;
                let sequence = self.oldest_in(class, plane);
                if sequence < known && self.finds_page_at_once(class, plane) {
                    known = sequence;
                    if sequence < oldest {
                        (oldest, found) = (sequence, Some((class, Waits::Plane(plane))));
                    }
                }
            }
            let index = self.shared_row(class);
            let head = self.shared[index].head;
            if head == NONE || !self.row_may_go(index, class) {
                continue;
            }
            let (sequence, stream) = (self.slab.get(head).sequence, stream_of(class));
            if sequence < known && !self.takes(die, stream) {
                self.stalled = true;
            } else if sequence < known.min(oldest) {
                oldest = sequence;
                found = self.best_plane(die, stream).map(|plane| (class, Waits::Shared(index, plane)));
            }
        }
        found
    }

    /// Number of the oldest operation of a class that waits for a plane.
    #[inline]
    pub(super) fn oldest_in(&self, class: Class, plane: u32) -> u64 {
        self.queues[plane as usize * CLASSES + class.index()].oldest(&self.slab)
    }

    /// The oldest operation that can go on a die where operations of host and GC wait, each for a plane: as in [`Self::survey`],
    /// but without a list.
    #[inline]
    fn oldest(&mut self, die: u32, waiting: u64) -> Option<(Class, Waits)> {
        self.oldest_in_plane::<false>(die, waiting).map(|(class, plane)| (class, Waits::Plane(plane)))
    }

    /// Its class and the plane where it waits. `PAGES` says that each write fills a page, and each stream has open blocks of its own.
    #[inline(always)]
    pub(super) fn oldest_in_plane<const PAGES: bool>(&mut self, die: u32, waiting: u64) -> Option<(Class, u32)> {
        if waiting == 0 {
            return None;
        }
        let bit = self.oldest_of_bits(die * self.planes_per_die.get(), waiting);
        self.oldest_from_bit::<PAGES>(die, waiting, bit)
    }

    /// The bit of the queue whose first operation is the oldest; mostly there are few.
    #[inline(always)]
    fn oldest_of_bits(&self, first: u32, waiting: u64) -> u32 {
        if waiting.is_power_of_two() {
            waiting.trailing_zeros()
        } else {
            self.oldest_bit(first, waiting)
        }
    }

    /// The same where the bit of the oldest of all is known.
    #[inline(always)]
    pub(super) fn oldest_from_bit<const PAGES: bool>(
        &mut self,
        die: u32,
        mut waiting: u64,
        mut bit: u32,
    ) -> Option<(Class, u32)> {
        let first = die * self.planes_per_die.get();
        loop {
            let (class, plane) = Ready::of_bit(bit);
            let plane = first + plane;
            if Ready::WRITES >> bit & 1 == 0 {
                return Some((class, plane));
            }
            let finds_page = if PAGES {
                self.space.has_open(plane, Ready::write_of_bit(bit).1) || self.finds_page_of_queue(class, plane)
            } else {
                self.finds_page_at_once(class, plane)
            };
            if finds_page {
                return Some((class, plane));
            }
            waiting &= !(1 << bit);
            if waiting == 0 {
                return None;
            }
            bit = self.oldest_of_bits(first, waiting);
        }
    }

    /// The bit of the queue whose first operation is the oldest, of some; planes are counted from `first` on.
    #[inline(always)]
    pub(super) fn oldest_bit(&self, first: u32, mut waiting: u64) -> u32 {
        let from = first as usize * CLASSES;
        let queues = &self.queues[from..from + NEXT_QUEUES];
        let queues: &[Fifo; NEXT_QUEUES] = queues.try_into().expect("it has as many");
        let number = |bit| queues[Ready::queue_of_bit(bit)].oldest(&self.slab);
        let mut found = waiting.trailing_zeros();
        let mut oldest = number(found);
        waiting &= waiting.wrapping_sub(1);
        while waiting != 0 {
            let bit = waiting.trailing_zeros();
            let number = number(bit);
            if number < oldest {
                (oldest, found) = (number, bit);
            }
            waiting &= waiting - 1;
        }
        found
    }

    /// As [`Self::finds_page`] for the writes of a class that wait for a plane: mostly they fill a page, and a block is open.
    #[inline(always)]
    fn finds_page_at_once(&mut self, class: Class, plane: u32) -> bool {
        self.goes_at_once(class, plane) || self.finds_page_of_queue(class, plane)
    }

    #[inline(never)]
    fn finds_page_of_queue(&mut self, class: Class, plane: u32) -> bool {
        if self.straight_pages && !class.is_map_write() {
            // Each write fills a page, and the plane has no open block.
            let opens = self.space.may_open(&self.blocks, plane, stream_of(class));
            self.stalled |= !opens;
            return opens;
        }
        let fifo = self.queues[plane as usize * CLASSES + class.index()];
        self.finds_page(&fifo, class, plane)
    }

    /// True if the writes of a class that wait for a plane fill a page of an open block.
    #[inline]
    fn goes_at_once(&self, class: Class, plane: u32) -> bool {
        let fifo = &self.queues[plane as usize * CLASSES + class.index()];
        let fills = fifo.len >= self.plan.units_per_program && !class.is_map_write();
        fills && self.space.is_open(plane, stream_of(class))
    }

    #[inline(never)]
    fn chosen_by_arbiter(&mut self, die: u32) -> Option<(Class, Waits)> {
        self.survey(die);
        let Candidates { list, count, .. } = &self.candidates;
        let at = match *count {
            0 => return None,
            1 => 0,
            _ if self.arbiter.sees_times() => self.choose_in_time(),
            count => self.arbiter.choose(&list[..count]),
        };
        Some((self.candidates.list[at].class, self.candidates.places[at]))
    }

    /// The choice of an arbiter that looks at how long the operations of the last survey have waited.
    #[cold]
    fn choose_in_time(&mut self) -> usize {
        let Candidates { list, places, count } = &self.candidates;
        let mut waited = [0; CLASSES];
        for (at, time) in waited[..*count].iter_mut().enumerate() {
            let fifo = match places[at] {
                Waits::Plane(plane) => &self.queues[plane as usize * CLASSES + list[at].class.index()],
                Waits::Shared(index, _) => &self.shared[index],
            };
            *time = self.now.saturating_sub(self.slab.get(fifo.head).ready);
        }
        self.arbiter.choose_in_time(&list[..*count], &waited[..*count])
    }

    /// Where the oldest operation of a class waits that can go on a die, if any does.
    pub(super) fn place_of_oldest(&mut self, die: u32, class: Class) -> Option<Waits> {
        self.survey(die);
        self.candidates.find(class).map(|at| self.candidates.places[at])
    }

    /// Lists what waits for a die and can go: of each class the oldest operation, and where it waits.
    #[inline]
    pub(super) fn survey(&mut self, die: u32) {
        self.candidates.count = 0;
        let first = die * self.flash.geometry().planes_per_die;
        let mut waiting = self.dies[die as usize].waiting;
        if self.is_held(die) {
            waiting = waiting.of(Task::GC);
        }
        while let Some((class, plane)) = waiting.next() {
            let plane = first + plane;
            let fifo = self.queues[plane as usize * CLASSES + class.index()];
            let sequence = self.slab.get(fifo.head).sequence;
            // Operations of a class come one after the other.
            let last = self.candidates.count.wrapping_sub(1);
            let known = self.candidates.list.get(last).filter(|last| last.class == class);
            let at = match known {
                Some(older) if sequence >= older.sequence => continue,
                Some(_) => last,
                None => self.candidates.count,
            };
            if class.is_write() && !self.finds_page(&fifo, class, plane) {
                continue;
            }
            self.candidates.set(at, Waiting { class, sequence }, Waits::Plane(plane));
        }
        if self.shared_count > 0 {
            self.survey_shared(die);
        }
        if self.stage.is_some() {
            self.recall(die);
        }
    }

    fn survey_shared(&mut self, die: u32) {
        let held = self.is_held(die);
        for row in 0..ROWS {
            if self.shared_waiting[row] == 0 {
                continue;
            }
            let class = Class::of_row(row);
            if held && class.task() != Task::GC {
                continue;
            }
            for index in self.shared_of(die, class) {
                let fifo = self.shared[index];
                if fifo.head == NONE || !self.row_may_go(index, class) {
                    continue;
                }
                let sequence = self.slab.get(fifo.head).sequence;
                let known = self.candidates.find(class);
                if known.is_some_and(|at| sequence >= self.candidates.list[at].sequence) {
                    continue;
                }
                match self.best_plane(die, stream_of(class)) {
                    Some(plane) => {
                        let at = known.unwrap_or(self.candidates.count);
                        self.candidates.set(at, Waiting { class, sequence }, Waits::Shared(index, plane));
                    }
                    None => self.stalled |= !self.is_wish(index, class),
                }
            }
        }
    }

    /// The shared queues that a die serves, of a class of writes.
    pub(super) fn shared_of(&self, die: u32, class: Class) -> [usize; 3] {
        let channels = self.flash.geometry().channels as usize;
        let at = [0, 1 + self.flash.channel_of(die) as usize, 1 + channels + die as usize];
        at.map(|at| self.shared_row(class) + at)
    }

    /// Pages of an operation of a class in a plane.
    #[inline]
    pub(super) fn pages_of(&self, class: Class) -> u64 {
        if class.is_write() && !self.command.slc {
            u64::from(self.pages_per_program)
        } else {
            1
        }
    }

    /// Counts the command that was put together.
    #[inline]
    pub(super) fn count_command(&mut self, die: u32, class: Class) {
        if self.dies[die as usize].mixed {
            self.count_mixed(die, class);
            return;
        }
        if let Some(stage) = &mut self.stage {
            stage.count_start(die, class, self.command.pages().len() as i32);
        }
        if self.read_limit < u32::MAX && class.action() == Action::Read {
            self.watch_reads(die);
        }
        let pages = self.command.pages().len() as u64 * self.pages_of(class);
        self.counters.commands += 1;
        let counted = class.counted();
        self.counters.count(counted, pages);
        if self.command.pages().len() > 1 {
            self.counters.multi_plane[counted.index()] += pages;
        }
    }

    /// Sends a bound command to its die.
    #[inline]
    pub(super) fn start(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        self.busy += 1;
        let state = &mut self.dies[die as usize];
        state.busy = true;
        state.class = class;
        state.since = self.now;
        if self.timed && !(self.instant && class.task() == Task::GC) {
            self.count_command(die, class);
            self.dies[die as usize].count_from(class, self.now);
            if self.attentive {
                self.prepare(die, class);
            }
            self.foresee(class, Some(die));
            self.flash.begin(self.now, die, &self.command, queue)?;
            if self.notes.is_some() {
                let state = &self.dies[die as usize];
                self.witness(die, class, (state.count, state.pages));
            }
        } else {
            self.flash.commit(self.now, die, &self.command)?;
            // An erase that a worn-out block refuses is none.
            self.count_command(die, class);
            self.ended.push_back(die);
        }
        if self.fails {
            self.note_failures(die)?;
        }
        Ok(())
    }
}
