//! What passed the two ends of a line, packet by packet, and pcapng files of it.
//!
//! ```text
//! program A <-> tap A <-> element <-> tap B <-> program B       serial bytes
//! TCP, UDP  <-> tap A <-> network <-> tap B <-> TCP, UDP        packets of IP, also those of a SLIP line
//! ```
//!
//! A [`Capture`] is given to a run and filled while it goes. Each end is an interface of the file, so that what was
//! lost or damaged on the way is seen by comparing them; every packet says its direction there. Time is that of
//! the run, in nanoseconds: a run in virtual time begins in 1970.
//!
//! | bytes | link type | what stands before them |
//! |---|---|---|
//! | serial | 250, `LINKTYPE_RTAC_SERIAL` | 12 bytes: time in seconds and microseconds, event (1: sent, 2: received), lines of the UART (none known), 2 of footer |
//! | IP, over SLIP too | 101, `LINKTYPE_RAW` | nothing |
//! | an engine's datagrams | 147, `LINKTYPE_USER0` | nothing |
//!
//! There is a link type for SLIP (8), which has a header for what was compressed; Wireshark has no dissector for it,
//! and before compression these are packets of IP. Where a model has zeros for the header of UDP, ports 1649 and the length are filled in. Link types are those of the list of tcpdump.org; the format is that of draft-ietf-opsawg-pcapng. Serial bytes
//! that follow each other at one end in one direction within 2 ms are one packet, up to 4096.

mod read;
mod tap;
mod write;

pub use read::{BadCapture, Frame, read};
pub use tap::Tap;

use crate::element::End;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What passes an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Medium {
    /// Bytes of a serial line.
    #[default]
    Serial,
    /// Packets of IP.
    Ip,
    /// Datagrams of an engine without headers before them.
    Bare,
}

impl Medium {
    /// Its registered link type.
    pub const fn link_type(self) -> u16 {
        match self {
            Self::Serial => 250,
            Self::Ip => 101,
            Self::Bare => 147,
        }
    }
}

/// One packet, or serial bytes without a pause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// When, in ns.
    pub at_ns: u64,
    /// Where it was seen.
    pub at: End,
    /// It was sent there; else it was received.
    pub sent: bool,
    /// Its bytes, without a header of the capture.
    pub bytes: Vec<u8>,
}

/// Pauses that part serial bytes, in ns, and the most that are one packet.
const PAUSE_NS: u64 = 2_000_000;
const MOST_BYTES: usize = 4096;

/// A record of what passes the ends of a line, shared by its taps.
#[derive(Clone, Debug, Default)]
pub struct Capture(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    medium: Medium,
    /// The time of the run's beginning, in ns from 1970.
    begun_ns: u64,
    packets: Vec<Packet>,
    /// The latest packet at each end, and when its last byte came.
    latest: [Option<(usize, u64)>; 2],
}

impl PartialEq for Capture {
    /// Whether both are the same record.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Capture {}

impl Capture {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic elsewhere leaves whole packets.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whatever passes is of this kind.
    pub fn set_medium(&self, medium: Medium) {
        self.record().medium = medium;
    }

    /// The run begins at this time, in ns from 1970: 0 unless it is a live one.
    pub fn set_begun(&self, begun_ns: u64) {
        self.record().begun_ns = begun_ns;
    }

    /// These bytes were sent or received at this end, this long after the run began.
    pub fn note(&self, after_ns: u64, at: End, sent: bool, bytes: &[u8]) {
        let record = &mut *self.record();
        let at_ns = record.begun_ns.saturating_add(after_ns);
        if record.medium == Medium::Serial
            && let Some((index, last)) = &mut record.latest[at.index()]
            && let Some(packet) = record.packets.get_mut(*index)
            && packet.sent == sent
            && at_ns < *last + PAUSE_NS
            && packet.bytes.len() + bytes.len() <= MOST_BYTES
        {
            packet.bytes.extend_from_slice(bytes);
            *last = at_ns;
            return;
        }
        record.latest[at.index()] = Some((record.packets.len(), at_ns));
        let mut bytes = bytes.to_vec();
        if record.medium == Medium::Ip {
            fill_udp(&mut bytes);
        }
        record.packets.push(Packet { at_ns, at, sent, bytes });
    }

    /// How many packets there are.
    pub fn count(&self) -> usize {
        self.record().packets.len()
    }

    /// The packets so far, in the order in which they began.
    pub fn packets(&self) -> Vec<Packet> {
        self.record().packets.clone()
    }

    /// The beginning of a pcapng file: section and interfaces.
    pub fn header(&self) -> Vec<u8> {
        write::header(self.record().medium)
    }

    /// The packets so far as blocks of a pcapng file, and forgets them.
    pub fn drain(&self) -> Vec<u8> {
        let mut record = self.record();
        record.latest = [None; 2];
        let (medium, packets) = (record.medium, std::mem::take(&mut record.packets));
        packets.iter().flat_map(|packet| write::packet(medium, packet)).collect()
    }

    /// All of it as a pcapng file.
    pub fn pcapng(&self) -> Vec<u8> {
        let record = self.record();
        let mut file = write::header(record.medium);
        for packet in &record.packets {
            file.extend(write::packet(record.medium, packet));
        }
        file
    }
}

/// Fills in the header of UDP behind one of IP without options, if it is zeros.
fn fill_udp(packet: &mut [u8]) {
    const PORT: [u8; 2] = 1649u16.to_be_bytes();
    let Some(len) = packet.len().checked_sub(20).and_then(|len| u16::try_from(len).ok()) else {
        return;
    };
    let is_udp = packet[0] == 0x45 && packet[9] == 17;
    if let Some(udp) = packet.get_mut(20..28).filter(|udp| is_udp && **udp == [0; 8]) {
        udp[..2].copy_from_slice(&PORT);
        udp[2..4].copy_from_slice(&PORT);
        udp[4..6].copy_from_slice(&len.to_be_bytes());
    }
}
