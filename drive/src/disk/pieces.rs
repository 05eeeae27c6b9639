//! The block map: which bytes exist of a file that is received in any order.
//!
//! It is stored as text in the extended attribute `user.wetstring.held` of the `.part`:
//! `0-65536,131072-196608`. A map that would be too long loses its shortest pieces: existing bytes are then
//! sent again, but missing bytes are never claimed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum bytes of a map on the disk. Most file systems keep the attributes of a file in one block.
const MAP_MAX: usize = 3000;

/// Pieces of a file: from, to. They neither overlap nor touch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Pieces {
    spans: BTreeMap<u64, u64>,
}

impl Pieces {
    /// The first `len` bytes.
    pub(super) fn prefix_of(len: u64) -> Self {
        let mut pieces = Self::default();
        pieces.add(0, len);
        pieces
    }

    /// These bytes exist.
    pub(super) fn add(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        // Adjacent pieces are merged.
        while let Some((&start, &end)) = self.spans.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.spans.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.spans.insert(from, to);
    }

    /// Nothing exists from `end` on.
    pub(super) fn cut(&mut self, end: u64) {
        let _ = self.spans.split_off(&end);
        if let Some(mut last) = self.spans.last_entry() {
            *last.get_mut() = end.min(*last.get());
        }
    }

    /// The next piece at or after `from`, cut at it; both ends equal if there is none.
    pub(super) fn next(&self, from: u64) -> (u64, u64) {
        let covers = self.spans.range(..=from).next_back().filter(|(_, to)| **to > from);
        if let Some((_, &to)) = covers {
            return (from, to);
        }
        self.spans.range(from..).next().map_or((from, from), |(&from, &to)| (from, to))
    }

    /// Length without a hole, from the start.
    pub(super) fn prefix(&self) -> u64 {
        self.spans.get(&0).copied().unwrap_or(0)
    }

    /// The first missing bytes below `end`.
    pub(super) fn hole(&self, end: u64) -> Option<(u64, u64)> {
        let from = self.prefix();
        let next = self.spans.range(from..).next().map_or(end, |(&start, _)| start);
        (from < end).then_some((from, next.min(end)))
    }

    /// Number of existing bytes.
    pub(super) fn total(&self) -> u64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }

    /// The end of the last piece.
    pub(super) fn end(&self) -> u64 {
        self.spans.last_key_value().map_or(0, |(_, to)| *to)
    }

    /// The map as text; only the longest pieces if not all fit.
    pub(super) fn text(&self) -> String {
        let mut longest: Vec<(u64, u64)> =
            self.spans.iter().map(|(from, to)| (*from, *to)).collect();
        longest.sort_by_key(|(from, to)| (std::cmp::Reverse(to - from), *from));
        let (mut kept, mut len) = (Vec::new(), 0);
        for (from, to) in longest {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write!(text, "{from}-{to}");
            len += text.len() + 1;
            if len > MAP_MAX {
                break;
            }
            kept.push((from, text));
        }
        kept.sort();
        kept.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
    }

    /// Parses a map; invalid parts are skipped. No piece goes beyond `len`.
    pub(super) fn parse(text: &str, len: u64) -> Self {
        let mut pieces = Self::default();
        for span in text.split(',') {
            let numbers = span.split_once('-');
            let numbers =
                numbers.and_then(|(a, b)| Some((a.parse().ok()?, b.parse::<u64>().ok()?)));
            if let Some((from, to)) = numbers {
                pieces.add(from, to.min(len));
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_agrees_with_a_list_of_bytes() {
        let mut dice = wetstring_testkit::Dice(3);
        let mut draw = |below: u64| dice.below(below);
        for _ in 0..300 {
            let (mut pieces, mut bytes) = (Pieces::default(), [false; 100]);
            for _ in 0..draw(20) {
                let from = draw(100);
                let to = (from + draw(15)).min(100);
                pieces.add(from, to);
                bytes[from as usize..to as usize].fill(true);
            }
            let count = bytes.iter().filter(|here| **here).count() as u64;
            assert_eq!(pieces.total(), count);
            let prefix = bytes.iter().position(|here| !here).unwrap_or(100) as u64;
            assert_eq!(pieces.prefix(), prefix);
            assert_eq!(
                pieces.end(),
                bytes.iter().rposition(|here| *here).map_or(0, |at| at as u64 + 1)
            );
            for from in 0..100_usize {
                let begin = (from..100).find(|at| bytes[*at]);
                let end = begin.map(|begin| (begin..100).find(|at| !bytes[*at]).unwrap_or(100));
                let expected = begin.zip(end).unwrap_or((from, from));
                assert_eq!(pieces.next(from as u64), (expected.0 as u64, expected.1 as u64));
            }
            let gap = (0..100_usize).find(|at| !bytes[*at]);
            let gap = gap.map(|gap| (gap, (gap..100).find(|at| bytes[*at]).unwrap_or(100)));
            let gap = gap.map(|(from, to)| (from as u64, to as u64));
            assert_eq!(pieces.hole(100), gap);
            assert_eq!(pieces.hole(pieces.prefix()), None);
            assert_eq!(Pieces::parse(&pieces.text(), 100), pieces);
            let end = draw(101) as usize;
            pieces.cut(end as u64);
            assert_eq!(pieces.total(), bytes[..end].iter().filter(|here| **here).count() as u64);
            assert!(pieces.end() <= end as u64);
        }
    }

    #[test]
    fn a_long_map_keeps_the_longest_pieces() {
        let mut pieces = Pieces::default();
        for index in 0..10_000_u64 {
            pieces.add(index * 100_000, index * 100_000 + 1 + index % 50_000);
        }
        let text = pieces.text();
        assert!(text.len() <= MAP_MAX && text.len() > MAP_MAX / 2);
        let kept = Pieces::parse(&text, u64::MAX);
        for (from, to) in &kept.spans {
            assert_eq!(pieces.next(*from), (*from, *to), "missing bytes are not claimed");
        }
        assert!(kept.spans.iter().all(|(from, to)| to - from > 9000));
    }

    #[test]
    fn invalid_maps_are_skipped() {
        let pieces = Pieces::parse("5-3,x-9,10-20,,15-18446744073709551615,-1", 40);
        assert_eq!(pieces.next(0), (10, 40));
        assert_eq!(Pieces::parse("", 10), Pieces::default());
    }
}
