//! Tables of a run as Parquet files: columns with their meaning, and a writer that goes along with the run.
//!
//! What a row is, and how it comes about, is `wordline_drive::observe`; here its values become columns. The columns of all tables
//! stand in [`column`] once: names, units, meanings and values; `docs/tables.md` is printed from them.
#![forbid(unsafe_code)]

pub mod column;
mod columns;
mod packed;
mod page;
mod writer;

pub use columns::SCHEMA;
pub use page::page;
pub use writer::{names, wanted, Facts, TableError, Tables, Written, NAMES};
