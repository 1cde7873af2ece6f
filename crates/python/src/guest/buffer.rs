//! Write buffers in Python: their sizes, and, during a run, which logical pages they keep and which leave.

use super::blocks::columns;
use super::{figures, numbers_of, odd, truth, Seated};
use pyo3::prelude::*;
use std::fmt;
use wordline_base::Time;
use wordline_drive::guests::{BufferFigures, BufferView, GuestBuffer, KeptUnit, Refusal};

/// What a policy is asked during a run, if it has the first.
const METHODS: [&str; 3] = ["evict", "keeps", "keeps_read"];

/// Who chooses what a write buffer keeps.
pub(super) struct Evictor {
    pub(super) seated: Seated,
    evict: Py<PyAny>,
    /// Asked about each logical page that comes, if the policy has it: otherwise all are kept.
    keeps: Option<Py<PyAny>>,
    /// Asked about each logical page that was read, if the policy has it: otherwise none is kept.
    keeps_read: Option<Py<PyAny>>,
    /// The rest of the host after which it is asked, if it waits for one.
    rest: Option<Time>,
}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Evictor").field(&self.seated).finish()
    }
}

impl Evictor {
    /// The size of a buffer, and who chooses what it keeps, if the policy does.
    pub(super) fn figures(
        py: Python<'_>,
        seated: Seated,
        rest: Option<Time>,
    ) -> PyResult<Result<BufferFigures, String>> {
        let capacity = figures::capacity(&seated.answer(py)?)?;
        let [evict, keeps, keeps_read] = METHODS.map(|name| seated.method(py, name));
        let (evict, keeps, keeps_read) = (evict?, keeps?, keeps_read?);
        let keeper =
            evict.map(|evict| Box::new(Self { seated, evict, keeps, keeps_read, rest }) as Box<dyn GuestBuffer>);
        Ok(capacity.map(|capacity_kib| BufferFigures { capacity_kib, keeper }))
    }
}

impl GuestBuffer for Evictor {
    fn keeps(&mut self, unit: u32) -> Result<bool, Refusal> {
        let Some(keeps) = &self.keeps else { return Ok(true) };
        let answer = self.seated.ask(|py| truth(&keeps.bind(py).call1((unit,))?))?;
        Ok(answer?)
    }

    fn minds_reads(&self) -> bool {
        self.keeps_read.is_some()
    }

    fn keeps_read(&mut self, unit: u32) -> Result<bool, Refusal> {
        let answer = self.seated.ask(|py| match &self.keeps_read {
            Some(keeps_read) => {
                let answer = keeps_read.bind(py).call1((unit,))?;
                let why = |_| format!("its method 'keeps_read' is of no use: {}", odd(&answer, "True or False"));
                Ok(truth(&answer)?.map_err(why))
            }
            None => Ok(Ok(false)),
        })?;
        Ok(answer?)
    }

    fn rest(&self) -> Option<Time> {
        self.rest
    }

    fn evict(&mut self, view: &BufferView<'_>) -> Result<Vec<u32>, Refusal> {
        let row = |kept: &KeptUnit| {
            let &KeptUnit { unit, came, written, read, whole, clean } = kept;
            [unit.into(), came, written, read, whole.into(), clean.into()]
        };
        let rows = view.kept.iter().map(row).collect::<Vec<[u64; 6]>>();
        let answer = self.seated.ask(|py| {
            let told = (view.room, view.leaving, view.waits, view.comes, view.rested, view.now as f64 / 1e6);
            let answer = self.evict.bind(py).call1((columns(py, &rows)?, rows.len(), told))?;
            Ok(numbers_of(&answer, "a list of numbers of logical pages, or None").map(Option::unwrap_or_default))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestBuffer> {
        let (seated, [evict, keeps, keeps_read]) = self.seated.copy_with(METHODS);
        // A copy that failed refuses whatever it is asked.
        let evict = evict.unwrap_or_else(|| Python::attach(|py| self.evict.clone_ref(py)));
        Box::new(Self { seated, evict, keeps, keeps_read, rest: self.rest })
    }
}
