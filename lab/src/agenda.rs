//! The agenda: what is to happen when, ordered by time and then by who came first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wetstring_proto::Instant;

/// Things to do, ordered by (time, sequence): two things at the same time come in the order in
/// which they were put in, so that a run never depends on how a heap breaks ties.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    sequence: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<T> Agenda<T> {
    /// An empty agenda.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts something in.
    pub fn put(&mut self, at: Instant, what: T) {
        self.heap.push(Reverse(Entry { at, sequence: self.sequence, what }));
        self.sequence += 1;
    }

    /// When the first thing is due.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes the first thing that is due by `now`.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }

    /// How many things are in it.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
