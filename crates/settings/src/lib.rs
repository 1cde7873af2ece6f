//! Layered configuration: a TOML file, the presets or files it extends, and `--set` overrides, loaded into any type
//! that serde can read and schemars can describe.
//!
//! Every layer is checked against the JSON schema of the type before the layers are merged, so an error names the file,
//! line and column where the value was written, the key, the value found, and what to write instead. The same schema
//! gives the reference of all keys ([`keys()`]); the doc comments of the fields are the documentation.
#![forbid(unsafe_code)]

mod advice;
mod bounds;
mod check;
mod document;
mod error;
mod extra;
mod index;
mod keys;
mod layers;
mod merge;
mod report;
mod schema;
mod sets;

pub use advice::nearest;
pub use error::{Origin, SettingsError};
pub use extra::ExtraVariant;
pub use keys::{keys, Choice, KeyDoc, VariantOf};
pub use layers::{load_file, load_file_with, load_text, load_text_with, Loaded, Presets};
