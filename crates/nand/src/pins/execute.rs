//! Effects of a complete command sequence: on registers and array, and on the time at which the die is ready.
//!
//! Registers and array change at the last cycle of a sequence, since nothing can observe them before the die is ready
//! again. A RESET makes aborted pages and blocks unusable.

use super::decode::Mode;
use super::die::{same_planes, Task, Work};
use super::error::{On, Reason, Wait, Wrong};
use super::identity::{self, Features, FEATURE_BYTES};
use super::latch::{Addressed, Front, Output};
use super::layout::{Layout, COLUMN_CYCLES, MAX_CYCLES};
use super::{priced, Pins};
use crate::cells::Violation;
use crate::config::NandConfig;
use crate::geometry::PageAddress;
use wordline_base::time::US;
use wordline_base::Time;

/// tRST of ONFI when idle or during a read.
const RESET_READ: Time = 5 * US;
/// tRST during a program.
const RESET_PROGRAM: Time = 10 * US;
/// tRST during an erase.
const RESET_ERASE: Time = 500 * US;

impl Pins {
    /// Executes a command that has a place here; its cycle ends at `end`.
    pub(super) fn perform(&mut self, command: u8, end: Time) -> Result<(), Wrong> {
        match (self.front, command) {
            (_, 0xff | 0xfc) => self.reset(end),
            (Front::Address { cycles, .. }, _) => self.change_column(&cycles[..COLUMN_CYCLES], end)?,
            (Front::Complete(addressed), _) => self.finish(addressed, command, end)?,
            (_, 0x70) => self.show_status(end),
            (_, 0x31 | 0x3f) => self.turn_alone(command, end)?,
            (_, 0x84 | 0x61) => self.suspend(end),
            (_, 0x13 | 0xd2) => self.resume(end),
            _ => {
                self.output = Output::Nothing;
                self.front = Front::Address { command, cycles: [0; MAX_CYCLES], count: 0, since: end };
            }
        }
        Ok(())
    }

    /// Handles the complete address of a command.
    pub(super) fn addressed(&mut self, command: u8, cycles: &[u8], end: Time) -> Result<(), Wrong> {
        match (command, cycles) {
            (0x90 | 0xec..=0xef, &[address]) => self.addressed_package(command, address, end),
            (0x60 | 0x78, row) => self.addressed_die(command, row, 0, end),
            (_, cycles) => {
                let (column, row) = cycles.split_at(COLUMN_CYCLES);
                self.addressed_die(command, row, Layout::column(column), end)
            }
        }
    }

    /// Commands for the whole package.
    fn addressed_package(&mut self, command: u8, address: u8, end: Time) -> Result<(), Wrong> {
        let there = match command {
            0x90 => identity::identifier(address).is_some(),
            0xec => address == 0,
            _ => Features::has(address),
        };
        if !there {
            return Err(Reason::NothingThere { address }).on(self.selected);
        }
        self.front = Front::Free;
        match command {
            0x90 => {
                let bytes = identity::identifier(address).unwrap_or_default();
                self.output = Output::Identifier { bytes, column: 0 };
                self.output_from = (Wait::Twhr, end + self.mode.t_whr);
            }
            0xec => {
                let page =
                    identity::parameter_page(&self.geometry, &self.layout, &self.config, &self.timing, &self.mode);
                self.special = page.repeat(identity::PARAMETER_COPIES);
                self.hold_special(Mode::Parameters, self.timing.t_r(0), end);
            }
            0xee => {
                self.special = self.features.get(address).to_vec();
                self.hold_special(Mode::Feature, self.timing.pauses.feature, end);
            }
            _ => {
                let from = end + self.mode.t_adl;
                self.front = Front::Feature { address, value: [0; FEATURE_BYTES], count: 0, from };
            }
        }
        Ok(())
    }

    /// The whole package is busy, and then outputs other data than pages.
    fn hold_special(&mut self, mode: Mode, busy: Time, end: Time) {
        let ready = self.rest(end) + busy;
        for die in &mut self.dies {
            die.leave(Mode::Idle);
            (die.ready_at, die.array_at) = (ready, ready);
        }
        self.die_mut(self.selected).mode = mode;
        self.give_out_when_ready(ready);
    }

    /// Handles the four bytes of a feature.
    pub(super) fn set_feature(&mut self, address: u8, value: [u8; FEATURE_BYTES], end: Time) -> Result<(), Wrong> {
        let wrong = Reason::FeatureValue { address, value: value[0] };
        let rate = self.features.set(address, value).ok_or(wrong).on(self.selected)?;
        self.front = Front::Free;
        // The cycle that sets a timing mode still has the old one.
        self.hold_special(Mode::Idle, self.timing.pauses.feature, end);
        self.output = Output::Nothing;
        if let Some(rate_mt_s) = rate {
            let config = NandConfig { rate_mt_s, ..self.config.clone() };
            if let Ok((timing, mode)) = priced(&config, self.geometry.pages) {
                (self.config, self.timing, self.mode) = (config, timing, mode);
            }
        }
        Ok(())
    }

