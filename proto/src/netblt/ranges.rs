//! Which parts of a file move: those that the receiver does not have. A connection carries them one
//! after the other, so a position in the connection's stream is another than one in the file.

/// Most parts; a file in more pieces is moved again where they are smallest.
pub(crate) const MOST: usize = 32;

/// The word of a client string for the receiver's ranges.
pub(crate) const HAVE: &str = "have=";

/// Parts of a file that are to move, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ranges {
    /// (from, to) in the file.
    parts: [(u64, u64); MOST],
    count: usize,
}

impl Default for Ranges {
    fn default() -> Self {
        Self { parts: [(0, 0); MOST], count: 0 }
    }
}

impl Ranges {
    /// All of a file; of unknown length it has no end.
    pub(crate) fn whole(size: Option<u64>) -> Self {
        let mut ranges = Self::default();
        ranges.put(0, size.unwrap_or(u64::MAX));
        ranges
    }

    /// Adds a part after the others; false if there is no room, or it is not after them.
    pub(crate) fn put(&mut self, from: u64, to: u64) -> bool {
        let end = self.parts[..self.count].last().map_or(0, |last| last.1);
        if from >= to {
            return true;
        }
        if from < end || self.count == MOST {
            return false;
        }
        self.parts[self.count] = (from, to);
        self.count += 1;
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.parts[..self.count].iter().copied()
    }

    /// Bytes in all parts; `None` if it is open-ended.
    pub(crate) fn len(&self) -> Option<u64> {
        let endless = self.iter().any(|(_, to)| to == u64::MAX);
        (!endless).then(|| self.iter().map(|(from, to)| to - from).sum())
    }

    /// The end of a file of which this many bytes move. Where its length was not known, what moved behind
    /// the last part that was here counts from there.
    pub(crate) fn end(&self, moved: u64) -> u64 {
        match self.iter().last() {
            Some((from, u64::MAX)) => {
                let before: u64 =
                    self.iter().take(self.count - 1).map(|(from, to)| to - from).sum();
                from.saturating_add(moved.saturating_sub(before))
            }
            last => last.map_or(0, |(_, to)| to),
        }
    }

    /// What of a file of this size does not move because the receiver has it.
    pub(crate) fn kept(&self, size: u64) -> u64 {
        size.saturating_sub(self.len().unwrap_or(size))
    }

    /// The position in the file of this one in the stream, and how many bytes of the same part
    /// follow; `None` after the last.
    pub(crate) fn locate(&self, mut at: u64) -> Option<(u64, u64)> {
        for (from, to) in self.iter() {
            if at < to - from {
                return Some((from + at, to - from - at));
            }
            at -= to - from;
        }
        None
    }
}

/// The parts that the receiver has, on the way to those it does not have. A piece too small to
/// be worth a place is left out, and moves again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldRanges {
    /// (from, to); unused ones are empty.
    parts: [(u64, u64); MOST - 1],
    count: usize,
}

impl Default for HeldRanges {
    fn default() -> Self {
        Self { parts: [(0, 0); MOST - 1], count: 0 }
    }
}

impl HeldRanges {
    /// Adds a range of the receiver; ranges come in order. When there is no room the smallest is dropped.
    pub(crate) fn put(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        if self.count == self.parts.len() {
            let sizes = self.parts.iter().enumerate().map(|(at, part)| (part.1 - part.0, at));
            let Some((len, at)) = sizes.min() else { return };
            if len >= to - from {
                return;
            }
            self.parts.copy_within(at + 1.., at);
            self.count -= 1;
        }
        self.parts[self.count] = (from, to);
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Leaves out the parts that do not fit in a client string of this length, of which `used` are taken:
    /// both ends must reckon with the same.
    pub(crate) fn fit(&mut self, used: usize, room: usize) {
        let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
        let mut at = used + HAVE.len() + 1;
        let text = |(from, to): (u64, u64)| digits(from) + 1 + digits(to) + 1;
        let fits = self.parts[..self.count].iter().take_while(|part| {
            // The first has the word before it in the place of a comma.
            at += text(**part) - usize::from(at == used + HAVE.len() + 1);
            at <= room
        });
        self.count = fits.count();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.parts[..self.count].iter().copied()
    }

    /// What is missing of a file of this size; `None` if the parts make no sense with it.
    pub(crate) fn missing(&self, size: Option<u64>) -> Option<Ranges> {
        let mut ranges = Ranges::default();
        let mut at = 0;
        for (from, to) in self.iter() {
            if from < at || to <= from || size.is_some_and(|size| to > size) {
                return None;
            }
            ranges.put(at, from);
            at = to;
        }
        ranges.put(at, size.unwrap_or(u64::MAX));
        Some(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranges_are_located() {
        let mut have = HeldRanges::default();
        have.put(0, 10);
        have.put(20, 25);
        let missing = have.missing(Some(30)).unwrap();
        assert_eq!(missing.len(), Some(15));
        assert_eq!(missing.kept(30), 15);
        assert_eq!(missing.locate(0), Some((10, 10)));
        assert_eq!(missing.locate(12), Some((27, 3)));
        assert_eq!(missing.locate(15), None);
        assert_eq!(have.missing(Some(24)), None);
        assert_eq!(missing.end(15), 30);
        let open = have.missing(None).unwrap();
        assert_eq!((open.end(10), open.end(14), Ranges::whole(None).end(7)), (25, 29, 7));
        assert_eq!(Ranges::whole(None).locate(7), Some((7, u64::MAX - 7)));
    }

    #[test]
    fn the_smallest_part_gives_way() {
        let mut have = HeldRanges::default();
        for at in 0..40 {
            have.put(at * 100, at * 100 + 10 + at);
        }
        assert!(have.iter().all(|(from, to)| to - from >= 19));
        assert_eq!(have.iter().count(), MOST - 1);
    }
}
