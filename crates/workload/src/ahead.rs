//! Reading a trace ahead of the simulation, in a thread of its own.
//!
//! The thread has the whole [`TraceStream`], so that requests, errors and their order are those of a stream that is read by
//! the thread that uses it. What the stream says of itself beside its requests is noted with the request from which on it
//! holds. So nothing but the clock tells the two apart. Blocks of requests go round between both threads: memory is bounded,
//! and none is allocated for a request.

use crate::compress::{heed, heeded};
use crate::error::WorkloadError;
use crate::progress::Watch;
use crate::reader::LeftOut;
use crate::replay::{share, Standing, TraceStream};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wordline_base::{Request, Time};

/// Requests of a block, and those that are read before a thread is started: a shorter trace is not worth one.
const BLOCK: usize = 4096;
/// Blocks of a trace: one in use, the others filled ahead.
const BLOCKS: usize = 4;

/// A replayed trace, read where it is used or ahead of it.
pub(crate) struct Replay {
    /// The stream, while it is read here.
    here: Option<Box<TraceStream>>,
    /// Its requests, once a thread of its own reads it.
    ahead: Option<Ahead>,
    /// Requests until then.
    until: usize,
    /// Whether there is to be such a thread; if that is not said, several processors decide for it.
    wanted: Option<bool>,
}

impl Replay {
    pub fn new(stream: TraceStream) -> Self {
        Self { here: Some(Box::new(stream)), ahead: None, until: BLOCK, wanted: None }
    }

    /// Says whether a thread of its own reads the trace.
    pub fn read_ahead(&mut self, wanted: bool) {
        self.wanted = Some(wanted);
    }

    #[inline]
    pub fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if let Some(ahead) = &mut self.ahead {
            return ahead.next();
        }
        if self.until == 0 {
            self.start();
            return self.next();
        }
        self.until -= 1;
        match &mut self.here {
            Some(stream) => stream.next(),
            None => Ok(None),
        }
    }

    /// The next request, if it has been read already; `None` says nothing: then [`Replay::next`] has it.
    #[inline]
    pub fn next_at_once(&mut self) -> Option<Request> {
        self.ahead.as_mut()?.next_at_once()
    }

    /// Hands the stream over to a thread, if it is to have one.
    #[cold]
    fn start(&mut self) {
        self.until = usize::MAX;
        let several = || thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let Some(stream) = self.here.take() else { return };
        if !stream.may_be_ahead() || !self.wanted.unwrap_or_else(several) {
            self.here = Some(stream);
            return;
        }
        match Ahead::start(stream) {
            Ok(ahead) => self.ahead = Some(ahead),
            // The system has no thread to give.
            Err(stream) => self.here = Some(stream),
        }
    }

    /// Number of stacked devices; 0 if they share their addresses.
    pub fn stacked(&self) -> usize {
        match &self.ahead {
            Some(ahead) => ahead.stacked,
            None => self.here.as_ref().map_or(0, |stream| stream.stacked()),
        }
    }

    /// Device of the last request.
    #[inline]
    pub fn device(&self) -> u32 {
        match &self.ahead {
            Some(ahead) => ahead.device,
            None => self.here.as_ref().map_or(0, |stream| stream.device()),
        }
    }

    /// Names of the devices seen so far.
    pub fn device_names(&self) -> &[String] {
        match &self.ahead {
            Some(ahead) => &ahead.names[..ahead.told().standing.devices],
            None => self.here.as_ref().map_or(&[], |stream| stream.device_names()),
        }
    }

    /// Requests left out or changed so far, in this loop.
    pub fn left_out(&self) -> LeftOut {
        match &self.ahead {
            Some(ahead) => ahead.told().standing.left_out,
            None => self.here.as_ref().map_or_else(LeftOut::default, |stream| stream.left_out()),
        }
    }

    /// Share of the trace already read, as that of [`TraceStream::progress`].
    pub fn progress(&self) -> Option<f64> {
        match &self.ahead {
            Some(ahead) => Some(share(ahead.told().read, ahead.done, ahead.limit)),
            None => self.here.as_ref().and_then(|stream| stream.progress()),
        }
    }

    /// As [`TraceStream::look`]; there is nothing to look at beforehand in a trace whose requests are being used.
    pub fn look(&self, end: Option<Time>, watch: Watch<'_>) -> Result<bool, WorkloadError> {
        self.here.as_ref().map_or(Ok(true), |stream| stream.look(end, watch))
    }
}

