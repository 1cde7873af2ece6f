//! What does not go together with garbage collection that is put on hold step by step.

use super::{ConfigError, FirmwareConfig};
use crate::policy::collect::{CollectConfig, CollectPolicy};

impl FirmwareConfig {
    /// Checks that collections can be put on hold.
    pub(super) fn check_steps(&self, fixes_pages: bool, collect: &CollectPolicy) -> Result<(), ConfigError> {
        if !collect.steps() {
            return Ok(());
        }
        let name = self.collect.name();
        let remedy = match &self.collect {
            CollectConfig::Guest(_) => "use a policy without the method 'step'",
            _ => "use collect.policy = \"on-demand\"",
        };
        if fixes_pages {
            let problem = format!(
                "does not go with mapping.policy = \"{}\": writes of the host wait for the merges that it would put on hold; \
                 {remedy}",
                self.mapping.name()
            );
            return Err(ConfigError::new("collect.policy", name, problem));
        }
        if collect.is_instant() {
            let problem = format!(
                "does not go with collect.policy = \"{name}\": GC that takes no time is in nobody's way; leave it out, or {remedy}"
            );
            return Err(ConfigError::new("collect.instant", true, problem));
        }
        Ok(())
    }
}