    /// Commands for the die that their row names.
    fn addressed_die(&mut self, command: u8, row: &[u8], column: u32, end: Time) -> Result<(), Wrong> {
        let (die, mut at) = self.layout.named(row);
        if matches!(command, 0x60 | 0x78) {
            // The page is irrelevant for a block or a status.
            at.page = 0;
        }
        if !self.exists(die, at) {
            let PageAddress { plane, block, page } = at;
            return Err(Violation::UnknownAddress { die, plane, block, page }).on(self.selected);
        }
        // Even a rejected address selects the die whose status comes next.
        self.selected = die;
        self.within(column, 1, self.geometry.page_bytes).on(die)?;
        let state = self.die(die);
        state.takes(command, self.now).on(die)?;
        let mut from = (Wait::Tadl, end + self.mode.t_adl);
        match command {
            0x00 => state.joins(die, at, true).on(die)?,
            0x60 => state.joins(die, at, false).on(die)?,
            0x80 => {
                state.joins(die, at, true).on(die)?;
                let follows = state.cached.is_empty()
                    || state.cached.get(state.queue.len()).map(|page| page.plane) == Some(at.plane);
                if !follows {
                    return Err(Violation::Follower { die }).on(die);
                }
            }
            0x85 => {
                state.joins(die, at, true).on(die)?;
                if !state.read.iter().any(|page| page.plane == at.plane) {
                    let plane = state.read.first().map_or(at.plane, |page| page.plane);
                    return Err(Violation::MoveAcrossPlanes { die, plane, other_plane: at.plane }).on(die);
                }
                from = (Wait::Tccs, end + self.mode.t_ccs);
            }
            0x05 | 0x06 if !state.read.iter().any(|page| page.plane == at.plane) => {
                return Err(Reason::PlaneNotRead { plane: at.plane }).on(die);
            }
            _ => {}
        }
        if command == 0x78 {
            self.show_status(end);
            return Ok(());
        }
        if command == 0x80 {
            let state = self.die_mut(die);
            if state.mode.is_free() {
                state.leave(Mode::Idle);
            }
            state.planes[at.plane as usize].clear();
        }
        self.front = Front::Complete(Addressed { command, die, at, column, from });
        Ok(())
    }

    /// The command that ends a sequence with an address.
    fn finish(&mut self, addressed: Addressed, command: u8, end: Time) -> Result<(), Wrong> {
        let Addressed { command: first, die, at, column, .. } = addressed;
        match (first, command) {
            (_, 0x85) => {
                self.front = Front::Column { of: addressed, cycles: [0; COLUMN_CYCLES], count: 0 };
                return Ok(());
            }
            (0x00, 0x32) => self.queue_read(die, at, end)?,
            (0x00, 0x31) => {
                let pages = self.joined(die, at);
                if !same_planes(&pages, &self.die(die).read) {
                    return Err(Violation::Follower { die }).on(die);
                }
                self.turn(die, Some(pages), end)?;
            }
            (0x00, _) => self.read(die, at, column, command == 0x35, end)?,
            (0x05 | 0x06, _) => {
                let state = self.die_mut(die);
                (state.plane, state.column) = (Some(at.plane), column);
                self.output = Output::Data;
                self.output_from = (Wait::Tccs, end + self.mode.t_ccs);
            }
            (0x60, 0xd1) => self.queue(die, at, Mode::EraseQueued, end)?,
            (0x60, _) => self.erase(die, at, end)?,
            (0x80, 0x11) => {
                let state = self.die(die);
                if !state.cached.is_empty() && state.queue.len() + 1 >= state.cached.len() {
                    return Err(Violation::Follower { die }).on(die);
                }
                self.queue(die, at, Mode::ProgramQueued, end)?;
            }
            (_, 0x11) => {
                let state = self.die(die);
                if state.queue.len() + 1 >= state.read.len() {
                    return Err(Reason::NoPlaneLeft).on(die);
                }
                self.queue(die, at, Mode::CopybackQueued, end)?;
            }
            (first, _) => self.program(die, at, (first, command), end)?,
        }
        self.front = Front::Free;
        Ok(())
    }

    /// tWB after a cycle that makes a die busy; returns its end.
    fn rest(&mut self, end: Time) -> Time {
        self.output = Output::Nothing;
        self.quiet_until = end + self.mode.t_wb;
        self.quiet_until
    }

    /// The queued planes and one more.
    fn joined(&self, die: u32, at: PageAddress) -> Vec<PageAddress> {
        let mut pages = self.die(die).queue.clone();
        pages.push(at);
        pages
    }