/// A request, with what the stream says about it.
#[derive(Clone, Copy)]
struct Item {
    request: Request,
    device: u32,
    /// True for the second half of a request.
    second: bool,
}

/// What a stream says of itself.
#[derive(Clone, Copy, Default)]
struct Told {
    standing: Standing,
    /// Share of the trace already read.
    read: f64,
}

/// Requests in their order.
#[derive(Default)]
struct Block {
    items: Vec<Item>,
    /// What the stream says from so many items on, the end of the trace counted as one.
    changes: Vec<(usize, Told)>,
    /// Devices that appear first in it.
    names: Vec<String>,
    /// How the trace ends, if it does behind these items.
    end: Option<Result<(), WorkloadError>>,
}

/// The side of the thread that reads.
struct Reader {
    stream: Box<TraceStream>,
    /// What it said last.
    standing: Standing,
    /// Devices whose names are on their way.
    named: usize,
}

impl Reader {
    /// Fills an empty block; `false` if the trace ends in it.
    fn fill(&mut self, block: &mut Block) -> bool {
        while block.items.len() < BLOCK {
            let before = block.items.len();
            let give = |request, device| block.items.push(Item { request, device, second: false });
            self.stream.give_at_once(BLOCK - before, give);
            if block.items.len() > before {
                continue;
            }
            let second = self.stream.is_split();
            let next = self.stream.next_otherwise();
            self.note(block);
            match next {
                Ok(Some(request)) => block.items.push(Item { request, device: self.stream.device(), second }),
                Ok(None) => {
                    block.end = Some(Ok(()));
                    return false;
                }
                Err(error) => {
                    block.end = Some(Err(error));
                    return false;
                }
            }
        }
        true
    }

    /// Notes what the stream says otherwise than before.
    #[inline]
    fn note(&mut self, block: &mut Block) {
        let standing = self.stream.standing();
        if standing == self.standing {
            return;
        }
        self.standing = standing;
        block.changes.push((block.items.len() + 1, Told { standing, read: self.stream.read() }));
        // In further loops the same devices appear again.
        if standing.devices > self.named {
            block.names.extend_from_slice(&self.stream.device_names()[self.named..]);
            self.named = standing.devices;
        }
    }

    /// Fills blocks as they come, until the trace ends or nobody wants them any more.
    fn run(mut self, empty: &Receiver<Block>, full: &SyncSender<Block>) {
        for mut block in empty {
            let goes_on = self.fill(&mut block);
            if full.send(block).is_err() || !goes_on {
                return;
            }
        }
    }
}

