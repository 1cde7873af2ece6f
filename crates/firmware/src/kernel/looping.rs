//! The loop of the kernel: what has to be done after an operation has come, or after an event of a die.
//!
//! [`Kernel::pump`] starts commands on idle dies and ends untimed ones until nothing changes. Most drives take shorter ways to the same
//! ([`super::straight`], [`super::staged_moves`]).

use super::stage::Offer;
use super::straight::Ended;
use super::{Fault, HostDone, Kernel};
use crate::task::Class;
use wordline_base::{EventQueue, Time};
use wordline_flash::Progress;

impl Kernel {
    /// Starts commands on idle dies and ends untimed commands, until nothing changes.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn pump(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.straight_by_stage {
            return self.pump_by_stage(queue);
        }
        if self.is_quiet() {
            return Ok(());
        }
        if self.straight_moves {
            return self.run_straight(queue);
        }
        if self.straight_moves_noted {
            return self.run_apart(queue);
        }
        self.run(queue)
    }

    /// True if there is nothing to start or to end: mostly so when an operation has come for a busy die.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        // What found no room is looked at when all dies are idle.
        let stuck = self.stalled && self.busy == 0;
        let special = self.detours | self.outside | stuck | self.shared_dirty | self.holding.due;
        let waits = !self.dirty.is_empty() || !self.ended.is_empty() || !self.pressed.is_empty();
        !waits && !special && self.fault.is_none()
    }

    /// Runs it until there is not.
    #[inline]
    pub(super) fn run(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        loop {
            while let Some(die) = self.dirty.pop_front() {
                self.dies[die as usize].queued = false;
                if self.straight_by_stage {
                    self.dispatch_sent(die, queue)?;
                } else if !self.dispatch(die, queue)? && self.follows_ends {
                    // Its operations may have become void.
                    self.may_be_free(die);
                }
            }
            if self.shared_dirty {
                self.shared_dirty = false;
                self.serve_shared(queue)?;
            }
            if self.straight_by_stage {
                // Nothing but the stage holds operations up.
                match self.offer_of_stage() {
                    Offer::Nothing => {}
                    Offer::Queue(at) => {
                        self.send_alone(at as usize, queue)?;
                        continue;
                    }
                    Offer::Task(task) => {
                        self.send_of(task, queue)?;
                        continue;
                    }
                    Offer::Several => {
                        self.run_stage();
                        continue;
                    }
                }
            } else if self.detours && self.send_on() {
                continue;
            }
            if let Some(die) = self.ended.pop_front() {
                self.complete(die)?;
            } else if let Some(die) = self.pressed.pop_front() {
                self.look(die, queue)?;
            } else if self.dirty.is_empty() && !self.shared_dirty {
                if self.holding.due {
                    self.ask_held();
                    continue;
                }
                if self.has_wishes && (self.settle_wishes() || self.settle_names()) {
                    continue;
                }
                if self.stalled && self.busy == 0 && !self.is_computing() && self.unstick() {
                    continue;
                }
                if self.detours && self.busy == 0 && !self.is_computing() && self.release_banks() {
                    continue;
                }
                if self.straight_by_stage {
                    if !self.has_scheduled() {
                        self.schedule_processors(queue);
                    }
                } else if self.detours {
                    self.schedule_processors(queue);
                    self.schedule_decision(queue);
                }
                if self.outside {
                    self.heed_all();
                }
                return self.fault.as_ref().map_or(Ok(()), |fault| Err(Fault::clone(fault)));
            }
        }
    }

    /// Lets operations go on that wait beside the queues of their dies; false if there are none to look at.
    #[inline(never)]
    fn send_on(&mut self) -> bool {
        if let Some(lots) = &self.lots {
            if lots.is_due() {
                self.run_lots();
                self.look_at_deferred();
                return true;
            }
            if self.logs.as_ref().is_some_and(|logs| logs.is_due()) {
                self.run_tails();
                self.look_at_deferred();
                return true;
            }
            if self.direct_logs && self.merge_at_once() {
                return true;
            }
        }
        if self.go_after() {
            return true;
        }
        if self.transactions.as_ref().is_some_and(|transactions| transactions.due) {
            self.run_transactions();
            return true;
        }
        if self.banks.as_ref().is_some_and(|banks| banks.is_due()) {
            self.run_banks();
            return true;
        }
        if self.stage_rests() {
            return false;
        }
        self.run_stage();
        true
    }

    /// Handles an event of a lane of the flash: a die, or what it does beside a suspended command. True if [`Kernel::only`] is done, before all that
    /// is in the list of [`Kernel::done`]: mostly nothing.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(always)]
    pub fn on_die(&mut self, now: Time, lane: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        self.now = now;
        let progress = self.flash.step(now, lane, queue);
        if !self.straight {
            return self.on_die_otherwise(lane, progress, queue);
        }
        // Without suspension there is no lane but the dies'.
        if progress != Progress::Done {
            return Ok(false);
        }
        let state = &self.dies[lane as usize];
        let (class, count) = (state.class, state.count);
        if class == Class::HOST_READ {
            self.end_straight(lane, queue)?;
            if self.ended_as != Ended::Not {
                return Ok(self.ended_as == Ended::Alone);
            }
        }
        let of_gc = self.straight_pages && count == 1 && self.end_page_of_gc(lane, class, queue)?;
        if !of_gc && !self.end_move_straight(lane, class, queue)? {
            self.end_generally(lane, queue)?;
        }
        Ok(false)
    }

    /// The same after the step of the flash, where plain reads do not go straight.
    #[inline(always)]
    fn on_die_otherwise(&mut self, lane: u32, progress: Progress, queue: &mut EventQueue) -> Result<bool, Fault> {
        if self.straight_by_stage {
            if progress != Progress::Done {
                return Ok(false);
            }
            self.end_by_stage(lane, queue)?;
            return Ok(self.ended_as == Ended::Alone);
        }
        if self.attentive {
            self.attend(lane, progress, queue)?;
            return Ok(false);
        }
        if progress != Progress::Done {
            return Ok(false);
        }
        let class = self.dies[lane as usize].class;
        if self.straight_noted {
            return self.end_apart(lane, class, queue);
        }
        self.end_generally(lane, queue)?;
        Ok(false)
    }

    /// What is done, if [`Kernel::on_die`] says so.
    #[inline(always)]
    #[must_use]
    pub fn only(&self) -> HostDone {
        self.only
    }

    /// Ends the command of a die for which there is no shorter way.
    #[inline(never)]
    pub(super) fn end_generally(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.complete(die)?;
        self.pump(queue)
    }
}
