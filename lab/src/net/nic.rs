//! A network interface with few buffers: deaf while it is busy.
//!
//! ```text
//!  host                      card                         cable
//!       -- load, send -->  [ buffer ]  ---------------->
//!       <-- read ---------  (RX-armed, TX, RX-full)  <--
//! ```
//!
//! The 3C500 (3Com EtherLink, 3C501) has one packet buffer for both directions. It is armed for receiving, or
//! busy with a packet to send (from the start of the loading by the host to the end of the sending), or full
//! with a packet that the host has not read completely. A packet that arrives, in whole or in part, while the
//! card is not armed is lost. [RFC 1030 §6: 6.0 ms to send and 6.1 ms to receive a packet of 1438 bytes of
//! data; the time to arm again is not stated.]
//!
//! The P1300 (Proteon ProNET-10) has one buffer for each direction, and both work at the same time:
//! 8 ms for 1990 bytes each way. [RFC 1030 §5.]
//!
//! An element between a host and a network. The host is at end A, unless `flip` says that it is at
//! end B (the card at the end of a chain). Words, after `nic:` (`nic:3c500` and `nic:p1300` are
//! those cards, and words may follow):
//!
//! | word | meaning | unless given | 3c500 | p1300 |
//! |---|---|---|---|---|
//! | `send=COST` | from the begin of loading to the end of sending | 0 | 0s+4049ns | 0s+3933ns |
//! | `receive=COST` | from the arrival of a packet until the host has read it | 0 | 0s+4116ns | 0s+3933ns |
//! | `rearm=0s` | from then until the card is armed again | 0 | 100 us | 100 us |
//! | `deaf=0s` | from the end of sending until the host has armed it again | 0 | 0 | 0 |
//! | `shared` | one buffer for both directions | no | yes | no |
//! | `held` | a packet stays on the card until the host comes for it, see `unload` of [`crate::host`]; loading overwrites it | no | no | no |
//! | `wire=10M` | rate of the cable: for this long a packet that arrives has been coming in | 10M | 10M | 10M |
//! | `flip` | the host is at end B | no | no | no |

use super::flight::{Flight, Wire};
use super::parse::{BadNet, Cost, Param, Shown, ShownRate, words};
use crate::element::{Element, End, Unit, Usage};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Description of a network interface. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NicModel {
    /// From the begin of loading to the end of sending.
    pub send: Cost,
    /// From the arrival of a packet until the host has read it.
    pub receive: Cost,
    /// From then until the receiver is armed again.
    pub rearm: Duration,
    /// From the end of sending until the host has armed it again; it may send meanwhile.
    pub deaf: Duration,
    /// One buffer for both directions.
    pub shared: bool,
    /// A packet stays on the card until the host reads it; `receive` counts from then.
    pub held: bool,
    /// Bit/s of the cable.
    pub wire_bps: u64,
    /// The host is at end B.
    pub flip: bool,
}

impl Default for NicModel {
    fn default() -> Self {
        Self {
            send: Cost::NONE,
            receive: Cost::NONE,
            rearm: Duration::ZERO,
            deaf: Duration::ZERO,
            shared: false,
            held: false,
            wire_bps: 10_000_000,
            flip: false,
        }
    }
}

const NAME: &str = "nic";
const KEYS: &str = "3c500 or p1300 first, or one of send, receive, rearm, deaf, shared, held, \
                    wire, flip";

impl FromStr for NicModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for (index, word) in words(NAME, text, None)?.iter().enumerate() {
            match word.key {
                "3c500" if index == 0 && word.flag()? => model = Self::ethernet_3c500(),
                "p1300" if index == 0 && word.flag()? => model = Self::token_ring_p1300(),
                _ => model.set(word)?,
            }
        }
        Ok(model)
    }
}

impl NicModel {
    /// The 3Com 3C500 in a PC/AT. The source has 6.0 and 6.1 ms for a packet of 1438 bytes of data;
    /// with the headers of NETBLT (24 bytes) and IP (20) that is a datagram of 1482 bytes.
    pub fn ethernet_3c500() -> Self {
        Self {
            send: Cost { packet_ns: 0, byte_ps: 4_049_000 },
            receive: Cost { packet_ns: 0, byte_ps: 4_116_000 },
            rearm: Duration::from_micros(100),
            shared: true,
            ..Self::default()
        }
    }

    /// The Proteon P1300 in a PC/AT: 8 ms for 1990 bytes of data, both ways at once; a datagram of
    /// 2034 bytes with the headers.
    pub fn token_ring_p1300() -> Self {
        let cost = Cost { packet_ns: 0, byte_ps: 3_933_000 };
        Self { send: cost, receive: cost, rearm: Duration::from_micros(100), ..Self::default() }
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "send" => self.send = word.cost()?,
            "receive" => self.receive = word.cost()?,
            "rearm" => self.rearm = word.time()?,
            "deaf" => self.deaf = word.time()?,
            "shared" => self.shared = word.flag()?,
            "held" => self.held = word.flag()?,
            "wire" => self.wire_bps = word.rate()?,
            "flip" => self.flip = word.flag()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl fmt::Display for NicModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nic:send={},receive={}", self.send, self.receive)?;
        let usual = Self::default();
        if self.rearm != usual.rearm {
            write!(f, ",rearm={}", Shown(self.rearm))?;
        }
        if self.deaf != usual.deaf {
            write!(f, ",deaf={}", Shown(self.deaf))?;
        }
        if self.shared {
            f.write_str(",shared")?;
        }
        if self.held {
            f.write_str(",held")?;
        }
        if self.wire_bps != usual.wire_bps {
            write!(f, ",wire={}", ShownRate(self.wire_bps))?;
        }
        if self.flip {
            f.write_str(",flip")?;
        }
        Ok(())
    }
}