/// The side of the thread that uses the requests.
struct Ahead {
    block: Block,
    /// Items of the block that have been used, its end counted as one.
    used: usize,
    /// What the stream said at the end of the block before.
    before: Told,
    names: Vec<String>,
    device: u32,
    /// Requests so far; both halves of a request are one.
    done: u64,
    limit: Option<u64>,
    stacked: usize,
    ended: bool,
    /// Ends the reading of files.
    stop: Arc<AtomicBool>,
    /// Both ends are closed before the thread is waited for.
    full: Option<Receiver<Block>>,
    empty: Option<SyncSender<Block>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts a thread that reads the stream; gives it back if there can be none.
    fn start(stream: Box<TraceStream>) -> Result<Self, Box<TraceStream>> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut stops = heeded();
        stops.push(Arc::clone(&stop));
        let (give, empty) = sync_channel(BLOCKS);
        let (full, take) = sync_channel(BLOCKS);
        let (hand, handed) = sync_channel::<Reader>(1);
        // The stream follows once there is a thread, which is not certain.
        let read = move || {
            stops.into_iter().for_each(heed);
            if let Ok(reader) = handed.recv() {
                reader.run(&empty, &full);
            }
        };
        let Ok(thread) = thread::Builder::new().name("trace reader".to_owned()).spawn(read) else { return Err(stream) };
        let before = Told { standing: stream.standing(), read: stream.read() };
        let ahead = Self {
            block: Block::default(),
            used: 0,
            before,
            names: stream.device_names().to_vec(),
            device: stream.device(),
            done: stream.done(),
            limit: stream.limit(),
            stacked: stream.stacked(),
            ended: false,
            stop,
            full: Some(take),
            empty: Some(give),
            thread: Some(thread),
        };
        let reader = Reader { stream, standing: before.standing, named: before.standing.devices };
        hand.send(reader).map_err(|unsent| unsent.0.stream)?;
        (1..BLOCKS).for_each(|_| ahead.give_back(Block::default()));
        Ok(ahead)
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        match self.next_at_once() {
            Some(request) => Ok(Some(request)),
            None => self.turn(),
        }
    }

    /// The next request of the block.
    #[inline]
    fn next_at_once(&mut self) -> Option<Request> {
        let item = self.block.items.get(self.used)?;
        self.used += 1;
        self.device = item.device;
        self.done += u64::from(!item.second);
        Some(item.request)
    }

    /// What the stream said with the last request.
    fn told(&self) -> Told {
        let changes = &self.block.changes;
        let count = changes.partition_point(|(from, _)| *from <= self.used);
        count.checked_sub(1).map_or(self.before, |last| changes[last].1)
    }

    /// Goes on behind the last request of the block.
    #[cold]
    fn turn(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.ended {
            return Ok(None);
        }
        if let Some(end) = self.block.end.take() {
            self.ended = true;
            self.used += 1;
            return end.map(|()| None);
        }
        self.before = self.told();
        let next = self.full.as_ref().and_then(|full| full.recv().ok());
        let Some(next) = next else { self.fell_over() };
        let mut block = std::mem::replace(&mut self.block, next);
        self.used = 0;
        self.names.append(&mut self.block.names);
        block.items.clear();
        block.changes.clear();
        self.give_back(block);
        self.next()
    }

    /// Gives a block to be filled; a thread that has ended needs none.
    fn give_back(&self, block: Block) {
        if let Some(empty) = &self.empty {
            let _ = empty.send(block);
        }
    }

    /// The thread has ended before the trace.
    #[cold]
    fn fell_over(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => resume_unwind(panic),
            _ => unreachable!("the reader of a trace ends with it, or when nobody takes its requests"),
        }
    }
}

impl Drop for Ahead {
    /// Ends the thread and waits for it. What it has met behind the requests that were used concerns nobody.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.full.take());
        drop(self.empty.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TraceOptions;
    use crate::reader::table::{Row, RowProblem, Rows, Table};
    use std::path::Path;
    use wordline_base::Op;

    /// Rows without end, of which one cannot be read.
    struct Many {
        panics_at: usize,
    }

    impl Rows for Many {
        fn len(&self) -> usize {
            usize::MAX
        }

        fn describe(&self) -> String {
            "many rows".to_owned()
        }

        fn row(&self, at: usize) -> Result<Row<'_>, RowProblem> {
            assert!(at < self.panics_at, "row {at}");
            Ok(Row { time_ps: at as u128, device: "", offset: 4096, bytes: 512, op: Op::Read, fua: false })
        }
    }

    fn ahead(panics_at: usize) -> Ahead {
        let options = TraceOptions { table: Some(Table(Arc::new(Many { panics_at }))), ..TraceOptions::default() };
        let stream = TraceStream::open(Path::new("many"), &options, &crate::Space::whole(1 << 20), 0).unwrap();
        Ahead::start(Box::new(stream)).unwrap_or_else(|_| panic!("there are threads"))
    }

    #[test]
    fn whoever_leaves_early_ends_the_thread() {
        for used in [0, 1, BLOCK, 3 * BLOCK + 7] {
            let mut ahead = ahead(usize::MAX);
            for n in 0..used {
                assert_eq!(ahead.next().unwrap().map(|request| request.arrival), Some(n as Time));
            }
            let stop = Arc::clone(&ahead.stop);
            drop(ahead);
            assert_eq!(Arc::strong_count(&stop), 1, "the thread that heeded it has ended");
        }
    }

    #[test]
    fn blocks_go_round() {
        let mut ahead = ahead(usize::MAX);
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..20 * BLOCK {
            ahead.next().unwrap();
            places.insert(ahead.block.items.as_ptr() as usize);
        }
        assert!(places.len() <= BLOCKS, "{} blocks", places.len());
    }

    #[test]
    fn a_panic_comes_with_its_turn() {
        let mut ahead = ahead(2 * BLOCK);
        for _ in 0..2 * BLOCK {
            assert!(ahead.next().unwrap().is_some());
        }
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ahead.next())).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("row 8192"));
        // One that nobody has come to is nobody's.
        let mut left = self::ahead(2 * BLOCK);
        left.next().unwrap();
        drop(left);
    }
}
