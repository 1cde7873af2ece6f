//! Loading a drive: a preset or a file with overrides and external policies, checked; each error names its place.

use crate::config::{DriveConfig, Parts};
use crate::drive::Drive;
use crate::guests::{built_on, Guests, Maker};
use crate::policy::catalogue;
use crate::presets;
use std::collections::BTreeSet;
use std::path::Path;
use wordline_firmware::ConfigError;
use wordline_settings::{ExtraVariant, Loaded, Origin, SettingsError};

/// A drive file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file itself.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An external policy that cannot be used.
    #[error("the policy '{name}' ({family}): {problem}")]
    Guest {
        /// Its family.
        family: String,
        /// Its name.
        name: String,
        /// What is wrong, and what to write instead.
        problem: String,
    },
    /// A file without keys: nobody means the defaults alone.
    #[error("{name}: this file has no key of a drive; to start from a preset, write: extends = \"demo\"")]
    Empty {
        /// The file.
        name: String,
    },
    /// An array whose members cannot be used, or an override for them.
    #[error("{problem}")]
    Array {
        /// The whole message.
        problem: String,
    },
    /// A wrong value, with its place.
    #[error("{origin}: {error}")]
    Config {
        /// Where the key was set, or that it is a default.
        origin: String,
        /// What is wrong.
        error: ConfigError,
    },
}

/// Loads a preset by name, or a drive file, with overrides, and checks it.
///
/// # Errors
/// Names file, line, key and value of what cannot be used, and what to write instead.
pub fn load(drive: &str, sets: &[String]) -> Result<(Loaded<DriveConfig>, Parts), LoadError> {
    load_with(drive, sets, &[])
}

/// As [`load`], with external policies.
///
/// # Errors
/// As [`load`].
pub fn load_with(drive: &str, sets: &[String], guests: &Guests) -> Result<(Loaded<DriveConfig>, Parts), LoadError> {
    let extra = variants(guests)?;
    let names: Vec<String> = presets::names();
    let mut loaded = match presets::text(drive) {
        Some((name, text)) if !Path::new(drive).is_file() => {
            wordline_settings::load_text_with::<DriveConfig>(&name, &text, None, sets, &presets::text, &names, &extra)?
        }
        _ => wordline_settings::load_file_with::<DriveConfig>(Path::new(drive), sets, &presets::text, &names, &extra)?,
    };
    if !loaded.origins.values().any(|origin| matches!(origin, Origin::File { .. })) {
        return Err(LoadError::Empty { name: drive.to_owned() });
    }
    loaded.value.seat(guests);
    match loaded.value.parts() {
        Ok(parts) => Ok((loaded, parts)),
        Err(error) => Err(at_origin(&loaded, drive, error)),
    }
}

/// Builds the drive that a file describes. Errors that appear only now, such as too many factory bad blocks, also name
/// their place.
///
/// # Errors
/// As [`load`].
pub fn make(loaded: &Loaded<DriveConfig>, drive: &str, seed: u64) -> Result<Drive, LoadError> {
    Drive::new(&loaded.value, seed).map_err(|error| at_origin(loaded, drive, error))
}

/// A drive from its resolved configuration, as stored in a snapshot or held by another process.
///
/// # Errors
/// Text is not a configuration, or names the key that cannot be used.
pub fn resolved(name: &str, config: serde_json::Value, guests: &Guests) -> Result<(DriveConfig, Parts), LoadError> {
    let wrong = |error: ConfigError| LoadError::Config { origin: name.to_owned(), error };
    let mut config: DriveConfig = serde_json::from_value(config)
        .map_err(|error| wrong(ConfigError::new("the configuration", "as saved", error.to_string())))?;
    config.seat(guests);
    let parts = config.parts().map_err(wrong)?;
    Ok((config, parts))
}

/// Reads a drive from text, for programs that carry their drives with them.
///
/// # Errors
/// As [`load`].
pub fn from_text(name: &str, text: &str) -> Result<DriveConfig, LoadError> {
    let loaded = wordline_settings::load_text::<DriveConfig>(name, text, None, &[], &presets::text, &presets::names())?;
    match loaded.value.parts() {
        Ok(_) => Ok(loaded.value),
        Err(error) => Err(at_origin(&loaded, name, error)),
    }
}

/// An error with the place where its key was set; for one that was not, the file and that it is a default.
fn at_origin(loaded: &Loaded<DriveConfig>, drive: &str, error: ConfigError) -> LoadError {
    let origin = match (loaded.origins.get(&error.key), &error.derived) {
        (Some(origin), _) => origin.to_string(),
        (None, None) => format!("{drive} (a default)"),
        (None, Some(_)) => drive.to_owned(),
    };
    LoadError::Config { origin, error }
}

/// What a drive file may say about the guests.
fn variants(guests: &Guests) -> Result<Vec<ExtraVariant>, LoadError> {
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
