//! The policies: one small trait per family, one file per policy.
//!
//! [`policies!`] generates everything that a family needs from one list: the configuration enum (tag `policy`, options
//! beside it), the concrete enum that lives in the firmware, the dispatch, and the catalogue that `wordline policies`
//! prints. To add a policy, write its file and add its line to the list of its family.

pub mod arbiter;
pub mod carry;
pub mod collect;
pub mod dispatch;
pub mod fold;
pub mod free_block;
pub mod guest;
pub mod keep;
pub mod mapping;
pub mod pack;
pub mod placement;
pub mod processor;
pub mod redundancy;
pub mod refresh;
pub mod shares;
pub mod slc;
pub mod suspend;
pub mod trim;
pub mod upkeep;
pub mod victim;
pub mod wear;

pub use carry::{Carried, Carrier, CarryView, GuestLink};
pub(crate) use guest::seated;
pub use guest::{Cause, Gravity, GuestOptions, Guests, Maker, Refusal, Seat, Telling, Tells, Trouble};
pub use keep::{GuestBuffer, Keeper};

use crate::task::Tasks;
use serde::Serialize;
use wordline_flash::Geometry;

/// Description of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its behaviour, in a sentence.
    pub summary: &'static str,
    /// Paper and section, or standard.
    pub source: &'static str,
    /// Parts that are faithful to the source, and simplifications.
    pub note: &'static str,
}

/// A member of a family, for the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// Family it belongs to; also its section in a drive file.
    pub family: &'static str,
    /// Decision of the family.
    pub decides: &'static str,
    /// Its name, the value of `policy`.
    pub name: &'static str,
    /// True for the default of a drive file.
    pub default: bool,
    /// Its description.
    #[serde(flatten)]
    pub about: About,
}

/// Data that a policy gets when it is built.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// Shape of the flash.
    pub geometry: &'a Geometry,
    /// Mapping units that a program writes in a plane: those of a page, or of all pages of a word line.
    pub units_per_program: u32,
    /// True if GC works per plane.
    pub plane_local: bool,
    /// GC domains (1, or one per plane).
    pub domains: u32,
    /// Blocks that become free, and are opened, together: more than one where they form superblocks.
    pub blocks_together: u32,
    /// Tasks of the drive.
    pub tasks: Tasks,
    /// Seed of the run.
    pub seed: u64,
}

/// Generates a family from its list: see the head of this file. The first member is the default. A family with a
/// `guest` line takes external policies (see [`guest`]). They are not members: the caller of a run provides them.
#[macro_export]
macro_rules! policies {
    (
        family $family:literal decides $decides:literal;
        trait $Trait:ident, config $Config:ident, policy $Policy:ident;
        members { $( $(#[$doc:meta])* $name:literal => $module:ident :: $Variant:ident ),+ $(,)? }
        $( guest $guests:ident :: $Guest:ident; )?
        methods { $( fn $method:ident ( $this:ident : $receiver:ty $(, $arg:ident : $ty:ty)* $(,)? ) -> $ret:ty; )* }
    ) => {
        $( pub mod $module; )+
        $( pub mod $guests; )?

        #[doc = concat!("Options of the `[", $family, "]` section: ", $decides, ".")]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "policy")]
        pub enum $Config {
            $( $(#[$doc])* #[serde(rename = $name)] $Variant($module::Options), )+
            $(
                /// An external policy, by its own name.
                #[serde(untagged)]
                #[schemars(skip)]
                $Guest($guests::Options),
            )?
        }

        #[doc = concat!("A built policy of the family `", $family, "`.")]
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        pub enum $Policy {
            $( $(#[$doc])* $Variant($module::$Variant), )+
            $(
                /// An external policy.
                $Guest($guests::$Guest),
            )?
        }

        $(
            impl $Config {
                /// The section of an external policy, if one is named.
                pub(crate) fn guest_mut(&mut self) -> Option<&mut $guests::Options> {
                    if let Self::$Guest(options) = self { Some(options) } else { None }
                }
            }

            impl $Policy {
                /// The external policy, if it is one.
                pub fn guest_mut(&mut self) -> Option<&mut $guests::$Guest> {
                    if let Self::$Guest(guest) = self { Some(guest) } else { None }
                }
            }
        )?

        impl Default for $Config {
            fn default() -> Self {
                $crate::first!($( Self::$Variant(Default::default()) ),+)
            }
        }

        impl $Config {
            /// Builds the chosen policy.
            ///
            /// # Errors
            /// Names the option that cannot be used with this drive.
            pub fn build(&self, build: &$crate::policy::Build<'_>) -> Result<$Policy, $crate::ConfigError> {
                match self {
                    $( Self::$Variant(options) => $module::$Variant::new(options, build).map($Policy::$Variant), )+
                    $( Self::$Guest(options) => $guests::$Guest::new(options, build).map($Policy::$Guest), )?
                }
            }

            /// The name of the chosen policy.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$Variant(_) => $name, )+
                    $( Self::$Guest(options) => {
                        let $guests::Options { policy, .. } = options;
                        policy
                    } )?
                }
            }

            /// All members of the family.
            #[must_use]
            pub fn members() -> Vec<$crate::policy::Member> {
                let mut members = vec![$( $crate::policy::Member {
                    family: $family, decides: $decides, name: $name, default: false, about: $module::ABOUT,
                } ),+];
                members[0].default = true;
                members
            }
        }

        // The list of members becomes a match; the methods are written out below with it.
        macro_rules! dispatch {
            ($object:expr, $bound:ident => $run:expr) => {
                match $object {
                    $( $Policy::$Variant($bound) => $run, )+
                    $( $Policy::$Guest($bound) => $run, )?
                }
            };
        }

        impl $Policy {
            $(
                #[doc = concat!("See [`", stringify!($Trait), "::", stringify!($method), "`].")]
                #[inline]
                pub fn $method($this: $receiver $(, $arg: $ty)*) -> $ret {
                    dispatch!($this, policy => $Trait::$method(policy $(, $arg)*))
                }
            )*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// The members of all firmware families, in the order of a drive file's sections.
#[must_use]
pub fn catalogue() -> Vec<Member> {
    [
        mapping::MappingConfig::members(),
        placement::PlacementConfig::members(),
        victim::VictimConfig::members(),
        collect::CollectConfig::members(),
        free_block::FreeBlockConfig::members(),
        pack::PackConfig::members(),
        dispatch::DispatchConfig::members(),
        shares::SharesConfig::members(),
        arbiter::ArbiterConfig::members(),
        suspend::SuspendConfig::members(),
        trim::TrimConfig::members(),
        redundancy::RedundancyConfig::members(),
        processor::ProcessorConfig::members(),
        slc::SlcConfig::members(),
        upkeep::UpkeepConfig::members(),
    ]
    .concat()
}
