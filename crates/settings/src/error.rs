//! Errors of a configuration, worded for the person who wrote it.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In a file or a preset.
    File {
        /// The display name of the file or preset.
        name: String,
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
    },
    /// On the command line; holds the text that followed `--set`.
    Set(String),
}

impl Origin {
    /// The very start of a file: for what is wrong with the file as a whole.
    pub(crate) fn start_of(name: &str) -> Origin {
        Origin::File { name: name.to_string(), line: 1, column: 1 }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Origin::Set(text) => write!(f, "--set {text}"),
        }
    }
}

/// Why a configuration cannot be loaded. Its `Display` is the complete message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file is missing or the system refuses to give it.
    #[error("{name}: {reason}")]
    Unreadable {
        /// The name as the user gave it.
        name: String,
        /// The reason, and the nearest preset if the name looks like one.
        reason: String,
    },
    /// The file holds something other than UTF-8 text.
    #[error("{at}: {reason}")]
    NotText {
        /// The place of the first byte that is not text.
        at: Origin,
        /// Which byte it is.
        reason: String,
    },
    /// The text is not TOML.
    #[error("{at}: {message}")]
    Syntax {
        /// Where the parser stopped.
        at: Origin,
        /// The parser's own words.
        message: String,
    },
    /// A key that no section of this name has.
    #[error("{at}: unknown key '{key}' ({found}); {advice}")]
    UnknownKey {
        /// Where the key was written.
        at: Origin,
        /// The dotted key.
        key: String,
        /// The value it was given.
        found: String,
        /// The nearest valid key, or all of them.
        advice: String,
    },
    /// An option of another variant than the one chosen.
    #[error("{at}: '{key}' ({found}) {advice}")]
    Misfit {
        /// Where the key was written.
        at: Origin,
        /// The dotted key.
        key: String,
        /// The value it was given.
        found: String,
        /// The variant that is chosen and those that have this option.
        advice: String,
    },
    /// A value of the wrong type, out of range, or not among the choices.
    #[error("{at}: '{key}' is {found}; {advice}")]
    BadValue {
        /// Where the value was written.
        at: Origin,
        /// The dotted key.
        key: String,
        /// The value.
        found: String,
        /// What to write instead.
        advice: String,
    },
    /// A key that must be given and is not.
    #[error("{at}: '{key}' is missing; {advice}")]
    MissingKey {
        /// The section that lacks it.
        at: Origin,
        /// The dotted key.
        key: String,
        /// The expected value.
        advice: String,
    },
    /// An `extends` that leads nowhere or in a circle.
    #[error("{at}: {message}")]
    Extends {
        /// Where `extends` was written.
        at: Origin,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A `--set` that does not have the form KEY=VALUE.
    #[error("--set {set}: {message}")]
    SetForm {
        /// The text that followed `--set`.
        set: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A value that has the right type but that the section itself refuses.
    #[error("{at}: '{key}' is {found}; {message}")]
    Rejected {
        /// Where the value was written.
        at: Origin,
        /// The dotted key.
        key: String,
        /// The value.
        found: String,
        /// The section's own words.
        message: String,
    },
}

impl SettingsError {
    /// Where the mistake was written, if it has a place.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Unreadable { .. } | Self::SetForm { .. } => None,
            Self::NotText { at, .. } | Self::Syntax { at, .. } | Self::Extends { at, .. } => Some(at),
            Self::UnknownKey { at, .. } | Self::Misfit { at, .. } | Self::BadValue { at, .. } => Some(at),
            Self::MissingKey { at, .. } | Self::Rejected { at, .. } => Some(at),
        }
    }

    /// The dotted key that the mistake is about, if it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. } | Self::Misfit { key, .. } | Self::BadValue { key, .. } => Some(key),
            Self::MissingKey { key, .. } | Self::Rejected { key, .. } => Some(key),
            _ => None,
        }
    }
}
