//! What does not go together with superblocks.

use super::{ConfigError, FirmwareConfig};
use crate::policy::collect::{CollectPolicy, Copyback, Scope};
use crate::policy::pack::PackPolicy;
use crate::policy::placement::PlacementConfig;
use crate::policy::redundancy::Stripe;
use wordline_flash::Geometry;

impl FirmwareConfig {
    /// Checks that blocks can form superblocks.
    pub(super) fn check_superblocks(
        &self,
        geometry: &Geometry,
        stripe: Stripe,
        (collect, pack): (&CollectPolicy, &PackPolicy),
        has_tags: bool,
    ) -> Result<(), ConfigError> {
        let name = self.redundancy.name();
        let with = |key: &str, value: &str, problem: &str| {
            let problem = format!("does not go with redundancy.policy = \"{name}\": {problem}");
            Err(ConfigError::new(key, value, problem))
        };
        // So no placement fixes the plane of a page.
        if self.collect.scope() == Scope::Plane {
            return with("collect.scope", "plane", "moved data go to any die of a superblock; use \"drive\"");
        }
        if stripe.data_pages(geometry.programs_per_block()) < stripe.blocks() {
            let pages = geometry.pages_per_block;
            let problem = "parity leaves too few pages to gain a page for each block of a superblock; use at least two programs a block";
            return with("geometry.pages_per_block", &pages.to_string(), problem);
        }
        if matches!(&self.placement, PlacementConfig::Guest(_)) && has_tags {
            let problem = format!(
                "does not go with dispatch.policy = \"{}\", which orders writes by their places, while blocks form superblocks, whose writes may have to \
                 go elsewhere; use \"least-busy\"",
                self.dispatch.name()
            );
            return Err(ConfigError::new("placement.policy", self.placement.name(), problem));
        }
        if pack.cache().is_some() {
            let problem = "the sequences of cache mode do not know superblocks";
            return if self.pack.name() == "cache" {
                with("pack.policy", "cache", &format!("{problem}; use \"planes\" or \"none\""))
            } else {
                with("pack.cache", "true", &format!("{problem}; leave it out"))
            };
        }
        let copyback = collect.copyback();
        if copyback != Copyback::Off {
            return with("collect.copyback", copyback.name(), "moved pages go to any die of a superblock; use \"off\"");
        }
        if collect.hold_below() > 0 {
            let below = collect.hold_below().to_string();
            let problem =
                "a collection works on all dies of a superblock, so all of them would serve GC alone; leave it out";
            return with("collect.hold_below_blocks", &below, problem);
        }
        let blocks = stripe.blocks();
        if let Some(most) = collect.most_of_die().filter(|&most| most < stripe.planes_per_die) {
            let problem = format!(
                "must be at least {}: a superblock of {blocks} blocks has as many in each of its dies",
                stripe.planes_per_die
            );
            return Err(ConfigError::new("collect.blocks_per_die", most, problem));
        }
        Ok(())
    }
}
