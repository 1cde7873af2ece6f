//! What does not go together with a mapping that fixes the page of each unit in its block.

use super::{ConfigError, FirmwareConfig};
use crate::policy::collect::{CollectPolicy, Copyback, Destination, Scope};
use crate::policy::pack::PackPolicy;
use crate::policy::placement::PlacementConfig;

impl FirmwareConfig {
    /// Checks that pages can be written in the order of their logical blocks.
    pub(super) fn check_fixed_pages(
        &self,
        fixed_planes: bool,
        superblocks: bool,
        collect: &CollectPolicy,
        pack: &PackPolicy,
    ) -> Result<(), ConfigError> {
        let name = self.mapping.name();
        let with = |key: &str, value: &str, problem: &str| {
            Err(ConfigError::new(key, value, format!("does not go with mapping.policy = \"{name}\": {problem}")))
        };
        if matches!(&self.placement, PlacementConfig::Guest(_)) && !fixed_planes {
            let problem = "it places single pages; use a built-in one, or one in Python with a method 'pattern'";
            return with("placement.policy", self.placement.name(), problem);
        }
        if superblocks {
            let problem = "pages of a superblock are written in stripes; use \"none\"";
            return with("redundancy.policy", self.redundancy.name(), problem);
        }
        if self.collect.scope() == Scope::Plane && !fixed_planes {
            let problem = "a logical block may go to another plane when it is replaced; use \"drive\", or \
                placement.policy = \"static\"";
            return with("collect.scope", "plane", problem);
        }
        let into = collect.destination();
        if into != Destination::OwnBlock {
            return with(
                "collect.into",
                into.name(),
                "copies go to the block of their logical block; use \"own-block\"",
            );
        }
        let copyback = collect.copyback();
        if copyback != Copyback::Off {
            return with("collect.copyback", copyback.name(), "copies wait for their turn in their block; use \"off\"");
        }
        if collect.hold_below() > 0 {
            let problem =
                "copies may have to wait for a page of the host, which a held die does not serve; use a drive without it";
            return with("collect.hold_below_blocks", &collect.hold_below().to_string(), problem);
        }
        if collect.paces() {
            return with("collect.pacing", "true", "merges have room of their own; use false");
        }
        if pack.cache().is_some() {
            let problem = "each page of a block waits for the one before";
            return if self.pack.name() == "cache" {
                with("pack.policy", "cache", &format!("{problem}; use \"planes\" or \"none\""))
            } else {
                with("pack.cache", "true", &format!("{problem}; use false"))
            };
        }
        if pack.gathers() {
            return with("pack.gather", "true", "each page of a block waits for the one before; use false");
        }
        Ok(())
    }
}
