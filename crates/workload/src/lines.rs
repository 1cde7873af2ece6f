//! Lines or binary records of a file through one reused buffer: constant memory, nothing allocated per line.

use crate::compress::{read_error, Input, Pipe};
use crate::error::{shown, LineError, Problem, WorkloadError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of the buffer, in bytes.
const BUFFER: usize = 256 << 10;
/// Longest line that is still believed to be one, in bytes.
const LONGEST: usize = 64 << 10;

/// Reads a file line by line, or record by record.
pub(crate) struct Lines {
    path: PathBuf,
    input: Input,
    buffer: Box<[u8]>,
    /// Not yet consumed bytes of the buffer.
    start: usize,
    end: usize,
    /// The line handed out last, as a range of the buffer; with its end if it was taken at once.
    current: (usize, usize),
    number: u64,
    finished: bool,
    /// An error of the input, kept until the lines decoded before it are handed out.
    failed: Option<std::io::Error>,
    /// True if all bytes of the buffer are known to be ASCII, so that lines need no check of their own.
    ascii: bool,
    /// The file is read by records and may hold any bytes.
    binary: bool,
    /// Bytes that were left out at the start.
    skipped: usize,
}

impl Lines {
    /// Opens a file of lines.
    pub fn open(path: &Path) -> Result<Self, WorkloadError> {
        Self::of(path, None, false)
    }

    /// Opens a file of lines or, if it is `binary`, of records; or begins with a pipe.
    pub fn of(path: &Path, pipe: Option<&Arc<Pipe>>, binary: bool) -> Result<Self, WorkloadError> {
        Ok(Self {
            path: path.to_owned(),
            input: Input::open(path, pipe)?,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            current: (0, 0),
            number: 0,
            finished: false,
            failed: None,
            ascii: true,
            binary,
            skipped: 0,
        })
    }

    /// Unit of this file.
    fn unit(&self) -> &'static str {
        ["line", "record"][usize::from(self.binary)]
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Number of the current line or record, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Text for a line that is no longer available.
    pub fn gone(&self, number: u64, problem: Problem) -> WorkloadError {
        WorkloadError::Line(Box::new(LineError {
            file: self.path.clone(),
            unit: self.unit(),
            line: number,
            text: "(not available: read from a pipe)".to_owned(),
            field: problem.field,
            value: problem.value,
            problem: problem.problem,
        }))
    }

    /// The line handed out last.
    pub fn current(&self) -> &[u8] {
        &self.buffer[self.current.0..self.current.1]
    }

    /// Goes to the next line that is neither blank nor a comment; `false` at the end of the file.
    ///
    /// The line ends before its `\n` or `\r\n`.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, WorkloadError> {
        loop {
            let (from, to) = match memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                Some(length) => {
                    let from = self.start;
                    self.start = from + length + 1;
                    (from, from + length)
                }
                None if self.finished => {
                    if self.start == self.end {
                        return Ok(false);
                    }
                    let from = self.start;
                    self.start = self.end;
                    (from, self.end)
                }
                None => {
                    self.refill()?;
                    continue;
                }
            };
            self.number += 1;
            let line = &self.buffer[from..to];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match line.trim_ascii_start().first() {
                None | Some(b'#') => continue,
                Some(_) => self.current = (from, from + line.len()),
            }
            if !self.ascii {
                self.check_text()?;
            }
            return Ok(true);
        }
    }

    /// What has been read of the lines to come, if nobody needs to look at their text; else nothing.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        if self.ascii {
            &self.buffer[self.start..self.end]
        } else {
            &[]
        }
    }

    /// Takes the next `count` lines, which have `length` bytes with their ends, of these `last` the last line. None is blank or a comment.
    #[inline]
    pub fn take(&mut self, count: u64, length: usize, last: usize) {
        self.start += length;
        self.current = (self.start - last, self.start);
        self.number += count;
    }

    /// Leaves out bytes at the start of a binary file; `false` when it has fewer.
    pub fn skip_bytes(&mut self, mut count: usize) -> Result<bool, WorkloadError> {
        self.skipped += count;
        while count > 0 {
            if !self.holds(1)? {
                return Ok(false);
            }
            let step = count.min(self.end - self.start);
            self.start += step;
            count -= step;
        }
        Ok(true)
    }

    /// Bytes that were left out at the start.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Goes to the next record, which begins with `head` bytes that tell its length or a part of
    /// it that does; `false` at the end of the file.
    ///
    /// Nothing can be read behind an error.
    #[inline]
    pub fn advance_record(
        &mut self,
        head: usize,
        length: impl Fn(&[u8]) -> Result<usize, Box<Problem>>,
    ) -> Result<bool, WorkloadError> {
        if self.end - self.start < head && !self.holds(head)? {
            return if self.start == self.end { Ok(false) } else { Err(self.cut(head)) };
        }
        self.number += 1;
        let mut total = head;
        loop {
            self.current = (self.start, self.start + total);
            let known = match length(self.current()) {
                Ok(known) => known,
                Err(problem) => return Err(self.error(*problem)),
            };
            if known <= total {
                break;
            }
            if self.end - self.start < known && !self.holds(known)? {
                self.number -= 1;
                return Err(self.cut(known));
            }
            total = known;
        }
        self.current = (self.start, self.start + total);
        self.start += total;
        Ok(true)
    }

    /// True if there are `count` more bytes, at most as many as the buffer has room for.
    #[cold]
    fn holds(&mut self, count: usize) -> Result<bool, WorkloadError> {
        while self.end - self.start < count {
            if self.finished {
                return Ok(false);
            }
            self.refill()?;
        }
        Ok(true)
    }

    /// The file ends in the middle of a record.
    #[cold]
    fn cut(&mut self, whole: usize) -> WorkloadError {
        let left = self.end - self.start;
        self.number += 1;
        self.current = (self.start, self.end);
        let problem = format!("the file ends within it, after {left} of {whole} bytes; is the file complete?");
        self.error(*Problem::new("length", b"", problem))
    }

    #[cold]
    fn refill(&mut self) -> Result<(), WorkloadError> {
        if !self.binary && self.end - self.start > LONGEST {
            let what = format!("line {} is longer than {} KiB", self.number + 1, LONGEST >> 10);
            return Err(self.not_text(what));
        }
        if let Some(error) = self.failed.take() {
            self.finished = true;
            self.start = self.end;
            let whole = (self.unit(), self.number);
            return Err(read_error(&self.path, self.input.compression, whole, error));
        }
        let first = self.number == 0 && self.end == 0;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.finished = true;
                    break;
                }
                Ok(n) => self.end += n,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if self.binary {
            return Ok(());
        }
        self.ascii = self.buffer[..self.end].is_ascii() && memchr::memchr(0, &self.buffer[..self.end]).is_none();
        if first {
            self.check_start()?;
        }
        Ok(())
    }

    /// Byte-order marks: UTF-8's is skipped, UTF-16's is an error with its remedy.
    fn check_start(&mut self) -> Result<(), WorkloadError> {
        let bytes = &self.buffer[..self.end];
        if bytes.starts_with(b"\xef\xbb\xbf") {
            self.start = 3;
        } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(self.not_text("it is UTF-16 text; convert it to UTF-8".to_owned()));
        }
        Ok(())
    }

    /// Refuses a line with NUL bytes or broken UTF-8.
    #[cold]
    fn check_text(&mut self) -> Result<(), WorkloadError> {
        let line = self.current();
        if line.contains(&0) {
            if self.number > 1 {
                return Err(self.error(*Problem::new("text", b"", "has NUL bytes: damaged, or binary data")));
            }
            let what = format!("line {} has NUL bytes, so it is binary data or a damaged file", self.number);
            return Err(self.not_text(what));
        }
        if let Err(error) = std::str::from_utf8(line) {
            let binary = line.iter().filter(|b| b.is_ascii_control() && **b != b'\t').count() * 10 > line.len();
            if self.number == 1 && binary {
                return Err(self.not_text("it begins with binary data".to_owned()));
            }
            let bad = &line[error.valid_up_to()..];
            let problem = format!("not UTF-8 text (byte 0x{:02x} at column {})", bad[0], error.valid_up_to() + 1);
            return Err(self.error(*Problem::new("text", b"", problem)));
        }
        Ok(())
    }

    fn not_text(&self, what: String) -> WorkloadError {
        WorkloadError::NotText { file: self.path.clone(), what }
    }

    /// An error about the current line.
    #[cold]
    pub fn error(&self, problem: Problem) -> WorkloadError {
        // What was taken at once has its end.
        let line = match self.current().strip_suffix(b"\n") {
            Some(line) if !self.binary => line.strip_suffix(b"\r").unwrap_or(line),
            _ => self.current(),
        };
        WorkloadError::Line(Box::new(LineError {
            file: self.path.clone(),
            unit: self.unit(),
            line: self.number,
            text: if self.binary { hex(line) } else { shown(line) },
            field: problem.field,
            value: problem.value,
            problem: problem.problem,
        }))
    }
}

