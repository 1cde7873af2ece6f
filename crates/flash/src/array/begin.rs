//! The start of a command, on an idle die or behind another one.
//!
//! Most commands read or program one page of an idle die, or program a page of several planes. These start without what others need, and a read
//! without a command that is put together and taken apart.

use super::{Agenda, Flash, FlashError, Seat};
use wordline_base::Time;
use wordline_nand::log::Silent;
use wordline_nand::{Around, Command, Kind, PageAddress, Port, Violation};

impl Flash {
    /// Starts a command on an idle die, or beside a suspended command with the lane of [`Flash::aside`].
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline]
    pub fn begin(
        &mut self,
        now: Time,
        lane: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        if command.is_single() {
            return self.begin_single(now, lane, command, agenda);
        }
        if command.is_plain_program() {
            return self.program_pages(now, lane, command, agenda);
        }
        self.begin_any(now, lane, command, agenda)
    }

    /// Programs a page of an idle die with a command of that page alone: as [`Flash::begin`].
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline(always)]
    pub fn program_page(
        &mut self,
        now: Time,
        die: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        debug_assert!(command.is_single() && command.kind == Kind::Program, "it programs one page");
        let (page, bytes) = command.first();
        if self.begin_at_once(now, die, Kind::Program, (&page, bytes), agenda)? {
            return Ok(());
        }
        self.begin_any(now, die, command, agenda)
    }

    /// Reads a page with an idle die, outside of SLC mode and cache mode: as [`Flash::begin`] with a command of that page.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline(always)]
    pub fn read_page(
        &mut self,
        now: Time,
        die: u32,
        page: PageAddress,
        bytes: u32,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        if self.begin_at_once(now, die, Kind::Read, (&page, bytes), agenda)? {
            return Ok(());
        }
        self.begin_by_command(now, die, Kind::Read, (page, bytes), agenda)
    }

    /// Programs a page with an idle die, outside of SLC mode and cache mode: as [`Flash::begin`] with a command of that page.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline(always)]
    pub fn program_lone_page(
        &mut self,
        now: Time,
        die: u32,
        page: PageAddress,
        bytes: u32,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        if self.begin_at_once(now, die, Kind::Program, (&page, bytes), agenda)? {
            return Ok(());
        }
        self.begin_by_command(now, die, Kind::Program, (page, bytes), agenda)
    }

    /// Reads or programs a page with an idle die that is recorded, mostly.
    #[inline(never)]
    fn begin_page(
        &mut self,
        now: Time,
        die: u32,
        kind: Kind,
        page: (PageAddress, u32),
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let Self { packages, channels, timing, seats, passed, recorder, dies, .. } = self;
        let Seat { channel, package: at, die: die_in_package, .. } = seats[die as usize];
        let package = &mut packages[at as usize];
        let is_heard = die < *dies && !package.wears();
        let Some(recorder) = recorder.as_mut().filter(|recorder| is_heard && recorder.sums_next()) else {
            return self.begin_as_command(now, die, kind, page, agenda);
        };
        recorder.begin(now, die, false);
        let bus = &mut channels[channel as usize];
        let mut port = Port { bus, lanes: &mut *seats, passed, lane: die };
        let around = Around { now, timing, bus: &mut port, log: &mut recorder.sums_of(die) };
        match package.begin_single(die_in_package, kind, (&page.0, page.1), around) {
            Ok(time) => {
                seats[die as usize].wake_at(time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, at as usize, violation)),
        }
    }

    /// Reads or programs a page with an idle die where [`Flash::begin_at_once`] does not.
    #[cold]
    fn begin_by_command(
        &mut self,
        now: Time,
        die: u32,
        kind: Kind,
        page: (PageAddress, u32),
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        if self.recorder.is_some() {
            return self.begin_page(now, die, kind, page, agenda);
        }
        self.begin_as_command(now, die, kind, page, agenda)
    }

    #[cold]
    fn begin_as_command(
        &mut self,
        now: Time,
        die: u32,
        kind: Kind,
        (page, bytes): (PageAddress, u32),
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let mut command = Command::new(kind);
        command.add(page, bytes);
        self.begin_any(now, die, &command, agenda)
    }

    /// Starts a command that reads or programs one page.
    #[inline(never)]
    fn begin_single(
        &mut self,
        now: Time,
        lane: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let (page, bytes) = command.first();
        if self.begin_at_once(now, lane, command.kind, (&page, bytes), agenda)? {
            return Ok(());
        }
        self.begin_any(now, lane, command, agenda)
    }

    /// Reads or programs a page, if the lane is the main one of a die that neither wears nor is recorded; else false, and nothing has
    /// happened. Its address is lent: handed over, it would go through memory.
    #[inline(always)]
    fn begin_at_once(
        &mut self,
        now: Time,
        lane: u32,
        kind: Kind,
        page: (&PageAddress, u32),
        agenda: &mut impl Agenda,
    ) -> Result<bool, FlashError> {
        let Self { packages, channels, timing, seats, passed, .. } = self;
        let seats = &mut seats[..];
        let Seat { channel, package: at, die, .. } = seats[lane as usize];
        if lane >= self.plain {
            return Ok(false);
        }
        let package = &mut packages[at as usize];
        let bus = &mut channels[channel as usize];
        let mut port = Port { bus, lanes: &mut *seats, passed, lane };
        let around = Around { now, timing, bus: &mut port, log: &mut Silent };
        match package.begin_single(die, kind, page, around) {
            Ok(time) => {
                seats[lane as usize].wake_at(time, agenda);
                Ok(true)
            }
            Err(violation) => Err(self.story(now, at as usize, violation)),
        }
    }

    /// Programs pages of several planes outside of cache and SLC mode, mostly on the main lane of a die that neither wears nor is recorded: as
    /// [`Flash::begin`].
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline(never)]
    pub fn program_pages(
        &mut self,
        now: Time,
        lane: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let Self { packages, channels, timing, seats, passed, .. } = self;
        let seats = &mut seats[..];
        let Seat { channel, package: at, die, .. } = seats[lane as usize];
        if lane >= self.plain {
            return self.begin_any(now, lane, command, agenda);
        }
        let package = &mut packages[at as usize];
        let bus = &mut channels[channel as usize];
        let mut port = Port { bus, lanes: &mut *seats, passed, lane };
        let around = Around { now, timing, bus: &mut port, log: &mut Silent };
        match package.begin_program(die, command, around) {
            Ok(time) => {
                seats[lane as usize].wake_at(time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, at as usize, violation)),
        }
    }

    #[inline(never)]
    fn begin_any(
        &mut self,
        now: Time,
        lane: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        self.number(now, lane, false);
        if let Some(begun) = self.begin_summed(now, lane, command) {
            return match begun {
                Ok(time) => {
                    self.set_due(lane, time, agenda);
                    Ok(())
                }
                Err(violation) => Err(self.story(now, self.locate(lane).0, violation)),
            };
        }
        let begun = around!(self, now, lane, |package, die, which, around| package.begin(die, which, command, around));
        match begun {
            Ok(time) => {
                self.set_due(lane, time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, self.locate(self.die_of(lane).0).0, violation)),
        }
    }

    /// Starts a command of one page, or a program of several planes, on the main lane of a die of which sums are recorded and that does not wear; none of
    /// others, and nothing has happened.
    #[inline]
    fn begin_summed(&mut self, now: Time, lane: u32, command: &Command) -> Option<Result<Time, Violation>> {
        let recorder = self.recorder.as_mut().filter(|recorder| lane < self.dies && recorder.sums(lane))?;
        let Seat { channel, package, die, .. } = self.seats[lane as usize];
        let package = &mut self.packages[package as usize];
        if package.wears() {
            return None;
        }
        let bus = &mut self.channels[channel as usize];
        let mut port = Port { bus, lanes: &mut self.seats, passed: &mut self.passed, lane };
        let mut log = recorder.sums_of(lane);
        let around = Around { now, timing: &self.timing, bus: &mut port, log: &mut log };
        if command.is_single() {
            let (page, bytes) = command.first();
            return Some(package.begin_single(die, command.kind, (&page, bytes), around));
        }
        command.is_plain_program().then(|| package.begin_program(die, command, around))
    }

    /// Gives a die in cache mode the command that follows.
    ///
    /// # Errors
    /// When the die did not ask, or the command is illegal.
    #[inline]
    pub fn follow(
        &mut self,
        now: Time,
        die: u32,
        command: &Command,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        self.number(now, die, true);
        match around!(self, now, die, |package, at, _which, around| package.follow(at, command, around)) {
            Ok(time) => {
                self.set_due(die, time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, self.locate(die).0, violation)),
        }
    }
}
