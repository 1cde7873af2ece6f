//! External policies as choices of a drive file.

use crate::config::LoadError;
use crate::policy::catalogue;
use std::collections::BTreeSet;
use wordline_settings::ExtraVariant;

pub use wordline_firmware::blocks::VictimView;
pub use wordline_firmware::policy::collect::guest::GuestCollect;
pub use wordline_firmware::policy::collect::SpaceView;
pub use wordline_firmware::policy::free_block::guest::GuestFreeBlock;
pub use wordline_firmware::policy::guest::built_on;
pub use wordline_firmware::policy::victim::guest::GuestVictim;
pub use wordline_firmware::policy::{Build, Cause, Guests, Maker, Refusal};

/// What a drive file may say about the guests.
pub(crate) fn variants(guests: &Guests) -> Result<Vec<ExtraVariant>, LoadError> {
    let members = catalogue();
    let mut seen = BTreeSet::new();
    let mut variant = |maker: &dyn Maker| {
        let (family, name) = (maker.family(), maker.name());
        let wrong = |problem: String| LoadError::Guest { family: family.to_owned(), name: name.to_owned(), problem };
        if members.iter().any(|member| member.family == family && member.name == name) {
            return Err(wrong("a policy of this name comes with the program; give it another name".into()));
        }
        if !seen.insert((family.to_owned(), name.to_owned())) {
            return Err(wrong("two policies of the family have this name".into()));
        }
        Ok(ExtraVariant {
            section: family.to_owned(),
            tag: "policy".to_owned(),
            name: name.to_owned(),
            doc: maker.summary().to_owned(),
            like: built_on(family).map(str::to_owned),
            options: maker.options().clone(),
        })
    };
    guests.iter().map(|maker| variant(maker.as_ref())).collect()
}
