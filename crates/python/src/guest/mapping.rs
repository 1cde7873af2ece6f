//! Mappings in Python: which map unit leaves the map cache, or a scheme of block mapping, with what is merged.

use super::blocks::columns;
use super::figures::log_blocks;
use super::{block_of, odd, truth, whole, Seated};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::fmt;
use wordline_drive::guests::{CacheView, GuestMapping, MergeView, Refusal, Scheme, SequenceView};

/// A mapping.
pub(super) struct Mapper {
    pub(super) seated: Seated,
    scheme: Option<Scheme>,
    /// True if it chooses which table of a map zone leaves memory.
    evicts_tables: bool,
    /// Asked what is merged, if the policy has it.
    merge: Option<Py<PyAny>>,
    /// Asked what takes the sequential log block, if the policy has it.
    starts_sequence: Option<Py<PyAny>>,
}

impl fmt::Debug for Mapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapper").field("seated", &self.seated).field("scheme", &self.scheme).finish()
    }
}

impl Mapper {
    /// With the scheme that its method gives, if it has one.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let object = seated.object.bind(py);
        let scheme = log_blocks(&object.getattr("scheme")?)?;
        let evicts_tables = object.getattr("evicts")?.is_truthy()?;
        let (merge, starts_sequence) = (seated.method(py, "merge")?, seated.method(py, "starts_sequence")?);
        Ok(scheme.map(|scheme| Self { seated, scheme, evicts_tables, merge, starts_sequence }))
    }
}

impl GuestMapping for Mapper {
    fn scheme(&self) -> Option<Scheme> {
        self.scheme
    }

    fn evicts_tables(&self) -> bool {
        self.evicts_tables
    }

    fn chooses_merges(&self) -> bool {
        self.merge.is_some()
    }

    fn merge(&mut self, view: &MergeView<'_>) -> Result<Option<u32>, Refusal> {
        let Some(merge) = &self.merge else { return Ok(None) };
        let rows =
            view.merges.iter().map(|entry| [entry.block, entry.blocks, entry.valid, entry.lots]).collect::<Vec<_>>();
        let answer = self.seated.ask(|py| {
            let memory = columns(py, &rows)?;
            let answer = merge.bind(py).call1((memory, rows.len(), view.domain))?;
            Ok(block_of(&answer))
        })?;
        Ok(answer?)
    }

    fn starts_sequence(&mut self, view: &SequenceView) -> Result<bool, Refusal> {
        let Some(starts) = &self.starts_sequence else { return Ok(true) };
        let answer = self.seated.ask(|py| {
            let told =
                (view.lot, view.domain, view.pages, view.holder.map(|held| held.0), view.holder.map(|held| held.1));
            truth(&starts.bind(py).call1(told)?)
        })?;
        Ok(answer?)
    }

    fn evict(&mut self, view: &CacheView<'_>) -> Result<u32, Refusal> {
        let answer = self.seated.ask(|py| {
            let answer = self.seated.decide.bind(py).call1((PyList::new(py, view.oldest)?, view.coming))?;
            Ok(whole::<u32>(&answer).ok_or_else(|| odd(&answer, "the number of a map unit that memory holds")))
        })?;
        Ok(answer?)
    }

    fn used(&mut self, map_unit: u32) -> Result<(), Refusal> {
        match &self.seated.closed {
            Some(used) => self.seated.ask(|py| used.call1(py, (map_unit,)).map(drop)),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn GuestMapping> {
        let (seated, [merge, starts_sequence]) = self.seated.copy_with(["merge", "starts_sequence"]);
        Box::new(Self { seated, scheme: self.scheme, evicts_tables: self.evicts_tables, merge, starts_sequence })
    }
}