/// The first bytes of a record, in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 48;
    let mut out: Vec<String> = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN {
        out.push("…".to_owned());
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    fn all(content: &[u8]) -> Result<Vec<(u64, String)>, WorkloadError> {
        let file = Scratch::new(content);
        let mut lines = Lines::open(file.path())?;
        let mut out = Vec::new();
        while lines.advance()? {
            out.push((lines.number(), String::from_utf8(lines.current().to_vec()).unwrap()));
        }
        Ok(out)
    }

    #[test]
    fn comments_blank_lines_and_line_ends() {
        let got = all(b"\xef\xbb\xbf# head\r\na b\r\n\r\n  \n c\td \n\n#x\nlast").unwrap();
        assert_eq!(got, [(2, "a b".to_owned()), (5, " c\td ".to_owned()), (8, "last".to_owned())]);
        assert!(all(b"").unwrap().is_empty());
    }

    #[test]
    fn lines_longer_than_the_buffer_allows_are_refused() {
        let mut content = vec![b'1'; 2 * BUFFER];
        assert!(all(&content).unwrap_err().to_string().contains("line 1 is longer than 64 KiB"));
        content.clear();
        for n in 0..100_000 {
            content.extend_from_slice(format!("{n} some more text\n").as_bytes());
        }
        let got = all(&content).unwrap();
        assert_eq!(got.len(), 100_000);
        assert_eq!(got[99_999], (100_000, "99999 some more text".to_owned()));
    }

    #[test]
    fn text_that_is_none() {
        let error = all(b"1,2\n3,\xff4\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("not UTF-8 text (byte 0xff at column 3)"), "{error}");
        let error = all(b"\x01\x00\x00\x02").unwrap_err().to_string();
        assert!(error.contains("NUL bytes"), "{error}");
        let error = all(b"\xff\xfea\0b\0").unwrap_err().to_string();
        assert!(error.contains("UTF-16"), "{error}");
        let error = all(b"BZh91AY").unwrap_err().to_string();
        assert!(error.contains("bzip2"), "{error}");
    }
}
