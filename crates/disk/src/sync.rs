//! A thread that makes a store's data durable, so that the others' requests do not wait for the disk under it.

use crate::store::Syncer;
use rustix::event::{eventfd, EventfdFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Wakes the event loop from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)))
    }

    /// Wakes the loop, now or before its next sleep.
    pub fn wake(&self) {
        // It fails only if it is awake already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// The loop has heard.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The thread, seen from the event loop.
#[derive(Debug)]
pub struct Syncing {
    jobs: Option<Sender<u32>>,
    done: Receiver<(u32, io::Result<()>)>,
    thread: Option<JoinHandle<()>>,
}

impl Syncing {
    /// Starts the thread. It wakes the loop when something is done.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn start(mut syncer: Syncer, waker: Waker) -> io::Result<Self> {
        let (jobs, asked) = channel();
        let (tell, done) = channel();
        let work = move || {
            while let Ok(first) = asked.recv() {
                // One sync does for all that were asked for before it.
                let tickets: Vec<u32> = std::iter::once(first).chain(asked.try_iter()).collect();
                let result = syncer();
                for ticket in tickets {
                    let own = match &result {
                        Ok(()) => Ok(()),
                        Err(error) => {
                            Err(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
                        }
                    };
                    if tell.send((ticket, own)).is_err() {
                        return;
                    }
                }
                waker.wake();
            }
        };
        let thread = Builder::new().name("wordline-sync".into()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread) })
    }

    /// Asks for a sync on behalf of a ticket; false if the thread has ended, which it does only with the server.
    pub fn ask(&self, ticket: u32) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(ticket).is_ok())
    }

    /// A ticket whose sync is done, if any.
    pub fn done(&self) -> Option<(u32, io::Result<()>)> {
        self.done.try_recv().ok()
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