    fn give_out_when_ready(&mut self, ready: Time) {
        self.output = Output::Data;
        self.output_from = (Wait::Trr, ready + self.mode.t_rr);
    }

    /// Queues a plane that is not the last: tDBSY.
    fn queue(&mut self, die: u32, at: PageAddress, mode: Mode, end: Time) -> Result<(), Wrong> {
        let (planes, busy) = (self.geometry.planes as usize, self.timing.pauses.dummy);
        if self.die(die).queue.len() + 1 >= planes {
            return Err(Reason::NoPlaneLeft).on(die);
        }
        let ready = self.rest(end) + busy;
        let state = self.die_mut(die);
        state.queue.push(at);
        state.mode = mode;
        state.ready_at = ready;
        Ok(())
    }

    fn queue_read(&mut self, die: u32, at: PageAddress, end: Time) -> Result<(), Wrong> {
        let mode = match self.die(die).mode {
            queued @ Mode::ReadQueued { .. } => queued,
            Mode::CacheRead => Mode::ReadQueued { plain: false, cache: true },
            Mode::Output { cache } => Mode::ReadQueued { plain: true, cache },
            _ => Mode::ReadQueued { plain: true, cache: false },
        };
        self.queue(die, at, mode, end)
    }

    /// Checks that the array has the pages, and counts the reads.
    fn check_read(&mut self, die: u32, pages: &[PageAddress]) -> Result<(), Wrong> {
        for &at in pages {
            let PageAddress { plane, block, page } = at;
            if self.die(die).is_held_back(at) {
                return Err(Reason::Suspended { plane, block, page }).on(die);
            }
            self.check_whole(die, at)?;
            self.cells.read(die, at, false).on(die)?;
        }
        Ok(())
    }

    fn check_whole(&self, die: u32, at: PageAddress) -> Result<(), Wrong> {
        let PageAddress { plane, block, page } = at;
        if self.exists(die, at) && self.store.is_torn(die, at) {
            return Err(Reason::CutOff { plane, block, page }).on(die);
        }
        Ok(())
    }

    /// Reads pages into the data registers.
    fn sense(&mut self, die: u32, pages: &[PageAddress]) {
        let Self { dies, store, .. } = self;
        for &at in pages {
            dies[die as usize].planes[at.plane as usize].sense(store.get(die, at));
        }
    }

    /// A read into both registers: tR.
    fn read(&mut self, die: u32, at: PageAddress, column: u32, moves: bool, end: Time) -> Result<(), Wrong> {
        let pages = self.joined(die, at);
        self.check_read(die, &pages)?;
        self.sense(die, &pages);
        let ready = self.rest(end) + self.timing.t_r(at.page);
        let state = self.die_mut(die);
        state.leave(if moves { Mode::Copyback } else { Mode::Output { cache: true } });
        pages.iter().for_each(|page| state.planes[page.plane as usize].show());
        if pages.len() == 1 {
            (state.plane, state.column) = (Some(at.plane), column);
        }
        state.read = pages;
        (state.ready_at, state.array_at) = (ready, ready);
        self.give_out_when_ready(ready);
        Ok(())
    }

    /// Handles 31h and 3Fh without an address.
    fn turn_alone(&mut self, command: u8, end: Time) -> Result<(), Wrong> {
        let die = self.selected;
        let next = |page: &PageAddress| PageAddress { page: page.page + 1, ..*page };
        let pages = (command == 0x31).then(|| self.die(die).read.iter().map(next).collect());
        self.turn(die, pages, end)
    }

    /// Moves the last read to the cache register, and starts the next read, if any: tRCBSY.
    fn turn(&mut self, die: u32, pages: Option<Vec<PageAddress>>, end: Time) -> Result<(), Wrong> {
        if let Some(pages) = &pages {
            self.check_read(die, pages)?;
        }
        let moved = self.rest(end).max(self.die(die).array_at) + self.timing.pauses.cache_read;
        let state = self.die_mut(die);
        let held = std::mem::take(&mut state.read);
        held.iter().for_each(|page| state.planes[page.plane as usize].show());
        state.leave(if pages.is_some() { Mode::CacheRead } else { Mode::Output { cache: false } });
        (state.ready_at, state.array_at) = (moved, moved);
        if let [page] = held.as_slice() {
            state.plane = Some(page.plane);
        }
        state.read = held;
        if let Some(pages) = pages {
            self.sense(die, &pages);
            let senses = pages.first().map_or(0, |page| self.timing.t_r(page.page));
            let state = self.die_mut(die);
            state.array_at = moved + senses;
            state.read = pages;
        }
        self.give_out_when_ready(moved);
        Ok(())
    }

