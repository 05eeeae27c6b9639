//! Packets under way, by the time at which they arrive, and a wire that carries them in turn.

use crate::element::Usage;
use std::collections::VecDeque;

/// Packets that arrive at their times; those of one time in the order in which they were put in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    packets: VecDeque<(u64, Vec<u8>)>,
    /// Empty buffers, to be used again.
    spare: Vec<Vec<u8>>,
}

/// Empty buffers that are kept.
const SPARE_MAX: usize = 64;

impl Flight {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Puts a packet in that arrives at `due`.
    pub(crate) fn put(&mut self, due: u64, bytes: &[u8]) {
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.extend_from_slice(bytes);
        // Nearly always the last: then this looks at one packet.
        let behind = self.packets.iter().rev().take_while(|(at, _)| *at > due).count();
        self.packets.insert(self.packets.len() - behind, (due, packet));
    }

    /// When the first arrives.
    pub(crate) fn next(&self) -> Option<u64> {
        self.packets.front().map(|(due, _)| *due)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// The first, if it has arrived by `now`.
    pub(crate) fn front(&self, now: u64) -> Option<&[u8]> {
        self.packets.front().filter(|(due, _)| *due <= now).map(|(_, packet)| packet.as_slice())
    }

    /// Removes the first.
    pub(crate) fn pop(&mut self) {
        if let Some((_, mut packet)) = self.packets.pop_front()
            && self.spare.len() < SPARE_MAX
        {
            packet.clear();
            self.spare.push(packet);
        }
    }

    /// Removes those that would arrive after `last`, and counts their bytes.
    pub(crate) fn cut(&mut self, last: u64) -> u64 {
        let keep = self.packets.partition_point(|(due, _)| *due <= last);
        self.packets.drain(keep..).map(|(_, packet)| packet.len() as u64).sum()
    }

    /// Moves the first that has arrived by `now` into `into`, and gives its length; 0 if none has. One
    /// that is longer than the buffer is lost.
    pub(crate) fn emit(&mut self, now: u64, usage: &mut Usage, into: &mut [u8]) -> usize {
        while let Some(packet) = self.front(now) {
            let len = packet.len();
            let place = into.get_mut(..len).filter(|place| !place.is_empty());
            let fits = place.map(|place| place.copy_from_slice(packet)).is_some();
            self.pop();
            if fits {
                usage.bytes_out += len as u64;
                return len;
            }
            usage.dropped_bytes += len as u64;
        }
        0
    }
}

/// A wire that carries one packet after the other. The remainder of a packet's time is carried as
/// long as there is no pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    rate_bps: u64,
    free_at: u64,
    /// Parts of a nanosecond, in units of 1/rate.
    carry: u64,
}

impl Wire {
    /// A wire of this rate; 0 takes no time.
    pub(crate) fn new(rate_bps: u64) -> Self {
        Self { rate_bps, free_at: 0, carry: 0 }
    }

    /// When it is free.
    pub(crate) fn free_at(&self) -> u64 {
        self.free_at
    }

    /// The time of this many bits, rounded down.
    pub(crate) fn time_of(&self, bits: u64) -> u64 {
        let ns = (u128::from(bits) * 1_000_000_000).checked_div(u128::from(self.rate_bps));
        u64::try_from(ns.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Carries this many bits, from `at` on or as soon as it is free. Gives the end.
    pub(crate) fn carry(&mut self, at: u64, bits: u64) -> u64 {
        if self.rate_bps == 0 {
            return at;
        }
        if at > self.free_at {
            self.free_at = at;
            self.carry = 0;
        }
        let rate = u128::from(self.rate_bps);
        let parts = u128::from(self.carry) + u128::from(bits) * 1_000_000_000;
        let ns = u64::try_from(parts / rate).unwrap_or(u64::MAX);
        self.free_at = self.free_at.saturating_add(ns);
        self.carry = (parts % rate) as u64;
        self.free_at
    }

    /// Nothing is carried before `at`.
    pub(crate) fn hold(&mut self, at: u64) {
        if at > self.free_at {
            self.free_at = at;
            self.carry = 0;
        }
    }
}
