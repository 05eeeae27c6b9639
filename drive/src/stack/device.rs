//! What smoltcp takes for its network interface: packets that came from the line, and packets that
//! are to go there.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// Packets of each direction that may wait. The line has a queue of its own, with classes; this
/// one only bridges a turn.
const MOST: usize = 32;

/// Two queues of IP packets.
#[derive(Debug)]
pub(super) struct Queues {
    mtu: usize,
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Queues {
    pub(super) fn new(mtu: usize) -> Self {
        Self { mtu, incoming: VecDeque::new(), outgoing: VecDeque::new() }
    }

    /// A packet came. It is lost if [`MOST`] wait already.
    pub(super) fn came(&mut self, packet: &[u8]) {
        if self.incoming.len() < MOST {
            self.incoming.push_back(packet.to_vec());
        }
    }

    /// The next packet that is to go.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
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
        // An answer to what came must find room.
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
