//! Blocks in SLC mode: a command has pages of one mode, and a program in SLC mode writes one page.

use super::{stream_of, Kernel};
use crate::config::ConfigError;
use crate::ops::Fifo;
use crate::policy::guest::failed;
use crate::policy::slc::SlcView;
use crate::task::Class;
use crate::FirmwareConfig;

impl Kernel {
    /// Checks what only the assembled drive tells.
    pub(super) fn check_slc(&self, config: &FirmwareConfig) -> Result<(), ConfigError> {
        if !self.flash.wears() {
            return Ok(());
        }
        let problem =
            "does not go with nand.reliability: error rates and failures of blocks in SLC mode are not modelled; leave out one of them";
        Err(ConfigError::new("slc.policy", config.slc.name(), problem))
    }

    /// Why blocks of another drive in SLC mode cannot be taken over, if they cannot: there is no cache here, or one of a fixed size
    /// that they exceed, for whose blocks alone space is set aside.
    pub(super) fn beyond_slc(&self, other: &Self) -> Option<ConfigError> {
        let blocks = other.blocks.slc_blocks();
        let Some(slc) = self.plan.slc else {
            let problem = format!("the saved state has {blocks} blocks in SLC mode; give the drive an SLC cache, too");
            return (blocks > 0).then(|| ConfigError::new("slc.policy", "none", problem));
        };
        let fits = blocks <= slc.most * self.plan.domains
            && (self.plan.domains != other.plan.domains
                || (0..self.plan.domains).all(|domain| other.blocks.slc_in_domain(domain) <= slc.most));
        let problem =
            format!("the saved state has {blocks} blocks in SLC mode; use as many, or slc.policy = \"dynamic\"");
        (slc.fixed && !fits).then(|| ConfigError::new("slc.blocks", slc.most * self.plan.domains, problem))
    }

    /// Lets the host's data go to the SLC cache, or past it.
    pub fn use_slc(&mut self, on: bool) {
        self.space.set_slc(on);
    }

    /// Asks for the limit of the cache in a domain, if the policy limits it during a run.
    #[inline]
    pub(super) fn ask_about_size(&mut self, domain: u32) {
        if self.slc.is_some() {
            self.limit_cache(domain);
        }
    }

    /// The same in all domains.
    pub(super) fn ask_about_sizes(&mut self) {
        (0..self.plan.domains).for_each(|domain| self.ask_about_size(domain));
    }

    #[cold]
    fn limit_cache(&mut self, domain: u32) {
        let Some(policy) = &mut self.slc else { return };
        let view = SlcView {
            domain,
            blocks: self.blocks.slc_in_domain(domain),
            free: self.blocks.free_in_domain(domain),
            host_units: self.counters.host_units,
            now: self.now,
        };
        let limit = policy.limit(&view).unwrap_or(u32::MAX);
        let planes = policy.planes(&view);
        let has_failed = failed(policy.trouble());
        let chosen = planes.is_some_and(|planes| {
            let of_domain = self.blocks.planes_of_domain(domain);
            self.space.choose_slc(of_domain, |plane| planes.contains(&plane))
        });
        if self.space.limit_slc(&self.blocks, domain, limit) || chosen {
            // Writes that wait for a whole program may fill one of a page now.
            self.wake_all();
        }
        self.heed(has_failed);
    }

    /// True if a block is in SLC mode.
    #[inline]
    pub(super) fn is_slc(&self, block: u32) -> bool {
        self.has_slc && self.blocks.get(block).slc
    }

    /// Units that the next program of a plane writes for a class.
    #[cold]
    pub(super) fn units_to_program(&self, plane: u32, class: Class) -> u32 {
        if self.space.is_slc(self.space.next_page(&self.blocks, plane, stream_of(class))) {
            self.plan.units_per_page
        } else {
            self.plan.units_per_program
        }
    }

    /// True if a queue has the units of a program in SLC mode, and its next one in a plane is.
    #[inline]
    pub(super) fn fills_slc(&self, plane: u32, fifo: &Fifo, class: Class) -> bool {
        self.has_slc && fifo.len >= self.units_to_program(plane, class)
    }
}
