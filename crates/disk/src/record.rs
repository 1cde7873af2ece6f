//! The trace of what clients asked of a drive, at the times at which the drive could take it: replayed, it gives the same run.

use wordline_base::{Op, Request, Time};
use wordline_workload::{Record, TraceWriter, WriteError, Written};

/// Writes the trace.
pub struct Recorder {
    writer: TraceWriter,
    /// The first error; nothing is written after it.
    failed: Option<WriteError>,
    first: Option<Time>,
    last: Time,
}

impl Recorder {
    /// Writes to `writer`.
    #[must_use]
    pub fn new(writer: TraceWriter) -> Self {
        Self { writer, failed: None, first: None, last: 0 }
    }

    /// Writes a request that the drive could take at `time`. Times of a trace count from its first request.
    pub fn write(&mut self, time: Time, request: &Request) {
        if self.failed.is_some() {
            return;
        }
        let first = *self.first.get_or_insert(time);
        // Trace readers want times in order.
        self.last = self.last.max(time.saturating_sub(first));
        let bytes = if request.op == Op::Flush { 0 } else { request.bytes };
        let Request { offset, op, fua, .. } = *request;
        let record = Record { time_ps: u128::from(self.last), device: 0, offset, bytes, op, fua };
        self.failed = self.writer.write(&record, &[]).err();
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn finish(self) -> Result<Written, WriteError> {
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }
}
