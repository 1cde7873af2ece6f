//! The writer: the run's thread collects rows; another thread converts them to columns and writes them.

use crate::column::{schema, Column};
use crate::columns;
use crate::group::Group;
use crate::packed::Packed;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wordline_drive::observe::{
    BlockRow, ChannelTimes, DieTimes, IntervalRow, PlaneTimes, RequestRow, Sink, UnitRow, Wanted, SHORTEST_INTERVAL,
};
use wordline_drive::parts::Features;
use wordline_firmware::Plan;

/// The tables, in the order of their numbers.
pub const NAMES: [&str; 6] = ["requests", "intervals", "channels", "dies", "planes", "blocks"];

/// Rows sent to the other thread at a time, and rows of a group in a file.
const BATCH: usize = 1 << 9;
const GROUP: usize = 1 << 17;
const _: () = assert!(GROUP.is_multiple_of(BATCH), "a batch belongs to one group");
/// Batches waiting for the other thread before the run waits.
const PENDING: usize = 256;

/// Errors of tables.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// No such table.
    #[error("there is no table '{name}'; the tables are: {}", NAMES.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// Invalid sample or interval.
    #[error("{0}")]
    Size(String),
    /// A file that is no directory has the directory's name.
    #[error("{}: cannot write there: this is a file, and tables need a directory", path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{}: cannot write there: {}", path.display(), plain(error))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
    /// A table could not be completed.
    #[error("{}: cannot write: {}", path.display(), told(error))]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ParquetError,
    },
    /// The writing thread failed.
    #[error("the thread that writes the tables failed, which is a defect of Wordline")]
    Broken,
}

/// Error of the system, without its number.
fn plain(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

fn told(error: &ParquetError) -> String {
    match error {
        ParquetError::External(inner) => match inner.downcast_ref::<io::Error>() {
            Some(error) => plain(error),
            None => inner.to_string(),
        },
        other => other.to_string(),
    }
}

/// The names of the requested tables.
#[must_use]
pub fn names(wanted: &Wanted) -> Vec<&'static str> {
    let all = [wanted.requests, wanted.intervals, wanted.channels, wanted.dies, wanted.planes, wanted.blocks];
    NAMES.into_iter().zip(all).filter(|&(_, wanted)| wanted).map(|(name, _)| name).collect()
}

/// The tables of these names, with one request in `sample`, and intervals of this many picoseconds.
///
/// # Errors
/// There is no such table, or sample or interval is invalid.
pub fn wanted(
    names: &[String],
    sample: Option<u64>,
    interval: Option<u64>,
    window: Option<(u64, u64)>,
) -> Result<Wanted, TableError> {
    let mut wanted = Wanted::NOTHING;
    for name in names {
        *(match name.as_str() {
            "requests" => &mut wanted.requests,
            "intervals" => &mut wanted.intervals,
            "channels" => &mut wanted.channels,
            "dies" => &mut wanted.dies,
            "planes" => &mut wanted.planes,
            "blocks" => &mut wanted.blocks,
            _ => return Err(TableError::Unknown { name: name.clone() }),
        }) = true;
    }
    wanted.sample = sample.unwrap_or(wanted.sample);
    wanted.interval = interval.unwrap_or(wanted.interval);
    wanted.window = window.unwrap_or(wanted.window);
    if wanted.sample == 0 {
        return Err(TableError::Size("a sample of one request in 0: give 1/N with N of 1 or more".into()));
    }
    if wanted.interval < SHORTEST_INTERVAL {
        let shortest = SHORTEST_INTERVAL / 1_000_000;
        return Err(TableError::Size(format!(
            "an interval of {} ps is too short; give at least {shortest} us",
            wanted.interval
        )));
    }
    Ok(wanted)
}

