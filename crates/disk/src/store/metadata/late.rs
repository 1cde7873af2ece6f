//! The books of pages whose contents may turn out to be metadata: a bounded number of bytes, the page that was written longest ago goes
//! first.

use std::collections::BTreeMap;

/// What the books of a page take, in bytes.
pub const ENTRY: u64 = 96;

/// Pages that wait.
pub struct Late {
    /// Age and bytes by page.
    pages: BTreeMap<u64, (u64, u64)>,
    /// Pages by age.
    ages: BTreeMap<u64, u64>,
    next: u64,
    bytes: u64,
    limit: u64,
}

impl Late {
    /// Books for `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { pages: BTreeMap::new(), ages: BTreeMap::new(), next: 0, bytes: 0, limit }
    }

    /// Bytes of the pages that wait, with their books.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// A page was written, and takes so many bytes of data.
    pub fn touch(&mut self, page: u64, data: u64) {
        self.remove(page);
        self.pages.insert(page, (self.next, data + ENTRY));
        self.ages.insert(self.next, page);
        self.bytes += data + ENTRY;
        self.next += 1;
    }

    /// A page waits no more.
    pub fn remove(&mut self, page: u64) {
        if let Some((age, bytes)) = self.pages.remove(&page) {
            self.ages.remove(&age);
            self.bytes -= bytes;
        }
    }

    /// The pages that wait from `first` to before `end`.
    pub fn between(&self, first: u64, end: u64) -> Vec<u64> {
        self.pages.range(first..end).map(|(page, _)| *page).collect()
    }

    /// The page that has to go, if they take too much: the oldest.
    pub fn excess(&mut self) -> Option<u64> {
        if self.bytes <= self.limit {
            return None;
        }
        let page = *self.ages.first_key_value()?.1;
        self.remove(page);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_was_written_longest_ago_goes_first() {
        let mut late = Late::new(3 * (4096 + ENTRY));
        for page in [7, 8, 9] {
            late.touch(page, 4096);
        }
        late.touch(7, 4096);
        assert_eq!(late.excess(), None);
        late.touch(1, 0);
        assert_eq!((late.excess(), late.excess()), (Some(8), None));
        assert_eq!((late.between(0, 100), late.bytes()), (vec![1, 7, 9], 2 * 4096 + 3 * ENTRY));
        late.remove(9);
        late.remove(9);
        assert_eq!((late.len(), late.bytes()), (2, 4096 + 2 * ENTRY));
    }
}
