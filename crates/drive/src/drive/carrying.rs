//! How long what goes over the host interface takes: by its costs, or as an external policy says, which is asked each time.

use super::Drive;
use wordline_base::Time;
use wordline_firmware::policy::{Carried, CarryView};

impl Drive {
    /// The time of a request's data from the host.
    #[inline(always)]
    pub(super) fn time_in(&mut self, bytes: u32) -> Time {
        match self.data_in.known(bytes) {
            Some(time) => time,
            None => self.find_time(Carried::DataIn, bytes),
        }
    }

    /// The time of data to the host.
    #[inline(always)]
    pub(super) fn time_out(&mut self, bytes: u32) -> Time {
        match self.data_out.known(bytes) {
            Some(time) => time,
            None => self.find_time(Carried::DataOut, bytes),
        }
    }

    /// The time of a command that comes at `at`.
    #[inline(always)]
    pub(super) fn time_of_command(&mut self, at: Time) -> Time {
        if self.asks_carrier {
            return self.ask_carrier(Carried::Command, 0, self.link.command, at);
        }
        self.link.command
    }

    /// The time of a completion that can go from `at` on.
    #[inline(always)]
    pub(super) fn time_of_completion(&mut self, at: Time) -> Time {
        if self.asks_carrier {
            return self.ask_carrier(Carried::Completion, 0, self.link.completion, at);
        }
        self.link.completion
    }

    /// The time of data that is not known yet. It stays so if a policy is asked.
    #[inline(never)]
    fn find_time(&mut self, what: Carried, bytes: u32) -> Time {
        let (last, transfer) = match what {
            Carried::DataIn => (&mut self.data_in, self.link.data_in),
            _ => (&mut self.data_out, self.link.data_out),
        };
        let time = transfer.time(bytes);
        if self.asks_carrier {
            return self.ask_carrier(what, bytes, time, self.now);
        }
        last.note(bytes, time);
        time
    }

    #[cold]
    fn ask_carrier(&mut self, what: Carried, bytes: u32, usual: Time, at: Time) -> Time {
        let inward = matches!(what, Carried::Command | Carried::DataIn);
        let wire = self.wires[usize::from(!inward && !self.link.half_duplex)];
        let idle = at.saturating_sub(wire.free_at);
        self.kernel.time_to_carry(&CarryView { what, bytes, usual, idle, now: at })
    }
}
