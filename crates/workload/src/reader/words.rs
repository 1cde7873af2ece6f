//! The words of columns that several formats share.

use crate::error::{option, Problem, WorkloadError};
use crate::format_options::FormatOptions;
use crate::scan::Scan;
use wordline_base::Op;

/// R or W, in any case, or what is wrong.
#[inline]
pub(crate) fn letter(field: &'static str, text: &[u8]) -> Result<Op, Box<Problem>> {
    match text {
        [b'R' | b'r'] => Ok(Op::Read),
        [b'W' | b'w'] => Ok(Op::Write),
        _ => Err(Problem::new(field, text, "must be R or W")),
    }
}

/// R or W, in any case, if that is next.
#[inline]
pub(crate) fn next_letter(scan: &mut Scan) -> Option<Op> {
    match scan.byte()? {
        b'R' | b'r' => Some(Op::Read),
        b'W' | b'w' => Some(Op::Write),
        _ => None,
    }
}

/// The name of a device as it stands in the file.
pub(crate) fn as_written(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw).into_owned()
}

/// The digit that means a read, `own` unless the options turn it round.
pub(crate) fn read_digit(options: &FormatOptions, own: u8) -> Result<u8, WorkloadError> {
    let read = match options.read_is.as_deref() {
        None => own,
        Some("1") => b'1',
        Some("0") => b'0',
        Some(other) => {
            return Err(option("trace.read_is", format!("{other:?}"), "must be \"1\" or \"0\" for this format"))
        }
    };
    if let Some(write) = options.write_is.as_deref() {
        if write != "0" && write != "1" || write.as_bytes() == [read] {
            let problem = format!("is for CSV traces; here a write is \"{}\"", (read ^ 1) as char);
            return Err(option("trace.write_is", format!("{write:?}"), problem));
        }
    }
    Ok(read)
}

/// The operation of a digit when `read` is a read.
#[inline]
pub(crate) fn digit(field: &'static str, text: &[u8], read: u8) -> Result<Op, Box<Problem>> {
    match text {
        [byte @ (b'0' | b'1')] if *byte == read => Ok(Op::Read),
        [b'0' | b'1'] => Ok(Op::Write),
        other => Err(wrong_digit(field, other, read)),
    }
}

/// The operation of a digit, if that is next.
#[inline]
pub(crate) fn next_digit(scan: &mut Scan, read: u8) -> Option<Op> {
    match scan.byte()? {
        byte if byte == read => Some(Op::Read),
        b'0' | b'1' => Some(Op::Write),
        _ => None,
    }
}

#[cold]
fn wrong_digit(field: &'static str, text: &[u8], read: u8) -> Box<Problem> {
    let (read, write) = (read as char, (read ^ 1) as char);
    let problem = format!("must be {read} for a read or {write} for a write; `read_is` can turn them round");
    Problem::new(field, text, problem)
}

/// The words of an operation column that its user may name.
#[derive(Debug)]
pub(crate) struct OpWords {
    read: Option<Vec<u8>>,
    write: Option<Vec<u8>>,
}

impl OpWords {
    /// The words that the options give; `what` names the kind of trace.
    pub fn new(options: &FormatOptions, what: &str) -> Result<Self, WorkloadError> {
        let given = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        let (key, word) = match (&options.read_is, &options.write_is) {
            (Some(word), None) => ("trace.read_is", word),
            (None, Some(word)) => ("trace.write_is", word),
            (read, write) => return Ok(Self { read: given(read), write: given(write) }),
        };
        Err(option(key, format!("{word:?}"), format!("{what} needs `read_is` and `write_is` together")))
    }

    /// The operation of a word.
    #[inline]
    pub fn op(&self, text: &[u8]) -> Result<Op, Box<Problem>> {
        let is = |word: &Option<Vec<u8>>| word.as_ref().is_some_and(|word| text.eq_ignore_ascii_case(word));
        if is(&self.read) {
            return Ok(Op::Read);
        } else if is(&self.write) {
            return Ok(Op::Write);
        }
        let words: [(&[u8], Op); 5] = [
            (b"read", Op::Read),
            (b"write", Op::Write),
            (b"trim", Op::Trim),
            (b"flush", Op::Flush),
            (b"discard", Op::Trim),
        ];
        let fits = |word: &[u8]| match text {
            [one] => word != b"discard" && one.eq_ignore_ascii_case(&word[0]),
            more => more.eq_ignore_ascii_case(word),
        };
        words.iter().find(|(word, _)| fits(word)).map(|(_, op)| *op).ok_or_else(|| {
            let problem =
                "must be read, write, trim (or discard) or flush, or R, W, T or F; other words are read with \
                           `read_is` and `write_is`";
            Problem::new("op", text, problem)
        })
    }
}

/// True if a yes-or-no column says yes.
pub(crate) fn truth(text: &[u8]) -> Result<bool, Box<Problem>> {
    let is = |words: [&str; 5]| words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
    if is(["0", "false", "no", "n", ""]) {
        Ok(false)
    } else if is(["1", "true", "yes", "y", "fua"]) {
        Ok(true)
    } else {
        Err(Problem::new("fua", text, "must be 1, true or yes, or 0, false, no or nothing"))
    }
}

/// Another number of columns than the format has.
#[cold]
pub(crate) fn wrong_count(found: usize, format: &str, columns: &str) -> Box<Problem> {
    let wanted = columns.split(',').count();
    Problem::new("columns", b"", format!("has {found} where format {format} has {wanted} ({columns})"))
}
