//! Family `placement`: page allocation for writes.

use crate::policies;
use crate::policy::Trouble;

/// Constraint on page allocation for a queued write; the page is allocated when the write is issued to a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Any die: the first that is ready.
    Any,
    /// Any die of a channel.
    Channel(u32),
    /// Any plane of a die.
    Die(u32),
    /// One plane.
    Plane(u32),
}

/// In place of the request of a write that belongs to none.
pub const NO_REQUEST: u32 = crate::ops::NONE;

/// Decides page allocation for writes.
pub trait Placement {
    /// The constraint for the logical page `page` (mapping units of one page belong together), whatever writes it.
    /// An external policy that fixes no planes has none.
    fn at(&self, page: u32) -> Constraint;
    /// The constraint for a write of the host, which has this number among the operations until it ends. It belongs to the request
    /// given, or to none ([`NO_REQUEST`]) while a drive is preconditioned or where the write buffer took it over.
    #[inline]
    fn place(&mut self, page: u32, operation: u32, request: u32) -> Constraint {
        let _ = (operation, request);
        self.at(page)
    }
    /// A write request of the host begins; its writes come afterwards.
    #[inline]
    fn begin(&mut self, request: u32) {
        let _ = request;
    }
    /// True if it needs the request of each write.
    fn needs_requests(&self) -> bool {
        false
    }
    /// The answer of [`Self::place`] for a write that still waits.
    #[inline]
    fn placed(&self, page: u32, operation: u32) -> Constraint {
        let _ = operation;
        self.at(page)
    }
    /// A write that waits gets no page in its place: from now on it may go anywhere.
    fn give_up(&mut self, operation: u32) {
        let _ = operation;
    }
    /// True if a logical page always goes to the same plane.
    fn fixed(&self) -> bool;
    /// The planes of consecutive logical pages, from page 0 on, if they come round and round in this order: each as often as the others. Else
    /// none.
    #[inline]
    fn round(&self) -> &[u32] {
        &[]
    }
    /// True if planes take turns, so that a full one can be passed over.
    fn takes_turns(&self) -> bool {
        false
    }
    /// The plane that the last call gave takes no write: the next call gives another.
    fn pass_over(&mut self) {}
    /// The last problem with an external policy, if any.
    #[inline]
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

/// The planes of operations that are placed once, when they come: by the number of the operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<u32>);

impl Places {
    /// Notes the plane of an operation, and gives it as its place.
    #[inline]
    pub(super) fn note(&mut self, operation: u32, plane: u32) -> Constraint {
        let at = operation as usize;
        // It grows with the slab of operations, and no further.
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = plane;
        Constraint::Plane(plane)
    }

    /// The place of an operation, if it was noted.
    #[inline]
    pub(super) fn of(&self, operation: u32) -> Constraint {
        self.0.get(operation as usize).map_or(Constraint::Any, |&plane| Constraint::Plane(plane))
    }
}

policies! {
    family "placement" decides "where a write may go";
    trait Placement, config PlacementConfig, policy PlacementPolicy;
    members {
        /// A fixed plane for every logical page, in one of the 24 orders of channel, way, die and plane.
        "static" => fixed::Fixed,
        /// The next plane for each page that is written, in one of the 24 orders.
        "in-turn" => in_turn::InTurn,
        /// The next die for each request that writes, with all its pages.
        "by-request" => by_request::ByRequest,
        /// The first die that is ready takes the write.
        "least-busy" => least_busy::LeastBusy,
    }
    guest guest::Guest;
    methods {
        fn at(self: &Self, page: u32) -> Constraint;
        fn place(self: &mut Self, page: u32, operation: u32, request: u32) -> Constraint;
        fn begin(self: &mut Self, request: u32) -> ();
        fn needs_requests(self: &Self) -> bool;
        fn placed(self: &Self, page: u32, operation: u32) -> Constraint;
        fn give_up(self: &mut Self, operation: u32) -> ();
        fn fixed(self: &Self) -> bool;
        fn round(self: &Self) -> &[u32];
        fn takes_turns(self: &Self) -> bool;
        fn pass_over(self: &mut Self) -> ();
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

impl PlacementPolicy {
    /// Continues from the saved state of the same policy.
    pub(crate) fn restore(&mut self, saved: &Self) {
        match (self, saved) {
            (Self::InTurn(own), Self::InTurn(saved)) => own.restore(saved),
            (Self::ByRequest(own), Self::ByRequest(saved)) => own.restore(saved),
            _ => {}
        }
    }
}

impl PlacementPolicy {
    /// The most of so many pages, from page 0 on, that one of the planes has where pages have fixed planes.
    pub(crate) fn most_in_a_plane(&self, pages: u32, planes: u32) -> u32 {
        let period = (self.round().len() as u32).max(planes);
        let mut left = vec![0; planes as usize];
        for page in 0..pages % period {
            if let Constraint::Plane(plane) = self.at(page) {
                left[plane as usize] += 1;
            }
        }
        pages / period * (period / planes) + left.into_iter().max().unwrap_or(0)
    }
}
