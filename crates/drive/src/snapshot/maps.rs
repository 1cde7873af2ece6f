//! The map of a drive in a snapshot: chunks, each a zstd frame behind its length. So they can be compressed side by side, and one is
//! placed in memory while the next is read.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::num::NonZero;
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread::{available_parallelism, scope};
use wordline_firmware::{Chunk, Map, MOST_CHUNK_BYTES};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{compress_bound, CParameter};

/// The fastest level but for those that give up on what hardly compresses.
const LEVEL: i32 = 1;
/// Threads that compress; more would wait for the disk.
const MOST_THREADS: u32 = 8;

/// Writes all chunks in order.
pub fn write(file: &mut impl Write, map: &Map) -> Result<()> {
    let chunks = map.chunks();
    let threads = available_parallelism().map_or(1, NonZero::get) as u32;
    let threads = threads.min(MOST_THREADS).min(chunks);
    if threads < 2 {
        return pack(map, 0..chunks, |frame| put(file, &frame?));
    }
    scope(|scope| {
        let workers = (0..threads).map(|first| {
            let (sender, frames) = sync_channel(1);
            // Who no longer listens has met an error of its own.
            scope.spawn(move || {
                let told = |frame| sender.send(frame).map_err(|_| Error::from(ErrorKind::BrokenPipe));
                let _ = pack(map, (first..chunks).step_by(threads as usize), told);
            });
            frames
        });
        let workers: Vec<Receiver<Result<Vec<u8>>>> = workers.collect();
        for worker in workers.iter().cycle().take(chunks as usize) {
            put(file, &worker.recv().map_err(|_| Error::other("a thread has ended early"))??)?;
        }
        Ok(())
    })
}

/// Compresses some chunks, until the first error.
fn pack(
    map: &Map,
    numbers: impl Iterator<Item = u32>,
    mut done: impl FnMut(Result<Vec<u8>>) -> Result<()>,
) -> Result<()> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    let mut bytes = Vec::new();
    for number in numbers {
        map.write_chunk(number, &mut bytes);
        done(compressor.compress(&bytes))?;
    }
    Ok(())
}

fn put(file: &mut impl Write, frame: &[u8]) -> Result<()> {
    file.write_all(&(frame.len() as u32).to_le_bytes())?;
    file.write_all(frame)
}

/// Why a map cannot be read.
pub enum Broken {
    /// The bytes are no map.
    Unread(Error),
    /// No drive can have such a map.
    Unsound(String),
}

/// Reads all chunks into an empty map, which tells how many there are.
pub fn read(file: &mut (impl Read + Send), map: &mut Map) -> std::result::Result<(), Broken> {
    let (chunks, places) = (map.chunks(), map.places());
    let mut take = |chunk: Result<Chunk>| {
        let chunk = chunk.map_err(Broken::Unread)?;
        map.take_chunk(&chunk).map_err(Broken::Unsound)
    };
    let mut source = Source { file, places, unpacker: None, packed: Vec::new(), bytes: Vec::new() };
    let mut chunks = (0..chunks).map(move |number| source.next(number));
    if chunks.len() < 2 {
        return chunks.try_for_each(take);
    }
    scope(|scope| {
        let (sender, read) = sync_channel(1);
        scope.spawn(move || {
            // Who no longer listens has met an error of its own.
            let _ = chunks.try_for_each(|chunk| {
                let failed = chunk.is_err();
                sender.send(chunk).is_ok_and(|()| !failed).then_some(())
            });
        });
        read.into_iter().try_for_each(&mut take)
    })
}

/// Where chunks come from.
struct Source<'a, R> {
    file: &'a mut R,
    places: u32,
    unpacker: Option<Decompressor<'static>>,
    packed: Vec<u8>,
    bytes: Vec<u8>,
}

impl<R: Read> Source<'_, R> {
    fn next(&mut self, number: u32) -> Result<Chunk> {
        let wrong = || Error::new(ErrorKind::InvalidData, format!("part {number} of its map"));
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > compress_bound(MOST_CHUNK_BYTES) {
            return Err(wrong());
        }
        self.packed.resize(length, 0);
        self.file.read_exact(&mut self.packed)?;
        self.bytes.clear();
        self.bytes.reserve(MOST_CHUNK_BYTES);
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(Decompressor::new()?),
        };
        unpacker.decompress_to_buffer(&self.packed, &mut self.bytes)?;
        Chunk::read(number, self.places, &self.bytes).ok_or_else(wrong)
    }
}
