//! Output of text: a file or standard output, compressed as its name says.

use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};

const BUFFER: usize = 256 << 10;
/// The default level of the program `zstd`.
const ZSTD_LEVEL: i32 = 3;

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// From the ending of a name; also returns the name without it.
    pub fn of(name: &str) -> (Self, &str) {
        let lower = name.to_ascii_lowercase();
        let endings = [(".gz", Packing::Gzip), (".zst", Packing::Zstd)];
        match endings.into_iter().find(|(ending, _)| lower.ends_with(ending)) {
            Some((ending, packing)) => (packing, &name[..name.len() - ending.len()]),
            None => (Packing::Plain, name),
        }
    }
}

type Raw = Box<dyn Write + Send>;

pub(super) enum Sink {
    Plain(BufWriter<Raw>),
    Gzip(BufWriter<GzEncoder<Raw>>),
    Zstd(BufWriter<zstd::Encoder<'static, Raw>>),
}

impl Sink {
    pub fn new(raw: Raw, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::Plain => Sink::Plain(BufWriter::with_capacity(BUFFER, raw)),
            // No time stamp in the header: the same trace gives the same bytes.
            Packing::Gzip => {
                Sink::Gzip(BufWriter::with_capacity(BUFFER, GzEncoder::new(raw, flate2::Compression::default())))
            }
            Packing::Zstd => Sink::Zstd(BufWriter::with_capacity(BUFFER, zstd::Encoder::new(raw, ZSTD_LEVEL)?)),
        })
    }

    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::Plain(sink) => sink.write_all(bytes),
            Sink::Gzip(sink) => sink.write_all(bytes),
            Sink::Zstd(sink) => sink.write_all(bytes),
        }
    }

    pub fn finish(self) -> io::Result<()> {
        let mut raw = match self {
            Sink::Plain(sink) => sink.into_inner().map_err(io::IntoInnerError::into_error)?,
            Sink::Gzip(sink) => sink.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
            Sink::Zstd(sink) => sink.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
        };
        raw.flush()
    }
}
