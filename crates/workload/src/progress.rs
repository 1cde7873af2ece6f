//! Progress of reading a trace, as whoever waits for it is told.

/// Requests between two progress reports.
pub(crate) const REPORTED: u64 = 1 << 16;

/// Progress of reading a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Share of the file already read, 0 to 1.
    pub fraction: f64,
    /// Requests so far.
    pub requests: u64,
}

/// Progress callback; it can stop the reading.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(Reading) -> bool;
