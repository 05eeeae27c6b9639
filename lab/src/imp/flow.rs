//! Messages from one host to the other: the state in the two IMPs.

use super::model::SubnetModel;
use std::collections::{BTreeMap, VecDeque};
use wetstring_proto::arpanet::leader::{Form, Leader};

/// Bits of a message in one packet (RFC 802).
pub(super) const PACKET_BITS: u64 = 1008;
/// Maximum packets of a message, and buffers reserved for one of several packets.
pub(super) const PACKETS: u64 = 8;

/// A message without an RFNM.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) leader: Leader,
    pub(super) octets: Vec<u8>,
    /// Bits after the leader.
    pub(super) bits: u64,
}

impl Message {
    /// Number of its packets.
    pub(super) fn packets(&self) -> u64 {
        self.bits.div_ceil(PACKET_BITS).max(1)
    }

    /// Bits in the packet of this index.
    pub(super) fn bits_of(&self, index: u64) -> u64 {
        self.bits.saturating_sub(index * PACKET_BITS).min(PACKET_BITS)
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.leader.is_urgent(Form::Old)
    }
}

/// The state of the host's interface with the message that the IMP takes.
#[derive(Debug)]
pub(super) enum Intake {
    /// Nothing.
    Free,
    /// Its first packet is being received.
    Taking(Vec<u8>),
    /// The IMP takes no more bits: too many messages are under way.
    Blocked(Message),
    /// The IMP takes no more bits: buffers were requested at the destination.
    Asked(u32),
    /// Its other packets are being received; this one is next.
    Coming(u32, u64),
    /// The same, but the line has no room for it.
    Stalled(u32, u64),
}

/// The source IMP's side.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) intake: Intake,
    next: u32,
    pub(super) sent: BTreeMap<u32, Message>,
    /// Buffers that came with RFNMs, by the number of their timer.
    pub(super) grants: VecDeque<u64>,
    pub(super) turn: u64,
}

impl Source {
    pub(super) fn new() -> Self {
        let (sent, grants) = (BTreeMap::new(), VecDeque::new());
        Self { intake: Intake::Free, next: 0, sent, grants, turn: 0 }
    }

    /// Gives a message its number.
    pub(super) fn number(&mut self, message: Message) -> u32 {
        let number = self.next;
        self.next += 1;
        self.sent.insert(number, message);
        number
    }
}

/// A message at its destination.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Packets received.
    pub(super) came: u64,
    /// The complete message.
    pub(super) octets: Option<Vec<u8>>,
}

/// The destination IMP's side.
#[derive(Debug)]
pub(super) struct Destination {
    /// The next message for the host.
    pub(super) next: u32,
    /// The next RFNM.
    pub(super) rfnm: u32,
    pub(super) arrived: BTreeMap<u32, Arrival>,
    /// Buffers requested, by message.
    pub(super) asked: BTreeMap<u32, u64>,
    /// Messages with reserved buffers.
    pub(super) allocated: BTreeMap<u32, u64>,
    /// Free reassembly buffers, and those of them that are not for messages of several packets.
    pub(super) free: u64,
    spare: u64,
}

impl Destination {
    pub(super) fn new(model: &SubnetModel) -> Self {
        Self {
            next: 0,
            rfnm: 0,
            arrived: BTreeMap::new(),
            asked: BTreeMap::new(),
            allocated: BTreeMap::new(),
            free: model.buffers,
            spare: model.spare,
        }
    }

    /// The message whose request is served now, if one can be. Requests are served in the order of the
    /// messages: one for several packets when all earlier messages were received or have their buffers, one for
    /// a single packet when the RFNM of the previous one has been sent (RFC 626, 632).
    pub(super) fn serve(&mut self) -> Option<u32> {
        let (&number, &buffers) = self.asked.first_key_value()?;
        let known = |of: u32| self.arrived.contains_key(&of) || self.allocated.contains_key(&of);
        let is_next = number == self.rfnm || buffers > 1 && (self.rfnm..number).all(known);
        if !is_next || !self.has(buffers) {
            return None;
        }
        self.asked.remove(&number);
        self.allocated.insert(number, buffers);
        self.free -= buffers;
        Some(number)
    }

    /// Whether these buffers are available: eight, or one for a single packet.
    pub(super) fn has(&self, buffers: u64) -> bool {
        self.free >= if buffers > 1 { buffers + self.spare } else { buffers }
    }

    /// Takes a packet of a message; false if it is to be dropped.
    pub(super) fn take(&mut self, number: u32, packets: u64, granted: bool) -> bool {
        let known = self.arrived.get(&number);
        if number < self.rfnm || known.is_some_and(|arrival| arrival.came == packets) {
            return false;
        }
        if packets == 1 && !granted {
            // Out of order, or no buffer: it counts as a request for one.
            if number != self.rfnm || self.free == 0 {
                self.asked.insert(number, 1);
                return false;
            }
            self.free -= 1;
        }
        let arrival = self.arrived.entry(number).or_insert(Arrival { came: 0, octets: None });
        arrival.came += 1;
        true
    }

    /// A message is complete: unused reserved buffers are free again.
    pub(super) fn complete(&mut self, number: u32, packets: u64, octets: Vec<u8>) {
        self.allocated.remove(&number);
        if packets > 1 {
            self.free += PACKETS - packets;
        }
        if let Some(arrival) = self.arrived.get_mut(&number) {
            arrival.octets = Some(octets);
        }
    }

    /// The next message for the host, if complete.
    pub(super) fn deliver(&mut self) -> Option<(u32, Vec<u8>)> {
        let octets = self.arrived.get_mut(&self.next)?.octets.take()?;
        self.next += 1;
        Some((self.next - 1, octets))
    }
}
