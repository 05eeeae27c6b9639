//! The end of a file towards a receiver of our own kind.
//!
//! What is lost of the last round trip is known a round trip later, what is lost of that after another, and nothing
//! else is left to be sent meanwhile. Where packets are lost the sender does not wait: it says the last round
//! trip again once, and what it was asked for again as well. What has been acknowledged meanwhile is not sent.

use super::{Core, Mem, Stage};
use crate::netblt::window::SendRing;

/// Packets that were asked for at the end, as many as are remembered.
const KEPT: usize = 64;
/// Fewer packets are not worth it.
const FEWEST: u64 = 64;
/// Loss of one in N from which retransmission starts.
const LOST: u64 = 256;

/// What has been retransmitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// The last round trip was.
    once: bool,
    /// Packets of it that have not left yet.
    filling: u64,
    /// Packets of the file that were asked for.
    lost: u64,
    /// Places of packets that were asked for since.
    asked: [u64; KEPT],
    len: usize,
}

impl Default for Tail {
    fn default() -> Self {
        Self { once: false, filling: 0, lost: 0, asked: [0; KEPT], len: 0 }
    }
}

impl Tail {
    /// A packet left that has left before.
    pub(super) fn left(&mut self, place: u64) {
        if self.filling > 0 {
            self.filling -= 1;
            return;
        }
        self.lost += 1;
        if self.once
            && let Some(free) = self.asked.get_mut(self.len)
        {
            *free = place;
            self.len += 1;
        }
    }
}

impl Core {
    /// Nothing is left to be sent: whether something goes again before it is asked for.
    pub(super) fn goes_on(&mut self, mem: &mut Mem<'_>) -> bool {
        let mut tail = self.tail;
        let worth = tail.lost * LOST >= self.fresh && self.fresh >= FEWEST;
        if !self.paced || self.stage != Stage::Moving || !worth || !self.has_all_left() {
            return false;
        }
        tail.filling = 0;
        if core::mem::replace(&mut tail.once, true) {
            for place in &tail.asked[..core::mem::take(&mut tail.len)] {
                tail.filling += u64::from(self.wants_again(mem, *place));
            }
        } else {
            // The timer is a round trip, and what it may be late by.
            let trip = self.control_timer.as_nanos() * u128::from(self.pacer.pace.rate);
            let trip = u64::try_from(trip / 1_000_000_000_000).unwrap_or(u64::MAX);
            let open = self.low * u64::from(self.link.agreed.packets());
            for place in self.fresh.saturating_sub(trip).max(open)..self.fresh {
                tail.filling += u64::from(self.wants_again(mem, place));
            }
        }
        self.tail = tail;
        tail.filling > 0
    }

    /// Whether all of the file has been sent once.
    fn has_all_left(&self) -> bool {
        self.buffers().is_some_and(|buffers| {
            let last = buffers - 1;
            let before = last * u64::from(self.link.agreed.packets());
            self.fresh == before + u64::from(self.count(last))
        })
    }

    /// The packet at this place goes again, unless its buffer has arrived whole.
    fn wants_again(&mut self, mem: &mut Mem<'_>, place: u64) -> bool {
        let packets = u64::from(self.link.agreed.packets().max(1));
        let (index, packet) = (place / packets, (place % packets) as u32);
        let mut sends = SendRing::new(self.shape, mem.slots);
        let wanted = index >= self.low && !sends.is_done(index) && packet < self.count(index);
        if wanted {
            sends.want(index, packet);
            self.scan = self.scan.min(index);
        }
        wanted
    }
}
