//! Host interfaces in Python: their costs, and, during a run, how long each transfer takes.

use super::times::number;
use super::{figures, odd, Seated};
use pyo3::prelude::*;
use std::fmt;
use wordline_base::{ps_from_us, Time};
use wordline_drive::guests::{Carried, CarryView, GuestLink, LinkFigures, Refusal};

/// The longest transfer that a policy may name, in microseconds.
const LONGEST_US: f64 = 1e6;

/// Who says how long each transfer takes.
pub(super) struct Timer {
    pub(super) seated: Seated,
    transfer: Py<PyAny>,
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timer").field(&self.seated).finish()
    }
}

impl Timer {
    /// The costs of an interface, and who times its transfers, if the policy does.
    pub(super) fn figures(py: Python<'_>, seated: Seated) -> PyResult<Result<LinkFigures, String>> {
        let costs = figures::link_costs(&seated.answer(py)?)?;
        let transfer = seated.method(py, "transfer_us")?;
        let carrier = transfer.map(|transfer| Box::new(Self { seated, transfer }) as Box<dyn GuestLink>);
        Ok(costs.map(|costs| LinkFigures { costs, carrier }))
    }
}

/// What is transferred, by its name in Python.
fn name_of(what: Carried) -> &'static str {
    match what {
        Carried::Command => "command",
        Carried::DataIn => "data-in",
        Carried::DataOut => "data-out",
        Carried::Completion => "completion",
    }
}

impl GuestLink for Timer {
    fn time(&mut self, view: &CarryView) -> Result<Time, Refusal> {
        const WANTED: &str = "a number of microseconds from 0 to 1,000,000";
        let us = |time: Time| time as f64 / 1e6;
        let answer = self.seated.ask(|py| {
            let told = (name_of(view.what), view.bytes, us(view.usual), us(view.idle), us(view.now));
            let answer = self.transfer.bind(py).call1(told)?;
            let time = number(&answer).filter(|time| (0.0..=LONGEST_US).contains(time));
            Ok(time
                .map(ps_from_us)
                .ok_or_else(|| format!("its method 'transfer_us' is of no use: {}", odd(&answer, WANTED))))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestLink> {
        let (seated, [transfer]) = self.seated.copy_with(["transfer_us"]);
        // A copy that failed refuses whatever it is asked.
        let transfer = transfer.unwrap_or_else(|| Python::attach(|py| self.transfer.clone_ref(py)));
        Box::new(Self { seated, transfer })
    }
}
