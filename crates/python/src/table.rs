//! A trace in memory: columns that came over the Arrow C interface, read where they are.

use crate::failure::Failure;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Int16Type, Int32Type, Int64Type, Int8Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt16Type, UInt32Type, UInt64Type,
    UInt8Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch,
    StringArray, UInt64Array,
};
use arrow_schema::{DataType, Schema, TimeUnit as ArrowUnit};
use std::sync::Arc;
use wordline_base::Op;
use wordline_workload::{column, Columns, Kind, Row, RowProblem, Rows, TimeUnit, TraceOptions, Unclear};

/// Largest request, in bytes.
const LARGEST: u64 = 1 << 30;

const TIMES: [(&str, TimeUnit); 5] =
    [("_s", TimeUnit::S), ("_ms", TimeUnit::Ms), ("_us", TimeUnit::Us), ("_ns", TimeUnit::Ns), ("_ps", TimeUnit::Ps)];

const WORDS: [(&str, Op); 5] =
    [("read", Op::Read), ("write", Op::Write), ("trim", Op::Trim), ("flush", Op::Flush), ("discard", Op::Trim)];

/// The whole table.
pub struct Trace {
    chunks: Vec<Chunk>,
    /// First row of each chunk.
    starts: Vec<usize>,
    rows: usize,
    described: String,
}

impl Trace {
    /// The trace in a table's batches. Columns are found as in a CSV trace, or as the options name them.
    pub fn new(batches: &[RecordBatch], schema: &Schema, options: &TraceOptions) -> Result<Self, Failure> {
        let layout = Layout::new(schema, options)?;
        let (mut chunks, mut starts, mut rows) = (Vec::new(), Vec::new(), 0);
        for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
            chunks.push(layout.chunk(batch)?);
            starts.push(rows);
            rows += batch.num_rows();
        }
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let described = format!("a table in memory with the columns {}", names.join(", "));
        Ok(Self { chunks, starts, rows, described })
    }
}

impl Rows for Trace {
    fn len(&self) -> usize {
        self.rows
    }

    fn describe(&self) -> String {
        self.described.clone()
    }

    #[inline]
    fn row(&self, at: usize) -> Result<Row<'_>, RowProblem> {
        let chunk = self.starts.partition_point(|&start| start <= at) - 1;
        self.chunks[chunk].row(at - self.starts[chunk])
    }
}

/// Where the columns are, and what their numbers mean.
struct Layout {
    time: usize,
    /// Picoseconds of one unit of time; nothing where the column's type says it.
    time_ps: Option<u64>,
    op: usize,
    /// Column and bytes of one unit.
    offset: (usize, u64),
    size: (usize, u64),
    device: Option<usize>,
    fua: Option<usize>,
}

impl Layout {
    fn new(schema: &Schema, options: &TraceOptions) -> Result<Self, Failure> {
        let Columns { time, op, offset_bytes, lba, size_bytes, blocks, device, fua } = &options.columns;
        let finder = Finder { names: schema.fields().iter().map(|field| field.name().as_str()).collect() };
        let times = ["time", "time_s", "time_ms", "time_us", "time_ns", "time_ps"];
        let time = finder.one("time", "the time", time.as_deref(), &times)?;
        let unit = |own: u64, given: Option<u64>, key: &str| match given {
            Some(bytes) if bytes == 0 || bytes > 1 << 20 => {
                Err(Failure::Input(format!("trace.{key} = {bytes}: must be 1 to 1048576 bytes")))
            }
            given => Ok(given.unwrap_or(own)),
        };
        let (at, own) = finder.either(
            "the address",
            ("offset_bytes", offset_bytes.as_deref(), &["offset_bytes", "offset"]),
            ("lba", lba.as_deref()),
        )?;
        let offset = (at, unit(own, options.address_block_bytes, "address_block_bytes")?);
        let (at, own) = finder.either(
            "the size",
            ("size_bytes", size_bytes.as_deref(), &["size_bytes", "size"]),
            ("blocks", blocks.as_deref()),
        )?;
        Ok(Self {
            time,
            time_ps: time_unit(schema, time, options)?,
            op: finder.one("op", "the operation", op.as_deref(), &["op"])?,
            offset,
            size: (at, unit(own, options.size_block_bytes, "size_block_bytes")?),
            device: finder.maybe("device", "the device", device.as_deref(), &["device"])?,
            fua: finder.maybe("fua", "force unit access", fua.as_deref(), &["fua"])?,
        })
    }

