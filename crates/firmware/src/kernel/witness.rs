//! What commands are for, told to whoever draws a timeline of the flash.

use super::Kernel;
use crate::ops::NONE;
use crate::policy::arbiter::Class;
use wordline_flash::{Logged, MAX_PLANES};

/// A command that has begun, and a request that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The lane of the flash that runs it.
    pub lane: u32,
    /// Its number, in the order of the starts.
    pub command: u64,
    /// Whose command it is.
    pub class: Class,
    /// The request, as the drive numbered it; none for the collector's, and for data that were acknowledged before.
    pub request: Option<u32>,
}

impl Kernel {
    /// Starts or ends recording what the flash does, and for whom.
    pub fn record(&mut self, on: bool) {
        self.flash.record(on);
        self.services = on.then(Vec::new);
    }

    /// What was recorded since the last call, if anything is; the caller drains both. A command is told before its entries.
    pub fn recorded(&mut self) -> Option<(&mut Vec<Service>, &mut Vec<Logged>)> {
        self.services.as_mut().zip(self.flash.recorded())
    }

    /// Whether dies work in cache mode.
    #[must_use]
    pub fn caches(&self) -> bool {
        self.pack.cache().is_some()
    }

    /// Notes whom the command serves that a lane has just begun with the operations `pages`; once if for no request.
    #[cold]
    pub(super) fn witness(&mut self, lane: u32, class: Class, (count, pages): (u8, [u32; MAX_PLANES])) {
        let command = self.flash.command_number(lane);
        let Some(services) = &mut self.services else { return };
        let first = services.len();
        services.push(Service { lane, command, class, request: None });
        for &page in pages.iter().take(usize::from(count)).filter(|_| class.is_host()) {
            let mut slot = page;
            while slot != NONE {
                let op = self.slab.get(slot);
                let served = Service { lane, command, class, request: Some(op.owner) };
                if op.owner != NONE && !services[first..].contains(&served) {
                    services.push(served);
                }
                slot = op.next;
            }
        }
    }
}
