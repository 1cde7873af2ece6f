//! Lines that were read at once, ahead of whoever takes them: one call of a parser reads as many as there is room for.
//!
//! What a line says at once depends on nothing but its bytes and the devices named before it, so lines read ahead may be dropped and
//! read again. The room is used again and again.

use super::parser::Line;

/// Lines that there is room for: few enough to stay close to the processor.
const LINES: usize = 128;

/// Lines one behind another, the next one first.
pub(crate) struct Batch {
    lines: Box<[Line]>,
    next: usize,
    count: usize,
    /// True if the line behind them is not as most are.
    stopped: bool,
}

impl Batch {
    pub fn new() -> Self {
        Self { lines: vec![Line::default(); LINES].into_boxed_slice(), next: 0, count: 0, stopped: false }
    }

    /// Lines that have not been taken.
    #[inline]
    pub fn rest(&self) -> &[Line] {
        &self.lines[self.next..self.count]
    }

    /// Reads further lines into the room of those that have all been taken, by what gives their number.
    pub fn fill(&mut self, read: impl FnOnce(&mut [Line]) -> usize) {
        if !self.stopped {
            self.next = 0;
            self.count = read(&mut self.lines);
            self.stopped = self.count < LINES;
        }
    }

    /// Takes so many lines, one at least; gives how many bytes they have, and how many of them the last one.
    #[inline]
    pub fn take(&mut self, count: usize) -> (usize, usize) {
        let from = self.end_before(self.next);
        self.next += count;
        let end = self.end_before(self.next);
        (end - from, end - self.end_before(self.next - 1))
    }

    #[inline]
    fn end_before(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |before| self.lines[before].end as usize)
    }

    /// Drops all lines, as the next one is read in another way.
    #[inline]
    pub fn clear(&mut self) {
        (self.next, self.count, self.stopped) = (0, 0, false);
    }
}