    fn chunk(&self, batch: &RecordBatch) -> Result<Chunk, Failure> {
        let name = |at: usize| batch.schema_ref().field(at).name().clone();
        let whole = |(at, unit): (usize, u64)| Ok::<_, Failure>((Whole::new(&name(at), batch.column(at))?, unit));
        let op = words(&name(self.op), batch.column(self.op))?;
        let texts = op.values().as_string::<i32>();
        let ops = texts.iter().map(|text| text.and_then(op_of)).collect();
        Ok(Chunk {
            time: Times::new(&name(self.time), batch.column(self.time), self.time_ps)?,
            ops,
            op,
            offset: whole(self.offset)?,
            size: whole(self.size)?,
            device: self.device.map(|at| words(&name(at), batch.column(at))).transpose()?,
            fua: self.fua.map(|at| truth(&name(at), batch.column(at))).transpose()?,
        })
    }
}

/// Finds columns by their names, in any case.
struct Finder<'a> {
    names: Vec<&'a str>,
}

impl Finder<'_> {
    fn find(&self, what: &str, kinds: &[Kind]) -> Result<Option<(usize, usize)>, Failure> {
        column(&self.names, what, kinds).map_err(|unclear| {
            Failure::Input(match unclear {
                Unclear::Missing { key, name } => {
                    format!("trace.columns.{key} = {name:?}: no such column; the table has {}", self.names.join(", "))
                }
                Unclear::Several(problem) => format!("the table is not clear: {problem}"),
            })
        })
    }

    /// The column that the user named for `key`, or else the one with a usual name.
    fn maybe(&self, key: &str, what: &str, given: Option<&str>, usual: &[&str]) -> Result<Option<usize>, Failure> {
        Ok(self.find(what, &[Kind { key, given, usual }])?.map(|(_, at)| at))
    }

    fn one(&self, key: &str, what: &str, named: Option<&str>, usual: &[&str]) -> Result<usize, Failure> {
        self.maybe(key, what, named, usual)?.ok_or_else(|| self.missing(key, what, usual))
    }

    /// A column of bytes, or one of blocks of 512 bytes, with its unit in bytes.
    fn either(
        &self,
        what: &str,
        (bytes_key, bytes, usual): (&str, Option<&str>, &[&str]),
        (blocks_key, blocks): (&str, Option<&str>),
    ) -> Result<(usize, u64), Failure> {
        let kinds = [
            Kind { key: bytes_key, given: bytes, usual },
            Kind { key: blocks_key, given: blocks, usual: &[blocks_key] },
        ];
        let found = self.find(what, &kinds)?.map(|(kind, at)| (at, [1, 512][kind]));
        found.ok_or_else(|| self.missing(bytes_key, what, &[usual, &[blocks_key]].concat()))
    }

    #[cold]
    fn missing(&self, key: &str, what: &str, usual: &[&str]) -> Failure {
        Failure::Input(format!(
            "the table has no column with {what}; usual names: {}; name the right one of [{}] by \
             columns={{{key:?}: …}}",
            usual.join(", "),
            self.names.join(", ")
        ))
    }
}

