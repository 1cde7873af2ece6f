//! A long vector whose copies share what neither has changed.
//!
//! A fork of a drive needs the maps of the drive as they are, and changes a small part of them. So the vector is *shared* first:
//! it becomes a base that does not change, and each copy keeps the pages in which it differs. A vector that was never shared
//! pays nothing for this: the check of its bounds, which fails for a shared one, is what tells the two apart.

use crate::memory::{copy_in_large_pages, prefetch, use_large_pages};
use std::sync::Arc;

/// Items of a page, which is copied as a whole.
const PAGE: usize = 1024;
/// No page of its own.
const NONE: u32 = u32::MAX;

/// A vector of fixed length whose copies share what neither has changed.
#[derive(Debug)]
pub struct SharedVec<T> {
    /// All items; none if it is shared.
    own: Vec<T>,
    shared: Option<Box<Shared<T>>>,
    /// True if it lies in large pages of memory, since nearly all of it is used.
    large: bool,
}

/// A base, and the pages that differ from it.
#[derive(Clone, Debug)]
struct Shared<T> {
    base: Arc<Vec<T>>,
    /// By page of the base: the number of the page that replaces it.
    places: Vec<u32>,
    pages: Vec<[T; PAGE]>,
}

impl<T: Copy + Default> Clone for SharedVec<T> {
    fn clone(&self) -> Self {
        let Self { own, shared, large } = self;
        let own = if *large { copy_in_large_pages(own) } else { own.clone() };
        Self { own, shared: shared.clone(), large: *large }
    }
}

impl<T: Copy + Default> SharedVec<T> {
    /// So many items of the default value. Memory is taken only where it is written.
    #[must_use]
    pub fn new(length: usize) -> Self
    where
        T: Zero,
    {
        Self { own: T::zeros(length), shared: None, large: false }
    }

    /// How many items it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.as_ref().map_or(self.own.len(), |shared| shared.base.len())
    }

    /// True if it has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at a position.
    ///
    /// # Panics
    /// If the position does not exist.
    #[inline]
    #[must_use]
    pub fn at(&self, position: usize) -> T {
        match self.own.get(position) {
            Some(&item) => item,
            None => self.at_shared(position),
        }
    }

    /// The item at a position, to change it.
    ///
    /// # Panics
    /// If the position does not exist.
    #[inline]
    pub fn at_mut(&mut self, position: usize) -> &mut T {
        if position < self.own.len() {
            return &mut self.own[position];
        }
        self.at_mut_shared(position)
    }

    /// Asks for the item at a position before it is needed.
    #[inline]
    pub fn expect(&self, position: usize) {
        if position < self.own.len() {
            prefetch(&self.own, position);
        } else {
            self.expect_shared(position);
        }
    }

    /// Items from a position on to change; none if they are shared, or some do not exist.
    #[inline]
    pub fn own_part_mut(&mut self, position: usize, items: usize) -> Option<&mut [T]> {
        self.own.get_mut(position..position + items)
    }

    /// All items to change, if they are not shared.
    pub fn own_mut(&mut self) -> Option<&mut [T]> {
        self.shared.is_none().then_some(&mut self.own[..])
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map(|position| self.at(position))
    }

    /// Asks for large pages of memory, since all of it will be used.
    pub fn use_large_pages(&mut self) {
        use_large_pages(&self.own);
        self.large = true;
    }

    /// Prepares for copies that share its items. It costs no copy, unless much of it has changed since it was shared last:
    /// then each copy would cost as much.
    pub fn share(&mut self) {
        self.unshare();
        if let Some(shared) = self.shared.take_if(|shared| shared.pages.len() > shared.places.len() / 8) {
            let base = &shared.base;
            self.own = shared.laid_over(if self.large { copy_in_large_pages(base) } else { base.to_vec() });
        }
        if self.shared.is_none() {
            let base = Arc::new(std::mem::take(&mut self.own));
            let places = vec![NONE; base.len().div_ceil(PAGE)];
            self.shared = Some(Box::new(Shared { base, places, pages: Vec::new() }));
        }
    }

    /// Takes its items for itself again if no copy shares them any more.
    pub fn unshare(&mut self) {
        if let Some(mut shared) = self.shared.take_if(|shared| Arc::get_mut(&mut shared.base).is_some()) {
            let base = Arc::get_mut(&mut shared.base).map(std::mem::take).expect("just seen");
            self.own = shared.laid_over(base);
        }
    }

    // These are kept out of the way of what most drives do; a fork loses nothing by it.
    #[cold]
    fn at_shared(&self, position: usize) -> T {
        let Shared { base, places, pages } = self.sharing(position);
        match places[position / PAGE] {
            NONE => base[position],
            place => pages[place as usize][position % PAGE],
        }
    }

    #[cold]
    fn at_mut_shared(&mut self, position: usize) -> &mut T {
        self.sharing(position);
        let Shared { base, places, pages } = &mut **self.shared.as_mut().expect("just seen");
        let place = &mut places[position / PAGE];
        if *place == NONE {
            *place = pages.len() as u32;
            let start = position / PAGE * PAGE;
            let end = base.len().min(start + PAGE);
            let mut page = [T::default(); PAGE];
            page[..end - start].copy_from_slice(&base[start..end]);
            pages.push(page);
        }
        &mut pages[*place as usize][position % PAGE]
    }

    #[cold]
    fn expect_shared(&self, position: usize) {
        let Some(Shared { base, places, pages }) = self.shared.as_deref() else { return };
        match places.get(position / PAGE) {
            None => {}
            Some(&NONE) => prefetch(base, position),
            Some(&place) => prefetch(&pages[place as usize], position % PAGE),
        }
    }

    /// What a position is shared in.
    fn sharing(&self, position: usize) -> &Shared<T> {
        match self.shared.as_deref() {
            Some(shared) if position < shared.base.len() => shared,
            _ => panic!("position {position} of {}", self.len()),
        }
    }
}