    /// Handles 05h with two column cycles.
    fn change_column(&mut self, column: &[u8], end: Time) -> Result<(), Wrong> {
        let (die, column) = (self.selected, Layout::column(column));
        let state = self.die(die);
        let register = if state.mode == Mode::Parameters {
            self.special.len() as u32
        } else {
            state.plane.ok_or(Reason::NoPlaneSelected).on(die)?;
            self.geometry.page_bytes
        };
        self.within(column, 1, register).on(die)?;
        self.die_mut(die).column = column;
        self.front = Front::Free;
        self.output = Output::Data;
        self.output_from = (Wait::Tccs, end + self.mode.t_ccs);
        Ok(())
    }

    /// The last or only plane of a program or copyback: tPROG, or tCBSY in cache mode.
    fn program(&mut self, die: u32, at: PageAddress, (first, command): (u8, u8), end: Time) -> Result<(), Wrong> {
        let pages = self.joined(die, at);
        let state = self.die(die);
        if !state.cached.is_empty() && pages.len() != state.cached.len() {
            return Err(Violation::Follower { die }).on(die);
        }
        for &page in &pages {
            self.check_whole(die, page)?;
            self.cells.program(die, page, false).on(die)?;
        }
        let Self { dies, store, .. } = self;
        for &page in &pages {
            let registers = &mut dies[die as usize].planes[page.plane as usize];
            registers.stage();
            store.program(die, page, &registers.data);
        }
        let cache = command == 0x15;
        let longest = pages.iter().map(|&page| self.timing.t_prog_at(die, page)).max().unwrap_or(0);
        let moves = if cache { self.timing.pauses.cache_program } else { 0 };
        let begin = self.rest(end).max(self.die(die).array_at) + moves;
        let state = self.die_mut(die);
        state.leave(if cache { Mode::CacheProgram } else { Mode::Idle });
        state.array_at = begin + longest;
        state.ready_at = if cache { begin } else { state.array_at };
        let alone = !cache && first == 0x80 && state.works.is_empty();
        state.cached = if cache { pages.clone() } else { Vec::new() };
        state.works.push(Work { task: Task::Program, pages, end: begin + longest, alone });
        Ok(())
    }

    /// The last or only plane of an erase: tBERS.
    fn erase(&mut self, die: u32, at: PageAddress, end: Time) -> Result<(), Wrong> {
        let pages = self.joined(die, at);
        for &block in &pages {
            self.cells.erase(die, block).on(die)?;
            self.store.erase(die, block);
        }
        let ready = self.rest(end) + self.timing.t_bers;
        let state = self.die_mut(die);
        state.leave(Mode::Idle);
        (state.ready_at, state.array_at) = (ready, ready);
        state.works.push(Work { task: Task::Erase, pages, end: ready, alone: true });
        Ok(())
    }

    fn show_status(&mut self, end: Time) {
        self.front = Front::Free;
        self.output = Output::Status;
        self.output_from = (Wait::Twhr, end + self.mode.t_whr);
    }

    /// Suspends the array work, unless it ends first.
    fn suspend(&mut self, end: Time) {
        let cut = self.rest(end);
        let rests = cut + self.timing.pauses.suspend;
        let state = self.die_mut(self.selected);
        if let Some(work) = state.works.pop_if(|work| work.end > cut) {
            let left = work.end - cut;
            state.leave(Mode::Idle);
            state.suspended = Some((work, left));
            (state.ready_at, state.array_at) = (rests, rests);
        }
    }

    fn resume(&mut self, end: Time) {
        let again = self.rest(end) + self.timing.pauses.resume;
        let state = self.die_mut(self.selected);
        if let Some((work, left)) = state.suspended.take() {
            let due = again + left;
            state.leave(Mode::Idle);
            state.works.push(Work { end: due, ..work });
            (state.ready_at, state.array_at) = (due, due);
        }
    }

    /// Aborts all work of all dies.
    fn reset(&mut self, end: Time) {
        let start = self.rest(end);
        self.front = Front::Free;
        let Self { dies, store, .. } = self;
        for (die, state) in (0..).zip(dies) {
            state.advance(end);
            let mut lasts = RESET_READ;
            let suspended = state.suspended.take().map(|(work, _)| work);
            for work in state.works.drain(..).chain(suspended) {
                match work.task {
                    Task::Program => work.pages.iter().for_each(|&page| store.tear_page(die, page)),
                    Task::Erase => work.pages.iter().for_each(|&block| store.tear_block(die, block)),
                }
                lasts = lasts.max(if work.task == Task::Erase { RESET_ERASE } else { RESET_PROGRAM });
            }
            state.leave(Mode::Idle);
            state.cached.clear();
            (state.failed, state.failed_before) = (false, false);
            // A second RESET does not shorten the first.
            state.reset_until = state.reset_until.max(start + lasts);
            (state.ready_at, state.array_at) = (state.reset_until, state.reset_until);
        }
    }
}
