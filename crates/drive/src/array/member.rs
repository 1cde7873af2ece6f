//! A drive of an array, with the requests that wait for a slot of its queues.

use crate::drive::{Completion, Drive};
use crate::observe::Observation;
use crate::watch::Watch;
use std::collections::VecDeque;
use wordline_base::{Request, Time};
use wordline_firmware::Fault;

/// Whom a request of a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A request of the host, by its slot.
    Host(u32),
    /// A job in a stripe with parity.
    Job(u32),
}

/// A drive of an array.
#[derive(Clone, Debug)]
pub struct Member {
    /// The drive.
    pub drive: Drive,
    /// By slot of the drive.
    owners: Vec<For>,
    /// By queue of the drive.
    waiting: Vec<VecDeque<(Request, For)>>,
}

impl Member {
    /// A member that nothing was sent to.
    pub fn new(drive: Drive) -> Self {
        let (queues, depth) = drive.queues();
        Self {
            owners: vec![For::Host(0); (queues * depth) as usize],
            waiting: vec![VecDeque::new(); queues as usize],
            drive,
        }
    }

    fn queue(&self, stream: u16) -> usize {
        usize::from(stream) % self.waiting.len()
    }

    /// Sends a request now, or when a slot is free and all before it have one.
    ///
    /// # Errors
    /// When the drive refuses it: a defect of the array.
    pub fn send(
        &mut self,
        now: Time,
        request: Request,
        owner: For,
        watch: Option<&mut Observation>,
    ) -> Result<(), Fault> {
        let queue = self.queue(request.stream);
        if self.waiting[queue].is_empty() && self.drive.has_slot(request.stream) {
            return self.submit(now, request, owner, watch);
        }
        self.waiting[queue].push_back((request, owner));
        Ok(())
    }

    fn submit(
        &mut self,
        now: Time,
        request: Request,
        owner: For,
        watch: Option<&mut Observation>,
    ) -> Result<(), Fault> {
        let slot =
            self.drive.submit(now, request).map_err(|error| Fault::books(format!("a member of an array: {error}")))?;
        self.owners[slot as usize] = owner;
        if let Some(observation) = watch {
            observation.submitted(&mut self.drive, slot, now);
        }
        Ok(())
    }

    /// A request is done, and its slot free for the oldest that waits; gives whom it was for.
    ///
    /// # Errors
    /// As [`Member::send`].
    pub fn done(&mut self, now: Time, done: &Completion, watch: Option<&mut Observation>) -> Result<For, Fault> {
        let owner = self.owners[done.slot as usize];
        let queue = self.queue(done.request.stream);
        if let Some((request, next)) = self.waiting[queue].pop_front() {
            self.submit(now, request, next, watch)?;
        }
        Ok(owner)
    }

    /// Handles events as [`Drive::steps`]; one at a time while somebody looks.
    ///
    /// # Errors
    /// When the firmware broke a rule.
    pub fn steps(&mut self, until: Time, most: u32, watch: Option<&mut Observation>) -> Result<u32, Fault> {
        use crate::device::Watcher;
        let (Some(observation), Some(next)) = (watch, self.drive.next_event()) else {
            return self.drive.steps(until, most);
        };
        let mut watch = Watch { observation: Some(observation), ..Watch::default() };
        watch.before(&self.drive, next);
        let taken = self.drive.steps(next, 1)?;
        watch.after(&mut self.drive);
        Ok(taken)
    }
}
