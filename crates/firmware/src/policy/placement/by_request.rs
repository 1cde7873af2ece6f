//! Allocation by request: all pages of a request go to one die, and the next request that writes to the next die.
//!
//! Source: dirik09 (section 3): modular striping, where of x banks the N-th write request goes to bank N mod x, and takes the next pages of
//! the block that is being filled there.
//! Faithful: what counts is the number of the request among those that write, not its address or size; each die fills its blocks page by
//! page. Assumed: a bank is a die, and banks are numbered by channels first (`order`); several planes of a die take turns,
//! program by program; a plane that holds more valid data than its spare blocks allow is passed over until it holds less; what preconditioning
//! writes comes in requests of `fill_kib`.

use super::fixed::visit;
use super::{Constraint, Places, Placement, NO_REQUEST};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "allocation by request: the N-th request that writes goes with all its pages to die N modulo the dies (modular striping)",
    source: "dirik09 section 3",
    note: "a bank is a die; a plane with more valid data than its spare blocks allow is passed over",
};

/// Options of placement by request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Order in which requests visit the dies: the letters C (channel), W (way, a package on its channel) and D (die), each once, the
    /// fastest-changing first. A letter P is ignored.
    pub order: String,
    /// Size of the requests in which preconditioning writes, in KiB, rounded up to whole logical pages, 1 to 1,048,576. Absent: a
    /// program each.
    pub fill_kib: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { order: "CWD".into(), fill_kib: None }
    }
}

/// Where a request writes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Spot {
    /// The place of its die in the order.
    at: u32,
    /// Units that were placed there, or would have been.
    placed: u32,
    /// Planes that were passed over.
    passed: u32,
    /// The plane of its last program, within the die.
    plane: u32,
}

/// Placement by request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ByRequest(Box<Turns>);

/// Its state, in a box: other policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Turns {
    /// Dies in order.
    dies: Vec<u32>,
    planes_per_die: u32,
    /// Units that fill a program.
    units: u32,
    /// Units of a request of preconditioning.
    fill: u32,
    /// The die of the next request, by its place in the order.
    turn: u32,
    /// By die, in order: the plane of the next program there.
    plane_turns: Vec<u32>,
    /// The request of preconditioning that is being written; it has its units if none is.
    filling: Spot,
    /// By request of the host.
    #[serde(skip)]
    spots: Vec<Spot>,
    /// The request that was placed last.
    #[serde(skip)]
    last: u32,
    /// By operation, its plane.
    #[serde(skip)]
    places: Places,
}

impl Turns {
    /// The next request has its turn.
    fn next(&mut self) -> Spot {
        let at = self.turn;
        self.turn = (at + 1) % self.dies.len() as u32;
        Spot { at, ..Spot::default() }
    }

    fn spot_mut(&mut self, request: u32) -> &mut Spot {
        if request == NO_REQUEST {
            return &mut self.filling;
        }
        let at = request as usize;
        // It grows with the slots of requests, and no further.
        if at >= self.spots.len() {
            self.spots.resize(at + 1, Spot::default());
        }
        &mut self.spots[at]
    }
}

impl ByRequest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Build { geometry, units_per_program: units, .. } = *build;
        let mut order: Vec<u8> = options.order.to_uppercase().into_bytes();
        order.retain(|&letter| letter != b'P');
        let mut letters = order.clone();
        letters.sort_unstable();
        if letters != b"CDW" {
            let problem = "must hold each of the letters C, W, D once, such as CWD or DWC";
            return Err(ConfigError::new("placement.order", &options.order, problem));
        }
        if !build.plane_local {
            return Err(ConfigError::new(
                "placement.policy",
                "by-request",
                "needs garbage collection per plane, so that each plane keeps blocks free: write collect.scope = \"plane\", or \
                 placement.policy = \"least-busy\"",
            ));
        }
        let unit_bytes = u64::from(geometry.program_bytes() / units);
        let fill = match options.fill_kib {
            None => units,
            Some(kib @ 1..=1_048_576) => (u64::from(kib) * 1024).div_ceil(unit_bytes) as u32,
            Some(kib) => return Err(ConfigError::new("placement.fill_kib", kib, "must lie between 1 and 1,048,576")),
        };
        let planes_per_die = geometry.planes_per_die;
        // Planes come last: the first of all dies come before any second one.
        order.push(b'P');
        let planes = visit(&order, geometry);
        let filling = Spot { placed: fill, ..Spot::default() };
        Ok(Self(Box::new(Turns {
            dies: planes[..geometry.dies() as usize].iter().map(|plane| plane / planes_per_die).collect(),
            planes_per_die,
            units,
            fill,
            turn: 0,
            plane_turns: vec![0; geometry.dies() as usize],
            filling,
            spots: Vec::new(),
            last: NO_REQUEST,
            places: Places::default(),
        })))
    }

    /// Goes on where a drive that was saved stood.
    pub(super) fn restore(&mut self, saved: &Self) {
        let (own, saved) = (&mut *self.0, &*saved.0);
        let dies = own.dies.len() as u32;
        own.turn = saved.turn % dies;
        for (own_turn, turn) in own.plane_turns.iter_mut().zip(&saved.plane_turns) {
            *own_turn = turn % own.planes_per_die;
        }
        let Spot { at, placed, passed, plane } = saved.filling;
        own.filling =
            Spot { at: at % dies, placed: placed.min(own.fill), passed, plane: plane % own.planes_per_die };
    }
}

impl Placement for ByRequest {
    fn at(&self, _: u32) -> Constraint {
        Constraint::Any
    }

