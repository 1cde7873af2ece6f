//! The books of pages whose contents may turn out to be metadata: a bounded number of bytes, the page that was written longest ago goes
//! first, and those that look like metadata after all others.

use std::collections::BTreeMap;

/// What the books of a page take, in bytes.
pub const ENTRY: u64 = 96;

/// Pages that wait.
pub struct Late {
    /// Place in the order and bytes by page.
    pages: BTreeMap<u64, ((bool, u64), u64)>,
    /// Pages in the order in which they go: those that are likely to be metadata last, and the older first.
    order: BTreeMap<(bool, u64), u64>,
    next: u64,
    bytes: u64,
    limit: u64,
}

impl Late {
    /// Books for `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { pages: BTreeMap::new(), order: BTreeMap::new(), next: 0, bytes: 0, limit }
    }

    /// Bytes of the pages that wait, with their books.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// A page was written, and takes so many bytes of data. `likely` if it looks like metadata.
    pub fn touch(&mut self, page: u64, data: u64, likely: bool) {
        self.remove(page);
        let place = (likely, self.next);
        self.pages.insert(page, (place, data + ENTRY));
        self.order.insert(place, page);
        self.bytes += data + ENTRY;
        self.next += 1;
    }

    /// A page waits no more.
    pub fn remove(&mut self, page: u64) {
        if let Some((place, bytes)) = self.pages.remove(&page) {
            self.order.remove(&place);
            self.bytes -= bytes;
        }
    }

    /// The pages that wait from `first` to before `end`.
    pub fn between(&self, first: u64, end: u64) -> Vec<u64> {
        self.pages.range(first..end).map(|(page, _)| *page).collect()
    }

    /// The page that has to go, if they take too much, and whether it looks like metadata.
    pub fn excess(&mut self) -> Option<(u64, bool)> {
        if self.bytes <= self.limit {
            return None;
        }
        let (&(likely, _), &page) = self.order.first_key_value()?;
        self.remove(page);
        Some((page, likely))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_was_written_longest_ago_goes_first() {
        let mut late = Late::new(3 * (4096 + ENTRY));
        for page in [7, 8, 9] {
            late.touch(page, 4096, false);
        }
        late.touch(7, 4096, false);
        assert_eq!(late.excess(), None);
        late.touch(1, 0, false);
        assert_eq!((late.excess(), late.excess()), (Some((8, false)), None));
        assert_eq!((late.between(0, 100), late.bytes()), (vec![1, 7, 9], 2 * 4096 + 3 * ENTRY));
        late.remove(9);
        late.remove(9);
        assert_eq!((late.len(), late.bytes()), (2, 4096 + 2 * ENTRY));
    }
    #[test]
    fn what_looks_like_metadata_goes_last() {
        let mut late = Late::new(2 * ENTRY);
        for (page, likely) in [(1, true), (2, false), (3, false), (4, true)] {
            late.touch(page, 0, likely);
        }
        assert_eq!((late.excess(), late.excess(), late.excess()), (Some((2, false)), Some((3, false)), None));
        late.touch(5, 3 * ENTRY, true);
        assert_eq!((late.excess(), late.excess()), (Some((1, true)), Some((4, true))));
    }
}
