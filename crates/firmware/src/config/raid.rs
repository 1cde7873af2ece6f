//! What does not go together with parity of logical pages.

use super::{ConfigError, FirmwareConfig};
use crate::policy::mapping::MappingConfig;
use crate::policy::redundancy::{Raid, RedundancyConfig};
use crate::policy::Build;
use crate::raid::groups;
use wordline_flash::Geometry;

impl FirmwareConfig {
    /// Checks that each page of a stripe has a die of its own.
    pub(super) fn check_raid(&self, geometry: &Geometry, raid: Raid, build: &Build<'_>) -> Result<(), ConfigError> {
        let name = self.redundancy.name();
        let with = |key: &str, value: &str, problem: &str| {
            let problem = format!("does not go with redundancy.policy = \"{name}\": {problem}");
            Err(ConfigError::new(key, value, problem))
        };
        if !matches!(self.mapping, MappingConfig::Page(_)) {
            return with("mapping.policy", self.mapping.name(), "parity is of single logical pages; use \"page\"");
        }
        let placement = self.placement.build(build)?;
        if !placement.fixed() {
            let problem = "each page of a stripe has a fixed plane; use \"static\"";
            return with("placement.policy", self.placement.name(), problem);
        }
        if groups(raid, &placement, geometry).is_none() {
            let Raid { dies, .. } = raid;
            let (first, count) = match (geometry.channels, geometry.packages) {
                (1, 1) => ("D, then P", geometry.dies_per_package),
                (1, packages) => ("W", packages),
                (channels, _) => ("C", channels),
            };
            let problem = format!(
                "{dies} consecutive pages of placement.order must lie in {dies} different dies, always in the same groups; \
                 use {count}, with {first} first in placement.order"
            );
            // An external policy has no such key.
            let (key, value) = match &self.redundancy {
                RedundancyConfig::Guest(_) => ("redundancy.policy", name.to_owned()),
                _ => ("redundancy.dies", dies.to_string()),
            };
            return Err(ConfigError::new(key, value, problem));
        }
        Ok(())
    }
}