impl<T: Copy> Shared<T> {
    /// The items of the base, with the pages that replace some.
    fn laid_over(&self, mut base: Vec<T>) -> Vec<T> {
        for (items, &place) in base.chunks_mut(PAGE).zip(&self.places) {
            if place != NONE {
                items.copy_from_slice(&self.pages[place as usize][..items.len()]);
            }
        }
        base
    }
}

/// Numbers whose default is zero, of which the system gives untouched memory.
pub trait Zero: Sized {
    /// So many zeros.
    fn zeros(length: usize) -> Vec<Self>;
}

impl Zero for u32 {
    fn zeros(length: usize) -> Vec<Self> {
        vec![0; length]
    }
}

impl Zero for u64 {
    fn zeros(length: usize) -> Vec<Self> {
        vec![0; length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Forks of forks, written at random, are what plain copies would be.
    #[test]
    fn forks_are_copies() {
        for seed in 0..40 {
            let mut random = Stream::new(seed, "shared-test", 0);
            // Also a length that is no whole number of pages, and one below a page.
            let length = 1 + random.below(12 * PAGE as u64) as usize;
            let mut pairs = vec![(SharedVec::<u32>::new(length), vec![0; length])];
            for step in 0..4_000 {
                let which = random.below(pairs.len() as u64) as usize;
                if pairs.len() > 1 && random.below(400) == 0 {
                    pairs.swap_remove(which);
                    continue;
                }
                let (shared, plain) = &mut pairs[which];
                let position = random.below(length as u64) as usize;
                match random.below(400) {
                    0 if step > 100 => {
                        shared.share();
                        let copy = (shared.clone(), plain.clone());
                        pairs.push(copy);
                    }
                    1 => shared.unshare(),
                    2 => shared.use_large_pages(),
                    3..200 => {
                        let item = random.below(1 << 32) as u32;
                        *shared.at_mut(position) = item;
                        plain[position] = item;
                    }
                    _ => {
                        shared.expect(position);
                        assert_eq!(shared.at(position), plain[position], "seed {seed}, step {step}");
                    }
                }
            }
            for (shared, plain) in &pairs {
                assert!(shared.iter().eq(plain.iter().copied()), "seed {seed}");
                assert_eq!(shared.len(), length);
            }
        }
    }

    #[test]
    fn a_fork_takes_only_the_pages_that_it_changes() {
        let mut first = SharedVec::<u64>::new(10 * PAGE);
        *first.at_mut(7) = 1;
        first.share();
        let mut fork = first.clone();
        for position in [3, 5, 2 * PAGE] {
            *fork.at_mut(position) = 9;
        }
        assert_eq!(fork.shared.as_ref().unwrap().pages.len(), 2);
        assert_eq!(first.shared.as_ref().unwrap().pages.len(), 0);
        assert_eq!((fork.at(5), fork.at(7), first.at(5)), (9, 1, 0));
        drop(fork);
        first.unshare();
        assert!(first.shared.is_none(), "nobody shares it any more");
    }

    #[test]
    #[should_panic(expected = "position 5 of 5")]
    fn a_position_behind_the_end_is_none() {
        let mut short = SharedVec::<u32>::new(5);
        short.share();
        let _ = short.at(5);
    }
}
