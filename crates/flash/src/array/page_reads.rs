//! Reads of one page, which most commands are: without a command that is put together and taken apart.

use super::{Agenda, Flash, FlashError, Seat};
use wordline_base::Time;
use wordline_nand::log::Silent;
use wordline_nand::{Around, Command, Kind, PageAddress, Port};

impl Flash {
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
        if self.read_at_once(now, die, page, bytes, agenda)? {
            return Ok(());
        }
        self.read_by_command(now, die, page, bytes, agenda)
    }

    #[cold]
    fn read_by_command(
        &mut self,
        now: Time,
        die: u32,
        page: PageAddress,
        bytes: u32,
        agenda: &mut impl Agenda,
    ) -> Result<(), FlashError> {
        let mut command = Command::new(Kind::Read);
        command.add(page, bytes);
        self.begin(now, die, &command, agenda)
    }

    /// The same if the lane is that of an idle die whose reads neither wear nor are recorded; else false, and nothing has happened.
    #[inline]
    pub(super) fn read_at_once(
        &mut self,
        now: Time,
        lane: u32,
        page: PageAddress,
        bytes: u32,
        agenda: &mut impl Agenda,
    ) -> Result<bool, FlashError> {
        let Seat { channel, package: at, die, .. } = self.seats[lane as usize];
        let package = &mut self.packages[at as usize];
        if lane >= self.dies || self.recorder.is_some() || !package.takes_page_read(die) {
            return Ok(false);
        }
        let bus = &mut self.channels[channel as usize];
        let mut port = Port { bus, due: &mut self.due, passed: &mut self.passed, lane };
        let around = Around { now, timing: &self.timing, bus: &mut port, log: &mut Silent };
        match package.begin_page_read(die, page, bytes, around) {
            Ok(time) => {
                self.set_due(lane, time, agenda);
                Ok(true)
            }
            Err(violation) => Err(self.story(now, at as usize, violation)),
        }
    }
}
