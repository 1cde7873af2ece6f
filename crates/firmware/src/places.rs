//! The planes of operations that are placed once, when they come: by the number of the operation.

use crate::policy::placement::Constraint;

/// By operation, its plane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<u32>);

impl Places {
    /// Notes the plane of an operation, and gives it as its place.
    #[inline]
    pub(crate) fn note(&mut self, operation: u32, plane: u32) -> Constraint {
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
    pub(crate) fn of(&self, operation: u32) -> Constraint {
        self.0.get(operation as usize).map_or(Constraint::Any, |&plane| Constraint::Plane(plane))
    }
}
