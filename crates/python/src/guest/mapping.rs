//! Mappings in Python: which map unit leaves the map cache, or a scheme of block mapping.

use super::figures::log_blocks;
use super::{odd, whole, Seated};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::fmt;
use wordline_drive::guests::{CacheView, GuestMapping, Refusal, Scheme};

/// A mapping.
pub(super) struct Mapper {
    pub(super) seated: Seated,
    scheme: Option<Scheme>,
}

impl fmt::Debug for Mapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapper").field("seated", &self.seated).field("scheme", &self.scheme).finish()
    }
}

impl Mapper {
    /// With the scheme that its method gives, if it has one.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let scheme = log_blocks(&seated.object.bind(py).getattr("scheme")?)?;
        Ok(scheme.map(|scheme| Self { seated, scheme }))
    }
}

impl GuestMapping for Mapper {
    fn scheme(&self) -> Option<Scheme> {
        self.scheme
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
        Box::new(Self { seated: self.seated.copy(), scheme: self.scheme })
    }
}
