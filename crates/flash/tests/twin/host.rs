//! The host of one die: follows its script and answers at once. It is the same for the model and its twin.

use super::script::Job;
use super::table::Tick;
use wordline_flash::Command;

/// Position of a host in its script.
pub struct Host<'a> {
    script: &'a [Job],
    /// The current job, or the next one.
    job: usize,
    running: bool,
    /// The command of its sequence.
    command: usize,
    /// Time of the next attempt to suspend.
    poll: Option<Tick>,
    /// The current or next suspension, and its next read.
    round: usize,
    beside: usize,
}

impl<'a> Host<'a> {
    /// A host at the start of its script.
    pub fn new(script: &'a [Job]) -> Self {
        Self { script, job: 0, running: false, command: 0, poll: None, round: 0, beside: 0 }
    }

    /// Earliest start of the next command, if none is running.
    pub fn starts(&self) -> Option<Tick> {
        (!self.running).then(|| self.script.get(self.job).map(|job| job.earliest)).flatten()
    }

    /// The command to start now.
    pub fn begin(&mut self, now: Tick) -> Option<&'a Command> {
        self.starts().filter(|&earliest| earliest <= now)?;
        let job = &self.script[self.job];
        (self.running, self.command, self.round) = (true, 0, 0);
        self.poll = job.suspension.as_ref().map(|plan| now + plan.after);
        Some(&job.commands[0])
    }

    /// Answer to a die that is ready in cache mode: the follower, or none.
    pub fn answer(&mut self) -> Option<&'a Command> {
        self.command += 1;
        self.script[self.job].commands.get(self.command)
    }

    /// The job has ended.
    pub fn done(&mut self) {
        assert!(self.running, "something ended that did not run");
        (self.running, self.poll) = (false, None);
        self.job += 1;
    }

    /// Time of the next attempt to suspend.
    pub fn polls(&self) -> Option<Tick> {
        self.poll
    }

    /// True to suspend now; if it is not possible yet, the host tries again later.
    pub fn suspends(&mut self, now: Tick, possible: bool) -> bool {
        let plan = self.script[self.job].suspension.as_ref().expect("there is a plan");
        self.poll = (!possible).then_some(now + plan.every);
        self.beside = 0;
        possible
    }

    /// The next read beside a suspended command; none to resume it.
    pub fn beside(&mut self, now: Tick) -> Option<&'a Command> {
        let plan = self.script[self.job].suspension.as_ref().expect("there is a plan");
        let read = plan.reads[self.round].get(self.beside);
        self.beside += 1;
        if read.is_none() {
            self.round += 1;
            self.poll = (self.round < plan.reads.len()).then_some(now + plan.every);
        }
        read
    }

    /// True if all is done.
    pub fn at_rest(&self) -> bool {
        !self.running && self.job == self.script.len()
    }
}