/// Picoseconds of one unit of a column of plain numbers; nothing for a column of times.
fn time_unit(schema: &Schema, at: usize, options: &TraceOptions) -> Result<Option<u64>, Failure> {
    let field = schema.field(at);
    let typed = matches!(field.data_type(), DataType::Timestamp(..) | DataType::Duration(_));
    if let (true, Some(unit)) = (typed, options.time_unit) {
        return Err(Failure::Input(format!(
            "trace.time_unit = {:?}: the column {} knows its unit, {}; leave this out",
            unit.name(),
            field.name(),
            field.data_type()
        )));
    }
    let name = field.name().to_lowercase();
    let of_name = TIMES.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit);
    match options.time_unit.or(of_name) {
        _ if typed => Ok(None),
        Some(unit) => Ok(Some(10_u64.pow(unit.power()))),
        None => Err(Failure::Input(format!(
            "the column {} does not say its unit; give time_unit: \"s\", \"ms\", \"us\", \"100ns\", \"ns\" or \"ps\"",
            field.name()
        ))),
    }
}

/// The columns of one batch.
struct Chunk {
    time: Times,
    op: DictionaryArray<Int32Type>,
    /// What the words of `op` mean; nothing for a word without meaning.
    ops: Vec<Option<Op>>,
    offset: (Whole, u64),
    size: (Whole, u64),
    device: Option<DictionaryArray<Int32Type>>,
    fua: Option<BooleanArray>,
}

impl Chunk {
    #[inline]
    fn row(&self, at: usize) -> Result<Row<'_>, RowProblem> {
        let op = self.op_at(at)?;
        let time_ps = self.time.at(at)?;
        let (mut offset, mut bytes) = (0, 0);
        if op != Op::Flush {
            let value = self.offset.0.at("offset", at)?;
            offset = value.checked_mul(self.offset.1).ok_or_else(|| {
                bad("offset", value, format!("in units of {} bytes this exceeds 2^64 bytes", self.offset.1))
            })?;
            let value = self.size.0.at("size", at)?;
            bytes =
                value.checked_mul(self.size.1).filter(|&bytes| bytes <= LARGEST).ok_or_else(|| {
                    bad("size", value, "a request of this size is over 1 GiB; check its unit".to_owned())
                })? as u32;
        }
        let device = match &self.device {
            Some(column) if column.is_valid(at) => text(column, at),
            Some(_) => return Err(missing("device")),
            None => "",
        };
        let fua = self.fua.as_ref().is_some_and(|column| column.is_valid(at) && column.value(at));
        Ok(Row { time_ps, device, offset, bytes, op, fua })
    }

    #[inline]
    fn op_at(&self, at: usize) -> Result<Op, RowProblem> {
        if self.op.is_null(at) {
            return Err(missing("op"));
        }
        self.ops[self.op.keys().value(at) as usize].ok_or_else(|| {
            let problem = "must be read, write, trim (or discard) or flush, or R, W, T or F".to_owned();
            bad("op", text(&self.op, at), problem)
        })
    }
}

fn text(column: &DictionaryArray<Int32Type>, at: usize) -> &str {
    let values: &StringArray = column.values().as_string();
    values.value(column.keys().value(at) as usize)
}

fn op_of(word: &str) -> Option<Op> {
    let fits = |name: &str| match word.len() {
        1 => name != "discard" && word.eq_ignore_ascii_case(&name[..1]),
        _ => word.eq_ignore_ascii_case(name),
    };
    WORDS.iter().find(|(name, _)| fits(name)).map(|(_, op)| *op)
}

/// Arrival times.
enum Times {
    /// Whole numbers, and picoseconds of one.
    Whole(Whole, u64),
    /// Numbers with a fraction, and picoseconds of one.
    Fraction(Float64Array, f64),
}

