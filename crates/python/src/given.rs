//! Workloads held by Python.

use crate::failure::Failure;
use crate::frame::Frame;
use crate::load::Spec;
use crate::progress::{interruptible, Reporter};
use crate::records;
use crate::table::Trace;
use arrow_pyarrow::{PyArrowType, Table as Batches};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use wordline_workload::{Space, Table};

/// A workload: read and checked, to be run on any number of drives.
#[pyclass(name = "Load", module = "wordline._core", frozen)]
pub struct Load {
    spec: Arc<Spec>,
    /// Drive sizes for which its trace was checked.
    looked: Mutex<Vec<u64>>,
}

impl Load {
    /// The workload to run.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    fn new(spec: Spec) -> Self {
        Self { spec: Arc::new(spec), looked: Mutex::default() }
    }

    /// Checks its trace for a drive of `bytes` bytes; once for each size.
    pub fn look(&self, bytes: u64, opened: &wordline_workload::Load, reporter: &mut Reporter) -> Result<(), Failure> {
        let looked = || self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked().contains(&bytes) {
            return Ok(());
        }
        self.spec.look(opened, reporter)?;
        looked().push(bytes);
        Ok(())
    }
}

#[pymethods]
impl Load {
    /// A trace or a workload file, as after the command's LOAD.
    #[staticmethod]
    fn read(path: &str, sets: Vec<String>) -> PyResult<Self> {
        Ok(Self::new(Spec::read(path, &sets)?))
    }

    /// The text of a workload file; `name` stands for it in messages.
    #[staticmethod]
    fn text(name: &str, text: &str, sets: Vec<String>) -> PyResult<Self> {
        Ok(Self::new(Spec::text(name, text, &sets)?))
    }

    /// The same for the text of a workload file whose trace is a table with the Arrow interface.
    #[staticmethod]
    fn table(py: Python<'_>, name: &str, text: &str, table: PyArrowType<Batches>) -> PyResult<Self> {
        let (batches, schema) = table.0.into_inner();
        let mut spec = Spec::text(name, text, &[])?;
        let Some(trace) = &mut spec.file.trace else {
            return Err(Failure::Input(format!("{name}: a table is read as a [trace], and there is none")).into());
        };
        let rows = py.detach(|| Trace::new(&batches, &schema, trace))?;
        trace.table = Some(Table(Arc::new(rows)));
        Ok(Self::new(spec))
    }

    /// The workload for another process, except a table in memory.
    fn pack(&self) -> PyResult<String> {
        self.spec.packed().map_err(|error| Failure::Run(error.to_string()).into())
    }

    /// The workload from another process.
    #[staticmethod]
    fn unpack(text: &str) -> PyResult<Self> {
        Ok(Self::new(Spec::unpacked(text)?))
    }

    /// Up to `limit` requests of its trace.
    #[pyo3(signature = (limit=None))]
    fn records(&self, py: Python<'_>, limit: Option<u64>) -> PyResult<Frame> {
        Ok(py.detach(|| records::table(&self.spec, limit))?)
    }

    /// Both workloads side by side.
    fn beside(&self, other: &Self) -> PyResult<Self> {
        Ok(Self::new(self.spec.beside(&other.spec)?))
    }

    /// The workload with every default, as JSON.
    fn describe(&self) -> PyResult<String> {
        serde_json::to_string(&self.spec.file).map_err(|error| Failure::Run(error.to_string()).into())
    }

    /// Summary of its trace, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.spec.info())?.to_string())
    }
}

/// A workload argument: the name of a file, or a workload that was read before.
#[derive(FromPyObject)]
pub enum Given {
    /// A file with overrides beside it.
    Name(String),
    /// A workload.
    Load(Py<Load>),
}

impl Given {
    /// Reads it, if necessary.
    pub fn spec(&self, sets: &[String]) -> Result<Arc<Spec>, Failure> {
        match self {
            Self::Name(name) => Spec::read(name, sets).map(Arc::new),
            Self::Load(load) => Ok(Arc::clone(&load.get().spec)),
        }
    }
}

/// Opens a workload for a drive of `bytes` bytes. This may read a trace once.
pub fn open(spec: &Spec, bytes: u64, seed: u64) -> Result<wordline_workload::Load, Failure> {
    open_on(spec, Space::whole(bytes), seed)
}

/// The same for the addresses of a drive or an array.
pub fn open_on(spec: &Spec, space: Space, seed: u64) -> Result<wordline_workload::Load, Failure> {
    let (file, base) = (spec.file.clone(), spec.base());
    let opened = interruptible(move || wordline_workload::Load::open_on(&file, &base, &space, seed))?;
    opened.map_err(|error| spec.failure(&error))
}
