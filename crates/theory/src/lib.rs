//! Analytical write amplification of a log-structured SSD, as a reference for the simulator.
//!
//! Write amplification (WA) is pages programmed divided by pages written by the host; it is 1 if nothing is moved. All
//! functions give the *steady state* of one workload: the host overwrites single pages chosen uniformly at random among
//! all logical pages, all of them hold data, and nothing is trimmed.
//!
//! # Parameters
//!
//! * `alpha` is raw pages / logical pages, greater than 1. Over-provisioning quoted as spare / logical is `alpha - 1`.
//!   Only blocks that can hold data *and* become victims count as raw: write frontiers and blocks kept free for GC do
//!   not, see [`spare_ratio`].
//! * `block_pages` (`b` below) is the number of pages that are erased and collected together. If the drive maps units
//!   smaller than a flash page, or collects superblocks, a "page" is the mapped unit and `b` the number of them erased
//!   together.
//!
//! # Policies
//!
//! | function       | victim                                              | depends on `b` |
//! |----------------|-----------------------------------------------------|----------------|
//! | [`fifo()`]       | the block written longest ago                       | no             |
//! | [`greedy`]     | a block with the fewest valid pages of all          | yes            |
//! | [`best_of_d`]  | the fewest valid pages among `d` blocks drawn blind | yes            |
//! | [`random`]     | a block drawn blind (`best_of_d` with `d = 1`)      | no             |
//!
//! For equal `alpha` and `b`: `1 <= greedy <= best_of_d <= random` and `greedy <= fifo <= random`. With growing `b`
//! greedy rises towards fifo. Either of fifo and `best_of_d` can be lower: ten draws beat fifo in small blocks and lose
//! in large ones.
//!
//! # Assumptions
//!
//! * **Many blocks.** The formulas are the limit of infinitely many blocks. A drive of `N` blocks differs by a term of
//!   order `1/N`; at 2000 blocks that is well under one per cent.
//! * **A block enters the pool full.** When a block becomes a possible victim all its `b` pages are valid. The host may
//!   already overwrite some while the block is being filled; that, too, is of order `1/N`.
//! * **One frontier or several, the result is the same.** The models have one append point: the valid pages of a victim
//!   go first into a fresh block, host pages fill the rest. Host and GC may as well append to blocks of their own:
//!   under uniform writes all pages are alike, a block still starts with `b` valid pages, and as many blocks are filled
//!   as are erased. Only `alpha` changes, because every open frontier is one block less.
//! * **The victim is chosen when space is needed**, with all other blocks full. If GC runs ahead and keeps `n` blocks
//!   erased, `n` blocks fewer are in use; subtract them from `alpha`.
//!
//! # Sources
//!
//! * P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014 (first as
//!   "Analytic modeling of SSD write performance", SYSTOR 2012): FIFO and greedy.
//! * W. Bux, I. Iliadis, "Performance of greedy garbage collection in flash-based solid-state drives", Performance
//!   Evaluation 67(11), 2010: greedy.
//! * X. Luojie, B. M. Kurkoski, "An improved analytic expression for write amplification in NAND flash", ICNC 2012
//!   (arXiv:1110.4245): the expression with Lambert's W.
//! * B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
//!   drives", SIGMETRICS 2013 (extended in Queueing Systems 77, 2014): best of `d`, random.
//!
//! ```
//! use wordline_theory::{fifo, greedy, random};
//!
//! // A drive with 28 % spare space and 256 pages in a block.
//! let (greedy, fifo, random) = (greedy(1.28, 256)?, fifo(1.28)?, random(1.28)?);
//! assert!(greedy < fifo && fifo < random);
//! assert!((fifo - 2.4814).abs() < 1e-4);
//! # Ok::<(), wordline_theory::DomainError>(())
//! ```
#![forbid(unsafe_code)]

mod domain;
mod fifo;
mod lambert;
pub mod meanfield;

pub use domain::{spare_ratio, DomainError, MAX_BLOCK_PAGES};
pub use fifo::fifo;
pub use lambert::lambert_w0;
pub use meanfield::{
    best_of_d, best_of_d_steady_state, greedy, greedy_continuous, greedy_steady_state, random, SteadyState,
};
