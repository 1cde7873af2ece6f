//! Prefetching memory into the CPU cache.
//!
//! The maps of a large drive do not fit any cache, so the first access to a unit costs about a hundred nanoseconds. A
//! request is known some events before its unit is looked up; a prefetch hides most of that latency.

/// Asks for the cache line of `slice[index]`; does nothing beyond its end, or where the processor has no such request.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        // SAFETY: a prefetch reads nothing and cannot fault, and the address is that of a live item.
        unsafe {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
