//! Tables of a run as Parquet files: columns with their meaning, and a writer that works during the run.
//!
//! `wordline_drive::observe` defines and produces the rows; here their values become columns. [`column`] defines the
//! columns of all tables once, with names, units, meanings and values; `docs/tables.md` is generated from them.
#![forbid(unsafe_code)]

pub mod column;
mod columns;
mod group;
mod packed;
mod page;
pub mod plain;
mod writer;

pub use columns::SCHEMA;
pub use page::page;
pub use writer::{names, wanted, Facts, TableError, Tables, Written, NAMES};
