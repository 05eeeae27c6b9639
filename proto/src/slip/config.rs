//! The configuration of one end of a SLIP line.

use super::decompress::HEADROOM;
use super::differential;
use super::frame::longest;
use super::mtu::{CUSTOMARY_MTU, Rate};
use super::queue::QueueConfig;
use super::table::{BadTable, FEWEST_SLOTS, MOST_SLOTS, SLOT};
use crate::{Duration, MemoryTooSmall};
use core::fmt;

/// The handling of headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// SLIP (RFC 1055): packets unchanged, both ways. A compressed frame is invalid.
    Off,
    /// CSLIP (RFC 1144), both ways.
    On,
    /// Input may be compressed; output is, once a frame came that only CSLIP has. Now and then an
    /// acknowledgement is repeated in the form that only CSLIP has, so that two such ends detect each other; an
    /// end that knows only SLIP drops it and has lost nothing.
    Auto,
    /// The scheme of [`differential`], both ways: for the laboratory.
    Differential,
}

crate::choice! {
    for Compression:
    "on" => Compression::On,
    "off" => Compression::Off,
    "auto" => Compression::Auto,
}

/// Settings of a [`Link`](super::Link).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes of the longest packet that is sent.
    pub mtu: u16,
    /// Bytes of the longest frame that is taken. RFC 1055 asks for 1006 at least; a longer limit
    /// costs only memory.
    pub mru: u16,
    /// The handling of headers.
    pub compression: Compression,
    /// Connections whose headers are kept, each way: 3 to 256; both ends alike.
    pub slots: u16,
    /// The slot is omitted if it is that of the previous frame: safe where errors are detected.
    pub omit_slot: bool,
    /// The offer of timestamps is taken out of TCP's SYNs, both ways, unless compression is off: with them
    /// nothing can be compressed. See [`options`](super::options).
    pub take_out_timestamps: bool,
    /// Bytes of packets that may be queued.
    pub queue_bytes: usize,
    /// Classes and turns; its longest packet has to be the MTU.
    pub queue: QueueConfig,
    /// The rate of the line, if the port's own buffer is to be kept short: no packet is chosen while more
    /// than [`Config::ahead`] of the last is still in flight. `None`: the port says when it takes more.
    pub rate: Option<Rate>,
    /// How much of a packet may still be in flight when the next is chosen, so that the line is never idle.
    pub ahead: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self::new(CUSTOMARY_MTU)
    }
}

impl Config {
    /// The customary settings for packets of this length: 16 slots, compressed when the peer is, and
    /// room for 32 packets.
    pub fn new(mtu: u16) -> Self {
        Self {
            mtu,
            mru: 1500,
            compression: Compression::Auto,
            slots: 16,
            omit_slot: true,
            take_out_timestamps: false,
            queue_bytes: 32 * usize::from(mtu),
            queue: QueueConfig::new(mtu),
            rate: None,
            ahead: Duration::from_millis(5),
        }
    }

    /// The lengths of the parts of the memory.
    pub fn memory(&self) -> Parts<usize> {
        let slots = match self.compression {
            Compression::Off => 0,
            _ => usize::from(self.slots) * SLOT,
        };
        let mtu = usize::from(self.mtu);
        Parts {
            sent: slots,
            received: slots,
            queue: self.queue.memory(self.queue_bytes),
            packet: mtu,
            wire: longest(mtu),
            frame: HEADROOM + usize::from(self.mru),
        }
    }

    /// The memory itself, each part made by `make` with its length.
    ///
    /// ```
    /// use wetstring_proto::slip::{Config, Link};
    ///
    /// let config = Config::default();
    /// let link = Link::new(config, config.parts(|len| vec![0; len])).unwrap();
    /// assert!(link.is_idle());
    ///
    /// // The same without an allocator.
    /// let mut memory = [0; 32 * 1024];
    /// let mut rest = &mut memory[..];
    /// let parts = config.parts(|len| rest.split_off_mut(..len).unwrap());
    /// assert!(Link::new(config, parts).is_ok());
    /// ```
    pub fn parts<M>(&self, mut make: impl FnMut(usize) -> M) -> Parts<M> {
        let len = self.memory();
        Parts {
            sent: make(len.sent),
            received: make(len.received),
            queue: make(len.queue),
            packet: make(len.packet),
            wire: make(len.wire),
            frame: make(len.frame),
        }
    }

    pub(super) fn takes_out_timestamps(&self) -> bool {
        self.take_out_timestamps && self.compression != Compression::Off
    }

    /// Whether all values are within their ranges.
    pub(super) fn check(&self) -> Result<(), BadConfig> {
        if self.mtu < super::mtu::SHORTEST_MTU || self.queue.longest != self.mtu {
            return Err(BadConfig::Mtu(self.mtu));
        }
        if self.mru < super::mtu::LONGEST_MTU || self.mru < self.mtu {
            return Err(BadConfig::Mru(self.mru));
        }
        let most = match self.compression {
            Compression::Differential => differential::MOST_SLOTS,
            _ => MOST_SLOTS,
        };
        if (FEWEST_SLOTS..=most).contains(&self.slots) {
            Ok(())
        } else {
            Err(BadConfig::Slots(BadTable::Slots(self.slots)))
        }
    }
}

/// The memory of a [`Link`](super::Link) in its parts, or their lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<M> {
    /// Headers sent.
    pub sent: M,
    /// Headers received.
    pub received: M,
    /// Queued packets.
    pub queue: M,
    /// The outgoing packet.
    pub packet: M,
    /// Its bytes on the line.
    pub wire: M,
    /// The incoming frame, with room before it.
    pub frame: M,
}

/// Why a [`Link`](super::Link) cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadConfig {
    /// An MTU below that of IPv4, or a queue for another.
    Mtu(u16),
    /// Less than RFC 1055 asks for, or than the MTU.
    Mru(u16),
    /// An invalid number of slots.
    Slots(BadTable),
    /// A part of the memory is too small.
    Memory(MemoryTooSmall),
}

impl From<BadTable> for BadConfig {
    fn from(bad: BadTable) -> Self {
        match bad {
            BadTable::Memory(small) => Self::Memory(small),
            BadTable::Slots(_) => Self::Slots(bad),
        }
    }
}

impl From<MemoryTooSmall> for BadConfig {
    fn from(small: MemoryTooSmall) -> Self {
        Self::Memory(small)
    }
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mtu(got) => {
                write!(f, "expected an MTU from 68, with a queue for the same, got {got}")
            }
            Self::Mru(got) => {
                write!(f, "expected an MRU from 1006, and not below the MTU, got {got}")
            }
            Self::Slots(bad) => bad.fmt(f),
            Self::Memory(small) => small.fmt(f),
        }
    }
}

impl core::error::Error for BadConfig {}
