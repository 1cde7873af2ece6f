//! Policies in Python that decide while commands are put together, or put on their way: packing, redundancy, deallocations.

use super::dies::us;
use super::{odd, truth, whole, Seated};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::fmt;
use wordline_drive::guests::{
    AroundView, Class, Figures, Follower, GuestPack, GuestRedundancy, GuestTrim, PackedOperation, Raid, Refusal,
};

/// A packer.
pub(super) struct Packer {
    pub(super) seated: Seated,
    mixes: bool,
    /// Asked whether an operation shares a command, if the policy has it.
    fits: Option<Py<PyAny>>,
    /// Asked what follows in cache mode, if the policy has it.
    follows: Option<Py<PyAny>>,
    /// Asked whether reads of another task follow, if the policy has it.
    crosses: Option<Py<PyAny>>,
}

/// What its policy may have besides.
const METHODS: [&str; 3] = ["fits", "follows", "crosses"];

/// An operation as `PackedOperation` of the Python package has it.
fn packed(one: &PackedOperation) -> (Option<&'static str>, u32, Option<u32>, Option<u32>, u64, f64) {
    let PackedOperation { class, plane, page, request, sequence, .. } = *one;
    (class.name(), plane, page, request, sequence, us(one.waited))
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").field("seated", &self.seated).finish_non_exhaustive()
    }
}

impl Packer {
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let mixes = seated.object.bind(py).getattr("mixes")?.is_truthy()?;
        let [fits, follows, crosses] = METHODS.map(|name| seated.method(py, name));
        Ok(Ok(Self { mixes, fits: fits?, follows: follows?, crosses: crosses?, seated }))
    }
}

impl GuestPack for Packer {
    fn mixes(&self) -> bool {
        self.mixes
    }

    fn joins(&mut self, lead: Class, other: Class) -> Result<bool, Refusal> {
        let answer = self.seated.ask(|py| truth(&self.seated.decide.bind(py).call1((lead.name(), other.name()))?))?;
        Ok(answer?)
    }

    fn refuses(&self) -> bool {
        self.fits.is_some()
    }

    fn fits(&mut self, command: &[PackedOperation], other: &PackedOperation) -> Result<bool, Refusal> {
        let Some(fits) = &self.fits else { return Ok(true) };
        let answer = self.seated.ask(|py| {
            let command = PyList::new(py, command.iter().map(packed))?;
            truth(&fits.bind(py).call1((command, packed(other)))?)
        })?;
        Ok(answer?)
    }

    fn chooses_followers(&self) -> bool {
        self.follows.is_some()
    }

    fn follows(&mut self, command: &[PackedOperation], waiting: &[Follower]) -> Result<Option<usize>, Refusal> {
        const WANTED: &str = "the index of an operation in the list, or None";
        let Some(choose) = &self.follows else { return Ok(Some(0)) };
        let answer = self.seated.ask(|py| {
            let command = PyList::new(py, command.iter().map(packed))?;
            let told = |one: &Follower| {
                let (kind, plane, page, request, sequence, waited_us) = packed(&one.operation);
                (kind, plane, page, request, sequence, waited_us, one.before)
            };
            let answer = choose.bind(py).call1((command, PyList::new(py, waiting.iter().map(told))?))?;
            if answer.is_none() {
                return Ok(Ok(None));
            }
            Ok(whole::<usize>(&answer).map(Some).ok_or_else(|| odd(&answer, WANTED)))
        })?;
        Ok(answer?)
    }

    fn has_crossings(&self) -> bool {
        self.crosses.is_some()
    }

    fn crosses(&mut self, before: Class, next: Class) -> Result<bool, Refusal> {
        let Some(crosses) = &self.crosses else { return Ok(false) };
        let answer = self.seated.ask(|py| {
            let answer = crosses.bind(py).call1((before.name(), next.name()))?;
            let why = |problem| format!("its method 'crosses' is of no use: {problem}");
            Ok(truth(&answer)?.map_err(why))
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestPack> {
        let (seated, [fits, follows, crosses]) = self.seated.copy_with(METHODS);
        Box::new(Self { seated, mixes: self.mixes, fits, follows, crosses })
    }
}

/// A redundancy.
pub(super) struct Protector {
    pub(super) seated: Seated,
    figures: Figures,
    /// The dies of each group whose blocks form superblocks, if it gives them.
    groups: Option<Vec<Vec<u32>>>,
}

impl fmt::Debug for Protector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protector").field("seated", &self.seated).field("figures", &self.figures).finish()
    }
}

impl Protector {
    /// With the figures that its methods give.
    pub(super) fn new(py: Python<'_>, seated: Seated) -> PyResult<Result<Self, String>> {
        let object = seated.object.bind(py);
        let (figures, groups) = (Self::figures_of(object)?, Self::groups_of(object)?);
        Ok(figures.and_then(|figures| Ok(Self { figures, groups: groups?, seated })))
    }

