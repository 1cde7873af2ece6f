//! Operations that wait for a die, as bits: one for each task, kind of operation and plane.

use crate::task::{Class, STRIDE, TASKS};
use wordline_flash::MAX_PLANES;

const PLANES: u32 = MAX_PLANES as u32;

/// Non-empty queues of a die, by task: bit `action * MAX_PLANES + plane`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready([u32; TASKS]);

const _: () = assert!(STRIDE as usize * MAX_PLANES <= u32::BITS as usize);

#[inline]
fn bit(class: Class, plane: u32) -> u32 {
    class.within_task() * PLANES + plane
}

impl Ready {
    /// Nothing waits.
    pub const NOTHING: Self = Self([0; TASKS]);

    /// Operations of a class wait for a plane of the die.
    #[inline]
    pub fn set(&mut self, class: Class, plane: u32) {
        self.0[class.task().index()] |= 1 << bit(class, plane);
    }

    /// No operations of a class wait for a plane any more.
    #[inline]
    pub fn clear(&mut self, class: Class, plane: u32) {
        self.0[class.task().index()] &= !(1 << bit(class, plane));
    }

    /// True if operations of a class wait.
    #[inline]
    pub fn has(self, class: Class) -> bool {
        self.0[class.task().index()] >> bit(class, 0) & ((1 << MAX_PLANES) - 1) != 0
    }

    /// Takes the next class and plane with operations, class by class; a copy is emptied in this way.
    #[inline]
    pub fn next(&mut self) -> Option<(Class, u32)> {
        for (task, queues) in (0..).zip(&mut self.0) {
            if *queues != 0 {
                let bit = queues.trailing_zeros();
                *queues &= *queues - 1;
                return Some((Class::numbered(task * STRIDE + (bit / PLANES) as u8), bit % PLANES));
            }
        }
        None
    }
}
