//! SLC caches in Python: their sizes, and their limits during a run.

use super::{figures, odd, whole, Seated};
use pyo3::prelude::*;
use std::fmt;
use wordline_drive::guests::{GuestSlc, Refusal, SlcSize, SlcView};

/// What limits an SLC cache.
pub(super) struct Limiter {
    pub(super) seated: Seated,
    /// Asked during a run, if the policy has it.
    limit: Option<Py<PyAny>>,
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Limiter").field(&self.seated).finish()
    }
}

impl Limiter {
    /// The size of a cache, and its limiter.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<(Option<SlcSize>, Self), String>> {
        let size = figures::cache_size(&seated.answer(py)?)?;
        let limit = seated.method(py, "limit")?;
        Ok(size.map(|size| (size, Self { seated, limit })))
    }
}

impl GuestSlc for Limiter {
    fn limits(&self) -> bool {
        self.limit.is_some()
    }

    fn limit(&mut self, view: &SlcView) -> Result<Option<u32>, Refusal> {
        let Some(limit) = &self.limit else { return Ok(None) };
        let answer = self.seated.ask(|py| {
            let told = (view.domain, view.blocks, view.free, view.host_units, view.now as f64 / 1e6);
            let answer = limit.bind(py).call1(told)?;
            let wanted = "a number of blocks from 0 to 2**32 - 1, or None";
            Ok(if answer.is_none() { Ok(None) } else { whole(&answer).map(Some).ok_or_else(|| odd(&answer, wanted)) })
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestSlc> {
        let (seated, [limit]) = self.seated.copy_with(["limit"]);
        Box::new(Self { seated, limit })
    }
}