    /// The groups of its superblocks, if it has some.
    fn groups_of(object: &Bound<'_, PyAny>) -> PyResult<Result<Option<Vec<Vec<u32>>>, String>> {
        const WANTED: &str = "the dies of each group, such as [[0, 1], [2, 3]], or None";
        let answer = object.getattr("groups")?;
        if answer.is_none() {
            return Ok(Ok(None));
        }
        let rows = answer.extract::<Vec<Vec<Bound<'_, PyAny>>>>().ok();
        let row = |row: Vec<Bound<'_, PyAny>>| row.iter().map(whole).collect::<Option<Vec<u32>>>();
        let groups = rows.and_then(|rows| rows.into_iter().map(row).collect::<Option<Vec<_>>>());
        Ok(groups
            .map(Some)
            .ok_or_else(|| format!("the groups of its superblocks are of no use: {}", odd(&answer, WANTED))))
    }

    fn figures_of(object: &Bound<'_, PyAny>) -> PyResult<Result<Figures, String>> {
        const SUPERBLOCK: &str = "Superblock(dies, parity, groups), or None";
        const RAID: &str = "Raid(dies, open_stripes), or None";
        let of_no_use = |method: &str, answer: &Bound<'_, PyAny>, wanted: &str| {
            Ok(Err(format!("its method '{method}' is of no use: {}", odd(answer, wanted))))
        };
        let mut figures =
            Figures { has_ways_around: object.getattr("has_ways_around")?.is_truthy()?, ..Figures::default() };
        let answer = object.getattr("superblock")?;
        if !answer.is_none() {
            let with_groups = answer.extract::<(Bound<'_, PyAny>, bool, Bound<'_, PyAny>)>();
            let pair = with_groups.map(|(dies, parity, _)| (dies, parity)).or_else(|_| answer.extract());
            let pair: Option<(Bound<'_, PyAny>, bool)> = pair.ok();
            let Some(pair) = pair.and_then(|(dies, parity)| Some((whole(&dies)?, parity))) else {
                return of_no_use("superblock", &answer, SUPERBLOCK);
            };
            figures.superblock = Some(pair);
        }
        let answer = object.getattr("raid")?;
        if !answer.is_none() {
            let pair = answer.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok();
            let raid = pair.and_then(|(dies, open)| Some(Raid { dies: whole(&dies)?, open: whole(&open)? }));
            if raid.is_none() {
                return of_no_use("raid", &answer, RAID);
            }
            figures.raid = raid;
        }
        let turns =
            [("collects_in_turn", &mut figures.collects_in_turn), ("erases_in_turn", &mut figures.erases_in_turn)];
        for (method, figure) in turns {
            let answer = object.getattr(method)?;
            match truth(&answer)? {
                Ok(answer) => *figure = answer,
                Err(_) => return of_no_use(method, &answer, "True or False"),
            }
        }
        Ok(Ok(figures))
    }
}

impl GuestRedundancy for Protector {
    fn figures(&self) -> Figures {
        self.figures
    }

    fn groups(&self) -> Option<Vec<Vec<u32>>> {
        self.groups.clone()
    }

    fn goes_around(&mut self, view: &AroundView) -> Result<bool, Refusal> {
        let answer = self.seated.ask(|py| {
            let told = (view.wait as f64 / 1e6, view.wait_of_others as f64 / 1e6, view.held);
            truth(&self.seated.decide.bind(py).call1(told)?)
        })?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestRedundancy> {
        Box::new(Self { seated: self.seated.copy(), figures: self.figures, groups: self.groups.clone() })
    }
}

impl GuestTrim for Seated {
    fn invalidates(&mut self, first: u32, count: u32) -> Result<bool, Refusal> {
        let answer = self.ask(|py| truth(&self.decide.bind(py).call1((first, count))?))?;
        Ok(answer?)
    }

    fn fork(&self) -> Box<dyn GuestTrim> {
        Box::new(self.copy())
    }
}
