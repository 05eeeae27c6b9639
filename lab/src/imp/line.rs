//! One direction of a line between two IMPs, and its packets.

use crate::element::End;
use crate::net::chance::Coin;
use std::collections::VecDeque;

/// Maximum queued message packets of a line; at that point an IMP takes no more from its host.
pub(super) const STORED: usize = 8;

/// What IMPs send to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A packet of the message of this number. `granted`: the destination has reserved a buffer for it.
    Data { number: u32, granted: bool },
    /// A request for the reassembly buffers of a message of several packets.
    Request { number: u32 },
    /// Buffers are reserved for the message of this number.
    Allocate { number: u32 },
    /// Ready for next message; `grants`: with buffers for one more of several packets.
    Rfnm { number: u32, grants: bool },
    /// Buffers that came with a RFNM are not needed.
    GiveBack,
}

/// A packet in transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    /// The end of its source IMP.
    pub(super) from: End,
    pub(super) what: What,
    /// Bits of the message in it.
    pub(super) data_bits: u64,
    /// Priority: the IMPs' own packets, and messages with the priority flag.
    pub(super) urgent: bool,
}

/// One direction of a line.
#[derive(Debug)]
pub(super) struct Line {
    queues: [VecDeque<Packet>; 2],
    sending: Option<(Packet, bool)>,
    damage: Coin,
}

impl Line {
    pub(super) fn new(damage: Coin) -> Self {
        Self { queues: Default::default(), sending: None, damage }
    }

    pub(super) fn put(&mut self, packet: Packet) {
        self.queues[usize::from(!packet.urgent)].push_back(packet);
    }

    /// A damaged packet is retransmitted before later ones.
    pub(super) fn put_again(&mut self, packet: Packet) {
        self.queues[usize::from(!packet.urgent)].push_front(packet);
    }

    /// Whether there is no room for message packets.
    pub(super) fn is_full(&self) -> bool {
        self.queues[1].len() >= STORED
    }

    /// Starts the next packet, if there is one and the line is free; returns its data bits.
    pub(super) fn begin(&mut self) -> Option<u64> {
        if self.sending.is_some() {
            return None;
        }
        let packet = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.sending = Some((packet, self.damage.toss()));
        Some(packet.data_bits)
    }

    /// The packet in transit, and whether it was damaged.
    pub(super) fn end(&mut self) -> Option<(Packet, bool)> {
        self.sending.take()
    }

    pub(super) fn calm(&mut self) {
        self.damage.never();
    }
}
