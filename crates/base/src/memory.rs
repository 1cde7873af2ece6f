//! Hints about memory: prefetching into the processor's cache, and large pages.
//!
//! The maps of a large drive do not fit any cache, so the first access to a unit costs about a hundred nanoseconds. A
//! request is known some events before its unit is looked up; a prefetch hides most of that latency. It cannot hide that the
//! processor does not know where the page of memory lies, which costs as much again; large pages are few enough to be known.

/// Bytes of a large page; small where Miri runs the tests, which is slow.
#[cfg(target_os = "linux")]
const LARGE: usize = if cfg!(miri) { 1 << 10 } else { 2 << 20 };

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
    #[cfg(target_os = "linux")]
    if let Some((first, length)) = whole_large_pages(slice) {
        // SAFETY: the range lies within the slice, and this advice changes no byte of it, only the size of its pages. Miri cannot ask
        // the system; it takes the range as bytes instead, and so checks that the slice owns all of it.
        unsafe {
            #[cfg(not(miri))]
            libc::madvise(first.cast_mut().cast(), length, libc::MADV_HUGEPAGE);
            #[cfg(miri)]
            std::hint::black_box(std::slice::from_raw_parts(first.cast::<std::mem::MaybeUninit<u8>>(), length));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = slice;
}

/// The large pages that lie wholly within a slice: where they start, and their bytes.
#[cfg(target_os = "linux")]
fn whole_large_pages<T>(slice: &[T]) -> Option<(*const T, usize)> {
    let range = slice.as_ptr_range();
    let (start, end) = (range.start.addr().next_multiple_of(LARGE), range.end.addr() / LARGE * LARGE);
    (start < end).then(|| (range.start.wrapping_byte_add(start - range.start.addr()), end - start))
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

    /// Numbers in a large page.
    #[cfg(target_os = "linux")]
    const NUMBERS: usize = LARGE / size_of::<u32>();
    #[cfg(not(target_os = "linux"))]
    const NUMBERS: usize = 1 << 10;

    #[test]
    fn large_pages_keep_what_they_hold() {
        // Below one large page, about one, and several that are not aligned.
        for length in [0, 1, NUMBERS / 2, NUMBERS + 7, 3 * NUMBERS + 1] {
            let mut slice: Vec<u32> = (0..length as u32).collect();
            use_large_pages(&slice);
            assert!(slice.iter().copied().eq(0..length as u32));
            let copy = copy_in_large_pages(&slice);
            assert_eq!(copy, slice);
            slice.iter_mut().for_each(|item| *item += 1);
            assert!(slice.iter().copied().eq(1..length as u32 + 1));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_range_is_all_large_pages_within_the_slice() {
        let numbers = vec![0_u32; 4 * NUMBERS];
        // Four large pages hold three whole ones at least, wherever they begin; each part of them is taken in turn.
        for (from, to) in [(0, 4 * NUMBERS), (1, 3 * NUMBERS), (NUMBERS / 2, 2 * NUMBERS + 3), (5, 5), (7, NUMBERS / 2)]
        {
            let slice = &numbers[from..to];
            let (bytes, ends) = (size_of_val(slice), slice.as_ptr_range());
            let Some((first, length)) = whole_large_pages(slice) else {
                assert!(bytes < 2 * LARGE - size_of::<u32>(), "{bytes} bytes hold a whole large page");
                continue;
            };
            let (start, end) = (ends.start.addr(), ends.end.addr());
            assert!(first.addr() % LARGE == 0 && length % LARGE == 0 && length > 0);
            assert!(start <= first.addr() && first.addr() - start < LARGE);
            assert!(first.addr() + length <= end && end - (first.addr() + length) < LARGE);
        }
        assert!(whole_large_pages(&numbers).is_some() && whole_large_pages(&numbers[..NUMBERS / 2]).is_none());
    }

    #[test]
    fn a_prefetch_beyond_the_end_does_nothing() {
        prefetch(&[1, 2, 3], 2);
        prefetch(&[1, 2, 3], 3);
        prefetch::<u32>(&[], usize::MAX);
    }
}
