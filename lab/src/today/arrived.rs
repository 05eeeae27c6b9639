//! Bytes that arrive in lots: what a packet brought is there at once.

use std::collections::VecDeque;

/// Lots of bytes by the times at which they arrive, which never go back.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    lots: VecDeque<(u64, VecDeque<u8>)>,
}

impl Arrived {
    /// These bytes arrive at `due`.
    pub(super) fn put(&mut self, due: u64, bytes: impl IntoIterator<Item = u8>) {
        let due = self.lots.back().map_or(due, |(last, _)| due.max(*last));
        self.lots.push_back((due, bytes.into_iter().collect()));
    }

    /// When the first arrives.
    pub(super) fn next(&self) -> Option<u64> {
        self.lots.front().map(|(due, _)| *due)
    }

    /// Moves what has arrived by `now` into `into`; returns how many bytes.
    pub(super) fn take(&mut self, now: u64, into: &mut [u8]) -> usize {
        let mut len = 0;
        while len < into.len()
            && let Some((due, lot)) = self.lots.front_mut()
            && *due <= now
        {
            let count = lot.len().min(into.len() - len);
            crate::serial::copy_out(lot, &mut into[len..len + count]);
            len += count;
            if lot.is_empty() {
                self.lots.pop_front();
            }
        }
        len
    }
}
