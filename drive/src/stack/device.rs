//! smoltcp's network interface: packets received from the line, and packets to be sent.

use super::fragments::{self, FragmentCounts, Fragments};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Maximum queued packets per direction. The line has its own queue, with classes; this one only bridges a
/// turn.
const MOST: usize = 32;

/// Two queues of IP packets.
///
/// smoltcp here has no fragmentation: fragments are reassembled before, and an echo request longer than the MTU
/// is answered here, in fragments.
#[derive(Debug)]
pub(super) struct Queues {
    local: Ipv4Addr,
    mtu: usize,
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
    fragments: Fragments,
    /// Packets dropped because the queue was full.
    lost: u64,
    /// The identification of the next packet made here.
    number: u16,
}

impl Queues {
    pub(super) fn new(local: Ipv4Addr, mtu: usize) -> Self {
        let (incoming, outgoing) = (VecDeque::new(), VecDeque::new());
        let fragments = Fragments::default();
        Self { local, mtu, incoming, outgoing, fragments, lost: 0, number: 0 }
    }

    /// A packet was received. It is dropped if [`MOST`] are queued.
    pub(super) fn came(&mut self, now: Duration, packet: &[u8]) {
        let Some(packet) = self.fragments.came(now, packet) else { return };
        let is_long = packet.len() > self.mtu;
        if is_long && let Some(reply) = fragments::echo_reply(&packet, self.local, self.number) {
            self.number = self.number.wrapping_add(1);
            if self.outgoing.len() < MOST {
                self.outgoing.extend(fragments::cut(reply, self.mtu));
            } else {
                self.lost += 1;
            }
        } else if self.incoming.len() < MOST {
            self.incoming.push_back(packet);
        } else {
            self.lost += 1;
        }
    }

    /// The next packet to send.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }

    /// Fragment statistics, and the number of dropped packets.
    pub(super) fn counts(&self) -> (FragmentCounts, u64) {
        (self.fragments.counts, self.lost)
    }
}

#[derive(Debug)]
pub(super) struct Incoming(Vec<u8>);

#[derive(Debug)]
pub(super) struct Outgoing<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        // There must be room for an answer to what was received.
        if self.outgoing.len() >= MOST {
            return None;
        }
        Some((Incoming(self.incoming.pop_front()?), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        (self.outgoing.len() < MOST).then_some(Outgoing(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}