/// A network interface.
#[derive(Clone, Debug)]
pub struct Nic {
    model: NicModel,
    wire: Wire,
    /// From the host to the cable, and from the cable to the host.
    out: Flight,
    into: Flight,
    /// When the last packet that was sent, and the one that was received, began and ended.
    sending: (u64, u64),
    receiving: (u64, u64),
    refused: bool,
    count: u64,
    /// By the end of offering.
    usage: [Usage; 2],
}

impl Nic {
    /// An interface of this model.
    pub fn new(model: &NicModel) -> Self {
        Self {
            wire: Wire::new(model.wire_bps),
            model: model.clone(),
            out: Flight::new(),
            into: Flight::new(),
            sending: (0, 0),
            receiving: (0, 0),
            refused: false,
            count: 0,
            usage: [Usage::default(); 2],
        }
    }

    fn host(&self) -> End {
        if self.model.flip { End::B } else { End::A }
    }

    /// The host offers a packet.
    fn load(&mut self, now: u64, bytes: &[u8]) -> usize {
        let free = self.free_at();
        self.refused = now < free && free != u64::MAX;
        if self.refused {
            return 0;
        }
        let ends = now.saturating_add(self.model.send.of_ns(bytes.len()));
        if self.model.held && self.model.shared && self.into.len() > 0 {
            // An unread packet is overwritten.
            let lost = self.into.cut(0);
            self.usage[self.host().other().index()].dropped_bytes += lost;
            self.receiving.1 = now;
        }
        self.sending = (now, ends);
        // The cable takes over at the end of the loading: it has the time of the frame itself.
        let frame = self.wire.time_of(super::EthernetModel::frame_bits(bytes.len() as u64));
        self.out.put(ends.saturating_sub(frame).max(now), bytes);
        bytes.len()
    }

    /// When the host may load a packet.
    fn free_at(&self) -> u64 {
        let sent = self.sending.1;
        if self.model.shared { sent.max(self.receiving.1) } else { sent }
    }

    /// A packet has arrived from the cable.
    fn come(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        let frame = self.wire.time_of(super::EthernetModel::frame_bits(bytes.len() as u64));
        let began = now.saturating_sub(frame);
        // A card that has never been busy is not deaf at the beginning either.
        let meets = |busy: (u64, u64)| busy.1 > 0 && busy.0 < now && began < busy.1;
        let index = self.count;
        self.count += 1;
        let deaf = u64::try_from(self.model.deaf.as_nanos()).unwrap_or(u64::MAX);
        let sending = match self.sending {
            (_, 0) => (0, 0),
            (from, to) => (from, to.saturating_add(deaf)),
        };
        if meets(self.receiving) || self.model.shared && meets(sending) {
            self.usage[self.host().other().index()].dropped_bytes += bytes.len() as u64;
            if cx.trace.enabled() {
                cx.trace.record(cx.now, &TraceEvent::Value { name: "nic_deaf", value: index });
            }
            return bytes.len();
        }
        if self.model.held {
            self.receiving = (now, u64::MAX);
            self.into.put(now, bytes);
            return bytes.len();
        }
        let read = now.saturating_add(self.model.receive.of_ns(bytes.len()));
        let rearm = u64::try_from(self.model.rearm.as_nanos()).unwrap_or(u64::MAX);
        self.receiving = (now, read.saturating_add(rearm));
        self.into.put(read, bytes);
        bytes.len()
    }
}

impl Element for Nic {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let taken = if end == self.host() {
            self.load(cx.now.as_nanos(), bytes)
        } else {
            self.come(cx, bytes)
        };
        let usage = &mut self.usage[end.index()];
        usage.bytes_in += taken as u64;
        usage.bits += taken as u64 * 8;
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let flight = if end == self.host() { &self.into } else { &self.out };
        flight.next().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let now = cx.now.as_nanos();
        let to_host = end == self.host();
        let flight = if to_host { &mut self.into } else { &mut self.out };
        let len = flight.emit(now, &mut self.usage[end.other().index()], into);
        if to_host && self.model.held && len > 0 {
            let read = now.saturating_add(self.model.receive.of_ns(len));
            let rearm = u64::try_from(self.model.rearm.as_nanos()).unwrap_or(u64::MAX);
            self.receiving.1 = read.saturating_add(rearm);
        }
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        (self.refused && end == self.host()).then(|| Instant(self.free_at()))
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.usage[end.index()]
    }
}
