//! Valid ranges of the arguments.

use std::error::Error;
use std::fmt;

/// Maximum of `block_pages`: 2^20, far above any block or superblock, and small enough to keep the vectors of a
/// [`SteadyState`](crate::SteadyState) within megabytes.
pub const MAX_BLOCK_PAGES: u32 = 1 << 20;

/// An argument outside the range of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DomainError {
    /// `alpha` is not a finite number greater than 1. At 1 and below there is neither spare space nor a steady state.
    Alpha(f64),
    /// `block_pages` is 0 or above [`MAX_BLOCK_PAGES`].
    BlockPages(u32),
    /// `d`, the number of blocks to draw, is 0.
    Choices,
    /// A pool without logical pages, or without blocks beside the reserved ones.
    EmptyPool,
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DomainError::Alpha(alpha) => {
                write!(f, "raw / logical pages must be finite and greater than 1, but is {alpha}")
            }
            DomainError::BlockPages(pages) => {
                write!(f, "a block must have 1 to {MAX_BLOCK_PAGES} pages, but has {pages}")
            }
            DomainError::Choices => write!(f, "at least one block must be drawn to choose a victim"),
            DomainError::EmptyPool => write!(f, "there must be logical pages and a block that is not reserved"),
        }
    }
}

impl Error for DomainError {}

/// `alpha` of a drive: pages in blocks that take part in GC, divided by logical pages.
///
/// `reserved_blocks` are the blocks that can never be victims: open write frontiers (of host and GC) and blocks kept
/// erased. On a real drive of thousands of blocks they hardly matter; in a small simulated one, ignoring them is the
/// largest error.
///
/// # Errors
///
/// [`DomainError::EmptyPool`] if `logical_pages` is 0 or all blocks are reserved, [`DomainError::BlockPages`] if
/// `block_pages` is 0 or above [`MAX_BLOCK_PAGES`], [`DomainError::Alpha`] if the ratio is not greater than 1.
pub fn spare_ratio(
    total_blocks: u64,
    reserved_blocks: u64,
    block_pages: u32,
    logical_pages: u64,
) -> Result<f64, DomainError> {
    check_block_pages(block_pages)?;
    if logical_pages == 0 || reserved_blocks >= total_blocks {
        return Err(DomainError::EmptyPool);
    }
    // In floating point from the start: the product could overflow 64 bits, and 53 bits of precision suffice.
    let alpha = (total_blocks - reserved_blocks) as f64 * f64::from(block_pages) / logical_pages as f64;
    check_alpha(alpha)?;
    Ok(alpha)
}

pub(crate) fn check_alpha(alpha: f64) -> Result<(), DomainError> {
    if alpha.is_finite() && alpha > 1.0 {
        Ok(())
    } else {
        Err(DomainError::Alpha(alpha))
    }
}

pub(crate) fn check_block_pages(block_pages: u32) -> Result<(), DomainError> {
    if (1..=MAX_BLOCK_PAGES).contains(&block_pages) {
        Ok(())
    } else {
        Err(DomainError::BlockPages(block_pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_ratio_leaves_reserved_blocks_out() {
        assert_eq!(spare_ratio(102, 2, 64, 5000), Ok(1.28));
        assert_eq!(spare_ratio(100, 0, 64, 5000), Ok(1.28));
    }

    #[test]
    fn spare_ratio_refuses_what_cannot_be() {
        assert_eq!(spare_ratio(2, 2, 64, 10), Err(DomainError::EmptyPool));
        assert_eq!(spare_ratio(2, 3, 64, 10), Err(DomainError::EmptyPool));
        assert_eq!(spare_ratio(2, 0, 64, 0), Err(DomainError::EmptyPool));
        assert_eq!(spare_ratio(2, 0, 0, 10), Err(DomainError::BlockPages(0)));
        assert_eq!(spare_ratio(2, 0, 64, 128), Err(DomainError::Alpha(1.0)));
    }

    #[test]
    fn errors_say_what_was_given() {
        assert!(DomainError::Alpha(0.5).to_string().contains("0.5"));
        assert!(DomainError::BlockPages(0).to_string().contains("has 0"));
    }
}
