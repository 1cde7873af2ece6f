//! Policies in Python that choose blocks: victims of garbage collection, free blocks to open, and blocks that background tasks move.

use super::times::number;
use super::{block_of, odd, whole, Seated};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::fmt;
use wordline_drive::guests::{
    Erased, FreeEntry, FreeView, GuestFreeBlock, GuestUpkeep, GuestVictim, Occasion, Refusal, UpkeepView, VictimView,
};

const NUMBER: usize = size_of::<i64>();

/// Rows of numbers as columns one after another, which are never written again.
pub(super) fn columns<'py, N: Copy + Into<u64>, const COUNT: usize>(
    py: Python<'py>,
    rows: &[[N; COUNT]],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, COUNT * rows.len() * NUMBER, |memory| {
        for (at, row) in rows.iter().enumerate() {
            for (column, &value) in row.iter().enumerate() {
                let place = (column * rows.len() + at) * NUMBER;
                memory[place..place + NUMBER].copy_from_slice(&value.into().to_ne_bytes());
            }
        }
        Ok(())
    })
}

/// Numbers of a block for a victim policy: its own, valid logical pages, erases, age; and reads that fit, if it wants them.
const COLUMNS: usize = 4;

/// A victim policy.
pub(super) struct Chooser {
    pub(super) seated: Seated,
    /// True if it sees the reads that fit each block.
    sees_reads: bool,
}

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chooser").field("seated", &self.seated).field("sees_reads", &self.sees_reads).finish()
    }
}

impl Chooser {
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let sees_reads = seated.object.bind(py).getattr("sees_reads")?.is_truthy()?;
        Ok(Ok(Self { seated, sees_reads }))
    }

    /// The columns one after another: all blocks, all numbers of valid logical pages, all erases, all ages.
    fn fill(&self, view: &VictimView<'_>, count: usize, memory: &mut [u8]) {
        let mut cell = |column: usize, at: usize, value: u32| {
            let place = (column * count + at) * NUMBER;
            memory[place..place + NUMBER].copy_from_slice(&i64::from(value).to_ne_bytes());
        };
        for (at, block) in view.by_rank().enumerate() {
            let row = [block, view.valid(block), view.erases(block), view.age(block)];
            row.into_iter().enumerate().for_each(|(column, value)| cell(column, at, value));
            if self.sees_reads {
                cell(COLUMNS, at, view.aligned_reads(block));
            }
        }
    }
}

impl GuestVictim for Chooser {
    fn choose(&mut self, view: &VictimView<'_>) -> Result<Option<u32>, Refusal> {
        let count = view.ranked_count() as usize;
        let columns = COLUMNS + usize::from(self.sees_reads);
        let answer = self.seated.ask(|py| {
            // The bytes are never written again: arrays over them are read-only, and stay valid if the policy keeps
            // them.
            let memory = PyBytes::new_with(py, columns * NUMBER * count, |memory| {
                self.fill(view, count, memory);
                Ok(())
            })?;
            let told = (memory, count, view.domain(), view.units_per_block(), view.least_gain());
            let answer = self.seated.decide.bind(py).call1(told)?;
            Ok(block_of(&answer))
        })?;
        Ok(answer?)
    }

    fn wants_reads(&self) -> bool {
        self.sees_reads
    }

    fn closed(&mut self, _: &VictimView<'_>, block: u32) -> Result<(), Refusal> {
        match &self.seated.closed {
            Some(closed) => self.seated.ask(|py| closed.call1(py, (block,)).map(drop)),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn GuestVictim> {
        Box::new(Self { seated: self.seated.copy(), sees_reads: self.sees_reads })
    }
}

/// A policy of a background task.
pub(super) struct Keeper {
    pub(super) seated: Seated,
    occasion: Occasion,
    /// Told of each block that was erased, if the policy has it.
    erased: Option<Py<PyAny>>,
    /// Asked how far the state that it keeps is from its target, if the policy has it.
    error: Option<Py<PyAny>>,
    goes_with_logs: bool,
    /// True if it sees the age of each block, and where data stay.
    sees_ages: bool,
    sees_stays: bool,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeper").field(&self.seated).field(&self.occasion).finish()
    }
}

/// Columns of the view of a background task: numbers of blocks, valid logical pages, page reads, erases, and ages if it sees them; then
/// the truth values.
const NUMBERS: usize = 4;
const TRUTHS: usize = 4;

/// The columns one after another, as those of a victim policy.
fn fill_blocks(view: &UpkeepView<'_>, count: usize, sees_ages: bool, memory: &mut [u8]) {
    let (numbers, truths) = memory.split_at_mut((NUMBERS + usize::from(sees_ages)) * count * NUMBER);
    let mut cached = view.cached().peekable();
    for (at, block) in view.in_use().enumerate() {
        let age = sees_ages.then(|| view.age(block));
        let row = [block, view.valid(block), view.reads(block), view.erases(block)];
        for (column, value) in row.into_iter().chain(age).enumerate() {
            let place = (column * count + at) * NUMBER;
            numbers[place..place + NUMBER].copy_from_slice(&i64::from(value).to_ne_bytes());
        }
        let is_cached = cached.next_if_eq(&block).is_some();
        let row = [view.is_written(block), view.is_full(block), view.is_free(block), is_cached];
        for (column, value) in row.into_iter().enumerate() {
            truths[column * count + at] = u8::from(value);
        }
    }
}

/// By place where data may stay, the block with such data, or -1.
fn stays_of<'py>(py: Python<'py>, view: &UpkeepView<'_>) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, view.places() as usize * NUMBER, |memory| {
        for (place, cell) in (0..view.places()).zip(memory.chunks_exact_mut(NUMBER)) {
            cell.copy_from_slice(&view.staying(place).map_or(-1, i64::from).to_ne_bytes());
        }
        Ok(())
    })
}

