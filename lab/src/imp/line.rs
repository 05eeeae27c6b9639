//! A line between two IMPs, in one direction, and the packets that go over it.

use crate::element::End;
use crate::net::chance::Coin;
use std::collections::VecDeque;

/// Packets of messages that wait for a line; with so many an IMP takes no more from its host.
pub(super) const STORED: usize = 8;

/// What an IMP says to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A packet of the message of this number. `granted`: the destination has kept a buffer for it.
    Data { number: u32, granted: bool },
    /// A request for the reassembly of a message of several packets.
    Request { number: u32 },
    /// Buffers are kept for the message of this number.
    Allocate { number: u32 },
    /// Ready for next message; `grants`: with buffers for one more of several packets.
    Rfnm { number: u32, grants: bool },
    /// Buffers that came with a RFNM are not needed.
    GiveBack,
}

/// A packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    /// The end whose IMP it comes from.
    pub(super) from: End,
    pub(super) what: What,
    /// Bits of the message in it.
    pub(super) data_bits: u64,
    /// It goes before others: what IMPs say themselves, and messages with the priority flag.
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

    /// A packet that was damaged goes before those that came after it.
    pub(super) fn put_again(&mut self, packet: Packet) {
        self.queues[usize::from(!packet.urgent)].push_front(packet);
    }

    /// Whether packets of messages have no more place here.
    pub(super) fn is_full(&self) -> bool {
        self.queues[1].len() >= STORED
    }

    /// Begins with the next packet, if there is one and the line is free, and says how many bits of data it has.
    pub(super) fn begin(&mut self) -> Option<u64> {
        if self.sending.is_some() {
            return None;
        }
        let packet = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.sending = Some((packet, self.damage.toss()));
        Some(packet.data_bits)
    }

    /// The packet that was under way, and whether it was damaged.
    pub(super) fn end(&mut self) -> Option<(Packet, bool)> {
        self.sending.take()
    }

    pub(super) fn calm(&mut self) {
        self.damage.never();
    }
}