    fn begin(&mut self, request: u32) {
        let spot = self.0.next();
        *self.0.spot_mut(request) = spot;
    }

    fn place(&mut self, _: u32, operation: u32, request: u32) -> Constraint {
        let turns = &mut *self.0;
        if request == NO_REQUEST && turns.filling.placed >= turns.fill {
            turns.filling = turns.next();
        }
        let (units, planes) = (turns.units, turns.planes_per_die);
        let mut spot = *turns.spot_mut(request);
        // The planes of a die take turns over all requests, or small ones would fill the first alone.
        if spot.placed.is_multiple_of(units) {
            let turn = &mut turns.plane_turns[spot.at as usize];
            spot.plane = *turn;
            *turn = (*turn + 1) % planes;
        }
        spot.placed += 1;
        *turns.spot_mut(request) = spot;
        turns.last = request;
        let plane = turns.dies[spot.at as usize] * planes + spot.plane;
        turns.places.note(operation, plane)
    }

    fn placed(&self, _: u32, operation: u32) -> Constraint {
        self.0.places.of(operation)
    }

    fn fixed(&self) -> bool {
        false
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn needs_requests(&self) -> bool {
        true
    }

    /// The unit that was placed last goes to the next plane of its die, or on to the next die if all were tried.
    fn pass_over(&mut self) {
        let turns = &mut *self.0;
        let (units, planes, dies, last) = (turns.units, turns.planes_per_die, turns.dies.len() as u32, turns.last);
        let spot = turns.spot_mut(last);
        spot.passed += 1;
        if spot.passed.is_multiple_of(planes) {
            spot.at = (spot.at + 1) % dies;
        }
        spot.placed = (spot.placed - 1) / units * units + units;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn geometry(planes_per_die: u32) -> Geometry {
        let config = GeometryConfig {
            channels: 2,
            packages_per_channel: 2,
            dies_per_package: 1,
            planes_per_die,
            ..GeometryConfig::default()
        };
        Geometry::new(&config).unwrap()
    }

    fn policy(geometry: &Geometry, order: &str, fill_kib: Option<u32>, units_per_program: u32) -> ByRequest {
        let build = Build {
            geometry,
            units_per_program,
            plane_local: true,
            domains: geometry.planes(),
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 0,
        };
        ByRequest::new(&Options { order: order.into(), fill_kib }, &build).unwrap()
    }

    fn placed(policy: &mut ByRequest, request: u32, operations: std::ops::Range<u32>) -> Vec<u32> {
        let plane = |constraint| match constraint {
            Constraint::Plane(plane) => plane,
            other => panic!("{other:?} is no plane"),
        };
        operations.map(|operation| plane(policy.place(9, operation, request))).collect()
    }

    #[test]
    fn a_request_stays_in_its_die_and_the_next_one_goes_to_the_next() {
        let geometry = geometry(1);
        let mut policy = policy(&geometry, "CWD", None, 1);
        // Channels first: dies 0 and 2 are the first of their channels.
        for (request, die) in [(5, 0), (3, 2), (8, 1), (5, 3), (0, 0)] {
            policy.begin(request);
            assert_eq!(placed(&mut policy, request, 0..3), [die; 3], "request {request}");
        }
        // A write that comes late, since it had to read old data first, still belongs to its request.
        assert_eq!(placed(&mut policy, 8, 7..8), [1]);
        assert_eq!(policy.placed(9, 7), Constraint::Plane(1));
    }

    #[test]
    fn planes_of_a_die_take_turns_program_by_program() {
        let geometry = geometry(2);
        let mut policy = policy(&geometry, "DWCP", None, 2);
        policy.begin(0);
        policy.begin(1);
        assert_eq!(placed(&mut policy, 1, 0..5), [2, 2, 3, 3, 2]);
        // Plane 2 is full; so is 3: on with the next die.
        policy.pass_over();
        assert_eq!(placed(&mut policy, 1, 4..5), [3]);
        policy.pass_over();
        assert_eq!(placed(&mut policy, 1, 4..6), [4, 4]);
        // Requests of one program each use all planes of the die, too.
        policy.begin(2);
        assert_eq!(placed(&mut policy, 2, 0..2), [5, 5]);
    }

    #[test]
    fn preconditioning_writes_in_requests_of_its_own() {
        let geometry = geometry(1);
        // Programs of 16 KiB in two units; requests of 20 KiB have three units.
        let mut policy = policy(&geometry, "WCD", Some(20), 2);
        assert_eq!(placed(&mut policy, NO_REQUEST, 0..7), [0, 0, 0, 1, 1, 1, 2]);
        let mut other = self::policy(&geometry, "WCD", Some(20), 2);
        other.restore(&policy);
        assert_eq!(placed(&mut other, NO_REQUEST, 0..3), [2, 2, 3]);
        other.begin(0);
        assert_eq!(placed(&mut other, 0, 0..1), [0]);
    }

    #[test]
    fn orders_and_sizes_that_cannot_be_are_refused() {
        let geometry = geometry(1);
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: true,
            domains: 4,
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 0,
        };
        let shown = |order: &str, fill_kib, plane_local| {
            let build = Build { plane_local, ..build };
            ByRequest::new(&Options { order: order.into(), fill_kib }, &build).unwrap_err().to_string()
        };
        let order = "placement.order = CW: must hold each of the letters C, W, D once, such as CWD or DWC";
        assert_eq!(shown("CW", None, true), order);
        assert_eq!(shown("CWD", Some(0), true), "placement.fill_kib = 0: must lie between 1 and 1,048,576");
        assert!(shown("CWD", None, false).starts_with("placement.policy = by-request: needs garbage collection per plane"));
    }
}
