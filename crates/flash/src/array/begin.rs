//! The start of a command, on an idle die or behind another one.

use super::{Agenda, Flash, FlashError, Seat};
use wordline_base::Time;
use wordline_nand::log::Silent;
use wordline_nand::{Around, Command, PageAddress, Port};

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
        match command.single() {
            Some(page) if lane < self.dies && self.recorder.is_none() => {
                self.begin_single(now, lane, command, page, agenda)
            }
            _ => self.begin_any(now, lane, command, agenda),
        }
    }

    /// Starts a command that reads or programs one page of an idle die, as most do: what others need is out of its way.
    #[inline(never)]
    fn begin_single(
        &mut self,
        now: Time,
        lane: u32,
        command: &Command,
        page: (PageAddress, u32),
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let Seat { channel, package, die, .. } = self.seats[lane as usize];
        let of_die = &mut self.packages[package as usize];
        if of_die.wears() {
            return self.begin_any(now, lane, command, agenda);
        }
        let bus = &mut self.channels[channel as usize];
        let mut port = Port { bus, due: &mut self.due, passed: &mut self.passed, lane };
        let begun = of_die.begin_single(die, command.kind, page, now, &self.timing, &mut port);
        match begun {
            Ok(time) => {
                self.set_due(lane, time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, package as usize, violation)),
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
        let begun = around!(self, now, lane, |package, die, which, around| package.begin(die, which, command, around));
        match begun {
            Ok(time) => {
                self.set_due(lane, time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, self.locate(self.die_of(lane).0).0, violation)),
        }
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
