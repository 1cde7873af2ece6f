//! Reading a table in memory where it lies, in place of a file.

use super::parser::{Item, Parsed};
use super::source::Shared;
use super::table::{Row, RowProblem, Rows, Table};
use crate::device::DeviceTable;
use crate::error::{option, WorkloadError};
use crate::options::TraceOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wordline_base::Op;

/// Goes through a table.
pub(crate) struct Cursor {
    /// Label of the table in messages.
    name: PathBuf,
    rows: Arc<dyn Rows>,
    /// The row after the current one.
    next: usize,
}

impl Cursor {
    pub fn open(name: &Path, table: &Table, options: &TraceOptions) -> Result<Self, WorkloadError> {
        let text = "a table has columns and no lines; leave this out";
        let set = [
            ("trace.format", options.format.map(|format| format.name().to_owned())),
            ("trace.read_is", options.read_is.clone()),
            ("trace.write_is", options.write_is.clone()),
        ];
        if let Some((key, Some(value))) = set.into_iter().find(|(_, value)| value.is_some()) {
            return Err(option(key, value, text));
        }
        Ok(Self { name: name.to_owned(), rows: Arc::clone(&table.0), next: 0 })
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The next request of a device that is wanted.
    #[inline]
    pub fn next(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        while let Some(parsed) = self.advance(&mut shared.devices)? {
            shared.requests += 1;
            if shared.keeps(parsed.device) {
                return Ok(Some(Item { parsed, line: self.next as u64 }));
            }
        }
        Ok(None)
    }

    #[inline]
    fn advance(&mut self, devices: &mut DeviceTable) -> Result<Option<Parsed>, WorkloadError> {
        if self.next == self.rows.len() {
            return Ok(None);
        }
        self.next += 1;
        let Row { time_ps, device, offset, bytes, op, fua } =
            self.rows.row(self.next - 1).map_err(|problem| self.error(problem))?;
        let name = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        let device = if device.is_empty() { 0 } else { devices.number(device.as_bytes(), name) };
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        Ok(Some(Parsed { time: time_ps, device, offset, bytes: u64::from(bytes), op, fua }))
    }

    pub fn progress(&self) -> f64 {
        self.next as f64 / self.rows.len().max(1) as f64
    }

    /// An error about the current row.
    #[cold]
    pub fn error(&self, problem: RowProblem) -> WorkloadError {
        let RowProblem { field, value, problem } = problem;
        WorkloadError::Row { table: self.name.clone(), row: self.next as u64 - 1, field, value, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Backwards;
    use crate::{info, Record, TraceReader};

    struct Few(Vec<Row<'static>>);

    impl Rows for Few {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn describe(&self) -> String {
            "a few rows".to_owned()
        }

        fn row(&self, at: usize) -> Result<Row<'_>, RowProblem> {
            match self.0[at] {
                Row { bytes: 13, .. } => {
                    Err(RowProblem { field: "size", value: "13".to_owned(), problem: "bad luck".to_owned() })
                }
                row => Ok(row),
            }
        }
    }

    const ROW: Row<'static> = Row { time_ps: 700, device: "", offset: 4096, bytes: 512, op: Op::Read, fua: false };

    fn options(rows: Vec<Row<'static>>) -> TraceOptions {
        TraceOptions { table: Some(Table(Arc::new(Few(rows)))), ..TraceOptions::default() }
    }

    fn all(options: &TraceOptions) -> Result<Vec<Record>, String> {
        let mut reader = TraceReader::open(Path::new("frame"), options).map_err(|error| error.to_string())?;
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn rows_become_records() {
        let rows = vec![
            ROW,
            Row { time_ps: 900, device: "b", op: Op::Write, fua: true, ..ROW },
            Row { time_ps: 900, device: "a", op: Op::Flush, bytes: 13_000, ..ROW },
        ];
        let records = all(&options(rows.clone())).unwrap();
        let first = Record { time_ps: 0, device: 0, offset: 4096, bytes: 512, op: Op::Read, fua: false };
        assert_eq!(records[0], first);
        assert_eq!(records[1], Record { time_ps: 200, op: Op::Write, fua: true, ..first });
        assert_eq!(records[2], Record { time_ps: 200, device: 1, op: Op::Flush, offset: 0, bytes: 0, ..first });
        let told = info(Path::new("frame"), &options(rows)).unwrap();
        assert_eq!((told.requests, told.read_bytes, told.written_bytes, told.flushes), (3, 512, 512, 1));
        assert_eq!(told.detected.reason, "a few rows");
    }

    #[test]
    fn wrong_rows_are_named() {
        let bad = all(&options(vec![ROW, Row { bytes: 13, ..ROW }])).unwrap_err();
        assert_eq!(bad, "frame, row 1 (the first is 0): size `13`: bad luck");
        let back = options(vec![ROW, Row { time_ps: 699, ..ROW }]);
        let error = all(&back).unwrap_err();
        assert!(error.starts_with("frame, row 1 (the first is 0): time: runs backwards"), "{error}");
        assert_eq!(all(&TraceOptions { backwards: Backwards::Clamp, ..back }).unwrap()[1].time_ps, 0);
        let none = all(&options(vec![])).unwrap_err();
        assert!(none.contains("no request in this trace: it has no row"), "{none}");
        let format = TraceOptions { read_is: Some("28".to_owned()), ..options(vec![ROW]) };
        assert!(all(&format).unwrap_err().starts_with("trace.read_is = 28: a table has columns"), "an option of lines");
    }
}
