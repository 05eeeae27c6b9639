//! Sorted names of a directory, a page at a time: a directory of any size takes no more memory than a page.
//!
//! Each pass over the directory keeps the first names after the last one of the previous page, as many as fit.

use std::collections::BinaryHeap;

/// Memory per name besides its bytes.
pub(crate) const PER_NAME: usize = 64;

/// A page being built. `T` is stored with each name.
pub(crate) struct Page<'a, T> {
    /// The last name of the previous page.
    after: Option<&'a [u8]>,
    room: usize,
    kept: BinaryHeap<(Vec<u8>, T)>,
    bytes: usize,
    whole: bool,
}

impl<'a, T: Ord> Page<'a, T> {
    pub(crate) fn new(after: Option<&'a [u8]>, room: usize) -> Self {
        Self { after, room, kept: BinaryHeap::new(), bytes: 0, whole: true }
    }

    /// Whether this name belongs here, as far as is known so far.
    pub(crate) fn has_place_for(&self, name: &[u8]) -> bool {
        let before = self.after.is_some_and(|after| name <= after);
        let behind = !self.whole && self.kept.peek().is_some_and(|(last, _)| name >= &last[..]);
        !before && !behind
    }

    /// Adds a name, for which the last ones may be dropped; one always stays.
    pub(crate) fn put(&mut self, name: &[u8], with: T) {
        self.bytes += name.len() + PER_NAME;
        self.kept.push((name.to_vec(), with));
        while self.bytes > self.room && self.kept.len() > 1 {
            self.bytes -= self.kept.pop().map_or(0, |(gone, _)| gone.len() + PER_NAME);
            self.whole = false;
        }
    }

    /// The sorted names, and whether they are the last of the directory.
    pub(crate) fn made(self) -> (Vec<(Vec<u8>, T)>, bool) {
        (self.kept.into_sorted_vec(), self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_every_name_once_sorted_and_bounded() {
        let mut names: Vec<String> = (0..500).map(|n| format!("{:03}", n * 7 % 500)).collect();
        let (mut all, mut after, mut pages) = (Vec::new(), None::<Vec<u8>>, 0);
        loop {
            let mut page = Page::new(after.as_deref(), 10 * (PER_NAME + 3));
            for name in names.iter().map(String::as_bytes) {
                if page.has_place_for(name) {
                    page.put(name, ());
                }
            }
            let (made, whole) = page.made();
            assert!(made.len() <= 10, "{}", made.len());
            pages += 1;
            all.extend(made.iter().map(|(name, ())| String::from_utf8(name.clone()).unwrap()));
            after = made.last().map(|(name, ())| name.clone());
            if whole {
                break;
            }
        }
        names.sort();
        assert_eq!((all, pages), (names, 50));
    }
}
