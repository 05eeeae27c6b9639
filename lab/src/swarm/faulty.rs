//! Faults of a datagram network that the network model does not have: damage, outage and death.

use crate::element::{Element, End};
use crate::random::Random;
use wetstring_proto::{Cx, Duration, Instant};

/// Faults of an element's datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Faults {
    /// Datagrams in 10,000 that have a wrong byte.
    pub(super) damage: u64,
    /// When nothing passes, in either direction: from, to.
    pub(super) silence: Option<(Duration, Duration)>,
    /// When everything ends permanently.
    pub(super) death: Option<Duration>,
}

/// An element whose datagrams have these faults.
pub(super) struct Faulty<'a> {
    inner: &'a mut dyn Element,
    faults: Faults,
    random: Random,
    /// Datagrams that were damaged, and that were lost.
    pub(super) hits: u64,
}

impl<'a> Faulty<'a> {
    pub(super) fn new(inner: &'a mut dyn Element, faults: Faults, random: Random) -> Self {
        Self { inner, faults, random, hits: 0 }
    }

    fn is_silent(&self, now: Instant) -> bool {
        let now = now.since(Instant::ZERO);
        let within = self.faults.silence.is_some_and(|(from, to)| (from..to).contains(&now));
        within || self.faults.death.is_some_and(|at| now >= at)
    }
}

impl Element for Faulty<'_> {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        if self.is_silent(cx.now) {
            self.hits += 1;
            return bytes.len();
        }
        if self.faults.damage == 0 || self.random.below(10_000) >= self.faults.damage {
            return self.inner.offer(cx, end, bytes);
        }
        self.hits += 1;
        let mut bytes = bytes.to_vec();
        let at = self.random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << self.random.below(8);
        self.inner.offer(cx, end, &bytes)
    }

    crate::forward_element!(inner);

    fn calm(&mut self) {
        // Dead permanently.
        self.faults = Faults { death: self.faults.death, ..Faults::default() };
        self.inner.calm();
    }
}
