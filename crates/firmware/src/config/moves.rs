//! What does not go together with a collect policy that says where moved data go. A placement that fixes planes goes with none
//! whose scope is the drive.

use super::{ConfigError, FirmwareConfig};
use crate::policy::collect::{CollectConfig, CollectPolicy, Copyback, MovesTo, Scope};

impl FirmwareConfig {
    /// Checks that moved data may go to a channel or a die.
    pub(super) fn check_places(
        &self,
        fixes_pages: bool,
        superblocks: bool,
        collect: &CollectPolicy,
    ) -> Result<(), ConfigError> {
        if !collect.places() {
            return Ok(());
        }
        let moves_to = self.collect.moves_to();
        let (key, value, without) = match &self.collect {
            CollectConfig::Guest(_) if moves_to == MovesTo::AnyDie => {
                ("collect.policy", self.collect.name(), "use a policy without the method 'place'")
            }
            _ => ("collect.moves_to", moves_to.name(), "use \"any-die\""),
        };
        let wrong = |problem: String| Err(ConfigError::new(key, value, format!("{problem}, or {without}")));
        if fixes_pages {
            let mapping = self.mapping.name();
            return wrong(format!(
                "does not go with mapping.policy = \"{mapping}\", which fixes the block of each page; use \"page\""
            ));
        }
        if self.collect.scope() == Scope::Plane {
            return wrong(
                "needs collect.scope = \"drive\": with \"plane\" moved data stay in their plane; set the scope".into(),
            );
        }
        if superblocks {
            let redundancy = self.redundancy.name();
            return wrong(format!(
                "does not go with redundancy.policy = \"{redundancy}\": pages of a superblock are written in stripes; use \
                 \"none\""
            ));
        }
        if collect.copyback() != Copyback::Off {
            let copyback = collect.copyback().name();
            return wrong(format!(
                "does not go with collect.copyback = \"{copyback}\", which moves pages inside their plane; use \"off\""
            ));
        }
        Ok(())
    }
}
