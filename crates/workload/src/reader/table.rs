//! Requests that lie in memory, a column each.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use wordline_base::Op;

/// One request of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Picoseconds since any moment, the same for all rows.
    pub time_ps: u128,
    /// Name of the device; empty where there is but one.
    pub device: &'a str,
    /// First byte.
    pub offset: u64,
    /// Length in bytes, at most 1 GiB.
    pub bytes: u32,
    /// What to do.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
}

/// Error of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowProblem {
    /// The field.
    pub field: &'static str,
    /// What is in it.
    pub value: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

/// Requests in memory.
pub trait Rows: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// True if there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Description of the table, as the way in which the trace was read.
    fn describe(&self) -> String;

    /// The request of a row, counted from 0.
    ///
    /// # Errors
    /// When it is none.
    fn row(&self, at: usize) -> Result<Row<'_>, RowProblem>;
}

/// A table that is read as a trace. Two are equal if they are the same.
#[derive(Clone)]
pub struct Table(pub Arc<dyn Rows>);

// Rows are only read, so a panic leaves none half written.
impl UnwindSafe for Table {}
impl RefUnwindSafe for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table of {} rows", self.0.len())
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}
