//! What an external policy of the host interface decides during a run: how long each transfer takes.
//!
//! The family `link` belongs to the drive; who is asked sits in the firmware, beside the other external policies.

use super::{Refusal, Seat, Telling, Tells, Trouble};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// What goes over the host interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A command of the host.
    Command,
    /// Data from the host.
    DataIn,
    /// Data to the host.
    DataOut,
    /// A completion for the host.
    Completion,
}

/// A transfer on the host interface, before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryView {
    /// What is transferred.
    pub what: Carried,
    /// Bytes of data; 0 of a command or a completion.
    pub bytes: u32,
    /// Its time by the costs of the interface.
    pub usual: Time,
    /// How long nothing has used the interface in its direction; 0 if something does.
    pub idle: Time,
    /// Simulated time.
    pub now: Time,
}

/// An external choice of the times of transfers.
pub trait GuestLink: Tells + std::fmt::Debug + Send {
    /// The time that a transfer takes.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn time(&mut self, view: &CarryView) -> Result<Time, Refusal>;

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestLink>;
}

impl Clone for Box<dyn GuestLink> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// The external policy, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Carrier {
    seat: Seat<Box<dyn GuestLink>>,
}

impl Carrier {
    /// A policy with its name.
    #[must_use]
    pub fn new(name: &str, object: Box<dyn GuestLink>) -> Self {
        Self { seat: Seat::new(name, object) }
    }

    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.seat
    }

    /// The time that a transfer takes; the usual one without an answer, after which the run ends.
    pub(crate) fn time(&mut self, view: &CarryView) -> Time {
        self.seat.ask(|guest| guest.time(view)).unwrap_or(view.usual)
    }

    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.seat.trouble()
    }
}