impl Keeper {
    pub(super) fn new(py: Python<'_>, seated: Seated, occasion: Occasion) -> PyResult<Self> {
        let (erased, error) = (seated.method(py, "erased")?, seated.method(py, "error")?);
        let object = seated.object.bind(py);
        let is = |key: &str| object.getattr(key)?.is_truthy();
        let (goes_with_logs, sees_ages, sees_stays) = (is("goes_with_logs")?, is("sees_ages")?, is("sees_stays")?);
        Ok(Self { seated, occasion, erased, error, goes_with_logs, sees_ages, sees_stays })
    }

    /// The block that a method names, which is told the view of the blocks and perhaps more.
    fn ask(
        &self,
        view: &UpkeepView<'_>,
        method: &Py<PyAny>,
        more: (Option<u32>, Option<&str>),
    ) -> Result<Option<u32>, Refusal> {
        self.answer(view, method, more, block_of)
    }

    /// What a method answers, as it is read.
    fn answer<A>(
        &self,
        view: &UpkeepView<'_>,
        method: &Py<PyAny>,
        more: (Option<u32>, Option<&str>),
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<A, String>,
    ) -> Result<A, Refusal> {
        let count = view.in_use().count();
        let answer = self.seated.ask(|py| {
            let columns = NUMBERS + usize::from(self.sees_ages);
            let memory = PyBytes::new_with(py, (columns * NUMBER + TRUTHS) * count, |memory| {
                fill_blocks(view, count, self.sees_ages, memory);
                Ok(())
            })?;
            let left = PyTuple::new(py, view.domains().map(|domain| view.slc_left(domain)).collect::<Vec<_>>())?;
            let stays = if self.sees_stays { Some(stays_of(py, view)?) } else { None };
            let told = (memory, count, view.host_units(), view.host_reads(), view.is_idle(), left, stays);
            let answer = match more {
                (Some(block), Some(task)) => method.bind(py).call1((block, task, told))?,
                _ => method.bind(py).call1(told)?,
            };
            Ok(read(&answer))
        })?;
        Ok(answer?)
    }
}

impl GuestUpkeep for Keeper {
    fn occasion(&self) -> Occasion {
        self.occasion
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Result<Option<u32>, Refusal> {
        self.ask(view, &self.seated.decide, (None, None))
    }

    fn follows_erases(&self) -> bool {
        self.erased.is_some()
    }

    fn erased(&mut self, view: &UpkeepView<'_>, erased: Erased) -> Result<Option<u32>, Refusal> {
        let Some(method) = &self.erased else { return Ok(None) };
        self.ask(view, method, (Some(erased.block), Some(erased.task.about().name)))
    }

    fn tells_error(&self) -> bool {
        self.error.is_some()
    }

    fn error(&mut self, view: &UpkeepView<'_>) -> Result<f64, Refusal> {
        const WANTED: &str = "a number from 0 to 1e6, such as 0.1 for a tenth of the target";
        let Some(method) = &self.error else { return Ok(0.0) };
        self.answer(view, method, (None, None), |answer| {
            let error = number(answer).filter(|error| (0.0..=1e6).contains(error));
            error.ok_or_else(|| format!("its method 'error' is of no use: {}", odd(answer, WANTED)))
        })
    }

    fn goes_with_logs(&self) -> bool {
        self.goes_with_logs
    }

    fn fork(&self) -> Box<dyn GuestUpkeep> {
        let (seated, [erased, error]) = self.seated.copy_with(["erased", "error"]);
        let Self { occasion, goes_with_logs, sees_ages, sees_stays, .. } = *self;
        Box::new(Self { seated, occasion, erased, error, goes_with_logs, sees_ages, sees_stays })
    }
}

/// A free-block policy.
pub(super) struct Opener {
    pub(super) seated: Seated,
    /// Asked when a block is opened, if the policy has it.
    choose: Option<Py<PyAny>>,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opener").field(&self.seated).finish()
    }
}

impl Opener {
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let choose = seated.method(py, "choose")?;
        Ok(Ok(Self { seated, choose }))
    }
}

impl GuestFreeBlock for Opener {
    fn rank(&mut self, erases: u32, order: u32) -> Result<u64, Refusal> {
        let answer = self.seated.ask(|py| {
            let answer = self.seated.decide.bind(py).call1((erases, order))?;
            Ok(whole::<u64>(&answer).ok_or_else(|| odd(&answer, "a whole number from 0 to 2**64 - 1")))
        })?;
        Ok(answer?)
    }

    fn chooses(&self) -> bool {
        self.choose.is_some()
    }

    fn choose(&mut self, view: &FreeView<'_>) -> Result<Option<u32>, Refusal> {
        let Some(choose) = &self.choose else { return Ok(None) };
        let row = |entry: &FreeEntry| [u64::from(entry.block), u64::from(entry.erases), entry.rank];
        let rows: Vec<_> = view.free.iter().map(row).collect();
        let answer = self.seated.ask(|py| {
            let memory = columns(py, &rows)?;
            let answer = choose.bind(py).call1((memory, rows.len(), view.plane, view.task.about().name, view.slc))?;
            Ok(block_of(&answer))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestFreeBlock> {
        let (seated, [choose]) = self.seated.copy_with(["choose"]);
        Box::new(Self { seated, choose })
    }
}
