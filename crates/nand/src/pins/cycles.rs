//! The four kinds of cycles: the checks before each, and the error of a rejected one.

use super::decode::{self, Accepted, Mode, Reach, COMMANDS};
use super::die::Die;
use super::error::{CycleError, On, Reason, Wait, What, Wrong};
use super::identity::FEATURE_BYTES;
use super::latch::{Addressed, Front, Output};
use super::layout::{Layout, COLUMN_CYCLES, MAX_CYCLES};
use super::Pins;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;

/// Source of data out.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// The status of a die.
    Status(&'a Die),
    /// Bytes, starting at a column.
    Bytes(&'a [u8], u32),
}

impl Pins {
    /// CLE: a command byte. Returns the end of the cycle.
    ///
    /// # Errors
    /// The byte is no command, has no place here, comes too early, or ends a sequence that breaks a rule.
    pub fn command(&mut self, now: Time, byte: u8) -> Result<Time, CycleError> {
        let before = self.front;
        let end = now.saturating_add(self.mode.latch_cycle);
        let done = self.enter(now).and_then(|()| self.admits(byte, now)).and_then(|()| self.perform(byte, end));
        self.close(now, What::Command(byte), before, done.map(|()| (end, 1)))
    }

    /// ALE: an address byte. Returns the end of the cycle.
    ///
    /// # Errors
    /// No command waits for it, it comes too early, or it completes an address that does not exist or cannot be used
    /// now.
    pub fn address(&mut self, now: Time, byte: u8) -> Result<Time, CycleError> {
        let before = self.front;
        let end = now.saturating_add(self.mode.latch_cycle);
        let done = self.enter(now).and_then(|()| self.take_address(byte, end));
        self.close(now, What::Address(byte), before, done.map(|()| (end, 1)))
    }

    /// Consecutive data cycles into the package. Returns the end of the last.
    ///
    /// # Errors
    /// No command waits for data, or they come too early or exceed the register.
    pub fn data_in(&mut self, now: Time, bytes: &[u8]) -> Result<Time, CycleError> {
        let before = self.front;
        let done = self.enter(now).and_then(|()| self.take_data(now, bytes));
        let cycles = bytes.len().div_ceil(self.mode.bytes_per_cycle as usize) as u64;
        self.close(now, What::DataIn(bytes.len()), before, done.map(|end| (end, cycles)))
    }

    /// Consecutive data cycles out of the package. Returns the end of the last.
    ///
    /// # Errors
    /// There is no data to output, or the cycles come too early or exceed the register; `bytes` are then unchanged.
    pub fn data_out(&mut self, now: Time, bytes: &mut [u8]) -> Result<Time, CycleError> {
        let before = self.front;
        let done = self.enter(now).and_then(|()| self.give_data(now, bytes));
        let cycles = bytes.len().div_ceil(self.mode.bytes_per_cycle as usize) as u64;
        self.close(now, What::DataOut(bytes.len()), before, done.map(|end| (end, cycles)))
    }

    /// The cycles accepted at a time, at or after the last cycle. Waits and the contents of addresses are not
    /// considered.
    #[must_use]
    pub fn accepted(&self, now: Time) -> Accepted {
        let now = now.max(self.now);
        let commands = COMMANDS.iter().enumerate().filter(|(_, &byte)| self.admits(byte, now).is_ok());
        Accepted {
            commands: commands.fold(0, |bits, (bit, _)| bits | 1 << bit),
            address: matches!(self.front, Front::Address { .. } | Front::Column { .. }),
            data_in: match self.front {
                Front::Complete(addressed) => takes_data(&addressed),
                Front::Feature { .. } => true,
                _ => false,
            },
            data_out: self.source(now).is_ok(),
        }
    }

    /// The die that the next cycle concerns.
    fn concerned(&self) -> u32 {
        match self.front {
            Front::Complete(Addressed { die, .. }) | Front::Column { of: Addressed { die, .. }, .. } => die,
            _ => self.selected,
        }
    }

    pub(super) fn die(&self, die: u32) -> &Die {
        &self.dies[die as usize]
    }

    pub(super) fn die_mut(&mut self, die: u32) -> &mut Die {
        &mut self.dies[die as usize]
    }

    /// Checks common to all cycles: time does not go back, the bus is free, and tWB is over.
    fn enter(&mut self, now: Time) -> Result<(), Wrong> {
        let die = self.concerned();
        if now < self.now {
            return Err(Reason::Backwards { last: self.now }).on(die);
        }
        if now > END_OF_TIME {
            return Err(Reason::TooLate).on(die);
        }
        self.now = now;
        self.dies.iter_mut().for_each(|die| die.advance(now));
        if now < self.bus_free {
            return Err(Reason::BusTaken { until: self.bus_free }).on(die);
        }
        over(now, (Wait::Twb, self.quiet_until)).on(die)
    }

    /// Ends a cycle: the bus is in use until its end, or the die has failed.
    fn close(
        &mut self,
        at: Time,
        what: What,
        before: Front,
        done: Result<(Time, u64), Wrong>,
    ) -> Result<Time, CycleError> {
        match done {
            Ok((end, cycles)) => {
                self.bus_free = end;
                self.cycles += cycles;
                Ok(end)
            }
            Err(wrong) => Err(self.refuse(at, what, before, wrong)),
        }
    }

    fn refuse(&mut self, at: Time, what: What, before: Front, wrong: Wrong) -> CycleError {
        // The accepted cycles are those before this one.
        self.front = before;
        let Wrong { die, reason } = wrong;
        let condition = self.die(die).condition(self.now);
        let error = CycleError {
            cycle: self.cycles,
            at,
            what,
            die,
            condition,
            reason,
            right: reason.right(self.accepted(self.now)),
        };
        self.cycles += 1;
        self.front = Front::Free;
        self.output = Output::Nothing;
        let state = self.die_mut(die);
        state.failed_before = state.failed;
        state.failed = true;
        error
    }

    /// Checks that a command has a place here.
    fn admits(&self, command: u8, now: Time) -> Result<(), Wrong> {
        let die = self.concerned();
        if !decode::is_known(command) {
            return Err(Reason::Unknown).on(die);
        }
        if decode::is_reset(command) {
            return Ok(());
        }
        match self.front {
            Front::Free => self.opens(command, now),
            Front::Address { command: 0x05, count: COLUMN_CYCLES, .. } if command == 0xe0 => {
                self.die(die).takes(0x05, now).on(die)
            }
            Front::Complete(Addressed { command: first, .. }) => {
                let state = self.die(die);
                let closing = state.mode.closing(first, state.suspended.is_some());
                closing.contains(&command).then_some(()).ok_or(Reason::OutOfSequence).on(die)
            }
            _ => Err(Reason::OutOfSequence).on(die),
        }
    }

    /// Checks that a command can open a sequence.
    fn opens(&self, command: u8, now: Time) -> Result<(), Wrong> {
        let selected = self.selected;
        let own = self.die(selected).takes(command, now);
        match decode::reach(command) {
            // The address that follows selects the die.
            Reach::Named if own.is_err() && self.dies.iter().any(|die| die.takes(command, now).is_ok()) => {}
            Reach::Package => {
                own.on(selected)?;
                let other = self.dies.iter().position(|die| die.failed || !die.is_idle(now));
                if let Some(die) = other {
                    return Err(Reason::PackageBusy { die: die as u32 }).on(selected);
                }
            }
            _ => own.on(selected)?,
        }
        if self.write_protected && decode::writes(command) {
            return Err(Reason::WriteProtected).on(selected);
        }
        Ok(())
    }

    fn take_address(&mut self, byte: u8, end: Time) -> Result<(), Wrong> {
        match self.front {
            Front::Address { command, mut cycles, count, .. } if count < MAX_CYCLES => {
                cycles[count] = byte;
                let count = count + 1;
                if count == self.address_cycles(command) {
                    return self.addressed(command, &cycles[..count], end);
                }
                self.front = Front::Address { command, cycles, count, since: end };
                Ok(())
            }
            Front::Column { of, mut cycles, count } if count < COLUMN_CYCLES => {
                cycles[count] = byte;
                let count = count + 1;
                self.front = if count < COLUMN_CYCLES {
                    Front::Column { of, cycles, count }
                } else {
                    let column = Layout::column(&cycles);
                    self.within(column, 1, self.geometry.page_bytes).on(of.die)?;
                    Front::Complete(Addressed { column, from: (Wait::Tccs, end + self.mode.t_ccs), ..of })
                };
                Ok(())
            }
            _ => Err(Reason::NoAddress).on(self.concerned()),
        }
    }

    /// Number of address cycles of a command.
    fn address_cycles(&self, command: u8) -> usize {
        match command {
            0x90 | 0xec | 0xee | 0xef => 1,
            0x60 | 0x78 => self.layout.row_cycles(),
            _ => self.layout.page_cycles(),
        }
    }

    /// Checks that bytes from a column on stay within a register.
    pub(super) fn within(&self, column: u32, bytes: usize, end: u32) -> Result<(), Reason> {
        if bytes as u64 + u64::from(column) > u64::from(end) {
            return Err(Reason::Column { column, bytes, end });
        }
        Ok(())
    }

    fn take_data(&mut self, now: Time, bytes: &[u8]) -> Result<Time, Wrong> {
        match self.front {
            Front::Complete(mut to) if takes_data(&to) => {
                over(now, to.from).on(to.die)?;
                self.within(to.column, bytes.len(), self.geometry.page_bytes).on(to.die)?;
                let end = now + self.mode.data_in(bytes.len() as u32);
                let first = to.column as usize;
                let register = &mut self.die_mut(to.die).planes[to.at.plane as usize].cache;
                register[first..first + bytes.len()].copy_from_slice(bytes);
                to.column += bytes.len() as u32;
                self.front = Front::Complete(to);
                Ok(end)
            }
            Front::Feature { address, mut value, count, from } => {
                over(now, (Wait::Tadl, from)).on(self.selected)?;
                self.within(count as u32, bytes.len(), FEATURE_BYTES as u32).on(self.selected)?;
                let end = now + self.mode.data_in(bytes.len() as u32);
                value[count..count + bytes.len()].copy_from_slice(bytes);
                let count = count + bytes.len();
                self.front = Front::Feature { address, value, count, from };
                if count == FEATURE_BYTES {
                    self.set_feature(address, value, end)?;
                }
                Ok(end)
            }
            _ => Err(Reason::NoDataIn).on(self.concerned()),
        }
    }

    fn give_data(&mut self, now: Time, bytes: &mut [u8]) -> Result<Time, Wrong> {
        let selected = self.selected;
        // 00h without an address returns to data output after a status.
        let back = if let Front::Address { since, .. } = self.front { Some(since) } else { None };
        let source = self.source(now)?;
        if let Some(since) = back {
            over(now, (Wait::Twhr, since + self.mode.t_whr)).on(selected)?;
        }
        over(now, self.output_from).on(selected)?;
        let (count, per_cycle) = (bytes.len(), self.mode.bytes_per_cycle as usize);
        match source {
            Source::Status(die) => {
                for (at, byte) in bytes.iter_mut().enumerate() {
                    let time = now + (at / per_cycle) as Time * self.mode.read_cycle;
                    *byte = die.status(time, self.write_protected);
                }
            }
            Source::Bytes(held, column) => {
                self.within(column, count, held.len() as u32).on(selected)?;
                bytes.copy_from_slice(&held[column as usize..column as usize + count]);
            }
        }
        if back.is_some() {
            self.front = Front::Free;
            self.output = Output::Data;
        }
        match &mut self.output {
            Output::Identifier { column, .. } => *column += count as u32,
            Output::Data => self.die_mut(selected).column += count as u32,
            Output::Nothing | Output::Status => {}
        }
        Ok(now + self.mode.read_cycle * count.div_ceil(per_cycle) as Time)
    }

    /// The source of data cycles at this time.
    fn source(&self, now: Time) -> Result<Source<'_>, Wrong> {
        let state = self.die(self.selected);
        match (self.front, self.output) {
            (Front::Free, Output::Status) => Ok(Source::Status(state)),
            (Front::Free, Output::Identifier { bytes, column }) => Ok(Source::Bytes(bytes, column)),
            (Front::Free, Output::Data) | (Front::Address { command: 0x00, count: 0, .. }, _) => {
                self.held(state, now).on(self.selected)
            }
            _ => Err(Reason::NoDataOut).on(self.concerned()),
        }
    }

    /// The data that a die can output.
    fn held<'a>(&'a self, die: &'a Die, now: Time) -> Result<Source<'a>, Reason> {
        if die.failed {
            return Err(Reason::Failed);
        }
        if now < die.ready_at {
            return Err(Reason::Busy { until: die.ready_at });
        }
        match die.mode {
            Mode::Parameters | Mode::Feature => Ok(Source::Bytes(&self.special, die.column)),
            mode if mode.holds_pages() => {
                let plane = die.plane.ok_or(Reason::NoPlaneSelected)?;
                Ok(Source::Bytes(&die.planes[plane as usize].cache, die.column))
            }
            _ => Err(Reason::NoDataOut),
        }
    }
}

/// True if data may follow an address.
fn takes_data(addressed: &Addressed) -> bool {
    matches!(addressed.command, 0x80 | 0x85)
}

/// Checks that a wait is over.
fn over(now: Time, (wait, until): (Wait, Time)) -> Result<(), Reason> {
    if now < until {
        return Err(Reason::Early { wait, until });
    }
    Ok(())
}
