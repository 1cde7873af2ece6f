//! Reasons for a missing result: the user's input, the run, or an exception of the user's own code.

use pyo3::prelude::*;
use wordline_drive::run::RunError;
use wordline_drive::{Fault, Reason};

/// Reason for a missing result.
pub enum Failure {
    /// Wrong input of the user.
    Input(String),
    /// The run failed.
    Run(String),
    /// The caller's own function failed.
    Python(PyErr),
}

impl Failure {
    pub fn input(error: impl std::fmt::Display) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Fault(ref fault) => {
                let story = error.to_string();
                raised(fault, &story).map_or(Self::Run(story), Self::Python)
            }
            RunError::Load(_) | RunError::Request { .. } | RunError::Unmeasured { .. } => Self::input(error),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        RunError::from(fault).into()
    }
}

/// The exception behind a fault, if a policy raised one.
fn raised(fault: &Fault, story: &str) -> Option<PyErr> {
    let Reason::Policy { trouble, .. } = fault.reason() else { return None };
    let error = trouble.cause.as_ref()?.get::<PyErr>()?;
    Some(noted(Python::attach(|py| error.clone_ref(py)), story))
}

/// An exception with a note from the engine.
pub fn noted(error: PyErr, story: &str) -> PyErr {
    // Python 3.10 has no notes; the exception itself has the essential message.
    Python::attach(|py| drop(error.value(py).call_method1("add_note", (story,))));
    error
}