impl Times {
    /// A column of plain numbers with their unit in picoseconds, or a column of times.
    fn new(name: &str, column: &ArrayRef, unit: Option<u64>) -> Result<Self, Failure> {
        let typed = |unit: &ArrowUnit| match unit {
            ArrowUnit::Second => 1_000_000_000_000,
            ArrowUnit::Millisecond => 1_000_000_000,
            ArrowUnit::Microsecond => 1_000_000,
            ArrowUnit::Nanosecond => 1_000,
        };
        let fractions = |numbers, unit| Ok(Self::Fraction(numbers, unit as f64));
        match (column.data_type(), unit) {
            (DataType::Timestamp(unit, _), _) => {
                let numbers = match unit {
                    ArrowUnit::Second => counts::<TimestampSecondType>(column),
                    ArrowUnit::Millisecond => counts::<TimestampMillisecondType>(column),
                    ArrowUnit::Microsecond => counts::<TimestampMicrosecondType>(column),
                    ArrowUnit::Nanosecond => counts::<TimestampNanosecondType>(column),
                };
                Ok(Self::Whole(Whole::I64(numbers), typed(unit)))
            }
            (DataType::Duration(unit), _) => {
                let numbers = match unit {
                    ArrowUnit::Second => counts::<DurationSecondType>(column),
                    ArrowUnit::Millisecond => counts::<DurationMillisecondType>(column),
                    ArrowUnit::Microsecond => counts::<DurationMicrosecondType>(column),
                    ArrowUnit::Nanosecond => counts::<DurationNanosecondType>(column),
                };
                Ok(Self::Whole(Whole::I64(numbers), typed(unit)))
            }
            (DataType::Float16, Some(unit)) => fractions(widened::<Float16Type, _>(column), unit),
            (DataType::Float32, Some(unit)) => fractions(widened::<Float32Type, _>(column), unit),
            (DataType::Float64, Some(unit)) => fractions(column.as_primitive().clone(), unit),
            (_, unit) => Ok(Self::Whole(Whole::new(name, column)?, unit.unwrap_or(1))),
        }
    }

    #[inline]
    fn at(&self, at: usize) -> Result<u128, RowProblem> {
        match self {
            Self::Whole(column, unit) => Ok(u128::from(column.at("time", at)?) * u128::from(*unit)),
            Self::Fraction(column, unit) => {
                let time = column.value(at);
                if column.is_null(at) || time.is_nan() {
                    return Err(missing("time"));
                }
                let ps = (time * unit).round();
                // Far beyond the end of simulated time, and far below the end of 128 bits.
                if !(0.0..1e30).contains(&ps) {
                    return Err(bad("time", time, "must be 0 or more, and finite".to_owned()));
                }
                Ok(ps as u128)
            }
        }
    }
}

/// Whole numbers, as they came.
enum Whole {
    I64(Int64Array),
    U64(UInt64Array),
}

impl Whole {
    fn new(name: &str, column: &ArrayRef) -> Result<Self, Failure> {
        Ok(match column.data_type() {
            DataType::Int8 => Self::I64(widened::<Int8Type, _>(column)),
            DataType::Int16 => Self::I64(widened::<Int16Type, _>(column)),
            DataType::Int32 => Self::I64(widened::<Int32Type, _>(column)),
            DataType::Int64 => Self::I64(column.as_primitive().clone()),
            DataType::UInt8 => Self::U64(widened::<UInt8Type, _>(column)),
            DataType::UInt16 => Self::U64(widened::<UInt16Type, _>(column)),
            DataType::UInt32 => Self::U64(widened::<UInt32Type, _>(column)),
            DataType::UInt64 => Self::U64(column.as_primitive().clone()),
            kind => return Err(Failure::Input(format!("the column {name} holds {kind}; expected whole numbers"))),
        })
    }

    #[inline]
    fn at(&self, field: &'static str, at: usize) -> Result<u64, RowProblem> {
        let (null, value) = match self {
            Self::I64(column) => {
                let value = column.value(at);
                (column.is_null(at), u64::try_from(value).map_err(|_| value))
            }
            Self::U64(column) => (column.is_null(at), Ok(column.value(at))),
        };
        if null {
            return Err(missing(field));
        }
        value.map_err(|value| bad(field, value, "is negative".to_owned()))
    }
}

