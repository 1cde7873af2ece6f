//! SLC caches in Python: their sizes, and their limits and planes during a run.

use super::{figures, numbers_of, odd, whole, Seated};
use pyo3::prelude::*;
use std::fmt;
use wordline_drive::guests::{GuestSlc, Refusal, SlcSize, SlcView};

/// What limits an SLC cache.
pub(super) struct Limiter {
    pub(super) seated: Seated,
    /// Asked during a run, if the policy has it.
    limit: Option<Py<PyAny>>,
    planes: Option<Py<PyAny>>,
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
        let (limit, planes) = (seated.method(py, "limit")?, seated.method(py, "planes")?);
        Ok(size.map(|size| (size, Self { seated, limit, planes })))
    }
}

/// What a policy is told of a domain.
fn told(view: &SlcView) -> (u32, u32, u32, u64, f64) {
    (view.domain, view.blocks, view.free, view.host_units, view.now as f64 / 1e6)
}

impl GuestSlc for Limiter {
    fn limits(&self) -> bool {
        self.limit.is_some()
    }

    fn limit(&mut self, view: &SlcView) -> Result<Option<u32>, Refusal> {
        let Some(limit) = &self.limit else { return Ok(None) };
        let answer = self.seated.ask(|py| {
            let answer = limit.bind(py).call1(told(view))?;
            let wanted = "a number of blocks from 0 to 2**32 - 1, or None";
            Ok(if answer.is_none() { Ok(None) } else { whole(&answer).map(Some).ok_or_else(|| odd(&answer, wanted)) })
        })?;
        Ok(answer?)
    }

    fn chooses_planes(&self) -> bool {
        self.planes.is_some()
    }

    fn planes(&mut self, view: &SlcView) -> Result<Option<Vec<u32>>, Refusal> {
        let Some(planes) = &self.planes else { return Ok(None) };
        let answer = self.seated.ask(|py| {
            let answer = planes.bind(py).call1(told(view))?;
            Ok(numbers_of(&answer, "a list of numbers of planes, or None"))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestSlc> {
        let (seated, [limit, planes]) = self.seated.copy_with(["limit", "planes"]);
        Box::new(Self { seated, limit, planes })
    }
}
