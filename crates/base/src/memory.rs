//! Hints about memory: prefetching into the processor's cache, and large pages.
//!
//! The maps of a large drive do not fit any cache, so the first access to a unit costs about a hundred nanoseconds. A
//! request is known some events before its unit is looked up; a prefetch hides most of that latency. It cannot hide that the
//! processor does not know where the page of memory lies, which costs as much again; large pages are few enough to be known.

/// Bytes of a large page.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

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

/// Asks for large pages behind a slice that will be used from end to end. What has been touched before stays as it is. The system
/// may decline; then nothing changes.
#[allow(unsafe_code)]
pub fn use_large_pages<T>(slice: &[T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let range = slice.as_ptr_range();
        let (start, end) = (range.start.addr().next_multiple_of(LARGE), range.end.addr() / LARGE * LARGE);
        if start < end {
            let first = slice.as_ptr().wrapping_byte_add(start - range.start.addr());
            // SAFETY: the range lies within the slice, and this advice changes no byte of it, only the size of its pages.
            unsafe { libc::madvise(first.cast_mut().cast(), end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = slice;
}

/// A copy in large pages.
#[must_use]
pub fn copy_in_large_pages<T: Copy + Default>(slice: &[T]) -> Vec<T> {
    let mut copy = vec![T::default(); slice.len()];
    use_large_pages(&copy);
    copy.copy_from_slice(slice);
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_keep_what_they_hold() {
        // Below one large page, about one, and several that are not aligned.
        for length in [0, 1, 1000, (2 << 20) / 4 + 7, 3 * (2 << 20) / 4 + 1] {
            let mut slice: Vec<u32> = (0..length as u32).collect();
            use_large_pages(&slice);
            assert!(slice.iter().copied().eq(0..length as u32));
            let copy = copy_in_large_pages(&slice);
            assert_eq!(copy, slice);
            slice.iter_mut().for_each(|item| *item += 1);
            assert!(slice.iter().copied().eq(1..length as u32 + 1));
        }
    }

    #[test]
    fn a_prefetch_beyond_the_end_does_nothing() {
        prefetch(&[1, 2, 3], 2);
        prefetch(&[1, 2, 3], 3);
        prefetch::<u32>(&[], usize::MAX);
    }
}
