//! Bad blocks: factory bad blocks are never used; blocks that go bad are replaced and retired.
//!
//! Each plane reserves blocks; one of them replaces a block as soon as it goes bad, so that GC always has its promised
//! space; that of a block with a failed program is kept for its data until they have moved. A failed erase retires its block
//! at once. A failed program closes its block as it is; its data are moved like those of any victim, and after its erase it is
//! not used again; log blocks and logical blocks have their own way (`retire_lots`). Simplified: the data of the failed page
//! itself are read from there too, in place of the controller's buffer that still has them. The drive ends when a plane has no
//! replacement left.

use super::{Fault, Kernel, Reason};
use crate::blocks::Status;
use crate::ops::Role;
use crate::policy::guest::failed;
use crate::task::Task;
use crate::{ConfigError, FirmwareConfig};
use wordline_flash::Kind;

/// The key that decides how many blocks come bad.
pub const FACTORY_BAD: &str = "nand.reliability.factory_bad_percent";

impl Kernel {
    /// Takes the blocks that came bad out of use and holds back the replacements that the configuration wants in each plane.
    pub(super) fn set_blocks_aside(&mut self, config: &FirmwareConfig) -> Result<(), ConfigError> {
        let geometry = *self.flash.geometry();
        for block in 0..geometry.blocks() {
            if self.flash.block_record(block).bad {
                self.blocks.spoil(block);
            }
        }
        let (planes, fails) = (geometry.planes() / self.plan.domains, self.fails);
        let wanted = config.capacity.replacement_blocks;
        let replacements = |expendable: u32| wanted.unwrap_or(if fails { (expendable / planes / 2).max(1) } else { 0 });
        let left = |expendable: u32| expendable.checked_sub(replacements(expendable).saturating_mul(planes));
        let remedy = |bad| match config.enough_ratio(&geometry, |expendable| left(expendable) >= Some(bad)) {
            Some(ratio) => format!("give at least capacity.raw_over_logical = {ratio}"),
            None => "no capacity.raw_over_logical is enough".to_owned(),
        };
        let expendable = self.plan.expendable_blocks;
        self.replacements = replacements(expendable);
        let Some(left) = left(expendable) else {
            let problem = format!(
                "at most {} blocks of a plane can be reserved: garbage collection needs the rest; for this many, {}",
                expendable / planes,
                remedy(0)
            );
            let error = ConfigError::new("capacity.replacement_blocks", self.replacements, problem);
            return Err(error.derived(wanted.is_some(), "nand.reliability lets programs or erases fail"));
        };
        let most = (0..self.blocks.domains()).map(|domain| self.blocks.bad(domain)).max().unwrap_or(0);
        if most > left {
            let problem = format!(
                "{most} of {} blocks of a {} are bad from the factory, and the firmware can spare {left}; {}, or fewer \
                 bad blocks",
                self.plan.blocks_per_domain,
                if self.plan.domains == 1 { "drive" } else { "plane" },
                remedy(most)
            );
            return Err(ConfigError::new(FACTORY_BAD, "as given", problem));
        }
        (0..geometry.planes()).for_each(|plane| self.blocks.set_aside(plane, self.replacements));
        Ok(())
    }

    /// Takes note of what of the command that just started fails.
    #[cold]
    pub(super) fn note_failures(&mut self, die: u32) -> Result<(), Fault> {
        let failed = self.flash.failed(die);
        let planes = self.flash.geometry().planes_per_die;
        for at in 0..self.command.pages().len() {
            let page = match self.command.kind {
                Kind::Copyback => self.command.targets()[at],
                _ => self.command.pages()[at],
            };
            if failed & (1 << page.plane) == 0 {
                continue;
            }
            if self.command.kind == Kind::Erase {
                let slot = self.dies[die as usize].pages[at];
                self.slab.get_mut(slot).role = Role::Failed;
            } else {
                self.condemn((die * planes + page.plane) * self.blocks_per_plane.get() + page.block)?;
            }
        }
        Ok(())
    }

    /// A program of a block failed.
    fn condemn(&mut self, block: u32) -> Result<(), Fault> {
        if self.blocks.get(block).doomed {
            return Ok(());
        }
        let plane = self.blocks.plane_of(block);
        let domain = self.blocks.domain_of_plane(plane);
        self.blocks.doom(block);
        self.replace(plane)?;
        if self.logs.is_some() {
            self.condemn_in_lots(domain, block);
            return Ok(());
        }
        if self.blocks.get(block).status == Status::Open {
            self.space.close_early(&self.blocks, block);
            self.blocks.close(block);
            self.victim.closed(&self.blocks.view(domain), block);
            self.heed(failed(self.victim.trouble()));
        }
        self.condemned.push(block);
        self.evacuate(domain);
        Ok(())
    }

    /// Starts emptying condemned blocks of a domain, as far as there is room.
    pub(super) fn evacuate(&mut self, domain: u32) {
        if self.logs.is_some() {
            return self.evacuate_lots(domain);
        }
        let mut at = 0;
        while let Some(&block) = self.condemned.get(at) {
            if self.blocks.domain_of_plane(self.blocks.plane_of(block)) != domain {
                at += 1;
            } else if self.blocks.get(block).status != Status::Closed {
                // GC has it already.
                self.condemned.swap_remove(at);
            } else if self.start_job(Task::GC, domain, block) {
                self.condemned.retain(|&other| other != block);
            } else {
                return;
            }
        }
    }

    /// A block is given up after its erase; a doomed one has its replacement already.
    pub(super) fn give_up(&mut self, block: u32) -> Result<(), Fault> {
        let doomed = self.blocks.get(block).doomed;
        self.flash.mark_bad(block);
        self.blocks.retired(block);
        if doomed {
            return Ok(());
        }
        self.replace(self.blocks.plane_of(block))
    }

    fn replace(&mut self, plane: u32) -> Result<(), Fault> {
        if self.blocks.replace(plane, &mut self.free_block) {
            self.heed(failed(self.free_block.trouble()));
            self.wake_stalled();
            return Ok(());
        }
        let bad = self.blocks.bad(self.blocks.domain_of_plane(plane));
        Err(Reason::NoSpare { time: self.now, plane, bad, replacements: self.replacements }.into())
    }
}
