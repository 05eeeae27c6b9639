//! Outgoing datagrams for one peer, collected so that one system call carries several.
//!
//! The kernel splits one long buffer into datagrams of one length, of which only the last may be shorter. So
//! datagrams are appended while they have the length of the first.

use super::endpoint::{Endpoint, LONGEST, Sent};
use std::io;
use std::net::SocketAddr;

/// Maximum bytes per system call.
const MOST: usize = 65_507;

/// Queued datagrams.
#[derive(Debug)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    len: usize,
    /// Length of the first datagram.
    segment: usize,
    count: usize,
    /// The last one is shorter: nothing may follow it.
    closed: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; MOST + LONGEST], len: 0, segment: 0, count: 0, closed: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Room for the next datagram, of at most `most` bytes; `None` if the outbox must be flushed first.
    pub(super) fn room(&mut self, most: usize, segments: usize) -> Option<&mut [u8]> {
        let fits = self.count == 0
            || (!self.closed
                && self.count < segments
                && most <= self.segment
                && self.len + most <= MOST);
        fits.then(|| &mut self.bytes[self.len..self.len + most])
    }

    /// The next datagram was written there, with this length.
    pub(super) fn put(&mut self, len: usize) {
        if self.count == 0 {
            self.segment = len;
        }
        self.closed = len < self.segment;
        self.len += len;
        self.count += 1;
    }

    /// Sends everything. Only [`Sent::Full`] keeps it.
    pub(super) fn flush(&mut self, endpoint: &Endpoint, to: SocketAddr) -> io::Result<Sent> {
        if self.len == 0 {
            return Ok(Sent::Gone);
        }
        let sent = endpoint.send(to, &self.bytes[..self.len], self.segment);
        if !matches!(sent, Ok(Sent::Full)) {
            self.len = 0;
            self.count = 0;
            self.closed = false;
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_may_be_shorter() {
        let mut outbox = Outbox::new();
        assert_eq!(outbox.room(1000, 64).map(|room| room.len()), Some(1000));
        outbox.put(1000);
        assert!(outbox.room(1001, 64).is_none());
        assert!(outbox.room(1000, 64).is_some());
        outbox.put(700);
        assert!(outbox.room(700, 64).is_none());
    }

    #[test]
    fn it_is_full_at_the_kernels_limits() {
        let mut outbox = Outbox::new();
        for _ in 0..4 {
            assert!(outbox.room(1000, 4).is_some());
            outbox.put(1000);
        }
        assert!(outbox.room(1000, 4).is_none());
        let mut outbox = Outbox::new();
        outbox.put(60_000);
        assert!(outbox.room(6000, 64).is_none());
    }
}