/// The metadata of each file, by name; each name gets the prefix `wordline.`.
pub type Facts = Vec<(&'static str, String)>;

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Its rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Rows for the other thread.
enum Rows {
    Requests(Packed),
    Intervals(Vec<IntervalRow>),
    Channels(Vec<UnitRow<ChannelTimes>>),
    Dies(Vec<UnitRow<DieTimes>>),
    Planes(Vec<UnitRow<PlaneTimes>>),
    Blocks(Vec<BlockRow>),
}

/// A file under a temporary name, which is removed unless it gets its own name.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    temporary: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        // After renaming there is no temporary file.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Removes partial tables of killed processes; those of live processes are locked.
fn clear(directory: &Path, name: &str) {
    let start = format!(".{name}.parquet.");
    let is_part = |file: &str| file.starts_with(&start) && file.ends_with(".part");
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_part)
            && File::open(entry.path()).is_ok_and(|part| part.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// One table.
struct Table<R> {
    name: &'static str,
    columns: Vec<Column<R>>,
    place: Place,
    rows: u64,
    group: Group,
    writer: Result<SerializedFileWriter<File>, ParquetError>,
}

impl<R> Table<R> {
    /// Opens the file of a table, if requested.
    fn open(at: usize, wanted: bool, directory: &Path, columns: Vec<Column<R>>) -> Result<Option<Self>, TableError> {
        if !wanted {
            return Ok(None);
        }
        let name = NAMES[at];
        let path = directory.join(format!("{name}.parquet"));
        if path.is_dir() {
            let error = io::Error::other("this is a directory");
            return Err(TableError::Io { path, error });
        }
        clear(directory, name);
        let temporary = directory.join(format!(".{name}.parquet.{}.part", std::process::id()));
        let place = Place { path, temporary };
        let file =
            File::create(&place.temporary).map_err(|error| TableError::Io { path: place.path.clone(), error })?;
        // Held until it is renamed or removed. Without file locks nothing is cleaned up.
        let _ = file.try_lock();
        let writer = schema(name, &columns)
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties(&columns))));
        Ok(Some(Self { name, columns, place, rows: 0, group: Group::default(), writer }))
    }

    /// Writes a batch of rows; does nothing after a first failure.
    fn write(&mut self, rows: &[R]) {
        let Ok(writer) = &mut self.writer else { return };
        let mut written = self.group.add(writer, &self.columns, rows);
        if written.is_ok() && self.group.rows() >= GROUP {
            written = self.group.end(writer);
        }
        match written {
            Ok(()) => self.rows += rows.len() as u64,
            Err(error) => self.writer = Err(error),
        }
    }

    /// Closes the file and renames it.
    fn finish(self, facts: &Facts) -> Result<Written, TableError> {
        let Self { name, columns, place, rows, mut group, writer } = self;
        let closed = writer.and_then(|mut writer| {
            group.end(&mut writer)?;
            for (key, value) in facts {
                writer.append_key_value_metadata(KeyValue::new(format!("wordline.{key}"), value.clone()));
            }
            for Column { name, doc, .. } in columns {
                writer.append_key_value_metadata(KeyValue::new(format!("wordline.doc.{name}"), doc));
            }
            writer.close()
        });
        if let Err(error) = closed {
            return Err(TableError::Write { path: place.path.clone(), error });
        }
        let named = fs::rename(&place.temporary, &place.path).and_then(|()| fs::metadata(&place.path));
        match named {
            Ok(about) => Ok(Written { name, path: place.path.clone(), rows, bytes: about.len() }),
            Err(error) => Err(TableError::Io { path: place.path.clone(), error }),
        }
    }
}

