//! The host of one die: follows its script and answers at once. The same for the model and its twin.

use super::script::Job;
use super::table::Tick;
use wordline_flash::Command;

/// Where a host is in its script.
pub struct Host<'a> {
    script: &'a [Job],
    /// The job that runs, or is to start next.
    job: usize,
    running: bool,
    /// The command of its sequence.
    command: usize,
    /// When to try to suspend it.
    poll: Option<Tick>,
    /// The suspension that comes or is, and the next read beside the command.
    round: usize,
    beside: usize,
}

impl<'a> Host<'a> {
    /// A host at the beginning of its script.
    pub fn new(script: &'a [Job]) -> Self {
        Self { script, job: 0, running: false, command: 0, poll: None, round: 0, beside: 0 }
    }

    /// When the next command may start, if none runs.
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

    /// The answer to a die that is ready in cache mode: what follows, or nothing.
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

    /// When to try a suspension.
    pub fn polls(&self) -> Option<Tick> {
        self.poll
    }

    /// True if to suspend now; if that is not possible yet, it is tried again later.
    pub fn suspends(&mut self, now: Tick, possible: bool) -> bool {
        let plan = self.script[self.job].suspension.as_ref().expect("there is a plan");
        self.poll = (!possible).then_some(now + plan.every);
        self.beside = 0;
        possible
    }

    /// The next read beside a suspended command; none to let it go on.
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
