//! Workloads, seen from outside. One program: the readers are instantiated and linked once.

mod ahead;
mod common;
mod errors;
mod fio_jobs;
mod formats;
mod jobs;
mod reader_fuzz;
mod replay;
mod shared_traces;
mod standins;
mod writers;