/// zstd, and dictionaries for all columns with repeated values.
fn properties<R>(columns: &[Column<R>]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("wordline ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP));
    for column in columns.iter().filter(|column| column.varied) {
        let path = ColumnPath::from(column.name.as_str());
        let split = column.is_floating();
        let encoding = if split { Encoding::BYTE_STREAM_SPLIT } else { Encoding::DELTA_BINARY_PACKED };
        properties = properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    properties.build()
}

/// All tables of a run, on the writing thread.
struct Files {
    requests: Option<Table<RequestRow>>,
    unpacked: Vec<RequestRow>,
    intervals: Option<Table<IntervalRow>>,
    channels: Option<Table<UnitRow<ChannelTimes>>>,
    dies: Option<Table<UnitRow<DieTimes>>>,
    planes: Option<Table<UnitRow<PlaneTimes>>>,
    blocks: Option<Table<BlockRow>>,
}

impl Files {
    fn open(directory: &Path, wanted: &Wanted, plan: &Plan) -> Result<Self, TableError> {
        let tasks = plan.tasks;
        Ok(Self {
            unpacked: Vec::new(),
            requests: Table::open(0, wanted.requests, directory, columns::requests(tasks, Features::of(plan)))?,
            intervals: Table::open(
                1,
                wanted.intervals,
                directory,
                columns::intervals(tasks, [plan.has_map(), plan.has_stage, plan.slc.is_some()]),
            )?,
            channels: Table::open(2, wanted.channels, directory, columns::channels(tasks))?,
            dies: Table::open(3, wanted.dies, directory, columns::dies(tasks))?,
            planes: Table::open(4, wanted.planes, directory, columns::planes(tasks))?,
            blocks: Table::open(5, wanted.blocks, directory, columns::blocks())?,
        })
    }

    fn write(&mut self, rows: &Rows) {
        match rows {
            Rows::Requests(packed) => {
                self.unpacked.clear();
                packed.unpack(&mut self.unpacked);
                write(&mut self.requests, &self.unpacked);
            }
            Rows::Intervals(rows) => write(&mut self.intervals, rows),
            Rows::Channels(rows) => write(&mut self.channels, rows),
            Rows::Dies(rows) => write(&mut self.dies, rows),
            Rows::Planes(rows) => write(&mut self.planes, rows),
            Rows::Blocks(rows) => write(&mut self.blocks, rows),
        }
    }

    fn finish(self, facts: &Facts) -> Vec<Result<Written, TableError>> {
        let mut all = Vec::new();
        all.extend(self.requests.map(|table| table.finish(facts)));
        all.extend(self.intervals.map(|table| table.finish(facts)));
        all.extend(self.channels.map(|table| table.finish(facts)));
        all.extend(self.dies.map(|table| table.finish(facts)));
        all.extend(self.planes.map(|table| table.finish(facts)));
        all.extend(self.blocks.map(|table| table.finish(facts)));
        all
    }
}

fn write<R>(table: &mut Option<Table<R>>, rows: &[R]) {
    if let Some(table) = table {
        table.write(rows);
    }
}

/// The tables of a run in progress. Drop it after its row sink.
#[derive(Debug)]
pub struct Tables {
    thread: Option<JoinHandle<Files>>,
    sender: Option<SyncSender<Rows>>,
    emptied: Option<Receiver<Packed>>,
}

impl Tables {
    /// Opens a file for each table, in a directory that is created if necessary.
    ///
    /// # Errors
    /// If that fails.
    pub fn open(directory: &Path, wanted: &Wanted, plan: &Plan) -> Result<Self, TableError> {
        if directory.exists() && !directory.is_dir() {
            return Err(TableError::NoDirectory { path: directory.to_owned() });
        }
        fs::create_dir_all(directory).map_err(|error| TableError::Io { path: directory.to_owned(), error })?;
        let mut files = Files::open(directory, wanted, plan)?;
        let (sender, receiver) = sync_channel::<Rows>(PENDING);
        let (give_back, emptied) = channel();
        let thread = thread::spawn(move || {
            for rows in receiver {
                files.write(&rows);
                if let Rows::Requests(rows) = rows {
                    // The collector of rows may be dropped first.
                    let _ = give_back.send(rows);
                }
            }
            files
        });
        Ok(Self { thread: Some(thread), sender: Some(sender), emptied: Some(emptied) })
    }

    /// The row sink. Dropping it writes the remaining rows.
    ///
    /// # Panics
    /// If called twice.
    pub fn sink(&mut self) -> Box<dyn Sink> {
        let parts = self.sender.take().zip(self.emptied.take());
        let (sender, emptied) = parts.expect("a run has one place for its rows");
        Box::new(Gathered {
            sender,
            emptied,
            requests: Packed::new(),
            intervals: Vec::new(),
            channels: Vec::new(),
            dies: Vec::new(),
            planes: Vec::new(),
            blocks: Vec::new(),
        })
    }

    /// Closes all files; waits until the row sink is dropped.
    #[must_use]
    pub fn finish(mut self, facts: &Facts) -> Vec<Result<Written, TableError>> {
        match self.join() {
            Some(files) => files.finish(facts),
            None => vec![Err(TableError::Broken)],
        }
    }

    /// Waits until all rows are written.
    fn join(&mut self) -> Option<Files> {
        drop(self.sender.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // Unfinished files are removed before the program ends.
        drop(self.join());
    }
}

/// Rows of an incomplete batch.
struct Gathered {
    sender: SyncSender<Rows>,
    /// Buffers of written rows, for reuse.
    emptied: Receiver<Packed>,
    requests: Packed,
    intervals: Vec<IntervalRow>,
    channels: Vec<UnitRow<ChannelTimes>>,
    dies: Vec<UnitRow<DieTimes>>,
    planes: Vec<UnitRow<PlaneTimes>>,
    blocks: Vec<BlockRow>,
}

/// Adds a row, and sends complete batches. If the other thread has ended, the error comes at the end.
#[inline]
fn gather<R: Clone>(sender: &SyncSender<Rows>, rows: &mut Vec<R>, row: &R, pack: fn(Vec<R>) -> Rows) {
    rows.push(row.clone());
    if rows.len() == BATCH {
        let full = std::mem::replace(rows, Vec::with_capacity(BATCH));
        let _ = sender.send(pack(full));
    }
}

impl Sink for Gathered {
    fn request(&mut self, row: &RequestRow) {
        self.requests.push(row);
        if self.requests.is_full() {
            let mut fresh = self.emptied.try_recv().unwrap_or_else(|_| Packed::new());
            fresh.clear();
            let _ = self.sender.send(Rows::Requests(std::mem::replace(&mut self.requests, fresh)));
        }
    }

    fn interval(&mut self, row: &IntervalRow) {
        gather(&self.sender, &mut self.intervals, row, Rows::Intervals);
    }

    fn channel(&mut self, row: &UnitRow<ChannelTimes>) {
        gather(&self.sender, &mut self.channels, row, Rows::Channels);
    }

    fn die(&mut self, row: &UnitRow<DieTimes>) {
        gather(&self.sender, &mut self.dies, row, Rows::Dies);
    }

    fn plane(&mut self, row: &UnitRow<PlaneTimes>) {
        gather(&self.sender, &mut self.planes, row, Rows::Planes);
    }

    fn block(&mut self, row: &BlockRow) {
        gather(&self.sender, &mut self.blocks, row, Rows::Blocks);
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        let rest = [
            Rows::Requests(std::mem::take(&mut self.requests)),
            Rows::Intervals(std::mem::take(&mut self.intervals)),
            Rows::Channels(std::mem::take(&mut self.channels)),
            Rows::Dies(std::mem::take(&mut self.dies)),
            Rows::Planes(std::mem::take(&mut self.planes)),
            Rows::Blocks(std::mem::take(&mut self.blocks)),
        ];
        for rows in rest {
            let _ = self.sender.send(rows);
        }
    }
}