/// A column of words, each distinct one kept once.
fn words(name: &str, column: &ArrayRef) -> Result<DictionaryArray<Int32Type>, Failure> {
    let kind = column.data_type();
    let several = |_| Failure::Input(format!("the column {name} has more than 2^31 different words"));
    match kind {
        DataType::Utf8 => Ok(distinct(column.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(distinct(column.as_string::<i64>().iter())),
        DataType::Utf8View => Ok(distinct(column.as_string_view().iter())),
        DataType::Dictionary(keys, values) if is_text(values) => {
            if **keys == DataType::Int32 && **values == DataType::Utf8 {
                return Ok(column.as_dictionary().clone());
            }
            let given = column.as_any_dictionary();
            let words: StringArray = match **values {
                DataType::LargeUtf8 => given.values().as_string::<i64>().iter().collect(),
                DataType::Utf8View => given.values().as_string_view().iter().collect(),
                _ => given.values().as_string::<i32>().clone(),
            };
            i32::try_from(words.len()).map_err(several)?;
            DictionaryArray::try_new(places(given.keys()), Arc::new(words))
                .map_err(|error| Failure::Input(format!("the column {name} cannot be read: {error}")))
        }
        _ => Err(Failure::Input(format!("the column {name} holds {kind}; expected words"))),
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn distinct<'a>(words: impl Iterator<Item = Option<&'a str>>) -> DictionaryArray<Int32Type> {
    let mut all = StringDictionaryBuilder::<Int32Type>::new();
    all.extend(words);
    all.finish()
}

/// Places of words in their list, which is shorter than 2^31.
fn places(keys: &dyn Array) -> Int32Array {
    match keys.data_type() {
        DataType::Int8 => widened::<Int8Type, _>(keys),
        DataType::Int16 => widened::<Int16Type, _>(keys),
        DataType::UInt8 => widened::<UInt8Type, _>(keys),
        DataType::UInt16 => widened::<UInt16Type, _>(keys),
        DataType::UInt32 => keys.as_primitive::<UInt32Type>().unary(|key| key as i32),
        DataType::Int64 => keys.as_primitive::<Int64Type>().unary(|key| key as i32),
        DataType::UInt64 => keys.as_primitive::<UInt64Type>().unary(|key| key as i32),
        _ => keys.as_primitive::<Int32Type>().clone(),
    }
}

fn truth(name: &str, column: &ArrayRef) -> Result<BooleanArray, Failure> {
    match column.data_type() {
        DataType::Boolean => Ok(column.as_boolean().clone()),
        kind if kind.is_integer() => Ok(match Whole::new(name, column)? {
            Whole::I64(numbers) => BooleanArray::from_unary(&numbers, |number| number != 0),
            Whole::U64(numbers) => BooleanArray::from_unary(&numbers, |number| number != 0),
        }),
        kind => Err(Failure::Input(format!("the column {name} holds {kind}; expected true and false"))),
    }
}

/// Numbers of a smaller type.
fn widened<F, T>(column: &dyn Array) -> PrimitiveArray<T>
where
    F: ArrowPrimitiveType<Native: Into<T::Native>>,
    T: ArrowPrimitiveType,
{
    column.as_primitive::<F>().unary(Into::into)
}

/// Times or durations in their unit.
fn counts<T: ArrowPrimitiveType<Native = i64>>(column: &dyn Array) -> Int64Array {
    column.as_primitive::<T>().reinterpret_cast()
}

#[cold]
fn missing(field: &'static str) -> RowProblem {
    RowProblem { field, value: String::new(), problem: "is missing".to_owned() }
}

#[cold]
fn bad(field: &'static str, value: impl ToString, problem: String) -> RowProblem {
    RowProblem { field, value: value.to_string(), problem }
}
